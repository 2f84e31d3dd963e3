"""The Explorer in its hosts, with a kernel: JupyterLab, Notebook 7, marimo. One notebook serves most tests here.

All states of the link to the kernel are seen here once: live, asking, slow and error. Answers out of order and all that
needs a kernel with a will of its own are in test_link.py, where the test is the kernel. What is left when the kernel is
gone: test_kernel_gone.py.
"""

from __future__ import annotations

import json
import re
import time

import nbformat
import pytest
from nbconvert import HTMLExporter
from playwright.sync_api import expect

from browser import harness, walk
from browser.views import PATIENCE, TEXTS, Seen, shown

SETUP = f"import bertlens as bl\nlens = bl.Lens.embedded()\ntrace = lens.trace(*{TEXTS!r})"
CELLS = [
    SETUP,
    "view = trace.explore(layer=1, head=8)\nview",
    "import ipywidgets\natlas, neurons = bl.HeadAtlas(trace), bl.NeuronView(trace, query=3)\n"
    "links = [ipywidgets.jslink((atlas, name), (neurons, name)) for name in ('layer', 'head')]\n"
    "ipywidgets.VBox([atlas, neurons])",
]


@pytest.fixture(scope="module")
def notebook(open_shared):
    return open_shared(CELLS, height=1600)


@pytest.fixture
def lab(notebook):
    """The Explorer of the shared notebook, at a known place."""
    seen = Seen(notebook.page, notebook.page.locator(".bertlens").first)
    expect(seen.root).to_have_attribute("data-state", "live")
    notebook.kernel("view.trace = trace; view.view = 'neurons'")
    notebook.kernel(
        "view.layer, view.head, view.heads, view.query, view.key, view.mode = 1, 8, [], None, None, 'matrix'"
    )
    seen.title("L1·H8")
    return seen


def says(notebook, code: str, wanted: str) -> None:
    """Wait until the kernel prints this: what the page changed is on its way, on another thread than cells."""
    deadline = time.monotonic() + PATIENCE / 1000
    while (found := notebook.kernel(f"print({code})")) != wanted:
        assert time.monotonic() < deadline, found


def test_run_all_leads_to_a_live_view(lab):
    expect(lab.part("link")).to_have_text("kernel live")
    assert lab.shape() == (21, 21)


def test_nothing_scrolls_by_a_pixel(lab):
    assert lab.idle_scrollers() == []
    lab.root.locator(".bl-open-heads[aria-expanded=true]").click()
    assert lab.idle_scrollers() == []
    lab.unfold()


def test_click_sets_python_and_python_sets_the_page(lab, notebook):
    notebook.kernel(
        "seen = []\nview.observe(lambda change: seen.append((change['name'], change['new'])), ['layer', 'head'])"
    )
    lab.thumb(0, 2).click()
    lab.title("L0·H2")
    lab.at_cell(4, 3)
    expect(lab.part("formula")).to_contain_text("on → sat")
    says(notebook, "view.layer, view.head, view.query, view.key", "0 2 4 3")
    says(notebook, "sorted(seen)", "[('head', 2), ('layer', 0)]")
    notebook.kernel("view.layer, view.head, view.query, view.key = 3, 11, 7, 0")
    lab.title("L3·H11")
    expect(lab.part("formula")).to_contain_text("because → [CLS]")
    weight = float(notebook.kernel("print(float(trace.attention(3)[11, 7, 0]))"))
    expect(lab.part("formula-alpha")).to_have_text(shown(weight))
    notebook.kernel("view.mode = 'lines'; view.heads = [[0, 2]]")
    expect(lab.chips()).to_have_text([re.compile("L3·H11"), re.compile("L0·H2")])


@pytest.mark.parametrize("way", ["mouse", "keys"])
def test_one_lesson_is_walked_in_jupyterlab(lab, notebook, embedded_lens, way):
    record = walk.LESSON.record()
    notebook.kernel(f"from bertlens.lessons import Lesson\nview.lesson = Lesson.of({record!r}).for_page()")
    here = lab.root.get_by_role("region", name="Lesson: One lesson")
    expect(lab.root.get_by_label("Sentence A")).to_have_value(walk.TEXT)
    here.get_by_role("button", name="Next step").focus()
    walk.walk(lab, way, embedded_lens)
    says(notebook, "view.lesson_results['right'].tolist()", "[True, False, False, True, None]")
    expect(here).to_contain_text("kept in the notebook's kernel")
    notebook.kernel("view.lesson, view.lesson_done = {}, []")
    expect(here).to_have_count(0)


