"""The widgets' state that kernel and page share: traits, and how a page is set beside its selection."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .constants import GATE_MARGIN, GATE_THRESHOLD
from .terms import LAYER_MAPS, MEASURES, PAIR_FILTERS, UNITS


@dataclass(frozen=True)
class Trait:
    """One piece of a widget's state that kernel and page share.

    kind: "text", "number", "optional" (a number or None), "flag", "choice" (one of `choices`), "numbers" (a list or
    None), "names" (a list), "heads" (a list of [layer, head]), "place" (a dict of PLACE), "settings" (a dict), "done"
    (a list of records), "lesson" or "record". selectable: readers and Python set it; the others only the kernel does.
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
    "all_heads": False,  # all heads and the matrix are unfolded below the answer
    "more": False,  # the row behind "⋯": the model, pairs, words, special tokens
    "tables": False,  # the pictures of the tabs as tables
    "text_side": "from",  # running text: what a token looks at ("from"), or who looks at it ("to")
    "explain": True,  # one line at the foot that says what is seen
    "heads_run": "all",  # for the head that matters most: "all", "estimate" (the eight largest by it), or how many
    "target": "",  # the label or word whose change is asked, "" the model's first answer
    "target_at": -1,  # at which mask or token, -1 where nobody chose
    "aligned_only": True,  # two runs by their aligned words alone
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

PLACE = ("layer", "head", "query", "key")  # what may be chosen for a reader who has not
MODES = ("matrix", "lines", "text")
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
    Trait("opened", "place"),  # what the program chose, of PLACE; where the view shows another, its reader did
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
