"""The borrowed model: the user's module and tokenizer, its encoder, where its parts are, its lock, its fingerprint.

Lens and Trace are built on it. It finds the model's parts and says whether its weights have changed. The passes
themselves are in run/.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from ..base.locks import locked
from ..errors import ModelError
from . import transformers_private as private
from .embedding import Embedder, Means
from .families import Adapter, NotPlain, adapter_of, affine, check_plain, encoder_of, require_adapter, runnable

SAMPLED = 8  # values of each parameter that a fingerprint holds


class Model:
    """A transformers model and its tokenizer as objects of the user's, which everything here leaves as they are."""

    def __init__(self, module: nn.Module, tokenizer: Any, name: str | None = None):
        self.module, self.tokenizer = module, tokenizer
        self.base = encoder_of(module)
        self.name = name or _name(module, self.base)
        self.embedder: Embedder = Means()  # what makes vectors of texts
        self.activation: Callable[[Tensor], Tensor] | None = None  # of a cross-encoder: (1, C) logits to its scores
        self.why_no_answer = ""  # why the model has none, though its class would
        self._last: Fingerprint | None = None

    @property
    def runner(self) -> nn.Module:
        """The module whose forward takes `input_ids`."""
        return runnable(self.module)

    @property
    def adapter(self) -> Adapter | None:
        """Where the family keeps its parts; None for a family without an adapter."""
        return adapter_of(self.base)

    @property
    def embedding(self) -> Any:
        """The word embeddings: a module with `weight`, which is a method where it is quantised."""
        return self.base.get_input_embeddings()

    @property
    def vocabulary_size(self) -> int:
        """How many tokens have an embedding."""
        embedding = self.embedding
        return int(getattr(embedding, "num_embeddings", None) or self._table.shape[0])

    @property
    def device(self) -> torch.device:
        return self._table.device

    @property
    def dtype(self) -> torch.dtype:
        """Of the word embeddings."""
        return self._table.dtype

    @property
    def _table(self) -> Tensor:
        weight = self.embedding.weight
        table: Tensor = weight() if callable(weight) else weight
        return table

    def locked(self) -> AbstractContextManager[None]:
        """Holds what a run changes: all configs of the model."""
        return locked(private.configs(self.runner))

    def layer(self, number: int) -> tuple[Adapter, nn.Module]:
        """The adapter and the module of a layer. Raises ModelError for a family without an adapter."""
        adapter = require_adapter(self.base)
        return adapter, adapter.layers(self.base)[number]

    def affine(self, module: nn.Module, part: int | None = None) -> tuple[Tensor, Tensor | None]:
        """`families.affine`; raises as `check_plain`."""
        self.check_plain(module)
        return affine(module, part)

    def check_plain(self, module: nn.Module) -> None:
        """Raises ModelError, which says which of the model's modules it is, for one that is no plain projection."""
        try:
            check_plain(module)
        except NotPlain as error:
            name = next((name for name, child in self.base.named_modules() if child is module), "a projection")
            raise ModelError(f"{name} is {error}") from None

    def fingerprint(self) -> Fingerprint:
        """What the weights are now, in about a millisecond; the same object as before where they are the same."""
        current = Fingerprint.of(self.runner.parameters())
        if self._last is None or current != self._last:
            self._last = current
        return self._last

    def check(self, before: Fingerprint, module: nn.Module | None = None) -> None:
        """Raises ModelError where the weights of `module` (default: all) are no longer those of the fingerprint."""
        known = getattr(_once, "known", None)
        of = id(before), None if module is None else id(module)
        if known is not None and (known.get(of) is before or known.get((of[0], None)) is before):
            return
        if not before.holds((module or self.runner).parameters()):
            raise ModelError("the model has changed since this trace: trace again")
        if known is not None:
            known[of] = before


_once = threading.local()


@contextmanager
def checked_once() -> Iterator[None]:
    """In the block, on this thread, weights are compared with a fingerprint once: what answers one question asks often.

    Not for blocks in which somebody else's code runs: it may change the weights.
    """
    outer, _once.known = getattr(_once, "known", None), {}
    try:
        yield
    finally:
        _once.known = outer


@dataclass(frozen=True)
class Fingerprint:
    """Of each parameter: where it lies, its version counter, shape, dtype and device, and values spread over it.

    Values too, because writes through `.data` raise no counter.
    """

    entries: dict[int, tuple[Any, ...]]  # by the parameter's identity
    values: bytes  # SAMPLED float64 each, in the order of the entries

    @classmethod
    def of(cls, parameters: Iterable[Tensor]) -> Fingerprint:
        chosen = list(parameters)
        return cls({id(p): _entry(p) for p in chosen}, _sample(chosen).tobytes())

    def holds(self, parameters: Iterable[Tensor]) -> bool:
        """Whether these parameters, all or some of those that it was taken of, are still the same."""
        chosen = list(parameters)
        if any(self.entries.get(id(p)) != _entry(p) for p in chosen):
            return False
        entry_of = {key: at for at, key in enumerate(self.entries)}
        before = np.frombuffer(self.values).reshape(-1, SAMPLED)[[entry_of[id(p)] for p in chosen]]
        return before.tobytes() == _sample(chosen).tobytes()

    @property
    def digest(self) -> str:
        """A hash of shapes and values: the same in another process, other after training."""
        shapes = [(tuple(shape), str(dtype)) for _, _, shape, dtype, _ in self.entries.values()]
        return hashlib.sha256(repr(shapes).encode() + self.values).hexdigest()[:16]


def _entry(p: Tensor) -> tuple[Any, ...]:
    version = None if p.is_inference() else p._version
    return (0 if p.is_meta else p.data_ptr(), version, p.shape, p.dtype, p.device)


def _sample(parameters: list[Tensor]) -> np.ndarray:
    """(P, SAMPLED) float64 values spread over each parameter, the last repeated where it has fewer."""
    parts = []
    for p in parameters:
        flat = p.detach()
        flat = flat.view(-1) if flat.is_contiguous() else flat.flatten()
        if p.is_meta or len(flat) == 0:
            flat = torch.zeros(1, device="cpu")
        step = len(flat) // SAMPLED
        parts.append(flat[: step * SAMPLED : step] if step else flat[:SAMPLED])
    if not parts:
        return np.zeros((0, SAMPLED))
    values = torch.cat([part.to(parts[0].device) for part in parts]).double().cpu().numpy()
    ends = np.cumsum([len(part) for part in parts])
    starts = ends - [len(part) for part in parts]
    sample: np.ndarray = values[np.minimum(starts[:, None] + np.arange(SAMPLED), ends[:, None] - 1)]
    return sample


def _name(module: nn.Module, base: nn.Module) -> str:
    """The hub id or folder name a model came from, else its class."""
    config: Any = base.config
    name = getattr(config, "name_or_path", "") or ""
    if Path(name).is_absolute() or Path(name).is_dir():
        name = Path(name).name
    named: Any = getattr(module, "_orig_mod", module)
    return name or type(named.get_base_model() if hasattr(named, "get_base_model") else named).__name__
