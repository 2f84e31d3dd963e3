"""What a lens of a sentence encoder answers: its own similarity and score, in every place where an answer is given."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

import bertlens as bl
from bertlens import whatif
from bertlens.errors import InputError, ModelError
from bertlens.measures import attribution
from bertlens.measures.predictions import texts_apart
from bertlens.whatif.effects import effects
from bertlens.whatif.single_changes import single_changes
from bertlens.whatif.swept_numbers import swept_numbers
from bertlens.widgets.answers.matter import cell_matters
from bertlens.widgets.answers.whatif import answers
from unit.tiny_encoders import TEXTS, base, crossed, dense, encoder, parts, st
from unit.tiny_encoders import folder as folder_of

A, B = TEXTS[0], TEXTS[1]
OWN: dict[str, Any] = {
    "cls": ({"mode": "cls"}, list, "cosine"),
    "last token": ({"mode": "lasttoken"}, list, "cosine"),
    "weighted": ({"mode": "weightedmean", "similarity_fn_name": "dot"}, list, "dot product"),
    "max": ({"mode": ("mean", "max")}, list, "cosine"),
    "Dense": ({"similarity_fn_name": "dot"}, lambda: [dense(nn.Tanh()), parts.LayerNorm(24)], "dot product"),
    "residual": ({"truncate_dim": 9}, lambda: [dense(nn.GELU(), use_residual=True), base.Normalize()], "cosine"),
    "Euclidean": ({"similarity_fn_name": "euclidean", "mode": ("cls", "mean")}, list, "−distance"),
    "Manhattan": ({"similarity_fn_name": "manhattan"}, lambda: [dense(None), parts.Dropout(0.5)], "−distance"),
}


def without_head(model: Any, a: str, b: str, layer: int, head: int) -> float:
    """The model's own similarity with a head's columns of W_O set to 0, by sentence-transformers alone."""
    weight = model[0].model.encoder.layer[layer].attention.output.dense.weight
    kept, size = weight.detach().clone(), weight.shape[1] // model[0].model.config.num_attention_heads
    with torch.no_grad():
        weight[:, head * size : (head + 1) * size] = 0
    found = float(model.similarity(*model.encode([a, b])))
    with torch.no_grad():
        weight.copy_(kept)
    return found


@pytest.mark.parametrize("name", OWN)
def test_every_answer_is_the_models_own_similarity(name: str) -> None:
    settings, tail, unit = OWN[name]
    model = encoder(*tail(), **settings)
    own = float(model.similarity(*model.encode([A, B])))
    less = without_head(model, A, B, 1, 2)
    lens = bl.Lens(model)
    pair = lens.trace(A, B)
    near: Any = lambda x: pytest.approx(x, rel=2e-5, abs=2e-6)  # noqa: E731
    table = pair.predictions()
    assert table["logit"].iloc[0] == near(own) and "mean" not in table["label"].iloc[0]
    changed = whatif.answers(pair.rerun(whatif.off(1, 2)))
    assert (changed.unit, changed.said) == (unit, "")
    assert (changed.rows[0].before, changed.rows[0].after) == (near(own), near(less))
    assert pair.rerun(whatif.off(1, 2)).predictions()["logit"].iloc[0] == near(less)
    [one] = effects(pair, [whatif.off(1, 2)]).changes
    assert one.after == near(less)
    everything = single_changes(pair)
    assert everything.unit == unit and everything.places[0][2] == near(own)
    assert everything.heads[pair.n_heads + 2][0].after == near(less)
    numbers = swept_numbers(pair)["similarity"]
    swept = {index: value for found in numbers.exact([(1, 2), (1, 3)]) for index, value in found}
    assert swept[1, 2] == near(less - own) and numbers.unit == unit
    first, second = texts_apart(pair)
    assert numbers.estimated is not None and torch.isfinite(numbers.estimated()).all()
    assert whatif.similarity(second)(first) == near(own)


@pytest.mark.parametrize("name", OWN)
def test_the_linearised_similarity_sums_to_the_models_own_number(name: str) -> None:
    settings, tail, _ = OWN[name]
    model = encoder(*tail(), **settings)
    first, second = bl.Lens(model).trace(A), bl.Lens(model).trace(B)
    metric = whatif.similarity(second)
    if name in ("max", "Euclidean", "Manhattan"):
        with pytest.raises(InputError, match="no sum"):
            attribution.linearised(first, metric)
        return
    found = attribution.linearised(first, metric)
    own = float(model.similarity(*model.encode([A, B])))
    assert found.total == pytest.approx(own, abs=1e-5 * max(1.0, float(found.values.abs().sum())))
    assert abs(float(attribution.gradient_input(first, metric).values.sum())) > 0


def test_the_slope_of_an_own_similarity_is_the_limit_of_small_changes() -> None:
    """Against a head's columns of W_O scaled by 1 ± ε."""
    model = encoder(dense(nn.Tanh()), mode="cls", similarity_fn_name="dot").double()
    lens, epsilon = bl.Lens(model), 1e-5
    estimated = swept_numbers(lens.trace(A, B))["similarity"].estimated
    assert estimated is not None
    weight = model[0].model.encoder.layer[0].attention.output.dense.weight
    size, kept = weight.shape[1] // 4, weight.detach().clone()
    found = []
    for scale in (1 + epsilon, 1 - epsilon):
        with torch.no_grad():
            weight[:, size : 2 * size] = kept[:, size : 2 * size] * scale
        found.append(float(model.similarity(*model.encode([A, B], convert_to_tensor=True))))
    with torch.no_grad():
        weight.copy_(kept)
    slope = (found[0] - found[1]) / (2 * epsilon)
    effects = swept_numbers(bl.Lens(model).trace(A, B))["similarity"].estimated()
    assert float(effects[0, 1]) == pytest.approx(-slope, rel=1e-5)


