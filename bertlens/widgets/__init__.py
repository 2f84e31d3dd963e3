"""The widgets: the Explorer with all views, and its parts alone; and how to add a question or a tab to them."""

from .atlas import HeadAtlas
from .compare_view import CompareView
from .explorer import Explorer
from .gate_view import GateView
from .geometry_view import GeometryView
from .head_view import HeadView
from .neuron_view import NeuronView
from .norm_view import NormView
from .questions import Question, register_question
from .survey_view import SurveyView
from .tabs import Tab, register_tab, sheet

__all__ = [
    "CompareView",
    "Explorer",
    "GateView",
    "GeometryView",
    "HeadAtlas",
    "HeadView",
    "NeuronView",
    "NormView",
    "Question",
    "SurveyView",
    "Tab",
    "register_question",
    "register_tab",
    "sheet",
]
