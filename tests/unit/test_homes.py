"""One of each: what may be called, or be a parent, in its home alone, so that no second one grows elsewhere.

A second cache of answers, dispatcher, page writer, file to go on from or geometry of arcs is refused here by the calls
that it cannot do without. Who has a reason moves the first one to where both can have it; the lists may only shrink.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

# What it is: its call or parent, and the files that hold it: the first is its home, the others are to join it
HOMES = {
    "a page writer: pages are templates of export/templates, rendered in one place": (
        r"\bjinja2\b|<!doctype html",
        "bertlens/export/pages.py",
    ),
    "a dispatcher of a page's messages: widgets/messages/dispatch.py answers": (
        r"\.on_msg\(",
        "bertlens/widgets/widget.py bertlens/search/view/retrieval_view.py",
    ),
    "a widget with a bundle of its own": (
        r"\(.*\bAnyWidget\):",
        "bertlens/widgets/host.py bertlens/widgets/widget.py bertlens/search/view/retrieval_view.py",
    ),
    "a file of arrays, to go on from or to merge: base/arrays_file.py": (
        r"\bsavez\w*\b",
        "bertlens/base/arrays_file.py",
    ),
    "a file that is saved now and then: Autosave of base/arrays_file.py": (
        r"\bAutosave\(",
        "bertlens/base/batch_work.py bertlens/tasks/resume_folder.py",
    ),
    "an interrupt after which what was done counts: partial_work of base/batch_work.py": (
        r"[\"']interrupted",
        "bertlens/base/batch_work.py",
    ),
    "a whole file that takes the place of another: base/atomic.py": (r"\bos\.replace\(", "bertlens/base/atomic.py"),
    "a cache of answers on the page: Answers of kernel/answers.ts": (
        r"\bsignal<Answer|Map<string, (?:Readonly)?Signal<",
        "js/src/kernel/answers.ts",
    ),
    "a listener for what the kernel says: kernel/kernel.ts": (r"\.on\(\"msg:", "js/src/kernel/kernel.ts"),
    "arcs and curves between words: a place for them, a rule of which are drawn": (
        r"`M\s?\$\{[^`]*[CQA]\s?\$\{",
        "js/src/front/sentence/arcs.ts js/src/search/arcs.ts js/src/tabs/similarity/links.tsx"
        " js/src/head/headfigures.tsx js/src/tabs/survey/parse.tsx",
    ),
}


def holders(pattern: str) -> set[str]:
    """The files of the product whose code has it."""
    paths = [*(ROOT / "bertlens").rglob("*.py"), *(ROOT / "js" / "src").rglob("*.ts*")]
    return {path.relative_to(ROOT).as_posix() for path in paths if re.search(pattern, path.read_text(encoding="utf-8"))}


@pytest.mark.parametrize("what", HOMES)
def test_there_is_one_of_each(what: str) -> None:
    pattern, homes = HOMES[what]
    assert holders(pattern) == {*homes.split()}, what


def test_the_lists_become_shorter() -> None:
    assert sum(len(homes.split()) - 1 for _, homes in HOMES.values()) <= 9
