"""What the estimate of all heads and MLPs of a task costs beside a forward over its texts, and that memory is flat."""

from __future__ import annotations

import copy
import random
import resource
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from transformers import BertForSequenceClassification

import bertlens as bl
from benchmarks.device import DEVICE, seconds
from benchmarks.models import WORDS, base_model, small_lens, tokenizer
from benchmarks.rows import Row, in_turn, mb, ms, ratio
from bertlens.tasks.ablation_effects import estimates

TEXTS, BATCH = 64, 16
FEW, MANY = 200, 1000
SHOWN = 10


def examples(n: int, seed: int = 0) -> list[tuple[str, int]]:
    """Short texts, of 10 to 24 words at random."""
    draw = random.Random(seed)
    return [(" ".join(draw.choices(WORDS, k=draw.randint(10, 24))), k % 2) for k in range(n)]


def classifier(base: Any) -> Any:
    config = copy.deepcopy(base.config)
    config.num_labels = 2
    torch.manual_seed(0)
    model = BertForSequenceClassification(config)
    model.bert.load_state_dict(base.state_dict(), strict=False)
    return model.eval().to(DEVICE)


def peak(n: int) -> tuple[float, float]:
    """Peak memory in bytes of a process of its own that estimates over n texts, and CPU seconds a text."""
    torch.set_num_threads(1)
    lens = bl.Lens(classifier(small_lens().model), tokenizer())
    task = bl.task(lens, examples(n), batch_size=BATCH, progress=False)
    start = seconds()
    estimates(task, range(n), 6)
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024, (seconds() - start) / n


def rows() -> Iterator[Row]:
    with ProcessPoolExecutor(1, mp_context=get_context("spawn"), max_tasks_per_child=1) as process:
        (few, _), (many, each) = (process.submit(peak, n).result() for n in (FEW, MANY))
    yield Row(
        f"task, embedded encoder: peak memory of the estimate over {MANY:,} texts over that over {FEW}",
        "within 5 %",
        f"{many / few:.3f} × ({mb(many)} over {mb(few)}); {ms(each)} a text",
        ok=abs(many / few - 1) <= 0.05,
    )
    model = classifier(base_model())
    task = bl.task(bl.Lens(model, tokenizer()), examples(TEXTS), batch_size=BATCH, progress=False)
    given = [batch.inputs for batch in task.batches(range(TEXTS))]

    def forward() -> None:
        with torch.inference_mode():
            for inputs in given:
                model(**inputs)

    base, ours = in_turn(forward, lambda: estimates(task, range(TEXTS), 12), rounds=5, warm=1, limit=120)
    times = ratio(ours, base)
    _ = task.metrics()
    with TemporaryDirectory() as folder:
        start = time.process_time()
        size = task.to_html(Path(folder) / "task.html", live=SHOWN).stat().st_size
        spent = time.process_time() - start
    yield Row(
        f"task, estimate of 144 heads and 12 MLPs, BERT-base shape, {TEXTS} short texts in batches of {BATCH}",
        "≤ 4 × a forward over them",
        f"{times:.2f} × ({ms(min(ours) / TEXTS)} a text)",
        ok=times <= 4,
    )
    yield Row(
        f"task, its page with {SHOWN} texts of 12 to 26 tokens, BERT-base shape",
        "≤ 20 s",
        f"{spent:.0f} s, {mb(size)}: of each text, exact runs without each head and token, and at nine loudnesses of 7",
        ok=spent <= 20,
    )
