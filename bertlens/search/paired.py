"""Two rankings of one collection beside each other, question by question; the earlier one may come from a file."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ..base.amounts import amount
from ..base.atomic import replacing
from ..base.dataframes import pd
from ..base.outputs import signature
from ..base.paths import as_path
from ..base.ranking import signed
from ..base.textfile import json_of
from ..errors import InputError
from ..measures.significance import difference_interval, holm_intervals
from .collection import Collection
from .metrics import MEASURES

FORMAT = 1


def against(before: pd.DataFrame, now: pd.DataFrame) -> pd.DataFrame:
    """DataFrame(measure, before, now, difference, low, high, p, falls, n), a row a measure of both.

    before, now: tables of `metrics.by_question` of the same questions. difference: the mean over questions of now −
    before, in [−1, 1]; low, high: its interval over questions that are drawn as these were. p and the interval are
    Holm's over the measures (`significance.holm_intervals`): in 95 of 100 comparisons of rankings that are equally
    good no interval leaves out 0. falls: the interval lies below 0. NaN for one question. Raises InputError where
    questions or measures are not the same.
    """
    if set(before.index) != set(now.index):
        raise InputError("a ranking is compared with another one of the same questions: these are of others")
    measures = [name for name in now.columns if name in before.columns]
    if not measures:
        raise InputError("a ranking is compared with another one by the same measures: these have none in common")
    differences = [now[name].to_numpy() - before[name].reindex(now.index).to_numpy() for name in measures]
    ends = holm_intervals([partial(_interval, change) for change in differences])
    rows = [
        (name, before[name].mean(), now[name].mean(), change.mean(), low, high, p, high < 0, len(now))
        for name, change, (low, high, p) in zip(measures, differences, ends, strict=True)
    ]
    return pd.DataFrame(rows, columns=["measure", "before", "now", "difference", "low", "high", "p", "falls", "n"])


def _interval(differences: np.ndarray, level: float) -> tuple[float, float]:
    return difference_interval(differences, level=level)


def sentence(table: pd.DataFrame) -> str:
    """What an `against` says: which measures fell and rose, by how much."""
    clauses = []
    for word, moved in (("fell", table[table["falls"]]), ("rose", table[table["low"] > 0])):
        if len(moved):
            numbers = (f"{r.measure} {_signed(r.difference)} ({_signed(r.low)} to {_signed(r.high)})"
                       for r in moved.itertuples())  # fmt: skip
            clauses.append(f"{len(moved)} {word}: {', '.join(numbers)}")
    n, questions = amount(len(table), "measure"), amount(int(table["n"].iloc[0]), "question")
    if table["n"].iloc[0] < 2:
        return f"Of {n} on {questions}, it cannot be told which fell or rose: one question has no interval."
    movement = "; ".join(clauses) or "none fell and none rose by more than chance gives"
    return f"Of {n} on {questions}, {movement} (paired, Holm, 5 %)."


def _signed(number: float) -> str:
    return signed(number, "+.3f")


def to_json(path: str | Path, questions: pd.DataFrame, collection: Collection, model: str) -> Path:
    """Keep a table of `metrics.by_question` for a later `from_json`. Raises ExportError where it cannot be written."""
    record = {
        "bertlens_retrieval": FORMAT,
        "model": model,
        **digests(collection),
        "measures": {name: questions[name].to_dict() for name in questions.columns},
        "by": signature("retrieval"),
    }
    with replacing(path) as out:
        out.write(f"{json.dumps(record, indent=1)}\n".encode())
    return as_path(path)


def from_json(path: str | Path, collection: Collection) -> pd.DataFrame:
    """The table that `to_json` kept of the same collection, its model's name in `.attrs["model"]`.

    Raises InputError for another file, and where questions, judgements or documents are others: texts of passages may
    be, so that what cutting them does can be compared.
    """
    name = Path(path).name
    record = record_of(path)
    check_same(name, record, collection)
    ids = [collection.query_ids[query] for query in collection.judged]
    try:
        columns = {measure: [float(shares[query]) for query in ids] for measure, shares in record["measures"].items()}
        if not columns or not all(0 <= share <= 1 for shares in columns.values() for share in shares):
            raise ValueError
        questions = pd.DataFrame(columns, index=pd.Index(ids, name="query"))[[m for m in MEASURES if m in columns]]
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError):
        raise InputError(f"{name} is damaged: it lacks measures of some questions, make it again") from None
    questions.attrs["model"] = str(record.get("model", ""))
    return questions


def record_of(path: str | Path) -> dict[str, Any]:
    """What `to_json` wrote, its measures unread. Raises InputError for another file."""
    record = json_of(path)
    if not isinstance(record, dict) or record.get("bertlens_retrieval") != FORMAT:
        raise InputError(f"{Path(path).name} holds no metrics of a retrieval: give a file that its .save wrote")
    return record


def check_same(name: str, record: Mapping[str, Any], collection: Collection) -> None:
    """Raises InputError where the `digests` in a record are of another collection than this."""
    for kind, digest in digests(collection).items():
        if record.get(kind) != digest:
            raise InputError(
                f"{name} is of another collection, its {kind} are not these: compare runs of one collection"
            )


def digests(collection: Collection) -> dict[str, str]:
    """What a comparison needs to be the same."""
    judged = collection.judged
    grades = {collection.query_ids[query]: collection.relevant(query) for query in judged}
    ids = collection.query_ids, collection.passage_ids
    namesakes = [(ids[0][query], *(ids[1][row] for row in rows)) for query, rows in collection.namesakes.items()]
    left_out = {"passages that are their own question": _digest(namesakes)} if namesakes else {}
    return left_out | {
        "questions": _digest((collection.query_ids[query], collection.queries[query]) for query in judged),
        "judgements": _digest((query, *sorted(of.items())) for query, of in grades.items()),
        "documents": _digest((document,) for document in set(collection.documents)),
    }


def _digest(records: Iterable[tuple[Any, ...]]) -> str:
    """In whatever order the records come."""
    lines = sorted(json.dumps(record) for record in records)
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]
