"""Why a head looks there, as a live page's model says it: the kernel's split of the same score, on the same weights."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bertlens.errors import SelectionError
from bertlens.widgets.answers import why
from unit.export import engine
from unit.export.test_families import FAMILIES, lens_of

TYPED = "the cats sat so warm"
CELL = {"layer": 1, "head": 3, "query": 2, "key": 4}
FIRST = CELL | {"layer": 0}
ASKED = [
    CELL | {"side": side, "against": against, "through_mlps": opened}
    for side, against, opened in product(("query", "key"), ("others", 1, None), (False, True))
]
ASKED += [FIRST | {"side": "key", "against": "others", "through_mlps": True}]


def split_alike(reply: tuple[Any, ...], own: tuple[dict[str, Any], dict[str, Any]], most: float) -> None:
    """The same parts in the same order, each of their numbers to `most`, of itself where it is above 1."""
    error, fields, _, arrays = reply
    assert error == ""
    alike({name: x for name, x in fields.items() if name != "arrays"}, json.loads(json.dumps(own[0])), most)
    assert arrays.keys() == own[1].keys()
    for name, values in own[1].items():
        assert arrays[name].shape == tuple(values.shape)
        np.testing.assert_allclose(arrays[name], values.numpy(), rtol=most, atol=most)


def alike(page: Any, kernel: Any, most: float) -> None:
    if isinstance(kernel, dict):
        assert page.keys() == kernel.keys()
        for name in kernel:
            alike(page[name], kernel[name], most)
    elif isinstance(kernel, list):
        assert len(page) == len(kernel)
        for ours, theirs in zip(page, kernel, strict=True):
            alike(ours, theirs, most)
    else:
        assert page == (pytest.approx(kernel, abs=most, rel=most) if isinstance(kernel, float) else kernel)


@pytest.mark.parametrize("family", ["RoBERTa", "ELECTRA", "DistilBERT", "ALBERT in groups", "BERT, relu"])
def test_a_score_is_split_as_by_the_kernel(family: str, tmp_path: Path):
    make, tokenizer = FAMILIES[family]
    lens = lens_of(make(), tokenizer())
    off = [["off", 0, 1]]
    questions = [{"op": "trace", "text": TYPED}, {"op": "change", "trace": "last", "changes": off}]
    questions += [{"op": "why", "trace": "last", **asked} for asked in ASKED]
    questions += [{"op": "why_pairs", "trace": "last", **cell} for cell in (CELL, FIRST)]
    questions += [{"op": "why", "trace": "last", **ASKED[0], "against": CELL["key"]}]
    same, found = engine.asked(lens, "the mat", questions, tmp_path)
    trace = same.trace(TYPED)  # a split is of the unchanged run
    splits = found[2 : 2 + len(ASKED)]
    for asked, reply in zip(ASKED, splits, strict=True):
        split_alike(reply, why.why(trace, **asked), 1e-5)
        assert abs(reply[1]["gap"]) < 1e-5  # parts add up to what the page's own model computed
    for cell, reply in zip((CELL, FIRST), found[-3:-1], strict=True):
        split_alike(reply, why.why_pairs(trace, **cell), 1e-5)
    with pytest.raises(SelectionError) as error:
        why.why(trace, **ASKED[0] | {"against": CELL["key"]})
    assert found[-1][0] == str(error.value)
    assert found[0][2]["header"]["offers"]["sources"] == ""
    [tab] = [tab for tab in found[0][2]["header"]["tabs"] if tab["name"] == "why"]
    assert tab["why_not"] == ""
