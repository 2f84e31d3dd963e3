"""The survey's frequency correlation is that of the traces, whatever the batches."""

from __future__ import annotations

import pytest
import torch

from bertlens import InputError, Lens
from bertlens.measures import norms
from bertlens.survey.frequency import frequency_correlation
from unit import tiny


def test_equals_the_measure() -> None:
    lens = Lens(tiny.bert(), tiny.wordpiece())
    texts = ["the cat sat on the mat.", ("the cats", "it was warm, warm."), "warm", "a b a c a b"]
    traces = lens.trace_batch(texts)
    for ranks in (None, {5: 1, 18: 2, 6: 3}):
        found = frequency_correlation(lens, texts, ranks, batch_size=3, progress=False)
        expected = norms.frequency_correlation(traces, ranks)
        assert found.rho == pytest.approx(expected.rho, abs=1e-3) and found.n == expected.n
        torch.testing.assert_close(found.per_layer, expected.per_layer, atol=1e-3, rtol=0)
    with pytest.raises(InputError, match="no texts"):
        frequency_correlation(lens, [], progress=False)
