"""The paper form of a lesson: pictures against the model's weights, what is withheld, what is on the last pages."""

from __future__ import annotations

import base64
import io
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import bertlens as bl
from bertlens import whatif
from bertlens.base import colors
from bertlens.lessons import paper
from bertlens.measures.thumbnails import thumbnails

step = bl.Lesson.step
TEXT = "The cat sat on the mat because it was tired."
ROW = {"text": TEXT, "layer": 1, "head": 8, "query": 8}
LESSON = bl.Lesson(
    "A <b>row</b>",
    [
        step("# One row\nRead **this**, not <script>boom()</script>.\n\n- `one`\n- *two*", ROW),
        step("Which word?", ROW, predict="key", after="It looks there."),
        step("How much?", ROW, predict="number", of="weight(it, was)"),
        step("Which head looks back?", {"text": TEXT}, predict="head", of="previous"),
        step("Find one that looks back.", {"text": TEXT}, check="previous > 0.5"),
        step("Off", {**ROW, "changes": [["off", 0, 2]]}),
        step("Why?", model="Because.", table=None),
    ],
)


@pytest.fixture(scope="module")
def page(embedded_lens: Any) -> str:
    return paper.page_of(LESSON, embedded_lens, True)


def pictures(section: str) -> list[np.ndarray]:
    """Of each picture its pixels (y, x, 3)."""
    found = re.findall(r'<img src="data:image/png;base64,([^"]+)"', section)
    return [np.array(Image.open(io.BytesIO(base64.b64decode(data))).convert("RGB")).astype(int) for data in found]


def cells(section: str, n: int) -> np.ndarray:
    """The colours (n, n, 3) in the middle of the cells of a section's first map, which ends at its lower right."""
    picture, cell, edge = pictures(section)[0], 16 * paper.ZOOM, 2 * paper.ZOOM
    middles = [slice(length - edge - n * cell + cell // 2, length - edge, cell) for length in picture.shape[:2]]
    return picture[middles[0], middles[1]]


def shades(section: str, n: int) -> list[list[int]]:
    """Of each cell of a map 255 less its red: the darker, the larger."""
    return (255 - cells(section, n)[..., 0]).tolist()


def of_table(shares: np.ndarray) -> np.ndarray:
    """Colours of numbers from 0 to 1, in the steps that a still picture has."""
    return colors.table("weight", "light").astype(int)[np.round(34 * shares).astype(int) * 255 // 34]


def test_pictures_are_the_weights_and_the_asked_row_is_white(page: str, embedded_lens: Any):
    sections = page.split("<section>")[1:]
    trace = embedded_lens.trace(TEXT)
    weights = trace.attention(1)[8]
    first, asked = (shades(section, trace.n_tokens) for section in sections[:2])
    assert (cells(sections[0], trace.n_tokens) == of_table((weights / weights.max()).numpy())).all()
    for i, row in enumerate(weights.tolist()):
        order = sorted(range(len(row)), key=row.__getitem__)
        drawn = [first[i][j] for j in order]
        assert drawn == sorted(drawn) and (first[i][order[-1]] > 60) == (row[order[-1]] > 0.2)
    assert asked[8] == [0] * trace.n_tokens and asked[:8] == first[:8] and asked[9:] == first[9:]
    assert pictures(sections[2]) == []  # a number: nothing; a head: all heads
    [heads] = pictures(sections[3])
    thumbs = thumbnails(trace, size=15)[0].numpy()
    n = thumbs.shape[-1]
    for layer, head in np.ndindex(6, 12):
        y, x = ((28 + 34 * place) * paper.ZOOM for place in (layer, head))
        at = ((np.arange(n) + 0.5) * 30 * paper.ZOOM / n).astype(int)
        assert (heads[y + at][:, x + at] == of_table(thumbs[layer, head] / 255)).all()
    off = trace.rerun(whatif.off(0, 2)).attention(1)[8]
    changed = shades(sections[5], trace.n_tokens)
    assert max(abs(off - weights).ravel()) > 0.1 and changed != first
    assert changed[8].index(max(changed[8])) == int(off[8].argmax())


def test_solutions_say_what_the_check_says_and_show_what_was_withheld(page: str, embedded_lens: Any):
    asked, solved = page.split('<div class="solutions">')
    trace = embedded_lens.trace(TEXT)
    weights = trace.attention(1)[8][8]
    for said in (f"was, {weights[9]:.2f}", f"{weights[9]:.2f}", "It looks there.", "Because.", "L0·H2"):
        assert said in solved
    assert "It looks there." not in asked and "Because." not in asked and f"was, {weights[9]:.2f}" not in asked
    assert max(shades(solved.split("<section>")[1], trace.n_tokens)[8]) > 60
    assert "Solutions" not in paper.page_of(LESSON, embedded_lens, False)
    assert asked.count('class="line"') == 1 + 1 + 1 + 1 + 1 + 5  # the name; three guesses, a head, something to write


def test_what_a_lesson_says_stays_text(page: str):
    assert (
        "<script" not in page and "&lt;script&gt;boom()" in page and "<title>A &lt;b&gt;row&lt;/b&gt;</title>" in page
    )
    assert "<b>this</b>" in page and '<li dir="auto"><code>one</code></li><li dir="auto"><em>two</em></li>' in page
    assert "Content-Security-Policy" in page and not re.search(r'(src|href)="(?!data:image/png)', page)


def test_a_lesson_without_a_lens_is_drawn_with_the_model_that_it_names(tmp_path: Path, embedded_lens: Any):
    lesson = bl.Lesson("One", [step("Look.", ROW)], model=embedded_lens.model_name)
    assert lesson.to_paper(tmp_path / "own.html").read_text() == paper.page_of(lesson, embedded_lens, True)
    with pytest.raises(bl.InputError, match=r"of another: give a lens on it, lesson.to_paper\(path, lens\)"):
        bl.Lesson("One", [step("Look.", ROW)], model="another").to_paper(tmp_path / "no.html")
    with pytest.raises(bl.InputError, match="no steps to print"):
        bl.Lesson("None").to_paper(tmp_path / "no.html")
    with pytest.raises(bl.InputError, match=r"cannot be drawn: .*tokens"):
        bl.Lesson("Long", [step("Look.", {"text": "word " * 2000})]).to_paper(tmp_path / "no.html", embedded_lens)
    with pytest.raises(bl.ExportError):
        lesson.to_paper(tmp_path / "no" / "folder" / "x.html", embedded_lens)
    assert not (tmp_path / "no.html").exists()


def test_a_long_text_is_drawn_from_its_first_words(embedded_lens: Any):
    lesson = bl.Lesson("Long", [step("Look.", {"text": "word " * 200, "layer": 1, "head": 8})])
    assert len(paper.page_of(lesson, embedded_lens, True)) < 400_000
