"""What a trace costs over the model's own forward pass: time, and floats kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields
from statistics import median
from typing import Any

import torch
from torch import Tensor

from benchmarks.models import base_lens, base_model, inputs, text
from benchmarks.rows import Row, in_turn, ms, ratio
from bertlens import Lens, Trace
from bertlens.model.borrowed import Model
from bertlens.model.trial import answers

LENGTHS = (128, 512)


def floats(tensors: list[Tensor]) -> dict[int, int]:
    """The storages behind some tensors, each once, with its number of floats: a view keeps all of what it looks at."""
    return {t.untyped_storage().data_ptr(): t.untyped_storage().nbytes() // t.element_size() for t in tensors}


def held(value: Any) -> list[Tensor]:
    """All floating tensors in a captured structure."""
    if isinstance(value, Tensor):
        return [value] if value.is_floating_point() else []
    if isinstance(value, (list, tuple)):
        return [tensor for item in value for tensor in held(item)]
    if isinstance(value, dict):
        return held(list(value.values()))
    return []


def kept(trace: Trace) -> int:
    """Floats that a trace keeps alive beside the model's own output object."""
    record = trace.record
    layers = [getattr(layer, field.name) for layer in record.layers for field in fields(layer)]
    everything = floats(held(layers) + held(record.hidden_states))
    own = floats(held([record.output.last_hidden_state, record.output.pooler_output]))
    return sum(size for storage, size in everything.items() if storage not in own)


def fingerprint(lens: Lens, words: str) -> Row:
    """What it costs to know whether the model is the same still: in each trace, and at each use of one."""
    trace = lens.trace(words)
    assert trace.fingerprint is not None
    before = trace.fingerprint

    def taken() -> None:
        lens.borrowed.fingerprint(trace.input_ids)

    def checked() -> None:
        lens.borrowed.check(before)

    whole, taking, checking = in_turn(lambda: lens.trace(words), taken, checked, rounds=15)
    share = ratio(taking, whole)
    return Row(
        f"the model's fingerprint, {trace.n_tokens} tokens, a part of the trace",
        "≤ .10 × the trace",
        f"{share:.3f} × ({ms(min(taking))})",
        f"checked at each use: {ms(min(checking))}",
        share <= 0.10,
    )


def identity(name: str, lens: Lens, limit: float) -> Row:
    """What a file of a model costs once for each state: trial texts, and a hash of all weights and settings."""
    model = lens.borrowed

    def tried() -> None:
        answers(model.whole, model.runner, model.tokenizer, model.dtype)

    def identified() -> None:
        Model(model.module, model.tokenizer, whole=model.whole).identity()

    trial, whole = in_turn(tried, identified, rounds=7)
    return Row(
        f"trial texts of {name}, once for each state of a model",
        f"≤ {ms(limit)}",
        ms(min(trial)),
        f"with the hash of all: {ms(min(whole))}",
        min(trial) <= limit,
    )


def first(words: str, plain: Callable[[], None]) -> Row:
    """What it costs to compare the first trace of a Lens with the model's own run."""
    lens = base_lens()
    base, ours, later = in_turn(plain, lambda: Lens(lens.model, lens.tokenizer).trace(words), lambda: lens.trace(words))
    more = [(one - other) / forward for one, other, forward in zip(ours, later, base, strict=True)]
    return Row(
        f"a Lens' first trace, {LENGTHS[0]} tokens, beside later ones",
        "≤ 1.10 forwards more",
        f"{median(more):.2f} forwards more ({ms(min(ours))}, later {ms(min(later))})",
        ok=median(more) <= 1.10,
    )


def rows() -> Iterator[Row]:
    yield identity("the embedded model", Lens.embedded(), 0.06)
    yield identity("BERT-base shape", base_lens(), 0.4)
    model, lens = base_model(), base_lens()
    for tokens in LENGTHS:
        given, words = inputs(tokens), text(tokens)

        def plain(given: Any = given) -> None:
            with torch.inference_mode():
                model(**given)

        def traced(words: str = words) -> None:
            lens.trace(words)

        def eager(given: Any = given) -> None:
            model.set_attn_implementation("eager")
            try:
                with torch.inference_mode():
                    model(**given, output_attentions=True, output_hidden_states=True)
            finally:
                model.set_attn_implementation("sdpa")

        base, ours, peer = in_turn(plain, traced, eager, rounds=21 if tokens < 256 else 11, warm=3)
        times = ratio(ours, base)
        yield Row(
            f"trace, BERT-base shape, {tokens} tokens (text to Trace)",
            "≤ 1.10 × the plain sdpa forward",
            f"{times:.2f} × ({ms(min(ours))} over {ms(min(base))} at best)",
            f"eager with attentions: {ratio(peer, base):.2f} ×",
            times <= 1.10,
        )
        if tokens == LENGTHS[0]:
            yield fingerprint(lens, words)
            yield first(words, plain)
        trace = lens.trace(words)
        layers, heads, width = trace.n_layers, trace.n_heads, model.config.hidden_size
        limit = 6 * (layers + 1) * tokens * width
        count = kept(trace)
        yield Row(
            f"floats kept, {tokens} tokens",
            f"≤ 6·(L+1)·S·D = {limit / 1e6:.2f} M",
            f"{count / 1e6:.2f} M = {count / ((layers + 1) * tokens * width):.2f}·(L+1)·S·D",
            f"attentions: L·H·S² = {layers * heads * tokens**2 / 1e6:.2f} M",
            count <= limit,
        )
