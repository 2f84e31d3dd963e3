"""The front page of the documentation, and what a newcomer finds from it: by its links, by its search."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser, Page, expect

from browser.documentation import SIZES
from browser.harness import watched
from browser.site_questions import SEARCHED
from browser.views import Seen

pytestmark = [pytest.mark.long, pytest.mark.timeout(900)]
pytest.importorskip("sphinx_book_theme", reason="the documentation's packages are not installed: make docs")


@pytest.mark.parametrize(("width", "theme"), SIZES)
def test_the_front_page_shows_a_film_and_then_the_model(site: Path, browser: Browser, width: int, theme: str):
    size = {"width": width, "height": 900}
    context, page, log = watched(browser, site.as_uri(), viewport=size, color_scheme=theme)
    page.goto((site / "index.html").as_uri())
    [figure] = page.locator("figure.bertlens").all()
    box = figure.locator("img").bounding_box()
    assert box is not None and box["y"] < 450
    page.wait_for_timeout(500)
    assert figure.locator("iframe").count() == 0
    if theme == "dark":
        figure.locator(".bertlens-open").focus()
        page.keyboard.press("Enter")
    else:
        page.mouse.move(width / 2, 300)
        page.mouse.wheel(0, 60)
    live = Seen(page, figure.frame_locator("iframe").locator(".bertlens"))
    field = live.root.get_by_label("Sentence A")
    expect(field).to_be_enabled(timeout=60_000)
    expect(figure.locator(".bertlens-still")).to_have_count(0)
    field.fill("A horse [MASK].")
    field.press("Enter")
    expect(live.root).to_contain_text("horse")
    context.close()
    assert log.outside == [] and log.errors == []


BLOCKS = ["h1", ".bd-article section > :is(p, h2, figure, form, div)", "figure.bertlens :is(img, iframe, figcaption)"]
LEFT = """names => [...document.querySelectorAll(names)]
    .filter((one) => one.checkVisibility())
    .map((one) => [one.outerHTML.slice(0, 80), one.getBoundingClientRect().left])"""
SCROLLS = """() => {
    const page = document.documentElement;
    return [page.scrollHeight - page.clientHeight, page.scrollWidth - page.clientWidth];
}"""


@pytest.mark.parametrize("width", [1400, 1120])
def test_the_model_takes_the_place_of_the_film_in_the_whole_width(site: Path, browser: Browser, width: int):
    """No bars at the sides, one left edge, and nothing scrolls in the frame, also with all heads unfolded."""
    context, page, log = watched(browser, site.as_uri(), viewport={"width": width, "height": 1000})
    page.goto((site / "index.html").as_uri())
    bars = page.locator(".bd-sidebar-primary, .bd-sidebar-secondary")
    assert not any(bar.is_visible() for bar in bars.all())
    figure = page.locator("figure.bertlens")
    film = figure.locator("img").bounding_box()
    assert film is not None and film["width"] >= 1_040
    edges = page.evaluate(LEFT, ", ".join(BLOCKS))
    assert len(edges) > 15 and {left for _, left in edges} == {film["x"]}, edges
    figure.locator(".bertlens-open").click()
    live = Seen(page, figure.frame_locator("iframe").locator(".bertlens"), folded=True)
    expect(figure.locator(".bertlens-still")).to_have_count(0, timeout=60_000)
    expect(live.part("strip").locator("[data-strip-head]").first).to_be_visible()
    page.wait_for_timeout(1_000)
    page.evaluate("scrollTo(0, 0)")
    frame = figure.locator("iframe").bounding_box()
    assert frame is not None and [frame[side] for side in ("x", "y", "width")] == [
        film[side] for side in ("x", "y", "width")
    ]
    assert abs(frame["height"] - film["height"]) <= 40
    [inside] = [one for one in page.frames if one != page.main_frame]
    assert inside.evaluate(SCROLLS) == [0, 0]
    live.unfold()
    expect(live.part("head-sentence")).to_be_visible()
    page.wait_for_timeout(1_000)
    assert inside.evaluate(SCROLLS) == [0, 0] and {left for _, left in page.evaluate(LEFT, ", ".join(BLOCKS))} == {
        film["x"]
    }
    context.close()
    assert log.outside == [] and log.errors == []


@pytest.mark.parametrize(("width", "rows"), [(1400, 1), (938, 2), (390, 4)])
def test_the_film_fills_its_box_and_the_doors_their_rows(site: Path, browser: Browser, width: int, rows: int):
    context, page, _ = watched(browser, site.as_uri(), viewport={"width": width, "height": 900})
    page.goto((site / "index.html").as_uri())
    film = page.locator("figure.bertlens img")
    inside = film.evaluate("film => film.naturalHeight / film.naturalWidth * film.clientWidth / film.clientHeight")
    assert 0.94 <= inside <= 1.06
    tops = page.locator(".door").evaluate_all("doors => doors.map((door) => door.getBoundingClientRect().top)")
    assert len(tops) == 4 and [tops.count(top) for top in sorted(set(tops))] == [4 // rows] * rows
    context.close()


def test_a_finger_loads_nothing_until_it_touches(site: Path, browser: Browser):
    context, page, _ = watched(
        browser, site.as_uri(), viewport={"width": 400, "height": 800}, has_touch=True, is_mobile=True
    )
    page.goto((site / "index.html").as_uri())
    page.evaluate("scrollTo(0, 80)")
    page.wait_for_timeout(500)
    assert page.locator("figure.bertlens iframe").count() == 0
    page.locator("figure.bertlens img").tap()
    expect(page.locator("figure.bertlens iframe")).to_have_count(1)
    context.close()


QUESTIONS = [  # of a student, a teacher, a practitioner, a researcher
    (["What is attention?"], "A row sums to 1"),
    (["Notebooks"], "much looked at, little passed on"),
    (["Notebooks", "01_tour"], "A page to hand out"),
    (["What a word means"], "The length of the vector that is really passed from a key to a query"),
    (["Which question, which view"], "look at cat from it"),
    (["Twenty pictures"], "The word before"),
    (["Ninety minutes, planned"], "Students break the claim with a sentence of their own"),
    (["Pages, tablets, paper"], "A tablet opens a local page without its scripts"),
    (["Ninety minutes, planned", "your own"], "Six are shipped"),
    (["Your own classifier in ten minutes"], "The guess rests on waiter"),
    (["Your own classifier in ten minutes", "Labelled data"], "Clopper and Pearson"),
    (["Your own model"], "bl.Lens(model, tokenizer)"),
    (["Why is the wrong passage first?"], "The question is read once, so its words can be compared"),
    (["Why is the wrong passage first?", "Rank a collection"], "half of the runs of five words"),
    (["Why is the wrong passage first?", "What to train on"], "may be a right answer"),
    (["Why are two texts similar?"], "number as a sum over pairs of words"),
    (["What went wrong"], "Google Colab"),
    (["How to cite"], "CITATION.cff"),
    (["Figures and numbers for a paper"], "plots.save("),
    (["Does it hold over a corpus?"], "mean_interval"),
    (["Embeddings differ from"], "A fault is named where all vectors fit"),
    (["gives nothing"], "attentions is an empty tuple"),
    (["BertViz does not work"], "What is different"),
    (["Which words drive my false positives?"], "large effects that the labels do not account for"),
    (["Why is the wrong passage ranked first?"], "exactly. So is the difference of two scores"),
    (["Would half the dimensions do?"], "An index costs memory for each number of a vector"),
    (["What did my fine-tuning change?"], "Two checkpoints, one text"),
    (["Attention in JupyterLab, offline"], "Nothing. Script, styles and fonts"),
    (["Explain attention to a class"], "Thirty students, one hour".lower()),
    (["Attention of ESM-2"], "antibod"),
    (["What does each layer do to the vectors"], "Lengths, directions, ranks"),
]


@pytest.mark.parametrize(("clicks", "words"), QUESTIONS, ids=lambda part: part[-1] if isinstance(part, list) else "")
def test_a_newcomer_has_it_in_two_clicks_from_the_front_page(
    site: Path, browser: Browser, clicks: list[str], words: str
):
    context, page, log = watched(browser, site.as_uri())
    page.goto((site / "index.html").as_uri())
    assert len(clicks) <= 2
    for name in clicks:
        page.locator("article").get_by_role("link", name=name).first.click()
    expect(page.locator("article")).to_contain_text(words)
    context.close()
    assert log.outside == [] and log.errors == []


NEEDLE = "[...document.querySelectorAll('#search-results ul.search > li > a')].map((one) => one.getAttribute('href'))"


def found(page: Page, site: Path, words: str) -> list[str]:
    """Pages of the site in the order of its search."""
    page.goto(f"{(site / 'search.html').as_uri()}?q={quote(words)}")
    expect(page.locator("#search-results")).to_contain_text(re.compile(r"found \d+ page|found one page|did not match"))
    return [address.partition(".html")[0] for address in page.evaluate(NEEDLE)]


def test_the_front_page_has_the_search(site: Path, browser: Browser):
    context, page, log = watched(browser, site.as_uri())
    page.goto((site / "index.html").as_uri())
    field = page.get_by_role("searchbox", name="Search")
    field.fill("false positives")
    field.press("Enter")
    expect(page.locator("#search-results a").first).to_contain_text("false positives")
    context.close()
    assert log.outside == [] and log.errors == []


def test_a_question_in_other_words_is_answered_in_two_tries(site: Path, browser: Browser):
    """Among the first three pages. No question is a title, and a word that is nowhere finds nothing."""
    context, page, log = watched(browser, site.as_uri())
    tried = {name: [found(page, site, words)[:3] for words in tries] for name, *tries in SEARCHED}
    assert len(tried) == 10
    assert {name: pages for name, pages in tried.items() if not any(name in first for first in pages)} == {}
    once = sum(name in pages[0] for name, pages in tried.items())
    print(f"{once} of {len(tried)} at the first try")
    assert once >= 6 and found(page, site, "qwertzuiop") == []
    context.close()
    assert log.outside == [] and log.errors == []
