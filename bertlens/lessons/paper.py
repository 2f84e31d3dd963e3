"""A lesson on paper: one file for print, a still picture and lines to write on for each step, solutions on pages of
their own.

What a step asks to predict is left white in its picture, as the view withholds it, and drawn with the solutions.
"""

from __future__ import annotations

import base64
import io
import re
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from ..base import colors
from ..base.atomic import replacing
from ..errors import BertLensError, InputError
from ..lens import Lens, embedded_named
from ..measures import norms
from ..measures.thumbnails import thumbnails
from ..trace.provenance import visible
from ..trace.trace import Trace
from .checking import checked, walked
from .states import trace_of
from .step import LessonPlan, Step

SECURITY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
CELL, LEFT, ABOVE = 15, 84, 78  # pixels: a cell, and room for words beside and above the map
MOST_WORDS = 40  # a side of a map; of longer texts the first
LONGEST = 12  # characters of a word
THUMB = 30
SCALE = 1.25  # of pictures on paper
LINES = {"read": 0, "predict": 1, "find": 1, "change": 1, "write": 5}
ASKS = {
    "key": "Your guess, a word:",
    "head": "Your guess, a head:",
    "number": "Your guess, a number:",
    "word": "Your guess, a word:",
}
MARKS = re.compile(r"\*\*([^*\n]+)\*\*|\*([^*\n]+)\*|`([^`\n]+)`")


def write(lesson: LessonPlan, path: str | Path, lens: Any, solutions: bool) -> Path:
    """See Lesson.to_paper."""
    if not lesson.steps:
        raise InputError("this lesson has no steps to print")
    page = page_of(lesson, lens or _own_lens(lesson), solutions)
    with replacing(path) as out:
        out.write(page.encode("utf-8", "replace"))
    return Path(path)


def _own_lens(lesson: LessonPlan) -> Lens:
    lens = embedded_named(lesson.model) if lesson.model else Lens.embedded()
    if lens is not None:
        return lens
    raise InputError(f"this lesson is of {lesson.model}: give a lens on it, lesson.to_paper(path, lens)")


def page_of(lesson: LessonPlan, lens: Any, solutions: bool) -> str:
    """The text of the page."""
    says = checked(lesson, lens)["says"].tolist()
    asked, answered = [], []
    for number, (one, state) in enumerate(walked(lesson), 1):
        trace = _trace(lens, state)
        title = f"<h2>{number}. {escape(one.title)}</h2>"
        asked.append(f"<section>{title}{_asked(one, state, trace)}</section>")
        if solution := _answered(one, state, trace, says[number - 1]):
            answered.append(f"<section>{title}{solution}</section>")
    style = Path(__file__).with_name("paper.css").read_text(encoding="utf-8")
    last = f'<div class="solutions"><h1>Solutions</h1>{"".join(answered)}</div>' if solutions and answered else ""
    return (
        f'<!doctype html><html lang="{escape(lesson.lang)}"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{SECURITY}">'
        f"<title>{escape(lesson.title)}</title><style>{style}</style></head><body>"
        f'<h1>{escape(lesson.title)}</h1><p class="about">{escape(visible(lens.model_name))} · layers and heads count '
        f"from 0: L1·H8 is layer 1, head 8. Where a step says click, write; a sentence of your own needs a screen.</p>"
        f'<p>Name:</p><div class="line"></div>{"".join(asked)}{last}</body></html>\n'
    )


def _trace(lens: Any, state: dict[str, Any]) -> Trace | None:
    try:
        return trace_of(lens, state) if state.get("text") else None
    except BertLensError as error:
        raise InputError(f"a step's text cannot be drawn: {error}") from error


def _asked(one: Step, state: dict[str, Any], trace: Trace | None) -> str:
    parts = [markdown(one.text, without=one.title)]
    if trace is not None and one.predict != "word":
        drawn = [] if one.predict in ("head", "number") else [head_svg(trace, state, withheld=one.predict == "key")]
        if one.predict == "head" or one.act == "find":
            drawn.append(atlas_svg(trace))
        parts.append(f'<div class="pictures">{"".join(drawn)}</div>' if drawn else "")
    if trace is not None:
        parts.append(f'<p class="about">{escape(name_of(state, trace))}</p>')
    if one.table and one.act != "predict":
        parts.append(_table(one.table))
    if one.check:
        parts.append(f"<p>What has to hold: <code>{escape(one.check)}</code></p>")
    if one.predict:
        parts.append(f"<p>{ASKS[one.predict]}</p>")
    return "".join(parts) + '<div class="line"></div>' * LINES[one.act]


def _answered(one: Step, state: dict[str, Any], trace: Trace | None, says: str) -> str:
    parts = [f"<p><b>{escape(says)}</b></p>"] if says and one.act != "read" else []
    if one.act == "write" and one.model:
        parts.append(markdown(one.model))
    if one.after:
        parts.append(markdown(one.after))
    if one.predict in ("key", "number") and trace is not None:
        parts.append(head_svg(trace, state))
    if one.table and one.act == "predict":
        parts.append(_table(one.table))
    return "".join(parts)


def name_of(state: dict[str, Any], trace: Trace) -> str:
    """A state in a line: the head, the row, what was changed, the text."""
    parts = [f"L{state.get('layer', 0)}·H{state.get('head', 0)}"]
    if state.get("measure", "weight") != "weight":
        parts.append(str(state["measure"]))
    if state.get("query") is not None:
        parts.append(f"row “{visible(trace.display_tokens[state['query']])}”")
    parts += [str(change) for change in trace.changes]
    return " · ".join([*parts, *(visible(text) for text in (trace.text, trace.text_pair) if text)])


