"""What operations allocate, watched: the sizes of the tensors that they make."""

from __future__ import annotations

from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode


class Largest(TorchDispatchMode):
    """The number of elements of the largest tensor that an operation makes: of all, and of those in float64."""

    def __init__(self) -> None:
        super().__init__()
        self.elements = self.doubles = 0

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        made = function(*args, **(kwargs or {}))
        if function.is_view:
            return made  # of what is there already
        for one in made if isinstance(made, tuple | list) else (made,):
            if isinstance(one, torch.Tensor):
                self.elements = max(self.elements, one.numel())
                if one.dtype == torch.float64:
                    self.doubles = max(self.doubles, one.numel())
        return made
