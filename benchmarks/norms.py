"""What all norms and mixing ratios of all layers cost: time beside one forward pass, and memory.

The naive form beside it is the authors' way: the vectors of all pairs, (H, S, S, D), and then their norms.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import torch
from torch.profiler import ProfilerActivity, profile

from benchmarks.device import DEVICE
from benchmarks.models import base_lens, base_model, inputs, text
from benchmarks.rows import Row, in_turn, mb, ms, ratio
from bertlens import Trace
from bertlens.measures import flow, norms

BUDGETS = {128: 0.6, 512: 0.9}
MEMORY = 64e6
NAIVE = 128  # tokens: at 512 one layer's vectors alone are 9.7 GB


def naive(trace: Trace, layer: int) -> None:
    """Attn-N, AttnRes-N, AttnResLn-N of one layer from the vectors of all pairs."""
    model: Any = base_model()
    block = model.encoder.layer[layer].attention.output
    with torch.inference_mode():
        heads = block.dense.weight.view(model.config.hidden_size, trace.n_heads, -1)
        f = torch.einsum("hjk,dhk->hjd", trace.value(layer), heads)
        weighted = torch.einsum("hij,hjd->hijd", trace.attention(layer), f)
        weighted.norm(dim=-1)
        summed = weighted.sum(0)
        summed.norm(dim=-1)
        x = trace.layer_input(layer)
        own = torch.arange(len(x), device=x.device)
        summed[own, own] += x
        summed.norm(dim=-1)
        deviation = (summed.sum(1) + block.dense.bias).var(-1, correction=0).add(block.LayerNorm.eps).sqrt()
        normed = (summed - summed.mean(-1, keepdim=True)) * block.LayerNorm.weight / deviation[:, None, None]
        normed.norm(dim=-1)


def most_held(work: Callable[[], object]) -> int:
    """The most bytes that the tensors made by `work` take at one time, counted at each allocation."""
    if DEVICE.type == "cuda":
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        work()
        return int(torch.cuda.max_memory_allocated() - before)
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as watched:
        result = work()
    assert watched.profiler is not None and watched.profiler.kineto_results is not None
    events = [event for event in watched.profiler.kineto_results.events() if event.name() == "[memory]"]
    held = most = 0
    for event in sorted(events, key=lambda event: event.start_ns()):
        held += event.nbytes()
        most = max(most, held)
    del result
    return most


def forward(tokens: int) -> Callable[[], None]:
    """One plain forward pass."""
    given = inputs(tokens)

    def plain() -> None:
        with torch.inference_mode():
            base_model()(**given)

    return plain


def rows() -> Iterator[Row]:
    for tokens, budget in BUDGETS.items():
        plain, trace = forward(tokens), base_lens().trace(text(tokens))
        works: list[Any] = [plain, partial(norms.summary, trace), partial(norms.mixing_ratios, trace)]
        if tokens <= NAIVE:
            works.append(partial(naive, trace, 0))
        base, ours, mixing, *peer = in_turn(*works, rounds=11 if tokens < 256 else 7)
        spent = ratio(ours, base)
        yield Row(
            f"all norms + mixing ratios, all layers, BERT-base shape, {tokens} tokens",
            f"≤ {budget} × the plain sdpa forward",
            f"{spent:.2f} × ({ms(min(ours))} over {ms(min(base))} at best); mixing ratios: {ratio(mixing, base):.2f} ×",
            f"naive vectors, 12 × one layer: {12 * ratio(peer[0], base):.0f} ×" if peer else "naive: 9.7 GB a layer",
            spent <= budget,
        )
        held = most_held(partial(norms.summary, trace))
        maps = 3 * trace.n_layers * tokens**2 * 4
        pairs = trace.n_heads * tokens**2 * base_model().config.hidden_size * 4
        yield Row(
            f"memory of the same, {tokens} tokens",
            "≤ 64 MB beside the trace, result included",
            f"{mb(held)}, of which the maps that it returns {mb(maps)}",
            f"vectors of all pairs of one layer: {mb(pairs)}",
            held <= MEMORY,
        )
    trace = base_lens().trace(text(NAIVE))
    maps = [partial(flow.rollout, trace, kind) for kind in ("globenc", "alti")]
    base, globenc, alti = in_turn(forward(NAIVE), *maps, rounds=3, warm=1)
    yield Row(
        f"rollout of GlobEnc and of ALTI, all layers, {NAIVE} tokens",
        "–",
        f"{ratio(globenc, base):.1f} × and {ratio(alti, base):.1f} × the plain forward",
    )
