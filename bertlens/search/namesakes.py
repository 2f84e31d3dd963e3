"""Questions that stand in the corpus themselves, as in ArguAna and Quora: none is an answer to itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..text.plain_words import words_of

ALIKE = 0.8  # of the words of two texts, that both have: then one is the other


def namesakes(
    questions: Sequence[tuple[str, str]],
    passages: Sequence[str],
    documents: Sequence[str],
    versions: Sequence[tuple[str, ...]],
    grades: Mapping[str, Mapping[str, int]],
) -> dict[int, tuple[int, ...]]:
    """Question -> the passages that are the question itself, by their places.

    These have its id, or belong to the document of that id, and its words: the same number may stand for both by
    accident. What is judged relevant is an answer. questions: id and text of each; passages, documents: ids of each
    passage and of its document; versions: its texts, with the title and without it, and the title.
    """
    names = {name for name, _ in questions}
    rows: dict[str, list[int]] = {}
    for row, (passage, document) in enumerate(zip(passages, documents, strict=True)):
        for name in {passage, document} & names:
            rows.setdefault(name, []).append(row)
    copies = {}
    for at, (name, text) in enumerate(questions):
        own = rows.get(name, [])
        grade_of = grades.get(name, {})
        if not own or len(own) == len(passages) or any(grade_of.get(documents[row], 0) > 0 for row in own):
            continue
        if any(_are_alike(text, version) for row in own for version in versions[row]):
            copies[at] = tuple(own)
    return copies


def copies_elsewhere(
    questions: Sequence[tuple[str, str]],
    documents: Sequence[str],
    versions: Sequence[tuple[str, ...]],
    grades: Mapping[str, Mapping[str, int]],
    namesakes: Mapping[int, tuple[int, ...]],
) -> list[str]:
    """The ids of judged questions that stand in the corpus word for word, and not as relevant ones: under other ids."""
    by_text: dict[str, list[str]] = {}
    for at, (name, text) in enumerate(questions):
        if at not in namesakes and name in grades:
            by_text.setdefault(text.strip(), []).append(name)
    names = {
        name
        for row, texts in enumerate(versions if by_text else ())
        for text in texts
        for name in by_text.get(text.strip(), ())
        if grades[name].get(documents[row], 0) <= 0
    }
    return [name for name, _ in questions if name in names]


def _plain(text: str) -> str:
    return " ".join(text.split()).casefold()


def _are_alike(text: str, other: str) -> bool:
    if _plain(text) == _plain(other):
        return True
    words, others = {*words_of(text)}, {*words_of(other)}
    return len(words & others) >= ALIKE * max(1, len(words | others))
