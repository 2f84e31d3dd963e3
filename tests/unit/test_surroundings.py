"""What stands around a call: autocast, another default device or dtype, inference mode, other threads."""

from __future__ import annotations

import ast
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
import transformers as tf

import bertlens as bl
from bertlens import whatif
from bertlens.comparison.same_training import kinship
from bertlens.measures import attention, attribution, flow, gates, geometry, neurons, norms, offers, sources, spectra
from unit import tiny, tiny_attention

TEXT, CORPUS = "the cat sat on the mat", ["the cat sat on the mat", "it was very warm", "the mats"]


def pooled(output: Any) -> torch.Tensor:
    """A metric of an encoder's output."""
    return output[0].square().sum()


WORK: dict[str, Callable[[bl.Lens, bl.Trace], Any]] = {
    "trace": lambda lens, trace: lens.trace(TEXT).attention(1),
    "batch": lambda lens, trace: [t.layer_output(2) for t in lens.trace_batch(CORPUS)],
    "scores": lambda lens, trace: [trace.scores(0), trace.attention(0), trace.context(0)],
    "norms": lambda lens, trace: [norms.weighted_norm(trace, 0), norms.mixing_ratio(trace, 1, "attnresln-n")],
    "flow": lambda lens, trace: [
        flow.rollout(trace),
        *(f(trace, 1) for f in (flow.globenc, flow.alti, flow.value_zeroing, flow.effective_attention)),
    ],
    "gates": lambda lens, trace: gates.classify([trace, *lens.trace_batch(CORPUS * 2)]),
    "neurons": lambda lens, trace: [neurons.contrast(trace, 0, 0, 1, 2), *neurons.reuse(trace, 0, 0, 1, 2)],
    "geometry": lambda lens, trace: geometry.layer_table(trace),
    "spectra": lambda lens, trace: spectra.weights_table(lens),
    "summary": lambda lens, trace: list(attention.summary(trace).values()),
    "survey": lambda lens, trace: bl.survey.head_stats(lens, CORPUS, progress=False).table(),
    "distances": lambda lens, trace: bl.survey.head_distances(lens, CORPUS, progress=False),
    "gradients": lambda lens, trace: bl.survey.attention_gradients(lens, CORPUS, loss=lambda o: o[0].sum()),
    "sources": lambda lens, trace: [
        sources.score(trace, 2, 1, 1, 3).parts["value"].to_numpy(),
        sources.score(trace, 2, 1, 1, 3, "key", through_mlps=True).parts["value"].to_numpy(),
        *sources.maps(trace, 1, 0).values(),
    ],
    "whatif": lambda lens, trace: trace.rerun(whatif.off(0, 1), whatif.cut(1, 0, 2, 3)).attention(1),
    "sweeps": lambda lens, trace: [whatif.sweep(trace, pooled, progress=False), whatif.estimate(trace, pooled)],
    "attributions": lambda lens, trace: [
        *(attribution.occlusion(trace, pooled, how).values for how in attribution.REMOVALS),
        attribution.gradient_input(trace, pooled).values,
        attribution.integrated_gradients(trace, pooled, steps=3).values,
        attribution.linearised(trace, whatif.similarity(lens.trace(CORPUS[1]))).values,
        attribution.attention_gradient(trace, pooled).values,
    ],
    "faithfulness": lambda lens, trace: attribution.faithfulness(
        trace, torch.arange(8.0, device="cpu"), metric=pooled, progress=False
    ),
    "comparison": lambda lens, trace: [
        (c := bl.compare(trace, lens.trace(CORPUS[1]))).heads,
        c.attention(1),
        c.most()["divergence"].to_numpy(),
        c.nearest(),
        kinship(lens.borrowed, lens.borrowed)[0],
    ],
    "explore": lambda lens, trace: len(trace.explore().overview),
    "export": lambda lens, trace: "<main" in trace.explore().to_html(),
}


def numbers(result: Any) -> list[np.ndarray]:
    if isinstance(result, torch.Tensor):
        return [result.double().cpu().numpy()]
    if isinstance(result, pd.DataFrame):
        return [result.select_dtypes("number").to_numpy(dtype=float)]
    if isinstance(result, list | tuple):
        return [x for item in result for x in numbers(item)]
    return [np.asarray(result, dtype=float)]


SURROUNDINGS: dict[str, Callable[[], AbstractContextManager[Any]]] = {
    "inference mode": torch.inference_mode,
    "another device by default": lambda: torch.device("meta"),  # where a number that lands there is lost
}


