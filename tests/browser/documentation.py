"""The documentation as `make docs` builds it: where its pages are, what a page links to and loads."""

from __future__ import annotations

import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"
SIZES = [(width, theme) for width in (1400, 480) for theme in ("light", "dark")]


def built(source: Path, folder: Path, *options: str) -> str:
    """What Sphinx says on the error stream."""
    run = [sys.executable, "-m", "sphinx", "--keep-going", "-q", *options, "-b", "html", str(source), str(folder)]
    return subprocess.run(run, capture_output=True, text=True).stderr


class Links(HTMLParser):
    """Names and addresses of a page."""

    def __init__(self, text: str):
        super().__init__()
        self.names: set[str] = set()
        self.addresses: list[str] = []
        self.loaded: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        told = {name: value or "" for name, value in attrs}
        self.names |= {told[name] for name in ("id", "name") if name in told}
        if tag == "a" and "href" in told:
            self.addresses.append(told["href"])
        elif tag in ("img", "script", "link", "iframe"):
            self.loaded.append(told.get("src") or told.get("href", ""))


def documents(site: Path) -> list[Path]:
    return [page for page in site.rglob("*.html") if not {"_bertlens", "_static"} & {*page.parts}]
