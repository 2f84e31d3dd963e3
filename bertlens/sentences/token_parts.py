"""What each token of a text puts into its vector, so that the vector is the sum: exact, what is not linear held."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from ..model.plain_modules import affine
from .encoders import Encoder, TextReading

GAINS = (nn.Tanh, nn.ReLU, nn.GELU)  # f(z) = z · (f(z) / z), the quotient held


def grouped_sums(matrix: Tensor, units: list[list[list[int]]]) -> Tensor:
    """(U_a, U_b) of a matrix of tokens: sums over those of each unit, on both sides."""
    for axis, groups in enumerate(units):
        pairs = [(number, at) for number, unit in enumerate(groups) for at in unit]
        owner, tokens = torch.tensor(pairs, dtype=torch.long, device=matrix.device).reshape(-1, 2).T
        shape = [len(groups) if at == axis else size for at, size in enumerate(matrix.shape)]
        matrix = matrix.new_zeros(shape).index_add(axis, owner, matrix.index_select(axis, tokens))
    return matrix


def why_not(encoder: Encoder) -> str:
    """Why a model's vectors are no sums over the tokens of the last layer; "" where they are."""
    if encoder.modes.single:
        return f"its pooling reads one token ({', '.join(encoder.modes.names)}), of which the others are no parts"
    return no_sum(encoder)


def no_sum(encoder: Encoder) -> str:
    """Why a model's vectors are no sums of what is read of each token; "" where they are."""
    if not encoder.modes.linear:
        return "max pooling takes each number of the vector from another token: it is no sum over them"
    for module in encoder.tail:
        activation = getattr(module, "activation_function", None)
        if activation is not None and not isinstance(activation, (nn.Identity, *GAINS)):
            return f"the {type(module).__name__} module's {type(activation).__name__} is no multiple of what goes in"
    return ""


def held_notes(encoder: Encoder) -> list[str]:
    """Sentences on what was kept as the run had it."""
    names = [type(step.activation_function).__name__ for step in encoder.tail if hasattr(step, "activation_function")]
    bent = [f"the gains of its {name}" for name in dict.fromkeys(names) if name != "Identity"]
    bent += ["the deviation of its LayerNorm"] * any(type(step).__name__ == "LayerNorm" for step in encoder.tail)
    return [f"Kept as this run had it: {' and '.join(bent)}."] if bent else []


@torch.no_grad()
def split(encoder: Encoder, reading: TextReading, keep: Tensor) -> Tensor:
    """(S + 1, E) float64 what each token, and last all biases, put into the vector: they sum to it.

    Norms, a LayerNorm's deviation and an activation's gain f(z)/z are kept as the run had them; the rest is linear.
    """
    weights = encoder.modes.weights(keep)  # (poolings, S)
    pooled = (weights[:, :, None] * reading.states.double()).permute(1, 0, 2).flatten(1)
    return through(encoder, torch.cat([pooled, pooled.new_zeros(1, pooled.shape[1])]))


def read_by(encoder: Encoder, states: Tensor, keep: Tensor, direction: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """How direction · vector is read off the last hidden states: (P, S) weights w, (P, D) slopes r, a constant c.

    It is Σ w_ps r_p · states_s + c, float64, for P poolings. direction: (E,). What is not linear is held.
    """
    with torch.inference_mode(False), torch.enable_grad():
        weights = encoder.modes.weights(keep)
        pooled = weights @ states.detach().clone().double()
        terms = torch.stack([pooled.flatten(), torch.zeros_like(pooled).flatten()]).requires_grad_()
        vectors = through(encoder, terms)
        [slopes] = torch.autograd.grad(vectors[0] @ direction.double(), terms)
    return weights, slopes[0].unflatten(0, (len(weights), -1)), vectors[1].detach() @ direction.double()


def through(encoder: Encoder, terms: Tensor) -> Tensor:
    """(N, E) of parts (N, poolings · D) float64 that sum to what was pooled, behind the modules that follow; biases go
    to the last. What is not linear is held, and has no gradient."""
    for module in encoder.tail:
        terms = _STEPS[type(module).__name__](module, terms)
    return terms[:, : encoder.truncate_dim]


def _dense(module: Any, terms: Tensor) -> Tensor:
    weight, bias = affine(module.linear)
    image = terms @ weight.detach().double().T
    if bias is not None:
        image[-1] += bias.detach().double()
    if not isinstance(module.activation_function, nn.Identity):
        total = image.sum(0).detach()
        gain = module.activation_function(total) / total
        image = image * torch.where(total == 0, 0, gain)
    if not module.use_residual:
        return image
    return image + (terms if terms.shape == image.shape else terms @ affine(module.residual)[0].detach().double().T)


def _layer_norm(module: Any, terms: Tensor) -> Tensor:
    norm = module.norm
    deviation = (terms.sum(0).detach().var(correction=0) + norm.eps).sqrt()
    image = (terms - terms.mean(-1, keepdim=True)) / deviation * norm.weight.detach().double()
    image[-1] += norm.bias.detach().double()
    return image


_STEPS = {
    "Dense": _dense,
    "LayerNorm": _layer_norm,
    "Normalize": lambda module, parts: parts / parts.sum(0).detach().norm().clamp(min=1e-12),
    "Dropout": lambda module, parts: parts,
}
