"""Words of a right-to-left text are isolated in every sentence, by the function that sets their quotation marks."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import bertlens as bl
from bertlens import whatif
from bertlens.base.quotes import isolate, quotation
from bertlens.errors import BertLensError
from bertlens.measures import sources
from bertlens.run.changes import Change
from bertlens.trace.provenance import visible
from bertlens.trace.trace import Trace
from bertlens.whatif import chips, targets
from bertlens.whatif.swept_numbers import swept_numbers
from bertlens.widgets.badges import badges

ROOT = Path(__file__).resolve().parents[3]
HEBREW, ARABIC = "הילד קרא 12 ספרים ביום אחד.", "قرأ الولد ١٢ كتابا في يوم واحد."


def loose(sentence: str) -> str:
    """What of a sentence turns its direction (Unicode's bidirectional classes) outside of all isolates."""
    depth, letters = 0, ""
    for letter in sentence:
        depth += (letter == "\u2068") - (letter == "\u2069")
        if depth == 0 and unicodedata.bidirectional(letter) in ("R", "AL", "AN"):
            letters += letter
    assert depth == 0
    return letters


@pytest.mark.parametrize("word", ["הילד", "קרא (3)", "كتابا", "١٢", "ܐܒ", "\U0001e900", "cat ילד"])
def test_a_word_is_isolated_once(word: str) -> None:
    assert quotation(word) == f"“\u2068{word}\u2069”"
    assert isolate(isolate(word)) == isolate(word) and loose(quotation(word)) == ""
    assert visible(quotation(word)) == quotation(word)


def test_all_letters_that_turn_are_isolated_and_no_others() -> None:
    for code in range(0x110000):
        kind = unicodedata.bidirectional(chr(code))
        if kind in ("R", "AL", "AN") and not 0x200F <= code <= 0x2069:  # marks without a picture are drawn as codes
            assert isolate(chr(code)) != chr(code), hex(code)
        elif kind == "L":
            assert isolate(chr(code)) == chr(code), hex(code)


def test_what_a_text_holds_of_such_characters_is_drawn_as_codes() -> None:
    assert visible("\u2068cat\u2069 \u2067אב\u2069 א\u2069ב") == "⟨U+2068⟩cat⟨U+2069⟩ ⟨U+2067⟩אב⟨U+2069⟩ א⟨U+2069⟩ב"


def said(trace: Trace, other: Trace, masked: Trace) -> Iterator[str]:
    changes: list[Change] = [
        whatif.hide(1),
        whatif.cut(0, 0, 1, 2),
        whatif.patch(1, 1, other),
        whatif.resample(0, 0, trace),
    ]
    for change in changes:
        yield chips.label(change, trace.display_tokens)
        yield str(change)
    split = sources.score(trace, 2, 0, 1, 2, against=3)
    yield split.what
    yield split.ask(0, 0, 1).what
    yield sources.logit(masked, masked.tokens.index("[MASK]"), "א").what
    for metric in (whatif.similarity(trace), whatif.logit("א"), whatif.difference("א", "ב"), whatif.probability("ב")):
        yield metric.name
    for number in swept_numbers(masked, "א").values():
        yield number.label
    comparison = bl.compare(trace, other)
    yield comparison.said
    yield from (row.words for row in comparison.most(3).itertuples())
    yield from refusals(lambda: targets.named_by(masked, "הילדים"), lambda: targets.target_of(masked, "הילדים"))
    yield from refusals(
        lambda: whatif.logit("הילדים").bind(masked)(masked.record.output), lambda: sources.logit(masked, 1, "הילדים")
    )


def refusals(*calls: Callable[[], object]) -> Iterator[str]:
    for call in calls:
        with pytest.raises(BertLensError) as caught:
            call()
        yield str(caught.value)


@pytest.mark.parametrize("text", [HEBREW, ARABIC])
def test_sentences_isolate_what_they_name(embedded_lens: bl.Lens, language_model: bl.Lens, text: str) -> None:
    trace, other = embedded_lens.trace(text), embedded_lens.trace(f"{text} {text}")
    masked = language_model.trace(f"[MASK] {text}")
    sentences = [*said(trace, other, masked), *(note["detail"] for note in badges(trace.report))]
    sentences += trace.report.lines() if trace.report else []
    assert [sentence for sentence in sentences if loose(sentence)] == []
    assert sum("\u2068" in sentence for sentence in sentences) > 8  # they name words of the text


def test_columns_and_files_hold_words_as_they_are(embedded_lens: bl.Lens, language_model: bl.Lens) -> None:
    trace = embedded_lens.trace(HEBREW)
    tables = [bl.compare(trace, trace).tokens, language_model.trace(f"[MASK] {HEBREW}").predictions()]
    assert "\u2068" not in "".join([*trace.display_tokens, *(table.to_csv() for table in tables)])


def test_quotation_marks_come_from_one_function() -> None:
    """In either language; names of gates are no words of a sentence."""
    kernel = {path: re.findall(r"“\{", path.read_text("utf-8")) for path in (ROOT / "bertlens").rglob("*.py")}
    page = {path: re.findall(r"“\$\{", path.read_text("utf-8")) for path in (ROOT / "js" / "src").rglob("*.ts*")}
    assert {path.name for path, marks in kernel.items() if marks} == {"quotes.py"}
    assert {path.name for path, marks in page.items() if marks} == {"quotes.ts", "headgates.tsx"}
