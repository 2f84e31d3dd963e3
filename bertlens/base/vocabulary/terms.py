"""Measures, maps of a layer, gates, kinds of token and other terms, with the words that people read for them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ...errors import InputError


@dataclass(frozen=True)
class Word:
    """A name, its label on screen, and one sentence that explains it: unit and source included."""

    name: str  # in code and in saved states
    label: str  # on screen
    about: str  # one sentence: what it is, its unit, its source


def _by_name(words: list[Any]) -> dict[str, Any]:
    return {word.name: word for word in words}


# --- what a head shows ---


@dataclass(frozen=True)
class Measure(Word):
    """What is shown of a head's cells."""

    symbol: str
    title: str  # in the head view's own heading
    does: str  # what a word does with those that it looks at, above a list of them
    they: str  # and what words do on average
    signed: bool = False


MEASURES: dict[str, Measure] = _by_name(
    [
        Measure(
            "weight",
            "Weight α",
            "How much of a query's attention goes to a key: the softmax of its scores; a row sums to 1.",
            "α",
            "attention weight α",
            "looks at",
            "look at",
        ),
        Measure(
            "norm",
            "Norm ‖αf(x)‖",
            "Length of what a key really adds to a query: weight times ‖f(x)‖, the length of the key's value after "
            "the output projection (Kobayashi et al. 2020).",
            "‖αf(x)‖",
            "norm of what is passed on, ‖αf(x)‖",
            "takes from",
            "take from",
        ),
        Measure(
            "difference",
            "Difference",
            "Share of the weight less share of the norm, in each row: above 0 where a head looks more than it takes.",
            "Δ",
            "difference α − ‖αf(x)‖ / Σ‖αf(x)‖",
            "looks more (+), takes more (−)",
            "look more (+), take more (−)",
            signed=True,
        ),
    ]
)


@dataclass(frozen=True)
class LayerMap(Word):
    """A map (S, S) of a whole layer, and the function (trace, layer) that computes it.

    function: a callable, or "module:name" below bertlens.measures. carried: cheap enough for a page without a kernel
    to hold it for all layers of a short text. needs: a capability of measures.offers. said_as: the measure in whose
    words its cells are told, "weight" where words look, "norm" where they take; "" for neither.
    """

    symbol: str  # of a cell, as "‖c‖"
    function: str | Callable[..., Any]
    carried: bool = False
    needs: str = "norms"
    said_as: str = ""


LAYER_MAPS: dict[str, LayerMap] = _by_name(
    [
        LayerMap(
            "attn-w",
            "Attn-W",
            "Attention weight, mean over the layer's heads.",
            "mean α",
            "attention:mean_weight",
            carried=True,
            said_as="weight",
        ),
        LayerMap(
            "attn-n",
            "Attn-N",
            "Norm of what a key adds to a query through all heads together (Kobayashi et al. 2020).",
            "‖Σₕ αf(x)‖",
            "norms:summed_weighted_norm",
            carried=True,
            said_as="norm",
        ),
        LayerMap(
            "attnres-n",
            "AttnRes-N",
            "Norm of what a key adds to a query, the residual counted as what a token adds to itself "
            "(Kobayashi et al. 2021).",
            "‖Σₕ αf(x) + δx‖",
            "norms:attnres_norm",
            carried=True,
            said_as="norm",
        ),
        LayerMap(
            "attnresln-n",
            "AttnResLn-N",
            "AttnRes-N through the LayerNorm that follows: what a key adds to the block's output "
            "(Kobayashi et al. 2021).",
            "‖LN(Σₕ αf(x) + δx)‖",
            "norms:attnresln_norm",
            carried=True,
            said_as="norm",
        ),
        LayerMap(
            "rollout",
            "Rollout",
            "Share of each input token in a token, AttnResLn-N multiplied from the first layer to this one "
            "(Abnar and Zuidema 2020).",
            "share",
            "flow:rollout_to",
            carried=True,
            said_as="norm",
        ),
        LayerMap(
            "globenc",
            "GlobEnc",
            "Norm of what a token adds to another through this layer, both LayerNorms included, the MLP left out "
            "(Modarressi et al. 2022).",
            "‖LN₂ LN₁(Σₕ αf(x) + δx)‖",
            "flow:globenc",
            said_as="norm",
        ),
        LayerMap(
            "alti",
            "ALTI",
            "Share of each token in the attention block's output, by L1 distance (Ferrando et al. 2022).",
            "share",
            "flow:alti",
            said_as="norm",
        ),
        LayerMap(
            "value-zeroing",
            "Value Zeroing",
            "Share of each token in how far this layer's output turns when that token's value is zeroed "
            "(Mohebbi et al. 2023).",
            "share",
            "flow:value_zeroing",
            said_as="norm",
        ),
    ]
)


