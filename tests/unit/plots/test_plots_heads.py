"""One head as a figure for a paper: colours, names, lines and sizes, and what its files hold."""

from __future__ import annotations

import re
import zlib
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

import bertlens as bl
from bertlens import plots
from bertlens.base.colors import INKS, table
from bertlens.errors import ExportError, ModelError, SelectionError
from bertlens.lens import Lens
from bertlens.measures import norms
from unit import tiny

matplotlib: Any = pytest.importorskip("matplotlib")


@pytest.fixture(scope="module")
def trace():
    return Lens(tiny.bert(), tiny.wordpiece()).trace("the cat sat on the mat.", "it was very warm.")


def painted(axes: Any) -> np.ndarray:
    """uint8 (S, K, 3) as it is drawn."""
    image = axes.images[0]
    return np.asarray(image.cmap(image.norm(image.get_array()), bytes=True))[..., :3]


def entries(values: np.ndarray, low: float, high: float) -> np.ndarray:
    return np.floor(255 * (values - low) / (high - low) + 0.5).astype(int)


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("measure", ["weight", "norm", "difference"])
def test_every_cell_has_its_colour(trace, measure, theme):
    alpha = trace.attention(1)[2].double().numpy()
    passed = norms.weighted_norm(trace, 1)[2].double().numpy()
    values = {"weight": alpha, "norm": passed, "difference": alpha - passed / passed.sum(1, keepdims=True)}[measure]
    axes = plots.attention_map(trace, 1, 2, gate="", measure=measure, theme=theme)
    top = np.abs(values).max()
    signed = measure == "difference"
    colours = table("signed" if signed else "weight", theme)
    found = painted(axes).astype(int)
    wanted = colours[entries(values, -top if signed else 0, top)].astype(int)
    assert (abs(found - wanted).max(-1) <= 4).all() and (found == wanted).all(-1).mean() > 0.98  # float32 at an edge
    bar = axes.figure.axes[1]
    assert [text.get_text() for text in bar.get_yticklabels()] == (
        [f"−{top:.3f}", f"+{top:.3f}"] if signed else ["0", f"{top:.3f}"]
    )
    assert axes.xaxis.label.get_color() == axes.title.get_color() == INKS[theme]["ink"]


def test_names_titles_boundary_and_size(trace):
    axes = plots.attention_map(trace, 0, 1, gate="", width=85, size=8)
    assert [text.get_text() for text in axes.get_yticklabels()] == trace.display_tokens
    assert [text.get_text() for text in axes.get_xticklabels()] == trace.display_tokens
    assert (axes.get_xlabel(), axes.get_ylabel(), axes.get_title()) == ("key", "query", "L0·H1, attention")
    second = trace.segments.tolist().index(1)
    assert [list(line.get_ydata()) for line in axes.lines[::2]] == [[second - 0.5] * 2]
    assert [list(line.get_xdata()) for line in axes.lines[1::2]] == [[second - 0.5] * 2]
    assert axes.figure.get_size_inches()[0] == pytest.approx(85 / 25.4)
    assert {text.get_fontsize() for text in axes.get_xticklabels()} == {8} and axes.xaxis.label.get_fontsize() == 8
    assert not axes.collections  # no gate is outlined


def test_colours_of_a_long_map_end_where_the_page_ends_them():
    """Of more than 64 rows: at twice the median of the rows' largest."""
    maps = np.random.default_rng(0).random((1, 1, 70, 70), np.float32)
    maps[..., 0, 0] = 60
    long = bl.Trace.from_attentions(maps / maps.sum(-1, keepdims=True), ["x"] * 70)
    weights = long.attention(0)[0].numpy()
    top = 2 * np.sort(weights.max(1))[35]
    assert top < weights.max()
    found = painted(plots.attention_map(long, 0, 0, gate=""))
    assert (found == table("weight", "light")[np.minimum(entries(weights, 0, top), 255)]).all()


def test_pdf_with_letters_that_stay_letters(trace, tmp_path):
    axes = plots.attention_map(trace, 0, 1, gate="", width=180)
    path = plots.save(axes, tmp_path / "map.pdf", trace)
    raw = path.read_bytes()
    assert raw.startswith(b"%PDF-") and b"/Type3" not in raw
    streams = b"".join(
        zlib.decompress(part)
        for part in re.findall(rb"stream\r?\n(.*?)\r?\nendstream", raw, re.DOTALL)
        if part[:1] == b"x"
    )
    assert b"/FontFile2" in raw + streams  # TrueType
    [box] = re.findall(rb"/MediaBox \[ ?0 0 ([\d.]+)", raw + streams)
    assert float(box) == pytest.approx(180 / 25.4 * 72, abs=0.1)
    svg = ElementTree.fromstring(plots.save(axes, tmp_path / "map.svg", trace).read_bytes())
    texts = {"".join(text.itertext()).strip() for text in svg.iter("{http://www.w3.org/2000/svg}text")}
    assert {"query", "key", *trace.display_tokens} <= texts
    assert trace.model_name in "".join(svg.itertext())
    with pytest.raises(ExportError, match="cannot be written"):
        plots.save(axes, tmp_path / "no" / "map.pdf")
    with pytest.raises(ExportError, match="cannot be written"):
        plots.save(axes, tmp_path / "map.xyz")


def test_bad_input(trace):
    for wrong in ({"measure": "size"}, {"theme": "auto"}):
        with pytest.raises(SelectionError):
            plots.attention_map(trace, 0, 0, **wrong)
    alone = bl.Trace.from_attentions(trace.attention(0)[None].numpy(), trace.tokens)
    with pytest.raises(ModelError):
        plots.attention_map(alone, 0, 0, gate="", measure="norm")
