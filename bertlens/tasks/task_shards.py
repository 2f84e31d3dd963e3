"""A task in shards, in two stages: answers and estimates of all parts; then, when these are put together and parts are
chosen by them, the effects of those.

Batches are those of one process, and what is summed over them is added in its order: no number changes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..base.arrays_file import ArraysFile, about_of, difference
from ..base.shards import WHOLE, Part, Shard, in_order
from ..errors import InputError
from .ablation_effects import ESTIMATES, batch_effects, batch_estimates, sweep_name
from .ablations import FEWEST_DRAWS
from .importance import choice, halves, sites_of
from .resume_folder import Arrays, Key, identity, packed, unpacked
from .task_answers import ANSWERS, Answered
from .words import (
    RUNS,
    SLOPES,
    batch_slopes,
    hidden_name,
    needs_estimates,
    plan_of,
    run_without,
    tried_features,
    ways_of,
)

FILE = ArraysFile("part of a task", 1, "run it again")
STAGES = ("estimate", "exact")


def of(task: Answered) -> dict[str, Any]:
    """What a part is of, by name: model, examples, and how these run."""
    return identity(task.lens, task.examples, task.truncation) | {"batch size": task.batch_size}


def run_stage(task: Answered, stage: str, shard: Shard, settings: Mapping[str, Any], path: Path) -> int:
    """Run a shard's batches of a stage, and write them; how many texts these are. The task keeps what is run in a
    folder, and for "exact" has what `read` gave.

    settings: "heads", how many parts are chosen (0: none), "words", how many words (0: none), "ablation" and "seed".
    """
    about = dict(settings) if stage == STAGES[1] else {"seed": settings["seed"]}
    if stage == STAGES[0]:
        rows, count = _estimates(task, shard, settings)
    else:
        rows, count = _effects(task, shard, about) if settings["heads"] else ({}, 0)
        if settings.get("words", 0):
            of_words, texts = _words(task, shard, about)
            rows, count = rows | of_words, count or texts
    arrays = {key: arrays for key, arrays in task.kept.arrays.items() if key[0] in rows}
    _write(path, {"stage": stage, "shard": shard, "settings": about, "rows": rows}, arrays, of(task))
    return count


def _estimates(task: Answered, shard: Shard, settings: Mapping[str, Any]) -> tuple[dict[str, int], int]:
    """By what arrays are kept, of how many rows in all; and how many texts this shard has answered."""
    rows, count, heads = {ANSWERS: len(task)}, 0, settings["heads"]
    batches = task.batches(range(len(task)))
    for batch in batches if heads and task.kind.needs_all else shard.batches(batches):
        task.answer(batch)
        count += len(batch.rows)
    if heads and task.kind.needs_all:
        _ = task.losses
    sites, n_layers = sites_of(task, 0) if heads else ([], 0)
    for half in halves(task, settings["seed"]) if sites else ():
        for batch in shard.batches(task.batches(half)):
            batch_estimates(task, batch, n_layers)
        rows[ESTIMATES] = len(task)
    if settings.get("words", 0) and needs_estimates(task, RUNS):
        for batch in shard.batches(task.batches(range(len(task)))):
            batch_slopes(task, batch)
        rows[SLOPES] = len(task)
    return rows, count


def _effects(task: Answered, shard: Shard, settings: dict[str, Any]) -> tuple[dict[str, int], int]:
    """As `_estimates`; what is run stands in the settings then."""
    plan = choice(task, settings["heads"], settings["ablation"], FEWEST_DRAWS, settings["seed"])
    name, count = sweep_name(plan.run, plan.ablation), 0
    settings["parts that are run"] = hashlib.sha256(name.encode()).hexdigest()[:16]
    for batch in shard.batches(task.batches(plan.second)):
        batch_effects(task, batch, plan.run, plan.ablation)
        count += len(batch.rows)
    return {name: len(plan.second)}, count


def _words(task: Answered, shard: Shard, settings: dict[str, Any]) -> tuple[dict[str, int], int]:
    """As `_effects`, of words."""
    parts = tried_features(task)
    removals = plan_of(task, parts, settings["words"], RUNS, settings["seed"])[0].removals(parts)
    rows: dict[str, int] = {}
    texts: set[int] = set()
    for way in ways_of(task):
        name = hidden_name(removals, way)
        rows[name] = len(removals)
        texts |= {row for row, _ in run_without(task, removals, parts.encodings, way, shard)}
    settings["words that are run"] = name
    return rows, len(texts)


def merge(paths: Sequence[Path], output: Path) -> dict[str, Any]:
    """Write one file of the parts of a stage; what it says of itself.

    Raises InputError as `base.shards.in_order`, and where the parts do not have all rows; ExportError.
    """
    shares = in_order([_part(path) for path in paths])
    by_key: dict[Key, Arrays] = {}
    for share in shares:
        with FILE.open(share.path) as (about, arrays):
            by_key |= unpacked(about["labels"], arrays)
    for name, n in about["rows"].items():
        count = len({row for label, rows in by_key if label == name for row in rows})
        if count != n:
            raise InputError(f"the parts have the {name.split()[0]} of {count:,} of {n:,} texts: run them again")
    _write(output, about | {"shard": WHOLE}, by_key, about["of"])
    return dict(about)


def read(task: Answered, paths: Sequence[Path], settings: Mapping[str, Any]) -> None:
    """Take what merged files hold into a task. settings: as of `run_stage`.

    Raises InputError, which names the file, for one of another task or other settings, and for parts.
    """
    for path in paths:
        with FILE.open(path, of(task)) as (about, arrays):
            shard = Shard(*about["shard"])
            if shard.of > 1:
                raise InputError(f"{path} is shard {shard}: put the parts together first, with bertlens merge")
            expected = {name: settings.get(name, value) for name, value in about["settings"].items()}
            if name := difference(about["settings"], expected):
                raise InputError(f"{path} was made with --{name} {about['settings'][name]}: give the same here")
            task.kept.add(unpacked(about["labels"], arrays))


def _part(path: Path) -> Part:
    about = about_of(path)
    if about["kind"] != FILE.name:
        raise InputError(f"{path} is no part of a task: parts are written with --stage and --shard")
    return Part(path, Shard(*about["shard"]), about["of"] | about["settings"] | {"stage": about["stage"]})


def _write(path: Path, about: dict[str, Any], by_key: Mapping[Key, Arrays], job: Mapping[str, Any]) -> None:
    labels, arrays = packed(by_key)
    FILE.write(path, about | {"labels": labels}, arrays, job)
