"""The arguments of questions: each is checked, and has a type on the page. A room adds those of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from ...base.vocabulary import LAYER_MAPS, MEASURES
from ...errors import InputError, SelectionError, check_index, check_name, excerpt
from ...measures import gates, sources
from ...measures.attribution.methods import METHODS as ATTRIBUTIONS
from ...sentences.text_similarity import SPLITS
from ...trace.trace import Trace
from ...whatif.head_sets import MOST as SET_SIZE
from ..traits import SettingsTrait


def _layer(trace: Trace, value: Any) -> int:
    return _index(value, "layer", trace.n_layers)


def _head(trace: Trace, value: Any) -> int:
    return _index(value, "head", trace.n_heads)


def _query(trace: Trace, value: Any) -> int:
    return _index(value, "query", len(trace.tokens))


def _index(value: Any, name: str, size: int) -> int:
    check_index(value if type(value) is int else str(value)[:40], size, name)
    return int(value)


def _share(name: str) -> Callable[[Trace, Any], float]:
    def check(_trace: Trace, value: Any) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
            raise SelectionError(f"{name} {excerpt(value)} is not between 0 and 1")
        return float(value)

    return check


def choice(name: str, choices: Iterable[str]) -> Callable[[Trace, Any], str]:
    """The check of an argument that is one of some names."""

    def check(_trace: Trace, value: Any) -> str:
        check_name(value, choices, name)
        return value

    return check


def _key(trace: Trace, value: Any) -> int:
    return _index(value, "key", len(trace.key_tokens))


def _against(trace: Trace, value: Any) -> str | int | None:
    return value if value in ("others", None) else _key(trace, value)


def _flag(name: str) -> Callable[[Trace, Any], bool]:
    def check(_trace: Trace, value: Any) -> bool:
        if not isinstance(value, bool):
            raise SelectionError(f"{name} {excerpt(value)} is neither true nor false")
        return value

    return check


def _text(_trace: Trace, value: Any) -> str:
    if not isinstance(value, str):
        raise InputError("the text is not text")
    return value


def _text_pair(trace: Trace, value: Any) -> str | None:
    return _text(trace, value) if value else None


def _partners(trace: Trace, value: Any) -> tuple[tuple[int, int], ...]:
    """Other heads that change with one: [[layer, head], …]."""
    pairs: list[Any] = value if isinstance(value, list) else [None]
    if len(pairs) >= SET_SIZE or not all(isinstance(pair, list) and len(pair) == 2 for pair in pairs):
        raise InputError(f"heads that change together are up to {SET_SIZE}: partners is [[layer, head], …]")
    return tuple((_layer(trace, pair[0]), _head(trace, pair[1])) for pair in pairs)


def _other(trace: Trace, value: Any) -> tuple[str, ...]:
    """Another run: ["original"], ["before"], or ["text", a text, a second one or "", "cut" where it may be cut]."""
    words = tuple(value) if isinstance(value, list) else ()
    if not all(isinstance(word, str) for word in words) or (words[:1], len(words)) not in (
        (("original",), 1),
        (("before",), 1),
        (("text",), 4),
    ):
        raise InputError("the page asked for another run that this version of bertlens does not know")
    return words


def _texts(_trace: Trace, value: Any) -> tuple[str, str, str, str]:
    """Two texts and the task of each, "" for none."""
    if not isinstance(value, list) or len(value) != 4 or not all(isinstance(text, str) for text in value):
        raise InputError("two texts and a task for each are compared: [a, b, task of a, task of b]")
    return value[0], value[1], value[2], value[3]


def _as_sent(_trace: Trace, value: Any) -> Any:
    return value  # checked by the question, which knows what there is


def _sheet(trace: Trace, value: Any) -> dict[str, Any]:
    """How a figure is to look: {mm, points, dark, query, key}, the last two numbers of tokens or None; of a screen also
    what is `drawn`, whose shapes are checked where they are drawn."""
    sheet = value if isinstance(value, dict) else {}
    mm, points, dark = sheet.get("mm"), sheet.get("points"), sheet.get("dark")
    if type(mm) is not int or type(points) is not int or not 0 <= mm <= 500 or not 1 <= points <= 40:
        raise InputError("a sheet is up to 500 mm wide, with letters of 1 to 40 points")
    tokens = {"query": _query, "key": _key}
    pins = {name: None if sheet.get(name) is None else check(trace, sheet[name]) for name, check in tokens.items()}
    drawn = {"drawn": sheet["drawn"]} if "drawn" in sheet else {}
    return {"mm": mm, "points": points, "dark": dark is True, **pins, **drawn}


def _settings(_trace: Trace, value: Any) -> dict[str, Any]:
    """How a page is set."""
    if not isinstance(value, dict):
        raise InputError("settings are an object of names and values")
    return SettingsTrait().validate(None, value)


def _split(_trace: Trace, value: Any) -> dict[str, Any]:
    """Which split of a similarity: {of, words}."""
    split = value if isinstance(value, dict) else {}
    if split.get("of") not in SPLITS:
        raise InputError(f"a similarity is split by its {' or its '.join(SPLITS)}")
    return {"of": split["of"], "words": split.get("words") is True}


@dataclass(frozen=True)
class Argument:
    """An argument of questions: check(trace, what the page sent) gives its value, or raises SelectionError or
    InputError; ts is its type on the page."""

    check: Callable[[Trace, Any], Any]
    ts: str = "string"


ARGUMENTS: dict[str, Argument] = {
    "layer": Argument(_layer, "number"),
    "head": Argument(_head, "number"),
    "partners": Argument(_partners, "HeadName[]"),
    "query": Argument(_query, "number"),
    "key": Argument(_key, "number"),
    "side": Argument(choice("side", sources.SIDES)),
    "against": Argument(_against, "string | number | null"),
    "through_mlps": Argument(_flag("through_mlps"), "boolean"),
    "live": Argument(_flag("live"), "boolean"),
    "measure": Argument(choice("measure", MEASURES)),
    "kind": Argument(choice("layer map", LAYER_MAPS)),
    "threshold": Argument(_share("threshold"), "number"),
    "margin": Argument(_share("margin"), "number"),
    "gate": Argument(choice("gate", gates.GATES)),
    "view": Argument(choice("view", gates.VIEWS)),
    "by": Argument(choice("by", ("weight", "norm"))),
    "last": Argument(_query, "number"),
    "station": Argument(lambda trace, value: _index(value, "station", trace.n_layers + 1), "number"),
    "attribution": Argument(choice("attribution", ATTRIBUTIONS)),
    "metric": Argument(lambda _trace, value: value if isinstance(value, str) else str(value)[:40]),
    "target": Argument(_text),
    "target_at": Argument(lambda trace, value: _index(value, "token", trace.n_tokens), "number"),
    "long": Argument(_flag("long"), "boolean"),
    "most": Argument(
        lambda trace, value: _index(value, "count of heads", trace.n_layers * trace.n_heads + 1), "number"
    ),
    "row": Argument(_as_sent, "number"),
    "col": Argument(_as_sent, "number"),
    "aligned": Argument(_flag("aligned"), "boolean"),
    "other": Argument(_other, "string[]"),
    "texts": Argument(_texts, "string[]"),
    "text": Argument(_text),
    "text_pair": Argument(_text_pair),
    "changes": Argument(_as_sent, "unknown[]"),
    "sheet": Argument(
        _sheet, "{ mm: number; points: number; dark: boolean; query: number | null; key: number | null }"
    ),
    "split": Argument(_split, "{ of: string; words: boolean }"),
    "layers": Argument(_as_sent, "number[] | null"),
    "settings": Argument(_settings, "Partial<Settings>"),
}
