"""A panel: what stands in a view beside its trace, and all that it changes there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar

from ...errors import InputError
from ...trace.trace import Trace
from ..messages.records import Answer, Message, Selection

RUNS = 10  # that a page carries beside its trace, at most
NEEDS: dict[str, type[Panel]] = {}  # what a view, not a trace, may have to offer -> the panel that has it


class Panel:
    """A feature beside the trace: one subclass, in a file of its room. Here it adds nothing.

    needs: what questions and tabs that need it name -> what is said in a view without it. parts: parts of the page that
    are its own. no_text, no_map, no_model: why such a view shows no other text and no other of the trace's maps, and
    why its page carries no model; "" where it does.
    """

    needs: ClassVar[Mapping[str, str]] = {}
    parts: ClassVar[Sequence[str]] = ()
    no_text: ClassVar[str] = ""
    no_map: ClassVar[str] = ""
    no_model: ClassVar[str] = ""

    def __init_subclass__(cls) -> None:
        NEEDS.update(dict.fromkeys(cls.needs, cls))

    @staticmethod
    def of_trace(trace: Trace, need: str) -> bool:
        """Whether a trace alone, in a view without the panel, offers what is needed."""
        return False

    def why_not(self, trace: Trace) -> str:
        """Why it has nothing to say beside these maps; "" where it has."""
        return ""

    def check(self, trace: Trace) -> None:
        """Raises InputError where it cannot stand beside these maps."""
        if reason := self.why_not(trace):
            raise InputError(reason)

    @property
    def sizes(self) -> Mapping[str, int]:
        """How many queries and keys there are to select, where these are no tokens."""
        return {}

    @property
    def corpus(self) -> str:
        """Whose texts a page has of it, beside those that were typed; "" for none."""
        return ""

    def overview(self, layer: int, head: int) -> Answer:
        """What the first picture has of it: fields of the overview's header, and arrays."""
        return {}, {}

    def before(self, trace: Trace) -> Trace | None:
        """The run of the same text by the model before this one. Raises InputError where there should be one."""
        return None

    def close(self) -> None:
        """The view is closed."""

    # A page without a kernel

    def title(self, model: str, parts: Sequence[str]) -> str:
        """The page's title; "" for the text's."""
        return ""

    def holds(self, layers: str, selection: Selection) -> str:
        """What the page holds, in words."""
        return layers

    def footer(self, holds: str) -> str:
        """What the page's last line says beside the model."""
        return ""

    def shown_by(self, trace: Trace) -> Message | None:
        """The question that shows a trace in the view."""
        return None

    def runs(self, trace: Trace) -> Iterator[tuple[Message, Trace]]:
        """Other runs that the page carries beside a trace, RUNS at most, each with the question that shows it."""
        return iter(())

    def still(self, layer: int, head: int, query: int | None, key: int | None) -> bytes | None:
        """PNG for notebooks that cannot run a view; None for that of the selected head."""
        return None
