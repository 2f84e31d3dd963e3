"""The widgets without a browser: traits, questions of the page (good and bad), memory; `send` is replaced by a list."""

from __future__ import annotations

import gc
import re
import threading
import weakref
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from traitlets import TraitError

import bertlens as bl
from bertlens.base import wire
from bertlens.base.vocabulary import TRAITS
from bertlens.errors import BertLensError, SelectionError
from bertlens.widgets.questions import QUESTIONS
from bertlens.widgets.widget import LensWidget
from unit.asking import replies
from unit.tiny import bert, wordpiece

WIDGETS = [bl.Explorer, bl.HeadAtlas, bl.HeadView, bl.NeuronView]


@pytest.fixture(scope="module")
def lens():
    return bl.Lens(bert(), wordpiece())


@pytest.fixture
def trace(lens):
    return lens.trace("the cat sat on the mat", "it was warm")


@pytest.fixture
def maps():
    """Attention of an encoder-decoder: 4 encoder tokens, 3 decoder tokens, 2 layers, 2 heads."""
    give = lambda rows, cols: torch.full((2, 2, rows, cols), 1 / cols)  # noqa: E731
    return bl.Trace.from_encoder_decoder(
        encoder=give(4, 4),
        decoder=give(3, 3),
        cross=give(3, 4),
        encoder_tokens=list("abcd"),
        decoder_tokens=list("xyz"),
    )


def ask(widget, message, buffers=()):
    """What the widget sends back for one message: (fields, buffers) or None."""
    sent = replies(widget, message, buffers)
    assert len(sent) <= 1
    return sent[0] if sent else None


def question(widget, **fields):
    header = widget.overview["header"]
    return ask(widget, {"id": "1", "trace": header["trace"], "map": widget.map, **fields})


# Questions


def test_hello(trace):
    assert question(trace.explore(), op="hello") == ({"kernel": True, "id": "1"}, [])


@pytest.mark.parametrize("widget", WIDGETS)
def test_head_comes_as_query_key_scaling_and_mask(trace, widget):
    fields, buffers = question(widget(trace), op="head", layer=2, head=3)
    arrays = wire.unpack(fields["arrays"], buffers[0])
    assert set(fields) == {"id", "layer", "head", "scaling", "mask", "arrays"}
    assert (fields["layer"], fields["head"], fields["mask"]) == (2, 3, "full")
    scores = arrays["q"] @ arrays["k"].T * fields["scaling"]
    weights = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    assert weights == pytest.approx(trace.attention(2)[3].numpy(), abs=1e-6)


def test_head_of_given_maps_comes_as_attention(maps):
    view = bl.HeadView(maps, map="cross")
    fields, buffers = question(view, op="head", layer=1, head=0)
    assert wire.unpack(fields["arrays"], buffers[0])["attention"].shape == (3, 4)


def test_overview_of_another_map(maps):
    fields, buffers = question(maps.explore(), op="overview", map="cross")
    assert fields["map"] == "cross" and fields["maps"] == ["encoder", "decoder", "cross"]
    assert (fields["queries"]["tokens"], fields["keys"]["tokens"]) == (list("xyz"), list("abcd"))
    assert wire.unpack(fields["arrays"], buffers[0])["thumbs"].shape == (2, 2, 3, 4)


def test_new_text_is_traced_and_keeps_what_makes_sense(trace, lens):
    view = trace.explore(layer=2, head=3, query=2, key=6, heads=[[1, 1]])  # cat, mat
    assert question(view, op="trace", text="a cat sat", text_pair="") == ({"id": "1"}, [])
    assert view.trace.tokens == ["[CLS]", "a", "cat", "sat", "[SEP]"]
    assert (view.text, view.text_pair) == ("a cat sat", "")
    assert (view.layer, view.head, view.heads) == (2, 3, [[1, 1]])
    assert (view.query, view.key) == (2, None)
    assert view.overview["header"]["queries"]["pieces"] == view.trace.tokens
    assert view.trace.lens is lens


