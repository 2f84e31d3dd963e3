"""An encoder without a pooling of its own: the mean of all tokens, compared by the cosine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from ..errors import InputError, ModelError, excerpt
from .encoders import COSINE, TASKS, Read
from .pooling import Modes

if TYPE_CHECKING:
    from ..lens import Lens


class PlainEncoder:
    """A transformers encoder as a Lens has it, read like the sentence encoders of sentence-transformers."""

    note = "The model says no pooling: a text's vector is the mean of all its tokens, template ones included."
    crosses, function, truncate_dim = False, COSINE, None
    modes, tail = Modes(("mean",)), ()

    def __init__(self, lens: Lens):
        self._lens = lens

    def encode(
        self, texts: str | Sequence[str], task: str | None, prompt_name: str | None, batch_size: int, progress: bool
    ) -> Tensor:
        """(N, D), of one string (D,). Prompts there are none; a text beyond the limit is cut."""
        _check_task(task, prompt_name)
        given = [texts] if isinstance(texts, str) else list(texts)
        made = [_states(trace).mean(0) for trace in self._lens.trace_batch(given, batch_size, truncation=True)]
        return made[0] if isinstance(texts, str) else torch.stack(made)

    def similarity(self, a: Any, b: Any) -> Tensor:
        """(N, M) cosines of vectors (N, D) and (M, D)."""
        given = (torch.as_tensor(x, device=self._lens.borrowed.device) for x in (a, b))
        one, other = (torch.nn.functional.normalize(torch.atleast_2d(x), dim=-1) for x in given)
        return one @ other.T

    def read(self, text: str, task: str | None, prompt_name: str | None = None) -> Read:
        """One text as the model reads it."""
        _check_task(task, prompt_name)
        trace = self._lens.trace(text, truncation=True)
        states = _states(trace)
        return Read("", text, tuple(trace.encoding.input_ids), states, 0, states.mean(0))

    def vectors(self, states: Tensor, keep: Tensor) -> Tensor:
        """(N, D) of states (N, S, D), the mean over the tokens that `keep` (N, S) says."""
        return self.modes.pooled(states, keep)


def _check_task(task: str | None, prompt_name: str | None) -> None:
    if task is not None and not (isinstance(task, str) and task in TASKS):
        raise InputError(f"no task {excerpt(task)}: there are None, {', '.join(map(repr, TASKS))}")
    if prompt_name is not None:
        raise InputError("an encoder without sentence-transformers has no prompts: leave prompt_name")


def _states(trace: Any) -> Tensor:
    """(S, D) the last hidden states of an encoder. Raises ModelError for a model that answers with something else."""
    output = trace.output
    if "last_hidden_state" not in output:
        raise ModelError(f"{trace.model_name} answers with something else than vectors: give Lens its encoder")
    states: Tensor = output.last_hidden_state[0]
    return states
