"""Two runs in one view: what is printed is Python's, one selection moves all pictures, and gaps are drawn as gaps."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from playwright.sync_api import expect

import bertlens as bl
from bertlens import Lens
from browser.views import Seen, rows_of, signed
from unit import tiny

TEXTS = ("The cat sat on the mat because it was tired.", "The cat sat on the old mat because she was not tired.")


@pytest.fixture(scope="module")
def two(embedded_lens: Any) -> bl.Comparison:
    return bl.compare(*(embedded_lens.trace(text) for text in TEXTS))


def apart(seen: Seen) -> list[tuple[str, str]]:
    """Heads of the atlas in its order, with the number printed on each."""
    buttons = seen.root.locator("[data-apart]")
    pairs = buttons.evaluate_all("all => all.map(one => [one.dataset.apart, one.querySelector('b').textContent])")
    return [(head, number) for head, number in pairs]


def row(seen: Seen) -> list[list[str]]:
    """The table of the chosen query: key, a, b, b − a."""
    rows = seen.part("compare").locator("tbody tr")
    return rows.evaluate_all("all => all.map(one => [...one.cells].map(cell => cell.textContent))")  # type: ignore[no-any-return]


def three(seen: Seen) -> Any:
    return seen.part("compare-maps").locator("svg")


def click_cell(seen: Seen, picture: int, at: tuple[int, int], shape: tuple[int, int]) -> None:
    surface = three(seen).nth(picture).locator("rect[fill-opacity]")
    box = surface.bounding_box()
    assert box is not None
    surface.click(
        position={"x": (at[1] + 0.5) * box["width"] / shape[1], "y": (at[0] + 0.5) * box["height"] / shape[0]}
    )


def printed(value: float) -> str:
    return "–" if np.isnan(value) else signed(value, 3).replace("−0.000", "0.000")


def names(c: bl.Comparison) -> list[str]:
    """As the page names units: that of a, else of b, with its place where the name comes again."""
    plain = [a if a is not None else b for a, b in c.tokens.itertuples(index=False)]
    places = [
        (c.queries.a[i] if i is not None else c.queries.b[j]).pieces[0]  # type: ignore[index]
        for i, j in c.queries.pairs
    ]
    lone = [i is None for i, _ in c.queries.pairs]
    return [
        f"{name} ({'b ' if alone else ''}{place})" if plain.count(name) > 1 else name
        for name, place, alone in zip(plain, places, lone, strict=True)
    ]


ALL = {"aligned_only": False}


def check_row(
    seen: Seen, c: bl.Comparison, layer: int, head: int, query: int, measure: str = "weight", first: int = 0
) -> None:
    """The whole table is Python's numbers, of the 128 keys from `first` on."""
    rows = (c.head(side, layer, head, measure)[query].float().double().numpy() for side in (0, 1))
    numbered = list(zip(names(c), *rows, strict=True))[first : first + 128]
    wanted = {name: (a, b, b - a) for name, a, b in numbered}
    found = row(seen)
    assert len(found) == len(wanted)
    for name, *numbers in found:
        assert numbers == [printed(value) for value in wanted[name]], name


