"""What the figures of the norm family draw is what the measures say."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from bertlens import Lens, ModelError, SelectionError, Trace
from bertlens.measures import categories, norms
from unit import tiny

matplotlib: Any = pytest.importorskip("matplotlib")


@pytest.fixture(scope="module")
def trace() -> Trace:
    return Lens(tiny.bert(), tiny.wordpiece()).trace("the cat sat on the mat, it was warm.", "unbelievable, the cats")


@pytest.mark.parametrize("head", [2, None])
def test_scatter_has_every_cell_in_its_kind(trace: Trace, head: int | None) -> None:
    from bertlens import plots

    axes = plots.weight_against_norm(trace, 1, head)
    heads = range(trace.n_heads) if head is None else [head]
    alpha, lengths, kinds = trace.attention(1), norms.transformed_norm(trace, 1), categories.categories(trace)
    labels = [text.get_text() for text in axes.get_legend().get_texts()]
    for k, points in enumerate(axes.collections):
        expected = [
            (float(lengths[h, j]), float(alpha[h, i, j]))
            for h in heads
            for i in range(trace.n_tokens)
            for j in range(trace.n_tokens)
            if kinds[j] == k
        ]
        found = np.array(sorted(map(tuple, points.get_offsets().tolist())))
        np.testing.assert_allclose(found, np.array(sorted(expected)), rtol=1e-6)
    rho = categories.cancelling(trace).within[1]
    separator = float(rho[:, 1].mean() if head is None else rho[head, 1])
    assert labels[1].startswith(f"separator ([SEP]): {separator:.2f}")
    assert "undefined" in labels[0]  # one [CLS]
    curve = axes.lines[1]  # a curve of equal product
    product = np.asarray(curve.get_xdata()) * np.asarray(curve.get_ydata())
    assert product == pytest.approx(0.5 * float((alpha * lengths[:, None])[list(heads)].max()))


def test_bars_are_the_shares(trace: Trace) -> None:
    from bertlens import plots

    found = categories.shares(trace)
    axes = plots.category_shares(trace)
    heights = [[bar.get_height() for bar in container] for container in axes.containers]
    for k in range(4):
        assert heights[k] == pytest.approx(found.attention[:, k].tolist())
        assert heights[4 + k] == pytest.approx(found.norm[:, k].tolist())
    last = axes.containers[3][0]
    assert last.get_y() + last.get_height() == pytest.approx(1)


def test_heat_map_is_the_mixing_ratio(trace: Trace) -> None:
    from bertlens import plots

    axes = plots.mixing_ratios(trace, "attn-n")
    shown = torch.as_tensor(np.asarray(axes.images[0].get_array()))
    torch.testing.assert_close(shown, norms.mixing_ratios(trace)["attn-n"])
    assert [label.get_text() for label in axes.get_xticklabels()] == trace.display_tokens


def test_own_axes_and_errors(trace: Trace) -> None:
    from bertlens import plots

    axes = matplotlib.pyplot.subplots()[1]
    assert plots.category_shares([trace, trace], axes) is axes
    with pytest.raises(SelectionError):
        plots.weight_against_norm(trace, 0, 99)
    with pytest.raises(ModelError):
        plots.category_shares(Trace.from_attentions(torch.full((1, 2, 3, 3), 1 / 3), ["a", "b", "c"]))
