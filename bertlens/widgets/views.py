"""The widgets: the Explorer with header, atlas, head view and the tabs below them, linked; and its parts alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..base.dataframes import pd
from ..base.registered import room
from ..base.vocabulary import PLACE
from ..comparison.runs import Comparison
from ..errors import InputError, check_indices
from ..measures.words import strongest_word
from ..sentences.late_interaction import LateSimilarity
from ..sentences.pair_similarity import similarity
from ..sentences.passages import TASKS
from ..sentences.text_similarity import Similarity
from ..trace.trace import Trace
from .first_head import opening
from .panels.comparison_panel import ComparisonPanel
from .panels.language_panel import LanguagePanel
from .panels.panel import Panel
from .tabs import TABS
from .widget import LensWidget

if TYPE_CHECKING:
    import numpy as np

    from ..sentences.ranking_table import Ranking
    from ..survey.headstats import HeadStats
    from ..survey.treebank import Sentence
    from ..tasks import Against, Errors, Heads, Task, TaskWords

LESSONS = "bertlens.lessons"
# Of rooms: a view of one that was taken out cannot be made
corpus = room("bertlens.survey.corpus_panel")
texts = room("bertlens.widgets.similarity.similarity_panel")
examples = room("bertlens.tasks.view.task_panel")


class Explorer(LensWidget):
    """All views of a trace, linked. With `stats` (and `distances`, `relations`, `sentence`) of a survey, a tab for the
    corpus too.

    Without `layer` and `head` it opens on the head that matters most to the model's answer: at first by an estimate,
    and once all heads have been run without each, on the largest of these, unless its reader has chosen another.
    Without `query` and `key` the row is pinned that matters in it, at the word that this row looks at most; of an
    encoder with one text it opens on the largest weight between two words, no neighbours, that the text's vector rests
    on more than evenly. Where there is none of these, and of a text of more than 128 tokens in the first layer, on the
    largest weight from .4 to .9 between two words; of more than 512 tokens on the first head. No tab is open unless
    `view` names one.

    task: of `bl.task(lens, examples)`, with the same lens: a tab of the examples, which a click runs in the view.

    language: of the trace's text, a tag such as "de", which its element has as `lang` in the page; or {text: tag}.
    Without it a text in a script of one language (Thai, Korean, Greek, …) has that.

    lesson: a bl.Lesson, its file or the name of a shipped one, whose steps stand beside the view; the page goes through
    them, `lesson_results` is what was done.

    Other arguments and errors as of LensWidget and SurveyView.
    """

    PARTS = ("header", "atlas", "head")

    def __init__(
        self,
        trace: Trace,
        *,
        stats: HeadStats | None = None,
        distances: np.ndarray | None = None,
        relations: pd.DataFrame | None = None,
        sentence: Sentence | None = None,
        task: Task | None = None,
        lesson: Any = None,
        language: str | Mapping[str, str] | None = None,
        **selection: Any,
    ) -> None:
        panels: list[Panel] = [] if task is None else [examples.TaskPanel(task)]
        if stats is not None:
            panels.append(corpus.CorpusPanel(stats, distances, relations, sentence))
        if language is not None:
            given = language if isinstance(language, Mapping) else dict.fromkeys(_texts(trace), language)
            panels.append(LanguagePanel(given))
        steps = {} if lesson is None else room(LESSONS).for_page(lesson)
        super().__init__(trace, panels=panels, **_opened(trace, selection))
        self.lesson = steps

    @property
    def lesson_results(self) -> pd.DataFrame:
        """What was done in the lesson beside the view, one row a step: DataFrame(step, act, guess, truth, right,
        hints, shown, skipped, written)."""
        return room(LESSONS).results(self.lesson_done)

    def _parts(self) -> tuple[str, ...]:
        """With all tabs, those registered since included."""
        return (*self.PARTS, *TABS)


class HeadAtlas(LensWidget):
    """The atlas alone; link `layer` and `head` to another view's with ipywidgets.jslink. Arguments: LensWidget."""

    PARTS = ("atlas",)


