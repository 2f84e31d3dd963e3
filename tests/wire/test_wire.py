"""The Python half of the codec against the shared vectors; js/tests/wire.test.ts reads the same file."""

import base64
import json
import math
import sys
from pathlib import Path

import numpy as np
import pytest

from bertlens.base import wire

sys.path.insert(0, str(Path(__file__).parent))
import make_vectors

VECTORS = json.loads(make_vectors.PATH.read_text())
CASES = pytest.mark.parametrize("case", VECTORS["cases"], ids=lambda case: case["name"])


def _expected(case: dict, entry: dict) -> np.ndarray:
    values = [float(value) if isinstance(value, str) else value for value in case["values"][entry["name"]]]
    return np.array(values, entry["dtype"]).reshape(entry["shape"])


def _same_bits(left: np.ndarray, right: np.ndarray) -> bool:
    nan = np.isnan(left) & np.isnan(right)  # the bits of a NaN are free
    same = left.tobytes() == right.tobytes() if not nan.any() else np.array_equal(left, right, equal_nan=True)
    return same and bool((np.signbit(left) == np.signbit(right))[~nan].all())


def test_vectors_file_is_what_the_generator_writes():
    assert make_vectors.PATH.read_text() == make_vectors.text()


@CASES
def test_pack_writes_the_shared_bytes(case):
    index, blob = wire.pack({entry["name"]: _expected(case, entry) for entry in case["index"]})
    assert index == case["index"]
    assert blob == base64.b64decode(case["blob"])


@CASES
@pytest.mark.parametrize("shift", [0, 1, 4])
def test_unpack_reads_the_shared_bytes_wherever_they_lie(case, shift):
    blob = memoryview(b"x" * shift + base64.b64decode(case["blob"]))[shift:]
    arrays = wire.unpack(case["index"], blob)
    assert list(arrays) == [entry["name"] for entry in case["index"]]
    for entry in case["index"]:
        array = arrays[entry["name"]]
        assert array.dtype.name == entry["dtype"]
        assert list(array.shape) == entry["shape"]
        assert _same_bits(array, _expected(case, entry))


@pytest.mark.parametrize("case", VECTORS["malformed"], ids=lambda case: case["name"])
def test_malformed_index_is_an_error(case):
    with pytest.raises(ValueError, match="malformed index"):
        wire.unpack(case["index"], bytes(VECTORS["malformed_bytes"]))


def test_pack_takes_tensors_strided_arrays_and_other_byte_orders():
    torch = pytest.importorskip("torch")
    base = np.arange(12, dtype=np.float32).reshape(3, 4)
    want = wire.pack({"a": base.T.copy()})
    assert wire.pack({"a": base.T}) == want
    assert wire.pack({"a": base.T.astype(">f4")}) == want
    assert wire.pack({"a": torch.from_numpy(base).T.requires_grad_()}) == want


@pytest.mark.parametrize("dtype", ["int64", "bool", "float16", "complex64"])
def test_pack_converts_nothing_silently(dtype):
    with pytest.raises(TypeError, match=f"'a' is {dtype}"):
        wire.pack({"a": np.zeros(2, dtype)})


def test_json_safe_leaves_valid_json():
    value = {"a": [math.nan, (1.5, -math.inf)], "b": np.float32("inf"), "c": np.array([1, 2]), 3: None, "d": "NaN"}
    safe = wire.json_safe(value)
    assert safe == {"a": [None, [1.5, None]], "b": None, "c": [1, 2], "3": None, "d": "NaN"}
    json.dumps(safe, allow_nan=False)


@pytest.mark.parametrize("size", [0, wire.MOST_AT_ONCE, wire.MOST_AT_ONCE + 1, 5 * wire.PIECE])
def test_large_answers_are_sent_in_pieces(size):
    blob, content = bytes(n % 251 for n in range(size)), {"id": "p-1", "layer": 3}
    sent = list(wire.messages(content, [blob]))
    if size <= wire.MOST_AT_ONCE:
        assert sent == [(content, [blob])]
        return
    whole = bytearray(size)
    for fields, [piece] in sent:
        assert fields["id"] == "p-1" and fields["of"] == size and len(piece) <= wire.PIECE
        whole[fields["at"] : fields["at"] + len(piece)] = piece
    assert whole == blob and len(sent) == 5
    assert [fields.get("layer") for fields, _ in sent] == [3, None, None, None, None]


def test_an_answer_without_bytes_is_one_message():
    assert list(wire.messages({"id": "p-1", "error": "no"}, [])) == [({"id": "p-1", "error": "no"}, [])]
