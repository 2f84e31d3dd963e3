"""A safetensors file of vectors: of which model and task, and of which texts, by a digest of each.

Written row by row, as safetensors' own writer takes whole arrays: nothing of the vectors' size is needed beside them.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..base.arrays_file import difference
from ..base.atomic import check_writable, replacing
from ..base.notes import note
from ..base.paths import as_path
from ..errors import BertLensError, ExportError, InputError, check_lens
from ..lens import Lens
from ..model.identity import by_hash

KIND, VERSION = "vectors of texts, by bertlens", "2"
DIGEST = 16  # bytes
MAPPED = 1 << 30  # bytes of vectors above which they are read from the file where they are used
TYPES = {
    "uint8": "U8",
    "int8": "I8",
    "int32": "I32",
    "float32": "F32",
    "int64": "I64",
}  # numpy's names to those of the format
ENDING = ".vectors.safetensors"
REMEDY = "delete it, or name another file"


def mark(lens: Lens) -> str:
    """Eight letters and digits of a model's identity: files of several models lie side by side."""
    return hashlib.blake2b(by_hash(lens.borrowed.identity()).encode(), digest_size=4).hexdigest()


def write(
    path: Path,
    about: dict[str, Any],
    digests: Sequence[bytes],
    matrices: Sequence[tuple[np.ndarray, np.ndarray, np.ndarray | None]],
    int8: bool,
    is_ragged: bool,
) -> None:
    """about: what the vectors are of, JSON types. matrices: of each text its rows (n, E), scales (n,) and columns (n,);
    is_ragged: whether n differs by text.

    What was there before stays whole if this is cut off. Raises ExportError where it cannot be written.
    """
    lengths = [len(rows) for rows, _, _ in matrices]
    arrays = {}
    if is_ragged:
        arrays["offsets"] = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
    if int8:
        arrays["scales"] = np.concatenate([scales for _, scales, _ in matrices])
    if columns := [of_text for _, _, of_text in matrices if of_text is not None]:
        arrays["columns"] = np.concatenate(columns)
    arrays["digests"] = np.frombuffer(b"".join(digests), dtype=np.uint8).reshape(-1, DIGEST)
    kinds = {name: (array.dtype, array.shape) for name, array in arrays.items()}
    kinds["vectors"] = matrices[0][0].dtype, (sum(lengths), matrices[0][0].shape[1])  # last: `read` counts from the end
    header: dict[str, Any] = {"__metadata__": {"kind": KIND, "version": VERSION, "about": json.dumps(about)}}
    end = 0
    for name, (dtype, shape) in kinds.items():
        start, end = end, end + dtype.itemsize * int(np.prod(shape))
        header[name] = {"dtype": TYPES[dtype.name], "shape": shape, "data_offsets": [start, end]}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with replacing(path) as out:
        out.write(len(text).to_bytes(8, "little") + text)
        for array in (*arrays.values(), *(rows for rows, _, _ in matrices)):
            out.write(np.ascontiguousarray(array).data)


def read(path: Path, about: dict[str, Any]) -> dict[str, np.ndarray]:
    """The arrays by name: "digests" (P, 16), "vectors" (P or T, E), and where there are such "scales", "offsets",
    "columns".

    Raises InputError for what is no such file, is cut, or is of something else than `about`.
    """
    from safetensors import safe_open

    try:
        with safe_open(path, "numpy") as file:
            metadata = file.metadata() or {}
            if metadata.get("kind") != KIND:
                raise ValueError("it holds something else")
            if metadata["version"] != VERSION:
                raise InputError(f"{path} was written by another version of bertlens: {REMEDY}")
            if name := difference(json.loads(metadata["about"]), about):
                of = name if name in ("task", "prompt", "type of numbers") else f"model (what differs: {name})"
                raise InputError(f"{path} holds vectors of another {of}: {REMEDY}")
            arrays = {name: file.get_tensor(name) for name in file.keys() if name != "vectors"}  # noqa: SIM118
            shape, dtype = file.get_slice("vectors").get_shape(), file.get_slice("vectors").get_dtype()
            numbers = np.dtype({kind: name for name, kind in TYPES.items()}[dtype])
            size = int(np.prod(shape)) * numbers.itemsize
            arrays["vectors"] = file.get_tensor("vectors") if size <= MAPPED else _mapped(path, size, numbers, shape)
        return arrays
    except BertLensError:
        raise
    except Exception as error:  # noqa: BLE001  a damaged file raises whatever its decoder stumbles on
        why = getattr(error, "strerror", None) or " ".join(str(error).split())[:150] or type(error).__name__
        raise InputError(f"{path} holds no vectors that can be read ({why}): {REMEDY}") from None


def _mapped(path: Path, size: int, dtype: np.dtype[Any], shape: list[int]) -> np.ndarray:
    """The last array of a file, whose parts are read when they are used."""
    array = np.memmap(path, dtype, "r", offset=path.stat().st_size - size, shape=tuple(shape))
    return array.view(np.ndarray)


def file_of(keep: bool | str | Path, corpus: Any, lens: Any, int8: bool) -> Path | None:
    """Where vectors are kept: beside a corpus that is a file, in one that is a folder; nowhere, with a note, where
    nothing can be written there."""
    if not isinstance(keep, bool):
        return as_path(keep)
    if not keep or not isinstance(corpus, str | Path):
        return None
    path = as_path(corpus)
    check_lens(lens)
    ending = f".{mark(lens)}{'.int8' if int8 else ''}{ENDING}"
    file = path / f"bertlens{ending}" if path.is_dir() else path.with_name(path.name + ending)
    try:
        if not file.is_file():
            check_writable(file)
    except ExportError as error:
        note(f"the vectors are not kept: {error}; keep= names a file elsewhere")
        return None
    return file
