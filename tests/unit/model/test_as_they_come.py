"""Models as people have them: offloaded, an adapter's folder, a name, a limit set later, no attention weights."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

import bertlens as bl
from bertlens.errors import InputError, ModelError
from unit import tiny
from unit.tiny_encoders import encoder


@pytest.mark.parametrize("maps", [None, (None, None), [torch.full((1, 2, 2), 0.5), None]])
def test_attentions_that_the_model_did_not_give(maps: Any) -> None:
    for grid in ({"tokens": ["a", "b"]}, {"grid": (1, 2)}):
        with pytest.raises(InputError, match=r"attn_implementation=.eager. and call it with output_attentions=True"):
            bl.Trace.from_attentions(maps, **grid)


def test_attentions_of_a_model_in_train_mode() -> None:
    model, tokenizer = tiny.bert(attention_probs_dropout_prob=0.5, attn_implementation="eager"), tiny.wordpiece()
    inputs = tokenizer("the cat sat", return_tensors="pt")
    torch.manual_seed(0)
    maps = model.train()(**inputs, output_attentions=True).attentions
    with pytest.raises(InputError, match=r"rows must sum to 1 .*model\.eval\(\): in train mode"):
        bl.Trace.from_attentions(maps, inputs.tokens())
    maps = model.eval()(**inputs, output_attentions=True).attentions
    assert bl.Trace.from_attentions(maps, inputs.tokens()).n_layers == model.config.num_hidden_layers


@pytest.mark.parametrize("layer", [None, 1])
def test_an_offloaded_model_is_refused_for_what_it_is(layer: int | None) -> None:
    accelerate = pytest.importorskip("accelerate")
    model = tiny.bert()
    part = model if layer is None else model.encoder.layer[layer]  # as device_map does with the last layers
    accelerate.cpu_offload(part, execution_device=torch.device("cpu"))
    with pytest.raises(ModelError, match=r"the model is offloaded .* load it whole, without device_map"):
        bl.Lens(model, tiny.wordpiece()).trace("the cat sat")


def test_the_folder_of_an_adapter_says_how_to_load_it(tmp_path: Path) -> None:
    peft, tf = pytest.importorskip("peft"), pytest.importorskip("transformers")
    model, tokenizer = tiny.bert(), tiny.wordpiece()
    base, folder = tmp_path / "base", tmp_path / "adapter"
    model.save_pretrained(base), tokenizer.save_pretrained(base)
    model = peft.get_peft_model(tf.AutoModel.from_pretrained(base), peft.LoraConfig(target_modules=["query"]))
    model.save_pretrained(folder)
    with pytest.raises(ModelError, match="holds an adapter and no model: load both, for example ") as caught:
        bl.Lens.from_pretrained(folder)
    names = {"bertlens": bl, "peft": peft, "AutoModel": tf.AutoModel, "AutoTokenizer": tf.AutoTokenizer}
    lens = eval(str(caught.value).split("for example ")[1], names)
    expected = bl.Lens(model, tokenizer).trace("the cat sat")
    torch.testing.assert_close(lens.trace("the cat sat").attention(1), expected.attention(1))


@pytest.mark.parametrize("name", ["bert-base-uncased", Path("folder")])
def test_a_name_in_place_of_a_model(name: Any) -> None:
    with pytest.raises(ModelError, match=rf"Lens\.from_pretrained\('{name}'\)"):
        bl.Lens(name, tiny.wordpiece())


def test_a_limit_that_is_set_later_counts() -> None:
    lens = bl.Lens(encoder())
    text = "the cat sat on the mat and the dog slept"
    lens.trace(text)
    lens.model.max_seq_length = 5
    with pytest.raises(InputError, match="tokens, the model reads 5"):
        lens.trace(text)
    assert lens.limit == 5 and lens.trace(text, truncation=True).n_tokens == 5
