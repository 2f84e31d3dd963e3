"""A lesson on paper: one file for print, a still picture and lines to write on for each step, solutions on pages of
their own.

What a step asks to predict is left white in its picture, as the view withholds it, and drawn with the solutions.
"""

from __future__ import annotations

import base64
import io
import re
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from ..base.atomic import text_file
from ..base.quotes import quotation
from ..errors import BertLensError, InputError
from ..export import pages, still_picture
from ..lens import Lens, embedded_named
from ..measures import norms
from ..measures.thumbnails import thumbnails
from ..model import offline_model
from ..trace.provenance import visible
from ..trace.trace import Trace
from .checking import checked, walked
from .states import trace_of
from .step import LessonPlan, Step

Fields = dict[str, Any]  # what a template is rendered with
MOST_WORDS = 40  # a side of a map; of longer texts the first
ZOOM = 3  # pixels of a picture for each of a screen: paper shows more
SCALE = 1.25  # of pictures on paper
LINES = {"read": 0, "predict": 1, "find": 1, "change": 1, "write": 5}
ASKS = {
    "key": "Your guess, a word:",
    "head": "Your guess, a head:",
    "number": "Your guess, a number:",
    "word": "Your guess, a word:",
}
MARKS = re.compile(r"\*\*(?P<bold>[^*\n]+)\*\*|\*(?P<italic>[^*\n]+)\*|`(?P<code>[^`\n]+)`")


def write(lesson: LessonPlan, path: str | Path, lens: Any, solutions: bool) -> Path:
    """See Lesson.to_paper."""
    if not lesson.steps:
        raise InputError("this lesson has no steps to print")
    return text_file(page_of(lesson, lens or _own_lens(lesson), solutions), path)


def _own_lens(lesson: LessonPlan) -> Lens:
    if lens := embedded_named(lesson.model or offline_model.NAME):
        return lens
    raise InputError(f"this lesson is of {lesson.model}: give a lens on it, lesson.to_paper(path, lens)")


def page_of(lesson: LessonPlan, lens: Any, solutions: bool) -> str:
    """The text of the page."""
    verdicts = checked(lesson, lens)["says"].tolist()
    steps = [(step, state, _trace(lens, state)) for step, state in walked(lesson)]
    answers = [_answered(*step, verdict) for step, verdict in zip(steps, verdicts, strict=True)]
    return pages.render(
        "paper.jinja",
        title=lesson.title,
        lang=lesson.lang,
        model=lens.model_name,
        origin=pages.origin(lens.model_name),
        steps=[{"title": step.title, **_asked(step, state, trace)} for step, state, trace in steps],
        solutions=[
            {"title": step.title, "number": number, **answer}
            for number, ((step, *_), answer) in enumerate(zip(steps, answers, strict=True), 1)
            if solutions and any(answer.values())
        ],
    )


def _trace(lens: Any, state: dict[str, Any]) -> Trace | None:
    try:
        return trace_of(lens, state) if state.get("text") else None
    except BertLensError as error:
        raise InputError(f"a step's text cannot be drawn: {error}") from error


def _asked(step: Step, state: dict[str, Any], trace: Trace | None) -> Fields:
    """What paper.jinja shows of a step."""
    pictures = []
    if trace is not None and step.predict != "word":
        if step.predict not in ("head", "number"):
            pictures.append(head_picture(trace, state, withheld=step.predict == "key"))
        if step.predict == "head" or step.act == "find":
            pictures.append(atlas_picture(trace))
    return {
        "blocks": markdown(step.text, without=step.title),
        "pictures": pictures,
        "state": "" if trace is None else name_of(state, trace),
        "table": step.table if step.act != "predict" else None,
        "check": step.check,
        "asks": ASKS[step.predict] if step.predict else "",
        "lines": LINES[step.act],
    }


