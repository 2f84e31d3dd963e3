"""What a page is told of two runs: aligned units, maps with gaps, heads, and what a page without a kernel holds."""

from __future__ import annotations

import io
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
import torch
import transformers as tf
from PIL import Image

import bertlens as bl
from bertlens import InputError, Lens, ModelError, SelectionError, whatif
from bertlens.base import colors, wire
from bertlens.base.limits import LIMITS
from bertlens.base.vocabulary import MEASURES
from bertlens.base.vocabulary.constants import COMPARED_UNITS
from bertlens.export import html
from bertlens.export.still_picture import compared_png
from bertlens.measures import norms
from bertlens.widgets.panels import comparison_panel as panel
from bertlens.widgets.questions import QUESTIONS
from unit import tiny
from unit.export.test_export import HOSTILE, OUR_TAGS, Page, attention
from unit.widgets.test_widgets import question

A, B = "the unbelievable cat sat on the mat", "the cat was very warm on the mat ."


@pytest.fixture(scope="module")
def lens() -> Lens:
    return Lens(tiny.bert(), tiny.wordpiece())


@pytest.fixture(scope="module")
def two(lens: Lens) -> bl.Comparison:
    return bl.compare(lens.trace(A), lens.trace(B))


def by_words(lens: Lens) -> bl.Comparison:
    other = Lens(tiny.shaken(tiny.FAMILIES["roberta"].model()), tiny.roberta_like(add_prefix_space=True))
    return bl.compare(lens.trace(A), other.trace(B))


def naive_head(c: bl.Comparison, side: int, layer: int, head: int, measure: str) -> np.ndarray:
    """Cell by cell in Python."""
    trace, pick = (c.b, 1) if side else (c.a, 0)
    alpha = trace.attention(layer)[head].double().numpy()
    if measure == "weight":
        values = alpha
    else:
        values = norms.weighted_norm(trace, layer)[head].double().numpy()
        if measure == "difference":
            values = alpha - values / values.sum(1, keepdims=True)
    units = [(c.queries.b, c.keys.b) if side else (c.queries.a, c.keys.a)][0]
    found = np.full((len(c.queries.pairs), len(c.keys.pairs)), np.nan)
    for r, row in enumerate(c.queries.pairs):
        for k, column in enumerate(c.keys.pairs):
            i, j = row[pick], column[pick]
            if i is not None and j is not None:
                pieces = units[0][i].pieces
                found[r, k] = sum(values[q, p] for q in pieces for p in units[1][j].pieces) / len(pieces)
    return found


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("by", ["tokens", "words"])
def test_a_head_of_each_side_is_the_naive_one(two: bl.Comparison, lens: Lens, by: str, measure: str) -> None:
    c = two if by == "tokens" else by_words(lens)
    assert c.queries.by == by
    for side in (0, 1):
        naive = naive_head(c, side, 1, 2, measure)
        np.testing.assert_allclose(c.head(side, 1, 2, measure).numpy(), naive, atol=1e-6, rtol=0)
        part = c.head(side, 1, 2, measure, slice(2, 6), slice(1, 4)).numpy()
        np.testing.assert_allclose(part, naive[2:6, 1:4], atol=1e-6, rtol=0)
    both = c.both(lambda trace: trace.attention(1)[2])
    if measure == "weight":
        assert all(torch.allclose(x, c.head(side, 1, 2), atol=1e-6, equal_nan=True) for side, x in enumerate(both))


def test_what_does_not_exist_is_refused(two: bl.Comparison) -> None:
    for bad in ((2, 0, 0), (0, 3, 0), (1, 0, 4), (0, 0, 0, "depth")):
        with pytest.raises(SelectionError):
            two.head(*bad)
    with pytest.raises(SelectionError, match="head"):
        two.cell(0, 9)


