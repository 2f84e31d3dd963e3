"""The words of the vocabulary that two vectors of a sparse encoder have, as a page is told."""

from __future__ import annotations

from typing import Any

from ...sentences.sparse_similarity import SparseSimilarity
from ...sentences.text_pair import SIDES
from ...trace.provenance import visible

SHARED, BROUGHT = 60, 8  # words that are listed: of both vectors, of one that its text does not contain


def words_told(pair: SparseSimilarity) -> dict[str, Any]:
    """js/src/tabs/similarity/vocabulary.tsx: said, words (of both vectors), others of them together, expansions."""
    if not pair.splits:
        rows, others = [], {"count": 0, "sum": 0.0}
    else:
        table = pair.words()
        rows = [
            {
                "word": visible(row.word),
                "part": row.part,
                "weights": [row.weight_a, row.weight_b],
                "at": [row.at_a, row.at_b],
                "expansion": [row.expansion_a, row.expansion_b],
            }
            for row in table.head(SHARED).itertuples()
        ]
        others = {"count": len(table) - len(rows), "sum": float(table["part"][SHARED:].sum())}
    vectors = [pair.vector(side) for side in SIDES]
    brought = [table[table["expansion"]] for table in vectors]
    return {
        "said": pair.said,
        "words": rows,
        "others": others,
        "expansions": [
            {
                "count": len(table),
                "of": len(vector),
                "words": [
                    {"word": visible(row.word), "weight": row.weight, "at": row.at}
                    for row in table.head(BROUGHT).itertuples()
                ],
            }
            for table, vector in zip(brought, vectors, strict=True)
        ],
    }
