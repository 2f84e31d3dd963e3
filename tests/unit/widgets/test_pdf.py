"""The PDF of a head view, made for its page: letters and paths, no pixels; what has none is refused in a sentence."""

from __future__ import annotations

import re
import zlib
from typing import Any

import pytest

import bertlens as bl
from bertlens.export import fonts
from bertlens.plots import figure
from unit.asking import question

SHEET = {"mm": 85, "points": 8, "dark": False, "query": None, "key": None}


@pytest.fixture(scope="module")
def trace(embedded_lens: bl.Lens) -> bl.Trace:
    pytest.importorskip("matplotlib").use("agg")
    return embedded_lens.trace("The cat sat unbelievably long.", "A dog lay on the rug.")


def made(trace: bl.Trace, sheet: dict[str, Any] | None = None, **selection: Any) -> tuple[bytes, str]:
    """As `opened`, of a view with this selection."""
    fields, buffers = question(trace.explore(**selection), op="pdf", sheet=SHEET | (sheet or {}))
    assert "error" not in fields, fields
    return opened(bytes(buffers[0]))


def opened(file: bytes) -> tuple[bytes, str]:
    """A file, and what it draws: its streams, unpacked."""
    streams = re.findall(rb"stream\r?\n(.*?)\r?\nendstream", file, re.DOTALL)
    drawn = []
    for stream in streams:
        try:
            drawn.append(zlib.decompress(stream).decode("latin1"))
        except zlib.error:
            continue
    return file, "\n".join(drawn)


def words(drawn: str) -> list[str]:
    """The texts that are shown, kerning taken out; their letters are of two bytes."""
    piece = r"\((?:\\.|[^()\\])*\)"
    shown = re.findall(rf"\[((?:\s*(?:{piece}|-?[\d.]+))*)\s*\]\s*TJ|({piece})\s*Tj", drawn.replace("\0", ""))
    return ["".join(part[1:-1] for part in re.findall(piece, many or one)) for many, one in shown]


SHOWN = [{}, {"units": "words", "hide_special": True, "renormalize": True}, {"layer_map": "attnres-n"}]


@pytest.mark.parametrize("chosen", SHOWN)
def test_a_map_is_paths_and_letters(trace, chosen):
    file, drawn = made(trace, **chosen, layer=1, head=8)
    assert file.startswith(b"%PDF") and b"/Subtype /Image" not in file and b"/FontFile2" in file
    labels = words(drawn)
    grid = bl.plots.grid.shown_grid(trace, 1, 8, **chosen)
    tokens = [unit.label for unit in grid.rows]
    for token in tokens:
        escaped = token.replace("(", r"\(").replace(")", r"\)")
        assert labels.count(escaped) == 2 * tokens.count(token), token  # on both sides
    assert {"query", "key"} <= set(labels)
    assert len(re.findall(r"^[bBf]\*?$", drawn, re.MULTILINE)) >= grid.values.size  # each cell is filled
    width = re.search(rb"/MediaBox \[ ?0 0 ([\d.]+)", file)
    assert width and float(width[1]) == pytest.approx(85 / 25.4 * 72, abs=0.1)
    assert b"all-MiniLM-L6-v2" in file  # where it is from


def test_running_text_is_letters_and_boxes(trace):
    file, drawn = made(trace, {"query": 3}, mode="text", layer=1, head=8)
    assert b"/Subtype /Image" not in file
    assert {"cat", "dog", "rug"} <= set(words(drawn))


@pytest.mark.parametrize(
    ("text", "chosen", "why"),
    [
        ("The cat sat.", {"mode": "lines"}, "lines have no PDF: save the SVG, which has it, or show the matrix"),
        ("猫が座った。", {}, "no font that matplotlib knows has letters of this text ("),
    ],
)
def test_what_has_no_pdf_is_refused_with_the_way_out(embedded_lens, trace, text, chosen, why, monkeypatch):
    monkeypatch.setattr(fonts, "_entries", list)  # private: whatever is installed here
    fields, _ = question(embedded_lens.trace(text).explore(**chosen), op="pdf", sheet=SHEET)
    assert fields["error"].startswith(why) and "save the SVG" in fields["error"]


