"""From a row of the table of all heads: the texts of the corpus in which this head does it most."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

import bertlens as bl
from bertlens.measures.statistics import SURVEY_NAMES
from bertlens.survey.text_statistics import text_statistics
from browser.views import PATIENCE, Seen, number

CELL = {"layer": 1, "head": 8, "view": "table", "settings": {"table_of": "atlas"}}
PAIR = ("The dog lay on the rug.", "It was tired.")
TEXTS = [f"The {a} {b} on the old {c}." for a in ("cat", "dog") for b in ("sat", "lay") for c in ("mat", "rug")]
TEXTS += ["Yes.", "<b>bold</b> & \u202ebold", "word " * 60 + ".", "tree " * 120 + "."]  # the last one is cut


@pytest.fixture(scope="module")
def stats(embedded_lens):
    return bl.survey.head_stats(embedded_lens, [*TEXTS, PAIR], progress=False)


def lines(seen: Seen) -> list[tuple[float, str, int]]:
    """Value, text and number of tokens of each line."""
    found = seen.part("head-texts").locator("li").all_inner_texts()
    parts = [re.fullmatch(r"(\S+) (.*) (\d+) tokens", one, re.DOTALL) for one in found]
    return [(number(one[1]), one[2], int(one[3])) for one in parts if one]


def visible(text: str) -> str:
    text = text.replace("\u202e", "⟨U+202E⟩")
    return text if len(text) <= 160 else f"{text[:160]}…"


def check(seen: Seen, stats, name: str, layer: int, head: int, by: str = "weight") -> None:
    table = stats.texts(name, layer, head, by=by)
    part = seen.part("head-texts")
    expect(part.locator("h3")).to_have_text(f"Texts in which L{layer}·H{head} does it most")
    mean = stats.values(name, by)[layer, head]
    expect(part.locator("header")).to_contain_text(
        f"by {by}: the highest of {table.attrs['texts']} texts of any length, whose mean is {mean:.3f}"
    )
    expect(part.locator("li")).to_have_count(len(table))
    for (value, text, tokens), row in zip(lines(seen), table.itertuples(), strict=True):
        assert value == pytest.approx(row.value, abs=6e-4) and tokens == row.tokens
        assert text == visible(" / ".join(filter(None, (row.text, row.text_pair))))


def test_the_texts_of_a_row_and_one_of_them_run(show, embedded_lens, pair, stats):
    """Title, mean, number, values and texts are Python's; a click runs a text, and its value is the same."""
    seen = show(pair.explore(**CELL, stats=stats), width=1400)
    check(seen, stats, "previous", 1, 8)
    seen.region("All heads, table").get_by_role("button", name="L3·H5", exact=True).click()
    check(seen, stats, "previous", 3, 5)
    seen.select("statistic").select_option("first")
    check(seen, stats, "first", 3, 5)
    seen.choice("rows by", "Norm ‖αf(x)‖").click()
    check(seen, stats, "first", 3, 5, "norm")
    part = seen.part("head-texts")
    line = lines(seen)[0]
    part.get_by_role("button", name=line[1], exact=True).focus()
    seen.page.keyboard.press("Enter")
    text = stats.texts("first", 3, 5, by="norm").iloc[0]
    expect(seen.root.get_by_role("textbox", name="Sentence A")).to_have_value(text.text, timeout=PATIENCE)
    again = text_statistics(embedded_lens.trace(text.text, text.text_pair or None))
    k = SURVEY_NAMES.index("first")
    assert float(again.numerators["norm"][k, 3, 5] / again.denominators[k]) == pytest.approx(line[0], abs=6e-4)
    check(seen, stats, "first", 3, 5, "norm")  # and they are still there

    seen.select("statistic").select_option("separator")  # of the cut text only the beginning is known
    for name in ("k90", "entropy", "punctuation"):
        seen.select("statistic").select_option(name)
        check(seen, stats, name, 3, 5, "norm")
        cut = part.locator("li", has_text=re.compile("^[^ ]+ tree"))
        if cut.count():
            expect(cut.get_by_role("button")).to_have_count(0)
            break
    else:
        raise AssertionError("no list has the long text")
    assert seen.axe() == []


def test_a_saved_page_has_them_and_runs_none(show_saved, pair, stats):
    seen = show_saved(pair.explore(**CELL, stats=stats), width=480)
    check(seen, stats, "previous", 1, 8)
    expect(seen.part("head-texts").locator("li button")).to_have_count(0)
    seen.region("All heads, table").get_by_role("button", name="L0·H2", exact=True).click()
    check(seen, stats, "previous", 0, 2)
    bare = show_saved(pair.explore(**CELL), width=480)
    expect(bare.region("All heads, table")).to_be_visible()
    expect(bare.root.get_by_text("does it most")).to_have_count(0)


def test_statistics_without_texts_say_so(show, pair, embedded_lens):
    stats = bl.survey.head_stats(embedded_lens, TEXTS[:3], progress=False, texts=False)
    seen = show(pair.explore(**CELL, stats=stats), width=480)
    expect(seen.root.get_by_text("These statistics hold no texts")).to_be_visible()
