"""Bytes in a page: in base64, deflated where that is worth the unpacking. page.js takes them apart again.

Of numbers that differ everywhere, as queries and keys do, only signs and exponents deflate. So the bytes of a number
stand apart, all first bytes before all second ones, and zlib looks for runs alone: as small as by its whole search,
in a sixth of the time.
"""

from __future__ import annotations

import base64
import math
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..base.wire import DTYPES

WORTH = 0.9  # deflated bytes of plain ones, at most


def carried(blob: bytes, arrays: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """What page.js reads bytes from: {"$bytes": base64}, and where they are deflated "length" and "planes".

    arrays: the index of `wire.pack`. planes: [from, to, bytes of a number] of each array whose bytes stand apart.
    """
    small, planes = deflated(blob, arrays)
    if len(small) > WORTH * len(blob):
        return {"$bytes": base64.b64encode(blob).decode()}
    return {"$bytes": base64.b64encode(small).decode(), "length": len(blob), "planes": planes}


def deflated(blob: bytes, arrays: Sequence[dict[str, Any]]) -> tuple[bytes, list[list[int]]]:
    """The bytes as a zlib stream, the numbers of these arrays apart, and their planes."""
    packer = zlib.compressobj(6, zlib.DEFLATED, zlib.MAX_WBITS, zlib.DEF_MEM_LEVEL, zlib.Z_RLE)
    parts, planes, here = [], [], 0
    for entry in arrays:
        size, start = DTYPES[entry["dtype"]].itemsize, entry["offset"]
        stop = start + size * math.prod(entry["shape"])
        if size == 1 or start == stop:
            continue
        parts.append(packer.compress(blob[here:start]))
        for plane in np.frombuffer(blob[start:stop], np.uint8).reshape(-1, size).T:
            parts += [packer.compress(plane.tobytes()), packer.flush(zlib.Z_BLOCK)]  # each by a code of its own
        planes.append([start, stop, size])
        here = stop
    return b"".join([*parts, packer.compress(blob[here:]), packer.flush()]), planes