def test_run_traces_new_text_and_keeps_the_selection(lab, notebook):
    """The pinned word is in the new text too, at another place; text of the user stays text."""
    notebook.kernel("view.query, view.key = 2, 3")  # cat, sat
    lab.root.get_by_label("Sentence A").fill("A small cat slept. <img src=x onerror=window.__pwn=1>")
    lab.root.get_by_label("Sentence B, optional").fill("")
    lab.root.get_by_label("Sentence B, optional").press("Enter")
    expect(lab.part("sentence")).to_contain_text("small")
    lab.title("L1·H8")
    expect(lab.root.locator(".bl-row-label.bl-pinned")).to_have_text("cat")
    says(notebook, "view.trace.tokens[view.query], view.query, view.key", "cat 3 None")
    assert notebook.kernel("print(view.text, '|', view.text_pair)").startswith("A small cat slept. <img src=x")
    expect(lab.root.get_by_role("group", name="pairs")).to_have_count(0)
    assert notebook.page.evaluate("window.__pwn") is None


def test_kernel_states(lab, notebook, tmp_path):
    """asking and slow while another forward pass holds the model, then live; error in the kernel's own words."""
    box = lab.root.get_by_label("Sentence A")
    free = tmp_path / "free"
    notebook.kernel(
        "import pathlib, threading, time\nfrom bertlens.base.locks import locked\n"
        f"free = pathlib.Path({str(free)!r})\n"
        "def hold():\n    with locked([lens.model.config]):\n"
        "        while not free.exists():\n            time.sleep(0.1)\n"
        "threading.Thread(target=hold).start()"
    )
    box.fill("One two three.")
    lab.root.get_by_label("Sentence B, optional").fill("")
    box.press("Enter")
    expect(lab.root).to_have_attribute("data-state", "asking")
    expect(lab.part("link")).to_have_text("waiting for the kernel …")
    expect(lab.root).to_have_attribute("data-state", "slow")
    expect(lab.part("problem")).to_have_text("Python is busy or gone. Until it answers L1·H8 stays.")
    assert lab.shape() == (21, 21)  # the picture stays
    free.touch()
    expect(lab.part("matrix")).to_have_attribute("aria-rowcount", "6")  # a late answer still counts
    expect(lab.root).to_have_attribute("data-state", "live")
    expect(lab.part("problem")).to_have_count(0)

    box.fill("word " * 600)
    box.press("Enter")
    expect(lab.root).to_have_attribute("data-state", "error")
    expect(lab.part("problem")).to_contain_text("512")
    assert lab.shape() == (6, 6)
    lab.root.get_by_label("cut if too long").check()
    box.press("Enter")
    expect(lab.part("matrix")).to_have_attribute("aria-rowcount", "512")
    expect(lab.root).to_have_attribute("data-state", "live")
    expect(lab.root.get_by_role("list", name="What the tokenizer did")).to_contain_text("cut to 512 tokens")
    says(notebook, "view.truncation", "True")
    notebook.kernel("view.truncation = False")


def test_view_answers_while_a_cell_runs(lab, notebook, tmp_path):
    """The main thread is in a cell; messages arrive on a second one.

    ipykernel answers a trait that a cell set on the main thread, once: so a click comes first.
    """
    lab.thumb(5, 2).click()
    lab.title("L5·H2")
    free = tmp_path / "free"
    notebook.page.evaluate(
        "code => void jupyterapp.shell.currentWidget.sessionContext.session.kernel.requestExecute({ code })",
        f"import pathlib, time\nwhile not pathlib.Path({str(free)!r}).exists():\n    time.sleep(0.1)",
    )
    lab.thumb(5, 3).click()
    lab.title("L5·H3")
    free.touch()
    says(notebook, "view.layer, view.head", "5 3")


def test_jslink_of_atlas_and_neuron_view(notebook, lab):
    atlas, neurons = (Seen(notebook.page, notebook.page.locator(".bertlens").nth(n)) for n in (1, 2))
    atlas.thumb(4, 7).click()
    expect(neurons.part("neurons")).to_contain_text("L4·H7")
    neurons.select("head").select_option("3")
    expect(atlas.thumb(4, 3).locator("xpath=..")).to_have_attribute("aria-selected", "true")
    says(notebook, "atlas.layer, atlas.head, neurons.layer, neurons.head", "4 3 4 3")
    lab.title("L1·H8")  # not linked


