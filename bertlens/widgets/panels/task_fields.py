"""What a page is told of a task: its tables as columns, what was found as fields."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ...base.dataframes import pd
from ...base.ranking import signed
from ...errors import BertLensError
from ...tasks import Against, Errors, Heads, Task, Turned
from ...tasks.importance import listed
from ...tasks.subgroups import slices_said
from ...trace.provenance import visible
from ..records import Answer

CHARACTERS = 4_000_000  # of all texts of a table: beyond it each is cut
CUT = 200  # characters of a text then
SLICES = 40
PART = ("part", "layer", "head", "estimate", "chosen", "effect", "low", "high", "p_holm", "finding")
TURNED = ("part", "layer", "head", "distance", "low", "high")
BESIDE = ("part", "layer", "head", "before", "after", "difference", "low", "high", "p_holm", "finding")
CURVE = ("order", "off", "left", "value", "low", "high")
QUALITIES = {"accuracy": "the accuracy", "Spearman": "Spearman’s correlation"}  # what a pruning curve may be of
EXPLAINED = ("row", "words", "comprehensiveness", "random", "beats", "nearest", "nearest_text", "similarity", "twin")
SLICE = ("kind", "slice", "n", "wrong", "rate", "low", "high", "rate_outside", "p_holm", "finding")


def worst_first(table: pd.DataFrame) -> pd.DataFrame:
    if "loss" in table:
        table = table.sort_values("loss", ascending=False, kind="stable")
    return table.reset_index(drop=True)


def with_changes(table: pd.DataFrame, against: Against) -> pd.DataFrame:
    """With the guess of the model before, and what came of it."""
    changes = against.table.set_index("row").loc[table["row"]]
    place = table.columns.get_loc("guess")
    table.insert(place + 1, "change", changes["change"].to_numpy())
    table.insert(place, "before", changes["before"].to_numpy())
    return table


def columns_of(table: pd.DataFrame) -> Answer:
    """Columns as the page reads them: [{name, kind, values or names}]; kind "text": values; "class": names, array
    `name` of their numbers; "flag" and "number": array `name`. Texts of very many examples are cut, and `cut` says to
    how many characters (0: whole)."""
    columns: list[dict[str, Any]] = []
    arrays: dict[str, Any] = {}
    text_names = [name for name in table.columns if name.startswith("text")]
    characters = sum(len(_said(value)) for name in text_names for value in table[name])
    cut = CUT if characters > CHARACTERS else 0
    for name in table.columns:
        values = table[name]
        kind = getattr(values.dtype, "kind", "O")
        if kind == "b":
            columns.append({"name": name, "kind": "flag"})
            arrays[name] = values.to_numpy(np.uint8)
        elif kind in "iuf":
            columns.append({"name": name, "kind": "number"})
            arrays[name] = values.to_numpy(np.int32 if kind in "iu" else np.float32)
        elif name in text_names:
            texts = [_said(value) for value in values]
            columns.append({"name": name, "kind": "text", "values": [text[:cut] for text in texts] if cut else texts})
        else:
            texts = [_said(value) for value in values]
            names = list(dict.fromkeys(texts))
            place = {text: n for n, text in enumerate(names)}
            columns.append({"name": name, "kind": "class", "names": names})
            arrays[name] = np.array([place[text] for text in texts], np.int32)
    return {"columns": columns, "cut": cut}, arrays


def _said(value: Any) -> str:
    return value if isinstance(value, str) else " ".join(map(str, value)) if np.ndim(value) else str(value)


def confusion(task: Task) -> dict[str, Any] | None:
    """Counts, None of a task that has none."""
    try:
        table = task.confusion()
    except (BertLensError, AttributeError):
        return None
    return {"names": [str(name) for name in table.index], "counts": table.to_numpy().tolist()}


def records(table: pd.DataFrame, names: Iterable[str]) -> list[dict[str, Any]]:
    """Records of the columns that there are."""
    return table[[name for name in names if name in table]].to_dict("records")


def _heads(found: Heads) -> dict[str, Any]:
    return {"said": found.said, "measure": found.measure, "rows": records(found.table, PART)}


def against_fields(found: Against) -> dict[str, Any]:
    return {
        "said": found.said,
        "note": found.note,
        "model": visible(found.before.lens.model_name),
        "counts": list(found.counts.items()),
        "texts": found.texts,
        "heads": records(found.heads, TURNED),
    }


def _turned(found: Turned) -> dict[str, Any]:
    return {"said": found.said, "measure": found.after.measure, "rows": records(found.table, BESIDE)}


def _pruning(table: pd.DataFrame) -> dict[str, Any]:
    quality = quality_of(table)
    return {
        "said": pruning_said(table),
        "quality": quality,
        "rows": records(table[table[quality].notna()].rename(columns={quality: "value"}), CURVE),
    }


def quality_of(table: pd.DataFrame) -> str:
    """What a pruning curve is of: "accuracy" or "Spearman"."""
    return next(name for name in QUALITIES if name in table)


def pruning_said(table: pd.DataFrame) -> str:
    """How many heads are needed, in a sentence."""
    name = quality_of(table)
    n, fewest, whole = int(table["off"].max()), table.attrs["least"], float(table[name].iloc[0])
    unread = list(map(str, sorted(set(table["off"][table[name].isna()]))))
    gap = f" With {listed(unread)} heads off all answers of an order are alike: no correlation." if unread else ""
    if whole <= 0:
        return f"With all {n} heads {QUALITIES[name]} is {signed(whole, '.2f')}: there is nothing to keep.{gap}"
    sentence = (
        f"{fewest['estimate']} of {n} heads keep 95 % of {QUALITIES[name]} where those with the smallest "
        "estimates are switched off first"
    )
    return f"{sentence}; {fewest['random']} where they are taken at random (mean of 3 orders).{gap}"


def _errors(found: Errors) -> dict[str, Any]:
    return {"said": found.said, "rows": records(found.table, EXPLAINED)}


def _slices(table: pd.DataFrame) -> dict[str, Any]:
    return {"said": slices_said(table), "rows": records(table.head(SLICES), SLICE)}


TOLD: dict[str, Callable[[Any], dict[str, Any]]] = {
    "heads": _heads,
    "turned": _turned,
    "pruning": _pruning,
    "errors": _errors,
    "slices": _slices,
}
