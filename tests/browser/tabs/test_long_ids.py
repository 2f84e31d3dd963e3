"""Ids without a blank, as URLs and hashes are: a search's pages break them and are no wider than their window."""

from __future__ import annotations

from typing import Any

import pytest

import bertlens as bl
from bertlens.search.search_page import page
from unit import tiny_encoders
from unit.tiny_encoders import words

LONG = "x" * 199
WIDER = """() => [...document.querySelectorAll("body *")]
    .filter((one) => one.getBoundingClientRect().left + one.scrollWidth > document.documentElement.clientWidth + 1)
    .map((one) => `${one.tagName}.${one.className}`)"""


@pytest.fixture(scope="module")
def search() -> bl.Retrieval:
    corpus = {f"{at % 10}{LONG}{at}": words(6 + at % 5, at) for at in range(20)}
    queries = {f"{at % 10}{LONG}q{at}": words(4, 100 + at) for at in range(30)}
    relevance = {query: [[*corpus][at % 20]] for at, query in enumerate(queries)}
    lens = bl.Lens(tiny_encoders.encoder(similarity_fn_name="cosine"))
    return bl.retrieval(lens, queries, corpus, relevance, progress=False)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("kind", ["tables", "view"])
def test_ids_of_200_letters_wrap(page_of: Any, search: bl.Retrieval, kind: str) -> None:
    text = page(search) if kind == "tables" else search.explore().to_html(contrasts=2, progress=False)
    opened = page_of(text, width=1200)
    opened.locator(".bl-case").wait_for()
    tabs = opened.get_by_role("tab")
    for tab in tabs.all() or [None]:
        if tab is not None:
            tab.click()
        for width in (1200, 938, 390):
            opened.set_viewport_size({"width": width, "height": 900})
            size = opened.evaluate("[document.documentElement.scrollWidth, document.documentElement.clientWidth]")
            name = tab and tab.inner_text()
            assert size[0] <= size[1], (name, width, size, opened.evaluate(WIDER)[:30])
    assert tabs.count() > 1
