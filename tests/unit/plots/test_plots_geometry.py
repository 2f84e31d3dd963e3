"""Figures of gates and geometry show the numbers of the measures, and nothing else."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from bertlens import plots
from bertlens.base.vocabulary import GATES
from bertlens.errors import ExportError, InputError, SelectionError
from bertlens.lens import Lens
from bertlens.measures import gates, geometry, spectra
from bertlens.plots.figure import axes_or_new, tokens_on_axes
from bertlens.plots.gate_figures import _STYLES
from unit import tiny

matplotlib = pytest.importorskip("matplotlib")


@pytest.fixture(scope="module")
def trace():
    return Lens(tiny.bert(), tiny.wordpiece()).trace("the cat sat on the mat.", "it was very warm.")


def test_histograms_have_the_counts_and_one_scale(trace):
    figure = plots.norm_histograms(trace, 1, 2, bins=7)
    found = geometry.norm_histograms(trace, 1, 2, bins=7)
    assert len(figure.axes) == 4
    for panel, kind in zip(figure.axes, ("query", "key", "value", "context"), strict=True):
        values, edges, _ = panel.patches[0].get_data()
        assert values.tolist() == found.counts[kind].tolist()
        assert edges.tolist() == found.edges.tolist()
        assert panel.get_xlim() == figure.axes[0].get_xlim()
    figure.canvas.draw()


def test_cone_goes_through_the_layer_table(trace):
    axes = plots.cone(trace)
    table = geometry.layer_table(trace)
    path = axes.lines[0].get_ydata()
    assert len(path) == 4 * trace.n_layers + 1
    for offset, name in enumerate(("cone_input", "cone_heads", "cone_concatenation", "cone_attention")):
        assert path[offset:-1:4].tolist() == pytest.approx(table[name].tolist())
    assert path[-1] == pytest.approx(table["cone_output"].iloc[-1])
    assert axes.lines[1].get_ydata()[0] == pytest.approx(table["chance"][0])
    axes.figure.canvas.draw()


def test_softmax_cones_are_those_of_the_maps(trace):
    axes = plots.softmax_cones(trace)
    shown = axes.images[0].get_array()
    assert shown.shape == (trace.n_layers, trace.n_heads)
    assert shown[2].tolist() == pytest.approx(geometry.attention_cone(trace, 2).tolist())
    printed = [float(text.get_text()) for text in axes.texts]
    assert printed == pytest.approx(shown.flatten().tolist(), abs=0.00501)
    axes.figure.canvas.draw()


def test_spectra_are_numpys_singular_values(trace):
    axes = plots.spectra(trace, 1, 2)
    context = trace.context(1).unflatten(-1, (trace.n_heads, -1))[:, 2]
    matrices = [x[2] for x in (trace.query(1), trace.key(1), trace.value(1))] + [context, trace.attention(1)[2]]
    for line, matrix in zip(axes.lines, matrices, strict=True):
        values = np.linalg.svd(matrix.double().numpy(), compute_uv=False)
        assert line.get_ydata() == pytest.approx(values / values[0], abs=1e-6)
    axes.figure.canvas.draw()
    with pytest.raises(SelectionError, match="head 9"):
        plots.spectra(trace, 0, 9)


def test_directionality_is_drawn_over_its_chance(embedded_lens):
    axes = plots.directionality(embedded_lens)
    table = spectra.weights_table(embedded_lens)
    whole = table["head"] == "all"
    [band], [of_heads, dashed, of_layers] = axes.patches, axes.collections
    limits = [segment[0][1] for segment in dashed.get_segments()]
    drawn = ([band.get_y(), band.get_y() + band.get_height()], of_heads), (limits, of_layers)
    for rows, (found, dots) in zip((table[~whole], table[whole]), drawn, strict=True):
        assert dots.get_offsets()[:, 1].tolist() == pytest.approx(rows["directionality"].tolist())
        chance = rows["directionality_chance"].iloc[0]
        assert found == pytest.approx([-chance, chance])
        inside = (rows["directionality"].abs() <= chance).mean()
        assert dots.get_label().endswith(f"random ±{chance:.2f}, {inside:.0%} inside")
    axes.figure.canvas.draw()


def test_map_names_gate_and_outlines_its_cells(trace):
    axes = plots.attention_map(trace, 0, 1, gate="self")
    assert np.asarray(axes.images[0].get_array()) == pytest.approx(trace.attention(0)[1].numpy())
    label = gates.classify(trace).query("layer == 0 and head == 1")["label"].iloc[0]
    score = gates.scores(trace.attention(0)[1], trace.special_mask, trace.segments)["self"]
    assert axes.get_title().startswith(f"L0·H1: {label} at {trace.n_tokens} tokens\nself {float(score):.2f}")
    segments = axes.collections[0].get_segments()
    content = int((~trace.special_mask).sum())
    assert len(segments) == 4 * content  # cells of a diagonal touch at corners only
    axes.figure.canvas.draw()


def test_gate_counts_add_up_to_the_heads(trace):
    table = gates.classify(trace)
    axes = plots.gate_counts(table)
    widths = np.zeros(trace.n_layers)
    for container in axes.containers:
        letter, name = container.get_label().split(" ", 1)
        assert letter == GATES[name].letter
        wide = [bar.get_width() for bar in container]
        assert wide == [int(((table["layer"] == layer) & (table["label"] == name)).sum()) for layer in range(3)]
        widths += wide
    assert widths.tolist() == [trace.n_heads] * trace.n_layers
    axes.figure.canvas.draw()


def test_every_gate_has_a_look_of_its_own():
    assert set(GATES) == set(_STYLES)
    letters = [gate.letter for gate in GATES.values()]
    assert len(set(letters)) == len(letters)
    assert len(set(_STYLES.values())) == len(_STYLES)


def test_figures_draw_into_the_axes_given(trace):
    import matplotlib.pyplot as plt

    _, axes = plt.subplots()
    for draw in (lambda: plots.cone(trace, axes=axes), lambda: plots.attention_map(trace, 0, 0, axes=axes)):
        assert draw() is axes
    assert len(plt.get_fignums()) == 1


def test_bad_input(trace):
    with pytest.raises(SelectionError, match="head 9"):
        plots.attention_map(trace, 0, 9)
    with pytest.raises(SelectionError, match="layer 9"):
        plots.norm_histograms(trace, 9, 0)
    with pytest.raises(InputError, match="unknown gate"):
        plots.attention_map(trace, 0, 0, gate="diagonal")


def test_without_matplotlib_one_line_says_what_to_install(trace, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ExportError, match="pip install matplotlib"):
        plots.cone(trace)


def test_dollar_signs_are_text():
    axes = axes_or_new(None, 2, 2)
    tokens_on_axes(axes, ["$x^2$", "$"], ["a"] * 61)
    axes.figure.canvas.draw()
    assert [label.get_text() for label in axes.get_yticklabels()] == [r"\$x^2\$", r"\$"]
    assert axes.get_xticks().tolist() == []
