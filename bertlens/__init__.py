"""bertlens: look inside BERT-family models, in the notebook.

The public names, imported when they are first used: `import bertlens` alone costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .base.registered import FUNCTIONS

if TYPE_CHECKING:
    from .comparison.runs import Comparison, compare
    from .errors import BertLensError, CaptureError, ExportError, InputError, ModelError, SelectionError
    from .lens import Lens
    from .lessons import Lesson
    from .model.families import Adapter, register_family
    from .reports import Report, ReportView, report
    from .sentences.pairs import Similarity, similarity
    from .sentences.passages import rank
    from .tasks import Task, task
    from .text.encoding import InputReport
    from .trace.trace import Trace
    from .vocabulary import LayerMap, register_layer_map
    from .widgets import (
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
    from .widgets.teaching import classroom

__version__ = "0.3.0"

_NAMES = {
    "lens": ("Lens",),
    "lessons": ("Lesson",),
    "trace": ("Trace",),
    "text.encoding": ("InputReport",),
    "model.families": ("Adapter", "register_family"),
    "comparison": ("Comparison", "compare"),
    "reports": ("Report", "ReportView", "report"),
    "sentences.pairs": ("Similarity", "similarity"),
    "sentences.passages": ("rank",),
    "tasks": ("Task", "task"),
    "vocabulary": ("LayerMap", "register_layer_map"),
    "widgets.teaching": ("classroom",),
    "widgets": (
        "CompareView",
        "Explorer",
        "GateView",
        "GeometryView",
        "HeadAtlas",
        "HeadView",
        "NeuronView",
        "NormView",
        "RankView",
        "SimilarityView",
        "SurveyView",
        "TaskView",
    ),
    "errors": ("BertLensError", "CaptureError", "ExportError", "InputError", "ModelError", "SelectionError"),
}
_HOMES = {name: module for module, names in _NAMES.items() for name in names}
_MODULES = ("measures", "survey", "plots", "whatif", "widgets", "export")

__all__ = [
    "Adapter",
    "BertLensError",
    "CaptureError",
    "CompareView",
    "Comparison",
    "Explorer",
    "ExportError",
    "GateView",
    "GeometryView",
    "HeadAtlas",
    "HeadView",
    "InputError",
    "InputReport",
    "LayerMap",
    "Lens",
    "Lesson",
    "ModelError",
    "NeuronView",
    "NormView",
    "RankView",
    "Report",
    "ReportView",
    "SelectionError",
    "Similarity",
    "SimilarityView",
    "SurveyView",
    "Task",
    "TaskView",
    "Trace",
    "__version__",
    "classroom",
    "compare",
    "rank",
    "register_family",
    "register_layer_map",
    "report",
    "similarity",
    "task",
]


def _later(module: str, name: str) -> Any:
    """A function that is imported when it is first called."""
    return lambda *arguments, **options: getattr(import_module(module, __name__), name)(*arguments, **options)


# What methods of the layers below call above themselves
FUNCTIONS["compare_view"] = _later(".widgets", "CompareView")
FUNCTIONS["explore"] = _later(".widgets", "Explorer")
FUNCTIONS["lesson_for_page"] = _later(".lessons", "for_page")
FUNCTIONS["lesson_results"] = _later(".lessons", "results")
FUNCTIONS["masked_language_model"] = _later(".training", "lens")
FUNCTIONS["predictions"] = _later(".measures.predictions", "predictions")
FUNCTIONS["rank_view"] = _later(".widgets", "RankView")
FUNCTIONS["rerun"] = _later(".whatif", "rerun")
FUNCTIONS["sars_cov_2"] = _later(".sars_cov_2", "lens")
FUNCTIONS["similarity_view"] = _later(".widgets", "SimilarityView")
FUNCTIONS["task_view"] = _later(".widgets", "TaskView")
FUNCTIONS["token_strip"] = _later(".export", "token_strip")


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        value = getattr(import_module(f".{_HOMES[name]}", __name__), name)
    elif name in _MODULES:
        value = import_module(f".{name}", __name__)
    else:
        raise AttributeError(f"module 'bertlens' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*__all__, *_MODULES})