def test_theme_of_jupyterlab_is_followed(lab, notebook):
    theme = "theme => jupyterapp.commands.execute('apputils:change-theme', { theme })"
    notebook.page.evaluate(theme, "JupyterLab Light")
    expect(lab.root).to_have_attribute("data-theme", "light")
    notebook.page.evaluate(theme, "JupyterLab Dark")
    expect(lab.root).to_have_attribute("data-theme", "dark")
    ground = lab.root.evaluate("e => getComputedStyle(e).backgroundColor")
    assert max(map(int, re.findall(r"\d+", ground))) < 60
    notebook.page.evaluate(theme, "JupyterLab Light")
    expect(lab.root).to_have_attribute("data-theme", "light")


def test_keys_inside_the_view_are_not_shortcuts_of_jupyterlab(lab, notebook):
    state = """() => {
        const { activeCellIndex, widgets, mode } = jupyterapp.shell.currentWidget.content;
        return [activeCellIndex, widgets.length, mode];
    }"""
    lab.thumb(1, 8).click()
    before = notebook.page.evaluate(state)
    lab.thumb(1, 8).focus()
    for key in ["ArrowDown", "ArrowDown", "ArrowUp", "a", "b", "d", "d", "x", "m", "Shift+M"]:
        notebook.page.keyboard.press(key)
    lab.title("L2·H8")
    lab.part("matrix").focus()
    for key in ["ArrowDown", "ArrowRight", "Enter", "Escape", "a", "d", "d"]:
        notebook.page.keyboard.press(key)
    assert notebook.page.evaluate(state) == before
    # x changed the run; the next test starts when that is done
    says(notebook, "len(view.trace.changes), view.layer, view.query", "1 2 None")


# where nothing is pressed by a click: whoever reads there still means the view by the next key
PLACES = [
    *[".bl-header", ".bl-title", ".bl-brand", ".bl-model", ".bl-switches .bl-badge", ".bl-switches", ".bl-help p"],
    *[".bl-atlas h3", ".bl-atlas .bl-panel-head", ".bl-selected-head b", ".bl-selected-head", ".bl-words"],
    *[".bl-head h3", ".bl-legend", ".bl-ramp", ".bl-corner", ".bl-list h4", ".bl-asking", ""],
]
KEYS = {  # as the view's help names them; a letter is its own key
    "Alt and left, right arrow": ["Alt+ArrowLeft", "Alt+ArrowRight"],
    "arrow keys": ["ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight"],
    "Page up": ["PageUp"],
    "Page down": ["PageDown"],
    **{name: [name] for name in ("Home", "End", "Enter", "Escape")},
    **{name: [] for name in ("the right button", "shift-click", "click")},
}


def taught(lab) -> list[str]:
    """Every key of the view's help."""
    lab.more()
    lab.root.get_by_role("button", name="? keys").click()
    text = "\n".join(lab.root.locator(".bl-help dt").all_inner_texts())
    keys = []
    for name, presses in KEYS.items():
        assert name in text, name
        text = text.replace(name, "")
        keys += presses
    letters = re.sub(r"\b(and|or)\b|[,\s]", " ", text).split()
    assert letters and all(len(letter) == 1 for letter in letters), f"which keys are these? {letters}"
    return keys + letters


def test_a_click_anywhere_in_the_view_keeps_the_keys_from_the_notebook(lab, notebook):
    state = """() => {
        const { activeCellIndex, mode, model } = jupyterapp.shell.currentWidget.content;
        return [mode, activeCellIndex, ...model.sharedModel.cells.map(c => [c.id, c.source])];
    }"""
    commands = ["x", "d", "d", "a", "b", "y", "m", "Enter"]  # of JupyterLab
    keys = [*taught(lab), *commands]
    lab.thumb(1, 8).click()
    before = notebook.page.evaluate(state)
    for place in PLACES:
        lab.beside_controls(place)
        for key in keys if place == PLACES[0] else commands:
            notebook.page.keyboard.press(key)
        assert notebook.page.evaluate(state) == before, place
        if place == PLACES[0]:
            taught(lab)  # Escape has closed what it opened
    assert lab.root.evaluate("root => getComputedStyle(root).outlineStyle") == "none"
    for n in (1, 2):  # the other views
        other = Seen(notebook.page, notebook.page.locator(".bertlens").nth(n))
        other.beside_controls()
        notebook.page.keyboard.press("x")
        assert notebook.page.evaluate(state)[2:] == before[2:], n  # a click chooses the cell, as in any output
    box = lab.root.get_by_label("Sentence B, optional")
    lab.gap(1).click()
    expect(box).to_be_focused()
    notebook.page.keyboard.press("End")
    notebook.page.keyboard.type("x")
    expect(box).to_have_value(f"{TEXTS[1]}x")
    lab.root.get_by_text("Export", exact=True).click()
    lab.root.locator(".bl-wish").get_by_text("caption", exact=True).click()  # the words of a box in a menu
    expect(lab.root.locator(".bl-wish")).to_be_visible()


