"""`rounding` against loops over numbers, and against the encoder that is written out."""

from __future__ import annotations

import copy
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

import bertlens as bl
from bertlens.conformance import rounding_faults as formats
from bertlens.errors import InputError
from conftest import state
from unit.conformance import naive_encoder as naive
from unit.conformance.planted import lens_of

OUTPUT = "encoder.layer.{}.attention.output.dense.weight"
NAMES = {kind: f"encoder.layer.{{}}.attention.self.{kind}.weight" for kind in ("query", "key", "value")}


@pytest.fixture(scope="module")
def lens() -> bl.Lens:
    return lens_of("bert")


@pytest.fixture(scope="module")
def rounded(lens: bl.Lens) -> Any:
    """A copy whose projections have 4 bits a row."""
    model = copy.deepcopy(lens.model)
    with torch.no_grad():
        for module in model.encoder.modules():
            if isinstance(module, torch.nn.Linear):
                module.weight.copy_(formats.symmetric(module.weight, -1, 7))
    return model


@pytest.fixture(scope="module")
def found(lens: bl.Lens, rounded: Any) -> Any:
    return bl.rounding(lens, rounded)


def error(own: list[list[float]], other: list[list[float]]) -> float:
    pairs = [(a, b) for row, others in zip(own, other, strict=True) for a, b in zip(row, others, strict=True)]
    return math.sqrt(sum((a - b) ** 2 for a, b in pairs)) / math.sqrt(sum(a * a for a, _ in pairs))


def test_errors_by_tensor_and_row_are_those_of_a_loop(lens: bl.Lens, rounded: Any, found: Any) -> None:
    table = found.tensors.set_index("tensor")
    for name in (OUTPUT.format(0), NAMES["key"].format(1)):
        own, other = (m.get_parameter(name).tolist() for m in (lens.model, rounded))
        assert table.loc[name, "error"] == pytest.approx(error(own, other), rel=1e-4)
        by_row = [error([a], [b]) for a, b in zip(own, other, strict=True)]
        assert table.loc[name, "row"] == by_row.index(max(by_row))
        assert table.loc[name, "row_error"] == pytest.approx(max(by_row), rel=1e-4)
        flat = [x for row in own for x in row]
        mean = sum(flat) / len(flat)
        second, fourth = (sum((x - mean) ** k for x in flat) / len(flat) for k in (2, 4))
        assert table.loc[name, "kurtosis"] == pytest.approx(fourth / second**2, rel=1e-4)
    assert (table.loc[[n for n in table.index if "LayerNorm" in n], "error"] == 0).all()
    assert found.tensors["error"].is_monotonic_decreasing


def test_errors_by_head_are_of_its_rows_and_its_columns(lens: bl.Lens, rounded: Any, found: Any) -> None:
    heads = found.heads.set_index(["layer", "head"])
    width = lens.model.config.hidden_size // lens.model.config.num_attention_heads
    for layer, head in ((0, 0), (1, 1)):
        at = slice(head * width, (head + 1) * width)
        for kind, name in NAMES.items():
            own, other = (m.get_parameter(name.format(layer))[at].tolist() for m in (lens.model, rounded))
            assert heads.loc[(layer, head), kind] == pytest.approx(error(own, other), rel=1e-4)
        own, other = (m.get_parameter(OUTPUT.format(layer))[:, at].tolist() for m in (lens.model, rounded))
        assert heads.loc[(layer, head), "output"] == pytest.approx(error(own, other), rel=1e-4)
        texts = sorted(bl.probing_texts(lens), key=len)[:3]
        special = []
        for text in texts:
            options = {"truncation": True, "max_length": 40, "return_tensors": "pt"}
            encoded = lens.tokenizer(text, return_special_tokens_mask=True, **options)
            marks = encoded.pop("special_tokens_mask")[0].tolist()  # the template's own
            model = copy.deepcopy(lens.model)
            model.set_attn_implementation("eager")
            with torch.no_grad():
                alpha = model(**encoded, output_attentions=True).attentions[layer][0, head].tolist()
            special.append(sum(a for row in alpha for a, is_special in zip(row, marks, strict=True) if is_special))
            special[-1] /= len(alpha)
        assert heads.loc[(layer, head), "special"] == pytest.approx(sum(special) / 3, abs=1e-5)


