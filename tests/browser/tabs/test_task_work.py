"""What takes long in a view of labelled examples: begun and stopped there, and what it shows is the task's own."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import expect

import bertlens as bl
from browser.tabs.test_task import WRONG, leaf, mixed, opened, row, search
from browser.views import Seen, saved
from unit.tasks.classifier import labelled, lens_of, texts_of
from unit.tasks.test_model_comparison import turned

HEIGHT, BOTTOM, TOP = 170, 34, 18  # px of the curve's chart


@pytest.fixture(scope="module")
def task() -> bl.Task:
    lens, _, examples = mixed()
    return bl.task(lens, examples, progress=False)


@pytest.fixture(scope="module")
def heads(task: bl.Task) -> Any:
    return task.heads()


def fixed(value: float, digits: int) -> str:
    return f"{value:.{digits}f}".replace("-", "−") if value == value else "–"


def said(one: Any) -> str:
    """What is said of a part."""
    estimate = f"estimate {fixed(one.estimate, 4)} nats"
    if one.effect != one.effect:
        return f"{one.part}: not switched off; {estimate}"
    p = "p < .001" if one.p_holm < 0.001 else f"p = {one.p_holm:.3f}"
    ends = f"95 %: {fixed(one.low, 4)} to {fixed(one.high, 4)}; {p}, Holm"
    return f"{one.part}: loss gained without it, nats, {fixed(one.effect, 4)} ({ends}); {estimate}"


def test_heads_are_run_from_the_view_and_are_the_tasks_own(show: Any, task: bl.Task, heads: Any) -> None:
    view = task.explore()
    seen = show(view, width=1400)
    leaf(seen, "Heads")
    seen.root.get_by_role("button", name="Which heads does the task need?").click()
    expect(seen.part("task-heads")).to_contain_text(heads.said)
    atlas = seen.root.get_by_role("group", name="What each head and each MLP matters to the task")
    cells = atlas.get_by_role("button")
    expect(cells).to_have_count(3 * 5)
    labels = cells.evaluate_all("all => all.map(one => one.ariaLabel)")
    assert sorted(labels) == sorted(map(said, heads.table.itertuples()))
    marked = cells.evaluate_all("all => all.filter(one => one.textContent === '●').map(one => one.ariaLabel)")
    assert sorted(one.split(":")[0] for one in marked) == sorted(heads.findings["part"])
    assert marked  # the planted head
    best = heads.table.iloc[0]
    planted = atlas.get_by_role("button", name=f"{best['part']}:")
    planted.click()
    seen.title(best["part"])
    assert (view.layer, view.head) == (best["layer"], best["head"])
    planted.press("ArrowUp")
    seen.title(f"L{max(0, best['layer'] - 1)}·H{best['head']}")
    most = heads.table["effect"].abs().max()
    expect(seen.part("task-heads")).to_contain_text(f"From {fixed(-most, 4)} to {fixed(most, 4)}, loss gained without")
    seen.choice("colour", "estimate").click()
    most = heads.table["estimate"].abs().max()
    expect(seen.part("task-heads")).to_contain_text(f"From {fixed(-most, 4)} to {fixed(most, 4)}, loss gained without")


def test_the_curve_is_the_tasks_own(show: Any, task: bl.Task, heads: Any) -> None:
    seen = show(task.explore(heads_found=heads), width=950)
    leaf(seen, "Heads")
    seen.root.get_by_role("button", name="How many heads does it need?").click()
    curve = heads.pruning()
    least = curve.attrs["least"]
    expect(seen.part("task-curve")).to_contain_text(
        f"{least['estimate']} of 12 heads keep 95 % of the accuracy where those with the smallest estimates are "
        f"switched off first; {least['random']} where they are taken at random (mean of 3 orders)."
    )
    paths = seen.part("task-curve").locator("path[stroke]").evaluate_all("all => all.map(one => one.getAttribute('d'))")
    assert len(paths) == 2
    for path, order in zip(paths, ("estimate", "random"), strict=True):
        points = [tuple(map(float, one.split())) for one in re.findall("[ML]([^ML]+)", path)]
        shown = [(HEIGHT - BOTTOM - y) / (HEIGHT - BOTTOM - TOP) for _, y in points]
        assert shown == pytest.approx(curve[curve["order"] == order]["accuracy"].tolist(), abs=1e-6)


def test_work_shows_how_far_it_is_and_can_be_stopped(show: Any) -> None:
    slow = bl.task(lens_of(), labelled(160), batch_size=1, progress=False)
    seen = show(slow.explore(), width=950)
    leaf(seen, "Heads")
    begin = seen.root.get_by_role("button", name="Which heads does the task need?")
    begin.click()
    bar = seen.part("work-heads").get_by_role("progressbar")
    expect(bar).to_be_visible()
    expect(bar).not_to_have_js_property("value", 0)
    search(seen, "#5")
    row(seen, 5).click()  # another question has its turn
    expect(opened(seen)).to_contain_text("Example 5 is")
    seen.root.get_by_role("button", name="Stop").click()
    done = seen.part("work-heads").get_by_text("Stopped.").or_(seen.part("task-heads"))
    expect(done).to_be_visible()
    if begin.count():
        begin.click()
        expect(bar).to_be_visible()
        seen.root.get_by_role("button", name="Stop").click()
        expect(bar).to_have_count(0)


def test_errors_say_what_the_open_example_rests_on(show: Any) -> None:
    lens, _, examples = mixed()
    task = bl.task(lens, [*examples[:7], examples[WRONG]], progress=False)
    found = task.errors()
    seen = show(task.explore(), width=1400)
    leaf(seen, "Errors")
    seen.root.get_by_role("button", name="What do wrong answers rest on?").click()
    expect(seen.part("task-errors")).to_contain_text(found.said)
    [one, *_] = [found.table.iloc[n] for n in range(8) if found.table["words"][n]]
    row(seen, int(one["row"])).click()
    explained = seen.part("task-explained")
    expect(explained).to_contain_text(f"Its answer rests on {one['words']}:")
    expect(explained).to_contain_text(
        f"Without the words ranked first it loses {fixed(one['comprehensiveness'], 2)}, without as many at random "
        f"{fixed(one['random'], 2)}; {one['beats']:.0f} of 20 random orders do worse."
    )
    expect(explained).to_contain_text(f"{one['nearest']} (cosine {fixed(one['similarity'], 2)})")
    explained.get_by_role("button", name=str(one["nearest"]), exact=True).click()
    expect(opened(seen)).to_contain_text(f"Example {one['nearest']} is")
    expect(explained).not_to_contain_text(f"Its answer rests on {one['words']}:")


def test_layers_are_run_from_the_view_and_are_the_tasks_own(show: Any, show_saved: Any) -> None:
    examples = [(text, int("cat" in text.split())) for text in texts_of(120, 3)]
    task = bl.task(lens_of(), examples, progress=False)
    view = task.explore()
    seen = show(view, width=480, theme="dark")
    leaf(seen, "Layers")
    seen.root.get_by_role("button", name="Which layer knows the labels?").press("Enter")
    layers, told = task.layers(), seen.part("task-layers")
    expect(told.locator("p").first).to_have_text(layers.said)
    path = told.locator("[data-curve]").get_attribute("d") or ""
    heights = [float(point.split()[1]) for point in re.findall("[ML]([^ML]+)", path)]
    means = layers.table["mean"].to_numpy()
    assert np.corrcoef(heights, means)[0, 1] == pytest.approx(-1, abs=1e-6) and len(heights) == 4
    shown = told.locator("tbody tr").evaluate_all("all => all.map(one => one.children[1].textContent)")
    assert shown == [f"{mean:.3f}" for mean in means]
    assert seen.axe() == [] and seen.page.evaluate("() => document.documentElement.scrollWidth - innerWidth") <= 0
    kept = show_saved(view, width=950)
    leaf(kept, "Layers")
    expect(kept.part("task-layers").locator("p").first).to_have_text(layers.said)


SIDES = ("Confusion", "Scores", "Heads", "Errors", "Slices")


def everything(seen: Seen) -> dict[str, Any]:
    found = {}
    for side in SIDES:
        leaf(seen, side)
        seen.settled()
        found[side] = seen.axe()
        wide = seen.page.evaluate("() => document.documentElement.scrollWidth - innerWidth")
        assert wide <= 0, side
    return {side: what for side, what in found.items() if what}


@pytest.mark.parametrize(
    ("width", "theme"), [(480, "light"), (950, "dark"), pytest.param(1400, "light", marks=pytest.mark.long)]
)
def test_axe_finds_nothing_serious_beside_the_list(
    show: Any, task: bl.Task, heads: Any, width: int, theme: str
) -> None:
    view = task.explore(heads_found=heads, errors_found=task.errors(2))
    assert everything(show(view, width=width, theme=theme)) == {}


def test_a_saved_page_has_what_was_found_and_says_what_needs_the_model(
    show_saved: Any, task: bl.Task, heads: Any
) -> None:
    seen = show_saved(task.explore(heads_found=heads, row=WRONG), width=950, theme="dark")
    expect(opened(seen)).to_contain_text(f"Example {WRONG} is")
    assert seen.part("task").get_by_role("button", name="Layers", exact=True).count() == 0
    leaf(seen, "Heads")
    expect(seen.part("task-heads")).to_contain_text(heads.said)
    needs = "This needs the model, which a saved page does not hold. Open the notebook."
    expect(seen.part("work-pruning")).to_contain_text(needs)
    leaf(seen, "Errors")
    expect(seen.part("work-errors")).to_contain_text(needs)
    assert seen.part("work-errors").get_by_role("button").count() == 0
    leaf(seen, "Slices")
    expect(seen.part("task-slices")).to_be_visible()
    leaf(seen, "Confusion")
    assert everything(seen) == {}


def test_two_views_of_one_document_do_not_know_of_each_other(page_of: Any, task: bl.Task) -> None:
    few = bl.task(task.lens, mixed()[2][:2], progress=False)  # a page holds the runs of its examples
    page = page_of.framed([saved(few.explore(row=n)) for n in (1, 0)], width=1000)
    for n, wanted in enumerate((1, 0)):
        frame = page.frame_locator("iframe").nth(n)
        expect(frame.get_by_test_id("task-opened")).to_contain_text(f"Example {wanted} is")


def test_what_was_fixed_and_broken_is_listed_and_opens_in_both_models(show: Any) -> None:
    before, after = turned()
    examples = [(text, "warm" if label else "cold") for text, label in labelled(60)]
    change = bl.task(after, examples, progress=False).against(before, texts=4)
    seen = show(change.explore(), width=1400)
    side = seen.part("task-change")
    expect(side).to_contain_text(change.said)
    broken = change.table[change.table["change"] == "broken"]
    side.get_by_role("button", name=f"{len(broken)} broken").click()
    expect(seen.part("task-count")).to_have_text(f"{len(broken)} of 60 examples")
    table = change.after.table.set_index("row")
    order = table.loc[broken["row"]].sort_values("loss", ascending=False, kind="stable").index.tolist()
    row(seen, order[1]).click()  # one click
    one = broken.set_index("row").loc[order[1]]
    expect(opened(seen)).to_contain_text(f"The model before guessed {one['before']}: broken.")
    seen.root.get_by_role("button", name="Both models").click()  # and a second one
    both = change.compare(order[1])
    expect(seen.part("compare-answers")).to_have_text(both.answers().said)
    expect(seen.part("compare")).to_contain_text("The pictures above are of b.")
    seen.root.get_by_role("button", name="Stop comparing").click()
    seen.select("effect on").select_option("accuracy")
    seen.select("each part").select_option("mean")
    expect(seen.part("cost-turned")).to_have_text(
        re.compile(r"About \d+ s: a backward pass over 60 texts, then about 11 passes over 30 of each model\.")
    )
    seen.root.get_by_role("button", name="Which heads matter now and did not?").click()
    expect(seen.part("task-turned")).to_contain_text(change.effects(ablation="mean", measure="accuracy").said)
    expect(seen.part("task-turned").locator("tbody tr")).to_have_count(15)
    assert seen.axe() == []