class HeadView(LensWidget):
    """One head as matrix or lines, several overlaid with `heads`. Arguments: LensWidget."""

    PARTS = ("head",)


class NeuronView(LensWidget):
    """The query and key neurons behind one token's attention: pin it with `query` and `key`. Arguments: LensWidget."""

    PARTS = ("neurons", "table")


class NormView(LensWidget):
    """Weight against norm of one head, shares per kind of token, mixing ratios. Arguments: LensWidget."""

    PARTS = ("norms",)


class GateView(LensWidget):
    """Gate scores of one head with their evidence, and gates per layer. Arguments: LensWidget."""

    PARTS = ("gates",)


class GeometryView(LensWidget):
    """Cone index through the layers, vector norms, ranks and symmetry. Arguments: LensWidget."""

    PARTS = ("geometry",)


class SurveyView(LensWidget):
    """A corpus's statistics beside one of its model's traces; its table and map choose heads.

    stats: HeadStats of `bl.survey.head_stats`. distances: (L·H, L·H) of `head_distances`, for the map. relations: the
    table of `relation_scores` or `best_heads`, for the best head per relation. sentence: a treebank's, for its gold
    arcs beside a head's, where the trace is `lens.trace_words(sentence.words)`. Other arguments: LensWidget. The same
    as a tab of the Explorer: trace.explore(stats=stats, distances=distances, relations=relations, sentence=sentence).
    Raises InputError for statistics of another model: of another shape, or of other weights.
    """

    PARTS = ("survey",)

    def __init__(
        self,
        trace: Trace,
        stats: HeadStats,
        distances: np.ndarray | None = None,
        relations: pd.DataFrame | None = None,
        sentence: Sentence | None = None,
        **selection: Any,
    ) -> None:
        super().__init__(trace, panels=[corpus.CorpusPanel(stats, distances, relations, sentence)], **selection)


class CompareView(LensWidget):
    """A | B | b − a of one head on one scale, the tokens of both aligned, every head by how far it is apart.

    comparison: of `bl.compare(a, b)`; `comparison.explore()` makes this view. query, key: rows of `comparison.tokens`
    (of the aligned keys, for maps between two texts), gaps included. Without `layer` and `head` it opens on the head
    that differs most, at the cell where it does; of texts of more than 128 tokens on the first head. layer, head: of a;
    where heads are not matched by index, b shows the one that looks most alike (`comparison.nearest`). Other arguments:
    LensWidget. Raises InputError for anything but a comparison, else as LensWidget.
    """

    PARTS = ("compare",)

    def __init__(self, comparison: Comparison, **selection: Any) -> None:
        if not isinstance(comparison, Comparison):
            raise InputError(f"a CompareView shows what bl.compare(a, b) gives, not {type(comparison).__name__}")
        panel = ComparisonPanel(comparison)
        super().__init__(comparison.a, panels=[panel], **panel.opened(selection))


class SimilarityView(LensWidget):
    """Why two texts are similar: the largest pairs of words, the matrix that sums to the number, and what is left of it
    without a word; of late interaction each token of the query with its best one of the passage.

    similarity: of `bl.similarity(lens, a, b)`; `similarity.explore()` makes this view. Both texts can be typed anew.
    settings: similar_by="pieces" rather than words. Other arguments: LensWidget, whose selection is of the run of a.
    Raises InputError for anything but a similarity, and for texts of more than 1,024 tokens.
    """

    PARTS = ("similarity",)

    def __init__(self, similarity: Similarity | LateSimilarity, **selection: Any) -> None:
        if not isinstance(similarity, Similarity | LateSimilarity):
            raise InputError(
                f"a SimilarityView shows what bl.similarity(lens, a, b) gives, not {type(similarity).__name__}"
            )
        panel, trace = texts.SimilarityPanel(similarity), similarity.traces[0]
        super().__init__(trace, panels=[panel], **_opened(trace, {"query": None} | selection))


