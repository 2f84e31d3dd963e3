"""The look: the colour tables of widget, PNG and export, all from the anchors below, their names, inks and letters.

A table has 256 entries; the page's copy is in js/src/generated/vocabulary.ts (see typescript.py). It follows its
anchors through OKLab and is sampled at equal steps of lightness, so equal steps of value look equally far apart, in
colour, in grey print and to colour-blind eyes. Zero has the colour of the panel, so that "no attention" recedes.
"""

from __future__ import annotations

import base64
from functools import cache

import numpy as np

THEMES = ("light", "dark")
NODES = 17  # colours of an arm that the page stores

# The one accent (what is chosen, more, lost), and the colour that is told from it by every eye (less).
_ACCENT = {"light": "#d8431c", "dark": "#ff7f50"}
_SLATE = {"light": "#5f789f", "dark": "#819ac4"}
_PANEL = {"light": "#ffffff", "dark": "#14181e"}

# From zero outwards. The two arms of a signed table end at the same lightness: size reads alike on both sides; on a
# dark page short of the accent, which eyes without blue cones see as no brighter than what lies below it.
_WEIGHT = {
    "light": (_PANEL["light"], "#cccfd7", "#8690ac", "#4b5266", "#161b28"),
    "dark": (_PANEL["dark"], "#363b46", "#636f8b", "#adb4c3", "#f1f4f9"),
}
_POSITIVE = {
    "light": (_PANEL["light"], "#f3b39f", _ACCENT["light"]),
    "dark": (_PANEL["dark"], "#884932", "#f0774a"),
}
_NEGATIVE = {
    "light": (_PANEL["light"], "#a9b6ce", _SLATE["light"]),
    "dark": (_PANEL["dark"], "#435a80", _SLATE["dark"]),
}

# Not a number: a brown that no ramp passes through for any kind of colour vision.
NAN = "#8d766d"

# What sentences call them; where a scale from 0 begins and ends, on a light page.
POSITIVE, NEGATIVE, MISSING = "red", "slate", "brown"
ZERO, LARGEST = "white", "black"

# Eight heads overlaid as lines: at least 3:1 against the panel, and no two alike for any kind of colour vision.
HEADS = {
    "light": ("#235fb2", "#b27c2e", "#1c5405", "#804f5a", "#34989b", "#52155c", "#938c65", "#53121f"),
    "dark": ("#6573fb", "#9e5e4b", "#5d8506", "#8d5f8b", "#3cafed", "#f7d6f1", "#dbb769", "#dd8395"),
}

# Figures: of gates, which a letter and a hatch tell apart too, and of groups of a survey.
_HEADS = HEADS["light"]
GATES = {
    "directional": _HEADS[0],
    "open": "#e0e4ec",
    "closed": _HEADS[5],
    "forward contextual": _HEADS[4],
    "backward contextual": _HEADS[4],
    "bidirectional": _HEADS[4],
    "cluster": _HEADS[1],
    "instance": _HEADS[3],
    "self": _HEADS[2],
    "mixed": "#c9ced6",
    "undefined": "#ffffff",
}
GROUPS = ("#2f5fb3", _ACCENT["light"], "#34989b", "#c2185b", "#b8860b", "#7a5195", "#1c5405", "#667085")

# Text, lines and areas of the two themes, names as the style sheet has them: `select` is the accent of areas and
# lines, `select-text` that of text, and the ground of text in `on-select`; `negative-text` is slate in text.
INKS: dict[str, dict[str, str]] = {
    "light": {
        "bg": _PANEL["light"],
        "panel": _PANEL["light"],
        "soft": "#f7f6f3",
        "border": "#e4e2dd",
        "ink": "#1d2430",
        "muted": "#5d6778",
        "select": _ACCENT["light"],
        "select-text": "#c23a15",
        "select-soft": "#fdf0eb",
        "on-select": "#ffffff",
        "positive": _ACCENT["light"],
        "negative": _SLATE["light"],
        "negative-text": "#4f6890",
        "warning-bg": "#fff4d6",
        "warning-ink": "#6b4a00",
    },
    "dark": {
        "bg": _PANEL["dark"],
        "panel": _PANEL["dark"],
        "soft": "#1c2129",
        "border": "#2d343e",
        "ink": "#efece5",
        "muted": "#9aa3b1",
        "select": _ACCENT["dark"],
        "select-text": "#ff9a73",
        "select-soft": "#2a1d18",
        "on-select": _PANEL["dark"],
        "positive": _ACCENT["dark"],
        "negative": _SLATE["dark"],
        "negative-text": "#9bb1d6",
        "warning-bg": "#3d3110",
        "warning-ink": "#ffdf8a",
    },
}

# The curves and bars of a report's cards, four at most: the first is what the card is about.
CHARTS = {
    theme: (*(INKS[theme][name] for name in ("select", "ink", "negative")), HEADS[theme][n])
    for theme, n in (("light", 6), ("dark", 1))
}

