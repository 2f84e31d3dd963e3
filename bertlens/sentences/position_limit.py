"""A sentence encoder whose max_seq_length lies beyond the positions that its model has: said in a sentence."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..errors import BertLensError, ModelError
from ..model.loan import Loan
from ..text.encoding import position_limit, position_table

LENGTHS = ("max_seq_length", "query_length", "document_length")  # settings that cut a text


@contextmanager
def within_positions(module: Any) -> Iterator[None]:
    """Around passes of an object of sentence-transformers on this thread.

    Raises ModelError for an input with more tokens than the model has positions: before the pass where they are a
    table, which on a GPU would end the process' use of it, else where the pass fails.
    """
    first = module[0]
    limit, has_table = position_limit(first.model), position_table(first.model) is not None
    longest, thread = 0, threading.get_ident()

    def look(_: Any, arguments: tuple[Any, ...]) -> None:
        nonlocal longest
        ids = arguments[0].get("input_ids") if threading.get_ident() == thread else None
        if ids is not None:
            longest = int(arguments[0].get("max_length_q", ids.shape[-1]))  # of texts that are put behind each other
            if has_table and limit is not None and longest > limit:
                raise _beyond(module, longest, limit)

    with Loan() as loan:
        loan.hook(first.register_forward_pre_hook(look))
        try:
            yield
        except (IndexError, RuntimeError) as error:
            if isinstance(error, BertLensError) or limit is None or longest <= limit:
                raise
            raise _beyond(module, longest, limit) from error


def _beyond(module: Any, tokens: int, limit: int) -> ModelError:
    settings = {name: value for name in LENGTHS if (value := getattr(module[0], name, None)) and value > limit}
    values = ", ".join(f"{name} is {value:,}" for name, value in settings.items())
    names = " and ".join(settings) or LENGTHS[0]
    return ModelError(
        f"an input has {tokens:,} tokens, and this {type(module).__name__}'s model has positions for {limit:,}"
        f"{f', though its {values}' if values else ''}: set {names} to {limit}, and what is longer is cut"
    )
