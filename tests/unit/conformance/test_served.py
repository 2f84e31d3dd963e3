"""What a function that makes vectors does beyond one array: batches, threads, length, each planted in a function."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import numpy as np
import pytest
import torch

import bertlens as bl
from bertlens.conformance import forward_faults, rounding_faults
from unit.conformance import naive_encoder as naive
from unit.conformance.planted import LIMIT, lens_of


@pytest.fixture(scope="module")
def lens() -> bl.Lens:
    return lens_of("bert")


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Faults of the forward pass that are needed here."""
    monkeypatch.setattr(rounding_faults, "FAULTS", ())
    kept = ("tanh GELU", "padding to the longest text attended to", "padding to the limit attended to")
    monkeypatch.setattr(forward_faults, "FAULTS", tuple(f for f in forward_faults.FAULTS if f.name in kept))


@pytest.fixture(scope="module")
def texts(lens: bl.Lens) -> list[str]:
    return sorted(bl.probing_texts(lens), key=len)[:4]


def ids(lens: bl.Lens, text: str, limit: int = LIMIT) -> list[int]:
    return lens.tokenizer(text, truncation=True, max_length=limit)["input_ids"]


def program(lens: bl.Lens, limit: int = LIMIT) -> Callable[[list[str]], np.ndarray]:
    """The model in loops in float64, a text after the other, so that nothing depends on its batch."""
    return lambda batch: np.stack([naive.mean(lens.model, ids(lens, text, limit)) for text in batch]).astype(np.float32)


def padding(lens: bl.Lens) -> Callable[[list[str]], np.ndarray]:
    """Shorter texts have padding that is attended to, and not pooled."""

    def run(batch: list[str]) -> np.ndarray:
        rows = [ids(lens, text) for text in batch]
        longest = max(map(len, rows))
        with torch.no_grad():
            given = torch.tensor([row + [0] * (longest - len(row)) for row in rows])
            states = lens.model(given, torch.ones_like(given)).last_hidden_state
        return np.stack([states[n, : len(row)].mean(0).numpy() for n, row in enumerate(rows)])

    return run


def leaking(lens: bl.Lens) -> Callable[[list[str]], np.ndarray]:
    """A hundredth of the vector of the text before it is in each vector."""
    right = program(lens)

    def run(batch: list[str]) -> np.ndarray:
        vectors = right(batch)
        return vectors + 0.01 * np.roll(vectors, 1, 0) * (len(batch) > 1)

    return run


def said(lens: bl.Lens, texts: list[str], run: Callable[[list[str]], np.ndarray]) -> bl.Parity:
    return bl.parity(lens, texts, run=run, pairs=False)


def test_a_right_program_has_nothing_said_of_it(lens: bl.Lens, texts: list[str]) -> None:
    p = said(lens, texts, program(lens))
    assert p.verdict == "same" and p.served == ()


def test_a_batch_that_pads_wrongly_is_told_from_one_that_leaks(lens: bl.Lens, texts: list[str]) -> None:
    p = said(lens, texts, padding(lens))
    assert p.verdict == "fault" and p.classes[0][0].name == "padding to the longest text attended to"
    assert len(p.served) == 1 and "on the length of the text beside it" in p.said
    p = said(lens, texts, leaking(lens))
    assert p.verdict == "same" and "of each text in a call of its own" in p.said
    assert "on the words of the text beside it" in p.served[0]
    found = float(p.served[0].split("by ")[1].split(" at most")[0])
    right = program(lens)(texts)
    apart = np.linalg.norm(0.01 * np.roll(right, 1, 0), axis=1) / np.linalg.norm(right, axis=1)
    assert found == pytest.approx(apart.max(), rel=0.1)


def test_a_cut_is_measured_by_the_tokens_that_are_read(lens: bl.Lens, texts: list[str]) -> None:
    p = said(lens, texts, program(lens, 23))
    [sentence] = p.served
    assert sentence == "It reads 23 tokens of a text and no more; the model here 40."
    assert p.verdict != "same" or max(len(ids(lens, text)) for text in texts) <= 23


def test_a_program_that_reads_on_is_told(lens: bl.Lens, texts: list[str]) -> None:
    [sentence] = said(lens, texts, program(lens, 48)).served
    assert sentence == "It reads 48 tokens of a text and no more; the model here 40."


def test_calls_at_the_same_time_and_twice(lens: bl.Lens, texts: list[str]) -> None:
    right, shared, calls = program(lens), [np.zeros(0)], iter(range(10**6))
    precise = {text: right([text])[0] for text in texts}

    def racing(batch: list[str]) -> np.ndarray:
        shared[0] = np.stack([precise[t] if t in precise else right([t])[0] for t in batch])
        time.sleep(0.001)
        return shared[0]

    def failing(batch: list[str]) -> np.ndarray:
        if threading.current_thread() is not threading.main_thread():
            raise RuntimeError("one at a time")
        return right(batch)

    def random(batch: list[str]) -> np.ndarray:
        return right(batch) * (1 + 1e-3 * next(calls))

    assert "4 threads at once it gives other vectors" in said(lens, texts, racing).said
    assert "4 threads at once it fails: RuntimeError" in said(lens, texts, failing).said
    assert "other vectors the second time" in said(lens, texts, random).said
