"""The command `bertlens merge`: one file of what the processes of a job have left."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from ..base.arrays_file import about_of
from ..base.outputs import FORCE, check_apart
from ..errors import InputError


def run(parts: Sequence[Path], output: Path, *, force: bool = False) -> str:
    """What was written, in a sentence. Raises InputError for parts that do not make a whole, and an output that is
    there, ExportError where it cannot be written."""
    check_apart(output, parts)
    if output.exists() and not force:
        raise InputError(f"{output} is there already: {FORCE}")
    kind = str(about_of(parts[0])["kind"])
    if kind not in MERGES:
        raise InputError(f"{parts[0]} is no part of a job: parts are written with --shard")
    return f"{output}: {MERGES[kind](parts, output)}, of {len(parts)} parts"


def _survey(parts: Sequence[Path], output: Path) -> str:
    from ..survey.survey_shards import merge

    stats = merge(parts)
    stats.save(output)
    return f"{stats.n_texts:,} texts, {stats.n_tokens:,} tokens, {stats.provenance['model']}"


def _task(parts: Sequence[Path], output: Path) -> str:
    from ..tasks.task_shards import merge

    about = merge(parts, output)
    return f"{about['stage']} of {max(about['rows'].values()):,} examples"


def _report(parts: Sequence[Path], output: Path) -> str:
    from ..reports.report_shards import merge

    return f"{merge(parts, output):,} texts of a report: named REPORT.part.npz, -o REPORT.html --resume goes on"


def _vectors(parts: Sequence[Path], output: Path) -> str:
    from ..search.vector_shards import merge

    return merge(parts, output)


# What kind of file is merged by what
MERGES: dict[str, Callable[[Sequence[Path], Path], str]] = {
    "head statistics": _survey,
    "part of a task": _task,
    "part of a report": _report,
    "part of vectors": _vectors,
}
