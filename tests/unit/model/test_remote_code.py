"""Checkpoints that name code of their own: what transformers reads without it, and why the others are refused."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers as tf
from safetensors import safe_open
from safetensors.torch import save_file
from torch import nn
from transformers.modeling_outputs import BaseModelOutput

from bertlens import Lens, ModelError
from bertlens.model.families import PAGE
from unit import tiny

TEXT = "the cat sat on the mat"
DOCUMENT = Path(__file__).resolve().parents[3] / PAGE
# Read natively -> a weight by the name that the checkpoints' own code gives it
NATIVE = {
    "nomic_bert": "encoder.layers.0.attn.Wqkv.weight",
    "gte": "encoder.layer.0.attention.qkv_proj.weight",
    "jina_embeddings_v3": "encoder.layers.0.mixer.Wqkv.weight",
    "eurobert": "layers.0.self_attn.q_proj.weight",
}


def name_own_code(folder: Path, code: str, **changes: Any) -> Path:
    """The folder as a checkpoint with code of its own, which leaves a mark where it runs; the path of that mark."""
    module, mark = code.split(".")[0], folder / "executed"
    (folder / f"{module}.py").write_text(f"import os\nos.mkdir({str(mark)!r})\n")
    config = json.loads((folder / "config.json").read_text())
    config |= {"auto_map": {"AutoConfig": f"{module}.Config", "AutoModel": code}} | changes
    (folder / "config.json").write_text(json.dumps(config))
    return mark


@pytest.mark.parametrize("kind", NATIVE)
def test_what_transformers_knows_is_read_without_the_code(kind: str, tmp_path: Path) -> None:
    """Weights under the names of the checkpoint's own code; the answer is that of the model they were written from."""
    if kind not in tf.CONFIG_MAPPING:
        pytest.skip(f"transformers {tf.__version__} knows no {kind}")
    sizes = tiny.BERT | {"pad_token_id": 0, "bos_token_id": 2, "eos_token_id": 3}
    model = tiny.shaken(tf.AutoModel.from_config(tf.AutoConfig.for_model(kind, **sizes)))
    model.save_pretrained(tmp_path)
    tiny.wordpiece().save_pretrained(tmp_path)
    with safe_open(tmp_path / "model.safetensors", "pt") as weights:
        assert NATIVE[kind] in {name.removeprefix("new.") for name in weights.keys()}  # noqa: SIM118
    mark = name_own_code(tmp_path, "modeling_own.OwnModel")
    lens = Lens.from_pretrained(tmp_path)
    assert type(lens.model) is type(model) and not mark.exists()
    trace = lens.trace(TEXT)
    assert torch.equal(trace.attention(1), Lens(model, tiny.wordpiece()).trace(TEXT).attention(1))
    assert any("(modeling_own.OwnModel), which was not run" in line for line in trace.report.notes)


