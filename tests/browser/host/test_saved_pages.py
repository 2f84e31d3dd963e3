"""Views in pages that others make of a saved notebook: nbconvert, Sphinx with myst-nb, html-manager.

What such a page asks other addresses for (require.js, html-manager, anywidget) comes from this machine here.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys

import pytest
from playwright.sync_api import expect

from browser.harness import watched
from browser.hosts import SETUP, answer_for_others, needed, packed, saved_notebook
from browser.views import Seen

pytestmark = [pytest.mark.long, pytest.mark.timeout(600)]
CELLS = [SETUP, "trace.explore(layer=1, head=8)", "trace.explore(layer=3, head=2)"]
MOST = 200_000  # bytes of a saved notebook with two Explorers, their state and their still pictures, beside the scripts


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """A notebook with two Explorers, run and saved with the state of its widgets."""
    return saved_notebook(CELLS, tmp_path_factory.mktemp("saved"))


@pytest.fixture(scope="module")
def scripts(tmp_path_factory):
    """What pages of others load, by a part of its address."""
    folder = packed(tmp_path_factory.mktemp("npm"), "@jupyter-widgets/html-manager@1.0.15", "requirejs@2.3.6")
    manager = folder / "@jupyter-widgets/html-manager@1.0.15" / "dist"
    return {"html-manager": manager / "embed-amd.js", "require": folder / "requirejs@2.3.6" / "require.js"}


@pytest.fixture
def page_at(browser):
    """A function that opens a file, with the scripts of others or (None) without a network."""
    opened = []

    def open_page(path, scripts):
        context, page, log = watched(browser, path.parent.as_uri(), viewport={"width": 1200, "height": 900})
        opened.append((context, log, scripts))
        log.allow(r"anywidget\.js|ERR_FILE_NOT_FOUND")  # html-manager looks beside the page first
        if scripts is not None:
            answer_for_others(page, scripts)
        page.goto(path.as_uri())
        return page

    yield open_page
    for context, log, scripts in opened:
        context.close()
        assert scripts is None or log.problems() == []


def nbconvert(path, *options):
    run = [sys.executable, "-m", "nbconvert", "--log-level", "ERROR", *options, str(path)]
    subprocess.run(run, check=True, capture_output=True, timeout=120)
    return path.with_suffix(".html")


def unsigned(path):
    """The hash in such a page is of the minified require.js; ours is of npm."""
    path.write_text(re.sub(r'integrity="[^"]*"', "", path.read_text()))


def holds_one_head(page, n=0):
    """Nothing waits, a click on another head says what the page holds, and the marked head is the one drawn."""
    seen = Seen(page, page.locator(".bertlens").nth(n))
    name = seen.part("head-title").inner_text()
    marked = seen.root.locator(".bl-thumbs [aria-selected=true] [data-head], [aria-selected=true] > [data-head]")
    layer, head = re.findall(r"\d+", name)
    expect(marked).to_have_attribute("data-head", f"{layer}-{head}")
    before = seen.matrix()
    seen.thumb(5, 3).click()
    expect(seen.part("problem")).to_have_text(f"this page holds only {name}: run the notebook for others")
    expect(marked).to_have_attribute("data-head", f"{layer}-{head}")
    assert (seen.matrix() == before).all()
    seen.title(name)


def test_two_explorers_in_a_saved_notebook_are_small(saved):
    widgets = json.loads(saved.read_text())["metadata"]["widgets"]["application/vnd.jupyter.widget-state+json"]["state"]
    buffers = [buffer for model in widgets.values() for buffer in model.get("buffers", ())]
    scripts = [buffer["data"] for buffer in buffers if buffer["path"] == ["packed"]]
    assert len(scripts) == 1  # once for both, and of a size that has its own test
    assert saved.stat().st_size - len(scripts[0]) <= MOST


def test_nbconvert_with_state(saved, scripts, page_at):
    page = page_at(nbconvert(saved, "--to", "html"), scripts)
    holds_one_head(page, 0)
    holds_one_head(page, 1)


def test_pictures_stand_where_there_is_no_network_and_give_way_to_views(saved, scripts, page_at):
    path = nbconvert(saved, "--to", "bertlens.export.notebook.PicturesExporter")
    page = page_at(path, None)
    pictures = page.locator(".bertlens-output > img")
    expect(pictures).to_have_count(2)
    assert pictures.evaluate_all("all => all.every(one => one.complete && one.naturalWidth > 500)")
    page = page_at(path, scripts)
    Seen(page, page.locator(".bertlens").nth(1))
    expect(page.locator(".bertlens-output > img").first).to_be_hidden()
    expect(page.locator(".bertlens-output > img").last).to_be_hidden()


def test_nbconvert_without_state_shows_the_picture(tmp_path, scripts, page_at):
    page = page_at(nbconvert(saved_notebook(CELLS[:2], tmp_path, state=False), "--to", "html"), scripts)
    picture = page.locator(".jp-RenderedImage img")
    expect(picture).to_have_count(1)
    assert picture.evaluate("one => one.naturalWidth > 500")
    assert page.locator(".bertlens").count() == 0


def test_page_of_html_manager(tmp_path, scripts, page_at, pair):
    """ipywidgets.embed in a program of one's own, without a notebook."""
    from ipywidgets.embed import dependency_state, embed_minimal_html

    view, path = pair.explore(layer=1, head=8), tmp_path / "embedded.html"
    embed_minimal_html(str(path), views=[view], state=dependency_state([view], drop_defaults=False))
    unsigned(path)
    holds_one_head(page_at(path, scripts))


def test_sphinx_with_myst_nb(saved, scripts, page_at, tmp_path):
    needed("sphinx", "myst_nb")
    (tmp_path / "conf.py").write_text("extensions = ['myst_nb']\nnb_execution_mode = 'off'\n")
    (tmp_path / "index.ipynb").write_text(saved.read_text())
    run = [sys.executable, "-m", "sphinx", "-q", "-b", "html", str(tmp_path), str(tmp_path / "out")]
    subprocess.run(run, check=True, capture_output=True, timeout=120)
    unsigned(tmp_path / "out" / "index.html")
    holds_one_head(page_at(tmp_path / "out" / "index.html", scripts))
