"""Each hypothesis against vectors made without it: a BERT written out in float64, tokenizers used directly."""

from __future__ import annotations

import html
import unicodedata
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
import transformers as tf

import bertlens as bl
from bertlens.base import quotation
from bertlens.conformance import rounding_faults as rounding
from bertlens.conformance.search import Search
from unit import tiny
from unit.conformance import naive_encoder as naive

WIDTH = 64


@pytest.fixture(scope="module")
def lens() -> bl.Lens:
    size = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": WIDTH}
    model = tiny.shaken(tf.BertModel(tf.BertConfig(**tiny.BERT | size | {"max_position_embeddings": 48})), 5)
    return bl.Lens(model, tiny.wordpiece(model_max_length=40))


TEXTS = [
    "The cat sat on the mat.",
    "Été, café & <b>warm</b> unbelievable cats",
    "it was [SEP] very ﬁne ½",
    "very " * 60 + "warm",
    "re\u0301sume\u0301 你好",
]


@pytest.fixture(scope="module")
def search(lens: bl.Lens) -> Search:
    return Search(lens, TEXTS, lens.encode(TEXTS).numpy(), None, None)


def vectors(search: Search, name: str) -> np.ndarray:
    """(N, D) by the fault of this name."""
    texts = [f for f in search.text_faults if f.name == name]
    forward = [f for f in search.forward_faults if f.name == name]
    return search.vectors(texts[0] if texts else None, tuple(forward), search.every)


def distance(ours: np.ndarray, theirs: np.ndarray) -> float:
    return float((np.linalg.norm(ours - theirs, axis=1) / np.linalg.norm(theirs, axis=1)).max())


def ids(lens: bl.Lens, text: str) -> list[int]:
    return lens.tokenizer(text, truncation=True, max_length=40)["input_ids"]


FORWARD: dict[str, dict[str, Any]] = {
    "tanh GELU": {"activation": naive.tanh_gelu},
    "erf GELU": {},
    "quick GELU": {"activation": naive.quick_gelu},
    "ReLU": {"activation": naive.relu},
    "SiLU": {"activation": naive.silu},
    "ε of the norms 1e-06": {"eps": 1e-6},
    "ε of the norms 1e-05": {"eps": 1e-5},
    "ε of the norms 0.001": {"eps": 1e-3},
    "variance with n − 1": {"less": 1},
    "ε outside the root": {"outside": True},
    "norms of a layer swapped": {"norms_swapped": True},
    "last norm left out": {"last_norm": False},
    "no residual around attention": {"residual": "m"},
    "no residual around the MLP": {"residual": "a"},
    "first layer left out": {"without_first_layer": True},
    "scores not scaled": {"scale": 1.0},
    "scores by d": {"scale": 1 / 8},
    "scores by √D": {"scale": 32**-0.5},
    "no key bias": {"biases": "qv"},
    "no query bias": {"biases": "kv"},
    "no value bias": {"biases": "qk"},
    "queries and keys swapped": {"swapped": True},
    "values transposed": {"transposed": True},
    "no norm of the embeddings": {"embedding_norm": False},
    "word embeddings times √D": {"words": 32**0.5},
    "no positions": {"first": None},
    "positions begin 1 later": {"first": 1},
    "positions begin 2 later": {"first": 2},
    "no segment row": {"segment": None},
    "segment 1": {"segment": 1},
    "causal mask": {"causal": True},
}


@pytest.mark.parametrize("name", FORWARD)
def test_faults_of_the_forward_pass(search: Search, lens: bl.Lens, name: str) -> None:
    right = np.stack([naive.mean(lens.model, ids(lens, text)) for text in TEXTS[:3]])
    wrong = np.stack([naive.mean(lens.model, ids(lens, text), **FORWARD[name]) for text in TEXTS[:3]])
    ours = vectors(search, name)[:3]
    assert distance(ours, wrong) < 3e-6
    invisible = name in ("erf GELU", "no key bias", "ε outside the root")
    assert (distance(right, wrong) < 3e-6) == invisible


