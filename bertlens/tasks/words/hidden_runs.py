"""Examples without some of their tokens: run, by the mask or by deletion, or estimated in one backward pass a batch."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
import torch

from ...base.progress import bar
from ...base.shards import WHOLE, Shard
from ...errors import ModelError
from ...run.backward import word_gradients
from ...text.encoding import Encoding
from ..batch_answers import TOKENS, answers_of, batch_of, checked
from ..example_batch import Batch
from ..task_answers import Answered
from .readings import AnswerReading, log_odds, names_of
from .text_parts import Tokens

MASK, DELETE = "mask", "delete"
SLOPES = "word slopes"  # by which they are kept
Removal: TypeAlias = tuple[int, Tokens]  # of which row, and which tokens of it
Moves: TypeAlias = dict[Removal, tuple[np.ndarray, np.ndarray, np.ndarray]]


def mask_id(task: Answered) -> int | None:
    """The token that stands in the place of what is hidden; None where the tokenizer has none."""
    matches = getattr(task.lens.tokenizer, "mask_token_id", None)
    return None if matches is None else int(matches)


def without(encoding: Encoding, tokens: Tokens, mask: int | None) -> Encoding:
    """What the model reads where these tokens are gone: the mask stands for each; None: those behind move up."""
    if mask is not None:
        ids = [mask if at in tokens else token for at, token in enumerate(encoding.input_ids)]
        return replace(encoding, input_ids=tuple(ids))
    stays = [at for at in range(len(encoding)) if at not in tokens]

    def kept(numbers: Any) -> Any:
        return None if numbers is None else tuple(numbers[at] for at in stays)

    names = "input_ids token_type_ids tokens display_tokens word_ids offsets special segments separators".split()
    return replace(encoding, **{name: kept(getattr(encoding, name)) for name in names})


def gone_words(encoding: Encoding, tokens: Tokens) -> list[int]:
    """The words that these tokens are of, by their numbers."""
    return sorted({word for at in tokens if (word := encoding.word_ids[at]) is not None})


def groups(lengths: Sequence[int], batch_size: int) -> Iterator[list[int]]:
    """Places of texts of one length, so many at once: nothing is padded, so none is moved by it."""
    order = sorted(range(len(lengths)), key=lambda at: (lengths[at], at))
    start = 0
    while start < len(order):
        length = lengths[order[start]]
        size = max(1, min(batch_size, TOKENS // length))
        end = start
        while end < len(order) and end - start < size and lengths[order[end]] == length:
            end += 1
        yield order[start:end]
        start = end


def hidden_name(removals: Sequence[Removal], way: str) -> str:
    """By which runs of all of these are kept, each by its place among them."""
    return f"hidden by {way} {hashlib.sha256(repr(removals).encode()).hexdigest()[:16]}"


def run_without(
    task: Answered,
    removals: Sequence[Removal],
    encodings: Sequence[Encoding],
    way: str,
    shard: Shard = WHOLE,
) -> Moves:
    """Of each removal (C,) how far it moves the numbers: the text's less those without; (C,) bool errors of the text
    and of it without. encodings: of all rows. way: `MASK` or `DELETE`. Kept ones are not run again."""
    mask = mask_id(task) if way == MASK else None
    records, reading, label = task.records, AnswerReading(task), hidden_name(removals, way)
    task.check(whole=True)
    lengths = [len(encodings[row]) - (0 if mask is not None else len(tokens)) for row, tokens in removals]
    batches = [*shard.batches(groups(lengths, max(32, task.batch_size)))]
    moves: Moves = {}
    with bar(sum(map(len, batches)), "text", f"words hidden by {way}", task.progress) as progress:
        try:
            for places in batches:
                chosen = [removals[at] for at in places]
                if (arrays := task.kept.get(label, places)) is None:
                    arrays = _batch(task, chosen, encodings, mask, reading)
                    task.kept.put(label, places, *arrays)
                numbers, errors = arrays
                for removal, remaining, is_error in zip(chosen, numbers, errors, strict=True):
                    row, tokens = removal
                    original, was_error = reading(records[row], row, gone_words(encodings[row], tokens))
                    moves[removal] = original - remaining, was_error, is_error
                progress.update(len(places))
        finally:
            task.kept.save()
    return moves


def _batch(
    task: Answered,
    removals: Sequence[Removal],
    encodings: Sequence[Encoding],
    mask: int | None,
    reading: AnswerReading,
) -> tuple[np.ndarray, np.ndarray]:
    rows = [row for row, _ in removals]
    task.check()
    changed = [without(encodings[row], tokens, mask) for row, tokens in removals]
    batch = batch_of(task.lens, rows, [[encoding] for encoding in changed])
    answers = checked(answers_of(task.lens, task.examples, batch), batch, task.examples)
    matches = task.kind.records(answers, task.labels[rows])
    readings = [reading(record, row, gone_words(encodings[row], tokens))
            for record, (row, tokens) in zip(matches, removals, strict=True)]  # fmt: skip
    return np.stack([pair[0] for pair in readings]), np.stack([pair[1] for pair in readings])


def slopes(task: Answered) -> list[np.ndarray]:
    """(S, C) of each row: how far each token alone would move the numbers, to first order; see `batch_slopes`."""
    matches: list[Any] = [None] * len(task)
    with bar(len(task), "text", "estimates of words", task.progress) as progress:
        try:
            for batch in task.batches(range(len(task))):
                for row, numbers in zip(batch.rows, batch_slopes(task, batch), strict=True):
                    matches[row] = numbers
                progress.update(len(batch.rows))
        finally:
            task.kept.save()
    return matches


def batch_slopes(task: Answered, batch: Batch) -> np.ndarray:
    """(B, S, C): ∂ number / ∂ word embedding times (it − the mask's), summed: the first-order estimate of what the
    number loses where the mask stands in its place; without a mask, of an embedding of zeros.

    Raises ModelError as `word_gradients`, and where a number is NaN.
    """
    if (arrays := task.kept.get(SLOPES, batch.rows)) is not None:
        return arrays[0]
    size = len(names_of(task))
    columns = []
    for k in [1] if size == 2 else range(size):
        _, words, gradient = word_gradients(task.lens.borrowed, batch.inputs, _number(task, batch, k))
        columns.append((gradient.double() * (words - _baseline(task, words)).double()).sum(-1).cpu().numpy())
    if size == 2:
        columns.insert(0, -columns[0])
    numbers = np.stack(columns, -1)
    bad = ~np.isfinite(numbers).all((1, 2))
    if bad.any():
        place = task.examples.columns.place(batch.rows[int(bad.argmax())], task.examples.text_column)
        raise ModelError(f"{place}: the estimates of its words are NaN or Inf: check the model's weights")
    task.kept.put(SLOPES, batch.rows, numbers)
    return numbers


def _baseline(task: Answered, words: torch.Tensor) -> torch.Tensor | float:
    mask = mask_id(task)
    if mask is None:
        return 0.0
    with torch.no_grad():
        vector = task.lens.borrowed.embedding(torch.tensor([mask], device=words.device))[0]
    if vector.shape != words.shape[-1:]:
        raise ModelError("the mask's embedding is of another size than those of words")
    return vector.detach().to(words)


def _number(task: Answered, batch: Batch, k: int) -> Callable[[Any], torch.Tensor]:
    def number(output: Any) -> torch.Tensor:
        answers = task.kind.read(output, batch)
        answers = answers if answers.dtype == torch.float64 else answers.float()
        return log_odds(answers)[:, k] if task.names else answers

    return number
