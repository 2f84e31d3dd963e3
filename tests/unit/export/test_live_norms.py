"""What a head passes on, as a page's own model answers it: against Python's measures of the same weights."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from bertlens import whatif
from bertlens.measures import byhead, norms
from bertlens.measures.thumbnails import thumbnails
from bertlens.widgets.answers import layer_answers
from unit.export import engine

TYPED = "She gave the dog a bone, and he [MASK] it: good dog 㐂!"
LONG = "She gave the dog a bone, and he buried it at once in the garden. " * 9
CHANGES = [["off", 4, None], ["off", 2, 5], ["cut", 1, 7, 2, 4]]
OF_ONE: list[dict[str, Any]] = [
    {"op": "norms", "trace": "last", "layer": 2},
    {"op": "thumbs", "trace": "last", "measure": "norm"},
    {"op": "thumbs", "trace": "last", "measure": "difference"},
    {"op": "thumbs", "trace": "last", "measure": "difference", "layer": 3},
    {"op": "statistics", "trace": "last", "by": "norm"},
    {"op": "statistics", "trace": "last", "by": "norm", "layer": 1},
    {"op": "norm_view", "trace": "last"},
]
QUESTIONS = [
    {"op": "trace", "text": TYPED},
    *OF_ONE,
    {"op": "change", "trace": "last", "changes": CHANGES},
    *OF_ONE,
    {"op": "trace", "text": LONG, "text_pair": "It was asleep."},
    *OF_ONE,
]


@pytest.fixture(scope="module")
def said(embedded_lens: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Three runs, each with what was answered to OF_ONE: (trace, [(error, fields, show, arrays)])."""
    lens, found = engine.asked(
        embedded_lens, "The cat sat.", QUESTIONS, tmp_path_factory.mktemp("norms"), decimals=[(512, 3)]
    )
    trace = lens.trace(TYPED)
    changed = trace.rerun(whatif.off(4), whatif.off(2, 5), whatif.cut(1, 7, 2, 4))
    assert [error for error, *_ in found] == [""] * len(found)
    step = len(OF_ONE) + 1
    runs = (trace, changed, lens.trace(LONG, "It was asleep."))
    return [(run, found[n * step + 1 : (n + 1) * step]) for n, run in enumerate(runs)]


def near(found: Any, own: Any, most: float, scale: float = 1.0) -> None:
    own = np.asarray(own)
    assert found.shape == own.shape
    np.testing.assert_allclose(found, own, atol=most * scale, rtol=most)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("run", [0, 1, 2], ids=["typed", "changed", "long"])
def test_norms_and_their_pictures(said, run):
    trace, answers = said[run]
    lengths = norms.transformed_norm(trace, 2)
    near(answers[0][3]["norms"], lengths, 1e-5, float(lengths.max()))
    for n, measure, layers in ((1, "norm", None), (2, "difference", None), (3, "difference", [3])):
        pixels, most = thumbnails(trace, measure, layers=layers)
        near(answers[n][3]["thumb_max"], most, 1e-5, float(most.max()))
        assert np.abs(answers[n][3]["thumbs"].astype(int) - pixels.numpy()).max() <= 1


@pytest.mark.parametrize("run", [0, 1, 2], ids=["typed", "changed", "long"])
def test_statistics_by_norm(said, run):
    trace, answers = said[run]
    for n, layers in ((4, None), (5, [1])):
        own = byhead.statistics(trace, "norm", layers=layers)
        _, fields, _, arrays = answers[n]
        assert fields["names"] == list(own.names) and "variation" in own.names
        near(arrays["received"], own.received, 1e-5)
        counts = own.names.index("k90")  # a row of which the last key lies at nine tenths may count one more
        near(arrays["stats"][..., counts], own.values[..., counts], 1.01 / trace.n_tokens)
        rest = [column for column in range(len(own.names)) if column != counts]
        near(arrays["stats"][..., rest], own.values[..., rest], 2e-5)


@pytest.mark.parametrize("run", [0, 1, 2], ids=["typed", "changed", "long"])
def test_weight_against_norm_by_kind_of_token(said, run):
    trace, answers = said[run]
    fields, arrays = layer_answers.norm_view(trace)
    _, found, _, own = answers[6]
    assert {**found, "arrays": 0, "pooled": 0} == {**fields, "arrays": 0, "pooled": 0}
    near(np.array(found["pooled"], float), fields["pooled"].numpy(), 1e-4)
    assert own.keys() == arrays.keys() and (own["category"] == arrays["category"].numpy()).all()
    for name in ("shares", "mixing"):
        near(own[name], arrays[name], 1e-5)
    near(own["norms"], arrays["norms"], 1e-5, float(arrays["norms"].max()))
    # neighbours in rank may change places where two weights are the same but for rounding
    near(own["within"], arrays["within"], 2e-3)
