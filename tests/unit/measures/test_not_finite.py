"""NaN and infinity in a run, wherever they begin: what is offered, answered and saved, on any processor alike."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
import transformers as tf
from torch import nn

from bertlens import ExportError, InputError, ModelError
from bertlens.export import live
from bertlens.export.html import question_name
from bertlens.measures import flow, geometry
from bertlens.measures.largest import largest
from bertlens.measures.offers import offers
from bertlens.measures.ranks import spearman
from bertlens.widgets.questions import QUESTIONS
from unit import tiny
from unit.measures.test_offers import TEXT, check_measures, check_view, lens_of
from unit.widgets.test_widgets import question

VALUES = (math.nan, math.inf, -math.inf)
REFUSED = {"geometry", "spectra", "gates", "sources", "predictions"}  # whose numbers need finite states


def places(model: Any) -> dict[str, tuple[int, nn.Module]]:
    """By name, the layer in which a run is spoilt, and the module whose output is."""
    base = getattr(model, "bert", model)
    modules = {"embeddings": (0, base.embeddings)}
    for n, layer in enumerate(base.encoder.layer):
        parts = {"heads": layer.attention.self, "attention": layer.attention, "mlp": layer.output.dense, "layer": layer}
        modules |= {f"{name} of layer {n}": (n, module) for name, module in parts.items()}
    return modules


def spoilt(model: Any, place: str, value: float) -> Any:
    """The model, of which one number of one token is `value` in every pass."""

    def plant(_module: Any, _args: Any, output: Any) -> Any:
        state = (output[0] if isinstance(output, tuple) else output).clone()
        state[0, 2, 3] = value
        return (state, *output[1:]) if isinstance(output, tuple) else state

    places(model)[place][1].register_forward_hook(plant)
    return model


@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("place", places(tiny.bert()))
def test_a_run_that_is_not_finite_is_answered_or_refused_in_words_and_saved(place: str, value: float) -> None:
    model = tiny.bert()
    layer, _ = places(model)[place]
    trace = lens_of(spoilt(model, place, value)).trace(TEXT)
    reasons = offers(trace)
    assert trace.nan_layer == layer and {name for name, reason in reasons.items() if reason} == REFUSED
    for name in REFUSED - {"predictions"}:
        assert reasons[name].startswith(f"the model computed NaN or Inf, from layer {layer} on: ")
    check_measures(trace)
    check_view(trace, [op for op in QUESTIONS if op != "html"])  # the page that it makes is made once
    with pytest.raises(ModelError, match="nothing flows"):
        flow.attention_flow(trace)
    with pytest.raises(ExportError, match="no numbers to be compared with"):
        live.check(trace)


def test_the_run_is_looked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    trace = lens_of(spoilt(tiny.bert(), "mlp of layer 1", math.nan)).trace(TEXT)
    assert trace.nan_layer == 1
    monkeypatch.setattr(torch.Tensor, "isfinite", lambda _: pytest.fail("another look"))
    assert sum("from layer 1 on" in reason for reason in offers(trace).values()) == 4


@pytest.mark.parametrize("value", VALUES)
def test_an_answer_of_no_numbers_is_none(value: float) -> None:
    torch.manual_seed(0)
    model = spoilt(tiny.shaken(tf.BertForMaskedLM(tiny.bert().config)), "mlp of layer 2", value)
    trace = lens_of(model).trace("the cat sat on the [MASK]")
    reason = offers(trace)["predictions"]
    assert reason == "the model computed NaN or Inf, from layer 2 on: it has no answer"
    for layer in (None, 0, "all"):
        with pytest.raises(ModelError, match=reason):
            trace.predictions(layer=layer)
    view = trace.explore()
    for op in ("answers", "heads_that_matter"):
        fields, _ = question(view, op=op)
        assert fields["why_not"] == reason and "error" not in fields
    assert "<main" in view.to_html()


def refuse(*_given: Any, **_named: Any) -> Any:
    raise InputError("not today")


def test_what_is_refused_while_a_page_is_made_is_a_refusal_in_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of every question that a page holds the answer to, in the kernel's words."""
    view = lens_of(tiny.bert()).trace(TEXT).explore()
    names = {question_name(message) for message, _ in view.page().answers}
    for name, asked in QUESTIONS.items():
        monkeypatch.setitem(QUESTIONS, name, replace(asked, answer=refuse, saved=None))
    answers = list(view.page().answers)
    assert {question_name(message) for message, _ in answers} == names
    assert all(reply == ({"error": "not today"}, []) for _, reply in answers)
    fields, _ = question(view, **answers[0][0])
    assert fields["error"] == "not today"
    assert "<main" in view.to_html()


