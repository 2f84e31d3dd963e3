"""What each token of a text puts into its vector, so that the vector is the sum: exact, what is not linear held."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from ..model.families import affine
from .encoders import Encoder, TextReading

GAINS = (nn.Tanh, nn.ReLU, nn.GELU)  # f(z) = z · (f(z) / z), the quotient held


def grouped_sums(matrix: Tensor, units: list[list[list[int]]]) -> Tensor:
    """(U_a, U_b) of a matrix of tokens: sums over those of each unit, on both sides."""
    for axis, chosen in enumerate(units):
        pairs = [(number, at) for number, unit in enumerate(chosen) for at in unit]
        owner, tokens = torch.tensor(pairs, dtype=torch.long, device=matrix.device).reshape(-1, 2).T
        shape = [len(chosen) if at == axis else size for at, size in enumerate(matrix.shape)]
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
    for part in encoder.tail:
        activation = getattr(part, "activation_function", None)
        if activation is not None and not isinstance(activation, (nn.Identity, *GAINS)):
            return f"the {type(part).__name__} module's {type(activation).__name__} is no multiple of what goes in"
    return ""


def held_notes(encoder: Encoder) -> list[str]:
    """Sentences on what was kept as the run had it."""
    names = [type(part.activation_function).__name__ for part in encoder.tail if hasattr(part, "activation_function")]
    bent = [f"the gains of its {name}" for name in dict.fromkeys(names) if name != "Identity"]
    bent += ["the deviation of its LayerNorm"] * any(type(part).__name__ == "LayerNorm" for part in encoder.tail)
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
        parts = torch.stack([pooled.flatten(), torch.zeros_like(pooled).flatten()]).requires_grad_()
        made = through(encoder, parts)
        [slopes] = torch.autograd.grad(made[0] @ direction.double(), parts)
    return weights, slopes[0].unflatten(0, (len(weights), -1)), made[1].detach() @ direction.double()


def through(encoder: Encoder, parts: Tensor) -> Tensor:
    """(N, E) of parts (N, poolings · D) float64 that sum to what was pooled, behind the modules that follow; biases go
    to the last. What is not linear is held, and has no gradient."""
    for module in encoder.tail:
        parts = _STEPS[type(module).__name__](module, parts)
    return parts[:, : encoder.truncate_dim]


def _dense(module: Any, parts: Tensor) -> Tensor:
    weight, bias = affine(module.linear)
    made = parts @ weight.detach().double().T
    if bias is not None:
        made[-1] += bias.detach().double()
    if not isinstance(module.activation_function, nn.Identity):
        whole = made.sum(0).detach()
        gain = module.activation_function(whole) / whole
        made = made * torch.where(whole == 0, 0, gain)
    if not module.use_residual:
        return made
    return made + (parts if parts.shape == made.shape else parts @ affine(module.residual)[0].detach().double().T)


def _layer_norm(module: Any, parts: Tensor) -> Tensor:
    norm = module.norm
    deviation = (parts.sum(0).detach().var(correction=0) + norm.eps).sqrt()
    made = (parts - parts.mean(-1, keepdim=True)) / deviation * norm.weight.detach().double()
    made[-1] += norm.bias.detach().double()
    return made


_STEPS = {
    "Dense": _dense,
    "LayerNorm": _layer_norm,
    "Normalize": lambda module, parts: parts / parts.sum(0).detach().norm().clamp(min=1e-12),
    "Dropout": lambda module, parts: parts,
}
