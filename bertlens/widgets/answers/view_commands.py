"""What a page is told of its view: that there is a kernel, the bundle; and other runs that it asks for."""

from __future__ import annotations

import base64
from typing import Any

from typing_extensions import NotRequired, TypedDict

from ...errors import InputError
from ...export import bundle
from ...lens import embedded_named
from ...whatif import chips
from ..messages.records import Nothing
from ..request import Request


class Hello(TypedDict):
    kernel: bool
    page: NotRequired[bool]  # what answers is in the page, as all below says it alone
    texts: NotRequired[list[tuple[str, str]]]  # that it was made to offer
    coming: NotRequired[str]  # how far its model is
    why: NotRequired[str]  # that cannot be had


class BundleText(TypedDict):
    packed: str


def hello(_request: Request) -> tuple[Hello, Nothing]:
    """That there is a kernel."""
    return {"kernel": True}, {}


def packed_bundle(_request: Request) -> tuple[BundleText, Nothing]:
    """The front end, for views that carry only the code that finds it."""
    return {"packed": base64.b64encode(bundle.packed()).decode()}, {}


def another_text(request: Request, text: str, text_pair: str | None = None) -> tuple[Nothing, Nothing]:
    """Another text is run and shown."""
    request.show(request.traced(text, text_pair, request.traits["truncation"]))
    return {}, {}


def changed_run(request: Request, changes: Any) -> tuple[Nothing, Nothing]:
    """The text is run with these changes, or without any, and shown."""
    original = request.view.trace.original
    run_changes = chips.read(original, request.view.changes, changes)
    request.show(original.rerun(*run_changes) if run_changes else original)
    return {}, {}


def lesson_model(request: Request) -> tuple[Nothing, Nothing]:
    """The text is run with the embedded model that the lesson beside the view was written for, and shown."""
    name = request.traits["lesson"].get("model", "")
    if not name:
        raise InputError("there is no lesson of another model beside this view")
    lens = embedded_named(name)
    if lens is None:
        raise InputError(f"{name} is not embedded: run the lesson with your lens on it, lens.trace(text).explore(…)")
    trace = request.view.trace
    if not trace.text:
        raise InputError("this view has no text that a model could run")
    request.show(lens.trace(trace.text, trace.text_pair or None))
    return {}, {}
