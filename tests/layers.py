"""The order in which folders and modules of the package stand, and the few arrows against it, each with its reason.

tests/unit/test_project.py holds the package to it, with imports for types and inside functions counted, and the map of
docs/architecture.md, which `python tests/layers.py` writes.
"""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1] / "bertlens"

# Each knows those of the rows before it, none of its own row or of those behind it. Who adds one adds it here.
LAYERS = (
    ("errors",),
    ("base",),
    ("text",),
    ("model",),
    ("run",),
    ("trace",),
    ("measures",),
    ("sentences", "whatif"),
    ("lens",),
    ("export",),
    ("comparison",),
    ("widgets",),
    ("survey", "sars_cov_2"),
    ("training",),
    ("conformance", "lessons", "plots", "search"),
    ("tasks",),
    ("reports",),
    ("cli", "sphinxext"),
)

# What methods of lower layers call above themselves, by base/registered.py: where a reader looks for it, and no more
# than the call of a function that can be had without it.
SUGAR = {
    "compare_view": "comparison.explore()",
    "explore": "trace.explore()",
    "masked_language_model": "Lens.embedded(mlm=True)",
    "predictions": "trace.predictions()",
    "rank_view": "ranking.explore()",
    "rerun": "trace.rerun()",
    "retrieval_costs": "parity.costs()",
    "retrieval_view": "retrieval.explore()",
    "sars_cov_2": "Lens.sars_cov_2()",
    "similarity_view": "similarity.explore()",
    "task_costs": "parity.costs()",
    "task_view": "task.explore(), against.explore() and the view in task.to_html()",
    "token_strip": "the picture of an attribution in a notebook",
}


@cache
def modules() -> dict[str, Path]:
    """Dotted name below the package -> file; "" is the package itself."""
    paths = {path.relative_to(PACKAGE).with_suffix("").parts: path for path in sorted(PACKAGE.rglob("*.py"))}
    return {".".join(parts[:-1] if parts[-1] == "__init__" else parts): path for parts, path in paths.items()}


@cache
def trees() -> dict[str, ast.Module]:
    return {name: ast.parse(path.read_text(encoding="utf-8")) for name, path in modules().items()}


def absolute(name: str, node: ast.ImportFrom) -> str:
    """The dotted name below the package that a module's `from … import` names."""
    parents = name.split(".") if modules()[name].name == "__init__.py" else name.split(".")[:-1]
    above = parents[: len(parents) - node.level + 1] if node.level else []
    return ".".join([*above, *(node.module or "").removeprefix("bertlens").lstrip(".").split(".")]).strip(".")


def imports(name: str) -> set[str]:
    """The package's modules that one imports: inside functions and for types too. Nothing asks the package itself but
    for its version."""
    targets = set()
    for node in ast.walk(trees()[name]):
        if isinstance(node, ast.Import):
            targets |= {alias.name.removeprefix("bertlens.") for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            module = absolute(name, node)
            inner = {alias.name: f"{module}.{alias.name}".strip(".") for alias in node.names}
            targets |= {path if path in modules() else module for path in inner.values()}
    return (targets & modules().keys()) - {"", name}


@cache
def arrows() -> dict[str, set[str]]:
    """Of each module but the package itself, `imports`."""
    return {name: imports(name) for name in modules() if name}


def below(name: str) -> set[str]:
    """The modules that one imports, and that these do."""
    found, new = set[str](), {name}
    while new:
        found |= new
        new = {other for module in new for other in arrows().get(module, ())} - found
    return found - {name}


def calls() -> set[tuple[str, str]]:
    """(module, name) of what is called by base/registered.py."""
    return {
        (module, node.args[0].value)
        for module, tree in trees().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and ast.unparse(node.func) == "registered"
        and isinstance(node.args[0], ast.Constant)
    }


def homes() -> dict[str, str]:
    """Registered name -> the module of the function that bertlens/__init__.py puts there."""
    return {
        node.targets[0].slice.value: node.value.args[0].value.lstrip(".")
        for node in trees()[""].body
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Subscript)
        and ast.unparse(node.targets[0].value) == "FUNCTIONS"
        and isinstance(node.value, ast.Call)
    }


def row(module: str) -> int:
    """The row of LAYERS that a module's folder stands in."""
    return next(number for number, names in enumerate(LAYERS) if module.split(".")[0] in names)


def climbs(module: str, other: str) -> bool:
    """Whether an arrow leads to another folder that does not stand before the module's own."""
    return module.split(".")[0] != other.split(".")[0] and row(other) >= row(module)


def rooms() -> str:
    """The table of docs/architecture.md: each folder and module with the first sentence of its docstring."""
    lines = ["| | room | what it holds |", "| --- | --- | --- |"]
    for number, names in enumerate(LAYERS, 1):
        for name in names:
            path = f"{name}/" if modules()[name].name == "__init__.py" else f"{name}.py"
            sentence = " ".join((ast.get_docstring(trees()[name]) or "").split()).split(". ")[0].rstrip(".")
            lines.append(f"| {number} | `bertlens/{path}` | {sentence} |")
    return "\n".join(lines)


def with_rooms(document: str) -> str:
    """The document with the table as it is now."""
    before, _, behind = document.partition("<!-- rooms -->\n")
    return f"{before}<!-- rooms -->\n{rooms()}\n<!-- end -->{behind.partition('<!-- end -->')[2]}"


if __name__ == "__main__":
    DOCUMENT = PACKAGE.parent / "docs" / "architecture.md"
    DOCUMENT.write_text(with_rooms(DOCUMENT.read_text(encoding="utf-8")), encoding="utf-8")
