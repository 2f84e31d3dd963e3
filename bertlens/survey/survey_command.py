"""The command `bertlens survey`: takes the statistics of every head over a corpus, and goes on with what stopped."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..base.amounts import amount
from ..base.batch_work import PartialNote
from ..base.outputs import FORCE, check_apart
from ..base.shards import Shard
from ..errors import BertLensError
from ..lens import Lens
from .survey_run import head_stats


def run(
    load: Callable[[], Lens],
    corpus: Path | str,
    output: Path,
    *,
    resume: bool = False,
    force: bool = False,
    **options: Any,
) -> None:
    """options: as of `head_stats`. Raises BertLensError for an output that is there, and where it was stopped."""
    check_apart(output, [corpus])
    if output.exists() and not (resume or force):
        raise BertLensError(f"{output} is there already: --resume goes on with it; {FORCE}")
    if (shard := options.get("shard")) is not None:
        Shard.parse(shard)
    earlier = output if resume and output.exists() else None
    lens = load()
    with warnings.catch_warnings(record=True) as stopped:
        warnings.simplefilter("always", UserWarning)
        stats = head_stats(lens, corpus, resume=earlier, save=output, **options)
    share = "" if stats.shard is None else f"shard {stats.shard['number']}/{stats.shard['of']}, "
    size = f"{amount(stats.n_texts, 'text')}, {amount(stats.n_tokens, 'token')}"
    print(f"{output}: {share}{size}, {stats.provenance['model']}")
    for warning in stopped:
        warnings.showwarning(warning.message, warning.category, warning.filename, warning.lineno)
    if any(issubclass(warning.category, PartialNote) for warning in stopped):
        raise BertLensError("stopped: the same command with --resume goes on")