class RankView(LensWidget):
    """Passages in their order for a query; a click on one shows why it has its score.

    ranking: of `bl.rank(lens, query, passages)`; `ranking.explore()` makes this view. Of an encoder it is the pairs of
    words of query and passage (SimilarityView), of a cross-encoder the run of both (Explorer). Other arguments:
    LensWidget, whose selection is of the run of the query, of a cross-encoder of that with the first passage.
    Raises InputError for anything but a ranking, and for texts of more than 1,024 tokens.
    """

    def __init__(self, ranking: Ranking, **selection: Any) -> None:
        from ..sentences.ranking_table import Ranking  # with pandas

        if not isinstance(ranking, Ranking):
            raise InputError(f"a RankView shows what bl.rank(lens, …) gives, not {type(ranking).__name__}")
        lens, query, best = ranking.lens, ranking.query_text, ranking["passage"].iloc[0]
        self._crosses = lens.sentences.crosses
        panels: list[Panel] = [texts.RankingPanel(ranking)]
        if self._crosses:
            trace = lens.trace(query, best)
        else:
            pair = texts.SimilarityPanel(similarity(lens, query, best, TASKS))
            panels, trace, selection = [pair, *panels], pair.similarity.traces[0], {"query": None} | selection
        super().__init__(trace, panels=panels, **_opened(trace, selection))

    def _parts(self) -> tuple[str, ...]:
        return (*Explorer.PARTS, *TABS) if self._crosses else SimilarityView.PARTS


class TaskView(LensWidget):
    """Labelled examples of a classifier: their table, scores, confusion, and the heads that the task needs. A click on
    an example runs it in the Explorer below.

    task: of `bl.task(lens, examples)`; `task.explore()` makes this view, which runs the model on all examples where
    that was not done yet. row: of the example that it opens on, without it the one with the largest loss.
    heads_found, errors_found, words_found: of `task.heads()`, `task.errors()`, `task.words()`; against: of
    `task.against(other_lens)`, for what changed from that model to this one; what is missing can be started, and
    stopped, in the view. A saved page has the runs of the ten examples with the largest loss. Other arguments:
    LensWidget. Raises InputError for anything but a task, and for a row that there is not.
    """

    PARTS = ("examples", *Explorer.PARTS)

    def __init__(
        self,
        task: Task,
        *,
        row: int | None = None,
        heads_found: Heads | None = None,
        errors_found: Errors | None = None,
        words_found: TaskWords | None = None,
        against: Against | None = None,
        **selection: Any,
    ) -> None:
        panel = examples.TaskPanel(task, heads_found, errors_found, against, words_found)
        trace = panel.open(panel.worst if row is None else row)
        super().__init__(trace, panels=[panel], **_opened(trace, {"truncation": task.truncation} | selection))

    def _parts(self) -> tuple[str, ...]:
        return (*self.PARTS, *(tab for tab in TABS if tab != "task"))


def _texts(trace: Any) -> list[str]:
    return [text for text in (getattr(trace, "text", None), getattr(trace, "text_pair", None)) if text]


def _opened(trace: Trace, selection: dict[str, Any]) -> dict[str, Any]:
    """A selection with the head to open on; what was given wins, and what is wrong with it is said by who checks it."""
    maps = trace.maps.get(selection.get("map", next(iter(trace.maps)))) if isinstance(trace, Trace) else None
    if maps is None or {"layer", "head"} & selection.keys():
        return selection
    included = {name: selection.get(f"include_{name}") for name in ("layers", "heads")}
    for name, size in (("layers", maps.n_layers), ("heads", maps.n_heads)):
        if included[name] is not None:
            included[name] = check_indices(included[name], size, f"include_{name}")
    opened: dict[str, Any] = opening(maps, **included)
    place = {name: opened[name] for name in ("layer", "head", "query")}
    if {"query", "key"} & selection.keys() or opened["query"] is None:
        del place["query"]
    elif opened["key"] != strongest_word(maps, **place):  # else it follows head and text
        place["key"] = opened["key"]
    if not {"query", "key"} & selection.keys():
        place["opened"] = dict.fromkeys(PLACE) | place
    return {**place, **selection}
