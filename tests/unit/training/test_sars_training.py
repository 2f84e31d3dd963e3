"""Training of the case study on a made-up set: it learns, it resumes to the bit, and bad files are one line."""

from __future__ import annotations

import gzip
import json
import math
import re
import sys
from dataclasses import replace

import numpy as np
import pytest
import torch

import bertlens as bl
from bertlens import cli
from bertlens.measures.significance import macro_f1_interval
from bertlens.sars_cov_2.kmers import windows
from bertlens.sars_cov_2.model import build, load, save
from bertlens.sars_cov_2.spike_tokenizer import SpikeTokenizer
from bertlens.training.folder import CHECKPOINT
from bertlens.training.sars_cov_2 import samples as files
from bertlens.training.sars_cov_2 import variant_run
from bertlens.training.sars_cov_2.variant_training import (
    Batches,
    ClassifierSettings,
    _shift,
    _some,
    class_weights,
    split_scores,
    train,
)
from unit import sars

TINY = ClassifierSettings(
    width=24, layers=1, heads=2, intermediate=24, batch_size=6, steps=12, warmup=3, evaluate_every=3, learning_rate=3e-3
)
LABELS = ["blue", "green", "red"]


@pytest.fixture(scope="module")
def samples():
    return files.with_validation(sars.samples(), share=0.2)


def weights(model):
    return torch.cat([p.detach().flatten() for p in model.parameters()])


def test_it_learns(samples, tmp_path):
    settings = replace(TINY, steps=120, evaluate_every=20, learning_rate=1e-2, shown=((0.0, 0.1), (0.6, 1.0)))
    _, record = train(samples, LABELS, sars.vocabulary(), tmp_path, settings, quiet=True)
    losses = [entry["loss"] for entry in record["history"]]
    assert losses[-1] < 0.5 * losses[0]
    assert record["history"][-1]["macro_f1"] == 1.0 and record["finished"]


def test_a_resumed_run_ends_like_one_that_was_not_cut_off(samples, tmp_path):
    vocabulary = sars.vocabulary()
    whole, record = train(samples, LABELS, vocabulary, tmp_path / "a", TINY, quiet=True)
    # cut off at 7: the checkpoint is of step 6, step 7 is made again
    _, first = train(samples, LABELS, vocabulary, tmp_path / "b", TINY, stop_after=7, quiet=True)
    assert not first["finished"]
    assert json.loads(str(np.load(tmp_path / "b" / CHECKPOINT)["about"]))["step"] == 6
    resumed, second = train(samples, LABELS, vocabulary, tmp_path / "b", TINY, quiet=True)
    assert second["steps"] == record["steps"] == 12
    assert torch.equal(weights(whole), weights(resumed))
    # the running loss in the history starts anew with a call, the validation scores do not
    assert [(h["step"], h["macro_f1"], h["validation_loss"]) for h in second["history"]] == [
        (h["step"], h["macro_f1"], h["validation_loss"]) for h in record["history"]
    ]


def test_another_seed_is_another_run(samples, tmp_path):
    vocabulary = sars.vocabulary()
    one, _ = train(samples, LABELS, vocabulary, tmp_path / "a", replace(TINY, steps=3), quiet=True)
    two, _ = train(samples, LABELS, vocabulary, tmp_path / "b", replace(TINY, steps=3, seed=1), quiet=True)
    assert not torch.equal(weights(one), weights(two))


def test_a_checkpoint_of_another_run_is_refused(samples, tmp_path):
    train(samples, LABELS, sars.vocabulary(), tmp_path, TINY, stop_after=3, quiet=True)
    with pytest.raises(bl.InputError, match=r"another run \(what differs: seed\)"):
        train(samples, LABELS, sars.vocabulary(), tmp_path, replace(TINY, seed=5), quiet=True)


def test_it_stops_when_validation_gets_no_better(samples, tmp_path):
    settings = replace(TINY, steps=60, learning_rate=0.0, patience=2)
    _, record = train(samples, LABELS, sars.vocabulary(), tmp_path, settings, quiet=True)
    # the first evaluation is the best so far, the next two are no better
    assert record["steps"] == 9 and record["best_step"] == 3 and record["finished"]


