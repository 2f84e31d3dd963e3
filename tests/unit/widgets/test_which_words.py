"""Which words the answer rests on, as a page is told: against the Python functions with a metric of one's own."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch

from bertlens import InputError, Lens, Trace, whatif
from bertlens.measures import attribution
from bertlens.measures.metrics import Metric, Read
from bertlens.widgets.answers.which_words import faithful, which_words
from unit.asking import question
from unit.whatif.test_effects import PAIR, lens_of, traced

METHODS: dict[str, Any] = {
    "occlusion": lambda *given: attribution.occlusion(*given, progress=False),
    "integrated gradients": lambda *given: attribution.integrated_gradients(*given, progress=False),
    "gradient × input": attribution.gradient_input,
    "attention × gradient": attribution.attention_gradient,
    "linearised": attribution.linearised,
}
OFF = whatif.off(0, 1)
Asked = dict[str, Any]


def told(trace: Trace, method: str, **target: Any) -> np.ndarray:
    fields, arrays = which_words(trace, method, **target, patience=math.inf)
    assert fields["why_not"] == "" and fields["attribution"] == method
    found: np.ndarray = arrays["values"]
    return found


def of_words(trace: Trace) -> Metric:
    at = trace.tokens.index("[MASK]")
    return whatif.logit(int(trace.original.output.logits[0, at].argmax()))


def of_labels(trace: Trace) -> Metric:
    return whatif.label(int(trace.original.output.logits[0].argmax()))


def of_tags(trace: Trace) -> Read:
    own = trace.original.output.logits[0].argmax(-1)
    text = [n for n, token in enumerate(trace.tokens) if token not in ("[CLS]", "[SEP]")]
    return lambda output: sum(output.logits[0, n, own[n]] for n in text)


CASES: dict[str, tuple[str, Asked, Any]] = {
    "words": ("words", {}, of_words),
    "a word at the second mask": (
        "words, two masks",
        {"target": "mat", "target_at": 6},
        lambda trace: whatif.logit("mat", 6),
    ),
    "labels": ("labels", {}, of_labels),
    "a label": ("labels", {"target": "LABEL_1"}, lambda trace: whatif.label("LABEL_1")),
    "a token's label": ("tags", {"target": "LABEL_1", "target_at": 3}, lambda trace: whatif.label("LABEL_1", 3)),
    "all tokens' labels": ("tags", {}, of_tags),
    "vector": ("embedding", {}, lambda trace: whatif.similarity()),
}


def works(kind: str, method: str, changed: bool) -> bool:
    if method == "linearised":
        return not changed and kind != "all tokens' labels"
    return kind != "vector" or changed or method in ("occlusion", "integrated gradients")


@pytest.mark.sampled(18)
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("changed", [False, True], ids=["", "changed"])
@pytest.mark.parametrize("case", CASES)
def test_values_are_those_of_the_function(case: str, changed: bool, method: str) -> None:
    kind, target, metric = CASES[case]
    trace = traced(kind).rerun(OFF) if changed else traced(kind)
    if not works(case, method, changed):
        fields, arrays = which_words(trace, method, **target)
        assert fields["why_not"].endswith((".", "method.")) and "hoose" in fields["why_not"] and not arrays
        assert fields["runs"] == 0
        return
    expected = METHODS[method](trace, metric(trace)).values.numpy()
    np.testing.assert_allclose(told(trace, method, **target), expected, rtol=1e-5, atol=5e-6)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("changed", [False, True], ids=["", "changed"])
def test_a_pairs_similarity_is_of_each_text_alone(changed: bool, method: str) -> None:
    """[CLS] a b … [SEP] and [CLS] c d … [SEP] become [CLS] a b … [SEP] c d … [SEP]."""
    trace = traced("similarity")
    assert trace.lens is not None
    texts = [trace.lens.trace(text) for text in PAIR]
    if changed:
        trace, texts = trace.rerun(OFF), [text.rerun(OFF) for text in texts]
    if changed and method == "linearised":
        assert which_words(trace, method)[0]["why_not"] == (
            "The linearised model is of the unchanged run. Undo the change, or choose another method."
        )
        return
    first, second = (
        METHODS[method](text, whatif.similarity(other)).values.numpy()
        for text, other in zip(texts, texts[::-1], strict=True)
    )
    expected = np.concatenate([[first[0] + second[0]], first[1:], second[1:]])
    np.testing.assert_allclose(told(trace, method), expected, rtol=1e-5, atol=1e-8)


def test_occlusion_of_a_pair_is_the_cosine_that_goes() -> None:
    """By the model's own runs: a text with one token masked, beside the other as it is."""
    trace = traced("similarity")
    lens: Any = trace.lens

    def vector(text: str, masked: int | None = None) -> torch.Tensor:
        ids = lens.trace(text).input_ids[None].clone()
        if masked is not None:
            ids[0, masked] = lens.tokenizer.mask_token_id
        with torch.no_grad():
            mean: torch.Tensor = lens.model(input_ids=ids).last_hidden_state[0].double().mean(0)
        return mean

    def cosine(a: torch.Tensor, b: torch.Tensor) -> float:
        return float(torch.cosine_similarity(a, b, dim=0))

    whole = cosine(*map(vector, PAIR))
    values = told(trace, "occlusion")
    sides = [n for n, token in enumerate(trace.tokens) if token == "[SEP]"]
    assert np.isnan(values[[0, *sides]]).all()
    for at in (1, 3):
        assert values[at] == pytest.approx(whole - cosine(vector(PAIR[0], at), vector(PAIR[1])), abs=2e-6)
        own = sides[0] + at
        assert values[own] == pytest.approx(whole - cosine(vector(PAIR[0]), vector(PAIR[1], at)), abs=2e-6)


