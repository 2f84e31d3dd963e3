"""The questions that a page may ask: an explicit table, every argument checked, nothing else reachable.

A new question is one record, added here or by `register_question`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from ..base.wire import json_safe, pack
from ..errors import InputError, ModelError
from ..measures.offers import check_capability
from ..trace.trace import Trace
from . import carried, rounding
from .answers import beside, heads, matter, pdf, score_maps, similar, survey, tasks, view, whatif, why, words
from .answers.thumbnails import layer_pictures_in_turn
from .arguments import ARGUMENTS

if TYPE_CHECKING:
    from .saving import Selection
    from .shown import Shown

Message: TypeAlias = dict[str, Any]
Reply: TypeAlias = tuple[dict[str, Any], list[bytes]]  # JSON fields, buffers

# What a view, not a trace, may have to offer; and what is said where it was made without.
OF_VIEWS = {
    "corpus": "this view was made without a survey: pass stats= of bl.survey.head_stats",
    "comparison": "this view shows one run: bl.compare(a, b).explore() compares two",
    "similarity": "this model makes no vectors of texts: bl.similarity takes an encoder",
    "task": "this view was made without labelled examples: pass task= of bl.task(lens, examples)",
    "another run": "this view was made from attention maps: it has no model to run another text with",
}


def packed(fields: dict[str, Any], arrays: dict[str, Any] | bytes) -> Reply:
    """An answer as it travels: fields as plain JSON, all arrays in one buffer; bytes as they are."""
    if isinstance(arrays, bytes):
        return json_safe(fields), [arrays]
    if not arrays:
        return json_safe(fields), []
    index, blob = pack(arrays)
    return {**json_safe(fields), "arrays": index}, [blob]


def check_needs(whose: str, needs: object) -> None:
    """Raises InputError where what a question or a tab needs is nothing that a trace or a view may have."""
    if needs not in (*OF_VIEWS,):
        check_capability(whose, needs)


@dataclass(frozen=True)
class Asked:
    """What a question is about: what the view shows, the maps of it that the page names, and how the view is set.

    show: lets the view show another trace.
    """

    shown: Shown
    map: str
    traits: Mapping[str, Any]
    show: Callable[[Trace], None]

    @property
    def trace(self) -> Trace:
        """The maps that the question is about."""
        return self.shown.map(self.map)


def _never(_subject: Any, _chosen: Any) -> Iterator[dict[str, Any]]:
    return iter(())


@dataclass(frozen=True)
class Question:
    """One question: its arguments, its answer, and what of it a page without a kernel holds.

    arguments: names in ARGUMENTS, with "?" those that may be missing.
    answer: (trace, **arguments) -> fields and arrays. needs: a capability of `offers`, or "". carried: (trace, layers)
    -> the arguments of each answer that such a page holds, for these layers. carried_shown: the same for what is too
    much for whole layers, (trace, Selection).
    of_view: these functions are given an Asked in place of the trace, and `needs` may be one of OF_VIEWS.
    saved: the answer as such a page holds it, where that is another function.
    any_text: it is about no text: it is answered whatever text the page shows.
    of_original: of a changed run it is answered for the run without the changes.
    """

    name: str
    answer: Callable[..., tuple[dict[str, Any], dict[str, Any] | bytes]]
    arguments: tuple[str, ...] = ()
    needs: str = ""
    carried: Callable[[Any, Iterable[int]], Iterator[dict[str, Any]]] = _never
    carried_shown: Callable[[Any, Selection], Iterator[dict[str, Any]]] = _never
    of_view: bool = False
    any_text: bool = False
    of_original: bool = False
    saved: Callable[..., tuple[dict[str, Any], dict[str, Any] | bytes]] | None = None

    def about(self, trace: Trace) -> Trace:
        """The maps that it is answered for, of those that the page shows."""
        return trace.original if self.of_original else trace

    def check(self, trace: Trace, message: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments of a message. Raises SelectionError or InputError for what does not exist."""
        named = (name.removesuffix("?") for name in self.arguments if not name.endswith("?") or name[:-1] in message)
        return {name: ARGUMENTS[name].check(trace, message.get(name)) for name in named}

    def reply(self, asked: Asked, message: Mapping[str, Any], saved: bool = False) -> Reply:
        """The answer to a message; saved: as a page without a kernel holds it.

        Raises ModelError where what is needed is not offered, with the reason.
        """
        reason = asked.shown.why_not(self.about(asked.trace), self.needs)
        if reason != "":
            raise ModelError(reason or OF_VIEWS[self.needs])
        answer = self.saved if saved and self.saved else self.answer
        return packed(*answer(self._subject(asked), **self.check(asked.trace, message)))

    def saved_answers(
        self, asked: Asked, layers: Iterable[int], selection: Selection | None
    ) -> Iterator[dict[str, Any]]:
        """The arguments of each answer that a page without a kernel holds. selection: where it is of these maps."""
        if asked.shown.why_not(self.about(asked.trace), self.needs) == "":
            yield from self.carried(self._subject(asked), layers)
            if selection is not None:
                yield from self.carried_shown(self._subject(asked), selection)

    def _subject(self, asked: Asked) -> Trace | Asked:
        return asked if self.of_view else self.about(asked.trace)