def test_the_test_split_is_not_looked_at(samples, tmp_path):
    without = [sample for sample in samples if sample.split != "test"]
    settings = replace(TINY, steps=3)
    one, _ = train(samples, LABELS, sars.vocabulary(), tmp_path / "a", settings, quiet=True)
    two, _ = train(without, LABELS, sars.vocabulary(), tmp_path / "b", settings, quiet=True)
    assert torch.equal(weights(one), weights(two))


def test_class_weights_fall_with_the_root_of_the_size():
    labels = torch.tensor([0] * 100 + [1] * 4)
    found = class_weights(labels, 2)
    assert found[1] / found[0] == pytest.approx(5.0)
    assert found[labels].mean() == pytest.approx(1.0)


def test_some_windows_are_shown_at_their_own_positions():
    ids = torch.arange(200).repeat(3, 1) + 4
    rarity = torch.full((204,), 0.2)
    rarity[100:110] = 50.0
    shown, positions = _some(ids, 0.25, rarity, torch.Generator().manual_seed(0))
    assert shown.shape == (3, 50) and torch.equal(shown, positions + 4)
    assert (positions[:, 0] == 0).all() and (positions.diff(dim=1) > 0).all()
    assert all(set(range(100, 110)) <= set(row.tolist()) for row in shown)
    assert torch.equal(_some(ids, 1, rarity, torch.Generator())[0], ids)


def test_a_lost_codon_shifts_the_windows_behind():
    chosen = sars.samples()[:2]
    tokenizer = SpikeTokenizer(vocabulary=sars.vocabulary())
    frames = [Batches.of(chosen, tokenizer, LABELS, shift) for shift in (0, 3, 6)]
    found = _shift(frames, torch.zeros(40, dtype=torch.long), 1.0, torch.Generator().manual_seed(0))
    lengths = set()
    for row in found:
        tokens = tokenizer.convert_ids_to_tokens(row[row > 0].tolist())
        assert tokens[0] == "[CLS]" and tokens[-1] == "[SEP]"
        place = tokens.index("[UNK]") if "[UNK]" in tokens else 0
        # in front of the place the windows are the sequence's own, behind it those of the sequence without codons
        matches = []
        for lost in (3, 6):
            behind = windows(chosen[0].sequence[lost:])
            matches.append(tokens[place + 1 : -1] == behind[place:])
        assert tokens[1:place] == windows(chosen[0].sequence)[: max(place - 1, 0)]
        assert any(matches)
        lengths.add(matches.index(True))
    assert lengths == {0, 1}
    assert torch.equal(_shift(frames, torch.tensor([1, 0]), 0.0, torch.Generator()), frames[0].ids[[1, 0]])


def test_scores_are_counted_one_by_one():
    """By loops; the last class has no sample and is answered, of four there is one that nobody names."""
    draw = torch.Generator().manual_seed(3)
    labels = [*LABELS, "violet", "white"]
    targets = torch.randint(0, 3, (60,), generator=draw)
    logits = torch.randn(60, 5, generator=draw) + 1.5 * torch.nn.functional.one_hot(targets, 5)
    logits[:, 4] -= 100
    found = split_scores(logits, targets, labels)
    pairs = list(zip(targets.tolist(), logits.argmax(1).tolist(), strict=True))
    assert found["confusion"] == [[pairs.count((true, answer)) for answer in range(5)] for true in range(5)]
    assert found["n"] == 60 and found["accuracy"] == pytest.approx(sum(a == b for a, b in pairs) / 60)
    f1 = {}
    for k, row in enumerate(found["per_class"]):
        right, samples, answers = pairs.count((k, k)), *(sum(pair[side] == k for pair in pairs) for side in (0, 1))
        assert (row["variant"], row["n"]) == (labels[k], samples)
        assert row["precision"] == pytest.approx(right / max(answers, 1))
        assert row["recall"] == pytest.approx(right / max(samples, 1))
        assert row["f1"] == pytest.approx(2 * right / max(samples + answers, 1))
        if samples + answers:
            f1[k] = row["f1"]
    assert list(f1) == [0, 1, 2, 3]  # violet is answered, white is not
    assert found["macro_f1"] == pytest.approx(sum(f1.values()) / 4)
    chances = [
        math.exp(row[true]) / sum(map(math.exp, row)) for row, true in zip(logits.tolist(), targets, strict=True)
    ]
    assert found["loss"] == pytest.approx(-sum(map(math.log, chances)) / 60, rel=1e-4)
    assert json.loads(json.dumps(found)) == found


