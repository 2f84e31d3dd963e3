"""Figures of the measures with matplotlib, for papers and notebooks; `pip install matplotlib`.

Every function draws into the axes given, or into new ones, and returns them. Nothing is shown or saved.
"""

from .answers import attributions, faithfulness
from .comparison import compared_attention, compared_heads
from .gates import gate_counts
from .geometry import cone, directionality, norm_histograms, softmax_cones, spectra
from .heads import attention_map, save
from .mentions import coreference_arcs
from .norms import category_shares, mixing_ratios, weight_against_norm
from .pairs import similarity
from .running import running_text
from .splits import score_maps, sources
from .survey import gradients_by_layer, head_map, heads_by_layer, layer_profiles, parse, relation_bars
from .training import training
from .vision import patches

__all__ = [
    "attention_map",
    "attributions",
    "category_shares",
    "compared_attention",
    "compared_heads",
    "cone",
    "coreference_arcs",
    "directionality",
    "faithfulness",
    "gate_counts",
    "gradients_by_layer",
    "head_map",
    "heads_by_layer",
    "layer_profiles",
    "mixing_ratios",
    "norm_histograms",
    "parse",
    "patches",
    "relation_bars",
    "running_text",
    "save",
    "score_maps",
    "similarity",
    "softmax_cones",
    "sources",
    "spectra",
    "training",
    "weight_against_norm",
]