def test_one_text_is_compared_with_its_own_vector() -> None:
    model = encoder(dense(nn.Tanh()), mode="cls", similarity_fn_name="dot")
    before = model.encode(A, convert_to_tensor=True)
    weight = model[0].model.encoder.layer[1].attention.output.dense.weight
    with torch.no_grad():
        kept = weight.detach().clone()
        weight[:, 16:24] = 0
        after = model.encode(A, convert_to_tensor=True)
        weight.copy_(kept)
    found = whatif.answers(bl.Lens(model).trace(A).rerun(whatif.off(1, 2)))
    assert (found.kind, found.unit, found.said) == ("embedding", "cosine", "")
    assert found.rows[0].after == pytest.approx(float(torch.cosine_similarity(before, after, dim=0)), abs=1e-6)


def test_a_prompt_that_the_run_lacks_is_said() -> None:
    model = encoder(prompts={"odd": "very "}, default_prompt_name="odd")
    found = whatif.answers(bl.Lens(model).trace(A, B))
    assert found.said == "without its prompt “very ”"
    assert found.rows[0].before == pytest.approx(float(model.similarity(*model.encode([A, B], prompt=""))), abs=1e-6)


def test_a_bare_encoder_says_that_it_is_the_mean_of_all_tokens() -> None:
    lens = bl.Lens(encoder()[0].model, encoder().tokenizer)
    assert whatif.answers(lens.trace(A, B)).said == "mean of all tokens"
    assert whatif.answers(lens.trace(A).rerun(whatif.off(0))).said == "mean of all tokens"
    assert lens.trace(A, B).predictions()["label"][0] == "cosine similarity (mean of all tokens)"


@pytest.mark.parametrize("activation", [None, nn.Identity(), nn.Tanh()])
def test_a_cross_encoders_answer_is_its_score(activation: Any) -> None:
    model = crossed(activation_fn=activation)
    trace = bl.Lens(model).trace(A, B)
    score = float(model.predict((A, B)))
    found = whatif.answers(trace.rerun(whatif.off(1, 2)))
    assert (found.kind, found.unit) == ("labels", "score") and len(found.rows) == 1
    assert found.rows[0].before == pytest.approx(score, abs=1e-6)
    weight = model.model.bert.encoder.layer[1].attention.output.dense.weight
    kept = weight.detach().clone()
    with torch.no_grad():
        weight[:, 16:24] = 0
        less = float(model.predict((A, B)))
        weight.copy_(kept)
    assert found.rows[0].after == pytest.approx(less, abs=1e-6)
    assert single_changes(bl.Lens(model).trace(A, B)).places[0][2] == pytest.approx(score, abs=1e-6)
    again = bl.Lens(model).trace(A, B)
    fields, _ = cell_matters(again, 1, 2, 1, 2)
    assert fields["name"] == "" and fields["before"] == pytest.approx(score, abs=1e-6)
    fields, _ = answers(again)
    assert fields["choices"] == [] and [label for _, label, _ in fields["metrics"]] == ["logit"]
    table = trace.predictions()
    chance = table["probability"].iloc[0]
    assert chance == pytest.approx(score, abs=1e-6) if activation is None else np.isnan(chance)


def test_a_cross_encoder_of_several_labels_has_the_scores_of_its_activation() -> None:
    for activation in (None, nn.Softmax(-1)):
        model = crossed(3, activation_fn=activation)
        scores = model.predict((A, B))
        rows = whatif.answers(bl.Lens(model).trace(A, B)).rows
        assert [row.before for row in rows] == pytest.approx(sorted(scores.tolist(), reverse=True), abs=1e-6)


def test_a_score_that_is_made_behind_the_model_is_not_given_another_name() -> None:
    head = dense(None, out=1, module_output_name="scores")
    model = st.CrossEncoder(modules=[base.Transformer(folder_of()), parts.Pooling(32, "cls"), head], device="cpu")
    trace = bl.Lens(model).trace(A, B)
    for call in (trace.predictions, lambda: whatif.answers(trace)):
        with pytest.raises(ModelError, match=r"makes its score behind.*lens\.similarity has it"):
            call()
