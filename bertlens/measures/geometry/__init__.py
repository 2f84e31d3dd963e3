"""The geometry of a model's vectors: cones, norms, moments and dimensions, of one trace or of a corpus.

After Bonino, Ghione, Cirrincione 2025 (arXiv 2502.12033), Ethayarajh 2019, Timkey and van Schijndel 2021, Facco et al.
2017. Everything is computed in float64. Rows of zeros have no direction and are left out.
"""

from .hidden_states import corpus_table
from .histograms import NormHistograms, norm_histograms
from .layers import attention_cone, head_cones, head_writes, layer_rows, layer_table
from .projection import Projection, nearest, pca, project, umap
from .vectors import (
    anisotropy,
    cone_index,
    cone_share,
    cosine_contributions,
    intra_similarity,
    max_explainable_variance,
    moments,
    participation_ratio,
    self_similarity,
    two_nn,
    usable,
)

__all__ = [
    "NormHistograms",
    "Projection",
    "anisotropy",
    "attention_cone",
    "cone_index",
    "cone_share",
    "corpus_table",
    "cosine_contributions",
    "head_cones",
    "head_writes",
    "intra_similarity",
    "layer_rows",
    "layer_table",
    "max_explainable_variance",
    "moments",
    "nearest",
    "norm_histograms",
    "participation_ratio",
    "pca",
    "project",
    "self_similarity",
    "two_nn",
    "umap",
    "usable",
]
