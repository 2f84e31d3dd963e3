"""bertlens: look inside BERT-family models, in the notebook.

The public names, imported when they are first used: `import bertlens` alone costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .errors import BertLensError, CaptureError, ExportError, InputError, ModelError, SelectionError
    from .inputs import InputReport
    from .lens import Lens
    from .trace import Trace
    from .widgets import Explorer, GateView, GeometryView, HeadAtlas, HeadView, NeuronView, NormView, SurveyView

__version__ = "0.1.0"

_HOMES = {
    "Lens": ".lens",
    "Trace": ".trace",
    "InputReport": ".inputs",
    "Explorer": ".widgets",
    "GateView": ".widgets",
    "GeometryView": ".widgets",
    "HeadAtlas": ".widgets",
    "HeadView": ".widgets",
    "NeuronView": ".widgets",
    "NormView": ".widgets",
    "SurveyView": ".widgets",
    "BertLensError": ".errors",
    "InputError": ".errors",
    "ModelError": ".errors",
    "CaptureError": ".errors",
    "SelectionError": ".errors",
    "ExportError": ".errors",
}
_MODULES = ("measures", "survey", "plots", "widgets", "export")

__all__ = [
    "BertLensError",
    "CaptureError",
    "Explorer",
    "ExportError",
    "GateView",
    "GeometryView",
    "HeadAtlas",
    "HeadView",
    "InputError",
    "InputReport",
    "Lens",
    "ModelError",
    "NeuronView",
    "NormView",
    "SelectionError",
    "SurveyView",
    "Trace",
    "__version__",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        value = getattr(import_module(_HOMES[name], __name__), name)
    elif name in _MODULES:
        value = import_module(f".{name}", __name__)
    else:
        raise AttributeError(f"module 'bertlens' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*__all__, *_MODULES})
