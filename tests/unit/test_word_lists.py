"""What comments and docstrings name is there: the parameters and columns that they explain, and the files."""

from __future__ import annotations

import ast
import io
import re
import subprocess
import tokenize
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

import layers
from bertlens.base.vocabulary.widget_state import TRAITS

ROOT = Path(__file__).resolve().parents[2]
WORD = r"\*{0,2}[a-z_]\w*"
EXPLAINED = re.compile(rf" *({WORD}(?:, {WORD})*):(?=\s)")
LISTED = re.compile(r"\(([^()]*,[^()]*)\)|Columns:([^.]*)\.")  # DataFrame(layer, head, …), (mean, low, high)
ANYWHERE = {"attrs", *(trait.name for trait in TRAITS)}  # of a table, and what views take by name
PATH = re.compile(r"(?<![\w/.*{])((?:[\w-]+/)*[\w-]+\.(?:py|tsx?))\b(?![\w/(])")
OF_A_NOTEBOOK = {"checks/NAME.py"}


def explained(text: str) -> set[str]:
    """The words that a docstring explains, each at the start of a line that begins a sentence."""
    lines = ["", *text.split("\n")]
    found = set()
    for before, line in pairwise(lines):
        match = EXPLAINED.match(line)
        if match and (not before.strip() or before.rstrip()[-1] in ".:;)"):
            found |= {word.strip("*") for word in match[1].split(", ")}
    return found


def owned(node: ast.AST, text: str) -> set[str]:
    """What a docstring of this function or class may explain: parameters, fields, methods, names in its strings, and
    what a list in parentheses says is returned."""
    inner = list(ast.walk(node))
    names = {one.arg for one in inner if isinstance(one, ast.arg)}
    names |= {one.value for one in inner if isinstance(one, ast.Constant) and isinstance(one.value, str)}
    if isinstance(node, ast.ClassDef):
        names |= {
            one.target.id for one in node.body if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name)
        }
        names |= {one.attr for one in inner if isinstance(one, ast.Attribute)}
        names |= {one.name for one in node.body if isinstance(one, ast.FunctionDef)}
    return names | {
        word for lists in LISTED.findall(text) for words in lists for word in re.findall(r"[a-z_]\w*", words)
    }


def missing(tree: ast.Module) -> Iterator[str]:
    """`function: word` of what is explained and is not there."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and (text := ast.get_docstring(node)):
            for word in sorted(explained(text) - owned(node, text) - ANYWHERE):
                yield f"{node.name}: {word}"


def test_what_a_docstring_explains_is_a_parameter_or_a_column() -> None:
    assert [f"{name}.{lack}" for name, tree in layers.trees().items() for lack in missing(tree)] == []


@pytest.mark.parametrize(
    ("code", "lacks"),
    [
        ("def f(cap):\n    '''What it is.\n\n    most: no effect is larger.\n    '''", ["f: most"]),
        ("def f(cap):\n    '''What it is.\n\n    cap: no effect is larger.\n    '''", []),
        ("def f():\n    '''(mean, low) of values.\n\n    mean, low: in texts.\n    high: too.\n    '''", ["f: high"]),
        ("def f():\n    '''A sentence that goes on to\n    them: so it does.\n    '''", []),
        ("class C:\n    '''A record.\n\n    size: in bytes.\n    place: of it.\n    '''\n    size: int", ["C: place"]),
    ],
)
def test_words_that_are_not_there_are_seen(code: str, lacks: list[str]) -> None:
    assert list(missing(ast.parse(code))) == lacks


def comments(path: Path) -> Iterator[str]:
    """Comments and docstrings of a file of code."""
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".py":
        yield from re.findall(r"/\*.*?\*/|(?<!:)//[^\n]*", text, re.DOTALL)
        return
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    yield from (token.string for token in tokens if token.type == tokenize.COMMENT)
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Module | ast.FunctionDef | ast.ClassDef):
            yield ast.get_docstring(node) or ""


def test_a_path_in_a_comment_is_that_of_a_file() -> None:
    """From the root, or the end of one: `trust.py`, `run/trust.py`."""
    listing = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True)
    if listing.returncode:
        pytest.skip("not a git checkout: the list of tracked files is unknown")
    files = [name for name in listing.stdout.split("\0") if (ROOT / name).is_file()]
    ends = {name.split("/", n)[-1] for name in files for n in range(name.count("/") + 1)} | OF_A_NOTEBOOK
    named = {
        (name, path)
        for name in files
        if name.endswith((".py", ".ts", ".tsx", ".css", ".mjs"))
        if PATH.search((ROOT / name).read_text(encoding="utf-8"))  # soon said, and a comment is a part of it
        for comment in comments(ROOT / name)
        for path in PATH.findall(comment)
    }
    assert ("tests/browser/tabs/test_why.py", "tests/unit/measures/test_sources.py") in named
    assert [(name, path) for name, path in sorted(named) if path not in ends] == []
