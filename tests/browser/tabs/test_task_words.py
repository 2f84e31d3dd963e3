"""The leaf Words of a task's view: begun there, a word opens its cases, by mouse, by keys, in a saved page."""

from __future__ import annotations

import math
from typing import Any

import pytest
from playwright.sync_api import Locator, expect
from scipy import stats as st

import bertlens as bl
from browser.tabs.test_task import leaf, mixed, opened, row, rows
from browser.tabs.test_task_work import fixed
from browser.views import Seen
from unit.tasks.classifier import labelled, lens_of


@pytest.fixture(scope="module")
def task() -> bl.Task:
    lens, _, examples = mixed()
    return bl.task(lens, examples, progress=False)


@pytest.fixture(scope="module")
def words(task: bl.Task) -> Any:
    return task.words()


def first_word(words: Any) -> Any:
    """The first word in the view's table, for the class that it speaks for."""
    table = words.table
    return table[(table["effect"] > 0) & (table["kind"] == "word")].iloc[0]


def count_of(seen: Seen, word: Any) -> Locator:
    """The button that opens its cases."""
    name = f"{word['texts']:,}: {word['class']}: {word['word']}"
    return seen.part("task-words").get_by_role("button", name=name, exact=True)


def opens_its_cases(seen: Seen, words: Any, press: Any) -> None:
    word = first_word(words)
    press(count_of(seen, word))
    cases = words.cases(word["word"], word["of"])["row"].tolist()
    expect(seen.part("task-count")).to_have_text(f"{len(cases)} of 60 examples")
    assert rows(seen) == cases[: len(rows(seen))]


def test_words_are_run_from_the_view_and_one_opens_its_cases(show: Any, task: bl.Task, words: Any) -> None:
    seen = show(task.explore(), width=1400)
    leaf(seen, "Words")
    seen.root.get_by_role("button", name="What does it go by?").click()
    expect(seen.part("task-words").locator("p").first).to_have_text(words.said)
    opens_its_cases(seen, words, lambda button: button.click())
    case = rows(seen)[1]
    row(seen, case).click()
    expect(opened(seen)).to_contain_text(f"Example {case} is")
    assert seen.axe() == []


@pytest.mark.parametrize(("width", "theme"), [(390, "dark"), (938, "light")])
def test_cases_of_a_word_by_keys(show: Any, task: bl.Task, words: Any, width: int, theme: str) -> None:
    seen = show(task.explore(words_found=words), width=width, theme=theme)
    button = seen.part("task").get_by_role("button", name="Words", exact=True)
    button.focus()
    button.press("Enter")
    expect(button).to_have_attribute("aria-expanded", "true")
    opens_its_cases(seen, words, lambda count: count.press("Enter"))
    expect(count_of(seen, first_word(words))).to_be_focused()
    if width < 600:  # the list is a drawer there, which says how many are in it
        drawer = seen.part("task").get_by_role("button", name="Examples: ")
        expect(drawer).to_contain_text(f" of {first_word(words)['texts']}")
        drawer.press("Enter")
    seen.part("task").get_by_role("button", name="All slices again").press("Enter")
    expect(seen.part("task-count")).to_have_text("60 examples")
    assert seen.axe() == [] and seen.page.evaluate("() => document.documentElement.scrollWidth - innerWidth") <= 0


def cells_of(row: Any) -> list[str]:
    """What the table has of a word: the class and it, texts, effects, shares that are wrong, and p."""
    between = st.binomtest(row["wrong"], row["texts"]).proportion_ci(method="exact")
    shares = [row["rate"], between.low, between.high, row["rate_outside"]]
    effects = [row["effect"], row["matched"], row["turned_share"]]
    return [
        f"{row['class']}: {row['word']}",
        f"{row['texts']}",
        *(fixed(value if abs(value) >= 0.005 or value != value else 0.0, 2) for value in effects),
        *("–" if math.isnan(share) else f"{math.floor(100 * share + 0.5)} %" for share in shares),
        fixed(row["p_holm"], 3),
    ]


def test_each_number_of_a_word_stands_in_its_column(show_saved: Any, task: bl.Task, words: Any) -> None:
    seen = show_saved(task.explore(words_found=words), width=1400)
    leaf(seen, "Words")
    shown = words.table[words.table["effect"] > 0].head(40)
    lines = seen.part("task-words").locator("tbody tr")
    expect(lines).to_have_count(len(shown))
    for n in (0, 3, 7):
        assert lines.nth(n).locator("th, td").all_inner_texts() == cells_of(shown.iloc[n])


def test_a_saved_page_has_the_words_and_their_cases(show_saved: Any, task: bl.Task, words: Any) -> None:
    seen = show_saved(task.explore(words_found=words), width=938)
    leaf(seen, "Words")
    expect(seen.part("task-words").locator("p").first).to_have_text(words.said)
    opens_its_cases(seen, words, lambda button: button.click())


def test_of_many_cases_those_with_the_largest_loss_are_listed(show: Any) -> None:
    task = bl.task(lens_of(1), [(f"it {text}", label) for text, label in labelled(230)], progress=False)
    words = task.words(2, runs=400)
    table = words.table
    word = table[(table["texts"] == 230) & (table["kind"] == "word") & (table["effect"] > 0)].iloc[0]
    seen = show(task.explore(words_found=words), width=938)
    leaf(seen, "Words")
    count_of(seen, word).click()
    expect(seen.part("task-count")).to_have_text("200 of 230 examples")
    chip = f"{word['class']}: {word['word']}, the 200 with the largest loss"
    expect(seen.part("task").locator(".bl-chip").filter(has_text=chip)).to_be_visible()
