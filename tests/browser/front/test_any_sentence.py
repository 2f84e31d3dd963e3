"""Any sentence, of any kind of model, has an answer on its first screen: sixty texts of one word to sixty, in scripts
with and without blanks, with nothing but stop words or signs, and with a mask written in."""

from __future__ import annotations

import copy
import math
import re
from collections.abc import Callable
from typing import Any

import pytest
import torch
import transformers as tf
from playwright.sync_api import expect

import bertlens as bl
from bertlens import whatif
from browser.views import Seen

LITTLE_ODDS = 0.1  # as in js/src/front/loudness.tsx
WIDTH = 962  # px of the window: 938 of the view
LINE, FURTHER, DENSE = 700, 40, 780  # px of height: one line, each further one, small type
SENTENCES = [
    *("cat", "Why?", "I", "42", "No", "not", "?", "-", "!!!", "...", "😀", "[MASK]", "naïve café", "x\u0301 y\u0300"),
    *("The cat sat.", "Is it raining?", "3.14 is pi", "1 + 1 = 2", "$5.00 for 3 kg", "C++ vs. C#", "foo_bar(baz)[0]"),
    *("It's John's dog.", "“Yes,” she said, “of course.”", "I love 😀 pizza 🍕", "<b>bold</b> & co", "tab\tseparated"),
    *(
        "http://example.com/a?b=c",
        "THE CAT SAT ON THE MAT",
        "a a a a a a a a",
        "the of and to in",
        "to be or not to be",
    ),
    *(
        "قط شرب الحليب",
        "الطقس جميل اليوم في المدينة",
        "แมวดื่มนม",
        "我喜欢喝牛奶",
        "東京は日本の首都です。",
        "Ünïcödé straße",
    ),
    *("unbelievably antidisestablishmentarianism", "He is a doctor.", "She is a doctor.", "The old man the boats."),
    *("The [MASK] sat on the mat.", "[MASK] [MASK] [MASK]", "Paris is the capital of [MASK].", "No one knows."),
    *("  leading and trailing  ", "Line one.\nLine two.", "A man saw a man with a man."),
    *("The cat did [MASK] drink the milk because it was sour.", "Colorless green ideas sleep furiously."),
    *("The cat did not drink the milk because it was sour.", "Time flies like an arrow; fruit flies like a banana."),
    "The keys that the man forgot are on the table.",
    "My wife, who is a doctor, said that [MASK] was tired.",
    "Who said that the keys that were lost last year have been in the red box under the stairs all this time?",
    "The bank of the river was covered with grass, and the bank in the town was closed.",
    "She sold him the car that he wanted to buy from her brother last year.",
    "If you read this sentence to its end, you will have read a sentence that is rather long and says rather little.",
    " ".join(["word"] * 40),
    " ".join(["The cat sat on the mat."] * 10),
]


def on_top(kind: Any, encoder: Any) -> Any:
    """A head, drawn at random, on the embedded encoder."""
    config = copy.deepcopy(encoder.config)
    config.num_labels = 3
    torch.manual_seed(0)
    model = kind(config).eval()
    model.base_model.load_state_dict(encoder.state_dict(), strict=False)
    return model


@pytest.fixture(scope="module")
def lenses(language_model: bl.Lens, embedded_lens: bl.Lens) -> dict[str, bl.Lens]:
    def lens(kind: Any) -> bl.Lens:
        return bl.Lens(on_top(kind, embedded_lens.model), embedded_lens.tokenizer)

    return {
        "masked": language_model,
        "encoder": embedded_lens,
        "pair": embedded_lens,
        "classifier": lens(tf.BertForSequenceClassification),
        "tagger": lens(tf.BertForTokenClassification),
    }


def settled(seen: Seen) -> None:
    seen.page.wait_for_timeout(300)
    expect(seen.part("claim")).not_to_contain_text("…", timeout=60_000)
    expect(seen.root.get_by_text("looking for")).to_have_count(0, timeout=60_000)
    expect(seen.part("heads-to-come")).to_have_count(0, timeout=60_000)


def numbers(run: bl.Trace) -> dict[Any, float]:
    """Of an answer its rows; of a lone vector how far it turned."""
    return {(row.position, row.name): row.after for row in whatif.answers(run).rows}


def moves(view: Any) -> float:
    """How far silence or twice the loudness of the head shown moves a bar, at most."""
    before, head = numbers(view.trace), (view.layer, view.head)
    runs = [numbers(view.trace.rerun(whatif.scale(*head, factor))) for factor in (0.0, 0.5, 1.5, 2.0)]
    return max(abs(run[name] - before[name]) for run in runs for name in run.keys() & before.keys())


def odds_moved(view: Any) -> float:
    """The same for the log-odds of the surest answer, of which a probability near to 1 says little."""
    before, head = numbers(view.trace), (view.layer, view.head)
    surest = max(before, key=before.__getitem__)
    runs = [numbers(view.trace.rerun(whatif.scale(*head, factor))) for factor in (0.0, 0.5, 1.5, 2.0)]
    odds = [math.log(run[surest] / (1 - run[surest])) for run in [before, *runs]]
    return max(odds) - min(odds)


@pytest.mark.parametrize("text", SENTENCES)
@pytest.mark.parametrize(
    "kind",
    [
        pytest.param(kind, marks=pytest.mark.sampled(2, of=f"any sentence, {kind}"))
        for kind in ("masked", "encoder", "pair", "classifier", "tagger")
    ],
)
def test_there_is_an_answer_and_no_slider_that_moves_nothing(
    show: Callable[..., Seen], lenses: dict[str, bl.Lens], kind: str, text: str
) -> None:
    lens = lenses[kind]
    view = (lens.trace(text, "The dog lay on the rug.") if kind == "pair" else lens.trace(text)).explore()
    seen = show(view, folded=True, width=WIDTH, height=900)
    claim = seen.part("claim")
    expect(claim).not_to_be_empty()
    settled(seen)
    is_plain = kind == "masked" and "[MASK]" not in text
    if is_plain:
        expect(seen.part("cloze-claim")).not_to_be_empty()
    else:
        expect(seen.part("answer").locator(".bl-answer-row").first).to_be_visible()
    slider = seen.root.get_by_role("slider")
    if slider.count():
        least = 0.004 if kind == "encoder" else 0.015
        is_sure = moves(view) < least  # of a probability near to 1 the log-odds tell
        assert not is_sure or odds_moved(view) >= LITTLE_ODDS
        # what happens without it, or without any
        expect(claim).to_contain_text(re.compile("it, |without any of the" if is_sure else "it, "))
    lines = seen.root.locator(".bl-mirror").evaluate_all(
        "all => all.reduce((sum, one) => sum + Math.round("
        "one.getBoundingClientRect().height / Number.parseFloat(getComputedStyle(one).lineHeight)), 0)"
    )
    most = DENSE if seen.root.locator(".bl-dense").count() else LINE + FURTHER * (lines - 1)
    is_low = "([root, most]) => root.getBoundingClientRect().height <= most"  # once all that comes is here
    seen.page.wait_for_function(is_low, arg=[seen.root.element_handle(), most])
    assert seen.page.evaluate("document.documentElement.scrollWidth") <= WIDTH
