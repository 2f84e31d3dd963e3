"""The words of the vocabulary that two vectors of a sparse encoder have, as a page is told."""

from __future__ import annotations

from ...base.quotes import quotation
from ...sentences.sparse_similarity import SparseSimilarity
from ...sentences.text_pair import SIDES
from ...trace.provenance import visible
from .similar_fields import SharedWord, VocabularyWords

SPLIT = (
    "Split by the tokens that made the weights of words in either vector; a token’s logits hold what it took in of its "
    "text."
)
SHARED, BROUGHT = 60, 8  # words that are listed: of both vectors, of one that its text does not contain


def words_told(pair: SparseSimilarity) -> VocabularyWords:
    """Of both vectors; said in sentences."""
    sentences = [pair.said, *(_brought(pair, side) for side in SIDES)]
    if not pair.splits:
        return {"said": " ".join(sentences[1:]), "words": []}
    table = pair.words()
    rows: list[SharedWord] = [
        {
            "word": visible(row.word),
            "part": row.part,
            "weights": (row.weight_a, row.weight_b),
            "at": (row.at_a, row.at_b),
            "expansion": (row.expansion_a, row.expansion_b),
        }
        for row in table.head(SHARED).itertuples()
    ]
    if count := len(table) - len(rows):
        sentences.insert(
            1, f"Listed are the first {SHARED}; the other {count:,} put in {table['part'][SHARED:].sum():.3f}."
        )
    return {"said": " ".join([SPLIT, *sentences]), "words": rows}


def _brought(pair: SparseSimilarity, side: str) -> str:
    """What a text's vector has beside its own words, and which token brings it."""
    vector = pair.vector(side)
    table = vector[vector["expansion"]]
    if not len(vector):
        return f"Text {side}’s vector has no word at all."
    if not len(table):
        return f"Text {side}’s vector has no word that the text does not contain."
    listed = table.head(BROUGHT)
    named = ", ".join(
        f"{quotation(visible(word))} {weight:.3f} by {quotation(visible(token))}"
        for word, weight, token in listed[["word", "weight", "token"]].itertuples(index=False)
    )
    largest = f", the largest {len(listed)}" if len(table) > len(listed) else ""
    count = "1 word" if len(vector) == 1 else f"{len(vector):,} words"
    return f"Of the {count} of text {side}’s vector the text does not contain {len(table):,}{largest}: {named}."
