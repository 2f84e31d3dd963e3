"""A text of 2,500 tokens in the page: all of it in blocks, every cell exactly, by pointer and by keyboard."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
import torch
from playwright.sync_api import expect

import bertlens as bl
from bertlens.base import colors
from bertlens.measures import gates, norms
from browser.views import Seen, rows_of, signed
from unit import tiny

pytestmark = pytest.mark.usefixtures("neurons_open")

LENGTH, WORD = 2500, 1700  # tokens; where the one word stands that is there once
SWEPT = 120_000  # ms for all rows, on a machine that is busy


@pytest.fixture(scope="module")
def trace() -> Any:
    model = tiny.shaken(tiny.bert(num_hidden_layers=2, max_position_embeddings=LENGTH), scale=0.4)
    words = ["the", "cat", "sat", "on", "the", "mat", "."] * LENGTH
    words[WORD - 1] = "warm"
    return bl.Lens(model, tiny.wordpiece()).trace(" ".join(words[: LENGTH - 2]))


def part(seen: Seen) -> list[int]:
    """First and last query and key in the picture."""
    text = seen.part("zoom-part").inner_text().replace(",", "")
    return [int(n) for n in re.findall(r"\d+", text)][:4]


def key(seen: Seen, *names: str) -> None:
    seen.part("matrix").focus()
    for name in names:
        seen.page.keyboard.press(name)


def pinch(seen: Seen, apart: list[int]) -> None:
    """Two fingers around the middle of the picture, so many pixels from it one after the other."""
    box = seen.part("matrix").bounding_box()
    assert box is not None
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    touch = seen.page.context.new_cdp_session(seen.page)
    for n, far in enumerate(apart):
        fingers = [{"x": x + side * far, "y": y + side * far, "id": side} for side in (-1, 1)]
        for count in (1, 2) if n == 0 else (2,):  # one finger comes after the other
            kind = "touchMove" if n else "touchStart"
            touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": fingers[:count]})
    touch.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})


def cell(seen: Seen) -> str:
    """What a screen reader is told at the cursor."""
    return seen.part("matrix").locator("[role=gridcell]").inner_text()


def shown(value: float) -> str:
    """A weight as the page prints it: of a long text four decimals."""
    return f"{value:.4f}"


def plus(value: float) -> str:
    """A difference as the page prints it."""
    return ("+" if value >= 0.00005 else "") + signed(value, 4)


@pytest.fixture
def seen(show: Any, trace: Any) -> Seen:
    seen = show(trace.explore(layer=1, head=0), width=1200)
    seen.part("matrix").wait_for()
    return seen


@pytest.mark.long
def test_from_all_of_a_long_text_to_one_weight(seen, trace):
    assert seen.shape() == (LENGTH, LENGTH)  # though no array of that size is in the page
    expect(seen.part("zoom-part")).to_contain_text("all 2,500 queries and 2,500 keys")
    weights = trace.attention(1)[0].numpy()

    # the overview: a pixel is the largest of its block
    expect(seen.part("row-list").locator("li")).to_have_count(8, timeout=SWEPT)
    mean = weights.mean(axis=0)
    assert [value for _, value in seen.listed()] == pytest.approx(sorted(mean)[:-9:-1], abs=6e-5)
    found = re.search(r"a pixel is the largest of (\d+) × \1 cells", seen.part("zoom-part").inner_text())
    assert found is not None
    edge = int(found[1])
    key(seen, "Control+Home", "ArrowDown", "ArrowDown", "ArrowRight")
    block = weights[2 * edge : 3 * edge, edge : 2 * edge]
    assert (
        f"queries {2 * edge} – {3 * edge - 1}, keys {edge} – {2 * edge - 1}: the largest {shown(block.max())}"
        in cell(seen)
    )
    path = seen.save("Numbers of this head")
    rows = rows_of(path)
    side = -(-LENGTH // edge)
    assert len(rows) == side * side
    padded = np.zeros((side * edge, side * edge), np.float32)
    padded[:LENGTH, :LENGTH] = weights
    blocks = padded.reshape(side, edge, side, edge).max(axis=(1, 3)).ravel()
    np.testing.assert_allclose([float(row["attention"]) for row in rows], blocks, rtol=1e-5, atol=1e-6)
    assert (rows[1]["query_index"], rows[1]["key_index"], rows[1]["key"]) == (
        "0",
        str(edge),
        f"{edge} – {2 * edge - 1}",
    )

    # a word is found: its row is in the picture, with labels, and its weight is Python's
    box = seen.root.get_by_role("searchbox", name="Find a token")
    box.fill("warm")
    box.press("Enter")
    expect(seen.root.locator(".bl-row-label.bl-pinned")).to_have_text("warm")
    expect(seen.said).to_have_text("1 of 1")
    first, last, left, right = part(seen)
    assert first <= WORD <= last
    strongest = int(weights[WORD].argmax())
    assert left <= strongest <= right
    assert seen.col_labels() == trace.display_tokens[left : right + 1]
    matrix = seen.part("matrix").bounding_box()
    assert matrix is not None
    px = matrix["width"] / (right - left + 1)
    seen.part("matrix").hover(position={"x": (strongest - left + 0.5) * px, "y": (WORD - first + 0.5) * px})
    expect(seen.tip.locator("b")).to_have_text(shown(weights[WORD, strongest]))

    # other heads and measures of the same cell; what is seen is what is exported
    alpha, passed = trace.attention(1)[2].numpy(), norms.weighted_norm(trace, 1)[2].numpy()
    difference = alpha - passed / passed.sum(axis=1, keepdims=True)
    for choose, wanted, text, column in [
        (lambda: seen.thumb(1, 2).click(), alpha, shown, "attention"),
        (
            lambda: seen.shows("Norm ‖αf(x)‖"),
            passed,
            shown,
            "norm",
        ),
        (lambda: seen.shows("Difference"), difference, plus, "difference"),
    ]:
        choose()
        seen.away()
        key(seen, "ArrowLeft", "ArrowRight")
        expect(seen.part("head-title")).to_have_text("L1·H2")
        index = seen.part("matrix").locator("[role=gridcell]").get_attribute("aria-colindex")
        assert index is not None
        expect(seen.part("matrix").locator("[role=gridcell]")).to_contain_text(
            f": {text(wanted[WORD, int(index) - 1])},"
        )
        rows = rows_of(seen.save("Numbers of this head"))
        first, last, left, right = part(seen)
        assert [int(row["query_index"]) for row in rows[:: right - left + 1]] == list(range(first, last + 1))
        np.testing.assert_allclose(
            [float(row[column]) for row in rows],
            wanted[first : last + 1, left : right + 1].ravel(),
            rtol=1e-5,
            atol=1e-6,
        )
    asked = seen.page.evaluate("() => models[0].sent.filter(({ op }) => op === 'head').length")
    assert asked == 1  # each head once


def test_a_weight_of_a_long_text_has_four_decimals_below_too(show, trace):
    """Three would print most of 2,500 keys' weights as 0.000 or 0.001."""
    weights = trace.attention(1)[0]
    strongest = int(weights[WORD].argmax())
    weight = shown(float(weights[WORD, strongest]))
    seen = show(trace.explore(layer=1, head=0, query=WORD, key=strongest), width=1200)
    expect(seen.part("formula-alpha")).to_have_text(weight)
    expect(seen.part("formula")).to_contain_text(f"softmax over {LENGTH:,} keys")
    expect(seen.part("contrast")).to_contain_text(
        re.compile(rf"alone the weight would be \d\.\d{{4}} \(it is {re.escape(weight)}\)")
    )
    seen.part("contrast").locator("summary").click()
    expect(seen.part("contrast")).to_contain_text(f"for a key at place 1 of {LENGTH:,} by score")
    expect(seen.root).to_contain_text("of its attention, more than any other word. Spread evenly it would be 0.0004.")


