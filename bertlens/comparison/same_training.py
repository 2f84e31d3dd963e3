"""Whether two traces are of one tokenizer, and whether their models are of one training: then heads match by index."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from ..errors import InputError
from ..model.borrowed import Model
from ..trace.trace import Trace

KIN = 0.5  # correlation of weights from which two models are of one training
SAMPLED_VALUES = 4096  # values of each matrix


def one_tokenizer(a: Trace, b: Trace) -> bool:
    """Whether pieces of one name are the same in both; so it is taken to be where only weights were given."""
    if a.model is None or b.model is None or a.model.tokenizer is b.model.tokenizer:
        return True
    x, y = a.model.tokenizer, b.model.tokenizer
    return type(x) is type(y) and x.get_vocab() == y.get_vocab()


def match_heads(a: Trace, b: Trace, same: bool | None) -> tuple[bool, str]:
    """Whether heads are matched by index, and why."""
    shapes = [(trace.n_layers, trace.n_heads) for trace in (a, b)]
    if shapes[0] != shapes[1]:
        sizes = " and ".join(f"{layers} × {heads}" for layers, heads in shapes)
        if same:
            raise InputError(f"{sizes} heads cannot be matched by index: leave same_heads out")
        return False, f"Heads of {sizes} are not matched by index: use nearest()."
    if same is not None:
        how = "are matched by index" if same else "are not matched by index"
        return same, f"Heads {how}, as asked{'' if same else ': use nearest()'}."
    if a.model is None or b.model is None:
        return True, "Heads are matched by index: of attention weights that were given, nothing else is known."
    if a.model is b.model:
        return True, ""
    r, count = kinship(a.model, b.model)
    if not count:
        return False, _refusal("their weights have neither names nor shapes in common")
    evidence = f"their weights correlate at r = {r:.2f}, median of {count} matrices"
    if r < KIN:
        return False, _refusal(evidence)
    return True, f"Two models of one training ({evidence}): heads are matched by index."


def _refusal(why: str) -> str:
    return (
        f"Heads of two different pre-trainings are not matched by index ({why}): use nearest(), or same_heads=True if "
        "you know that one was made from the other."
    )


@torch.no_grad()
def kinship(a: Model, b: Model) -> tuple[float, int]:
    """How alike two models' weights are: (median Pearson correlation of matrices of one name and shape, how many).

    Near 1 where one was trained on from the other, near 0 for two trainings from different beginnings. Of the encoders,
    4,096 values of each matrix; NaN where fewer than half of the first one's have a counterpart.
    """
    in_a, in_b = _matrices(a), _matrices(b)
    names = [name for name, x in in_a.items() if name in in_b and in_b[name].shape == x.shape]
    if not names or 2 * len(names) < len(in_a):
        return math.nan, 0
    correlations = []
    for name in names:
        pair = torch.stack([_sample(matrices[name]) for matrices in (in_a, in_b)])
        correlations.append(float(torch.corrcoef(pair)[0, 1].nan_to_num()))
    return float(torch.tensor(correlations, dtype=torch.float64, device="cpu").median()), len(names)


def _sample(x: Tensor) -> Tensor:
    """(n,) float64 values spread evenly over a matrix, the first and the last among them; indices are integers."""
    n = min(SAMPLED_VALUES, x.numel())
    at = torch.arange(n, device="cpu") * (x.numel() - 1) // max(1, n - 1)
    rows, columns = at.to(x.device) // x.shape[1], at.to(x.device) % x.shape[1]
    return x[rows, columns].double().cpu()


def _matrices(model: Model) -> dict[str, Tensor]:
    """Name -> matrix of the encoder; adapters' own are left out."""
    return {
        name.replace(".base_layer", ""): x
        for name, x in model.base.named_parameters()
        if x.ndim == 2 and x.is_floating_point() and not x.is_meta and "lora_" not in name
    }
