"""The SARS-CoV-2 classifier on the held-out sequences, beside a logistic regression over the same 12-mers."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.rows import Row
from bertlens.sars_cov_2 import SpikeTokenizer, load
from bertlens.sars_cov_2.model import SHIPPED
from bertlens.training.sars_cov_2.baselines import logistic_regression
from bertlens.training.sars_cov_2.variant_run import prepare
from bertlens.training.sars_cov_2.variant_training import Batches, evaluate, macro_f1

FILE = "sars_cov_2/spike_variants.tsv.gz"


def said(right: float, macro: float) -> str:
    return f"{right:.0f} right, macro-F1 {macro:.2f}"


def rows() -> Iterator[Row]:
    weights = SHIPPED / "model.safetensors"
    size = weights.stat().st_size
    yield Row("SARS-CoV-2 weights, float16", "≤ 8 MB", f"{size / 1e6:.2f} MB", ok=size <= 8e6)
    root = Path(os.environ.get("BERTLENS_DATA") or Path(__file__).resolve().parents[2] / "shared" / "data")
    if not (root / FILE).is_file():
        yield Row("SARS-CoV-2 variants, test split", "–", f"not measured: BERTLENS_DATA has no {FILE}")
        return
    samples, labels, _ = prepare(root / FILE)
    model, tokenizer = load()
    assert isinstance(tokenizer, SpikeTokenizer)
    test = Batches.of([sample for sample in samples if sample.split == "test"], tokenizer, labels)
    start = time.process_time()
    found = evaluate(model, test, labels)
    bert_seconds = time.process_time() - start
    start = time.process_time()
    train, held_out = ([sample for sample in samples if sample.split == split] for split in ("train", "test"))
    peer = logistic_regression(train, held_out, labels)
    yield Row(
        f"SARS-CoV-2 variants, {found['n']} test sequences, {len(labels)} classes",
        "accuracy ≥ 0.99, macro-F1 ≥ 0.98",
        f"{said(found['accuracy'] * found['n'], found['macro_f1'])}, answered in {bert_seconds:.0f} s",
        f"logistic regression: {said(int((peer == test.labels).sum()), macro_f1(peer, test.labels))}, "
        f"fitted in {time.process_time() - start:.0f} s",
        found["accuracy"] >= 0.99 and found["macro_f1"] >= 0.98,
    )
