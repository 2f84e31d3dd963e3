"""What it costs to compare two runs, beside one forward pass, and to attribute one number by five methods."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.browser import draw
from benchmarks.models import base_lens, small_lens, text
from benchmarks.norms import forward
from benchmarks.rows import Row, in_turn, ms, ratio
from benchmarks.whatif import SENTENCES
from bertlens import Lens, Trace, compare, whatif
from bertlens.measures import attribution

TOKENS, MOST = 128, 0.5
LATER = 0.150  # s after an Explorer's first paint
READY = {
    "Explorer": "document.querySelectorAll('.bl-thumb img').length === 144 && "
    "document.querySelector('[data-testid=matrix] canvas') !== null",
    "comparison": "document.querySelectorAll('[data-apart]').length === 144 && "
    "document.querySelectorAll('[data-testid=compare-maps] image').length === 3",
}
METHODS: dict[str, Any] = {
    "occlusion": attribution.occlusion,
    "gradient × input": attribution.gradient_input,
    "integrated gradients": attribution.integrated_gradients,
    "linearised": attribution.linearised,
    "attention × gradient": attribution.attention_gradient,
}


def rows() -> Iterator[Row]:
    lens = base_lens()
    a = lens.trace(text(TOKENS))
    b = a.rerun(whatif.off(3, 5))
    base, ours = in_turn(forward(TOKENS), lambda: compare(a, b).heads, rounds=5, warm=1)
    spent = ratio(ours, base)
    yield Row(
        f"two runs of {TOKENS} tokens compared, all 144 heads, BERT-base shape",
        f"≤ {MOST} × one forward",
        f"{spent:.2f} × ({ms(min(ours))} over {ms(min(base))} at best)",
        ok=spent <= MOST,
    )
    yield first_paint(a, b)
    small = small_lens()
    trace, near = small.trace(SENTENCES[0]), whatif.similarity(small.trace(SENTENCES[1]))
    times = in_turn(*(lambda method=method: method(trace, near) for method in METHODS.values()), rounds=3)
    said = ", ".join(f"{name} {ms(median(one))}" for name, one in zip(METHODS, times, strict=True))
    yield Row(f"a similarity attributed to {trace.n_tokens} tokens, embedded model", "–", said)
    yield agreement(small)


def first_paint(a: Trace, b: Trace) -> Row:
    """The view of two runs beside an Explorer on one of them: the kernel's work, and the stand-alone page's."""
    make = {"Explorer": lambda: a.explore(settings={"all_heads": True}), "comparison": lambda: compare(a, b).explore()}
    kernel = dict(zip(make, map(median, in_turn(*make.values(), rounds=5, warm=1)), strict=True))
    painted: dict[str, list[float]] = {name: [] for name in make}
    with TemporaryDirectory() as folder:
        pages = {name: Path(folder) / f"{name}.html" for name in make}
        for name, view in make.items():
            view().to_html(pages[name], layers=[0])
        for name in [*make, *reversed(make)] * 2:
            paint = draw(pages[name], READY[name], []).paint
            assert paint is not None
            painted[name].append(paint)
    whole = {name: kernel[name] + median(painted[name]) for name in make}
    later = whole["comparison"] - whole["Explorer"]
    said = ", ".join(
        f"{name} {ms(kernel[name])} of the kernel + {ms(median(painted[name]))} of the page" for name in make
    )
    return Row(
        f"first paint of two runs of {TOKENS} tokens compared, BERT-base shape, one layer in the page",
        f"≤ an Explorer's + {ms(LATER)}",
        f"{later * 1e3:+.0f} ms: {said}",
        ok=later <= LATER,
    )


def agreement(lens: Lens) -> Row:
    """How much better than random rankings the five methods are, over sentences, for the similarity with the next."""
    traces = [lens.trace(sentence) for sentence in SENTENCES]
    beaten: dict[str, list[float]] = {}
    for number, trace in enumerate(traces):
        metric = whatif.similarity(traces[number - 1])
        found = {name: method(trace, metric) for name, method in METHODS.items()}
        table = attribution.faithfulness(trace, found, ceiling=False, progress=False)
        for name in found:
            beaten.setdefault(name, []).append(float(table.loc[name, "comprehensiveness_beats"]))
    said = ", ".join(f"{name} {sum(counts) / len(counts):.1f}" for name, counts in beaten.items())
    return Row(
        f"random rankings, of 20, that remove less (mask) than the method, mean of {len(traces)} sentences, similarity "
        "with another sentence, embedded model",
        "–",
        f"{said}; a random ranking: 10",
    )
