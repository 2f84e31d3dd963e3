"""The view of a retrieval: the worst failure is open, its word is out in a click, a saved page says what it lacks."""

from __future__ import annotations

import base64
import csv
import json
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

import bertlens as bl
from bertlens.export import bundle
from bertlens.search.score_difference import Contrast
from bertlens.search.view.case_answers import gains_of
from browser.views import AXE, FINDINGS
from unit import tiny_encoders
from unit.asking import replies
from unit.tiny_encoders import words

CORPUS = {f"p{at}": words(6 + at % 5, at) for at in range(40)}
QUERIES = {f"q{at}": words(4, 100 + at) for at in range(300)}
RELEVANCE = {f"q{at}": [f"p{at % 40}"] for at in range(300)}
HELD = 2
FEW = 10  # questions that all are tried in seconds
CASE = {"wrong": None, "right": None, "texts": None}
# A document with the view in it, whose kernel is this process
HOST = """
const { default: widget } = await import(URL.createObjectURL(
    new Blob([JSON.parse(document.getElementById("code").textContent)], { type: "text/javascript" })));
const listeners = [];
const state = JSON.parse(document.getElementById("state").textContent);
const emit = (name, ...values) => listeners.filter(([of]) => of === name).forEach(([, hear]) => hear(...values));
const model = {
    get: (name) => state[name],
    set: (name, value) => { state[name] = value; emit(`change:${name}`); },
    save_changes: () => kernel(JSON.stringify({ state })),
    on: (name, hear) => listeners.push([name, hear]),
    off: (name, hear) => listeners.splice(listeners.findIndex(([of, one]) => of === name && one === hear), 1),
    send: async (message) => JSON.parse(await kernel(JSON.stringify(message))).forEach(([fields, files]) =>
        emit("msg:custom", fields, files.map((text) => new DataView(
            Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0)).buffer)))),
};
widget.render({ model, el: document.getElementById("host") });
"""


@cache
def search(n: int = 300) -> bl.Retrieval:
    lens = bl.Lens(tiny_encoders.encoder(similarity_fn_name="cosine"))
    return bl.retrieval(lens, dict([*QUERIES.items()][:n]), CORPUS, dict([*RELEVANCE.items()][:n]), progress=False)


@cache
def saved() -> str:
    return str(search().explore().to_html(contrasts=HELD, progress=False))


@pytest.fixture
def live(page_of: Any) -> Callable[..., tuple[Page, bl.RetrievalView]]:
    def opened(n: int = 300, **options: Any) -> tuple[Page, bl.RetrievalView]:
        view = search(n).explore()

        def kernel(message: str) -> str:
            asked = json.loads(message)
            if "state" in asked:
                view.set_state(asked["state"])
                return ""
            sent = [
                (fields, [base64.b64encode(file).decode() for file in files]) for fields, files in replies(view, asked)
            ]
            return json.dumps(sent)

        page: Page = page_of("<!doctype html><title>host</title>", **options)
        page.expose_function("kernel", kernel)
        state = json.dumps({"query": view.query, "theme": view.theme})
        code = json.dumps(bundle.text("search.js")).replace("<", "\\u003c")
        page.set_content(
            f"<!doctype html><style>{bundle.text('search.css')}</style><div id=host></div>"
            f'<script type="application/json" id="code">{code}</script>'
            f'<script type="application/json" id="state">{state}</script><script type="module">{HOST}</script>'
        )
        return page, view

    return opened


def part(page: Page, name: str) -> Locator:
    return page.get_by_test_id(name)


def listed(page: Page) -> Locator:
    return page.get_by_role("listbox").get_by_role("option")


def best_of(contrast: Contrast) -> str:
    """The word of the wrong passage that takes the order nearest to turning, each of those tried hidden alone."""
    gains = gains_of(contrast, "wrong")
    keys = sorted(gains, key=lambda key: -abs(gains[key]))[:6]
    sign = 1 if contrast.difference > 0 else -1

    def gap(key: str) -> float:
        after = contrast.without(key, n_random=0).iloc[1]
        return sign * float(after["wrong"] - after["right"])

    return min(keys, key=gap)


