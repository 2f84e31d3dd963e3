"""What is said of a head is of the measure shown, on the screen and in a file."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest
from playwright.sync_api import expect

from bertlens import vocabulary
from bertlens.measures import norms
from browser.views import Seen

DESCRIPTION = "{http://www.w3.org/2000/svg}desc"


def shares(trace, layer: int, head: int, norm: bool) -> dict[str, float]:
    """Where a row's weight, or its share of ‖αf(x)‖, lies: mean over rows, by the words of the sentence."""
    rows = (norms.weighted_norm(trace, layer) if norm else trace.attention(layer))[head].double()
    rows = rows / rows.sum(-1, keepdim=True)
    separators = [n for n, token in enumerate(trace.display_tokens) if token == "[SEP]"]
    return {
        "the next token": float(rows.diagonal(1).sum() / len(rows)),
        "the previous token": float(rows.diagonal(-1).sum() / len(rows)),
        "the token itself": float(rows.diagonal().mean()),
        "[CLS]": float(rows[:, 0].mean()),
        "separators": float(rows[:, separators].sum(-1).mean()),
        "entropy": float(-(rows * rows.clamp_min(1e-300).log()).sum(-1).mean()),
    }


def holds(sentence: str, truth: dict[str, float]) -> None:
    told = re.findall(r"(\d+) % (?:of attention )?to ([^,;.]+)", sentence)
    for percent, where in told:
        assert int(percent) / 100 == pytest.approx(truth[where], abs=0.0051), (sentence, where)
    assert told, sentence
    entropy = re.search(r"entropy (\d\.\d) nats", sentence)
    assert entropy and float(entropy[1]) == pytest.approx(truth["entropy"], abs=0.051), sentence


def said(seen: Seen) -> str:
    return str(seen.part("head-sentence").inner_text())


def described(seen: Seen) -> str:
    return ElementTree.fromstring(seen.save("SVG", "Head view").read_bytes()).findtext(DESCRIPTION) or ""


@pytest.mark.parametrize("measure", ["weight", "norm", "difference"])
def test_sentence_and_file_say_what_the_measure_shows(show, pair, measure):
    seen = show(pair.explore(layer=1, head=8, measure=measure))
    by_weight, by_norm = shares(pair, 1, 8, norm=False), shares(pair, 1, 8, norm=True)
    assert abs(by_weight["[CLS]"] - by_norm["[CLS]"]) > 0.05  # the two differ, so that one can be wrong
    if measure != "weight":  # until its statistics are there it says "By weight" alone
        expect(seen.part("head-sentence")).to_contain_text("y norm")
    sentence = said(seen)
    assert ("By norm" in sentence) == (measure == "norm")
    assert ("By weight" in sentence) == (measure == "difference")
    holds(sentence, by_norm if measure == "norm" else by_weight)
    if measure == "difference":
        a, n = pair.attention(1)[8].double(), norms.weighted_norm(pair, 1)[8].double()
        apart = float(((a - n / n.sum(-1, keepdim=True)).abs().sum(-1) / 2).mean())
        assert f"{round(100 * apart)} % of a row lies elsewhere by norm" in sentence
    text = described(seen)
    assert text.rstrip(".") in sentence


def test_file_of_a_layer_map_says_what_the_map_is(show, pair):
    seen = show(pair.explore(layer=1, head=8, layer_map="rollout"))
    assert described(seen) == vocabulary.LAYER_MAPS["rollout"].about
