"""The MaxSim of two texts as a page is told: tokens that are scored, all products, and each one's best."""

from __future__ import annotations

from ...sentences.late_interaction import LateSimilarity, tokens_reading
from ...sentences.text_pair import Side
from ...trace.provenance import visible
from ..records import Answer

NAMES = {"maxsim": "MaxSim", "meanmaxsim": "MeanMaxSim"}
NO_SPLIT = (
    "a late-interaction score has no such numbers: it is the sum of what each token of the query finds in the passage, "
    "which bl.similarity(lens, a, b).matches() lists"
)


def told(pair: LateSimilarity) -> Answer:
    """As `similarity_panel.told`, and `late`: js/src/tabs/similarity/maxsim.ts. Array pairs: the products, (n, m)."""
    table = pair.matches()
    scored = [[at for at, is_in in enumerate(tokens_reading(side).scored) if is_in] for side in pair.sides]
    places = {at: n for n, at in enumerate(scored[1])}
    fields = {
        "sides": [
            {
                "text": side.reading.text[len(side.reading.prompt) :],
                "read": side.reading.text,
                "tokens": [visible(name) for name in names],
                "words": [[at] for at in range(len(names))],
                "names": [visible(name) for name in names],
                "special": [kind == "template" for kind in kinds],
                "own": [kind == "" for kind in kinds],
            }
            for side, names, kinds in zip(pair.sides, pair.names, map(_kinds, pair.sides), strict=True)
        ],
        "tasks": [side.task or "" for side in pair.sides],
        "function": NAMES[pair.function],
        "value": pair.value,
        "why_not": "",
        "splits": [],
        "notes": list(pair.notes),
        "runs": 0,
        "removable": "",
        "gap": pair.gap,
        "late": {
            "scored": scored,
            "kinds": [_kinds(side) for side in pair.sides],
            "best": [places[at] for at in table["best_at"]],
            "cosines": table["cosine"].tolist(),
            "parts": table["part"].tolist(),
            "normal": pair.is_normal,
        },
    }
    return fields, {"pairs": pair.products().to_numpy("float32")}


def _kinds(side: Side) -> list[str]:
    """Of each token: "" the text's own, "template", "prompt", "added" by the model behind a query."""
    special = side.encoding.special
    kinds = ["" if side.is_of_text([at]) else "template" if special[at] else "prompt" for at in range(len(special))]
    return [*kinds, *["added"] * (len(tokens_reading(side).all_ids) - len(kinds))]
