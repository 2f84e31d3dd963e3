"""Trace: what one forward pass over one input left behind, and what follows from it, computed on demand.

Scores and attention are recomputed for the layer asked for: nothing of size layers x heads x tokens x tokens exists.
Every answer is a new tensor, so a trace cannot be changed through what it gave away.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import torch
from torch import Tensor, nn

from ..base.kept import Kept
from ..base.registered import registered
from ..errors import InputError, ModelError, check_index
from ..model.borrowed import Fingerprint, Model
from ..model.families import Adapter, families
from ..run import attention
from ..run.changes import Change
from ..run.record import Layer, Pass
from ..text.encoding import Encoding
from ..text.given_maps import checked_maps, n_keys, named_patches, named_tokens
from ..text.patches import Patches
from .tokens import Sides

if TYPE_CHECKING:
    import pandas as pd

T = TypeVar("T")
NO_NEURONS_GIVEN = "Only attention weights were given, without the queries and keys they come from."


class Tracer(Protocol):
    """What makes further traces with the same model: a Lens."""

    def trace(self, text: str, text_pair: str | None = None, *, truncation: bool = False) -> Trace: ...


@dataclass(frozen=True, eq=False, repr=False)
class Trace(Sides):
    """One input's way through a model. Made by Lens.trace, Trace.from_attentions or Trace.from_encoder_decoder.

    Indices count from 0. H heads, S query tokens, K key tokens (K = S but for cross-attention), d dimensions of a head,
    D of the stream. Tensors are on the model's device, in float32 (half precision is cast up, float64 stays).
    Every method with a layer argument raises SelectionError where that layer does not exist.
    """

    encoding: Encoding
    model_name: str
    model: Model | None = None  # None for attention weights that were given
    lens: Tracer | None = None
    fingerprint: Fingerprint | None = None  # of the weights when the pass was made
    key_encoding: Encoding | None = None  # rectangular maps only
    patches: Patches | None = None  # of an image, among the tokens
    changes: tuple[Change, ...] = ()  # what whatif changed in this run, in order
    _original: Trace | None = None
    _pass: Pass | None = None
    _others: dict[str, Trace] = field(default_factory=dict)
    _kept: Kept = field(default_factory=Kept, init=False)

    # --- the shape ---

    @property
    def n_tokens(self) -> int:
        """S, the number of query tokens."""
        return len(self.encoding)

    @property
    def n_layers(self) -> int:
        """L, the number of attention maps' layers."""
        return len(self._layers)

    @cached_property
    def n_heads(self) -> int:
        """H, the number of (query) heads of a layer."""
        return int(self._any.shape[0])

    @property
    def head_dim(self) -> int | None:
        """d, the length of a query; None without queries."""
        query = self._layers[0].query
        return None if query is None else int(query.shape[-1])

    @property
    def dtype(self) -> str:
        """The dtype that the model computed in, for example 'float32' or 'bfloat16'."""
        return str(self._any.dtype).removeprefix("torch.")

    @property
    def has_neurons(self) -> bool:
        """Whether queries and keys are there, and not attention weights alone."""
        return self._layers[0].query is not None

    @property
    def why_no_neurons(self) -> str:
        """One sentence, empty where `has_neurons`."""
        return "" if self.has_neurons else self._record.why_no_neurons

    @property
    def maps(self) -> dict[str, Trace]:
        """The attention maps by name: {'self': this trace}, or 'encoder', 'decoder', 'cross' of an encoder-decoder."""
        return dict(self._others) if self._others else {"self": self}

    # --- the quantities ---

    def query(self, layer: int) -> Tensor:
        """(H, S, d), as the model multiplies them: after rotary, bias included. Raises ModelError without queries."""
        return self._give(self._neurons(layer).query)

    def key(self, layer: int) -> Tensor:
        """(H, S, d), like `query`; where heads share a key head it is repeated for each."""
        return attention.per_head(self._give(self._neurons(layer).key), self.n_heads)

    def value(self, layer: int) -> Tensor:
        """(H, S, d), bias included. Raises ModelError without values."""
        return attention.per_head(self._give(self._neurons(layer).value), self.n_heads)

    def scaling(self, layer: int) -> float:
        """The factor on q·k that the model itself passed (1/√d in BERT; ESM scales q and passes 1)."""
        return self._neurons(layer).scaling  # type: ignore[return-value]

    def mask(self, layer: int) -> Tensor | str | None:
        """What is added to the scaled scores: None (all visible), 'causal', or float (S, S) or (H, S, S); -inf hides.

        Raises ModelError without queries.
        """
        return attention.mask(self._neurons(layer))

    def mask_of(self, layer: int) -> str:
        """ "full" and "causal" by name, else "shared" by all heads, or one for each: "heads"."""
        return attention.mask_of(self._neurons(layer))

    def mask_rows(self, layer: int, head: int, queries: slice) -> Tensor:
        """(R, K) what is added to the scores of these queries of a head; -inf hides. Raises ModelError as `mask`."""
        return attention.mask_rows(self._neurons(layer), head, queries)

    def dense_mask(self, layer: int) -> Tensor | None:
        """`mask` as a tensor: float (S, S) or (H, S, S), -inf hides; None where every query sees every key."""
        return attention.dense_mask(self._neurons(layer))

    def scores(self, layer: int, dtype: torch.dtype | None = None) -> Tensor:
        """(H, S, S) q·k · scaling [query, key], hidden keys -inf. `dtype` computes in another one, say torch.float64.

        Raises ModelError without queries, and where a change has given a head's weights.
        """
        return attention.scores(self._neurons(layer), dtype)

    def log_sum_exp(self, layer: int, head: int) -> Tensor:
        """(S,) log Σ_j exp(score_ij) of a head's rows: α_ij = exp(score_ij - log_sum_exp_i). -inf where a query sees no
        key. float64; of a text of more than 1,024 tokens the scores are float32. Raises ModelError without queries.
        """
        check_index(head, self.n_heads, "head")
        return attention.log_sum_exp(self._neurons(layer), head)

    def attention(self, layer: int, dtype: torch.dtype | None = None) -> Tensor:
        """(H, S, K) attention weights [query, key]: softmax of `scores`, or the weights given.

        Rows sum to 1, or to less where the model or a change lets attention go to no token (`sink`).
        """
        return attention.attention(self._layer(layer), dtype)

    def attention_rows(self, layer: int, start: int, stop: int) -> Tensor:
        """(H, stop - start, K) the rows of `attention` for the queries start … stop - 1, and no others."""
        return attention.attention_rows(self._layer(layer), start, stop)

    def attention_heads(self, layer: int, start: int, stop: int) -> Tensor:
        """(stop - start, S, K) `attention` of the heads start … stop - 1, and of no others."""
        return attention.attention_heads(self._layer(layer), start, stop)

    def keys_seen(self, layer: int, start: int, stop: int) -> slice:
        """The keys from the first to the last that one of the queries start … stop - 1 sees: others get nothing."""
        return attention.seen(self._layer(layer), start, stop)

    def attention_part(self, layer: int, heads: slice, queries: slice, keys: slice) -> Tensor:
        """The part of `attention` of these heads, queries and keys, which are all that `keys_seen` says or more."""
        return attention.attention_part(self._layer(layer), heads, queries, keys)

    def scores_part(self, layer: int, heads: slice, queries: slice) -> Tensor:
        """The part of `scores` of these heads and queries, and of all keys. Raises ModelError without queries."""
        return attention.scores_part(self._neurons(layer), heads, queries)

    def sink(self, layer: int) -> Tensor:
        """(H, S) 1 - Σ_j α_ij ≥ 0: the attention of a query that goes to no token. 0 in most families."""
        return (1 - self.attention(layer).sum(-1)).clamp_min(0)

    def context(self, layer: int) -> Tensor:
        """(S, H·d) Σ_j α_ij v_j, or what a change has put in its place, the heads concatenated, before W_O.

        Raises ModelError without values.
        """
        return self._give(self._neurons(layer).context)

    def head_context(self, layer: int) -> Tensor:
        """(H, S, d) `context`, head by head."""
        return self.context(layer).unflatten(-1, (self.n_heads, -1)).transpose(0, 1)

    def attention_output(self, layer: int) -> Tensor:
        """(S, D) the attention block's output: after W_O and the residual, in post-LN families after the LayerNorm too.

        Raises ModelError for a family without an adapter.
        """
        return self._stream(layer, "attention_output")

    def layer_input(self, layer: int) -> Tensor:
        """(S, D) what the layer takes in. Raises ModelError for a family without an adapter."""
        return self._stream(layer, "layer_input")

    def layer_output(self, layer: int) -> Tensor:
        """(S, D) what the layer hands on, before any final norm. Raises ModelError for a family without an adapter."""
        return self._stream(layer, "layer_output")

    @property
    def hidden_states(self) -> tuple[Tensor, ...]:
        """L + 1 tensors (S, D) as transformers returns them (in pre-LN families the last is after the final norm)."""
        return tuple(self.hidden_state(number) for number in range(len(self._record.hidden_states) or 1))

    def hidden_state(self, number: int) -> Tensor:
        """(S, D) one of `hidden_states`. Raises SelectionError where it does not exist, ModelError without a model."""
        self._require_model()
        check_index(number, len(self._record.hidden_states), "hidden state")
        return self._give(self._record.hidden_states[number])

    @property
    def output(self) -> Any:
        """A copy of the model's own output object (with a batch dimension of 1)."""
        self._require_model()
        return copy.deepcopy(self._record.output)

    @cached_property
    def nan_layer(self) -> int | None:
        """The first layer in which NaN or Inf appears in a captured quantity, None where all are finite."""
        names = ("layer_input", "query", "key", "value", "context", "attention", "attention_output", "layer_output")

        def is_finite(x: Tensor) -> bool:  # of large numbers the sum alone may not be
            return bool(x.sum().isfinite()) or bool(x.isfinite().all())

        for number, record in enumerate(self._layers):
            if any((x := getattr(record, name)) is not None and not is_finite(x) for name in names):
                return number
        if self._record.hidden_states and not is_finite(self._record.hidden_states[-1]):
            return self.n_layers - 1
        return None

    def layer_module(self, layer: int) -> tuple[Adapter, nn.Module]:
        """A layer's module, and where its parts are in it, with the weights that this trace was made with.

        Raises ModelError where only attention weights were given, for a family without an adapter, and where the
        weights have changed since; SelectionError for a layer that does not exist.
        """
        check_index(layer, self.n_layers, "layer")
        if self.model is None:
            raise ModelError("this trace was made from attention weights: the model's own weights are needed here")
        adapter, module = self.model.layer(layer)
        self.check_unchanged(module)
        return adapter, module

    def check_unchanged(self, module: nn.Module | None = None) -> None:
        """Raises ModelError where the weights of `module` (default: the whole model) have changed since this trace."""
        if self.model is not None and self.fingerprint is not None:
            self.model.check(self.fingerprint, module)

    @property
    def original(self) -> Trace:
        """The run without changes that this one was made from; the trace itself where it has none."""
        return self if self._original is None else self._original

    def rerun(self, *changes: Change) -> Trace:
        """The same text through the same model with changes (`bertlens.whatif`): a new trace with `.changes`.

        What it gives out is what its pass used. On a changed trace they add up: those it has come first. Without
        changes it is the run once more. Raises ModelError where there is no model, where its weights have changed, and
        where it cannot make a change; SelectionError for parts that do not exist and for a token left without keys;
        InputError for anything that is no change, and for another trace that does not fit.
        """
        made: Trace = registered("rerun")(self, *changes)
        return made

    def predictions(self, k: int = 5, layer: int | str | None = None) -> pd.DataFrame:
        """The model's answers: DataFrame(position, layer, rank, token or label, logit, probability).

        See `bertlens.measures.predictions.predictions`.
        """
        table: pd.DataFrame = registered("predictions")(self, k, layer)
        return table

    def changed_weights(self, layer: int) -> tuple[int, ...]:
        """Heads whose weights a change has put in place of the softmax of their scores."""
        return tuple(sorted(self._layer(layer).weights))

    def changed_contexts(self, layer: int) -> dict[int, str]:
        """Head -> "zero" or "other", where a change has put that in place of Σ_j α_ij v_j."""
        return dict(self._layer(layer).contexts)

    def rest_changed(self, layer: int) -> bool:
        """Whether what follows on the layer's attention block was changed in this run."""
        check_index(layer, self.n_layers, "layer")
        return any(change.touches(layer) and not change.needs_attention for change in self.changes)

    def kept(self, key: Hashable, make: Callable[[], T]) -> T:
        """What `make` returned when this key was first asked for: made once, also by two threads, kept with the trace.

        A value must not hold the trace itself, which would then not be freed at once.
        """
        return self._kept.get(key, make)

    def keeps(self, key: Hashable) -> bool:
        """Whether `kept` has a value for the key already."""
        return key in self._kept

    def explore(self, **selection: Any) -> Any:
        """The Explorer widget on this trace; `selection` sets its traits (layer=, head=, query=, mode=, ...)."""
        return registered("explore")(self, **selection)

    def __repr__(self) -> str:
        keys = "" if self.key_encoding is None else f" to {len(self.key_tokens)}"
        size = f"{self.n_layers} layers x {self.n_heads} heads, {self.n_tokens}{keys} tokens"
        return f"Trace({', '.join([self.model_name, size, *map(str, self.changes)])})"

    # --- other ways to make one ---

    @classmethod
    def from_attentions(
        cls,
        attentions: Any,
        tokens: Sequence[str] | None = None,
        key_tokens: Sequence[str] | None = None,
        *,
        special_mask: Sequence[bool] | None = None,
        segments: Sequence[int] | None = None,
        grid: tuple[int, int] | None = None,
        patches: Sequence[int] | None = None,
        image: Any = None,
        model_name: str = "attention weights",
    ) -> Trace:
        """A trace from any model's attention weights: atlas and head view, without neurons.

        attentions: one (H, S, K) or (1, H, S, K) tensor or array per layer, or one (L, H, S, K) array; any float dtype.
        tokens: S strings; key_tokens: K strings for cross-attention, default `tokens`.
        special_mask, segments: (S,), where not given guessed from the tokens' names ([CLS], [SEP], <s>, </s>, ...).
        grid: (h, w) where tokens are the patches of an image, for example (14, 14) of a vision transformer's
            (1, H, 197, 197): the head view then draws what a token attends to as an image of h x w too. The patches are
            the last h·w tokens, row by row, and all tokens but the special ones; or, in any sequence, those at the
            positions `patches` (h·w numbers, row by row). Without `tokens` a patch is named by its row and column,
            "r0 c2", and one or two tokens before them are "[CLS]" and "[DIST]".
        image: the picture under the grid as the model saw it (cropped, that is): a uint8 array (height, width, 3) or a
            PIL image. A view and its page carry a small copy, a PNG of at most 100 kB.
        Raises InputError for shapes that do not fit, batches of several texts, rows that do not sum to 1, a grid that
        does not fit the tokens.
        """
        found = None
        if grid is not None:
            if key_tokens is not None:
                raise InputError("a grid is of one sequence of tokens: leave key_tokens")
            size = n_keys(attentions) if tokens is None else len(tokens)
            encoding, found = named_patches(grid, patches, image, size, tokens, special_mask, segments)
        elif tokens is None or patches is not None or image is not None:
            raise InputError("give the tokens, or for the patches of an image their grid=(rows, columns)")
        else:
            encoding = named_tokens(tokens, special_mask, segments)
        keys = None if key_tokens is None else named_tokens(key_tokens, None, None)
        maps = checked_maps(attentions, len(encoding), len(encoding if keys is None else keys))
        return cls(
            encoding=encoding,
            model_name=model_name,
            key_encoding=keys,
            patches=found,
            _pass=Pass([Layer(attention=weights) for weights in maps], (), None, NO_NEURONS_GIVEN),
        )

    @classmethod
    def from_encoder_decoder(
        cls,
        *,
        encoder: Any = None,
        decoder: Any = None,
        cross: Any = None,
        encoder_tokens: Sequence[str] | None = None,
        decoder_tokens: Sequence[str] | None = None,
        model_name: str = "attention weights",
    ) -> Trace:
        """An encoder-decoder's maps in one trace: `.maps` has those given, the trace itself is the first of them.

        encoder (S, S), decoder (T, T), cross (T, S): as `from_attentions` takes them, S encoder and T decoder tokens.
        Raises InputError where no map is given, or its tokens are missing.
        """
        sides = {
            "encoder": (encoder, encoder_tokens, None),
            "decoder": (decoder, decoder_tokens, None),
            "cross": (cross, decoder_tokens, encoder_tokens),
        }
        maps = {}
        for name, (attentions, tokens, key_tokens) in sides.items():
            if attentions is None:
                continue
            if tokens is None or (name == "cross" and key_tokens is None):
                raise InputError(f"{name} attention needs its tokens: pass encoder_tokens and decoder_tokens")
            maps[name] = cls.from_attentions(attentions, tokens, key_tokens, model_name=model_name)
        if not maps:
            raise InputError("no attention given: pass encoder=, decoder= or cross=")
        first = next(iter(maps.values()))
        return cls(first.encoding, model_name, key_encoding=first.key_encoding, _pass=first._pass, _others=maps)

    # --- inside ---

    @property
    def _record(self) -> Pass:
        assert self._pass is not None
        return self._pass

    @property
    def _device(self) -> torch.device:
        return self._any.device

    @property
    def _layers(self) -> list[Layer]:
        return self._record.layers

    @property
    def _any(self) -> Tensor:
        layer = self._layers[0]
        kept = layer.attention if layer.query is None else layer.query
        assert kept is not None
        return kept

    def _layer(self, layer: int) -> Layer:
        check_index(layer, self.n_layers, "layer")
        return self._layers[layer]

    def _neurons(self, layer: int) -> Layer:
        record = self._layer(layer)
        if not self.has_neurons:
            raise ModelError(self.why_no_neurons)
        return record

    def _stream(self, layer: int, name: str) -> Tensor:
        value = getattr(self._layer(layer), name)
        if value is None:
            self._require_model()
            raise ModelError(
                f"{self.model_name} belongs to a family without an adapter, {name} needs one of: {families()}"
            )
        return self._give(value)

    def _require_model(self) -> None:
        if self._record.output is None:
            raise ModelError("this trace was made from attention weights: there is no model output in it")

    @staticmethod
    def _give(x: Tensor | None) -> Tensor:
        assert x is not None
        return attention.cast(x)
