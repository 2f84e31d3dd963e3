"""What is shown to others: running text, the line that says what is seen, figures, the stream."""

from __future__ import annotations

import re
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from playwright.sync_api import expect

import bertlens as bl
from bertlens.base import colors
from bertlens.measures import geometry, norms
from browser.views import PATIENCE, Seen, number, shown

CELL = {"layer": 1, "head": 8, "query": 3, "key": 4}


def shades(seen: Seen) -> list[str]:
    """The colour behind each token, as #rrggbb."""
    found: list[str] = (
        seen.part("running")
        .locator(".bl-word")
        .evaluate_all(
            "all => all.map(one => '#' + getComputedStyle(one).backgroundColor.match(/\\d+/g).slice(0, 3)"
            ".map(n => Number(n).toString(16).padStart(2, '0')).join(''))"
        )
    )
    return found


def coloured(row: np.ndarray) -> list[str]:
    """A row's colours, each on the row's own scale."""
    entries = np.floor(255 * row / row.max() + 0.5).astype(int)
    return ["#{:02x}{:02x}{:02x}".format(*rgb) for rgb in colors.table("weight", "light")[entries]]


def test_running_text_is_shaded_by_a_row_or_by_a_column(show, pair):
    seen = show(pair.explore(**CELL, mode="text"), width=1400)
    text = seen.part("running").locator(".bl-running")
    words = text.inner_text().split()
    assert " ".join(words[:6]) == "[CLS] the cat sat on the" and "\n" in text.inner_text().strip()  # a line a sentence
    weights = pair.attention(1)[8].numpy()
    assert shades(seen) == coloured(weights[3])
    first = pair.display_tokens[int(weights[3].argmax())]
    expect(seen.part("running-words")).to_have_text(f"“sat” looks most at “{first}”, {shown(weights[3].max())}.")
    seen.choice("shaded by", "who looks at it").click()
    assert shades(seen) == coloured(weights[:, 4])
    best = pair.display_tokens[int(weights[:, 4].argmax())]
    expect(seen.part("running-words")).to_have_text(
        f"“on” is looked at most by “{best}”, {shown(weights[:, 4].max())}."
    )

    seen.choice("shaded by", "what it looks at").click()
    token = seen.part("running").locator("[data-n]")
    token.nth(2).hover()
    assert shades(seen) == coloured(weights[2])
    token.nth(2).click()
    seen.away()
    assert shades(seen) == coloured(weights[2])
    token.nth(2).focus()
    seen.page.keyboard.press("ArrowRight")
    expect(token.nth(3)).to_be_focused()
    assert shades(seen) == coloured(weights[3])  # the keyboard shows what the pointer shows
    seen.page.keyboard.press("Enter")
    expect(token.nth(3)).to_have_attribute("aria-pressed", "true")
    seen.shows("Norm ‖αf(x)‖")
    seen.away()
    seen.root.get_by_role("button", name="More settings").focus()
    assert shades(seen) == coloured(norms.weighted_norm(pair, 1)[8, 3].numpy())


SVG = "{http://www.w3.org/2000/svg}"


def test_figure_for_a_paper_in_three_clicks_is_that_of_python(show, pair):
    """Node by node: cells, tokens, axis titles, the line before the second sentence, the ends of the legend."""
    pytest.importorskip("matplotlib").use("agg")
    seen = show(pair.explore(**CELL), width=1400)
    seen.root.get_by_text("Export", exact=True).click()  # one
    seen.choice("width", "85 mm").click()  # two
    line = seen.root.locator(".bl-menu-line", has_text="Head view")
    with seen.page.expect_download(timeout=PATIENCE) as download:
        line.get_by_role("button", name="SVG").click()  # three
    root = ElementTree.parse(download.value.path()).getroot()
    assert root.get("width") == "85mm"
    axes = bl.plots.attention_map(pair, 1, 8, gate="", width=85)
    same_map(root, axes, "L1·H8, attention")
    assert "model: all-MiniLM-L6-v2" in (root.findtext(f"{SVG}metadata") or "")


