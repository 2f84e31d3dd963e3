"""Verdicts: planted faults, storages, orders, float noise, faults that no hypothesis has, and the model as it was."""

from __future__ import annotations

import signal
from typing import Any

import numpy as np
import pytest
import torch
import transformers as tf

import bertlens as bl
from bertlens.errors import InputError, ModelError
from conftest import state
from unit import tiny
from unit.conformance import naive_encoder as naive

LIMIT = 40


def tiny_lens(seed: int = 5) -> bl.Lens:
    size = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64}
    model = tiny.shaken(tf.BertModel(tf.BertConfig(**tiny.BERT | size | {"max_position_embeddings": 48})), seed)
    return bl.Lens(model, tiny.wordpiece(model_max_length=LIMIT))


@pytest.fixture(scope="module")
def lens() -> bl.Lens:
    return tiny_lens()


@pytest.fixture(scope="module")
def texts(lens: bl.Lens) -> list[str]:
    return bl.probing_texts(lens)


def ids(lens: bl.Lens, text: str, limit: int = LIMIT) -> list[int]:
    return lens.tokenizer(text, truncation=True, max_length=limit)["input_ids"]


@pytest.fixture(scope="module")
def right(lens: bl.Lens, texts: list[str]) -> np.ndarray:
    """By the encoder that is written out, so that nothing of the package made them."""
    return np.stack([naive.mean(lens.model, ids(lens, text)) for text in texts])


def test_probing_texts_reach_past_each_limit_and_are_all_different(lens: bl.Lens, texts: list[str]) -> None:
    lengths = [len(lens.tokenizer(text)["input_ids"]) for text in texts]
    assert len(set(texts)) == 12 and max(lengths) > 48 and min(lengths) < 16
    assert bl.probing_texts(lens, 18)[:12] == texts and bl.probing_texts(lens, 3) == texts[:3]
    with pytest.raises(InputError, match="at least 1 and at most 18"):
        bl.probing_texts(lens, 0)


def test_right_vectors_are_the_same(lens: bl.Lens, texts: list[str], right: np.ndarray) -> None:
    p = bl.parity(lens, texts, right.astype(np.float32))
    assert p.verdict == "same" and "12 of 12 vectors" in p.said and p.noise < 1e-6
    assert "identical" not in repr(p)


STORED = {
    "float16": lambda x: x.astype(np.float16),
    "bfloat16": lambda x: torch.from_numpy(x).bfloat16(),
    "5 decimals": lambda x: x.round(5),
    "int8, times 127": lambda x: np.rint(127 * x / np.linalg.norm(x, axis=1, keepdims=True)).astype(np.int8),
}


@pytest.mark.sampled(3, of="parity")
@pytest.mark.parametrize("storage", STORED)
def test_a_storage_is_no_fault_and_hides_none(lens: bl.Lens, texts: list[str], right: np.ndarray, storage: str) -> None:
    p = bl.parity(lens, texts, STORED[storage](right), pairs=False)
    assert p.verdict == "same" and p.storage.startswith(f"Stored as {storage}")
    wrong = np.stack([naive.mean(lens.model, ids(lens, t), activation=naive.tanh_gelu) for t in texts])
    p = bl.parity(lens, texts, STORED[storage](wrong), pairs=False)
    assert p.verdict == "fault" and p.classes[0][0].name == "tanh GELU"


def test_rows_in_another_order_and_the_first_columns_are_told(
    lens: bl.Lens, texts: list[str], right: np.ndarray
) -> None:
    array = right.astype(np.float32)
    p = bl.parity(lens, texts, np.roll(array, 2, 0))
    assert p.verdict == "same" and "another order than the texts" in p.storage
    p = bl.parity(lens, texts, array[:, :20])
    assert p.verdict == "same" and "first 20 of 32" in p.storage


@pytest.mark.sampled(3, of="parity")
def test_columns_in_another_order_and_axes_that_are_turned(lens: bl.Lens, texts: list[str], right: np.ndarray) -> None:
    array = right.astype(np.float32)
    order = np.random.default_rng(0).permutation(32)
    p = bl.parity(lens, texts, array[:, order], pairs=False)
    assert p.verdict == "same" and "columns stand in another order" in p.said
    turn, _ = np.linalg.qr(np.random.default_rng(1).normal(size=(32, 32)))
    p = bl.parity(lens, texts, (right @ turn).astype(np.float32), pairs=False)
    assert p.verdict == "same" and "axes are turned" in p.said


