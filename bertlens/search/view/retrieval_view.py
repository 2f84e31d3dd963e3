"""RetrievalView: a search as a view, in a notebook and as one page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import anywidget
import traitlets

from ...base.amounts import amount
from ...base.atomic import text_or_path
from ...base.paths import as_path
from ...base.progress import Progress, page_bar
from ...errors import BertLensError, InputError, SelectionError, check_number, excerpt
from ...export import bundle, html, pages
from ...export.space import SpaceSource
from ...trace.provenance import made_with, visible
from ...widgets.closed import while_open
from ...widgets.host import CELLS
from ...widgets.messages import answered
from ..retrieval_run import Retrieval
from ..search_page import PASSAGES
from ..two_towers import check_one_model
from .case_answers import best_tried
from .case_questions import RetrievalQuestions
from .search_engine import search_engine

THEMES = ("auto", "light", "dark")
CONTRASTS = 20  # failures whose case a page carries
DRAWS = 8  # words at random, and as frequent, that a named word stands beside
HIDDEN = "hidden"


class RetrievalView(SpaceSource, anywidget.AnyWidget):
    """A search as a view: questions with the rank of their first right passage, the worst failures first; why the wrong
    passage is first, word by word, with arcs from the question to both; what if a word or a head were not there, or a
    text were another; the measures beside BM25, hubs, slices.

    retrieval: of `bl.retrieval(lens, …)`; `retrieval.explore()` makes this view. query: the id of the question that it
    opens on, without it the failure with the largest gap. before: an earlier Retrieval of the same collection, or the
    file that its `save` wrote, for a table of what changed. theme: "auto", "light", "dark". `query` is the question
    that is open, too. Raises InputError for anything but a retrieval and for a question that is not there.
    """

    _esm = bundle.text("search.js")
    _css = bundle.text("search.css")
    query = traitlets.Unicode().tag(sync=True)
    theme = traitlets.Unicode("auto").tag(sync=True)
    _questions: RetrievalQuestions | None = None  # none where its arguments were refused, and once it is closed

    def __init__(
        self,
        retrieval: Retrieval,
        *,
        query: str | int | None = None,
        before: Retrieval | str | Path | None = None,
        theme: str = "auto",
    ) -> None:
        if not isinstance(retrieval, Retrieval):
            raise InputError(f"a RetrievalView shows what bl.retrieval(…) gives, not {type(retrieval).__name__}")
        check_one_model(retrieval.query_lens, retrieval.lens, "explore")
        if before is not None:
            retrieval.against(before)  # another collection is refused here, not in the page
        self._questions = RetrievalQuestions(retrieval, before)
        names = self._questions.questions["query"]
        if not names:
            raise InputError("there is no question to show")
        super().__init__(query=names[0] if query is None else str(query), theme=theme)
        self.on_msg(self._answer)

    @traitlets.validate("theme")
    @while_open
    def _valid_theme(self, proposal: Any) -> str:
        if proposal["value"] not in THEMES:
            raise SelectionError(f"no theme {excerpt(proposal['value'])}: there are {', '.join(map(repr, THEMES))}")
        return str(proposal["value"])

    @traitlets.validate("query")
    @while_open
    def _valid_query(self, proposal: Any) -> str:
        if proposal["value"] not in self._open.questions["query"]:
            raise InputError(f"no question {excerpt(proposal['value'])} in this view: it shows those that are judged")
        return str(proposal["value"])

    @property
    def is_closed(self) -> bool:
        """Whether `close` was called: such a view still takes values of its traits, from a link, and does nothing."""
        return self._questions is None

    @property
    def _open(self) -> RetrievalQuestions:
        if self._questions is None:
            raise InputError("this view is closed: retrieval.explore() makes another one")
        return self._questions

    def close(self) -> None:
        """Take the view out of its pages, and let go of the runs that it holds."""
        super().close()
        if self._questions is not None:
            self._questions.close()
        self._questions = None

    def _answer(self, _widget: Any, message: Any, _buffers: Any) -> None:
        """Answer one question of the page, or say why not."""
        if not isinstance(message, dict) or "id" not in message:
            return
        for content, buffers in answered(message, lambda asked: self._open.reply(asked)):
            self.send(content, buffers)

    def to_html(
        self,
        path: str | Path | None = None,
        *,
        contrasts: int = CONTRASTS,
        live: bool = False,
        hosted: bool = False,
        force: bool = False,
        progress: bool = True,
    ) -> str | Path:
        """The view as one page that needs no kernel and no network: its text, or `path`, where it was written.

        contrasts: how many questions it carries the case of, the first of the list and the one that is open: about
        three seconds each; of others the page says that they need Python. progress: a bar once it has taken two
        seconds.
        live: the page carries the model, the passages and their vectors too, and ranks what is typed into it, contrasts
        any of its passages and takes words out; heads need Python. hosted: `path` is a folder, made if it is not there,
        in which index.html and the weights are two files for a web server; force: over such files that are not of
        bertlens, too.
        Raises ExportError past 20 MB (without the model), where a page cannot run the model or has no room for the
        passages, and where a file cannot be made; InputError for contrasts below 0, and for hosted without live.
        """
        contrasts = check_number(contrasts, "contrasts is of how many questions a page carries the case,", 0)
        if hosted and (not live or path is None):
            raise InputError("hosted=True is a folder for a page that carries its model: give live=True and the folder")
        if hosted:
            as_path(path).mkdir(parents=True, exist_ok=True)
            html.check_folder(as_path(path), force)
        questions = self._open.questions["query"]
        # before what takes long
        pairs = {name: self._open.pair(name) for name in questions if live}
        model = search_engine(self._open.retrieval, pairs, hosted) if live else None
        text = self._page(contrasts, progress, model, hosted)
        if hosted and model is not None and path is not None:
            return html.with_model_beside(text, model, path)
        return text_or_path(html.with_model(text, model), path)

    def page(self, above: str, below: str, contrasts: int) -> str:
        """The text of a page of the view, see `to_html`. Raises ExportError past 20 MB.

        above: HTML that stands before the view. below: HTML behind it. contrasts: how many cases the page has.
        """
        return self._page(contrasts, True, above=above, below=below)

    def _page(self, contrasts: int, progress: bool, model: Any = None, hosted: bool = False, **around: str) -> str:
        retrieval = self._open.retrieval
        lens, size = retrieval.lens, retrieval.collection
        with page_bar(progress) as bar:
            answers = {html.question_name(question): fields for question, fields in self._answers(contrasts, bar)}
        facts = [amount(len(size.queries), "question"), amount(len(size.passages), "passage"), f"cases of {contrasts}"]
        versions = [f"{name} {number}" for name, number in made_with()["versions"].items()]
        footer = " · ".join([visible(lens.model_name), *facts, *versions, made_with()["date"]])
        state = {"query": self.query, "theme": self.theme}
        title = f"{visible(lens.model_name)}: why is the wrong passage first?"
        origin = pages.origin(lens.model_name, PASSAGES, model.licence if model else "")
        return html.search_page(title, footer, state, answers, origin, model, hosted, **around)

    def _rights(self, page: Mapping[str, Any]) -> tuple[Any, str, bool]:
        return self._open.retrieval.lens, PASSAGES, bool(page.get("live"))

    def _answers(self, contrasts: int, bar: Progress) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
        """What the page is asked, with its answers: of a case its texts, words, heads, and the word without which the
        order is nearest to turning."""
        names = self._open.questions["query"]
        queries = [*dict.fromkeys([self.query, *names])][:contrasts]
        bar.total = 2 + len(queries)
        for name in ("search", "search_tables"):
            yield {"op": name}, self._reply({"op": name})
            bar.update()
        for work in self._open.held:
            message = {"op": "search_work", "work": work}
            yield message, self._reply(message)
        for query in queries:
            case: dict[str, Any] = {"query": query, "wrong": None, "right": None, "texts": None}
            questions = [case | {"op": name} for name in ("search_case", "search_words", "search_heads")]
            replies = {question["op"]: self._reply(question) for question in questions}
            for question in questions:
                yield question, replies[question["op"]]
            strip: Any = replies["search_words"]
            named = best_tried(strip) if "rows" in strip else replies["search_case"].get("named")
            if named:
                question = case | {
                    "op": "search_without",
                    "side": "wrong",
                    "word": named,
                    "how": HIDDEN,
                    "draws": DRAWS,
                }
                yield question, self._reply(question)
            bar.update()
        self._open.forget()

    def _reply(self, question: dict[str, Any]) -> dict[str, Any]:
        """The answer, or the sentence that stands in its place."""
        try:
            return self._open.full_answer(question)
        except BertLensError as error:
            return {"error": str(error)}

    def _repr_mimebundle_(self, **kwargs: Any) -> tuple[dict[str, Any], dict[str, Any]] | None:
        """The live widget, which goes when its cell runs again."""
        mimebundle = super()._repr_mimebundle_(**kwargs)
        if mimebundle is not None:
            CELLS.shows(self)
        return mimebundle