def head_svg(trace: Trace, state: dict[str, Any], withheld: bool = False) -> str:
    """One head as a map with its words; the chosen row is marked, and white where it is withheld."""
    layer, head, query = state.get("layer", 0), state.get("head", 0), state.get("query")
    passed_on = state.get("measure", "weight") != "weight"
    whole = norms.weighted_norm(trace, layer) if passed_on else trace.attention(layer)
    values = whole[head].float().cpu().numpy()[:MOST_WORDS, :MOST_WORDS]
    rows, keys = (
        [_word(token) for token in side[:MOST_WORDS]] for side in (trace.display_tokens, trace.display_key_tokens)
    )
    shades = colors.table("weight", "light")
    top = float(np.nanmax(values, initial=0)) or 1.0
    parts = []
    for i, row in enumerate(values):
        for j, value in enumerate(row):
            if np.isfinite(value) and value / top > 0.02 and not (withheld and i == query):
                shade = shades[min(255, round(255 * float(value) / top))]
                place = f'x="{LEFT + j * CELL}" y="{ABOVE + i * CELL}"'
                parts.append(
                    f'<rect {place} width="{CELL}" height="{CELL}" fill="rgb({shade[0]},{shade[1]},{shade[2]})"/>'
                )
    width, height = CELL * values.shape[1], CELL * values.shape[0]
    for i, word in enumerate(rows):
        weight = ' font-weight="700"' if i == query else ""
        parts.append(f'<text x="{LEFT - 5}" y="{ABOVE + i * CELL + 11}" text-anchor="end"{weight}>{word}</text>')
    for j, word in enumerate(keys):
        x, y = LEFT + j * CELL + 11, ABOVE - 5
        parts.append(f'<text transform="translate({x} {y}) rotate(-90)">{word}</text>')
    frame = '<rect x="{}" y="{}" width="{}" height="{}" fill="none" stroke="{}"/>'
    parts.append(frame.format(LEFT, ABOVE, width, height, "#999"))
    if query is not None and query < len(rows):
        parts.append(frame.format(LEFT, ABOVE + query * CELL, width, CELL, "#111"))
    said = f"{'norm ‖αf(x)‖' if passed_on else 'weight'}: row looks, column is looked at, darkest {top:.2f}"
    return _figure(LEFT + width + 2, ABOVE + height + 2, parts, said)


def atlas_svg(trace: Trace) -> str:
    """All heads as small pictures, each to its own largest weight."""
    pictures = thumbnails(trace, size=15)[0].numpy()
    shades = np.asarray(colors.table("weight", "light"), dtype=np.uint8)
    step, parts = THUMB + 4, []
    for layer, heads in enumerate(pictures):
        parts.append(f'<text x="0" y="{22 + layer * step + 18}">L{layer}</text>')
        for head, picture in enumerate(heads):
            file = io.BytesIO()
            Image.fromarray(shades[picture]).save(file, "PNG", optimize=True)
            x, y = 24 + head * step, 22 + layer * step
            parts.append(
                f'<image x="{x}" y="{y}" width="{THUMB}" height="{THUMB}" style="image-rendering: pixelated" '
                f'href="data:image/png;base64,{base64.b64encode(file.getvalue()).decode()}"/>'
                f'<rect x="{x}" y="{y}" width="{THUMB}" height="{THUMB}" fill="none" stroke="#999"/>'
            )
    n_layers, n_heads = pictures.shape[:2]
    parts += [f'<text x="{24 + n * step + THUMB / 2}" y="14" text-anchor="middle">{n}</text>' for n in range(n_heads)]
    return _figure(24 + n_heads * step, 22 + n_layers * step, parts, "all heads: a row is a layer, a column a head")


def _figure(width: int, height: int, parts: list[str], said: str) -> str:
    size = f'width="{width * SCALE:.0f}" height="{height * SCALE:.0f}"'
    drawn = f'<svg {size} viewBox="0 0 {width} {height}">{"".join(parts)}</svg>'
    return f"<figure>{drawn}<figcaption>{escape(said)}</figcaption></figure>"


def _word(token: str) -> str:
    text = visible(token)
    return escape(text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…")


def _table(table: dict[str, Any]) -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in table["columns"])
    rows = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in table["rows"])
    return f"<table><tr>{head}</tr>{rows}</table>"


def markdown(text: str, without: str = "") -> str:
    """Markdown's simple part as in the view: paragraphs, lists, **bold**, *italic*, `code`; all else stays text.
    without: a first line that stands above already."""
    blocks = re.split(r"\n\s*\n", re.sub(r"(?m)^#+ (.*)$", r"\n# \1\n", text))
    made = []
    for n, block in enumerate(one for one in blocks if one.strip()):
        lines = block.strip().split("\n")
        if lines[0].startswith("# "):
            made.append("" if n == 0 and without else f"<h3>{_inline(lines[0][2:])}</h3>")
        elif all(line.startswith("- ") for line in lines):
            made.append(f"<ul>{''.join(f'<li>{_inline(line[2:])}</li>' for line in lines)}</ul>")
        else:
            made.append(f"<p>{_inline(' '.join(lines))}</p>")
    return "".join(made)


def _inline(text: str) -> str:
    parts, at = [], 0
    for found in MARKS.finditer(text):
        parts.append(escape(text[at : found.start()]))
        tag, inside = next((tag, part) for tag, part in zip(("b", "em", "code"), found.groups(), strict=True) if part)
        parts.append(f"<{tag}>{escape(inside)}</{tag}>")
        at = found.end()
    return "".join([*parts, escape(text[at:])])