def test_a_cut_is_named_with_its_rows(lens: bl.Lens, texts: list[str]) -> None:
    wrong = np.stack([naive.mean(lens.model, ids(lens, text, 48)) for text in texts])
    p = bl.parity(lens, texts, wrong.astype(np.float32), pairs=False)
    assert p.verdict == "fault" and p.classes[0][0].name == "not cut"
    longer = sum(len(lens.tokenizer(text)["input_ids"]) > LIMIT for text in texts)
    assert f"{12 - longer} of 12 rows are ours" in p.said
    assert p.table.iloc[0]["fits"] and p.table.iloc[0]["rows"] == 12 and not p.table.iloc[1:]["fits"].any()
    off = p.texts[p.texts["distance"] > 1e-3]
    assert set(off["text"]) == {t for t in texts if len(lens.tokenizer(t)["input_ids"]) > LIMIT}


@pytest.mark.sampled(3, of="parity")
def test_what_these_texts_cannot_tell_is_said_with_a_text_that_would(lens: bl.Lens) -> None:
    """Lower case before the tokenizer is seen where special tokens are typed alone; so is reading them as text."""
    texts = ["the end [SEP] of it was warm", "warm cat", "it was on the mat"]
    wrong = np.stack([naive.mean(lens.model, ids(lens, text.lower())) for text in texts])
    p = bl.parity(lens, texts, wrong.astype(np.float32), pairs=False)
    names = {c.name for group in p.classes for c in group}
    assert {"lower-cased before the tokenizer", "special tokens in the text read as text"} <= names
    assert p.verdict in ("fault", "unclear")


@pytest.mark.sampled(3, of="parity")
def test_a_pair_on_rows_that_one_of_them_spares(lens: bl.Lens, texts: list[str]) -> None:
    wrong = np.stack([naive.mean(lens.model, ids(lens, t, 48), activation=naive.tanh_gelu) for t in texts])
    p = bl.parity(lens, texts, wrong.astype(np.float32))
    assert p.verdict == "fault" and p.classes[0][0].faults == ["not cut", "tanh GELU"]


@pytest.mark.sampled(3, of="parity")
def test_a_pooling_and_a_cut_at_once(lens: bl.Lens, texts: list[str]) -> None:
    wrong = np.stack([naive.states(lens.model, ids(lens, text, 48))[-1][0] for text in texts])
    p = bl.parity(lens, texts, wrong.astype(np.float32), pairs=False)
    assert p.verdict == "fault" and p.classes[0][0].faults == ["not cut", "first token"]


def other_model(lens: bl.Lens, name: str, change: Any) -> Any:
    """A model of the same weights but one tensor."""
    model = tf.BertModel(lens.model.config).eval()
    model.load_state_dict(lens.model.state_dict())
    with torch.no_grad():
        tensor = model.get_parameter(name)
        tensor.copy_(change(tensor.clone()))
    return model


LAYER = "encoder.layer.1."
HELD_OUT = {
    "a head off": (LAYER + "attention.output.dense.weight", lambda w: torch.cat([w[:, :8] * 0, w[:, 8:]], 1)),
    "word ids one later": ("embeddings.word_embeddings.weight", lambda w: w.roll(-1, 0)),
    "positions halved": ("embeddings.position_embeddings.weight", lambda w: w / 2),
    "one bias missing": (LAYER + "intermediate.dense.bias", torch.zeros_like),
    "weights with noise": (LAYER + "output.dense.weight", lambda w: w * (1 + 1e-3 * torch.sin(torch.arange(64.0)))),
    "scores of one layer by 1.1": (LAYER + "attention.self.query.weight", lambda w: 1.1 * w),
    "a gain of a norm lost": (LAYER + "output.LayerNorm.weight", torch.ones_like),
    "a sign of a column": (LAYER + "attention.output.dense.weight", lambda w: torch.cat([-w[:1], w[1:]])),
    "a row of words lost": ("embeddings.word_embeddings.weight", lambda w: torch.cat([w[:40], w[41:42], w[41:]])),
    "token types doubled": ("embeddings.token_type_embeddings.weight", lambda w: 2 * w),
    "a neuron off": (LAYER + "intermediate.dense.weight", lambda w: torch.cat([w[:1] * 0, w[1:]])),
    "values of a head doubled": (LAYER + "attention.self.value.weight", lambda w: torch.cat([2 * w[:8], w[8:]])),
    "keys of a layer one row later": (LAYER + "attention.self.key.weight", lambda w: w.roll(1, 0)),
    "a bias with the other sign": (LAYER + "output.dense.bias", lambda w: -w),
    "the MLP of a layer off": (LAYER + "output.dense.weight", torch.zeros_like),
    "a gain of the embeddings by 1.05": ("embeddings.LayerNorm.weight", lambda w: 1.05 * w),
    "positions from the end": ("embeddings.position_embeddings.weight", lambda w: w.flip(0)),
    "a query bias by 1.5": (LAYER + "attention.self.query.bias", lambda w: 1.5 * w),
    "a column of words lost": ("embeddings.word_embeddings.weight", lambda w: torch.cat([w[:, :1] * 0, w[:, 1:]], 1)),
    "the last norm without bias": (LAYER + "output.LayerNorm.bias", torch.zeros_like),
}


