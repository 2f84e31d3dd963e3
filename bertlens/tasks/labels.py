"""What a label means: which of a model's classes it is, by its name, by the number in a name, or by its place."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cached_property, partial
from numbers import Number, Real
from typing import Any

from ..errors import InputError, excerpt
from ..text.tables import Columns

LISTED = 12  # labels that an error names
EXAMPLES = 4  # labels that a note names
UNNAMED = re.compile(r"LABEL_(\d+)")  # what transformers calls a class that nobody named
NUMBERED = re.compile(r"(\D*?)((?:(?<!\S)[+-])?\d+(?:\.\d+)?)(\D*)")  # "1", "-1", "1 star", "class_1"
TRUTH = {"false": 0.0, "true": 1.0}


@dataclass
class LabelColumn:
    """A column of labels, the first n rows of it, as all kinds of task read it. notes: how, a sentence each."""

    columns: Columns
    name: str
    n: int
    aliases: Mapping[Any, Any] = field(default_factory=dict)  # {the data's: the model's}
    notes: list[str] = field(default_factory=list)
    is_ambiguous: bool = False  # whether it could be read in two ways

    @cached_property
    def own_names(self) -> Sequence[str]:
        """What the data set itself calls 0, 1, …; nothing where it names no classes."""
        names = self.columns.classes.get(self.name) or ()
        return () if are_unnamed(names) else names

    @property
    def cells(self) -> Sequence[Any]:
        return self.columns.values[self.name][: self.n]

    def place(self, row: int, suffix: str = "") -> str:
        """Where a label stands, as errors name it."""
        return f"{self.columns.place(row, self.name)}{suffix}"

    def cell(self, row: int) -> Any:
        """A label as Python has it. Raises InputError where there is none."""
        cell = scalar(self.columns.values[self.name][row])
        check_there(cell, partial(self.place, row))
        return cell

    def named(self, cell: Any, place: Callable[[], str]) -> str:
        """A label as it is written: of a data set that names its classes, the name that it has for a number."""
        cell = scalar(cell)
        check_there(cell, place)
        if not isinstance(cell, str | Number):
            raise InputError(f"{place()}: a label is one name or number, not {excerpt(cell)}")
        if self.own_names and isinstance(cell, Real):
            names = self.own_names
            if cell not in range(len(names)):
                raise InputError(
                    f"{place()}: the label is missing: this data set has {listed(names)} (0 to {len(names) - 1}), "
                    f"not {excerpt(cell)}"
                )
            return names[int(float(cell))].strip()
        return writing(cell)

    def note(self, sentence: str, *, is_ambiguous: bool) -> None:
        self.notes.append(sentence)
        self.is_ambiguous |= is_ambiguous


class ClassReader:
    """The model's class for each label of a column, each different one looked up once.

    A label is the class of its name, in either case; else, where classes are named by numbers ("-1", "1 star"), the one
    of its number; else a number is a place in the model's list. A place is never taken for a name nor a name for a
    place: "1", 1 and 1.0 are one label.
    """

    def __init__(self, column: LabelColumn, names: list[str], cells: Iterable[Any]):
        self._column, self.names, self._cells = column, names, cells
        self._numbers, self._unit = numbers_of(names)
        self._aliases = {writing(scalar(label)): target for label, target in column.aliases.items()}
        self._places: dict[tuple[bool, str], int] = {}
        self._ways: dict[str, tuple[str, int]] = {}  # label -> how it was read, and as which class
        self._first: dict[str, tuple[str, str]] = {}  # how -> the first label that was read so, and where it stands

    def of(self, row: int, cell: Any, suffix: str = "") -> int:
        """The class of a label. Raises InputError that names the row; suffix: what else is said of the place."""
        cell = scalar(cell)
        key = isinstance(cell, str), writing(cell)
        if key not in self._places:
            self._places[key] = self._class(cell, lambda: self._column.place(row, suffix))
        return self._places[key]

    def class_named(self, label: str) -> int | None:
        """The class of a label as it is written; None where there is none."""
        way = self._way(label)
        return None if way is None else way[1]

    def _class(self, cell: Any, place: Callable[[], str]) -> int:
        label = self._column.named(cell, place)
        if self._aliases:
            key = label if label in self._aliases else writing(cell)
            if key not in self._aliases:
                labels = listed([*self._aliases])
                raise InputError(f"{place()}: no label {excerpt(cell)} in labels=, which has {labels}")
            way = self._way(writing(scalar(self._aliases[key])))
        else:
            way = self._way(label)
            if way is None and self._column.own_names and isinstance(cell, Real) and are_unnamed(self.names):
                way = ("place", int(float(cell))) if cell < len(self.names) else None
            if way is not None:
                spelling = label if way[0] == "name" else writing(cell)
                self._ways[spelling] = way
                self._first.setdefault(way[0], (spelling, place()))
                self._check_one_reading()
        if way is None:
            raise InputError(f"{place()}: {self._refusal(label if self._column.own_names else cell)}")
        return way[1]

    def _check_one_reading(self) -> None:
        """Raises InputError where one label of the column is a name and another a place in the model's list."""
        if "name" not in self._first or "place" not in self._first or are_unnamed(self.names):
            return
        (name, row), (number, other_row) = self._first["name"], self._first["place"]
        raise InputError(
            f"{other_row}: {excerpt(number)} is no name of a class, and {excerpt(name)} ({row}) is one: as a place in "
            f"the model's list it would be {self.names[self._ways[number][1]]}; write the name that is meant, or say "
            "which is which by labels={'yours': 'the model’s'}"
        )

    def _way(self, label: str) -> tuple[str, int] | None:
        """How a label is read, by "name", "number" or "place", and its class."""
        for fold in (str, str.casefold):
            matches = [place for place, name in enumerate(self.names) if fold(name.strip()) == fold(label)]
            if len(matches) == 1:
                return "name", matches[0]
        number, unit = TRUTH.get(label.casefold()), ""
        if match := NUMBERED.fullmatch(label):
            number, unit = float(match[2]), _unit(match)
        if number is None or unit not in ("", self._unit):
            return None
        if self._numbers:
            return ("number", self._numbers[number]) if number in self._numbers else None
        return ("place", int(number)) if number in range(len(self.names)) else None

    def _refusal(self, label: Any) -> str:
        names, own_names = self.names, self._column.own_names
        labels = dict.fromkeys(writing(scalar(cell)) for cell in self._cells if not missing(cell))
        alike = [name for name in names if re.fullmatch(re.escape(writing(label)) + r" \(\d+\)", name)]
        guesses = get_close_matches(writing(label)[:200], names, 1)
        way = f"did you mean {guesses[0]!r}?" if guesses else "say which is which by labels={'yours': 'the model’s'}"
        if len(alike) > 1:
            times = "twice" if len(alike) == 2 else f"{len(alike)} times"
            way = f"config.id2label has this name {times}: give each class a name of its own there"
        places = "" if self._numbers else f" (0 to {len(names) - 1})"
        source = f"the data set {listed(own_names)}" if own_names else f"the column {listed([*labels])}"
        return f"no label {excerpt(label)}, the model has {listed(names)}{places}, {source}; {way}"

    def note(self) -> None:
        """Say how labels were read where that is not by their names alone, or where there was another way."""
        column, names, classes = self._column, self.names, self._column.own_names
        by_place = {label: place for label, (way, place) in self._ways.items() if way == "place"}
        places = {label: _place_of(label) for label in self._ways}
        if by_place and are_unnamed(names):
            sentence = f"the model names no classes ({names[0]} to {names[-1]}): a label is a place in its list"
            codes = listed([f"{k} is {name}" for k, name in enumerate(classes)], EXAMPLES)
            column.note(
                sentence + (f", as the data set counts: {codes}" if classes else ""), is_ambiguous=bool(classes)
            )
        elif by_place:
            codes = listed([f"{label} is {names[by_place[label]]}" for label in sorted(by_place)], EXAMPLES)
            column.note(f"labels are numbers, read as places in the model’s list: {codes}", is_ambiguous=False)
        elif classes:
            counts = {name.strip(): code for code, name in enumerate(classes)}
            moved = [(counts.get(label, place), label, place) for label, (_, place) in self._ways.items()]
            if turned := [f"its {code} is {label}, the model’s {k}" for code, label, k in moved if code != k]:
                sentence = f"labels are read by the data set’s names: {listed(turned, EXAMPLES)}"
                column.note(sentence, is_ambiguous=False)
        elif self._numbers and all(k is not None and k < len(names) for k in places.values()):
            pairs = [(k, place) for label, (_, place) in self._ways.items() if (k := places[label]) is not None]
            if turned := [
                f"{k} is {names[place]!r}, not {names[k]!r} at place {k}" for k, place in pairs if k != place
            ]:
                column.note(f"labels are read as names of classes: {listed(turned, EXAMPLES)}", is_ambiguous=True)


