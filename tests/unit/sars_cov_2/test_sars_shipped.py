"""The shipped SARS-CoV-2 classifier: what is in the package, its answers, and its card's numbers on the test split."""

from __future__ import annotations

import json
import os

import numpy as np
import pytest
import torch
from safetensors import safe_open

import bertlens as bl
from bertlens import sars_cov_2
from bertlens.sars_cov_2.model import SHIPPED
from bertlens.training.sars_cov_2 import baselines, variant_run
from bertlens.training.sars_cov_2.variant_card import card

LABELS = ["Alpha", "Delta", "Epsilon", "Gamma", "Iota", "Mu", "Omicron", "other"]


@pytest.fixture(scope="module")
def lens():
    return bl.Lens.sars_cov_2()


@pytest.fixture(scope="module")
def metrics():
    return json.loads((SHIPPED / "metrics.json").read_text(encoding="utf-8"))


def test_weights_are_small_and_half_precision():
    assert os.path.getsize(SHIPPED / "model.safetensors") <= 8_000_000
    with safe_open(SHIPPED / "model.safetensors", "pt") as file:
        assert {file.get_tensor(name).dtype for name in file.keys()} == {torch.float16}  # noqa: SIM118


def test_it_has_the_papers_shape(lens):
    config = lens.model.config
    assert (config.num_hidden_layers, config.num_attention_heads) == (12, 12)
    assert 96 <= config.hidden_size <= 144 and config.max_position_embeddings >= 426
    assert list(config.id2label.values()) == LABELS


def test_the_reference_is_lineage_b(lens):
    vocabulary = lens.tokenizer.vocabulary
    spike = vocabulary.reference_sequence
    assert len(spike) == 3822 and spike[:3] == "ATG" and spike[-3:] == "TAA"
    assert spike[3 * 613 : 3 * 614] == "GAT"
    # residues that papers give for Wuhan-Hu-1: furin's PRRAR, the receptor's N501, the prolines' K986 V987
    protein = "".join(mark.peptide[:3] for mark in sars_cov_2.annotate_sequence(spike, vocabulary).marks[1:-1])
    assert protein.startswith("MFVFLVLLPLVSSQC") and protein[680:685] == "PRRAR"
    assert (protein[500], protein[613], protein[985:987]) == ("N", "D", "KV")


@pytest.mark.parametrize("variant", LABELS)
def test_a_variants_defining_mutations_are_recognised(lens, variant):
    sequence = sars_cov_2.example(lens.tokenizer.vocabulary, sars_cov_2.MUTATIONS[variant])
    trace = lens.trace(sequence)
    assert LABELS[int(trace.output.logits.argmax())] == variant
    assert not trace.report.unknown
    found = set(sars_cov_2.annotate(trace).mutations)
    assert {name for name in sars_cov_2.MUTATIONS[variant] if name[:3] not in ("del", "ins")} <= found


def test_a_trace_is_what_transformers_computes(lens):
    sequence = sars_cov_2.example(lens.tokenizer.vocabulary, sars_cov_2.MUTATIONS["Alpha"])
    trace = lens.trace(sequence)
    lens.model.set_attn_implementation("eager")
    with torch.inference_mode():
        plain = lens.model(**lens.tokenizer(sequence, return_tensors="pt"), output_attentions=True)
    lens.model.set_attn_implementation("sdpa")
    torch.testing.assert_close(trace.output.logits.flatten(), plain.logits.flatten(), atol=1e-4, rtol=1e-4)
    for layer in (0, 11):
        torch.testing.assert_close(trace.attention(layer), plain.attentions[layer][0], atol=1e-5, rtol=1e-5)
    assert trace.model_name == "bertlens-sars-cov-2"


def test_the_card_says_what_the_metrics_say(metrics):
    assert (SHIPPED / "MODEL_CARD.md").read_text(encoding="utf-8") == card(metrics)
    assert metrics["test"]["macro_f1"] >= 0.98 and metrics["test"]["accuracy"] >= 0.99


@pytest.fixture(scope="module")
def prepared(data):
    """Samples, labels and vocabulary of the table that the model was trained on."""
    return variant_run.prepare(data / "sars_cov_2" / "spike_variants.tsv.gz")


@pytest.mark.data
def test_the_table_is_what_the_card_counts(metrics, prepared):
    samples, labels, vocabulary = prepared
    assert labels == metrics["test"]["labels"] and len(vocabulary.kmers) == metrics["kmers"]
    assert vocabulary == sars_cov_2.Vocabulary.load(SHIPPED / "kmers.json")
    for split, counts in metrics["sizes"].items():
        for label, count in counts.items():
            assert sum(s.split == split and s.variant == label for s in samples) == count


@pytest.mark.data
def test_some_of_the_test_split_are_answered_as_the_card_says(metrics, prepared):
    """Every twelfth sample; the whole split is scored by the long test below."""
    some = [sample for sample in prepared[0] if sample.split == "test"][::12]
    found = variant_run.score_folder(SHIPPED, some, "test")
    assert found["n"] == len(some) > 40 and found["n"] * (1 - found["accuracy"]) < 1.5  # 3 of all 572 are wrong
    assert np.greater(found["confusion"], metrics["test"]["confusion"]).sum() == 0


@pytest.mark.data
@pytest.mark.long
@pytest.mark.timeout(1200)
def test_the_cards_numbers_hold_on_the_test_split(metrics, prepared):
    samples = prepared[0]
    found = variant_run.score_folder(SHIPPED, samples, "test")
    assert found["confusion"] == metrics["test"]["confusion"]
    assert found["per_class"] == metrics["test"]["per_class"]
    assert found["macro_f1_interval"] is metrics["test"]["macro_f1_interval"] is None  # four of Iota
    assert found["loss"] == pytest.approx(metrics["test"]["loss"], rel=1e-3)
    near = baselines.compare_baselines(SHIPPED, samples)
    for name, scores in metrics["near"]["scores"].items():  # sums of floats, whose last digit is the processor's
        assert near["scores"][name] == pytest.approx(scores, rel=1e-12)
    assert near | {"scores": {}} == metrics["near"] | {"scores": {}}
    assert near["scores"].keys() == metrics["near"]["scores"].keys()
    # what an independent recomputation found
    assert sum(count for distance, count in near["distances"].items() if int(distance) <= 2) / 572 > 0.8
    assert "0" not in near["distances"] and near["scores"]["nearest_neighbour"]["right"] == 571
