"""A sparse encoder on the page: the words of both vectors, as the library has them."""

from __future__ import annotations

from typing import Any

from playwright.sync_api import expect

import bertlens as bl
from browser.views import Seen
from unit.tiny_encoders import sparse

A, B = "was the cat very warm", "the unbelievable cats sat on the mat"


def test_words_of_both_vectors_and_their_pair(page_of: Any) -> None:
    model = sparse()
    found = bl.similarity(bl.Lens(model), A, B)
    seen = Seen(page_of(found.to_html(), width=480, theme="dark"))
    a, b = (x.to_dense() for x in model.encode([A, B]))
    expect(seen.part("similar-value")).to_contain_text(f"dot product {float(a @ b):.1f}")
    table = seen.root.get_by_role("table").first
    parts = (a * b).sort(descending=True).values
    rows = table.locator("tbody tr")
    expect(rows.first.locator("td").first).to_have_text(f"{float(parts[0]):.3f}")
    assert rows.count() == min(60, int((parts > 0).sum()))
    last = found.words().iloc[min(60, rows.count()) - 1]
    rows.last.get_by_role("button").click()
    expect(rows.last).to_have_class("bl-pinned")
    said = seen.part("similar-said")
    expect(said).to_contain_text(found.said.split(":")[0])
    expect(said).to_contain_text("Split by the tokens that made the weights of words in either vector")
    assert last["word"] in rows.last.inner_text()
    assert seen.page.evaluate("() => document.documentElement.scrollWidth") <= 480
    assert seen.axe() == []
