"""The questions that a page may ask: an explicit table, every argument checked, nothing else reachable.

A new question is one record, added here or by `register_question`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from ..base.registered import room
from ..errors import InputError, ModelError
from ..measures.offers import check_capability
from ..trace.trace import Trace
from . import rounding
from . import saved_arguments as saved
from .answers import (
    first_answer,
    gate_answers,
    loudness_curve,
    matter,
    score_maps,
    view_commands,
    whatif,
    which_words,
    why,
)
from .answers import head_answers as heads
from .answers import layer_answers as layers
from .answers.layer_pictures import layer_pictures_in_turn
from .messages.arguments import ARGUMENTS
from .messages.plain_question import PlainQuestion, packed
from .messages.records import Reply, Selection
from .panels import comparison_questions as comparison
from .panels.panel import NEEDS
from .request import Request


def check_needs(whose: str, needs: object) -> None:
    """Raises InputError where what a question or a tab needs is nothing that a trace or a view may have."""
    if needs not in (*NEEDS,):
        check_capability(whose, needs)


def _never(_subject: Any, _chosen: Any) -> Iterator[dict[str, Any]]:
    return iter(())


@dataclass(frozen=True)
class Question(PlainQuestion):
    """One question about a trace, and what of its answers a page without a kernel holds.

    needs: a capability of `offers`, or "". carried: (trace, layers) -> the arguments of each answer that such a page
    holds, for these layers. carried_shown: the same for what is too much for whole layers, (trace, Selection).
    of_view: these functions are given a Request in place of the trace, and `needs` may be one of a panel.
    saved: the answer as such a page holds it, where that is another function.
    any_text: it is about no text: it is answered whatever text the page shows.
    of_original: of a changed run it is answered for the run without the changes.
    remembered: how many of its latest answers such a page holds because a reader asked for them.
    """

    needs: str = ""
    carried: Callable[[Any, Iterable[int]], Iterator[dict[str, Any]]] = _never
    carried_shown: Callable[[Any, Selection], Iterator[dict[str, Any]]] = _never
    of_view: bool = False
    any_text: bool = False
    of_original: bool = False
    saved: Callable[..., tuple[Mapping[str, Any], Mapping[str, Any] | bytes]] | None = None
    remembered: int = 0

    def about(self, trace: Trace) -> Trace:
        """The maps that it is answered for, of those that the page shows."""
        return trace.original if self.of_original else trace

    def reply(self, request: Request, message: Mapping[str, Any], saved: bool = False) -> Reply:
        """The answer to a message; saved: as a page without a kernel holds it.

        Raises ModelError where what is needed is not offered, with the reason.
        """
        reason = request.view.why_not(self.about(request.trace), self.needs)
        if reason != "":
            raise ModelError(reason or NEEDS[self.needs].needs[self.needs])
        answer = self.saved if saved and self.saved else self.answer
        return packed(*answer(self._subject(request), **self.check(request.trace, message)))

    def saved_answers(
        self, request: Request, layers: Iterable[int], selection: Selection | None
    ) -> Iterator[dict[str, Any]]:
        """The arguments of each answer of layers in a page without a kernel. selection: where it is of these maps."""
        if request.view.why_not(self.about(request.trace), self.needs) == "":
            yield from self.carried(self._subject(request), layers)
            if selection is not None:
                yield from self.carried_shown(self._subject(request), selection)

    def _subject(self, request: Request) -> Trace | Request:
        return request if self.of_view else self.about(request.trace)


# Of rooms, which may be taken out, and their questions with them
corpus_panel = room("bertlens.survey.corpus_panel")
similarity_panel = room("bertlens.widgets.similarity.similarity_panel")
task = room("bertlens.tasks.view.task_panel")
pdf = room("bertlens.plots.page_pdf")

QUESTIONS: dict[str, Question] = {}
CELL = ("layer", "head", "query", "key")
TARGET = ("target?", "target_at?")  # the answer that is asked about, where it is not the model's first
LATEST = 64  # answers of a question that a reader asked
_of_reader = partial(Question, remembered=LATEST)
_of_scores = partial(Question, needs="sources", of_original=True)
_of_runs = partial(_of_reader, needs="another run", of_view=True)
_of_texts = partial(_of_reader, arguments=("texts?",), needs="similarity", of_view=True)
_of_page = partial(Question, of_view=True, any_text=True)
_of_examples = partial(_of_page, needs="task")


def register_question(question: Question) -> None:
    """Let pages ask one more question; those of one name replace each other.

    Raises InputError for what is no question, or names an argument or a capability that does not exist.
    """
    if not isinstance(question, Question):
        raise InputError(f"a Question is registered, not {type(question).__name__}")
    name, needs = question.name, question.needs
    if not isinstance(name, str) or not name:
        raise InputError(f"a question is named by a word, not by {name!r}")
    if not all(callable(function) for function in (question.answer, question.carried, question.carried_shown)):
        raise InputError(f"question {name!r}: answer, carried and carried_shown are functions")
    if not isinstance(question.arguments, tuple) or not {
        str(argument).removesuffix("?") for argument in question.arguments
    } <= {*ARGUMENTS}:
        raise InputError(f"question {name!r}: arguments is a tuple of some of {', '.join(ARGUMENTS)}")
    check_needs(f"question {name!r}", needs)
    QUESTIONS[question.name] = question


for _question in (
    Question("pictures", layer_pictures_in_turn, ("layer",)),
    Question("head", heads.head, ("layer", "head"), carried=saved.each_head, saved=rounding.saved_head),
    Question("norms", heads.layer_norms, ("layer",), "norms", saved.each_layer),
    Question("thumbs", heads.thumbnails, ("measure", "layer?"), "norms", saved.of_short(saved.measures)),
    Question("statistics", heads.head_statistics, ("by", "layer?"), carried=saved.of_short(saved.each_by)),
    Question("rows", heads.query_rows, ("query", "last")),
    Question("layer_map", heads.layer_map, ("layer", "kind"), carried=saved.layer_maps, carried_shown=saved.shown_map),
    _of_reader(
        "gates",
        gate_answers.gate_labels,
        ("threshold", "margin", "layer?"),
        "gates",
        saved.of_short(saved.default_gates),
    ),
    _of_reader("evidence", gate_answers.gate_evidence, ("layer", "head", "gate", "view"), "gates", saved.clearest),
    Question("norm_view", layers.norm_view, (), "norms", saved.of_short(saved.once)),
    Question("geometry", layers.layer_rows, (), "geometry", saved.of_short(saved.once)),
    Question("histograms", layers.histograms, ("layer", "head"), "neurons", saved.each_head),
    Question("stream", layers.stream, ("station",), "geometry", saved.stations),
    Question("spectra", layers.layer_ranks, ("layer", "head?"), "spectra", saved.of_short(saved.each_layer)),
    _of_scores("why", why.why, (*CELL, "side", "against", "through_mlps"), carried_shown=why.carried),
    _of_scores("why_pairs", why.why_pairs, CELL, carried_shown=why.carried_pairs),
    Question("answers", whatif.answers, TARGET, carried=saved.once, carried_shown=whatif.carried_target),
    Question("find_target", whatif.find_target, ("text",)),
    Question("moved", whatif.moved, (), carried=saved.if_changed),
    _of_reader("matters", whatif.matters, ("metric", *TARGET), "whatif", carried=whatif.carried),
    _of_reader(
        "matters_exact", whatif.matters_exact, ("metric", "layer", *TARGET), "whatif", carried=whatif.carried_exact
    ),
    _of_reader(
        "loudness",
        loudness_curve.loudness,
        ("layer", "head", *TARGET, "partners?"),
        "whatif",
        carried=loudness_curve.carried_sets,
        carried_shown=loudness_curve.carried,
    ),
    _of_reader("cell_matters", matter.cell_matters, (*CELL, *TARGET), "whatif"),
    _of_reader("each_matters", matter.each_matters, TARGET, "whatif", saved.once, whatif.carried_target),
    _of_reader(
        "heads_that_matter",
        first_answer.heads_that_matter,
        (*TARGET, "long?", "most?"),
        carried=first_answer.carried,
        carried_shown=first_answer.carried_with_target,
        saved=first_answer.saved_heads,
    ),
    _of_reader(
        "head_sets",
        first_answer.head_sets,
        TARGET,
        "whatif",
        carried=first_answer.carried_head_sets,
        saved=first_answer.saved_head_sets,
        of_original=True,
    ),
    Question("shares", first_answer.shares, (), carried=saved.of_short(saved.once)),
    _of_reader(
        "cloze",
        first_answer.cloze,
        (),
        carried=first_answer.carried_cloze,
        saved=first_answer.saved_cloze,
    ),
    _of_reader(
        "hidden_words",
        first_answer.hidden_words,
        (),
        "whatif",
        carried=first_answer.carried_hidden_words,
        saved=first_answer.saved_hidden_words,
        of_original=True,
    ),
    Question("unrelated", first_answer.unrelated, (), carried=first_answer.carried_unrelated, of_original=True),
    _of_reader("which_words", which_words.which_words, ("attribution", *TARGET), "whatif"),
    _of_reader("faithful", which_words.faithful, ("attribution", *TARGET), "whatif"),
    _of_scores("score_maps", score_maps.score_maps_in_turn, ("layer", "head"), carried_shown=score_maps.carried_maps),
    Question("survey", corpus_panel.survey, (), "corpus", saved.once, of_view=True),
    Question("survey_texts", corpus_panel.survey_texts, ("layer",), "corpus", saved.each_layer, of_view=True),
    _of_runs("compared_with", comparison.compared_with, ("other",), carried_shown=comparison.saved_with),
    _of_runs("compared_heads", comparison.compared_heads, ("aligned?", "other?"), carried_shown=comparison.saved_heads),
    _of_runs(
        "compared",
        comparison.compared,
        ("layer", "head", "measure", "row", "col", "aligned?", "other?"),
        carried_shown=comparison.saved,
        remembered=LATEST // 4,
    ),
    _of_runs("compared_answers", comparison.compared_answers, ("other?",), carried_shown=comparison.saved_answers),
    _of_texts("similar", similarity_panel.similar),
    _of_texts("similar_without", similarity_panel.similar_without, carried_shown=similarity_panel.saved),
    _of_texts("similar_input", similarity_panel.similar_input, carried_shown=similarity_panel.saved_input),
    _of_texts("similar_layers", similarity_panel.similar_layers, carried_shown=similarity_panel.saved_layers),
    _of_texts("similar_baseline", similarity_panel.similar_baseline, carried=similarity_panel.saved_baseline),
    _of_examples("task", task.task, carried=saved.once),
    _of_examples("task_table", task.task_table),
    _of_examples("task_open", task.task_open, ("row",)),
    _of_examples("task_work", task.task_work, ("work", "effect_of?", "ablation?"), carried=task.saved_work),
    _of_examples("task_cost", task.task_cost, ("work", "ablation")),
    _of_examples("task_stop", task.task_stop, ("work",)),
    _of_page("hello", view_commands.hello),
    _of_page("bundle", view_commands.packed_bundle),
    _of_page("trace", view_commands.another_text, ("text", "text_pair?")),
    Question("pdf", pdf.pdf, ("sheet",), of_view=True),
    _of_texts("similar_pdf", pdf.similar_pdf, arguments=("split", "texts?"), remembered=0),
    Question("change", view_commands.changed_run, ("changes",), of_view=True),
    Question("lesson_model", view_commands.lesson_model, of_view=True),
):
    if _question.answer is not None:
        register_question(_question)
