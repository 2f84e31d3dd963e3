"""Bytes in a page: as text, deflated where that is worth the unpacking. js/src/host/unpack.ts takes them apart again.

Of numbers that differ everywhere, as queries and keys do, only signs and exponents deflate. So the bytes of a number
stand apart, all first bytes before all second ones, and zlib looks for runs alone: as small as by its whole search,
in a sixth of the time; bytes of text get that search. Numbers that are few multiples of one step, as rounded ones are,
stand there as integers.
As text, four bytes are five letters (base64: three are four) that neither JSON nor HTML has to escape.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..base.wire import DTYPES

WORTH = 0.9  # deflated bytes of plain ones, at most
MANY = 4096  # numbers that are worth looking for a step
FIRST, MOVED = ord("#"), {ord("<"): ord("x"), ord("\\"): ord("y")}  # digits of base 85: 85 letters, but for these


def carried(blob: bytes, arrays: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """What a page reads bytes from: {"$bytes": text}, and where they are deflated "length" and "planes".

    arrays: the index of `wire.pack`. planes: [from, to, bytes of a number] of each array whose bytes stand apart, and
    the step and the least of those that stand there as integers: number = (integer + least) · step.
    """
    small, planes = deflated(blob, arrays)
    if len(small) > WORTH * len(blob):
        return {"$bytes": as_text(blob)}
    return {"$bytes": as_text(small), "length": len(blob), "planes": planes}


def as_text(blob: bytes) -> str:
    """Bytes in base 85, four at a time as a little-endian number, its lowest digit first."""
    words = np.frombuffer(blob + bytes(-len(blob) % 4), "<u4")
    digits = np.empty((len(words), 5), np.uint8)
    for place in range(5):
        words, digits[:, place] = np.divmod(words, 85)
    digits += FIRST
    for letter, substitute in MOVED.items():
        digits[digits == letter] = substitute
    return digits.tobytes()[: -(-len(blob) * 5 // 4)].decode("ascii")


def from_text(text: str) -> bytes:
    """The bytes of `as_text`."""
    digits = np.frombuffer(text.encode("ascii") + bytes([FIRST]) * (-len(text) % 5), np.uint8).copy()
    for letter, substitute in MOVED.items():
        digits[digits == substitute] = letter
    words = (digits.reshape(-1, 5) - FIRST).astype(np.uint64) @ (85 ** np.arange(5, dtype=np.uint64))
    return words.astype("<u4").tobytes()[: len(text) * 4 // 5]


def deflated(blob: bytes, arrays: Sequence[dict[str, Any]]) -> tuple[bytes, list[list[float]]]:
    """The bytes as a zlib stream, the numbers of these arrays apart, and their planes."""
    is_text = all(DTYPES[entry["dtype"]].itemsize == 1 for entry in arrays)
    strategy = zlib.Z_DEFAULT_STRATEGY if is_text else zlib.Z_RLE
    packer = zlib.compressobj(6, zlib.DEFLATED, zlib.MAX_WBITS, zlib.DEF_MEM_LEVEL, strategy)
    chunks, planes, position = [], [], 0
    for entry in arrays:
        size, start = DTYPES[entry["dtype"]].itemsize, entry["offset"]
        stop = start + size * math.prod(entry["shape"])
        if size == 1 or start == stop:
            continue
        numbers, plane = blob[start:stop], [start, stop, size]
        if entry["dtype"] == "float32" and (steps := _steps(np.frombuffer(numbers, "<f4"))):
            integers, *scale = steps
            numbers, plane = integers.astype("<u4").tobytes(), [*plane, *scale]
        chunks.append(packer.compress(blob[position:start]))
        for plane_bytes in np.frombuffer(numbers, np.uint8).reshape(-1, size).T:
            chunks += [packer.compress(plane_bytes.tobytes()), packer.flush(zlib.Z_BLOCK)]  # each by a code of its own
        planes.append(plane)
        position = stop
    return b"".join([*chunks, packer.compress(blob[position:]), packer.flush()]), planes


def _steps(numbers: np.ndarray) -> tuple[np.ndarray, float, int] | None:
    """Integers from 0 on, the step and the least, whose (integer + least) · step are the numbers to the last bit.

    None where they are no multiples of one power of 2, or of too small a one for integers to be shorter.
    """
    bits = numbers.view(np.uint32)
    exponents = (bits >> 23 & 255).astype(np.int32)
    if len(numbers) < MANY or exponents.max() == 255 or (bits == 1 << 31).any():  # NaN and infinity, −0
        return None
    used = exponents > 0
    if not used.any() or bits[~used].any():  # less than float32's least normal number
        return None
    mantissas = (bits[used] & 0x7FFFFF | 0x800000).astype(np.int64)
    places = np.log2(mantissas & -mantissas).astype(np.int32)  # zeros at their end
    step = 2.0 ** int((exponents[used] - 150 + places).min())
    integers = np.rint(numbers.astype(np.float64) / step)
    low, high = integers.min(), integers.max()
    return (integers - low, step, int(low)) if high - low < 1 << 24 else None