def register_layer_map(word: LayerMap) -> None:
    """Offer one more map of a layer in the head view: its `word`. Raises InputError for what is no LayerMap."""
    if not isinstance(word, LayerMap):
        raise InputError(f"a map of a layer is registered as a bl.LayerMap, not {type(word).__name__}")
    LAYER_MAPS[word.name] = word


# --- gates ---


@dataclass(frozen=True)
class Gate(Word):
    """A gate or what stands in its place; letter and mark tell it apart without colour.

    patterns: of measures.gates.PATTERNS those that speak for it; its score is the strongest of them.
    """

    letter: str
    mark: str
    patterns: tuple[str, ...] = ()


GATES: dict[str, Gate] = _by_name(
    [
        Gate(
            "directional",
            "directional",
            "All queries look at the same one or few words.",
            "D",
            "↓",
            ("content columns",),
        ),
        Gate("open", "open", "Attention is broad and without structure.", "O", "○", ("unstructured",)),
        Gate("closed", "closed", "Attention rests on special tokens: a no-op.", "C", "▮", ("special columns",)),
        Gate(
            "forward contextual",
            "forward contextual",
            "Looks at the next word, or at words after.",
            "F",
            "▸",
            ("next", "after"),
        ),
        Gate(
            "backward contextual",
            "backward contextual",
            "Looks at the word before, or at words before.",
            "B",
            "◂",
            ("previous", "before"),
        ),
        Gate(
            "cluster",
            "cluster",
            "Words look at the words of their own block, such as their sentence.",
            "K",
            "▚",
            ("block",),
        ),
        Gate("instance", "instance", "Single words look far, each at another one.", "I", "∴", ("far peaks",)),
        Gate("self", "self", "Words look at themselves.", "S", "◇", ("self",)),
        Gate(
            "bidirectional",
            "bidirectional",
            "Words look at their neighbours on both sides.",
            "T",
            "◆",
            ("both neighbours",),
        ),
        Gate("mixed", "mixed", "No clear kind.", "M", "~"),
        Gate("undefined", "undefined", "Too few words (under 8) to tell a kind from noise.", "?", ""),
    ]
)

# --- kinds of token ---

CATEGORIES: dict[str, Word] = _by_name(
    [
        Word("first", "first", "Template tokens in front of the text, such as [CLS]."),
        Word("separator", "separator", "Template tokens after a text, such as [SEP]."),
        Word("punctuation", "punctuation", "Tokens of punctuation only."),
        Word("other", "words", "All other tokens."),
    ]
)

# --- terms of the views that are none of the above ---

