"""Maps of a whole layer by their names in the vocabulary."""

from __future__ import annotations

from importlib import import_module

from torch import Tensor

from ..base.vocabulary import LAYER_MAPS
from ..errors import ModelError, check_name
from ..trace.trace import Trace
from .offers import offers


def layer_map(trace: Trace, layer: int, kind: str) -> Tensor:
    """(S, S) float32 a map of a whole layer.

    Raises SelectionError for a name that does not exist, ModelError where the trace does not offer the map.
    """
    check_name(kind, LAYER_MAPS, "layer map")
    if (needs := LAYER_MAPS[kind].needs) and (reason := offers(trace)[needs]):
        raise ModelError(reason)
    function = LAYER_MAPS[kind].function
    if isinstance(function, str):
        module, name = function.split(":")
        function = getattr(import_module(f"bertlens.measures.{module}"), name)
    return function(trace, layer).float().contiguous()