def test_a_text_without_a_token_is_said(lens):
    """In Python's report and in the page's header, at the start and after Run with an empty field."""
    said = "No token comes from the text: what is shown are the special tokens that the tokenizer adds"

    def found(view):
        return [badge["detail"] for badge in view.overview["header"]["badges"] if badge["severity"] == "warning"]

    for text in ("", " \n"):
        empty = lens.trace(text)
        assert said in empty.report.lines() and found(empty.explore()) == [f"{said}."]
    view = lens.trace("the cat").explore()
    assert found(view) == [] and said not in view.trace.report.lines()
    question(view, op="trace", text="", text_pair="")
    assert found(view) == [f"{said}."]
    question(view, op="trace", text="", text_pair="it was warm")
    assert found(view) == []


def test_pin_follows_its_word_to_its_only_other_place(trace):
    view = trace.explore(query=2)  # cat
    question(view, op="trace", text="warm it was the cat", text_pair=None)
    assert view.trace.tokens[view.query] == "cat" and view.query == 5
    question(view, op="trace", text="cat the cat the", text_pair=None)
    assert view.query is None


def test_old_head_questions_are_not_answered_for_the_new_text(trace, lens):
    view = trace.explore()
    old = view.overview["header"]["trace"]
    view.trace = lens.trace("warm")
    fields, buffers = question(view, op="head", layer=0, head=0, trace=old)
    assert "the text has changed" in fields["error"] and buffers == []


def test_page_of_its_own_through_the_menu(trace):
    fields, buffers = question(trace.explore(), op="html", layers=[1])
    assert fields == {"id": "1"} and buffers[0].startswith(b"<!doctype html>")


def test_answers_are_json_and_bytes(trace):
    """What travels is plain JSON without NaN, and bytes."""
    import json

    view = trace.explore()
    for op in ({"op": "head", "layer": 0, "head": 0}, {"op": "overview"}):
        fields, buffers = question(view, **op)
        json.dumps(fields, allow_nan=False)
        assert all(isinstance(buffer, bytes) for buffer in buffers)
    json.dumps(view.overview["header"], allow_nan=False)
    assert isinstance(view.overview["data"], bytes)


