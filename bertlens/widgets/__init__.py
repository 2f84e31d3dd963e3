"""The widgets: the Explorer with all views, and its parts alone; and how to add a question or a tab to them."""

from typing import TYPE_CHECKING

from ..base.registered import room
from .questions import Question, register_question
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

if TYPE_CHECKING:
    from .retrieval import RetrievalView
else:
    RetrievalView = room("bertlens.widgets.retrieval").RetrievalView

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