def test_zoom_by_keyboard_pointer_and_wheel(seen):
    key(seen, "+")
    first = part(seen)
    assert first[1] - first[0] < LENGTH - 1
    expect(seen.said).to_contain_text("queries")  # the move is said
    key(seen, "+", "+", "+", "+", "+", "+", "+", "+", "+", "+")
    inner = part(seen)
    assert inner[1] - inner[0] < 40 and inner[3] - inner[2] < 40
    key(seen, *["ArrowDown"] * 3, "Control+End")
    assert part(seen)[1::2] == [LENGTH - 1, LENGTH - 1]
    key(seen, "Enter")
    assert seen.page.evaluate("() => [models[0].state.query, models[0].state.key]") == [LENGTH - 1, LENGTH - 1]
    expect(seen.root.locator(".bl-mark-cell")).to_be_visible()
    before = part(seen)
    seen.settled()  # the sentence above may have other lines by now
    box = seen.part("matrix").bounding_box()
    assert box is not None
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    seen.page.mouse.move(x, y)
    seen.page.mouse.down()
    seen.page.mouse.move(x + 100, y + 50, steps=4)
    seen.page.mouse.up()
    after = part(seen)
    assert after[0] < before[0] and after[2] < before[2]  # what was dragged to the right and down
    assert seen.page.evaluate("() => models[0].state.query") == LENGTH - 1  # a drag is no click
    seen.page.mouse.wheel(0, 200)
    assert part(seen)[1] - part(seen)[0] > after[1] - after[0]
    seen.root.locator(".bl-map").click(position={"x": 5, "y": 5})
    assert part(seen)[0] < 400
    key(seen, "0")
    expect(seen.part("zoom-part")).to_contain_text("all 2,500 queries")
    pinch(seen, [20, 50, 90])
    near = part(seen)
    assert near[1] - near[0] < LENGTH / 2
    for first, last in (near[:2], near[2:]):  # what lay between the fingers is still in the picture
        assert first < LENGTH / 2 < last
    pinch(seen, [90, 40, 10])
    expect(seen.part("zoom-part")).to_contain_text("all 2,500 queries")
    assert seen.page.evaluate("() => models[0].state.query") == LENGTH - 1  # two fingers are no click
    seen.page.set_viewport_size({"width": 480, "height": 900})
    expect(seen.part("zoom-part")).to_contain_text("all 2,500 queries")
    seen.page.wait_for_function("() => (e => e.scrollWidth <= e.clientWidth)(document.querySelector('.bertlens'))")


