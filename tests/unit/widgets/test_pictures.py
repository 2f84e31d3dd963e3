"""The atlas of a long text: nothing of it before a page asks, all of it where no page will."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn.functional import adaptive_max_pool2d

import bertlens as bl
from bertlens.base import wire
from bertlens.base.limits import LIMITS, Limit
from bertlens.errors import ExportError
from bertlens.measures import rows
from bertlens.trace import Trace
from bertlens.widgets import host
from bertlens.widgets.answers import gate_answers, layer_pictures
from unit import tiny
from unit.asking import replies

KINDS = [k for k in ("bert", "gpt2", "modernbert", "t5 encoder", "llama, grouped keys") if k in tiny.FAMILIES]


@pytest.fixture
def long(monkeypatch: pytest.MonkeyPatch) -> Trace:
    """A text that counts as long, though it is not."""
    monkeypatch.setitem(LIMITS, "at_once", Limit(4, "", ""))
    return bl.Lens(tiny.bert(), tiny.wordpiece()).trace("the cat sat on the mat")


def arrays_of(state: dict[str, Any]) -> dict[str, np.ndarray]:
    return wire.unpack(state["header"]["arrays"], state["data"])


def again(trace: Trace) -> Trace:
    """The same text, of which nothing is computed yet."""
    return trace.lens.trace(trace.text)


def ask(view: Any, **fields: Any) -> tuple[dict[str, Any], list[bytes]]:
    return replies(view, {"id": "1", "trace": view.overview["header"]["trace"], "map": view.map, **fields})[0]


@pytest.mark.parametrize("name", KINDS)
def test_pictures_of_a_layer(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pooled maps and plain sums of the trace's own weights; some rows of a head or two at a time, or all."""
    family = tiny.FAMILIES[name]
    lens = bl.Lens(tiny.shaken(family.model()), family.tokenizer())
    size = lens.trace(*tiny.TEXTS[1]).n_tokens
    for at_once in (2 * size, 2 * size**2, 10**9):
        monkeypatch.setattr(rows, "WEIGHTS_AT_ONCE", at_once)
        monkeypatch.setattr(rows, "LEAST_ROWS", 2)
        trace = lens.trace(*tiny.TEXTS[1])
        fields, arrays = layer_pictures.layer_pictures(trace, 1)
        assert fields == {"layer": 1}
        weights = trace.attention(1).double()
        side = min(32, trace.n_tokens)
        pooled = adaptive_max_pool2d(weights, (side, side))
        assert arrays["thumb_max"].numpy() == pytest.approx(weights.amax((1, 2)).numpy(), rel=1e-6)
        steps = 255 * pooled / weights.amax((1, 2))[:, None, None]
        assert (arrays["thumbs"].double() - steps).abs().max() <= 0.501
        entropies = -(weights * weights.clamp_min(1e-300).log()).sum(-1).mean(-1)
        assert arrays["stats"][:, 8].numpy() == pytest.approx(entropies.numpy(), abs=1e-5)
        assert arrays["stats"][:, 3].numpy() == pytest.approx(weights[:, :, 0].mean(-1).numpy(), abs=1e-6)


def test_heads_alone_are_those_of_the_layer() -> None:
    for name in KINDS:
        family = tiny.FAMILIES[name]
        trace = bl.Lens(tiny.shaken(family.model()), family.tokenizer()).trace(*tiny.TEXTS[1])
        torch.testing.assert_close(trace.attention_heads(1, 1, 3), trace.attention(1)[1:3])
    changed = trace.rerun(bl.whatif.pattern(1, 2, "uniform"))
    torch.testing.assert_close(changed.attention_heads(1, 1, 3), changed.attention(1)[1:3])


def test_a_view_of_a_long_text_looks_at_no_layer(long: Trace, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_args: Any) -> None:
        raise AssertionError("computed before it was asked for")

    monkeypatch.setattr(layer_pictures, "_pictures", refuse)
    view = long.explore(layer=0, head=1)
    header = view.overview["header"]
    assert header["pending"] == list(range(long.n_layers))
    arrays = arrays_of(view.overview)
    assert not arrays["thumbs"].any() and np.isnan(arrays["stats"]).all()
    assert {"head.q", "head.k", "head.lse"} <= arrays.keys()
    assert view._repr_mimebundle_()[0]["image/png"].startswith(b"\x89PNG")  # of the head alone


