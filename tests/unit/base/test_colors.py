"""The colour tables: one source, even, and readable by colour-blind eyes and in grey."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from bertlens.base import colors

PANEL = {"light": "#ffffff", "dark": "#14181e"}
SELECTION = {"light": "#d8431c", "dark": "#ff7f50"}
LEGEND_STEPS = 16  # colours that a reader is asked to tell apart along one ramp
THEMES = pytest.mark.parametrize("theme", colors.THEMES)

# Machado, Oliveira, Fernandes 2009, severity 1, on linear RGB; grey is luminance (Rec. 709).
VISION = {
    "normal": np.eye(3),
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.3039]],
    "grey": [[0.2126, 0.7152, 0.0722]] * 3,
}
COLOUR_VISION = [eye for eye in VISION if eye != "grey"]
EYES = pytest.mark.parametrize("eye", VISION)

XYZ = np.array([[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.072175], [0.0193339, 0.119192, 0.9503041]])


def linear(rgb: np.ndarray) -> np.ndarray:
    encoded = np.asarray(rgb, float) / 255
    return np.where(encoded <= 0.04045, encoded / 12.92, ((encoded + 0.055) / 1.055) ** 2.4)


def cielab(rgb: np.ndarray, eye: str = "normal") -> np.ndarray:
    """CIE L*a*b* (D65) as that eye sees it."""
    seen = np.clip(linear(rgb) @ np.array(VISION[eye]).T, 0, 1)
    xyz = (
        seen
        @ np.array(
            [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.072175], [0.0193339, 0.119192, 0.9503041]]
        ).T
    )
    ratio = xyz / [0.95047, 1, 1.08883]
    f = np.where(ratio > 216 / 24389, np.cbrt(ratio), (24389 / 27 * ratio + 16) / 116)
    return np.stack([116 * f[..., 1] - 16, 500 * (f[..., 0] - f[..., 1]), 200 * (f[..., 1] - f[..., 2])], -1)


def contrast(rgb: np.ndarray, ground: tuple[int, int, int]) -> np.ndarray:
    """WCAG 2 contrast ratio."""
    a, b = (linear(c) @ [0.2126, 0.7152, 0.0722] + 0.05 for c in (rgb, ground))
    return np.maximum(a / b, b / a)


def arms(theme: str) -> dict[str, np.ndarray]:
    """Every ramp from zero outwards."""
    signed = colors.table("signed", theme)
    return {"weight": colors.table("weight", theme), "negative": signed[127::-1], "positive": signed[128:]}


@THEMES
def test_zero_is_the_panel(theme):
    assert {name: tuple(map(int, ramp[0])) for name, ramp in arms(theme).items()} == dict.fromkeys(
        ("weight", "negative", "positive"), colors.rgb(PANEL[theme])
    )


@EYES
@THEMES
def test_steps_keep_their_order_and_can_be_told_apart(theme, eye):
    for name, ramp in arms(theme).items():
        assert len(np.unique(ramp, axis=0)) > 0.95 * len(ramp), name
        # near grey there are fewer bytes than entries: some neighbours are one colour, all others differ
        ramp = ramp[np.append(True, np.diff(ramp.astype(int), axis=0).any(1))]
        seen = cielab(ramp, eye)
        # every colour for normal eyes; for simulated ones every second, which rounding to bytes cannot turn back
        away_from_zero = np.diff(seen[:: 1 if eye == "normal" else 2, 0]) * (1 if theme == "dark" else -1)
        assert (away_from_zero > 0).all(), name
        steps = seen[np.linspace(0, len(ramp) - 1, LEGEND_STEPS).round().astype(int)]
        assert (np.linalg.norm(np.diff(steps, axis=0), axis=1) >= 2).all(), name
        assert (np.abs(np.diff(steps[:, 0])) >= 2).all(), name


@THEMES
def test_ramps_are_even(theme):
    """Halfway in value is halfway in lightness: L* is a straight line within 3 of its 100 units."""
    for name, ramp in arms(theme).items():
        lightness = cielab(ramp)[:, 0]
        assert np.abs(lightness - np.linspace(lightness[0], lightness[-1], len(ramp))).max() < 3, name


@THEMES
def test_signed_is_symmetric_about_a_neutral_middle(theme):
    negative, positive = (cielab(arms(theme)[name]) for name in ("negative", "positive"))
    assert np.abs(negative[:, 0] - positive[:, 0]).max() < 1.5
    assert np.linalg.norm(negative[0, 1:]) < 8  # the panel's own tint and no more
    for eye in COLOUR_VISION:  # in grey the sign is written, not coloured
        ends = [cielab(arms(theme)[name][-1], eye) for name in ("negative", "positive")]
        assert np.linalg.norm(ends[0] - ends[1]) > 60, eye


@pytest.mark.parametrize("eye", COLOUR_VISION)  # in grey every lightness is a value: NaN is also written
@THEMES
def test_not_a_number_looks_like_no_value(theme, eye):
    nan = cielab(np.array(colors.rgb(colors.NAN)), eye)
    for scale in ("weight", "signed"):
        assert np.linalg.norm(cielab(colors.table(scale, theme), eye) - nan, axis=1).min() > 20


@THEMES
def test_heads_stand_out_and_differ(theme):
    heads = np.array([colors.rgb(color) for color in colors.HEADS[theme]])
    assert len(heads) == 8
    assert contrast(heads, colors.rgb(PANEL[theme])).min() >= 3
    for eye in COLOUR_VISION:
        seen = cielab(heads, eye)
        apart = np.linalg.norm(seen[:, None] - seen, axis=-1)[np.triu_indices(8, 1)]
        assert apart.min() > 15, eye
    charts = np.array([colors.rgb(color) for color in colors.CHARTS[theme]])
    assert contrast(charts, colors.rgb(PANEL[theme])).min() >= 3
    for eye in COLOUR_VISION:
        seen = cielab(charts, eye)
        assert np.linalg.norm(seen[:, None] - seen, axis=-1)[np.triu_indices(4, 1)].min() > 15, eye
    selection = cielab(np.array(colors.rgb(SELECTION[theme])))
    assert np.linalg.norm(cielab(heads) - selection, axis=1).min() > 25


@EYES
@THEMES
def test_accent_and_slate_are_seen_and_told_apart(theme, eye):
    """As areas at least 3 : 1 on the page and its panels (WCAG 2.2, 1.4.11), and by colour where there is any."""
    inks = {name: np.array(colors.rgb(color)) for name, color in colors.INKS[theme].items()}
    areas = np.array([inks[name] for name in ("select", "positive", "negative", "muted", "ink")])
    assert min(contrast(areas, tuple(inks[ground])).min() for ground in ("bg", "panel", "soft")) >= 3
    apart = [np.linalg.norm(cielab(inks["select"], eye) - cielab(inks[other], eye)) for other in ("negative", "ink")]
    assert (apart[1] > 20) if eye == "grey" else min(apart) > 45, apart  # in grey the sign is written
    assert (inks["select"] == inks["positive"]).all()  # one accent


@THEMES
def test_words_in_colour_are_read_on_a_page_and_on_its_panels(theme):
    inks = {name: colors.rgb(color) for name, color in colors.INKS[theme].items()}
    words = np.array([colors.rgb(color) for color in colors.VERDICTS[theme].values()])
    read = np.concatenate([words, [inks["ink"], inks["muted"], inks["select-text"]]])
    assert min(contrast(read, inks[ground]).min() for ground in ("bg", "panel")) >= 4.5
    signs = np.array([inks["select-text"], inks["negative-text"]])  # on the row that is chosen too
    assert min(contrast(signs, inks[ground]).min() for ground in ("bg", "panel", "soft", "select-soft")) >= 4.5
    on_paper = np.array([colors.rgb(colors.PRINT[name]) for name in ("ink", "muted")])
    assert contrast(on_paper, (255, 255, 255)).min() >= 4.5


def test_the_docs_have_the_colours_of_the_views() -> None:
    docs = Path(__file__).parents[3] / "docs"
    inks = {color for theme in colors.INKS.values() for color in theme.values()}
    for name in ("_static/site.css", "_static/mark.svg", "images/click.svg"):
        named = set(re.findall(r"#[0-9a-f]{6}\b", (docs / name).read_text(encoding="utf-8")))
        assert named and named <= inks, name


def test_the_page_draws_the_same_tables() -> None:
    """tests/wire/tables.json holds every 15th colour of our tables; js/tests/colormap.test.ts reads it."""
    vectors = {
        f"{scale}-{theme}": colors.table(scale, theme)[::15].tolist()
        for scale in ("weight", "signed")
        for theme in colors.THEMES
    }
    path = Path(__file__).parents[2] / "wire" / "tables.json"
    assert json.loads(path.read_text()) == vectors
