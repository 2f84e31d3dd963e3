"""The masked language model that is shipped: it is what its card says, small, and a lens like any other."""

from __future__ import annotations

import hashlib
import json
import math
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import numpy as np
import pytest
import torch

import bertlens as bl
from bertlens.measures.distributions import jensen_shannon
from bertlens.measures.offers import offers
from bertlens.measures.statistics import SURVEY_NAMES
from bertlens.model import offline_model
from bertlens.survey import head_stats
from bertlens.training import differences, history, run
from bertlens.training.folder import HISTORY
from bertlens.training.model_card import card
from bertlens.training.training_text import SET_ASIDE, passages, read
from conftest import DATA

pytest.importorskip(offline_model.PACKAGE)
MOST = 7_000_000  # bytes of the wheel
BOOKS = DATA / "text" / "books"


@pytest.fixture(scope="module")
def lens() -> bl.Lens:
    return bl.Lens.embedded(mlm=True)


@pytest.fixture(scope="module")
def metrics() -> dict[str, Any]:
    read: dict[str, Any] = json.loads((differences.SHIPPED / "metrics.json").read_text(encoding="utf-8"))
    return read


def test_it_is_small_and_the_known_one() -> None:
    files = {path.name: path.stat().st_size for path in differences.SHIPPED.iterdir()}
    assert set(files) == {differences.FILE, HISTORY, "metrics.json", "MODEL_CARD.md"}
    assert sum(files.values()) <= MOST
    sha = hashlib.sha256((differences.SHIPPED / differences.FILE).read_bytes()).hexdigest()
    assert sha == differences.SHA256


def test_the_file_takes_what_its_numbers_tell_and_no_more(tmp_path: Path) -> None:
    """Beside the entropy of numbers whose size differs by column, as that of word embeddings does."""
    draw = np.random.default_rng(0)
    spreads = np.linspace(1, 20, 12)
    arrays = {
        "columns": draw.normal(0, spreads, (6000, 12)).round().clip(-127, 127).astype(np.int8),
        "columns.step": np.float32(0.25),
        "vector": draw.normal(size=50).astype(np.float16),
    }
    differences.write_arrays(arrays, tmp_path / "a.npz")
    differences.write_arrays(arrays, tmp_path / "b.npz")
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()
    with np.load(tmp_path / "a.npz", allow_pickle=False) as read:
        for name, array in arrays.items():
            np.testing.assert_array_equal(read[name], array)
            assert read[name].dtype == array.dtype
    shares = [np.unique(column, return_counts=True)[1] / 6000 for column in arrays["columns"].T]
    entropy = sum(6000 * -(share * np.log2(share)).sum() / 8 for share in shares)
    [size] = [
        entry.compress_size for entry in ZipFile(tmp_path / "a.npz").infolist() if entry.filename == "columns.npy"
    ]
    assert entropy < size < 1.04 * entropy


def test_another_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / differences.FILE).write_bytes(b"something else")
    with pytest.raises(bl.ModelError, match="not the known one"):
        differences.load(tmp_path, differences.SHA256)
    with pytest.raises(bl.ModelError, match="carries no masked language model"):
        differences.load(tmp_path / "nowhere")


def test_card_says_what_was_measured(metrics: dict[str, Any]) -> None:
    assert (differences.SHIPPED / "MODEL_CARD.md").read_text(encoding="utf-8") == card(metrics)
    kept, before = metrics["held_out"], metrics["before_rounding"]
    assert before["top1"] - kept["top1"] <= 0.01  # what the rounding costs
    assert kept["top1"] >= 0.30 > 3 * metrics["unigram"]["top1"]