WEIGHTS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "8-bit weights by row": rounding.by_row,
    "8-bit weights by column": rounding.by_column,
    "8-bit weights by matrix": rounding.by_matrix,
    "Q8_0 weights": rounding.Q8_0,
    "Q4_0 weights": rounding.Q4_0,
    "Q4_1 weights": rounding.Q4_1,
    "weights rounded to float8": lambda w: w.to(torch.float8_e4m3fn).float(),
}


@pytest.mark.parametrize("name", WEIGHTS)
def test_rounded_weights_are_those_of_all_projections(search: Search, lens: bl.Lens, name: str) -> None:
    """The formats themselves: test_rounding.py."""

    def weight(w: np.ndarray) -> np.ndarray:
        return WEIGHTS[name](torch.from_numpy(w).float()).double().numpy()

    wrong = np.stack([naive.mean(lens.model, ids(lens, text), weight=weight) for text in TEXTS[:3]])
    assert distance(vectors(search, name)[:3], wrong) < 3e-6


def poolings(states: list[np.ndarray], special: list[bool], model: Any) -> dict[str, np.ndarray]:
    x, n = states[-1], len(states[-1])
    inner = [row for row, is_special in zip(x, special, strict=True) if not is_special]
    p = {name: t.detach().double().numpy() for name, t in model.pooler.named_parameters()}
    return {
        "mean of all tokens": sum(x) / n,
        "first token": x[0],
        "token behind the first": x[1],
        "last token": x[n - 1],
        "maximum over tokens": np.array([max(column) for column in x.T]),
        "minimum over tokens": np.array([min(column) for column in x.T]),
        "median over tokens": np.array([sorted(column)[(n - 1) // 2] for column in x.T]),
        "mean weighted by position": sum((k + 1) * row for k, row in enumerate(x)) / (n * (n + 1) / 2),
        "special tokens not pooled": sum(inner) / len(inner),
        "layer before last": sum(states[-2]) / n,
        "embeddings alone": sum(states[0]) / n,
        "mean of first and last layer": (sum(states[0]) + sum(x)) / (2 * n),
        "the pooler's output": np.tanh(p["dense.weight"] @ x[0] + p["dense.bias"]),
        "sum over tokens": sum(x),
        "sum by √n": sum(x) / n**0.5,
    }


def test_faults_of_the_pooling(search: Search, lens: bl.Lens) -> None:
    for n, text in enumerate(TEXTS[:3]):
        row = ids(lens, text)
        expected = poolings(naive.states(lens.model, row), [i in naive.SPECIAL for i in row], lens.model)
        for name, vector in expected.items():
            ours = search.vectors(None, (), np.array([n]), name)
            assert distance(ours, vector[None]) < 3e-6, name


def test_padding_that_is_attended_to_and_pooled(search: Search, lens: bl.Lens) -> None:
    rows = [ids(lens, text) for text in TEXTS]
    longest = max(map(len, rows))
    padded = [row + [0] * (longest - len(row)) for row in rows]
    wrong = np.stack(
        [naive.states(lens.model, row)[-1][: len(own)].mean(0) for row, own in zip(padded, rows, strict=True)]
    )
    assert distance(vectors(search, "padding to the longest text attended to"), wrong) < 3e-6
    fault = next(f for f in search.forward_faults if f.name == "padding to the longest text attended to")
    both = search.vectors(None, (fault,), search.every, "padding pooled too")
    assert distance(both, np.stack([naive.mean(lens.model, row) for row in padded])) < 3e-6


def test_positions_of_padding_on_the_left(search: Search, lens: bl.Lens) -> None:
    rows = [ids(lens, text) for text in TEXTS]
    longest = max(map(len, rows))
    wrong = np.stack([naive.mean(lens.model, row, first=longest - len(row)) for row in rows])
    assert distance(vectors(search, "padded on the left, positions of the padding"), wrong) < 3e-6


def bare(tokenizer: Any, text: str, limit: int = 40, special: bool = True) -> list[int]:
    return tokenizer(text, truncation=True, max_length=limit, add_special_tokens=special)["input_ids"]


TEXT: dict[str, Callable[[Any, str], list[int]]] = {
    "lower-cased before the tokenizer": lambda t, x: bare(t, x.lower()),
    "NFKC before the tokenizer": lambda t, x: bare(t, unicodedata.normalize("NFKC", x)),
    "no special tokens": lambda t, x: bare(t, x, special=False),
    "no last special token": lambda t, x: bare(t, x)[:-1],
    "no first special token": lambda t, x: bare(t, x)[1:],
    "special tokens twice": lambda t, x: [2, *bare(t, x), 3],
    "not cut": lambda t, x: bare(t, x, 48),
    "cut from the left": lambda t, x: (
        [2, *(i for i in t(x)["input_ids"][1:-1])][:1] + t(x)["input_ids"][1:-1][-38:] + [3]
    ),
    "cut that loses the last special token": lambda t, x: t(x)["input_ids"][:40],
    "cut at 512 characters": lambda t, x: bare(t, x[:512]),
    f"prefix {quotation('query:')}": lambda t, x: bare(t, "query: " + x),
    "a full stop behind each text": lambda t, x: bare(t, x + "."),
    "ASCII only": lambda t, x: bare(t, "".join(c for c in x if ord(c) < 128)),
    "UTF-8 read as Latin-1": lambda t, x: bare(t, "".join(chr(b) for b in x.encode())),
    "HTML-escaped": lambda t, x: bare(t, html.escape(x)),
    "accents kept": lambda t, x: bare(tiny_with(strip_accents=False), x),
    "cased input": lambda t, x: bare(tiny_with(lowercase=False, strip_accents=True), x),
    "Chinese characters not split": lambda t, x: bare(tiny_with(handle_chinese_chars=False, strip_accents=True), x),
}


def tiny_with(**settings: bool) -> Any:
    from tokenizers import normalizers

    tokenizer = tiny.wordpiece(model_max_length=40)
    tokenizer.backend_tokenizer.normalizer = normalizers.BertNormalizer(**{"lowercase": True} | settings)
    return tokenizer


@pytest.mark.parametrize("name", TEXT)
def test_faults_of_the_text(search: Search, lens: bl.Lens, name: str) -> None:
    """The ids; and that a text they differ on has the vector of those ids."""
    fault = next(f for f in search.text_faults if f.name == name)
    expected = [TEXT[name](lens.tokenizer, text) for text in TEXTS]
    assert [list(fault.way(search.reader, text)) for text in TEXTS] == expected
    own = [ids(lens, text) for text in TEXTS]
    differing = [n for n in range(len(TEXTS)) if expected[n] != own[n] and len(expected[n]) <= 48][:1]
    for n in differing:
        ours = search.vectors(fault, (), np.array([n]))
        assert distance(ours, naive.mean(lens.model, expected[n])[None]) < 3e-6


def test_a_special_token_in_a_text_is_text_there(search: Search, lens: bl.Lens) -> None:
    fault = next(f for f in search.text_faults if f.name == "special tokens in the text read as text")
    tokenizer = tiny.wordpiece(model_max_length=40)
    word = [i for part in ("[", "sep", "]") for i in tokenizer(part, add_special_tokens=False)["input_ids"]]
    given = list(fault.way(search.reader, "warm [SEP] cat"))
    assert given == [2, *bare(tokenizer, "warm", special=False), *word, *bare(tokenizer, "cat", special=False), 3]


def test_what_rounds_activations_rounds_what_each_projection_is_given(search: Search, lens: bl.Lens) -> None:
    """By hand: every Linear of the layers given integers times a scale of its token."""
    fault = next(f for f in search.forward_faults if f.name == "8-bit weights by row, activations by token")
    seen: list[torch.Tensor] = []
    hook = lens.model.encoder.layer[1].output.dense.register_forward_pre_hook(lambda module, args: seen.append(args[0]))
    try:
        search.runner.run([search.own[0]], search.change((fault,)), 1)
    finally:
        hook.remove()
    raw = seen[0][0]
    change = search.change((fault,))
    assert change is not None
    place = next(h for h in change.hooks if h.module is lens.model.encoder.layer[1].output.dense)
    rounded = place.function(place.module, (raw,))[0]
    for token, own in zip(rounded.tolist(), raw.tolist(), strict=True):
        scale = max(map(abs, own)) / 127
        assert token == pytest.approx([round(x / scale) * scale for x in own], abs=1e-5)
    weight = change.weights()["encoder.layer.1.output.dense.weight"]
    assert torch.equal(weight, rounding.by_row(lens.model.encoder.layer[1].output.dense.weight.detach()))
