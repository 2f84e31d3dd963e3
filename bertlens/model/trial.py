"""Trial texts: what a model and its tokenizer answer to some short texts, called as their owner would call them.

What no list of settings has, an answer has. Answers are of this process' noise: another machine, thread count or
release gives them to the last digits, so that they are compared within a bound of their type.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

from ..base.interrupts import is_of_handler
from ..base.one_thread import one_thread_if_small
from ..text.tokenizer import resting_state
from . import transformers_private as private
from .loan import Loan
from .modules import attribute_tensors, modules_by_name, watched_attributes
from .user_functions import hooks_on, tell, unclear

TEXTS: tuple[tuple[str, ...], ...] = (
    ("The cat sat on the mat because it was tired.",),
    ("Who sat on the mat?", "It was the cat."),
    ("Ça coûte 5 € à Zürich, ☃ NASA über İstanbul",),
    ("Electroencephalographically",),
)
MOST = 24  # tokens of a trial text
NUMBERS = 400  # of an answer, at most
LENGTHY = " ".join(f"{word}{n % 97} naïve WORDS" for n in range(70) for word in ("the", "cat", "un", "re"))
LENGTHS = (None, 16)  # at which it is cut: the tokenizer's limit, and this
WATCHED = 128  # tokens of the longer text that shows what a hook does, at most
BOUNDS = {torch.float64: 1e-6, torch.float16: 2e-2, torch.bfloat16: 1e-1}  # beside an answer's largest number
BOUND = 1e-4  # of float32


def answers(whole: nn.Module, runner: nn.Module, tokenizer: Any, dtype: torch.dtype) -> dict[str, Any]:
    """What the trial texts give, JSON types: a hash of token ids, and some numbers of the answer to all together; where
    the model does not take them so, of each, None where it refuses one.

    whole: what the user gave; runner: the module in it that takes `input_ids`; dtype: of the weights.
    """
    with _borrowed(whole, tokenizer), one_thread_if_small(0):
        torch.random.default_generator.manual_seed(0)
        together = _numbers(partial(_answer, whole, runner, tokenizer, TEXTS), NUMBERS * len(TEXTS))
        numbers = [together]
        if together is None:  # no padding, or no pairs
            numbers = [_numbers(partial(_answer, whole, runner, tokenizer, [text])) for text in TEXTS]
        return {"tokens": _tokens(tokenizer), "numbers": numbers, "within": BOUNDS.get(dtype, BOUND)}


@contextmanager
def _borrowed(whole: nn.Module, tokenizer: Any) -> Iterator[Loan]:
    """The modules in eval mode; afterwards they, the tokenizer and the random numbers are as they were."""
    modules = modules_by_name(whole).values()
    rest, watch = resting_state(tokenizer), watched_attributes(modules)
    with torch.random.fork_rng(devices=[]), rest, torch.no_grad(), watch, Loan() as loan:
        for child in modules:
            if child.training:
                loan.set(child, "training", False)
        yield loan


def _answer(whole: Any, runner: nn.Module, tokenizer: Any, texts: Sequence[tuple[str, ...]], most: int = MOST) -> Any:
    """Of texts together, a sentence encoder's by its own call."""
    if whole is not runner and hasattr(whole, "predict"):
        return whole.predict([(text[0], text[-1]) for text in texts], show_progress_bar=False)
    if whole is not runner and hasattr(whole, "encode"):
        return whole.encode([" ".join(text) for text in texts], show_progress_bar=False)
    encodings = [tokenizer(*text, truncation=True, max_length=most) for text in texts]
    device = next((p.device for p in runner.parameters()), None)
    pads = {"input_ids": tokenizer.pad_token_id if len(texts) > 1 else 0}
    inputs = {
        name: pad_sequence([torch.tensor(e[name], device=device) for e in encodings], True, pads.get(name, 0))
        for name in encodings[0]
    }
    return runner(**inputs)


def _numbers(answer: Callable[[], Any], most: int = NUMBERS) -> str | None:
    """Some numbers of an answer, at fixed places; None where there is none."""
    try:
        flat = [tensor.detach().double().cpu().flatten() for tensor in _tensors(answer()) if tensor.is_floating_point()]
    except Exception as error:
        if is_of_handler(error):
            raise
        return None
    values = torch.cat(flat).numpy() if flat else np.zeros(0)
    places = np.linspace(0, len(values) - 1, min(most, len(values))).astype(int)
    return base64.b64encode(values[places].astype(np.float32).tobytes()).decode()


def _tensors(value: Any) -> list[Tensor]:
    """The tensors in an output, whatever holds them."""
    if isinstance(value, np.ndarray | np.generic) and value.dtype.kind in "fiub":
        return [torch.from_numpy(np.atleast_1d(value))]
    if isinstance(value, Tensor):
        return [value.to_dense() if value.layout != torch.strided else value]
    if isinstance(value, dict):
        value = [*value.values()]
    return [tensor for each in value for tensor in _tensors(each)] if isinstance(value, list | tuple) else []


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
    changes: dict[tuple[int, int], list[bool]] = {}  # of each call

    def watched(hook: Any, owner: Any) -> Callable[..., Any]:
        def call(*given: Any) -> Any:
            before = [tensor.clone() for tensor in _tensors(given[1:])]
            result = hook(*given)
            alike = any(_are_equal(_tensors(result), _tensors(of)) for of in (given[-1], given[1:]))
            changed = not _are_equal(before, _tensors(given[1:])) or (result is not None and not alike)
            changes.setdefault((id(hook), id(owner)), []).append(changed)
            return result

        call.__module__ = __name__
        return call

    hooks = [*hooks_on(modules)]
    with _borrowed(whole, tokenizer) as loan:
        for _, hook, owner, (table, key) in hooks:
            table[key] = watched(hook, owner)
            loan.callback(table.__setitem__, key, hook)
        for text in TEXTS:
            _watched(whole, runner, tokenizer, text, MOST)
        _watched(whole, runner, tokenizer, (LENGTHY,), min(WATCHED, tokenizer.model_max_length, _positions(runner)))
    for _, hook, owner, _ in hooks:
        tell(hook, owner, any(changes.get((id(hook), id(owner)), [True])))  # True for one that is never called


def watch_tables(whole: nn.Module, runner: nn.Module, tokenizer: Any) -> None:
    """Run texts of two lengths, where a module has tensors among its attributes: which of them a pass sets."""
    if any(map(attribute_tensors, modules_by_name(whole).values())):
        with _borrowed(whole, tokenizer):
            for text in TEXTS[:2]:
                _watched(whole, runner, tokenizer, text, MOST)


def _positions(runner: nn.Module) -> int:
    """How many tokens a model has positions for, less the two that some families leave out."""
    limits = (getattr(config, "max_position_embeddings", None) for config in private.configs(runner))
    return min((limit - 2 for limit in limits if isinstance(limit, int) and limit > 2), default=WATCHED)


def _watched(whole: nn.Module, runner: nn.Module, tokenizer: Any, text: tuple[str, ...], most: int) -> None:
    _numbers(partial(_answer, whole, runner, tokenizer, [text], most))


def _are_equal(a: list[Tensor], b: list[Tensor]) -> bool:
    return len(a) == len(b) and all(x.shape == y.shape and torch.equal(x, y) for x, y in zip(a, b, strict=True))
