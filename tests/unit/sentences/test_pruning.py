"""A smaller copy of a model: cut, saved and loaded again it gives the whole model's states behind that layer."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import bertlens as bl
from bertlens import whatif
from bertlens.errors import InputError, ModelError
from bertlens.sentences.layer_vectors import LayerVectors
from conftest import state
from unit import tiny, tiny_encoders
from unit.sentences.test_layer_vectors import NORMS, TEXTS, lens_of, looped

CUT = ["bert", "roberta", "mpnet", "modernbert", "distilbert", "deberta", "electra", "nomic_bert", "gpt2", "albert"]


def reloaded(lens: bl.Lens, folder: Path) -> bl.Lens:
    model: Any = lens.model
    model.save_pretrained(folder)
    if not hasattr(model, "encode"):
        lens.tokenizer.save_pretrained(folder)
    return bl.Lens.from_pretrained(folder)


@pytest.mark.parametrize("name", CUT)
def test_a_cut_model_is_saved_and_loaded(name: str, tmp_path: Path) -> None:
    lens = lens_of(name)
    before = state(lens.model)
    small = lens.prune(layers=2)
    assert state(lens.model) == before and lens.borrowed.base.config.num_hidden_layers > 2
    again = reloaded(small, tmp_path)
    expected = np.stack([looped(lens, name, text)[2] for text in TEXTS])
    assert np.abs(again.encode(TEXTS).numpy() - expected).max() <= 1e-6 * max(1.0, np.abs(expected).max())
    call, _, comment = again.prune(1).made.partition("  #")
    assert call.endswith(f'{tmp_path.name}").prune(layers=1)') and comment == " a folder: write where it is"
    assert again.trace(TEXTS[0]).n_layers == 2 and small.model_name.endswith(", 2 layers")
    whole, part = (sum(each.numel() for each in of.model.parameters()) for of in (lens, again))
    assert part == whole if name == "albert" else part < whole
    assert name in NORMS or lens.prune(1).model_name.endswith(", 1 layer")


def test_a_folder_of_sentence_transformers(tmp_path: Path) -> None:
    module = tiny_encoders.encoder(tiny_encoders.dense(torch.nn.Tanh()))
    lens = bl.Lens(module)
    before = state(module)
    small = lens.prune(layers=1, dimensions=10)
    again = reloaded(small, tmp_path)
    rows = LayerVectors(lens).encode(TEXTS, "query")[:, 1, :10]
    assert np.abs(again.encode(TEXTS, "query").numpy() - rows).max() <= 1e-6
    assert state(module) == before and module.truncate_dim is None and len(module[0].model.encoder.layer) == 3
    assert small.model_name == f"{lens.model_name}, 1 layer, 10 dimensions"


@pytest.mark.parametrize("name", ["bert", "gpt2"])
def test_heads_are_zero_in_the_copy_and_it_stays_as_large(name: str) -> None:
    lens = lens_of(name)
    before = state(lens.model)
    small = lens.prune(heads=[(1, 2), (0, 3)])
    off = lens.trace(TEXTS[0]).rerun(whatif.off(1, 2), whatif.off(0, 3))
    assert torch.allclose(small.trace(TEXTS[0]).hidden_states[-1], off.hidden_states[-1], atol=1e-6)
    assert not torch.allclose(lens.trace(TEXTS[0]).hidden_states[-1], off.hidden_states[-1], atol=1e-3)
    sizes = [sum(each.numel() for each in of.model.parameters()) for of in (lens, small)]
    assert sizes[0] == sizes[1] and "as large as before" in " ".join(small.notes) and state(lens.model) == before


def test_a_head_of_a_task_stays_on_the_cut_model() -> None:
    import transformers as tf

    model = tiny.shaken(tf.BertForMaskedLM(tf.BertConfig(**tiny.BERT)))
    small = bl.Lens(model, tiny.wordpiece()).prune(1)
    assert small.trace("the [MASK] sat").output.logits.shape[-1] == len(tiny.VOCABULARY)


def test_the_line_that_makes_it_again(embedded_lens: bl.Lens) -> None:
    small = embedded_lens.prune(3, heads=[(0, 1)])
    assert small.made == "bl.Lens.embedded().prune(layers=3, heads=[(0, 1)])"
    again = eval(small.made, {"bl": bl})
    assert torch.equal(again.encode("warm"), small.encode("warm")) and again.model_name == small.model_name


def test_what_cannot_be_is_said() -> None:
    lens = lens_of("bert")
    for arguments, words in (
        ({}, "prune takes what is to be kept"),
        ({"layers": 4}, "at least 1 and at most 3"),
        ({"dimensions": 8}, "makes no vectors of texts itself"),
        ({"heads": [(3, 0)]}, "a layer counts from 0, at least 0 and at most 2"),
        ({"heads": [(0, 4)]}, "a head counts from 0, at least 0 and at most 3"),
        ({"heads": [5]}, "pairs of a layer and a head"),
        ({"layers": 1, "heads": [(1, 0)]}, "at most 0"),
    ):
        with pytest.raises(InputError, match=re.escape(words)):
            lens.prune(**arguments)
    with pytest.raises(InputError, match="at least 1 and at most 32"):
        bl.Lens(tiny_encoders.encoder()).prune(dimensions=33)
    for name, arguments, words in (
        ("albert, two groups of two", {"layers": 2}, "AlbertModel cannot be cut to fewer layers: it shares layers"),
        ("albert", {"heads": [(0, 0)]}, "AlbertModel runs the same weights in several layers"),
        ("esm", {"layers": 2}, "EsmModel cannot be cut to fewer layers: it has contact_head.regression.weight"),
    ):
        with pytest.raises(ModelError, match=re.escape(words)):
            lens_of(name).prune(**arguments)


def test_the_ways_that_a_refusal_names() -> None:
    """Vectors of a model without a pooling are cut by hand, or it is put into a SentenceTransformer."""
    lens = lens_of("bert")
    assert lens.encode(TEXTS)[:, :8].shape == (4, 8)
    small = bl.Lens(tiny_encoders.encoder()).prune(dimensions=8)
    assert small.encode(TEXTS).shape == (4, 8)
