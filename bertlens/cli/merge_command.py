"""The command `bertlens merge`: one file of what the processes of a job have left."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ..base.arrays_file import about_of
from ..base.outputs import FORCE, check_apart
from ..base.shards import WHOLE
from ..errors import InputError


def run(parts: Sequence[Path], output: Path, *, force: bool = False) -> str:
    """What was written, in a sentence. An earlier output of the same job is written over, and is no part of it.

    Raises InputError for parts that do not make a whole, and another output that is there, ExportError where it cannot
    be written.
    """
    others = [part for part in parts if not (part.exists() and output.exists() and part.samefile(output))]
    is_earlier = bool(others) and output.is_file() and _is_whole_of(output, about_of(others[0]))
    count = len(parts)
    parts = others if is_earlier else parts
    check_apart(output, parts)
    if output.exists() and not (force or is_earlier):
        raise InputError(f"{output} is there already, and is of no earlier bertlens merge of these parts: {FORCE}")
    kind = str(about_of(parts[0])["kind"])
    if kind not in MERGES:
        raise InputError(f"{parts[0]} is no part of a job: parts are written with --shard")
    without = f"; {output.name} itself is none of them" if len(parts) < count else ""
    return f"{output}: {MERGES[kind](parts, output)}, of {len(parts)} parts{without}"


def _is_whole_of(path: Path, part: dict[str, Any]) -> bool:
    """Whether a file is what the parts of a job make together. part: what one of them says of itself."""
    try:
        about = about_of(path)
    except InputError:
        return False
    share = about.get("shard") or WHOLE
    return (share["of"] if isinstance(share, dict) else share[1]) == 1 and _job(about) == _job(part)


def _job(about: dict[str, Any]) -> list[Any]:
    """What the parts of a job and their whole say alike: kind of file, model, texts, settings."""
    share, provenance = about.get("shard"), about.get("provenance", {})
    corpus = share.get("corpus") if isinstance(share, dict) else f"{about.get('n_texts')} texts, {about.get('corpus')}"
    names = ("kind", "of", "settings", "stage")
    return [*map(about.get, names), *map(provenance.get, ("identity", "options")), corpus]


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