def test_the_first_picture_is_small_and_whole(two: bl.Comparison) -> None:
    view = two.explore()
    header = view.overview["header"]
    told = header["compared"]
    assert [pair[:2] for pair in told["queries"]] == [list(pair) for pair in two.tokens.itertuples(index=False)]
    assert told["keys"] is None and told["said"] == [two.said, two.only().said]
    only = two.only()  # a view opens on the aligned words
    np.testing.assert_allclose(told["heads"]["apart"], only.heads.flatten())
    most = only.most(5)
    assert [one["words"] for one in told["heads"]["most"]] == most["words"].tolist()
    first = most.iloc[0]
    assert (view.layer, view.head) == (first["layer"], first["head"])
    names = [a or b for a, b, _ in told["queries"]]
    assert (names[view.query], names[view.key]) == (first["query"], first["key"])
    arrays = wire.unpack(header["arrays"], view.overview["data"])
    for side, name in enumerate("ab"):
        shown = arrays[f"compared.{name}"]
        np.testing.assert_array_equal(shown, only.head(side, view.layer, view.head).float().numpy())
    tabs = {tab["name"]: tab["why_not"] for tab in header["tabs"]}
    alone = {tab["name"]: tab["why_not"] for tab in two.a.explore().overview["header"]["tabs"]}
    weights = bl.Trace.from_attentions(attention(2, 2, 3, 3), list("abc"))
    given = {tab["name"]: tab["why_not"] for tab in weights.explore().overview["header"]["tabs"]}
    assert tabs["compare"] == alone["compare"] == "" and given["compare"] is None  # no model to run another text with


def test_a_head_is_asked_for_by_name(two: bl.Comparison) -> None:
    view = two.explore()
    fields, buffers = question(view, op="compared", layer=2, head=1, measure="norm", row=0, col=0)
    assert fields["other"] == [2, 1]
    arrays = wire.unpack(fields["arrays"], buffers[0])
    np.testing.assert_array_equal(arrays["b"], two.head(1, 2, 1, "norm").float().numpy())
    asked: dict[str, Any] = {"op": "compared", "layer": 0, "head": 0, "measure": "weight", "row": 0, "col": 0}
    for bad in ({"layer": 3}, {"head": -1}, {"measure": ["x"]}, {"row": 99}, {"col": None}, {"row": True}):
        fields, _ = question(view, **asked | bad)
        assert len(fields["error"]) < 200, fields
    assert "bl.compare" in question(two.a.explore(), **asked)[0]["error"]
    assert "bl.compare" in question(view, op="trace", text="the cat")[0]["error"]
    with pytest.raises(SelectionError, match="query"):
        view.query = len(two.queries.pairs)
    view.query = len(two.queries.pairs) - 1  # more than a has tokens


def test_aligned_words_alone_are_asked_for_and_held(two: bl.Comparison) -> None:
    """From a comparison of all words, and from one of the aligned words: both views open on them."""
    only = two.only()
    for c in (two, bl.compare(two.a, two.b, aligned_only=True)):
        view = c.explore()
        fields, buffers = question(view, op="compared", layer=2, head=1, measure="norm", row=0, col=0, aligned=True)
        arrays = wire.unpack(fields["arrays"], buffers[0])
        np.testing.assert_array_equal(arrays["b"], only.head(1, 2, 1, "norm").float().numpy())
        asked = question(view, op="compared_heads", aligned=True)[0]
        np.testing.assert_allclose(asked["apart"], only.heads.flatten())
        np.testing.assert_allclose(question(view, op="compared_heads")[0]["apart"], two.heads.flatten())
        assert view.overview["header"]["compared"]["only"] is c.aligned_only
        opened = view.overview["header"]["compared"]["heads"]["apart"]
        np.testing.assert_allclose(opened, only.heads.flatten())
        held = [question for question, _ in c.explore().page().answers if question["op"] == "compared"]
        assert sum("aligned" in one for one in held) == len(held) / 2
    same = bl.compare(two.a, two.a).explore()
    assert not any("aligned" in question for question, _ in same.page().answers)


