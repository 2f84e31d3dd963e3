"""The page of a retrieval: how good it is, what fails, hubs, slices; plain tables in one file that loads nothing."""

from __future__ import annotations

import math
from typing import Any, Protocol

from ..base.dataframes import pd
from ..base.registered import registered
from ..errors import BertLensError, ExportError
from ..export import pages
from ..lens import Lens
from ..measures.significance import Sizes
from ..trace.provenance import made_with
from . import metrics, slices
from .bm25 import SAID
from .collection import Collection
from .edit_probe import EditProbe
from .failures import failure_kinds, failures_said
from .hubs import RULE, hubs_said
from .ranking_heads import RankingHeads
from .score_difference import Contrast

FAILURES = 200  # with the largest gap
CONTRASTS = 5  # of these, about two seconds each, where no view shows them
VIEWED = 10  # questions whose case a page carries, about three seconds each
HUBS = 20
PASSAGES = "questions and passages"  # that a page shows some of
Fields = dict[str, Any]  # what a template is rendered with


class RetrievalTables(Protocol):
    """What a page shows of a `Retrieval`, which writes it."""

    @property
    def lens(self) -> Lens: ...

    @property
    def collection(self) -> Collection: ...

    def metrics(self) -> pd.DataFrame: ...

    def slices(self) -> pd.DataFrame: ...

    def failures(self) -> pd.DataFrame: ...

    def hubs(self) -> pd.DataFrame: ...

    def contrast(self, query: str, wrong: str, right: str) -> Contrast: ...


def page(
    retrieval: RetrievalTables,
    probe: EditProbe | None = None,
    heads: RankingHeads | None = None,
    layers: Sizes | None = None,
    dimensions: Sizes | None = None,
) -> str:
    """The text of the page: the view of the questions, with the case of the first ones, above the tables; the tables
    alone where it cannot be made. probe, heads, layers, dimensions: what the methods of `Retrieval` of these names
    gave, to stand there."""
    view = _view_of(retrieval)
    collection = retrieval.collection
    texts = dict(zip(collection.passage_ids, collection.passages, strict=True))
    hubs = retrieval.hubs()
    fields: Fields = {
        "model": retrieval.lens.model_name,
        "queries": len(collection.queries),
        "passages": len(collection.passages),
        "documents": len({*collection.documents}) if collection.has_documents else 0,
        "notes": collection.notes,
        "quality": _quality(retrieval) if collection.judged else None,
        "failures": _failures(retrieval, texts, 0 if view else CONTRASTS) if collection.judged else None,
        "hubs": {
            "said": hubs_said(hubs),
            "rule": RULE,
            "rows": [row | {"text": texts[row["passage"]]} for row in _records(hubs[hubs["hub"]].head(HUBS))],
        },
        "slices": _slices(retrieval.slices()) if collection.judged else None,
        "probe": None if probe is None else {"said": probe.said, "rows": _kinds(probe.table)},
        "heads": None if heads is None else {"said": heads.said, "rows": _records(heads.table.dropna(subset="ndcg"))},
        "layers": None if layers is None else _sizes(layers, layers.table["better"]),
        "dimensions": None if dimensions is None else _sizes(dimensions, dimensions.table["difference_high"] < 0),
    }
    if view is not None:
        above, below = (
            pages.render(name, **fields, live=True) for name in ("retrievalhead.jinja", "retrievaltables.jinja")
        )
        try:
            return str(view.page(above, below, contrasts=VIEWED))
        except ExportError:
            fields["failures"] = _failures(retrieval, texts, CONTRASTS) if collection.judged else None
        finally:
            view.close()
    origin = pages.origin(retrieval.lens.model_name, PASSAGES)
    return pages.render("retrieval.jinja", **fields, live=False, made=made_with(), origin=origin)


def _view_of(retrieval: RetrievalTables) -> Any:
    """Its questions as a view; None where one model reads questions and passages otherwise, or none is asked."""
    try:
        return registered("retrieval_view")(retrieval)
    except BertLensError:
        return None


def _sizes(sizes: Sizes, findings: pd.Series) -> Fields:
    """findings: the rows that can be told from the whole."""
    return {"said": sizes.said, "rows": _records(sizes.table.assign(finding=findings))}


def _kinds(table: pd.DataFrame) -> list[Fields]:
    """Those of enough texts."""
    return _records(table[table["share"].notna()])


def _records(table: pd.DataFrame) -> list[Fields]:
    return table.to_dict("records")


def _quality(retrieval: RetrievalTables) -> Fields:
    means = retrieval.metrics()
    rows = [row | {"about": metrics.MEASURES[row["measure"]][1]} for row in _records(means)]
    return {"said": metrics.sentence(means), "rows": rows, "bm25": SAID if "bm25" in means else ""}


def _failures(retrieval: RetrievalTables, texts: dict[str, str], contrasts: int) -> Fields:
    """contrasts: of how many it is told what the split names."""
    table = retrieval.failures()
    questions = dict(zip(retrieval.collection.query_ids, retrieval.collection.queries, strict=True))
    rows = _records(table.sort_values("gap", ascending=False, kind="stable", na_position="first").head(FAILURES))
    listed = [row for row in rows if not math.isnan(row["gap"])]
    reasons = {row["query"]: _reason(retrieval, row) for row in listed[:contrasts]}
    return {
        "said": failures_said(table),
        "kinds": [row | {"kind": _words(row["kind"])} for row in _records(failure_kinds(table))],
        "n": len(table),
        "rows": [
            row
            | {"question": questions[row["query"]], "kind": _words(row["kind"])}
            | {f"{side}_text": texts[row[side]] for side in ("wrong", "right")}
            | {"reason": reasons.get(row["query"], "")}
            for row in rows
        ],
    }


def _reason(retrieval: RetrievalTables, row: Fields) -> str:
    """What the contrast of a failure says, or why there is none."""
    try:
        return retrieval.contrast(row["query"], row["wrong"], row["right"]).said
    except BertLensError as error:
        return f"{error}."


def _words(kind: str) -> str:
    return kind.replace("_", " ")


def _slices(table: pd.DataFrame) -> Fields:
    return {"said": slices.sentence(table), "measure": table.attrs["measure"], "rows": _records(table)}
