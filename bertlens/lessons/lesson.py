"""A lesson as data: its steps, and the file that holds them.

A `*.lesson.json` is {"schema": "bertlens lesson", "version": 2, "title", "lang", "model", "steps"}; a step has the
fields of `Step`, those left out that are empty. docs/lessons.md tells them one by one.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..base.atomic import replacing
from ..base.paths import as_path
from ..errors import InputError, excerpt
from ..model import offline_model
from ..training import differences
from .language import Tree, parse, parse_number
from .states import checked_state, state_of

if TYPE_CHECKING:
    import pandas as pd

SCHEMA, VERSION = "bertlens lesson", 2
SHIPPED = ("row-of-weights", "patterns", "weight-and-norm", "who-is-it", "heads-off", "one-sentence")  # in their order
MOST_BYTES, MOST_STEPS, MOST_TEXT = 1_000_000, 100, 4_000
MOST_COLUMNS, MOST_ROWS, MOST_CELL = 6, 30, 80  # of a table
TRANSLATED = ("text", "after", "model", "hints", "notes", "table")  # of a step
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
        given = {name: value for name, value in asdict(self).items() if value != start[name]}
        return json.loads(json.dumps(given))


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
    made = Step(text, state, act, **given)
    _check(made)
    if made.predict == "key" and not made.of:
        return Step(**{**made.__dict__, "of": PREDICTED["key"]})
    return made


def _is_text(value: Any) -> bool:
    """Of at most MOST_TEXT characters that a file and a page can hold; lone surrogates are not printable."""
    return isinstance(value, str) and len(value) <= MOST_TEXT and all(c.isprintable() or c == "\n" for c in value)


def _check(one: Step) -> None:
    for name in ("text", "act", "predict", "of", "check", "model", "after", "notes"):
        if not _is_text(getattr(one, name)):
            raise InputError(f"a step's {name} is text of at most {MOST_TEXT} characters, without control characters")
    if not one.text.strip():
        raise InputError("a step has a text that says what to do")
    if one.act not in ACTS:
        raise InputError(f"no act {one.act[:40]!r}: there are {', '.join(ACTS)}")
    if not isinstance(one.hints, tuple) or len(one.hints) > 2 or not all(map(_is_text, one.hints)):
        raise InputError("a step has at most two hints, each a text without control characters")
    for state in (one.state, one.show):
        checked_state(state)
    _check_table(one.table)
    if one.act in ("find", "change") and not one.check:
        raise InputError(f"a step to {one.act} has a check, such as check='previous > 0.5'")
    if one.act == "predict":
        _check_prediction(one)
    if one.check and one.act not in ("find", "change"):
        raise InputError("a check belongs to a step to find or to change")
    _ = one.tree  # raises what is wrong with it


def _check_prediction(one: Step) -> None:
    if one.predict not in PREDICTED:
        raise InputError(f"predict is one of {', '.join(PREDICTED)}, not {one.predict[:40]!r}")
    if one.predict == "key" and one.of not in ("", *_OF_KEY):
        raise InputError(f"a key is predicted of 'argmax' or 'argmax of words', not of {one.of[:40]!r}")
    if one.predict == "head" and not isinstance(parse_number(one.of), str):
        raise InputError("a head is predicted as the one with the largest of a statistic, such as of='previous'")
    number = one.within
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


class _Steps:
    """`Lesson.step(text, …)` makes a step; `lesson.step(view, text, …)` adds one with what the view shows."""

    def __get__(self, lesson: Lesson | None, _owner: type) -> Any:
        return step if lesson is None else lesson._add


class Lesson:
    """A title and steps; every check holds for any text.

    lang: of the texts, such as "en". model: the name of the model that it was written for, "" for any.
    Raises InputError for anything else.
    """

    step = _Steps()

    def __init__(self, title: str, steps: Iterable[Step] = (), lang: str = "en", model: str = "") -> None:
        for value, name in ((title, "title"), (lang, "lang"), (model, "model")):
            if not isinstance(value, str) or len(value) > 200 or not value.isprintable():
                raise InputError(f"a lesson's {name} is a line of text")
        if not title.strip():
            raise InputError("a lesson has a title")
        given = list(steps) if isinstance(steps, Iterable) else [steps]
        self.title, self.lang, self.model, self.steps = title, lang, model, given
        if len(given) > MOST_STEPS or not all(isinstance(one, Step) for one in given):
            raise InputError(f"a lesson has at most {MOST_STEPS} steps, each made by bl.Lesson.step(text, …)")

    def __repr__(self) -> str:
        return f"Lesson({self.title!r}, {len(self.steps)} steps)"

    def _add(self, view: Any, text: str, act: str = "", **given: Any) -> Step:
        """Add a step in the state that a view is in; `text` and the rest as of `Lesson.step`."""
        made = step(text, given.pop("state", None) or state_of(view), act, **given)
        self.steps.append(made)
        return made

    def check(self, lens: Any) -> pd.DataFrame:
        """Every step run with a lens: DataFrame(step, act, holds, says), one row a step, counted from 1.

        holds: whether it can be done. says: where not, why; else what fulfils it or what the answer is.
        """
        from .checking import checked

        return checked(self, lens)

    def translated(self, lang: str, texts: Mapping[int | str, str | Mapping[str, Any]]) -> Lesson:
        """The same lesson in another language: the same states and checks.

        texts: the number of a step (from 1) -> its text, or `text`, `after`, `model`, `hints` and `notes` by name; and
        "title". What is not there stays as it is. Raises InputError for a step or a name that does not exist.
        """
        steps = list(self.steps)
        if not isinstance(texts, Mapping):
            raise InputError(f"texts are {{1: a text, 2: {{'text': …, 'hints': …}}, 'title': …}}, not {excerpt(texts)}")
        for number, given in texts.items():
            if number == "title":
                continue
            if isinstance(number, bool) or not isinstance(number, int) or not 1 <= number <= len(steps):
                raise InputError(f"no step {excerpt(number, 20)}: there are 1 to {len(steps)}, and 'title'")
            if not isinstance(given, str | Mapping):
                raise InputError(f"step {number} has a text, or texts by name, not {excerpt(given)}")
            words = {"text": given} if isinstance(given, str) else dict(given)
            for name in words:
                if name not in TRANSLATED:
                    raise InputError(f"of a step {', '.join(TRANSLATED)} are translated, not {excerpt(name)}")
            steps[number - 1] = step(**{**steps[number - 1].record(), **words})
        return Lesson(texts.get("title", self.title), steps, lang, self.model)  # type: ignore[arg-type]

    def grade(self, line: str) -> pd.DataFrame:
        """What a reader did, from the line of “Copy my result”: DataFrame(step, act, guess, truth, right, hints, shown,
        skipped, written), one row a step, and the name in `attrs["name"]`. No proof against cheating.

        Raises InputError for a line that is none, is damaged, or is of another lesson.
        """
        from .results import graded

        return graded(self.title, len(self.steps), line)

    def to_paper(self, path: str | Path, lens: Any = None, solutions: bool = True) -> Path:
        """Write the lesson as one HTML file for print, and return where it is.

        Each step has a still picture, its question and lines to write on; what is predicted is white in its picture.
        lens: of the model that the pictures are of; left out, the embedded model that the lesson names. solutions: on
        pages of their own at the end, or left out.
        Raises InputError where a step cannot be drawn with this model, ExportError where the file cannot be written.
        """
        from .paper import write

        return write(self, path, lens, solutions)

    # Files

    def record(self) -> dict[str, Any]:
        """The lesson as a file holds it."""
        about = {"schema": SCHEMA, "version": VERSION, "title": self.title, "lang": self.lang, "model": self.model}
        return about | {"steps": [one.record() for one in self.steps]}

    def for_page(self) -> dict[str, Any]:
        """The same for a page, which gets each check as a tree too."""
        steps = [one.record() | ({"tree": one.tree} if one.tree else {}) | {"title": one.title} for one in self.steps]
        is_embedded = self.model in (offline_model.NAME, differences.NAME)  # a kernel can run it
        about = {"title": self.title, "lang": self.lang, "model": self.model, "embedded": is_embedded}
        return about | {"steps": steps}

    def save(self, path: str | Path) -> None:
        """Write the lesson to a file, by custom named *.lesson.json. Raises ExportError where it cannot be written."""
        text = json.dumps(self.record(), ensure_ascii=False, indent=1)
        with replacing(path) as out:
            out.write(f"{text}\n".encode())

    @classmethod
    def load(cls, path: str | Path) -> Lesson:
        """A lesson from a file, or a shipped one by its name.

        Raises InputError for one that is no lesson, or of another version.
        """
        if path in SHIPPED:
            path = Path(__file__).with_name("shipped") / f"{path}.lesson.json"
        try:
            with as_path(path, "a lesson").open("rb") as file:
                data = file.read(MOST_BYTES + 1)
        except OSError as error:
            raise InputError(f"{path} cannot be read ({error.strerror or error})") from error
        if len(data) > MOST_BYTES:
            raise InputError(f"{path} is no lesson: it has more than {MOST_BYTES // 1000} kB")
        try:
            return cls.of(json.loads(data))
        except (UnicodeDecodeError, json.JSONDecodeError, RecursionError) as error:
            raise InputError(f"{path} is no lesson: it is not JSON") from error

    @classmethod
    def of(cls, record: Any) -> Lesson:
        """A lesson from its record. Raises InputError."""
        if not isinstance(record, dict) or record.get("schema") != SCHEMA:
            raise InputError('this is no lesson: it has no "schema": "bertlens lesson"')
        if record.get("version") != VERSION:
            version = str(record.get("version"))[:20]
            raise InputError(f"this lesson is of version {version}, this bertlens reads {VERSION}: update the older")
        steps = record.get("steps")
        if not isinstance(steps, list):
            raise InputError("this lesson has no list of steps")
        made = []
        for number, one in enumerate(steps, 1):
            if not isinstance(one, dict) or "text" not in one:
                raise InputError(f"step {number} of this lesson has no text")
            try:
                made.append(step(**one))
            except (InputError, TypeError) as error:
                raise InputError(f"step {number} of this lesson: {error}") from error
        return cls(record.get("title", ""), made, record.get("lang", "en"), record.get("model", ""))


def for_page(lesson: Any) -> dict[str, Any]:
    """What a page gets of `one_of(lesson)`."""
    return one_of(lesson).for_page()


def one_of(lesson: Any) -> Lesson:
    """A lesson: itself, a file, or the name of a shipped one. Raises InputError."""
    if isinstance(lesson, Lesson):
        return lesson
    if isinstance(lesson, str | Path):
        return Lesson.load(lesson)
    raise InputError(f"a lesson is a bl.Lesson or a file of one, not {type(lesson).__name__}")
