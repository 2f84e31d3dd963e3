"""What the figures of sources draw and say is what the measures say."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from bertlens import InputError, Trace
from bertlens.measures import sources
from unit.measures.test_sources import TEXT, lens_of

matplotlib: Any = pytest.importorskip("matplotlib")


@pytest.fixture(scope="module")
def trace() -> Trace:
    return lens_of("bert").trace(TEXT)


@pytest.mark.parametrize("through_mlps", [False, True])
def test_waterfall_ends_at_the_net(trace: Trace, through_mlps: bool) -> None:
    from bertlens import plots

    s = sources.score(trace, 2, 1, 3, 4, through_mlps=through_mlps)
    axes = plots.sources(s)
    bars = [(bar.get_x(), bar.get_width()) for container in axes.containers for bar in container]
    kinds = s.by("kind")
    falls, net, parts = bars[: len(kinds)], bars[len(kinds)], bars[len(kinds) + 1 :]
    assert [width for _, width in falls] == pytest.approx(kinds.tolist())
    assert [start for start, _ in falls] == pytest.approx([0, *np.cumsum(kinds)[:-1]])
    assert net == pytest.approx((0, s.total))
    values = sorted(s.parts.value, key=abs, reverse=True)
    assert [width for _, width in parts[:6]] == pytest.approx(values[:6])
    assert parts[6][1] == pytest.approx(sum(values[6:]))
    labels = [label.get_text() for label in axes.get_yticklabels()]
    assert ("MLPs" in labels) is not through_mlps
    assert labels[-1] == f"{len(values) - 6} others" and "earlier heads" in labels
    assert axes.get_title() == s.what
    assert f"in nats: sum {s.total:.4f}, model {s.model:.4f}" in axes.get_xlabel()
    assert "split, not an experiment" in axes.get_xlabel()


def test_no_ratio_to_a_net_near_zero(trace: Trace) -> None:
    from bertlens.plots.split_figures import foot

    made = [
        sources.score(trace, 2, head, query, key)
        for head in range(trace.n_heads)
        for query in range(trace.n_tokens)
        for key in range(trace.n_tokens)
    ]
    near = min(made, key=lambda s: abs(s.total))
    far = max(made, key=lambda s: abs(s.total))
    assert abs(near.total) < 0.1 < abs(far.total)
    assert "Σ" not in foot(near)
    assert f"Σ|parts| / |net| = {far.parts.value.abs().sum() / abs(far.total):.1f}" in foot(far)


def test_maps_drawn_add_up(trace: Trace) -> None:
    from bertlens import plots

    axes = plots.score_maps(trace, 2, 1)
    drawn = [np.asarray(one.images[0].get_array(), dtype=float) for one in axes]
    raw = trace.scores(2)[1].numpy()
    assert drawn[0] == pytest.approx(raw - raw.mean(1, keepdims=True), abs=1e-9)
    assert sum(drawn[1:]) == pytest.approx(drawn[0], abs=1e-9)
    maps = sources.maps(trace, 2, 1, center=True)
    shares = sources.map_shares(maps)
    largest = sorted(shares, key=lambda pair: -abs(shares[pair]))[:5]
    assert [one.get_title() for one in axes[1:6]] == [
        f"{' · '.join(pair)}\n{100 * shares[pair]:.0f} %" for pair in largest
    ]
    assert axes[0].get_title() == "all\n100 %" and axes[6].get_title().startswith("rest (31 maps)")
    limits = {one.images[0].get_clim() for one in axes}
    assert len(limits) == 1 and sum(limits.pop()) == 0
    hidden = plots.score_maps(lens_of("gpt2").trace(TEXT), 1, 0)
    assert np.ma.getmaskarray(hidden[0].images[0].get_array())[0, 1]


def test_own_axes_and_errors(trace: Trace) -> None:
    from bertlens import plots

    s = sources.score(trace, 0, 1, 3, 4)
    axes = matplotlib.pyplot.subplots()[1]
    assert plots.sources(s, axes) is axes
    with pytest.raises(InputError, match="largest"):
        plots.sources(s, largest=0)
    with pytest.raises(InputError, match="7 maps need as many axes"):
        plots.score_maps(trace, 0, 0, axes=axes)
    with pytest.raises(InputError, match="most"):
        plots.score_maps(trace, 0, 0, most=0)
