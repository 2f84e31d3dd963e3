"""Text is text: nothing that a token, a text or a model's name holds becomes markup or runs."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest
from playwright.sync_api import expect

import bertlens as bl
from browser.maps import attention
from browser.views import Seen, hosted

pytestmark = pytest.mark.usefixtures("neurons_open")

PAYLOADS = [
    "<img src=x onerror=window.__pwn=1>",
    "</script><script>window.__pwn=2</script>",
    '" onmouseover="window.__pwn=3" x="',
    "' onfocus='window.__pwn=4' x='",
    "&lt;b&gt;",
    "${window.__pwn=5}",
    "javascript:window.__pwn=6",
    "<!--",
    "]]>",
    "__proto__",
    "a\u202eb",
    "nul\0x",
    "\ud800",
    "line\nbreak\ttab",
    "\u200b",
]
SEEN = {
    "a\u202eb": "a⟨U+202E⟩b",
    "nul\0x": "nul⟨U+0000⟩x",
    "line\nbreak\ttab": "line⟨U+000A⟩break⟨U+0009⟩tab",
    "\u200b": "⟨U+200B⟩",
}
VISIBLE = [SEEN.get(payload, payload) for payload in PAYLOADS]


@pytest.fixture(scope="module")
def hostile():
    size = len(PAYLOADS)
    return bl.Trace.from_attentions(attention(2, 3, size, size), PAYLOADS, model_name=f"model {''.join(PAYLOADS[:7])}")


def assert_inert(seen: Seen) -> None:
    """No element and no handler that is not ours, and nothing ran."""
    found = seen.page.evaluate(
        """() => ({
            pwn: window.__pwn ?? null,
            tags: ["img:not([src^='data:image/png;base64,'][alt=''])", "iframe", "object", "embed", "a", "link", "base",
                "form[action]"].filter(tag => document.querySelector(tag)),
            scripts: [...document.scripts].filter(one => one.type !== "application/json").length,
            handlers: [...document.querySelectorAll("*")].flatMap(e => [...e.attributes].map(a => a.name))
                .filter(name => name.startsWith("on")),
        })"""
    )
    assert found == {"pwn": None, "tags": [], "scripts": 1, "handlers": []}


def labels_of(seen: Seen) -> list[str]:
    return seen.root.locator(".bl-row-label").evaluate_all("all => all.map(one => one.textContent)")


def surrogates(labels: list[str]) -> list[str]:
    """A lone surrogate arrives as itself or as U+FFFD."""
    return [re.sub("[\ud800-\udfff\ufffd]", "\ufffd", label) for label in labels]


def test_tokens_are_shown_as_text_everywhere(show, hostile):
    seen = show(hostile.explore(layer=1, head=1))
    wanted = surrogates(VISIBLE)
    assert surrogates(labels_of(seen)) == wanted
    for n in range(len(PAYLOADS)):  # tooltip, title, live region, list, pins
        seen.at_cell(n, n, "hover")
        assert surrogates([seen.tip.locator("bdi").first.inner_text()]) == [wanted[n]]
        seen.at_cell(n, n)
        assert wanted[n] in surrogates([seen.said.evaluate("e => e.textContent")])[0]
        title = seen.root.locator(".bl-row-label.bl-pinned").get_attribute("title") or ""
        assert surrogates([title]) == [f"query {n}: {wanted[n]}"]
        assert_inert(seen)
    seen.choice("head view", "Lines").click()
    texts = seen.queries().locator("bdi").evaluate_all("all => all.map(one => one.textContent)")
    assert surrogates(texts) == wanted
    for n in range(len(PAYLOADS)):
        seen.queries().nth(n).hover()
    seen.thumb(0, 0).hover()
    seen.thumb(0, 1).click()
    assert_inert(seen)


def test_tokens_in_the_table(show, hostile):
    seen = show(hostile.explore(view="table", query=0))
    cells = (
        seen.part("table").locator("tbody tr td:nth-child(2) bdi").evaluate_all("all => all.map(e => e.textContent)")
    )
    assert sorted(surrogates(cells)) == sorted(surrogates(VISIBLE))
    assert_inert(seen)


def test_reversing_character_cannot_reorder_its_neighbours(show, hostile):
    """Each token in an isolate of its own, the character drawn as its code."""
    seen = show(hostile.explore())
    assert "\u202e" not in seen.root.inner_text()
    bdi = seen.root.locator(".bl-row-label bdi")
    assert set(bdi.evaluate_all("all => all.map(e => getComputedStyle(e).unicodeBidi)")) <= {
        "isolate",
        "isolate-override",
    }
    assert set(bdi.evaluate_all("all => all.map(e => e.dir)")) == {"auto"}


def test_model_name_is_text_in_view_page_title_and_file_name(show, hostile):
    view = hostile.explore()
    seen = show(view)
    name = "model " + "".join(PAYLOADS[:7])
    seen.more()
    assert seen.root.locator(".bl-model").evaluate("e => e.textContent") == name
    assert name[:60] in view.page().title
    assert name in (seen.part("matrix").get_attribute("aria-label") or "")
    path = seen.save("SVG", "Head view")
    assert re.fullmatch(r"[A-Za-z0-9._-]+\.svg", path.name)
    assert_inert(seen)


@pytest.mark.parametrize("line", ["Head view", "Atlas"])
@pytest.mark.parametrize("mode", ["matrix", "lines"])
def test_svg_holds_tokens_as_text(show, page_of, hostile, line, mode):
    """Read by a strict parser, and opened by the browser."""
    path = show(hostile.explore(mode=mode, layer=1, head=1)).save("SVG", line)
    root = ElementTree.fromstring(path.read_bytes())
    tags = {element.tag.rpartition("}")[2] for element in root.iter()}
    assert tags <= {"svg", "title", "desc", "metadata", "g", "text", "rect", "path", "image", "line"}
    assert not [name for element in root.iter() for name in element.attrib if name.lower().startswith("on")]
    texts = ["".join(element.itertext()) for element in root.iter() if element.tag.endswith("}text")]
    if line == "Head view":
        assert {PAYLOADS[0], PAYLOADS[1], PAYLOADS[2], "a⟨U+202E⟩b", "nul⟨U+0000⟩x"} <= set(texts)
    page = page_of(path)
    assert page.evaluate("window.__pwn") is None
    assert page.evaluate("document.querySelectorAll('script, img, foreignObject').length") == 0


def test_texts_of_the_user_in_a_live_view_and_its_page(show, embedded_lens):
    """The text itself, its pieces, the boxes, the badges and the page's own title and data."""
    a = f"{PAYLOADS[0]} {PAYLOADS[1]} \u202e \0 [SEP] \U0001f9a9"
    trace = embedded_lens.trace(a, PAYLOADS[2])
    seen = show(trace.explore(layer=1, head=8))
    seen.check("all keys").check()
    assert seen.root.get_by_label("Sentence A").input_value().startswith(PAYLOADS[0])
    assert seen.root.get_by_label("Sentence B, optional").input_value() == PAYLOADS[2]
    tokens = seen.part("neurons").locator("button.bl-neuron-token").all_inner_texts()
    assert {"<", "##g", "script"} <= set(tokens)
    for summary in seen.root.locator(".bl-report summary").all():
        summary.click()
    assert_inert(seen)