@pytest.mark.parametrize("rare", [5, 4])
def test_macro_f1_has_an_interval_where_no_class_is_rare(rare):
    targets = torch.tensor([0] * 40 + [1] * 20 + [2] * rare)
    answers = targets.clone()
    answers[[0, 1, 40, 60]] = torch.tensor([1, 1, 2, 1])
    found = split_scores(torch.nn.functional.one_hot(answers).float(), targets, LABELS)
    assert found["macro_f1_interval"] == ([*macro_f1_interval(found["confusion"])] if rare == 5 else None)


def test_without_scikit_learn_the_command_says_how_to_get_it_before_it_trains(tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn.metrics", None)
    (tmp_path / "a.tsv").write_text(sars.tsv(sars.samples(per_class=24)))
    error = _command_error(capsys, "--data", str(tmp_path / "a.tsv"), "-o", str(tmp_path / "out"))
    assert error == "bertlens: the scores of a classifier need scikit-learn: pip install scikit-learn\n"
    assert not [path for path in (tmp_path / "out").iterdir() if path.suffix == ".pt"]


def test_weights_survive_their_file_in_half_precision(tmp_path):
    torch.manual_seed(0)
    vocabulary = sars.vocabulary()
    model = build(len(vocabulary.kmers), LABELS, width=24, layers=2, heads=3, intermediate=24).eval()
    save(tmp_path, model, vocabulary)
    again, tokenizer = load(tmp_path)
    assert again.dtype == torch.float32 and not again.training
    assert again.config.id2label == {0: "blue", 1: "green", 2: "red"}
    for name, tensor in model.state_dict().items():
        torch.testing.assert_close(again.state_dict()[name], tensor.half().float(), rtol=0, atol=0)
    assert tokenizer.vocabulary == vocabulary
    with pytest.raises(bl.ModelError, match=r"config.json is missing\): make one with bertlens train-sars-cov-2"):
        load(tmp_path / "none")


# --- files ---


def test_validation_takes_whole_lineages_where_it_can():
    split = files.with_validation(sars.samples(per_class=40), share=0.1)
    lineages = {part: {s.group for s in split if s.split == part} for part in ("train", "validation", "test")}
    assert not lineages["train"] & lineages["validation"]
    for label in LABELS:
        assert sum(s.split == "validation" and s.variant == label for s in split) in (3, 4)
    assert split != files.with_validation(sars.samples(per_class=40), share=0.1, seed=1)


def test_validation_takes_sequences_where_there_is_one_lineage():
    one = [replace(sample, group="B.1") for sample in sars.samples(per_class=40)]
    split = files.with_validation(one, share=0.1)
    assert sum(sample.split == "validation" for sample in split) == 9


@pytest.mark.parametrize("zipped", [False, True])
def test_tsv_and_fasta_are_read_alike(tmp_path, zipped):
    made = sars.samples()
    fasta = "".join(f">x variant={s.variant} lineage={s.group} split={s.split}\n{s.sequence}\n" for s in made)
    found = []
    for name, text in (("a.tsv", sars.tsv(made)), ("a.fasta", fasta)):
        path = tmp_path / name
        path.write_bytes(gzip.compress(text.encode()) if zipped else text.encode())
        found.append(files.read(path))
    assert found[0] == found[1] == made


def test_without_splits_a_fifth_becomes_the_test_set(tmp_path):
    made = [replace(s, split="train") for s in sars.samples(per_class=40)]
    (tmp_path / "a.tsv").write_text(sars.tsv(made).replace("split\tsplit_by", "x\tsplit_by"))
    found = files.read(tmp_path / "a.tsv")
    assert {s.variant for s in found if s.split == "test"} == set(LABELS)
    assert 20 <= sum(s.split == "test" for s in found) <= 28


def test_twins_are_merged_and_small_classes_left_out(tmp_path):
    made = sars.samples(per_class=24)
    few = [replace(s, variant="rare", sequence=s.sequence[:-6]) for s in made[:3]]
    (tmp_path / "a.tsv").write_text(sars.tsv(made + made[:5] + few))
    found = files.read(tmp_path / "a.tsv")
    assert len(found) == 72 + 3
    chosen, labels = files.choose(found)
    assert labels == LABELS and len(chosen) == 72


def test_the_command_trains_and_writes_the_folder(tmp_path, capsys, monkeypatch):
    path = tmp_path / "a.tsv"
    path.write_text(sars.tsv(sars.samples(per_class=24)))
    (tmp_path / "b.fasta").write_text(f">reference\n{sars.gene()}\n")
    monkeypatch.setattr(
        "bertlens.training.sars_cov_2.variant_training.ClassifierSettings", lambda **given: replace(TINY, **given)
    )
    folder = tmp_path / "out"
    command = ["train-sars-cov-2", "--data", str(path), "--reference", str(tmp_path / "b.fasta"), "-o", str(folder)]
    assert cli.main([*command, "--steps", "6"]) == 0
    assert "accuracy" in capsys.readouterr().out
    assert {p.name for p in folder.iterdir()} == {
        "config.json", "model.safetensors", "kmers.json", "metrics.json", "MODEL_CARD.md"
    }  # fmt: skip
    metrics = json.loads((folder / "metrics.json").read_text())
    assert metrics["test"]["n"] == 18 and metrics["run"]["steps"] == 6
    samples, labels, _ = variant_run.prepare(path, tmp_path / "b.fasta")
    assert labels == LABELS
    assert variant_run.score_folder(folder, samples, "test") == metrics["test"]
    card = (folder / "MODEL_CARD.md").read_text()
    assert f"| test | 18 | {metrics['test']['accuracy']:.2f} |" in card
    # a finished run is not overwritten; scored again, nothing changes; what was made from another file is refused
    written = {p.name: p.read_bytes() for p in folder.iterdir()}
    capsys.readouterr()
    assert "holds a finished run: give another folder, or --force" in _command_error(capsys, *command[1:])
    assert cli.main([*command, "--score-only"]) == 0
    assert {p.name: p.read_bytes() for p in folder.iterdir()} == written
    path.write_text(sars.tsv(sars.samples(per_class=28)))
    capsys.readouterr()
    assert "was trained on another file than a.tsv" in _command_error(capsys, *command[1:], "--score-only")
    assert "holds no metrics.json" in _command_error(capsys, "--data", str(path), "-o", str(tmp_path), "--score-only")


def test_a_stopped_command_says_how_to_go_on(tmp_path, capsys, monkeypatch):
    def stop(*given, **named):
        raise KeyboardInterrupt

    monkeypatch.setattr(variant_run, "train_and_save", stop)
    command = "--data", str(tmp_path / "a.tsv"), "-o", str(tmp_path / "model")
    assert "stopped before the first checkpoint: the same command begins anew" in _command_error(capsys, *command)
    (tmp_path / "model" / "checkpoint.npz").touch()
    assert "stopped: the same command goes on from the checkpoint" in _command_error(capsys, *command)


def _command_error(capsys, *arguments: str) -> str:
    assert cli.main(["train-sars-cov-2", *arguments]) == 2
    error = capsys.readouterr().err
    assert error.startswith("bertlens: ") and error.count("\n") == 1
    return error


def test_without_a_file_the_command_says_where_the_data_is(tmp_path, capsys):
    error = _command_error(capsys, "--data", str(tmp_path / "none.tsv"))
    assert "no such file" in error and "andersen-lab/HCoV-19-Genomics" in error and "downloads nothing" in error


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "holds no sequence|has no column"),
        ("name\tletters\nx\tACGT\n", "has no column 'variant'"),
        (">x\nATGTTTGTTTTT\n", "record 1: no label. FASTA headers are written >id variant=Alpha"),
        (">x variant=A\nATG-TTGTTTTT\n", "record 1: not a nucleotide sequence: '-' at 3"),
        (">x variant=A split=dev\nATGTTTGTTTTT\n", "split is 'dev', not train, validation or test"),
        (">x variant=A\nATGTTTGTTTTT\n>y variant=B\nATGTTTGTTTTT\n", "same sequence is labelled A and B"),
        (">x variant=A split=test\nATGTTTGTTTTT\n", "0 classes have 20 sequences or more"),
    ],
)
def test_bad_files_are_one_line(tmp_path, capsys, text, says):
    (tmp_path / "a.txt").write_text(text)
    assert re.search(says, _command_error(capsys, "--data", str(tmp_path / "a.txt")))


def test_bytes_that_are_no_text_are_one_line(tmp_path, capsys):
    (tmp_path / "a.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(range(256)))
    assert "neither a TSV nor a FASTA" in _command_error(capsys, "--data", str(tmp_path / "a.png"))