def test_the_card_and_the_docs_say_what_is_held_out(metrics: dict[str, Any]) -> None:
    """Paragraphs of the training books are no held-out books; one mask is easier than several at once."""
    score, single = metrics["scores"]["valid.txt.gz"], metrics["single"]["valid.txt.gz"]
    assert single["n"] == single["passages"] == 2000 and score["n"] > 9 * single["n"]
    card_text = (differences.SHIPPED / "MODEL_CARD.md").read_text(encoding="utf-8")
    assert f"| valid.txt.gz, one mask | 2,000 | {single['loss']:.3f} | {single['top1']:.1%} |" in card_text
    assert (
        "Held-out texts are other texts of the corpus that it was trained on: other\nparagraphs of the same books."
        in card_text
    )
    start = (Path(__file__).parents[3] / "docs" / "start.md").read_text(encoding="utf-8")
    assert f"of other books {score['top1'] * 100:.0f} % right, {single['top1'] * 100:.0f} % with one mask" in start


def score_file(lens: bl.Lens, path: Path, length: int, share: float = run.EVALUATED) -> dict[str, float]:
    return run.score_passages(lens.model, lens.tokenizer, run.scored_passages(lens.tokenizer, path, length), share)


@pytest.mark.data
@pytest.mark.long
def test_scores_with_one_mask(lens: bl.Lens, metrics: dict[str, Any]) -> None:
    """One token of a passage at a time, without what scores a training."""
    path, kept = next(DATA.rglob("valid.txt.gz")), metrics["single"]["valid.txt.gz"]
    found = score_file(lens, path, 128, share=0)
    assert found["n"] == kept["n"] == found["passages"] and found["top1"] == pytest.approx(kept["top1"], abs=1e-3)
    rows = [row for text in passages([*read([path])][::25], lens.tokenizer, 128) for row in text]
    right, draw = [], np.random.default_rng(0)
    for row in rows:
        place = int(draw.integers(1, len(row) - 1))
        ids = torch.tensor([row])
        ids[0, place] = lens.tokenizer.mask_token_id
        with torch.no_grad():
            right.append(int(lens.model(input_ids=ids).logits[0, place].argmax()) == row[place])
    assert len(right) > 300 and np.mean(right) == pytest.approx(kept["top1"], abs=4 * 0.5 / len(right) ** 0.5)


def test_ten_sentences_are_answered_as_the_card_says(lens: bl.Lens, metrics: dict[str, Any]) -> None:
    answers = run.answers(lens.model, lens.tokenizer)
    assert [row["sentence"] for row in answers] == [sentence for sentence, _ in run.SENTENCES]
    for row, kept in zip(answers, metrics["sentences"], strict=True):
        assert [one["token"] for one in row["top"]] == [one["token"] for one in kept["top"]]
        for one, other in zip(row["top"], kept["top"], strict=True):
            assert math.isclose(one["probability"], other["probability"], abs_tol=2e-4)