def test_questions_from_two_threads_are_not_mixed(lens):
    """Two widgets on one model."""
    views = [lens.trace(text).explore() for text in ("the cat", "the mat was warm")]
    texts = [("cat sat", 4), ("it was very warm", 6)]
    wrong = []

    def work(view, text, tokens):
        for _ in range(15):
            question(view, op="trace", text=text)
            fields, buffers = question(view, op="head", layer=1, head=1)
            shape = wire.unpack(fields["arrays"], buffers[0])["q"].shape
            if view.text != text or shape[0] != tokens:
                wrong.append((view.text, shape))

    threads = [threading.Thread(target=work, args=(v, *t)) for v, t in zip(views, texts, strict=True)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


# Bad messages

HUGE = "x" * 5_000_000
BAD = [
    {"op": "nothing"},
    {"op": None},
    {"op": ["head"]},
    {"op": {"a": 1}},
    {"op": "_answer_hello"},
    {"op": "__class__"},
    {"op": "close"},
    {"op": HUGE},
    {},
    {"op": "head"},
    {"op": "head", "layer": 0},
    {"op": "head", "layer": "0", "head": 0},
    {"op": "head", "layer": 0.0, "head": 0},
    {"op": "head", "layer": True, "head": 0},
    {"op": "head", "layer": None, "head": 0},
    {"op": "head", "layer": [0], "head": 0},
    {"op": "head", "layer": -1, "head": 0},
    {"op": "head", "layer": 3, "head": 0},
    {"op": "head", "layer": 0, "head": 4},
    {"op": "head", "layer": 0, "head": 10**30},
    {"op": "head", "layer": HUGE, "head": 0},
    {"op": "head", "layer": 0, "head": 0, "map": "other"},
    {"op": "head", "layer": 0, "head": 0, "map": HUGE},
    {"op": "head", "layer": 0, "head": 0, "map": ["self"]},
    {"op": "head", "layer": 0, "head": 0, "trace": "0"},
    {"op": "overview", "map": "../../etc/passwd"},
    {"op": "overview", "map": None},
    {"op": "trace"},
    {"op": "trace", "text": 3},
    {"op": "trace", "text": None},
    {"op": "trace", "text": ["a"]},
    {"op": "trace", "text": "a", "text_pair": 3},
    {"op": "trace", "text": "a", "text_pair": {"b": 1}},
    {"op": "trace", "text": HUGE},
    {"op": "trace", "text": "warm " * 100},
    {"op": "html", "layers": "all"},
    {"op": "html", "layers": ["0"]},
    {"op": "html", "layers": [99]},
    {"op": "html", "layers": [True, HUGE]},
    {"op": "html", "layers": {"0": 1}},
]


@pytest.mark.parametrize("message", BAD, ids=lambda m: re.sub(r"x{9,}", "huge", str(m))[:60])
def test_bad_message_is_one_short_error_and_changes_nothing(trace, message):
    view = trace.explore(layer=1, head=2, query=3)
    before = {name: getattr(view, name) for name in LensWidget.class_own_traits(sync=True)}
    header = view.overview["header"]
    fields, buffers = ask(view, {"id": "7", "trace": header["trace"], "map": "self", **message})
    assert {"id", "error"} <= set(fields) <= {"id", "error", "stale"} and fields["id"] == "7" and buffers == []
    error = fields["error"]
    assert 0 < len(error) < 300 and "\n" not in error and "Traceback" not in error
    assert not re.match(r"[A-Z]\w*(Error|Exception):", error)  # a sentence, not a Python class
    assert {name: getattr(view, name) for name in before} == before
    assert view.trace is trace


@pytest.mark.parametrize("message", [None, [], "head", 3, {"op": "head"}, {}])
def test_message_without_an_id_is_not_answered(trace, message):
    assert ask(trace.explore(), message) is None


def test_bad_message_does_not_reach_the_model_or_the_disk(trace, monkeypatch):
    import builtins

    def refuse(*args, **kwargs):
        raise AssertionError("a bad message ran code")

    view = trace.explore()
    monkeypatch.setattr(builtins, "eval", refuse)
    monkeypatch.setattr(builtins, "exec", refuse)
    monkeypatch.setattr(Path, "read_bytes", refuse)
    monkeypatch.setattr(torch.nn.Module, "__call__", refuse)
    for message in BAD[:9]:
        assert "error" in ask(view, {"id": "1", **message})[0]


def test_every_question_about_given_maps_is_answered_or_refused_in_words(maps):
    """No model, no queries, and in one map not even a square: views that need them say so."""
    for name in ("encoder", "cross"):
        view = maps.explore(map=name)
        for op in QUESTIONS:
            more = {"layer": 0, "head": 0, "measure": "norm", "kind": "attn-w", "threshold": 0.3, "margin": 0.1}
            fields, _ = question(view, op=op, gate="self", view="full", **more)
            error = fields.get("error", "")
            assert not re.match(r"[A-Z]\w*(Error|Exception):", error) or error.startswith("BertLens"), (name, op, error)


def test_error_in_a_handler_is_sent_and_not_lost(trace, monkeypatch):
    view = trace.explore()

    def broken(_asked):
        raise RuntimeError("out of memory")

    monkeypatch.setitem(QUESTIONS, "hello", replace(QUESTIONS["hello"], answer=broken))
    assert ask(view, {"id": "1", "op": "hello"}) == ({"error": "RuntimeError: out of memory", "id": "1"}, [])


# Traits


@pytest.mark.parametrize(
    "wrong",
    [
        {"layer": 3},
        {"layer": -1},
        {"head": 4},
        {"query": 12},
        {"key": -1},
        {"heads": [[0, 4]]},
        {"heads": [[0]]},
        {"heads": [["0", 0]]},
        {"heads": [7]},
        {"map": "decoder"},
        {"include_layers": []},
        {"include_heads": [4]},
        {"overview": {}},
        {"parts": []},
        {"colour": "red"},
    ],
)
@pytest.mark.parametrize("widget", WIDGETS)
def test_selection_that_does_not_exist_is_refused_by_name(trace, widget, wrong):
    with pytest.raises(SelectionError) as caught:
        widget(trace, **wrong)
    assert isinstance(caught.value, BertLensError)
    assert next(iter(wrong)).rstrip("s").split("_")[-1] in str(caught.value)
    assert len(str(caught.value)) < 250


@pytest.mark.parametrize(
    "wrong", [{"layer": "1"}, {"mode": "cube"}, {"theme": "blue"}, {"pair_filter": "CC"}, {"hide_special": "yes"}]
)
def test_value_of_a_wrong_kind_is_refused(trace, wrong):
    with pytest.raises(TraitError):
        trace.explore(**wrong)


def test_refused_value_leaves_the_selection(trace):
    view = trace.explore(layer=1)
    with pytest.raises(SelectionError):
        view.layer = 3
    assert view.layer == 1


def test_heads_of_the_selected_layer_may_be_numbers(trace):
    assert trace.explore(layer=2, heads=[0, 3]).heads == [[2, 0], [2, 3]]


def test_selection_can_be_observed(trace):
    view, seen = trace.explore(), []
    view.observe(lambda change: seen.append((change["name"], change["new"])), ["layer", "query"])
    view.layer, view.query = 2, 3
    assert seen == [("layer", 2), ("query", 3)]


def test_switching_the_map_drops_the_pins(maps):
    view = maps.explore(query=3, key=3)
    view.map = "cross"
    assert (view.query, view.key) == (None, None)
    view.query, view.key = 2, 3
    with pytest.raises(SelectionError, match="query 3"):
        view.query = 3


def test_included_layers_and_heads_that_the_new_trace_lacks_are_let_go(trace):
    other = bl.Trace.from_attentions(torch.full((1, 2, 6, 6), 1 / 6), list("abcdef"))
    widget = trace.explore(include_layers=[1, 2], include_heads=[0, 1])
    widget.trace = other  # one layer of two heads
    assert widget.include_layers is None and widget.include_heads == [0, 1]


def test_small_widgets_have_their_parts(trace):
    parts = {widget.__name__: set(widget(trace).parts) for widget in WIDGETS}
    assert parts["HeadAtlas"] == {"atlas"} and parts["HeadView"] == {"head"}
    assert "neurons" in parts["NeuronView"] and "atlas" not in parts["NeuronView"]
    assert parts["Explorer"] > {"header", "atlas", "head", "neurons", "table"}


def test_traits_are_those_of_the_vocabulary():
    assert sorted(LensWidget.class_own_traits(sync=True)) == sorted(trait.name for trait in TRAITS)


@pytest.mark.parametrize("trait", [trait for trait in TRAITS if trait.choices], ids=lambda trait: trait.name)
def test_every_choice_can_be_made_and_no_other(trace, trait):
    view = trace.explore()
    for choice in trait.choices:
        setattr(view, trait.name, choice)
        assert getattr(view, trait.name) == choice
    with pytest.raises(SelectionError, match=f"no {trait.name} 'cube'"):
        setattr(view, trait.name, "cube")
    assert getattr(view, trait.name) == trait.choices[-1]


def test_overview_shows_the_chosen_head(trace):
    view = trace.explore(layer=2, head=1)
    header = view.overview["header"]
    assert (header["head"]["layer"], header["head"]["head"]) == (2, 1)
    arrays = wire.unpack(header["arrays"], view.overview["data"])
    assert arrays["thumbs"].shape[:2] == (3, 4) and arrays["thumbs"].dtype == np.uint8
    assert arrays["head.q"] == pytest.approx(trace.query(2)[1].numpy())


def test_overview_of_a_long_text_is_small():
    """Thumbnails of at most 32 × 32."""
    size = 400
    weights = torch.full((6, 12, size, size), 1 / size)
    view = bl.Trace.from_attentions(weights, ["t"] * size).explore()
    header, data = view.overview["header"], view.overview["data"]
    arrays = {entry["name"]: entry["shape"] for entry in header["arrays"]}
    assert max(arrays["thumbs"][2:]) <= 32
    assert len(data) < 6 * 12 * 32 * 32 + size * size * 4 + 100_000


def test_model_with_nan_opens_exports_and_answers_in_valid_json():
    import json

    model = bert()
    model.encoder.layer[1].attention.self.key.bias.data[0] = float("nan")
    view = bl.Lens(model, wordpiece()).trace("the cat sat").explore(layer=1)
    assert view.overview["header"]["nan_layer"] == 1
    json.dumps(view.overview["header"], allow_nan=False)
    view.to_html()
    for op in ("norm_view", "geometry"):
        json.dumps(question(view, op=op)[0], allow_nan=False)


def test_still_picture_goes_with_the_output(trace):
    data, _ = trace.explore()._repr_mimebundle_()
    assert data["image/png"].startswith(b"\x89PNG") or isinstance(data["image/png"], str)
    assert {"text/plain", "application/vnd.jupyter.widget-view+json"} <= set(data)


# Memory


def test_closed_widgets_keep_nothing_alive(lens):
    trace = lens.trace("the cat sat on the mat")
    views = [WIDGETS[n % 4](trace, layer=n % 3) for n in range(50)]
    for view in views:
        question(view, op="head", layer=0, head=0)
    gone = [weakref.ref(trace), weakref.ref(views[0])]
    for view in views:
        view.close()
    del trace, views, view
    gc.collect()
    assert [reference() for reference in gone] == [None, None]


def test_new_text_lets_go_of_the_old_one(trace):
    view = bl.Lens(bert(1), wordpiece()).trace("the cat").explore()
    old = weakref.ref(view.trace)
    question(view, op="gates", threshold=0.35, margin=0.1)
    question(view, op="trace", text="warm")
    gc.collect()
    assert old() is None


# A survey beside a trace


def test_statistics_of_other_weights_are_refused(lens, trace):
    """The same shape and even the same name say nothing: the weights do."""
    stats = bl.survey.head_stats(lens, ["the cat sat", "it was warm"], progress=False)
    assert trace.explore(stats=stats).overview["header"]["tabs"][-2]["why_not"] == ""
    other = bl.Lens(bert(seed=1), wordpiece()).trace("the cat")
    for view in (lambda: other.explore(stats=stats), lambda: bl.SurveyView(other, stats)):
        with pytest.raises(bl.InputError, match="other weights than the trace of BertModel: survey the model"):
            view()
    shown = trace.explore(stats=stats)
    shown.trace = other
    assert "other weights" in shown.overview["header"]["tabs"][-2]["why_not"]
    again = bl.Lens(bert(), wordpiece()).trace("the cat")  # the same weights in another object
    assert again.explore(stats=stats).overview["header"]["tabs"][-2]["why_not"] == ""
    maps = bl.Trace.from_attentions([trace.attention(n) for n in range(3)], trace.tokens)
    maps.explore(stats=stats)  # of what model is not known


def test_labels_of_a_treebank_arrive_as_they_can_be_read(lens):
    """A right-to-left override in a relation or word would turn the rest of a line of the page around."""
    from bertlens.survey import Sentence, relation_scores

    sentence = Sentence(["the", "c\u202eat", "sat\x00"], [1, 2, -1], ["det\u202e", "nsubj:\u200fx", "root"])
    trace = lens.trace_words(sentence.words)
    stats = bl.survey.head_stats(lens, [trace], progress=False)
    relations = relation_scores(lens, [sentence], progress=False)
    view = trace.explore(stats=stats, relations=relations, sentence=sentence)
    fields, _ = question(view, op="survey")
    assert fields["sentence"]["words"] == ["the", "c⟨U+202E⟩at", "sat⟨U+0000⟩"]
    assert fields["sentence"]["relations"] == ["det⟨U+202E⟩", "nsubj:⟨U+200F⟩x", "root"]
    assert "det⟨U+202E⟩" in {row["relation"] for row in fields["relations"]}
    assert not re.search("[\u202e\u200f\x00]", repr(fields))