# Words in colour on pages beside a view: verdicts of a report, wrong answers of a task, at least 4.5 : 1 on the page.
VERDICTS: dict[str, dict[str, str]] = {
    "light": {"holds": "#1a7440", "differs": "#b3261e", "cannot": "#7a5c00"},
    "dark": {"holds": "#6fcf97", "differs": "#ff8a80", "cannot": "#e3bf5a"},
}
# Of the text's words, on every page; what we say about them is in the host's own letters.
SERIF = '"Iowan Old Style", Charter, Palatino, Georgia, "Noto Serif", "DejaVu Serif", serif'
# On paper, of either theme.
PRINT: dict[str, str] = {"ink": "#000000", "muted": "#444444", "border": "#999999"}

# Curves and points that are told apart by colour and by marker: kinds of token first, in the order of CATEGORIES.
SERIES: dict[str, tuple[str, ...]] = {
    "light": ("#c2185b", "#7a5195", "#8a6508", "#2f5fb3", "#1f7a6b", "#5d6778"),
    "dark": ("#ff6fa3", "#c39bd3", "#e0b040", "#7ea6ea", "#5cc4b0", "#b0b8c4"),
}
# What a head makes of its input: an index into SERIES for each.
VECTORS: dict[str, int] = {"query": 0, "key": 3, "value": 4, "context": 1, "attention": 5}

# sRGB -> cone response -> OKLab (B. Ottosson, 2020)
_CONES = np.array(
    [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]
)
_OKLAB = np.array(
    [
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ]
)


def rgb(color: str) -> tuple[int, int, int]:
    """'#rrggbb' as three bytes."""
    return int(color[1:3], 16), int(color[3:5], 16), int(color[5:7], 16)


def ink_on(color: str) -> str:
    """Black or white, whichever is read more easily on '#rrggbb': at least 4.5 : 1 (WCAG 2.2, relative luminance)."""
    channels = np.array(rgb(color))
    linear = np.where(channels > 10, ((channels / 255 + 0.055) / 1.055) ** 2.4, channels / 3295)
    return "#000000" if linear @ [0.2126, 0.7152, 0.0722] > 0.179 else "#ffffff"


def _to_oklab(colors: tuple[str, ...]) -> np.ndarray:
    encoded = np.array([rgb(color) for color in colors]) / 255
    linear = np.where(encoded <= 0.04045, encoded / 12.92, ((encoded + 0.055) / 1.055) ** 2.4)
    return np.cbrt(linear @ _CONES.T) @ _OKLAB.T


def _to_bytes(oklab: np.ndarray) -> np.ndarray:
    linear = np.clip((oklab @ np.linalg.inv(_OKLAB).T) ** 3 @ np.linalg.inv(_CONES).T, 0, 1)
    encoded = np.where(linear <= 0.0031308, 12.92 * linear, 1.055 * linear ** (1 / 2.4) - 0.055)
    return np.round(255 * encoded).astype(np.uint8)


def _ramp(anchors: tuple[str, ...], n: int) -> np.ndarray:
    """`n` colours along the anchors at equal steps of OKLab lightness: uint8 (n, 3)."""
    oklab = _to_oklab(anchors)
    lightness = np.linspace(oklab[0, 0], oklab[-1, 0], n)
    upwards = slice(None) if oklab[0, 0] < oklab[-1, 0] else slice(None, None, -1)
    a, b = (np.interp(lightness, oklab[upwards, 0], oklab[upwards, axis]) for axis in (1, 2))
    return _to_bytes(np.stack([lightness, a, b], axis=1))


def _nodes(scale: str, theme: str) -> list[np.ndarray]:
    """The colours that a table is drawn through, uint8 (NODES, 3) for each of its arms, zero first."""
    return [_ramp(anchors[theme], NODES) for anchors in ((_WEIGHT,) if scale == "weight" else (_NEGATIVE, _POSITIVE))]


def _between(nodes: np.ndarray, n: int) -> np.ndarray:
    """`n` colours on straight lines between the nodes, uint8 (n, 3), as js/src/paint/colormap.ts draws them."""
    at = np.arange(n) * (len(nodes) - 1) / (n - 1)
    channels = [np.interp(at, np.arange(len(nodes)), nodes[:, c].astype(float)) for c in range(3)]
    return np.floor(np.stack(channels, axis=1) + 0.5).astype(np.uint8)


@cache
def table(scale: str, theme: str) -> np.ndarray:
    """uint8 (256, 3), read-only. `scale` "weight": entry 0 is zero. "signed": entries 127 and 128 are zero, 0 is the
    most negative (NEGATIVE), 255 the most positive (POSITIVE)."""
    arms = _nodes(scale, theme)
    if len(arms) == 1:
        shades = _between(arms[0], 256)
    else:
        shades = np.concatenate([_between(arms[0], 128)[::-1], _between(arms[1], 128)])
    shades.setflags(write=False)
    return shades


def nodes_base64(scale: str, theme: str) -> list[str]:
    """The nodes of each arm of a table as base64, for the page."""
    return [base64.b64encode(nodes.tobytes()).decode() for nodes in _nodes(scale, theme)]
