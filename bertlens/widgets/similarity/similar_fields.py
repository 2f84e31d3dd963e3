"""What a page is told of two texts and the number between them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from typing_extensions import NotRequired, TypedDict

from ...base.wire import Float32

TokenKind = Literal["", "template", "prompt", "added"]  # the text's own; added by the model behind a query


class TextSide(TypedDict):
    text: str
    read: str  # with its prompt
    tokens: list[str]
    words: list[list[int]]  # their tokens; a template token is one of its own
    names: list[str]  # of words
    special: list[bool]
    own: list[bool]  # tokens of the text, not of its template or prompt


class SharedWord(TypedDict):
    """A word that both vectors have; pairs are of text a and text b."""

    word: str
    part: float
    weights: tuple[float, float]
    at: tuple[int, int]  # the tokens that made the weights, or most of them
    expansion: tuple[bool, bool]  # whether the text does not contain it


class VocabularyWords(TypedDict):
    said: str
    words: list[SharedWord]  # the largest parts first


class LateFields(TypedDict):
    """Of the n tokens of the query that are scored, and the m of the passage."""

    scored: tuple[list[int], list[int]]  # their places
    kinds: tuple[list[TokenKind], list[TokenKind]]  # of all tokens
    best: list[int]  # which of the m
    cosines: Annotated[Any, list[float]]
    parts: Annotated[Any, list[float]]  # they sum to the number
    normal: bool  # products are cosines


class SimilarFields(TypedDict):
    sides: tuple[TextSide, TextSide]
    tasks: tuple[str, str]
    function: str
    value: float
    why_not: str  # why it is no sum of pairs
    splits: list[str]  # that there are: "output", by vectors of the last layer, "input", by tokens that went in
    notes: list[str]
    runs: int  # that taking each word out costs
    removable: str  # why no word can be taken out, "" where they can
    terms: NotRequired[list[tuple[str, float]]]  # the first is the sum of `pairs`
    gap: NotRequired[float]
    vocabulary: NotRequired[VocabularyWords]  # of a sparse encoder
    late: NotRequired[LateFields]  # of late interaction


class SimilarArrays(TypedDict):
    """(tokens of a, tokens of b), with biases last where there are any; of late interaction the products (n, m)."""

    pairs: NotRequired[Float32]
