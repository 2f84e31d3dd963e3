"""Labelled examples: a list that many rows do not slow, counts that open their texts, a row that is run below."""

from __future__ import annotations

import math
import re
from typing import Any

import pytest
from playwright.sync_api import Locator, expect

import bertlens as bl
from bertlens.base.vocabulary.constants import SURE
from browser.views import Seen, rows_of
from unit.tasks.classifier import lens_of, planted, texts_of

WRONG = 17


def mixed() -> tuple[bl.Lens, tuple[int, int], list[tuple[str, int]]]:
    """A classifier whose answer hangs on one head, and 60 examples: every fourth has the other label, 17 among them."""
    lens, head, examples = planted(3)
    return lens, head, [(text, 1 - label if n % 4 == WRONG % 4 else label) for n, (text, label) in enumerate(examples)]


@pytest.fixture(scope="module")
def task() -> bl.Task:
    lens, _, examples = mixed()
    return bl.task(lens, examples, progress=False)


def rows(seen: Seen) -> list[int]:
    """The examples in sight or near it, in their order."""
    return [
        int(n) for n in seen.part("task").locator("[data-case]").evaluate_all("all => all.map(r => r.dataset.case)")
    ]


def row(seen: Seen, n: int) -> Locator:
    return seen.part("task").locator(f'[data-case="{n}"]')


def opened(seen: Seen) -> Locator:
    return seen.part("task-opened")


def leaf(seen: Seen, name: str) -> None:
    seen.part("task").get_by_role("button", name=name, exact=True).click()


def search(seen: Seen, words: str) -> None:
    seen.root.get_by_role("searchbox", name="Search the examples").fill(words)


def said(task: bl.Task, n: int) -> str:
    one = task.table.iloc[n]
    same = "and was guessed so" if one["right"] else f"and was guessed to be {one['guess']}"
    sure, loss = f"{one['probability']:.3f}", f"{one['loss']:.2f}"
    return f"Example {n} is {one['label']}, {same} with probability {sure}. Its loss is {loss} nats."


def test_a_click_on_an_example_runs_it_below(show: Any, task: bl.Task) -> None:
    view = task.explore()
    seen = show(view, width=950)
    order = task.table.sort_values("loss", ascending=False, kind="stable")
    expect(opened(seen)).to_contain_text(said(task, int(order["row"].iloc[0])))
    assert rows(seen)[:8] == order["row"].tolist()[:8]
    third = order.iloc[2]
    expect(row(seen, int(third["row"]))).to_have_text(
        f"{third['text']}{third['loss']:.2f} {'right' if third['right'] else 'wrong'}: {third['guess']}"
    )
    search(seen, "#17")
    expect(seen.part("task-count")).to_have_text("1 of 60 examples")
    row(seen, 17).click()
    expect(opened(seen)).to_contain_text(said(task, 17))
    expect(row(seen, 17)).to_have_attribute("aria-selected", "true")
    assert view.trace.text == task.table["text"][17]
    expect(seen.root.get_by_role("textbox", name="Sentence A")).to_have_value(task.table["text"][17])


def test_why_is_example_17_wrong_and_which_head_does_it_takes_at_most_four_clicks(show: Any, task: bl.Task) -> None:
    view = task.explore()
    seen = show(view, width=1400)
    assert not task.table["right"][WRONG]
    clicks: list[str] = []

    def click(button: Locator, what: str) -> None:
        button.click()
        clicks.append(what)

    search(seen, "#17")
    click(row(seen, WRONG), "the example")
    expect(opened(seen)).to_contain_text(said(task, WRONG))
    click(seen.root.get_by_role("button", name="Which head does it?"), "which head")
    expect(seen.part("task-head")).to_be_visible()
    trace = task.lens.trace(task.table["text"][WRONG])
    guess = int(task.guesses[WRONG])
    before = float(trace.output.logits[0, guess])
    effects = {
        (layer, head): float(trace.rerun(bl.whatif.off(layer, head)).output.logits[0, guess]) - before
        for layer in range(trace.n_layers)
        for head in range(trace.n_heads)
    }
    most = min(effects, key=lambda at: effects[at])
    assert most == mixed()[1]  # the planted one
    number = f"{effects[most]:+.3f}".replace("-", "−")
    name = task.names[guess]
    expect(seen.part("task-head")).to_have_text(
        f"L{most[0]}·H{most[1]}, switched off alone, lowers logit of “{name}” most of 12 heads: {number}."
    )
    click(seen.part("task-head").get_by_role("button"), "the head")
    seen.title(f"L{most[0]}·H{most[1]}")
    assert (view.layer, view.head) == most
    click(seen.tab("Does it matter?"), "does it matter")
    expect(seen.part("matter")).to_contain_text(f"L{most[0]}·H{most[1]}")
    assert len(clicks) <= 4


