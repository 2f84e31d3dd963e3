"""How long a text may be for what is made of it: what, how many tokens, why. One table for kernel and page.

A longer text has the same in turns, in blocks or in part.
`python -m bertlens.widgets.typescript` writes the page's copy.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Limit:
    """The longest text that something is made of."""

    tokens: int
    what: str
    why: str


LIMITS: dict[str, Limit] = {
    "carried": Limit(64, "maps and splits in a page without a kernel", "they grow with the square of the text"),
    "flow": Limit(64, "attention flow, unless a reader raises it", "it is S² flow problems, each on L · S² pipes"),
    "attributed": Limit(64, "what each token does to the answer: of longer ones on request", "a run for each token"),
    "by_cell": Limit(64, "weight against norm, cell by cell: longer ones key by key", "cells are the text's square"),
    "typed": Limit(128, "a run at every pause of who types: longer ones on Enter", "it is to follow at once"),
    "at_once": Limit(128, "all layers' pictures in the first one: of longer ones on request", "a view is to be there"),
    "even": Limit(128, "what an even row gives: of longer ones next to nothing", "it is what shares are beside"),
    "compared": Limit(128, "the heads of two runs before the first picture", "it waits for them"),
    "all_heads": Limit(128, "all heads off, one at a time: of longer ones on request", "at base size 60 runs"),
    "opening": Limit(128, "the head to open on, of all layers: of longer ones of the first", "the first picture waits"),
    "effects": Limit(192, "what a head, a cell, a token do to the answer: of longer ones on request", "one batch of 4"),
    "faithful": Limit(192, "whether an order of tokens is one of what the model uses", "it takes some 210 runs"),
    "opened": Limit(
        512, "the head to open on, of the first layer: longer ones open on head 0", "a view is there at once"
    ),
    "saved": Limit(512, "in a saved view, what takes work for every layer", "a page is to be written in seconds"),
    "exact": Limit(
        1024, "queries and keys in a saved page to the last bit: of longer ones rounded", "a layer is to fit"
    ),
    "held": Limit(1024, "a map that the page holds: of longer ones the part that is seen", "16 MB each at 2,048"),
    "words": Limit(1024, "which words the answer rests on, in a view", "some methods need every layer's map at once"),
    "similar": Limit(1024, "why two texts are similar, in a view", "the page holds all pairs of tokens"),
    "doubled": Limit(1024, "log-sum-exps from float64 products, then float32", "which takes a third of the time"),
    "spectrum": Limit(1024, "all singular values of a map: of longer texts the leading ones", "the work is S³"),
    "sorted": Limit(
        1535, "rows sorted whole for the keys that hold 90 %, then searched", "which is quicker from there"
    ),
    "layer_map": Limit(2048, "a map of a whole layer in a view", "the page holds all of it, 67 MB at 4,096"),
}

# In a saved page, what each head and each token alone does to the answer: multiplications that its runs may take.
# 7 to 10 s on one core; BERT-base to 24 tokens, MiniLM as far as "carried" goes.
ALONE_WORK = 2e11

# Of all heads off one at a time in a view: BERT-base to 128 tokens, 10 to 20 s on one core.
HEADS_WORK = 1e12

# Of a step of runs, between which a page's other questions are answered: .3 to .5 s on one core.
STEP_WORK = 2e10

# For the band behind the similarity of two texts: 48 sentences. 2 s on one core; BERT-base, MiniLM eight times over.
BAND_WORK = 6e10

# Characters of a text, which are counted before anything is tokenised
TEXT_CHARACTERS = 1_000_000  # at most: tokenizers take some 60 bytes for each, before anything can be cut
PAGE_TEXT_CHARACTERS = 100_000  # that the page sends
PATCH_TEXT_CHARACTERS = 10_000  # to patch from

# What the page reads itself
PAGE = ("carried", "by_cell", "typed", "even", "saved", "held", "effects", "all_heads", "attributed", "faithful")


def within(name: str, *tokens: int) -> bool:
    """Whether texts of so many tokens are short enough."""
    return max(tokens) <= LIMITS[name].tokens