def test_a_run_beside_another_that_the_page_names(lens: Lens) -> None:
    """A text, and the run without changes; of what it cannot run it says why."""
    trace = lens.trace(A)
    view, b = trace.explore(), lens.trace(B)
    c = bl.compare(trace, b)
    asked: dict[str, Any] = {"other": ["text", B, "", ""]}
    told = question(view, op="compared_with", **asked)[0]
    assert [pair[:2] for pair in told["queries"]] == [list(pair) for pair in c.tokens.itertuples(index=False)]
    assert [side["text"] for side in told["sides"]] == [A, B] and told["said"] == [c.said, c.only().said]
    np.testing.assert_allclose(question(view, op="compared_heads", **asked)[0]["apart"], c.heads.flatten())
    heads = question(view, op="compared_heads", aligned=True, **asked)[0]
    np.testing.assert_allclose(heads["apart"], c.only().heads.flatten())
    answers = question(view, op="compared_answers", **asked)[0]
    assert answers["said"] == c.answers().said and answers["unit"] == "cosine"
    for text in ("a b", "a c", "a d"):
        question(view, op="compared_with", other=["text", text, "", ""])
    assert len(view._record.memo["runs"]) == 2  # the others are let go
    assert "unchanged" in question(view, op="compared_with", other=["original"])[0]["error"]
    for bad in (["text", "x"], ["model"], "text", ["text", 1, "", ""], None):
        assert "known" in question(view, op="compared_with", other=bad)[0]["error"].replace("does not know", "known")
    assert (
        "602 tokens, the model reads 64"
        in question(view, op="compared_with", other=["text", "cat " * 600, "", ""])[0]["error"]
    )
    assert "error" not in question(view, op="compared_with", other=["text", "cat " * 600, "", "cut"])[0]
    assert "bl.compare" in question(view, op="compared_heads")[0]["error"]
    changed = trace.rerun(whatif.off(1, 1))
    told = question(changed.explore(), op="compared_with", other=["original"])[0]
    assert [bool(side["changes"]) for side in told["sides"]] == [False, True]
    weights = bl.Trace.from_attentions(attention(2, 2, 3, 3), list("abc")).explore()
    assert "no model" in question(weights, op="compared_with", **asked)[0]["error"]


def test_only_comparisons_are_shown(lens: Lens) -> None:
    with pytest.raises(InputError, match=r"bl\.compare"):
        bl.CompareView(lens.trace(A))  # type: ignore[arg-type]
    with pytest.raises(SelectionError, match="stats"):
        bl.compare(lens.trace(A), lens.trace(A)).explore(stats=1)


def test_two_pretrainings_show_the_nearest_head(lens: Lens) -> None:
    c = by_words(lens)
    assert not c.same_heads
    view = c.explore(layer=1, head=3)
    told = view.overview["header"]["compared"]
    assert not told["matched"] and told["heads"] is None and "nearest" in told["said"][0]
    near = c.nearest()
    found = question(view, op="compared_heads")[0]["nearest"]
    assert found == [list(row) for row in near.itertuples(index=False)]
    fields, buffers = question(view, op="compared", layer=1, head=3, measure="weight", row=0, col=0)
    assert fields["other"] == [near["layer_b"][7], near["head_b"][7]]
    arrays = wire.unpack(fields["arrays"], buffers[0])
    np.testing.assert_array_equal(arrays["b"], c.head(1, *fields["other"]).float().numpy())
    with pytest.raises(ModelError, match="nearest"):
        c.cell(0, 0)


