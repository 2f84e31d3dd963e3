"""A search engine in one page, in Chromium: from a file without a network, in a sandboxed frame, beside its weights."""

from __future__ import annotations

import re
from functools import cache
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from playwright.sync_api import Browser, FrameLocator, Page, expect

import bertlens as bl
from bertlens.search.contrast import contrast as contrast_of
from bertlens.search.view import collection_answers
from browser.views import AXE, FINDINGS
from unit import tiny_encoders
from unit.tiny_encoders import words

pytestmark = pytest.mark.sampled(10, of="live pages")

CORPUS = {f"p{at}": words(6 + at % 5, at) for at in range(60)}
QUERIES = {f"q{at}": words(4, 100 + at) for at in range(12)}
RELEVANCE = {f"q{at}": [f"p{at}"] for at in range(12)}
ALONE = "What you type is run in this page, and stays on it."
TYPED = "the cat sat warm"
LONG = words(60, 9)


@cache
def search() -> bl.Retrieval:
    lens = bl.Lens(tiny_encoders.encoder(similarity_fn_name="cosine"))
    return bl.retrieval(lens, QUERIES, CORPUS, RELEVANCE, progress=False)


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path: Path = tmp_path_factory.mktemp("search") / "search.html"
    search().explore().to_html(path, live=True, contrasts=1, progress=False)
    return path


def ranked(text: str) -> list[tuple[str, float]]:
    lists = collection_answers.typed(search(), text)
    names = [search().collection.passage_ids[row] for row in lists.passages(0)]
    return list(zip(names, lists.scores[0].tolist(), strict=True))


def draw(view: Page | FrameLocator) -> None:
    """Open the list of questions, a drawer where there is little room."""
    drawer = view.locator(".bl-cases-drawer")
    if drawer.is_visible() and drawer.get_attribute("aria-expanded") != "true":
        drawer.click()


def rank(view: Page | FrameLocator, text: str) -> None:
    box = view.get_by_label("A question of your own")
    expect(box).to_be_enabled(timeout=30_000)
    draw(view)
    box.fill(text)
    box.press("Enter")


def shows(view: Page | FrameLocator, text: str) -> None:
    """The first ten are Python's: no two of them are nearer than the rounding."""
    expect(view.get_by_test_id("cases").get_by_role("heading")).to_contain_text("Back to the questions")
    draw(view)
    rows = view.get_by_role("listbox", name="Passages").get_by_role("option")
    for n, (name, score) in enumerate(ranked(text)[:10]):
        expect(rows.nth(n).locator("small")).to_have_text(re.compile(rf"^\s*{name}\b"))
        written = rows.nth(n).locator(".bl-number").inner_text()
        assert float(written.replace("−", "-")) == pytest.approx(score, abs=1.1e-3)


def test_a_typed_question_is_ranked_and_contrasted_without_a_network(saved: Path, page_of: Any) -> None:
    page = page_of(saved, width=1280)
    page.context.set_offline(True)
    expect(page.locator("#bertlens-says")).to_have_text(ALONE)
    rank(page, TYPED)
    shows(page, TYPED)
    first, second = (name for name, _ in ranked(TYPED)[:2])
    contrast = contrast_of(search().lens, TYPED, CORPUS[first], CORPUS[second])
    scores = page.get_by_test_id("scores")
    for n, score in enumerate(contrast.scores):
        expect(scores.locator(f"[data-score='{n}'] text").last).to_have_text(f"{score:.3f}".replace("-", "−"))
    word = page.locator(".bl-wrong [data-row]").first
    name = word.text_content() or ""
    for how in ("hidden", "deleted"):
        if how == "hidden":
            word.click()
        else:
            page.get_by_role("button", name=how, exact=True).click()
        after = contrast.without(name, how=how)["wrong"].iloc[1]
        expect(scores.locator("[data-score='0'] text").last).to_have_text(f"{after:.3f}".replace("-", "−"))
        expect(page.get_by_test_id("outcome")).to_contain_text(f"With {name} {how} in the one passage the order")
    expect(page.get_by_test_id("strip-word").get_by_role("button").first).to_be_visible()
    sides = page.get_by_test_id("strip-word").locator(".bl-strip-row > .bl-muted").all_inner_texts()
    assert {*sides} <= {"question", "one", "the other"}  # nobody has judged what is typed
    expect(page.get_by_text("And in all")).to_have_count(0)  # it is none of them
    expect(page.get_by_test_id("strip-head")).to_contain_text("Heads are told apart and switched off in Python")
    rows = page.get_by_role("listbox", name="Passages").get_by_role("option")
    rows.nth(4).click()  # any two of them
    expect(page.get_by_label("Which one passage")).to_have_value(ranked(TYPED)[4][0])
    expect(page.get_by_label("Which another one")).to_have_value(second)
    page.get_by_role("listbox", name="Passages").press("ArrowDown")
    expect(page.get_by_label("Which one passage")).to_have_value(ranked(TYPED)[5][0])
    rows.nth(1).click()  # the other one changes its side
    expect(page.get_by_label("Which another one")).to_have_value(ranked(TYPED)[5][0])
    page.evaluate(AXE.read_text(encoding="utf-8"))
    assert page.evaluate(FINDINGS) == []
    page.get_by_role("button", name="Back to the questions").click()
    expect(page.get_by_role("listbox", name="Questions")).to_be_visible()


