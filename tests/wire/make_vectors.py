"""Writes vectors.json, the arrays and bytes that both halves of the codec must agree on: `python make_vectors.py`.

Built with `struct` alone, so that it is a second opinion and not bertlens.base.wire talking to itself.
Values: finite numbers as JSON numbers (exact), the others as "NaN", "Infinity", "-Infinity", "-0".
"""

import base64
import json
import math
import struct
from pathlib import Path

PATH = Path(__file__).with_name("vectors.json")
CODES = {"uint8": "B", "uint16": "H", "int32": "i", "float32": "f", "float64": "d"}

NAN, INF = math.nan, math.inf
CASES = {
    "every dtype": {
        "u8": ("uint8", [2, 2], [0, 1, 254, 255]),
        "u16": ("uint16", [3], [0, 256, 65535]),
        "i32": ("int32", [2, 1], [-(2**31), 2**31 - 1]),
        "f32": ("float32", [3], [0.10000000149011612, -1.5, 16777216.0]),
        "f64": ("float64", [2], [0.1, -1e300]),
    },
    "empty arrays": {
        "none": ("float32", [0], []),
        "no rows": ("float64", [0, 3], []),
        "no columns": ("uint8", [4, 0], []),
        "after": ("uint16", [1], [7]),
    },
    "no arrays": {},
    "0-d": {"scalar": ("float32", [], [2.5]), "next": ("int32", [], [-7])},
    "not finite, negative zero": {
        "f32": ("float32", [5], [NAN, INF, -INF, -0.0, 0.0]),
        "f64": ("float64", [5], [NAN, INF, -INF, -0.0, 5e-324]),
    },
    "odd lengths": {
        "one byte": ("uint8", [1], [9]),
        "three bytes": ("uint8", [3], [1, 2, 3]),
        "three words": ("uint16", [3], [4, 5, 6]),
        "five floats": ("float32", [1, 5], [1, 2, 3, 4, 5]),
        "last": ("float64", [1], [0.25]),
    },
    "C order": {"cube": ("int32", [2, 3, 2], list(range(12)))},
    "hostile names": {"__proto__": ("uint8", [1], [1]), "</script>": ("uint8", [1], [2]), "": ("uint8", [1], [3])},
}

ENTRY = {"name": "a", "dtype": "float32", "shape": [2], "offset": 0}
MALFORMED = {  # each against 16 bytes
    "not a list": {"a": ENTRY},
    "null": None,
    "entry is not an object": [3],
    "no name": [{"dtype": "uint8", "shape": [1], "offset": 0}],
    "unknown dtype": [ENTRY | {"dtype": "int64"}],
    "dtype from the prototype": [ENTRY | {"dtype": "constructor"}],
    "dtype is a list": [ENTRY | {"dtype": ["float32"]}],
    "negative size": [ENTRY | {"shape": [-1]}],
    "fraction": [ENTRY | {"shape": [1.5]}],
    "no shape": [{"name": "a", "dtype": "uint8", "offset": 0}],
    "shape is a number": [ENTRY | {"shape": 2}],
    "true as a size": [ENTRY | {"shape": [True]}],
    "past the end": [ENTRY | {"shape": [5]}],
    "past the end by its offset": [ENTRY | {"offset": 16}],
    "offset off the grid": [ENTRY | {"offset": 4}],
    "negative offset": [ENTRY | {"offset": -8}],
    "no offset": [{"name": "a", "dtype": "uint8", "shape": [1]}],
    "one name twice": [ENTRY, ENTRY | {"offset": 8}],
}


def _written(value: float) -> float | int | str:
    if isinstance(value, int):
        return value
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return "-0" if value == 0 and math.copysign(1, value) < 0 else value


def vectors() -> dict:
    cases = []
    for name, arrays in CASES.items():
        index, blob = [], b""
        for key, (dtype, shape, values) in arrays.items():
            index.append({"name": key, "dtype": dtype, "shape": shape, "offset": len(blob)})
            blob += struct.pack(f"<{len(values)}{CODES[dtype]}", *values)
            blob += b"\0" * (-len(blob) % 8)
        written = {key: [_written(value) for value in values] for key, (_, _, values) in arrays.items()}
        cases.append({"name": name, "index": index, "blob": base64.b64encode(blob).decode(), "values": written})
    malformed = [{"name": name, "index": index} for name, index in MALFORMED.items()]
    return {"cases": cases, "malformed": malformed, "malformed_bytes": 16}


def text() -> str:
    return json.dumps(vectors(), indent=1, allow_nan=False) + "\n"


if __name__ == "__main__":
    PATH.write_text(text())