def test_another_failure_is_opened_while_the_page_is_out_of_sight(page_of: Any) -> None:
    """Nothing has a place then; arcs are drawn once it is shown."""
    page = page_of.framed([saved()], width=950)
    frame, view = page.locator("iframe"), page.frame_locator("iframe")
    expect(view.locator("[data-arc]").first).to_be_visible()
    frame.evaluate("frame => { frame.style.display = 'none' }")
    second = view.locator("[role=listbox] [role=option]").nth(1)  # roles are of what is shown
    second.dispatch_event("click")
    expect(second).to_have_attribute("aria-selected", "true")
    frame.evaluate("frame => { frame.style.display = '' }")
    expect(view.locator("[data-arc]").first).to_be_visible()


def test_the_worst_failure_is_open_and_its_word_is_out_in_a_click(tab_of: Any) -> None:
    page = tab_of(saved(), width=950)
    failures = search().failures().sort_values("gap", ascending=False, kind="stable")
    contrast = search().contrast(failures["query"].iloc[0])
    rows = listed(page)
    expect(rows.first).to_contain_text(contrast.texts[0])
    expect(rows.first).to_have_attribute("aria-selected", "true")
    assert rows.count() < 30 and rows.first.get_attribute("aria-setsize") == str(len(QUERIES))
    wrong = page.get_by_role("heading", name=f"{len(failures)} of {len(QUERIES)} wrong")
    expect(wrong).to_be_visible()
    expect(part(page, "claim").locator("p").first).to_have_text(contrast.said.replace("“", "").replace("”", ""))
    scores = [f"{score:.3f}".replace("-", "−") for score in contrast.scores]
    for n, score in enumerate(scores):
        expect(part(page, "scores").locator(f"[data-score='{n}'] text").last).to_have_text(score)
    assert page.locator("[data-arc]").count() >= 4  # words of the question are joined to both passages
    page.get_by_role("button", name="What if").click()
    best = best_of(contrast)
    table = contrast.without(best, frequencies=search().frequencies)
    expect(part(page, "outcome")).to_have_text(table.attrs["said"].replace("“", "").replace("”", ""))
    expect(part(page, "scores")).to_have_attribute("data-turned", str(bool(table["turned"].iloc[1])).lower())
    expect(part(page, "scores").locator("[data-score='0'] text").last).to_have_text(
        f"{table['wrong'].iloc[1]:.3f}".replace("-", "−")
    )
    expect(page.locator(".bl-wrong .bl-out").first).to_be_visible()
    page.get_by_role("button", name="Put it back").click()
    expect(part(page, "scores").locator("[data-score='0'] text").last).to_have_text(scores[0])
    head = part(page, "strip-head").get_by_role("button").first
    head.click()
    expect(part(page, "outcome")).to_have_text(head.get_attribute("title") or "")
    page.get_by_text("How this is counted").click()
    line = page.locator(".bl-notes code").inner_text()
    assert isinstance(eval(line, {"r": search()}), bl.SimilarityView)
    sides = eval(line.removesuffix(".explore()"), {"r": search()}).sides
    assert all(side.reading.text.endswith(text) for side, text in zip(sides, contrast.texts, strict=False))


def test_keys_go_through_the_list_and_through_words_and_a_page_says_what_it_lacks(tab_of: Any) -> None:
    page = tab_of(saved(), width=950)
    body = page.locator(".bl-wrong .bl-body")
    body.focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator(".bl-hidden[aria-live]")).to_contain_text("of the difference")
    page.keyboard.press("Enter")
    expect(page.locator(".bl-wrong .bl-out").first).to_be_visible()
    page.get_by_role("listbox").focus()
    page.keyboard.press("End")
    expect(page.locator("[role=option][aria-selected=true]")).to_be_in_viewport()
    expect(page.get_by_label("Why is the wrong passage first?")).to_contain_text("it needs Python")
    page.keyboard.press("Home")
    expect(part(page, "claim")).to_be_visible()
    expect(page.get_by_role("button", name="Rewrite").first).to_be_disabled()
    page.get_by_role("searchbox").fill("zzzz")
    expect(page.get_by_text("No question is so")).to_be_visible()


@pytest.mark.parametrize(("width", "theme"), [(480, "dark"), (950, "light")])
def test_it_fits_and_has_no_grave_fault_of_access(tab_of: Any, width: int, theme: str) -> None:
    page = tab_of(saved(), width=width, theme=theme)
    expect(part(page, "strip-head").get_by_role("button").first).to_be_visible()
    assert page.evaluate("() => document.documentElement.scrollWidth") <= width
    page.evaluate(AXE.read_text(encoding="utf-8"))
    assert page.evaluate(FINDINGS) == []


