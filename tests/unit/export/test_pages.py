"""The templates of all pages: whatever stands in a field is text, nothing is loaded, and there is one palette."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

import bertlens as bl
from bertlens.base import colors
from bertlens.export import pages
from bertlens.lessons import paper
from bertlens.lessons.results import collected
from bertlens.measures.attribution import occlusion
from bertlens.whatif import logit
from unit import tiny
from unit.conformance.planted import lens_of as encoder_of
from unit.export.test_export import hostile_widget
from unit.lessons.test_paper import LESSON
from unit.lessons.test_results import line
from unit.measures.test_attribution import words_lens
from unit.tasks.classifier import labelled, lens_of

TEMPLATES = sorted(pages.TEMPLATES.glob("*.jinja"))
MARKUP = """<img src=x onerror="window.__pwn=1"></script></style></title>' onclick='" onclick="{{ x }}<!-- & \u202e"""
# What is taken as it is: scripts, styles, JSON without "<", and markup that was rendered with the same templates.
OURS = {"css", "script", "rights", "data", "json", "answers", "place", "above", "below", "labelled"}
RULES = {"policy()", "policy(script, rights)", '"&#160;"'}
GROUNDS = {"paper()", "theme", "palettes[theme].bg", "palettes[theme].ink"}  # colours of our own, in a style
Calls = list[tuple[str, dict[str, Any]]]


class Elements(HTMLParser):
    """Tags with the names of their attributes, in their order; all text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, ...]] = []
        self.text = ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, *(name for name, _ in attrs)))
        self.text += " ".join(value or "" for _, value in attrs)

    def handle_data(self, data: str) -> None:
        self.text += data


def write_pages(folder: Path, embedded_lens: bl.Lens) -> None:
    """One page of each kind at least."""
    hostile_widget().to_html()
    small = bl.Lens(tiny.bert_with(embedded_lens.tokenizer), embedded_lens.tokenizer)
    bl.classroom(small, ["The cat sat."]).to_html(folder / "live.html", progress=False)
    texts = [("the cat sat on the mat, it was warm.", f"the mats, unbelievable cats {'it ' * n}") for n in range(9)]
    report = bl.report(bl.Lens(tiny.bert(), tiny.wordpiece()), texts, progress=False)
    report.to_html(against=json.loads(report.to_json()), progress=False)
    report._repr_html_()
    bl.report(lens_of(), [text for text, _ in labelled(40)], "sinks", labels=labelled(40), progress=False)
    examples = [*labelled(80, 3), ("the cat sat on it", 0), ("The cat sat, on it", 1)]
    task = bl.task(lens_of(4, 3), examples, progress=False)
    task._repr_html_(), task.metrics(), task._repr_html_()
    for live in (0, 1):
        task.to_html(folder / "task.html", heads=task.heads(3), errors=task.errors(5), live=live)
    done = [{"step": 1, "act": "predict", "guess": "was", "truth": "was", "right": True, "written": ""}]
    done += [{"step": 2, "act": "write", "written": "why"}, {"step": 3, "act": "find", "skipped": True}]
    (folder / "lines.txt").write_text("\n".join(line("A row", name, done) for name in ("Ada", "Ada", "")))
    collected([folder / "lines.txt"], folder / "class.csv")
    passages = {f"d{n}": f"the cat sat on the mat {'warm ' * n}" for n in range(30)}
    judged = {f"q{n}": {f"d{n}": 1} for n in range(24)}
    queries = dict.fromkeys(judged, "was it warm on the mat")
    search = bl.retrieval(small, queries, passages, judged, progress=False)
    search.to_html(folder / "search.html")
    other = bl.Lens(tiny.bert_with(embedded_lens.tokenizer), embedded_lens.tokenizer)
    towers = bl.retrieval(small, queries, passages, judged, query_lens=other, progress=False)
    towers.to_html(folder / "towers.html")  # which have no view: the tables alone
    paper.page_of(LESSON, embedded_lens, True)
    pair = ["the cat sat", "it was warm"]
    encoder = encoder_of("bert")
    moved = bl.parity(encoder, pair, 1.001 * encoder.encode(pair).numpy(), pairs=False)
    moved.to_html(folder / "p.html", live=0), moved.to_html(folder / "p.html", live=1)
    occlusion(words_lens().trace("the cat [MASK] on the mat"), logit("cat"))._repr_html_()


@pytest.fixture(scope="module")
def calls(tmp_path_factory: pytest.TempPathFactory, embedded_lens: bl.Lens) -> Calls:
    """Each template with the fields that it was rendered with."""
    calls: Calls = []
    render = pages.render

    def listening(template: str, **fields: Any) -> str:
        calls.append((template, fields))
        return render(template, **fields)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pages, "render", listening)
        write_pages(tmp_path_factory.mktemp("pages"), embedded_lens)
    return calls