def test_a_page_asks_for_them(long: Trace) -> None:
    view = long.explore()
    fields, buffers = ask(view, op="pictures", layer=2)
    assert fields["layer"] == 2
    made = wire.unpack(fields["arrays"], buffers[0])
    whole = arrays_of(long.explore().get_state()["overview"])
    for name, array in made.items():
        np.testing.assert_array_equal(array, whole[name][2])
    assert view.overview["header"]["pending"] == list(range(long.n_layers))  # nothing is sent unasked


@pytest.mark.parametrize(
    ("op", "arguments", "module", "work", "passes"),
    [
        ("pictures", {}, layer_pictures, "_pictures", 1),
        ("gates", {"threshold": 0.3, "margin": 0.1}, gate_answers, "pattern_steps", 2),  # of both views
    ],
)
def test_a_long_layer_gives_other_questions_their_turn(
    op: str,
    arguments: dict[str, Any],
    module: Any,
    work: str,
    passes: int,
    long: Trace,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Some heads at a time, each computed once, until all are there: as in one go."""
    view = long.explore()
    _, buffers = ask(view, op=op, layer=1, **arguments)
    view = again(long).explore()
    monkeypatch.setattr(module, "PATIENCE", 0.0)
    monkeypatch.setattr(rows, "WEIGHTS_AT_ONCE", long.n_tokens**2)
    looked_at: list[slice] = []
    real = getattr(module, work)
    monkeypatch.setattr(module, work, lambda *of: looked_at.append(of[2]) or real(*of))
    replies = [ask(view, op=op, layer=1, **arguments) for _ in range(passes * long.n_heads + 1)]
    assert all(fields["again"] and not nothing for fields, nothing in replies[:-1])
    assert "again" not in replies[-1][0]
    assert looked_at == [slice(n, n + 1) for n in range(long.n_heads)] * passes
    arrays = [wire.unpack(replies[-1][0]["arrays"], data[0]) for data in (buffers, replies[-1][1])]
    for name in arrays[0]:
        np.testing.assert_allclose(arrays[1][name], arrays[0][name], rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize(
    ("op", "arguments", "names"),
    [
        ("thumbs", {"measure": "norm"}, ["thumbs", "thumb_max"]),
        ("thumbs", {"measure": "difference"}, ["thumbs", "thumb_max"]),
        ("statistics", {"by": "norm"}, ["stats", "received"]),
        ("statistics", {"by": "weight"}, ["stats", "received"]),
        ("gates", {"threshold": 0.3, "margin": 0.1}, ["full", "content"]),
    ],
)
def test_a_layer_alone_is_that_of_all_layers(
    long: Trace, op: str, arguments: dict[str, Any], names: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    view = long.explore()
    fields, buffers = ask(view, op=op, **arguments)
    whole = wire.unpack(fields["arrays"], buffers[0])
    view, looked_at = again(long).explore(), []  # so that a layer's are computed without the others
    real = gate_answers.pattern_steps
    monkeypatch.setattr(gate_answers, "pattern_steps", lambda *of: looked_at.append(of[1]) or real(*of))
    for layer in reversed(range(long.n_layers)):
        part, buffers = ask(view, op=op, layer=layer, **arguments)
        arrays = wire.unpack(part["arrays"], buffers[0])
        assert sorted(arrays) == sorted(names)
        for name in names:
            np.testing.assert_array_equal(arrays[name], whole[name][layer : layer + 1])
        if op == "gates":
            assert part["labels"] == {view: labels[layer : layer + 1] for view, labels in fields["labels"].items()}
            assert set(looked_at) == set(range(layer, long.n_layers))  # of no other layer
    for wrong in (long.n_layers, -1, None, "1"):
        assert "layer" in ask(view, op=op, layer=wrong, **arguments)[0]["error"]


def test_another_map_of_a_long_text_has_no_pictures_until_they_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(LIMITS, "at_once", Limit(2, "", ""))
    layers, sides = {"encoder": 3, "decoder": 2, "cross": 2}, {"encoder": (4, 4), "decoder": (3, 3), "cross": (3, 4)}
    given = {name: torch.rand(n, 2, *sides[name]).softmax(-1) for name, n in layers.items()}  # of unlike depth
    trace = bl.Trace.from_encoder_decoder(**given, encoder_tokens=list("abcd"), decoder_tokens=list("xyz"))
    view = trace.explore()
    name = next(name for name in trace.maps if name != view.map)
    fields, _ = ask(view, op="overview", map=name)
    assert fields["pending"] == list(range(trace.maps[name].n_layers))
    whole = view.page().overviews
    assert whole and all(header["pending"] == [] for header, _ in whole.values())


def test_a_state_that_is_saved_without_a_page_has_them(long: Trace, monkeypatch: pytest.MonkeyPatch) -> None:
    view = long.explore()
    saved = view.get_state()["overview"]
    assert saved["header"]["pending"] == [] and arrays_of(saved)["thumbs"].any()
    assert saved["header"]["trace"] == long.explore().overview["header"]["trace"]
    asked = long.explore()
    ask(asked, op="hello")
    assert asked.get_state()["overview"]["header"]["pending"]  # its page asks for them
    monkeypatch.setitem(LIMITS, "saved", Limit(4, "", ""))
    assert long.explore().get_state()["overview"]["header"]["pending"]


@pytest.mark.parametrize("allow_stdin", [True, False])
def test_a_notebook_that_nobody_looks_at_has_them(
    long: Trace, monkeypatch: pytest.MonkeyPatch, allow_stdin: bool
) -> None:
    parent = {"content": {"allow_stdin": allow_stdin}}
    monkeypatch.setattr(host, "_shell", lambda: SimpleNamespace(get_parent=lambda: parent))
    assert bool(long.explore().overview["header"]["pending"]) is allow_stdin


def test_a_page_of_its_own_has_them(long: Trace, monkeypatch: pytest.MonkeyPatch) -> None:
    page = long.explore().page()
    assert page.state["overview"]["header"]["pending"] == []
    monkeypatch.setitem(LIMITS, "saved", Limit(4, "", ""))
    page = again(long).explore().page([1])
    assert page.state["overview"]["header"]["pending"] == [0, 2][: long.n_layers - 1]  # pictures of layer 1 alone
    asked = {question["op"] for question, _ in page.answers}
    assert {"head", "norms"} <= asked
    assert asked.isdisjoint({"gates", "spectra", "geometry", "thumbs", "statistics", "norm_view"})


def test_a_page_that_is_too_large_is_refused_before_any_work(long: Trace, monkeypatch: pytest.MonkeyPatch) -> None:
    view = long.explore()
    monkeypatch.setattr("bertlens.export.html.LIMIT", 1000)
    monkeypatch.setattr(layer_pictures, "_pictures", lambda *_: pytest.fail("computed"))
    with pytest.raises(ExportError, match="not even one layer"):
        view.to_html()


def test_runs_of_other_weights_have_another_name(long: Trace) -> None:
    """The pages' answers are kept by it: nothing of the last layer shows in the first head."""
    assert long.lens is not None
    model = tiny.bert()
    with torch.no_grad():
        model.encoder.layer[-1].attention.self.query.weight += 0.1
    other = bl.Lens(model, tiny.wordpiece()).trace("the cat sat on the mat")
    names = [trace.explore(layer=0, head=0).overview["header"]["trace"] for trace in (long, other, long)]
    assert names[0] == names[2] != names[1]


TEXTS = ("The cat sat on the mat because it was tired.", "قرأت الطالبة الكتاب في المكتبة الكبيرة أمس", "sat")


@pytest.mark.parametrize("is_changed", [False, True], ids=["as it is", "changed"])
@pytest.mark.parametrize("text", TEXTS)
def test_evidence_is_of_one_head_whether_its_layer_was_measured_or_not(embedded_lens: Any, text: str, is_changed: bool):
    trace = embedded_lens.trace(text)
    if is_changed:
        trace = trace.rerun(bl.whatif.off(1, 3))
    asked = [
        (2, head, gate, view) for head in range(12) for gate in ("cluster", "closed") for view in ("full", "content")
    ]
    alone = [gate_answers.gate_evidence(trace, *each) for each in asked]
    gate_answers.gate_scores(trace, "full", [2])
    gate_answers.gate_scores(trace, "content", [2])
    for (fields, arrays), each in zip(alone, asked, strict=True):
        known, cells = gate_answers.gate_evidence(trace, *each)
        np.testing.assert_equal(known, fields)  # NaN too
        np.testing.assert_array_equal(cells["cells"], arrays["cells"])
