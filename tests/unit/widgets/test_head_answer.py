"""A head as it travels: masks as words and widths, and every cell from q, k, scaling, mask and lse alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import bertlens as bl
from bertlens import whatif
from bertlens.trace import Trace
from bertlens.widgets import rounding
from bertlens.widgets.answers import head_answers
from unit import tiny, tiny_attention

BESIDE = {"mpnet": {"distance"}, "deberta-v2": {"query", "key"}, "deberta": {"query", "key"}, "lilt": {"pairs"}}
KINDS = [k for k in ("bert", "gpt2", "modernbert", "t5 encoder", "llama, grouped keys") if k in tiny.FAMILIES]
TOKENS = 4096


def visible(fields: dict[str, Any], arrays: dict[str, Any], i: np.ndarray, j: np.ndarray) -> np.ndarray:
    """As the page reads a mask (js/src/compute/attention.ts): bool for each cell."""
    kind = fields["mask"]
    if kind == "causal":
        return j <= i
    if kind == "band":
        return (j >= i - fields["band"]["left"]) & (j <= i + fields["band"]["right"])
    if kind == "bits":
        return (arrays["bits"][i, j >> 3] >> (j & 7) & 1) == 1
    return np.ones_like(i, bool)


def cells(fields: dict[str, Any], arrays: dict[str, Any], i: np.ndarray, j: np.ndarray) -> np.ndarray:
    """exp(q·k · scaling + terms + mask - lse), as the page has it."""
    q, k = arrays["q"].numpy()[i].astype(float), arrays["k"].numpy()[j].astype(float)
    scores = (q * k).sum(-1) * fields["scaling"]
    for n, term in enumerate(fields.get("terms", ())):
        numbers, at = np.asarray(arrays[f"term{n}"], float), j - i + len(arrays["q"]) - 1
        if term["of"] in ("query", "key"):
            scores += ((q if term["of"] == "query" else k) * numbers[arrays[f"term{n}.by"][at]]).sum(-1)
        elif term["of"] == "pairs":
            scores += (numbers[i] * np.asarray(arrays[f"term{n}.by"], float)[j]).sum(-1)
        else:
            scores += numbers[at] if term["of"] == "distance" else numbers[i, j]
    if fields["mask"] == "bias":
        scores += arrays["bias"].numpy()[i, j]
    return np.where(visible(fields, arrays, i, j), np.exp(scores - arrays["lse"].numpy()[i]), 0)


def lens_of(name: str) -> bl.Lens:
    if name in BESIDE:
        return tiny_attention.lens_of(name, torch.float32)
    family = tiny.FAMILIES[name]
    return bl.Lens(tiny.shaken(family.model()), family.tokenizer())


@pytest.mark.parametrize("name", [*KINDS, *BESIDE])
def test_all_cells_of_a_short_text(name: str) -> None:
    trace = lens_of(name).trace(*tiny.TEXTS[1])
    for run in (
        trace,
        trace.rerun(whatif.neuron(1, 1, 3), whatif.dim(4, 0.5)),
    ):  # terms of content are those of the changed queries
        i, j = (grid.ravel() for grid in np.mgrid[: run.n_tokens, : run.n_tokens])
        for layer in range(run.n_layers):
            for head in range(run.n_heads):
                fields, arrays = head_answers.head(run, layer, head)
                wanted = run.attention(layer, torch.float64)[head].numpy().ravel()
                assert cells(fields, arrays, i, j) == pytest.approx(wanted, abs=1e-6, rel=1e-5)
                assert {term["of"] for term in fields.get("terms", ())} == BESIDE.get(
                    name, {"distance"} if name == "t5 encoder" else set()
                )
                if run is trace:  # nothing of S x S
                    assert all(
                        array.size <= 2 * run.n_tokens * run.head_dim for array in map(np.asarray, arrays.values())
                    )


@pytest.mark.parametrize("name", ["mpnet", "deberta-v2"])
def test_rounded_queries_and_keys_have_the_totals_of_their_own_terms(name: str, monkeypatch: Any) -> None:
    """Within 1e-5 + 1e-5 α of the model's, and rows of them sum to 1."""
    trace = lens_of(name).trace(*tiny.TEXTS[1])
    monkeypatch.setattr(rounding, "STEP", 2.0**-9)
    monkeypatch.setattr(rounding, "MOST", 1.0)
    i, j = (grid.ravel() for grid in np.mgrid[: trace.n_tokens, : trace.n_tokens])
    fields, arrays = head_answers.head(trace, 1, 2)
    coarse = cells(fields, arrays | rounding.rounded(trace, 1, 2), i, j).reshape(trace.n_tokens, -1)
    assert coarse.sum(1) == pytest.approx(1, abs=1e-6) and not np.allclose(coarse, trace.attention(1)[2], atol=1e-4)
    assert np.allclose(coarse, trace.attention(1)[2], atol=0.05)


