"""Which test files a change can reach: by what files import, name and hold as code, not by folders.

A file leads to what it imports, inside functions too, each lazy name of a package to its own module; to the code in its
strings (cells, templates, commands); to what `base/registered.py` calls for it, wherever the name of such a method
stands; and to files that are no modules (data, templates, documents) by their name, their folder's, or a pattern like
"*.md". Of a conftest only the fixtures that are named count. A module whose name is computed is not seen.

    python tests/reach.py bertlens/measures/norms.py ...     the test files that these reach
"""

from __future__ import annotations

import ast
import gc
import json
import re
import sys
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import layers

ROOT = Path(__file__).resolve().parents[1]
EVERYTHING = ("pyproject.toml", "constraints.txt")  # who can say what another release does
FAR = 99  # steps
TESTS = ("tests/unit", "tests/wire", "tests/notebooks")
OWN = ("bertlens", "studies", "unit", "browser", "wire", "notebooks")  # what imports of this repository begin with
CODE = re.compile(r"\b(?:bl|bertlens)((?:\.\w+)*)")
REGISTERED = re.compile(r'FUNCTIONS\["(\w+)"\] = _later\("([\w.]+)", "(\w+)"\)')
COMPUTED = re.compile(r"\b(bertlens(?:\.[a-z_]+)+)\.0")  # a module whose name an f-string computes
COMMAND = re.compile(r"^bertlens$|-m bertlens\b|^\s*bertlens [a-z]")


@cache
def modules() -> dict[str, Path]:
    """Dotted name, as it is imported -> file: of the package, the tests and the notebooks' studies."""
    paths = {f"bertlens.{name}".rstrip("."): path for name, path in layers.modules().items()}
    for folder, files in (("tests", "**/*.py"), ("notebooks", "studies/*.py")):
        for path in sorted((ROOT / folder).glob(files)):
            paths[".".join(path.relative_to(ROOT / folder).with_suffix("").parts)] = path
    return paths


@cache
def homes() -> dict[Path, str]:
    return {path: name for name, path in modules().items()}


@cache
def is_package(name: str) -> bool:
    return name in modules() and modules()[name].name == "__init__.py"


@cache
def tree(path: Path) -> ast.Module:
    package = layers.PACKAGE in path.parents
    return layers.trees()[homes()[path].partition(".")[2]] if package else ast.parse(path.read_text(encoding="utf-8"))


@cache
def lazy_names(package: str) -> dict[str, str]:
    """Name -> where it comes from, of what a package imports when it is first used."""
    lines = (line for block in tree(modules()[package]).body if isinstance(block, ast.If) for line in block.body)
    return imported(ast.Module(list(lines), []), package)


def whole(module: str) -> list[str]:
    """A module and, of a package, all that is in it."""
    return [module, *(name for name in modules() if is_package(module) and name.startswith(f"{module}."))]


def imported(code: ast.AST, home: str) -> dict[str, str]:
    """Local name -> dotted name, of all imports in a piece of code of the module `home`; the last one of a name."""
    return dict(imports(code, home))


def imports(code: ast.AST, home: str) -> Iterator[tuple[str, str]]:
    """Local name and dotted name of each import: functions may give one name to several things."""
    parents = home.split(".") if is_package(home) else home.split(".")[:-1]
    for node in executed(code):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.asname or alias.name.split(".")[0], alias.name
        elif isinstance(node, ast.ImportFrom):
            above = parents[: len(parents) - node.level + 1] if node.level else []
            for alias in node.names:
                yield alias.asname or alias.name, ".".join([*above, *filter(None, [node.module]), alias.name])


@cache
def resolved(dotted: str) -> str:
    """The module that a dotted name leads to, "" for one that is not of this repository."""
    at, *parts = dotted.split(".")
    for part in parts if at in OWN else ():
        if is_package(at) and lazy_names(at).get(part, f"{at}.{part}") != f"{at}.{part}":
            at = resolved(lazy_names(at)[part])
        elif f"{at}.{part}" in modules() or at not in modules():
            at = f"{at}.{part}"
        else:
            break
    return at if at in modules() else ""


@cache
def executed(code: ast.AST) -> list[ast.AST]:
    """The nodes of a piece of code but those that stand there for types alone."""
    nodes = [code]
    for node in nodes:
        children = ast.iter_child_nodes(node)
        nodes += [one for one in children if not isinstance(one, ast.If) or ast.unparse(one.test) != "TYPE_CHECKING"]
    return nodes


