"""A tag for each word of a text: named entities, parts of speech."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ...base.amounts import amount, verb
from ...base.dataframes import pd
from ...errors import InputError, ModelError, excerpt
from ...lens import Lens
from ...measures.significance import NONE, share_interval
from ...text.encoding import Encoding
from ...text.tables import Columns
from ..entities import OUTSIDE, counts, entities, rewritten, scheme_in, scheme_of, schemes, starts, tag_of
from ..example_batch import Batch
from ..labels import ClassReader, LabelColumn, listed, missing
from ..scores import FEWEST, FEWEST_OF_ALL, losses_of, margins_of, score_table, scored, sklearn_metrics, softmax
from .classes import check_count, rivals
from .kind import Kind, Text, one_each

NO_WORD = -100  # where a batch is padded
NO_ANSWER = "–"  # the guess at a word without a token
SCHEMES = "IOB1, IOB2, IOE2, IOBES, BILOU, BMES"


class Tags(Kind):
    """A word's answer is that at its first token. A record is (words, C); words that were cut have none."""

    name = "tags"
    lacks = "a task of tags"
    asks = "tags of words"

    def texts(self, columns: Columns, names: Sequence[str], n: int) -> list[Text]:
        if len(names) > 1:
            raise InputError("a task of tags reads one text: leave text_pair out")
        return [_words(columns, names[0], row) for row in range(n)]

    def labels(self, column: LabelColumn, texts: list[Text]) -> np.ndarray:
        rows = [_tags(column, row, len(text)) for row, text in enumerate(texts)]
        reader = ClassReader(column, self.names, itertools.chain.from_iterable(rows))
        numbers = None if column.aliases else self._rewritten(column, rows, reader)
        if numbers is None:
            numbered = [[(tag, f", tag {k}") for k, tag in enumerate(tags)] for tags in rows]
            numbers = [[reader.of(row, tag, suffix) for tag, suffix in tags] for row, tags in enumerate(numbered)]
            reader.note()
        return one_each([np.array(tags) for tags in numbers], object)

    def _rewritten(self, column: LabelColumn, rows: list[list[Any]], reader: ClassReader) -> list[list[int]] | None:
        """The model's tags of the same entities where labels are written in another scheme; None where not."""
        names = [
            [column.named(tag, partial(column.place, row, f", tag {k}")) for k, tag in enumerate(tags)]
            for row, tags in enumerate(rows)
        ]
        scheme, target = scheme_in(names), scheme_of(self.names)
        if scheme == "IOE1":
            raise InputError(
                f"column {column.name!r} is written in IOE1, with E- only before another entity of its type, which is "
                f"not read: write its tags in IOE2 or IOB2"
            )
        is_direct = all(reader.class_named(tag) is not None for tag in {tag for tags in names for tag in tags})
        if not scheme or not target or (is_direct and target in ("IOB", scheme)):
            return None
        if target == "IOB":
            target = scheme if scheme == "IOB1" else "IOB2"
        places = {(tag[0], tag[1].casefold()): k for k, name in enumerate(self.names) if (tag := tag_of(name))}
        numbers: list[list[int]] = []
        for row, tags in enumerate(names):
            numbers.append([])
            for at, (prefix, kind) in enumerate(rewritten(tags, scheme, target)):
                if (place := places.get((prefix, kind.casefold()))) is None:
                    reader.of(row, rows[row][at], f", tag {at}")  # it is none of the model's: says so
                    raise InputError(f"{column.place(row)}, tag {at}: the model has no {prefix}-{kind}")
                numbers[-1].append(place)
        sentence = f"tags are written in {scheme} and read as the same entities in the model’s tags, {target}"
        if scheme == target:
            sentence = f"tags are the model’s in another spelling, in {scheme}"
        elif lost := sum(
            sum(tag != "O" for tag in tags) - sum(b - a for _, a, b in entities(tags, scheme)) for tags in names
        ):
            sentence += f"; {lost:,} that are of no entity in {scheme} are O"
        column.note(sentence, is_ambiguous=True)
        return numbers

    def encodings(self, lens: Lens, text: Text, truncation: bool) -> list[Encoding]:
        return [lens.encoding(list(text), None, truncation)]

    def prepare(self, records: Sequence[np.ndarray], labels: np.ndarray) -> None:
        if all(np.isnan(record).any(1).all() for record in records):
            raise InputError("no word of the examples has a token: is this the model's own tokenizer?")

    def read(self, output: Any, batch: Batch) -> Tensor:
        """(B, words, C), NaN where a text has no such word."""
        logits = getattr(output, "logits", None)
        if not isinstance(logits, Tensor) or logits.ndim != 3:
            raise ModelError("the model's output has no logits of each token's tags")
        check_count(logits, self.names)
        starts = [first_tokens(encoding) for encoding in batch.encodings]
        size = max(max(start, default=-1) for start in starts) + 1
        places = [[start.get(word, -1) for word in range(size)] for start in starts]
        padded = torch.tensor(places, dtype=torch.long, device=logits.device)
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
            "guess": [self._guess(record, len(tags)) for record, tags in zip(records, labels, strict=True)],
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
        names = self._names_of(pairs)
        of = schemes(self.names, *names)
        if all(of):
            strict = f"strict {of[0]}" if of[0] == of[1] else f"strict: labels {of[0]}, guesses {of[1]}"
            entity_counts = counts(*names, of)
            total = sum(entity_counts.values(), np.zeros((n, 3), dtype=int))
            for name, sums in {"": total, **entity_counts}.items():
                hit, labelled, guessed = sums.T
                prefix = "entity " if not name else ""
                for measure, above, below in (
                    ("precision", hit, guessed),
                    ("recall", hit, labelled),
                    ("F1", 2 * hit, labelled + guessed),
                ):
                    value = above.sum() / below.sum() if below.sum() else math.nan
                    size = int(((labelled + guessed) > 0).sum())
                    ends = share_interval(above, below)
                    row = scored(f"{prefix}{measure}", name, value, ends, size, FEWEST_OF_ALL, "texts with one", strict)
                    rows.append(row)
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

    def notes(self, records: Sequence[np.ndarray], labels: np.ndarray) -> list[str]:
        pairs = [_there(*pair) for pair in zip(records, labels, strict=True)]
        total, answered = sum(map(len, labels)), sum(len(tags) for _, tags in pairs)
        notes = []
        if lost := total - answered:
            have, they = verb(lost, "has", "have"), verb(lost, "it has", "they have")
            share = f"{lost:,} of {amount(total, 'word')}"
            notes.append(f"{share} {have} no token in what the model reads: {they} no answer")
        names = self._names_of(pairs)
        of = schemes(self.names, *names)
        if of[0] != of[1]:
            notes.append(f"labels are written in {of[0]}, guesses in {of[1]}: of the same entities the tags differ")
        if all(of):
            notes.append(f"entities are read as seqeval does in strict mode, in {' and '.join(dict.fromkeys(of))}")
            spoilt = starts(names[0])[0] if of[0] == "IOB2" else 0
            if spoilt:
                notes.append(
                    f"{amount(spoilt, 'label')} I- {verb(spoilt, 'begins', 'begin')} without B-: no entity in IOB2"
                )
        elif any(tag_of(name) not in (None, OUTSIDE) for name in self.names):
            odd = [name for name in self.names if tag_of(name) is None] or self.names
            notes.append(f"no entities are counted: looked for the schemes {SCHEMES}, and found {listed(odd)}")
        return notes

    def _names_of(self, pairs: Sequence[tuple[np.ndarray, np.ndarray]]) -> tuple[list[list[str]], list[list[str]]]:
        """The tags of labels and of guesses, of words that have an answer."""
        labels = [[self.names[k] for k in tags] for _, tags in pairs]
        return labels, [[self.names[k] for k in logits.argmax(1)] for logits, _ in pairs]

    def _guess(self, record: np.ndarray, size: int) -> str:
        """The guesses in words; – at a word that has no answer."""
        guesses = [NO_ANSWER] * size
        for at in np.flatnonzero(~np.isnan(record).any(1)):
            guesses[at] = self.names[record[at].argmax()]
        return " ".join(guesses)

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
        if not isinstance(word, str) or not word:
            raise InputError(f"{place}: word {at} is {excerpt(word)}, not a word")
    if not len(value):
        raise InputError(f"{place}: there is no word")
    return tuple(value)


def _tags(column: LabelColumn, row: int, size: int) -> list[Any]:
    """The tags of a text of so many words."""
    cell = column.columns.values[column.name][row]
    if missing(cell):
        raise InputError(f"{column.place(row)}: the tags are missing")
    tags = cell.split() if isinstance(cell, str) else cell
    if not hasattr(tags, "__len__") or isinstance(tags, bytes | Mapping) or getattr(tags, "ndim", 1) != 1:
        raise InputError(
            f"{column.place(row)}: tags are a list, or a text with a space between two, not {excerpt(cell)}"
        )
    if len(tags) != size:
        raise InputError(f"{column.place(row)}: {len(tags)} tags for {size} words")
    return list(tags)