def test_two_texts(show: Any, two: bl.Comparison) -> None:
    """Numbers, gaps and links, on the page that needs no kernel."""
    view = two.explore(settings=ALL)
    layer, head, query = view.layer, view.head, view.query
    seen = show(view, width=950)
    expect(seen.part("compare-said")).to_have_text(two.said)
    units = seen.root.locator("[data-unit]")
    shown = units.evaluate_all("all => all.map(one => one.innerText.split(/\\n+/).map(text => text.trim()))")
    wanted = [[a or "nothing aligned in a", b or "nothing aligned in b"] for a, b in two.tokens.itertuples(index=False)]
    assert shown == wanted and sum("nothing aligned in a" in pair for pair in shown) == 3
    heads = two.heads.numpy()
    assert len(apart(seen)) == heads.size
    for name, number in apart(seen):
        at = tuple(map(int, name.split("-")))
        assert number == f"{heads[at]:.3f}"
    order = [heads[tuple(map(int, name.split("-")))] for name, _ in apart(seen)]
    assert order == sorted(order, reverse=True)
    most = two.most(5)
    assert seen.part("compare-most").locator("li").all_inner_texts() == most["words"].tolist()
    check_row(seen, two, layer, head, query)

    assert [three(seen).nth(n).locator("path").count() for n in range(3)] == [6, 2, 6]  # gaps down and across

    # one cell of b: all three pictures, the strip and the row follow
    shape = (len(wanted), len(wanted))
    click_cell(seen, 1, (7, 3), shape)
    expect(units.nth(7)).to_have_attribute("aria-pressed", "true")
    for picture in range(3):
        bold = three(seen).nth(picture).locator("text[font-weight]")
        assert bold.all_text_contents() == ["mat", "sat"]
    check_row(seen, two, layer, head, 7)
    values = [float(two.head(side, layer, head)[7, 3]) for side in (0, 1)]
    expect(seen.part("compare-cell")).to_have_text(
        f"mat → sat: a {printed(values[0])}, b {printed(values[1])}, b − a {printed(values[1] - values[0])}"
    )
    click_cell(seen, 0, (6, 3), shape)  # a query that a has not
    expect(seen.part("compare-cell")).to_contain_text("old → sat: a not aligned, b ")
    # another head, by the atlas, and the one that is third, by its words
    seen.root.locator('[data-apart="4-9"]').click()
    expect(seen.part("compare-maps").get_by_role("heading", name="L4·H9 in both")).to_be_visible()
    check_row(seen, two, 4, 9, 6)
    third = most.iloc[2]
    seen.part("compare-most").get_by_role("button").nth(2).click()
    cell = two.cell(third["layer"], third["head"])
    expect(units.nth(cell[0])).to_have_attribute("aria-pressed", "true")
    check_row(seen, two, third["layer"], third["head"], cell[0])
    # the file: every cell of it
    cells = rows_of(seen.save("CSV", "Open tab"))
    changes = two.attention(int(third["layer"]))[int(third["head"])].flatten().tolist()
    assert len(cells) == len(changes)
    for cell_of, change in zip(cells, changes, strict=True):
        assert (cell_of["b_minus_a"] == "") == np.isnan(change)
        assert np.isnan(change) or float(cell_of["b_minus_a"]) == pytest.approx(change, abs=1e-6)
    svg = seen.save("SVG", "Open tab").read_text(encoding="utf-8")
    assert svg.count("<rect") > 50 and TEXTS[0] in svg
    assert "holds all layers; a | b of all of their heads" in view.page().footer


def test_a_word_that_stands_elsewhere_is_not_said_to_be_missing(show: Any, embedded_lens: Lens) -> None:
    """Legends, hatching, the strip, a cell and the table of two texts that have the same words."""
    texts = ("The dog chased the cat", "The cat chased the dog")
    c = bl.compare(*(embedded_lens.trace(text) for text in texts))
    lone = c.queries.pairs.index((c.queries.alone[0][0], None))
    seen = show(c.explore(query=lone, key=lone, settings=ALL), width=950)
    expect(seen.part("compare-cell")).to_contain_text("b not aligned")
    text = seen.part("compare").inner_text()
    assert text.count("hatched: nothing aligned in that text") == 2 and "–: nothing aligned in that text" in text
    assert f"has it at {c.keys.alone[1][0]}, not aligned with this one" in text
    assert not [words for words in ("no such", "not in ", "that only", "both texts have") if words in text]


@pytest.mark.parametrize(("width", "theme"), [(950, "light"), (480, "dark"), (320, "light")])
def test_it_fits_and_axe_finds_nothing(show: Any, two: bl.Comparison, width: int, theme: str) -> None:
    seen = show(two.explore(theme=theme), width=width, theme=theme)
    expect(three(seen)).to_have_count(3)
    assert seen.page.evaluate("document.documentElement.scrollWidth") <= width
    wide = "all => all.filter(one => one.getBoundingClientRect().right > innerWidth + 1).map(one => one.outerHTML)"
    assert seen.root.locator("svg, button, h3, h4, p, table").evaluate_all(wide) == []
    assert seen.axe() == []
    seen.check("as tables").check()
    expect(three(seen)).to_have_count(0)
    assert seen.axe() == []