@pytest.mark.sampled(12)
@pytest.mark.parametrize("around", SURROUNDINGS)
@pytest.mark.parametrize("work", WORK)
def test_works_as_without(work: str, around: str) -> None:
    lens = bl.Lens(tiny.bert(), tiny.wordpiece())
    trace = lens.trace(TEXT)
    expected = numbers(WORK[work](lens, trace))
    with SURROUNDINGS[around]():
        found = WORK[work](lens, lens.trace(TEXT))
    with SURROUNDINGS[around]():
        of_outside = WORK[work](lens, trace)
    for given in (found, of_outside):
        for a, b in zip(numbers(given), expected, strict=True):
            np.testing.assert_allclose(a, b, atol=1e-6, rtol=1e-5)


@pytest.mark.parametrize("work", [name for name in WORK if name != "spectra"])
def test_autocast_is_refused(work: str) -> None:
    """Matrix products would lose digits without a word; spectra are of weights, in float64, which autocast leaves."""
    lens = bl.Lens(tiny.bert(), tiny.wordpiece())
    trace = lens.trace(TEXT)
    with torch.autocast("cpu", torch.bfloat16):
        with pytest.raises(bl.InputError, match=r"autocast is on.*enabled=False"):
            WORK[work](lens, trace)
        with torch.autocast("cpu", enabled=False):
            WORK[work](lens, trace)
    assert {name for name, reason in offers.offers(trace).items() if reason} == {"predictions"}  # nothing is remembered


def test_autocast_leaves_spectra() -> None:
    lens = bl.Lens(tiny.bert(), tiny.wordpiece())
    expected = spectra.weights_table(lens)
    with torch.autocast("cpu", torch.bfloat16):
        pd.testing.assert_frame_equal(spectra.weights_table(lens), expected)


FACTORIES = "arange as_tensor empty eye full linspace ones rand randint randn randperm tensor zeros".split()


def test_every_tensor_says_where_it_lies() -> None:
    """torch.tensor(x) lies on the device of the day; what trains a model of its own may do so."""
    root = Path(bl.__file__).parent
    found = []
    for path in root.rglob("*.py"):
        if path.is_relative_to(root / "training"):
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in FACTORIES:
                of_torch = isinstance(node.func.value, ast.Name) and node.func.value.id == "torch"
                if of_torch and not any(keyword.arg == "device" for keyword in node.keywords):
                    found.append(f"{path.relative_to(root)}:{node.lineno}")
    assert found == []


@pytest.mark.parametrize("family", ["bert", "ibert", "deberta-v2"])
def test_models_that_share_a_config_take_turns(family: str) -> None:
    """The attention implementation is set on the config, so the lock is the config's."""
    made = (tiny.FAMILIES | tiny.OUTSIDE | tiny_attention.OWN)[family]
    config = made.model().config
    models = [tiny.shaken(type(made.model())(config), seed) for seed in (0, 1)]
    assert models[0].config is models[1].config
    before = config._attn_implementation
    lenses = [bl.Lens(model, made.tokenizer()) for model in models]
    expected = [lens.trace(TEXT) for lens in lenses]
    for model in models:  # a thread switch in the middle of each pass
        model.encoder.layer[1].register_forward_pre_hook(lambda *args: time.sleep(0.001))
    same: list[bool] = []

    def work(lens: bl.Lens, right: bl.Trace) -> None:
        for _ in range(40):
            trace = lens.trace(TEXT)
            alike = torch.equal(trace.attention(2), right.attention(2))
            same.append(alike and trace.has_neurons == right.has_neurons)

    threads = [threading.Thread(target=work, args=job) for job in zip(lenses, expected, strict=True)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(same) == 80 and all(same) and config._attn_implementation == before


def test_words_that_are_empty() -> None:
    """RoBERTa's tokenizer trims the space that stands for an empty last word to nothing."""
    lens = bl.Lens(tiny.shaken(tiny.FAMILIES["roberta"].model()), tiny.roberta_like())
    trace = lens.trace_words(["cat", ""])
    assert list(trace.tokens) == ["<s>", "cat", "Ġ", "</s>"]
    assert list(trace.word_ids) == [None, 0, 1, None]
    assert list(lens.trace_words(["cat", "", "mat"]).word_ids) == [None, 0, 1, 2, None]
    assert list(lens.trace_words(["", "cat"]).word_ids) == [None, 1, None]
    assert list(lens.trace_words([""]).word_ids) == [None, None]


def test_long_texts_of_landmark_attention_are_refused_in_words() -> None:
    """Nyströmformer attends through landmarks where a text is longer than they are many."""
    config = tf.NystromformerConfig(**tiny.BERT, num_landmarks=8, segment_means_seq_len=64, conv_kernel_size=3)
    lens = bl.Lens(tiny.shaken(tf.NystromformerModel(config)), tiny.wordpiece())
    with pytest.raises(bl.ModelError):
        lens.trace("the cat sat on the mat. " * 3)
