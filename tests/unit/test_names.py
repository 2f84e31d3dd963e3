"""Names are nouns of the field: how many that are assigned say nothing, and which names stand for two things."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ACTS = "found made kept held said told given asked shown known wanted taken seen carried gathered drawn read written"
ENDS = "begun done left chosen counted"
AMOUNTS = "rest most least few own each every one other others whole part parts both either all some many any more less"
PLACES = "apart beside here there first last before after again near far same alike new"
THINGS = "result results data value values item items info output outputs thing things temp tmp res ret val obj stuff"
VAGUE = {*f"{ACTS} {ENDS} {AMOUNTS} {PLACES} {THINGS}".split()}
ASSIGNED = re.compile(r"\b(?:const|let|var)\s+([A-Za-z_$][\w$]*)")
UNPACKED = re.compile(r"\b(?:const|let)\s*[\[{]([^=;]*?)[\]}]\s*=")


def python_files() -> Iterator[Path]:
    yield from (ROOT / "bertlens").rglob("*.py")


def typescript_files() -> Iterator[Path]:
    folders = (path for path in (ROOT / "js" / "src").rglob("*.ts*") if "generated" not in path.parts)
    yield from folders


def python_names() -> Counter[str]:
    """But keys of answers: nothing is assigned to what a TypedDict declares."""
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in python_files()]
    for tree in trees:
        tree.body = [node for node in tree.body if not is_typed_dict(node)]
    nodes = (node for tree in trees for node in ast.walk(tree))
    return Counter(node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store))


def is_typed_dict(node: ast.stmt) -> bool:
    return isinstance(node, ast.ClassDef) and any(ast.unparse(base) == "TypedDict" for base in node.bases)


def typescript_names() -> Counter[str]:
    names: Counter[str] = Counter()
    for path in typescript_files():
        text = path.read_text(encoding="utf-8")
        names.update(ASSIGNED.findall(text))
        for group in UNPACKED.findall(text):
            names.update(name.split(":")[-1].split("=")[0].strip() for name in group.split(","))
    return Counter({name: n for name, n in names.items() if re.fullmatch(r"[A-Za-z_$][\w$]*", name)})


def share(names: Counter[str]) -> float:
    return sum(names[word] for word in VAGUE) / sum(names.values())


def test_names_say_what_they_are() -> None:
    """The allowances only fall: who names things well lowers them."""
    assert share(python_names()) <= 0.04 and share(typescript_names()) <= 0.025


def test_a_class_has_a_name_of_its_own() -> None:
    classes = Counter(
        node.name
        for path in python_files()
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.ClassDef)
    )
    assert [name for name, n in classes.items() if n > 1] == []


def test_few_files_share_a_name() -> None:
    twice = []
    for files in (python_files(), typescript_files()):
        stems = Counter(path.stem for path in files if path.stem not in ("__init__", "index"))
        twice += [stem for stem, n in stems.items() if n > 1]
    assert len(twice) <= 20, sorted(twice)