def test_lines_and_text_of_a_long_text_are_of_a_part(seen, trace):
    weights = trace.attention(1)[0].numpy()
    seen.choice("head view", "Lines").click()
    expect(seen.queries()).to_have_count(100)
    seen.slide("tokens from", 1000)
    expect(seen.queries().nth(0)).to_have_attribute("title", re.compile("query 1000:"))
    part = weights[1000:1100]
    full = part[:, 1000:1100].max()
    minimum = 0.02 * full
    before, after = (int((part[:, one] >= minimum).sum()) for one in (slice(0, 1000), slice(1100, None)))
    for name, count, one in (("before", before, slice(0, 1000)), ("after", after, slice(1100, None))):
        line = seen.part(f"lines-{name}")
        expect(line).to_contain_text(f"{count:,} line")
        row, col = np.unravel_index(part[:, one].argmax(), part[:, one].shape)
        expect(line.get_by_role("button").nth(0)).to_contain_text(f"{row + 1000} →")
        expect(line).to_contain_text(shown(part[:, one][row, col]))
    seen.choice("head view", "Text").click()
    expect(seen.part("running")).to_be_visible()
    assert 0 < seen.part("running").locator(".bl-word").count() <= 1024
    seen.part("running").get_by_role("button", name=re.compile("tokens 1,024")).click()
    expect(seen.part("running").locator(".bl-word").nth(0)).to_have_attribute("data-n", "1024")


_WATCH_TURNS = """() => {
  const [model] = models;
  model.sent.length = 0;
  model.turns = new Set();
  model.on("msg:custom", ({ id, again }) => again && model.turns.add(id));
}"""


def questions(seen: Seen) -> Any:
    """What the page has asked since: each question once, however many turns (widgets/messages/turns.py)."""
    return seen.page.evaluate("() => models[0].sent.filter(({ id, op }) => op && !models[0].turns.has(id))")


