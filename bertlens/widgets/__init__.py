"""The widgets: the Explorer with all views, and its parts alone; and how to add a question or a tab to them."""

from .questions import Question, register_question
from .retrieval import RetrievalView
from .tabs import Tab, register_tab, sheet
from .views import (
    CompareView,
    Explorer,
    GateView,
    GeometryView,
    HeadAtlas,
    HeadView,
    NeuronView,
    NormView,
    RankView,
    SimilarityView,
    SurveyView,
    TaskView,
)

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
    "RankView",
    "RetrievalView",
    "SimilarityView",
    "SurveyView",
    "Tab",
    "TaskView",
    "register_question",
    "register_tab",
    "sheet",
]
