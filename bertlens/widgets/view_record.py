"""What a widget shows, as one immutable record."""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from ..base.vocabulary.constants import COMPARED_RUNS
from ..errors import InputError, SelectionError, excerpt
from ..measures.offers import why_not
from ..run.changes import Change
from ..trace.trace import Trace
from .panels.panel import NEEDS, Panel

P = TypeVar("P", bound=Panel)
T = TypeVar("T")


@dataclass(frozen=True)
class ViewRecord:
    """A trace, what stands beside it, their name, and the first overview: see overview.py.

    A widget publishes it by one assignment and reads it once per message, so that an answer is always of one text.
    """

    trace: Trace
    panels: tuple[Panel, ...] = ()
    id: str = ""
    changes: tuple[Change, ...] = ()  # that a page may name by number: all that this view showed of the text
    subject: str = ""  # of the text and its model: the same whatever is changed in the run
    overview: Mapping[str, Any] = field(default_factory=dict)  # of the selected map: {"header": JSON, "data": bytes}
    memo: dict[str, dict[Hashable, Any]] = field(default_factory=dict)  # what the page asked about besides, by kind

    def __post_init__(self) -> None:
        if not isinstance(self.trace, Trace):
            raise InputError(f"a view shows a trace, lens.trace(text), not {type(self.trace).__name__}")

    def panel(self, kind: type[P]) -> P | None:
        """The panel of a class, None in a view without."""
        return next((panel for panel in self.panels if isinstance(panel, kind)), None)

    def reason(self, name: str) -> str:
        """What the first panel says that has a word for it (no_text, no_map, no_model), "" where none has."""
        return next(filter(None, (str(getattr(panel, name)) for panel in self.panels)), "")

    def map(self, name: Any) -> Trace:
        """The attention maps of that name. Raises SelectionError where there are none."""
        maps = self.trace.maps.get(name) if isinstance(name, str) else None
        if maps is None:
            raise SelectionError(f"no map {excerpt(name)}: there are {', '.join(self.trace.maps)}")
        return maps

    @property
    def map_name(self) -> str:
        """The map that the overview is of."""
        return self.overview["header"]["map"]

    def pending(self, layers: Iterable[int]) -> list[int]:
        """Those of the layers whose pictures the overview has not."""
        return sorted(set(self.overview["header"]["pending"]) & set(layers))

    def why_not(self, trace: Trace, needs: str) -> str | None:
        """Why maps have not what a tab or a question needs: "" where they have, None where nobody asked for it."""
        if needs not in NEEDS:
            return why_not(trace, needs) if needs else ""
        if panel := self.panel(NEEDS[needs]):
            return panel.why_not(trace)
        return "" if NEEDS[needs].of_trace(trace, needs) else None

    def memoised(self, kind: str, key: Hashable, make: Callable[[], T]) -> T:
        """What a page asks about beside what is shown: made once; the latest of a kind stay."""
        memo = self.memo.setdefault(kind, {})
        if key not in memo:
            answer = make()
            for oldest in list(memo)[: 1 - COMPARED_RUNS]:
                memo.pop(oldest, None)
            memo[key] = answer
        return memo[key]

    def remember(self, message: Mapping[str, Any], most: int) -> None:
        """A question of a page that was answered: a saved page holds the answer too. So many of a name stay, and of
        other runs and texts the latest two: those that `memoised` has."""
        memo = self.memo.setdefault("questions", {})
        memo.pop(name := json.dumps(message, sort_keys=True), None)
        memo[name] = dict(message)
        questions = memo.copy()  # another thread may answer one meanwhile
        past = [key for key, question in questions.items() if question["op"] == message["op"]][:-most]
        for name in ("other", "texts"):
            runs = {key: json.dumps(question[name]) for key, question in questions.items() if name in question}
            latest = [*dict.fromkeys(reversed(runs.values()))][:COMPARED_RUNS]
            past += [key for key, run in runs.items() if run not in latest]
        for key in past:
            memo.pop(key, None)

    @property
    def remembered(self) -> list[dict[str, Any]]:
        """The questions that were answered, the latest last."""
        return list(self.memo.get("questions", {}).values())


def stream_tokens(trace: Trace) -> int:
    """Tokens of the longest side of any map."""
    return max(max(m.n_tokens, len(m.key_tokens)) for m in trace.maps.values())


def stream_size(trace: Trace) -> int:
    """Numbers in one layer's stream, tokens × width, of the longest map; heads of unknown width count as 64 wide."""
    return max(m.n_tokens * m.n_heads * (m.head_dim or 64) for m in trace.maps.values())
