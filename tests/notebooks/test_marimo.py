"""The editions for marimo: run without a browser, and their numbers beside the model's own eager output."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import module_from_spec, spec_from_file_location
from typing import Any

import pytest
import torch

import bertlens as bl
from unit.test_project import ROOT

FOLDER = ROOT / "notebooks" / "marimo"
marimo = pytest.importorskip("marimo")


def names(stem: str, **defs: Any) -> dict[str, Any]:
    """What the cells of an edition have defined; defs: in place of what some define."""
    spec = spec_from_file_location(stem, FOLDER / f"{stem}.py")
    module = module_from_spec(spec)  # type: ignore[arg-type]
    spec.loader.exec_module(module)  # type: ignore[union-attr]
    _, defined = module.app.run(defs=defs) if defs else module.app.run()
    return dict(defined)


def test_the_tour_tells_the_largest_weight_of_each_token(language_model: bl.Lens) -> None:
    defined = names("tour")
    shown = defined["shown"]
    inputs = language_model.tokenizer(shown["text"], return_tensors="pt")
    before = language_model.model.config._attn_implementation  # private: transformers has no other way to ask
    language_model.model.set_attn_implementation("eager")
    with torch.no_grad():
        attentions = language_model.model(**inputs, output_attentions=True).attentions
    language_model.model.set_attn_implementation(before)
    weights = attentions[shown["layer"]][0, shown["head"]]
    tokens = language_model.tokenizer.convert_ids_to_tokens(inputs["input_ids"][0])
    assert [token for token, *_ in defined["largest"]] == tokens and "tired" in tokens
    for row, (_, key, weight) in zip(weights, defined["largest"], strict=True):
        assert key == tokens[int(row.argmax())] and weight == pytest.approx(float(row.max()), abs=1e-5)


def test_a_model_of_ones_own_is_the_one_that_is_named() -> None:
    assert names("own_model")["lens"].model_name == bl.Lens.embedded(mlm=True).model_name


@pytest.mark.sampled(1)
@pytest.mark.parametrize("stem", sorted(path.stem for path in FOLDER.glob("*.py")))
def test_it_runs_as_a_script(stem: str) -> None:
    done = subprocess.run([sys.executable, FOLDER / f"{stem}.py"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
