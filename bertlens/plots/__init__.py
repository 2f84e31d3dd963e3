"""Figures of the measures with matplotlib, for papers and notebooks; `pip install matplotlib`.

Every function draws into the axes given, or into new ones, and returns them. Nothing is shown or saved.
"""

from .answer_figures import attributions, faithfulness
from .comparison_figures import compared_attention, compared_heads
from .gate_figures import gate_counts
from .geometry_figures import cone, directionality, norm_histograms, softmax_cones, spectra
from .head_figures import attention_map, save
from .mention_figures import coreference_arcs
from .norm_figures import category_shares, mixing_ratios, weight_against_norm
from .pair_figures import similarity
from .running_figures import running_text
from .size_figures import sizes
from .split_figures import score_maps, sources
from .survey_figures import gradients_by_layer, head_map, heads_by_layer, layer_profiles, parse, relation_bars
from .training_figures import training
from .vision_figures import patches

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
    "sizes",
    "softmax_cones",
    "sources",
    "spectra",
    "training",
    "weight_against_norm",
]