@pytest.mark.sampled(3, of="parity")
@pytest.mark.parametrize("name", HELD_OUT)
def test_a_fault_that_no_hypothesis_has_is_not_named(lens: bl.Lens, texts: list[str], name: str) -> None:
    model = other_model(lens, *HELD_OUT[name])
    wrong = np.stack([naive.mean(model, ids(lens, text)) for text in texts])
    p = bl.parity(lens, texts, wrong.astype(np.float32), pairs=False)
    assert p.verdict in ("none", "like"), p.said
    assert "hypotheses" in p.said or "Looks like" in p.said
    for candidate in p.candidates:  # each beside the array's own numbers, not beside what was tried of its axes
        ours = p.search.vectors(
            candidate.text, candidate.forward, candidate.rows, candidate.pooling, candidate.after, always=True
        )
        size = np.linalg.norm(ours, axis=1)
        expected = np.linalg.norm(wrong.astype(np.float32)[candidate.rows] - ours, axis=1) / size
        if not candidate.is_rounding:  # of these the run that is nearest
            assert candidate.errors == pytest.approx(expected, rel=1e-4, abs=1e-6), candidate.name


@pytest.mark.long
@pytest.mark.timeout(1200)
def test_20_such_faults_look_like_a_hypothesis_twice_at_most(lens: bl.Lens, texts: list[str]) -> None:
    verdicts = []
    for change in HELD_OUT.values():
        wrong = np.stack([naive.mean(other_model(lens, *change), ids(lens, text)) for text in texts])
        verdicts.append(bl.parity(lens, texts, wrong.astype(np.float32), pairs=False).verdict)
    assert len(verdicts) == 20 and set(verdicts) <= {"none", "like"} and verdicts.count("like") <= 2, verdicts


def test_another_way_to_compute_in_16_bits_looks_like_rounding(lens: bl.Lens, texts: list[str]) -> None:
    """Products of bfloat16 that are added in float32, as some processors have them; and noise as large is none."""
    model = other_model(lens, "embeddings.LayerNorm.bias", lambda w: w)

    def rounded(module: torch.nn.Module, arguments: tuple[torch.Tensor, ...]) -> tuple[torch.Tensor, ...]:
        return (arguments[0].bfloat16().float(), *arguments[1:])

    for module in model.modules():
        if isinstance(module, torch.nn.Linear):
            module.weight.data = module.weight.data.bfloat16().float()
            module.register_forward_pre_hook(rounded)
    with torch.no_grad():
        rows = [model(torch.tensor([ids(lens, text)])).last_hidden_state[0].mean(0).numpy() for text in texts]
    wrong = np.stack(rows)
    p = bl.parity(lens, texts, wrong, pairs=False)
    assert p.verdict == "like" and "ounding: computed under autocast to bfloat16 moves the vectors" in p.said, p.said
    right = np.stack([naive.mean(lens.model, ids(lens, text)) for text in texts])
    noise = np.random.default_rng(3).permuted(wrong - right, axis=1)
    assert bl.parity(lens, texts, (right + noise).astype(np.float32), pairs=False).verdict == "none"


def test_the_model_is_as_it_was(lens: bl.Lens, texts: list[str], right: np.ndarray) -> None:
    lens.model.train()
    before, attributes = state(lens.model), {n: dict(vars(m)) for n, m in lens.model.named_modules()}
    bl.parity(lens, texts, np.roll(right, 1, 1).astype(np.float32), pairs=False)
    after = {n: dict(vars(m)) for n, m in lens.model.named_modules()}
    assert state(lens.model) == before
    for name, values in attributes.items():
        assert [k for k in values if after[name][k] is not values[k] and k != "_forward_hooks"] == [], name
    lens.model.eval()


STAGES = {  # what runs the model, and at which of its passes Ctrl-C comes
    "own vectors": (0, lambda lens, texts, array: bl.parity(lens, texts, array)),
    "noise": (30, lambda lens, texts, array: bl.parity(lens, texts, array)),
    "singles": (150, lambda lens, texts, array: bl.parity(lens, texts, array)),
    "pairs": (700, lambda lens, texts, array: bl.parity(lens, texts, array**2)),
    "a lock": (3, lambda lens, texts, array: lens and bl.conformance.lock.Lock.of(lens, texts, None, None)),
    "steps": (2, lambda lens, texts, array: bl.parity_steps(lens, "a", {NORM: lens.trace("a").hidden_states[0]})),
    "rounding": (9, lambda lens, texts, array: bl.rounding(lens, {WEIGHT: lens.model.get_parameter(WEIGHT) * 1.01})),
}
NORM, WEIGHT = "embeddings.LayerNorm", "encoder.layer.0.output.dense.weight"