QUESTIONS: dict[str, Question] = {}
TARGET = ("target?", "target_at?")  # the answer that is asked about, where it is not the model's first


def register_question(question: Question) -> None:
    """Let pages ask one more question; those of one name replace each other.

    Raises InputError for what is no question, or names an argument or a capability that does not exist.
    """
    if not isinstance(question, Question):
        raise InputError(f"a Question is registered, not {type(question).__name__}")
    name, needs = question.name, question.needs
    if not isinstance(name, str) or not name:
        raise InputError(f"a question is named by a word, not by {name!r}")
    if not all(callable(part) for part in (question.answer, question.carried, question.carried_shown)):
        raise InputError(f"question {name!r}: answer, carried and carried_shown are functions")
    if not isinstance(question.arguments, tuple) or not {str(one).removesuffix("?") for one in question.arguments} <= {
        *ARGUMENTS
    }:
        raise InputError(f"question {name!r}: arguments is a tuple of some of {', '.join(ARGUMENTS)}")
    check_needs(f"question {name!r}", needs)
    QUESTIONS[question.name] = question


for _question in (
    Question("pictures", layer_pictures_in_turn, ("layer",)),
    Question("head", heads.head, ("layer", "head"), carried=carried.each_head, saved=rounding.saved_head),
    Question("norms", heads.layer_norms, ("layer",), "norms", carried.each_layer),
    Question("thumbs", heads.thumbnails, ("measure", "layer?"), "norms", carried.of_short(carried.measures)),
    Question("statistics", heads.head_statistics, ("by", "layer?"), carried=carried.of_short(carried.each_by)),
    Question("rows", heads.query_rows, ("query", "last")),
    Question(
        "layer_map", heads.layer_map, ("layer", "kind"), carried=carried.layer_maps, carried_shown=carried.shown_map
    ),
    Question(
        "gates", heads.gate_labels, ("threshold", "margin", "layer?"), "gates", carried.of_short(carried.default_gates)
    ),
    Question("evidence", heads.gate_evidence, ("layer", "head", "gate", "view"), "gates", carried.clearest),
    Question("norm_view", heads.norm_view, (), "norms", carried.of_short(carried.once)),
    Question("geometry", heads.layer_rows, (), "geometry", carried.of_short(carried.once)),
    Question("histograms", heads.histograms, ("layer", "head"), "neurons", carried.each_head),
    Question("stream", heads.stream, ("station", "method"), "geometry", carried.stations),
    Question("spectra", heads.layer_ranks, ("layer", "head?"), "spectra", carried.of_short(carried.each_layer)),
    Question(
        "why",
        why.why,
        ("layer", "head", "query", "key", "side", "against", "through_mlps"),
        "sources",
        carried_shown=why.carried,
        of_original=True,
    ),
    Question(
        "why_pairs",
        why.why_pairs,
        ("layer", "head", "query", "key"),
        "sources",
        carried_shown=why.carried_pairs,
        of_original=True,
    ),
    Question("answers", whatif.answers, TARGET, carried=carried.once, carried_shown=whatif.carried_target),
    Question("find_target", whatif.find_target, ("text",)),
    Question("moved", whatif.moved, (), carried=carried.if_changed),
    Question("matters", whatif.matters, ("metric", *TARGET), "whatif", carried=whatif.carried),
    Question(
        "matters_exact", whatif.matters_exact, ("metric", "layer", *TARGET), "whatif", carried=whatif.carried_exact
    ),
    Question("cell_matters", matter.cell_matters, ("layer", "head", "query", "key", *TARGET), "whatif"),
    Question("each_matters", matter.each_matters, TARGET, "whatif", carried.once, whatif.carried_target),
    Question("which_words", words.which_words, ("attribution", *TARGET), "whatif"),
    Question("faithful", words.faithful, ("attribution", *TARGET), "whatif"),
    Question(
        "score_maps",
        score_maps.score_maps_in_turn,
        ("layer", "head"),
        "sources",
        carried_shown=score_maps.carried_maps,
        of_original=True,
    ),
    Question("survey", survey.survey, (), "corpus", carried.once, of_view=True),
    Question("survey_texts", survey.survey_texts, ("layer",), "corpus", carried.each_layer, of_view=True),
    Question("compared_with", beside.compared_with, ("other",), "another run", of_view=True),
    Question(
        "compared_heads",
        beside.compared_heads,
        ("aligned?", "other?"),
        "another run",
        carried_shown=beside.saved_heads,
        of_view=True,
    ),
    Question(
        "compared",
        beside.compared,
        ("layer", "head", "measure", "row", "col", "aligned?", "other?"),
        "another run",
        carried_shown=beside.saved,
        of_view=True,
    ),
    Question(
        "compared_answers", beside.compared_answers, ("other?",), "another run", beside.saved_answers, of_view=True
    ),
    Question("similar", similar.similar, ("texts?",), "similarity", of_view=True),
    Question(
        "similar_without",
        similar.similar_without,
        ("texts?",),
        "similarity",
        carried_shown=similar.saved,
        of_view=True,
    ),
    Question(
        "similar_input",
        similar.similar_input,
        ("texts?",),
        "similarity",
        carried_shown=similar.saved_input,
        of_view=True,
    ),
    Question(
        "similar_layers",
        similar.similar_layers,
        ("texts?",),
        "similarity",
        carried_shown=similar.saved_layers,
        of_view=True,
    ),
    Question(
        "similar_baseline",
        similar.similar_baseline,
        ("texts?",),
        "similarity",
        similar.saved_baseline,
        of_view=True,
    ),
    Question("task", tasks.task, (), "task", carried.once, of_view=True, any_text=True),
    Question("task_table", tasks.task_table, (), "task", of_view=True, any_text=True),
    Question("task_open", tasks.task_open, ("row",), "task", of_view=True, any_text=True),
    Question(
        "task_work",
        tasks.task_work,
        ("work", "effect_of?", "ablation?"),
        "task",
        tasks.saved_work,
        of_view=True,
        any_text=True,
    ),
    Question("task_cost", tasks.task_cost, ("work", "ablation"), "task", of_view=True, any_text=True),
    Question("task_stop", tasks.task_stop, ("work",), "task", of_view=True, any_text=True),
    Question("hello", view.hello, of_view=True, any_text=True),
    Question("bundle", view.packed_bundle, of_view=True, any_text=True),
    Question("overview", view.overview, of_view=True),
    Question("trace", view.another_text, ("text", "text_pair?"), of_view=True, any_text=True),
    Question("pdf", pdf.pdf, ("sheet",), of_view=True),
    Question("similar_pdf", pdf.similar_pdf, ("split", "texts?"), "similarity", of_view=True),
    Question("change", view.changed_run, ("changes",), of_view=True),
    Question("lesson_model", view.lesson_model, of_view=True),
):
    register_question(_question)
