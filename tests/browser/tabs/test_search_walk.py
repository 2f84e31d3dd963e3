"""The worst case of a collection, why, and what would turn it: none, one and two actions, and nothing is scrolled."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Locator, Page, expect

import bertlens as bl
from bertlens.search.score_difference import Contrast
from browser.tabs.test_search import best_of, listed, part
from unit.search import cranfield

PASSAGES = [
    "The machine requires supervision by a trained person. Do not leave the room while it is running.",
    "It runs on its own: nobody has to stand beside it, not even at night.",
    "Tickets that were bought online can be returned until the day before the concert.",
    "You get your money back if the concert is cancelled, even on the day itself.",
    "Without yeast, soda and sour milk make the loaf rise.",
]
RIGHT = {
    "The machine runs without supervision": 1,
    "Can I return a ticket on the day of the concert?": 3,
    "How do I bake bread without yeast?": 4,
}


def worst(lens: bl.Lens, questions: list[str], passages: list[str], right: list[set[int]]) -> tuple[int, int, int]:
    """Question, its best wrong and best right passage: of all, where the wrong one is furthest ahead; naive float64."""
    asked, kept = (np.asarray(lens.encode(texts, progress=False), dtype=np.float64) for texts in (questions, passages))
    asked, kept = (rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in (asked, kept))
    found = []
    for question, relevant in enumerate(right):
        scores = [float(asked[question] @ row) for row in kept]
        best = max(relevant, key=scores.__getitem__)
        other = max(set(range(len(passages))) - relevant, key=scores.__getitem__)
        found.append((scores[other] - scores[best], question, other, best))
    gap, *names = max(found)
    assert gap > 0
    return names[0], names[1], names[2]


def plain(sentence: str) -> str:
    return sentence.replace("“", "").replace("”", "")


class Counted:
    """A page on which every click and key is counted, and nothing may have moved."""

    def __init__(self, page: Page) -> None:
        self.page, self.actions = page, 0

    def click(self, what: Locator) -> None:
        expect(what).to_be_in_viewport(ratio=0.99)  # nothing is scrolled to come to it
        what.click()
        self.actions += 1

    def sees(self, what: Locator, actions: int) -> None:
        expect(what).to_be_in_viewport(ratio=0.99)
        assert self.actions <= actions
        assert self.page.evaluate("[scrollX, scrollY]") == [0, 0]


def walked(page: Page, contrast: Contrast, table: Any) -> None:
    """The worst case stands open; what its claim names can be taken out; the scores are those without the word."""
    hers = Counted(page)
    opened = listed(page).first
    expect(opened).to_have_attribute("aria-selected", "true")
    expect(opened).to_contain_text(re.compile("^\\s*" + re.escape(contrast.texts[0][:20])))
    hers.sees(opened, 0)
    claim = part(page, "claim").locator("p").first
    expect(claim).to_have_text(plain(contrast.said))
    hers.sees(claim, 1)
    hers.click(page.get_by_role("button", name="What if"))
    outcome = part(page, "outcome")
    expect(outcome).to_have_text(plain(table.attrs["said"]))
    hers.sees(outcome, 2)
    expect(part(page, "scores")).to_have_attribute("data-turned", str(bool(table["turned"].iloc[1])).lower())
    for n, name in enumerate(("wrong", "right")):
        score = part(page, "scores").locator(f"[data-score='{n}'] text").last
        expect(score).to_have_text(f"{table[name].iloc[1]:.3f}".replace("-", "−"))
        hers.sees(score, 2)


@pytest.mark.parametrize("width", [938, 1400])
def test_the_worst_case_why_and_what_would_turn_it(tab_of: Any, embedded_lens: bl.Lens, width: int) -> None:
    questions, right = list(RIGHT), [{at} for at in RIGHT.values()]
    relevance = {str(n): [str(at) for at in ats] for n, ats in enumerate(right)}
    asked, passages = ({str(n): text for n, text in enumerate(texts)} for texts in (questions, PASSAGES))
    r = bl.retrieval(embedded_lens, asked, passages, relevance, progress=False)
    question, wrong, best = worst(embedded_lens, questions, PASSAGES, right)
    contrast = r.contrast(str(question))
    assert contrast.texts == (questions[question], PASSAGES[wrong], PASSAGES[best])
    page = tab_of(str(r.explore().to_html(contrasts=1, progress=False)), width=width, height=900)
    walked(page, contrast, contrast.without(best_of(contrast), frequencies=r.frequencies))


@pytest.fixture(scope="module")
def of_cranfield(embedded_lens: bl.Lens, data: Path) -> tuple[str, Contrast, Any]:
    """Page, its worst case, and that case without the word that does most."""
    of = cranfield.collection(data)
    queries = dict(zip(of.query_ids, of.queries, strict=True))
    passages = dict(zip(of.passage_ids, of.passages, strict=True))
    r = bl.retrieval(embedded_lens, queries, passages, of.grades, progress=False)
    places = {name: at for at, name in enumerate(of.passage_ids)}
    every = [{places[name] for name, grade in of.grades.get(query, {}).items() if grade > 0} for query in of.query_ids]
    judged = [n for n, relevant in enumerate(every) if relevant]
    questions = [of.queries[n] for n in judged]
    question, wrong, best = worst(embedded_lens, questions, list(of.passages), [every[n] for n in judged])
    contrast = r.contrast(of.query_ids[judged[question]])
    assert contrast.texts == (questions[question], of.passages[wrong], of.passages[best])
    page = str(r.explore().to_html(contrasts=1, progress=False))
    return page, contrast, contrast.without(best_of(contrast), frequencies=r.frequencies)


@pytest.mark.long
@pytest.mark.data
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("width", [938, 1400])
def test_of_cranfield_too(tab_of: Any, of_cranfield: tuple[str, Contrast, Any], width: int) -> None:
    page, contrast, table = of_cranfield
    walked(tab_of(page, width=width, height=900), contrast, table)
