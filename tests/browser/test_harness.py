"""The browser fixtures themselves, with a trivial widget: what they open works, and what they must notice they do."""

from __future__ import annotations

import pytest

WIDGET = '''
import anywidget, traitlets

class Counter(anywidget.AnyWidget):
    _esm = """
    export default { render({ model, el }) {
        const button = document.createElement("button");
        const draw = () => { button.textContent = "count " + model.get("count"); };
        button.dataset.state = "live";
        button.addEventListener("click", () => { model.set("count", model.get("count") + 1); model.save_changes(); });
        model.on("change:count", draw);
        draw();
        el.append(button);
    } };
    """
    count = traitlets.Int(3).tag(sync=True)

counter = Counter()
'''


def test_page_is_open_and_watched(page_of):
    page = page_of("<!doctype html><title>t</title><p id=p>hello</p>", theme="dark", width=480)
    assert page.inner_text("#p") == "hello"
    assert page.evaluate("[innerWidth, matchMedia('(prefers-color-scheme: dark)').matches]") == [480, True]
    assert page_of.log(page).problems() == []


def test_page_that_asks_the_network_or_fails_is_noticed(page_of):
    page = page_of("<!doctype html><img src='http://example.org/a.png'><script>throw new Error('boom')</script>")
    page.wait_for_load_state()
    log = page_of.log(page)
    assert log.outside == ["outside request: http://example.org/a.png"]
    assert any("boom" in line for line in log.problems())
    log.outside.clear()
    log.allow("boom|example.org|ERR_FAILED")


@pytest.mark.long
@pytest.mark.parametrize("app", ["lab", "notebook"])
def test_widget_lives_in_jupyter_and_its_kernel_can_be_shut_down(open_notebook, app):
    notebook = open_notebook([WIDGET, "counter"], app=app, theme="dark" if app == "lab" else "light")
    button = notebook.page.locator("[data-state=live]")
    button.click()
    button.get_by_text("count 4").wait_for()
    assert notebook.kernel("counter.count") == "4"
    notebook.kernel("counter.count = 10")
    button.get_by_text("count 10").wait_for()
    notebook.shut_kernel_down()
    notebook.page.wait_for_function("() => jupyterapp.shell.currentWidget.sessionContext.session?.kernel == null")
    assert button.inner_text() == "count 10"


@pytest.mark.long
def test_cell_that_raises_fails_the_test(open_notebook):
    with pytest.raises(AssertionError, match="ZeroDivisionError"):
        open_notebook(["1 / 0"])


@pytest.mark.long
def test_widget_lives_in_marimo(open_marimo):
    page = open_marimo([WIDGET, "import marimo as mo\nmo.ui.anywidget(counter)"])
    button = page.locator("[data-state=live]")
    button.click()
    button.get_by_text("count 4").wait_for()


def test_page_in_sandboxed_frames(page_of):
    page = page_of.framed(['<p id=p>one "quoted" & two</p>', "<script>document.write(origin)</script>"])
    assert page.frame_locator("iframe").nth(0).locator("#p").inner_text() == 'one "quoted" & two'
    assert page.frame_locator("iframe").nth(1).locator("body").inner_text() == "null"  # an opaque origin