def with_markup(field: Any) -> Any:
    """The same field with markup in place of every text."""
    if isinstance(field, dict):
        return {name: inner if name in OURS else with_markup(inner) for name, inner in field.items()}
    if isinstance(field, list | tuple):
        return [with_markup(inner) for inner in field]
    return MARKUP if isinstance(field, str) and field else field


def test_every_field_of_every_template_is_text(calls: Calls) -> None:
    assert {name for name, _ in calls} == {path.name for path in TEMPLATES} - {
        "page.jinja",
        "chart.jinja",
        "tables.jinja",
    }
    for name, fields in calls:
        json.dumps({field: value for field, value in fields.items() if field not in OURS})  # plain data
        expected, found = (Elements(pages.render(name, **with_it)) for with_it in (fields, with_markup(fields)))
        assert found.tags == expected.tags, name
        assert "window.__pwn" in found.text


def test_only_what_is_ours_is_taken_as_it_is() -> None:
    """And no text stands in a script, a style, or an attribute without quotes, where escaping is not enough."""
    for path in TEMPLATES:
        source = re.sub(r"(?s)\{#.*?#\}", "", path.read_text(encoding="utf-8"))
        taken = set(re.findall(r"([\w.]+(?:\([^()]*\))?|\"[^\"]*\")\s*\|\s*safe\b", source))
        assert source.count("safe") == len(re.findall(r"\|\s*safe\b", source)) and taken <= OURS | RULES, path.name
        assert not re.findall(r"\w=\{\{|autoescape|\son\w+=", source), path.name
        for inside in re.findall(r"(?s)<(?:script|style)[^>]*>(.*?)</", source):
            assert set(re.findall(r"\{\{\s*(.*?)\s*\}\}", inside)) <= {f"{name}|safe" for name in OURS} | GROUNDS


@pytest.mark.parametrize("script", ["", "const a = '</';\n", "ü"])
def test_the_policy_names_the_script_and_nothing_else(script: str) -> None:
    rules = dict(rule.split(" ", 1) for rule in pages.policy(script).split("; "))
    assert rules.pop("default-src") == rules.pop("base-uri") == rules.pop("form-action") == "'none'"
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert rules.pop("script-src", "") == (f"'sha256-{digest}'" if script else "")
    assert rules == {"style-src": "'unsafe-inline'", "img-src": "data: blob:"}
    assert "script-src 'sha256-" not in pages.policy() and pages.policy(script, " 'x'").count("'x'") == bool(script)


def test_colours_of_pages_are_those_of_the_view() -> None:
    sources = {path.name: path.read_text(encoding="utf-8") for path in pages.TEMPLATES.iterdir()}
    assert all(source.isascii() for name, source in sources.items() if name.endswith(".css"))
    for name, source in sources.items():
        named = set(re.findall(r"(?<!&)#(?:[0-9a-f]{6}|[0-9a-f]{3})\b", source)) - {"#ffffff", colors.NAN}
        assert named == set(), name
    palette = pages.render("palette.css")
    light, dark, paper = re.split(r"@media [^{]*\{", palette)
    for theme, part in (("light", light), ("dark", dark)):
        known = colors.INKS[theme] | colors.VERDICTS[theme]
        known |= {f"s{n}": colour for n, colour in enumerate(colors.CHARTS[theme])}
        assert dict(re.findall(r"--([\w-]+): (#\w{6});", part)) == known
    assert dict(re.findall(r"--([\w-]+): (#\w{6});", paper)) == colors.PRINT
    used = {name for source in sources.values() for name in re.findall(r"var\(--([\w-]+)\)", source)}
    assert used <= {*known, "s", "share", "serif", "edge"}


@pytest.mark.parametrize(
    ("value", "digits", "expected"),
    [
        (1.23456, 3, "1.235"),
        (-0.5, 2, "−0.50"),
        (None, 3, "–"),
        (float("nan"), 3, "–"),
        (float("inf"), 3, "–"),
        (7, 0, "7"),
    ],
)
def test_a_number_is_read_alike_on_every_page(value: float | None, digits: int, expected: str) -> None:
    assert pages.number(value, digits) == expected


def test_ends_of_an_interval_and_of_a_text() -> None:
    assert pages.interval(-0.5, 1, 2) == "−0.50 to 1.00" and pages.interval(0.5, float("nan")) == "–"
    assert pages.shortened("a\u202eb") == "a⟨U+202E⟩b" and pages.shortened("abcdef", 4) == "abc…"
    assert pages.shortened("abcd", 4) == "abcd" and pages.shortened("\u202e" * 9, 12) == "⟨U+202E⟩⟨U+…"
