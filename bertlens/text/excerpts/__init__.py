"""Excerpts of two books in the public domain, for examples that need English prose. README.md names the editions."""

from __future__ import annotations

import re
from pathlib import Path

BOOKS = {"Arthur Conan Doyle": "doyle.txt", "Jerome K. Jerome": "jerome.txt"}  # author -> file
_END = re.compile(r"(?<=[.!?])(?<!Mr\.)(?<!Mrs\.)(?<!Dr\.)(?<!St\.)\s+(?=[A-Z])")


def paragraphs() -> dict[str, list[str]]:
    """Author -> paragraphs of his book, in its order: of each author more than 100, of 250 to 620 characters."""
    folder = Path(__file__).parent
    return {author: (folder / name).read_text(encoding="utf-8").splitlines() for author, name in BOOKS.items()}


def sentences() -> dict[str, list[str]]:
    """Author -> the sentences of his paragraphs that hold no quotation marks, in their order, split at . ! and ?."""
    return {
        author: [s for text in texts for s in _END.split(text) if not set(s) & set("“”‘") and s[-1] in ".!?"]
        for author, texts in paragraphs().items()
    }
