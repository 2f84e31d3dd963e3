"""The parts that a widget is put together from, among them the Explorer's tabs: what each is called, needs and asks.

A new tab is one record, added here or by `register_tab`. Its body on the page is bound in js/src/tabs/tabs.ts; a tab
without one there is drawn as a sheet of what its first question answers (see `sheet`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..base.vocabulary import Word
from ..errors import InputError
from .messages.records import Answer
from .questions import QUESTIONS, check_needs


@dataclass(frozen=True)
class WidgetPart:
    """A part of a widget that is no tab, and the questions that it asks."""

    name: str
    questions: tuple[str, ...] = ()


@dataclass(frozen=True)
class Tab(Word):
    """A tab: what it needs, as a Question does ("" for nothing), and the questions that it asks."""

    needs: str = ""
    questions: tuple[str, ...] = ()


PARTS: dict[str, WidgetPart] = {
    entry.name: entry
    for entry in (
        WidgetPart(
            "header",
            (
                *("hello", "bundle", "trace", "change", "answers", "find_target"),
                *(
                    "heads_that_matter",
                    "loudness",
                    "head_sets",
                    "shares",
                    "cloze",
                    "hidden_words",
                    "unrelated",
                    "html",
                    "live_cost",
                    "handout",
                    "lesson_model",
                    "second_run",
                ),
            ),
        ),
        WidgetPart("atlas", ("pictures", "gates", "thumbs", "statistics", "rows", "moved", "matters", "matters_exact")),
        WidgetPart("examples", ("task", "task_table", "task_open", "task_work", "task_cost", "task_stop")),
        WidgetPart("head", ("overview", "head", "norms", "layer_map", "pdf")),
    )
}

TABS: dict[str, Tab] = {}


def register_tab(tab: Tab) -> None:
    """Give the Explorer one more tab, the last one; those of one name replace each other.

    Raises InputError for what is no tab, or names a question or a capability that does not exist.
    """
    if not isinstance(tab, Tab):
        raise InputError(f"a Tab is registered, not {type(tab).__name__}")
    if not all(isinstance(word, str) for word in (tab.name, tab.label, tab.about)) or not tab.name or tab.name in PARTS:
        raise InputError(f"a tab has a name, a label and a sentence of its own, not {tab.name!r}, {tab.label!r}")
    check_needs(f"tab {tab.name!r}", tab.needs)
    if not isinstance(tab.questions, tuple) or not set(tab.questions) <= QUESTIONS.keys():
        raise InputError(
            f"tab {tab.name!r}: questions is a tuple of registered ones, not {tab.questions!r}: register_question first"
        )
    TABS[tab.name] = tab


for _tab in (
    Tab("neurons", "Neurons", "How this weight is computed.", "neurons", ("head",)),
    Tab("why", "Why", "Where the score came from.", "sources", ("why", "why_pairs", "score_maps")),
    Tab(
        "matter",
        "Does it matter?",
        "What the model answers without it.",
        "whatif",
        ("cell_matters", "each_matters", "which_words", "faithful"),
    ),
    Tab(
        "similarity",
        "Similarity",
        "Why two texts are similar.",
        "similarity",
        ("similar", "similar_without", "similar_input", "similar_layers", "similar_baseline", "similar_pdf"),
    ),
    Tab("norms", "Weight against norm", "What is looked at, and what is passed on.", "norms", ("norm_view", "norms")),
    Tab("gates", "Gates", "What kind of head this is.", "gates", ("gates", "evidence")),
    Tab(
        "geometry",
        "Geometry",
        "What the layer does to the stream.",
        "geometry",
        ("geometry", "stream", "histograms", "spectra"),
    ),
    Tab(
        "compare",
        "Compare",
        "Where two runs differ.",
        "another run",
        ("thumbs", "compared_with", "compared_heads", "compared", "compared_answers"),
    ),
    Tab("task", "Task", "What it is good for, and where it is wrong.", "task", PARTS["examples"].questions),
    Tab("survey", "Corpus", "Does it hold elsewhere?", "corpus", ("survey",)),
    Tab("table", "Table", "The numbers.", questions=("survey_texts",)),
):
    _there = tuple(name for name in _tab.questions if name in QUESTIONS)  # without those of rooms that were taken out
    if _there or not _tab.needs:
        register_tab(replace(_tab, questions=_there))


def sheet(*sections: tuple[str, str, Any]) -> Answer:
    """The answer to the question of a tab that the page draws by itself: sections of (title, remark, content).

    content: a map as {"values": (R, C) numbers, "rows": R labels, "cols": C labels}, drawn as a heat map (signed
    colours where there are negative values), or a table as {"head": labels, "rows": rows of text and numbers}.
    """
    fields: list[dict[str, Any]] = []
    arrays: dict[str, Any] = {}
    for number, (title, remark, content) in enumerate(sections):
        section = {"title": title, "remark": remark}
        if "values" in content:
            import numpy as np

            values = np.asarray(content["values"], dtype=np.float32)
            arrays[f"values{number}"] = values
            fields.append(section | {"rows": list(content["rows"]), "cols": list(content["cols"])})
        else:
            fields.append(section | {"table": {"head": list(content["head"]), "rows": _listed(content["rows"])}})
    return {"sections": fields}, arrays


def _listed(rows: Sequence[Sequence[Any]]) -> list[list[Any]]:
    return [list(row) for row in rows]
