"""Arrays between kernel and page: named arrays <-> (JSON index, one block of bytes).

The page's half is js/src/kernel/wire.ts; tests/wire/vectors.json binds the two. Index and bytes travel separately: the
index inside a JSON header (`header["arrays"]`), the bytes as a trait or a message buffer. Everything is little-endian,
in C order, and each array starts at a multiple of 8, so that the page can view it without a copy.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, TypeAlias

import numpy as np

DTYPES = {name: np.dtype(name).newbyteorder("<") for name in ("uint8", "uint16", "int32", "float32", "float64")}
# An array of an answer, in the annotations that the page's types are made of
Uint8: TypeAlias = Annotated[Any, "uint8"]
Uint16: TypeAlias = Annotated[Any, "uint16"]
Int32: TypeAlias = Annotated[Any, "int32"]
Float32: TypeAlias = Annotated[Any, "float32"]
Float64: TypeAlias = Annotated[Any, "float64"]
AnyArray: TypeAlias = Uint8 | Uint16 | Int32 | Float32 | Float64
ALIGNMENT = 8
# Bytes of a message to the page. Servers that pass messages on take 10 MiB at most, tornado's default.
MOST_AT_ONCE = 4_000_000
PIECE = 1_000_000


def pack(arrays: Mapping[str, Any]) -> tuple[list[dict[str, Any]], bytes]:
    """Pack named numpy arrays or torch tensors.

    Returns the index, a list of {"name", "dtype", "shape", "offset"}, and the bytes it points into.
    Raises TypeError for a dtype that the page has no array for: nothing is converted silently.
    """
    index: list[dict[str, Any]] = []
    chunks: list[Any] = []  # a large array is copied once
    size = 0
    for name, value in arrays.items():
        array = value.detach().cpu().numpy() if hasattr(value, "detach") else np.asarray(value)
        dtype = DTYPES.get(array.dtype.name)
        if dtype is None:
            raise TypeError(f"array {name!r} is {array.dtype}; the page reads {', '.join(DTYPES)}")
        index.append({"name": name, "dtype": array.dtype.name, "shape": list(array.shape), "offset": size})
        data = np.ascontiguousarray(array.astype(dtype, copy=False)).reshape(-1).view(np.uint8).data
        chunks += [data, bytes(-data.nbytes % ALIGNMENT)]
        size += data.nbytes + len(chunks[-1])
    return index, b"".join(chunks)


def messages(content: dict[str, Any], buffers: list[bytes]) -> Iterator[tuple[dict[str, Any], list[bytes]]]:
    """What is sent for one answer, `content` with its "id": itself, or in pieces where its one buffer is large.

    Each piece says with "at" and "of" where in how many bytes it belongs; the first has the content.
    """
    [blob] = buffers or [b""]
    if len(blob) <= MOST_AT_ONCE:
        yield content, buffers
        return
    for at in range(0, len(blob), PIECE):
        fields = content if at == 0 else {"id": content["id"]}
        yield {**fields, "at": at, "of": len(blob)}, [blob[at : at + PIECE]]


def unpack(index: Any, blob: bytes | bytearray | memoryview) -> dict[str, np.ndarray]:
    """The arrays of `pack`, as read-only views of `blob`. Raises ValueError for an index that does not fit it."""
    if not isinstance(index, list):
        raise ValueError("malformed index: not a list")
    size = len(memoryview(blob).cast("B"))
    arrays: dict[str, np.ndarray] = {}
    for entry in index:
        name, dtype, shape, offset = _entry(entry)
        if name in arrays:
            raise ValueError(f"malformed index: two arrays named {name!r}")
        count = math.prod(shape)
        if offset + count * dtype.itemsize > size:
            raise ValueError(f"malformed index: array {name!r} ends past the {size} bytes")
        arrays[name] = np.frombuffer(blob, dtype, count, offset).reshape(shape) if count else np.empty(shape, dtype)
    return arrays


def _entry(entry: Any) -> tuple[str, np.dtype, list[int], int]:
    if not isinstance(entry, dict) or not isinstance(entry.get("name"), str):
        raise ValueError("malformed index: an entry without a name")
    name, dtype, shape, offset = entry["name"], entry.get("dtype"), entry.get("shape"), entry.get("offset")
    if not isinstance(dtype, str) or dtype not in DTYPES:
        raise ValueError(f"malformed index: array {name!r} has an unknown dtype")
    if not isinstance(shape, list) or not all(type(n) is int and n >= 0 for n in shape):
        raise ValueError(f"malformed index: array {name!r} has no valid shape")
    if type(offset) is not int or offset < 0 or offset % ALIGNMENT:
        raise ValueError(f"malformed index: array {name!r} has no valid offset")
    return name, DTYPES[dtype], shape, offset


def json_safe(value: Any) -> Any:
    """`value` as plain JSON types: NaN and infinities become None (JSON has no word for them), numpy scalars and
    0-d arrays become Python numbers, tuples and arrays become lists."""
    if isinstance(value, Mapping):
        return {str(name): json_safe(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [json_safe(item) for item in value]
    if hasattr(value, "tolist"):  # numpy and torch
        return json_safe(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
