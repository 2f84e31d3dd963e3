"""Dumps of runs with a fault in one step: which step is named, that no other stands out, and what explains it."""

from __future__ import annotations

import copy
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

import bertlens as bl
from bertlens.conformance import forward_faults, rounding_faults
from bertlens.errors import InputError
from conftest import state
from unit import tiny
from unit.conformance.planted import lens_of

TEXT = "the cat sat on the mat, it was very warm"
Places = list[tuple[str, bool]]


@pytest.fixture(scope="module")
def lens() -> bl.Lens:
    return lens_of("bert")


def dumped(
    lens: bl.Lens, model: Any = None, planted: tuple[str, bool] | None = None, twice: bool = False
) -> dict[str, np.ndarray]:
    """What enters and leaves each module in the model's own run; one of them with a third of its numbers moved."""
    model = lens.model if model is None else model
    arrays: dict[str, np.ndarray] = {}
    handles = []
    calls: Counter[str] = Counter()

    def moved(x: torch.Tensor) -> torch.Tensor:
        return x * (1 + 1e-3 * (torch.arange(x.shape[-1]) % 3 == 0))

    def hooks(name: str) -> tuple[Callable[..., Any], Callable[..., Any]]:
        def before(module: Any, arguments: Any) -> Any:
            if not arguments:
                return None
            x = moved(arguments[0]) if planted == (name, True) else arguments[0]
            arrays[f"{name}.input"] = x.numpy().copy()
            calls[name] += 1
            return (x, *arguments[1:])

        def after(module: Any, arguments: Any, output: Any) -> Any:
            if isinstance(output, tuple):
                return output
            y = moved(output) if planted == (name, False) else output
            arrays[name] = y.numpy().copy()
            return y

        return before, after

    for name, module in model.named_modules():
        if not [*module.children()] and not isinstance(module, nn.Dropout | nn.Identity):
            before, after = hooks(name)
            handles += [module.register_forward_pre_hook(before), module.register_forward_hook(after)]
    with torch.no_grad():
        model(**lens.tokenizer(TEXT, return_tensors="pt"))
    for handle in handles:
        handle.remove()
    once = [name for name in calls if calls[name] == 1 or twice]  # DeBERTa projects its distances, too
    return {name: array for name, array in arrays.items() if name.removesuffix(".input") in once}


def places(arrays: dict[str, np.ndarray]) -> Places:
    floats = [name for name, array in arrays.items() if array.dtype.kind == "f"]
    return [(name.removesuffix(".input"), name.endswith(".input")) for name in floats]


def check_planted(lens: bl.Lens, planted: tuple[str, bool], model: Any = None) -> None:
    """The planted step is the first that differs, and no other is over its limit."""
    steps = bl.parity_steps(lens, TEXT, dumped(lens, model, planted))
    table = steps.table
    name, is_input = planted
    row = table.iloc[steps.first]
    step = re.sub(r"^.*?layers?\.\d+\.", "", name)
    assert steps.first >= 0 and row["step"] == ("what enters " if is_input else "") + step, steps.said
    others = table.drop(index=steps.first)
    assert (others["error"] < 1e-5).all() and row["error"] > 1e-4


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    """No hypotheses: which step differs is the question."""
    monkeypatch.setattr(forward_faults, "FAULTS", ())
    monkeypatch.setattr(rounding_faults, "FAULTS", ())


def test_a_clean_dump_has_no_step_that_differs(lens: bl.Lens) -> None:
    before = state(lens.model)
    steps = bl.parity_steps(lens, TEXT, dumped(lens))
    assert steps.first == -1 and steps.said.startswith(f"None of {len(steps.table)} steps differs")
    assert state(lens.model) == before and not any(m._forward_hooks for m in lens.model.modules())  # private: hooks


