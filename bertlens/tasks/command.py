"""The command `bertlens task`: reads, runs, writes one page, and says in a line what came out."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..base.atomic import claimed
from ..base.interrupts import stoppable
from ..base.outputs import check_outputs, sign
from ..errors import BertLensError, InputError
from ..lens import Lens
from .importance import Heads
from .making import Task, task


def run(
    load: Callable[[], Lens],
    examples: Path,
    output: Path,
    *,
    heads: int,
    errors: int,
    ablation: str,
    seed: int,
    force: bool = False,
    **options: Any,
) -> None:
    """options: as of `task`. heads: how many to choose, errors: how many texts to explain; 0 leaves the part out.

    What is run is kept beside the page until it is written: after Ctrl-C the same command goes on.
    Raises InputError for what is wrong with the arguments, before the model is loaded where that can be.
    """
    if output.suffix.lower() != ".html":
        raise InputError(f"the page of a task is an .html file: {output.name} is none")
    if not examples.is_file():
        raise InputError(f"no examples at {examples}: give a .csv, .tsv, .jsonl, .json or .parquet file")
    if heads < 0 or errors < 0:
        raise InputError("--heads and --errors are numbers from 0")
    check_outputs("task", [output], [examples], force=force)
    with claimed(output), stoppable():
        made = task(load(), examples, keep=output.with_name(f"{output.name}.kept"), **options)
        if len(made.kept):
            print("going on from what was kept", flush=True)
        try:
            found = _heads(made, heads, ablation, seed)
            made.to_html(output, heads=found, errors=made.errors(errors) if errors else None)
            sign(output, "task")
        except KeyboardInterrupt:
            made.kept.save()
            raise BertLensError("stopped: the same command goes on") from None
    made.kept.remove()
    scores = made.metrics().set_index("measure")["value"]
    first = ", ".join(f"{name} {scores.loc[name]:.3f}" for name in dict.fromkeys(scores.index[:2]))
    print(f"{output}: {made.lens.model_name}, {len(made):,} examples, {first}; {output.stat().st_size:,} bytes")


def _heads(made: Task, chosen: int, ablation: str, seed: int) -> Heads | None:
    _ = made.losses
    if not chosen:
        return None
    found = made.heads(chosen, ablation, seed=seed)
    if len(found.first) + len(found.second) < len(made):
        raise KeyboardInterrupt  # it was, and counted what was done
    print(found.said, flush=True)
    return found
