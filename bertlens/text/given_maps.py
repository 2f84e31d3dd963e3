"""Attention weights, tokens and patches that the user brings along, checked, for Trace.from_attentions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..errors import InputError
from .display import spelling_in
from .encoding import Encoding, InputReport
from .patches import Patches, check_extra, patches_of

# Names of template tokens, for maps that come with tokens and nothing else
_PADDING = {"[PAD]", "<pad>", "<PAD>", "<|pad|>"}
_SPECIAL = set("[CLS] [SEP] [DIST] <s> </s> <cls> <sep> <eos> <bos> [BOS] [EOS] <|endoftext|>".split()) | _PADDING
_GIVEN = ("the tokens were given: every piece stands for itself",)
_SEPARATORS = {"[SEP]", "</s>", "<sep>"}


def named_tokens(
    tokens: Sequence[str],
    special: Sequence[bool] | None,
    segments: Sequence[int] | None,
    attention_mask: Sequence[int] | None = None,
    notes: Sequence[str] = _GIVEN,
) -> Encoding:
    """An encoding of tokens alone; what they are is guessed from their names where it is not said.

    attention_mask: 0 of padding, which is no piece of the text. notes: what the report says of them.
    """
    tokens = list(tokens) if isinstance(tokens, Iterable) else []
    if not tokens or not all(isinstance(token, str) for token in tokens):
        raise InputError("tokens must be a non-empty list of strings")
    guessed = []
    if special is None:
        special = [token in _SPECIAL for token in tokens]
        if any(special):
            guessed.append("special tokens are guessed from their names: pass special_mask to say which they are")
    is_text = [1] * len(tokens) if attention_mask is None else attention_mask
    _check_sizes(tokens, special_mask=special, attention_mask=is_text)
    special = [bool(s) or not m for s, m in zip(special, is_text, strict=True)]
    if segments is None:
        segments = _guess_segments(tokens, special)
    _check_sizes(tokens, segments=segments)
    segments = [int(s) for s in segments]
    numbers, spelling = iter(range(len(tokens))), spelling_in(tokens)
    report = InputReport(
        n_tokens=len(tokens),
        n_pieces=len(tokens) - sum(special),
        n_words=None,
        limit=None,
        offsets_known=False,
        words_known=False,
        notes=[*notes, *guessed],
    )
    return Encoding(
        text=None,
        text_pair=None,
        input_ids=(),
        token_type_ids=None,
        tokens=tuple(tokens),
        display_tokens=tuple(map(spelling.display, tokens)),
        word_ids=tuple(None if s else next(numbers) for s in special),
        offsets=None,
        special=tuple(special),
        segments=tuple(segments),
        separators=tuple(s and token in _SEPARATORS for s, token in zip(special, tokens, strict=True)),
        report=report,
        continuation=spelling.continuation,
    )


def _check_sizes(tokens: list[str], **rows: Sequence[int]) -> None:
    for name, entries in rows.items():
        if len(entries) != len(tokens):
            raise InputError(f"{name} has {len(entries)} entries for {len(tokens)} tokens")


NO_MAPS = (
    'the model gave no attention weights (None): load it with attn_implementation="eager" and call it with '
    "output_attentions=True, or let bertlens.Lens(model, tokenizer) run it"
)


def named_patches(
    grid: Any,
    positions: Sequence[int] | None,
    image: Any,
    size: int,
    tokens: Sequence[str] | None,
    special: Sequence[bool] | None,
    segments: Sequence[int] | None,
    attention_mask: Sequence[int] | None,
) -> tuple[Encoding, Patches]:
    """An encoding of `size` tokens, some of which are patches, and these. See Trace.from_attentions."""
    patches = patches_of(grid, positions, size, image)
    notes = [patches.note, *(() if tokens is None else _GIVEN)]
    if tokens is None:
        tokens = patches.names(size)
        if special is None:
            if positions is None:
                check_extra(patches, size)
            of_image = set(patches.tokens)
            special = [at not in of_image for at in range(size)]
    encoding = named_tokens(tokens, special, segments, attention_mask, notes)
    if positions is None:
        patches.check_special(encoding.special)
    return encoding, patches


def n_keys(attentions: Any) -> int:
    """K, of the first layer. Raises InputError where there is none."""
    _check_given(attentions)
    try:
        return int(np.shape(attentions[0])[-1])
    except (IndexError, TypeError, ValueError):
        raise InputError("attentions is one (heads, queries, keys) tensor or array per layer, in a list") from None


def _check_given(attentions: Any) -> None:
    if attentions is None or (isinstance(attentions, list | tuple) and any(array is None for array in attentions)):
        raise InputError(NO_MAPS)


def _guess_segments(tokens: list[str], special: Sequence[bool]) -> list[int]:
    """1 after the first block of separators, where text follows it."""
    separator = next((i for i, token in enumerate(tokens) if token in _SEPARATORS), len(tokens))
    start = next((i for i in range(separator, len(tokens)) if tokens[i] not in _SEPARATORS), len(tokens))
    if all(special[start:]):
        start = len(tokens)
    return [int(i >= start) for i in range(len(tokens))]


def checked_maps(attentions: Any, n_queries: int, n_keys: int) -> list[Tensor]:
    """One (H, n_queries, n_keys) tensor per layer, copied. Raises InputError where they are not attention weights."""
    _check_given(attentions)
    maps: list[Tensor] = []
    for number, array in enumerate(attentions):
        try:
            weights = array if isinstance(array, Tensor) else torch.as_tensor(array, device="cpu")
        except (TypeError, ValueError, RuntimeError) as error:
            raise InputError(f"layer {number}: not a tensor or array of attention weights ({error})") from None
        if weights.ndim == 4:
            if weights.shape[0] != 1:
                raise InputError(
                    f"layer {number} holds a batch of {weights.shape[0]} texts: give one at a time, for example a[0:1]"
                )
            weights = weights[0]
        if weights.ndim != 3 or not weights.dtype.is_floating_point:
            raise InputError(
                f"layer {number}: attention weights must be floats (heads, queries, keys), "
                f"not {str(weights.dtype).removeprefix('torch.')} {tuple(weights.shape)}"
            )
        if weights.shape[1:] != (n_queries, n_keys):
            raise InputError(
                f"layer {number}: {weights.shape[1]} x {weights.shape[2]} weights for {n_queries} tokens and "
                f"{n_keys} key tokens"
            )
        if maps and weights.shape[0] != maps[0].shape[0]:
            raise InputError(
                f"layer {number} has {weights.shape[0]} heads, layer 0 has {maps[0].shape[0]}: they must agree"
            )
        if problem := not_weights(weights):
            dropout = ", of model.eval(): in train mode dropout takes some away" if (weights >= 0).all() else ""
            raise InputError(f"layer {number}: {problem}: give the weights after softmax, queries before keys{dropout}")
        maps.append(weights.detach().clone())
    if not maps:
        raise InputError("no attention weights given")
    return maps


def not_weights(weights: Tensor, sink: bool = False) -> str:
    """What shows that these are not attention weights (..., queries, keys), "" where they may be.

    sink: rows may sum to less than 1, as in models in which the rest goes to no token.
    """
    # bfloat16's row sums are off by 2.4e-3 at 4 tokens; NaN is named by nan_layer instead
    off = weights.detach().float().sum(-1).sub_(1).nan_to_num_(0)
    off = off.max() if sink else off.abs().max()
    if off > 0.02:
        return f"rows must sum to 1 (a row is off by {float(off):.3g})"
    return "weights must not be negative" if (weights < -1e-6).any() else ""
