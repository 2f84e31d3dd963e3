"""Labelled examples of a classifier: texts, and labels as the model's own classes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InputError, ModelError
from ..measures.predictions import KINDS
from .reading import Columns, columns

if TYPE_CHECKING:
    from ..lens import Lens
    from ..text.encoding import Encoding

LISTED = 12  # labels that an error names
WAITING = "is not read here yet: a classifier of texts or of pairs of texts, one class for each, is"


@dataclass(frozen=True, eq=False)
class Examples:
    """Texts or pairs of texts, the class of each, and where each came from."""

    texts: list[tuple[str, ...]]
    labels: np.ndarray  # (n,) int, among the model's classes
    names: list[str]  # of the classes, in the order of the logits
    columns: Columns
    text_column: str

    def __len__(self) -> int:
        return len(self.texts)

    def encoding(self, lens: Lens, row: int, truncation: bool) -> Encoding:
        """Raises InputError that names the row for a text that cannot be read."""
        try:
            first, *second = self.texts[row]
            return lens.encoding(first, second[0] if second else None, truncation)
        except InputError as error:
            raise InputError(f"{self.columns.place(row, self.text_column)}: {error}") from None


def classes_of(lens: Lens) -> list[str]:
    """The names of a sequence classifier's classes. Raises ModelError for other models, in one sentence."""
    runner = lens.borrowed.runner
    config: Any = lens.borrowed.base.config
    named = [type(module).__name__ for module in runner.modules()]
    kind = next((kind for end, kind in KINDS.items() if any(name.endswith(end) for name in named)), "")
    name = type(runner).__name__
    if kind == "span":
        raise ModelError(f"{name} answers questions by a span, which is no task here: {WAITING}")
    if kind != "labels":
        what = {"words": "names masked words", "tags": "gives each token a class"}.get(kind, "has no classifier's head")
        raise ModelError(f"{name} {what}: a task of it {WAITING}")
    count = int(getattr(runner.config if hasattr(runner, "config") else config, "num_labels", 0))
    problem = getattr(config, "problem_type", None)
    if count < 2 or problem == "regression":
        raise ModelError(f"{name} gives a score and no class: regression {WAITING}")
    if problem == "multi_label_classification":
        raise ModelError(f"{name} gives several labels to a text: such a task {WAITING}")
    names = getattr(config, "id2label", None) or {}
    return [str(names.get(n, n)) for n in range(count)]


def examples_of(
    lens: Lens,
    given: Any,
    text: str,
    text_pair: str | None,
    label: str,
    labels: Mapping[Any, Any] | None,
    limit: int | None,
) -> Examples:
    """Everything that can be wrong with labelled data is found here, before a model runs: InputError names the row."""
    names = classes_of(lens)
    if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int) or limit < 1):
        raise InputError(f"limit is how many examples to take, at least 1, not {limit!r:.40}")
    wanted = [text, *([] if text_pair is None else [text_pair]), label]
    found = columns(given, wanted, ["text_pair"] if text_pair is None else ())
    if not len(found):
        raise InputError("there is no example")
    second = text_pair or ("text_pair" if "text_pair" in found.values else None)
    n = len(found) if limit is None else min(limit, len(found))
    texts = list(_texts(found, [text] if second is None else [text, second], n))
    numbers = _numbers(found, label, n, names, dict(labels or {}))
    if n > 1 and len(set(numbers)) == 1:
        raise InputError(
            f"all {n:,} examples have the label {names[numbers[0]]!r}: a task needs at least two of the "
            f"{len(names)} classes"
        )
    return Examples(texts, np.array(numbers, dtype=np.int64), names, found, text)


def _texts(found: Columns, wanted: Sequence[str], n: int) -> Iterator[tuple[str, ...]]:
    parts = [found.values[name] for name in wanted]
    for row in range(n):
        for name, part in zip(wanted, parts, strict=True):
            if not isinstance(part[row], str):
                what = "is missing" if missing(part[row]) else f"is a {type(part[row]).__name__}, not a text"
                raise InputError(f"{found.place(row, name)}: the text {what}")
            if not part[row].strip():
                raise InputError(f"{found.place(row, name)}: the text is empty")
        yield tuple(part[row] for part in parts)


def missing(value: Any) -> bool:
    """Whether a cell of a table holds nothing: None, NaN, or (of a label) no character."""
    if value is None or (isinstance(value, Real) and math.isnan(float(value))):
        return True
    return type(value).__name__ in ("NAType", "NaTType")


def _numbers(found: Columns, column: str, n: int, names: list[str], given: dict[Any, Any]) -> list[int]:
    """The model's class of every row. Each different label is looked up once."""
    known: dict[Any, int] = {}
    values = found.values[column]
    numbers = []
    for row in range(n):
        value = values[row]
        try:
            number = known.get((type(value), value))
        except TypeError:
            raise InputError(f"{found.place(row, column)}: a label is one name or number, not {value!r:.40}") from None
        if number is None:
            number = known[(type(value), value)] = _number(found, column, row, value, names, given)
        numbers.append(number)
    return numbers


def _number(found: Columns, column: str, row: int, value: Any, names: list[str], given: dict[Any, Any]) -> int:
    place = found.place(row, column)
    if missing(value) or (isinstance(value, str) and not value.strip()):
        raise InputError(f"{place}: the label is missing")
    if given:
        key = value if value in given else str(value).strip()
        if key not in given:
            raise InputError(f"{place}: no label {value!r:.40} in labels=, which has {_listed([*map(str, given)])}")
        value = given[key]
    if isinstance(value, str):
        value = value.strip()
        if names.count(value) == 1:
            return names.index(value)
        alike = [i for i, name in enumerate(names) if name.lower() == value.lower()]
        if len(alike) == 1:
            return alike[0]
        if value.isdecimal() and int(value) < len(names):
            return int(value)
    elif isinstance(value, Real) and float(value).is_integer() and 0 <= float(value) < len(names):
        return int(float(value))
    near = get_close_matches(str(value), names, 1)
    way = f"did you mean {near[0]!r}?" if near else "say which is which by labels={'yours': 'the model’s'}"
    raise InputError(f"{place}: no label {value!r:.40}, the model has {_listed(names)} (0 to {len(names) - 1}); {way}")


def _listed(names: list[str]) -> str:
    return ", ".join(names[:LISTED]) + (", …" if len(names) > LISTED else "")
