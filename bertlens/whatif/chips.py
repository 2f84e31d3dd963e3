"""Changes as a page names them: read from its messages, and told as chips.

A page names a change that it was told of by its number among those known, and a new one as a list: what is done, and
to which part. Nothing else can be asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ..base.limits import PATCH_TEXT_CHARACTERS
from ..base.quotes import quotation
from ..base.vocabulary import phrases
from ..errors import InputError
from ..run.changes import Change, Cut, Dim, Hide, Mean, Mlp, Neuron, Off, Patch, Pattern, Scale, short
from ..trace.trace import Trace
from .change_kinds import patch

MOST = 100  # changes of one run


# What a page may ask for by a word and numbers -> the change, and which of its fields the numbers are
KINDS: dict[str, tuple[Any, tuple[str, ...]]] = {
    "off": (Off, ("layer", "head")),
    "scale": (Scale, ("layer", "head", "factor")),
    "mean": (Mean, ("layer", "head")),
    "uniform": (Pattern, ("layer", "head")),
    "cut": (Cut, ("layer", "head", "query", "key")),
    "hide": (Hide, ("token",)),
    "dim": (Dim, ("token", "factor")),
    "neuron": (Neuron, ("layer", "head", "n")),
    "mlp": (Mlp, ("layer",)),
}


def read(trace: Trace, known: Sequence[Change], asked: Any) -> list[Change]:
    """The changes of a message: numbers of `known`, or lists such as ["off", 3, 5]. Raises InputError."""
    if not isinstance(asked, list) or len(asked) > MOST:
        raise InputError(f"the page asked for something else than a list of at most {MOST} changes")
    return [_read(trace, known, spec) for spec in asked]


def _read(trace: Trace, known: Sequence[Change], one: Any) -> Change:
    if type(one) is int and 0 <= one < len(known):
        return known[one]
    if isinstance(one, list) and one and one[0] == "patch":
        return _patch(trace, *one[1:])
    if isinstance(one, list) and one and isinstance(one[0], str) and one[0] in KINDS:
        (kind, fields), numbers = KINDS[one[0]], one[1:]
        fewest = 1 if kind is Off else len(fields)
        types = ((int, float) if field == "factor" else (int, type(None)) for field in fields[: len(numbers)])
        if fewest <= len(numbers) <= len(fields) and all(type(n) in of for n, of in zip(numbers, types, strict=True)):
            return kind(*numbers, *(["uniform"] if one[0] == "uniform" else []))
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
    "scale": [layer, head or None, factor] or None, "code": the Python that makes it, "" where it takes more than
    numbers}."""
    return [
        {
            "id": known.index(change),
            "label": label(change, trace.display_tokens),
            "about": str(change),
            "off": [change.layer, change.head] if isinstance(change, Off) else None,
            "scale": [change.layer, change.head, change.factor] if isinstance(change, Scale) else None,
            "code": code(change),
        }
        for change in trace.changes
    ]


def label(change: Change, tokens: Sequence[str]) -> str:
    """A change in a few words, heads and tokens named as the page names them."""
    if isinstance(change, Off):
        return phrases.LAYER_OFF_CHIP.format(layer=change.layer) if change.head is None else f"{_named(change)} off"
    if isinstance(change, Scale):
        name = phrases.LAYER_SCALED_CHIP if change.head is None else f"{_named(change)} at {{factor}}"
        return name.format(layer=change.layer, factor=short(change.factor))
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
    if isinstance(change, Dim):
        return f"{_token(tokens, change.token)} at {short(change.factor)}"
    if isinstance(change, Neuron):
        return f"neuron {change.n} of {_named(change)} off"
    if isinstance(change, Mlp) and change.neuron is None:
        return f"MLP of L{change.layer} off"
    if isinstance(change, Patch):
        component = {"layer": "output", "attention": "attention", "mlp": "MLP"}[change.what]
        source = _token(change.other.display_tokens, change.source)
        return f"{component} of L{change.layer} at {_token(tokens, change.token)} from {source} of the other text"
    return str(change)


def _named(change: Any) -> str:
    return f"L{change.layer}·H{change.head}"


def _token(tokens: Sequence[str], n: int) -> str:
    """A token, and its place where it is there more than once."""
    return quotation(tokens[n]) + (f" ({n})" if tokens.count(tokens[n]) > 1 else "")


def asked(change: Change) -> list[Any] | None:
    """A change as a page asks for it, such as ["off", 4, 9]; None of one that takes more than numbers."""
    odd = isinstance(change, Cut) and not change.renormalize
    odd = odd or (isinstance(change, Pattern) and not change.uniform)
    odd = odd or (isinstance(change, Mlp) and change.neuron is not None)
    for word, (kind, fields) in KINDS.items():
        if type(change) is kind and not odd:
            numbers = [getattr(change, field) for field in fields]
            numbers = [int(n) if isinstance(n, float) and n.is_integer() else n for n in numbers]
            return [word, *(numbers[:1] if word == "off" and numbers[1] is None else numbers)]
    return None


def code(change: Change) -> str:
    """The line of Python that makes a change, "" where it takes more than numbers."""
    suffix = ""
    if isinstance(change, Cut) and not change.renormalize:
        change, suffix = replace(change, renormalize=True), ", renormalize=False"
    elif isinstance(change, Mlp) and change.neuron is not None:
        change, suffix = Mlp(change.layer), f", {change.neuron}"
    elif isinstance(change, Pattern):
        suffix = ', "uniform"'
    if (numbers := asked(change)) is None:
        return ""
    word = "pattern" if isinstance(change, Pattern) else numbers[0]
    return f"whatif.{word}({', '.join(map(str, numbers[1:]))}{suffix})"
