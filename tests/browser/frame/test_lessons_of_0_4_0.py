"""Twelve lesson files of version 0.4.0, walked in a page: each step leads to the place where it led there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import bertlens as bl
from browser.views import PATIENCE, Seen
from unit import tiny

FILE = Path(__file__).parents[2] / "unit" / "widgets" / "states_of_0_4_0.json"
LESSONS: list[dict[str, Any]] = json.loads(FILE.read_text(encoding="utf-8"))["lessons"]
AS_IT_OPENS = {"map": "self", "measure": "weight", "mode": "matrix", "pair_filter": "all", "units": "pieces"}
CHOICES = ("text", "text_pair", "layer", "head", "heads", "query", "key", "layer_map", "view", "hide_special")
TRAITS = (*AS_IT_OPENS, *CHOICES, "renormalize", "include_layers", "include_heads")


def place(seen: Seen, view: Any) -> dict[str, Any]:
    """What differs from a view that was just opened, as the file has it: traits, the run's changes, the open tab."""
    tabs = seen.root.locator("[role=tab][aria-selected=true]").evaluate_all("all => all.map(one => one.dataset.tab)")
    chosen = {name: getattr(view, name) for name in TRAITS}
    chosen |= {"changes": [str(change) for change in view.trace.changes], "tabs": [name for name in tabs if name]}
    empty = (None, "", [])
    return {
        name: value
        for name, value in chosen.items()
        if not (value is False or value in empty or AS_IT_OPENS.get(name) == value)
    }


@pytest.mark.parametrize("n", range(len(LESSONS)), ids=[lesson["record"]["title"] for lesson in LESSONS])
def test_each_step_leads_to_its_place(show: Any, n: int) -> None:
    record, places = LESSONS[n]["record"], LESSONS[n]["places"]
    lens = bl.Lens(tiny.bert(num_hidden_layers=2), tiny.wordpiece())
    view = lens.trace("the mat").explore(lesson=bl.Lesson.of(record))
    seen = show(view, width=974)
    panel = seen.region(f"Lesson: {record['title']}")
    for step, at in enumerate(places):
        panel.get_by_label("all steps").select_option(str(step))
        patience = PATIENCE
        while place(seen, view) != at and patience > 0:
            seen.page.wait_for_timeout(100)
            patience -= 100
        assert place(seen, view) == at, f"step {step + 1}"
