"""Every public name says what it is: shapes, units, errors and source; the documentation has a place for each.

Public are the names of `bertlens`, what its modules list in `__all__`, and what the pages of `docs/api` take whole.
"""

from __future__ import annotations

import inspect
import re
import runpy
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import bertlens as bl
from bertlens.errors import BertLensError
from bertlens.survey import Sentence

API = Path(__file__).parents[2] / "docs" / "api"
PARAMETERS = runpy.run_path(str(API.parent / "parameters.py"))
ERRORS = {error.__name__ for error in (BertLensError, *BertLensError.__subclasses__())}
DIRECTIVE = re.compile(r"^\.\. auto(\w+):: (bertlens\S*)((?:\n   :\S.*)*)", re.MULTILINE)
SHAPE = re.compile(r"\([\w’'… .,+·×−-]*\)|\b0-d\b|\b[Ss]calar|number", re.UNICODE)  # (L, H), (S,), (...), 0-d
PAPER = re.compile(r"\b(?:1[89]|20)\d\d\b|bertlens' own|\bours\b")


def directives() -> list[tuple[str, str, str]]:
    """(kind, dotted name, options) of the reference's pages."""
    return [found for page in sorted(API.glob("*.md")) for found in DIRECTIVE.findall(page.read_text(encoding="utf-8"))]


def named(name: str) -> Any:
    module, _, rest = name.rpartition(".")
    return getattr(import_module(module), rest)


def listed(module: Any) -> list[str]:
    """The names that a module gives: its `__all__`, else the functions and classes that are written in it."""
    if hasattr(module, "__all__"):
        return [name for name in module.__all__ if name != "__version__"]
    return [
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and callable(value) and getattr(value, "__module__", "") == module.__name__
    ]


def documented() -> dict[str, Any]:
    """Dotted name -> function or class, of all that the reference's directives bring."""
    found: dict[str, Any] = {}
    for kind, name, options in directives():
        if kind != "module":
            found[name] = named(name)
        elif ":no-members:" not in options:
            left_out = re.findall(r"[\w.]+", options.partition(":exclude-members:")[2].partition("\n")[0])
            module = import_module(name)
            found |= {f"{name}.{one}": getattr(module, one) for one in listed(module) if one not in left_out}
    return found


def members(name: str, owner: type) -> Iterator[tuple[str, Any]]:
    """Public methods and properties that a class of bertlens defines itself."""
    for attribute, value in vars(owner).items():
        plain = value.fget if isinstance(value, property) else getattr(value, "func", getattr(value, "__func__", value))
        is_field = attribute in getattr(owner, "__dataclass_fields__", ())  # which the class's own words are about
        if not attribute.startswith("_") and inspect.isfunction(plain) and not is_field:
            yield f"{name}.{attribute}", plain


def functions() -> dict[str, Any]:
    """Every public function, class, method and property by its name, once."""
    found: dict[str, Any] = {}
    for name, value in documented().items():
        if inspect.isclass(value):
            found[name] = value
            found.update(members(name, value))
        elif inspect.isfunction(value):
            found[name] = value
    return {name: value for name, value in found.items() if value.__module__.startswith("bertlens")}


ALL = functions()


def doc(value: Any) -> str:
    return inspect.getdoc(value) or ""


def test_the_reference_has_every_public_name():
    there = list(documented().values())
    wanted = [("bertlens", name) for name in bl.__all__ if name != "__version__"]
    for module in ("survey", "plots", "whatif", "widgets", "export", "sars_cov_2"):
        wanted += [(f"bertlens.{module}", name) for name in listed(import_module(f"bertlens.{module}"))]
    lacking = [(module, name) for module, name in wanted if named(f"{module}.{name}") not in there]
    assert [one for one in lacking if callable(named(".".join(one)))] == []  # tables of data stand in the text
    assert len(ALL) > 400


def test_everything_says_what_it_is():
    """A sentence of its own: not the one that `dataclass` or a parent class gives."""
    bare = [
        name
        for name, value in ALL.items()
        if len(doc(value).split()) < 2 or doc(value).startswith(f"{value.__name__}(")
    ]
    assert bare == []


def test_tensors_have_their_shapes():
    lacking = []
    for name, value in ALL.items():
        given = str(inspect.signature(value).return_annotation) if inspect.isfunction(value) else ""
        if re.match(r"(np\.ndarray|Tensor|torch\.Tensor)\b", given) and not SHAPE.search(doc(value)):
            lacking.append(name)
    assert lacking == []


def test_every_parameter_has_a_line():
    """In the docstring, behind a field, or, where it means the same everywhere, in docs/parameters.py."""
    shared, needed, lacking = PARAMETERS["PARAMETERS"], set(), []
    for name, value in ALL.items():
        lines = PARAMETERS["lines"](value, doc(value))
        needed |= {parameter for parameter, line in lines.items() if line == shared.get(parameter)}
        for parameter in PARAMETERS["names"](value):
            named = parameter in ("self", "cls") or re.search(rf"\b{parameter}\b", doc(value))
            if not (named or parameter in lines or parameter.startswith("_")):
                lacking.append(f"{name}: {parameter}")
    assert lacking == []
    assert needed == {*shared}
    assert PARAMETERS["lines"](Sentence, "")["heads"] == "index of each word's head, from 0; ROOT (-1) for the root"


def raised(value: Any) -> set[str]:
    """Names of our errors in the `raise` lines of a function, and of those that check its arguments."""
    source, helpers = inspect.getsource(value), vars(import_module(value.__module__))
    checks = [helpers[name] for name in re.findall(r"(?<![\w.])(_?check\w*|as_path)\(", source) if name in helpers]
    kinds = ERRORS & {*re.findall(r"raise (\w+Error)\(", source)}
    return kinds.union(*(raised(check) for check in checks if inspect.isfunction(check) and check is not value))


def test_errors_are_named():
    """Whoever raises bertlens' errors says which, or that it raises like another; a class says it for its methods."""
    lacking = []
    for name, value in ALL.items():
        if inspect.isfunction(value) and (kinds := raised(value)):
            said = doc(value) + (doc(import_module(value.__module__)) if "measures" in value.__module__ else "")
            said += doc(ALL.get(name.rpartition(".")[0], lambda: None))
            unsaid = {kind for kind in kinds if kind not in said}
            if unsaid and not re.search(r"[Rr]aises? (?:like|as|what)|[Ee]rrors?:? (?:as|like|are)|Otherwise as", said):
                lacking.append(f"{name}: {', '.join(sorted(unsaid))}")
    assert lacking == []


@pytest.mark.parametrize(
    "name", sorted({value.__module__ for name, value in ALL.items() if name.startswith("bertlens.measures.")})
)
def test_measures_name_their_source(name: str):
    """A paper with its year, or that it is bertlens' own: in the module, in its package, or in each function."""
    module = import_module(name)
    above = import_module(name.rpartition(".")[0])
    if PAPER.search(doc(module)) or ("measures." in above.__name__ and PAPER.search(doc(above))):
        return
    own = [value for value in ALL.values() if value.__module__ == name and inspect.isfunction(value)]
    assert any(PAPER.search(doc(value)) for value in own) or name in PLAIN


# Counting and plumbing: nothing that a paper would be the source of
PLAIN = tuple(f"bertlens.measures.{name}" for name in ("attribution.attribution", "layer_maps", "received", "rows"))