def test_without_matplotlib_it_says_how_to_get_it(trace, monkeypatch):
    def missing() -> Any:
        raise bl.ExportError("figures need matplotlib: pip install matplotlib")

    monkeypatch.setattr(figure, "pyplot", missing)
    fields, _ = question(trace.explore(), op="pdf", sheet=SHEET)
    assert fields["error"] == "figures need matplotlib: pip install matplotlib"


@pytest.mark.parametrize(
    "sheet", [None, {"mm": "85"}, SHEET | {"mm": 10_000}, SHEET | {"query": 99}, SHEET | {"drawn": {"shapes": [{}]}}]
)
def test_a_sheet_is_checked(trace, sheet):
    fields, _ = question(trace.explore(), op="pdf", sheet=sheet)
    assert "error" in fields


def test_no_figure_stays_open(trace):
    plt = figure.pyplot()
    before = plt.get_fignums()
    made(trace)
    assert plt.get_fignums() == before


@pytest.mark.parametrize("by", [True, False])
def test_the_matrix_of_a_similarity_is_paths_and_letters(embedded_lens: bl.Lens, by: bool) -> None:
    pytest.importorskip("matplotlib").use("agg")
    found = bl.similarity(embedded_lens, "A cat sat unbelievably long.", "The dog lay.")
    split = {"of": "output", "words": by}
    fields, buffers = question(found.explore(), op="similar_pdf", split=split)
    assert "error" not in fields, fields
    file, drawn = opened(bytes(buffers[0]))
    assert file.startswith(b"%PDF") and b"/FontFile2" in file
    labels = words(drawn)
    table = found.pairs(words=by)
    for names, sums in ((table.index, table.sum(axis=1)), (table.columns, table.sum(axis=0))):
        for name, total in zip(names, sums, strict=True):
            assert any(name in label and f"{abs(total):.3f}" in label for label in labels), name
    for wrong in (None, {"of": "layer"}):
        assert (
            "split by its output or its input" in question(found.explore(), op="similar_pdf", split=wrong)[0]["error"]
        )


def test_a_screen_is_words_at_their_places_and_paths(trace):
    """Of the page's pixels each becomes the same part of the width, whatever fonts there are."""
    word = {"points": [[100.0, 50.0]], "fill": "#1c2230", "stroke": "", "opacity": 1, "width": 40.0, "dashed": False}
    word |= {"text": "sour", "size": 20.0, "serif": True, "bold": False, "italic": True}
    line = {"points": [[0.0, 0.0], [400.0, 200.0]], "fill": "", "stroke": "#d8411c", "opacity": 0.5, "width": 2.0}
    file, drawn = made(trace, {"drawn": {"shapes": [line | {"dashed": True}, word], "width": 400, "height": 200}})
    wide = 85 / 25.4 * 72
    [box] = re.findall(rb"/MediaBox \[ ?0 0 ([\d.]+) ([\d.]+)", file)
    assert [float(one) for one in box] == pytest.approx([wide, wide / 2], abs=0.1)
    assert words(drawn) == ["sour"] and "0 %.6f m" % (wide / 2) in drawn
    [place] = re.findall(r"1 0 -0 1 ([\d.]+) ([\d.]+) cm\s+BT", drawn)
    assert [float(one) for one in place] == pytest.approx([wide / 4, 0.75 * wide / 2], abs=0.2)
    size = float(re.findall(r"/F\d+ ([\d.]+) Tf", drawn)[0])
    import matplotlib.textpath as paths
    from matplotlib.font_manager import FontProperties

    font = FontProperties(family="serif", style="italic")
    natural = paths.TextPath((0, 0), "sour", size=size, prop=font).get_extents().x1
    assert natural == pytest.approx(40 * wide / 400, rel=0.03)
