"""Vectors of a collection in shards: each process makes those of its share, `merge` writes the file of all."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ..base.arrays_file import ArraysFile, about_of
from ..base.shards import Part, Shard, in_order
from ..errors import InputError
from ..lens import Lens
from ..sentences.encoders import WINDOW
from . import vectors_file
from .vectors import Matrix, PassageVectors, encoded, provenance, split, text_digest

FILE = ArraysFile("part of vectors", 1, "run it again")
ENDING = ".safetensors"
ARRAYS = ("rows", "scales", "offsets", "columns")  # of PassageVectors


def run_shard(lens: Lens, passages: Sequence[str], path: Path, shard: Shard, *, int8: bool, batch_size: int) -> int:
    """Write the vectors of a shard's passages; how many these are. Equal texts count once.

    Windows are those of one process (`vectors.encoded`), and so are the vectors. What is made is kept beside the part
    until it is written: the same call goes on. Raises as `encoded`, InputError for fewer windows than shards.
    """
    order = sorted(dict.fromkeys(passages), key=len, reverse=True)
    size = WINDOW * batch_size
    windows = (order[at : at + size] for at in range(0, len(order), size))
    texts = [text for window in shard.batches(windows, f"batches of {size} passages") for text in window]
    file = path.with_name(f"{path.stem}.kept{ENDING}")
    vectors = encoded(lens, texts, "document", file=file, int8=int8, batch_size=batch_size)
    arrays = {name: array for name in ARRAYS if (array := getattr(vectors, name)) is not None}
    arrays["digests"] = np.frombuffer(b"".join(map(text_digest, texts)), np.uint8)
    of_corpus = hashlib.sha256(b"".join(sorted(map(text_digest, order)))).hexdigest()[:16]
    job = provenance(lens, "document", int8) | {"batch size": batch_size, "corpus": of_corpus}
    FILE.write(path, {"shard": shard, "texts": len(order), "model": lens.model_name}, arrays, job)
    del vectors, arrays  # Windows removes no file that is mapped
    file.unlink(missing_ok=True)
    return len(texts)


def merge(paths: Sequence[Path], output: Path) -> str:
    """Write the file that `retrieval(..., keep=)` and --vectors take; of what it is, in words.

    All vectors are in memory. Raises InputError as `base.shards.in_order`, and where the parts do not have all texts;
    ExportError.
    """
    if output.suffix != ENDING:
        raise InputError(f"vectors are written as {ENDING}, for --vectors: {output.name} is named otherwise")
    shares = in_order([_part(path) for path in paths])
    digests: list[bytes] = []
    matrices: list[Matrix] = []
    for share in shares:
        with FILE.open(share.path) as (about, arrays):
            names = arrays.pop("digests").tobytes()
            digests += [names[at : at + vectors_file.DIGEST] for at in range(0, len(names), vectors_file.DIGEST)]
            matrices += split(PassageVectors(**arrays))
    if len({*digests}) != about["texts"] or len(matrices) != len(digests):
        raise InputError(f"the parts have {len(digests):,} of {about['texts']:,} texts: run them again")
    job = {name: about["of"][name] for name in about["of"] if name not in ("batch size", "corpus")}
    vectors_file.write(output, job, digests, matrices, "scales" in arrays, "offsets" in arrays)
    return f"vectors of {len(digests):,} texts, {about['model']}"


def _part(path: Path) -> Part:
    about = about_of(path)
    if about["kind"] != FILE.name:
        raise InputError(f"{path} is no part of vectors: parts are written by bertlens retrieval with --shard")
    return Part(path, Shard(*about["shard"]), about["of"])
