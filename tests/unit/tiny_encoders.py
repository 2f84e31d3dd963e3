"""Small random sentence encoders of sentence-transformers, built on the spot."""

from __future__ import annotations

import random
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers as tf

from unit import tiny

st = pytest.importorskip("sentence_transformers", minversion="6")
from sentence_transformers.base import modules as base  # noqa: E402
from sentence_transformers.sentence_transformer import modules as parts  # noqa: E402

PROMPTS = {"query": "was it warm ", "document": "the mat ", "odd": "very, very "}
MODES = ("cls", "max", "mean", "mean_sqrt_len_tokens", "weightedmean", "lasttoken")
TEXTS = ["the cat sat on the mat.", "it was unbelievable, very warm", "cats", "on the mat it was cat after cat"]


@cache
def folder(kind: str = "BertModel", labels: int = 1, long: bool = False) -> str:
    """A small BERT and its tokenizer, as transformers saves them."""
    size = {"max_position_embeddings": 512, "hidden_size": 16, "num_hidden_layers": 1} if long else {}
    config = tf.BertConfig(**tiny.BERT | size, num_labels=labels)
    made = tempfile.mkdtemp()
    tiny.shaken(getattr(tf, kind)(config)).save_pretrained(made)
    tiny.wordpiece(model_max_length=512 if long else 40).save_pretrained(made)
    return made


def encoder(*tail: Any, mode: Any = "mean", include_prompt: bool = True, long: bool = False, **settings: Any) -> Any:
    """A SentenceTransformer: BERT, a pooling, and what follows on it."""
    first = base.Transformer(folder(long=long))
    pooling = parts.Pooling(first.get_embedding_dimension(), mode, include_prompt=include_prompt)
    return st.SentenceTransformer(modules=[first, pooling, *tail], device="cpu", **{"prompts": PROMPTS} | settings)


def of_family(name: str, folder: Path) -> Any:
    """A SentenceTransformer of another family, the weighted mean of its tokens."""
    family = (tiny.FAMILIES | tiny.OUTSIDE)[name]
    tiny.shaken(family.model()).save_pretrained(folder)
    tokenizer = family.tokenizer(model_max_length=64)
    tokenizer.pad_token = tokenizer.pad_token or tokenizer.eos_token
    tokenizer.save_pretrained(folder)
    first = base.Transformer(str(folder))
    pooling = parts.Pooling(first.get_embedding_dimension(), "weightedmean")
    return st.SentenceTransformer(modules=[first, pooling], device="cpu", prompts=PROMPTS)


def crossed(labels: int = 1, **settings: Any) -> Any:
    """A CrossEncoder."""
    return st.CrossEncoder(folder("BertForSequenceClassification", labels), device="cpu", **settings)


def sparse(mode: str = "max", activation: str = "relu", **settings: Any) -> Any:
    """A SparseEncoder: a masked language model and a SpladePooling."""
    splade = pytest.importorskip("sentence_transformers.sparse_encoder.modules")
    first = base.Transformer(folder("BertForMaskedLM"), transformer_task="fill-mask")
    modules = [first, splade.SpladePooling(mode, activation)]
    return st.SparseEncoder(modules=modules, device="cpu", **{"prompts": PROMPTS} | settings)


def late(*more: Any, skip: tuple[str, ...] = (".", ","), expansion: Any = None, **settings: Any) -> Any:
    """A MultiVectorEncoder: BERT, a Dense, a mask of punctuation, a Normalize, and what follows on them."""
    multi = pytest.importorskip("sentence_transformers.multi_vector_encoder.modules")
    torch.manual_seed(3)
    first = base.Transformer(folder(), query_expansion=expansion)
    reduce = base.Dense(32, 12, bias=False, activation_function=None, module_input_name="token_embeddings")
    mask = multi.MultiVectorMask(list(skip))
    normal = base.Normalize(module_input_name="token_embeddings")
    return st.MultiVectorEncoder(
        modules=[first, reduce, mask, normal, *more], device="cpu", **{"prompts": PROMPTS} | settings
    )


def dense(activation: Any, width: int = 32, out: int = 24, seed: int = 1, **settings: Any) -> Any:
    """A Dense module with weights and biases that show."""
    torch.manual_seed(seed)
    return tiny.shaken(base.Dense(width, out, activation_function=activation, **settings), seed)


def words(n: int, seed: int) -> str:
    """A text of n random words, one token each."""
    return " ".join(random.Random(seed).choices([*tiny.LETTERS, *tiny.WORDS[:9]], k=n))