def test_of_long_texts_a_window_and_no_heads_before_they_are_asked_for() -> None:
    maps = torch.rand(2, 2, 2, 300, 300, generator=torch.Generator().manual_seed(1)).softmax(-1)
    a, b = (bl.Trace.from_attentions(list(x), [f"t{n}" for n in range(300)]) for x in maps)
    c = bl.compare(a, b)
    view = c.explore(query=250)
    assert view.overview["header"]["compared"]["heads"] is None
    fields, buffers = question(view, op="compared", layer=1, head=0, measure="weight", row=172, col=64)
    arrays = wire.unpack(fields["arrays"], buffers[0])
    assert arrays["a"].shape == (128, 128)
    np.testing.assert_allclose(arrays["b"], maps[1, 1, 0, 172:, 64:192], atol=1e-6)
    page = c.explore(query=250).page()
    held = [question for question, _ in page.answers if question["op"] == "compared"]
    most = {(layer, head) for layer, head in zip(*(c.most(5)[name] for name in ("layer", "head")), strict=True)}
    assert {(one["layer"], one["head"]) for one in held} == {(0, 0), *most}
    assert all((one["row"], one["col"]) == (172, 0) for one in held)
    assert all(f"L{layer}·H{head}" in page.footer for layer, head in most)


@pytest.mark.parametrize("size", [5, 128, 129, 200, 1000])
def test_a_window_shows_its_unit(size: int) -> None:
    assert [panel.start(300, unit) for unit in (0, 95, 96, 250)] == [0, 0, 64, 172]  # as js/tests/compare.test.ts
    for unit in range(size):
        first = panel.start(size, unit)
        assert 0 <= first <= unit < first + COMPARED_UNITS and (first + COMPARED_UNITS <= size or first == 0)


def test_other_maps_are_not_chosen_here() -> None:
    give = lambda rows, cols: torch.full((2, 2, rows, cols), 1 / cols)  # noqa: E731
    trace = bl.Trace.from_encoder_decoder(
        encoder=give(4, 4),
        decoder=give(3, 3),
        cross=give(3, 4),
        encoder_tokens=list("abcd"),
        decoder_tokens=list("xyz"),
    )
    view = bl.compare(trace, trace).explore()
    assert view.overview["header"]["maps"] == ["encoder"]
    with pytest.raises(SelectionError, match=r"a\.maps"):
        view.map = "cross"
    cross = bl.compare(trace.maps["cross"], trace.maps["cross"]).explore(query=2, key=3)
    told = cross.overview["header"]["compared"]
    assert [len(told[name]) for name in ("queries", "keys")] == [3, 4]
    assert "compared" in "".join(str(name) for name, _ in cross.page().answers)


def test_the_still_picture_shows_both_and_their_difference(two: bl.Comparison) -> None:
    """Of two cells and a gap: where a has more it is slate, where b has more red, and a gap is brown."""
    a, b = np.array([[1.0, 0.0, np.nan]]), np.array([[0.0, 1.0, 0.5]])

    def panels(first: np.ndarray, second: np.ndarray) -> list[list[tuple[int, ...]]]:
        file = compared_png([first, second], ["q"], list("xyz"), ["L0·H0", "L0·H0"], [])
        pixels = np.asarray(Image.open(io.BytesIO(file)).convert("RGB")).astype(int)
        line = next(row for row in pixels[30:] if (np.abs(row - colors.rgb(colors.NAN)).max(1) < 3).sum() >= 16)
        grey = np.flatnonzero(np.abs(line - colors.rgb(colors.NAN)).max(1) < 3)
        ends = [run[0] for run in np.split(grey, np.flatnonzero(np.diff(grey) > 1) + 1) if len(run) >= 12]
        return [[tuple(line[x - 24]), tuple(line[x - 8])] for x in ends]  # cells x and y beside each gap

    dark, white = tuple(colors.table("weight", "light")[255]), tuple(colors.table("weight", "light")[0])
    low, high = (tuple(colors.table("signed", "light")[at]) for at in (0, 255))
    assert panels(a, b) == [[dark, white], [low, high]]  # the gap is in a
    assert panels(b, a) == [[dark, white], [high, low]]  # the gap is in b
    bundle = two.explore()._repr_mimebundle_()
    assert bundle is not None and bundle[0]["image/png"]