def test_channels_and_what_goes_with_a_head_are_those_of_the_written_out_encoder(
    lens: bl.Lens, rounded: Any, found: Any
) -> None:
    texts = sorted(bl.probing_texts(lens), key=len)[:3]
    heads, width = lens.model.config.num_attention_heads, lens.model.config.hidden_size

    def squares(off: tuple[int, int] | None = None) -> np.ndarray:
        sides = []
        for source in (lens.model, rounded):
            model = copy.deepcopy(source)
            if off:
                size = width // heads
                with torch.no_grad():
                    model.get_parameter(OUTPUT.format(off[0]))[:, off[1] * size : (off[1] + 1) * size] = 0
            rows = [lens.tokenizer(t, truncation=True, max_length=40)["input_ids"] for t in texts]
            sides.append(np.stack([naive.mean(model, row) for row in rows]))
        return ((sides[0] - sides[1]) ** 2).sum(0)

    whole = squares()
    assert list(found.channels["channel"]) == sorted(range(width), key=lambda c: -whole[c])
    assert found.channels["share"].tolist() == pytest.approx(sorted(whole / whole.sum(), reverse=True), rel=1e-3)
    few = max(1, round(0.01 * width))
    first = found.channels["channel"][:few].tolist()
    layers = lens.model.config.num_hidden_layers
    gone = np.array([1 - squares((n, h)) / whole for n in range(layers) for h in range(heads)])
    assert few == 1 and found.heads["removed"].tolist() == pytest.approx(gone[:, first[0]].tolist(), abs=1e-3)
    most = [max(gone[:, c]) for c in range(width)]
    others = [c for c in range(width) if c != first[0]]
    assert found.chance == pytest.approx(sum(most[c] >= most[first[0]] for c in others) / len(others))


def test_what_is_said_has_the_tables_numbers(found: Any) -> None:
    worst = found.tensors.iloc[0]
    head = found.heads.sort_values("removed").iloc[-1]
    assert found.said.startswith(f"Rounded most: {worst['tensor']} (error {worst['error']:.2g}; row {worst['row']} ")
    assert f"1 of {len(found.channels)} channels hold {found.channels['share'][0]:.0%}" in found.said
    assert f"Without head {head['head']:.0f} of layer {head['layer']:.0f}" in found.said
    assert f"{max(0.0, head['removed']):.0%} of it is gone" in found.said
    assert repr(found) == found.said


def test_forms_of_a_copy_and_the_model_as_it_was(lens: bl.Lens, rounded: Any, found: Any, tmp_path: Path) -> None:
    before = state(lens.model)
    save_file({f"bert.{n}": p.detach().clone() for n, p in rounded.named_parameters()}, tmp_path / "a.safetensors")
    for form in (bl.Lens(rounded, lens.tokenizer), tmp_path / "a.safetensors", dict(rounded.named_parameters())):
        assert bl.rounding(lens, form).said == found.said
    dynamic = torch.ao.quantization.quantize_dynamic(copy.deepcopy(lens.model), {torch.nn.Linear}, dtype=torch.qint8)
    tensors = bl.rounding(lens, dynamic).tensors.set_index("tensor")["error"]
    assert 0 < tensors[OUTPUT.format(0)] < 0.1 and tensors["embeddings.LayerNorm.weight"] == 0
    assert bl.rounding(lens, lens).said == f"The {len(found.tensors)} tensors of the copy are the model's own."
    assert state(lens.model) == before
    with pytest.raises(InputError, match="no tensor by a name"):
        bl.rounding(lens, {"one": torch.zeros(2)})
    with pytest.raises(InputError, match=r"here \(\d+, \d+\): is it this model's"):
        bl.rounding(lens, {OUTPUT.format(0): torch.zeros(2, 2)})
