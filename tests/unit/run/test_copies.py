"""A pickle and a deep copy of a lens, made at any moment: they hold nothing of a pass, and trace equal numbers."""

from __future__ import annotations

import copy
import itertools
import operator
import pickle
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest
import torch
import transformers as tf

import bertlens as bl
from bertlens import whatif
from bertlens.measures import attribution
from unit import tiny
from unit.base.test_interrupts import state

TEXT = "the cat sat on the mat"
PASSES = 200
COPIES: dict[str, Callable[[bl.Lens], bl.Lens]] = {
    "pickle": lambda lens: pickle.loads(pickle.dumps(lens)),
    "deepcopy": copy.deepcopy,
}
CHANGES = (whatif.off(0, 1), whatif.mlp(1))


def doubled(module: Any, args: Any, output: torch.Tensor) -> torch.Tensor:
    """A hook of the user's that a pickle can hold."""
    return 2 * output


def small() -> Any:
    model = tiny.shaken(tf.BertModel(tf.BertConfig(**tiny.BERT | {"num_hidden_layers": 2})))
    model.train()
    model.encoder.layer[1].output.dense.register_forward_hook(doubled)
    return model


def asked_by_the_user(model: Any) -> None:
    """transformers leaves its recording hooks on the modules, for good."""
    model.eval()
    model(input_ids=torch.tensor([[1, 2, 3]]), output_hidden_states=True)
    model.train()


def of(lens: bl.Lens) -> list[Any]:
    """What of its modules a copy is to share with the model."""
    hooks, _, *rest = state(lens.model)
    return [[[list(map(operator.itemgetter(1), each)) for each in part] for part in hooks], *rest]


def numbers(lens: bl.Lens) -> list[torch.Tensor]:
    trace = lens.trace(TEXT)
    return [trace.hidden_states[-1], trace.attention(1), trace.rerun(*CHANGES).hidden_states[-1]]


@contextmanager
def passes(run: Callable[[], Any]) -> Iterator[Callable[[], bool]]:
    """Another thread runs PASSES of them; gives whether it is done."""
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(lambda: [run() for _ in range(PASSES)])
        yield future.done
        future.result()


@pytest.mark.sampled(1)
@pytest.mark.parametrize("kind", COPIES)
def test_a_copy_while_another_thread_runs_the_model(kind: str) -> None:
    lens = bl.Lens(small(), tiny.wordpiece())
    trace = lens.trace(TEXT)
    expected, before = numbers(lens), of(lens)
    kinds = itertools.cycle(
        [
            lambda: lens.trace(TEXT),
            lambda: trace.rerun(*CHANGES),
            lambda: attribution.gradient_input(trace, lambda output: output[0].square().sum()),
        ]
    )
    copies = []
    with passes(lambda: next(kinds)()) as are_done:
        while not are_done():
            copies.append(COPIES[kind](lens))
    assert len(copies) > 3
    for each in copies:
        assert of(each) == before
    for found, ours in zip(numbers(copies[-1]), expected, strict=True):
        torch.testing.assert_close(found, ours, rtol=0, atol=0)
    assert of(lens) == before


@pytest.mark.parametrize("kind", COPIES)
def test_a_copy_in_the_middle_of_a_pass_of_this_thread(kind: str) -> None:
    """In a metric, and in a hook of the user's: while our hooks, eval mode and attention function are on."""
    lens = bl.Lens(small(), tiny.wordpiece())
    trace = lens.trace(TEXT)
    expected, before = numbers(lens), of(lens)
    copies = []

    def metric(output: Any) -> torch.Tensor:
        copies.append(COPIES[kind](lens))
        assert of(lens) != before
        return output[0].square().sum()

    attribution.gradient_input(trace, metric)
    handle = lens.model.pooler.register_forward_hook(lambda *_: copies.append(copy.deepcopy(lens)))
    trace.rerun(*CHANGES)
    handle.remove()
    copies[-1].model.pooler._forward_hooks.clear()  # that one saw its own hook
    assert len(copies) > 2
    for each in copies:
        assert of(each) == before
    for found, ours in zip(numbers(copies[0]), expected, strict=True):
        torch.testing.assert_close(found, ours, rtol=0, atol=0)


@pytest.mark.parametrize("kind", COPIES)
def test_a_copy_after_the_user_has_asked_for_hidden_states(kind: str) -> None:
    lens = bl.Lens(small(), tiny.wordpiece())
    before = of(lens)
    asked_by_the_user(lens.model)
    copied = COPIES[kind](lens)
    assert of(copied) == before
    expected = lens.model.eval()(input_ids=torch.tensor([[1, 2, 3]]), output_hidden_states=True).hidden_states
    found = copied.model.eval()(input_ids=torch.tensor([[1, 2, 3]]), output_hidden_states=True).hidden_states
    assert len(found) == len(expected) == 3 and all(map(torch.equal, found, expected))


@pytest.mark.parametrize("kind", COPIES)
def test_what_belongs_together_in_a_lens_does_in_its_copy(kind: str) -> None:
    lens = bl.Lens(small(), tiny.wordpiece())
    copied = COPIES[kind](lens)
    assert copied.model is copied.borrowed.module is not lens.model
    assert copied.sentences._lens is copied  # private: what encodes whole texts
    assert not {p.data_ptr() for p in copied.model.parameters()} & {p.data_ptr() for p in lens.model.parameters()}
    assert copy.copy(lens).model is lens.model
    both = pickle.loads(pickle.dumps((lens, lens.trace(TEXT))))
    assert both[1].lens is both[0] and both[1].model is both[0].borrowed


@pytest.mark.sampled(1)
@pytest.mark.parametrize("kind", COPIES)
def test_a_sentence_encoder_while_another_thread_encodes(kind: str) -> None:
    """Its tokenizer's padding and truncation are borrowed too."""
    encoders = pytest.importorskip("unit.tiny_encoders")
    lens = bl.Lens(encoders.encoder())
    expected, settings = lens.encode(encoders.TEXTS), lens.tokenizer.backend_tokenizer
    before = of(lens), settings.padding, settings.truncation
    with passes(lambda: lens.encode(encoders.TEXTS)) as are_done:
        while not are_done():
            copied = COPIES[kind](lens)
            settings = copied.tokenizer.backend_tokenizer
            assert (of(copied), settings.padding, settings.truncation) == before
    torch.testing.assert_close(copied.encode(encoders.TEXTS), expected, rtol=0, atol=0)
    assert copied.model is copied.sentences.module and copied.tokenizer is copied.sentences.tokenizer


def test_a_trace_can_be_pickled_while_another_thread_runs_the_model() -> None:
    lens = bl.Lens(small(), tiny.wordpiece())
    trace = lens.trace(TEXT)
    with passes(lambda: lens.trace(TEXT)) as are_done:
        while not are_done():
            found = pickle.loads(pickle.dumps(trace))
    torch.testing.assert_close(found.attention(0), trace.attention(0), rtol=0, atol=0)


class Holder:
    def __init__(self) -> None:
        self.lock = threading.Lock()

    def seen(self, module: Any, args: Any, output: Any) -> None:
        pass


@pytest.mark.parametrize("hook", [lambda *_: None, Holder().seen])
def test_a_hook_that_cannot_be_pickled_is_named(hook: Any) -> None:
    lens = bl.Lens(small(), tiny.wordpiece())
    lens.model.encoder.layer[0].register_forward_hook(hook)
    name = hook.__qualname__
    with pytest.raises(bl.ModelError, match=rf"the hook {name} on encoder\.layer\.0 cannot be pickled"):
        pickle.dumps(lens)
