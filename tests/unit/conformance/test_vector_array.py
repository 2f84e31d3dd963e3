"""What an array is: from where it lies, in which order, stored how; and the distance from a number's cell."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from bertlens.conformance import vector_array
from bertlens.errors import InputError


@pytest.fixture
def right() -> np.ndarray:
    return np.random.default_rng(0).normal(size=(7, 16))


def unit(x: np.ndarray) -> np.ndarray:
    return x / np.sqrt((x**2).sum(1))[:, None]


def test_files_of_each_kind_are_read(tmp_path: Path, right: np.ndarray) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq
    from safetensors.numpy import save_file
    from safetensors.torch import save_file as save_torch

    array = right.astype(np.float32)
    np.save(tmp_path / "a.npy", array)
    np.savez(tmp_path / "a.npz", vectors=array, ids=np.arange(7))
    save_file({"vectors": array, "other": array * 2}, tmp_path / "a.safetensors")
    save_torch({"v": torch.from_numpy(array).bfloat16()}, tmp_path / "b.safetensors")
    pq.write_table(pa.table({"id": list(range(7)), "vector": array.tolist()}), tmp_path / "a.parquet")
    for path in ("a.npy", "a.npz", "a.parquet"):
        assert np.allclose(vector_array.read(tmp_path / path), array)
    assert np.allclose(vector_array.read(str(tmp_path / "a.safetensors"), "other"), 2 * array)
    assert np.abs(vector_array.read(tmp_path / "b.safetensors") - array).max() < 0.02
    with pytest.raises(InputError, match="name it by column="):
        vector_array.read(tmp_path / "a.safetensors")
    (tmp_path / "c.npy").write_bytes(b"no array")
    with pytest.raises(InputError, match="no vectors that can be read"):
        vector_array.read(tmp_path / "c.npy")
    with pytest.raises(InputError, match="none of them"):
        vector_array.read(tmp_path / "c.txt")


def test_tensors_and_lists_are_read(right: np.ndarray) -> None:
    assert np.array_equal(vector_array.read(torch.from_numpy(right)), right)
    assert np.array_equal(vector_array.read(right.tolist()), right)
    with pytest.raises(InputError, match="not of one length"):
        vector_array.read([[1.0], [1.0, 2.0]])


STORED = {
    "float32": lambda x: x.astype(np.float32),
    "float16": lambda x: x.astype(np.float16),
    "bfloat16": lambda x: torch.from_numpy(x).bfloat16().float().numpy(),
    "4 decimals": lambda x: np.array([[float(f"{v:.4f}") for v in row] for row in x]),
    "int8, times 127": lambda x: np.array([[round(127 * v) for v in row] for row in unit(x)], dtype=np.int8),
    "8-bit numbers times 1/127": lambda x: np.array([[round(127 * v) / 127 for v in row] for row in unit(x)]),
    "8-bit numbers by row: the largest is 127": lambda x: np.array(
        [[round(127 * v / max(map(abs, row))) for v in row] for row in x], dtype=np.int8
    ),
    "signs alone": lambda x: x > 0,
    "signs alone, eight a byte, the big end first": lambda x: np.packbits(x > 0, axis=1),
    "signs alone, eight a byte, the little end first": lambda x: np.packbits(x > 0, axis=1, bitorder="little"),
}


@pytest.mark.parametrize("storage", STORED)
def test_storage_is_named_and_explains_itself_alone(storage: str, right: np.ndarray) -> None:
    """What was stored so lies in its cells; what differs by 30 % does not, nor another row."""
    array = vector_array.look(STORED[storage](right), right)
    assert array.storage == storage
    rows = np.arange(len(right))
    distance, outside = array.distance(right, rows)
    assert distance.max() < 1e-7 and (outside.sum() == 0 or storage == "float32")
    other = right * (1 + 0.3 * np.random.default_rng(1).normal(size=right.shape))
    if "signs" not in storage:
        assert array.distance(other, rows)[0].min() > 0.02
    assert array.distance(np.roll(other, 1, 0), rows)[0].min() > 0.1


def test_distance_from_cells_number_by_number(right: np.ndarray) -> None:
    array = vector_array.look(right.round(2), right)
    moved = right + 0.004
    expected = [
        np.sqrt(sum(max(0, abs(x - m) - 0.005) ** 2 for x, m in zip(row, of, strict=True))) / np.sqrt((of**2).sum())
        for row, of in zip(right.round(2), moved, strict=True)
    ]
    assert array.distance(moved, np.arange(7))[0] == pytest.approx(expected, abs=1e-12)


def test_order_of_bytes_and_axes_and_a_cut_are_told(right: np.ndarray) -> None:
    array = vector_array.look(right.astype(np.float32).byteswap(), right)
    assert "bytes" in array.facts[0] and array.distance(right, np.arange(7))[0].max() < 1e-6
    array = vector_array.look(right.T.astype(np.float32), right)
    assert "(E, N)" in array.facts[0] and array.distance(right, np.arange(7))[0].max() < 1e-6
    array = vector_array.look(unit(right[:, :6]).astype(np.float32), right)
    assert "first 6 of 16" in array.facts[0] and array.is_unit
    assert array.distance(right, np.arange(7))[0].max() < 1e-6


@pytest.mark.parametrize(
    ("array", "words"),
    [
        (np.zeros((3, 16)), "3 vectors for 7 texts"),
        (np.zeros((7, 17)), "17 numbers, this model's 16"),
        (np.zeros(7), "an array of numbers"),
        (np.full((7, 16), np.nan), "^7 of 7 vectors hold NaN or infinity, the first is row 0:"),
        (np.where(np.arange(112).reshape(7, 16) == 50, np.inf, 0.5), "^1 of 7 vectors hold NaN.* row 3:"),
        (np.array([["a"] * 16] * 7), "an array of numbers"),
    ],
)
def test_what_is_no_array_of_vectors_is_refused(array: np.ndarray, words: str, right: np.ndarray) -> None:
    with pytest.raises(InputError, match=words):
        vector_array.look(array, right)
