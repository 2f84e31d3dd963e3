"""The first pass of a report in shards; put together, it is the file that a report goes on from."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..base.arrays_file import about_of
from ..base.batch_work import checkpoints
from ..base.shards import Part, Shard, in_order
from ..errors import BertLensError, InputError
from ..lens import Lens
from .report_run import draw, report_identity
from .resume_file import FILE, PLACES, ResumeFile, unpacked
from .text_numbers import TextNumbers, batches_of, gather


def run_shard(lens: Lens, corpus: Any, path: Path, shard: Shard, texts: int, seed: int, column: Any) -> str:
    """Run a shard's batches of the texts of a report, and write what was measured; what that is, in words.

    A file of the same shard is gone on with. Raises BertLensError where the run was stopped.
    """
    plan = draw(lens, corpus, 1, texts, seed, column)
    places = {entry.number for batch in shard.batches(batches_of(plan.texts)) for entry in batch}
    file = ResumeFile(path, report_identity(lens, plan, seed))
    numbers = file.read()
    if not places.issuperset(numbers.places):
        raise InputError(f"{path} holds texts of another shard: name another file")

    def save() -> None:
        if numbers.n:
            file.write(numbers, shard if numbers.n == len(places) else None)

    with checkpoints(path, save) as autosave:
        gather(lens, list(plan.texts), numbers=numbers, autosave=autosave, shard=shard)
    if numbers.n < len(places):
        raise BertLensError(f"stopped: {numbers.n} of {len(places)} texts are in {path}, the same command goes on")
    return f"{path}: shard {shard}, {numbers.n} of {len(plan.texts)} texts, {lens.model_name}"


def merge(paths: Sequence[Path], output: Path) -> int:
    """Write the file that `report(..., resume=)` goes on from; of how many texts it is.

    Raises InputError as `base.shards.in_order`, and where the parts do not have all texts; ExportError.
    """
    shares = in_order([_part(path) for path in paths])
    numbers = TextNumbers()
    for share in shares:
        with FILE.open(share.path) as (about, arrays):
            numbers = numbers + unpacked(about, arrays)
    job = about["of"]
    if sorted(numbers.places) != job[PLACES]:
        raise InputError(f"the parts have {numbers.n} of {len(job[PLACES])} texts: run them again")
    ResumeFile(output, job).write(numbers.in_order())
    return numbers.n


def _part(path: Path) -> Part:
    about = about_of(path)
    if about["kind"] != FILE.name:
        raise InputError(f"{path} is no part of a report: parts are written with --shard")
    if not about.get("shard"):
        raise InputError(f"{path} is not complete, or of no shard: the same command with --shard goes on")
    return Part(path, Shard(*about["shard"]), about["of"])
