"""Figures of the measures with matplotlib, for papers and notebooks; `pip install matplotlib`.

Every function draws into the axes given, or into new ones, and returns them. Nothing is shown or saved.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..base.lazy import lazy

if TYPE_CHECKING:
    from .answer_figures import attributions as attributions
    from .answer_figures import faithfulness as faithfulness
    from .comparison_figures import compared_attention as compared_attention
    from .comparison_figures import compared_heads as compared_heads
    from .gate_figures import gate_counts as gate_counts
    from .geometry_figures import cone as cone
    from .geometry_figures import directionality as directionality
    from .geometry_figures import norm_histograms as norm_histograms
    from .geometry_figures import softmax_cones as softmax_cones
    from .geometry_figures import spectra as spectra
    from .head_figures import attention_map as attention_map
    from .head_figures import save as save
    from .mention_figures import coreference_arcs as coreference_arcs
    from .norm_figures import category_shares as category_shares
    from .norm_figures import mixing_ratios as mixing_ratios
    from .norm_figures import weight_against_norm as weight_against_norm
    from .pair_figures import similarity as similarity
    from .running_figures import running_text as running_text
    from .size_figures import sizes as sizes
    from .split_figures import score_maps as score_maps
    from .split_figures import sources as sources
    from .survey_figures import gradients_by_layer as gradients_by_layer
    from .survey_figures import head_map as head_map
    from .survey_figures import heads_by_layer as heads_by_layer
    from .survey_figures import layer_profiles as layer_profiles
    from .survey_figures import parse as parse
    from .survey_figures import relation_bars as relation_bars
    from .training_figures import training as training
    from .vision_figures import patches as patches

__getattr__, __dir__, __all__ = lazy(__name__, __file__)
