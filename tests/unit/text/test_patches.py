"""Patches of an image among the tokens: names, positions, the picture, what the page and the figure get of them."""

from __future__ import annotations

import base64
import io
from typing import Any

import numpy as np
import pytest
import torch
import transformers as tf
from PIL import Image

import bertlens as bl
from bertlens import plots
from bertlens.base.colors import table
from bertlens.errors import InputError, ModelError, SelectionError
from bertlens.text.patches import MOST_BYTES
from unit import tiny


def vit(family: type = tf.ViTModel, config: type = tf.ViTConfig) -> Any:
    """Attention of a random vision transformer over 3 x 5 patches, as transformers returns it."""
    sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 48}
    model = tiny.shaken(family(config(**sizes, image_size=(24, 40), patch_size=8), add_pooling_layer=False))
    model.set_attn_implementation("eager")
    pixels = torch.rand(1, 3, 24, 40, generator=torch.Generator().manual_seed(1))
    with torch.no_grad():
        return model(pixels, output_attentions=True).attentions


@pytest.fixture(scope="module")
def attentions() -> Any:
    return vit()


def picture(height: int = 24, width: int = 40) -> np.ndarray:
    return np.random.default_rng(0).integers(0, 256, (height, width, 3), dtype=np.uint8)


def rows_of(attentions: Any) -> list[torch.Tensor]:
    return [layer[0] for layer in attentions]


def test_a_vision_transformer(attentions):
    """The last h·w tokens are the patches, row by row; the weights are the model's own."""
    trace = bl.Trace.from_attentions(attentions, grid=(3, 5))
    assert trace.tokens == ["[CLS]", *(f"r{r} c{c}" for r in range(3) for c in range(5))]
    assert trace.patches.tokens == tuple(range(1, 16)) and (trace.patches.rows, trace.patches.cols) == (3, 5)
    assert trace.special_mask.tolist() == [True] + [False] * 15 and not trace.segments.any()
    for layer, weights in enumerate(rows_of(attentions)):
        assert torch.equal(trace.attention(layer), weights)
    assert trace.report.notes == ["15 tokens are 3 x 5 patches of an image"]
    assert repr(trace.patches) == "Patches(3 x 5)" and trace.patches.picture is None


def test_a_distilled_one():
    trace = bl.Trace.from_attentions(vit(tf.DeiTModel, tf.DeiTConfig), grid=(3, 5))
    assert trace.tokens[:3] == ["[CLS]", "[DIST]", "r0 c0"] and trace.special_mask.sum() == 2


def test_positions_are_those_given(attentions):
    """Patches among other tokens, in an order of their own, whatever the others are."""
    at = [9, 8, 4, 2, 1, 15]
    trace = bl.Trace.from_attentions(attentions, grid=(2, 3), patches=at)
    assert trace.patches.tokens == tuple(at)
    assert [trace.tokens[n] for n in at] == ["r0 c0", "r0 c1", "r0 c2", "r1 c0", "r1 c1", "r1 c2"]
    assert trace.tokens[0] == "[other 0]" and trace.special_mask.sum() == 10
    words = [f"t{n}" for n in range(16)]
    named = bl.Trace.from_attentions(attentions, words, grid=(2, 3), patches=at)
    assert named.tokens == words and not named.special_mask.any()
    assert any("were given" in note for note in named.report.notes)
    told = bl.Trace.from_attentions(attentions, words, grid=(3, 5), special_mask=[True] + [False] * 15)
    assert told.patches.tokens == tuple(range(1, 16))


SPECIAL_LAST = [*(f"t{n}" for n in range(15)), "[CLS]"]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"grid": (4, 4), "tokens": ["[CLS]", *"abcdefghijklmno"]}, r"16 patches, but 16 tokens less 1 special ones are 15: give the grid that fits"),  # noqa: E501
        ({"grid": (2, 5)}, r"2 x 5 leaves 6 of 16 tokens: give the grid that fits.*special_mask="),
        ({"grid": (3, 5), "tokens": SPECIAL_LAST}, r"special tokens are among the last 15: .*patches="),
        ({"grid": (5, 5)}, "25 patches, but there are only 16 tokens"),
        ({"grid": (3.5, 5)}, r"\(rows, columns\)"),
        ({"grid": (0, 5)}, r"\(rows, columns\)"),
        ({"grid": 15}, r"\(rows, columns\)"),
        ({"grid": "3x"}, r"\(rows, columns\)"),
        ({"grid": (2, 2), "patches": [1, 2, 3]}, "4 different positions from 0 to 15"),
        ({"grid": (2, 2), "patches": [1, 2, 3, 3]}, "4 different positions"),
        ({"grid": (2, 2), "patches": [1, 2, 3, 16]}, "4 different positions"),
        ({"grid": (3, 5), "key_tokens": ["a"] * 16}, "leave key_tokens"),
        ({}, r"give the tokens, or .* grid=\(rows, columns\)"),
        ({"tokens": ["a"] * 16, "image": picture()}, r"grid=\(rows, columns\)"),
        ({"tokens": ["a"] * 16, "patches": [1]}, r"grid=\(rows, columns\)"),
        ({"grid": (3, 5), "image": picture() / 255}, r"uint8 \(height, width, 3\).*not float64 \(24, 40, 3\)"),
        ({"grid": (3, 5), "image": picture().transpose(2, 0, 1)}, r"not uint8 \(3, 24, 40\)"),
        ({"grid": (3, 5), "image": "cat.png"}, r"PIL\.Image\.open"),
        ({"grid": (3, 5), "image": picture()[:0]}, r"not uint8 \(0, 40, 3\)"),
    ],
)  # fmt: skip
def test_what_does_not_fit(attentions, given, message):
    with pytest.raises(InputError, match=message):
        bl.Trace.from_attentions(attentions, **given)


