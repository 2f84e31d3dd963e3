"""Pieces put together to words: maps and norms of pieces as those of words, the way the head view shows them."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from ..text.tokenizer import Annotator
from ..trace.trace import Trace

EVEN = 1.000001  # times an even share: what is more than rounding above it


def units(trace: Trace) -> list[list[int]]:
    """The token positions of each word, in order; a template token is a unit of its own."""
    return grouped(trace.word_ids)


def grouped(word_ids: Sequence[int | None]) -> list[list[int]]:
    """`units`, of the word of each token."""
    groups: list[list[int]] = []
    for position, word in enumerate(word_ids):
        if word is not None and position and word_ids[position - 1] == word:
            groups[-1].append(position)
        else:
            groups.append([position])
    return groups


def annotation(trace: Trace) -> tuple[list[str], list[tuple[str, int, int]]]:
    """Names of the tokens for people, and named runs of them, where the tokenizer knows what its tokens are."""
    tokenizer = None if trace.model is None else trace.model.tokenizer
    if not isinstance(tokenizer, Annotator) or trace.text is None or trace.text_pair is not None:
        return trace.display_tokens, []
    notes = tokenizer.annotate(trace.text, trace.n_tokens)
    return notes.labels, notes.spans


def strongest_word(trace: Trace, layer: int, head: int, query: int) -> int | None:
    """The piece with the most weight of the word that a query's row gives most, of words with a letter or a digit and
    not the query's own; None where there is none, or it has no more than an even share of the row."""
    return strongest_words(trace, layer, head, slice(query, query + 1))[0]


def strongest_words(trace: Trace, layer: int, head: int, queries: slice) -> list[int | None]:
    """`strongest_word` of each of successive queries."""
    rows = trace.attention_part(layer, slice(head, head + 1), queries, slice(None))[0].double()
    words = lettered(trace)
    return [
        _strongest(row, [pieces for pieces in words if query not in pieces])
        for query, row in enumerate(rows, queries.start)
    ]


def _strongest(row: Tensor, words: Sequence[list[int]]) -> int | None:
    if not words:
        return None
    best = max(words, key=lambda pieces: float(row[pieces].sum()))
    key = best[int(row[best].argmax())]
    return key if float(row[key]) > EVEN / len(row) else None


def lettered(trace: Trace) -> list[list[int]]:
    """The tokens of each word that has a letter or a digit; none of the template's."""
    special, tokens = trace.special_mask.tolist(), trace.display_tokens
    return [
        pieces
        for pieces in units(trace)
        if not special[pieces[0]] and any(letter.isalnum() for piece in pieces for letter in tokens[piece])
    ]


def merge_keys(trace: Trace, values: Tensor) -> Tensor:
    """(…, S) -> (…, W): values of tokens that are attended to, summed over each word's pieces.

    For norms this is the sum of the pieces' norms, not the norm of their sum: how much the pieces send, added up.
    """
    return values @ _members(trace, values)


def merge_map(trace: Trace, values: Tensor) -> Tensor:
    """(…, S, S) -> (…, W, W) [query, key]: columns summed over a word's pieces, its rows averaged.

    Attention weights stay weights (rows sum to 1); norms merge as the sum of norms.
    """
    members = _members(trace, values)
    return (members / members.sum(0)).T @ merge_keys(trace, values)


def _members(trace: Trace, like: Tensor) -> Tensor:
    """(S, W) 1 where a token is a piece of the word."""
    words = units(trace)
    members = like.new_zeros(trace.n_tokens, len(words))
    for number, pieces in enumerate(words):
        members[torch.tensor(pieces, device=like.device), number] = 1
    return members
