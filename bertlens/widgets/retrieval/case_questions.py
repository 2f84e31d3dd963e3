"""The questions of the page of a retrieval by name, each a function of what is shown and of its arguments."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from ...base.dataframes import pd
from ...base.jobs import Job, Stopped
from ...base.vocabulary import phrases
from ...errors import BertLensError, InputError, excerpt
from ...measures.significance import Sizes, size_fields
from ...model.borrowed import checked_once
from ...search.contrast import contrast as contrast_of
from ...search.retrieval_run import Retrieval
from ...search.score_difference import Contrast
from ...search.text_words import TEXTS, unknown_notes
from ...sentences.text_pair import Side
from ...trace.provenance import made_with
from . import case_answers, collection_answers
from .all_failures import turns
from .case_answers import Fields

OPEN = 3  # contrasts that are held: each has runs of three texts
MOST_DRAWS = 50
SHOWN = 300  # characters of a passage in a list
PATIENCE = 0.3  # s that a page waits for work of minutes


@dataclass(eq=False)
class RetrievalQuestions:
    """Answers what a page asks about a retrieval; before: an earlier one, or the file of its measures."""

    retrieval: Retrieval
    before: Any = None

    def __post_init__(self) -> None:
        self._cases: dict[str, Contrast] = {}  # by what they are of, the last used last
        self._lock = threading.Lock()
        self._lists: dict[str, tuple[list[int], list[float]]] = {}  # of the question that was typed last
        self._jobs: dict[str, Job[Fields]] = {}  # over all failures, of layers, of dimensions

    @cached_property
    def failures(self) -> pd.DataFrame | None:
        """None without judgements."""
        return self.retrieval.failures() if self.retrieval.collection.judged else None

    @cached_property
    def questions(self) -> Fields:
        """See `collection_answers.questions`."""
        return collection_answers.questions(self.retrieval, self.failures)

    @cached_property
    def _places(self) -> tuple[dict[str, int], dict[str, int]]:
        """Where each question and each passage stands, by its id."""
        queries, passages = self.retrieval.collection.query_ids, self.retrieval.collection.passage_ids
        return {name: at for at, name in enumerate(queries)}, {name: at for at, name in enumerate(passages)}

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
        question, the wrong and the right passage, each null where it is the collection's, null where all are. query is
        null of a question that was typed, which is the first text."""
        fields = case_answers.case(self._contrast(case))
        query, *passages = self._ids(case)
        wrong, right = (self._places[1][name] for name in passages)
        at = None if case.get("query") is None else self._places[0][query]
        ranked = self._typed(query)[0] if at is None else self.retrieval.lists.passages(at).tolist()
        return fields | collection_answers.passages(self.retrieval, at, ranked, wrong, right)

    def search_typed(self, text: str) -> Fields:
        """The first passages for a question that was typed: rows of passage, score and text; passages, how many there
        are; notes on how it is read."""
        if not isinstance(text, str) or not text.strip():
            raise InputError("type a question")
        rows, scores = self._typed(text)
        collection, lens = self.retrieval.collection, self.retrieval.lens
        side = Side.of(lens, text, "query")
        return {
            "rows": [
                {"passage": collection.passage_ids[row], "score": score, "text": collection.passages[row][:SHOWN]}
                for row, score in zip(rows, scores, strict=True)
            ][: collection_answers.FIRST],
            "passages": len(collection.passages),
            "notes": [*side.notes("The question"), *unknown_notes(len(side.encoding.report.unknown), "query")],
        }

    def search_words(self, **case: Any) -> Fields:
        return case_answers.word_strip(self._contrast(case))

    def search_heads(self, **case: Any) -> Fields:
        return case_answers.head_strip(self._contrast(case))

    def search_without(self, side: str, word: str, how: str, draws: int, **case: Any) -> Fields:
        if not isinstance(draws, int) or not 0 <= draws <= MOST_DRAWS:
            raise InputError(f"draws is from 0 to {MOST_DRAWS}, not {excerpt(draws)}")
        frequencies = self.retrieval.frequencies if draws else {}
        return case_answers.without(self._contrast(case), side, word, how, draws, frequencies)

    def search_negatives(self, n: int, ending: str) -> Fields:
        """Triplets to train on, n negatives of each question and right passage: said, and a file of this ending."""
        mined = self.retrieval.hard_negatives(n)
        with TemporaryDirectory() as folder:
            path = Path(folder) / Path(f"triplets{ending}").name
            return {"said": mined.said, "file": mined.save(path).read_bytes()}

    def search_turns(self, act: str) -> Fields:
        """Whether the named word matters over all failures, see `all_failures.turns`: "start" begins it, "stop" ends
        it, "look" asks for no work. again, done (a share) while it is at it; idle: where it was not begun."""
        failures = self.failures
        if failures is None or not len(failures):
            raise InputError("no question fails: there is nothing to try")
        return self._followed("turns", act, lambda: turns(self.retrieval, failures))

    def search_sizes(self, part: str, act: str) -> Fields:
        """How smaller parts of the model rank, see SizeFields: part is "layers" or "dimensions"; act as of
        `search_turns`."""
        retrieval = self.retrieval
        works: dict[str, Callable[[], Sizes]] = {"layers": retrieval.layers, "dimensions": retrieval.dimensions}
        if not isinstance(part, str) or part not in works:
            raise InputError(f"no part {excerpt(part)}: there are {', '.join(works)}")
        return self._followed(part, act, lambda: {**size_fields(works[part]())})

    def _followed(self, name: str, act: str, work: Callable[[], Fields]) -> Fields:
        """What work of minutes made; how far it is."""
        if act == "start" and name not in self._jobs:
            self._jobs[name] = Job(work)
        if name not in self._jobs:
            return {"idle": True}
        job = self._jobs[name]
        if act == "stop":
            job.stop()
        try:
            outcome = job.made(PATIENCE)
        except Stopped:
            del self._jobs[name]
            return {"idle": True}
        except BertLensError:
            del self._jobs[name]
            raise
        return outcome[0] if outcome else {"again": True, "done": job.share}

    def forget(self) -> None:
        """Let go of the runs that are held."""
        self._cases.clear()

    def close(self) -> None:
        """End what is at work."""
        for job in self._jobs.values():
            job.stop()
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
        InputError for one that is not there, and for what is no case."""
        if not all(isinstance(case.get(name), str | None) for name in ("query", *TEXTS[1:])):
            raise InputError("a case names a question, a wrong and a right passage by their ids")
        texts = case.get("texts")
        if texts is not None and (
            not isinstance(texts, list | tuple)
            or len(texts) != len(TEXTS)
            or not all(isinstance(text, str | None) for text in texts)
        ):
            raise InputError("a case has three texts: a question, a wrong and a right passage")
        if case.get("query") is None:
            query = (texts or [None])[0] or ""
            names = [self.retrieval.collection.passage_ids[row] for row in self._typed(query)[0][:2]]
            if len(names) < len(TEXTS[1:]):
                raise InputError(phrases.ONE_PASSAGE)
            default: tuple[str, str] | None = (names[0], names[1])
        else:
            query = str(case.get("query"))
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
        ids, texts = self._ids(case), case.get("texts")
        if case.get("query") is None:
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


QUESTIONS: dict[str, Callable[..., Fields]] = {
    name: getattr(RetrievalQuestions, name)
    for name in (
        "search",
        "search_tables",
        "search_typed",
        "search_case",
        "search_words",
        "search_heads",
        "search_without",
        "search_negatives",
        "search_turns",
        "search_sizes",
    )
}
