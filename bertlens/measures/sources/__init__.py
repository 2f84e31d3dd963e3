"""Why does a head look there: a score, split exactly by where it came from.

Every number that is read off the residual stream is a sum over what was added to the stream: word, position and type
embeddings, each earlier head, each earlier MLP, and vectors that every token is given alike (biases). LayerNorms keep
the deviations of the run, so they are linear; what is read is pulled back through them (pull.py).

The pull-back, and gates that open MLPs, are bertlens' own; see for related splits: of vectors, Mickus et al. 2022
(2206.03529) and Modarressi et al. 2023 (DecompX, 2306.02873); of the first layer's scores, Ke et al. 2021 (TUPE,
2006.15595). The factor act(s)/s is DecompX' (section 3.2).
"""

from .bilinear import GROUPS, Maps, Pair, groups, kind_pairs, map_shares, maps, pairs
from .head_score import SIDES, score, visible_keys
from .logits import label, logit, logits_read
from .pull import Reading
from .push import POOLINGS, similarity
from .score_terms import score_terms, term_kind
from .split import KINDS, NEAR_ZERO, Row, Sources, fetched_most, neurons, tokens
from .stream import Stream, requirements

__all__ = [
    "GROUPS",
    "KINDS",
    "NEAR_ZERO",
    "POOLINGS",
    "SIDES",
    "Maps",
    "Pair",
    "Reading",
    "Row",
    "Sources",
    "Stream",
    "fetched_most",
    "groups",
    "kind_pairs",
    "label",
    "logit",
    "logits_read",
    "map_shares",
    "maps",
    "neurons",
    "pairs",
    "requirements",
    "score",
    "score_terms",
    "similarity",
    "term_kind",
    "tokens",
    "visible_keys",
]
