"""What a page is told of layers and dimensions: the sentences of `Sizes`, and its table with the words above it."""

from __future__ import annotations

from typing import Literal

from typing_extensions import NotRequired, TypedDict, get_type_hints

from .sizes import Sizes

DIFFERENCE = "difference_"  # of dimensions, before the ends that layers have without it
HOLM = "95 %, Holm"
COLUMNS = {  # by their first column of the table; the second is where an interval ends
    "part": ("", ""),  # `by`
    "mean": ("", ""),  # the measure
    "difference": ("difference", ""),
    "low": (HOLM, "high"),
    "p": ("p, Holm", ""),
    "first_ten": ("first ten", ""),
    "anisotropy": ("mean cosine", ""),
    "drawn": ("drawn", ""),
    "drawn_least": ("least to most", "drawn_most"),
    "principal_difference": ("principal, difference", ""),
    "principal_difference_low": (HOLM, "principal_difference_high"),
    "untrained": ("untrained", ""),
    "over_untrained": ("more than that", ""),
    "over_untrained_low": (HOLM, "over_untrained_high"),
}
ABOUT = {
    "difference": "Difference: to {whole}, with its interval over all rows.",
    "anisotropy": "Layer 0 is the embeddings; centred: less the mean of all vectors. Mean cosine: of different texts.",
    "first_ten": "First ten: which share of them is among those of the last layer.",
    "drawn": "Drawn: as many dimensions at random, the mean of the draws.",
    "principal_difference": "Principal: as many principal ones of half of the passages, on the other half.",
    "untrained": "Layer 0 is the embeddings. Untrained: the same model before any training, with drawn weights.",
}


class SizeColumn(TypedDict):
    name: str
    label: str
    high: str  # where the interval ends that `name` begins; "" of a single number


class SizeRow(TypedDict):
    """A part of the model, with those of the columns that its table has."""

    part: str  # "2, centred"
    at: int  # the layer, or how many dimensions
    centred: NotRequired[bool]
    mean: float
    difference: float
    low: float | None  # None where there is no interval
    high: float | None
    p: float | None
    first_ten: NotRequired[float | None]
    anisotropy: NotRequired[float | None]
    drawn: NotRequired[float]
    drawn_least: NotRequired[float]
    drawn_most: NotRequired[float]
    principal_difference: NotRequired[float | None]
    principal_difference_low: NotRequired[float | None]
    principal_difference_high: NotRequired[float | None]
    untrained: NotRequired[float]
    over_untrained: NotRequired[float]
    over_untrained_low: NotRequired[float | None]
    over_untrained_high: NotRequired[float | None]


class SizeFields(TypedDict):
    said: str
    about: str  # the columns
    measure: str
    by: Literal["layer", "dimensions"]
    columns: list[SizeColumn]
    rows: list[SizeRow]


def size_fields(sizes: Sizes) -> SizeFields:
    """Its sentences and its table, the smallest part first."""
    by: Literal["layer", "dimensions"] = "dimensions" if "dimensions" in sizes.table else "layer"
    table = sizes.table.rename(columns=lambda name: name.removeprefix(DIFFERENCE)).sort_values(by, kind="stable")
    centred = table["centred"] if "centred" in table else [False] * len(table)
    table["part"] = [f"{at}{', centred' if less else ''}" for at, less in zip(table[by], centred, strict=True)]
    rows = table.rename(columns={by: "at"})
    labels = {"part": by, "mean": sizes.measure}
    whole = "the last layer" if by == "layer" else "all dimensions"
    return {
        "said": sizes.said,
        "about": " ".join(sentence.format(whole=whole) for name, sentence in ABOUT.items() if name in table),
        "measure": sizes.measure,
        "by": by,
        "columns": [
            {"name": name, "label": label or labels[name], "high": high}
            for name, (label, high) in COLUMNS.items()
            if name in table
        ],
        "rows": rows[[name for name in get_type_hints(SizeRow) if name in rows]].to_dict("records"),
    }
