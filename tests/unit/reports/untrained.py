"""Reports of small models of random weights: what of the claims of training holds by chance."""

from __future__ import annotations

from typing import Any

import torch
import transformers as tf

from bertlens import Lens
from bertlens.reports import CLAIMS, Report, report
from bertlens.reports.excerpt_pairs import pairs
from unit import tiny

MODELS = 20
TEXTS = 12


def untrained(seed: int) -> Any:
    """Every other one as transformers begins a training, every other one with large weights, whose heads differ."""
    torch.manual_seed(seed)
    model = tf.BertForMaskedLM(tf.BertConfig(**tiny.BERT | {"num_hidden_layers": 4})).eval()
    return tiny.shaken(model, seed) if seed % 2 else model


def reports(seeds: range) -> list[Report]:
    names = [claim.name for claim in CLAIMS if claim.name not in ("clark-syntax", "clark-coreference", "clark-probe")]
    texts = pairs()[:TEXTS]
    return [
        report(Lens(untrained(seed), tiny.wordpiece()), texts, names, texts=TEXTS, progress=False) for seed in seeds
    ]
