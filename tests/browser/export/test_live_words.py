"""A page that carries a language model: the answer at [MASK], and what becomes of it without a head."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from html import escape
from pathlib import Path

import pytest
from playwright.sync_api import expect

import bertlens as bl
from bertlens import whatif
from browser.export.test_live import ALONE, run
from browser.views import Seen
from unit.export import engine

pytestmark = pytest.mark.sampled(10, of="live pages")

ROOT = Path(__file__).resolve().parents[3]
MASKED = "The cat did not drink the [MASK] because it was sour."
TYPED = [
    "She put the [MASK] into the oven.",
    "The dog barks at the [MASK] in the night.",
    "Paris is the capital of [MASK].",
]
CLOSE = 1e-5  # of the page's numbers to those of its own weights
LAYER, HEAD = 5, 7  # without it the last answer is half as likely


@pytest.fixture(scope="module")
def live(language_model: bl.Lens, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, bl.Lens]:
    """The page, and a lens on the weights that it has."""
    lens = language_model
    path = bl.classroom(lens, [MASKED]).to_html(tmp_path_factory.mktemp("words") / "words.html", progress=False)
    return path, bl.Lens(engine.rounded(lens.borrowed), lens.tokenizer)


def answered(seen: Seen, trace: bl.Trace) -> None:
    """The likeliest word has its bar; the number that it is of begins its title. The model's own first is the first."""
    best = trace.predictions(k=1)
    bar = seen.answer_bar(best["token"][0])
    expect(bar).to_be_visible()
    number = float((bar.get_attribute("title") or "").split()[0])
    assert number == pytest.approx(best["probability"][0], abs=5e-5 + CLOSE)  # four decimals
    first = trace.original.predictions(k=1)["token"][0]
    expect(seen.part("answer").locator(".bl-answer-row").first).to_have_accessible_name(re.compile(f"^{first}, "))


def check(line: str, trace: bl.Trace) -> None:
    """The bars as text have the likeliest word with its probability, in two decimals."""
    best = trace.predictions(k=1)
    found = re.search(rf"{re.escape(best['token'][0])}\s*(\d\.\d+)", line)
    assert found and float(found[1]) == pytest.approx(best["probability"][0], abs=5e-3 + CLOSE)


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


@pytest.mark.long
@pytest.mark.parametrize(("width", "theme", "framed"), [(1280, "light", False), (480, "dark", True)])
def test_in_firefox(live, tmp_path, width, theme, framed):
    firefox, node = shutil.which("firefox-esr"), shutil.which("node", path=f"{ROOT}/.venv/bin:{os.environ['PATH']}")
    if firefox is None or node is None or not (ROOT / "js" / "node_modules" / "puppeteer-core").is_dir():
        pytest.skip("Firefox is not tested: it takes Debian's firefox-esr, node and puppeteer-core (npm ci in js/)")
    path, lens = live
    if framed:
        frame = f'<iframe sandbox="allow-scripts" srcdoc="{escape(path.read_text(encoding="utf-8"))}" '
        path = tmp_path / "frame.html"
        path.write_text(
            f'<!doctype html><meta charset="utf-8">{frame}style="width:100%;height:850px"></iframe>', encoding="utf-8"
        )
    plan = {"texts": TYPED, "layer": LAYER, "head": HEAD, "token": 3, "width": width, "theme": theme, "framed": framed}
    command = [node, str(ROOT / "js" / "tests" / "firefox.mjs"), firefox, path.as_uri(), json.dumps(plan)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=400)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["errors"] == [] and found["says"] == ALONE and found["isDark"] == theme
    for text, line in zip(TYPED, found["answers"], strict=True):
        check(line, lens.trace(text))
    trace = lens.trace(TYPED[-1])
    row = trace.attention(LAYER)[HEAD, 3].sort(descending=True).values
    numbers = [float(number) for number in found["list"]]
    assert len(numbers) > 3 and numbers == pytest.approx(row[: len(numbers)].tolist(), abs=6e-4)
    assert f"L{LAYER}·H{HEAD} off" in found["change"]
    check(found["after"], trace.rerun(whatif.off(LAYER, HEAD)))
    assert f"{trace.predictions(k=1)['probability'][0]:.3f}" in found["slopes"]
