"""The questions of the page of a retrieval by name, each a function of what is shown and of its arguments."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Hashable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar, TypeVar

from typing_extensions import NotRequired, TypedDict

from ...base.dataframes import pd
from ...base.jobs import Job, Stopped, Works
from ...base.vocabulary import phrases
from ...errors import InputError, excerpt
from ...measures.significance import SizeFields, size_fields
from ...sentences.text_pair import Side
from ...trace.provenance import made_with, versions
from ...widgets.messages import (
    ARGUMENTS,
    Again,
    Argument,
    Message,
    Nothing,
    PlainQuestion,
    Reply,
    SteppedWorks,
    WorkEnd,
    at_work,
    choice,
    packed,
    question_of,
)
from ..contrast import contrast as contrast_of
from ..retrieval_run import Retrieval
from ..score_difference import Contrast
from ..text_words import TEXTS, unknown_notes
from ..word_runs import HOW
from . import case_answers, collection_answers
from .all_failures import TurnsFields, turns
from .case_answers import CaseWithout, ContrastFields, Strip
from .collection_answers import CasePassages, FailureKinds, QuestionList, SheetTables

T = TypeVar("T")
OPEN = 3  # contrasts that are held: each has runs of three texts
MOST_DRAWS = 50
SHOWN = 300  # characters of a passage in a list
PATIENCE = 0.2  # s that a page waits, before the others have their turn
WORKS = ("turns", "layers", "dimensions")


class SearchOverview(FailureKinds):
    model: str
    versions: dict[str, str]
    date: str
    questions: QuestionList
    held: list[str]  # work that was done


class SearchCase(ContrastFields, CasePassages):
    """A contrast, and what may be laid beside each other in its place."""


class TypedRow(TypedDict):
    passage: str
    score: float
    text: str


class TypedSearch(TypedDict):
    """How a question that was typed ranks the passages: the first ones."""

    rows: list[TypedRow]
    passages: int  # in all
    ms: NotRequired[float]  # of the model in a page
    notes: list[str]  # how it is read


class Triplets(TypedDict):
    said: str


class Greeting(TypedDict):
    kernel: bool


@dataclass(eq=False)
class RetrievalQuestions:
    """Answers what a page asks about a retrieval; before: an earlier one, or the file of its measures."""

    retrieval: Retrieval
    before: Any = None

    def __post_init__(self) -> None:
        self._cases: dict[str, Contrast] = {}  # by what they are of, the last used last
        self._lock = threading.Lock()
        self._lists: dict[str, tuple[list[int], list[float]]] = {}  # of the question that was typed last
        self._works = Works()  # over all failures, of layers, of dimensions
        self._steps = SteppedWorks()  # strips

    @cached_property
    def failures(self) -> pd.DataFrame | None:
        """None without judgements."""
        return self.retrieval.failures() if self.retrieval.collection.judged else None

    @cached_property
    def questions(self) -> QuestionList:
        """See `collection_answers.questions`."""
        return collection_answers.questions(self.retrieval, self.failures)

    @cached_property
    def _places(self) -> tuple[dict[str, int], dict[str, int]]:
        """Where each question and each passage stands, by its id."""
        queries, passages = self.retrieval.collection.query_ids, self.retrieval.collection.passage_ids
        return {name: at for at, name in enumerate(queries)}, {name: at for at, name in enumerate(passages)}

    def reply(self, message: Message) -> Reply:
        """The answer to a message of the page. Raises BertLensError."""
        question = question_of(message, QUESTIONS)
        with self._lock:
            return packed(*question.answer(self, **question.check(self, message)))

    def full_answer(self, message: Message) -> dict[str, Any]:
        """The fields of an answer, however long it takes."""
        while (fields := self.reply(message)[0]).get("again"):
            pass
        return fields

    def search(self) -> tuple[SearchOverview, Nothing]:
        """What the view opens with."""
        overview: SearchOverview = {
            "model": self.retrieval.lens.model_name,
            "versions": versions(),
            "date": made_with()["date"],
            "questions": self.questions,
            "held": self.held,
            **collection_answers.about(self.retrieval, self.failures),
        }
        return overview, {}

    def search_tables(self) -> tuple[SheetTables, Nothing]:
        return collection_answers.tables(self.retrieval, self.before), {}

    def search_case(self, **case: Any) -> tuple[SearchCase, Nothing]:
        """A contrast. case: query, an id; wrong, right: ids of passages, null for those of the question; texts: of the
        question, the wrong and the right passage, each null where it is the collection's, null where all are. query is
        null of a question that was typed, which is the first text."""
        query, *passages = self._ids(case)
        wrong, right = (self._places[1][name] for name in passages)
        at = None if case["query"] is None else self._places[0][query]
        ranked = self._typed(query)[0] if at is None else self.retrieval.lists.passages(at).tolist()
        places = collection_answers.passages(self.retrieval, at, ranked, wrong, right)
        return {**case_answers.case(self._contrast(case)), **places}, {}

    def search_typed(self, text: str) -> tuple[TypedSearch, Nothing]:
        """The first passages for a question that was typed."""
        if not text.strip():
            raise InputError("type a question")
        rows, scores = self._typed(text)
        collection, lens = self.retrieval.collection, self.retrieval.lens
        side = Side.of(lens, text, "query")
        first: list[TypedRow] = [
            {"passage": collection.passage_ids[row], "score": score, "text": collection.passages[row][:SHOWN]}
            for row, score in zip(rows[: collection_answers.FIRST], scores, strict=False)
        ]
        notes = [*side.notes("The question"), *unknown_notes(len(side.encoding.report.unknown), "query")]
        return {"rows": first, "passages": len(collection.passages), "notes": notes}, {}

    def search_words(self, **case: Any) -> tuple[Strip | Again, Nothing]:
        return self._in_turn("words", case, case_answers.word_strip)

    def search_heads(self, **case: Any) -> tuple[Strip | Again, Nothing]:
        return self._in_turn("heads", case, case_answers.head_strip)

    def search_without(
        self, side: str, word: str, how: str, draws: int, **case: Any
    ) -> tuple[CaseWithout | Again, Nothing]:
        frequencies = self.retrieval.frequencies if draws else {}
        way = (side, word, how, draws)
        return self._in_turn(way, case, lambda contrast: case_answers.without(contrast, *way, frequencies))

    def search_negatives(self, n: int, ending: str) -> tuple[Triplets, bytes]:
        """Triplets to train on, n negatives of each question and right passage: said, and a file of this ending."""
        mined = self.retrieval.hard_negatives(n)
        with TemporaryDirectory() as folder:
            path = Path(folder) / Path(f"triplets{ending}").name
            return {"said": mined.said}, mined.save(path).read_bytes()

    def search_work(self, work: str) -> tuple[TurnsFields | SizeFields | WorkEnd | Again, Nothing]:
        """Work of minutes, begun if need be: whether the named word matters over all failures ("turns"), how smaller
        parts of the model rank ("layers", "dimensions"). "again" with "done" (its share) while it is at it."""
        retrieval, failures = self.retrieval, self.failures
        begins: dict[str, Callable[[], Any]] = {
            "layers": lambda: size_fields(retrieval.layers()),
            "dimensions": lambda: size_fields(retrieval.dimensions()),
        }
        if failures is not None and len(failures):
            begins["turns"] = lambda: turns(retrieval, failures)
        elif work == "turns":
            raise InputError("no question fails: there is nothing to try")
        try:
            outcome = self._works.outcome(work, begins[work], PATIENCE)
        except Stopped:
            return {"stopped": True}, {}
        return (at_work(outcome) if isinstance(outcome, Job) else outcome), {}

    def search_stop(self, work: str) -> tuple[Nothing, Nothing]:
        """A piece of work is to end."""
        self._works.stop(work)
        return {}, {}

    @property
    def held(self) -> list[str]:
        """The work whose results are here."""
        return [*self._works.outcomes]

    def _in_turn(
        self, name: Hashable, case: Mapping[str, Any], runs: Callable[[Contrast], Generator[float, None, T]]
    ) -> tuple[T | Again, Nothing]:
        """What many runs of a case give lets other questions in between."""
        of = name, repr(case)
        answer = self._steps.advance(of, lambda: runs(self._contrast(case)), PATIENCE)
        return (self._steps.again(of) if answer is None else answer), {}

    def forget(self) -> None:
        """Let go of the runs that are held."""
        self._cases.clear()
        self._steps.clear()

    def close(self) -> None:
        """End what is at work."""
        self._works.stop()
        self.forget()

    def pair(self, query: str) -> tuple[str, str] | None:
        """The ids of the passages that stand in a question's case; None where it has none."""
        if query not in self._places[0]:
            raise InputError(f"no question {excerpt(query)} in this collection")
        failures, ids = self.failures, self.retrieval.collection.passage_ids
        if failures is not None:
            rows = failures[failures["query"] == query]
            if len(rows):
                return str(rows["wrong"].iloc[0]), str(rows["right"].iloc[0])
        places = collection_answers.pair_of(self.retrieval, self._places[0][query])
        return None if places is None else (ids[places[0]], ids[places[1]])

    def _typed(self, text: str) -> tuple[list[int], list[float]]:
        """The list of a question that was typed: rows of the collection, scores. Raises ModelError as `check_model`."""
        self.retrieval.check_model()
        if text not in self._lists:
            lists = collection_answers.typed(self.retrieval, text)
            self._lists = {text: (lists.passages(0).tolist(), lists.scores[0].tolist())}
        return self._lists[text]

    def _ids(self, case: Mapping[str, Any]) -> tuple[str, str, str]:
        """Of the question, the wrong and the right passage of a case; the text of a question that was typed. Raises
        InputError for one that is not there."""
        texts = case["texts"]
        if case["query"] is None:
            query = (texts or [None])[0] or ""
            names = [self.retrieval.collection.passage_ids[row] for row in self._typed(query)[0][:2]]
            if len(names) < len(TEXTS[1:]):
                raise InputError(phrases.ONE_PASSAGE)
            default: tuple[str, str] | None = (names[0], names[1])
        else:
            query = case["query"]
            default = self.pair(query)
        wrong, right = (case.get(side) or (default and default[at]) for at, side in enumerate(TEXTS[1:]))
        if wrong is None or right is None:
            raise InputError("this question has no two passages to lay beside each other: one right and one not")
        for name in (wrong, right):
            if name not in self._places[1]:
                raise InputError(f"no passage {excerpt(name)} in this collection")
        return query, str(wrong), str(right)

    def _contrast(self, case: Mapping[str, Any]) -> Contrast:
        """The contrast of a case, made where it is not held."""
        ids, texts = self._ids(case), case["texts"]
        if case["query"] is None:
            passages = [self.retrieval.collection.passages[self._places[1][name]] for name in ids[1:]]
            contrast = self._held(repr(ids), lambda: contrast_of(self.retrieval.lens, ids[0], passages[0], passages[1]))
        else:
            contrast = self._held(repr(ids), lambda: self.retrieval.contrast(*ids))
        versions = zip(TEXTS, contrast.texts, texts or contrast.texts, strict=True)
        changes = {text: version for text, old, version in versions if version not in (None, old)}
        return self._held(repr((ids, changes)), lambda: contrast.rewritten(**changes)) if changes else contrast

    def _held(self, name: str, make: Callable[[], Contrast]) -> Contrast:
        contrast = self._cases.pop(name) if name in self._cases else make()
        self._cases = {**dict([*self._cases.items()][1 - OPEN :]), name: contrast}
        return contrast