def test_a_count_lists_its_texts_and_filters_sort_and_search(show: Any, task: bl.Task) -> None:
    seen = show(task.explore(), width=1400)
    label, guess = task.names
    cell = task.cell(label, guess)
    leaf(seen, "Confusion")
    seen.part("confusion").get_by_role("button", name=f"{len(cell)} labelled {label}, guessed {guess}").click()
    expect(seen.part("task-count")).to_have_text(f"{len(cell)} of 60 examples")
    assert rows(seen)[:10] == cell["row"].tolist()[:10]
    seen.root.get_by_role("button", name="All cells again").click()
    seen.select("show").select_option("wrong")
    wrong = task.table[~task.table["right"]].sort_values("loss", ascending=False, kind="stable")
    expect(seen.part("task-count")).to_have_text(f"{len(wrong)} of 60 examples")
    seen.select("sort").select_option("smallest loss first")
    assert rows(seen)[:8] == wrong["row"].tolist()[::-1][:8]
    search(seen, "nothing is like this")
    expect(seen.part("task").get_by_text("No example is like this.")).to_be_visible()


def test_scores_are_the_tasks_own(show: Any, task: bl.Task) -> None:
    seen = show(task.explore(), width=950)
    leaf(seen, "Scores")
    shown = seen.part("task-scores").locator("tbody tr")
    metrics = task.metrics()
    expect(shown).to_have_count(len(metrics))
    texts = shown.evaluate_all("all => all.map(one => [...one.cells].map(cell => cell.textContent))")
    for line, one in zip(texts, metrics.itertuples(), strict=True):
        number = f"{one.value:.3f}".replace("-", "−") if one.value == one.value else "–"
        between = f"{one.low:.3f} to {one.high:.3f}".replace("-", "−") if one.low == one.low else one.note
        assert line == [one.measure, one.label or "all", number, between, str(one.n)]
    accuracy = metrics.iloc[0]
    score = f"accuracy {accuracy['value']:.3f} (95 %: {accuracy['low']:.3f} to {accuracy['high']:.3f})"
    expect(seen.part("task-score")).to_have_text(score)


def test_keys_go_through_the_list_and_each_case_opens(show: Any, task: bl.Task) -> None:
    view = task.explore()
    seen = show(view, width=950)
    cases = seen.root.get_by_role("listbox", name="Examples, arrow keys open")
    order = task.table.sort_values("loss", ascending=False, kind="stable")["row"].tolist()
    cases.focus()
    place = 0
    for key, step in (("ArrowDown", 1), ("ArrowDown", 1), ("ArrowUp", -1), ("PageDown", None), ("End", 59)):
        cases.press(key)
        chosen = seen.part("task").locator('[data-case][aria-selected="true"]')
        place = int(chosen.get_attribute("aria-posinset")) - 1 if step is None else min(59, place + step)
        expect(chosen).to_have_attribute("data-case", str(order[place]))
        assert cases.get_attribute("aria-activedescendant") == chosen.get_attribute("id")
        expect(opened(seen)).to_contain_text(said(task, order[place]))
    expect(row(seen, order[-1])).to_be_in_viewport()
    assert view.trace.text == task.table["text"][order[-1]]


def test_what_is_listed_is_copied_as_csv(show: Any, task: bl.Task) -> None:
    seen = show(task.explore(), width=950)
    search(seen, "cat")
    wanted = task.table[task.table["text"].str.contains("cat")].sort_values("loss", ascending=False, kind="stable")
    expect(seen.part("task-count")).to_have_text(f"{len(wanted)} of 60 examples")
    found = rows_of(seen.copied(seen.root.get_by_role("button", name="Copy as CSV").click))
    expect(seen.root.get_by_text("copied", exact=True)).to_be_visible()
    assert [int(one["row"]) for one in found] == wanted["row"].tolist()
    assert [one["text"] for one in found] == wanted["text"].tolist()
    assert [float(one["loss"]) for one in found] == pytest.approx(wanted["loss"].tolist(), rel=1e-6)


def test_ten_thousand_rows_are_a_list_of_those_in_sight(show: Any) -> None:
    lens = lens_of()
    texts = texts_of(200)
    examples = [(f"{texts[n % 200]}", n % 2) for n in range(10_000)]
    big = bl.task(lens, examples, batch_size=256, progress=False)
    seen = show(big.explore(), width=950)
    expect(seen.part("task-count")).to_have_text("10,000 examples")
    assert len(rows(seen)) < 60
    top = str(rows(seen)[0])
    seen.root.get_by_role("listbox").evaluate("box => { box.scrollTop = 250_000; }")
    expect(seen.part("task").locator("[data-case]").first).not_to_have_attribute("data-case", top)
    assert len(rows(seen)) < 60
    seen.select("sort").select_option("text ▴")
    search(seen, "cat")
    wanted = sum("cat" in text for text, _ in examples)
    expect(seen.part("task-count")).to_have_text(re.compile(f"^{wanted:,} of 10,000"))


