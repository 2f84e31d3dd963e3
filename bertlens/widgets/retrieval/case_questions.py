"""The questions of the page of a retrieval by name, each a function of what is shown and of the question's arguments."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ...errors import InputError, excerpt
from ...model.borrowed import checked_once
from ...search.retrieval_run import Retrieval
from ...search.score_difference import Contrast
from ...search.text_words import TEXTS
from ...trace.provenance import made_with
from . import case_answers, collection_answers
from .case_answers import Fields

if TYPE_CHECKING:
    import pandas as pd

OPEN = 3  # contrasts that are held: each has runs of three texts
MOST_DRAWS = 50


@dataclass(eq=False)
class RetrievalQuestions:
    """Answers what a page asks about a retrieval; before: an earlier one, or the file of its measures."""

    retrieval: Retrieval
    before: Any = None

    def __post_init__(self) -> None:
        self._cases: dict[str, Contrast] = {}  # by what they are of, the last used last
        self._lock = threading.Lock()

    @cached_property
    def failures(self) -> pd.DataFrame | None:
        """None without judgements."""
        return self.retrieval.failures() if self.retrieval.collection.judged else None

    @cached_property
    def questions(self) -> Fields:
        """See `collection_answers.questions`."""
        return collection_answers.questions(self.retrieval, self.failures)

    @property
    def _ids(self) -> tuple[tuple[str, ...], ...]:
        """The ids of questions, and of passages as the wrong and as the right one."""
        collection = self.retrieval.collection
        return collection.query_ids, collection.passage_ids, collection.passage_ids

    @cached_property
    def _places(self) -> tuple[dict[str, int], ...]:
        """Where each question and each passage stands, by its id."""
        return tuple({name: at for at, name in enumerate(names)} for names in self._ids[:2])

    def answer(self, message: Mapping[str, Any]) -> Fields:
        """The answer to a message of the page. Raises BertLensError."""
        name = str(message.get("op"))
        question = QUESTIONS.get(name)
        if question is None:
            raise InputError("the page asked for something that this version of bertlens does not know")
        arguments = {key: value for key, value in message.items() if key not in ("op", "id")}
        try:
            with self._lock, checked_once():
                return question(self, **arguments)
        except TypeError as error:
            if question.__name__ in str(error):
                raise InputError(f"the page asked {name} without what it takes") from error
            raise

    def search(self) -> Fields:
        """What the view opens with."""
        lens = self.retrieval.lens
        return {
            "model": lens.model_name,
            **made_with(),
            "questions": self.questions,
            **collection_answers.about(self.retrieval, self.failures),
        }

    def search_tables(self) -> Fields:
        return collection_answers.tables(self.retrieval, self.before)

    def search_case(self, **case: Any) -> Fields:
        """A contrast. case: query, an id; wrong, right: ids of passages, null for those of the question; texts: of the
        question, the wrong and the right passage, null for those of the collection."""
        at, wrong, right = self._pair(case)
        fields = collection_answers.passages(self.retrieval, at, wrong, right)
        return fields | case_answers.case(self._contrast(case))

    def search_words(self, **case: Any) -> Fields:
        return case_answers.word_strip(self._contrast(case))

    def search_heads(self, **case: Any) -> Fields:
        return case_answers.head_strip(self._contrast(case))

    def search_without(self, side: str, word: str, how: str, draws: int, **case: Any) -> Fields:
        if not isinstance(draws, int) or not 0 <= draws <= MOST_DRAWS:
            raise InputError(f"draws is from 0 to {MOST_DRAWS}, not {excerpt(draws)}")
        frequencies = self.retrieval.frequencies if draws else {}
        return case_answers.without(self._contrast(case), side, word, how, draws, frequencies)

    def forget(self) -> None:
        """Let go of the runs that are held."""
        self._cases.clear()

    def pair(self, query: str) -> tuple[str, str] | None:
        """The ids of the passages that stand in a question's case; None where it has none."""
        at = self._place(0, query, "question")
        failures, ids = self.failures, self.retrieval.collection.passage_ids
        if failures is not None:
            rows = failures[failures["query"] == query]
            if len(rows):
                return str(rows["wrong"].iloc[0]), str(rows["right"].iloc[0])
        places = collection_answers.pair_of(self.retrieval, at)
        return None if places is None else (ids[places[0]], ids[places[1]])

    def _pair(self, case: Mapping[str, Any]) -> tuple[int, int, int]:
        """Question, wrong and right passage of a case, by their places in the collection."""
        query = str(case.get("query"))
        default = self.pair(query)
        names = [case.get(side) or (default and default[at]) for at, side in enumerate(TEXTS[1:])]
        if None in names:
            raise InputError("this question has no two passages to lay beside each other: one right and one not")
        if names[0] == names[1]:
            raise InputError("a passage cannot be laid beside itself: choose another one")
        at, *pair = (self._place(min(n, 1), name, "passage" if n else "question") for n, name in enumerate([query, *names]))
        return at, pair[0], pair[1]

    def _place(self, of: int, name: Any, what: str) -> int:
        try:
            return self._places[of][str(name)]
        except KeyError:
            raise InputError(f"no {what} {excerpt(name)} in this collection") from None

    def _contrast(self, case: Mapping[str, Any]) -> Contrast:
        """The contrast of a case, made where it is not held."""
        query, wrong, right = (collection_ids[at] for collection_ids, at in zip(self._ids, self._pair(case), strict=True))
        texts = case.get("texts")
        if texts is not None and (len(texts) != len(TEXTS) or not all(isinstance(text, str) for text in texts)):
            raise InputError("a case has three texts: a question, a wrong and a right passage")
        contrast = self._held(f"{query!r} {wrong!r} {right!r}", lambda: self.retrieval.contrast(query, wrong, right))
        versions = zip(TEXTS, contrast.texts, texts or contrast.texts, strict=True)
        changes = {text: new for text, old, new in versions if new != old}
        if not changes:
            return contrast
        return self._held(f"{query!r} {wrong!r} {right!r} {changes}", lambda: contrast.rewritten(**changes))

    def _held(self, name: str, make: Callable[[], Contrast]) -> Contrast:
        contrast = self._cases.pop(name) if name in self._cases else make()
        self._cases = {**dict([*self._cases.items()][1 - OPEN :]), name: contrast}
        return contrast


QUESTIONS: dict[str, Callable[..., Fields]] = {
    name: getattr(RetrievalQuestions, name)
    for name in (
        "search",
        "search_tables",
        "search_case",
        "search_words",
        "search_heads",
        "search_without",
    )
}
