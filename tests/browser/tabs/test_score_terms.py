"""What MPNet and DeBERTa add to q·k, in saved pages: neurons name it, Why gives the reason, the page makes it."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from playwright.sync_api import expect

from bertlens import Trace, whatif
from bertlens.measures import sources
from browser.views import shown, signed
from unit import tiny_attention

CELL = {"layer": 1, "head": 2, "query": 3, "key": 5}
TERMS = {"mpnet": ["relative position"], "deberta-v2": ["content to position", "position to content"]}


def trace_of(name: str, louder: float = 1.0) -> Trace:
    lens = tiny_attention.lens_of(name, torch.float32)
    if louder != 1:
        with torch.no_grad():
            lens.model.encoder.relative_attention_bias.weight.mul_(louder)
    return lens.trace("The cat sat on the mat.")


@pytest.mark.parametrize("name", TERMS)
def test_a_saved_page_makes_the_terms_and_names_them(name: str, show_saved: Any) -> None:
    trace = trace_of(name)
    for run in (trace, trace.rerun(whatif.neuron(1, 2, 3))):
        seen = show_saved(run.explore(**CELL, view="neurons"))
        if seen.check("all keys").count():
            seen.check("all keys").check()
        alpha, scores = (x[CELL["head"], CELL["query"]] for x in (run.attention(1), run.scores(1)))
        assert seen.numbers("alpha") == {j: shown(value) for j, value in enumerate(alpha.tolist())}
        assert seen.numbers("score") == {j: signed(value) for j, value in enumerate(scores.tolist())}
        terms = sources.score_terms(run, 1, 2, slice(3, 4))
        for term in TERMS[name]:
            own, others = (
                float(terms[term][0, 5]),
                float((terms[term][0].sum() - terms[term][0, 5]) / (run.n_tokens - 1)),
            )
            expect(seen.part("beside")).to_contain_text(
                f"{term} {signed(own)} ({signed(others)} at the other keys on average)"
            )
            expect(seen.part("formula")).to_contain_text(f"{'−' if own < 0 else '+'} {signed(abs(own))} ({term})")
        expect(seen.part("contrast")).to_contain_text("q·k")


def test_why_says_that_it_is_because_of_where_the_key_stands(show_saved: Any) -> None:
    trace = trace_of("mpnet", 12)
    cell = CELL | {"key": int(trace.attention(1)[2, 3].argmax())}
    seen = show_saved(trace.explore(**cell, view="why"))
    parts = sources.score(trace, **cell)
    value, total = parts.by("kind")["relative position"], parts.total
    assert value > 0.5 * total > 0
    expect(seen.part("why-says")).to_contain_text(
        "because of where the key stands relative to the query, whatever the two are"
    )
    expect(seen.part("why-says")).to_contain_text(signed(value))
    expect(seen.part("why-parts")).to_contain_text("relative position")
    seen.part("why").get_by_role("button", name="more …").click()
    seen.choice("stream of", "Both").click()
    expect(seen.part("why")).to_contain_text("Below: what this model adds to q·k.")
    expect(seen.part("why-foot")).to_contain_text(f"{signed(sources.score(trace, **cell, against=None).model, 4)}")