def _answered(step: Step, state: dict[str, Any], trace: Trace | None, verdict: str) -> Fields:
    """What it shows among the solutions."""
    is_drawn = step.predict in ("key", "number") and trace is not None
    return {
        "verdict": verdict if step.act != "read" else "",
        "blocks": [*markdown(step.model if step.act == "write" else ""), *markdown(step.after)],
        "pictures": [head_picture(trace, state)] if is_drawn and trace is not None else [],
        "table": step.table if step.act == "predict" else None,
    }


def name_of(state: dict[str, Any], trace: Trace) -> str:
    """A state in a line: the head, the row, what was changed, the text."""
    names = [f"L{state.get('layer', 0)}·H{state.get('head', 0)}"]
    if state.get("measure", "weight") != "weight":
        names.append(str(state["measure"]))
    if state.get("query") is not None:
        names.append(f"row {quotation(visible(trace.display_tokens[state['query']]))}")
    names += [str(change) for change in trace.changes]
    return " · ".join([*names, *(visible(text) for text in (trace.text, trace.text_pair) if text)])


def head_picture(trace: Trace, state: dict[str, Any], withheld: bool = False) -> Fields:
    """One head as a map with its words; the chosen row is marked, and white where it is withheld."""
    layer, head, query = state.get("layer", 0), state.get("head", 0), state.get("query")
    is_norm = state.get("measure", "weight") != "weight"
    weights = norms.weighted_norm(trace, layer) if is_norm else trace.attention(layer)
    values = weights[head].float().cpu().numpy()[:MOST_WORDS, :MOST_WORDS].copy()
    rows, keys = (list(tokens[:MOST_WORDS]) for tokens in (trace.display_tokens, trace.display_key_tokens))
    top = float(np.nanmax(values, initial=0)) or 1.0
    marked = query if query is not None and query < len(rows) else None
    if withheld and marked is not None:
        values[marked] = 0
    caption = f"{'norm ‖αf(x)‖' if is_norm else 'weight'}: row looks, column is looked at, darkest {top:.2f}"
    png = still_picture.matrix_png(values, rows, keys, top, marked, ZOOM)
    return _picture(png, caption, f"rows: {' '.join(map(visible, rows))}; columns: {' '.join(map(visible, keys))}")


def atlas_picture(trace: Trace) -> Fields:
    """All heads as small pictures, each to its own largest weight."""
    png = still_picture.atlas_png(thumbnails(trace, size=15)[0].numpy(), ZOOM)
    return _picture(png, "all heads: a row is a layer, a column a head", "all heads")


def _picture(png: bytes, caption: str, alternative: str) -> Fields:
    width = Image.open(io.BytesIO(png)).width
    return {
        "address": f"data:image/png;base64,{base64.b64encode(png).decode()}",
        "width": round(width / ZOOM * SCALE),
        "caption": caption,
        "alternative": alternative,
    }


def markdown(text: str, without: str = "") -> list[Fields]:
    """Markdown's simple part as in the view, by blocks: a heading, a list or a paragraph, of spans that are bold,
    italic, code or plain. without: a first line that stands above already."""
    texts = re.split(r"\n\s*\n", re.sub(r"(?m)^#+ (.*)$", r"\n# \1\n", text))
    blocks: list[Fields] = []
    for n, lines in enumerate(block.strip().split("\n") for block in texts if block.strip()):
        if lines[0].startswith("# "):
            blocks += [{"heading": _spans(lines[0][2:])}] if n or not without else []
        elif all(line.startswith("- ") for line in lines):
            blocks.append({"list": [_spans(line[2:]) for line in lines]})
        else:
            blocks.append({"paragraph": _spans(" ".join(lines))})
    return blocks


def _spans(line: str) -> list[dict[str, str]]:
    spans, at = [], 0
    for mark in MARKS.finditer(line):
        spans += [{"plain": line[at : mark.start()]}, {name: text for name, text in mark.groupdict().items() if text}]
        at = mark.end()
    return [*spans, {"plain": line[at:]}]