def _id(_of: Any, value: Any) -> str | None:
    if not isinstance(value, str | None):
        raise InputError("a case names a question, a wrong and a right passage by their ids")
    return value


def _texts(_of: Any, value: Any) -> tuple[str | None, ...] | None:
    is_list = isinstance(value, list | tuple) and len(value) == len(TEXTS)
    if value is not None and not (is_list and all(isinstance(text, str | None) for text in value)):
        raise InputError("a case has three texts: a question, a wrong and a right passage")
    return None if value is None else tuple(value)


def _draws(_of: Any, value: Any) -> int:
    if type(value) is not int or not 0 <= value <= MOST_DRAWS:
        raise InputError(f"draws is from 0 to {MOST_DRAWS}, not {excerpt(value)}")
    return value


class SearchQuestion(PlainQuestion):
    """A question about a retrieval: its answer is given RetrievalQuestions."""

    TABLE: ClassVar[Mapping[str, Argument]] = {
        "query": Argument(_id, "string | null"),
        "wrong": Argument(_id, "string | null"),
        "right": Argument(_id, "string | null"),
        "texts": Argument(_texts, "(string | null)[] | null"),
        "text": ARGUMENTS["text"],
        "side": Argument(choice("text", TEXTS)),
        "word": ARGUMENTS["text"],
        "how": Argument(choice("how", HOW)),
        "draws": Argument(_draws, "number"),
        "n": Argument(lambda _of, value: value, "number"),
        "ending": ARGUMENTS["text"],
        "work": Argument(choice("work", WORKS)),
    }


def hello(_of: RetrievalQuestions) -> tuple[Greeting, Nothing]:
    """Whether there is a kernel."""
    return {"kernel": True}, {}


CASE = ("query", "wrong", "right", "texts")
QUESTIONS = {
    question.name: question
    for question in (
        SearchQuestion("hello", hello),
        SearchQuestion("search", RetrievalQuestions.search),
        SearchQuestion("search_tables", RetrievalQuestions.search_tables),
        SearchQuestion("search_typed", RetrievalQuestions.search_typed, ("text",)),
        SearchQuestion("search_case", RetrievalQuestions.search_case, CASE),
        SearchQuestion("search_words", RetrievalQuestions.search_words, CASE),
        SearchQuestion("search_heads", RetrievalQuestions.search_heads, CASE),
        SearchQuestion("search_without", RetrievalQuestions.search_without, (*CASE, "side", "word", "how", "draws")),
        SearchQuestion("search_negatives", RetrievalQuestions.search_negatives, ("n", "ending")),
        SearchQuestion("search_work", RetrievalQuestions.search_work, ("work",)),
        SearchQuestion("search_stop", RetrievalQuestions.search_stop, ("work",)),
    )
}