@pytest.mark.data
@pytest.mark.long
@pytest.mark.parametrize("name", ["valid.txt.gz", "wiki.test.raw.gz"])
def test_scores_of_some_passages_are_near(
    lens: bl.Lens, metrics: dict[str, Any], name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """150 passages, evenly over the file; the whole of it is scored by the long test below."""
    monkeypatch.setattr(run, "MOST_SCORED", 150)
    kept, length = metrics["scores"][name], metrics["run"]["settings"]["length"]
    score = score_file(lens, next(DATA.rglob(name)), length)
    assert score["passages"] == 150 and score["n"] > 1000
    for share in ("top1", "top10"):
        assert score[share] == pytest.approx(kept[share], abs=4 * 0.5 / score["n"] ** 0.5)
    assert score["loss"] == pytest.approx(kept["loss"], rel=0.08)


@pytest.mark.data
@pytest.mark.long
@pytest.mark.parametrize("name", ["valid.txt.gz", "wiki.test.raw.gz"])
def test_scores_are_those_of_the_shipped_weights(lens: bl.Lens, metrics: dict[str, Any], name: str) -> None:
    path = next(DATA.rglob(name))
    kept = metrics["scores"][name]
    score = score_file(lens, path, metrics["run"]["settings"]["length"])
    assert (score["n"], score["passages"]) == (kept["n"], kept["passages"])
    assert score["loss"] == pytest.approx(kept["loss"], abs=1e-3)
    assert score["top1"] == pytest.approx(kept["top1"], abs=1e-3)
    assert score["top10"] == pytest.approx(kept["top10"], abs=1e-3)


@pytest.mark.data
def test_the_corpus_is_what_the_card_names(metrics: dict[str, Any]) -> None:
    """None of what was set aside is in it."""
    assert not any(name.startswith(SET_ASIDE) for name in metrics["corpus"])
    for name, sha in metrics["corpus"].items():
        assert hashlib.sha256((BOOKS / name).read_bytes()).hexdigest() == sha


def test_everything_works_on_it(lens: bl.Lens) -> None:
    trace = lens.trace("The capital of France is [MASK].")
    assert set(offers(trace).values()) == {""} and trace.model_name == differences.NAME
    with torch.no_grad():
        lens.model.set_attn_implementation("eager")
        inputs = lens.tokenizer(trace.text, return_tensors="pt")
        eager = lens.model(**inputs, output_attentions=True).attentions
        lens.model.set_attn_implementation("sdpa")
    for layer, weights in enumerate(eager):
        torch.testing.assert_close(trace.attention(layer), weights[0], atol=1e-5, rtol=0)


def test_the_plain_embedded_encoder_is_what_it_was() -> None:
    before = bl.Lens.embedded().trace("The cat sat.")
    bl.Lens.embedded(mlm=True)
    after = bl.Lens.embedded().trace("The cat sat.")
    assert type(bl.Lens.embedded().model).__name__ == "BertModel"
    assert all(torch.equal(before.attention(layer), after.attention(layer)) for layer in range(6))


def test_history_ends_with_the_shipped_model(lens: bl.Lens, metrics: dict[str, Any]) -> None:
    """On a few other texts: the last point lies near the model, the first near the encoder.

    The 200 texts of the history are not shipped: heads are compared with each other.
    """
    arrays = history.load()
    assert arrays["step"][0] == 0 and arrays["step"][-1] == metrics["run"]["steps"] and len(arrays["step"]) >= 10
    assert (arrays["divergence"][0] == 0).all() and (arrays["divergence"] <= math.log(2)).all()
    assert list(arrays["names"]) == list(SURVEY_NAMES)
    texts = [sentence.replace("[MASK]", expected[0]) for sentence, expected in run.SENTENCES]
    at = list(SURVEY_NAMES).index("previous")
    for point, model in ((0, bl.Lens.embedded()), (-1, lens)):
        mine = head_stats(model, texts, progress=False).values("previous")
        assert np.corrcoef(mine.ravel(), arrays["weight"][point, at].ravel())[0, 1] > 0.9
    mine = np.zeros((6, 12))
    for text in texts:
        a, b = bl.Lens.embedded().trace(text), lens.trace(text)
        mine += [jensen_shannon(a.attention(n), b.attention(n)).mean(-1).numpy() for n in range(6)]
    assert np.corrcoef(mine.ravel(), arrays["divergence"][-1].ravel())[0, 1] > 0.8


def test_history_is_drawn(lens: bl.Lens) -> None:
    arrays = history.load()
    axes = bl.plots.training(head=(1, 8))
    apart = axes.lines[-1]
    np.testing.assert_allclose(apart.get_xdata(), np.sqrt(arrays["step"]))
    np.testing.assert_allclose(apart.get_ydata(), arrays["divergence"][:, 1, 8])
    means = [line for line in axes.lines if "mean of 12 heads" in str(line.get_label())]
    np.testing.assert_allclose([line.get_ydata()[-1] for line in means], arrays["divergence"][-1].mean(-1), rtol=1e-5)
    assert "200 held-out texts" in axes.get_title()
    with pytest.raises(bl.SelectionError, match="no statistic"):
        bl.plots.training(statistic="nonsense")
    with pytest.raises(bl.SelectionError, match="no head"):
        bl.plots.training(head=(6, 0))


def test_a_file_that_is_no_history_is_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "other.npz", a=np.zeros(1))
    (tmp_path / "broken.npz").write_bytes(b"PK")
    for name in ("other.npz", "broken.npz", "missing.npz"):
        with pytest.raises(bl.InputError, match="history"):
            bl.plots.training(tmp_path / name)
