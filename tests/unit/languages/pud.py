"""Sentences of nine languages, each a translation of the others, from the treebanks of PUD."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from bertlens.base.text_lines import opened
from bertlens.survey.treebank import trees

LANGUAGES = ("ar", "de", "en", "hi", "ko", "ru", "th", "tr", "zh")


def path(data: Path, language: str) -> Path:
    english = data / "ud_english" / "en_pud-ud-test.conllu"
    return english if language == "en" else data / "pud_world" / f"{language}_pud-ud-test.conllu.gz"


@cache
def sentences(data: Path, language: str) -> dict[str, str]:
    """Id -> text, of a thousand."""
    with opened(path(data, language)) as lines:
        return {tree.metadata["sent_id"]: tree.metadata["text"] for tree, _ in trees(lines)}


def few(data: Path, language: str, count: int = 3, start: int = 0) -> list[str]:
    """Short ones, of 30 to 110 letters in English and at the same places in the others."""
    english = sentences(data, "en")
    names = [name for name, text in english.items() if 30 <= len(text) <= 110]
    return [sentences(data, language)[name] for name in names[start : start + count]]
