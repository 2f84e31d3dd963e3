"""What a page is told of its view: that there is a kernel, the bundle, other maps; and other runs that it asks for."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

from ...base.limits import PAGE_TEXT_CHARACTERS
from ...errors import InputError
from ...lens import embedded_named
from ...page import bundle
from ...text.encoding import CUT
from ...whatif import chips
from . import Answer

if TYPE_CHECKING:
    from ...trace.trace import Trace
    from ..questions import Asked


def hello(_asked: Asked) -> Answer:
    """That there is a kernel."""
    return {"kernel": True}, {}


def packed_bundle(_asked: Asked) -> Answer:
    """The front end, for views that carry only the code that finds it."""
    return {"packed": base64.b64encode(bundle.packed()).decode()}, {}


def overview(asked: Asked) -> tuple[dict[str, Any], bytes]:
    """The overview of the map that is asked about, with the selected head open."""
    made = asked.shown.overview_of(asked.map, asked.traits["layer"], asked.traits["head"])
    return made["header"], made["data"]


def another_text(asked: Asked, text: str, text_pair: str | None = None) -> Answer:
    """Another text is run and shown."""
    asked.show(traced(asked, text, text_pair, asked.traits["truncation"]))
    return {}, {}


def traced(asked: Asked, text: str, text_pair: str | None, truncation: bool) -> Trace:
    """Another text, run as the view's was. Raises InputError where it cannot be, or is too long."""
    lens = asked.shown.trace.lens
    if lens is None:
        raise InputError("this view was made from attention maps: it has no model to run another text with")
    if len(text) + len(text_pair or "") > PAGE_TEXT_CHARACTERS:
        raise InputError(f"the text is longer than {PAGE_TEXT_CHARACTERS:,} characters: use lens.trace in a cell")
    try:
        return lens.trace(text, text_pair or None, truncation=truncation)
    except InputError as error:
        raise InputError(str(error).replace(CUT, "tick “cut if too long”")) from error


def changed_run(asked: Asked, changes: Any) -> Answer:
    """The text is run with these changes, or without any, and shown."""
    original = asked.shown.trace.original
    wanted = chips.read(original, asked.shown.known, changes)
    asked.show(original.rerun(*wanted) if wanted else original)
    return {}, {}


def lesson_model(asked: Asked) -> Answer:
    """The text is run with the embedded model that the lesson beside the view was written for, and shown."""
    name = asked.traits["lesson"].get("model", "")
    if not name:
        raise InputError("there is no lesson of another model beside this view")
    lens = embedded_named(name)
    if lens is None:
        raise InputError(f"{name} is not embedded: run the lesson with your lens on it, lens.trace(text).explore(…)")
    trace = asked.shown.trace
    if not trace.text:
        raise InputError("this view has no text that a model could run")
    asked.show(lens.trace(trace.text, trace.text_pair or None))
    return {}, {}
