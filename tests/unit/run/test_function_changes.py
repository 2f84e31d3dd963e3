"""Changes and gradients of a model that runs an attention function of the user's go through that function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import eager_mask, sdpa_mask

import bertlens as bl
from bertlens import Lens, ModelError, whatif
from bertlens.measures import norms
from bertlens.measures.gradients import gradients
from bertlens.run.masks import mask_slopes
from bertlens.survey import head_stats
from unit import tiny
from unit.attention_functions import Function, Weights, knocked_out, plus_one, put, put_in, window

TEXT = "the cat sat on the mat, it was"
MASKS = [eager_mask, sdpa_mask, None]
Edit = Callable[[torch.Tensor], torch.Tensor]


class Edited(Function):
    """With weights (B, H, S, S) and contexts (B, S, H, d) of one layer changed by hand, and keys hidden in all."""

    def __init__(self, weights: Weights, layer: int = 1, alpha: Edit | None = None, context: Edit | None = None):
        super().__init__(self._weights)
        self.kind, self.layer, self.alpha, self.context, self.hidden = weights, layer, alpha, context, ()

    def _weights(self, module: Any, scores: torch.Tensor) -> torch.Tensor:
        scores = scores.clone()
        scores[..., list(self.hidden)] = -torch.inf
        weights = self.kind(module, scores)
        return self.alpha(weights) if self.alpha and module.layer_idx == self.layer else weights

    def __call__(self, module: Any, *args: Any, **kwargs: Any) -> Any:
        context, weights = super().__call__(module, *args, **kwargs)
        return (self.context(context) if self.context and module.layer_idx == self.layer else context), weights


def own(model: Any, *text: str) -> Any:
    with torch.no_grad():
        return model(**tiny.wordpiece()(*text, return_tensors="pt")).logits[0]


def pattern() -> torch.Tensor:
    n = len(tiny.wordpiece()(TEXT).input_ids)
    return torch.rand(n, n, generator=torch.Generator().manual_seed(0)).softmax(-1)


def placed(x: torch.Tensor, head: int, value: torch.Tensor | float) -> torch.Tensor:
    x = x.clone()
    x[:, :, head] = value
    return x


def given(x: torch.Tensor) -> torch.Tensor:
    x = x.clone()
    x[:, 2] = pattern()
    return x


def without_cell(x: torch.Tensor) -> torch.Tensor:
    x = x.clone()
    x[:, 2, 1, 3] = 0
    return x


EDITS: dict[str, tuple[Any, dict[str, Edit]]] = {
    "off": (whatif.off(1, 2), {"context": lambda x: placed(x, 2, 0)}),
    "scale": (whatif.scale(1, 0, 1.5), {"context": lambda x: placed(x, 0, 1.5 * x[:, :, 0])}),
    "mean": (whatif.mean(1, 3), {"context": lambda x: placed(x, 3, x[:, :, 3].mean(1, keepdim=True))}),
    "pattern": (whatif.pattern(1, 2, pattern()), {"alpha": given}),
    "cut": (whatif.cut(1, 2, 1, 3, renormalize=False), {"alpha": without_cell}),
}


@pytest.mark.parametrize("name", EDITS)
@pytest.mark.parametrize("kind", [plus_one, window])
def test_changes_of_contexts_and_weights(kind: Weights, name: str) -> None:
    change, edit = EDITS[name]
    changed = Lens(put(Function(kind)), tiny.wordpiece()).trace(TEXT).rerun(change)
    function = Edited(kind, **edit)  # type: ignore[arg-type]
    expected = own(put(function, name="edited"), TEXT)
    torch.testing.assert_close(changed.output.logits[0], expected, rtol=0, atol=1e-5)
    for layer, weights in function.seen.items():
        torch.testing.assert_close(changed.attention(layer), weights[0], rtol=0, atol=1e-6)


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("kind", [plus_one, window])
def test_hidden_tokens(kind: Weights, mask: Any) -> None:
    trace = Lens(put(Function(kind), mask), tiny.wordpiece()).trace(TEXT)
    function = Edited(kind)
    function.hidden = (2, 3)
    expected = own(put(function, name="edited"), TEXT)
    changed = trace.rerun(whatif.hide(2), whatif.dim(3, 0))
    torch.testing.assert_close(changed.output.logits[0], expected, rtol=0, atol=1e-5)
    assert not changed.attention(2)[..., [2, 3]].any()


def unmasked(module: Any, query: Any, key: Any, value: Any, mask: Any, **kwargs: Any) -> Any:
    return sdpa_attention_forward(module, query, key, value, None, **kwargs)


def test_what_a_function_cannot_be_asked_for_is_refused() -> None:
    lens = Lens(put(Function(plus_one)), tiny.wordpiece())
    trace = lens.trace(TEXT)
    for change in (whatif.neuron(0, 1, 2), whatif.dim(2, 0.5), whatif.pattern(0, 1, "uniform")):
        with pytest.raises(ModelError, match=r"the attention function Function need not be .* is about them"):
            trace.rerun(change)
    deaf = Lens(put(unmasked, None, "deaf"), tiny.wordpiece()).trace(TEXT)
    with pytest.raises(ModelError, match="the attention function unmasked does not heed a mask"):
        deaf.rerun(whatif.hide(2))
    torch.testing.assert_close(deaf.rerun(whatif.off(0, 1)).attention(0), deaf.attention(0))
    assert "does not heed a mask" in bl.measures.offers.why_not(deaf, "whatif")
    for asked in (trace.scores, trace.query, trace.mask, lambda layer: trace.log_sum_exp(layer, 0)):
        with pytest.raises(ModelError, match="Scores and what rests on them cannot be told"):
            asked(0)


def test_gradients_are_those_of_the_function() -> None:
    """One weight moved by a step, one layer after the other, in float64."""
    model = put(Function(plus_one)).double()
    trace = Lens(model, tiny.wordpiece()).trace(TEXT)
    found = gradients(trace, loss=lambda output: output.logits[0, 1])
    step = 1e-6

    def moved(by: float) -> Edit:
        def alpha(x: torch.Tensor) -> torch.Tensor:
            x = x.clone()
            x[:, 2, 1, 3] += by
            return x

        return alpha

    for layer in range(trace.n_layers):
        ends = [float(own(put_in(model, Edited(plus_one, layer, moved(by))), TEXT)[1]) for by in (step, -step)]
        slope = (ends[0] - ends[1]) / (2 * step)
        assert abs(float(found.attention(layer)[2, 1, 3]) - slope) < 1e-6 * max(1, abs(slope))


def test_slopes_of_masks_are_those_of_the_function() -> None:
    model = put(Function(knocked_out)).double()
    lens = Lens(model, tiny.wordpiece())
    trace = lens.trace(TEXT)
    values, heads, _ = mask_slopes(lens.borrowed, trace.inputs(), 3, lambda output: output.logits[:, 1])
    assert abs(float(values) - float(own(model, TEXT)[1])) < 1e-10
    step = 1e-6
    for head in range(4):
        ends = [float(trace.rerun(whatif.scale(1, head, 1 + by)).output.logits[0, 1]) for by in (step, 0)]
        assert abs((ends[0] - ends[1]) / step - float(heads[0, 1, head])) < 1e-5
    assert float(heads[0, 1, 2]) == 0  # the function has it out


def in_place(module: Any, scores: torch.Tensor) -> torch.Tensor:
    return scores.softmax(-1).mul_(0.9)


@torch.no_grad()
def constant(module: Any, *args: Any, **kwargs: Any) -> Any:
    return sdpa_attention_forward(module, *args, **kwargs)


@pytest.mark.parametrize("function", [Function(in_place), constant])
def test_what_cannot_be_differentiated_says_so(function: Any) -> None:
    lens = Lens(put(function), tiny.wordpiece())
    trace = lens.trace(TEXT)
    with pytest.raises(ModelError, match="cannot be differentiated"):
        gradients(trace, loss=lambda output: output.logits[0, 1])
    with pytest.raises(ModelError, match="cannot be differentiated"):
        mask_slopes(lens.borrowed, trace.inputs(), 3, lambda output: output.logits[:, 1])


def test_norms_and_a_survey_are_of_its_weights() -> None:
    function = Function(plus_one)
    model = put(function)
    lens = Lens(model, tiny.wordpiece())
    trace = lens.trace(TEXT)
    own(model, TEXT)
    for layer, block in enumerate(model.bert.encoder.layer):
        value = trace.value(layer)
        columns = block.attention.output.dense.weight.detach().unflatten(1, (4, -1))  # (D, H, d)
        vectors = torch.einsum("hij,hjd,ehd->ije", function.seen[layer][0], value, columns)
        torch.testing.assert_close(norms.summed_weighted_norm(trace, layer), vectors.norm(dim=-1), rtol=1e-4, atol=1e-5)
    stats = head_stats(lens, [TEXT], progress=False)
    table = stats.table()
    entropies = [float(-(a * a.log()).sum(-1).mean()) for w in function.seen.values() for a in w[0]]
    np.testing.assert_allclose(table["entropy"], entropies, atol=1e-4)
