"""What changes (changes.py) do to a forward pass: in the attention function, and by hooks on layers and MLPs.

A pass may be of several rows of one text, each with changes of its own. Changes are the calling thread's: another
thread's run of the same model does not see them. Everything put on the model is taken off, whatever ends the run.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from torch import Tensor, nn

from ..errors import ModelError, check_index
from ..model.borrowed import Model
from ..model.loan import Loan
from .answer_row import hook_row
from .attention_call import AttentionCall, attention_call
from .attention_function import Function
from .changed_attention import by_function, by_sdpa
from .changes import Change, Mlp, Patch

_active = threading.local()


@dataclass
class Run:
    """One forward pass with changes.

    rows: per text of the batch, what is changed, in the order in which it is done; shorter than the batch: nothing.
    start: layers before it are not computed, they give `states`: (1, S, D) or (B, S, D) per layer, in `wrappers`.
    keep: layers whose MLP outputs are wanted. row: the only token whose output is read, see answer_row.py.
    """

    rows: Sequence[Sequence[Change]] = ()
    start: int = 0
    states: Sequence[Tensor] = ()
    wrappers: Sequence[Callable[[Tensor], Any]] = ()
    watch: bool = False  # keep the layers' outputs, for `states` and `wrappers` of a later run
    keep: frozenset[int] = frozenset()
    row: int | None = None
    # what the pass leaves
    layer: int = -1  # of the stream, the one that runs
    calls: int = -1  # of the attention function, so far
    kept: dict[int, Tensor] = field(default_factory=dict)
    outputs: list[Any] = field(default_factory=list)

    @property
    def needs_hooks(self) -> bool:
        changed = any(not change.needs_attention for row in self.rows for change in row)
        return changed or self.row is not None or bool(self.start or self.watch or self.keep)

    @functools.cached_property
    def _layer_states(self) -> tuple[list[Tensor], list[Callable[[Tensor], Any]]]:
        """What `states` and `wrappers` of a later run are; none where its layers hand on more than a state, or were not
        watched."""
        try:
            wrappers = wrapped(self.outputs)
        except ModelError:
            return [], []
        return [output[0] if isinstance(output, tuple) else output for output in self.outputs], wrappers

    def branch(self, rows: Sequence[Sequence[Change]], layer: int, row: int | None = None) -> Run:
        """The same pass with changes of which none is before a layer: where the layers of this one were watched, those
        before it are not computed again. row: as of `Run`."""
        states, wrappers = self._layer_states
        return Run(rows, layer if states else 0, states, wrappers, row=row)

    def in_attention(self) -> list[list[Change]]:
        """Per row, what is done in the attention call that runs."""
        return [[c for c in row if c.needs_attention and c.touches(self.calls)] for row in self.rows]

    def in_stream(self, kind: type[Change], what: str = "") -> Iterator[tuple[int, Any]]:
        """(row, change) of the layer that runs."""
        for number, row in enumerate(self.rows):
            for change in row:
                match = isinstance(change, kind) and getattr(change, "what", "") == what
                if match and change.touches(self.layer):
                    yield number, change


def attend(module: nn.Module, *args: Any, function: Function | None = None, **kwargs: Any) -> AttentionCall:
    """The attention call of a module, with this thread's changes: by a user's function, else by transformers' sdpa.

    Raises SelectionError where a token is left without keys, ModelError for a change that a user's function cannot be
    asked for.
    """
    run: Run | None = getattr(_active, "run", None)
    rows: list[list[Change]] = []
    if run is not None:
        run.calls += 1
        rows = run.in_attention()
    if function is not None:
        return by_function(rows, function, run.calls if run else 0, module, *args, **kwargs)
    if run is not None and any(rows):
        return by_sdpa(rows, run.calls, module, *args, **kwargs)
    return attention_call(module, *args, **kwargs)


def wrapped(outputs: Sequence[Any]) -> list[Callable[[Tensor], Any]]:
    """Per layer of a watched run, how it hands on a state: as it is, or first in a tuple.

    Raises ModelError where a layer hands on more than its state.
    """

    def of(output: Any) -> Callable[[Tensor], Any]:
        return (lambda state: (state, *output[1:])) if isinstance(output, tuple) else lambda state: state

    if any(isinstance(x, Tensor) for output in outputs if isinstance(output, tuple) for x in output[1:]):
        raise ModelError("the model's layers hand on more than one state: they cannot be taken up in between")
    return [of(output) for output in outputs]


@contextmanager
def changed(model: Model, run: Run) -> Iterator[Run]:
    """This thread's passes through the model have the run's changes; afterwards the model is as it was."""
    with Loan() as loan:
        if run.needs_hooks:
            _hook(model, run, loan)
        loan.set(_active, "run", run)
        yield run


def _hook(model: Model, run: Run, loan: Loan) -> None:
    adapter, _ = model.layer(0)  # says which families have one

    def mine() -> bool:
        return getattr(_active, "run", None) is run

    def count(module: nn.Module, args: Any) -> None:
        if mine():
            run.layer += 1

    def patch(module: nn.Module, args: Any, output: Any) -> Any:
        if not mine():
            return None
        state = output[0] if isinstance(output, tuple) else output
        patches = list(run.in_stream(Patch, "layer"))
        if patches:
            state = state.clone()
            for b, change in patches:
                state[b, change.token] = change.vectors.to(state)
            output = (state, *output[1:]) if isinstance(output, tuple) else state
        if run.watch:
            run.outputs.append(output)
        return output if patches else None

    def silence(module: nn.Module, args: Any) -> Any:
        neurons = [(b, c) for b, c in run.in_stream(Mlp) if c.neuron is not None] if mine() else []
        if not neurons:
            return None
        state = args[0].clone()
        for b, change in neurons:
            check_index(change.neuron, state.shape[-1], "neuron")
            state[b, ..., change.neuron] = 0
        return (state, *args[1:])

    def replace(module: nn.Module, args: Any, output: Tensor) -> Any:
        if not mine():
            return None
        off = [(b, c) for b, c in run.in_stream(Mlp) if c.neuron is None]
        patches = list(run.in_stream(Patch, "mlp"))
        if off or patches:
            output = output.clone()
            for b, _ in off:
                output[b] = 0
            for b, change in patches:
                output[b, change.token] = change.vectors.to(output)
        if run.layer in run.keep:
            run.kept[run.layer] = output
        return output if off or patches else None

    layers = list(dict.fromkeys(adapter.layers(model.base)))  # a shared layer is hooked once
    for layer in layers:
        # before the hooks of others, so that all see what is changed
        loan.hook(layer.register_forward_pre_hook(count, prepend=True))
        loan.hook(layer.register_forward_hook(patch, prepend=True))
        outer = adapter.mlp(layer)[-1]
        loan.hook(outer.register_forward_pre_hook(silence, prepend=True))
        loan.hook(outer.register_forward_hook(replace, prepend=True))
        if run.start:
            loan.set(layer, "forward", _skipping(layer.forward, run, mine))
    if run.row is not None:
        hook_row(model.base, adapter, run.row, lambda layers: mine() and run.layer == layers - 1, loan)


def _skipping(forward: Callable[..., Any], run: Run, mine: Callable[[], bool]) -> Callable[..., Any]:
    @functools.wraps(forward)
    def skipped(*args: Any, **kwargs: Any) -> Any:
        if not mine() or run.layer >= run.start:
            return forward(*args, **kwargs)
        run.calls = run.layer
        state = run.states[run.layer]
        if run.rows and len(state) != len(run.rows):
            state = (
                state.repeat(len(run.rows), 1, 1) if run.layer == run.start - 1 else state.expand(len(run.rows), -1, -1)
            )
        return run.wrappers[run.layer](state)

    return skipped
