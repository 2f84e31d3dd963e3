"""Small pictures of maps: what a pixel is, by every measure, from any part of the rows at a time."""

from __future__ import annotations

import pytest
import torch

import bertlens as bl
from bertlens.measures import rows
from bertlens.measures.thumbnails import thumbnails
from bertlens.trace import Trace
from unit import tiny


def naive(maps: torch.Tensor, size: int) -> tuple[torch.Tensor, torch.Tensor]:
    """float64 (H, t, t') each pixel the cell largest in size that it covers, and (H,) the largest of all."""
    sides = [min(size, n) for n in maps.shape[1:]]
    (rows, keys), (t, u) = maps.shape[1:], sides
    grid = torch.zeros(len(maps), t, u, dtype=torch.float64)
    for i in range(t):
        for j in range(u):
            part = maps[:, rows * i // t : -(-rows * (i + 1) // t), keys * j // u : -(-keys * (j + 1) // u)]
            cells = part.double().flatten(1)
            grid[:, i, j] = cells.gather(1, cells.abs().argmax(1, keepdim=True))[:, 0]
    return grid, maps.double().abs().amax((1, 2))


@pytest.mark.parametrize("size", [5, 32, 33, 70])
def test_a_pixel_is_the_largest_weight_that_it_covers(size: int) -> None:
    """Over the head's largest, in 256 steps; short texts are not pooled."""
    weights = torch.randn(2, 3, size, size).mul(3).softmax(-1)
    pictures, largest = thumbnails(Trace.from_attentions(weights, ["t"] * size))
    assert pictures.dtype == torch.uint8
    for layer in range(2):
        grid, top = naive(weights[layer], 32)
        assert pictures[layer].shape == grid.shape
        assert torch.equal(largest[layer], top.float())
        assert (pictures[layer] - 255 * grid / top[:, None, None]).abs().max() <= 0.5 + 1e-4
    assert (pictures.amax((2, 3)) == 255).all()


@pytest.mark.parametrize("measure", ["weight", "norm", "difference"])
@pytest.mark.parametrize("at_once", [200, 2000, 10**9])
def test_by_every_measure_from_any_part_of_the_rows(
    measure: str, at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A model with global and local layers, whose blocks lack the keys that are not seen."""
    monkeypatch.setattr(rows, "WEIGHTS_AT_ONCE", at_once)
    monkeypatch.setattr(rows, "LEAST_ROWS", 3)
    family = tiny.FAMILIES["modernbert"]
    trace = bl.Lens(tiny.shaken(family.model()), family.tokenizer()).trace(
        "the cat sat on the mat , it was warm . " * 3
    )
    pictures, largest = thumbnails(trace, measure, 7, layers=[1, 3])
    assert pictures.shape == (2, trace.n_heads, 7, 7)
    for at, layer in enumerate([1, 3]):
        alpha = trace.attention(layer).double()
        passed_on = alpha * bl.measures.norms.transformed_norm(trace, layer).double()[:, None]
        share = passed_on / passed_on.sum(-1, keepdim=True)
        grid, top = naive({"weight": alpha, "norm": passed_on, "difference": alpha - share}[measure], 7)
        torch.testing.assert_close(largest[at].double(), top, rtol=1e-5, atol=1e-7)
        shown = grid / top[:, None, None]
        steps = 127.5 + 127.5 * shown if measure == "difference" else 255 * shown
        # a pixel whose largest and least are equally large may show either
        assert ((pictures[at] - steps).abs() <= 0.51).float().mean() > 0.99


def test_not_a_number_is_no_picture() -> None:
    weights = torch.randn(1, 2, 6, 6).softmax(-1)
    weights[0, 0, 3] = torch.nan
    pictures, largest = thumbnails(Trace.from_attentions(weights, list("abcdef")))
    assert (pictures[0, 0] == 0).all() and pictures[0, 1].max() == 255
    assert largest[0].isnan().tolist() == [True, False]


def test_keys_of_another_side() -> None:
    weights = torch.randn(2, 3, 4, 6).softmax(-1)
    pictures, largest = thumbnails(Trace.from_attentions(weights, list("abcd"), list("uvwxyz")), size=3)
    assert pictures.shape == (2, 3, 3, 3)
    torch.testing.assert_close(largest, weights.amax((2, 3)))
