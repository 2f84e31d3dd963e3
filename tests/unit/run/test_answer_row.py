"""The last layer of one token alone: the same numbers as by whole runs, in every family, or it is not done."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import transformers as tf

from bertlens import Lens, whatif
from bertlens.whatif.strongest_heads import first_number
from unit import tiny

TEXT = "the cat sat on the mat"
CLASSES = ("ForMaskedLM", "ForSequenceClassification", "ForTokenClassification")


def lenses() -> dict[str, Any]:
    """By family and head, what makes one."""
    makers = {}
    for name, family in tiny.FAMILIES.items():
        base = family.model()
        for head in CLASSES:
            kind = getattr(tf, type(base).__name__.replace("Model", "").replace("Encoder", "") + head, None)
            if kind is not None and name != "t5 encoder":
                makers[f"{name} {head}"] = (kind, base.config, family.tokenizer)
    return makers


LENSES = lenses()
# They read the last token, or give their states a shape of their own.
NOT_OF_ONE = {f"{name} {head}" for name in ("gpt2", "llama, grouped keys") for head in CLASSES[1:]}


def by_whole_runs(trace: Any, number: Any) -> torch.Tensor:
    """(L, H), each head off in a run of its own."""
    read = number.swept.metric if callable(number.swept.metric) else number.swept.metric.bind(trace)
    every = torch.zeros(trace.n_layers, trace.n_heads, dtype=torch.float64)
    for layer in range(trace.n_layers):
        for head in range(trace.n_heads):
            every[layer, head] = float(read(trace.rerun(whatif.off(layer, head)).output)) - number.before
    return every


def by_one_row(trace: Any) -> tuple[torch.Tensor, int | None]:
    """(L, H) as the view has them; and the row that alone was computed."""
    bases: dict[Any, Any] = {}
    every = torch.zeros(trace.n_layers, trace.n_heads, dtype=torch.float64)
    heads = [(layer, head) for layer in range(trace.n_layers) for head in range(trace.n_heads)]
    for batch in first_number(trace).swept.exact(heads, bases):
        for at, change in batch:
            every[at] = change
    [base] = bases.values()
    return every, base.row


@pytest.mark.parametrize("name", LENSES)
def test_numbers_are_those_of_whole_runs(name: str) -> None:
    kind, config, tokenizer = LENSES[name]
    tokenizer = tokenizer()
    config.pad_token_id = tokenizer.pad_token_id or 0
    lens = Lens(tiny.shaken(kind(config), 0).double(), tokenizer)
    mask = getattr(tokenizer, "mask_token", None)
    text = TEXT.replace("cat", str(mask)) if name.endswith("MaskedLM") else TEXT
    trace = lens.trace(text)
    every, row = by_one_row(trace)
    torch.testing.assert_close(every, by_whole_runs(trace, first_number(trace)), rtol=1e-7, atol=1e-9)
    assert (row is None) == (name in NOT_OF_ONE)
    assert float(every.abs().max()) > 1e-6


def test_a_head_that_reads_all_tokens_is_run_whole() -> None:
    """Though its probability rounds to 1 whatever it reads."""
    config = tiny.modernbert(num_hidden_layers=3).config
    config.classifier_pooling = "mean"
    model = tiny.shaken(tf.ModernBertForSequenceClassification(config), 0)
    model.classifier.weight.data *= 1e4
    trace = Lens(model, tiny.wordpiece()).trace(TEXT)
    assert first_number(trace).before == 1.0
    assert by_one_row(trace)[1] is None


def test_a_hook_on_other_tokens_is_run_whole() -> None:
    """It reads a row that is not there."""
    model = tiny.shaken(tf.BertForMaskedLM(tf.BertConfig(**tiny.BERT)), 0)
    lens = Lens(model, tiny.wordpiece())

    def doubled(_module: Any, _args: Any, output: Any) -> Any:
        return output + output[:, 5:6]

    model.bert.encoder.layer[-1].output.register_forward_hook(doubled)
    trace = lens.trace(TEXT.replace("cat", "[MASK]"))
    every, row = by_one_row(trace)
    assert row is None
    torch.testing.assert_close(every, by_whole_runs(trace, first_number(trace)), rtol=1e-4, atol=1e-6)
