"""The command `bertlens task`: reads, runs, writes one page, and says in a line what came out."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..base.atomic import check_writable
from ..errors import InputError
from ..lens import Lens
from .making import task


def run(
    load: Callable[[], Lens],
    examples: Path,
    output: Path,
    *,
    heads: int,
    errors: int,
    ablation: str,
    seed: int,
    **options: Any,
) -> None:
    """options: as of `task`. heads: how many to choose, errors: how many texts to explain; 0 leaves the part out.

    Raises InputError for what is wrong with the arguments, before the model is loaded where that can be.
    """
    if output.suffix.lower() != ".html":
        raise InputError(f"the page of a task is an .html file: {output.name} is none")
    if not examples.is_file():
        raise InputError(f"no examples at {examples}: give a .csv, .tsv or .jsonl file")
    if heads < 0 or errors < 0:
        raise InputError("--heads and --errors are numbers from 0")
    check_writable(output)
    made = task(load(), examples, **options)
    scores = made.metrics().set_index("measure")["value"]
    found = made.heads(heads, ablation, seed=seed) if heads else None
    if found is not None:
        print(found.said, flush=True)
    made.to_html(output, heads=found, errors=made.errors(errors) if errors else None)
    print(
        f"{output}: {made.lens.model_name}, {len(made):,} examples, accuracy {scores['accuracy']:.3f}, "
        f"macro-F1 {scores['macro-F1']:.3f}; {output.stat().st_size:,} bytes"
    )
