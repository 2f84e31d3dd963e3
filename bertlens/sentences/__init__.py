"""Sentence encoders as they are used: their own vectors and scores, why two texts are similar, passages by rank."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..base.lazy import lazy

if TYPE_CHECKING:
    from .encoders import COSINE as COSINE
    from .encoders import DOT as DOT
    from .encoders import WINDOW as WINDOW
    from .encoders import Encoder as Encoder
    from .encoders import SentenceEncoder as SentenceEncoder
    from .encoders import SentenceLens as SentenceLens
    from .late_interaction import LateEncoder as LateEncoder
    from .late_interaction import LateSimilarity as LateSimilarity
    from .late_interaction import tokens_reading as tokens_reading
    from .layer_vectors import LayerVectors as LayerVectors
    from .similarity_matrix import check_texts as check_texts
    from .sparse_similarity import SparseSimilarity as SparseSimilarity
    from .text_pair import Side as Side

__getattr__, __dir__, __all__ = lazy(__name__, __file__)
