"""What may be selected in a trace: checks of a selection, and what of it makes sense in another trace."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..base.vocabulary import LAYER_MAPS, PLACE, TRAITS
from ..errors import ModelError, SelectionError, check_index, check_name
from ..trace.trace import Trace
from .tabs import TABS
from .view_record import ViewRecord

SELECTABLE = frozenset(trait.name for trait in TRAITS if trait.selectable)


def choices_of(name: str) -> Sequence[str]:
    """The values that a trait of choices may have, with what was registered since."""
    if name == "layer_map":
        return ("", *LAYER_MAPS)
    if name == "view":
        return ("", *TABS)
    return next(trait.choices for trait in TRAITS if trait.name == name)


def fitted(view: Any, maps: Trace) -> dict[str, Any]:
    """What of the selection makes sense in other maps: heads that are there, the last one for one that is not."""
    fitted: dict[str, Any] = {
        "layer": min(view.layer, maps.n_layers - 1),
        "head": min(view.head, maps.n_heads - 1),
        "heads": [[l, h] for l, h in view.heads if l < maps.n_layers and h < maps.n_heads],  # noqa: E741
    }
    for name, size in (("layer", maps.n_layers), ("head", maps.n_heads)):
        included = getattr(view, f"include_{name}s")
        if included is not None and (max(included) >= size or fitted[name] not in included):
            fitted[f"include_{name}s"] = None
    return fitted


def heads_in(maps: Trace, selected: int, given: Sequence[Any]) -> list[list[int]]:
    """[[layer, head], ...] of the trait `heads`; a number alone is a head of the selected layer."""
    pairs = []
    if len(given) > maps.n_layers * maps.n_heads:
        raise SelectionError(f"heads are more than the {maps.n_layers * maps.n_heads} that there are")
    for item in given:
        layer, head = [selected, item] if isinstance(item, int) else item
        check_index(layer, maps.n_layers, "heads: layer")
        check_index(head, maps.n_heads, "heads: head")
        pairs.append([layer, head])
    return pairs


def heads_run(given: Any) -> str:
    """The setting of that name. Raises SelectionError."""
    if given in ("all", "estimate") or (type(given) is int and given > 0):
        return str(given)
    raise SelectionError(f'heads is "all", "estimate", how many are run, or a list of [layer, head], not {given!r}')


def place_in(traits: Mapping[str, Any]) -> dict[str, Any]:
    """What a view shows, of PLACE."""
    return {name: traits[name] for name in PLACE}


def check_included(name: str, value: int, included: list[int] | None) -> None:
    """Raises SelectionError where a selected layer or head is not among those that are shown."""
    if included is not None and value not in included:
        raise SelectionError(f"{name} {value} is not among include_{name}s {included[:20]}: set both together")


def check_selection(view: ViewRecord, parts: Sequence[str], selection: dict[str, Any]) -> None:
    """Complete a selection and raise what is wrong with it, or why the trace cannot be shown so."""
    trace, names = view.trace, [trait.name for trait in TRAITS if trait.selectable]
    for name in selection:
        check_name(name, names, "option")
    selection.setdefault("map", next(iter(trace.maps)))
    check_name(selection["map"], trace.maps, "map")
    maps = trace.maps[selection["map"]]
    for name, size in (("layer", maps.n_layers), ("head", maps.n_heads)):
        included = selection.get(f"include_{name}s")
        if included:
            selection.setdefault(name, included[0])
        check_index(selection.get(name, 0), size, name)
    for panel in view.panels:
        panel.check(maps)
    tab = TABS.get(parts[0]) if len(parts) == 1 else None  # a view of one tab has to have something to show
    if tab is not None and (reason := view.why_not(maps, tab.needs)):
        raise ModelError(reason)


def same_token(before: list[str], after: list[str], position: int | None) -> int | None:
    """Where a pinned token is in the new text: at the same place, or at its only other place, or nowhere."""
    if position is None or position >= len(before):
        return None
    token = before[position]
    if position < len(after) and after[position] == token:
        return position
    return after.index(token) if after.count(token) == 1 else None
