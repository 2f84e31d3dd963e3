"""What a survey costs beside the bare forward passes, and that its memory does not grow with the corpus."""

from __future__ import annotations

import random
import resource
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import torch

from benchmarks.device import DEVICE, seconds
from benchmarks.models import WORDS, base_lens, base_model, small_lens, tokenizer
from benchmarks.rows import Row, in_turn, mb, ms, ratio
from bertlens.survey import head_distances, head_stats

TOKENS, BATCH = 128, 8
FEW, MANY = 200, 1000
SENTENCE = 12  # words


def segments(n: int, seed: int = 0) -> Iterator[tuple[str, str]]:
    """n pairs of texts of TOKENS tokens: words drawn at random, in sentences."""
    draw = random.Random(seed)
    for _ in range(n):
        words = draw.choices(WORDS, k=TOKENS - 3)
        words[SENTENCE::SENTENCE] = "." * len(words[SENTENCE::SENTENCE])
        half = draw.randint(40, 80)
        yield " ".join(words[:half]), " ".join(words[half:])


def peak(n: int) -> tuple[float, float]:
    """Peak memory in bytes of a process of its own that surveys n segments, and CPU seconds a segment."""
    torch.set_num_threads(1)
    lens = small_lens()
    start = seconds()
    stats = head_stats(lens, segments(n), batch_size=BATCH, progress=False)
    assert stats.n_tokens == n * TOKENS
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024, (seconds() - start) / n


def rows() -> Iterator[Row]:
    with ProcessPoolExecutor(1, mp_context=get_context("spawn"), max_tasks_per_child=1) as process:
        (few, first), (many, later) = (process.submit(peak, n).result() for n in (FEW, MANY))
    yield Row(
        f"survey, embedded model: peak memory after {MANY:,} segments over that after {FEW}",
        "within 5 %",
        f"{many / few:.3f} × ({mb(many)} over {mb(few)}); {ms(later)} a segment, {ms(first)} among the first {FEW}",
        f"attention kept: {mb(MANY * 6 * 12 * TOKENS**2 * 4)}",
        ok=abs(many / few - 1) <= 0.05,
    )

    model, lens, texts = base_model(), base_lens(), list(segments(BATCH))
    given = tokenizer()([a for a, _ in texts], [b for _, b in texts], return_tensors="pt", padding=False).to(DEVICE)
    assert given["input_ids"].shape == (BATCH, TOKENS)

    def plain() -> None:
        with torch.inference_mode():
            model(**given)

    def one_by_one() -> None:
        with torch.inference_mode():
            for i in range(BATCH):
                model(**{name: values[i : i + 1] for name, values in given.items()})

    def survey() -> None:
        head_stats(lens, texts, batch_size=BATCH, progress=False)

    def distances() -> None:
        head_distances(lens, texts, batch_size=BATCH, progress=False)

    base, single, ours, apart = in_turn(plain, one_by_one, survey, distances, rounds=7, warm=1, limit=120)
    throughput = 1 / ratio(ours, base)
    yield Row(
        f"survey, all head statistics in one pass, BERT-base shape, {TOKENS} tokens",
        "≥ 0.7 × the throughput of the bare sdpa forward",
        f"{throughput:.2f} × in batches of {BATCH} ({BATCH / min(ours):.1f} over {BATCH / min(base):.1f} texts a "
        f"second at best); {1 / ratio(ours, single):.2f} × a forward of one text at a time",
        ok=throughput >= 0.7,
    )
    yield Row(
        f"head distances, 144 heads, {TOKENS} tokens",
        "timed apart",
        f"{ratio(apart, base):.2f} × the bare forward, which it contains ({ms(min(apart) / BATCH)} a text)",
    )
