"""What a view knows of the languages of its texts: they are named in the page, as a browser or a voice needs it."""

from __future__ import annotations

from collections.abc import Mapping

from ...errors import check_language
from ..messages.records import Answer
from .panel import Panel


class LanguagePanel(Panel):
    """languages: text -> its language, a tag as of HTML's `lang`."""

    def __init__(self, languages: Mapping[str, str]) -> None:
        for tag in languages.values():
            check_language(tag)
        self.languages = dict(languages)

    def overview(self, layer: int, head: int) -> Answer:
        """The texts with their languages."""
        return {"languages": self.languages}, {}
