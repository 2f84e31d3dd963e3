"""The lines of code of each ability: tests/line_budgets.toml says which files are whose, and how many lines they have.

A line of code is one that is neither blank, nor of a comment or a docstring alone. `python tests/line_budgets.py`
prints the table. Where an ability has grown on purpose, its number is written anew, with the reason beside it.
"""

from __future__ import annotations

import ast
import io
import subprocess
import tokenize
from collections import Counter, defaultdict
from functools import cache
from pathlib import Path
from typing import Any

import tomllib  # Python 3.11

ROOT = Path(__file__).resolve().parents[1]
BUDGETS = ROOT / "tests" / "line_budgets.toml"
GROWTH = 0.1  # over its lines by no more than this
PRODUCT = ("bertlens/", "js/src/")
TESTS = ("tests/", "js/tests/")
KINDS = {
    ".py": "Python",
    ".ts": "TypeScript",
    ".tsx": "TypeScript",
    ".css": "CSS",
    ".jinja": "templates",
    ".wat": "WebAssembly",
}
GENERATED = ("js/src/generated/",)
NO_CODE = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)


def python_lines(text: str) -> int:
    """Lines of code of a module."""
    docs: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and ast.get_docstring(
            node
        ):
            first = node.body[0]
            docs.update(range(first.lineno, (first.end_lineno or first.lineno) + 1))
    code: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in NO_CODE:
            code.update(range(token.start[0], token.end[0] + 1))
    return len(code - docs)


def page_lines(text: str) -> int:
    """Lines of code of a file whose comments are /* … */ or begin with //."""
    count, inside = 0, False
    for line in map(str.strip, text.splitlines()):
        if inside or line.startswith(("/*", "{/*")):
            inside = "*/" not in line
        else:
            count += bool(line) and not line.startswith("//")
    return count


def files() -> list[str]:
    """The paths of product and tests, from the root, that git knows or would; none in a tree without git."""
    listing = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", *PRODUCT, *TESTS],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    names = {name for name in listing.stdout.split("\0") if Path(name).suffix in KINDS}
    return sorted(name for name in names if (ROOT / name).is_file() and not name.startswith(GENERATED))


@cache
def budgets() -> dict[str, dict[str, Any]]:
    """Ability -> paths, tests, lines, test_lines."""
    return tomllib.loads(BUDGETS.read_text(encoding="utf-8"))


def owner(name: str, homes: dict[str, str]) -> str:
    """The ability with the longest path that a file lies in; "" for none."""
    places = [home for home in homes if name == home or name.startswith(home if home.endswith("/") else f"{home}/")]
    return homes[max(places, key=len)] if places else ""


@cache
def counts() -> dict[str, Counter[str]]:
    """Ability -> lines by kind, those of its tests as "tests"; "" has what is nobody's."""
    homes = {path: name for name, entry in budgets().items() for path in (*entry["paths"], *entry["tests"])}
    lines: dict[str, Counter[str]] = defaultdict(Counter)
    for name in files():
        text, kind = (ROOT / name).read_text(encoding="utf-8"), Path(name).suffix
        count = python_lines(text) if kind == ".py" else page_lines(text)
        lines[owner(name, homes)]["tests" if name.startswith(TESTS) else KINDS[kind]] += count
    return dict(lines)


def over() -> list[str]:
    """What has grown beyond its budget, a line each."""
    lines = []
    for name, entry in budgets().items():
        now = counts().get(name, Counter())
        for kind, count in (("lines", product(now)), ("test_lines", now["tests"])):
            if count > (1 + GROWTH) * entry[kind]:
                lines.append(f"{name}: {kind} were {entry[kind]:,} and are {count:,}: say in {BUDGETS.name} why")
    return lines


def product(lines: Counter[str]) -> int:
    return sum(count for kind, count in lines.items() if kind != "tests")


def table() -> str:
    """Each ability with its lines now, by kind, and what it may have."""
    kinds = (*dict.fromkeys(KINDS.values()), "tests")
    rows = [f"{'ability':14}{''.join(f'{kind:>12}' for kind in kinds)}{'product':>9}{'budget':>8}{'tests':>8}"]
    total: Counter[str] = Counter()
    for name, lines in sorted(counts().items(), key=lambda item: -product(item[1])):
        entry = budgets().get(name, {"lines": 0, "test_lines": 0})
        cells = "".join(f"{lines[kind]:12,}" for kind in kinds)
        rows.append(f"{name:14}{cells}{product(lines):9,}{entry['lines']:8,}{entry['test_lines']:8,}")
        total += lines
    return "\n".join([*rows, f"{'all':14}{''.join(f'{total[kind]:12,}' for kind in kinds)}{product(total):9,}"])


if __name__ == "__main__":
    print(table())
