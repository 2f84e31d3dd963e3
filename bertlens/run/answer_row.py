"""The last layer and the output of a pass for one token alone: what reads one row of an output needs no other.

Keys and values of all tokens are there as ever; what comes after the last layer's attention is computed of one row,
which the output then has at every place. Whether a model's output is so is not said here: who asks compares.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import Tensor, nn
from transformers import PreTrainedModel

from ..model.families import Adapter
from ..model.loan import Loan


def hook_row(base: PreTrainedModel, adapter: Adapter, row: int, runs_last: Callable[[int], bool], loan: Loan) -> None:
    """As long as the loan lasts. runs_last: whether this pass is in its last layer, of so many."""
    layers = adapter.layers(base)

    def narrowed(state: Tensor) -> Tensor:
        return state[:, row : row + 1] if state.shape[1] > 1 else state

    def before(module: nn.Module, args: Any, kwargs: Any) -> Any:
        if not runs_last(len(layers)):
            return None
        if args:
            return (narrowed(args[0]), *args[1:]), kwargs
        return args, kwargs | {"hidden_states": narrowed(kwargs["hidden_states"])}

    def behind(module: nn.Module, args: Any, output: Any) -> Any:
        if not runs_last(len(layers)):
            return None
        return (narrowed(output[0]), *output[1:]) if isinstance(output, tuple) else narrowed(output)

    module, side = adapter.attention_tap(layers[-1])
    if side == "input":
        loan.hook(module.register_forward_pre_hook(before, with_kwargs=True))
    else:
        loan.hook(module.register_forward_hook(behind))
    loan.hook(layers[-1].register_forward_hook(behind))


def at_every_token(output: Any, tokens: int) -> Any:
    """An output of one row, (B, 1, n) in each of its tensors, as one of (B, tokens, n) that has it everywhere."""

    def wide(entry: Any) -> Any:
        if isinstance(entry, tuple):
            return tuple(map(wide, entry))
        is_row = isinstance(entry, Tensor) and entry.ndim == 3 and entry.shape[1] == 1
        return entry.expand(-1, tokens, -1) if is_row else entry

    for name, entry in output.items():
        output[name] = wide(entry)
    return output
