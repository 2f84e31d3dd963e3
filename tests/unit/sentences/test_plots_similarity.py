"""The figure of a similarity holds the numbers of its table, and says what they sum to."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import bertlens as bl
from bertlens.errors import ModelError
from unit.sentences.test_late_interaction import D, Q, late
from unit.tiny_encoders import TEXTS, encoder

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")

from bertlens import plots  # noqa: E402


def drawn(axes: Any) -> tuple[np.ndarray, list[str], list[str], str]:
    labels = ([label.get_text() for label in axis.get_ticklabels()] for axis in (axes.yaxis, axes.xaxis))
    return np.asarray(axes.images[0].get_array()), *labels, axes.get_xlabel().replace("\n", " ")


@pytest.mark.parametrize("of", [None, "input"])
@pytest.mark.parametrize("function", ["cosine", "euclidean"])
def test_cells_sums_and_what_they_come_to(function: str, of: Any) -> None:
    found = bl.similarity(bl.Lens(encoder(similarity_fn_name=function)), *TEXTS[:2])
    table = found.pairs(of, words=True)
    cells, rows, columns, said = drawn(plots.similarity(found, of=of))
    np.testing.assert_allclose(cells, table.to_numpy())
    assert rows == [f"{name} {x:+.3f}" for name, x in table.sum(axis=1).items()]
    assert columns == [f"{name} {x:+.3f}" for name, x in table.sum(axis=0).items()]
    assert f"cells sum to {table.to_numpy().sum():.4f}" in said
    assert ("linearised at the run" in said) == (of == "input")
    if function == "euclidean":
        assert f"−‖a‖² {found.terms.iloc[1]:.4f}" in said and f"−d² {-(found.value**2):.4f}" in said
    else:
        assert f"cosine {found.value:.4f}" in said
    pieces, *_ = drawn(plots.similarity(found, of=of, words=False))
    np.testing.assert_allclose(pieces, found.pairs(of).to_numpy())


def test_maxima_of_late_interaction_are_ringed() -> None:
    found = bl.similarity(bl.Lens(late()), Q, D, ("query", "document"))
    axes = plots.similarity(found, words=False)
    rings = axes.collections[0].get_offsets().data.astype(int).tolist()
    matches = found.matches()
    assert sorted(rings) == sorted(map(list, zip(matches["best_at"], matches["at"], strict=True)))
    assert f"maxsim {found.value:.4f}" in axes.get_xlabel()


def test_it_draws_into_the_axes_given_and_says_why_not() -> None:
    _, axes = matplotlib.pyplot.subplots()
    assert plots.similarity(bl.similarity(bl.Lens(encoder()), *TEXTS[:2]), axes) is axes
    with pytest.raises(ModelError, match="max pooling"):
        plots.similarity(bl.similarity(bl.Lens(encoder(mode="max")), *TEXTS[:2]))
    matplotlib.pyplot.close("all")
