"""Labelled examples: texts, and labels as the model's own answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..base.notes import note
from ..errors import InputError, check_lens, excerpt
from ..lens import Lens
from ..model.class_names import conflicts
from ..survey.corpus import check_limit
from ..text.encoding import Encoding
from ..text.tables import Columns
from .columns import columns, note_limit
from .kinds import Kind, kind_of
from .labels import LabelColumn


@dataclass(frozen=True, eq=False)
class Examples:
    """Texts or pairs of texts, the answer that each is to have, and where each came from."""

    texts: list[tuple[str, ...]]  # of a task of tags, the words of each
    labels: np.ndarray  # (n,): numbers of classes or tokens, scores, of tags an array each
    kind: Kind
    columns: Columns
    text_column: str
    notes: Sequence[str] = ()  # how labels were read, a sentence each

    def __len__(self) -> int:
        return len(self.texts)

    @property
    def names(self) -> list[str]:
        """Of the classes, in the order of the logits."""
        return self.kind.names

    def encodings(self, lens: Lens, row: int, truncation: bool) -> list[Encoding]:
        """What the model reads of an example. Raises InputError that names the row for a text that cannot be read."""
        try:
            return self.kind.encodings(lens, self.texts[row], truncation)
        except InputError as error:
            raise InputError(f"{self.columns.place(row, self.text_column)}: {error}") from None

    def encoding(self, lens: Lens, row: int, truncation: bool) -> Encoding:
        """Of pairs that are read apart, the first text."""
        return self.encodings(lens, row, truncation)[0]

    def shown(self) -> list[tuple[str, ...]]:
        """Each example's text or texts, words put together."""
        return [(" ".join(text),) for text in self.texts] if self.kind.name == "tags" else self.texts


def examples_of(
    lens: Lens,
    source: Any,
    text: str,
    text_pair: str | None,
    label: str,
    labels: Mapping[Any, Any] | None,
    limit: int | None,
) -> Examples:
    """Everything that can be wrong with labelled data is found here, before a model runs: InputError names the row."""
    check_lens(lens)
    kind, limit = kind_of(lens), check_limit(limit)
    if not isinstance(labels, Mapping | None):
        raise InputError(f"labels are {{yours: the model's}}, not {excerpt(labels)}")
    names = [text, *([] if text_pair is None else [text_pair]), label]
    if not all(isinstance(name, str | int) for name in names):
        raise InputError(f"text=, text_pair= and label= name columns, as {excerpt(names, 60)} do not")
    table = columns(source, names, ["text_pair"] if text_pair is None else (), lists=kind.name == "tags", limit=limit)
    if not len(table):
        raise InputError("there is no example")
    second = text_pair or ("text_pair" if "text_pair" in table.values else None)
    n = len(table) if limit is None else min(limit, len(table))
    if n < len(table):
        note_limit(table.values[label], n)
    texts = kind.texts(table, [text] if second is None else [text, second], n)
    column = LabelColumn(table, label, n, labels or {})
    numbers = kind.labels(column, texts)
    if column.is_ambiguous:
        note("; ".join(column.notes))
    remarks = conflicts(lens.borrowed.base.config) if kind.names else []
    return Examples(texts, numbers, kind, table, text, [*remarks, *column.notes])
