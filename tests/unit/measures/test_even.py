"""What even rows give: against loops over the cells that a query sees."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch

from bertlens import Lens, Trace, whatif
from bertlens.base.limits import LIMITS
from bertlens.measures.byhead import even
from bertlens.measures.statistics import ATLAS_NAMES
from bertlens.widgets.overview import with_overview
from bertlens.widgets.view_record import ViewRecord
from unit import tiny

PAIR = ("the cat sat", "it was")
GIVEN = torch.tensor([[[1.0, 0, 0], [0.2, 0.8, 0], [0.1, 0.2, 0.7]]])  # no query looks ahead


def bert() -> Lens:
    return Lens(tiny.bert(), tiny.wordpiece())


def given(maps: torch.Tensor) -> Trace:
    return Trace.from_attentions(maps[None], ["a", "b", "c"], key_tokens=["x", "y"] if maps.shape[-1] == 2 else None)


def everything(i: int, j: int) -> bool:
    return True


def back(i: int, j: int) -> bool:
    return j <= i


TRACES: dict[str, tuple[Callable[[], Trace], Callable[[int, int], bool]]] = {
    "a pair": (lambda: bert().trace(*PAIR), everything),
    "no word": (lambda: bert().trace(""), everything),
    "one token": (lambda: Lens(tiny.FAMILIES["gpt2"].model(), tiny.gpt_like()).trace("a"), everything),
    "decoder": (lambda: Lens(tiny.FAMILIES["gpt2"].model(), tiny.gpt_like()).trace("the cat sat on"), back),
    "hidden": (lambda: bert().trace(*PAIR).rerun(whatif.hide(2)), lambda i, j: j != 2),
    "given": (lambda: given(torch.full((1, 3, 3), 1 / 3)), everything),
    "given, causal": (lambda: given(GIVEN), back),
    "given, of two sides": (lambda: given(torch.tensor([[[0.5, 0.5], [0.1, 0.9], [0.3, 0.7]]])), everything),
}


def naive(trace: Trace, sees: Callable[[int, int], bool]) -> dict[str, float]:
    queries, keys = trace.n_tokens, len(trace.key_tokens)
    sums = dict.fromkeys(("previous", "next", "self", "first", "separator", "entropy", "k90"), 0.0)
    separators = trace.key_separator_mask.tolist()
    for i in range(queries):
        seen = [j for j in range(keys) if sees(i, j)]
        for j in seen:
            for name, counts in (
                *(("previous", j == i - 1), ("next", j == i + 1), ("self", j == i)),
                *(("first", j == 0), ("separator", separators[j])),
            ):
                sums[name] += counts / len(seen)
        sums["entropy"] += math.log(len(seen))
        sums["k90"] += math.ceil(0.9 * len(seen) - 1e-6)
    return {name: total / queries for name, total in sums.items()}


@pytest.mark.parametrize("name", TRACES)
def test_even_rows_are_those_counted(name: str) -> None:
    trace, sees = (TRACES[name][0](), TRACES[name][1])
    found = even(trace)
    assert found.shape == (trace.n_layers, trace.n_heads, len(ATLAS_NAMES)) and found.dtype == torch.float32
    square = trace.key_encoding is None
    for statistic, value in naive(trace, sees).items():
        column = found[..., ATLAS_NAMES.index(statistic)]
        if (not square and statistic in ("previous", "next", "self")) or not (
            statistic != "separator" or trace.key_separator_mask.any()
        ):
            assert column.isnan().all()
        else:
            torch.testing.assert_close(column, torch.full_like(column, value), msg=f"{name}, {statistic}")


def test_a_change_in_one_head_is_of_that_head() -> None:
    trace = bert().trace(*PAIR).rerun(whatif.cut(1, 2, 0, 3))
    separator = even(trace)[..., ATLAS_NAMES.index("separator")]
    n = trace.n_tokens
    others = torch.full((3, 4), 2 / n)
    others[1, 2] = (2 / (n - 1) + (n - 1) * 2 / n) / n
    torch.testing.assert_close(separator, others)


def test_a_view_has_them_of_short_texts() -> None:
    lens, most = bert(), LIMITS["even"].tokens
    for words, there in ((most - 2, True), (most - 1, False)):
        trace = Lens(tiny.bert(max_position_embeddings=256), lens.tokenizer).trace(" ".join(["cat"] * words))
        assert trace.n_tokens == words + 2
        names = [one["name"] for one in with_overview(ViewRecord(trace), "self", 0, 0).overview["header"]["arrays"]]
        assert ("even" in names) == there
