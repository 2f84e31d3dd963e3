"""The shipped language model as what training changed of the embedded encoder: rounded differences, one file.

A matrix's differences are whole multiples of one step for the whole matrix, a share of their standard deviation:
most are then among a few small numbers, which a Huffman code makes about two bits each: nothing in them repeats, and
who looks for it (DEFLATE, LZMA) loses a tenth. Vectors (biases, LayerNorms) are kept in float16.
"""

from __future__ import annotations

import io
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZIP_LZMA, ZipFile, ZipInfo

import numpy as np
import torch
from torch import Tensor

from ..errors import ModelError
from ..model import offline_model
from .folder import sha256

SHIPPED = Path(__file__).parent / "model"
FILE = "differences.npz"
NAME = "all-MiniLM-L6-v2 as a masked language model"
SHA256 = "8bf83c5dfb22646a81dca5d2dc4adc5cc9d3736de451195935e54481123def51"
STEP = 0.75  # of the differences' standard deviation


def base_weights(source: Path) -> dict[str, Tensor]:
    """The embedded encoder's weights, of its folder, under the names that they have in a BertForMaskedLM."""
    from safetensors.torch import load_file

    weights = load_file(source / offline_model.WEIGHTS)
    return {f"bert.{name}": value for name, value in weights.items() if not name.startswith("pooler")}


def write(model: Any, path: Path, step: float = STEP) -> None:
    """Write what sets a BertForMaskedLM of the embedded encoder's shape apart from it."""
    base, arrays = base_weights(offline_model.folder()), {}
    for name, parameter in model.named_parameters():
        value = parameter.detach().cpu().float()
        change = (value - base[name].float() if name in base else value).numpy()
        if change.ndim < 2:
            arrays[name] = change.astype(np.float16)
            continue
        size = np.float32(step * change.std() or 1.0)
        arrays[name] = np.clip(np.rint(change / size), -127, 127).astype(np.int8)
        arrays[f"{name}.step"] = size
    write_arrays(arrays, path)


def write_arrays(arrays: Mapping[str, np.ndarray | np.float32], path: Path) -> None:
    """An NPZ as numpy reads it, a quarter smaller than numpy writes it: rows or columns first, whichever is less."""
    with ZipFile(path, "w") as archive:
        for name, array in arrays.items():
            entry = ZipInfo(f"{name}.npy")  # without a date: the same bytes again
            if array.dtype != np.int8:
                archive.writestr(entry, _npy(np.asarray(array)), ZIP_LZMA)
                continue
            contents = [_npy(np.asarray(array, order=order)) for order in ("C", "F")]
            tries = [(content, level) for content in contents for level in range(4, 10)]
            content, level = min(tries, key=lambda attempt: len(_huffman(attempt[1]).compress(attempt[0])))
            entry.compress_type = ZIP_DEFLATED
            with archive.open(entry, "w") as out:
                out._compressor = _huffman(level)  # type: ignore[attr-defined]  # else it would look for repeats
                out.write(content)


def _npy(array: np.ndarray) -> bytes:
    content = io.BytesIO()
    np.lib.format.write_array(content, array, allow_pickle=False)
    return content.getvalue()


def _huffman(level: int) -> Any:
    """level: 2 ** (level + 6) numbers share a code, as zlib counts its memory."""
    return zlib.compressobj(9, zlib.DEFLATED, -15, level, zlib.Z_HUFFMAN_ONLY)


def load(folder: Path = SHIPPED, known: str | None = None) -> tuple[Any, Any]:
    """(BertForMaskedLM in eval mode, tokenizer): the embedded encoder with the differences added.

    Raises ModelError where the file is not there, or is not the one with this SHA-256.
    """
    from transformers import BertForMaskedLM, BertTokenizer

    path = folder / FILE
    if not path.is_file():
        raise ModelError("this installation carries no masked language model: install bertlens again")
    if known is not None and (digest := sha256(path)) != known:
        raise ModelError(f"{FILE} is not the known one (SHA-256 {digest[:12]}…): install bertlens again")
    source = offline_model.folder()
    weights = base_weights(source)
    with np.load(path, allow_pickle=False) as changes:
        for name in changes.files:
            if name.endswith(".step"):
                continue
            change = torch.from_numpy(changes[name].astype(np.float32, order="C"))
            if f"{name}.step" in changes.files:
                change *= float(changes[f"{name}.step"])
            weights[name] = change.add_(weights[name]) if name in weights else change
    config = offline_model.config(source, architectures=["BertForMaskedLM"], name_or_path="")
    return offline_model.filled(BertForMaskedLM, config, _tied(weights)), BertTokenizer.from_pretrained(source)


def _tied(weights: dict[str, Tensor]) -> dict[str, Tensor]:
    """With the names of the decoder, which shares the word embeddings."""
    words, bias = weights["bert.embeddings.word_embeddings.weight"], weights["cls.predictions.bias"]
    return weights | {"cls.predictions.decoder.weight": words, "cls.predictions.decoder.bias": bias}