def test_a_saved_page_remembers_the_latest_alone(lens: Lens, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of each question so many, of other runs the two that the view has still, no file; what long work found stays."""
    view = lens.trace(A).explore(view="compare")
    for text in ("the cat", "the mat", "a cat", "the mat"):
        question(view, op="compared_with", other=["text", text, "", ""])
        question(view, op="compared_answers", other=["text", text, "", ""])
    remembered = view._record.remembered  # what a page would hold, without writing one
    assert sorted((asked["op"], asked["other"][1]) for asked in remembered) == sorted(
        product(("compared_answers", "compared_with"), ("a cat", "the mat"))
    )
    monkeypatch.setitem(QUESTIONS, "gates", replace(QUESTIONS["gates"], remembered=2))
    for threshold in (0.1, 0.2, 0.3):
        question(view, op="gates", threshold=threshold, margin=0)
    # the same: no page is written
    gates = [asked["threshold"] for asked in view._record.remembered if asked["op"] == "gates"]
    assert gates == [0.2, 0.3]
    assert not QUESTIONS["similar_pdf"].remembered and all(
        of.remembered for of in QUESTIONS.values() if of.needs in ("whatif", "gates", "another run")
    )
    view = (
        Lens(tf.BertForMaskedLM(tf.BertConfig(**tiny.BERT)), tiny.wordpiece())
        .trace("the cat [MASK] on the mat")
        .explore()
    )
    monkeypatch.setitem(LIMITS, "effects", LIMITS["effects"].__class__(4, "", ""))
    while question(view, op="heads_that_matter", long=True)[0].get("again"):
        pass
    long_work = [reply[0] for asked, reply in view.page().answers if asked.get("long")]
    assert len(long_work) == 1 and len(long_work[0]["heads"]) == 8


def test_hostile_text_leaves_only_our_elements_in_the_page() -> None:
    n = len(HOSTILE)
    traces = [
        bl.Trace.from_attentions(attention(3, 2, n, n), tokens, model_name=HOSTILE[1])
        for tokens in (HOSTILE, [*HOSTILE[1:], "x"])
    ]
    page = Page(bl.compare(*traces).explore().to_html())
    assert page.tags == OUR_TAGS
    assert not any("<" in text for attrs, text in page.of("script") if attrs["type"] == "application/json")


def test_a_saved_page_holds_what_its_page_compared(lens: Lens) -> None:
    """All of the run that the page names; from Python the one that the open tab last asked for, and what was tried."""
    trace = lens.trace(A)
    view, other = trace.explore(view="compare"), ["text", B, "", ""]
    assert not any(question["op"].startswith("compared") for question, _ in view.page().answers)
    question(view, op="compared_with", other=other)
    question(view, op="cell_matters", layer=1, head=2, query=3, key=4)
    page = view.page()
    opened = page.state["settings"]["compare_with"]
    assert (opened["text"], opened["text_pair"]) == (B, "")
    answers = {html.question_name(asked): fields for asked, (fields, _) in page.answers}
    about = {"map": "self", "other": other}
    told = answers[html.question_name({"op": "compared_with", **about})]
    assert [side["text"] for side in told["sides"]] == [A, B]
    heads = answers[html.question_name({"op": "compared_heads", "aligned": True, **about})]
    np.testing.assert_allclose(heads["apart"], bl.compare(trace, lens.trace(B)).only().heads.flatten())
    window = {"measure": "weight", "row": 0, "col": 0, **about}
    for layer, head in product(range(3), range(4)):
        assert (
            html.question_name({"op": "compared", "layer": layer, "head": head, "aligned": True, **window}) in answers
        )
    assert html.question_name({"op": "compared_answers", **about}) in answers
    assert any('["op","cell_matters"]' in name for name in answers)
    settings = {"compare_with": {"run": "", "text": B, "text_pair": ""}}
    named = trace.explore(settings=settings).page()  # as the page's own menu sends it
    assert html.question_name({"op": "compared_with", **about}) in {html.question_name(one) for one, _ in named.answers}
    too_long = trace.explore(settings={"compare_with": {"text": "cat " * 600}}).page()
    assert not any(one["op"].startswith("compared") for one, _ in too_long.answers)