def test_by_keyboard_alone_with_a_kernel(show: Any, two: bl.Comparison) -> None:
    """Tab reaches every choice once, arrows move in the strip and in the atlas, and Python has what was chosen."""
    view = two.explore(settings=ALL)
    seen, start = show(view, width=1400), view.query
    press = seen.page.keyboard.press
    expect(seen.root.locator(f'[data-unit="{view.query}"]')).to_be_visible()

    def reach(selector: str) -> None:
        for _ in range(40):
            if seen.page.evaluate("selector => document.activeElement.matches(selector)", selector):
                return
            press("Tab")
        raise AssertionError(f"Tab never reaches {selector}")

    seen.root.get_by_role("combobox", name="layer", exact=True).focus()
    reach("[data-unit]")
    press("ArrowRight")
    press("ArrowRight")
    word = start + 2
    assert view.query == word and seen.page.evaluate("document.activeElement.dataset.unit") == str(word)
    press("Shift+Enter")
    assert (view.query, view.key) == (word, word)
    order = two.most(two.heads.numel())
    at = next(n for n, row in order.iterrows() if (row["layer"], row["head"]) == (view.layer, view.head))
    reach("[data-apart]")
    press("ArrowRight")
    second = order.iloc[at + 1]
    name = f"L{second['layer']}·H{second['head']}"
    expect(seen.part("compare-maps").get_by_role("heading", name=f"{name} in both")).to_be_visible()
    assert (view.layer, view.head) == (second["layer"], second["head"])
    check_row(seen, two, view.layer, view.head, word)
    reach("[data-testid=compare-most] button")
    press("Enter")
    first = order.iloc[0]["layer"], order.iloc[0]["head"]
    assert (view.layer, view.head, view.query, view.key) == (*first, *two.cell(*first))
    reach("tbody button")
    press("Tab")
    press("Enter")
    expect(seen.root.locator("tr.bl-pinned")).to_have_count(1)
    assert names(two)[view.key] == seen.root.locator("tr.bl-pinned th").inner_text()
    seen.shows("Norm ‖αf(x)‖")
    expect(seen.part("compare-maps")).to_contain_text("norm of what is passed on")
    expect(seen.root.locator(".bl-empty")).to_have_count(0)
    check_row(seen, two, *first, view.query, "norm")


def test_two_lenses_by_words(show: Any, embedded_lens: Any) -> None:
    """Two tokenizers and two pre-trainings: words, gaps, and no head by its index."""
    other = Lens(tiny.shaken(tiny.FAMILIES["roberta"].model()), tiny.roberta_like(add_prefix_space=True))
    c = bl.compare(embedded_lens.trace("the unbelievable cat sat"), other.trace("the cat, it sat"))
    seen = show(c.explore(layer=5, head=3, query=2, settings=ALL))
    expect(seen.part("compare-said")).to_contain_text("not matched by index")
    assert seen.root.locator("[data-apart]").count() == 0
    units = seen.root.locator("[data-unit]").evaluate_all(
        "all => all.map(one => one.innerText.split(/\\n+/).map(text => text.trim()))"
    )
    assert units == [
        [a or "nothing aligned in a", b or "nothing aligned in b"] for a, b in c.tokens.itertuples(index=False)
    ]
    near = c.nearest().iloc[5 * c.a.n_heads + 3]
    own, nearest = "L5·H3", f"L{near['layer_b']:.0f}·H{near['head_b']:.0f}"
    expect(seen.part("compare-maps").get_by_role("heading", name=f"{own} of a, {nearest} of b")).to_be_visible()
    line = seen.region("Nearest heads, table").get_by_role("row", name=own)
    expect(line).to_have_text(f"{own}{nearest}{near['divergence']:.3f}")
    line.get_by_role("button").click()
    assert [label.split(",")[1].strip() for label in seen.part("compare-maps").locator("h4").all_inner_texts()[:2]] == [
        own,
        nearest,
    ]


def test_of_long_texts_a_window_that_follows_the_selection(show: Any) -> None:
    maps = torch.rand(2, 2, 2, 300, 300, generator=torch.Generator().manual_seed(1)).mul(9).softmax(-1)
    c = bl.compare(*(bl.Trace.from_attentions(list(x), [f"t{n}" for n in range(300)]) for x in maps))
    view = c.explore(layer=1, head=1, query=250)
    seen = show(view)
    expect(seen.part("compare-maps")).to_contain_text("rows 172 … 299 of 300, columns 0 … 127 of 300")
    check_row(seen, c, 1, 1, 250)
    assert len(apart(seen)) == 4
    click_cell(seen, 2, (3, 5), (128, 128))
    expect(seen.part("compare-cell")).to_contain_text("t175 → t5:")
    assert (view.query, view.key) == (175, 5)
    seen.root.locator('[data-unit="200"]').click(modifiers=["Shift"])
    expect(seen.part("compare-maps")).to_contain_text("columns 128 … 255 of 300")
    check_row(seen, c, 1, 1, 175, first=128)
