"""Copy as Python: the lines run by themselves, and give the run, the number and the view that the page shows."""

from __future__ import annotations

from typing import Any

import pytest

import bertlens as bl
from bertlens import whatif
from browser.views import TEXTS, number

CELL = {"layer": 1, "head": 8, "query": 3, "key": 4}
LONG = "A cat sat on the mat. " * 60


def runs(lines: str) -> dict[str, Any]:
    """What the lines define; the last of them is the view."""
    *before, last = lines.splitlines()
    names: dict[str, Any] = {}
    exec("\n".join(before), names)
    return names | {"view": eval(last, names)}


SHOWN = [
    ({}, "attention weight α"),
    ({"measure": "norm"}, "norm of what is passed on, ‖αf(x)‖"),
    ({"measure": "difference"}, "difference α − ‖αf(x)‖ / Σ‖αf(x)‖"),
    ({"hide_special": True}, "attention weight α"),
    ({"hide_special": True, "renormalize": True, "pair_filter": "AB", "key": 13}, "attention weight α"),
    ({"units": "words", "measure": "norm"}, "norm of what is passed on, ‖αf(x)‖"),
    ({"layer_map": "attnres-n", "renormalize": True, "hide_special": True}, "AttnRes-N"),
]


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("chosen", "what"), SHOWN)
def test_the_lines_give_the_number_that_is_shown(show, embedded_lens, chosen, what):
    trace = embedded_lens.trace("The cat sat unbelievably long.", TEXTS[1])
    seen = show(trace.explore(**{**CELL, **chosen}))
    lines = seen.copied("Copy as Python")
    made = runs(lines)
    comment = next(line for line in lines.splitlines() if line.startswith("#"))
    assert comment.startswith(f"# {what} ") and (" in L1:" in comment) == ("layer_map" in chosen)
    said = comment.rsplit(": ", 1)[1]
    assert said in seen.part("row-list").inner_text()  # the page's own
    assert made["value"] == pytest.approx(number(said), abs=5.1e-4)
    tokens = trace.display_tokens
    assert "units" in chosen or f'"{tokens[3]}" → "{tokens[chosen.get("key", 4)]}"' in comment
    view = made["view"]
    assert (view.layer, view.head, view.query, view.measure) == (1, 8, 3, chosen.get("measure", "weight"))


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "make",
    [
        lambda lens: lens.trace(*TEXTS),
        lambda lens: lens.trace('A "quoted" \\ line\nand é 😀'),
        lambda lens: lens.trace(LONG, truncation=True),
        lambda lens: lens.trace_words(["Don't", "sit down", "."]),
        lambda lens: lens.trace("The cat sat.").rerun(whatif.off(0, 2), whatif.cut(1, 8, 3, 2)),
    ],
)
def test_the_lines_make_the_same_run(show, embedded_lens, make):
    trace = make(embedded_lens)
    made = runs(show(trace.explore()).copied("Copy as Python"))["trace"]
    assert (made.tokens, made.word_ids, made.changes) == (trace.tokens, trace.word_ids, trace.changes)
    assert (made.attention(5) - trace.attention(5)).abs().max() < 1e-6


def test_without_a_cell_there_is_no_number(show, pair):
    lines = show(pair.explore(layer=1, head=8)).copied("Copy as Python")
    assert "value" not in lines and "#" not in lines


def test_what_only_its_maker_has_is_named(show, embedded_lens, pair):
    """A model that was given, maps that were given, a change that takes more than numbers."""
    given = bl.Lens(embedded_lens.model, embedded_lens.tokenizer)
    lines = show(given.trace("The cat sat.").explore()).copied("Copy as Python")
    assert "\nlens = bl.Lens(model, tokenizer)  # yours: " in lines
    assert runs(lines.replace("import bertlens as bl", "import bertlens as bl\nmodel, tokenizer = MODEL").replace(
        "MODEL", "bl.Lens.embedded().model, bl.Lens.embedded().tokenizer"
    ))["trace"].tokens == given.trace("The cat sat.").tokens  # fmt: skip
    maps = bl.Trace.from_attentions([pair.attention(0)], pair.tokens)
    assert "\ntrace = bl.Trace.from_attentions(attentions, tokens)  # your " in show(maps.explore()).copied(
        "Copy as Python"
    )
    patched = pair.rerun(whatif.patch(1, 6, embedded_lens.trace("The dog sat on the rug."), 6))
    assert "\n# changed, write it: trace = trace.rerun(...)  # " in show(patched.explore()).copied("Copy as Python")
