"""What a page without a kernel carries: the questions that its parts ask, and how many bytes, before any work."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import chain
from typing import TypeAlias

from ..base.wire import pack
from ..export import html
from ..export.deflate import deflated
from ..measures.offers import offers
from ..page import bundle
from ..trace.trace import Trace
from .answers import heads
from .questions import QUESTIONS, Message, Question, Reply, packed
from .selection import Picked
from .shown import Shown
from .tabs import PARTS, TABS

Step: TypeAlias = tuple[Message, Callable[[], Reply]]  # a question, and what answers it when the page is written


def carried(
    shown: Shown, parts: Sequence[str], layers: Sequence[int], chosen_map: str, picked: Picked
) -> Iterator[Step]:
    """What a page without a kernel is asked by its parts. `picked` is of the chosen map."""
    asked = [name for part in parts for name in (PARTS.get(part) or TABS[part]).questions]
    asked = list(dict.fromkeys(("head", "norms", *asked)))  # the selected head, by either measure, whatever the parts
    corpus, compared = shown.corpus, shown.compared
    for name, trace in shown.trace.maps.items():
        reasons = offers(trace)
        held = [layer for layer in layers if layer < trace.n_layers]
        if "survey" in parts and corpus is not None and not corpus.why_not(trace):
            yield {"op": "survey", "map": name}, partial(_packed, corpus.answer, trace)
            for layer in held if {"atlas", "table"} <= set(parts) else ():
                yield {"op": "survey_texts", "map": name, "layer": layer}, partial(_packed, corpus.texts, trace, layer)
        if "compare" in parts and compared is not None and name == chosen_map:
            yield {"op": "compared_heads", "map": name}, partial(_packed, compared.heads)
            for message in compared.carried(layers, picked):
                yield {"op": "compared", "map": name, **message}, partial(_packed, compared.maps, message)
        for question in (QUESTIONS[op] for op in asked):
            if question.needs and reasons[question.needs]:
                continue
            picks = question.carried_shown(trace, picked) if name == chosen_map else ()
            for arguments in chain(question.carried(trace, held), picks):
                yield {"op": question.name, "map": name, **arguments}, partial(_whole, question, trace, arguments)


def _whole(question: Question, trace: Trace, arguments: Message) -> Reply:
    """The answer as a page gets it that asks again until all of it is done."""
    while (reply := question.reply(trace, arguments))[0].get("again"):
        pass
    return reply


def _packed(answer: Callable[..., heads.Answer], *arguments: object) -> Reply:
    while (made := answer(*arguments))[0].get("again"):
        pass
    return packed(*made)


def check_size(shown: Shown, layers: Sequence[int]) -> None:
    """Raises ExportError where the layers alone pass the limit: known from shapes, before any of them is computed.

    Shapes say what a page holds at most. Only where that is past the limit a few heads are deflated to say how much is
    saved: the least of them refuses, the most names the layers that fit.
    """
    most = sum(_most_bytes(trace) for trace in shown.trace.maps.values())
    rest = _rest(shown)
    if most * len(layers) + rest <= html.LIMIT:
        return
    shares = [_share(trace, layers) for trace in shown.trace.maps.values()]
    least = int(most * min(low for low, _ in shares))
    if least * len(layers) > html.LIMIT:
        of_layer = int(most * max(high for _, high in shares))
        if least + rest <= html.LIMIT:  # one may fit
            of_layer = min(of_layer, html.LIMIT - rest)
        raise html.too_large(layers, of_layer * len(layers) + rest, of_layer)


def _rest(shown: Shown) -> int:
    """What every page of this text takes, about: the bundle and the first picture."""
    files = len(bundle.text("widget.js")) + len(bundle.text("widget.css"))
    return files + len(shown.overview["data"]) * 4 // 3


def _most_bytes(trace: Trace) -> int:
    """What a layer takes in a page where nothing deflates, by shapes alone: its heads, norms and stream, in base64."""
    tokens, keys = trace.n_tokens, len(trace.key_tokens)
    head = 2 * tokens * (trace.head_dim or 0) * 4 + tokens * 8 if trace.has_neurons else tokens * keys * 4
    stream = tokens * (2 * 4 + 8 * (4 + 4))
    return (trace.n_heads * (head + 4 * tokens) + stream) * 4 // 3


def _share(trace: Trace, layers: Sequence[int]) -> tuple[float, float]:
    """(least, most) of their bytes that three heads of these layers keep when they are deflated."""
    held = [layer for layer in layers if layer < trace.n_layers] or [0]
    found = []
    for layer, head in zip(
        (held[0], held[len(held) // 2], held[-1]), (0, trace.n_heads // 2, trace.n_heads - 1), strict=True
    ):
        index, blob = pack(heads.head(trace, layer, head)[1])
        found.append(len(deflated(blob, index)[0]) / len(blob))
    return min(found), max(found)