def are_unnamed(names: Sequence[str]) -> bool:
    """Whether names say no more than the place: LABEL_0, LABEL_1, …"""
    matches = [UNNAMED.fullmatch(name) for name in names]
    return all(match is not None and int(match[1]) == place for place, match in enumerate(matches))


def numbers_of(names: Sequence[str]) -> tuple[dict[float, int], str]:
    """({number: place} of the classes that are named by one, its unit): of "-1" and "0" those, of "1 star" and
    "2 stars" all, with the unit "star". None where the names are others, or no more than places (LABEL_0)."""
    matches = [NUMBERED.fullmatch(name.strip()) for name in names]
    bare = {float(match[2]): place for place, match in enumerate(matches) if match and match[0] == match[2]}
    units = {_unit(match) if match else None for match in matches}
    if bare or are_unnamed(names) or len(units) > 1 or None in units:
        return bare, ""
    numbers = {float(match[2]): place for place, match in enumerate(matches) if match}
    return (numbers, str(units.pop())) if len(numbers) == len(names) > 1 else ({}, "")


def _unit(match: re.Match[str]) -> str:
    return re.sub(r"\W|_", "", match[1] + match[3]).casefold().removesuffix("s")


def _place_of(label: str) -> int | None:
    """The place that a number would be; None for what is none."""
    return int(label) if label.isdecimal() and len(label) < 9 else None


