"""Labelled texts through the model, batch by batch, nothing kept but the answers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import torch
from torch import Tensor

from ..errors import InputError, ModelError
from ..model.borrowed import Model
from ..run import forward, trust
from ..run.attention import check_precision
from ..run.interventions import Run

if TYPE_CHECKING:
    from ..lens import Lens
    from ..text.encoding import Encoding
    from .examples import Examples

WINDOW = 8  # batches tokenised ahead, to sort them by length
TOKENS = 16_384  # of a batch, at most: so many rows times its longest text

TOLERANCE, HALF_TOLERANCE = 1e-3, 0.05  # of a text's logits alone and beside a longer one, to their largest
_padding: WeakKeyDictionary[Model, bool] = WeakKeyDictionary()  # whether a model's logits see padding

Batch = tuple[list[int], dict[str, Tensor]]  # rows, and the model's inputs


def batches(lens: Lens, examples: Examples, rows: Sequence[int], batch_size: int, truncation: bool) -> Iterator[Batch]:
    """Rows in batches of like length, window by window in the given order. Raises InputError that names the row."""
    if isinstance(batch_size, bool) or not isinstance(batch_size, int) or not 1 <= batch_size <= 65_536:
        raise InputError(f"batch_size must be at least 1 and at most 65,536, not {batch_size!r:.40}")
    for start in range(0, len(rows), WINDOW * batch_size):
        window = rows[start : start + WINDOW * batch_size]
        encodings = [examples.encoding(lens, row, truncation) for row in window]
        groups = list(lens.batches(encodings, batch_size))
        if _sees_padding(lens, encodings):
            groups = [
                [i for i in group if len(encodings[i]) == n] for group in groups for n in _lengths(encodings, group)
            ]
        for chosen in groups:
            room = max(1, TOKENS // max(len(encodings[i]) for i in chosen))
            for at in range(0, len(chosen), room):
                part = chosen[at : at + room]
                yield [window[i] for i in part], lens.inputs([encodings[i] for i in part])


def _lengths(encodings: Sequence[Encoding], group: Sequence[int]) -> list[int]:
    return sorted({len(encodings[i]) for i in group})


def _sees_padding(lens: Lens, encodings: Sequence[Encoding]) -> bool:
    """Whether a text's logits are others in a padded batch, as of heads that read the last token. Tried once."""
    known = _padding.get(lens.borrowed)
    if known is None:
        shortest, longest = min(encodings, key=len), max(encodings, key=len)
        if len(shortest) == len(longest):
            return False
        alone = logits_of(lens, lens.inputs([shortest]))[0]
        beside = logits_of(lens, lens.inputs([shortest, longest]))[0]
        near = TOLERANCE if lens.borrowed.dtype in (torch.float32, torch.float64) else HALF_TOLERANCE
        known = bool((alone - beside).abs().max() > near * max(1.0, float(alone.abs().max())))
        _padding[lens.borrowed] = known
    return known


def logits_of(lens: Lens, inputs: dict[str, Tensor], run: Run | None = None) -> Tensor:
    """(B, C) float64 on the CPU."""
    check_precision(lens.borrowed.device)
    eagerly = "" if run is not None else trust.why_eager(lens.borrowed, inputs, lens.limit)
    if eagerly:
        output = forward.eager_output(lens.borrowed, inputs)
    else:
        output = forward.output_of(lens.borrowed, inputs, run or Run())
    return read_logits(output).double().cpu()


def read_logits(output: Any) -> Tensor:
    """(B, C) of a classifier's output. Raises ModelError where it has none."""
    logits = getattr(output, "logits", None)
    if not isinstance(logits, Tensor) or logits.ndim != 2:
        raise ModelError("the model's output has no logits of a text's classes")
    return logits


def checked(logits: Tensor, rows: Sequence[int], examples: Examples) -> Tensor:
    """The same logits. Raises ModelError that names the row for NaN and Inf, and for another number of classes."""
    if logits.shape[1] != len(examples.names):
        raise ModelError(f"the model gives {logits.shape[1]} logits and its config names {len(examples.names)} classes")
    bad = ~torch.isfinite(logits).all(1)
    if bad.any():
        place = examples.columns.place(rows[int(bad.nonzero()[0, 0])], examples.text_column)
        raise ModelError(f"{place}: the model's logits are NaN or Inf, so it has no answer: check its weights")
    return logits
