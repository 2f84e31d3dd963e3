"""The shipped language model as what training changed of the embedded encoder: rounded differences, one file.

A matrix's differences are whole multiples of one step for the whole matrix, a share of their standard deviation:
most are then among a few small numbers, which LZMA compresses to about two bits each. Vectors (biases, LayerNorms) are
kept in float16.
"""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any
from zipfile import ZIP_LZMA, ZipFile, ZipInfo

import numpy as np
import torch
from torch import Tensor

from ..errors import ModelError
from ..model import offline_model
from .folder import sha256

SHIPPED = Path(__file__).parent / "model"
FILE = "differences.npz"
NAME = "all-MiniLM-L6-v2 as a masked language model"
SHA256 = "b25e7255a601108704de9f3f325a0e93b59c0a106bfa0863e07dfd7ec2fe6c34"
STEP = 0.75  # of the differences' standard deviation


def base_weights() -> dict[str, Tensor]:
    """The embedded encoder's weights under the names that they have in a BertForMaskedLM."""
    from safetensors.torch import load_file

    weights = load_file(offline_model.folder() / "model.safetensors")
    return {f"bert.{name}": value for name, value in weights.items() if not name.startswith("pooler")}


def write(model: Any, path: Path, step: float = STEP) -> None:
    """Write what sets a BertForMaskedLM of the embedded encoder's shape apart from it."""
    base, arrays = base_weights(), {}
    for name, parameter in model.named_parameters():
        value = parameter.detach().cpu().float()
        change = (value - base[name].float() if name in base else value).numpy()
        if change.ndim < 2:
            arrays[name] = change.astype(np.float16)
            continue
        size = np.float32(step * change.std() or 1.0)
        arrays[name] = np.clip(np.rint(change / size), -127, 127).astype(np.int8)
        arrays[f"{name}.step"] = size
    with ZipFile(path, "w") as file:  # an NPZ as numpy reads it, an eighth smaller than numpy writes it
        for name, array in arrays.items():
            content = io.BytesIO()
            np.lib.format.write_array(content, np.asarray(array), allow_pickle=False)
            file.writestr(ZipInfo(f"{name}.npy"), content.getvalue(), ZIP_LZMA)  # without a date: the same bytes again


def load(folder: Path = SHIPPED, known: str | None = None) -> tuple[Any, Any]:
    """(BertForMaskedLM in eval mode, tokenizer): the embedded encoder with the differences added.

    Raises ModelError where the file is not there, or is not the one with this SHA-256.
    """
    from transformers import AutoTokenizer, BertConfig, BertForMaskedLM

    path = folder / FILE
    if not path.is_file():
        raise ModelError("this installation carries no masked language model: install bertlens again")
    if known is not None and (digest := sha256(path)) != known:
        raise ModelError(f"{FILE} is not the known one (SHA-256 {digest[:12]}…): install bertlens again")
    weights = {name: value.float() for name, value in base_weights().items()}
    with np.load(path, allow_pickle=False) as changes:
        for name in changes.files:
            if name.endswith(".step"):
                continue
            change = torch.from_numpy(changes[name].astype(np.float32))
            if f"{name}.step" in changes.files:
                change *= float(changes[f"{name}.step"])
            weights[name] = weights[name] + change if name in weights else change
    source = offline_model.folder()
    config = BertConfig.from_pretrained(source, architectures=["BertForMaskedLM"])
    with offline_model.quietly():
        model = BertForMaskedLM.from_pretrained(None, config=config, state_dict=_tied(weights))
    return model.eval(), AutoTokenizer.from_pretrained(source)


def _tied(weights: dict[str, Tensor]) -> dict[str, Tensor]:
    """With the names of the decoder, which shares the word embeddings."""
    words, bias = weights["bert.embeddings.word_embeddings.weight"], weights["cls.predictions.bias"]
    return weights | {"cls.predictions.decoder.weight": words, "cls.predictions.decoder.bias": bias}