def test_a_local_layer_travels_as_its_width() -> None:
    family = tiny.FAMILIES["modernbert"]
    trace = bl.Lens(family.model(), family.tokenizer()).trace(*tiny.TEXTS[1])
    kinds = set()
    for layer in range(trace.n_layers):
        fields, arrays = head_answers.head(trace, layer, 0)
        kinds.add(fields["mask"])
        assert set(arrays) == {"q", "k", "lse"}  # nothing of S x S
        given = trace.dense_mask(layer)
        seen = np.ones((trace.n_tokens,) * 2, bool) if given is None else given.numpy() == 0
        i, j = np.mgrid[: trace.n_tokens, : trace.n_tokens]
        np.testing.assert_array_equal(visible(fields, {}, i, j), seen)
    assert kinds == {"full", "band"}


@pytest.mark.parametrize(
    ("rows", "kind"),
    [
        (["110", "111", "011"], {"mask": "band", "band": {"left": 1, "right": 1}}),
        (["100", "110", "011"], {"mask": "band", "band": {"left": 1, "right": 0}}),
        (["110", "011", "001"], {"mask": "band", "band": {"left": 0, "right": 1}}),
        (["111", "111", "111"], {"mask": "full"}),
        (["110", "101", "111"], {"mask": "bits"}),  # one hole
        (["101", "010", "101"], {"mask": "bits"}),
        (["000", "000", "000"], {"mask": "bits"}),
    ],
)
@pytest.mark.parametrize("at_once", [1, 2, 256])
def test_masks(rows: list[str], kind: dict[str, Any], at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(head_answers, "ROWS", at_once)
    seen = torch.tensor([[letter == "1" for letter in row] for row in rows])
    fields, arrays = head_answers._mask(  # no family has all of these masks
        len(seen), torch.where(seen, 0.0, -torch.inf).__getitem__
    )
    assert fields == kind
    assert set(arrays) == ({"bits"} if kind["mask"] == "bits" else set())


@pytest.fixture(scope="module")
def long() -> Trace:
    """4,096 tokens, a global and a local layer whose queries and keys are large enough for clear patterns."""
    torch.manual_seed(3)
    tokenizer = tiny.wordpiece(model_max_length=TOKENS)
    model = tiny.modernbert(
        num_hidden_layers=2,
        num_attention_heads=2,
        local_attention=128,
        global_attn_every_n_layers=2,
        max_position_embeddings=TOKENS,
    )
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(3)
    return bl.Lens(model, tokenizer).trace(
        " ".join(["the", "cat", "sat", "on"] * (TOKENS // 4))[: 4 * TOKENS], truncation=True
    )


@pytest.mark.parametrize("layer", [0, 1])
def test_random_cells_of_a_long_text(long: Trace, layer: int) -> None:
    """Against float64 sums over whole rows of the same captured q and k; in the local layer at its edges too."""
    S, head = long.n_tokens, 1
    assert S > 4000
    fields, arrays = head_answers.head(long, layer, head)
    assert set(arrays) == {"q", "k", "lse"} and fields["mask"] == ("full", "band")[layer]
    rng = np.random.default_rng(5)
    i, j = rng.integers(0, S, 200), rng.integers(0, S, 200)
    if layer == 1:
        reach = fields["band"]["left"]
        assert reach == fields["band"]["right"] < 128
        j = np.clip(i + rng.choice([-reach - 1, -reach, 0, reach, reach + 1], 200), 0, S - 1)
    q, k = (x(layer)[head].double().numpy() for x in (long.query, long.key))
    rows = q[i] @ k.T * long.scaling(layer)
    mask = long.dense_mask(layer)
    rows = rows if mask is None else rows + mask.double().numpy()[i]
    rows -= rows.max(1, keepdims=True)
    wanted = np.exp(rows)[np.arange(200), j] / np.exp(rows).sum(1)
    found = cells(fields, arrays, i, j)
    assert found == pytest.approx(wanted, abs=1e-6, rel=1e-5)
    assert (found > 1e-6).any() and ((found == 0) == (wanted == 0)).all()
    lengths = head_answers.layer_norms(long, layer)[1]["norms"][head].double().numpy()
    assert found * lengths[j] == pytest.approx(wanted * lengths[j], abs=1e-6, rel=1e-5)
