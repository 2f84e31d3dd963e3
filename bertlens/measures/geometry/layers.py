"""The geometry of one trace, layer by layer: the cone through the stream, norms, moments, what each step changes."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from ...base.dataframes import pd
from ...trace.checks import check_finite
from ...trace.trace import Trace
from ..block import Block
from .vectors import cone_share, moments, participation_ratio


def layer_table(trace: Trace, include_special: bool = True) -> pd.DataFrame:
    """One row per layer, for tokens × stream width vectors of the trace; DataFrame with the columns

    layer; tokens (how many count); specials ("counted" or "left out", by `include_special`); chance = 1 / √tokens
    cone_input, cone_heads (mean over heads), cone_heads_min, cone_heads_max, cone_concatenation, cone_attention (after
      W_O and residual, in post-LN families after the LayerNorm), cone_output (after the MLP likewise): Ī in [0, 1], see
      `cone_share`
    norm_input, norm_attention, norm_output: mean norms, in the units of the stream
    mean, sd, skewness, kurtosis: means over tokens of the output's `moments`; max_z, max_z_dimension: the largest
    participation: `participation_ratio` of the output
    attention_ratio, attention_cosine, attention_cone; mlp_ratio, mlp_cosine, mlp_cone: what a step changes. With x what
      the step takes in and Δ what it hands on minus x: mean ‖Δ‖ / ‖x‖, mean cos(Δ, x), change of Ī. The two Δ sum to
      the layer's output − input; in post-LN families each includes its LayerNorm. Ratio and cosine are NaN in
      MobileBERT, where the widths differ.

    Raises ModelError for a family without an adapter, where only attention weights were given, and where the run has
    NaN or Inf. Cone index through the stream after Bonino et al. 2025; the rest is bertlens' own.
    """
    return pd.DataFrame(layer_rows(trace, include_special))


def layer_rows(trace: Trace, include_special: bool = True) -> list[dict[str, Any]]:
    """The rows of `layer_table`, without pandas, which takes longer to import than they do."""
    check_geometry(trace)
    mask = torch.ones_like(trace.special_mask) if include_special else ~trace.special_mask
    n = int(mask.sum())
    rows = []
    for layer in range(trace.n_layers):
        into, attended, output = (
            x[mask].double()
            for x in (trace.layer_input(layer), trace.attention_output(layer), trace.layer_output(layer))
        )
        context = trace.context(layer)[mask].double()
        heads = cone_share(trace.head_context(layer)[:, mask])
        distribution = moments(output)
        extreme = int(distribution["max_z"].nan_to_num(-1).argmax()) if n else None
        row: dict[str, Any] = {
            "layer": layer,
            "tokens": n,
            "specials": "counted" if include_special else "left out",
            "chance": n**-0.5 if n else torch.nan,
            "cone_input": cone_share(into),
            "cone_heads": heads.mean(),
            "cone_heads_min": heads.amin(),
            "cone_heads_max": heads.amax(),
            "cone_concatenation": cone_share(context),
            "cone_attention": cone_share(attended),
            "cone_output": cone_share(output),
            "norm_input": into.norm(dim=-1).mean(),
            "norm_attention": attended.norm(dim=-1).mean(),
            "norm_output": output.norm(dim=-1).mean(),
        }
        row |= {name: distribution[name].mean() for name in ("mean", "sd", "skewness", "kurtosis")}
        row["max_z"] = torch.nan if extreme is None else distribution["max_z"][extreme]
        row["max_z_dimension"] = -1 if extreme is None else int(distribution["dimension"][extreme])
        row["participation"] = participation_ratio(output)
        for name, start, end in (("attention", into, attended), ("mlp", attended, output)):
            ratio, cosine = _step(start, end)
            row |= {f"{name}_ratio": ratio, f"{name}_cosine": cosine}
            row[f"{name}_cone"] = cone_share(end) - cone_share(start)
        rows.append({name: float(value) if isinstance(value, Tensor) else value for name, value in row.items()})
    return rows


def check_geometry(trace: Trace) -> None:
    """Raises the ModelError that `layer_table` would raise, before any work."""
    trace.attention_output(0)
    trace.context(0)
    check_finite(trace, "its stream has no geometry")


def _step(before: Tensor, after: Tensor) -> tuple[Any, Any]:
    if before.shape != after.shape:
        return torch.nan, torch.nan
    update = after - before
    ratio = update.norm(dim=-1) / before.norm(dim=-1)
    return ratio.mean(), torch.nn.functional.cosine_similarity(update, before, dim=-1).mean()


def head_cones(trace: Trace, layer: int, include_special: bool = True) -> Tensor:
    """(H,) Ī of each head's output vectors (S, d), before W_O. Raises ModelError for a trace without values."""
    return cone_share(trace.head_context(layer), None if include_special else ~trace.special_mask)


def attention_cone(trace: Trace, layer: int, include_special: bool = True) -> Tensor:
    """(H,) Ī of the rows of each head's attention matrix, in [0, 1]: 1 where all queries take one direction.

    The softmax cone index of Bonino et al. 2025's notebook, ÷ n. `include_special` is about rows (queries); all keys
    count.
    """
    return cone_share(trace.attention(layer), None if include_special else ~trace.special_mask)


@torch.no_grad()
def head_writes(trace: Trace, layer: int) -> Tensor:
    """(H, S, D) what each head writes: its context times its columns of W_O. The sum plus b_O is what W_O puts out.

    Raises ModelError for a family without an adapter, SelectionError for a layer that does not exist.
    """
    heads = Block(trace, layer).weight.unflatten(1, (trace.n_heads, -1)).permute(1, 2, 0)  # (H, d, D)
    return trace.head_context(layer).to(heads.dtype) @ heads
