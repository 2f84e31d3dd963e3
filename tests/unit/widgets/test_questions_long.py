"""Every question that a page may ask, of texts of 2,304 and (marked long) 8,192 tokens: in little memory, and soon.

The questions are read off the registries (QUESTIONS, and the widget's own table), so that a new one is tried too.
"""

from __future__ import annotations

import gc
import random
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

import bertlens as bl
from bertlens.base.vocabulary import LAYER_MAPS
from bertlens.trace import Trace
from bertlens.widgets.panels.panel import NEEDS
from bertlens.widgets.questions import QUESTIONS
from unit import tiny
from unit.asking import replies
from unit.tasks import classifier as classified

SIZES = (2304, pytest.param(8192, marks=pytest.mark.long))
MOST_BYTES = 500e6  # beside the trace
GUARD = 60.0  # s of the processor: what else the machine does takes none of it
HEADS = 3
# What a page may send, for each argument that there is: a new one has to be named here.
VALUES: dict[str, list[Any]] = {
    "aligned": [True, False],
    "other": [["original"]],
    "layer": [1],
    "head": [1],
    "partners": [[[0, 1]]],
    "query": [1500],
    "key": [17],
    "last": [1507],
    "side": ["query", "key"],
    "against": ["others"],
    "through_mlps": [False, True],
    "measure": ["norm", "difference"],
    "kind": list(LAYER_MAPS),
    "threshold": [0.35],
    "margin": [0.1],
    "gate": ["directional", "cluster"],
    "view": ["content"],
    "by": ["weight", "norm"],
    "station": [1],
    "metric": ["similarity"],
    "most": [6],  # all heads
    "attribution": ["occlusion"],
    "target": [""],
    "target_at": [1500],
    "row": [1500],
    "col": [1500],
    "text": ["the cat " * 1000],
    "texts": [["the cat " * 1200, "the dog", "", ""]],
    "text_pair": [None],
    "changes": [[["off", 0, 1]]],
    "work": ["slices"],
    "effect_of": ["loss"],
    "ablation": ["zero"],
    "layers": [[1]],
    "live": [False, True],
    "long": [False, True],
    "settings": [{"atlas_fill": True}],
    "split": [{"of": "output", "words": True}],
    "sheet": [{"mm": 85, "points": 8, "dark": False, "query": None, "key": None}],
}


def model() -> Any:
    return tiny.bert(
        num_hidden_layers=2,
        num_attention_heads=HEADS,
        hidden_size=8 * HEADS,
        intermediate_size=48,
        max_position_embeddings=8192,
    )


@pytest.fixture(scope="module", params=SIZES)
def lens(request: pytest.FixtureRequest) -> bl.Lens:
    return bl.Lens(model(), tiny.wordpiece(model_max_length=request.param))


@pytest.fixture(scope="module")
def long(lens: bl.Lens) -> Trace:
    letters = random.Random(0).choices("abcdefghijklmnopqrstuvwxyz. ", k=40_000)  # pieces of a letter each
    words = "".join(letters).split(" ")
    trace = lens.trace(" ".join(words), truncation=True)
    assert trace.n_tokens == lens.tokenizer.model_max_length
    return trace


class Large(TorchDispatchMode):
    """Notes tensors of a head's or a text's square that no answer may need: (H, S, S), and (S, S) in float64."""

    def __init__(self, tokens: int) -> None:
        super().__init__()
        self.least = 8 * tokens**2  # bytes
        self.found: list[str] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        made = func(*args, **(kwargs or {}))
        for x in tree_leaves(made):
            if isinstance(x, torch.Tensor) and x.untyped_storage().nbytes() >= self.least:
                self.found.append(f"{func}: {tuple(x.shape)} {x.dtype}")
        return made


def peak() -> int:
    """The most memory that this process had, in bytes."""
    return 1024 * int(re.search(r"VmHWM:\s*(\d+)", Path("/proc/self/status").read_text())[1])  # type: ignore[index]


def forget() -> int:
    """Begin to count anew: the memory that there is now."""
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5")
    return peak()


def answered(view: Any, message: dict[str, Any]) -> tuple[dict[str, Any], float]:
    """What a page gets that asks until it is answered; and the longest turn (s)."""
    longest, begun = 0.0, time.process_time()
    while True:
        about = {"id": 1, "trace": view.overview["header"]["trace"], "map": "self"}
        asked = time.monotonic()
        sent = replies(view, about | message)
        longest = max(longest, time.monotonic() - asked)
        assert time.process_time() - begun < GUARD, f"no answer within {GUARD:.0f} s"
        fields, _ = sent[0]
        if not fields.get("again"):
            return fields, longest


