"""The table of limits of a text: the only place for them, and nothing in it that nobody reads."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from bertlens.base.limits import LIMITS, within

ROOT = Path(__file__).resolve().parents[3]
PYTHON = {path: path.read_text(encoding="utf-8") for path in (ROOT / "bertlens").rglob("*.py")}
PAGE = [path.read_text(encoding="utf-8") for path in (ROOT / "js" / "src").rglob("*.ts*")]


def test_no_other_file_has_a_limit_of_a_text() -> None:
    named = re.compile(r"^(?!LEAST)(?:\w*_TOKENS|MOST_HELD|LONG)\b.*=", re.MULTILINE)
    said = re.compile(r"^[A-Z_]+ = [\d_]+  # .*\btokens? of a text", re.MULTILINE)
    found = {
        (path.name, hit.group())
        for path, text in PYTHON.items()
        if path.name != "phrases.py"  # sentences
        for hit in (*named.finditer(text), *said.finditer(text))
    }
    assert found == set()
    in_page = re.compile(r"const (?!LEAST|SEVERAL)(?:\w*_TOKENS|MOST_HELD|LONG)\b")
    assert not [hit for text in PAGE for hit in in_page.findall(text)]


@pytest.mark.parametrize("name", LIMITS)
def test_every_limit_is_read_and_explained(name: str) -> None:
    asked = any(
        re.search(rf'(within\([^)]*|LIMITS\[)"{name}"', text)
        for path, text in PYTHON.items()
        if path.name != "limits.py"
    )
    assert asked or any(f"LIMITS.{name}" in text for text in PAGE)
    limit = LIMITS[name]
    assert limit.what and limit.why and limit.tokens > 0
    assert within(name, 1, limit.tokens) and not within(name, 1, limit.tokens + 1)
