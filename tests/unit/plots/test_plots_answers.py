"""What the figures of attributions and of two runs draw and say is what the measures say."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import bertlens as bl
from bertlens import InputError, SelectionError, Trace, whatif
from bertlens.measures import attribution
from unit.comparison.test_comparison import A, B, lens_of
from unit.measures.test_attribution import MASKED, words_lens

matplotlib: Any = pytest.importorskip("matplotlib")

METRIC = whatif.logit("cat")


@pytest.fixture(scope="module")
def trace() -> Trace:
    return words_lens().trace(MASKED)


@pytest.fixture(scope="module")
def pair() -> bl.Comparison:
    lens = lens_of()
    return bl.compare(lens.trace(A), lens.trace(B))


def drawn(axes: Any) -> np.ndarray:
    return np.ma.filled(axes.images[0].get_array().astype(float), np.nan)


def test_a_strip_for_each_attribution(trace: Trace) -> None:
    """Each row by its own largest; that number stands on the right; what is never removed is brown."""
    found = [attribution.occlusion(trace, METRIC), attribution.linearised(trace, METRIC)]
    axes = bl.plots.attributions(found)
    for row, one in zip(drawn(axes), found, strict=True):
        np.testing.assert_allclose(row, one.values / np.nanmax(one.values.abs()), equal_nan=True)
    assert [text.get_text() for text in axes.texts] == [f"±{np.nanmax(one.values.abs()):.3g}" for one in found]
    assert axes.get_title() == f"logit of cat (logits): {METRIC(trace):.3f}"
    assert [t.get_text() for t in axes.get_yticklabels()] == ["occlusion (mask)", "linearised"]
    assert [t.get_text() for t in axes.get_xticklabels()] == trace.display_tokens
    red, slate = (axes.images[0].cmap(axes.images[0].norm(x)) for x in (1, -1))
    assert red[0] > red[2] and slate[2] > slate[0]  # as the line below says
    assert bl.plots.attributions(found[0], axes) is axes
    other, again = attribution.linearised(trace, whatif.logit("mat")), attribution.occlusion(trace, METRIC, "hide")
    elsewhere = attribution.linearised(words_lens().trace(MASKED), METRIC)
    one = "one text and one number"
    for wrong, said in (([], "no attribution"), ([found[0], other], one), ([found[0], elsewhere], one),
                        ([found[0]] * 2, "with names")):  # fmt: skip
        with pytest.raises(InputError, match=said):
            bl.plots.attributions(wrong)
    assert len(drawn(bl.plots.attributions({"mask": found[0], "hide": again}))) == 2


def test_dots_lie_where_the_table_has_them(trace: Trace) -> None:
    table = attribution.faithfulness(
        trace, {"occlusion": attribution.occlusion(trace, METRIC), "noise": torch.arange(9.0)}, metric=METRIC
    )
    axes = bl.plots.faithfulness(table)
    for one, column in zip(axes, ("comprehensiveness", "sufficiency"), strict=True):
        level, ceiling, dots = (line.get_xdata() for line in one.lines)
        assert list(dots) == table.loc[["occlusion", "noise"], column].tolist()
        assert level[0] == table.loc["random", column] and ceiling[0] == table.loc["greedy ceiling", column]
        band = one.patches[0].get_extents().transformed(one.transData.inverted())
        assert band.width == pytest.approx(4 * table.loc["random", f"{column}_error"])
        beats = [f"{int(n)}/20" for n in table[f"{column}_beats"][:2]]
        assert [text.get_text() for text in one.texts] == beats
    said = axes[0].figure._supxlabel.get_text()
    assert "mean over 1, 2, 3 of 6 tokens removed (mask); one text" in said and "20 random rankings" in said
    with pytest.raises(InputError):
        bl.plots.faithfulness(table, axes[0])
    with pytest.raises(InputError):
        bl.plots.faithfulness(table.drop(index="random"))


def test_the_atlas_of_two_runs(pair: bl.Comparison) -> None:
    axes = bl.plots.compared_heads(pair)
    assert np.array_equal(drawn(axes), pair.heads.numpy())
    order = np.argsort(-pair.heads.numpy(), axis=None)[:5]
    assert [(t.get_position()[1], t.get_position()[0]) for t in axes.texts] == [divmod(int(n), 4) for n in order]
    assert [t.get_text() for t in axes.texts] == list("12345")
    assert " ".join(axes.get_title().split()) == pair.said
    same = bl.plots.compared_heads(bl.compare(pair.a, pair.a))
    assert not same.texts  # nothing differs, nothing is ranked


def test_one_head_in_both_on_one_scale(pair: bl.Comparison) -> None:
    axes = bl.plots.compared_attention(pair, 1, 2)
    a, b, difference = map(drawn, axes)
    np.testing.assert_allclose(difference, pair.attention(1)[2])
    np.testing.assert_allclose(difference, b - a)
    shared = [n for n, names in enumerate(pair.queries.pairs) if names[0] is not None]
    np.testing.assert_allclose(a[np.ix_(shared, shared)], pair.a.attention(1)[2])
    top = max(np.nanmax(a), np.nanmax(b))
    assert [one.images[0].get_clim() for one in axes] == [(0, top), (0, top), (-top, top)]
    names = [t.get_text() for t in axes[0].get_yticklabels()]
    assert names == [x if x is not None else y for x, y in pair.tokens.itertuples(index=False)] and len(names) == 15
    assert axes[2].get_title() == "b − a"
    with pytest.raises(SelectionError):
        bl.plots.compared_attention(pair, 1, 4)
    with pytest.raises(InputError):
        bl.plots.compared_attention(pair, 1, 2, axes[0])
