"""Formats of rounded weights against loops over their blocks, written after their descriptions."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from bertlens.conformance import rounding_faults as rounding


def half(x: float) -> float:
    return float(np.float16(x))


def q4_0(block: list[float]) -> list[float]:
    most = max(block, key=abs)
    d = np.float32(most) / np.float32(-8)
    levels = [min(15, int(np.float32(x) * (np.float32(1) / d) + np.float32(8.5))) for x in block]
    return [(q - 8) * half(d) for q in levels]


def q4_1(block: list[float]) -> list[float]:
    low = np.float32(min(block))
    d = (np.float32(max(block)) - low) / np.float32(15)
    levels = [min(15, int((np.float32(x) - low) * (np.float32(1) / d) + np.float32(0.5))) for x in block]
    return [q * half(d) + half(low) for q in levels]


def q8_0(block: list[float]) -> list[float]:
    d = np.float32(max(map(abs, block))) / np.float32(127)
    levels = [np.float32(x) * (np.float32(1) / d) for x in block]
    return [math.copysign(math.floor(abs(q) + 0.5), q) * half(d) for q in levels]


@pytest.mark.parametrize(("name", "naive"), [("Q4_0", q4_0), ("Q4_1", q4_1), ("Q8_0", q8_0)])
def test_blocks_of_32_as_ggml_has_them(name: str, naive) -> None:
    weights = torch.randn(6, 96, generator=torch.Generator().manual_seed(3))
    ours = getattr(rounding, name)(weights)
    for row, rounded in zip(weights.tolist(), ours.tolist(), strict=True):
        expected = [x for n in range(0, 96, 32) for x in naive(row[n : n + 32])]
        assert rounded == pytest.approx(expected, rel=1e-6, abs=1e-9)
    assert (ours - weights).abs().max() > 1e-3


def test_rows_that_are_no_whole_blocks_are_left() -> None:
    weights = torch.randn(4, 40, generator=torch.Generator().manual_seed(1))
    assert torch.equal(rounding.Q4_0(weights), weights)


@pytest.mark.parametrize("axis", ["row", "column", "matrix"])
def test_eight_bits_with_one_scale_a_row_a_column_a_matrix(axis: str) -> None:
    weights = torch.randn(5, 7, generator=torch.Generator().manual_seed(2))
    ours = getattr(rounding, f"by_{axis}")(weights)
    table = weights.tolist()
    for i, row in enumerate(table):
        for j, x in enumerate(row):
            beside = {"row": row, "column": [r[j] for r in table], "matrix": [x for r in table for x in r]}[axis]
            scale = max(map(abs, beside)) / 127
            assert ours[i, j].item() == pytest.approx(round(x / scale) * scale, abs=1e-6)


def test_a_zero_point_keeps_zero_and_both_ends() -> None:
    x = torch.tensor([[-1.0, 0.0, 0.31, 4.1]])
    ours = rounding.asymmetric(x)[0].tolist()
    step = 5.1 / 255
    zero = round(1 / step)
    assert ours == pytest.approx(
        [(min(255, max(0, round(v / step) + zero)) - zero) * step for v in x[0].tolist()], abs=1e-6
    )
    assert ours[1] == 0
