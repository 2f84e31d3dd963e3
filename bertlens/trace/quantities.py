"""What a trace gives out of its pass: queries, keys, scores, weights, contexts, the stream, the model's output."""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import cached_property, wraps
from numbers import Integral
from typing import Any, TypeVar

import torch
from torch import Tensor

from ..errors import InputError, ModelError, check_index
from ..model.families import families
from ..run import attention_weights
from ..run.record import Layer, Pass

Method = TypeVar("Method", bound=Callable[..., Any])


def by_head(method: Method) -> Method:
    """A quantity of all heads of a layer: who asks for one head's is told how it is written. Raises InputError."""
    name = {"context": "head_context"}.get(method.__name__, method.__name__)

    @wraps(method)
    def checked(self: Quantities, layer: int, *further: Any, **options: Any) -> Any:
        place = [options[key] for key in ("head", "heads") if key in options] or list(further)
        if place and isinstance(place[0], Integral):
            check_index(layer, self.n_layers, "layer")
            check_index(place[0], self.n_heads, "head")
            head = ", ".join(map(str, place))
            raise InputError(
                f"{method.__name__} takes a layer and gives all of its heads: write {name}({layer})[{head}]"
            )
        return method(self, layer, *further, **options)

    return checked  # type: ignore[return-value]