def test_what_it_says_of_the_number_and_of_the_work() -> None:
    fields, _ = which_words(traced("words"), "occlusion", patience=math.inf)
    assert (fields["kind"], fields["unit"], fields["removal"], fields["signed"]) == ("words", "logits", "mask", True)
    assert fields["label"].startswith("logit of “") and fields["removable"] == [5]
    assert fields["runs"] == 2 * 2 * 21  # 1 and 3 of 5 tokens, taken out and left in, 20 random orders and its own
    fields, _ = which_words(traced("similarity"), "gradient × input", patience=math.inf)
    assert (fields["kind"], fields["unit"], fields["removable"]) == ("similarity", "cosine", [6, 4])
    one = lens_of(type(traced("words").model.runner)).trace("[MASK]")  # type: ignore[union-attr]
    with pytest.raises(InputError, match="no token of this text can be removed"):
        which_words(one, "occlusion")
    assert which_words(one, "gradient × input", patience=math.inf)[0]["runs"] == 0


@pytest.mark.parametrize("case", ["words", "a label", "vector"])
def test_faithfulness_is_that_of_the_function(case: str) -> None:
    kind, target, metric = CASES[case]
    trace = traced(kind)
    found = attribution.occlusion(trace, metric(trace), progress=False)
    table = attribution.faithfulness(trace, found, ceiling=False, progress=False)
    [row] = faithful(trace, "occlusion", **target, patience=math.inf)[0]["rows"]
    for column in ("comprehensiveness", "sufficiency"):
        own, random = table.loc[found.method], table.loc["random"]
        assert row[column] == pytest.approx(own[column], abs=1e-6)
        assert row[f"{column}_beats"] == own[f"{column}_beats"]
        assert row[f"random_{column}"] == pytest.approx(random[column], abs=1e-6)
        assert row[f"random_{column}_error"] == pytest.approx(random[f"{column}_error"], abs=1e-6)
    assert (row["n"], row["bins"], row["rankings"]) == tuple(
        table.attrs[name] for name in ("removable", "bins", "rankings")
    )


def test_faithfulness_of_a_pair_is_of_each_text() -> None:
    trace = traced("similarity")
    assert trace.lens is not None
    first, second = (trace.lens.trace(text) for text in PAIR)
    rows = faithful(trace, "linearised", patience=math.inf)[0]["rows"]
    for row, text, other in zip(rows, (first, second), (second, first), strict=True):
        found = attribution.linearised(text, whatif.similarity(other))
        table = attribution.faithfulness(text, found, ceiling=False, progress=False)
        assert row["comprehensiveness"] == pytest.approx(table.loc["linearised", "comprehensiveness"], abs=1e-6)
        assert row["random_sufficiency"] == pytest.approx(table.loc["random", "sufficiency"], abs=1e-6)


def test_it_takes_turns_and_comes_to_the_same() -> None:
    text = " ".join(["the cat sat on the mat"] * 30).replace("cat", "[MASK]", 1)
    lens: Lens | None = traced("words").lens
    assert lens is not None
    for function, method in (
        (which_words, "occlusion"),
        (which_words, "integrated gradients"),
        (faithful, "linearised"),
    ):
        whole = function(lens.trace(text[:240]), method, patience=math.inf)
        trace, turns = lens.trace(text[:240]), 0
        while (found := function(trace, method, patience=0))[0].get("again"):
            turns += 1
        assert turns > 3 or method == "integrated gradients"
        assert found[0] == whole[0]
        for name, values in whole[1].items():
            np.testing.assert_array_equal(found[1][name], values)


def test_a_page_may_ask_for_these_methods_alone() -> None:
    view = traced("labels").explore()
    fields, buffers = question(view, op="which_words", attribution="linearised")
    assert fields["label"].startswith("logit of “LABEL_") and len(buffers) == 1
    fields, _ = question(view, op="which_words", attribution="shap")
    assert "no attribution 'shap'" in fields["error"]
