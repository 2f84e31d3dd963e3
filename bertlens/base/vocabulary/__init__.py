"""Every name, sentence and number that kernel and page share, with the words that people read for them.

The one place for measures, maps of a layer, gates, kinds of token and other terms (terms.py), traits and settings
(widget_state.py), sentences (phrases.py) and numbers (constants.py). Colours and their names are in base/colors.py, a
statistic's words with its function in measures/statistics.py. `python -m bertlens.widgets.typescript` writes the page's
copy of all, js/src/generated/vocabulary.ts. Nothing here computes.
"""

from . import phrases as phrases
from .constants import GATE_LEAST_CONTENT, GATE_MARGIN, GATE_THRESHOLD
from .terms import (
    CATEGORIES,
    GATES,
    LAYER_MAPS,
    MEASURES,
    PAIR_FILTERS,
    SOURCES,
    TERMS,
    UNITS,
    Gate,
    LayerMap,
    Measure,
    Word,
    register_layer_map,
)
from .widget_state import MODES, PLACE, SETTINGS, THEMES, TRAITS, Trait

__all__ = [
    "CATEGORIES",
    "GATES",
    "GATE_LEAST_CONTENT",
    "GATE_MARGIN",
    "GATE_THRESHOLD",
    "LAYER_MAPS",
    "MEASURES",
    "MODES",
    "PAIR_FILTERS",
    "PLACE",
    "SETTINGS",
    "SOURCES",
    "TERMS",
    "THEMES",
    "TRAITS",
    "UNITS",
    "Gate",
    "LayerMap",
    "Measure",
    "Trait",
    "Word",
    "register_layer_map",
]
