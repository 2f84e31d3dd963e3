"""Labelled texts through the model, batch by batch, nothing kept but the answers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from weakref import WeakKeyDictionary

import torch
from torch import Tensor

from ..errors import ModelError, check_batch
from ..lens import Lens
from ..model.borrowed import Model
from ..run import forward, own_run, trust
from ..run.attention_weights import check_precision
from ..run.interventions import Run
from ..text.encoding import Encoding
from .example_batch import Batch
from .examples import Examples

WINDOW = 8  # batches tokenised ahead, to sort them by length
TOKENS = 16_384  # of a batch, at most: so many rows times its longest text

TOLERANCE, HALF_TOLERANCE = 1e-3, 0.05  # of a text's logits alone and beside a longer one, to their largest
_padding: WeakKeyDictionary[Model, bool] = WeakKeyDictionary()  # whether a model's logits see padding


def batches(lens: Lens, examples: Examples, rows: Sequence[int], batch_size: int, truncation: bool) -> Iterator[Batch]:
    """Rows in batches of like length, window by window in the given order. Raises InputError that names the row."""
    batch_size = check_batch(batch_size)
    for start in range(0, len(rows), WINDOW * batch_size):
        window = rows[start : start + WINDOW * batch_size]
        encodings = [examples.encodings(lens, row, truncation) for row in window]
        longest = [max(pair, key=len) for pair in encodings]
        groups = list(lens.batches(longest, batch_size))
        if len(encodings[0]) > 1 and _sees_padding_apart(lens, encodings):
            groups = [[i] for i in range(len(window))]
        if examples.kind.pads and _sees_padding(lens, examples, longest):
            groups = [[i for i in group if len(longest[i]) == n] for group in groups for n in _lengths(longest, group)]
        for group in groups:
            room = max(1, TOKENS // max(len(longest[i]) for i in group))
            for at in range(0, len(group), room):
                piece = group[at : at + room]
                yield batch_of(lens, [window[i] for i in piece], [encodings[i] for i in piece])


def batch_of(lens: Lens, rows: list[int], inputs: Sequence[Sequence[Encoding]]) -> Batch:
    """inputs: what the model reads of each text, one encoding or, of a pair read apart, two; rows: their numbers."""
    encodings = [pair[place] for place in range(len(inputs[0])) for pair in inputs]
    return Batch(rows, encodings, lens.inputs(encodings))


def _lengths(encodings: Sequence[Encoding], group: Sequence[int]) -> list[int]:
    return sorted({len(encodings[i]) for i in group})


def _sees_padding_apart(lens: Lens, inputs: Sequence[Sequence[Encoding]]) -> bool:
    """Whether an encoder that reads a pair apart sees padding. Raises ModelError where it does: a pair is a batch."""
    if not trust.sees_padding(lens.borrowed, lens.inputs([inputs[0][0]]), lens.tokenizer.pad_token_id or 0, lens.limit):
        return False
    if any(len({len(encoding) for encoding in pair}) > 1 for pair in inputs):
        raise ModelError(
            f"{lens.model_name} sees padding, and texts of a pair are padded: a task of it is not read here"
        )
    return True


def _sees_padding(lens: Lens, examples: Examples, encodings: Sequence[Encoding]) -> bool:
    """Whether a text's logits are others in a padded batch, as of heads that read the last token. Tried once."""
    answer = _padding.get(lens.borrowed)
    if answer is None:
        shortest, longest = min(encodings, key=len), max(encodings, key=len)
        if len(shortest) == len(longest):
            return False
        alone = answers_of(lens, examples, batch_of(lens, [0], [[shortest]]))[0]
        padded = answers_of(lens, examples, batch_of(lens, [0, 1], [[shortest], [longest]]))[0]
        tolerance = TOLERANCE if lens.borrowed.dtype in (torch.float32, torch.float64) else HALF_TOLERANCE
        answer = bool((alone - padded).abs().max() > tolerance * max(1.0, float(alone.abs().max())))
        _padding[lens.borrowed] = answer
    return answer


def answers_of(lens: Lens, examples: Examples, batch: Batch, run: Run | None = None) -> Tensor:
    """(B, ...) float64 on the CPU: the answers to the examples of a batch."""
    check_precision(lens.borrowed.device)
    eagerly = "" if run is not None else own_run.why_eager(lens.borrowed, batch.inputs, lens.limit)
    if eagerly:
        output = forward.eager_output(lens.borrowed, batch.inputs)
    else:
        output = forward.output_of(lens.borrowed, batch.inputs, run or Run())
    return examples.kind.read(output, batch).double().cpu()


def checked(answers: Tensor, batch: Batch, examples: Examples) -> Tensor:
    """The same answers. Raises ModelError that names the row for NaN and Inf."""
    bad = ~examples.kind.finite(answers, batch)
    if bad.any():
        place = examples.columns.place(batch.rows[int(bad.nonzero()[0, 0])], examples.text_column)
        raise ModelError(f"{place}: the model's logits are NaN or Inf, so it has no answer: check its weights")
    return answers
