"""The wheel in a new environment without node, as whoever is given it has it: the tour opens, and a page is written."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

from browser.conftest import HOST_NOISE
from browser.harness import Jupyter, watched
from browser.views import Seen
from unit.test_wheel import built, source

pytestmark = [pytest.mark.long, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def programs(tmp_path_factory) -> Path:
    """The folder of programs of an environment that has the wheel; what bertlens needs is borrowed from this one's."""
    pytest.importorskip("build")
    folder = tmp_path_factory.mktemp("release")
    [wheel] = built(source(folder / "source"), "--wheel", out=folder / "out")
    venv.create(folder / "new", with_pip=True)
    programs = folder / "new" / "bin"
    run = [str(programs / "python"), "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", str(wheel)]
    subprocess.run(run, check=True, env=alone(programs), timeout=120)
    own = {"base": str(folder / "new"), "platbase": str(folder / "new")}
    # a path file of the folder that it names is not read: this environment's own bertlens stays out
    (Path(sysconfig.get_path("purelib", vars=own)) / "borrowed.pth").write_text(sysconfig.get_path("purelib"))
    return programs


def alone(programs: Path) -> dict[str, str]:
    """The variables of a program there: no other program is found, and no module of the checkout."""
    return {**os.environ, "PATH": str(programs), "PYTHONPATH": ""}


def test_there_is_no_node_and_the_wheels_own_package_is_imported(programs, tmp_path):
    code = "import bertlens, shutil; print(bertlens.__file__, shutil.which('node'), shutil.which('npm'))"
    run = [str(programs / "python"), "-c", code]
    done = subprocess.run(
        run, check=True, stdout=subprocess.PIPE, text=True, env=alone(programs), cwd=tmp_path, timeout=120
    )
    path, *nodes = done.stdout.split()
    assert Path(path).is_relative_to(programs.parent) and nodes == ["None", "None"]


def test_the_tour_opens_and_answers_a_click(programs, browser, tmp_path):
    # JupyterLab's own page, and the extensions of page and server
    share, etc = (Path(sys.prefix) / name / "jupyter" for name in ("share", "etc"))
    borrowed = {"JUPYTERLAB_DIR": str(share / "lab"), "JUPYTER_PATH": str(share), "JUPYTER_CONFIG_PATH": str(etc)}
    variables = {name: alone(programs)[name] for name in ("PATH", "PYTHONPATH")}
    notebooks = tmp_path / "jupyter" / "notebooks"
    demo = [str(programs / "bertlens"), "demo", "--folder", str(notebooks)]
    server = Jupyter(tmp_path / "jupyter", demo, **borrowed, **variables)
    context, page, log = watched(browser, server.url, viewport={"width": 1400, "height": 1000})
    try:
        for pattern in HOST_NOISE:
            log.allow(pattern)
        notebook = server.open(page, log, notebooks / "01_tour.ipynb")
        notebook.run_all()
        notebook.finished()
        assert Path(notebook.kernel("bl.__file__").strip("'")).is_relative_to(programs.parent)
        seen = Seen(page, page.locator(".bertlens").nth(1))
        seen.title("L1·H8")
        seen.thumb(0, 2).click()
        seen.title("L0·H2")
        assert notebook.kernel("view.layer, view.head") == "(0, 2)"
        assert log.problems() == []
    finally:
        context.close()
        server.stop()


def test_a_page_is_written(programs, page_of, tmp_path):
    path = tmp_path / "page.html"
    run = [str(programs / "bertlens"), "html", "The cat sat on the mat.", "--output", str(path)]
    subprocess.run(run, check=True, env=alone(programs), cwd=tmp_path, timeout=120)
    seen = Seen(page_of(path))
    seen.thumb(0, 2).click()
    seen.title("L0·H2")
