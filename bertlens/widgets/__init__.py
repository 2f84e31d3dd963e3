"""The widgets: the Explorer with all views, and its parts alone."""

from .atlas import HeadAtlas
from .explorer import Explorer
from .gate_view import GateView
from .geometry_view import GeometryView
from .head_view import HeadView
from .neuron_view import NeuronView
from .norm_view import NormView
from .survey_view import SurveyView

__all__ = ["Explorer", "GateView", "GeometryView", "HeadAtlas", "HeadView", "NeuronView", "NormView", "SurveyView"]
