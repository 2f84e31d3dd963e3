"""Masked language models: what is masked, that training learns, resumes to the bit and is one run from its command."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers as tf

import bertlens as bl
from bertlens import cli
from bertlens.training import run
from bertlens.training.folder import CHECKPOINT
from bertlens.training.history import History
from bertlens.training.steps import rate
from bertlens.training.train import POINTS, Masking, TrainingSettings, evaluate, logits_at, train
from bertlens.training.training_text import Passages, prepare
from unit import tiny

TINY = TrainingSettings(steps=12, tokens=256, length=32, warmup=2, evaluations=4, learning_rate=3e-3)


def texts(n: int = 400) -> list[str]:
    """Sentences in which "cat" is always followed by "sat" and "mat" by "it": there is something to learn."""
    draw = np.random.default_rng(0)
    parts = ["the cat sat on", "the mat it was", "very warm , unbelievable", "on the warm mat it"]
    return [" ".join(parts[n] for n in draw.integers(len(parts), size=draw.integers(2, 6))) + " ." for _ in range(n)]


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    return tiny.wordpiece()


@pytest.fixture(scope="module")
def passages(tokenizer: Any) -> tuple[Passages, Passages]:
    return prepare(texts(), tokenizer, TINY.length)


def model(seed: int = 0) -> Any:
    torch.manual_seed(seed)
    return tf.BertForMaskedLM(tf.BertConfig(**tiny.BERT)).eval()


def weights(model: Any) -> torch.Tensor:
    return torch.cat([p.detach().flatten() for p in model.parameters()])


def test_it_learns(passages: Any, tokenizer: Any, tmp_path: Path) -> None:
    made, masking = model(), Masking(tokenizer)
    record = train(
        made, *passages, masking, tmp_path, replace(TINY, steps=400, learning_rate=1e-2, warmup=10), quiet=True
    )
    before, after = (evaluate(one, passages[0], masking) for one in (model(), made))
    assert after.loss < 0.4 * before.loss and after.top1 > 0.5 > before.top1
    assert record["finished"] == "all steps" and len(record["losses"]) == 400
    assert evaluate(made, passages[1], masking).loss == record["history"][-1]["loss"]


def test_what_is_masked(tokenizer: Any) -> None:
    masking = Masking(tokenizer)
    ids = torch.tensor([[2, *[5 + n % 20 for n in range(200)], 3]] * 50)
    draw = torch.Generator().manual_seed(0)
    chosen = masking.chosen(ids, 0.2, draw)
    assert (chosen.sum(1) == 40).all() and not chosen[:, [0, -1]].any()
    assert not torch.equal(chosen[0], chosen[1])
    shown = masking.corrupted(ids, chosen, draw)
    assert torch.equal(shown[~chosen], ids[~chosen])
    share = (shown[chosen] == masking.mask).double().mean()
    kept = (shown[chosen] == ids[chosen]).double().mean()
    assert abs(share - 0.8) < 0.03 and abs(kept - 0.1) < 0.03
    assert not torch.isin(shown, torch.tensor([0, 1])).any()


def test_only_the_masked_positions_go_through_the_head(passages: Any, tokenizer: Any) -> None:
    made = model()
    ids = passages[0].rows(passages[0].batches(256)[-1])
    chosen = Masking(tokenizer).chosen(ids, 0.2, torch.Generator().manual_seed(0))
    with torch.no_grad():
        torch.testing.assert_close(logits_at(made, ids, chosen), made(ids).logits[chosen])
    assert not made.base_model._forward_hooks


def test_the_score_is_counted_right(passages: Any, tokenizer: Any) -> None:
    """Against a plain loop, one passage at a time."""
    made, masking, (_, held_out) = model(), Masking(tokenizer), passages
    found = evaluate(made, held_out, masking, tokens=32)  # one passage a batch
    losses, right, among = [], [], []
    for number, batch in enumerate(held_out.batches(32)):
        assert len(batch) == 1
        ids = held_out.rows(batch)
        chosen = masking.chosen(ids, 0.15, torch.Generator().manual_seed(number))[0]
        with torch.no_grad():
            logits = made(torch.where(chosen, masking.mask, ids)).logits[0]
        for place in chosen.nonzero()[:, 0].tolist():
            losses.append(-float(logits[place].log_softmax(-1)[ids[0, place]]))
            better = int((logits[place] > logits[place, ids[0, place]]).sum())
            right.append(better == 0)
            among.append(better < 10)
    assert found.n == len(losses)
    assert (found.loss, found.top1, found.top10) == pytest.approx((np.mean(losses), np.mean(right), np.mean(among)))


def test_a_resumed_run_ends_like_one_that_was_not_cut_off(passages: Any, tokenizer: Any, tmp_path: Path) -> None:
    masking, whole, cut = Masking(tokenizer), model(), model()
    record = train(whole, *passages, masking, tmp_path / "a", TINY, quiet=True)
    first = train(cut, *passages, masking, tmp_path / "b", TINY, stop_after=7, quiet=True)
    assert not first["finished"]
    assert json.loads(str(np.load(tmp_path / "b" / CHECKPOINT)["about"]))["step"] == 6
    resumed = model(seed=5)
    second = train(resumed, *passages, masking, tmp_path / "b", TINY, quiet=True)
    assert torch.equal(weights(whole), weights(resumed))
    assert second["losses"] == record["losses"] and second["history"] == record["history"]
    with pytest.raises(bl.InputError, match=r"of another run \(what differs: seed\): delete it to begin anew"):
        train(model(), *passages, masking, tmp_path / "b", replace(TINY, seed=1), quiet=True)
    with pytest.raises(bl.InputError, match=r"of another run \(what differs: book.txt\)"):
        train(model(), *passages, masking, tmp_path / "b", TINY, data={"book.txt": "another"}, quiet=True)


def test_it_ends_where_the_loss_is_flat_or_time_is_up(passages: Any, tokenizer: Any, tmp_path: Path) -> None:
    still = replace(TINY, steps=400, evaluations=40, learning_rate=0.0)
    record = train(model(), *passages, Masking(tokenizer), tmp_path / "a", still, quiet=True)
    assert record["finished"] == "held-out loss is flat" and record["steps"] == 50  # the first, and a tenth of all
    record = train(model(), *passages, Masking(tokenizer), tmp_path / "b", replace(TINY, hours=0), quiet=True)
    assert record["finished"] == "0 hours" and record["steps"] == 0


def test_the_rate_rises_and_falls() -> None:
    assert [rate(step, 4, 12) for step in (0, 1, 3, 4, 8, 11)] == [0.25, 0.5, 1.0, 1.0, 0.5, 0.125]


def test_history(passages: Any, tokenizer: Any, tmp_path: Path) -> None:
    made, masking = model(), Masking(tokenizer)
    history = History(made, tokenizer, passages[1], masking, tmp_path)
    settings = replace(TINY, steps=20, evaluations=2, learning_rate=1e-2)
    train(made, *passages, masking, tmp_path, settings, at_point=history, quiet=True)
    with np.load(tmp_path / "history.npz") as found:
        assert found["step"].tolist() == sorted({round(share * 20) for share in POINTS})
        points = len(found["step"])
        assert found["divergence"].shape == (points, 3, 4) and found["weight"].shape[2:] == (3, 4)
        assert (found["divergence"][0] == 0).all() and (found["divergence"][1:] > 0).all()
        assert found["divergence"][-1].mean() > found["divergence"][1].mean()
        assert found["loss"][-1] == pytest.approx(evaluate(made, passages[1], masking).loss)
        assert (found["weight"][:, found["names"].tolist().index("previous")] >= 0).all()
    history(20)  # a point that is there is not taken again
    with np.load(tmp_path / "history.npz") as found:
        assert len(found["step"]) == points


def test_a_history_is_of_one_run(passages: Any, tokenizer: Any, tmp_path: Path) -> None:
    """A run that was stopped before its first checkpoint leaves points: those of another run are not added."""
    made, masking = model(), Masking(tokenizer)
    History(made, tokenizer, passages[1], masking, tmp_path, {"learning_rate": 1e-3})(0)
    other = History(made, tokenizer, passages[1], masking, tmp_path, {"learning_rate": 1e-2})
    with pytest.raises(bl.InputError, match=r"history.npz is of another run \(what differs: learning_rate\)"):
        other(5)


@pytest.fixture
def folders(tmp_path: Path, tokenizer: Any) -> tuple[Path, Path]:
    """(encoder without a head, corpus with a file set aside)."""
    torch.manual_seed(3)
    encoder = tmp_path / "encoder"
    tf.BertModel(tf.BertConfig(**tiny.BERT)).save_pretrained(encoder)
    tokenizer.save_pretrained(encoder)
    (tmp_path / "corpus").mkdir()
    (tmp_path / "corpus" / "a.txt").write_text("\n".join(texts(300)))
    (tmp_path / "corpus" / "valid.txt").write_text("\n".join(texts(40)))
    return encoder, tmp_path / "corpus"


def command(encoder: Path, corpus: Path, output: Path, *more: str) -> list[str]:
    fixed = ["--steps", "40", "--warmup", "2", "--learning-rate", "3e-3", "--length", "32"]
    return ["train-mlm", "--model", str(encoder), "--corpus", str(corpus), "-o", str(output), *fixed, *more]


def test_the_command(folders: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    encoder, corpus = folders
    opened: list[str] = []
    done = False

    def watch(event: str, args: Any) -> None:
        if event == "open" and not done and isinstance(args[0], str | os.PathLike):
            opened.append(str(args[0]))

    sys.addaudithook(watch)
    output = tmp_path / "out"
    first = train
    try:
        # during the training itself the file set aside is not opened
        def watched(*args: Any, **options: Any) -> Any:
            opened.clear()  # before it, that it is text was looked at
            record = first(*args, **options)
            assert not any("valid.txt" in name for name in opened)
            return record

        run.train = watched  # type: ignore[attr-defined]
        assert cli.main(command(encoder, corpus, output)) == 0
    finally:
        done, run.train = True, first  # type: ignore[attr-defined]
    assert "masked tokens right" in capsys.readouterr().out
    metrics = json.loads((output / "metrics.json").read_text())
    assert set(metrics["scores"]) == {"valid.txt"} and set(metrics["corpus"]) == {"a.txt"}
    assert not (output / CHECKPOINT).exists() and (output / "history.npz").is_file()
    card = (output / "MODEL_CARD.md").read_text()
    assert "1 point" not in card and f"| valid.txt | {metrics['scores']['valid.txt']['n']:,} |" in card
    made = tf.AutoModelForMaskedLM.from_pretrained(output)
    lens = bl.Lens(made, tf.AutoTokenizer.from_pretrained(output))
    trace = lens.trace("the [MASK] sat on the mat")
    assert trace.output.logits.shape == (1, trace.n_tokens, len(tiny.VOCABULARY)) and trace.has_neurons
    scored = run.scored_passages(lens.tokenizer, corpus / "valid.txt", 32)
    assert run.score_passages(made, lens.tokenizer, scored, run.EVALUATED) == pytest.approx(
        metrics["scores"]["valid.txt"]
    )


@pytest.mark.long
@pytest.mark.slow
def test_a_killed_run_goes_on_as_if_it_had_not_been(folders: tuple[Path, Path], tmp_path: Path) -> None:
    encoder, corpus = folders
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    assert cli.main(command(encoder, corpus, whole)) == 0
    run_it = [sys.executable, "-c", "import sys; from bertlens.cli import main; sys.exit(main(sys.argv[1:]))"]
    process = subprocess.Popen([*run_it, *command(encoder, corpus, killed)], stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 120
    while not (killed / CHECKPOINT).is_file() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert (killed / CHECKPOINT).is_file() and not (killed / "metrics.json").exists()
    assert cli.main(command(encoder, corpus, killed)) == 0
    one, two = (json.loads((folder / "metrics.json").read_text()) for folder in (whole, killed))
    for metrics in (one, two):
        metrics["run"].pop("seconds")
    assert one == two
    assert (whole / "model.safetensors").read_bytes() == (killed / "model.safetensors").read_bytes()


def test_bad_input(folders: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    encoder, corpus = folders
    for arguments, message in (
        (command(encoder, tmp_path / "nothing", tmp_path / "o"), "no corpus at"),
        (command(encoder, corpus, tmp_path / "o", "--score", str(tmp_path / "none.txt")), "no file"),
        (command(tmp_path / "no-model", corpus, tmp_path / "o"), "no-model"),
        (command(encoder, corpus, tmp_path / "o", "--steps", "0"), "1 step or more"),
        (command(encoder, corpus, tmp_path / "o", "--length", "4"), "16 tokens or more"),
    ):
        assert cli.main(arguments) == 2
        found = capsys.readouterr().err.strip().splitlines()[-1]
        assert message in found, found


def test_a_tokenizer_without_a_mask(folders: tuple[Path, Path]) -> None:
    encoder, _ = folders
    tiny.wordpiece(mask_token=None).save_pretrained(encoder)
    with pytest.raises(bl.ModelError, match="knows no mask token"):
        run.start(str(encoder), None, 0)
