"""What the Export menu asks the kernel for: a live page with the view's state, and a lesson for print."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
import transformers as tf
from tokenizers import pre_tokenizers

import bertlens as bl
from bertlens import whatif
from unit import tiny
from unit.asking import question
from unit.export.test_families import lens_of


@pytest.fixture(scope="module")
def lens() -> bl.Lens:
    return lens_of(tf.BertModel(tf.BertConfig(**tiny.BERT)), tiny.wordpiece())


def test_a_live_page_with_the_state_is_that_of_to_html(lens: Any) -> None:
    view = lens.trace("the cat sat").explore()
    view.layer, view.head, view.query = 1, 3, 2  # as the page sets them
    cost, _ = question(view, op="live_cost")
    assert cost["why_not"] == "" and cost["seconds"] > 0
    _, [page] = question(view, op="html", live=True)
    assert page.decode() == view.to_html(live=True, progress=False)
    assert 'id="bertlens-live"' in page.decode() and '"layer":1,' in page.decode()
    assert 0.5 < cost["size"] / len(page) < 2
    _, [plain] = question(view, op="html")
    assert b'id="bertlens-live"' not in plain


def test_a_live_page_is_refused_with_the_reason(lens: Any) -> None:
    trace = lens.trace("the cat sat")
    off = trace.rerun(whatif.off(0, 0))
    maps = bl.Trace.from_attentions([torch.eye(3)[None]], list("abc"))
    tokenizer = tiny.wordpiece()
    tokenizer.backend_tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    elsewhere = bl.Lens(lens.model, tokenizer).trace("the cat sat")
    for view, reason in (
        (off.explore(), "a live page starts from the unchanged run: undo the changes first, or save trace.original"),
        (elsewhere.explore(), "a page does not read texts as this model's tokenizer does"),
        (bl.compare(trace, off).explore(), "a live page shows one text"),
        (maps.explore(), "this view was made from attention maps: it has no model that a page could carry"),
    ):
        cost, _ = question(view, op="live_cost")
        assert cost["why_not"].startswith(reason) and cost["size"] == 0


def test_a_lesson_is_handed_out_as_to_paper_writes_it(lens: Any, tmp_path: Path) -> None:
    state = {"text": "the cat sat", "layer": 1, "head": 3, "query": 2}
    steps = [bl.Lesson.step("Where?", state, predict="key", notes="They guess."), bl.Lesson.step("Why?", model="So.")]
    lesson = bl.Lesson("A row", steps)
    view = lens.trace("the cat sat").explore(lesson=lesson)
    _, [page] = question(view, op="handout")
    assert page == lesson.to_paper(tmp_path / "own.html", lens).read_bytes()
    fields, _ = question(lens.trace("the cat").explore(), op="handout")
    assert fields["error"] == "there is no lesson beside this view"
