"""What an array of vectors is before any model is asked: read from where it lies, its order, its columns, its storage.

A stored number stands for an interval, its cell: what a vector may be and still be stored so. The distance of a vector
from the cells is what storage does not explain, so that a hypothesis is compared as it would have been stored.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from ..base.paths import as_path
from ..errors import BertLensError, InputError
from .after_faults import normalised

UNIT = 0.02  # a row's length is 1 within it, stored as it may be
KINDS = (".npy", ".npz", ".safetensors", ".parquet")
INTEGERS = 2e-3  # of a step: floats that were whole numbers times a scale


@dataclass(frozen=True, eq=False)
class VectorArray:
    """Vectors as they are compared: (N, E') in units of the storage, with the cell of each number."""

    numbers: np.ndarray  # (N, E') float64
    storage: str  # in words
    half: np.ndarray | float = 0.0  # of a cell, in the same units; 0 where nothing was rounded beyond float32
    scale: Callable[[np.ndarray], np.ndarray] = field(default=lambda v: v)  # of vectors to those units
    is_unit: bool = False  # each row's length is 1
    facts: tuple[str, ...] = ()  # what else was seen, a sentence each

    def of(self, vectors: np.ndarray) -> np.ndarray:
        """(n, E') vectors (n, E) as this array would have them, before they are rounded."""
        cut = vectors[:, : self.numbers.shape[1]]
        return self.scale(normalised(cut) if self.is_unit else cut)

    def distance(self, vectors: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(n,) relative distance of vectors from the cells of these rows, and how many numbers lie outside theirs."""
        ours, gap = self._gap(vectors, rows)
        size = np.maximum(np.linalg.norm(ours, axis=1), 1e-30)
        rest = np.linalg.norm(np.maximum(gap, 0), axis=1) / size
        return np.nan_to_num(rest, nan=np.inf), (gap > 1e-9 * np.abs(ours)).sum(1)

    def _gap(self, vectors: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        ours = self.of(vectors)
        half = self.half[rows] if isinstance(self.half, np.ndarray) else self.half
        return ours, np.abs(self.numbers[rows] - ours) - half

    @property
    def is_rounded(self) -> bool:
        return isinstance(self.half, np.ndarray) or self.half > 0

    def reordered(self, order: np.ndarray, fact: str) -> VectorArray:
        half = self.half[order] if isinstance(self.half, np.ndarray) else self.half
        return replace(self, numbers=self.numbers[order], half=half, facts=(*self.facts, fact))


def read(vectors: Any, column: str | None = None) -> np.ndarray:
    """(N, E) as given: an array, a tensor, a list of rows, or the path of one of KINDS.

    column: of a Parquet table, or the name of an array of an .npz or .safetensors file, where there are several.
    Raises InputError for what is none of them.
    """
    if isinstance(vectors, str | Path):
        return _of_file(as_path(vectors), column)
    if hasattr(vectors, "detach"):
        vectors = vectors.detach().cpu()
        name = str(vectors.dtype)
        return vectors.float().numpy() if name == "torch.bfloat16" else vectors.numpy()
    try:
        return np.asarray(vectors)
    except ValueError:
        raise InputError("vectors are an array (N, E), a row a text: these rows are not of one length") from None


def _of_file(path: Path, column: str | None) -> np.ndarray:
    kind = path.suffix.lower()
    if kind not in KINDS:
        raise InputError(f"vectors are read from {', '.join(KINDS)}: {path.name} is none of them")
    try:
        if kind == ".parquet":
            import pyarrow.parquet as pq

            table = pq.read_table(path)
            arrays = {name: table[name] for name in table.column_names if "list" in str(table[name].type)}
            return np.asarray(_one(arrays, column, path).to_pylist())
        if kind == ".npy":
            return np.load(path, allow_pickle=False)
        if kind == ".npz":
            return _one({name: array for name, array in npz_arrays(path).items() if array.ndim == 2}, column, path)
        from safetensors.torch import load_file

        return read(_one({n: t for n, t in load_file(path).items() if t.ndim == 2}, column, path))
    except BertLensError:
        raise
    except OSError as error:
        raise InputError(f"{path} cannot be opened: {error.strerror or error}") from None
    except Exception as error:  # noqa: BLE001  a damaged file raises whatever its decoder stumbles on
        raise InputError(f"{path} holds no vectors that can be read ({' '.join(str(error).split())[:120]})") from None


def npz_arrays(path: Path) -> dict[str, np.ndarray]:
    """By their names, of another program's file."""
    with np.load(path, allow_pickle=False) as file:
        return {name: file[name] for name in file.files}


def _one(arrays: dict[str, Any], column: str | None, path: Path) -> Any:
    if column is not None and column in arrays:
        return arrays[column]
    if len(arrays) == 1 and column is None:
        return next(iter(arrays.values()))
    names = ", ".join(arrays) or "none"
    raise InputError(f"{path.name} has no one array of vectors: name it by column= (there are: {names})")


def look(array: np.ndarray, right: np.ndarray) -> VectorArray:
    """What an array is, beside what the model makes of the texts (N, E), which tells its width and how many rows.

    Raises InputError for an array that has not a row a text, and for one that is wider than the model's vectors.
    """
    n, width = right.shape
    facts: list[str] = []
    if array.ndim != 2 or array.dtype.kind not in "fiub":
        raise InputError(f"vectors are an array of numbers (N, E), a row a text, not {array.dtype} {array.shape}")
    if array.shape[0] != n and array.shape[1] == n:
        array = array.T
        facts.append("The array is (E, N): a column a text.")
    if len(array) != n:
        raise InputError(f"{len(array)} vectors for {n} texts: one for each, in their order")
    if array.dtype.kind == "f":
        array, fact = _ordered(array)
        facts += fact
    if array.dtype == np.uint8 and array.shape[1] * 8 == width:
        return _bits(array, right, facts)
    if array.shape[1] > width:
        raise InputError(f"these vectors have {array.shape[1]:,} numbers, this model's {width:,}: they are of another")
    broken = ~np.isfinite(array.astype(np.float64)).all(1)
    if broken.any():
        count, first = int(broken.sum()), int(broken.argmax())
        raise InputError(f"{count} of {n} vectors hold NaN or infinity, the first is row {first}: make them again")
    if array.shape[1] < width:
        facts.append(f"The first {array.shape[1]:,} of {width:,} numbers are stored.")
    return replace(_stored(array), facts=tuple(facts))


def _ordered(array: np.ndarray) -> tuple[np.ndarray, list[str]]:
    """The array in the byte order in which its numbers make sense."""

    def is_sane(values: np.ndarray) -> bool:
        with np.errstate(all="ignore"):
            norms = np.linalg.norm(values.astype(np.float64), axis=1)
        return bool(np.isfinite(norms).all() and (norms < 1e6).all() and (norms > 1e-6).any())

    turned = array.byteswap()
    if not is_sane(array) and is_sane(turned):
        return turned, ["The bytes of each number are in the other order (endianness)."]
    return array, []


def _signs(positive: np.ndarray, storage: str, facts: list[str]) -> VectorArray:
    # a sign's cell is the half line: a half that ends at 0, on either side
    far = 1e4
    return VectorArray(np.where(positive, far, -far), storage, np.full(positive.shape, far), facts=tuple(facts))


def _bits(array: np.ndarray, right: np.ndarray, facts: list[str]) -> VectorArray:
    orders = {order: np.unpackbits(array, axis=1, bitorder=order) > 0 for order in ("big", "little")}
    order = max(orders, key=lambda name: (orders[name] == (right > 0)).mean())
    return _signs(orders[order], f"signs alone, eight a byte, the {order} end first", facts)


def _stored(array: np.ndarray) -> VectorArray:
    x = array.astype(np.float64)
    kinds = np.unique(x[:64])
    if array.dtype.kind == "b" or (len(kinds) == 2 and kinds[1] == 1 and kinds[0] in (0, -1)):
        return _signs(x > 0, "signs alone", [])
    if array.dtype.kind in "iu":
        return _integers(x, str(array.dtype))
    is_unit = bool((np.abs(np.linalg.norm(x, axis=1) - 1) < UNIT).all())
    for scale, name in ((127.0, "8-bit numbers times 1/127"), (127 / np.abs(x).max(1, keepdims=True).clip(1e-30), "")):
        steps = x * scale
        if np.abs(steps - steps.round()).max() < INTEGERS and array.shape[1] > 3:
            return _integers(steps.round(), name or "8-bit numbers by row, as floats")
    bits = np.ascontiguousarray(array, dtype=np.float32).view(np.uint32)
    if array.dtype != np.float16 and not (bits & 0xFFFF).any():
        half = np.exp2(np.floor(np.log2(np.abs(x).clip(1e-38))) - 8)
        return VectorArray(x, "bfloat16", half, is_unit=is_unit)
    if array.dtype == np.float16 or np.array_equal(array, array.astype(np.float16).astype(array.dtype)):
        half = np.spacing(np.abs(array.astype(np.float16))).astype(np.float64) / 2
        return VectorArray(x, "float16", half, is_unit=is_unit)
    for decimals in range(2, 7):
        if (np.abs(x - x.round(decimals)) <= 2e-8 + 6e-8 * np.abs(x)).all():
            return VectorArray(x, f"{decimals} decimals", 0.5 * 10.0**-decimals, is_unit=is_unit)
    return VectorArray(x, str(array.dtype), is_unit=is_unit)


def _integers(x: np.ndarray, name: str) -> VectorArray:
    if (np.abs(x).max(1) == 127).all():
        by_row = "8-bit numbers by row: the largest is 127"
        return VectorArray(x, by_row, 0.5, lambda v: 127 * v / np.abs(v).max(1, keepdims=True).clip(1e-30))
    is_unit = bool((np.abs(np.linalg.norm(x / 127, axis=1) - 1) < 2 * UNIT).all())
    storage = name if "127" in name else f"{name}, times 127"
    return VectorArray(x, storage, 0.5, lambda v: 127 * v, is_unit=is_unit)
