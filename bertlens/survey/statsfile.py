"""The file of a survey's statistics: what of `HeadStats` is in it under which name."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..base.arrays_file import ArraysFile
from ..measures.statistics import SURVEY_NAMES
from .sums import BY, BinSums, check_shapes
from .text_statistics import LABELS
from .textlength import LengthBin
from .top_texts import TopTexts

FILE = ArraysFile("head statistics", [6, *SURVEY_NAMES, *LABELS], "run the survey again")  # arrays are in that order
PIECES = ("pieces.token", "pieces.token_count")
_VALUES = ".values"
_TEXTS = "texts."


class Contents(NamedTuple):
    """What a file holds beside what it says of itself."""

    bins: dict[LengthBin, BinSums]
    pieces: dict[str, np.ndarray]
    highest: TopTexts | None


def write(path: str | Path, about: dict[str, Any], contents: Contents) -> None:
    """What was there before stays whole if this is cut off. Raises ExportError where it cannot be written."""
    arrays = dict(contents.pieces)
    for place, sums in sorted(contents.bins.items()):
        arrays |= {f"{place}/{name}": values for name, values in sums.sums.items()}
        arrays |= {f"{place}/{by}{_VALUES}": values for by, values in sums.values.items()}
    if contents.highest is not None:
        texts, of_texts = contents.highest.saved()
        about = about | {"texts": texts}
        arrays |= {_TEXTS + name: values for name, values in of_texts.items()}
    FILE.write(path, about, arrays, compressed=True)


def contents(about: dict[str, Any], arrays: dict[str, np.ndarray]) -> Contents:
    """Raises ValueError, TypeError, KeyError or IndexError for arrays that `write` does not write."""
    of_bins = dict(arrays)
    pieces = {name: of_bins.pop(name) for name in PIECES if name in of_bins}
    of_texts = {name.removeprefix(_TEXTS): of_bins.pop(name) for name in arrays if name.startswith(_TEXTS)}
    highest = TopTexts.read(about["texts"], of_texts) if "texts" in about else None
    bins = _bins(of_bins)
    _check(bins, pieces, highest)
    return Contents(bins, pieces, highest)


def _check(bins: dict[LengthBin, BinSums], pieces: dict[str, np.ndarray], highest: TopTexts | None) -> None:
    """Raises ValueError or KeyError where the parts are not those that counting texts makes."""
    if not bins:
        raise ValueError("no texts")
    layers, heads, _ = next(iter(bins.values())).sums["gates"].shape
    for place, sums in bins.items():
        sums.check(layers, heads)
        lengths = place.tokens
        if not lengths or not lengths[0] <= sums.n_tokens / sums.n_texts <= lengths[-1]:
            raise ValueError(f"{sums.n_texts} texts of {sums.n_tokens} tokens do not lie in bin {place}")
    names = {name for sums in bins.values() for name in sums.sums}
    size = len(pieces["pieces.token_count"]) if "lengths.token" in names else 0
    check_shapes(pieces, dict(zip(PIECES, ((size, layers), (size,)), strict=True)) if "lengths.token" in names else {})
    if highest is not None:
        highest.check((len(SURVEY_NAMES), layers, heads), [by for by in BY if f"{by}.text" in names])


def _bins(arrays: dict[str, np.ndarray]) -> dict[LengthBin, BinSums]:
    """The tallies of arrays with the names that `write` gave them."""
    bins: dict[LengthBin, BinSums] = {}
    for name, values in arrays.items():
        place, _, label = name.partition("/")
        segments, step = place.split(".")
        sums = bins.setdefault(LengthBin(int(segments), int(step)), BinSums())
        if label.endswith(_VALUES):
            sums.values[label.removesuffix(_VALUES)] = values
        else:
            sums.sums[label] = values
    return bins
