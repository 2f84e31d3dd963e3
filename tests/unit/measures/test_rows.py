"""Long texts: measures that take a layer's rows some at a time give what they give of whole maps, and make nothing of
the size of a map."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import transformers as tf

import bertlens as bl
from bertlens.measures import attention, byhead, gates, norms, rows
from bertlens.measures.statistics import STATISTICS
from bertlens.survey.text_statistics import text_statistics
from unit import tiny
from unit.largest import Largest

KINDS = [k for k in ("bert", "gpt2", "modernbert", "t5 encoder", "llama, grouped keys") if k in tiny.FAMILIES]


def measured(trace: bl.Trace) -> dict[str, Any]:
    """Everything that goes by rows."""
    found: dict[str, Any] = {}
    for view in gates.VIEWS:
        found |= {f"{view} {name}": value for name, value in gates.head_scores(trace, view).items()}
    found |= attention.summary(trace, [name for name, record in STATISTICS.items() if record.function])
    kinds = ["weight"] + ["norm"] * trace.has_neurons
    try:
        norms.transformed_norm(trace, 0)
    except bl.ModelError:
        kinds = ["weight"]
    for by in kinds:
        by_head = byhead.statistics(trace, by)
        found |= {f"{by} values": by_head.values, f"{by} received": by_head.received}
    text = text_statistics(trace)
    found |= {f"survey {by}": values for by, values in text.numerators.items()}
    found |= {"survey gates": text.gates, "denominators": text.denominators}
    found |= {} if text.mixing is None else {"mixing": text.mixing}
    return found


@pytest.mark.parametrize("name", KINDS)
def test_by_rows_as_at_once(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    family = tiny.FAMILIES[name]
    trace = bl.Lens(tiny.shaken(family.model()), family.tokenizer()).trace(*tiny.TEXTS[1])
    whole = measured(trace)
    for step, together in ((1, trace.n_heads), (3, 1)):
        monkeypatch.setattr(rows, "WEIGHTS_AT_ONCE", step * together * trace.n_tokens)
        monkeypatch.setattr(rows, "LEAST_ROWS", step)
        groups = rows.head_groups(trace, 0)
        assert [heads.stop - heads.start for heads in groups] == [together] * (trace.n_heads // together)
        for heads in groups:
            starts = [start for start, _, _ in rows.blocks(trace, 0, heads)]
            assert starts == list(range(0, trace.n_tokens, step))
        parts = measured(trace)
        assert parts.keys() == whole.keys()
        for key, value in whole.items():
            torch.testing.assert_close(
                parts[key], value, atol=2e-6, rtol=1e-5, equal_nan=True, msg=lambda m, k=key: k + m
            )


def causal() -> bl.Lens:
    config = tf.GPT2Config(n_embd=16, n_layer=2, n_head=2, n_positions=512, vocab_size=len(tiny.gpt_like()))
    return bl.Lens(tf.GPT2Model(config).eval(), tiny.gpt_like())


@pytest.mark.parametrize(
    "lens", [lambda: bl.Lens(tiny.bert(max_position_embeddings=512), tiny.wordpiece()), causal], ids=["bert", "causal"]
)
def test_what_is_made_grows_with_the_text_and_not_with_its_maps(lens: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The largest tensor of all measures doubles with the text."""
    lens = lens()
    monkeypatch.setattr(rows, "WEIGHTS_AT_ONCE", 4000)
    sizes = []
    for words in (100, 200):
        trace = lens.trace("the cat " * (words // 2), truncation=True)
        with Largest() as largest:
            measured(trace)
        sizes.append((trace.n_tokens, largest.elements))
    (short, little), (long, much) = sizes
    assert long > 1.8 * short
    assert much / little < 1.2 * long / short, sizes
