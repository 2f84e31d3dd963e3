"""What the page is told about one cell is what the measures and the weights themselves say."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch

from bertlens import Lens, SelectionError
from bertlens.measures import sources
from bertlens.widgets.questions import packed
from bertlens.widgets.why import LARGEST, why
from unit.test_sources import TEXT, lens_of


@pytest.mark.parametrize("name", ["bert", "gpt2", "modernbert"])
@pytest.mark.parametrize("through_mlps", [False, True])
@pytest.mark.parametrize("side", ["query", "key"])
def test_the_numbers_of_one_cell(name: str, side: str, through_mlps: bool) -> None:
    trace = lens_of(name).trace(TEXT)
    alpha = trace.attention(2)[1, 4]
    seen = [j for j, weight in enumerate(alpha.tolist()) if weight > 0]
    key, foil = seen[1], seen[2]
    for against in ("others", foil, None):
        fields, arrays = why(trace, 2, 1, 4, key, side, against, through_mlps)
        s = sources.score(trace, 2, 1, 4, key, side, against, through_mlps)
        assert (fields["total"], fields["model"], fields["gap"]) == (s.total, s.model, s.gap)
        assert fields["weight"] == pytest.approx(float(alpha[key]))
        others = [float(alpha[j]) for j in seen if j != key]
        if against == "others":
            assert fields["other_weight"] == pytest.approx(np.mean(others))
            expected = float(alpha[key]) / math.exp(np.mean(np.log(others)))
        elif against is not None:
            assert fields["other_weight"] == pytest.approx(float(alpha[foil]))
            expected = float(alpha[key] / alpha[foil])
        else:
            assert fields["other_weight"] is None and fields["ratio"] is None
            expected = None
        if abs(s.total) < 0.1:
            assert fields["ratio"] is None and fields["spread"] is None
        else:
            assert fields["spread"] == pytest.approx(s.parts.value.abs().sum() / abs(s.total))
            assert expected is None or fields["ratio"] == pytest.approx(expected, rel=1e-6)
        assert dict(fields["kinds"]) == pytest.approx(s.by("kind").to_dict())
        assert sum(part["value"] for part in fields["largest"]) + fields["others"]["value"] == pytest.approx(s.total)
        assert len(fields["largest"]) + fields["others"]["count"] == len(s.rows)
        assert len(fields["largest"]) == LARGEST
        for part in fields["largest"]:
            if part["kind"] != "head":
                assert part["token"] is None
                continue
            fetched = sources.tokens(trace, s, part["layer"], part["head"])
            assert part["token"] == int(fetched.abs().argmax())
            assert part["fetched"] == pytest.approx(float(fetched[part["token"]]))
        heads = s.parts.query("kind == 'head'").value.to_numpy().reshape(2, -1)
        assert arrays["heads"].dtype == torch.float32
        assert arrays["heads"].numpy() == pytest.approx(heads, rel=1e-6)
        assert ("mlps" in arrays) is not through_mlps
        assert packed(fields, arrays)  # as it travels


def test_first_layer_and_what_is_refused() -> None:
    trace = lens_of("bert").trace(TEXT)
    fields, arrays = why(trace, 0, 1, 4, 2)
    assert not arrays and {kind for kind, _ in fields["kinds"]} == {"word", "position", "type", "bias"}
    assert fields["others"] == {"count": 0, "value": 0}
    with pytest.raises(SelectionError):
        why(trace, 0, 1, 4, 99)
    wanted: Any = [(1, 0)]
    with pytest.raises(SelectionError, match="not earlier"):
        sources.fetched_most(sources.score(trace, 1, 0, 1, 2), wanted)


def test_ratio_of_the_sentence_is_that_of_the_weights(embedded_lens: Lens) -> None:
    """“it” at “animal”, L2·H5: the weight over the geometric mean of the others, from the weights alone."""
    trace = embedded_lens.trace("The animal didn't cross the street because it was too tired.")
    it, animal = trace.tokens.index("it"), trace.tokens.index("animal")
    fields, _ = why(trace, 2, 5, it, animal)
    alpha = trace.attention(2, torch.float64)[5, it]
    others = torch.cat([alpha[:animal], alpha[animal + 1 :]])
    assert fields["ratio"] == pytest.approx(float(alpha[animal] / others.log().mean().exp()), rel=1e-4)
    assert fields["ratio"] > 2
