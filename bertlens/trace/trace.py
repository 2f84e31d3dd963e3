"""Trace: what one forward pass over one input left behind, and what follows from it, computed on demand.

Scores and attention are recomputed for the layer asked for: nothing of size layers x heads x tokens x tokens exists.
Every answer is a new tensor, so a trace cannot be changed through what it gave away.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from torch import nn

from ..base.dataframes import pd
from ..base.memo import Memo
from ..base.registered import registered
from ..errors import InputError, ModelError, check_index
from ..model.borrowed import Model
from ..model.families import Adapter
from ..model.fingerprint import Fingerprint
from ..run.changes import Change
from ..run.record import Layer, Pass
from ..text.encoding import Encoding
from ..text.given_maps import checked_maps, n_keys, named_patches, named_tokens
from ..text.patches import Patches
from .quantities import Quantities
from .tokens import Sides

T = TypeVar("T")
NO_NEURONS_GIVEN = "Only attention weights were given, without the queries and keys they come from."


class Tracer(Protocol):
    """What makes further traces with the same model: a Lens."""

    made: str

    def trace(self, text: str, text_pair: str | None = None, *, truncation: bool = False) -> Trace: ...

    def encoding(self, text: Any, text_pair: Any = None, truncation: bool = False) -> Encoding: ...

    def run(self, encodings: Sequence[Encoding]) -> list[Trace]: ...


@dataclass(frozen=True, eq=False, repr=False)
class Trace(Quantities, Sides):
    """One input's way through a model. Made by Lens.trace, Trace.from_attentions or Trace.from_encoder_decoder.

    Indices count from 0. H heads, S query tokens, K key tokens (K = S but for cross-attention), d dimensions of a head,
    D of the stream. Tensors are on the model's device, in float32 (half precision is cast up, float64 stays).
    Every method with a layer argument raises SelectionError where that layer does not exist.
    """

    encoding: Encoding  # the text and its tokens
    model_name: str
    record: Pass = field(kw_only=True)  # what the pass left behind, the tensors themselves: only to be read
    model: Model | None = None  # None for attention weights that were given
    lens: Tracer | None = None
    fingerprint: Fingerprint | None = None  # of the weights when the pass was made
    key_encoding: Encoding | None = None  # of the keys, for rectangular maps only
    patches: Patches | None = None  # of an image, among the tokens
    changes: tuple[Change, ...] = ()  # what whatif changed in this run, in order
    _original: Trace | None = None
    _others: dict[str, Trace] = field(default_factory=dict)
    _memo: Memo = field(default_factory=Memo, init=False)

    def __getstate__(self) -> dict[str, Any]:
        model = None if self.model is getattr(self.lens, "borrowed", None) else self.model
        return vars(self) | {"model": model}  # the lens is pickled without what another thread's pass put on

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        if self.model is None:
            vars(self)["model"] = getattr(self.lens, "borrowed", None)

    @property
    def n_tokens(self) -> int:
        """S, the number of query tokens."""
        return len(self.encoding)

    @property
    def maps(self) -> dict[str, Trace]:
        """The attention maps by name: {'self': this trace}, or 'encoder', 'decoder', 'cross' of an encoder-decoder."""
        return dict(self._others) if self._others else {"self": self}

    @property
    def borrowed(self) -> Model:
        """`model`, for what cannot do without. Raises ModelError where there is none."""
        if self.model is None:
            raise ModelError("this trace was made from attention weights: the model's own weights are needed here")
        return self.model

    def layer_module(self, layer: int) -> tuple[Adapter, nn.Module]:
        """A layer's module, and where its parts are in it, with the weights that this trace was made with.

        Raises ModelError where only attention weights were given, for a family without an adapter, and where the
        weights have changed since; SelectionError for a layer that does not exist.
        """
        check_index(layer, self.n_layers, "layer")
        adapter, module = self.borrowed.layer(layer)
        self.check_unchanged(module)
        return adapter, module

    def check_unchanged(self, module: nn.Module | None = None, *, whole: bool = False) -> None:
        """Raises ModelError where `module` (default: the whole model) computes otherwise than in this trace.

        whole: by every value, as before another pass.
        """
        if self.model is not None and self.fingerprint is not None:
            self.model.check(self.fingerprint, module, whole=whole)

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
        return registered("rerun")(self, *changes)

    def predictions(self, k: int = 5, layer: int | str | None = None) -> pd.DataFrame:
        """The model's answers: DataFrame(position, layer, rank, token or label, logit, probability).

        k, layer: see `bertlens.measures.predictions.predictions`.
        """
        return registered("predictions")(self, k, layer)

    def changed_weights(self, layer: int) -> tuple[int, ...]:
        """Heads whose weights a change has put in place of the softmax of their scores."""
        return tuple(sorted(self._layer(layer).weights))

    def changed_contexts(self, layer: int) -> dict[int, float | None]:
        """Head -> what a change has multiplied Σ_j α_ij v_j by; None where another vector stands in its place."""
        return dict(self._layer(layer).contexts)

    def rest_changed(self, layer: int) -> bool:
        """Whether what follows on the layer's attention block was changed in this run."""
        check_index(layer, self.n_layers, "layer")
        return any(change.touches(layer) and not change.needs_attention for change in self.changes)

    def kept(self, key: Hashable, make: Callable[[], T]) -> T:
        """What `make` returned when this key was first asked for: made once, also by two threads, kept with the trace.

        A value must not hold the trace itself, which would then not be freed at once.
        """
        return self._memo.get(key, make)

    def keeps(self, key: Hashable) -> bool:
        """Whether `kept` has a value for the key already."""
        return key in self._memo

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
        attention_mask: Sequence[int] | None = None,
        grid: tuple[int, int] | None = None,
        patches: Sequence[int] | None = None,
        image: Any = None,
        model_name: str = "attention weights",
    ) -> Trace:
        """A trace from any model's attention weights: atlas and head view, without neurons.

        attentions: one (H, S, K) or (1, H, S, K) tensor or array per layer, or one (L, H, S, K) array; any float dtype.
        tokens: S strings; key_tokens: K strings for cross-attention, default `tokens`.
        special_mask, segments: (S,), where not given guessed from the tokens' names ([CLS], [SEP], <s>, </s>, ...).
        attention_mask: (S,), 0 of padding, as the tokenizer made it: no piece of the text, as special tokens are none.
            Without it padding is known by its name alone ([PAD], <pad>).
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
        of_image = None
        if grid is not None:
            if key_tokens is not None:
                raise InputError("a grid is of one sequence of tokens: leave key_tokens")
            size = n_keys(attentions) if tokens is None else len(tokens)
            encoding, of_image = named_patches(
                grid, patches, image, size, tokens, special_mask, segments, attention_mask
            )
        elif tokens is None or patches is not None or image is not None:
            raise InputError("give the tokens, or for the patches of an image their grid=(rows, columns)")
        else:
            encoding = named_tokens(tokens, special_mask, segments, attention_mask)
        keys = None if key_tokens is None else named_tokens(key_tokens, None, None)
        maps = checked_maps(attentions, len(encoding), len(encoding if keys is None else keys))
        return cls(
            encoding=encoding,
            model_name=model_name,
            key_encoding=keys,
            patches=of_image,
            record=Pass([Layer(attention=weights) for weights in maps], (), None, NO_NEURONS_GIVEN),
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

        encoder (S, S), decoder (T, T), cross (T, S): as for `from_attentions`; S encoder_tokens and T decoder_tokens.
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
        trace = next(iter(maps.values()))
        return cls(trace.encoding, model_name, key_encoding=trace.key_encoding, record=trace.record, _others=maps)
