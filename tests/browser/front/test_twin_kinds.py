"""Two sentences of a classifier, a tagger and a model of one score: what is said of them is what their runs say."""

from __future__ import annotations

import re
from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest
import torch
import transformers as tf
from playwright.sync_api import expect

import bertlens as bl
from bertlens import whatif
from browser.front.test_any_sentence import on_top
from browser.front.test_twin import verb, write
from browser.views import Seen
from unit.tasks.classifier import planted

ABOVE, BELOW = "The old key to the cabinet is on the table.", "The new key to the cabinet is on the table."
WIDTH = 962  # px of the window: 938 of the view


def twin(show: Callable[..., Seen], lens: bl.Lens, above: str, old: str, new: str) -> tuple[Seen, Any]:
    view = lens.trace(above).explore()
    seen = show(view, folded=True, width=WIDTH, height=900)
    verb(seen).click()
    write(seen, old, new)
    count = lens.model.config.num_hidden_layers * lens.model.config.num_attention_heads
    done = re.compile(f"all {count} were run in both|of {count}, none does")
    expect(seen.part("strip").get_by_text(done)).to_be_visible(timeout=60_000)
    assert seen.axe() == []
    return seen, view


def numbers(text: str) -> list[str]:
    return re.findall(r"−?\d\.\d\d", text)


def shown(value: float) -> str:
    return f"{value:.2f}".replace("-", "−")


def test_one_word_turns_a_label(show: Callable[..., Seen]) -> None:
    lens, _, _ = planted(3)
    texts = ("the cat sat cat warm warm it", "the cats sat cat warm warm it")
    seen, view = twin(show, lens, texts[0], "cat", "cats")
    runs = [lens.trace(text) for text in texts]
    sure = [run.output.logits[0].double().softmax(-1) for run in runs]
    best = [int(one.argmax()) for one in sure]
    names = [lens.model.config.id2label[n] for n in best]
    assert best[0] != best[1]
    expect(seen.part("claim")).to_contain_text(re.compile(rf"One word turns\s+{names[0]}\s+into\s+{names[1]}\."))
    off = [run.rerun(whatif.off(view.layer, view.head)).output.logits[0].double().softmax(-1) for run in runs]
    told = seen.root.locator(".bl-twin-effect").inner_text().replace("less than 0.01", "0.00")
    pairs = zip(sure, off, best, strict=True)
    assert numbers(told) == [text for a, b, n in pairs for text in (shown(float(a[n])), shown(float(b[n])))]
    expect(seen.part("answer").locator("h3")).to_have_text("The model’s label")


def test_tags_are_told_with_the_word_that_has_them(show: Callable[..., Seen], embedded_lens: bl.Lens) -> None:
    lens = bl.Lens(on_top(tf.BertForTokenClassification, embedded_lens.model), embedded_lens.tokenizer)
    seen, _ = twin(show, lens, ABOVE, "old", "new")
    heading = seen.part("answer").locator("h3").inner_text()
    found = re.fullmatch(r"The tag of “(\w+)”(?: in both| above, “(\w+)” below)", heading)
    assert found, heading
    words = (found[1], found[2] or found[1])
    for text, word, side in zip((ABOVE, BELOW), words, ("above", "below"), strict=True):
        run = lens.trace(text)
        sure = run.output.logits[0, run.tokens.index(word)].double().softmax(-1)
        rows = seen.part("answer").locator(".bl-answer-row")
        told = dict(rows.evaluate_all(f"all => all.map(r => [r.querySelector('bdi').textContent, +r.dataset.{side}])"))
        assert told == pytest.approx(
            {lens.model.config.id2label[n]: float(sure[n]) for n in range(len(sure))}, abs=1e-4
        )


def test_of_one_number_both_scores_are_told(show: Callable[..., Seen], embedded_lens: bl.Lens) -> None:
    config = deepcopy(embedded_lens.model.config)
    config.num_labels = 1
    torch.manual_seed(0)
    model = tf.BertForSequenceClassification(config).eval()
    model.base_model.load_state_dict(embedded_lens.model.state_dict(), strict=False)
    with torch.no_grad():
        model.classifier.weight *= 20
    lens = bl.Lens(model, embedded_lens.tokenizer)
    seen, view = twin(show, lens, ABOVE, "old", "new")
    runs = [lens.trace(text) for text in (ABOVE, BELOW)]
    scores = [float(run.output.logits[0, 0]) for run in runs]
    off = [float(run.rerun(whatif.off(view.layer, view.head)).output.logits[0, 0]) for run in runs]
    claim = seen.part("claim").inner_text()
    assert claim.startswith("The score is ") and numbers(claim) == [shown(score) for score in scores]
    told = seen.root.locator(".bl-twin-effect").inner_text()
    assert told.count("the score") == 2 and "LABEL" not in told
    assert numbers(told) == [shown(value) for pair in zip(scores, off, strict=True) for value in pair]
    expect(seen.part("answer").locator("h3")).to_have_text("The model’s score")
    expect(seen.part("answer").locator(".bl-answer-name")).to_have_text(["score"])


def test_two_texts_that_are_read_as_one_have_no_second_sentence(
    show: Callable[..., Seen], embedded_lens: bl.Lens
) -> None:
    seen = show(embedded_lens.trace(ABOVE, "The dog lay on the rug.").explore(), folded=True, width=WIDTH, height=900)
    expect(seen.part("claim")).to_contain_text("the similarity", timeout=60_000)
    expect(verb(seen)).to_have_count(0)
    seen.root.locator(".bl-texts summary").click()
    expect(seen.root.get_by_role("button", name="Compare this text with …")).to_be_visible()  # its tables are left