def test_ids_of_200_letters_wrap(tab_of: Any, tmp_path: Path) -> None:
    """On the page of tables, where hubs and notes name them, and in a case with its line of Python."""
    long = {name: f"{name}{'x' * 200}" for name in [*CORPUS, *QUERIES]}
    queries = {long[name]: text for name, text in [*QUERIES.items()][:30]}
    judged = {long[name]: [long[document] for document in RELEVANCE[name]] for name in [*QUERIES][:29]}
    corpus = {long[name]: text for name, text in CORPUS.items()}
    r = bl.retrieval(search().lens, queries, corpus, judged, progress=False)
    assert any("x" * 30 in note for note in r.collection.notes)
    page = tab_of(r.to_html(tmp_path / "tables.html").read_text(encoding="utf-8"), width=1200)
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 1200
    page = tab_of(r.explore().to_html(contrasts=1, progress=False), width=950)
    page.get_by_text("How this is counted").click()
    expect(page.get_by_text("r.contrast(")).to_be_visible()
    wide = "() => [...document.querySelectorAll('p, code')].filter((one) => one.scrollWidth > innerWidth).length"
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 950 and page.evaluate(wide) == 0


def test_tables_and_figures_are_files(tab_of: Any, tmp_path: Path) -> None:
    page = tab_of(saved(), width=950)
    page.get_by_role("tab", name="How good?").click()
    cell = part(page, "table-quality").locator("tbody tr").first.locator("td").first
    expect(cell).to_have_text(f"{search().metrics()['mean'].iloc[0]:.3f}")

    def file(button: Locator) -> str:
        with page.expect_download() as download:
            button.click()
        path = tmp_path / download.value.suggested_filename
        download.value.save_as(path)
        return path.read_text(encoding="utf-8")

    text = file(part(page, "table-quality").get_by_role("button", name="CSV"))
    assert f"{search().metrics()['mean'].iloc[0]:.6f}"[:-1] in text
    page.locator("summary", has_text="Export").click()
    expect(
        page.get_by_text('Hard negatives need Python: r.hard_negatives(5).save("triplets.parquet").')
    ).to_be_visible()
    line = page.locator(".bl-menu-line", has_text="180 mm")
    assert 'width="180mm"' in file(line.get_by_role("button", name="SVG"))


def test_a_question_that_is_typed_is_ranked_by_the_kernel(live: Any) -> None:
    page, _ = live(width=1280)
    box = page.get_by_label("A question of your own")
    expect(box).to_be_enabled()
    box.fill(QUERIES["q7"])
    page.get_by_role("button", name="Rank").click()
    table = search().ranking("q7", 10)
    rows = page.get_by_role("listbox", name="Passages").get_by_role("option")
    for n, (passage, score) in enumerate(zip(table["passage"], table["score"], strict=True)):
        expect(rows.nth(n).locator(".bl-number")).to_have_text(f"{score:.3f}".replace("-", "−"))
        expect(rows.nth(n).locator("small")).to_contain_text(passage)
    expect(page.get_by_label("Which one passage")).to_have_value(table["passage"].iloc[0])
    said = search().contrast("q7", *table["passage"][:2]).said.split(" of the question")[0]
    expect(part(page, "claim")).to_contain_text(said.replace("“", "").replace("”", ""))
    expect(part(page, "strip-head").get_by_role("button").first).to_be_visible()
    page.get_by_role("button", name="Back to the questions").click()
    expect(listed(page).first).to_have_attribute("aria-selected", "true")


