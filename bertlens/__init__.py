"""bertlens: look inside BERT-family models, in the notebook.

The public names, imported when they are first used: `import bertlens` alone costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .base.lazy import lazy
from .base.registered import FUNCTIONS

if TYPE_CHECKING:
    from . import export as export
    from . import measures as measures
    from . import plots as plots
    from . import survey as survey
    from . import whatif as whatif
    from . import widgets as widgets
    from .base.vocabulary import LayerMap as LayerMap
    from .base.vocabulary import register_layer_map as register_layer_map
    from .comparison import Comparison as Comparison
    from .comparison import compare as compare
    from .conformance import Parity as Parity
    from .conformance import parity as parity
    from .conformance import parity_steps as parity_steps
    from .conformance import probing_texts as probing_texts
    from .conformance import rounding as rounding
    from .errors import BertLensError as BertLensError
    from .errors import CaptureError as CaptureError
    from .errors import ExportError as ExportError
    from .errors import InputError as InputError
    from .errors import ModelError as ModelError
    from .errors import SelectionError as SelectionError
    from .lens import Lens as Lens
    from .lessons import Lesson as Lesson
    from .lessons.teaching import classroom as classroom
    from .model.families import Adapter as Adapter
    from .model.families import register_family as register_family
    from .reports import Report as Report
    from .reports import ReportView as ReportView
    from .reports import report as report
    from .search import Retrieval as Retrieval
    from .search import retrieval as retrieval
    from .sentences.pair_similarity import similarity as similarity
    from .sentences.passages import rank as rank
    from .sentences.sparse_similarity import word_vector as word_vector
    from .sentences.text_similarity import Similarity as Similarity
    from .tasks import Task as Task
    from .tasks import by_layer as by_layer
    from .tasks import task as task
    from .text.encoding import InputReport as InputReport
    from .trace import Trace as Trace
    from .widgets import CompareView as CompareView
    from .widgets import Explorer as Explorer
    from .widgets import GateView as GateView
    from .widgets import GeometryView as GeometryView
    from .widgets import HeadAtlas as HeadAtlas
    from .widgets import HeadView as HeadView
    from .widgets import NeuronView as NeuronView
    from .widgets import NormView as NormView
    from .widgets import RankView as RankView
    from .widgets import RetrievalView as RetrievalView
    from .widgets import SimilarityView as SimilarityView
    from .widgets import SurveyView as SurveyView
    from .widgets import TaskView as TaskView

__version__ = "0.5.0"
__getattr__, __dir__, __all__ = lazy(__name__, __file__, "__version__")


def _later(module: str, name: str) -> Any:
    """A function that is imported when it is first called."""
    return lambda *arguments, **options: getattr(import_module(module, __name__), name)(*arguments, **options)


# What methods of the layers below call above themselves
FUNCTIONS["compare_view"] = _later(".widgets", "CompareView")
FUNCTIONS["explore"] = _later(".widgets", "Explorer")
FUNCTIONS["masked_language_model"] = _later(".training", "lens")
FUNCTIONS["predictions"] = _later(".measures.predictions", "predictions")
FUNCTIONS["rank_view"] = _later(".widgets", "RankView")
FUNCTIONS["rerun"] = _later(".whatif", "rerun")
FUNCTIONS["retrieval_costs"] = _later(".search.fault_costs", "costs")
FUNCTIONS["retrieval_view"] = _later(".widgets", "RetrievalView")
FUNCTIONS["sars_cov_2"] = _later(".sars_cov_2", "lens")
FUNCTIONS["similarity_view"] = _later(".widgets", "SimilarityView")
FUNCTIONS["task_costs"] = _later(".tasks.fault_costs", "costs")
FUNCTIONS["task_view"] = _later(".widgets", "TaskView")
FUNCTIONS["token_strip"] = _later(".export", "token_strip")
