"""A step of a lesson: a text, a state of the view, and one thing to do; each is checked when it is made."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields
from typing import Any, Protocol

from ..errors import InputError, check_name, excerpt
from .language import Tree, parse, parse_number
from .states import checked_state

MOST_TEXT = 4_000
MOST_COLUMNS, MOST_ROWS, MOST_CELL = 6, 30, 80  # of a table
ACTS = ("read", "predict", "find", "change", "write")
PREDICTED = {"key": "argmax of words", "head": "", "number": "", "word": ""}  # with what `of` is where it is left out
_OF_KEY = ("argmax", "argmax of words")


@dataclass(frozen=True)
class Step:
    """One step: a text, a state of the view, and one thing to do.

    text: Markdown's simple part (paragraphs, **bold**, *italic*, `code`, "- " lists, "# " for the title). state: what
    `view` shows, as names of traits and settings with text, text_pair and changes (such as [["off", 4, 9]]); None
    leaves the view as it is. act: "read"; "predict" a `predict` of "key", "head", "number" or "word", which the view
    withholds until the guess; "find" a head or cell, or "change" the run, until `check` (language.py) holds; "write",
    after which `model` is shown. of: what is predicted: "argmax of words" or "argmax" of the chosen row, for a head the
    statistic whose largest it is, for a number that number. within: how near a guessed number has to be. after: said
    once the step is done. hints: at most two. show: a state in which the step is done, for "show me". notes: for the
    teacher. table: {"columns": [names], "rows": [[texts], …]} below the text, of a prediction after the guess.
    """

    text: str
    state: dict[str, Any] | None = None
    act: str = "read"
    predict: str = ""
    of: str = ""
    within: float = 0.1
    check: str = ""
    model: str = ""
    after: str = ""
    hints: tuple[str, ...] = ()
    show: dict[str, Any] | None = None
    notes: str = ""
    table: dict[str, Any] | None = None

    @property
    def title(self) -> str:
        """The first line of the text, as the list of steps has it."""
        line = next((line for line in self.text.splitlines() if line.strip()), "").strip().lstrip("#").strip()
        plain = line.replace("**", "").replace("`", "").replace("*", "")
        return plain if len(plain) <= 60 else plain[:59].rstrip() + "…"

    @property
    def tree(self) -> Tree | None:
        """What the page reads of `check`, or of a number or statistic that is predicted."""
        if self.check:
            return parse(self.check)
        if self.predict in ("head", "number"):
            return ["number", parse_number(self.of)]
        return None

    def record(self) -> dict[str, Any]:
        """Plain data; what is as it is where nobody says is left out."""
        start = {field.name: field.default for field in fields(self)}
        fields_set = {name: value for name, value in asdict(self).items() if value != start[name]}
        return json.loads(json.dumps(fields_set))


class LessonPlan(Protocol):
    """What a Lesson holds."""

    title: str
    lang: str
    model: str
    steps: list[Step]


def step(text: str, state: dict[str, Any] | None = None, act: str = "", **given: Any) -> Step:
    """A step; `act` is read off what is given where it is left out. Raises InputError for what is no step."""
    names = [field.name for field in fields(Step)]
    for name in given:
        if name not in names:
            raise InputError(f"a step has no {excerpt(name)}: it has {', '.join(names)}")
    if not act:
        act = next(
            (a for name, a in (("predict", "predict"), ("check", "find"), ("model", "write")) if given.get(name)),
            "read",
        )
    hints = given.pop("hints", ())
    given["hints"] = (hints,) if isinstance(hints, str) else tuple(hints) if isinstance(hints, list | tuple) else hints
    lesson_step = Step(text, state, act, **given)
    _check(lesson_step)
    if lesson_step.predict == "key" and not lesson_step.of:
        return Step(**{**lesson_step.__dict__, "of": PREDICTED["key"]})
    return lesson_step


def _is_text(value: Any) -> bool:
    """Of at most MOST_TEXT characters that a file and a page can hold; lone surrogates are not printable."""
    return isinstance(value, str) and len(value) <= MOST_TEXT and all(c.isprintable() or c == "\n" for c in value)


def _check(step: Step) -> None:
    for name in ("text", "act", "predict", "of", "check", "model", "after", "notes"):
        if not _is_text(getattr(step, name)):
            raise InputError(f"a step's {name} is text of at most {MOST_TEXT} characters, without control characters")
    if not step.text.strip():
        raise InputError("a step has a text that says what to do")
    check_name(step.act, ACTS, "act", InputError)
    if not isinstance(step.hints, tuple) or len(step.hints) > 2 or not all(map(_is_text, step.hints)):
        raise InputError("a step has at most two hints, each a text without control characters")
    for state in (step.state, step.show):
        checked_state(state)
    _check_table(step.table)
    if step.act in ("find", "change") and not step.check:
        raise InputError(f"a step to {step.act} has a check, such as check='previous > 0.5'")
    if step.act == "predict":
        _check_prediction(step)
    if step.check and step.act not in ("find", "change"):
        raise InputError("a check belongs to a step to find or to change")
    _ = step.tree  # raises what is wrong with it


def _check_prediction(step: Step) -> None:
    if step.predict not in PREDICTED:
        raise InputError(f"predict is one of {', '.join(PREDICTED)}, not {step.predict[:40]!r}")
    if step.predict == "key" and step.of not in ("", *_OF_KEY):
        raise InputError(f"a key is predicted of 'argmax' or 'argmax of words', not of {step.of[:40]!r}")
    if step.predict == "head" and not isinstance(parse_number(step.of), str):
        raise InputError("a head is predicted as the one with the largest of a statistic, such as of='previous'")
    number = step.within
    if isinstance(number, bool) or not isinstance(number, int | float) or not 0 <= number < 1e6:
        raise InputError("within is how near a guessed number has to be, such as 0.1")


def _check_table(table: Any) -> None:
    if table is None:
        return
    rows = table.get("rows") if isinstance(table, dict) else None
    lines: list[Any] = [table.get("columns"), *rows] if isinstance(rows, list) else [None]
    sound = all(isinstance(line, list) and len(line) == len(lines[0]) for line in lines) and len(lines[0]) > 0
    cells = [cell for line in lines for cell in line] if sound and len(lines[0]) <= MOST_COLUMNS else [None]
    if not all(isinstance(cell, str) and len(cell) <= MOST_CELL and cell.isprintable() for cell in cells):
        raise InputError(
            "a step's table is {'columns': [names], 'rows': [[texts], …]}: each row as long as columns, at most "
            f"{MOST_COLUMNS}, a cell a text of at most {MOST_CELL} characters"
        )
    if set(table) != {"columns", "rows"} or len(lines) > MOST_ROWS + 1:
        raise InputError(f"a step's table has columns and at most {MOST_ROWS} rows, and nothing else")
