"""What a page is told of a task: its tables as columns, what was found as fields."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Literal, TypeAlias, TypeVar

import numpy as np
from typing_extensions import NotRequired, TypedDict, get_type_hints

from ...base.dataframes import pd
from ...base.ranking import signed
from ...errors import BertLensError
from ...measures.significance import SizeFields, count_interval, size_fields
from ...trace.provenance import visible
from ...widgets.messages.records import Arrays
from .. import Against, Errors, Heads, Task, TaskWords, Turned
from ..importance import listed
from ..subgroups import slices_said

CHARACTERS = 4_000_000  # of all texts of a table: beyond it each is cut
CUT = 200  # characters of a text then
SLICES = 40
WORDS = 40
MOST_ROWS = 200  # that a count leads to, those with the largest loss
Quality = Literal["accuracy", "Spearman"]
QUALITIES: dict[Quality, str] = {"accuracy": "the accuracy", "Spearman": "Spearman’s correlation"}  # of a pruning curve


class Column(TypedDict):
    """`kind` "text": values; "class": names, and an array of their numbers by its name; "flag", "number": an array."""

    name: str
    kind: Literal["text", "class", "flag", "number"]
    values: NotRequired[list[str]]
    names: NotRequired[list[str]]


class TableColumns(TypedDict):
    columns: list[Column]
    cut: int  # characters that texts were cut to, 0 for none


class TaskMetric(TypedDict):
    measure: str
    label: str
    value: float | None
    low: float | None
    high: float | None
    n: int
    note: str


class Confusion(TypedDict):
    names: list[str]
    counts: Annotated[Any, list[list[int]]]


EffectOf = Annotated[Any, Literal["loss", "accuracy"]]


class SitePart(TypedDict):
    """A head, or the MLP of a layer (head −1)."""

    part: str
    layer: int
    head: int


class PartEffect(SitePart):
    estimate: float | None
    chosen: NotRequired[str | None]
    effect: float | None  # None where it was not run
    low: float | None
    high: float | None
    p_holm: float | None
    finding: bool


class HeadEffects(TypedDict):
    said: str
    measure: EffectOf
    rows: list[PartEffect]


class TurnedHead(SitePart):
    distance: float
    low: float | None
    high: float | None


class AgainstFields(TypedDict):
    """What changed from a model before, as bertlens.tasks.Against has it."""

    said: str
    note: str
    model: str
    counts: list[tuple[str, int]]  # of each change
    texts: int  # that heads were compared on
    heads: list[TurnedHead]


class TurnedEffect(SitePart):
    before: float
    after: float
    difference: float
    low: float | None  # None where all texts are alike
    high: float | None
    p_holm: float
    finding: bool


class TurnedEffects(TypedDict):
    said: str
    measure: EffectOf
    rows: list[TurnedEffect]


class CurvePoint(TypedDict):
    order: str
    off: int
    left: int
    value: float
    low: float
    high: float


class PruningCurve(TypedDict):
    said: str
    quality: Quality  # what the values are of
    rows: list[CurvePoint]


class ErrorNote(TypedDict):
    row: int
    words: str
    comprehensiveness: float | None
    random: float | None
    beats: float | None
    nearest: int  # −1 for none, as twin
    nearest_text: str
    similarity: float | None
    twin: int


class ErrorNotes(TypedDict):
    said: str
    rows: list[ErrorNote]


class SliceRate(TypedDict):
    kind: str
    slice: str
    n: int
    wrong: int
    rate: float
    low: float
    high: float
    rate_outside: float
    p_holm: float
    finding: bool
    rows: list[int]  # that are wrong, the largest loss first, at most MOST_ROWS


class SliceRates(TypedDict):
    said: str
    rows: list[SliceRate]


class WordEffect(SliceRate):
    """A word for the class that it speaks for: kind is that class; p_holm and finding are of its effect."""

    effect: float
    matched: float | None
    turned: float | None  # share of the errors of this class that are none without it
    held: list[int]  # rows that hold it, as `rows`


class WordEffects(TypedDict):
    said: str
    rows: list[WordEffect]


WorkFields: TypeAlias = HeadEffects | PruningCurve | SizeFields | ErrorNotes | SliceRates | TurnedEffects | WordEffects
Row = TypeVar("Row")


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


def columns_of(table: pd.DataFrame) -> tuple[TableColumns, Arrays]:
    """TableColumns as the page reads them. Texts of very many examples are cut."""
    columns: list[Column] = []
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


def confusion(task: Task) -> Confusion | None:
    """Counts, None of a task that has none."""
    try:
        table = task.confusion()
    except (BertLensError, AttributeError):
        return None
    return {"names": [str(name) for name in table.index], "counts": table.to_numpy().tolist()}


def records(table: pd.DataFrame, row: type[Row]) -> list[Row]:
    """The rows of a table, of those columns of `row` that there are."""
    return table[[name for name in get_type_hints(row) if name in table]].to_dict("records")


def _heads(found: Heads) -> HeadEffects:
    return {"said": found.said, "measure": found.measure, "rows": records(found.table, PartEffect)}


def against_fields(found: Against) -> AgainstFields:
    return {
        "said": found.said,
        "note": found.note,
        "model": visible(found.before.lens.model_name),
        "counts": list(found.counts.items()),
        "texts": found.texts,
        "heads": records(found.heads, TurnedHead),
    }


def _turned(found: Turned) -> TurnedEffects:
    return {"said": found.said, "measure": found.after.measure, "rows": records(found.table, TurnedEffect)}


def _pruning(table: pd.DataFrame) -> PruningCurve:
    quality = quality_of(table)
    return {
        "said": pruning_said(table),
        "quality": quality,
        "rows": records(table[table[quality].notna()].rename(columns={quality: "value"}), CurvePoint),
    }


def quality_of(table: pd.DataFrame) -> Quality:
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


def _errors(found: Errors) -> ErrorNotes:
    return {"said": found.said, "rows": records(found.table, ErrorNote)}


def _slices(table: pd.DataFrame) -> SliceRates:
    rows = table.head(SLICES).assign(rows=[rows[:MOST_ROWS] for rows in table.attrs["wrong"][:SLICES]])
    return {"said": slices_said(table), "rows": records(rows, SliceRate)}


def _words(found: TaskWords) -> WordEffects:
    """The first words, each for the class that it speaks for."""
    table = found.table[found.table["effect"] > 0].head(WORDS)
    held = [found.cases(*pair)["row"].tolist() for pair in table[["word", "of"]].to_numpy()]
    wrong = found.task.wrong
    named = [f"{word}, {of}" if of else word for word, of in table[["word", "of"]].to_numpy()]
    ends = [count_interval(*pair) for pair in table[["wrong", "texts"]].to_numpy()]
    rows = table.drop(columns=["turned", "low", "high"]).rename(columns={"texts": "n", "turned_share": "turned"})
    rows = rows.assign(kind=table["class"], slice=named, low=[low for low, _ in ends], high=[high for _, high in ends])
    rows["held"] = [own[:MOST_ROWS] for own in held]
    rows["rows"] = [[row for row in own if wrong[row]][:MOST_ROWS] for own in held]
    return {"said": found.said, "rows": records(rows, WordEffect)}


TOLD: dict[str, Callable[[Any], WorkFields]] = {
    "heads": _heads,
    "turned": _turned,
    "pruning": _pruning,
    "layers": size_fields,
    "errors": _errors,
    "slices": _slices,
    "words": _words,
}