def writing(cell: Any) -> str:
    """A label as a table of text has it: "1" of 1 and of 1.0 too."""
    if isinstance(cell, float) and cell.is_integer():
        cell = int(cell)
    if isinstance(cell, str):
        text = cell.strip()
        match = NUMBERED.fullmatch(text)
        is_whole = match is not None and match[0] == match[2] and "." in text and not text.partition(".")[2].strip("0")
        return text.partition(".")[0] if is_whole else text
    try:
        return str(cell)
    except ValueError:  # Python writes no number of more than 4,300 digits
        return excerpt(cell)


def scalar(cell: Any) -> Any:
    """What a cell of numpy or torch holds; anything else as it is."""
    return cell.item() if hasattr(cell, "item") and getattr(cell, "ndim", None) == 0 else cell


def check_there(cell: Any, place: Callable[[], str]) -> None:
    """Raises InputError for a label that is missing."""
    if missing(cell) or (isinstance(cell, str) and not cell.strip()):
        raise InputError(f"{place()}: the label is missing")


def missing(value: Any) -> bool:
    """Whether a cell of a table holds nothing: None, NaN, or (of a label) no character."""
    if value is None or (isinstance(value, Real) and value != value):  # NaN; of a large number no float can be made
        return True
    return type(value).__name__ in ("NAType", "NaTType")


def listed(names: Sequence[str], count: int = LISTED) -> str:
    return ", ".join(names[:count]) + (", …" if len(names) > count else "")
