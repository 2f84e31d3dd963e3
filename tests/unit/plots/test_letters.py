"""Figures are in fonts that have their letters; where none has, one sentence says so."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import ImageFont

import bertlens as bl
from bertlens.export import fonts, still_picture
from bertlens.plots import letters
from bertlens.plots.letters import IllegibleWarning, legible

plt: Any = pytest.importorskip("matplotlib.pyplot")
LETTERS, FONT = "𐘀𐘁", "A Sans"  # of Linear A, which few fonts have
TEXTS = {"[CLS]": 0, LETTERS[0]: 1, LETTERS[1]: 2, "[SEP]": 3}


@pytest.fixture
def font(tmp_path: Path) -> Iterator[Path]:
    """A font of two letters, squares, known to matplotlib while the test lasts."""
    from fontTools.fontBuilder import FontBuilder
    from fontTools.pens.ttGlyphPen import TTGlyphPen
    from matplotlib.font_manager import fontManager

    def square(side: int) -> Any:
        pen = TTGlyphPen(None)
        pen.moveTo((0, 0))
        for corner in ((0, side), (side, side), (side, 0)):
            pen.lineTo(corner)
        pen.closePath()
        return pen.glyph()

    builder = FontBuilder(1000)
    builder.setupGlyphOrder([".notdef", "first", "second"])
    builder.setupCharacterMap({ord(LETTERS[0]): "first", ord(LETTERS[1]): "second"})
    builder.setupGlyf({".notdef": square(0), "first": square(700), "second": square(300)})
    builder.setupHorizontalMetrics(dict.fromkeys((".notdef", "first", "second"), (800, 0)))
    builder.setupHorizontalHeader(ascent=800, descent=-200)
    builder.setupNameTable({"familyName": FONT, "styleName": "Regular"})
    builder.setupOS2()
    builder.setupPost()
    path = tmp_path / "test.ttf"
    builder.save(path)
    fontManager.addfont(path)
    yield path
    fontManager.ttflist = [entry for entry in fontManager.ttflist if entry.name != FONT]


def trace() -> bl.Trace:
    return bl.Trace.from_attentions([np.full((1, 2, 4, 4), 0.25, np.float32)], list(TEXTS))


def drawn() -> Any:
    return bl.plots.attention_map(trace(), 0, 0)


def test_a_font_that_has_the_letters_is_chosen(font: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        axes = drawn()
        axes.figure.canvas.draw()
    labels = axes.get_yticklabels()
    assert [text.get_text() for text in labels] == list(TEXTS)
    assert all(text.get_fontfamily()[-1] == FONT for text in labels[1:3])
    wide = [text.get_window_extent().width for text in labels[1:3]]
    assert wide[0] == pytest.approx(wide[1], abs=1) and wide[0] > 0


def test_letters_that_no_font_has_are_named_once_with_the_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fonts, "_entries", list)  # private: whatever is installed here
    with pytest.warns(IllegibleWarning, match="addfont") as caught:
        axes = drawn()
    assert len(caught) == 1 and LETTERS[0] in str(caught[0].message)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert drawn_of("the cat").get_title()
    assert axes.get_yticklabels()[1].get_fontfamily() == plt.rcParams["font.family"]


def test_frames_are_no_letters() -> None:
    assert not [entry.name for entry in fonts.best_fonts(fonts.letters_of(["猫𐘀é"]))[0] if "Last Resort" in entry.name]


def drawn_of(text: str) -> Any:
    @legible
    def figure() -> Any:
        axes = plt.figure().add_subplot()
        axes.set_title(text)
        return axes

    return figure()


def test_what_a_matplotlib_of_before_writes_the_wrong_way_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        monkeypatch.setattr(letters, "TURNING", (0, 0))
        drawn_of("הילד")
    monkeypatch.setattr(letters, "TURNING", (99, 0))
    with pytest.warns(IllegibleWarning, match="from left to right: pip install --upgrade matplotlib"):
        drawn_of("הילד")


def test_the_still_picture_is_in_that_font_too(font: Path) -> None:
    assert fonts.file_of(LETTERS) == str(font) and fonts.file_of("the קרא") == ""
    face = still_picture._font(20, text=LETTERS)  # private: no picture says which font it is in
    assert isinstance(face, ImageFont.FreeTypeFont) and face.getname()[0] == FONT
