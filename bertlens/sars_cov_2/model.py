"""The classifier: a stock BertForSequenceClassification, narrow and deep, how it starts, is stored and loaded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from ..base.paths import as_path
from ..errors import ModelError
from ..lens import Lens
from ..model import offline_model
from .kmers import SPECIAL, Vocabulary
from .spike_tokenizer import SpikeTokenizer

SHIPPED = Path(__file__).parent / "model"
NAME = "bertlens-sars-cov-2"
POSITIONS = 512


def build(
    n_kmers: int, labels: list[str], *, width: int = 96, layers: int = 12, heads: int = 12, intermediate: int = 192
) -> Any:
    """A BertForSequenceClassification with fresh weights, for n_kmers 12-mers and the names `labels` of its classes.

    width, layers, heads: of the stream, a multiple of heads; intermediate: neurons of an MLP.

    Attention dropout is 0: on a CPU it is what makes training slow, and unknown k-mers regularise instead (train.py).
    """
    from transformers import BertConfig, BertForSequenceClassification

    config = BertConfig(
        vocab_size=len(SPECIAL) + n_kmers,
        hidden_size=width,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        intermediate_size=intermediate,
        max_position_embeddings=POSITIONS,
        initializer_range=width**-0.5,  # BERT's own 0.02 suits width 768: here nothing would reach [CLS] at the start
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
        pad_token_id=0,
        id2label=dict(enumerate(labels)),
        label2id={label: number for number, label in enumerate(labels)},
    )
    model: Any = BertForSequenceClassification(config)
    with torch.no_grad():
        # Twelve post-LayerNorm blocks train from scratch when each branch starts small beside its residual.
        for layer in model.bert.encoder.layer:
            for module in (layer.attention.output.dense, layer.output.dense):
                module.weight.mul_((2 * layers) ** -0.25)
    return model


def save(folder: Path, model: Any, vocabulary: Vocabulary) -> None:
    """config.json, model.safetensors (float16) and the tokenizer's kmers.json."""
    from safetensors.torch import save_file

    folder.mkdir(parents=True, exist_ok=True)
    weights = {name: tensor.detach().cpu().half().contiguous() for name, tensor in model.state_dict().items()}
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    (folder / "model.safetensors").chmod(0o644)  # safetensors keeps it to its owner, and wheels keep modes
    model.config.architectures = [type(model).__name__]
    model.config.save_pretrained(folder)
    vocabulary.save(folder / "kmers.json")


def load(folder: str | Path = SHIPPED) -> tuple[Any, SpikeTokenizer]:
    """(model in float32 and eval mode, tokenizer) of a trained folder, the shipped one by default.

    Raises InputError for no path, ModelError where the folder does not hold one.
    """
    from transformers import BertForSequenceClassification

    folder = as_path(folder)
    missing = [name for name in ("config.json", "model.safetensors", "kmers.json") if not (folder / name).is_file()]
    if missing:
        raise ModelError(
            f"{folder.name} holds no trained SARS-CoV-2 classifier ({missing[0]} is missing): "
            "make one with bertlens train-sars-cov-2 --data PATH"
        )
    tokenizer = SpikeTokenizer(folder / "kmers.json", model_max_length=POSITIONS)
    model = BertForSequenceClassification.from_pretrained(folder, dtype=torch.float32, use_safetensors=True)
    return model.eval(), tokenizer


def classes(model: Any) -> list[str]:
    """The names of a classifier's classes, in the order of its logits."""
    return [model.config.id2label[number] for number in range(model.config.num_labels)]


def lens() -> Lens:
    """The shipped classifier in a lens: what `Lens.sars_cov_2()` gives."""
    from ..lens import Lens

    with offline_model.quietly():
        lens = Lens(*load())
    lens.borrowed.name = NAME
    return lens
