"""A lesson beside the view: walked by mouse with a kernel, by keys alone in a saved page; what it withholds."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from playwright.sync_api import expect

import bertlens as bl
from browser import walk
from browser.harness import watched
from browser.views import Seen, saved
from unit.tiny import bert_with

TEXT = "The cat sat on the mat because it was tired."
OTHER = "The dog lay on the rug."
step = bl.Lesson.step


@pytest.fixture(scope="module")
def lesson() -> bl.Lesson:
    row = {"text": TEXT, "layer": 4, "head": 9, "query": 8}
    return bl.Lesson(
        "A <b>row</b>",
        [
            step("# One row\nRead **this**, not <img src=x onerror=boom()>.", row),
            step("Which word?", row, predict="key", hints=["one", "two"], after="It looks there."),
            step("How much?", row, predict="number", of="weight(it, cat)", within=0.05),
            step("Look back.", {"text": OTHER, "layer": 4, "head": 9}, check="previous > 0.5"),
            step("Why?", model="Because."),
        ],
    )


def panel(seen: Seen):
    return seen.root.get_by_role("region", name="Lesson: A <b>row</b>")


def test_a_lesson_is_walked_by_mouse(show, embedded_lens, lesson):
    trace = embedded_lens.trace(OTHER)
    view = trace.explore(lesson=lesson)
    seen = show(view, width=974)
    here = panel(seen)
    expect(here).to_contain_text("step 1 of 5")
    expect(here).to_contain_text("<img src=x onerror=boom()>")  # text stays text
    expect(seen.root.get_by_label("Sentence A")).to_have_value(TEXT)  # the state's own text was run
    onward = here.get_by_role("button", name="Next step")
    onward.click()
    work = seen.root.locator(".bl-main")
    expect(work).not_to_be_visible()  # the answer is withheld
    weights = embedded_lens.trace(TEXT).attention(4)[9][8]
    tokens = embedded_lens.trace(TEXT).tokens
    best = max(range(1, len(tokens) - 1), key=lambda j: weights[j])
    here.get_by_role("button", name="Hint").click()
    expect(here).to_contain_text("one")
    here.get_by_role("group").get_by_role("button", name="mat", exact=True).click()
    expect(here.get_by_role("status")).to_contain_text(f"“{tokens[best]}”, {weights[best]:.2f}")
    expect(here.get_by_role("status")).to_contain_text(f"“mat” got {weights[tokens.index('mat')]:.2f}")
    expect(here.get_by_role("status")).to_contain_text("It looks there.")
    expect(work).to_be_visible()
    onward.click()
    expect(work).not_to_be_visible()
    here.get_by_label("Your guess").fill(f"{weights[tokens.index('cat')] + 0.04:.2f}".replace(".", ","))
    here.get_by_role("button", name="Guess").click()
    expect(here.get_by_role("status")).to_contain_text(f"✓ {weights[tokens.index('cat')]:.2f}")
    onward.click()
    expect(here).to_contain_text("Not yet")
    expect(seen.root.get_by_label("Sentence A")).to_have_value(OTHER)
    backs = view.trace.attention(0)[2].diagonal(-1).sum() / view.trace.n_tokens
    assert backs > 0.5
    seen.thumb(0, 2).click()
    expect(here.get_by_role("status")).to_contain_text("L0·H2")
    here.get_by_label("all steps").select_option("4")
    here.get_by_label("Your answer").fill("Nothing to do.")
    here.get_by_role("button", name="Done").click()
    expect(here.get_by_role("status")).to_contain_text("Because.")
    here.get_by_label("Your name").fill("Zoë")
    line = seen.copied(here.get_by_role("button", name="Copy my result").click)
    table = view.lesson_results
    read = lesson.grade(line)
    assert read.attrs["name"] == "Zoë" and read["step"].tolist() == [1, 2, 3, 4, 5]
    assert read[1:].reset_index(drop=True).equals(table)
    with pytest.raises(bl.InputError, match="damaged or was cut"):
        lesson.grade(line[:40] + line[41:])
    assert table["step"].tolist() == [2, 3, 4, 5]
    assert table["right"].tolist() == [best == tokens.index("mat"), True, True, None]
    assert table["guess"][0] == "mat" and table["truth"][2] == "L0·H2" and table["written"][3] == "Nothing to do."
    assert table["hints"].tolist() == [1, 0, 0, 0]
    assert list(table["act"]) == ["predict", "predict", "find", "write"]
    found = seen.axe()
    assert found == [], json.dumps(found, indent=1)


def test_a_lesson_is_presented_with_notes(show, show_saved, embedded_lens):
    steps = [step("# One\nLook.", {"text": TEXT}, notes="Wait for **all**."), step("Two.")]
    view = embedded_lens.trace(TEXT).explore(lesson=bl.Lesson("A <b>row</b>", steps))
    assert "Wait for" not in saved(view)  # readers get no notes
    seen = show(view, width=950)
    here = panel(seen)
    expect(here).not_to_contain_text("Wait for")
    here.get_by_role("button", name="Notes").click()
    expect(here).to_contain_text("Wait for all.")
    here.get_by_role("button", name="Present").click()
    expect(here.get_by_role("button", name="Small")).to_be_visible()
    size = seen.page.viewport_size
    expect(seen.root.locator(".bl-lessoned[popover]")).to_be_visible()
    shown = seen.root.locator(".bl-lessoned").bounding_box()
    assert (shown["x"], shown["y"]) == (0, 0) and shown["width"] >= size["width"] - 16
    letters = here.locator("p").first.evaluate("(one) => parseFloat(getComputedStyle(one).fontSize)")
    assert letters >= 20
    seen.thumb(1, 8).click()
    expect(seen.part("head-title")).to_have_text("L1·H8")
    here.get_by_role("button", name="Next step").press("ArrowRight")
    expect(here).to_contain_text("step 2 of 2")
    seen.page.keyboard.press("Escape")
    expect(here.get_by_role("button", name="Present")).to_be_visible()
    expect(seen.root.locator(".bl-lessoned[popover]")).to_have_count(0)


TOUCH = {"viewport": {"width": 810, "height": 1080}, "device_scale_factor": 2, "is_mobile": True, "has_touch": True}


@pytest.fixture(scope="module")
def path(embedded_lens, tmp_path_factory) -> Path:
    """A saved page of the lesson."""
    path = tmp_path_factory.mktemp("saved") / "lesson.html"
    path.write_text(saved(embedded_lens.trace(walk.TEXT).explore(lesson=walk.LESSON)), encoding="utf-8")
    return path


@pytest.mark.parametrize("way", ["mouse", "keys", "touch"])
def test_one_lesson_is_walked_in_a_saved_page(browser, embedded_lens, path, way):
    size = TOUCH if way == "touch" else {"viewport": {"width": 1280, "height": 720}}
    context, page, log = watched(browser, path.as_uri(), **size)
    page.goto(path.as_uri())
    done = walk.walk(Seen(page), way, embedded_lens, own=False)
    page.reload()  # what was done is kept in this browser
    here = Seen(page).root.get_by_role("region", name="Lesson: One lesson")
    expect(here.locator("option", has_text="✓")).to_have_count(5)
    here.get_by_label("all steps").select_option("5")
    expect(here).to_contain_text("kept in this browser")
    here.get_by_label("Your name").fill("Zoë")
    line = Seen(page).copied(here.get_by_role("button", name="Copy my result").click)
    assert walk.LESSON.grade(line).to_dict() == done
    here.get_by_role("button", name="begin anew").click()
    expect(here).to_contain_text("step 1 of 6")
    page.reload()
    expect(here).to_contain_text("step 1 of 6")
    expect(here.locator("option", has_text="✓")).to_have_count(0)
    context.close()
    assert log.problems() == []


def test_in_a_frame_without_storage_a_lesson_is_kept_in_memory(page_of, path):
    page = page_of.framed([path.read_text(encoding="utf-8")], width=1280)
    frame = page.frame_locator("iframe")
    here = frame.get_by_role("region", name="Lesson: One lesson")
    here.get_by_label("all steps").select_option("5")
    here.get_by_label("Your answer").fill("So.")
    here.get_by_role("button", name="Done").click()
    expect(here).to_contain_text("kept in this page only; close it and it is gone")


def test_a_saved_lesson_is_walked_by_keys(show_saved, embedded_lens, lesson):
    view = embedded_lens.trace(TEXT).explore(lesson=lesson)
    view.lesson_done = [{"step": 2, "guess": "mat"}]
    seen = show_saved(view, width=480)
    here = panel(seen)
    expect(here).to_contain_text("step 1 of 5")
    expect(here.locator("option", has_text="✓")).to_have_count(0)  # another reader begins anew
    box, view_box = here.bounding_box(), seen.page.viewport_size
    assert box["y"] + box["height"] <= view_box["height"] + 1  # a sheet from below, all of it in sight
    here.get_by_role("button", name="Next step").focus()
    seen.page.keyboard.press("ArrowRight")
    expect(here).to_contain_text("step 2 of 5")
    expect(seen.root.locator(".bl-main")).not_to_be_visible()
    seen.page.keyboard.press("Tab")
    seen.page.keyboard.press("Enter")  # the first word
    expect(here.get_by_role("status")).to_contain_text("“the” got")
    here.get_by_role("button", name="Next step").focus()
    seen.page.keyboard.press("ArrowRight")
    here.get_by_role("button", name="Show me").press("Enter")
    expect(here.get_by_role("status")).to_be_visible()
    here.get_by_role("button", name="Next step").press("Enter")
    expect(here).to_contain_text("This step is of another run.")
    here.get_by_role("button", name="Step before").press("ArrowLeft")
    expect(here).to_contain_text("step 3 of 5")
    found = seen.axe()
    assert found == [], json.dumps(found, indent=1)


def test_a_shipped_lesson_is_walked_by_keys_with_a_model(show, language_model):
    view = language_model.trace("Paris is the capital of [MASK].").explore(lesson="heads-off")
    seen = show(view, width=974)
    here = seen.root.get_by_role("region", name="Lesson: Switch heads off: does it matter?")
    onward = here.get_by_role("button", name="Next step")
    expect(seen.part("answer")).to_contain_text("coffee")
    onward.press("ArrowRight")
    expect(here).to_contain_text("step 2 of 8")
    expect(seen.part("answer")).not_to_be_visible()
    guess = here.get_by_label("Your guess")
    guess.fill("mat")
    guess.press("Enter")
    expect(here.get_by_role("status")).to_contain_text("“table”. Your guess: “mat”.")
    expect(seen.part("answer")).to_contain_text("table")
    onward.press("ArrowRight")
    expect(here).to_contain_text("step 3 of 8")
    expect(seen.root.get_by_role("region", name="What if")).not_to_be_visible()  # it would say the answer
    guess.fill("Table")
    guess.press("Enter")
    expect(here.get_by_role("status")).to_contain_text("✓ “table”")
    onward.press("ArrowRight")
    expect(here).to_contain_text("Not yet")
    assert view.trace.changes == ()  # those of the step before are taken back
    seen.thumb(1, 8).focus()
    seen.page.keyboard.press("x")
    expect(here.get_by_role("status")).to_contain_text("L1·H8 off")
    here.get_by_label("all steps").select_option("5")
    expect(seen.answer_bar("paris")).to_contain_text("0.73")
    seen.open_tab("Does it matter?")  # as the hint says, and as there is no key on a tablet
    menu = seen.root.locator(".bl-menu", has_text="What if").last
    menu.locator("summary").click()
    menu.get_by_role("button", name="all heads of L5 off").click()
    expect(here.get_by_role("status")).to_contain_text("✓")
    expect(seen.part("answer")).to_contain_text("europe")
    assert view.lesson_results["right"].tolist() == [False, True, True, True]
    here.get_by_label("all steps").select_option("6")
    here.get_by_label("all steps").select_option("5")
    expect(seen.part("answer")).to_contain_text("paris")


def test_a_lesson_of_another_model_says_so_and_offers_its_own(show, embedded_lens):
    tiny = bl.Lens(bert_with(embedded_lens.tokenizer), embedded_lens.tokenizer)
    view = tiny.trace(TEXT).explore(lesson="row-of-weights")
    seen = show(view, width=974)
    here = seen.root.get_by_role("region", name="Lesson: A row of weights")
    steps, offer = here.get_by_label("all steps"), here.get_by_role("button", name="Run all-MiniLM-L6-v2")
    expect(here).to_contain_text(f"Written for all-MiniLM-L6-v2; this is {tiny.model_name}.")
    steps.select_option("2")
    expect(here).to_contain_text(
        "This step is about L1·H8. This model has 2 layers of 2 heads: go on to the next step."
    )
    expect(here.get_by_role("group", name="Your guess: a word")).to_have_count(0)
    steps.select_option("5")  # any head: that can be done here
    expect(here.get_by_role("button", name="is my guess")).to_be_visible()
    steps.select_option("2")
    offer.click()
    expect(offer).to_have_count(0)
    assert view.trace.model_name == "all-MiniLM-L6-v2" and view.trace.text == TEXT
    here.get_by_role("group", name="Your guess: a word").get_by_role("button", name="was", exact=True).click()
    expect(here.get_by_role("status")).to_contain_text("✓ “was”, 0.65.")


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize(("width", "height"), [(480, 800), (950, 800), (1280, 720)])
def test_axe_finds_nothing_serious_at_any_width_and_theme(page_of, path, width, height, theme):
    seen = Seen(page_of(path, width=width, height=height, theme=theme))
    here = seen.root.get_by_role("region", name="Lesson: One lesson")
    for n in (1, 4, 5):  # withheld, to find, to write
        here.get_by_label("all steps").select_option(str(n))
        expect(here).to_contain_text(f"step {n + 1} of 6")
        found = seen.axe()
        assert found == [], json.dumps([n, found], indent=1)


def test_in_a_narrow_view_the_sheet_covers_what_is_below_and_the_answer_comes_above_it(show, embedded_lens):
    seen = show(embedded_lens.trace(walk.TEXT).explore(lesson=walk.LESSON), width=480)
    here = seen.root.get_by_role("region", name="Lesson: One lesson")
    layers = here.evaluate(
        """sheet => [sheet, ...sheet.parentElement.querySelectorAll(".bl-head *")]
            .map((one) => Number(getComputedStyle(one).zIndex) || 0)"""
    )
    assert layers[0] > max(layers[1:]) > 0  # rows and columns of the map have headers that stick
    seen.page.evaluate("scrollTo(0, 120)")
    here.get_by_role("button", name="Next step").click()
    expect(seen.root.locator(".bl-lesson-asked")).to_be_in_viewport()
    here.get_by_role("group", name="Your guess: a word").get_by_role("button").first.click()
    expect(seen.root.locator(".bl-main")).to_be_visible()
    seen.page.wait_for_function(
        """() => {
            const [row, sheet] = [".bl-head", ".bl-lesson"].map((name) => document.querySelector(name));
            const [top, end] = [row.getBoundingClientRect().top, sheet.getBoundingClientRect().top - 200];
            return 0 <= top && top < end;
        }"""
    )
    here.get_by_role("button", name="Next step").click()
    expect(seen.root.locator(".bl-atlas")).to_be_in_viewport(ratio=0.9)  # a head is to be chosen


def test_only_what_a_step_needs_is_bright(show, embedded_lens):
    seen = show(embedded_lens.trace(walk.TEXT).explore(lesson=walk.LESSON), width=1280)
    here = seen.root.get_by_role("region", name="Lesson: One lesson")

    def ringed(selector: str) -> bool:
        return seen.root.locator(selector).evaluate("one => getComputedStyle(one).outlineStyle === 'solid'")

    needs = {
        0: (False, False),
        1: (False, False),
        2: (False, True),
        3: (False, False),
        4: (True, True),
        5: (False, False),
    }
    for n, (text, heads) in needs.items():
        here.get_by_label("all steps").select_option(str(n))
        expect(here).to_contain_text(f"step {n + 1} of 6")
        assert ringed(".bl-stage") == text, n
        assert ringed(".bl-atlas .bl-scroll") == heads, n
        asks_cell, asks_head = n in (1, 3), n == 2
        expect(seen.part("claim")).to_be_visible(visible=not (asks_cell or asks_head))
        expect(seen.root.locator(".bl-arcs")).to_be_visible(visible=not asks_cell)
        colours = seen.root.locator(".bl-textword:not(.bl-asker)").evaluate_all(
            "all => [...new Set(all.map((one) => getComputedStyle(one).color))].length"
        )
        assert (colours == 1) == asks_cell, n
        onward = here.get_by_role("button", name="Next step").get_attribute("class") or ""
        assert ("bl-primary" in onward) == (n == 0)  # to read: what there is to do is to go on
    expect(seen.root.get_by_role("button", name="Present")).to_have_count(1)


def test_the_answer_stands_beside_steps_that_are_about_it(show, embedded_lens, language_model):
    """Another number beside a guess would be taken for what is asked."""
    beside = {}
    for name, lens in (("row-of-weights", embedded_lens), ("who-is-it", language_model), ("heads-off", language_model)):
        lesson = bl.Lesson.load(name)
        seen = show(lens.trace("The cat sat.").explore(lesson=lesson), width=974)
        here = seen.root.get_by_role("region", name="Lesson: ")
        beside[name] = []
        for n in range(1, len(lesson.steps) + 1):
            here.get_by_label("all steps").select_option(index=n - 1)
            expect(here).to_contain_text(f"step {n} of {len(lesson.steps)}")
            if seen.part("answer").evaluate("one => getComputedStyle(one).display") != "none":
                beside[name].append(n)
    assert beside == {"row-of-weights": [], "who-is-it": [7, 8], "heads-off": [1, 2, 3, 4, 5, 6, 7, 8]}