def test_a_question_that_cannot_be_asked_does_not_end_a_page(monkeypatch: pytest.MonkeyPatch) -> None:
    def carried(*given: Any) -> Iterator[dict[str, Any]]:
        yield from ({"station": 0, "method": "pca"}, refuse())

    monkeypatch.setitem(QUESTIONS, "stream", replace(QUESTIONS["stream"], carried=carried))
    operations = [message["op"] for message, _ in lens_of(tiny.bert()).trace(TEXT).explore().page().answers]
    assert "stream" not in operations and {"geometry", "spectra"} <= set(operations)


def test_the_largest_are_those_of_a_stable_sort_and_nan_is_last() -> None:
    generator = torch.Generator().manual_seed(0)
    for n in (1, 5, 40):
        rows = torch.randint(3, (30, n), generator=generator).double()
        rows[torch.rand(30, n, generator=generator) < 0.3] = torch.nan
        orders = [
            sorted(range(n), key=lambda at: (math.isnan(row[at]), -np.nan_to_num(row[at]), at)) for row in rows.tolist()
        ]
        for k in range(n + 1):
            places, values = largest(rows, k)
            assert places.tolist() == [order[:k] for order in orders]
            torch.testing.assert_close(values, rows.gather(1, places), equal_nan=True)
            assert largest(rows[0], k)[0].tolist() == orders[0][:k]


def test_equal_answers_come_in_the_order_of_the_vocabulary() -> None:
    model = tiny.shaken(tf.BertForMaskedLM(tiny.bert().config))
    with torch.no_grad():
        model.cls.predictions.decoder.weight.zero_()
        model.cls.predictions.decoder.bias.zero_()
    trace = lens_of(model).trace("the cat sat on the [MASK]")
    assert trace.predictions(20)["token"].tolist() == [tiny.VOCABULARY[n] for n in range(20)]
    assert question(trace.explore(), op="answers")[0]["choices"][:20] == tiny.VOCABULARY[:20]


def test_numbers_among_which_is_nan_are_in_no_order() -> None:
    x = torch.tensor([1.0, 2.0, math.nan, 3.0])
    assert math.isnan(spearman(x, torch.arange(4))) and math.isnan(spearman(torch.arange(4), x))
    assert spearman(x[[0, 1, 3]], torch.arange(3)) == 1


@pytest.mark.parametrize("value", VALUES)
def test_what_is_no_number_is_in_no_bin(value: float) -> None:
    sound = lens_of(tiny.bert()).trace(TEXT)
    trace = lens_of(spoilt(tiny.bert(), "layer of layer 0", value)).trace(TEXT)
    bins, whole = (geometry.norm_histograms(run, 1, 0) for run in (trace, sound))
    assert np.isfinite(bins.edges).all() and not bins.counts["context"].any()  # whatever looks at the token is NaN
    for kind in ("query", "key", "value"):
        assert bins.counts[kind].sum() == sound.n_tokens - 1
        np.testing.assert_allclose(np.delete(bins.norms[kind], 2), np.delete(whole.norms[kind], 2), rtol=1e-5)
