"""The spectrum of one head's attention without its map: beside all singular values, in float64, and analytic cases."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

import bertlens as bl
from bertlens.measures import leading, spectra
from bertlens.widgets.answers import layer_answers
from unit import tiny
from unit.largest import Largest

SIZE = 1100
AT = torch.arange(SIZE)
OFF = (AT[:, None] - AT).float()


def normal(*shape: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(1))


def products(spread: float) -> Tensor:
    return (normal(SIZE, 32) @ normal(32, SIZE) * spread / 32**0.5).softmax(-1)


MAPS: dict[str, Callable[[], Tensor]] = {
    "broad": lambda: products(0.3),
    "sharp": lambda: products(3),
    "previous token": lambda: (8 * (-(OFF - 1).abs()).exp() + normal(SIZE, SIZE)).softmax(-1),
    "window": lambda: torch.where(OFF.abs() <= 64, normal(SIZE, SIZE), -torch.inf).softmax(-1),
    "first token and neighbours": lambda: (8.0 * (AT == 0) - OFF.abs() / 5).softmax(-1),
}
# value: how many of this size
KNOWN: dict[str, tuple[Callable[[], Tensor], dict[float, int]]] = {
    "uniform": (lambda: torch.full((SIZE, SIZE), 1 / SIZE), {1.0: 1}),
    "identity": (lambda: torch.eye(SIZE), {1.0: SIZE}),
    "100 blocks": (lambda: torch.block_diag(*[torch.full((11, 11), 1 / 11)] * 100), {1.0: 100}),
    "two sizes": (lambda: torch.block_diag(torch.eye(550), 0.3 * torch.eye(550)), {1.0: 550, 0.3: 550}),
}


def given(weights: Tensor) -> bl.Trace:
    trace = bl.Trace.from_attentions([torch.eye(SIZE)[None]], ["a"] * SIZE)
    trace.record.layers[0].attention = weights[None]  # rows need not sum to 1 here: from_attentions refuses such
    return trace


@pytest.mark.parametrize("name", MAPS)
def test_leading_values_and_the_effective_rank_of_all(name: str) -> None:
    weights = MAPS[name]()
    whole = spectra.Spectrum.of(weights.double())
    found = leading.leading(given(weights), 0, 0)
    assert not found.exact
    off = (found.values[:64] - whole.values[:64]) / whole.values[0]
    assert off.max() < 1e-6 and off.min() > -0.04
    assert found.effective_rank == pytest.approx(float(whole.effective_rank), rel=0.02)


@pytest.mark.parametrize("name", KNOWN)
def test_matrices_of_known_values(name: str) -> None:
    make, sizes = KNOWN[name]
    expected = torch.tensor([value for value, n in sizes.items() for _ in range(n)], dtype=torch.float64)
    found = leading.leading(given(make()), 0, 0)
    first = torch.nn.functional.pad(expected, (0, 64))[:64]
    torch.testing.assert_close(found.values[:64], first, rtol=0, atol=1e-6)
    shares = expected**2 / (expected**2).sum()
    assert found.effective_rank == pytest.approx(float(torch.special.entr(shares).sum().exp()), rel=0.01)


@pytest.fixture(scope="module")
def trace() -> bl.Trace:
    model = tiny.modernbert(num_hidden_layers=2, local_attention=64, max_position_embeddings=2048)
    model.config.global_attn_every_n_layers = 2
    return bl.Lens(tiny.shaken(model), tiny.wordpiece()).trace("the cat sat on the mat, it was very warm. " * 110)


def test_no_map_is_made_and_other_questions_have_their_turn(trace: bl.Trace, monkeypatch: pytest.MonkeyPatch) -> None:
    """As the page asks: of one head, pass by pass."""
    monkeypatch.setattr(layer_answers, "PATIENCE", 0.0)
    assert trace.n_tokens > 1024
    for layer in range(trace.n_layers):
        replies = []
        with Largest() as made:
            while not replies or replies[-1][0].get("again"):
                replies.append(layer_answers.layer_ranks(trace, layer, 1))
        assert len(replies) == leading.PASSES
        assert made.elements < trace.n_tokens**2 and made.doubles < trace.n_tokens**2 / 2
        fields, arrays = replies[-1]
        whole = spectra.Spectrum.of(trace.attention(layer)[1].double())
        assert fields["exact"] is False
        assert fields["heads"][1]["attention"] == pytest.approx(float(whole.effective_rank), rel=0.02)
        shown = whole.values[:64] / whole.values[0]
        torch.testing.assert_close(arrays["attention"][1].double(), shown, rtol=0, atol=0.04)
        assert all(arrays["attention"][n].isnan().all() for n in range(trace.n_heads) if n != 1)


def test_of_short_texts_all_values(monkeypatch: pytest.MonkeyPatch) -> None:
    trace = bl.Lens(tiny.bert(), tiny.wordpiece()).trace("the cat sat on the mat")
    found = leading.leading(trace, 1, 2)
    whole = torch.linalg.svdvals(trace.attention(1)[2].double())
    assert found.exact
    torch.testing.assert_close(found.values, whole, rtol=1e-6, atol=1e-9)
    fields, arrays = layer_answers.layer_ranks(trace, 1)
    assert fields["exact"] is True
    torch.testing.assert_close(arrays["attention"][2].double(), whole / whole[0], rtol=1e-5, atol=1e-7)
