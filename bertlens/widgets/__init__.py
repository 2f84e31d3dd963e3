"""The widgets: the Explorer with all views, and its parts alone; and how to add a question or a tab to them.

The names are imported when they are first used: what one view needs another one does not wait for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..base.lazy import lazy

if TYPE_CHECKING:
    from ..search.view import RetrievalView as RetrievalView
    from .questions import Question as Question
    from .questions import register_question as register_question
    from .tabs import Tab as Tab
    from .tabs import register_tab as register_tab
    from .tabs import sheet as sheet
    from .views import CompareView as CompareView
    from .views import Explorer as Explorer
    from .views import GateView as GateView
    from .views import GeometryView as GeometryView
    from .views import HeadAtlas as HeadAtlas
    from .views import HeadView as HeadView
    from .views import NeuronView as NeuronView
    from .views import NormView as NormView
    from .views import RankView as RankView
    from .views import SimilarityView as SimilarityView
    from .views import SurveyView as SurveyView
    from .views import TaskView as TaskView

__getattr__, __dir__, __all__ = lazy(__name__, __file__)
