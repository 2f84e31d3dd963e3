"""Models on another device, and models of half precision: measures run where the model lies, and in float32.

Where there is no GPU a pretended one stands in (unit/elsewhere.py): it refuses what a GPU refuses and says what left
it. Tests of a real one are skipped without it, and say so.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten

import bertlens as bl
from bertlens import survey, whatif
from bertlens.base.vocabulary import LAYER_MAPS
from bertlens.errors import ModelError
from bertlens.measures import (
    attention,
    byhead,
    categories,
    gates,
    geometry,
    gradients,
    layer_maps,
    neurons,
    norms,
    rows,
    spectra,
)
from bertlens.measures import offers as offered
from bertlens.measures.sources import maps as source_maps
from bertlens.text.encoding import batch_inputs
from bertlens.widgets.answers import head_answers
from bertlens.widgets.answers.layer_pictures import all_pictures
from unit import elsewhere, test_surroundings, tiny

# 47 tokens: a prime, so that nothing but a map of them has a multiple of 47² entries
TEXT = "the cat sat on the mat . it was very warm and the mats were warm . the dog lay on the rug and it was warm too ."
CORPUS = [TEXT, "it was very warm .", TEXT.removesuffix(" too ."), "the mats"]
WORDS = "the cat sat on the warm mat .".split()


def document() -> survey.mentions.Document:
    """The sentence, with its second word named again by its last one."""
    said = sentence()
    places = [(1,), (len(said) - 1,)]
    mentions = [survey.mentions.Mention("a", 0, words, words[0], "nominal") for words in places]
    return survey.mentions.Document("one", [said], mentions)


def sentence() -> survey.Sentence:
    return survey.Sentence(
        WORDS, [1, 2, -1, 6, 6, 6, 2, 2], ["det", "nsubj", "root", "case", "det", "amod", "obl", "punct"]
    )


MORE: dict[str, Callable[[bl.Lens, bl.Trace], Any]] = {
    "every norm": lambda lens, trace: [
        value
        for found in (norms.all_of(trace, 1), norms.summary(trace))
        for value in (found.transformed, found.attn_n, found.attnres_n, found.attnresln_n, *found.mixing.values())
    ],
    "by head": lambda lens, trace: [byhead.statistics(trace, by).values for by in ("weight", "norm")],
    "categories": lambda lens, trace: [
        categories.table([trace]),
        categories.cancelling([trace]).pooled,
        norms.frequency_correlation([trace, *lens.trace_batch(CORPUS)]).per_layer,
    ],
    "layer maps": lambda lens, trace: [layer_maps.layer_map(trace, 1, name) for name in LAYER_MAPS],
    "evidence": lambda lens, trace: [
        gates.evidence(trace.attention(0)[1], trace.special_mask, gate, trace.segments).cells for gate in gates.GATES
    ],
    "targets": lambda lens, trace: gates.target_agreement([trace, *lens.trace_batch(CORPUS[1:3])]),
    "classes": lambda lens, trace: gates.classify([trace, *lens.trace_batch(CORPUS)]),
    "sets of neurons": lambda lens, trace: [
        neurons.contrast_set(trace, 1, 0, 2, 3).double(),
        neurons.n80(trace, 1, 0, 2, 3),
        *neurons.set_weights(trace, 1, 0, 2, 3),
    ],
    "stream": lambda lens, trace: [
        geometry.corpus_table([trace, *lens.trace_batch(CORPUS)]),
        *geometry.norm_histograms(trace, 1, 2).counts.values(),
        geometry.head_cones(trace, 1),
    ],
    "ranks": lambda lens, trace: [spectra.layer_spectra(trace, 1), spectra.attention_ranks(trace, 1)],
    "slopes": lambda lens, trace: [
        (found := gradients.gradients(trace, loss=test_surroundings.pooled)).attention(1),
        found.head_importance(),
    ],
    "source maps": lambda lens, trace: list(source_maps(trace, 1, 0, center=True).values()),
    "syntax": lambda lens, trace: [
        survey.word_attention(lens.trace_words(WORDS), 1, len(WORDS), rows) for rows in ("mean", "first", "max")
    ],
    "treebank": lambda lens, trace: survey.relation_scores(lens, [sentence()], progress=False),
    "coreference": lambda lens, trace: survey.coreference_scores(lens, [document()], progress=False),
    "report": lambda lens, trace: bl.report(lens, CORPUS, texts=3, progress=False).table[["value", "low", "high"]],
    "frequency": lambda lens, trace: survey.frequency_correlation(lens, CORPUS, progress=False).per_layer,
    "every change": lambda lens, trace: [
        trace.rerun(*change).attention(2)
        for change in (
            [whatif.mean(0, 1)],
            [whatif.hide(3)],
            [whatif.mlp(1)],
            [whatif.pattern(1, 2, "uniform")],
            [whatif.resample(1, 0, lens.trace(TEXT))],
            [whatif.patch(1, 3, lens.trace(TEXT), 4)],
        )
    ],
    "comparison": lambda lens, trace: [  # without the kinship of the weights: a pretended device's have no memory
        (c := bl.compare(trace, lens.trace(CORPUS[2]))).heads,
        c.attention(1),
        c.nearest()["divergence"],
        c.head(1, 1, 2, measure="norm"),
    ],
    "moved": lambda lens, trace: whatif.moved(trace.rerun(whatif.off(0, 1))),
    "first picture": lambda lens, trace: [
        all_pictures(trace, range(3))["stats"],
        head_answers.head(trace, 1, 0)[1]["lse"],
    ],
    "what can be had": lambda lens, trace: len([reason for reason in offered.offers(trace).values() if not reason]),
}
WORK = {name: work for name, work in test_surroundings.WORK.items() if name not in ("faithfulness", "export")} | MORE


def numbers(result: Any) -> list[np.ndarray]:
    if isinstance(result, torch.Tensor):
        return [(result.held if isinstance(result, elsewhere.There) else result).detach().double().cpu().numpy()]
    return test_surroundings.numbers(result) if not isinstance(result, list | tuple) else [
        x for item in result for x in numbers(item)
    ]  # fmt: skip


@pytest.fixture
def longer(monkeypatch):
    """The works of test_surroundings on these texts."""
    monkeypatch.setattr(test_surroundings, "TEXT", TEXT)
    monkeypatch.setattr(test_surroundings, "CORPUS", CORPUS)
    # a metric of the size of 1, so that two float32 passes agree on what is left of it
    monkeypatch.setattr(test_surroundings, "pooled", lambda output: output[0].square().mean())


def made() -> bl.Lens:
    return bl.Lens(tiny.bert(), tiny.wordpiece())


@pytest.mark.sampled(10)
@pytest.mark.parametrize("work", WORK)
def test_runs_where_the_model_lies(work, longer, monkeypatch):
    """On a pretended device the numbers are the same, and no map of all tokens leaves it or comes to it."""
    lens, given = made(), made()
    expected = numbers(WORK[work](lens, lens.trace(TEXT)))
    elsewhere.sent(given.model)
    monkeypatch.setattr(  # the device is called "meta", where a Lens looks for weights that are not loaded
        bl.Lens,
        "inputs",
        lambda self, some: batch_inputs(some, self._pad_id, elsewhere.DEVICE),  # as the method itself
    )
    with elsewhere.elsewhere() as moved:
        trace = given.trace(TEXT)
        assert trace.n_tokens == 47 and isinstance(trace.attention(1), elsewhere.There)
        moved.clear()
        found = WORK[work](given, trace)
        square = [shape for shape in moved if shape and np.prod(shape) % 47**2 == 0]
        assert square == []
        results = numbers(found)
    for a, b in zip(results, expected, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-5, rtol=1e-5)  # of two float32 passes


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device: measures were not run on one")
@pytest.mark.parametrize("work", WORK)
def test_cuda(work, longer):
    """A real GPU's numbers are the CPU's, but for what two float32 passes differ by."""
    lens, given = made(), made()
    expected = numbers(WORK[work](lens, lens.trace(TEXT)))
    given.model.to("cuda")
    trace = given.trace(TEXT)
    assert trace.attention(1).is_cuda and trace.layer_output(1).is_cuda
    for a, b in zip(numbers(WORK[work](given, trace)), expected, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-4, rtol=1e-3)
    page = trace.explore(layer=1, head=1).to_html()
    assert "<main" in page


@pytest.mark.skipif(not torch.backends.mps.is_available(), reason="no MPS device: its refusal was not run on one")
def test_mps():
    lens = made()
    lens.model.to("mps")
    with pytest.raises(ModelError, match=r"float64.*model\.to\('cpu'\)"):
        lens.trace(TEXT)
    lens.model.to("cpu")
    assert lens.trace(TEXT).n_tokens == 47


def test_a_device_without_float64_is_refused(monkeypatch):
    lens = made()
    monkeypatch.setattr(type(lens.borrowed), "device", property(lambda self: torch.device("mps")))
    with pytest.raises(ModelError, match=r"float64.*model\.to\('cpu'\)"):
        lens.trace(TEXT)


class Halves(TorchDispatchMode):
    """Shapes of all that comes out in half precision."""

    def __init__(self) -> None:
        super().__init__()
        self.shapes: list[tuple[int, ...]] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        for x in tree_flatten(result)[0]:
            if isinstance(x, torch.Tensor) and x.dtype in (torch.float16, torch.bfloat16):
                self.shapes.append(tuple(x.shape))
        return result


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("family", ["bert", "distilbert", "gpt2"])
def test_half_precision_is_computed_in_float32(family, dtype, monkeypatch):
    """Weights are those of the captured half-precision queries and keys in float32, some rows at a time too."""
    of = tiny.FAMILIES[family]
    lens = bl.Lens(of.model().to(dtype), of.tokenizer())
    trace = lens.trace(TEXT)
    size = trace.n_tokens
    monkeypatch.setattr(rows, "WEIGHTS_AT_ONCE", 7 * size * trace.n_heads)  # of 7 queries
    for layer in range(trace.n_layers):
        captured = trace.record.layers[layer]  # in half precision: what is given away is float32
        assert captured.query.dtype == captured.key.dtype == dtype
        q, k = (x.double() for x in (captured.query, captured.key))
        scores = q @ k.transpose(1, 2) * captured.scaling
        if isinstance(captured.mask, str):
            scores = scores + torch.full((size, size), -torch.inf).triu(1)
        exact = scores.softmax(-1)
        with Halves() as halves:
            whole = trace.attention(layer)
            parts = list(rows.blocks(trace, layer, slice(0, trace.n_heads)))
            some = trace.attention_rows(layer, 3, 9)
            one = trace.attention_heads(layer, 1, 2)
            sums = trace.log_sum_exp(layer, 1)
        assert len(parts) > 3 and {x.dtype for x in (whole, some, one, *(alpha for _, _, alpha in parts))} == {
            torch.float32
        }
        assert not [shape for shape in halves.shapes if np.prod(shape) >= size**2]
        joined = torch.zeros_like(whole)
        for start, first, alpha in parts:
            joined[:, start : start + alpha.shape[1], first : first + alpha.shape[2]] = alpha
        for found, expected in (
            (whole, exact), (joined, exact), (some, exact[:, 3:9]), (one, exact[1:2]),
            (sums, scores[1].logsumexp(-1)),
        ):  # fmt: skip
            torch.testing.assert_close(found.double(), expected, atol=1e-6, rtol=1e-5)
    with Halves() as halves:
        summary = attention.summary(trace)
        gates.head_scores(trace)
        trace.explore(layer=1, head=1)
    assert not [shape for shape in halves.shapes if shape[-2:] == (size, size)]
    special, segments = trace.special_mask.tolist(), trace.segments.tolist()
    maps = [trace.attention(layer) for layer in range(trace.n_layers)]
    full = bl.Trace.from_attentions(maps, trace.tokens, special_mask=special, segments=segments)
    for name in ("entropy", "self", "max"):
        torch.testing.assert_close(summary[name], attention.summary(full)[name], atol=1e-6, rtol=1e-5)


def test_benchmarks_name_a_device_that_is_not_there(monkeypatch, capsys):
    main = pytest.importorskip("benchmarks.__main__")
    monkeypatch.setattr("sys.argv", ["benchmarks", "--device", "nowhere"])
    with pytest.raises(SystemExit):
        main.main()
    assert "no device 'nowhere' here" in capsys.readouterr().err
