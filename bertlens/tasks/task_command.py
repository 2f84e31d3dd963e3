"""The command `bertlens task`: reads, runs, writes one page, and says in a line what came out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ..base.arrays_file import about_of
from ..base.atomic import claimed
from ..base.interrupts import stoppable
from ..base.outputs import check_outputs, sign
from ..base.shards import WHOLE, Shard
from ..errors import BertLensError, InputError
from ..lens import Lens
from ..text.folders import is_hub
from . import task_shards
from .importance import FEWEST_EXAMPLES, Heads
from .labelled_task import Task, task


def run(
    load: Callable[[], Lens],
    examples: Path | str,
    output: Path,
    *,
    heads: int,
    errors: int,
    ablation: str,
    seed: int,
    stage: str | None = None,
    shard: str | None = None,
    parts: Sequence[Path] = (),
    force: bool = False,
    **options: Any,
) -> None:
    """options: as of `task`. heads: how many to choose, errors: how many texts to explain; 0 leaves the part out.

    stage, shard: instead of the page one part of a job, see `task_shards`. parts: merged files of such jobs.
    What is run is kept beside the page until it is written: after Ctrl-C the same command goes on.
    Raises InputError for what is wrong with the arguments, before the model is loaded where that can be.
    """
    share = WHOLE if shard is None else Shard.parse(shard)
    if stage is None and shard is not None:
        raise InputError("a task in shards has two stages: --stage estimate and, when its parts are merged, exact")
    if stage == task_shards.STAGES[1] and not (parts and heads):
        raise InputError("--stage exact runs what --stage estimate chooses: name its merged file by --parts")
    if output.suffix.lower() != (".html" if stage is None else ".npz"):
        what = "the page of a task is an .html file" if stage is None else "a part of a task is an .npz file"
        raise InputError(f"{what}: {output.name} is none")
    if not is_hub(examples) and not Path(examples).exists():
        raise InputError(f"no examples at {examples}: give a .csv, .tsv, .jsonl, .json or .parquet file")
    if heads < 0 or errors < 0:
        raise InputError("--heads and --errors are numbers from 0")
    is_earlier = None if stage is None else (lambda path: about_of(path)["kind"] == task_shards.FILE.name)
    check_outputs("task", [output], [examples, *parts], force=force, is_earlier=is_earlier)
    settings = {"heads": heads, "ablation": ablation, "seed": seed}
    with claimed(output), stoppable():
        work = task(load(), examples, keep=output.with_name(f"{output.name}.kept"), **options)
        if heads and len(work) < FEWEST_EXAMPLES:
            raise InputError(
                f"{len(work)} examples are too few to tell which heads matter: at least {FEWEST_EXAMPLES}; --heads 0 "
                "writes the page without"
            )
        if len(work.kept):
            print("going on from what was kept", flush=True)
        task_shards.read(work, parts, settings)
        try:
            if stage is not None:
                count = task_shards.run_stage(work, stage, share, settings, output)
                work.kept.remove()
                print(f"{output}: {stage}, shard {share}, {count:,} of {len(work):,} examples, {work.lens.model_name}")
                return
            effects = _heads(work, heads, ablation, seed)
            mistakes = work.errors(errors) if errors else None
            print("writing the page, with the heads of ten examples in it", flush=True)
            work.to_html(output, heads=effects, errors=mistakes)
            sign(output, "task")
        except KeyboardInterrupt:
            work.kept.save()
            raise BertLensError("stopped: the same command goes on") from None
    work.kept.remove()
    scores = work.metrics().set_index("measure")["value"]
    summary = ", ".join(f"{name} {scores.loc[name]:.3f}" for name in dict.fromkeys(scores.index[:2]))
    print(f"{output}: {work.lens.model_name}, {len(work):,} examples, {summary}; {output.stat().st_size:,} bytes")


def _heads(work: Task, count: int, ablation: str, seed: int) -> Heads | None:
    _ = work.losses
    if not count:
        return None
    effects = work.heads(count, ablation, seed=seed)
    if len(effects.first) + len(effects.second) < len(work):
        raise KeyboardInterrupt  # it was, and counted what was done
    print(effects.said, flush=True)
    return effects
