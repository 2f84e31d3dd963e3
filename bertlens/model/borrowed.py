"""The borrowed model: the user's module and tokenizer, its encoder, where its parts are, its lock, its fingerprint.

Lens and Trace are built on it. It finds the model's parts and says whether what it computes has changed. The passes
themselves are in run/.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from ..base.locks import locked
from ..errors import ModelError
from . import transformers_private as private
from .embedding import Embedder, Means
from .families import Adapter, adapter_of, encoder_of, require_adapter, runnable
from .fingerprint import Fingerprint
from .identity import identity
from .plain_modules import HeadThird, NotPlain, affine, check_plain
from .trial import watch_hooks, watch_tables


class Model:
    """A transformers model and its tokenizer as objects of the user's, which everything here leaves as they are."""

    def __init__(self, module: nn.Module, tokenizer: Any, name: str | None = None, whole: nn.Module | None = None):
        self.module, self.tokenizer = module, tokenizer
        self.whole = module if whole is None else whole  # with what else makes its numbers, as a pooling
        self.base = encoder_of(module)
        self.name = name or _name(module, self.base)
        self.embedder: Embedder = Means()  # what makes vectors of texts
        self.has_activation = False  # of a cross-encoder
        self.why_no_answer = ""  # why the model has none, though its class would
        self._last: Fingerprint | None = None
        self._identity: tuple[tuple[Fingerprint, int], dict[str, Any]] | None = None

    @property
    def activation(self) -> Callable[[Tensor], Tensor] | None:
        """Of a cross-encoder: (1, C) logits to its scores, as it is set now."""
        whole: Any = self.whole
        return whole.activation_fn if self.has_activation else None

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
        return weight() if callable(weight) else weight

    def states(self, output: Any) -> Tensor:
        """(N, S, D) what a text's vector is made of, in the model's output."""
        return output[self.embedder.output_name]

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
            joint = module.projection if isinstance(module, HeadThird) else module
            name = next((name for name, child in self.base.named_modules() if child is joint), "a projection")
            raise ModelError(f"{name} is {error}") from None

    def fingerprint(self, ids: Tensor | None = None) -> Fingerprint:
        """What the numbers depend on now, in some hundredths of a pass. ids: the tokens that are read, else all.

        Fingerprints of one model share what they hold.
        """
        with self.locked():  # what a pass of another thread puts on the model is not part of it
            watch_hooks(self.whole, self.runner, self.tokenizer)
            now = Fingerprint.of(self.whole, self.tokenizer, self._table, ids)
            if self._last is None or now.contents != self._last.contents:
                self._last = now
            self._last.places.update(now.places)
            return replace(now, contents=self._last.contents, places=self._last.places)

    def identity(self) -> dict[str, Any]:
        """What a file holds of the model, see `fingerprint.identity`."""
        with self.locked():
            now = self.fingerprint(), hash(frozenset(self.tokenizer.get_vocab().items()))
            if self._identity is None or self._identity[0] != now:
                self._identity = now, identity(self.whole, self.runner, self.tokenizer, self.dtype)
            return self._identity[1]

    def change(self, before: Fingerprint, module: nn.Module | None = None, *, whole: bool = False) -> str:
        """What of `module` (default: of all) is otherwise than at the fingerprint, by its name; "" for nothing.

        whole: by every value and with the tokenizer, as before a pass that goes beside an earlier one.
        """
        checks = getattr(_once, "checks", None)
        places = before.places  # which fingerprints of one model share, whatever tokens they are of
        of = id(places), None if module is None else id(module)
        if checks is not None and not whole and (of in checks or (of[0], None) in checks):
            return ""
        is_same = not whole and before.holds(self.whole, module)
        if not is_same:
            with self.locked():
                watch_hooks(self.whole, self.runner, self.tokenizer)
        if not is_same and before.difference(self.whole, self.tokenizer, self._table):
            with self.locked():  # not what a pass of another thread puts on the model
                watch_tables(self.whole, self.runner, self.tokenizer)
                if name := before.difference(self.whole, self.tokenizer, self._table):
                    return name
        if checks is not None:
            checks[of] = places
        return ""

    def check(self, before: Fingerprint, module: nn.Module | None = None, *, whole: bool = False) -> None:
        """Raises ModelError where there is a `change`."""
        if name := self.change(before, module, whole=whole):
            raise ModelError(f"the model has changed since this trace ({name}): trace again")


_once = threading.local()


@contextmanager
def checked_once() -> Iterator[None]:
    """In the block, on this thread, weights are compared with a fingerprint once: what answers one question asks often.

    Not for blocks in which somebody else's code runs: it may change the weights.
    """
    outer, _once.checks = getattr(_once, "checks", None), {}
    try:
        yield
    finally:
        _once.checks = outer


def _name(module: nn.Module, base: nn.Module) -> str:
    """The hub id or folder name a model came from, else its class."""
    config: Any = base.config
    name = getattr(config, "name_or_path", "") or ""
    if Path(name).is_absolute() or Path(name).is_dir():
        name = Path(name).name
    named: Any = getattr(module, "_orig_mod", module)
    return name or type(named.get_base_model() if hasattr(named, "get_base_model") else named).__name__
