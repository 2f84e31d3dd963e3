"""What the page is told and may ask of changes: the changes as chips, the answer before and after, which heads matter.

A page names a change that it was told of by its number among those known, and a new one as a list: what is done, and
to which part. Nothing else can be asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import torch
from torch import Tensor

from ...base.limits import PATCH_TEXT_CHARACTERS
from ...errors import BertLensError, InputError
from ...measures.predictions import is_lone, labels_of, masked
from ...measures.rows import Here, head_groups
from ...run.changes import Change, Cut, Hide, Mean, Mlp, Neuron, Off, Patch, Pattern
from ...trace.trace import Trace
from ...vocabulary import SETTINGS, phrases
from ...vocabulary.constants import ANSWERS, CHOICES
from ...whatif import answering as asking
from ...whatif import movement
from ...whatif.changes import patch
from ...whatif.targets import name_of, named_by, numbers_at, target_of
from ..slices import PATIENCE, ask_again, in_steps
from . import Answer

if TYPE_CHECKING:
    from ..saving import Selection

MOST = 100  # changes of one run
MOST_LABELS = 1000


def _uniform(layer: int, head: int) -> Change:
    return Pattern(layer, head, "uniform")


# what a page may ask for: the least and the most numbers that follow, and what makes the change
MAKERS: dict[str, tuple[int, int, Callable[..., Change]]] = {
    "off": (1, 2, Off),
    "mean": (2, 2, Mean),
    "uniform": (2, 2, _uniform),
    "cut": (4, 4, Cut),
    "hide": (1, 1, Hide),
    "neuron": (3, 3, Neuron),
    "mlp": (1, 1, Mlp),
}


def read(trace: Trace, known: Sequence[Change], asked: Any) -> list[Change]:
    """The changes of a message: numbers of `known`, or lists such as ["off", 3, 5]. Raises InputError."""
    if not isinstance(asked, list) or len(asked) > MOST:
        raise InputError(f"the page asked for something else than a list of at most {MOST} changes")
    return [_read(trace, known, one) for one in asked]


def _read(trace: Trace, known: Sequence[Change], one: Any) -> Change:
    if type(one) is int and 0 <= one < len(known):
        return known[one]
    if isinstance(one, list) and one and one[0] == "patch":
        return _patch(trace, *one[1:])
    if isinstance(one, list) and one and isinstance(one[0], str) and one[0] in MAKERS:
        least, most, make = MAKERS[one[0]]
        numbers = one[1:]
        if least <= len(numbers) <= most and all(n is None or type(n) is int for n in numbers):
            return make(*numbers)
    raise InputError("the page asked for a change that this version of bertlens does not know")


def _patch(trace: Trace, *given: Any) -> Change:
    """["patch", layer, token, what, other text, other token or null]."""
    if len(given) != 5 or not isinstance(given[3], str) or not isinstance(given[2], str):
        raise InputError("a patch takes from another text: write it")
    layer, token, what, text, other_token = given
    if trace.lens is None:
        raise InputError("this trace has no lens to run the other text with: use trace.rerun(whatif.patch(...))")
    if not text.strip() or len(text) > PATCH_TEXT_CHARACTERS:
        raise InputError(f"the other text has at least one word, and at most {PATCH_TEXT_CHARACTERS:,} characters")
    return patch(layer, token, trace.lens.trace(text), other_token, what)


def chips(trace: Trace, known: Sequence[Change]) -> list[dict[str, Any]]:
    """The changes of a run for the bar: {"id" in `known`, "label", "about", "off": [layer, head or None] or None,
    "code": the Python that makes it, "" where it takes more than numbers}."""
    return [
        {
            "id": known.index(change),
            "label": label(change, trace.display_tokens),
            "about": str(change),
            "off": [change.layer, change.head] if isinstance(change, Off) else None,
            "code": code(change),
        }
        for change in trace.changes
    ]


def label(change: Change, tokens: Sequence[str]) -> str:
    """A change in a few words, heads and tokens named as the page names them."""
    if isinstance(change, Off):
        return phrases.LAYER_OFF_CHIP.format(layer=change.layer) if change.head is None else f"{_named(change)} off"
    if isinstance(change, Mean):
        return f"{_named(change)} says the same to all"
    if isinstance(change, Pattern):
        return f"{_named(change)} looks {'at all alike' if change.uniform else 'as given'}"
    if isinstance(change, Cut):
        where = f"L{change.layer}" if change.head is None else _named(change)
        ends = ["any" if n is None else _token(tokens, n) for n in (change.query, change.key)]
        cut = phrases.CUT_CHIP.format(heads=where, query=ends[0], key=ends[1])
        return cut if change.renormalize else f"{cut}, rest as it was"
    if isinstance(change, Hide):
        return f"{_token(tokens, change.token)} hidden"
    if isinstance(change, Neuron):
        return f"neuron {change.n} of {_named(change)} off"
    if isinstance(change, Mlp) and change.neuron is None:
        return f"MLP of L{change.layer} off"
    if isinstance(change, Patch):
        part = {"layer": "output", "attention": "attention", "mlp": "MLP"}[change.what]
        source = _token(change.other.display_tokens, change.source)
        return f"{part} of L{change.layer} at {_token(tokens, change.token)} from {source} of the other text"
    return str(change)


def _named(change: Any) -> str:
    return f"L{change.layer}·H{change.head}"


def _token(tokens: Sequence[str], n: int) -> str:
    """A token, and its place where it is there more than once."""
    return f"“{tokens[n]}”" + (f" ({n})" if tokens.count(tokens[n]) > 1 else "")


def code(change: Change) -> str:
    """The line of Python that makes a change, "" where it takes more than numbers."""
    if isinstance(change, Off):
        return f"whatif.off({change.layer})" if change.head is None else f"whatif.off({change.layer}, {change.head})"
    if isinstance(change, Mean):
        return f"whatif.mean({change.layer}, {change.head})"
    if isinstance(change, Pattern) and change.uniform:
        return f'whatif.pattern({change.layer}, {change.head}, "uniform")'
    if isinstance(change, Cut):
        rest = "" if change.renormalize else ", renormalize=False"
        return f"whatif.cut({change.layer}, {change.head}, {change.query}, {change.key}{rest})"
    if isinstance(change, Hide):
        return f"whatif.hide({change.token})"
    if isinstance(change, Neuron):
        return f"whatif.neuron({change.layer}, {change.head}, {change.n})"
    if isinstance(change, Mlp):
        return (
            f"whatif.mlp({change.layer})" if change.neuron is None else f"whatif.mlp({change.layer}, {change.neuron})"
        )
    return ""


def asked_target(target: str, target_at: int) -> tuple[str | None, int | None]:
    """A target as a page has it ("": the model's first answer; -1: no place chosen) as Python has it."""
    return target or None, None if target_at < 0 or not target else target_at


def find_target(trace: Trace, text: str) -> Answer:
    """The name of the label or word that a reader typed. Raises InputError with what is near it."""
    return {"name": named_by(trace, text)}, {}


def answers(trace: Trace, target: str = "", target_at: int = -1) -> Answer:
    """The answer before and after, and what heads can be swept for; a reason where the model gives none.

    Fields: kind, unit, said (beside the number), rows as [position, name, before, after], that of the target first,
    metrics as [name, label, unit], why_not; choices: names that may be asked about, of words the likeliest; places:
    where, if there are several.
    Raises InputError or ModelError for a target that this run has not.
    """
    name, position = asked_target(target, target_at)
    if name is not None:
        target_of(trace, name, position)
    try:
        found = asking.answers(trace, ANSWERS, name, position)
        metrics = [[name, one.label, one.unit] for name, one in asking.asked(trace, name, position).items()]
    except BertLensError as error:
        nothing: dict[str, Any] = {name: [] for name in ("rows", "metrics", "choices", "places")}
        return {"kind": "", "unit": "", "said": "", **nothing, "why_not": str(error)}, {}
    rows = [[row.position, row.name, row.before, row.after] for row in found.rows]
    fields = {"kind": found.kind, "unit": found.unit, "said": found.said, "rows": rows, "metrics": metrics}
    fields |= {"why_not": ""}
    return fields | _choices(trace, found.kind), {}


def _choices(trace: Trace, kind: str) -> dict[str, Any]:
    """What may be asked about, and the masks or tokens where, if there are several."""
    if kind == "words":
        places = masked(trace)
        _, [chances] = numbers_at(kind, trace, places[0], trace.original._record.output)
        names = [name_of(trace, kind, n) for n in chances.topk(min(CHOICES, len(chances))).indices.tolist()]
        return {"choices": names, "places": places if len(places) > 1 else []}
    if kind == "labels" and is_lone(trace):
        return {"choices": [], "places": []}
    places = (~trace.special_mask).nonzero()[:, 0].tolist() if kind == "tags" else []
    return {"choices": labels_of(trace)[:MOST_LABELS] if kind in ("labels", "tags") else [], "places": places}


def moved(trace: Trace, patience: float = PATIENCE) -> Answer:
    """Array (L, H): how much each head looks elsewhere, nats; NaN where it cannot differ.

    Where it takes longer than `patience` (s): "again", see slices.
    """
    made = in_steps(trace, "moved", _moved, patience)
    return ask_again() if made is None else ({}, {"moved": made})


def _moved(here: Here) -> Generator[None, None, Tensor]:
    layers = []
    for layer in range(here().n_layers):
        groups = []
        for heads in head_groups(here(), layer):
            groups.append(movement.of_heads(here(), layer, heads).float())
            yield
        layers.append(torch.cat(groups))
    return torch.stack(layers)


Sweep: TypeAlias = tuple[str, str, int]  # metric, target, where


def _swept(trace: Trace) -> dict[Sweep, dict[int, np.ndarray]]:
    """What was computed of a run, for a saved page: of each metric layer -> (H,), layer -1 the estimate (L, H)."""
    return trace.kept("swept heads", dict[Sweep, dict[int, np.ndarray]])


def matters(trace: Trace, metric: str, target: str = "", target_at: int = -1) -> Answer:
    """The first-order estimate of what each head's switching off changes: array (L, H), all NaN where there is none."""
    asked = asking.asked_of(trace, metric, *asked_target(target, target_at))
    kept = _swept(trace).setdefault((metric, target, target_at), {})
    if -1 not in kept:
        nothing = np.full((trace.n_layers, trace.n_heads), np.nan)
        kept[-1] = nothing if asked.estimated is None else asked.estimated().numpy()
    return {"metric": metric}, {"values": kept[-1].astype(np.float32)}


def matters_exact(trace: Trace, metric: str, layer: int, target: str = "", target_at: int = -1) -> Answer:
    """What switching off each head of a layer changes, each in a run of its own: array (H,)."""
    kept = _swept(trace).setdefault((metric, target, target_at), {})
    if layer not in kept:
        values = np.full(trace.n_heads, np.nan)
        for found in asking.asked_of(trace, metric, *asked_target(target, target_at)).exact([layer]):
            for (_, head), value in found:
                values[head] = value
        kept[layer] = values
    return {"metric": metric, "layer": layer}, {"values": kept[layer].astype(np.float32)}


def of_target(target: str, target_at: int) -> dict[str, Any]:
    """The arguments of a question about a target, as a page sends them: none for the model's first answer."""
    if not target:
        return {}
    return {"target": target} if target_at < 0 else {"target": target, "target_at": target_at}


def carried_target(trace: Trace, selection: Selection) -> Iterator[dict[str, Any]]:
    """The answers with the target that the view is set to, where this run has it."""
    target, target_at = (selection.settings.get(name, SETTINGS[name]) for name in ("target", "target_at"))
    try:
        if target:
            target_of(trace, target, asked_target(target, target_at)[1])
            yield of_target(target, target_at)
    except BertLensError:
        pass


def carried(trace: Trace, _layers: Iterable[int]) -> Iterator[dict[str, Any]]:
    """The estimates that were computed."""
    for (metric, target, target_at), kept in _swept(trace).items():
        if -1 in kept:
            yield {"metric": metric, **of_target(target, target_at)}


def carried_exact(trace: Trace, _layers: Iterable[int]) -> Iterator[dict[str, Any]]:
    """The layers that were swept, those of all heads: the picture is of all of them."""
    for (metric, target, target_at), kept in _swept(trace).items():
        sent = {"metric": metric, **of_target(target, target_at)}
        yield from (sent | {"layer": layer} for layer in sorted(kept) if layer >= 0)