@pytest.mark.parametrize(("width", "theme"), [(480, "dark"), (950, "light")])
def test_a_saved_page_holds_the_examples_that_matter(show_saved: Any, task: bl.Task, width: int, theme: str) -> None:
    seen = show_saved(task.explore(), width=width, theme=theme, matters=True)
    order = task.table.sort_values("loss", ascending=False, kind="stable")["row"].tolist()
    expect(opened(seen)).to_contain_text(said(task, order[0]))
    assert rows(seen)[:6] == order[:6]
    assert seen.page.evaluate("() => document.documentElement.scrollWidth") <= width
    drawer = seen.root.get_by_role("button", name="Examples: ")
    for n in (3, 0, 9):  # ten of them are run in the page
        if drawer.is_visible():  # there is no room for the column
            drawer.click()
        row(seen, order[n]).click()
        expect(seen.page).to_have_url(re.compile(f"#case={order[n]}$"))
        expect(opened(seen)).to_contain_text(said(task, order[n]))
        expect(seen.root.get_by_role("textbox", name="Sentence A")).to_have_value(task.table["text"][order[n]])
    trace = task.lens.trace(task.table["text"][order[9]])
    expect(seen.root.locator(".bl-row-label")).to_have_count(trace.n_tokens)
    seen.root.get_by_role("button", name="Which head does it?").click()
    guess = int(task.guesses[order[9]])
    best = min(
        ((layer, head) for layer in range(3) for head in range(4)),
        key=lambda at: float(trace.rerun(bl.whatif.off(*at)).output.logits[0, guess]),
    )
    expect(seen.part("task-head")).to_contain_text(f"L{best[0]}·H{best[1]}, switched off alone")
    if drawer.is_visible():
        drawer.click()
    row(seen, order[10]).click()
    expect(seen.part("problem")).to_contain_text("needs the model")
    expect(opened(seen)).to_contain_text(said(task, order[9]))
    assert seen.axe() == []


def test_the_explorer_has_the_examples_as_a_tab(show: Any, task: bl.Task) -> None:
    lesson = bl.Lesson("Look", [bl.Lesson.step("Look at the examples.")])
    view = task.lens.trace(task.table["text"][3]).explore(task=task, lesson=lesson)
    seen = show(view, width=950)
    expect(seen.root.get_by_text("Look at the examples.", exact=True)).to_be_visible()
    seen.open_tab("Task")
    expect(opened(seen)).to_contain_text(said(task, 3))
    search(seen, "#5")
    row(seen, 5).click()
    expect(opened(seen)).to_contain_text(said(task, 5))
    assert view.trace.text == task.table["text"][5]
    expect(seen.tab("Task")).to_have_attribute("aria-selected", "true")


def log_odds(trace: bl.Trace, guess: int) -> float:
    """Of a softmax over classes, in float64."""
    logits = trace.output.logits[0].double()
    others = [float(logit) for n, logit in enumerate(logits) if n != guess]
    return float(logits[guess]) - math.log(sum(map(math.exp, others)))


def test_the_worst_case_is_open_with_why_and_what_would_turn_it(show: Any, task: bl.Task) -> None:
    """No action, one, two: its verdict and the word that it rests on; that of the next; the answer without a head."""
    seen = show(task.explore(), width=938, folded=True)
    order = task.table.sort_values("loss", ascending=False, kind="stable")["row"].tolist()
    claim = seen.part("claim")
    for n, row_number in enumerate(order[:2]):
        if n:
            seen.page.keyboard.press("ArrowDown")
        one = task.table.iloc[row_number]
        assert not one["right"]
        expect(seen.part("verdict")).to_have_text(f"wrong: the label is {one['label']}")
        trace, guess = task.lens.trace(one["text"]), int(task.guesses[row_number])
        words = [[at] for at in range(1, trace.n_tokens - 1)]  # each is one token
        after = [log_odds(trace.rerun(*map(bl.whatif.hide, pieces)), guess) for pieces in words]
        least, whole = min(after), log_odds(trace, guess)
        name = trace.display_tokens[words[after.index(least)][0]]
        if 1 / (1 + math.exp(-whole)) <= SURE:  # told in probabilities
            whole, least = (1 / (1 + math.exp(-odds)) for odds in (whole, least))
        rests = whole - least >= 0.05 * abs(whole)
        expect(claim.locator("p").first).to_have_text(f"It rests on {name if rests else 'no single word'}.")
        expect(seen.part("verdict")).to_be_in_viewport()
        if n == 0:
            seen.root.get_by_role("listbox").focus()
    seen.root.locator("[data-strip-head]").first.click()
    expect(claim).to_contain_text("Without it")


def test_what_is_wrong_in_a_slice_is_listed(show: Any, task: bl.Task) -> None:
    seen = show(task.explore(), width=1400)
    leaf(seen, "Slices")
    slices = task.slices()
    at = int(slices["wrong"].to_numpy().argmax())
    one = slices.iloc[at]
    seen.part("task-slices").get_by_role("button", name=f"{one['wrong']} wrong in {one['kind']} {one['slice']}").click()
    expect(seen.part("task-count")).to_have_text(f"{one['wrong']} of 60 examples")
    wrong = set(slices.attrs["wrong"][at])
    assert set(rows(seen)) <= wrong and not task.table["right"][list(wrong)].any()
