"""The pages under the words that people search for: short, with a picture and code; what they quote is what is said."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import torch
from transformers.integrations import sdpa_attention

import bertlens as bl
from unit import tiny

DOCS = Path(__file__).parents[2] / "docs"
PAGES = sorted((DOCS / "answers").glob("*.md"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_is_short_and_shows_something(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert len(text.split()) <= 400 and "```python\n" in text
    [picture] = re.findall(r"!\[.+\]\((.+)\)", text)
    assert (page.parent / picture).is_file()
    assert f"answers/{page.stem}\n" in (DOCS / "index.md").read_text(encoding="utf-8")


def test_a_model_with_fused_attention_returns_no_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    """As both pages say, with the line that is quoted; bertlens reads them all the same."""
    model, tokenizer = tiny.bert(num_hidden_layers=2), tiny.wordpiece()
    inputs = tokenizer("the cat sat", return_tensors="pt")
    model.set_attn_implementation("sdpa")
    said: list[str] = []
    monkeypatch.setattr(sdpa_attention.logger, "warning_once", said.append)
    assert not model(**inputs, output_attentions=True).attentions
    assert f"> {said[0]}\n" in (DOCS / "answers" / "empty_attentions.md").read_text(encoding="utf-8")
    weights = bl.Lens(model, tokenizer).trace("the cat sat").attention(1)
    model.set_attn_implementation("eager")
    assert torch.allclose(weights, model(**inputs, output_attentions=True).attentions[1][0], atol=1e-6)


def test_sizes_are_those_of_the_measurement() -> None:
    measured = (DOCS / "performance.md").read_text(encoding="utf-8")
    [bertviz, own] = re.search(
        r"page with all heads, 128 tokens \| (\d+ MB) \| (\d+ MB)", (DOCS / "answers" / "bertviz.md").read_text()
    ).groups()  # type: ignore[union-attr]
    assert re.search(rf"128 tokens \| {own} \| BertViz 1\.4\.1: head view {bertviz.split()[0]}", measured)


@pytest.mark.parametrize("page", sorted((DOCS / "views").glob("*.md")), ids=lambda page: page.stem)
def test_a_view_begins_with_what_it_answers(page: Path) -> None:
    """A question, in the words of the front page, which leads there."""
    [question] = re.findall(r"\A# .+\n\n\*\*(.+\?)\*\* ", page.read_text(encoding="utf-8"))
    front = (DOCS / "index.md").read_text(encoding="utf-8")
    assert front.count(f"](views/{page.name})\n") >= 1 and f"- [{question}](views/{page.name})\n" in front


def test_the_front_page_leads_to_ten_questions() -> None:
    asked = (DOCS / "index.md").read_text(encoding="utf-8").split("## Asked often\n")[1].split("\n## ")[0]
    pages = re.findall(r"^- \[.+\]\((.+)\)$", asked, re.MULTILINE)
    assert len(pages) == len(set(pages)) == 10 and {f"answers/{page.name}" for page in PAGES} <= set(pages)