def bert_of_own_code(folder: Path, name: Any) -> None:
    """A folder that says it is of bert, with weights renamed by `name`; None leaves one out."""
    tiny.bert().save_pretrained(folder)
    tiny.wordpiece().save_pretrained(folder)
    with safe_open(folder / "model.safetensors", "pt") as file:
        weights = {name(key): file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
    save_file({key: value for key, value in weights.items() if key}, folder / "model.safetensors")


UNFIT = {
    "holds no weights of BertModel": lambda name: f"roberta.mixer.{name}",
    "lacks weights of BertModel: embeddings.position_embeddings": lambda name: None if "position" in name else name,
    "lacks weights of BertModel: encoder.layer.0.attention.self": lambda name: name.replace("attention.self", "Wqkv"),
}


@pytest.mark.parametrize("problem", UNFIT)
def test_weights_of_other_code_under_a_known_name(problem: str, tmp_path: Path) -> None:
    """As DNABERT-2 and Jina's have them: the reason is the code, not a file that is not whole."""
    folder = tmp_path / "dna"
    bert_of_own_code(folder, UNFIT[problem])
    with pytest.raises(ModelError, match=f"^dna {problem}"):
        Lens.from_pretrained(folder)
    mark = name_own_code(folder, "bert_layers.BertModel")
    reason = r"^dna comes with code of its own \(bert_layers\.BertModel\), which is not run, and "
    with pytest.raises(ModelError, match=f"{reason}{problem}.*; {PAGE} names .*") as caught:
        Lens.from_pretrained(folder)
    assert "get the whole file" not in str(caught.value) and not mark.exists()


def test_a_shape_of_other_code(tmp_path: Path) -> None:
    """As Nucleotide Transformer v2 has it: a gated MLP twice as wide."""
    bert_of_own_code(tmp_path, str)
    name_own_code(tmp_path, "modeling_esm.EsmModel", intermediate_size=2 * tiny.BERT["intermediate_size"])
    with pytest.raises(
        ModelError, match=r"code of its own \(modeling_esm\.EsmModel\).* and has weights of another shape"
    ):
        Lens.from_pretrained(tmp_path)


def test_a_type_that_transformers_does_not_know(tmp_path: Path) -> None:
    bert_of_own_code(tmp_path, str)
    mark = name_own_code(tmp_path, "model.NeoBERT", model_type="neobert")
    with pytest.raises(
        ModelError, match=rf"code of its own, which is not run: {PAGE} names .*Lens\(model, tokenizer\)"
    ):
        Lens.from_pretrained(tmp_path)
    assert not mark.exists()


class OwnAttention(nn.Module):
    """Attention as such code has it: q, k and v of one projection, and torch's own function called right here."""

    def __init__(self, config: Any):
        super().__init__()
        self.heads = config.num_attention_heads
        self.Wqkv = nn.Linear(config.hidden_size, 3 * config.hidden_size)
        self.output = nn.Module()
        self.output.dense = nn.Linear(config.hidden_size, config.hidden_size)
        self.output.LayerNorm = nn.LayerNorm(config.hidden_size)

    def forward(self, x: torch.Tensor, weighted: bool) -> tuple[torch.Tensor, torch.Tensor | None]:
        q, k, v = (x.unflatten(-1, (self.heads, -1)).transpose(1, 2) for x in self.Wqkv(x).chunk(3, -1))
        weights = (q @ k.mT * q.shape[-1] ** -0.5).softmax(-1) if weighted else None
        context = nn.functional.scaled_dot_product_attention(q, k, v) if weights is None else weights @ v
        return self.output.LayerNorm(x + self.output.dense(context.transpose(1, 2).flatten(2))), weights


class OwnLayer(nn.Module):
    def __init__(self, config: Any):
        super().__init__()
        self.attention = OwnAttention(config)


class NeoLike(tf.PreTrainedModel):
    """As NeoBERT: it does not say which module holds its embeddings, and returns one state for each layer alone."""

    config_class = tf.BertConfig

    def __init__(self, config: Any):
        super().__init__(config)
        self.encoder = nn.Embedding(config.vocab_size, config.hidden_size)
        self.transformer_encoder = nn.ModuleList(OwnLayer(config) for _ in range(config.num_hidden_layers))
        self.post_init()

    def forward(self, input_ids: Any, output_attentions: bool = False, **_: Any) -> BaseModelOutput:
        x, states, maps = self.encoder(input_ids), [], []
        for layer in self.transformer_encoder:
            x, weights = layer.attention(x, output_attentions)
            states.append(x)
            maps.append(weights)
        return BaseModelOutput(x, tuple(states), tuple(maps) if output_attentions else None)


class NeoLikeWithEmbeddings(NeoLike):
    def get_input_embeddings(self) -> nn.Module:
        return self.encoder


class BertModel(tf.PreTrainedModel):
    """As DNABERT-2: it calls itself bert, has some of BERT's modules, and returns a tuple whatever it is asked for."""

    config_class = tf.BertConfig

    def __init__(self, config: Any):
        super().__init__(config)
        self.embeddings, self.encoder = nn.Module(), nn.Module()
        self.embeddings.word_embeddings = nn.Embedding(config.vocab_size, config.hidden_size)
        self.encoder.layer = nn.ModuleList(OwnLayer(config) for _ in range(config.num_hidden_layers))
        self.post_init()

    def get_input_embeddings(self) -> nn.Module:
        return self.embeddings.word_embeddings

    def forward(self, input_ids: Any, attention_mask: Any = None, **_: Any) -> tuple[torch.Tensor, None]:
        x = self.embeddings.word_embeddings(input_ids)
        for layer in self.encoder.layer:
            x, _weights = layer.attention(x, False)
        return x, None


OF_OWN_CODE = rf"its class is of test_remote_code, not of transformers; {PAGE} names .* Trace\.from_attentions$"
REASONS = {
    NeoLike: rf"^NeoLike does not say where its embeddings of tokens are: {OF_OWN_CODE}",
    NeoLikeWithEmbeddings: "returns 3 attention maps and as many hidden states, so .*Trace.from_attentions",
    BertModel: rf"^BertModel returns no attention over its own tokens\. {OF_OWN_CODE}",
}


@pytest.mark.parametrize("kind", REASONS, ids=lambda kind: kind.__name__)
def test_a_model_of_own_code_is_refused_for_what_it_lacks(kind: Any) -> None:
    with pytest.raises(ModelError, match=REASONS[kind]):
        Lens(kind(tf.BertConfig(**tiny.BERT)), tiny.wordpiece()).trace(TEXT)


def rows(heading: str) -> list[list[str]]:
    """The cells of a table of the page, by the start of its heading."""
    lines = DOCUMENT.read_text(encoding="utf-8").split(heading)[1].split("\n\n")[0].splitlines()[2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


@pytest.mark.skipif(
    f"transformers {tf.__version__} " not in DOCUMENT.read_text(), reason="the page is of another release"
)
def test_the_page_says_what_transformers_says() -> None:
    """Type and class as transformers has them, and a checkpoint that the config's own docstring names."""
    native = rows("| model type |")
    assert {row[0].strip("`") for row in native} == set(NATIVE)
    for kind, name, *checkpoints in native:
        config = tf.CONFIG_MAPPING[kind.strip("`")]
        assert name == f"`{tf.AutoModel._model_mapping[config].__name__}`"  # no public table has it
        source = Path(sys.modules[config.__module__].__file__ or "").read_text()
        named = re.findall(r"`([\w.-]+/[\w.-]+)`", " ".join(checkpoints))
        assert any(f'checkpoint="{checkpoint}"' in source for checkpoint in named), kind
    unknown = {kind.strip("`") for _, kind, why in rows("| checkpoint |") if "no such model type" in why}
    types = {kind.strip("`") for _, kind, why in rows("| checkpoint |") if "no such model type" not in why}
    assert unknown == {"new", "neobert"} and unknown.isdisjoint(tf.CONFIG_MAPPING) and types <= set(tf.CONFIG_MAPPING)