# a layer one of whose heads has a cell cut runs with a mask for each of its heads
MASKED = {"cell_matters": r"aten.where.self: \(1, \d+, (\d+), \1\) torch.float32"}


def watched(view: Any, message: dict[str, Any], most: float = MOST_BYTES) -> dict[str, Any]:
    before = forget()
    begun = time.monotonic()
    with Large(view.trace.n_tokens) as large:
        fields, longest = answered(view, message)
    more = peak() - before
    print(f"\n{message}: {time.monotonic() - begun:.1f} s, a turn {longest:.1f} s, {more / 1e6:.0f} MB")
    mask = MASKED.get(message["op"])
    assert [one for one in large.found if mask is None or not re.fullmatch(mask, one)] == []
    assert more <= most
    return fields


def arguments(op: str) -> Iterator[dict[str, Any]]:
    names = [name.removesuffix("?") for name in QUESTIONS[op].arguments]
    assert set(names) <= set(VALUES), "name a value of the new argument in VALUES"
    widest = max((len(VALUES[name]) for name in names), default=1)
    for n in range(widest):
        yield {name: VALUES[name][n % len(VALUES[name])] for name in names}


# refused of a long text, in one sentence with the way out: (S, S) is what is asked for
REFUSED = {
    "layer_map": "are shown of texts of at most 2,048 tokens",
    "pdf": "tokens has no PDF: ",
    **dict.fromkeys(
        ("similar", "similar_without", "similar_input", "similar_layers", "similar_baseline", "similar_pdf"),
        "is shown of texts of at most 1,024 tokens",
    ),
    "which_words": "is shown in texts of at most 1,024 tokens",
    "faithful": "is shown in texts of at most 1,024 tokens",
    "task_open": "no example 1500: there are 0 to 29",
    "handout": "there is no lesson beside this view",  # whatever the length
    "lesson_model": "there is no lesson of another model beside this view",  # whatever the length
    "find_target": "answers with no label and no word",  # an encoder, whatever the length
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("op", [*QUESTIONS])
def test_a_question_of_a_long_text(op: str, long: Trace, views: dict[str, Any]) -> None:
    view = views[QUESTIONS[op].needs] if QUESTIONS[op].needs in NEEDS else long.explore()
    for asked in arguments(op):
        error = watched(view, {"op": op, **asked}).get("error", "")
        assert REFUSED[op] in error if op in REFUSED else not error


@pytest.fixture(scope="module")
def views(lens: bl.Lens, long: Trace) -> dict[str, Any]:
    """By what not every view has to offer."""
    stats = bl.survey.head_stats(lens, ["the cat sat on the mat", "it was very warm"] * 3, progress=False)
    changed = long.rerun(bl.whatif.off(0, 1))
    compared = bl.compare(long, changed).explore()
    classifier = classified.model_of(max_position_embeddings=8192)
    labels = bl.Lens(classifier, tiny.wordpiece(model_max_length=long.n_tokens))
    task = bl.task(labels, classified.labelled(30), progress=False)
    return {
        "corpus": long.explore(stats=stats),
        "comparison": compared,
        "another run": changed.explore(),
        "similarity": long.explore(),
        "task": labels.trace(long.text, truncation=True).explore(task=task),
    }


@pytest.mark.parametrize(
    ("change", "op"),
    [
        (bl.whatif.hide(17), {"op": "head", "layer": 1, "head": 1}),
        (bl.whatif.cut(1, 1, 40, 17), {"op": "head", "layer": 1, "head": 1}),
        (bl.whatif.pattern(0, 1, "uniform"), {"op": "head", "layer": 0, "head": 1}),
        (bl.whatif.off(0, 1), {"op": "moved"}),
    ],
)
def test_a_question_of_a_changed_run(change: Any, op: dict[str, Any], long: Trace) -> None:
    view = long.rerun(change).explore()
    # weights that a change has given travel whole: they are held once, and once more as the answer
    given = 8 * long.n_tokens**2 + 50e6 if view.trace.changed_weights(op.get("layer", 0)) else 0
    assert "error" not in watched(view, op, max(MOST_BYTES, given))


def test_a_survey_of_one_long_text(long: Trace) -> None:
    """Beside the trace: its statistics, gates and norms, and where they are kept."""
    before = forget()
    with Large(long.n_tokens) as large:
        stats = bl.survey.head_stats(None, [long], progress=False)
    assert large.found == []
    assert peak() - before <= MOST_BYTES
    assert stats.n_tokens == long.n_tokens and stats.has_norms