@pytest.fixture
def opened(show):
    """A function that shows a text of more than 128 tokens in an open view: what is of all layers is not there yet."""

    def change(view: Any, trace: Any) -> Seen:
        seen = show(view, width=1200)
        expect(seen.root.locator("[data-question^='gate:']").first).to_be_attached()
        seen.page.evaluate(_WATCH_TURNS)
        view.trace = trace
        seen.shows("Norm ‖αf(x)‖")  # the page hears of it with what the click sets
        return seen

    return change


def test_what_is_of_all_layers_comes_layer_by_layer(opened):
    """By norm too: thumbnails and sentences, and then the gates; each is of its own layer."""
    lens = bl.Lens(tiny.shaken(tiny.bert(max_position_embeddings=256), scale=0.4), tiny.wordpiece())
    trace = lens.trace("the cat sat on the mat . " * 20)
    seen = opened(lens.trace("the cat sat on the mat").explore(layer=1, head=0), trace)
    expect(seen.root.locator("[data-question^='gate:']").first).to_be_attached()  # the last to come
    expect(seen.thumb(0, 0)).to_have_attribute("aria-label", re.compile(f"at {trace.n_tokens} tokens"))
    expect(seen.region("Atlas of heads").get_by_text("…", exact=True)).to_have_count(0)
    for layer in range(trace.n_layers):
        for head in (0, trace.n_heads - 1):
            values = norms.weighted_norm(trace, layer)[head].double()
            pooled = torch.nn.functional.adaptive_max_pool2d(values[None], (32, 32))[0]
            pixels = seen.pixels(seen.thumb(layer, head).locator("img:visible"))[..., :3].astype(int)
            table = colors.table("weight", "light").astype(int)
            entries = np.abs(pixels[..., None, :] - table).sum(-1).argmin(-1)
            assert np.abs(entries - np.round(255 * (pooled / values.max()).numpy())).max() <= 2
            shares = values / values.sum(-1, keepdim=True)
            held = shares.sort(-1, descending=True).values.cumsum(-1)
            keys = 1 + (held < 0.9).sum(-1).double().mean()
            says = re.compile(f"^L{layer}·H{head} takes from about {keys:.0f} words at a time[.] ")
            expect(seen.thumb(layer, head)).to_have_attribute("aria-label", says)
    labels = [gates.label(gates.head_scores(trace))[layer][0] for layer in range(trace.n_layers)]
    for layer, label in enumerate(labels):
        expect(seen.thumb(layer, 0)).to_have_attribute("aria-label", re.compile(f"{label} at {trace.n_tokens} tokens"))
    asked = questions(seen)
    for op in ("pictures", "thumbs", "gates", "statistics"):
        layers = [message["layer"] for message in asked if message["op"] == op and "layer" in message]
        assert layers == [1, 0, *range(2, trace.n_layers)], op


def test_another_text_ends_what_comes_layer_by_layer(opened):
    lens = bl.Lens(tiny.bert(max_position_embeddings=256), tiny.wordpiece())
    view = lens.trace("the cat sat on the mat").explore()
    trace, other = (lens.trace(text * 20) for text in ("the cat sat on the mat . ", "the mat sat on the cat . "))
    heard: set[tuple[str, int]] = set()

    def is_layered(message: dict[str, Any]) -> bool:
        return message["op"] in ("pictures", "thumbs", "statistics") and "layer" in message

    def changing(_view: Any, message: dict[str, Any], _buffers: Any) -> None:
        """The text changes while the second question of the first one is asked."""
        if is_layered(message) and view.trace is trace:
            heard.add((message["op"], message["layer"]))
            if len(heard) == 2:
                view.trace = other

    view.on_msg(changing)
    seen = opened(view, trace)
    expect(seen.root.locator("[data-question^='gate:']").first).to_be_attached()
    traces = [message["trace"] for message in questions(seen) if is_layered(message)]
    first, last = dict.fromkeys(traces)
    assert traces.count(first) <= 4  # one of each kind may have been on its way
    assert traces.count(last) == 3 * other.n_layers