def test_no_maps():
    for nothing, message in (([], "attentions is one"), (None, "gave no attention weights"), (3, "attentions is one")):
        with pytest.raises(InputError, match=message):
            bl.Trace.from_attentions(nothing, grid=(3, 5))


def test_the_picture_is_small_and_nothing_but_a_picture(attentions):
    small = bl.Trace.from_attentions(attentions, grid=(3, 5), image=picture())
    assert (np.asarray(Image.open(io.BytesIO(small.patches.picture))) == picture()).all()  # as it came
    large = Image.fromarray(picture(900, 1500)).convert("RGBA")
    large.info["comment"] = b"where it was taken"
    made = bl.Trace.from_attentions(attentions, grid=(3, 5), image=large).patches.picture
    assert len(made) <= MOST_BYTES and b"taken" not in made and not Image.open(io.BytesIO(made)).info
    width, height = Image.open(io.BytesIO(made)).size
    assert width / height == pytest.approx(5 / 3, rel=0.02) and 100 < width <= 512


def test_what_the_page_gets(attentions):
    trace = bl.Trace.from_attentions(attentions, grid=(3, 5), image=picture())
    found = trace.explore().overview["header"]["patches"]
    head, data = found.pop("picture").split(",")
    assert found == {"rows": 3, "cols": 5, "tokens": list(range(1, 16))}
    assert head == "data:image/png;base64" and base64.b64decode(data) == trace.patches.picture
    assert bl.Trace.from_attentions(attentions, grid=(3, 5)).explore().overview["header"]["patches"]["picture"] is None
    assert "patches" not in bl.Trace.from_attentions(attentions, ["a"] * 16).explore().overview["header"]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_figure(attentions, theme):
    """Every patch has the colour of its weight; the title's numbers are the row's."""
    pytest.importorskip("matplotlib").use("agg")
    trace = bl.Trace.from_attentions(attentions, grid=(3, 5), image=picture())
    row = attentions[1][0, 2, 7].double().numpy()
    top = row[1:].max()
    entries = np.floor(255 * row[1:] / top + 0.5).astype(int)
    axes = plots.patches(trace, 1, 2, 7, picture=False, theme=theme)
    cells = axes.images[-1].get_array()
    assert len(axes.images) == 1 and (cells[..., 3] == 255).all()
    assert (cells[..., :3].reshape(15, 3) == table("weight", theme)[entries]).all()
    assert axes.get_title() == f"L1·H2: r1 c1 looks at\n15 patches: {row[1:].sum():.3f}, [CLS] {row[0]:.3f}"
    assert axes.get_xlabel() == f"α of a patch, 0 to {top:.3f}"
    assert [patch.get_xy() for patch in axes.patches] == [(0.5, 0.5)]  # r1 c1
    under = plots.patches(trace, 1, 2, 0, theme=theme)
    assert (np.asarray(under.images[0].get_array()) == picture()).all() and not under.patches
    alpha = np.asarray(under.images[1].get_array())[..., 3].astype(float).ravel()
    first = attentions[1][0, 2, 0, 1:].double().numpy()
    assert alpha == pytest.approx(50 + 205 * first / first.max(), abs=0.51)
    several = bl.Trace.from_attentions(attentions, grid=(2, 3), patches=[9, 8, 4, 2, 1, 15])
    others = [n for n in range(16) if n not in several.patches.tokens]
    title = plots.patches(several, 1, 2, 0).get_title()
    row = attentions[1][0, 2, 0].double().numpy()
    assert title.endswith(f"6 patches: {1 - row[others].sum():.3f}, 10 other tokens {row[others].sum():.3f}")
    pytest.importorskip("matplotlib").pyplot.close("all")


def test_figure_of_what_is_not_there(attentions):
    trace = bl.Trace.from_attentions(attentions, grid=(3, 5))
    with pytest.raises(ModelError, match=r"grid=\(h, w\)"):
        plots.patches(bl.Trace.from_attentions(attentions, ["a"] * 16), 0, 0, 0)
    for wrong in ((2, 0, 0), (0, 4, 0), (0, 0, 16)):
        with pytest.raises(SelectionError):
            plots.patches(trace, *wrong)
    with pytest.raises(SelectionError, match="theme"):
        plots.patches(trace, 0, 0, 0, theme="auto")
