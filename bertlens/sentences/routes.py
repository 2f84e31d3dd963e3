"""A Router of sentence-transformers: another encoder for questions than for documents, given to Lens one by one."""

from __future__ import annotations

from typing import Any

from ..errors import ModelError

ROUTER = "Router"
QUERY, DOCUMENT = "query", "document"


def check_routes(module: Any) -> None:
    """Raises ModelError, with the line that gives Lens each route, for an object whose modules have a Router."""
    steps = [*module]
    at = next((n for n, step in enumerate(steps) if type(step).__name__ == ROUTER), None)
    if at is None:
        return
    names = [*steps[at].sub_modules]
    name = DOCUMENT if DOCUMENT in names else names[0]
    line = f"documents = Lens({type(module).__name__}(modules={_of_route(name, at, len(steps))}{_options(module)}))"
    others = ", ".join(repr(other) for other in names if other != name)
    raise ModelError(
        f"this {type(module).__name__} has a {ROUTER}, whose routes are encoders of their own: {line}, queries the "
        f"same with {others} for {name!r}; bl.retrieval(documents, …, query_lens=queries) ranks by both"
    )


def _of_route(name: str, at: int, size: int) -> str:
    """The modules of a route and those around it, as Python."""
    before = f"*[*model][:{at}], " if at else ""
    behind = f", *[*model][{at + 1}:]" if at + 1 < size else ""
    return f"[{before}*model[{at}].sub_modules[{name!r}]{behind}]"


def _options(module: Any) -> str:
    """What else of the object makes its numbers, as Python."""
    options = []
    if any(module.prompts.values()):
        options.append("prompts=model.prompts")
    if module.similarity_fn_name != "cosine":
        options.append("similarity_fn_name=model.similarity_fn_name")
    if getattr(module, "truncate_dim", None) is not None:
        options.append("truncate_dim=model.truncate_dim")
    return "".join(f", {option}" for option in options)