def same_map(root: ElementTree.Element, axes: Any, title: str) -> None:
    """A head view's file and the figure of Python, node by node."""
    chart = next(one for one in root.iter(f"{SVG}svg") if one.get("class") == "bl-chart")
    texts = ["".join(one.itertext()) for one in root.iter(f"{SVG}text")]
    rects = [one for one in chart.iter(f"{SVG}rect") if (one.get("fill") or "#000000") != "#000000"]
    side = float(rects[0].get("width", 0))
    left, top = (min(float(one.get(name, 0)) for one in rects) for name in "xy")
    painted = {
        (round((float(one.get("y", 0)) - top) / side), round((float(one.get("x", 0)) - left) / side)): one.get("fill")
        for one in rects
    }
    image = axes.images[0]
    colours = image.cmap(image.norm(image.get_array()), bytes=True)
    wanted = {at: "#{:02x}{:02x}{:02x}".format(*colours[at][:3]) for at in np.ndindex(*colours.shape[:2])}
    row = min(i for i, j in wanted if wanted[i, j] != "#ffffff")  # white cells are not drawn
    col = min(j for i, j in wanted if wanted[i, j] != "#ffffff")
    assert painted == {(i - row, j - col): one for (i, j), one in wanted.items() if one != "#ffffff"}
    sides = (axes.get_yticklabels(), axes.get_xticklabels())
    queries, keys = ([text.get_text() for text in labels] for labels in sides)
    count = 1 + len(queries) + len(keys)
    assert texts[0] == axes.get_title() == title
    assert texts[1:count] == queries + keys
    assert texts[count : count + 2] == [axes.get_ylabel(), axes.get_xlabel()] == ["query", "key"]
    assert [text.get_text() for text in axes.figure.axes[1].get_yticklabels()] == texts[count + 2 : count + 4]
    assert texts[count + 4].startswith(axes.figure.axes[1].get_ylabel()) and len(texts) == count + 5
    edges = [one for one in chart.iter(f"{SVG}g") if one.get("data-edges")]
    lines = [re.split("[ hvM]", one.get("d", "")) for group in edges for one in group]
    assert len(lines) == len(axes.lines)
    for (_, x, y, *_), line in zip(lines, axes.lines, strict=True):
        if line.get_ydata()[0] == line.get_ydata()[1]:  # the token that the line stands before
            assert float(y) == pytest.approx(top + (line.get_ydata()[0] + 0.5 - row) * side, abs=0.1)
        else:
            assert float(x) == pytest.approx(left + (line.get_xdata()[0] + 0.5 - col) * side, abs=0.1)
    axes.figure.clear()


SELECTIONS = [
    ({"units": "words", "hide_special": True, "renormalize": True}, "L1·H8, attention"),
    ({"units": "words", "pair_filter": "AB"}, "L1·H8, attention"),
    ({"measure": "difference", "hide_special": True}, "L1·H8, Δ"),
    ({"layer_map": "attnres-n", "hide_special": True, "renormalize": True}, "L1 AttnRes-N, ‖Σₕ αf(x) + δx‖"),
]


def file_of(seen: Seen) -> ElementTree.Element:
    return ElementTree.parse(seen.save("SVG", "Head view")).getroot()


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("chosen", "title"), SELECTIONS)
def test_a_figure_of_a_selection_is_that_of_python(show, embedded_lens, chosen, title):
    pytest.importorskip("matplotlib").use("agg")
    trace = embedded_lens.trace("The cat sat unbelievably long.", "The dog lay on the rug.")
    seen = show(trace.explore(**CELL, **chosen), width=1400)
    same_map(file_of(seen), bl.plots.attention_map(trace, 1, 8, gate="", width=85, **chosen), title)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("to", [False, True])
@pytest.mark.parametrize("chosen", [{}, {"units": "words", "hide_special": True, "measure": "difference"}])
def test_running_text_in_a_file_is_that_of_python(show, embedded_lens, to, chosen):
    """Word by word: text, shade, ink, frame, which begin a line; the title and the ends of the legend."""
    pytest.importorskip("matplotlib").use("agg")
    to_hex = pytest.importorskip("matplotlib.colors").to_hex
    trace = embedded_lens.trace("The cat sat unbelievably long, then left.", "The dog lay on the rug.")
    settings = {"text_side": "to" if to else "from"}
    seen = show(trace.explore(**CELL, **chosen, mode="text", settings=settings), width=1400)
    root = file_of(seen)
    chart = next(one for one in root.iter(f"{SVG}svg") if one.get("class") == "bl-chart")
    words = [one for one in chart.iter(f"{SVG}g") if one.find(f"{SVG}rect") is not None]
    parts = [(one[1].text, one[0].get("fill"), one[1].get("fill"), one[0].get("stroke")) for one in words]

    axes = bl.plots.running_text(trace, 1, 8, **({"key": 4} if to else {"query": 3}), **chosen)
    boxes, tokens = axes.patches, axes.texts[:-1]
    shades = [to_hex(box.get_facecolor()) for box in boxes]
    inks = [{"#000000": "#000", "#ffffff": "#fff"}[text.get_color()] for text in tokens]
    frames = [to_hex(box.get_edgecolor()) if box.get_edgecolor()[3] else "none" for box in boxes]
    texts = [text.get_text() for text in tokens]
    assert parts == list(zip(texts, shades, inks, frames, strict=True)) and len(parts) > 10
    assert sum(frame != "none" for frame in frames) == 1
    first = [one[1].text for one in words if (one.get("transform") or "").startswith("translate(0.0 ")]
    assert first == [text for text, box in zip(texts, boxes, strict=True) if box.get_x() == 0] and len(first) == 2
    said = ["".join(one.itertext()) for one in root.iter(f"{SVG}text")]
    of = "sat" if not to else "unbelievably" if chosen else "un"
    assert said[0] == axes.get_title(loc="left")
    assert said[0].endswith(f": who looks at “{of}”" if to else f": what “{of}” looks at")
    low, high, label = said[-3:]
    assert axes.texts[-1].get_text() == f"{low} to {high}: {label}"
    axes.figure.clear()