def test_the_right_button_opens_the_menu_of_the_view_alone(lab, notebook):
    lab.thumb(0, 2).click(button="right")
    menu = lab.root.locator(".bl-at-pointer")
    expect(menu.get_by_role("button").first).to_have_text(re.compile("^L0·H2 off"))
    assert notebook.page.locator(".lm-Menu:visible").count() == 0
    notebook.page.keyboard.press("Escape")
    expect(menu).to_have_count(0)
    notebook.page.locator(".jp-Cell .jp-InputPrompt").first.click(button="right")  # elsewhere it is JupyterLab's
    expect(notebook.page.locator(".lm-Menu:visible")).to_have_count(1)
    notebook.page.keyboard.press("Escape")


def test_html_of_the_menu_is_a_page_that_works(lab, page_of):
    page = Seen(page_of(lab.save("Page without kernel")))
    page.title("L1·H8")
    page.thumb(5, 11).click()
    page.title("L5·H11")
    some = Seen(page_of(lab.save("Page with layer 1 only")))
    some.thumb(1, 0).click()
    some.title("L1·H0")
    some.thumb(5, 11).click()
    expect(some.part("problem")).to_contain_text("which holds layers 1")


def test_head_as_pdf(lab):
    """One click in a notebook; nothing offers it where there is no kernel."""
    path = lab.save("PDF", "Head view")
    file = path.read_bytes()
    assert path.name.endswith("L1H8-head.pdf") and file.startswith(b"%PDF")
    assert b"/FontFile2" in file and b"/Subtype /Image" not in file
    lab.choice("head view", "Lines").click()
    menu = lab.export_menu()
    menu.locator(".bl-menu-line", has_text="Head view").get_by_role("button", name="PDF").click()
    expect(lab.part("problem")).to_contain_text("not exported: lines have no PDF: save the SVG, which has it")


def test_saved_notebook_holds_a_picture_and_little_else(notebook):
    """Without widgets (GitHub, nbviewer, nbconvert) the output is a still picture."""
    saved = notebook.save()
    output = saved["cells"][1]["outputs"][0]["data"]
    assert set(output) >= {"image/png", "text/plain", "application/vnd.jupyter.widget-view+json"}
    assert "text/html" not in output
    assert len(json.dumps(saved)) < 2e6
    html, _ = HTMLExporter().from_notebook_node(nbformat.read(notebook.path, as_version=4))
    assert "data:image/png;base64,iVBOR" in html


def test_notebook_7(open_notebook):
    notebook = open_notebook([f"{SETUP}\nview = trace.explore(layer=1, head=8)\nview"], app="notebook")
    seen = Seen(notebook.page)
    expect(seen.root).to_have_attribute("data-state", "live")
    seen.settled()  # what comes late moves what is clicked
    seen.thumb(0, 2).click()
    seen.title("L0·H2")
    says(notebook, "view.layer, view.head", "0 2")
    assert seen.idle_scrollers() == []
    # said at once, not with the next click
    notebook.page.evaluate("() => jupyterapp.shell.currentWidget.sessionContext.session.kernel.restart()")
    expect(seen.part("problem")).to_have_text(
        "Python was stopped or restarted: run the cell again. Until then L0·H2 stays."
    )
    assert seen.root.get_attribute("data-state") == "error"


def test_marimo(open_marimo):
    page = open_marimo([SETUP + "\nimport marimo as mo\nview = mo.ui.anywidget(trace.explore(layer=1, head=8))\nview"])
    page.locator(".bertlens").wait_for(timeout=harness.PATIENCE)  # the app imports torch first
    seen = Seen(page)
    expect(seen.root).to_have_attribute("data-state", "live")
    seen.settled()  # what comes late moves what is clicked
    seen.thumb(0, 2).click()
    seen.title("L0·H2")
    assert seen.idle_scrollers() == []
    seen.beside_controls(".bl-title")
    seen.open_tab("Neurons")
    assert seen.numbers("alpha")
    select = seen.root.locator("select").first
    assert select.evaluate("e => getComputedStyle(e).borderTopStyle") == "solid"  # marimo resets controls