def test_a_rewritten_text_moves_both_scores(live: Any) -> None:
    page, view = live(width=1400)
    expect(part(page, "claim")).to_be_visible()
    page.locator(".bl-query").get_by_role("button", name="Rewrite").click()
    page.get_by_role("textbox", name="Question, rewritten").fill("the mat was warm")
    contrast = search().contrast(view.query).rewritten(query="the mat was warm")
    for n, score in enumerate(contrast.scores):
        expect(part(page, "scores").locator(f"[data-score='{n}'] text").last).to_have_text(
            f"{score:.3f}".replace("-", "−")
        )
    expect(part(page, "outcome")).to_contain_text("Rewritten so, the order")
    page.get_by_role("button", name="Done").click()
    expect(page.locator(".bl-query .bl-body")).to_contain_text("warm")
    page.get_by_role("button", name="As it was").click()
    listed(page).nth(1).click()
    expect(listed(page).nth(1)).to_have_attribute("aria-selected", "true")
    expect(part(page, "claim").locator("p").first).not_to_be_empty()
    page.wait_for_function("() => document.querySelector('.bl-case:not(.bl-waits)')")
    assert view.query == replies(view, {"id": 1, "op": "search"})[0][0]["questions"]["query"][1]
    page.locator(".bl-right .bl-case-word").first.click()
    expect(part(page, "outcome")).to_contain_text("hidden in the right passage the order")
    page.get_by_role("button", name="deleted").click()
    expect(part(page, "outcome")).to_contain_text("deleted in the right passage the order")


def test_five_tasks_take_at_most_two_clicks_each(live: Any, tmp_path: Path) -> None:
    """What a reader came for is on the screen that `r.explore()` opens with, or a click or two away."""
    page, view = live(FEW, width=1400, height=900)
    page.evaluate(
        "() => { window.clicks = 0; addEventListener('click', (one) => { window.clicks += one.isTrusted; }, true); }"
    )

    def seen(clicks: int, answer: Locator) -> None:
        expect(answer).to_be_in_viewport()
        assert page.evaluate("() => window.clicks") <= clicks
        page.evaluate("() => { window.clicks = 0; }")

    failures = search(FEW).failures().sort_values("gap", ascending=False, kind="stable")
    contrast = search(FEW).contrast(failures["query"].iloc[0])
    rows = listed(page)
    expect(rows.first).to_contain_text(contrast.texts[0])  # the worst failure
    seen(0, rows.first)
    rows.first.click()  # why
    expect(part(page, "claim").locator("p").first).to_have_text(contrast.said.replace("“", "").replace("”", ""))
    seen(1, part(page, "claim").locator("p").first)
    page.get_by_role("button", name="What if").click()  # which word turns it
    table = contrast.without(best_of(contrast), frequencies=search(FEW).frequencies)
    expect(part(page, "outcome")).to_have_text(table.attrs["said"].replace("“", "").replace("”", ""))
    words = replies(view, {"id": 1, "op": "search_words", **CASE, "query": view.query})[0][0]["rows"][:6]
    expect(part(page, "strip-word").locator(".bl-turns")).to_have_count(sum(row["turned"] for row in words))
    seen(2, part(page, "outcome"))
    page.get_by_role("button", name=f"And in all {len(failures)} failures?").click()  # does it hold
    said = part(page, "table-turns").locator("p").first
    expect(said).to_contain_text(f"of {len(failures)} failures", timeout=60_000)
    seen(1, said)
    page.locator("summary", has_text="Export").click()  # the hard negatives
    with page.expect_download() as download:
        part(page, "negatives").get_by_role("button", name="CSV").click()
    mined = search(FEW).hard_negatives(5)
    seen(2, part(page, "negatives").get_by_text(mined.said))
    file = tmp_path / download.value.suggested_filename
    download.value.save_as(file)
    assert file.name.endswith("hard-negatives.csv")
    assert file.read_bytes() == mined.save(tmp_path / "triplets.csv").read_bytes()


ARABIC = [
    "تنام القطة على السجادة الدافئة قرب النافذة الكبيرة كل مساء في فصل الشتاء الطويل، ولا تستيقظ قبل الصباح.",
    "يشرب الأطفال الحليب البارد بعد المدرسة، ثم يلعبون في الحديقة الصغيرة خلف البيت القديم حتى المساء.",
    "كتب المهندس تقريرا طويلا عن جناح الطائرة، وعن الهواء الذي يمر فوقه بسرعة كبيرة في الأيام الحارة.",
]


