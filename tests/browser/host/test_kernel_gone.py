"""A view whose kernel is gone: under the open page, and in a notebook that is opened again."""

from __future__ import annotations

import json
from contextlib import contextmanager

import pytest
from playwright.sync_api import expect

from browser.harness import watched
from browser.views import PATIENCE, TEXTS, Seen

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def notebook(open_shared):
    return open_shared(
        [f"import bertlens as bl\ntrace = bl.Lens.embedded().trace(*{TEXTS!r})", "trace.explore(layer=1, head=8)"],
        height=1600,
    )


@contextmanager
def reopened(browser, jupyter, text):
    """The notebook's text as another file, in a page of its own, with a new kernel."""
    again = jupyter.notebooks / "reopened.ipynb"
    again.write_text(text)
    context, page, log = watched(browser, jupyter.url, viewport={"width": 1200, "height": 900})
    jupyter.open(page, log, again)
    yield page
    context.close()
    jupyter.end_kernels({again.name})


def test_saved_notebook_without_its_kernel(notebook, browser, jupyter):
    """Reopened where it was run, JupyterLab says that the widget is gone and shows no other form of the output; nothing
    of ours runs: it takes a widget before a picture. The still picture is for hosts that choose another form: GitHub,
    nbviewer, nbconvert.
    """
    expect(notebook.page.locator(".bertlens")).to_be_visible()
    notebook.save()
    with reopened(browser, jupyter, notebook.path.read_text()) as page:
        gone = page.locator(".jp-OutputArea-output", has_text="model not found")  # beside the line of "loading torch"
        expect(gone).to_be_visible(timeout=PATIENCE)
        assert page.locator(".bertlens, .jp-OutputArea-output script").count() == 0


def test_a_notebook_of_somebody_else_shows_the_picture(notebook, browser, jupyter):
    """JupyterLab trusts what it has run itself; of others it shows no widget, but the picture."""
    notebook.save()
    content = json.loads(notebook.path.read_text())
    content["cells"][0]["source"] = "# came by mail\n" + "".join(content["cells"][0]["source"])
    with reopened(browser, jupyter, json.dumps(content)) as page:
        picture = page.locator(".jp-OutputArea-output img")
        expect(picture).to_be_visible(timeout=PATIENCE)
        assert picture.evaluate("one => one.naturalWidth > 500")
        assert page.locator(".jp-OutputArea-output", has_text="model not found").count() == 0


def test_a_notebook_saved_with_the_state_of_its_widgets_shows_the_view(notebook, browser, jupyter):
    """Settings, "Save Widget State Automatically"."""
    toggle = "() => jupyterapp.commands.execute('@jupyter-widgets/jupyterlab-manager:saveWidgetState')"
    notebook.page.evaluate(toggle)
    try:
        notebook.save()
        with reopened(browser, jupyter, notebook.path.read_text()) as page:
            seen = Seen(page)
            seen.title("L1·H8")
            assert seen.shape() == (21, 21)
    finally:
        notebook.page.evaluate(toggle)
        notebook.save()


def test_dead_kernel_says_what_is_shown(notebook):
    """The last test of the shared notebook: nothing is disabled, the picture stays what its caption says."""
    seen = Seen(notebook.page)
    expect(seen.root).to_have_attribute("data-state", "live")
    for layer, head in ((1, 8), (0, 2)):
        seen.thumb(layer, head).click()
        seen.title(f"L{layer}·H{head}")
    notebook.log.allow("Could not send widget sync message Error: Cannot send")  # the host's, on every change
    notebook.shut_kernel_down()
    notebook.page.wait_for_function("() => jupyterapp.shell.currentWidget.sessionContext.session?.kernel == null")
    seen.thumb(3, 5).click()
    expect(seen.root).to_have_attribute("data-state", "error")
    expect(seen.part("problem")).to_have_text(
        "Python was stopped or restarted: run the cell again. Until then L0·H2 stays."
    )
    seen.title("L0·H2")
    seen.thumb(1, 8).click()  # is in the cache
    seen.title("L1·H8")
    expect(seen.part("problem")).to_have_text(
        "Python was stopped or restarted: run the cell again. Until then L1·H8 stays."
    )
