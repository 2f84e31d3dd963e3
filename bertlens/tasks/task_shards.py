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

FILE = ArraysFile("part of a task", 1, "run it again")
STAGES = ("estimate", "exact")


def of(task: Answered) -> dict[str, Any]:
    """What a part is of, by name: model, examples, and how these run."""
    return identity(task.lens, task.examples, task.truncation) | {"batch size": task.batch_size}


def run_stage(task: Answered, stage: str, shard: Shard, settings: Mapping[str, Any], path: Path) -> int:
    """Run a shard's batches of a stage, and write them; how many texts these are. The task keeps what is run in a
    folder, and for "exact" has what `read` gave.

    settings: "heads", how many parts are chosen (0: answers alone), "ablation" and "seed".
    """
    rows = {ANSWERS: len(task)}
    seed, heads = settings["seed"], settings["heads"]
    settings = dict(settings)
    if stage == STAGES[0]:
        del settings["ablation"], settings["heads"]
        count = 0
        batches = task.batches(range(len(task)))
        for batch in batches if heads and task.kind.needs_all else shard.batches(batches):
            task.answer(batch)
            count += len(batch.rows)
        if heads and task.kind.needs_all:
            _ = task.losses
        sites, n_layers = sites_of(task, 0) if heads else ([], 0)
        for half in halves(task, seed) if sites else ():
            for batch in shard.batches(task.batches(half)):
                batch_estimates(task, batch, n_layers)
            rows[ESTIMATES] = len(task)
        names = {*rows}
    else:
        plan = choice(task, heads, settings["ablation"], FEWEST_DRAWS, seed)
        name = sweep_name(plan.run, plan.ablation)
        names, rows, count = {name}, {name: len(plan.second)}, 0
        settings["parts that are run"] = hashlib.sha256(name.encode()).hexdigest()[:16]
        for batch in shard.batches(task.batches(plan.second)):
            batch_effects(task, batch, plan.run, plan.ablation)
            count += len(batch.rows)
    arrays = {key: arrays for key, arrays in task.kept.arrays.items() if key[0] in names}
    _write(path, {"stage": stage, "shard": shard, "settings": settings, "rows": rows}, arrays, of(task))
    return count


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
