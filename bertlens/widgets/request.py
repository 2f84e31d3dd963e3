"""What a question of the page is about."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from ..base.limits import PAGE_TEXT_CHARACTERS
from ..errors import InputError
from ..text.encoding import CUT
from ..trace.trace import Trace
from .panels.panel import Panel
from .view_record import ViewRecord

P = TypeVar("P", bound=Panel)


@dataclass(frozen=True)
class Request:
    """What a question is about: what the view shows, the maps of it that the page names, and how the view is set.

    show: lets the view show another trace. beside: the latest runs of other texts that a page set beside the view's,
    by their names; it may ask about them too.
    """

    view: ViewRecord
    map: str
    traits: Mapping[str, Any]
    show: Callable[[Trace], None]
    beside: dict[str, ViewRecord] = field(default_factory=dict)

    @property
    def trace(self) -> Trace:
        """The maps that the question is about."""
        return self.view.map(self.map)

    def traced(self, text: str, text_pair: str | None, truncation: bool) -> Trace:
        """Another text, run as the view's was. Raises InputError where it cannot be, or is too long."""
        lens = self.view.trace.lens
        if lens is None:
            raise InputError("this view was made from attention maps: it has no model to run another text with")
        if len(text) + len(text_pair or "") > PAGE_TEXT_CHARACTERS:
            raise InputError(f"the text is longer than {PAGE_TEXT_CHARACTERS:,} characters: use lens.trace in a cell")
        try:
            return lens.run([lens.encoding(text, text_pair or None, truncation)])[0]  # the view says what is odd in it
        except InputError as error:
            raise InputError(str(error).replace(CUT, "tick “cut if too long”")) from error

    def panel(self, kind: type[P]) -> P:
        """The panel that the question needs, which only views with it are asked."""
        panel = self.view.panel(kind)
        assert panel is not None
        return panel