TERMS: dict[str, Word] = _by_name(
    [
        Word(
            "score",
            "score",
            "Scaled q·k and what some models add to it, before the softmax; no unit (Vaswani et al. 2017).",
        ),
        Word("alpha", "α", "Attention weight: the softmax of a query's scores over all keys it sees; a row sums to 1."),
        Word(
            "contrast",
            "contrast",
            "This key's scaled q·k less the mean of the other keys' that the query sees, a sum over neurons; unit "
            "of the score (bertlens' own).",
        ),
        Word(
            "jaccard",
            "Jaccard",
            "Neurons that two sets share ÷ neurons in either: 0 none, 1 the same; chance is that of random sets.",
        ),
        Word(
            "cone",
            "I/n",
            "Cone index I ÷ number of tokens n: length of the mean of the unit vectors, 0 to 1; 1 = all point one way "
            "(Bonino et al. 2025).",
        ),
        Word("ratio", "‖Δ‖/‖x‖", "Length of what the step changes ÷ length of what it takes in, mean over tokens."),
        Word("cosine", "cos", "Cosine of what the step changes with what it takes in, −1 to 1, mean over tokens."),
        Word(
            "participation",
            "participation ratio",
            "About how many directions the output uses: (Σλ)² / Σλ² of its covariance.",
        ),
        Word(
            "kurtosis",
            "kurtosis",
            "Excess kurtosis of a token's output vector, mean over tokens: 0 for a Gaussian, large where few "
            "dimensions stand out.",
        ),
        Word(
            "symmetry",
            "symmetry",
            "Of W_QK: 1 symmetric, −1 skew, 0 random (Saponati et al. 2025).",
        ),
        Word(
            "directionality",
            "directionality",
            "Of W_QK: above 0 key dimensions stand out, below 0 query dimensions (Saponati et al. 2025, other sign).",
        ),
        Word("overlap", "overlap of W_Q, W_K", "How far the subspaces of W_Q and W_K coincide: 0 not, 1 the same."),
        Word(
            "spearman",
            "Spearman's ρ",
            "Rank correlation, −1 to 1: below 0 where heads look most at keys of short f(x) (Kobayashi et al. 2020).",
        ),
        Word(
            "mixing",
            "Mixing ratio",
            "Length of what other tokens add ÷ that plus what the token keeps of itself, 0 to 1 "
            "(Kobayashi et al. 2021).",
        ),
    ]
)

# --- where a score came from ---

SOURCES: dict[str, Word] = _by_name(
    [
        Word("word", "word embedding", "What the tokens' own embeddings put in."),
        Word("position", "position embedding", "What the embeddings of their positions put in."),
        Word("type", "segment embedding", "What the embeddings of their token types put in."),
        Word("head", "earlier heads", "What the heads of earlier layers put in, their value biases included."),
        Word("mlp", "MLPs", "What the MLPs of earlier layers put in, their output biases left out."),
        Word("bias", "biases", "Every other vector that all tokens are given alike, those of LayerNorms included."),
        # beside q·k: what comes from no vector of the stream
        Word(
            "relative position",
            "relative position",
            "A number for where the key stands relative to the query, whatever the two are.",
        ),
        Word(
            "content to position",
            "content to position",
            "The query's vector times one of where the key stands relative to it.",
        ),
        Word(
            "position to content",
            "position to content",
            "The key's vector times one of where it stands relative to the query.",
        ),
        Word("layout", "layout", "What a second stream, of places on the page, puts in."),
    ]
)

# --- what of a text is shown, and in which units ---

PAIR_FILTERS: dict[str, Word] = _by_name(
    [
        Word("all", "All", "All pairs of tokens."),
        Word("AA", "A→A", "Queries of sentence A, keys of sentence A."),
        Word("AB", "A→B", "Queries of sentence A, keys of sentence B."),
        Word("BA", "B→A", "Queries of sentence B, keys of sentence A."),
        Word("BB", "B→B", "Queries of sentence B, keys of sentence B."),
    ]
)
UNITS: dict[str, Word] = _by_name(
    [
        Word("pieces", "Pieces", "The tokenizer's pieces."),
        Word("words", "Words", "A word's pieces put together: columns summed, rows averaged."),
        Word("spans", "Domains", "A domain's tokens put together: columns summed, rows averaged."),
    ]
)
