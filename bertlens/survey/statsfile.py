"""The file of a survey's statistics: one .npz that numpy.load reads, without pickles."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..base.atomic import replacing
from ..base.paths import as_path
from ..errors import InputError
from ..measures.statistics import SURVEY_NAMES
from .statistics import LABELS
from .sums import BY, BinSums, check_shapes
from .textlength import LengthBin
from .top_texts import TopTexts

FORMAT = 5
OLDER = (3, 4)  # the same without the texts of `TopTexts`; without the values of single texts where these are many
PIECES = ("pieces.token", "pieces.token_count")
_VALUES = ".values"
_TEXTS = "texts."


class Contents(NamedTuple):
    """What a file holds beside the header."""

    bins: dict[LengthBin, BinSums]
    pieces: dict[str, np.ndarray]
    highest: TopTexts | None


def write(path: str | Path, header: dict[str, Any], contents: Contents) -> None:
    """What was there before stays whole if this is cut off. Raises ExportError where it cannot be written."""
    known = {"format": FORMAT, "statistics": SURVEY_NAMES, "labels": LABELS}
    arrays = dict(contents.pieces)
    for place, part in sorted(contents.bins.items()):
        arrays |= {f"{place}/{name}": sums for name, sums in part.sums.items()}
        arrays |= {f"{place}/{by}{_VALUES}": values for by, values in part.values.items()}
    if contents.highest is not None:
        known["texts"], of_texts = contents.highest.saved()
        arrays |= {_TEXTS + name: values for name, values in of_texts.items()}
    with replacing(path) as out:
        np.savez_compressed(out, header=np.array(json.dumps(known | header)), **arrays)  # type: ignore[arg-type]


def read(path: str | Path) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Header and arrays. Raises InputError for another file, a damaged one, or one of another version."""
    path = as_path(path)
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = dict(file)
        header = json.loads(str(arrays.pop("header")))
        version, names, labels = header["format"], header["statistics"], header["labels"]
    except Exception as error:  # noqa: BLE001  a damaged zip raises whatever its decoders stumble on
        said = " ".join(str(error).split())[:150] or type(error).__name__
        if "pickle" in said:  # numpy's advice for whatever is no .npz at all
            said = "it is no .npz file"
        raise InputError(f"{path} holds no head statistics ({said})") from None
    if version in (1, 2):
        raise InputError(
            f"{path} does not say how long its texts were, and texts of different lengths cannot be compared: "
            "run the survey again"
        )
    known = isinstance(names, list) and names == [name for name in SURVEY_NAMES if name in names] != []
    if version not in (*OLDER, FORMAT) or not known or labels != [*LABELS]:
        raise InputError(f"{path} was written by another version of bertlens: run the survey again")
    return header, arrays


def _with_younger(name: str, values: np.ndarray, places: list[int]) -> np.ndarray:
    """An array of a file with fewer statistics, which belong at `places`, as one with all of them."""
    place, _, what = name.rpartition(".")
    if not place.endswith(BY):
        return values
    axis = 1 if what in ("values", "texts") else 0
    if values.shape[axis] != len(places):
        raise ValueError(f"{name} is not of {len(places)} statistics")
    missing = {"values": -np.inf if place.startswith(_TEXTS) else np.nan, "texts": -1}.get(what, 0)
    whole = np.full((*values.shape[:axis], len(SURVEY_NAMES), *values.shape[axis + 1 :]), missing, values.dtype)
    whole[(slice(None),) * axis + (places,)] = values
    return whole


def contents(header: dict[str, Any], arrays: dict[str, np.ndarray]) -> Contents:
    """The parts of what was read. Raises ValueError, TypeError, KeyError or IndexError for names of no part.

    A statistic that is younger than the file is one that none of its texts have.
    """
    places = [SURVEY_NAMES.index(name) for name in header["statistics"]]
    if len(places) < len(SURVEY_NAMES):
        arrays = {name: _with_younger(name, values, places) for name, values in arrays.items()}
    left = dict(arrays)
    pieces = {name: left.pop(name) for name in PIECES if name in left}
    of_texts = {name.removeprefix(_TEXTS): left.pop(name) for name in arrays if name.startswith(_TEXTS)}
    highest = TopTexts.read(header["texts"], of_texts) if "texts" in header else None
    return Contents(_bins(left), pieces, highest)


def check(bins: dict[LengthBin, BinSums], pieces: dict[str, np.ndarray], highest: TopTexts | None) -> None:
    """Raises ValueError or KeyError where the parts are not those that counting texts makes."""
    if not bins:
        raise ValueError("no texts")
    layers, heads, _ = next(iter(bins.values())).sums["gates"].shape
    for place, part in bins.items():
        part.check(layers, heads)
        lengths = place.tokens
        if not lengths or not lengths[0] <= part.n_tokens / part.n_texts <= lengths[-1]:
            raise ValueError(f"{part.n_texts} texts of {part.n_tokens} tokens do not lie in bin {place}")
    names = {name for part in bins.values() for name in part.sums}
    size = len(pieces["pieces.token_count"]) if "lengths.token" in names else 0
    check_shapes(pieces, dict(zip(PIECES, ((size, layers), (size,)), strict=True)) if "lengths.token" in names else {})
    if highest is not None:
        highest.check((len(SURVEY_NAMES), layers, heads), [by for by in BY if f"{by}.text" in names])


def _bins(arrays: dict[str, np.ndarray]) -> dict[LengthBin, BinSums]:
    """The tallies of arrays with the names that `write` gave them."""
    bins: dict[LengthBin, BinSums] = {}
    for name, values in arrays.items():
        place, _, what = name.partition("/")
        segments, step = place.split(".")
        part = bins.setdefault(LengthBin(int(segments), int(step)), BinSums())
        kept, what = (part.values, what.removesuffix(_VALUES)) if what.endswith(_VALUES) else (part.sums, what)
        kept[what] = values
    return bins
