"""A tag for each word of a text: named entities, parts of speech."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from ...errors import InputError, ModelError, excerpt
from ...survey.intervals import NONE, share_interval
from ...text.tables import Columns
from ..entities import counts, is_iob
from ..scores import FEWEST, FEWEST_OF_ALL, losses_of, margins_of, score_table, scored, sklearn_metrics, softmax
from .classes import Numbers, check_count, rivals
from .kind import Kind, Text, missing

if TYPE_CHECKING:
    import pandas as pd

    from ...lens import Lens
    from ...text.encoding import Encoding
    from ..example_batch import Batch

NO_WORD = -100  # where a batch is padded


class Tags(Kind):
    """A word's answer is that at its first token. A record is (words, C); words that were cut have none."""

    name = "tags"
    lacks = "a task of tags"
    asks = "tags of words"

    def texts(self, columns: Columns, names: Sequence[str], n: int) -> list[Text]:
        if len(names) > 1:
            raise InputError("a task of tags reads one text: leave text_pair out")
        return [_words(columns, names[0], row) for row in range(n)]

    def labels(self, columns: Columns, column: str, n: int, alias: Mapping[Any, Any], texts: list[Text]) -> np.ndarray:
        numbers = Numbers(columns, column, self.names, alias)
        labels = np.empty(n, dtype=object)
        for row in range(n):
            place, value = columns.place(row, column), columns.values[column][row]
            if missing(value):
                raise InputError(f"{place}: the tags are missing")
            tags = value.split() if isinstance(value, str) else value
            if not hasattr(tags, "__len__") or isinstance(tags, bytes | Mapping):
                raise InputError(f"{place}: tags are a list, or a text with a space between two, not {excerpt(value)}")
            if len(tags) != len(texts[row]):
                raise InputError(f"{place}: {len(tags)} tags for {len(texts[row])} words")
            labels[row] = np.array([numbers.of(row, tag, f", tag {at}") for at, tag in enumerate(tags)])
        return labels

    def encodings(self, lens: Lens, text: Text, truncation: bool) -> list[Encoding]:
        encoding = lens.encoding(list(text), None, truncation)
        if not truncation and (lost := set(range(len(text))) - {*encoding.word_ids}):
            raise InputError(f"word {min(lost)}, {excerpt(text[min(lost)])}, has no token")
        return [encoding]

    def read(self, output: Any, batch: Batch) -> Tensor:
        """(B, words, C), NaN where a text has no such word."""
        logits = getattr(output, "logits", None)
        if not isinstance(logits, Tensor) or logits.ndim != 3:
            raise ModelError("the model's output has no logits of each token's tags")
        check_count(logits, self.names)
        starts = [first_tokens(encoding) for encoding in batch.encodings]
        size = max(max(start, default=-1) for start in starts) + 1
        padded = torch.tensor([[start.get(word, -1) for word in range(size)] for start in starts], device=logits.device)
        word_logits = logits[torch.arange(len(logits), device=logits.device)[:, None], padded.clamp(0)]
        return torch.where((padded >= 0)[..., None], word_logits, torch.nan)

    def finite(self, answers: Tensor, batch: Batch) -> Tensor:
        words = torch.tensor([len(first_tokens(encoding)) for encoding in batch.encodings], device=answers.device)
        return torch.isfinite(answers).all(-1).sum(1) == words

    def losses(self, answers: Tensor, labels: np.ndarray) -> Tensor:
        """The mean over a text's words."""
        is_word = ~answers.isnan().any(-1)
        padded = torch.full(is_word.shape, NO_WORD, device=answers.device)
        for row, tags in enumerate(labels):
            size = min(len(tags), padded.shape[1])
            padded[row, :size] = torch.as_tensor(tags[:size], device=answers.device)
        padded = padded.masked_fill(~is_word, NO_WORD)
        # NaN would come back in the gradient of what is left out
        answers = torch.where(is_word[..., None], answers, 0.0)
        losses = torch.nn.functional.cross_entropy(
            answers.flatten(0, 1), padded.flatten(), reduction="none", ignore_index=NO_WORD
        )
        return losses.reshape(is_word.shape).sum(1) / is_word.sum(1).clamp(1)

    def records(self, answers: Tensor, labels: np.ndarray) -> list[np.ndarray]:
        return [answer[: len(tags)].numpy() for answer, tags in zip(answers, labels, strict=True)]

    def scores(self, records: Sequence[np.ndarray], labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        losses, right = [], []
        for logits, tags in (_there(*pair) for pair in zip(records, labels, strict=True)):
            losses.append(losses_of(tags, logits).mean() if len(tags) else 0.0)
            right.append((logits.argmax(1) == tags).mean() if len(tags) else 1.0)
        return np.array(losses), np.array(right)

    def columns(self, records: Sequence[np.ndarray], labels: np.ndarray) -> dict[str, Any]:
        pairs = [_there(*pair) for pair in zip(records, labels, strict=True)]
        wrong = [int((logits.argmax(1) != tags).sum()) for logits, tags in pairs]
        return {
            "label": [self.said(tags) for tags in labels],
            "guess": [self.said(logits.argmax(1)) for logits, _ in pairs],
            "right": [count == 0 for count in wrong],
            "words": [len(tags) for _, tags in pairs],
            "wrong": wrong,
            "probability": [float(softmax(logits).max(1).min()) if len(tags) else math.nan for logits, tags in pairs],
            "margin": [float(margins_of(tags, logits).min()) if len(tags) else math.nan for logits, tags in pairs],
        }

    def metrics(self, records: Sequence[np.ndarray], labels: np.ndarray) -> pd.DataFrame:
        pairs = [_there(*pair) for pair in zip(records, labels, strict=True)]
        n = len(pairs)
        right = np.array([(logits.argmax(1) == tags).sum() for logits, tags in pairs])
        words = np.array([len(tags) for _, tags in pairs])
        rows = [scored("word accuracy", "", right.sum() / words.sum(), share_interval(right, words), n, FEWEST)]
        label, logits, _ = self.counted(records, labels)
        m, guess = sklearn_metrics(), logits.argmax(1)
        if is_iob(self.names):
            entity_counts = counts(
                [[self.names[k] for k in tags] for _, tags in pairs],
                [[self.names[k] for k in logits.argmax(1)] for logits, _ in pairs],
            )
            total = sum(entity_counts.values(), np.zeros((n, 3), dtype=int))
            for name, of in {"": total, **entity_counts}.items():
                hit, labelled, guessed = of.T
                prefix = "entity " if not name else ""
                for measure, above, below in (
                    ("precision", hit, guessed),
                    ("recall", hit, labelled),
                    ("F1", 2 * hit, labelled + guessed),
                ):
                    value = above.sum() / below.sum() if below.sum() else math.nan
                    size = int(((labelled + guessed) > 0).sum())
                    ends = share_interval(above, below)
                    rows.append(scored(f"{prefix}{measure}", name, value, ends, size, FEWEST_OF_ALL, "texts with one"))
        else:
            macro = m.f1_score(label, guess, average="macro", zero_division=0)
            rows.append(scored("macro-F1", "", macro, NONE, len(label), 0, note="words of a text are not independent"))
            scores = m.precision_recall_fscore_support(
                label, guess, labels=list(range(len(self.names))), zero_division=np.nan
            )
            for name, *values, support in zip(self.names, *scores, strict=True):
                for measure, value in zip(("precision", "recall", "F1"), values, strict=True):
                    rows.append(scored(measure, name, value, NONE, int(support), 0, note="words"))
        return score_table(rows)

    def counted(self, records: Sequence[np.ndarray], labels: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        pairs = [_there(*pair) for pair in zip(records, labels, strict=True)]
        rows = np.repeat(np.arange(len(pairs)), [len(tags) for _, tags in pairs])
        return np.concatenate([tags for _, tags in pairs]), np.concatenate([logits for logits, _ in pairs]), rows

    def of_quality(self, records: Sequence[np.ndarray], labels: np.ndarray) -> tuple[float, tuple[float, float]]:
        pairs = [_there(*pair) for pair in zip(records, labels, strict=True)]
        right = np.array([(logits.argmax(1) == tags).sum() for logits, tags in pairs])
        words = np.array([len(tags) for _, tags in pairs])
        return float(right.sum() / words.sum()), share_interval(right, words)

    def differ(self, a: Any, b: Any) -> bool:
        return not np.array_equal(a, b)

    def said(self, label: Any) -> str:
        return " ".join(self.names[k] for k in label)

    def slices(self, labels: np.ndarray) -> list[tuple[str, str, np.ndarray]]:
        return [("tag", name, np.array([k in tags for tags in labels])) for k, name in enumerate(self.names)]

    def of_interest(self, record: np.ndarray, label: Any, encoding: Encoding) -> Callable[[Any], Tensor] | None:
        """At the word with the least margin: the guess's logit less the tag's."""
        logits, tags = _there(record, label)
        if not len(tags):
            return None
        word = int(margins_of(tags, logits).argmin())
        guess, rival = rivals(logits[word], int(tags[word]))
        at = first_tokens(encoding)[int(np.flatnonzero(~np.isnan(record).any(1))[word])]
        return lambda output: output.logits[0, at, guess] - output.logits[0, at, rival]


def first_tokens(encoding: Encoding) -> dict[int, int]:
    """The first token of every word."""
    starts: dict[int, int] = {}
    for at, word in enumerate(encoding.word_ids):
        if word is not None:
            starts.setdefault(word, at)
    return starts


def _there(record: np.ndarray, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Logits and labels of the words that have an answer."""
    is_answered = ~np.isnan(record).any(1)
    return record[is_answered], labels[: len(record)][is_answered]


def _words(columns: Columns, column: str, row: int) -> tuple[str, ...]:
    value, place = columns.values[column][row], columns.place(row, column)
    if isinstance(value, str):
        value = value.split()
    if missing(value):
        raise InputError(f"{place}: the words are missing")
    if isinstance(value, bytes | Mapping) or not hasattr(value, "__len__"):
        raise InputError(f"{place}: words are a list, or a text with a space between two, not {excerpt(value)}")
    for at, word in enumerate(value):
        if not isinstance(word, str) or not word.strip():
            raise InputError(f"{place}: word {at} is {excerpt(word)}, not a word")
    if not len(value):
        raise InputError(f"{place}: there is no word")
    return tuple(value)