@dataclass
class Mentions:
    """What a place names: modules, attributes of anything, parameters, and words and patterns in its strings.

    runs_code: what its strings hold as code is run. Of the package's own strings it is shown.
    """

    runs_code: bool
    modules: set[str] = field(default_factory=set)
    attributes: set[str] = field(default_factory=set)
    parameters: set[str] = field(default_factory=set)
    words: set[str] = field(default_factory=set)

    def read(self, code: ast.AST, known: Mapping[str, str]) -> None:
        """Add what a piece of code names. known: local name -> dotted name."""
        bases = set()  # names that only lead to an attribute
        for node in executed(code):
            if isinstance(node, ast.Attribute):
                chain = ast.unparse(node)
                if re.fullmatch(r"[\w.]+", chain) and (first := chain.split(".")[0]) in known:
                    self.modules.add(resolved(".".join([known[first], *chain.split(".")[1:]])))
                self.attributes.add(node.attr)
                bases.add(node.value)
            elif isinstance(node, ast.Name):
                if node.id in known and node not in bases:
                    self.attributes.add(node.id)
                    module = resolved(known[node.id])
                    self.modules.update(whole(module) if module == known[node.id] else [module])  # a package handed on
            elif isinstance(node, ast.arg):
                self.parameters.add(node.arg)
            elif isinstance(node, ast.JoinedStr):
                text = "".join(str(part.value) if isinstance(part, ast.Constant) else "0" for part in node.values)
                self.read_text(text)
                self.modules.update(*(whole(resolved(name)) for name in COMPUTED.findall(text)))
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                self.read_text(node.value)

    def read_text(self, text: str) -> None:
        """Add what a string names: code, a module, the command, a file or a pattern of files."""
        if not re.search(r"\s", text):
            self.words.update(text.split("/"))
        if not self.runs_code or not CODE.search(text):
            return
        if COMMAND.search(text):
            self.modules.add("bertlens.cli")
        self.modules.update(resolved(f"bertlens{chain}") for chain in CODE.findall(text))
        if "import " not in text and "bl." not in text:
            return
        try:
            code = ast.parse(textwrap.dedent(text))
        except SyntaxError:
            return
        if any(isinstance(node, ast.Import | ast.ImportFrom | ast.Attribute) for node in ast.walk(code)):
            known = {"bl": "bertlens"} | imported(code, "")
            self.modules.update(resolved(name) for name in known.values())
            self.read(code, known)


@dataclass(frozen=True)
class Place:
    """A file, or one fixture of a conftest."""

    path: Path
    fixture: str = ""


@cache
def mentions(place: Place) -> Mentions:
    """What a place names."""
    home = homes().get(place.path, "")
    found = Mentions(not home.startswith("bertlens"))
    if place.path.suffix == ".ipynb":
        for cell in json.loads(place.path.read_text(encoding="utf-8"))["cells"]:
            if cell["cell_type"] == "code":
                found.read_text("import bertlens as bl\n" + re.sub(r"^[%!]", "#", "".join(cell["source"]), flags=re.M))
        return found
    known = imported(tree(place.path), home)
    if place.fixture:
        for line in tree(place.path).body:
            if getattr(line, "name", "") == place.fixture:
                found.read(line, known)
        return found
    for _, name in imports(tree(place.path), home):
        parts = name.split(".")[:-1]  # a package may give a name of another one
        found.modules.update(
            [resolved(name), *filter(is_package, (".".join(parts[:n]) for n in range(2, len(parts) + 1)))]
        )
    if home != "bertlens":  # its strings are those of `registered`
        found.read(tree(place.path), known)
    return found


@cache
def called() -> dict[str, dict[str, set[str]]]:
    """Module -> function of it that asks base/registered.py, or calls one that does -> the modules of what it gets."""
    text = layers.modules()[""].read_text(encoding="utf-8")
    registered = {name: resolved(f"bertlens{module}.{function}") for name, module, function in REGISTERED.findall(text)}
    found: dict[str, dict[str, set[str]]] = {}
    for module, name in layers.calls():
        functions = [node for node in ast.walk(layers.trees()[module]) if isinstance(node, ast.FunctionDef)]
        asking = {f.name for f in functions if f'registered("{name}")' in ast.unparse(f).replace("'", '"')}
        while more := {f.name for f in functions if calls_any(f, asking)} - asking:
            asking |= more
        for function in asking:
            found.setdefault(f"bertlens.{module}", {}).setdefault(function, set()).add(registered[name])
    return found