class Quantities:
    """What Trace knows of its pass. Tensors are new at every call: they cannot change the trace."""

    model_name: str
    record: Pass

    @property
    def n_layers(self) -> int:
        """L, the number of attention maps' layers."""
        return len(self.record.layers)

    @cached_property
    def n_heads(self) -> int:
        """H, the number of (query) heads of a layer."""
        return int(self._first_tensor.shape[0])

    @property
    def head_dim(self) -> int | None:
        """d, the length of a query; None without queries."""
        query = self.record.layers[0].query
        return None if query is None else int(query.shape[-1])

    @property
    def dtype(self) -> str:
        """The dtype that the model computed in, for example 'float32' or 'bfloat16'."""
        value = self.record.layers[0].value
        return str((self._first_tensor if value is None else value).dtype).removeprefix("torch.")

    @property
    def device(self) -> torch.device:
        """Where the tensors are."""
        return self._first_tensor.device

    @property
    def has_neurons(self) -> bool:
        """Whether queries and keys are there, and not attention weights alone."""
        return all(layer.query is not None for layer in self.record.layers)

    @property
    def has_values(self) -> bool:
        """Whether values and contexts are there, as of an attention function of the user's too."""
        return self.record.layers[0].value is not None

    @property
    def why_no_neurons(self) -> str:
        """One sentence, empty where `has_neurons`."""
        return "" if self.has_neurons else self.record.why_no_neurons

    @by_head
    def query(self, layer: int) -> Tensor:
        """(H, S, d), as the model multiplies them: after rotary, bias included. Raises ModelError without queries."""
        return self._give(self._neurons(layer).query)

    @by_head
    def key(self, layer: int) -> Tensor:
        """(H, S, d), like `query`; where heads share a key head it is repeated for each."""
        return attention_weights.per_head(self._give(self._neurons(layer).key), self.n_heads)

    @by_head
    def value(self, layer: int) -> Tensor:
        """(H, S, d), bias included. Raises ModelError without values."""
        return attention_weights.per_head(self._give(self._values(layer).value), self.n_heads)

    def scaling(self, layer: int) -> float:
        """The factor on q·k that the model itself passed (1/√d in BERT; ESM scales q and passes 1)."""
        return self._neurons(layer).scaling  # type: ignore[return-value]

    def mask(self, layer: int) -> Tensor | str | None:
        """What is added to the scaled scores: None (all visible), 'causal', or float (S, S) or (H, S, S); -inf hides.

        Raises ModelError without queries.
        """
        return attention_weights.mask(self._neurons(layer))

    def mask_of(self, layer: int) -> str:
        """ "full" and "causal" by name, else "shared" by all heads, or one for each: "heads"."""
        return attention_weights.mask_of(self._neurons(layer))

    def mask_rows(self, layer: int, head: int, queries: slice) -> Tensor:
        """(R, K) what is added to the scores of these queries of a head; -inf hides. Raises ModelError as `mask`."""
        return attention_weights.mask_rows(self._neurons(layer), head, queries)

    def dense_mask(self, layer: int) -> Tensor | None:
        """`mask` as a tensor: float (S, S) or (H, S, S), -inf hides; None where every query sees every key."""
        return attention_weights.dense_mask(self._neurons(layer))

    @by_head
    def scores(self, layer: int, dtype: torch.dtype | None = None) -> Tensor:
        """(H, S, S) q·k · scaling [query, key], hidden keys -inf. `dtype` computes in another one, say torch.float64.

        Raises ModelError without queries, and where a change has given a head's weights.
        """
        return attention_weights.scores(self._neurons(layer), dtype)

    def score_terms(self, layer: int, head: int) -> dict[str, Tensor]:
        """What a head's scores are the sum of where keys are visible: name -> (S, S) [query, key], float.

        "content" is q·k · scaling. Then what the family adds: "position" (of the distance of key and query, or of a
        place on a page), "content to position" and "position to content" (DeBERTa), "layout" (LiLT); and "mask" where
        a mask adds to keys that it does not hide. Raises ModelError without queries, and where a change has given the
        head's weights.
        """
        check_index(head, self.n_heads, "head")
        return attention_weights.score_terms(self._neurons(layer), head)

    def log_sum_exp(self, layer: int, head: int, of: tuple[Tensor, Tensor] | None = None) -> Tensor:
        """(S,) log Σ_j exp(score_ij) of a head's rows: α_ij = exp(score_ij - log_sum_exp_i). -inf where a query sees no
        key. float64; of a text of more than 1,024 tokens the scores are float32. Raises ModelError without queries.

        of: queries and keys (S, d) in place of the head's own, rounded ones for example.
        """
        check_index(head, self.n_heads, "head")
        return attention_weights.log_sum_exp(self._neurons(layer), head, of)

    @by_head
    def attention(self, layer: int, dtype: torch.dtype | None = None) -> Tensor:
        """(H, S, K) attention weights [query, key]: softmax of `scores`, or the weights given.

        Rows sum to 1, or to less where the model or a change lets attention go to no token (`sink`).
        """
        return attention_weights.attention(self._layer(layer), dtype)

    def attention_rows(self, layer: int, start: int, stop: int) -> Tensor:
        """(H, stop - start, K) the rows of `attention` for the queries start … stop - 1, and no others."""
        return self.attention_part(layer, slice(None), slice(start, stop), slice(None))

    def attention_heads(self, layer: int, start: int, stop: int) -> Tensor:
        """(stop - start, S, K) `attention` of the heads start … stop - 1, and of no others."""
        return attention_weights.attention_heads(self._layer(layer), start, stop)

    def keys_seen(self, layer: int, start: int, stop: int) -> slice:
        """The keys from the first to the last that one of the queries start … stop - 1 sees: others get nothing."""
        return attention_weights.seen(self._layer(layer), start, stop)

    def attention_part(self, layer: int, heads: slice, queries: slice, keys: slice) -> Tensor:
        """The part of `attention` of these heads, queries and keys, which are all that `keys_seen` says or more."""
        return attention_weights.attention_part(self._layer(layer), heads, queries, keys)

    def scores_part(self, layer: int, heads: slice, queries: slice) -> Tensor:
        """The part of `scores` of these heads and queries, and of all keys. Raises ModelError without queries."""
        return attention_weights.scores_part(self._neurons(layer), heads, queries)

    @by_head
    def sink(self, layer: int) -> Tensor:
        """(H, S) 1 - Σ_j α_ij ≥ 0: the attention of a query that goes to no token. 0 in most families."""
        return (1 - self.attention(layer).sum(-1)).clamp_min(0)

    @by_head
    def context(self, layer: int) -> Tensor:
        """(S, H·d) Σ_j α_ij v_j, or what a change has put in its place, the heads concatenated, before W_O.

        Raises ModelError without values.
        """
        return self._give(self._values(layer).context)

    @by_head
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
        self._require_model()
        return tuple(map(self._give, self.record.hidden_states))

    def hidden_state(self, number: int) -> Tensor:
        """(S, D) one of `hidden_states`. Raises SelectionError where it does not exist, ModelError without a model."""
        self._require_model()
        check_index(number, len(self.record.hidden_states), "hidden state")
        return self._give(self.record.hidden_states[number])

    @property
    def output(self) -> Any:
        """A copy of the model's own output object (with a batch dimension of 1)."""
        self._require_model()
        return copy.deepcopy(self.record.output)

    @cached_property
    def nan_layer(self) -> int | None:
        """The first layer in which NaN or Inf appears in a captured quantity, None where all are finite."""
        names = ("layer_input", "query", "key", "value", "context", "attention", "attention_output", "layer_output")

        def is_finite(x: Tensor) -> bool:  # of large numbers the sum alone may not be
            return bool(x.sum().isfinite()) or bool(x.isfinite().all())

        for number, record in enumerate(self.record.layers):
            if any((x := getattr(record, name)) is not None and not is_finite(x) for name in names):
                return number
        if self.record.hidden_states and not is_finite(self.record.hidden_states[-1]):
            return self.n_layers - 1
        return None

    @property
    def _first_tensor(self) -> Tensor:
        layer = self.record.layers[0]
        tensor = layer.attention if layer.query is None else layer.query
        assert tensor is not None
        return tensor

    def _layer(self, layer: int) -> Layer:
        check_index(layer, self.n_layers, "layer")
        return self.record.layers[layer]

    def _neurons(self, layer: int) -> Layer:
        record = self._layer(layer)
        if not self.has_neurons:
            raise ModelError(self.why_no_neurons)
        return record

    def _values(self, layer: int) -> Layer:
        return self._layer(layer) if self.has_values else self._neurons(layer)

    def _stream(self, layer: int, name: str) -> Tensor:
        value = getattr(self._layer(layer), name)
        if value is None:
            self._require_model()
            raise ModelError(
                f"{self.model_name} belongs to a family without an adapter, {name} needs one of: {families()}"
            )
        return self._give(value)

    def _require_model(self) -> None:
        if self.record.output is None:
            raise ModelError("this trace was made from attention weights: there is no model output in it")

    @staticmethod
    def _give(x: Tensor | None) -> Tensor:
        assert x is not None
        return attention_weights.cast(x)