@pytest.mark.usefixtures("bare")
def test_each_step_of_a_small_model_is_named_where_it_alone_differs(lens: bl.Lens) -> None:
    every = places(dumped(lens))
    for planted in every[:: max(1, len(every) // 12)]:
        check_planted(lens, planted)


@pytest.mark.long
@pytest.mark.usefixtures("bare")
def test_each_of_120_steps_of_the_embedded_model_is_named(embedded_lens: bl.Lens) -> None:
    every = places(dumped(embedded_lens))
    assert len(every) >= 110
    for planted in every:
        check_planted(embedded_lens, planted)


@pytest.mark.long
@pytest.mark.usefixtures("bare")
@pytest.mark.parametrize("family", ["roberta", "mpnet", "distilbert", "modernbert", "deberta-v2", "esm"])
def test_each_step_of_other_families_is_named(family: str) -> None:
    lens = lens_of(family)
    every = places(dumped(lens))
    assert bl.parity_steps(lens, TEXT, dumped(lens)).first == -1
    for planted in every:
        check_planted(lens, planted)


def faulty(lens: bl.Lens, change: Callable[[Any], None]) -> dict[str, np.ndarray]:
    model = copy.deepcopy(lens.model)
    with torch.no_grad():
        change(model)
    return dumped(lens, model)


def test_what_explains_the_step_is_named(lens: bl.Lens) -> None:
    def tanh(model: Any) -> None:
        model.encoder.layer[1].intermediate.intermediate_act_fn = nn.GELU(approximate="tanh")

    def bias(model: Any) -> None:
        model.encoder.layer[0].attention.self.key.bias.zero_()

    def eps(model: Any) -> None:
        model.encoder.layer[1].output.LayerNorm.eps = 1e-3

    def scale(model: Any) -> None:
        model.encoder.layer[0].attention.self.scaling *= 1.01

    for change, layer, step, name in (
        (tanh, 1, "intermediate.intermediate_act_fn", "tanh GELU"),
        (bias, 0, "attention.self.key", "no key bias"),
        (eps, 1, "output.LayerNorm", "ε of the norms 0.001"),
        (scale, 0, "what enters attention.output.dense", None),
    ):
        steps = bl.parity_steps(lens, TEXT, faulty(lens, change))
        row = steps.table.iloc[steps.first]
        assert (row["layer"], row["step"]) == (layer, step), steps.said
        assert steps.fits == (() if name is None else (name,))
        assert ("It fits: " if name else "No hypothesis of that step") in steps.said


def test_rounded_products_are_told_from_all_else(lens: bl.Lens) -> None:
    def rounded(model: Any) -> None:
        for module in model.encoder.modules():
            if type(module) is nn.Linear:
                w = module.weight
                scale = w.abs().amax(1, keepdim=True) / 127
                w.copy_((w / scale).round() * scale)

    steps = bl.parity_steps(lens, TEXT, faulty(lens, rounded))
    assert steps.is_all_products and "8-bit weights by row" in steps.fits
    assert steps.said.startswith("Every product with weights is rounded, and nothing else of")
    name = "encoder.layer.1.output.dense"
    lone = bl.parity_steps(lens, TEXT, {name: faulty(lens, rounded)[name]})
    assert not lone.is_all_products and lone.step == "output.dense in layer 1"  # of one it is no pattern


def test_a_step_that_the_dump_lacks_is_made_over(lens: bl.Lens) -> None:
    """The fault is in the first that is there."""
    arrays = faulty(lens, lambda model: model.encoder.layer[1].attention.output.dense.weight.mul_(1.01))
    for name in [*arrays]:
        if name.endswith(".input") or "attention.output.dense" in name:
            del arrays[name]
    steps = bl.parity_steps(lens, TEXT, arrays)
    assert (steps.table.iloc[steps.first]["layer"], steps.table.iloc[steps.first]["step"]) == (
        1,
        "attention.output.LayerNorm",
    )


def test_dumps_are_read_from_files_and_by_other_names(lens: bl.Lens, tmp_path: Path) -> None:
    from safetensors.numpy import save_file
    from transformers.model_debugging_utils import model_addition_debugger_context

    model = copy.deepcopy(lens.model)
    model.encoder.layer[1].intermediate.intermediate_act_fn = nn.GELU(approximate="tanh")
    folder = tmp_path / "debug"
    with torch.no_grad(), model_addition_debugger_context(model, debug_path=str(folder), use_repr=False):
        model(**lens.tokenizer(TEXT, return_tensors="pt"))
    torch.set_printoptions(profile="default", sci_mode=False, linewidth=80)  # which that debugger leaves behind
    arrays = dumped(lens, model)
    save_file(arrays, tmp_path / "a.safetensors")
    np.savez(tmp_path / "a.npz", **arrays)
    onnx = {f"/m/{name.replace('.', '/').replace('layer/', 'layer.')}/{op}": array for name, array in arrays.items()
            if not name.endswith(".input") for op in ("MatMul_output_0", "Add_output_0")}  # fmt: skip
    said = {
        bl.parity_steps(lens, TEXT, dump).said.split(" (by")[0].split("differs is ")[1]
        for dump in (folder, tmp_path / "a.safetensors", tmp_path / "a.npz", onnx)
    }
    assert said == {"intermediate.intermediate_act_fn in layer 1"}
    up, act = (f"encoder.layer.1.intermediate.{name}" for name in ("dense", "intermediate_act_fn"))
    other = {"ffn_up-1": arrays[up], "ffn_act-1": arrays[act]}
    steps = bl.parity_steps(lens, TEXT, other, {up: "ffn_up-1", act: "ffn_act-1"})
    assert len(steps.table) == 2 and "intermediate_act_fn in layer 1" not in steps.table["step"].to_list()


def test_what_is_no_dump_of_this_text_is_refused(lens: bl.Lens, tmp_path: Path) -> None:
    for dump, words in (({"x": np.ones(3)}, "no tensor by a name"), (tmp_path / "none.npz", "no tensors that can be")):
        with pytest.raises(InputError, match=words):
            bl.parity_steps(lens, TEXT, dump)
    with pytest.raises(InputError, match="is the dump of this text, alone"):
        bl.parity_steps(lens, "a cat", dumped(lens))
    with pytest.raises(InputError, match="the first is a module of this model"):
        bl.parity_steps(lens, TEXT, dumped(lens), {"encoder": "x"})


def test_modules_that_run_twice_are_no_steps() -> None:
    """ALBERT's layers: a dump has the last time alone."""
    kind = tiny.FAMILIES["albert"]
    lens = bl.Lens(tiny.shaken(kind.model(), 5), kind.tokenizer(model_max_length=40))
    steps = bl.parity_steps(lens, TEXT, dumped(lens, twice=True))
    assert steps.first == -1 and not steps.table["step"].str.contains("attention").any()


def test_ctrl_c_leaves_the_model_as_it_was(lens: bl.Lens, ctrl_c: None) -> None:
    import signal

    before, count = state(lens.model), iter(range(10**6))

    def interrupt(module: Any, arguments: Any) -> None:
        if next(count) == 7:
            signal.raise_signal(signal.SIGINT)

    arrays = faulty(lens, lambda model: model.encoder.layer[1].output.dense.bias.zero_())
    hook = lens.model.encoder.layer[1].output.dense.register_forward_pre_hook(interrupt)
    with pytest.raises(KeyboardInterrupt):
        bl.parity_steps(lens, TEXT, arrays)
    hook.remove()
    assert state(lens.model) == before and not any(m._forward_hooks for m in lens.model.modules())  # private: hooks


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_what_is_no_number_in_a_dump_differs(lens: bl.Lens, bad: float) -> None:
    """Beside nothing does NaN differ by more than a bound; the first step that has it is named all the same."""
    arrays = dumped(lens)
    names = [name for name in arrays if name.endswith("output.dense") and not name.startswith("encoder.layer.0")]
    arrays[names[0]][0, 1, 2] = bad
    found = bl.parity_steps(lens, TEXT, arrays)
    row = found.table.iloc[found.first]
    assert found.first >= 0 and row["layer"] == 1 and row["error"] == np.inf and found.fits == ()
    assert row["step"] == names[0].removeprefix("encoder.layer.1.")
    assert f"differs is {row['step']} in layer 1 (it holds what is no number)" in found.said


def test_a_dump_of_whole_numbers_alone_is_read(lens: bl.Lens) -> None:
    arrays = {name: array for name, array in dumped(lens).items() if array.dtype.kind == "i"}
    assert arrays and bl.parity_steps(lens, TEXT, arrays).first < 0


def test_the_text_opens_at_the_layer_of_the_first_step_that_differs(lens: bl.Lens) -> None:
    steps = bl.parity_steps(lens, TEXT, dumped(lens, planted=("encoder.layer.1.intermediate.dense", False)))
    explorer = steps.explore()
    assert explorer.layer == 1 and explorer.trace.tokens == lens.trace(TEXT).tokens
    assert bl.parity_steps(lens, TEXT, dumped(lens)).explore(layer=0).layer == 0
