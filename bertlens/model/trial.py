"""Trial texts: what a model and its tokenizer answer to some short texts, called as their owner would call them.

What no list of settings has, an answer has. Answers are of this process' noise: another machine, thread count or
release gives them to the last digits, so that they are compared within a bound of their type.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from ..base.interrupts import is_of_handler
from ..base.one_thread import one_thread_if_small
from . import transformers_private as private
from .loan import Loan
from .modules import modules_by_name
from .user_functions import hooks_on, tell, unclear

TEXTS: tuple[tuple[str, ...], ...] = (
    ("The cat sat on the mat because it was tired.",),
    ("Who sat on the mat?", "It was the cat."),
    ("Ça coûte 5 € à Zürich, ☃ NASA über İstanbul",),
    ("Antidisestablishmentarianism electroencephalographically",),
)
MOST = 24  # tokens of a trial text
NUMBERS = 400  # of an answer, at most
LENGTHY = " ".join(f"{word}{n % 97} naïve WORDS" for n in range(70) for word in ("the", "cat", "un", "re"))
LENGTHS = (None, 16)  # at which it is cut: the tokenizer's limit, and this
WATCHED = 128  # tokens of the longer text that shows what a hook does, at most
BOUNDS = {torch.float64: 1e-6, torch.float16: 2e-2, torch.bfloat16: 1e-1}  # beside an answer's largest number
BOUND = 1e-4  # of float32


def answers(whole: nn.Module, runner: nn.Module, tokenizer: Any, dtype: torch.dtype) -> dict[str, Any]:
    """What the trial texts give, JSON types: a hash of token ids, and of each answer some numbers, None where the model
    refuses the text. whole: what the user gave; runner: the module in it that takes `input_ids`."""
    with torch.random.fork_rng(devices=[]), in_eval(whole), torch.no_grad(), one_thread_if_small(0):
        torch.manual_seed(0)
        numbers = [_numbers(partial(_answer, whole, runner, tokenizer, text)) for text in TEXTS]
    return {"tokens": _tokens(tokenizer), "numbers": numbers, "within": BOUNDS.get(dtype, BOUND)}


@contextmanager
def in_eval(module: nn.Module) -> Iterator[None]:
    """The modules in eval mode, and afterwards as they were."""
    with Loan() as loan:
        for child in modules_by_name(module).values():
            if child.training:
                loan.set(child, "training", False)
        yield


def _answer(whole: Any, runner: nn.Module, tokenizer: Any, text: tuple[str, ...], most: int = MOST) -> Any:
    if hasattr(whole, "predict"):
        return whole.predict([text if len(text) > 1 else (text[0], text[0])], show_progress_bar=False)
    if hasattr(whole, "encode"):
        return whole.encode([" ".join(text)], show_progress_bar=False)
    inputs = tokenizer(*text, truncation=True, max_length=most, return_tensors="pt")
    device = next((p.device for p in runner.parameters()), None)
    return runner(**{name: x.to(device) for name, x in inputs.items()})


def _numbers(answer: Callable[[], Any]) -> str | None:
    """Some numbers of an answer, at fixed places."""
    try:
        flat = [tensor.detach().double().cpu().flatten() for tensor in floats(answer())]
    except Exception as error:
        if is_of_handler(error):
            raise
        return None
    values = torch.cat(flat).numpy() if flat else np.zeros(0)
    places = np.linspace(0, len(values) - 1, min(NUMBERS, len(values))).astype(int)
    return base64.b64encode(values[places].astype(np.float32).tobytes()).decode()


def floats(value: Any) -> list[Tensor]:
    """The tensors with real numbers in an output, whatever holds them."""
    if isinstance(value, np.ndarray | np.generic) and np.issubdtype(value.dtype, np.floating):
        return [torch.from_numpy(np.atleast_1d(value))]
    if isinstance(value, Tensor):
        value = value.to_dense() if value.layout != torch.strided else value
        return [value] if value.is_floating_point() else []
    if isinstance(value, dict):
        value = [*value.values()]
    return [tensor for each in value for tensor in floats(each)] if isinstance(value, list | tuple) else []


def _tokens(tokenizer: Any) -> str:
    """A hash of what the tokenizer makes of the texts, and of a long one cut."""
    hashed = hashlib.sha256()
    for text in (*TEXTS, (LENGTHY,)):
        for length in LENGTHS:
            try:
                encoding: Any = dict(tokenizer(*text, truncation=True, max_length=length, verbose=False))
            except Exception as error:
                if is_of_handler(error):
                    raise
                encoding = None
            hashed.update(repr(encoding).encode())
    return hashed.hexdigest()[:16]


def watch_hooks(whole: nn.Module, runner: nn.Module, tokenizer: Any) -> None:
    """Run the trial texts, and a longer one, with an eye on each hook of the user's: what changes nothing of what it is
    given, and returns nothing else, is an observer from now on."""
    modules = modules_by_name(whole)
    if not unclear(modules):
        return
    changes: dict[tuple[int, int], tuple[Any, Any, bool]] = {}

    def watched(hook: Any, owner: Any) -> Callable[..., Any]:
        def call(*given: Any) -> Any:
            before = [tensor.clone() for tensor in floats(given[1:])]
            result = hook(*given)
            now = floats(given[1:])
            replaced = (
                result is not None
                and not _are_equal(floats(result), floats(given[-1]))
                and not _are_equal(floats(result), floats(given[1:]))
            )
            if replaced or not _are_equal(before, now):
                changes[id(hook), id(owner)] = hook, owner, True
            return result

        call.__module__ = __name__
        return call

    with torch.random.fork_rng(devices=[]), in_eval(whole), torch.no_grad(), Loan() as loan:
        for _, hook, owner, (table, key) in [*hooks_on(modules)]:
            changes[id(hook), id(owner)] = hook, owner, False
            table[key] = watched(hook, owner)
            loan.callback(table.__setitem__, key, hook)
        for text in TEXTS:
            _watched(whole, runner, tokenizer, text, MOST)
        _watched(whole, runner, tokenizer, (LENGTHY,), min(WATCHED, tokenizer.model_max_length, _positions(runner)))
    for hook, owner, changed in changes.values():
        tell(hook, owner, changed)


def _positions(runner: nn.Module) -> int:
    """How many tokens a model has positions for, less the two that some families leave out."""
    limits = (getattr(config, "max_position_embeddings", None) for config in private.configs(runner))
    return min((limit - 2 for limit in limits if isinstance(limit, int) and limit > 2), default=WATCHED)


def _watched(whole: nn.Module, runner: nn.Module, tokenizer: Any, text: tuple[str, ...], most: int) -> None:
    _numbers(partial(_answer, whole, runner, tokenizer, text, most))


def _are_equal(a: list[Tensor], b: list[Tensor]) -> bool:
    return len(a) == len(b) and all(x.shape == y.shape and torch.equal(x, y) for x, y in zip(a, b, strict=True))
