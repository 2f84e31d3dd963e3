"""What a list of others, or the top of the README, says of bertlens once it has an address: printed, nothing is sent.

`python packaging/listings.py` takes `repository` of pyproject.toml, where all addresses of the project come from;
`python packaging/listings.py https://github.com/NAME/bertlens` another. packaging/gallery.png goes with anywidget's
line. JupyterLab's own list has extensions alone, which bertlens is not: a widget of anywidget needs none.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from urllib.parse import urlsplit

ROOT = Path(__file__).parent.parent
PICTURE = Path(__file__).with_name("gallery.png")
SAYS = "What each attention head of a BERT looks at, what the answer loses without it, and why."
BADGES = "https://img.shields.io"
COLAB = "https://colab.research.google.com"


def listings(repository: str) -> dict[str, str]:
    """{where it goes: what to write there} of an address such as https://github.com/NAME/bertlens.

    Raises SystemExit for one that is no address of GitHub, which all of these lists are made of.
    """
    address = urlsplit(repository.rstrip("/"))
    name = address.path.strip("/")
    if (address.scheme, address.netloc) != ("https", "github.com") or not re.fullmatch(r"[\w.-]+/[\w.-]+", name):
        raise SystemExit("bertlens: `repository` in pyproject.toml is to be https://github.com/NAME/bertlens")
    home = f"https://github.com/{name}"
    entry = f"- [bertlens]({home}) - {SAYS}"
    notebook = f"{COLAB}/github/{name}/blob/main/notebooks/01_tour.ipynb"
    badges = [
        f"[![PyPI]({BADGES}/pypi/v/bertlens)](https://pypi.org/project/bertlens/)",
        f"[![checks]({home}/actions/workflows/checks.yml/badge.svg)]({home}/actions/workflows/checks.yml)",
        f"[![Open in Colab]({COLAB}/assets/colab-badge.svg)]({notebook})",
    ]
    version = re.search(r'(?m)^__version__ = "(.*)"$', (ROOT / "bertlens" / "__init__.py").read_text(encoding="utf-8"))
    assert version is not None
    wheel = f"{home}/releases/download/v{version[1]}/bertlens-{version[1]}-py3-none-any.whl"
    return {
        "README.md, below the title": "\n".join(badges),
        "notebooks/*.ipynb, the first line of the first cell, for Colab": f'WHEEL = "{wheel}"',
        "anywidget: manifest.json of manzt/build-with-anywidget, with packaging/gallery.png": json.dumps(
            {"repo": name, "image": f"assets/{name.replace('/', '__')}.png"}
        ),
        "marimo: README.md of marimo-team/awesome-marimo, Libraries": entry,
        "JupyterLab: README.md of markusschanta/awesome-jupyter, Visualization": entry,
    }


def repository() -> str:
    """What pyproject.toml names."""
    named = re.search(r'(?m)^repository = "(.*)"$', (ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    return named[1] if named else ""


if __name__ == "__main__":
    for place, line in listings(sys.argv[1] if sys.argv[1:] else repository()).items():
        print(f"{place}\n{line}\n")