def test_tabs_take_their_keys_and_legends_along(show, pair):
    seen = show(pair.explore(**CELL, view="geometry"), width=1400)
    expect(seen.part("stream").locator("svg.bl-chart")).to_be_visible()
    expect(seen.region("Details").get_by_text("Spectra", exact=True)).to_be_visible()
    seen.root.get_by_text("Export", exact=True).click()
    seen.choice("width", "180 mm").click()
    seen.page.keyboard.press("Escape")
    root = ElementTree.parse(seen.save("SVG", "Open tab")).getroot()
    keys = ["".join(one.itertext()) for one in root.iter(f"{SVG}g") if one.get("data-key")]
    assert [key for key in keys if key.startswith("qkvcontextα")] and [key for key in keys if "their mean" in key]
    wide = float((root.get("viewBox") or "").split()[2])
    charts = [one for one in root.iter(f"{SVG}svg") if one.get("class") == "bl-chart"]
    assert len(charts) > 5 and all(float(one.get("width", 0)) <= wide for one in charts)


def test_the_stream_as_a_picture(show, pair):
    """Points, shares and neighbours are those of the measure; search, slider and clicks lead on."""
    seen = show(pair.explore(**CELL, view="geometry", settings={"tables": True}), width=1400)
    part = seen.part("stream")

    def check(station: int) -> None:
        where = "input of L0" if station == 0 else f"after L{station - 1}"
        table = part.get_by_role("table", name=f"The stream {where}")
        expect(table).to_be_visible()
        made = geometry.project(pair, station)
        x = (pair.layer_input(0) if station == 0 else pair.layer_output(station - 1)).double().numpy()
        unit = x / np.linalg.norm(x, axis=1, keepdims=True)
        cosine = unit @ unit.T - 2 * np.eye(21)
        lines = table.locator("tbody tr").evaluate_all("all => all.map(one => [...one.cells].map(c => c.innerText))")
        for n, (name, *point, nearest, value) in enumerate(lines):
            assert name == f"{pair.display_tokens[n]} ({n})"
            assert [number(one) for one in point] == pytest.approx(made.points[n].tolist(), abs=6e-4)
            assert int(re.findall(r"\((\d+)\)$", nearest)[0]) == cosine[n].argmax()
            assert number(value) == pytest.approx(cosine[n].max(), abs=6e-4)
        expect(part).to_contain_text(f"21 tokens {where}, the first two principal components: ")
        expect(part).to_contain_text(f"{100 * float(made.share.sum()):.0f} % of the variance")

    check(2)  # what the layer shown hands on
    slider = part.get_by_role("slider")
    slider.focus()
    seen.page.keyboard.press("Home")
    check(0)
    seen.check("as tables").uncheck()
    marked = part.locator("[data-token]").filter(has=seen.page.locator("text[font-weight='600']"))
    expect(marked).to_have_text(["sat, token 3sat", "on, token 4on"])
    part.get_by_label("Find a word in the picture").fill("the")
    expect(part.locator("output").last).to_have_text("4 of 21")
    listed = part.get_by_role("table", name="Nearest to “sat” by cosine")
    x = pair.layer_input(0).double().numpy()
    to_sat = np.delete(x @ x[3] / np.linalg.norm(x, axis=1) / np.linalg.norm(x[3]), 3)
    printed = [number(text) for text in listed.locator("tbody td:last-child").all_inner_texts()]
    assert printed == pytest.approx(np.sort(to_sat)[::-1][: len(printed)].tolist(), abs=6e-4) and len(printed) > 2
    near = listed.get_by_role("button").first
    token = re.sub(r"\d+$", "", near.inner_text())
    near.click()
    expect(part.get_by_role("table", name=f"Nearest to “{token}” by cosine")).to_be_visible()
    part.locator("[data-token='15'] path").click()
    expect(seen.part("row-list").locator("h4")).to_contain_text("lay")
