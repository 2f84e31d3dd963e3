"""States of a view as a lesson holds them: plain records of what differs from a view that was just opened."""

from __future__ import annotations

import json
import re
from typing import Any

from ..base.vocabulary import SETTINGS, TRAITS
from ..errors import InputError, excerpt
from ..run.changes import Change
from ..trace.trace import Trace
from ..whatif import chips

_OWN = ("text", "text_pair", "changes")
_CHOSEN = {
    trait.name: trait
    for trait in TRAITS
    if trait.selectable and trait.name not in ("opened", "settings", "theme", "truncation", "lesson_done", *_OWN)
}
_EMPTY: dict[str, Any] = {"heads": []}
NAMES = (*_OWN, *_CHOSEN, *SETTINGS)
MOST_CHARACTERS = 20_000
_NO_TEXT = re.compile(r"(?<!\\)(?:\\\\)*\\u0000|[\ud800-\udfff]")  # of JSON, where a backslash is two


def checked_state(state: Any) -> None:
    """Raises InputError for what is no state of a view, naming what one has."""
    if state is None:
        return
    if not isinstance(state, dict):
        raise InputError("a state is a dict such as {'text': 'The cat sat.', 'layer': 1, 'head': 8}")
    for name in state:
        if name not in NAMES:
            raise InputError(f"a state has no {excerpt(name)}: it has {', '.join(NAMES)}")
    try:
        text = json.dumps(state, allow_nan=False, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError("a state holds plain values only: numbers, texts, lists") from error
    if len(text) > MOST_CHARACTERS:
        raise InputError(f"a state has at most {MOST_CHARACTERS:,} characters")
    if _NO_TEXT.search(text):
        raise InputError("the texts of a state hold no NUL and no half character (lone surrogate)")
    for name in ("text", "text_pair"):
        if not isinstance(state.get(name, ""), str):
            raise InputError(f"the {name} of a state is a text")
    for name in ("layer", "head", "query", "key"):
        value = state.get(name, 0)
        if isinstance(value, bool) or not (isinstance(value, int) or value is None):
            raise InputError(f"the {name} of a state is a whole number")
    if not isinstance(state.get("changes", []), list):
        raise InputError("the changes of a state are a list such as [['off', 4, 9]]")


def state_of(view: Any) -> dict[str, Any]:
    """What a view shows: its text, its changes, and what was chosen in it. Raises InputError for what is no view."""
    trace = getattr(view, "trace", None)
    if not isinstance(trace, Trace):
        raise InputError("a step takes the state of a view: lesson.step(trace.explore(), 'the text', …)")
    state: dict[str, Any] = {"text": trace.text or ""}
    if trace.text_pair:
        state["text_pair"] = trace.text_pair
    if trace.changes:
        state["changes"] = [_record(change) for change in trace.changes]
    for name, trait in _CHOSEN.items():
        value = getattr(view, name)
        if name in ("layer", "head") or value != _EMPTY.get(name, trait.default):
            state[name] = value
    state |= {name: value for name, value in view.settings.items() if value != SETTINGS[name]}
    return json.loads(json.dumps(state))


def _record(change: Change) -> list[Any]:
    """A change as a record has it. Raises InputError for one that takes more than numbers."""
    numbers = chips.asked(change)
    if numbers is None:
        raise InputError(f"a lesson holds changes that are made of numbers, not {change}")
    return numbers


def trace_of(lens: Any, state: dict[str, Any], changed: bool = True) -> Trace:
    """The run of a state. Raises InputError where it has no text, and what the run raises."""
    if not state.get("text"):
        raise InputError("no text: a step's state names one, or a step before it does")
    trace: Trace = lens.trace(state["text"], state.get("text_pair") or None)
    changes = chips.read(trace, (), state.get("changes", [])) if changed else []
    return trace.rerun(*changes) if changes else trace
