"""Numbers in an order are told apart in words: the same table as js/tests/parts.test.tsx reads."""

from __future__ import annotations

import copy
import json
import math
import re
from pathlib import Path

import pytest
import torch

import bertlens as bl
from bertlens import Lens
from bertlens.base.ranking import is_nothing, ranked
from unit import tiny

NOTHING = Path(__file__).parents[2] / "wire" / "nothing.json"
CASES = json.loads((Path(__file__).parents[2] / "wire" / "ranked.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize(("values", "texts"), CASES)
def test_numbers_in_an_order(values: list[float], texts: list[str]) -> None:
    assert ranked(values) == texts


@pytest.mark.parametrize(("value", "beside", "nothing"), json.loads(NOTHING.read_text(encoding="utf-8")))
def test_what_is_no_more_than_rounding(value: float | None, beside: float, nothing: bool) -> None:
    assert is_nothing(math.nan if value is None else value, beside) is nothing


def test_heads_that_hardly_differ_are_told_apart() -> None:
    """Two models 3e-3 apart: each sentence tells its two weights apart, and they are what the table has."""
    first = Lens(tiny.bert(), tiny.wordpiece())
    model = copy.deepcopy(first.model)
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for p in model.parameters():
            p.add_(0.003 * torch.randn(p.shape, generator=generator))
    text = "the cat sat on the mat"
    table = bl.compare(first.trace(text), Lens(model, tiny.wordpiece()).trace(text), same_heads=True).most(5)
    assert 0 < table["divergence"].max() < 5e-4
    for row in table.itertuples():
        said = re.search(r"with (\S+) in a, (\S+) in b[.]$", row.words)
        assert said is not None and said[1] != said[2], row.words
        for number, value in zip(said.groups(), (row.a, row.b), strict=True):
            assert float(number) == pytest.approx(value, abs=0.51 * 10.0 ** (2 - len(number)))
