"""Which words does the answer rest on? Opened by a click; its numbers are those of the Python functions."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Locator, expect

from bertlens import Lens, Trace, whatif
from bertlens.measures import attribution
from browser.views import Seen, number, rows_of
from unit.widgets.test_which_words import METHODS

MASKED = "The cat sat on the [MASK] because it was tired."


@pytest.fixture(scope="module")
def masked(language_model: Lens) -> Trace:
    return language_model.trace(MASKED)


def part(seen: Seen) -> Locator:
    return seen.part("which-words")


def opened(seen: Seen) -> None:
    """By keys."""
    seen.open_tab("Does it matter?")
    expect(seen.part("matter-says")).to_be_visible()
    part(seen).locator("summary").press("Enter")


def says(seen: Seen) -> Locator:
    return seen.part("which-words-says")


def values(seen: Seen) -> list[float]:
    texts = part(seen).locator("li .bl-number").all_inner_texts()
    return [float("nan") if text == "–" else number(text.replace("+", "")) for text in texts]


def same(seen: Seen, expected: Any) -> None:
    np.testing.assert_allclose(values(seen), np.asarray(expected), atol=5.1e-4)


def best(trace: Trace, at: int = 6) -> whatif.Metric:
    return whatif.logit(int(trace.original.output.logits[0, at].argmax()))


def test_each_method_at_a_mask_and_whether_its_order_is_faithful(show: Any, masked: Trace) -> None:
    seen = show(masked.explore(layer=1, head=8, query=6, key=2))
    seen.open_tab("Does it matter?")
    expect(part(seen).locator("li")).to_have_count(0)
    assert not [op for op in seen.page.evaluate("() => models[0].sent.map(({ op }) => op)") if op == "which_words"]
    opened(seen)
    for name, method in METHODS.items():
        seen.select("method").select_option(name)
        expect(says(seen)).to_contain_text(re.compile(f", by {name}\\.$"))
        found = method(masked, best(masked))
        same(seen, found.values)
        first = int(found.values.nan_to_num(-9).argmax())
        expect(part(seen).locator("li.bl-most").filter(has_text=masked.display_tokens[first])).not_to_have_count(0)
        expect(says(seen)).to_contain_text(f"“{masked.display_tokens[first]}” (")
    seen.select("method").select_option("occlusion")
    found = METHODS["occlusion"](masked, best(masked))
    part(seen).get_by_role("button", name="Is this order faithful? 126 runs of the text").click()
    table = attribution.faithfulness(masked, found, ceiling=False, progress=False)
    [own, random] = (table.loc[name, "comprehensiveness"] for name in (found.method, "random"))
    beats = int(table.loc[found.method, "comprehensiveness_beats"])
    told = seen.part("faithful")
    expect(told).to_contain_text("(1, 2 or 5 of 10 tokens, their mean) moves the logit of “")
    expect(told).to_contain_text(f"by −{own:.3f}; as many at random, by −{random:.3f} ± ")
    expect(told).to_contain_text(f"better than {beats} of 20 random orders")

    seen.part("matter").get_by_label("The word that is asked about").fill("chair")
    seen.part("matter").get_by_label("The word that is asked about").press("Enter")
    expect(says(seen)).to_contain_text("The logit of “chair” rests most on")
    same(seen, METHODS["occlusion"](masked, whatif.logit("chair")).values)
    expect(told).to_have_count(0)  # it was of another number


def test_a_file_holds_the_tokens_while_they_are_shown(show: Any, masked: Trace) -> None:
    seen = show(masked.explore(layer=1, head=8, query=6, key=2))
    opened(seen)
    expect(says(seen)).to_be_visible()
    rows = rows_of(seen.save("CSV", "Open tab"))
    found = METHODS["occlusion"](masked, best(masked)).values
    tokens = [row for row in rows if row["method"] == "occlusion"]
    assert [row["token"] for row in tokens] == masked.display_tokens and len(rows) == 3 + len(tokens)
    given = [float(row["value"]) if row["value"] else float("nan") for row in tokens]
    np.testing.assert_allclose(given, found, atol=1e-6)


def test_one_token_a_long_text_and_a_saved_page(show: Any, show_saved: Any, masked: Trace, embedded_lens: Any) -> None:
    assert masked.lens is not None
    seen = show(masked.lens.trace("[MASK]").explore(layer=0, head=0, query=1, key=1))
    opened(seen)
    expect(part(seen)).to_contain_text("no token of this text can be removed")
    seen.select("method").select_option("gradient × input")
    expect(part(seen).locator("li")).to_have_count(3)
    expect(part(seen).get_by_role("button", name=re.compile("faithful"))).to_have_count(0)

    long = embedded_lens.trace(" ".join(["the cat sat on the mat"] * 33))
    seen = show(long.explore(layer=1, head=8, query=3, key=2))
    seen.open_tab("Does it matter?")
    part(seen).locator("summary").click()
    expect(part(seen)).to_contain_text(f"reads the text of {long.n_tokens} tokens once for each token. Run it")
    seen.select("method").select_option("integrated gradients")
    expect(part(seen)).to_contain_text("16 to 1,000 times, with slopes. Run it")
    seen.select("method").select_option("linearised")
    expect(part(seen).locator("li")).to_have_count(long.n_tokens)
    expect(part(seen)).to_contain_text("is tested in texts of up to 192 tokens")

    seen = show_saved(masked.explore(layer=1, head=8, query=6, key=2), matters=True)
    opened(seen)
    expect(part(seen)).to_contain_text("This needs the model, which a saved page does not hold. Open the notebook.")
