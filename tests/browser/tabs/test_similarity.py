"""Why two texts are similar: what is printed is Python's, one selection moves all, an experiment beside each pair."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Locator, expect

import bertlens as bl
from browser.views import Seen, rows_of, signed
from unit.tiny_encoders import TEXTS, encoder

A, B, C = "A man is eating food.", "Nobody eats a meal here.", "A man eats unbelievably small meals."


@pytest.fixture(scope="module")
def found(embedded_lens: Any) -> bl.Similarity:
    return bl.similarity(embedded_lens, A, B)


def pairs(seen: Seen) -> list[list[str]]:
    """The list: names, part, and three changes; then the others and the template."""
    rows = seen.root.locator(".bl-similar-pairs tbody tr")
    return rows.evaluate_all("all => all.map(one => [...one.cells].map(cell => cell.textContent))")  # type: ignore[no-any-return]


def pinned(seen: Seen) -> Locator:
    return seen.root.locator(".bl-similar-pairs tr.bl-pinned th")


def fields(seen: Seen) -> list[Locator]:
    return [seen.root.get_by_role("textbox", name=f"Text {n}", exact=True) for n in "ab"]


def printed(value: float) -> str:
    return signed(value, 3).replace("−0.000", "0.000")


def check_list(seen: Seen, s: bl.Similarity) -> None:
    """Every number of it, against the table of all experiments."""
    expect(seen.root.locator(".bl-similar-pairs td").filter(has_text="…")).to_have_count(0)
    table = s.effects(1000)
    *rows, others, template = pairs(seen)
    assert len(rows) == 6
    for row, wanted in zip(rows, table.itertuples(), strict=False):
        assert row[0] == f"{wanted.a} – {wanted.b}" and row[1] == printed(wanted.part)
        changes = (wanted.without_a - s.value, wanted.without_b - s.value, wanted.without_both - s.value)
        for text, change in zip(row[2:], changes, strict=True):
            assert abs(float(text.replace("−", "-")) - change) < 0.00051
    assert others == [f"{len(table) - 6} other pairs", printed(table["part"][6:].sum())]
    whole = float(s.pairs().to_numpy().sum())
    assert template == ["pairs with [CLS] [SEP]", printed(whole - table["part"].sum())]


def test_what_is_printed_is_pythons(page_of: Any, found: bl.Similarity) -> None:
    """On a page without a kernel; from the open view no click is needed for pairs and what is left without them."""
    seen = Seen(page_of(found.to_html(), width=950))
    expect(seen.part("similar-value")).to_contain_text(f"cosine {found.value:.3f}")
    check_list(seen, found)
    matrix = found.pairs(words=True)
    cells = seen.root.locator("[data-cell] text").all_text_contents()
    own = matrix.to_numpy()[1:-1, 1:-1]
    assert len(cells) > 12 and {printed(value) for value in own[own > 0.25 * own.max()]} <= set(cells)
    sums = seen.root.locator("[data-sums] text").all_text_contents()
    assert sums[:6] == [printed(value) for value in matrix.to_numpy()[1:-1].sum(1)]
    assert printed(float(matrix.to_numpy().sum())) in sums
    said = seen.part("similar-said")
    expect(said).to_contain_text(f"The parts add up to the model’s own {found.value:.4f}, gap ")
    expect(said).to_contain_text("Split by the vectors of the last layer")
    expect(said).to_contain_text("The vector is the mean of all tokens, [CLS] and [SEP] too.")
    assert seen.root.evaluate("root => root.offsetHeight") <= 650
    top = found.effects(1).iloc[0]
    expect(seen.part("similar-tried")).to_contain_text(f"without both {printed(top.without_both)}")
    expect(seen.part("similar-tried")).to_contain_text(f"Only together they make {printed(top.own)}.")

    # one selection: a row of the list, a cell, a line, a word
    seen.root.get_by_role("button", name="food – eats").click()
    expect(seen.root.locator("[data-word][font-weight]")).to_have_text(["foodfood", "eatseats"])
    pair = found.effects(99).set_index(["a", "b"]).loc[("food", "eats")]
    expect(seen.part("similar-tried")).to_contain_text(
        f"without a’s “food” {printed(pair.without_a)}, without b’s “eats” {printed(pair.without_b)}, without both"
    )
    seen.root.locator('[data-cell="2-3"]').click()
    expect(pinned(seen)).to_have_text("is – meal")
    seen.root.locator("[data-link] path[stroke-opacity='0']").last.click(force=True)
    expect(pinned(seen)).to_have_text("eating – meal")
    seen.root.locator("[data-word=a-5]").click()
    expect(pinned(seen)).to_have_text("food – meal")
    seen.root.locator('[data-cell="3-2"]').hover()
    expect(seen.tip).to_have_text(f"eating – a: {printed(matrix.iloc[4, 3])} of {found.value:.3f}")
    seen.away()

    # keys
    seen.root.get_by_role("group", name="Pairs as lines: arrow keys choose").focus()
    seen.page.keyboard.press("ArrowRight")
    expect(pinned(seen)).to_have_text("eating – eats")
    expect(seen.said).to_have_text(f"eating – eats: {printed(matrix.iloc[4, 2])} of {found.value:.3f}")
    seen.root.get_by_role("group", name="Parts of all pairs: arrow keys choose").focus()
    seen.page.keyboard.press("ArrowUp")
    expect(seen.said).to_contain_text("is – eats: ")

    # what takes the model
    for field in fields(seen):
        expect(field).to_be_disabled()
    expect(seen.root.get_by_role("button", name="Run")).to_be_disabled()
    assert seen.root.get_by_role("button", name="Why").count() == 0


def test_bars_by_layer(page_of: Any, found: bl.Similarity) -> None:
    """On a page without a kernel: one click, and either column adds up to the number."""
    seen = Seen(page_of(found.to_html(), width=950))
    seen.root.get_by_text("Which layers wrote it?").click()
    rows = seen.part("similar-layers").locator("tbody tr")
    expect(rows).to_have_count(8)
    printed = rows.evaluate_all("all => all.map(one => [...one.cells].map(cell => cell.textContent))")
    for line, (name, wanted) in zip(printed, found.by("layer").iterrows(), strict=True):
        assert line[0] == name
        assert [float(line[n].replace("−", "-")) for n in (2, 4)] == pytest.approx(wanted.tolist(), abs=6e-4)
    assert seen.page.evaluate("() => document.documentElement.scrollWidth") <= 950


def test_files(page_of: Any, found: bl.Similarity) -> None:
    seen = Seen(page_of(found.to_html(), width=950))
    path = seen.save("CSV", "Open tab")
    text = path.read_text(encoding="utf-8-sig").splitlines()
    assert any(A in line for line in text if line.startswith("#")) and any("gap" in line for line in text)
    rows = rows_of(path)
    matrix = found.pairs(words=True)
    assert [float(row["part"]) for row in rows] == pytest.approx(matrix.to_numpy().flatten().tolist(), abs=1e-6)
    experiments = sorted(float(row["own"]) for row in rows if row["own"])
    assert experiments == pytest.approx(sorted(found.effects(1000)["own"]), abs=1e-6)
    svg = seen.save("SVG", "Open tab").read_text(encoding="utf-8")
    assert svg.count("<rect") > 40 and svg.count("<path") >= 5 and ">eating" in svg
    assert seen.save("PNG", "Open tab").stat().st_size > 5000


def test_other_texts_and_the_runs_behind_a_pair(show: Any, embedded_lens: Any, found: bl.Similarity) -> None:
    """Typed and run by the kernel; then the run of a text with the word pinned, and back; undo."""
    view = found.explore()
    seen = show(view, width=1200)
    check_list(seen, found)
    fields(seen)[0].fill(C)
    fields(seen)[0].press("Enter")
    other = bl.similarity(embedded_lens, C, B)
    assert seen.save("PDF", "Open tab").read_bytes().startswith(b"%PDF")
    expect(seen.part("similar-value")).to_contain_text(f"cosine {other.value:.3f}")
    check_list(seen, other)
    seen.choice("by", "Pieces").click()
    pieces = found.sides[1].encoding.display_tokens
    assert len(pairs(seen)) == 8 and len(pieces) > 0
    seen.choice("by", "Words").click()
    first = pairs(seen)[0][0].split(" – ")
    seen.root.get_by_role("button", name=f"Why b’s “{first[1]}”? ›").click()
    expect(seen.part("why")).to_be_visible()
    token = found.sides[1].encoding.display_tokens.index(first[1])
    assert view.query == token and view.trace.text == B
    seen.open_tab("Similarity")
    expect(seen.part("similar-value")).to_contain_text(f"cosine {other.value:.3f}")
    check_list(seen, other)
    fields(seen)[1].fill(" ")
    expect(seen.part("similarity").get_by_role("button", name="Run")).to_be_disabled()


@pytest.mark.parametrize(("width", "theme"), [(950, "light"), (480, "dark"), (320, "light")])
def test_it_fits_and_axe_finds_nothing(page_of: Any, found: bl.Similarity, width: int, theme: str) -> None:
    seen = Seen(page_of(found.explore(theme=theme).to_html(), width=width, theme=theme))
    expect(seen.part("similar-tried")).to_be_visible()
    assert seen.page.evaluate("document.documentElement.scrollWidth") <= width
    wide = "all => all.filter(one => one.getBoundingClientRect().right > innerWidth + 1).map(one => one.outerHTML)"
    assert seen.root.locator("svg, button, h3, h4, p, table").evaluate_all(wide) == []
    assert seen.axe() == []
    seen.root.get_by_role("checkbox", name="as tables").check()
    expect(seen.root.locator(".bl-similar .bl-bare-table")).to_have_count(1)
    assert seen.axe() == []


def test_a_second_sentence_of_a_bi_encoder_is_a_second_run(show: Any) -> None:
    """The pictures stay those of the first; "read both as one input" is there for who looks for it."""
    lens = bl.Lens(encoder())
    view = lens.trace(TEXTS[0]).explore(layer=0, head=0)
    seen = show(view, width=950)
    expect(seen.tab("Similarity")).to_have_count(0)
    seen.root.locator(".bl-texts summary").click()
    seen.root.get_by_role("button", name="Add a second sentence").click()
    second = seen.root.get_by_role("textbox", name="Sentence B, optional")
    expect(second).to_be_focused()
    second.fill(TEXTS[1])
    second.press("Enter")
    s = bl.similarity(lens, *TEXTS[:2])
    expect(seen.part("similar-value")).to_contain_text(f"cosine {s.value:.3f}")
    assert (view.trace.text, view.trace.text_pair) == (TEXTS[0], None)
    expect(seen.root.locator(".bl-tabs [role=tab]").first).to_have_text("Similarity")
    check_list(seen, s)
    # without the second there is one run
    second.fill("")
    second.press("Enter")
    expect(seen.part("similarity")).to_have_count(0)
    expect(seen.tab("Similarity")).to_have_count(0)
    # as one input, by choice
    seen.more()
    seen.root.get_by_role("checkbox", name="read both as one input").check()
    seen.root.locator(".bl-texts summary").click()
    seen.root.get_by_role("button", name="Add a second sentence").click()
    second.fill(TEXTS[1])
    second.press("Enter")
    expect(seen.root.get_by_role("group", name="pairs", exact=True)).to_be_visible()
    assert view.trace.text_pair == TEXTS[1]


def test_a_bare_encoder_by_the_menu_of_texts(show: Any, embedded_lens: Any, found: bl.Similarity) -> None:
    view = embedded_lens.trace(A).explore()
    seen = show(view, width=950)
    seen.root.locator(".bl-texts summary").click()
    seen.root.get_by_role("button", name="Why is this text similar to …").click()
    expect(fields(seen)[1]).to_be_focused()
    expect(fields(seen)[0]).to_have_value(A)
    fields(seen)[1].fill(B)
    fields(seen)[1].press("Enter")
    check_list(seen, found)
    low, high = (f"{value:.2f}".replace("-", "−") for value in (found.baseline.low, found.baseline.high))
    expect(seen.part("similar-baseline")).to_have_text(f" · unrelated texts {low} to {high}")
    fields(seen)[0].fill(C)
    fields(seen)[0].press("Enter")
    expect(seen.part("similar-value")).to_contain_text(f"{bl.similarity(embedded_lens, C, B).value:.3f}")
    expect(seen.root.get_by_role("textbox", name="Sentence A")).to_have_value(C)
    assert view.trace.text == C
