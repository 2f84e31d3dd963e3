"""The widgets: the Explorer with all views, and its parts alone."""

from .atlas import HeadAtlas
from .explorer import Explorer
from .head_view import HeadView
from .neuron_view import NeuronView

__all__ = ["Explorer", "HeadAtlas", "HeadView", "NeuronView"]
