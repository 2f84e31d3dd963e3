"""What kernel and page both say and count with stands once, in base/vocabulary; colours have their true names."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from bertlens.base import colors
from bertlens.base.references import REFERENCES
from bertlens.base.vocabulary import constants, phrases

ROOT = Path(__file__).resolve().parents[2]
PYTHON = [path for path in sorted((ROOT / "bertlens").rglob("*.py")) if path.parent.name != "vocabulary"]
PAGE = [path for path in sorted((ROOT / "js" / "src").rglob("*.ts*")) if path.parent.name != "generated"]
LONG = 4  # words in a row that are no chance
# tests/wire/vectors.json binds these, which no reader sees
OF_BYTES = {"malformed index: not a list", "malformed index: an entry without a name"}
# Hues in OKLab, degrees: those of sRGB's names, and slate, which is a quiet blue
COLOURS = {"red": 29, "orange": 58, "yellow": 105, "green": 140, "slate": 260, "purple": 310}
QUIET = 0.075  # chroma in OKLab up to which a colour is called grey, black, slate or brown: 0.3 is the brightest


def python_texts(path: Path) -> Iterator[str]:
    """The string literals of a module but for docstrings, without what is filled into them."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    docs = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs:
            yield from re.split(r"\{[^}]*\}", node.value)


def page_texts(path: Path) -> Iterator[str]:
    """The same of a file of the page, text between tags included."""
    text = re.sub(r"/\*.*?\*/|(?m:(?:^|\s)//[^\n]*$)", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    for found in re.finditer(r'"((?:[^"\\\n]|\\.)*)"|`((?:[^`\\]|\\.)*)`|>([^<>{}=;|]+)<', text):
        yield from re.split(r"\$\{[^}]*\}", next(part or "" for part in found.groups() if part is not None))


def sentences(texts: Iterator[str]) -> set[str]:
    plain = (" ".join(text.split()).strip(" .,:;!?()“”") for text in texts)
    return {text for text in plain if len(text.split()) >= LONG}


def test_no_sentence_stands_in_both_languages() -> None:
    kernel, page = (
        set.union(*(sentences(texts(path)) for path in paths))
        for texts, paths in ((python_texts, PYTHON), (page_texts, PAGE))
    )
    assert len(kernel) > 1000 and len(page) > 500  # both are read
    assert (kernel & page) - OF_BYTES - set(REFERENCES) == set(), "put it into bertlens/base/vocabulary/phrases.py"


def test_what_the_vocabulary_has_is_used_on_the_page() -> None:
    code = "\n".join(path.read_text(encoding="utf-8") for path in PAGE)
    named = [*((constants, name) for name in vars(constants)), *((phrases, name) for name in vars(phrases))]
    names = [name for _, name in named if name.isupper()]
    assert len(names) > 80 and [name for name in names if not re.search(rf"\b{name}\b", code)] == []


def oklch(rgb: Sequence[int] | np.ndarray) -> tuple[float, float, float]:
    """Lightness, chroma, and hue in degrees, in OKLab."""
    color = "#" + bytes(int(channel) for channel in rgb).hex()
    lightness, a, b = colors._to_oklab((color,))[0]  # the one conversion that there is
    return float(lightness), float(np.hypot(a, b)), float(np.degrees(np.arctan2(b, a))) % 360


@pytest.mark.parametrize("theme", colors.THEMES)
def test_colours_have_their_names(theme: str) -> None:
    def name(rgb: np.ndarray) -> str:
        return min(COLOURS, key=lambda one: abs((oklch(rgb)[2] - COLOURS[one] + 180) % 360 - 180))

    signed, weight = colors.table("signed", theme), colors.table("weight", theme)
    assert (name(signed[0]), name(signed[-1])) == (colors.NEGATIVE, colors.POSITIVE)
    assert oklch(signed[0])[1] < QUIET < oklch(signed[-1])[1]  # slate, and a red that stands out
    lightness, chroma, hue = oklch(colors.rgb(colors.NAN))
    assert 0.4 < lightness < 0.7 and 0.03 < chroma < QUIET and 10 < hue < 60 and colors.MISSING == "brown"
    if theme == "light":
        assert weight[0].tolist() == [255] * 3 and colors.ZERO == "white"
        assert weight[-1].max() < 60 and colors.LARGEST == "black"


def test_documents_and_notebooks_call_them_the_same() -> None:
    """A scale of other colours changes these words with it."""
    scale = re.compile(r"\b(red|orange|yellow|green|blue|purple|slate)\b", re.IGNORECASE)
    texts = [path.read_text(encoding="utf-8") for path in sorted((ROOT / "docs" / "views").glob("*.md"))]
    for path in sorted((ROOT / "bertlens").glob("plots/*.py")):
        texts += [ast.get_docstring(node) or "" for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
                  if isinstance(node, ast.FunctionDef | ast.Module)]  # fmt: skip
    for path in (
        ROOT / "notebooks" / f"{name}.ipynb" for name in ("02_how_heads_are_computed", "04_geometry_and_gates")
    ):
        texts += ["".join(cell["source"]) for cell in json.loads(path.read_text("utf-8"))["cells"]]
    named = [found[0].lower() for text in texts for found in scale.finditer(text)]
    assert len(named) > 5 and set(named) <= {colors.POSITIVE, colors.NEGATIVE}


def test_no_colour_of_a_scale_is_written_out() -> None:
    literal = re.compile(r"\b(red|slate|brown|orange|blue)\b", re.IGNORECASE)
    places = [
        f"{path.relative_to(ROOT)}: {text}"
        for texts, paths in ((python_texts, PYTHON), (page_texts, PAGE))
        for path in paths
        if path.name != "colors.py"
        for text in texts(path)
        if literal.search(text)
    ]
    assert places == [], "take its name from bertlens/base/colors.py"


def test_no_text_that_is_shipped_calls_anything_blue() -> None:
    """The scale of weights was blue, and so was whatever could be clicked."""
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "bertlens").rglob("*.jinja")]
    texts = {path: path.read_text(encoding="utf-8") for path in (*pages, *(ROOT / "bertlens" / "lessons").rglob("*.*"))
             if path.suffix != ".pyc" and path.name != "changes.md"}  # fmt: skip
    for path in (ROOT / "notebooks").glob("*.ipynb"):
        cells = json.loads(path.read_text("utf-8"))["cells"]
        texts[path] = "".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
    assert len(texts) > 60
    assert [path.name for path, text in texts.items() if re.search(r"\bblue\b", text, re.IGNORECASE)] == []
