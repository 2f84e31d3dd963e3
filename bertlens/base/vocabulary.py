"""Every name that kernel and page share, with the words that people read for it.

The one place for measures, maps of a layer, gates, kinds of token, traits, their choices, and thresholds.
Colours are in base/colors.py, a statistic's words with its function in measures/statistics.py.
`python -m bertlens.widgets.typescript` writes the page's copy of all, js/src/generated/vocabulary.ts. Nothing here
computes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Word:
    """A name, its label on screen, and one sentence that explains it: unit and source included."""

    name: str
    label: str
    about: str


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

    symbol: str
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
    """Offer one more map of a layer in the head view."""
    LAYER_MAPS[word.name] = word


# --- gates ---


@dataclass(frozen=True)
class Gate(Word):
    """A gate or what stands in its place; letter and mark tell it apart without colour."""

    letter: str
    mark: str


GATES: dict[str, Gate] = _by_name(
    [
        Gate("directional", "directional", "All queries look at the same one or few words.", "D", "↓"),
        Gate("open", "open", "Attention is broad and without structure.", "O", "○"),
        Gate("closed", "closed", "Attention rests on special tokens: a no-op.", "C", "▮"),
        Gate("forward contextual", "forward contextual", "Looks at the next word, or at words after.", "F", "▸"),
        Gate("backward contextual", "backward contextual", "Looks at the word before, or at words before.", "B", "◂"),
        Gate("cluster", "cluster", "Words look at the words of their own block, such as their sentence.", "K", "▚"),
        Gate("instance", "instance", "Single words look far, each at another one.", "I", "∴"),
        Gate("self", "self", "Words look at themselves.", "S", "◇"),
        Gate("bidirectional", "bidirectional", "Words look at their neighbours on both sides.", "T", "◆"),
        Gate("mixed", "mixed", "No clear kind.", "M", "~"),
        Gate("undefined", "undefined", "Too few words (under 8) to tell a kind from noise.", "?", ""),
    ]
)
GATE_THRESHOLD, GATE_MARGIN = 0.35, 0.10  # the scores' scale is our own, and so are these
GATE_LEAST_CONTENT = 8  # content tokens; with fewer a head has no label

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
        Word("score", "score", "Scaled q·k, before the softmax; no unit (Vaswani et al. 2017)."),
        Word("alpha", "α", "Attention weight: the softmax of a query's scores over all keys it sees; a row sums to 1."),
        Word(
            "contrast",
            "contrast",
            "This key's score less the mean score of the other keys the query sees, a sum over neurons; unit "
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
    ]
)

# --- the widgets' state ---


@dataclass(frozen=True)
class Trait:
    """One piece of a widget's state that kernel and page share.

    kind: "text", "number", "optional" (a number or None), "flag", "choice" (one of `choices`), "numbers" (a list or
    None), "names" (a list), "heads" (a list of [layer, head]), "settings" (a dict), "done" (a list of records),
    "lesson" or "record". selectable: readers and Python set it; the
    others only the kernel does.
    """

    name: str
    kind: str
    default: Any = None
    choices: tuple[str, ...] = ()
    selectable: bool = True


# How a page is set beside its selection, name -> what it starts with: `explore(settings={"atlas_order": "cell"})`.
# Names of the page's own state (js/src/state/page.ts), read when they are set and the page's own afterwards.
SETTINGS: dict[str, Any] = {
    "atlas_order": "position",  # or "gate", "cell", "row", "contrast", "token", "variation", or a statistic
    "atlas_stat": "entropy",  # the statistic of bars and colours
    "atlas_minimum": 0.0,  # heads below this share of the largest are left out
    "atlas_fill": False,
    "atlas_bars": False,  # means of layers and of heads beside the atlas
    "common_scale": False,
    "muted": [],  # heads switched off in the lines
    "line_minimum": 0.02,
    "cell_size": 0,  # pixels of a cell, 0 fits the width
    "neuron_order": "contribution",
    "key_order": "position",
    "all_keys": False,
    "mixing": "attnresln-n",
    "thresholds": [GATE_THRESHOLD, GATE_MARGIN],
    "gate_view": "full",
    "gate_filter": "",
    "more": False,  # the row behind "⋯": the model, pairs, words, special tokens
    "tables": False,  # the pictures of the tabs as tables
    "text_side": "from",  # running text: what a token looks at ("from"), or who looks at it ("to")
    "explain": True,  # one line at the foot that says what is seen
    "target": "",  # the label or word whose change is asked, "" the model's first answer
    "target_at": -1,  # at which mask or token, -1 where nobody chose
    "aligned_only": False,  # two runs by their aligned words alone
    "compare_with": {
        "run": "",
        "text": "",
        "text_pair": "",
    },  # beside this run: "original" without its changes, or a text
    "similar_to": {"a": "", "b": "", "task_a": "", "task_b": ""},  # texts that were typed to be compared
    "together": False,  # a bi-encoder reads two texts as one input
    "similar_by": "words",  # or "pieces"
    "similar_of": "",  # the split: "output", "input" or "none", "" the one that there is
    "similar_pair": [-1, -1],  # the chosen pair of tokens of two texts, -1 where nobody chose
    "table_of": "head",  # what the tab of that name is of: "head" or "atlas"
    "corpus": {
        "name": "previous",
        "by": "weight",
        "average": "text",
        "colour": "corpus",
        "layers": "statistic",
        "direction": "dep->head",
    },
}

MODES = ("matrix", "lines", "text")
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
THEMES = ("auto", "light", "dark")

TRAITS: tuple[Trait, ...] = (
    Trait("parts", "names", selectable=False),  # what the widget shows: names of widgets.parts
    Trait("overview", "record", selectable=False),  # the first picture: widgets/overview.py
    Trait("map", "text", "self"),  # which attention maps of the trace: "self", or those of an encoder-decoder
    Trait("layer", "number", 0),
    Trait("head", "number", 0),
    Trait("heads", "heads"),  # further heads drawn over the selected one
    Trait("query", "optional"),
    Trait("key", "optional"),
    Trait("measure", "choice", "weight", tuple(MEASURES)),
    Trait("layer_map", "choice", "", ("", *LAYER_MAPS)),
    Trait("mode", "choice", "matrix", MODES),
    Trait("view", "choice", ""),  # the open tab, "" for none; its choices are the tabs of widgets.parts
    Trait("text", "text", ""),
    Trait("text_pair", "text", ""),
    Trait("truncation", "flag", False),
    Trait("pair_filter", "choice", "all", tuple(PAIR_FILTERS)),
    Trait("units", "choice", "pieces", tuple(UNITS)),
    Trait("hide_special", "flag", False),
    Trait("renormalize", "flag", False),
    Trait("theme", "choice", "auto", THEMES),
    Trait("include_layers", "numbers"),
    Trait("include_heads", "numbers"),
    Trait("settings", "settings"),  # what a page is set to, of SETTINGS
    Trait("lesson", "lesson", selectable=False),  # the steps beside the view: bertlens/lessons
    Trait("lesson_done", "done"),  # what a reader did in them
)