def test_what_is_long_is_cut_what_is_empty_is_none_and_other_questions_have_their_cases(
    saved: Path, page_of: Any
) -> None:
    page = page_of(saved, width=480)
    rank(page, "  ")
    expect(page.get_by_role("listbox", name="Questions")).to_be_visible()
    rank(page, LONG)
    shows(page, LONG)
    expect(page.get_by_test_id("cases")).to_contain_text("The question is cut to 40 tokens.")
    rank(page, "cat")
    shows(page, "cat")
    drawer = page.locator(".bl-cases-drawer")
    expect(drawer).to_have_text(re.compile("^Passages: "))
    page.get_by_role("listbox", name="Passages").get_by_role("option").nth(2).click()
    expect(drawer).to_have_text(re.compile("^Passages: 3 of .* ▾$"))
    expect(page.get_by_role("listbox")).to_be_hidden()  # folded away, what is open stands below
    page.get_by_role("button", name="Back to the questions").click()
    expect(page.get_by_role("listbox", name="Questions")).to_be_focused()  # drawn, for that is what was asked for
    page.get_by_label("Which questions").select_option("all")
    row = page.get_by_role("listbox", name="Questions").get_by_role("option").nth(3)
    title = row.get_attribute("title")
    row.click()
    query = next(name for name, text in QUERIES.items() if text == title)
    rows = [name for name in search().ranking(query, 60)["passage"] if name not in RELEVANCE[query]]
    expect(page.get_by_label("Which wrong passage")).to_have_value(rows[0])
    page.get_by_role("tab", name="All failures").click()
    page.get_by_role("button", name="Take it out of all").click()
    expect(page.get_by_test_id("work-turns").get_by_role("alert")).to_contain_text("work of minutes in Python")


def test_in_a_sandboxed_frame(saved: Path, page_of: Any) -> None:
    page = page_of.framed([saved.read_text(encoding="ascii")], width=480)
    frame = page.frame_locator("iframe").nth(0)
    rank(frame, TYPED)
    shows(frame, TYPED)


def test_beside_its_weights_it_needs_a_server(tmp_path: Path, browser: Browser, page_of: Any) -> None:
    index = search().explore().to_html(tmp_path / "site", live=True, hosted=True, contrasts=0, progress=False)
    assert index == tmp_path / "site" / "index.html"

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_: Any) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), lambda *args: Quiet(*args, directory=str(tmp_path / "site")))
    Thread(target=server.serve_forever, daemon=True).start()
    page = browser.new_page()
    page.goto(f"http://127.0.0.1:{server.server_port}/index.html")
    rank(page, TYPED)
    shows(page, TYPED)
    page.close()
    server.shutdown()
    page = page_of(Path(index), width=950)
    expect(page.locator("#bertlens-says")).to_contain_text("needs a web server: here, opened from a file, the page")
    expect(page.get_by_label("A question of your own")).to_be_disabled()


def test_a_page_without_the_model_has_no_box(tab_of: Any) -> None:
    page = tab_of(str(search().explore().to_html(contrasts=1, progress=False)), width=950)
    expect(page.get_by_role("listbox", name="Questions")).to_be_visible()
    expect(page.get_by_label("A question of your own")).to_have_count(0)
