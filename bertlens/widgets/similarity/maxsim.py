"""The MaxSim of two texts as a page is told: tokens that are scored, all products, and each one's best."""

from __future__ import annotations

from collections.abc import Sequence

from ...sentences.late_interaction import LateSimilarity, tokens_reading
from ...sentences.text_pair import Side
from ...trace.provenance import visible
from .similar_fields import SimilarArrays, SimilarFields, TextSide, TokenKind

NAMES = {"maxsim": "MaxSim", "meanmaxsim": "MeanMaxSim"}
NO_SPLIT = (
    "a late-interaction score has no such numbers: it is the sum of what each token of the query finds in the passage, "
    "which bl.similarity(lens, a, b).matches() lists"
)


def told(pair: LateSimilarity) -> tuple[SimilarFields, SimilarArrays]:
    """As `similarity_panel.told`, and `late`."""
    table = pair.matches()
    a, b = pair.sides
    scored = [[at for at, is_in in enumerate(tokens_reading(side).scored) if is_in] for side in (a, b)]
    places = {at: n for n, at in enumerate(scored[1])}
    fields: SimilarFields = {
        "sides": (_side(a, pair.names[0]), _side(b, pair.names[1])),
        "tasks": (a.task or "", b.task or ""),
        "function": NAMES[pair.function],
        "value": pair.value,
        "why_not": "",
        "splits": [],
        "notes": list(pair.notes),
        "runs": 0,
        "removable": "",
        "gap": pair.gap,
        "late": {
            "scored": (scored[0], scored[1]),
            "kinds": (_kinds(a), _kinds(b)),
            "best": [places[at] for at in table["best_at"]],
            "cosines": table["cosine"].tolist(),
            "parts": table["part"].tolist(),
            "normal": pair.is_normal,
        },
    }
    return fields, {"pairs": pair.products().to_numpy("float32")}


def _side(side: Side, names: Sequence[str]) -> TextSide:
    kinds, tokens = _kinds(side), [visible(name) for name in names]
    return {
        "text": side.reading.text[len(side.reading.prompt) :],
        "read": side.reading.text,
        "tokens": tokens,
        "words": [[at] for at in range(len(tokens))],
        "names": tokens,
        "special": [kind == "template" for kind in kinds],
        "own": [kind == "" for kind in kinds],
    }


def _kinds(side: Side) -> list[TokenKind]:
    special = side.encoding.special
    kinds: list[TokenKind] = [
        "" if side.is_of_text([at]) else "template" if special[at] else "prompt" for at in range(len(special))
    ]
    added: list[TokenKind] = ["added"]
    return kinds + added * (len(tokens_reading(side).all_ids) - len(kinds))