def test_arabic_is_laid_from_right_to_left_and_so_are_its_keys(tab_of: Any, embedded_lens: bl.Lens) -> None:
    question = {"q": "أين تنام القطة في الشتاء؟"}
    arabic = bl.retrieval(embedded_lens, question, ARABIC, {"q": ["2"]}, progress=False)
    page = tab_of(str(arabic.explore().to_html(contrasts=1, progress=False)), width=1400)
    body = page.locator(".bl-wrong .bl-body")
    body.focus()
    for key in ("ArrowLeft", "ArrowLeft"):
        page.keyboard.press(key)
    expect(page.locator(".bl-wrong .bl-spot")).to_have_text("القطة")
    for width in (1400, 480):
        page.set_viewport_size({"width": width, "height": 800})
        boxes = body.locator("[data-row]").evaluate_all(
            "all => all.flatMap((word) => [...word.getClientRects()]).map(({ right, top }) => [Math.round(top), right])"
        )
        assert boxes[0][1] > boxes[1][1]
        ends = [max(right for top, right in boxes if top == line) for line in {top for top, _ in boxes}]
        assert len(ends) > 1 and ends == pytest.approx([ends[0]] * len(ends), abs=1)
        assert page.evaluate("() => document.documentElement.scrollWidth") <= width


@cache
def sized() -> Any:
    """Each part as Python says it."""
    return {"layer": search().layers(progress=False), "dimensions": search().dimensions(progress=False)}


def drawn(page: Page, by: str) -> list[float]:
    """The heights of the curve, as the measure, by two ticks of its axis."""
    chart = part(page, f"curve-{by}").locator("svg")
    path = chart.locator("[data-curve]").get_attribute("d") or ""
    ticks = chart.locator("g > g").evaluate_all(
        "all => all.map(one => [+one.lastChild.textContent.replace('−', '-'), +one.firstChild.getAttribute('y1')])"
    )
    (value, y), (other, other_y) = ticks[0], ticks[-1]
    heights = [float(point.split()[1]) for point in re.findall("[ML]([^ML]+)", path)]
    return [value + (height - y) / (other_y - y) * (other - value) for height in heights]


@pytest.mark.parametrize(("width", "theme"), [(390, "dark"), (938, "light")])
def test_layers_and_dimensions_are_begun_by_keyboard_and_are_pythons(live: Any, width: int, theme: str) -> None:
    page, view = live(width=width)
    view.theme = theme
    page.get_by_role("tab", name="Questions").focus()
    for _ in range(5):
        page.keyboard.press("ArrowRight")
    expect(page.get_by_role("tab", name="Layers and dimensions")).to_be_focused()
    for name in ("Rank by each layer", "Rank by fewer dimensions"):
        page.get_by_role("button", name=name).press("Enter")
    for by, name in (("layer", "layers"), ("dimensions", "dimensions")):
        sheet, made = part(page, f"table-{name}"), sized()[by]
        expect(sheet.locator("p").first).to_have_text(made.said, timeout=60_000)
        table = made.table.sort_values(by, kind="stable")
        assert sheet.locator("tbody tr").count() == len(table)
        plain = table[~table["centred"]] if "centred" in table else table
        assert drawn(page, by) == pytest.approx(plain["mean"].tolist(), abs=1e-3)
        cells = sheet.locator("tbody tr").last.locator("td")
        assert cells.first.inner_text() == f"{table['mean'].iloc[-1]:.3f}"
        ending = ", centred" if by == "layer" else ""
        sheet.get_by_role("button", name="CSV").focus()
        with page.expect_download() as download:
            page.keyboard.press("Enter")
        lines = [line for line in Path(download.value.path()).read_text("utf-8-sig").splitlines() if line[:1] != "#"]
        [row] = list(csv.DictReader(lines))[-1:]
        assert float(row["mean"]) == table["mean"].iloc[-1] and row["part"] == str(table[by].iloc[-1]) + ending
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.evaluate(AXE.read_text(encoding="utf-8"))
    assert page.evaluate(FINDINGS) == []


def test_a_saved_page_has_layers_where_they_were_asked_for(tab_of: Any) -> None:
    view = search().explore()
    told = {"again": True}
    while told.get("again"):
        told = replies(view, {"id": 1, "op": "search_work", "work": "layers"})[0][0]
    page = tab_of(str(view.to_html(contrasts=0, progress=False)), width=938)
    page.get_by_role("tab", name="Layers and dimensions").click()
    expect(part(page, "curve-layer")).to_be_visible()
    assert page.get_by_role("button", name="Rank by fewer dimensions").count() == 0
    assert part(page, "work-dimensions").count() == 0
    bare = tab_of(saved(), width=938)
    expect(bare.get_by_role("tab", name="Hubs")).to_be_visible()
    assert bare.get_by_role("tab", name="Layers and dimensions").count() == 0
