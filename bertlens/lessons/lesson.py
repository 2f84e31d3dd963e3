"""A lesson as data: its steps, and the file that holds them.

A `*.lesson.json` is {"schema": "bertlens lesson", "version": 2, "title", "lang", "model", "steps"}; a step has the
fields of `Step`, those left out that are empty. docs/lessons.md tells them one by one.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ..base.atomic import replacing
from ..base.dataframes import pd
from ..base.paths import as_path
from ..errors import InputError, excerpt
from ..model import offline_model
from ..training import differences
from .checking import checked
from .paper import write
from .results import graded
from .states import state_of
from .step import Step, step

SCHEMA, VERSION = "bertlens lesson", 2
SHIPPED = {  # by name, in the order of the number that a file's name begins with
    path.name.partition("-")[2].removesuffix(".lesson.json"): path
    for path in sorted(Path(__file__).with_name("shipped").glob("*.lesson.json"))
}
MOST_BYTES, MOST_STEPS = 1_000_000, 100
TRANSLATED = ("text", "after", "model", "hints", "notes", "table")  # of a step


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
        plan = list(steps) if isinstance(steps, Iterable) else [steps]
        self.title, self.lang, self.model, self.steps = title, lang, model, plan
        if len(plan) > MOST_STEPS or not all(isinstance(entry, Step) for entry in plan):
            raise InputError(f"a lesson has at most {MOST_STEPS} steps, each made by bl.Lesson.step(text, …)")

    def __repr__(self) -> str:
        return f"Lesson({self.title!r}, {len(self.steps)} steps)"

    def _add(self, view: Any, text: str, act: str = "", **given: Any) -> Step:
        """Add a step in the state that a view is in; `text` and the rest as of `Lesson.step`."""
        addition = step(text, given.pop("state", None) or state_of(view), act, **given)
        self.steps.append(addition)
        return addition

    def check(self, lens: Any) -> pd.DataFrame:
        """Every step run with a lens: DataFrame(step, act, holds, says), one row a step, counted from 1.

        holds: whether it can be done. says: where not, why; else what fulfils it or what the answer is.
        Raises InputError for what is no lens.
        """
        return checked(self, lens)

    def translated(self, lang: str, texts: Mapping[int | str, str | Mapping[str, Any]]) -> Lesson:
        """The same lesson in another language, lang ("de"): the same states and checks.

        texts: the number of a step (from 1) -> its text, or `text`, `after`, `model`, `hints` and `notes` by name; and
        "title". What is not there stays as it is. Raises InputError for a step or a name that does not exist.
        """
        steps = list(self.steps)
        if not isinstance(texts, Mapping):
            raise InputError(f"texts are {{1: a text, 2: {{'text': …, 'hints': …}}, 'title': …}}, not {excerpt(texts)}")
        for number, translation in texts.items():
            if number == "title":
                continue
            if isinstance(number, bool) or not isinstance(number, int) or not 1 <= number <= len(steps):
                raise InputError(f"no step {excerpt(number, 20)}: there are 1 to {len(steps)}, and 'title'")
            if not isinstance(translation, str | Mapping):
                raise InputError(f"step {number} has a text, or texts by name, not {excerpt(translation)}")
            words = {"text": translation} if isinstance(translation, str) else dict(translation)
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
        return graded(self.title, len(self.steps), line)

    def to_paper(self, path: str | Path, lens: Any = None, solutions: bool = True) -> Path:
        """Write the lesson as one HTML file for print, and return where it is.

        Each step has a still picture, its question and lines to write on; what is predicted is white in its picture.
        lens: of the model that the pictures are of; left out, the embedded model that the lesson names. solutions: on
        pages of their own at the end, or left out.
        Raises InputError where a step cannot be drawn with this model, ExportError where the file cannot be written.
        """
        return write(self, path, lens, solutions)

    # Files

    def record(self) -> dict[str, Any]:
        """The lesson as a file holds it."""
        about = {"schema": SCHEMA, "version": VERSION, "title": self.title, "lang": self.lang, "model": self.model}
        return about | {"steps": [s.record() for s in self.steps]}

    def for_page(self) -> dict[str, Any]:
        """The same for a page, which gets each check as a tree too."""
        steps = [s.record() | ({"tree": s.tree} if s.tree else {}) | {"title": s.title} for s in self.steps]
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
        try:
            with as_path(SHIPPED.get(str(path), path), "a lesson").open("rb") as file:
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
        plan = []
        for number, fields in enumerate(steps, 1):
            if not isinstance(fields, dict) or "text" not in fields:
                raise InputError(f"step {number} of this lesson has no text")
            try:
                plan.append(step(**fields))
            except (InputError, TypeError) as error:
                raise InputError(f"step {number} of this lesson: {error}") from error
        return cls(record.get("title", ""), plan, record.get("lang", "en"), record.get("model", ""))


def for_page(lesson: Any) -> dict[str, Any]:
    """What a page gets of `one_of(lesson)`."""
    return one_of(lesson).for_page()


def of_page(fields: Mapping[str, Any]) -> Lesson:
    """The lesson that a page got as `for_page`. Raises InputError."""
    steps = [{name: x for name, x in step.items() if name not in ("tree", "title")} for step in fields["steps"]]
    return Lesson.of({**fields, "schema": SCHEMA, "version": VERSION, "steps": steps})


def one_of(lesson: Any) -> Lesson:
    """A lesson: itself, a file, or the name of a shipped one. Raises InputError."""
    if isinstance(lesson, Lesson):
        return lesson
    if isinstance(lesson, str | Path):
        return Lesson.load(lesson)
    raise InputError(f"a lesson is a bl.Lesson or a file of one, not {type(lesson).__name__}")
