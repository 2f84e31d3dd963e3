"""Long rows: nine tenths of them without sorting, and blocks that leave out what their queries do not see."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
import torch

import bertlens as bl
from bertlens.measures import k90, rows
from unit import tiny

SIZE = 4096
SHAPES = {
    "flat": lambda: torch.randn(40, SIZE).mul(0.2).softmax(-1),
    "broad": lambda: torch.randn(40, SIZE).mul(2).softmax(-1),
    "sharp": lambda: torch.randn(40, SIZE).mul(8).softmax(-1),
    "equal": lambda: torch.full((4, SIZE), 1 / SIZE),
    "few values": lambda: torch.randint(0, 5, (40, SIZE)).float().softmax(-1),
    "periodic": lambda: (torch.arange(SIZE) % 16).float().mul(0.4).repeat(3, 1).softmax(-1),
    "one key": lambda: torch.eye(SIZE)[:5],
    "less than nine tenths, and nothing": lambda: torch.randn(40, SIZE).softmax(-1) * torch.tensor([[0.5], [0.0]] * 20),
}


@pytest.mark.parametrize("name", SHAPES)
def test_nine_tenths_of_long_rows(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The least number of keys that hold 0.9, to the rounding of float32, as sorting all of them in float64 says."""
    torch.manual_seed(0)
    weights = SHAPES[name]()
    found = k90.k90(weights)
    sums = weights.double().sort(-1, descending=True).values.cumsum(-1)
    least = (sums < 0.9 - 1e-6 - 1e-7).sum(-1) + 1
    most = (sums < 0.9 - 1e-6 + 1e-7).sum(-1) + 1
    assert ((found >= least.clamp_max(SIZE)) & (found <= most.clamp_max(SIZE))).all()
    sorted_rows = []
    monkeypatch.setattr(
        k90, "_by_sorting", lambda part, share: sorted_rows.append(len(part)) or torch.ones(len(part)).long()
    )
    k90.k90(weights)
    if name in ("flat", "broad", "sharp"):  # the search is worth it: hardly a row is sorted after all
        assert sum(sorted_rows) <= 0.1 * len(weights)


def test_not_a_number_is_no_error() -> None:
    weights = torch.randn(3, SIZE).softmax(-1)
    weights[1, 7] = torch.nan
    found = k90.k90(weights)
    torch.testing.assert_close(found[[0, 2]], k90.k90(weights[[0, 2]]))


def local() -> bl.Trace:
    model = tiny.modernbert(
        num_hidden_layers=2, local_attention=16, global_attn_every_n_layers=2, max_position_embeddings=1024
    )
    return bl.Lens(model, tiny.wordpiece()).trace("the cat " * 150)


def test_a_block_of_a_local_layer_has_the_keys_that_its_queries_see(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "WEIGHTS_AT_ONCE", 4000)
    trace = local()
    for layer, seen in ((0, trace.n_tokens), (1, None)):
        whole, rebuilt = trace.attention(layer), torch.zeros(trace.n_heads, trace.n_tokens, trace.n_tokens)
        widest = 0
        for heads in rows.head_groups(trace, layer):
            for start, first, values in rows.blocks(trace, layer, heads):
                block = rebuilt[heads, start : start + values.shape[1], first : first + values.shape[2]]
                block.copy_(values)
                widest = max(widest, values.shape[2] - values.shape[1])
        torch.testing.assert_close(rebuilt, whole, atol=1e-7, rtol=1e-5)
        assert widest == 16 if seen is None else widest > 100


MEMORY = """
import resource, sys
import torch, transformers as tf
from bertlens import Lens, survey
from bertlens.model import offline_model
from transformers import AutoTokenizer

torch.set_num_threads(1)
torch.manual_seed(0)
tokens = int(sys.argv[2])
tokenizer = AutoTokenizer.from_pretrained(offline_model.folder(), model_max_length=tokens)
size = dict(hidden_size=384, num_hidden_layers=4, num_attention_heads=6, intermediate_size=576)
special = dict(pad_token_id=0, cls_token_id=tokenizer.cls_token_id, sep_token_id=tokenizer.sep_token_id)
model = tf.ModernBertModel(tf.ModernBertConfig(vocab_size=len(tokenizer), **size, **special)).eval()
words = "the old cat sat on a red mat while two small dogs ran past it to the river".split()


def texts():
    for _ in range(int(sys.argv[1])):
        picked = torch.randint(0, len(words), (tokens - 2,)).tolist()
        yield " ".join(words[at] for at in picked)


stats = survey.head_stats(Lens(model, tokenizer), texts(), progress=False)
print(stats.n_texts, stats.n_tokens, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""


def peak(texts: int, tokens: int) -> float:
    """The most memory, in MB, that a survey of so many random texts has."""
    run = [sys.executable, "-c", MEMORY, str(texts), str(tokens)]
    tight = os.environ | {"MALLOC_MMAP_THRESHOLD_": "65536"}  # what is let go goes back: no holes of the allocator's
    counted, total, most = subprocess.run(run, capture_output=True, text=True, check=True, env=tight).stdout.split()
    assert (int(counted), int(total)) == (texts, texts * tokens)
    return float(most)


@pytest.mark.long
@pytest.mark.timeout(0)
def test_memory_stays_flat_over_texts_of_4096_tokens() -> None:
    """Of 4 layers x 6 heads: 24 texts take what 4 take, to within 30 MB: what is kept of a text is a few kB."""
    assert peak(24, 4096) <= peak(4, 4096) + 30