def calls_any(function: ast.FunctionDef, names: set[str]) -> bool:
    functions = (node.func for node in ast.walk(function) if isinstance(node, ast.Call))
    return not names.isdisjoint(getattr(at, "attr", getattr(at, "id", "")) for at in functions)


@cache
def next_to(place: Place) -> frozenset[Place]:
    """Where a place leads to."""
    return frozenset(leads(place))


def leads(place: Place) -> Iterator[Place]:
    """The places themselves, some more than once."""
    found = mentions(place)
    names = set(found.modules)
    own = called().get(homes().get(place.path, ""), {})  # these are called by who has its objects
    for functions in called().values():
        names.update(*(functions[name] for name in (functions.keys() & found.attributes) - own.keys()))
    for name in filter(None, names):
        yield Place(modules()[name])
        parts = name.split(".")
        yield from (Place(modules()[above]) for n in range(1, len(parts)) if is_package(above := ".".join(parts[:n])))
    if "*.ipynb" in found.words:
        yield from map(Place, sorted((ROOT / "notebooks").glob("*.ipynb")))
    if place.path.is_relative_to(ROOT / "tests"):
        for folder in place.path.relative_to(ROOT).parents:
            conftest = ROOT / folder / "conftest.py"
            if conftest.exists() and conftest != place.path:
                named = fixtures(conftest) & (found.parameters | found.words)
                yield from (Place(conftest, name) for name in named | automatic(conftest))


@cache
def fixtures(conftest: Path) -> set[str]:
    return {line.name for line in tree(conftest).body if isinstance(line, ast.FunctionDef | ast.ClassDef)}


@cache
def automatic(conftest: Path) -> set[str]:
    """What a conftest does for every test: hooks, and fixtures that nobody names."""
    return {name for name in fixtures(conftest) if name.startswith("pytest_")} | {
        line.name
        for line in tree(conftest).body
        if isinstance(line, ast.FunctionDef) and any("autouse" in ast.unparse(one) for one in line.decorator_list)
    }


@cache
def graph() -> dict[Path, dict[Place, int]]:
    """Of each test file, `distances`."""
    gc.disable()  # a collection looks at all syntax trees again
    try:
        return {test: distances(test) for test in test_files()}
    finally:
        gc.enable()


def distances(test: Path) -> dict[Place, int]:
    """How many steps a test file is from each place that it leads to, itself among them."""
    steps = {Place(test): 0}
    for place in (queue := list(steps)):
        for other in next_to(place):
            if other not in steps:
                steps[other] = steps[place] + 1
                queue.append(other)
    return steps


def is_named_in(place: Place, path: Path) -> bool:
    """Whether a place names a file that is no module, a folder of it, or a pattern that its name fits.

    What the package names is in it.
    """
    if path.parts[0] != "bertlens" and place.path.is_relative_to(layers.PACKAGE):
        return False
    words = mentions(place).words
    parts = {path.name, *path.parts[:-1]} - {"bertlens", "tests"}
    return not parts.isdisjoint(words) or any(path.match(word) for word in words if word[:2] == "*.")


def picked(changed: Iterable[str]) -> dict[Path, int]:
    """The test files that files of the repository, by their paths, can reach -> in how many steps, nearest first."""
    paths = [Path(path) for path in changed]
    code = {ROOT / path for path in paths if path.suffix in (".py", ".ipynb")}
    others = [path for path in paths if path.suffix != ".py"]
    naming = {place for place in places() if any(is_named_in(place, path) for path in others)} if others else set()
    found = {}
    for test, places_of in graph().items():
        steps = [n for place, n in places_of.items() if place.path in code]
        steps += [n + 1 for place, n in places_of.items() if place in naming]
        if any(path.name in EVERYTHING for path in paths):
            steps.append(FAR)
        if steps:
            found[test] = min(steps)
    return dict(sorted(found.items(), key=lambda pair: pair[1]))


def test_files() -> list[Path]:
    return [path for folder in TESTS for path in sorted((ROOT / folder).rglob("test_*.py"))]


@cache
def places() -> set[Place]:
    """All that any test file leads to."""
    return set().union(*graph().values())


if __name__ == "__main__":
    for test, n in picked(sys.argv[1:]).items():
        print(n, test.relative_to(ROOT))
