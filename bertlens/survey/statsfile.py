"""The file of a survey's statistics: one .npz that numpy.load reads, without pickles."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..base.atomic import replacing
from ..errors import InputError
from ..measures.statistics import SURVEY_NAMES
from .statistics import LABELS
from .sums import BY, Tally, check_shapes
from .textlength import LengthBin
from .top_texts import Highest

FORMAT = 5
OLDER = (3, 4)  # the same without the texts of `Highest`; without the values of single texts where these are many
PIECES = ("pieces.token", "pieces.token_count")
_VALUES = ".values"
_TEXTS = "texts."


class Held(NamedTuple):
    """What a file holds beside the header."""

    bins: dict[LengthBin, Tally]
    pieces: dict[str, np.ndarray]
    highest: Highest | None


def write(path: str | Path, header: dict[str, Any], held: Held) -> None:
    """What was there before stays whole if this is cut off. Raises ExportError where it cannot be written."""
    known = {"format": FORMAT, "statistics": SURVEY_NAMES, "labels": LABELS}
    arrays = dict(held.pieces)
    for place, tally in sorted(held.bins.items()):
        arrays |= {f"{place}/{name}": sums for name, sums in tally.sums.items()}
        arrays |= {f"{place}/{by}{_VALUES}": values for by, values in tally.values.items()}
    if held.highest is not None:
        known["texts"], of_texts = held.highest.saved()
        arrays |= {_TEXTS + name: values for name, values in of_texts.items()}
    with replacing(path) as out:
        np.savez_compressed(out, header=np.array(json.dumps(known | header)), **arrays)  # type: ignore[arg-type]


def read(path: str | Path) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Header and arrays. Raises InputError for another file, a damaged one, or one of another version.

    A statistic that is younger than the file is one that none of its texts have.
    """
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
    known = [name for name in SURVEY_NAMES if name in names]
    if version not in (*OLDER, FORMAT) or names != known or labels != [*LABELS]:
        raise InputError(f"{path} was written by another version of bertlens: run the survey again")
    if len(known) < len(SURVEY_NAMES):
        places = [SURVEY_NAMES.index(name) for name in known]
        arrays = {name: _with_younger(name, values, places) for name, values in arrays.items()}
    return header, arrays


def _with_younger(name: str, values: np.ndarray, places: list[int]) -> np.ndarray:
    """An array of a file with fewer statistics, which belong at `places`, as one with all of them."""
    place, _, what = name.rpartition(".")
    if not place.endswith(BY):
        return values
    axis = 1 if what in ("values", "texts") else 0
    missing = {"values": -np.inf if place.startswith(_TEXTS) else np.nan, "texts": -1}.get(what, 0)
    whole = np.full((*values.shape[:axis], len(SURVEY_NAMES), *values.shape[axis + 1 :]), missing, values.dtype)
    whole[(slice(None),) * axis + (places,)] = values
    return whole


def held(header: dict[str, Any], arrays: dict[str, np.ndarray]) -> Held:
    """The parts of what was read. Raises ValueError, TypeError, KeyError or IndexError for names of no part."""
    left = dict(arrays)
    pieces = {name: left.pop(name) for name in PIECES if name in left}
    of_texts = {name.removeprefix(_TEXTS): left.pop(name) for name in arrays if name.startswith(_TEXTS)}
    highest = Highest.read(header["texts"], of_texts) if "texts" in header else None
    return Held(_bins(left), pieces, highest)


def check(bins: dict[LengthBin, Tally], pieces: dict[str, np.ndarray], highest: Highest | None) -> None:
    """Raises ValueError or KeyError where the parts are not those that counting texts makes."""
    if not bins:
        raise ValueError("no texts")
    layers, heads, _ = next(iter(bins.values())).sums["gates"].shape
    for place, tally in bins.items():
        tally.check(layers, heads)
        lengths = place.tokens
        if not lengths or not lengths[0] <= tally.n_tokens / tally.n_texts <= lengths[-1]:
            raise ValueError(f"{tally.n_texts} texts of {tally.n_tokens} tokens do not lie in bin {place}")
    names = {name for tally in bins.values() for name in tally.sums}
    size = len(pieces["pieces.token_count"]) if "lengths.token" in names else 0
    check_shapes(pieces, dict(zip(PIECES, ((size, layers), (size,)), strict=True)) if "lengths.token" in names else {})
    if highest is not None:
        highest.check((len(SURVEY_NAMES), layers, heads), [by for by in BY if f"{by}.text" in names])


def _bins(arrays: dict[str, np.ndarray]) -> dict[LengthBin, Tally]:
    """The tallies of arrays with the names that `write` gave them."""
    bins: dict[LengthBin, Tally] = {}
    for name, values in arrays.items():
        place, _, what = name.partition("/")
        segments, step = place.split(".")
        tally = bins.setdefault(LengthBin(int(segments), int(step)), Tally())
        kept, what = (tally.values, what.removesuffix(_VALUES)) if what.endswith(_VALUES) else (tally.sums, what)
        kept[what] = values
    return bins
