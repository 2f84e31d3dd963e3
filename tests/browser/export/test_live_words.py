"""A page that carries a language model: the answer at [MASK], and what becomes of it without a head."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

import bertlens as bl
from bertlens import whatif
from bertlens.export import weights
from browser.export.test_live import ALONE, run
from browser.views import Seen

MASKED = "The cat did not drink the [MASK] because it was sour."
TYPED = [
    "She put the [MASK] into the oven.",
    "The dog barks at the [MASK] in the night.",
    "Paris is the capital of [MASK].",
]
LAYER, HEAD = 5, 7  # without it the last answer is half as likely


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, bl.Lens]:
    """The page, and a lens on the weights that it has."""
    lens = bl.Lens.embedded(mlm=True)
    path = bl.classroom(lens, [MASKED]).to_html(tmp_path_factory.mktemp("words") / "words.html", progress=False)
    return path, bl.Lens(weights.rounded(lens.borrowed), lens.tokenizer)


def answered(seen: Seen, trace: bl.Trace) -> None:
    """The line above begins with the likeliest word of a trace and its probability."""
    answer, best = seen.part("answer"), trace.predictions(k=1).iloc[0]
    number = re.compile(rf"^answer\s*{re.escape(best['token'])}\s*(\d?\.\d+)")
    expect(answer).to_have_text(number)
    found = number.match(answer.text_content() or "")
    assert found and float(found[1]) == pytest.approx(best["probability"], abs=6e-4)


def typed(seen: Seen, lens: bl.Lens) -> None:
    """Three sentences, a head off, and the answer of each."""
    for text in TYPED:
        run(seen, text)
        expect(seen.root.locator(".bl-row-label", has_text=text.split()[0].lower()).first).to_be_attached()
        answered(seen, lens.trace(text))
    seen.thumb(LAYER, HEAD).click()
    expect(seen.part("head-title")).to_have_text(f"L{LAYER}·H{HEAD}")
    expect(seen.thumb(LAYER, HEAD)).to_be_focused()
    seen.page.keyboard.press("x")
    expect(seen.root.locator(".bl-changes .bl-change")).to_contain_text(f"L{LAYER}·H{HEAD} off")
    before = lens.trace(TYPED[-1])
    off = before.rerun(whatif.off(LAYER, HEAD))
    chances = [trace.predictions(k=1)["probability"][0] for trace in (before, off)]
    assert abs(chances[0] - chances[1]) > 0.2
    answered(seen, off)
    expect(seen.part("slopes")).to_contain_text(f"{chances[0]:.3f}")


def test_words_at_masks_from_a_file_without_a_network(live, page_of):
    path, lens = live
    page = page_of(path, width=1280)
    page.context.set_offline(True)
    expect(page.locator("#bertlens-says")).to_have_text(ALONE)
    answered(Seen(page), lens.trace(MASKED))
    typed(Seen(page), lens)


@pytest.mark.long
def test_words_at_masks_in_a_sandboxed_frame(live, page_of):
    path, lens = live
    page = page_of.framed([path.read_text(encoding="utf-8")], width=480, theme="dark")
    frame = page.frame_locator("iframe").nth(0)
    expect(frame.locator("#bertlens-says")).to_have_text(ALONE)
    typed(Seen(page, frame.locator(".bertlens")), lens)