@pytest.mark.parametrize("stage", STAGES)
def test_ctrl_c_leaves_the_model_as_it_was(
    lens: bl.Lens, texts: list[str], right: np.ndarray, ctrl_c: None, stage: str
) -> None:
    before, own = state(lens.model), {name: id(p) for name, p in lens.model.named_parameters()}
    hooks = [len(module._forward_hooks) for module in lens.model.modules()]  # private: torch has no public list
    nth, run = STAGES[stage]
    count = iter(range(10**6))

    def interrupt(module: Any, arguments: Any) -> None:
        if next(count) == nth:
            signal.raise_signal(signal.SIGINT)

    hook = lens.model.encoder.layer[1].attention.output.dense.register_forward_pre_hook(interrupt)
    try:
        with pytest.raises(KeyboardInterrupt):
            run(lens, texts[:4], np.roll(right, 1, 1)[:4].astype(np.float32))
    finally:
        hook.remove()
    assert state(lens.model) == before and {n: id(p) for n, p in lens.model.named_parameters()} == own
    assert [len(module._forward_hooks) for module in lens.model.modules()] == hooks  # private: as above


@pytest.mark.parametrize("text", ["a", "very " * 8192, "القطة على الحصيرة", "?", " \u200d "])
def test_a_text_alone_of_any_kind(lens: bl.Lens, text: str) -> None:
    """The same as ours, with a fault, and as what is no vector."""
    right = naive.mean(lens.model, ids(lens, text))[None]
    assert bl.parity(lens, [text], right.astype(np.float32)).verdict == "same"
    wrong = naive.mean(lens.model, ids(lens, text), activation=naive.tanh_gelu)[None]
    p = bl.parity(lens, [text], wrong.astype(np.float32), pairs=False)
    assert p.verdict in ("fault", "unclear") and "tanh GELU" in {c.name for group in p.classes for c in group}, p.said
    right[0, 3] = np.nan
    with pytest.raises(InputError, match="hold NaN or infinity"):
        bl.parity(lens, [text], right)


def test_what_makes_vectors_may_be_called(lens: bl.Lens, texts: list[str], right: np.ndarray) -> None:
    calls: list[list[str]] = []

    def run(batch: list[str]) -> np.ndarray:
        calls.append(batch)
        return np.stack([naive.mean(lens.model, ids(lens, text)) for text in batch]).astype(np.float32)

    p = bl.parity(lens, texts, run=run)
    assert p.verdict == "same" and calls[0] == texts


def test_what_cannot_be_compared_is_refused(lens: bl.Lens, texts: list[str], right: np.ndarray) -> None:
    with pytest.raises(InputError, match="give one of them"):
        bl.parity(lens, texts)
    with pytest.raises(InputError, match="12 vectors for 2 texts"):
        bl.parity(lens, texts[:2], right)
    with pytest.raises(InputError, match="not int"):
        bl.parity(3, texts, right)  # type: ignore[arg-type]
    crossed = pytest.importorskip("unit.tiny_encoders").crossed()
    with pytest.raises(ModelError, match="vectors of whole texts"):
        bl.parity(bl.Lens(crossed), texts, right)


@pytest.mark.sampled(3, of="parity")
def test_a_lost_prefix_and_a_lost_normalisation_of_a_sentence_encoder() -> None:
    encoders = pytest.importorskip("unit.tiny_encoders")
    normalize = encoders.base.Normalize()
    encoder = encoders.encoder(encoders.dense(torch.nn.Tanh()), normalize)
    lens = bl.Lens(encoder)
    texts = encoders.TEXTS
    p = bl.parity(lens, texts, encoder.encode(texts, prompt_name="query"), task="query")
    assert p.verdict == "same"
    p = bl.parity(lens, texts, encoder.encode(texts), task="query", pairs=False)
    assert p.verdict == "fault" and p.classes[0][0].name == "no prefix"
    raw = encoder[2]({"sentence_embedding": encoder[1](encoder[0](encoder.preprocess(texts)))["sentence_embedding"]})
    p = bl.parity(lens, texts, raw["sentence_embedding"].detach(), pairs=False)
    assert p.verdict == "fault" and p.classes[0][0].name == "not normalised"
