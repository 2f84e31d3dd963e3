"""Late interaction on the page: each token of the query with its best one of the passage, as the library has them."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import expect

import bertlens as bl
from browser.views import Seen, rows_of, signed
from unit.sentences.test_late_interaction import FIXED, D, Q, late

TASKS = ("query", "document")


@pytest.fixture(scope="module")
def model() -> Any:
    return late(expansion=FIXED)


@pytest.fixture(scope="module")
def found(model: Any) -> Any:
    return bl.similarity(bl.Lens(model), Q, D, TASKS)


def listed(seen: Seen) -> list[list[str]]:
    rows = seen.root.locator(".bl-late tbody tr")
    return rows.evaluate_all("all => all.map(one => [...one.cells].map(cell => cell.textContent))")  # type: ignore[no-any-return]


def test_what_is_printed_is_the_librarys(page_of: Any, model: Any, found: Any) -> None:
    """On a page without a kernel: the score, every match with its cosine, and what is summed."""
    seen = Seen(page_of(found.to_html(), width=950))
    query, passage = model.encode_query(Q), model.encode_document(D)
    score = float(model.similarity(query, passage))
    expect(seen.part("similar-value")).to_have_text(f"MaxSim {score:.2f}")
    best = (query @ passage.T).max(1)
    rows = listed(seen)
    assert len(rows) == len(query) == 16
    cosines = sorted(best.values.tolist(), reverse=True)
    assert [float(row[2].replace("−", "-")) for row in rows] == pytest.approx(cosines, abs=6e-4)
    assert sum(row[4] == "added by the model" for row in rows) == 6
    said = seen.part("similar-said")
    expect(said).to_contain_text(
        "For each of the query’s 16 tokens its best one of the passage; the sum of their cosines"
    )
    expect(said).to_contain_text(f"is the model’s own {score:.3f}")
    expect(said).to_contain_text("Not scored: of the passage “,” “.”.")
    table = found.matches()
    rings = seen.root.locator(".bl-late svg").last.locator("rect[rx], ellipse, circle")
    assert rings.count() >= len(table)
    assert seen.page.evaluate("() => document.documentElement.scrollWidth") <= 950
    assert seen.axe() == []


def test_keys_and_files(page_of: Any, found: Any) -> None:
    seen = Seen(page_of(found.to_html(), width=480, theme="dark"))
    assert seen.page.evaluate("() => document.documentElement.scrollWidth") <= 480
    products = found.products().to_numpy()
    seen.root.get_by_role("group", name="All pairs of tokens: arrow keys choose").focus()
    seen.page.keyboard.press("Home")
    pair = seen.part("late-pair")
    before = pair.inner_text()
    seen.page.keyboard.press("ArrowRight")
    expect(pair).not_to_have_text(before)
    expect(seen.said).not_to_have_text("")
    rows = rows_of(seen.save("CSV", "Open tab"))
    assert [float(row["product"]) for row in rows] == pytest.approx(products.flatten().tolist(), abs=1e-5)
    assert sum(float(row["part"]) for row in rows) == pytest.approx(found.value, abs=1e-3)
    assert sum(row["best"] == "1" for row in rows) == len(products)
    assert seen.save("SVG", "Open tab").read_text(encoding="utf-8").count("<path") >= len(products)


def test_other_texts_and_a_list_of_passages(show: Any, model: Any) -> None:
    lens = bl.Lens(model)
    ranking = bl.rank(lens, Q, [D, "it was warm", "the dog"])
    view = ranking.explore()
    seen = show(view, width=1000)
    second = ranking["passage"].iloc[1]
    seen.part("ranked").get_by_role("button", name=second, exact=True).click()
    expect(seen.part("similar-value")).to_have_text(f"MaxSim {ranking['score'].iloc[1]:.2f}")
    field = seen.root.get_by_role("textbox", name="Text b", exact=True)
    field.fill("the mat was warm")
    field.press("Enter")
    other = bl.similarity(lens, Q, "the mat was warm", TASKS)
    expect(seen.part("similar-value")).to_have_text(f"MaxSim {other.value:.2f}")
    first = other.matches().sort_values("part", ascending=False).iloc[0]
    assert listed(seen)[0][2] == signed(first["cosine"], 3)


def test_a_second_text_of_the_explorer_is_the_passage(show: Any, model: Any) -> None:
    lens = bl.Lens(model)
    seen = show(lens.trace(Q).explore(), width=1000)
    seen.root.locator(".bl-texts summary").click()
    seen.root.get_by_role("button", name="Add a second sentence").click()
    field = seen.root.get_by_label("Sentence B, optional")
    field.fill("the mat was warm")
    field.press("Enter")
    other = bl.similarity(lens, Q, "the mat was warm", TASKS)
    expect(seen.part("similar-value")).to_have_text(f"MaxSim {other.value:.2f}")
    expect(seen.tab("Similarity")).to_have_attribute("aria-selected", "true")
