"""The project as a whole: what its sources must not contain, what the bundle weighs, what a wheel carries."""

from __future__ import annotations

import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
STATIC = ROOT / "bertlens" / "static"

# Token text is text: nothing in the page may parse markup or evaluate strings, or load anything.
FORBIDDEN = re.compile(
    r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|dangerouslySetInnerHTML|createContextualFragment"
    r"|DOMParser|\beval\s*\(|new Function\b|https?://(?!www\.w3\.org/)|\bfetch\s*\(|XMLHttpRequest|WebSocket|importScripts"
)


def tracked() -> list[Path]:
    """The files that git knows; in a tree without git, this test has nothing to say."""
    listing = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True)
    if listing.returncode:
        pytest.skip("not a git checkout: the list of tracked files is unknown")
    return [ROOT / name for name in listing.stdout.split("\0") if name and (ROOT / name).is_file()]


def texts(paths: list[Path]) -> dict[Path, str]:
    """Path -> content, of those that are text."""
    found = {}
    for path in paths:
        try:
            found[path] = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
    return found


def hits(pattern: re.Pattern[str], contents: dict[Path, str]) -> list[str]:
    return [
        f"{path.relative_to(ROOT)}: {match.group()}"
        for path, content in contents.items()
        for match in pattern.finditer(content)
    ]


def test_front_end_source_has_no_markup_evaluation_or_address():
    sources = texts(sorted((ROOT / "js" / "src").rglob("*.*")))
    assert len(sources) > 5
    assert hits(FORBIDDEN, sources) == []


def test_bundle_has_no_evaluation_or_address_and_no_markup_of_ours():
    bundle = texts(sorted(STATIC.iterdir()))
    assert {"widget.js", "extras.js", "widget.css"} <= {path.name for path in bundle}
    # All that is there is preact's own handling of a property that our sources do not use.
    found = sorted(hit.split(": ")[1] for hit in hits(FORBIDDEN, bundle))
    assert found == ["dangerouslySetInnerHTML", "dangerouslySetInnerHTML", "innerHTML", "innerHTML"]


@pytest.mark.parametrize("script", ["widget.js", "extras.js"])
def test_script_is_at_most_100_kb(script):
    """widget.js travels once with every output; extras.js only when it is wanted."""
    assert (STATIC / script).stat().st_size <= 100_000


def test_import_is_lazy():
    heavy = ("torch", "transformers", "numpy", "pandas", "matplotlib", "anywidget", "ipywidgets")
    code = f"import sys, bertlens, bertlens.cli; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.strip() == "[]"


def test_no_machine_paths_and_no_registry_hosts_in_the_tree():
    machine = re.compile(r"(?<![\w.$}])/(?:root|tmp|work|home)/\w|registry\.npmjs\.org|files\.pythonhosted\.org")
    here = Path(__file__).resolve()
    assert hits(machine, {path: text for path, text in texts(tracked()).items() if path != here}) == []


def test_lock_file_names_no_place_to_download_from():
    assert '"resolved"' not in (ROOT / "js" / "package-lock.json").read_text()


def test_every_dependency_has_a_pin():
    tomllib = pytest.importorskip("tomllib")  # Python 3.11
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = [*project["dependencies"], *(d for extra in project["optional-dependencies"].values() for d in extra)]
    names = {re.split(r"[\[<>=!~ ;]", requirement)[0] for requirement in wanted} - {"bertlens"}
    pinned = set(re.findall(r"^([\w.-]+)==", (ROOT / "constraints.txt").read_text(), re.MULTILINE))
    assert names - pinned == set()


def test_wheel_carries_the_bundle_the_notebooks_and_no_sources_of_the_page(tmp_path):
    pytest.importorskip("build")
    # Without isolation: the test environment has the build backend.
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(tmp_path), str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    [wheel] = tmp_path.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    notebooks = {f"bertlens/notebooks/{path.name}" for path in (ROOT / "notebooks").glob("*.ipynb")}
    assert "bertlens/notebooks/01_tour.ipynb" in notebooks
    assert notebooks | {
        f"bertlens/{name}" for name in ("static/widget.js", "static/extras.js", "static/widget.css", "cli.py")
    } <= set(names)
    model = {"config.json", "model.safetensors", "kmers.json", "metrics.json", "MODEL_CARD.md"}
    assert {f"bertlens/casestudies/sars_cov_2/model/{name}" for name in model} <= set(names)
    assert any(name.endswith("licenses/LICENSE") for name in names)
    assert not [name for name in names if name.startswith(("js/", "tests/", "node_modules/"))]
