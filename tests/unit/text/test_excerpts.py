"""The excerpts that come with the package."""

from __future__ import annotations

import csv
import gzip
from pathlib import Path

import pytest

from bertlens.text import excerpts


def test_they_are_small_and_long_enough() -> None:
    folder = Path(excerpts.__file__).parent
    assert sum((folder / name).stat().st_size for name in excerpts.BOOKS.values()) <= 100_000
    texts, single = excerpts.paragraphs(), excerpts.sentences()
    assert list(texts) == list(single) == ["Arthur Conan Doyle", "Jerome K. Jerome"]
    for author in texts:
        assert len(texts[author]) > 100 and all(250 <= len(text) <= 620 for text in texts[author])
        assert len(single[author]) > 200 and all(text == text.strip() for text in single[author])
        assert all(any(one in text for text in texts[author]) for one in single[author])
        assert author in (folder / "README.md").read_text(encoding="utf-8")


@pytest.mark.data
def test_they_are_of_books_in_the_public_domain(data: Path) -> None:
    books = data / "text" / "books"
    with (books / "manifest.tsv").open(encoding="utf-8") as file:
        rows = {row["title"]: row for row in csv.DictReader(file, delimiter="\t")}
    for title, author in (
        ("The Adventures of Sherlock Holmes", "Arthur Conan Doyle"),
        ("Three Men in a Boat", "Jerome K. Jerome"),
    ):
        row = rows[title]
        assert (row["author"], row["licence"]) == (author, "CC0-1.0")
        first, count = int(row["first_line"]) - 1, int(row["lines"])
        lines = gzip.decompress((books / row["shard"]).read_bytes()).decode().split("\n")[first : first + count]
        assert set(excerpts.paragraphs()[author]) <= set(lines)