def test_hostile_texts_in_one_document_with_others(tab_of, hostile):
    """As in JupyterLab: the view lives in somebody else's page."""
    page = hosted(tab_of, hostile.explore(layer=1, head=1), bl.HeadAtlas(hostile))
    seen = Seen(page, page.locator(".bertlens").first)
    seen.at_cell(0, 1)
    assert_inert(seen)


def test_error_text_of_the_kernel_is_text(tab_of, pair):
    page = hosted(tab_of, pair.explore(layer=1, head=8))
    seen = Seen(page)
    page.evaluate("models[0].held = true")
    seen.thumb(0, 2).click()
    page.evaluate("payload => models[0].asked('head').give({ error: payload })", PAYLOADS[0])
    expect(seen.part("problem")).to_have_text(PAYLOADS[0])
    assert_inert(seen)


def test_answers_cannot_pollute_prototypes(tab_of, pair):
    page = hosted(tab_of, pair.explore(layer=1, head=8))
    seen = Seen(page)
    page.evaluate("models[0].held = true")
    seen.thumb(0, 2).click()
    page.evaluate(
        """() => models[0].asked("head").give(
            { arrays: [{ name: "__proto__", dtype: "float32", shape: [1], offset: 0 }] },
            [new DataView(new ArrayBuffer(8))],
        )"""
    )
    assert page.evaluate("({}).data") is None
    seen.title("L1·H8")


@pytest.mark.parametrize("mode", ["matrix", "lines"])
def test_a_token_as_long_as_a_page(show, mode):
    """It is written by its ends; neither the page nor a figure grows with it, and the numbers keep it whole."""
    words = ["[CLS]", "x" * 5000, "cat", "a\u202eb" + "y" * 300, "[SEP]"]
    trace = bl.Trace.from_attentions(attention(2, 3, 5, 5), words)
    seen = show(trace.explore(layer=1, head=2, mode=mode, query=1, key=3), width=320)
    for tab in ("Gates", "Table"):
        seen.open_tab(tab)
        expect(seen.root.get_by_text("loading …")).to_have_count(0)
        assert seen.root.evaluate("e => e.scrollWidth <= e.clientWidth && document.documentElement.scrollWidth <= 320")
    assert "\u202e" not in seen.root.evaluate("e => e.outerHTML")
    svg = seen.save("SVG", "Head view").read_text()
    assert int(re.search(r'width="(\d+)"', svg)[1]) < 2000 and "\u202e" not in svg
    assert "x" * 5000 in seen.save("Numbers of this head (CSV)").read_text()
