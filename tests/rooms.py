"""Core and rooms: which modules of the package belong to which room, what rooms take of the core, what stands on what.

The core is all that is in no room: the text, the model, its run and what is measured of it, what-if, comparison,
export, the widgets. A room is a study on top of it with its views; it may be taken away. tests/unit/test_rooms.py holds
them to that, `python tests/rooms.py` prints what there is.
"""

from __future__ import annotations

import ast
import re
from functools import cache

import layers

# Room -> its folder. In this order rooms stand on each other: each may import from those before it, and from the core.
# A folder of the package that is none of these, nor in OUTSIDE, is of the core.
ROOMS: dict[str, str] = {
    "survey": "survey",
    "sars_cov_2": "sars_cov_2",
    "training": "training",
    "lessons": "lessons",
    "similarity": "widgets.similarity",
    "conformance": "conformance",
    "plots": "plots",
    "search": "search",
    "tasks": "tasks",
    "reports": "reports",
}
# Of these, in js/src. What imports a folder from outside of it is listed in tests/unit/test_rooms.py.
PAGE_FOLDERS = {
    "survey": "tabs/survey",
    "lessons": "lessons",
    "similarity": "tabs/similarity",
    "search": "search",
    "tasks": "tabs/task",
}
OUTSIDE = ("cli", "sphinxext")  # doors to all of it
CORE = (
    *("errors", "base", "text", "model", "run", "trace", "measures", "sentences", "whatif", "lens"),
    *("export", "comparison", "widgets"),
)

# Imports of a room by the core, each with its reason. A new one is not let in: what the core calls of a room is
# registered, as in bertlens/__init__.py, or is moved to the core.
INTO_ROOMS: dict[tuple[str, str], str] = {
    ("widgets", "search.view"): "for types: bl.RetrievalView, at run time by `room`",
    ("widgets.views", "survey.headstats"): "for types: an argument of SurveyView",
    ("widgets.views", "survey.treebank"): "for types: an argument of SurveyView",
    ("widgets.views", "tasks"): "for types: arguments of TaskView",
}


def room_of(module: str) -> str:
    """The room of a module, "" for the core; "cli" and "sphinxext" are their own."""
    if module.split(".")[0] in OUTSIDE:
        return module.split(".")[0]
    return next((room for room, home in ROOMS.items() if f"{module}.".startswith(f"{home}.")), "")


def into_rooms() -> set[tuple[str, str]]:
    """(module of the core, module of a room that it imports)."""
    arrows = layers.arrows()
    return {(name, other) for name in arrows if not room_of(name) for other in arrows[name] if room_of(other)}


def upward() -> set[tuple[str, str]]:
    """(module of a room, module of a room behind it that it imports)."""
    order, arrows = [*ROOMS, *OUTSIDE], layers.arrows()
    return {
        (name, other)
        for name in arrows
        if (room := room_of(name))
        for other in arrows[name]
        if (above := room_of(other)) and order.index(above) > order.index(room)
    }


def defined(module: str) -> set[str]:
    """Dotted names of a module's functions and classes."""
    body = layers.trees()[module].body
    return {f"{module}.{node.name}" for node in body if isinstance(node, ast.FunctionDef | ast.ClassDef)}


def standing_on(room: str) -> set[str]:
    """The modules of a room, and of the rooms that import from it; a command imports what it needs when it is given."""
    arrows = layers.arrows()
    gone, above = set(), {room}
    while above:
        gone |= {module for module in arrows if room_of(module) in above}
        above = {room_of(module) for module in arrows.keys() - gone if arrows[module] & gone} - {"", *OUTSIDE}
    return gone


@cache
def public() -> frozenset[str]:
    """Dotted names of the core that are public: what the `__init__` of its package lists, the modules and names of the
    reference (docs/api), and all of a module that stands beside the packages."""
    names = set()
    for module, tree in layers.trees().items():
        if layers.modules()[module].name != "__init__.py":
            if "." not in module:
                names |= defined(module)
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.level == 1:
                home = f"{module}.{node.module or ''}".strip(".")
                names |= {f"{path}.{alias.name}".strip(".") for alias in node.names for path in (home, module)}
    pages = (layers.PACKAGE.parent / "docs" / "api").glob("*.md")
    text = "\n".join(page.read_text(encoding="utf-8") for page in pages)
    for kind, name in re.findall(r"^\.\. auto(\w+):: bertlens\.(\S+)", text, re.MULTILINE):
        names.add(name)
        if kind == "module" and name in layers.trees():
            names |= defined(name)
    return frozenset(names)


def borrowed() -> dict[str, set[str]]:
    """Dotted name of the core -> the modules of rooms that import it."""
    taken: dict[str, set[str]] = {}
    for name, tree in layers.trees().items():
        if not room_of(name) or room_of(name) in OUTSIDE:
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and (node.level or (node.module or "").startswith("bertlens")):
                module = layers.absolute(name, node)
                for alias in node.names:
                    full = f"{module}.{alias.name}".strip(".")
                    if not room_of(full):
                        taken.setdefault(full, set()).add(name)
    return taken


def not_public() -> list[str]:
    """The names of the core that rooms import though they are not public."""
    return sorted(borrowed().keys() - public())


if __name__ == "__main__":
    for number, (name, home) in enumerate(ROOMS.items(), 1):
        print(f"{number}  {name:12} {home}")
    print(*(f"core on a room: {a} -> {b}" for a, b in sorted(into_rooms())), sep="\n")
    print(*(f"not public: {name}" for name in not_public()), f"{len(not_public())} names", sep="\n")
