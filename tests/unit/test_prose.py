"""What people read is in plain words and one spelling: documents, notebooks, docstrings, and the words of the page."""

from __future__ import annotations

import ast
import json
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# Words that only those who wrote bertlens would understand so, and what is said in their place.
PRIVATE = {
    r"held(?![- ]out)": "kept",
    r"recedes?|receding": "fades",
    r"(?:drawn )?by lot": "at random",
    r"pin out|tak(?:e|es|ing) the pin": "unpin",
    r"over each other": "at once",
    r"what it did not": "what if",
    r"the above": "say what",
}
# British, as most of the tree is written. A tokenizer keeps the name that transformers gave it.
AMERICAN = (
    r"colou?rized?|colors?|colored|coloring|centers?|centered|grays?|neighbors?|neighboring|behaviors?|labeled|labeling|modeling|favors?"
    r"|favorite|canceled|canceling|traveled|catalogs?|fulfills?|artifacts?|judgment|tokeniz(?!er)\w+"
    r"|(?:normal|anal|organ|recogn|summar|optim|visual|general|initial|minim|maxim|linear|random|local|real|standard|util)[iy]z(?:e|es|ed|ing|ation|ations)"
)
CODE = re.compile(
    r"^(?P<fence>```+|~~~+).*?^(?P=fence)|`[^`]*`|<[^<>\n]+>|\]\([^)\s]*\)|https?://\S+", re.DOTALL | re.MULTILINE
)
STRING = re.compile(r'"((?:[^"\\\n]|\\.)* (?:[^"\\\n]|\\.)*)"|`([^`\n]* [^`\n]*)`|>([^<>{}=;()?]* [^<>{}=;()?]*)<')
# Names of CSS, of matplotlib, of classes, arguments and files, and titles of papers
NOT_PROSE = re.compile(
    r"[\w-]*[-:/]\s?(?:center|color)\b|\bcolors?(?:-|:|\.py)|center left|\bNormalize\b|\bnormalized?(?:=|:)"
    r"|Analyzing (?:Transformers|and Inter)|Residual\s+and\s+Normalization|Multiscale Visualization"
)


def without_code(text: str) -> str:
    return CODE.sub("", text)


def markdown() -> dict[str, str]:
    pages = [*ROOT.glob("*.md"), *(page for page in (ROOT / "docs").rglob("*.md") if "_build" not in page.parts)]
    return {str(page.relative_to(ROOT)): without_code(page.read_text(encoding="utf-8")) for page in pages}


def notebooks() -> dict[str, str]:
    found = {}
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        said = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown"]
        found[str(path.relative_to(ROOT))] = without_code("\n\n".join(said))
    return found


def python(docstrings: bool) -> dict[str, str]:
    """Docstrings, or the other strings with a space in them: sentences of errors, labels, cards."""
    found = {}
    for path in sorted([*(ROOT / "bertlens").rglob("*.py"), *(ROOT / "notebooks" / "studies").glob("*.py")]):
        nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
        alone = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
        parts = [node.value for node in nodes if isinstance(node, ast.Constant) and (id(node) in alone) == docstrings]
        said = [part for part in parts if isinstance(part, str) and " " in part]
        found[str(path.relative_to(ROOT))] = without_code("\n\n".join(said))
    return found


def page() -> dict[str, str]:
    """Strings with a space in them, and text of elements."""
    found = {}
    for path in sorted((ROOT / "js" / "src").rglob("*.ts*")):
        text = re.sub(r"(?m)(?:^|\s)//[^\n]*$|/\*(?s:.*?)\*/", "", path.read_text(encoding="utf-8"))
        said = ["".join(parts) for parts in STRING.findall(text)]
        found[str(path.relative_to(ROOT))] = re.sub(r"\$\{[^}]*\}", "", "\n".join(said))
    return found


def templates() -> dict[str, str]:
    """Text of elements, and strings with a space in them."""
    found = {}
    for path in sorted((ROOT / "bertlens" / "export" / "templates").glob("*.jinja")):
        text = re.sub(r"(?s)<style>.*?</style>|</?\w[^>]*>|\{#.*?#\}", "", path.read_text(encoding="utf-8"))
        found[str(path.relative_to(ROOT))] = text
    return found


@cache
def everything() -> dict[str, str]:
    """What a reader or user sees without opening the source."""
    return {**markdown(), **notebooks(), **python(docstrings=False), **templates(), **page()}


def hits(pattern: str, texts: dict[str, str]) -> list[str]:
    word = re.compile(rf"\b(?:{pattern})\b", re.IGNORECASE)
    return [
        f"{path}: … {text[max(0, at.start() - 40) : at.end() + 30]} …".replace("\n", " ")
        for path, text in texts.items()
        for at in word.finditer(text)
    ]


@pytest.mark.parametrize("pattern", PRIVATE)
def test_no_private_words(pattern: str):
    assert hits(pattern, everything()) == [], f"say instead: {PRIVATE[pattern]}"


def test_one_spelling():
    docstrings = {f"{path} (docstrings)": text for path, text in python(docstrings=True).items()}
    texts = {path: NOT_PROSE.sub("", text) for path, text in {**everything(), **docstrings}.items()}
    assert hits(AMERICAN, texts) == []


def test_what_is_read_is_read():
    """The texts above are not empty, and a word of each kind is found."""
    texts = everything()
    for path, word in (
        ("README.md", "attention head"),
        ("docs/glossary.md", "chance level"),
        ("notebooks/01_tour.ipynb", "head"),
        ("bertlens/measures/statistics.py", "Share of"),
        ("bertlens/base/vocabulary/phrases.py", "special tokens"),
        ("bertlens/export/templates/report.jinja", "what was learnt: of a random model"),
        ("js/src/frame/walk.tsx", "Click one to see it large."),
    ):
        assert word in texts[path], path
    assert "import bertlens" not in texts["README.md"] and len(texts) > 300
    said = "a gray color is normalized by a tokenizer"
    assert [len(hits(AMERICAN, {"x": part})) for part in (said, "a grey colour, normalised")] == [3, 0]
