"""The page of a task: the examples, live, and below them plain tables, in one file that loads nothing."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from ..base.dataframes import pd
from ..base.progress import page_bar
from ..base.quotes import isolate
from ..base.registered import registered
from ..errors import BertLensError, ExportError
from ..export import html, pages
from ..model.borrowed import checked_once
from ..trace.provenance import made_with
from .ablations import ABLATIONS
from .importance import Heads
from .mistakes import Errors
from .scores import calibration_table, confusion_table
from .task_answers import Answered
from .words import TaskWords

EXAMPLES = 200  # with the largest loss
MOST_NAMES = 12  # classes of a confusion matrix in a notebook
OF_A_CELL = 20
SLICES = 15
WORDS = 15  # of a class
MORE = (("wrong", 0), ("rank", 0), ("error", 2), ("margin", 2), ("loss", 2))  # columns of an example, and digits
NAMED = re.compile(r"(^|, )(.*?)(?= \()")  # each word of "the (+0.31), cat (+0.20)"
Fields = dict[str, Any]  # what a template is rendered with


def page_of(
    task: Answered,
    heads: Heads | None = None,
    errors: Errors | None = None,
    live: int = 0,
    words: TaskWords | None = None,
) -> str:
    """The text of the page. live: of how many texts the heads are shown, those with the largest loss."""
    tables = _tables(task, heads, errors, words)
    page = _with_view(task, heads, errors, live, tables, words) if live else None
    origin = pages.origin(task.lens.model_name, corpus_of(task))
    return page or pages.render("taskpage.jinja", **tables, live=None, made=made_with(), origin=origin)


def corpus_of(task: Answered) -> str:
    """Whose texts the page shows, see pages.origin."""
    return task.examples.columns.source or "labelled examples"


def _with_view(
    task: Answered,
    heads: Heads | None,
    errors: Errors | None,
    live: int,
    tables: Fields,
    words: TaskWords | None,
) -> str | None:
    """The page with the view of the examples above the tables; None where the model shows no attention."""
    place, opened = _first(heads)
    try:
        view: Any = registered("task_view")(task, heads_found=heads, errors_found=errors, words_found=words, **place)
    except BertLensError:
        return None
    fields = tables | {"live": {"texts": min(live, len(task)), "opened": opened}}
    above, below = (pages.render(template, **fields) for template in ("taskhead.jinja", "task.jinja"))
    for layers in (None, [view.layer]):
        with checked_once(), page_bar(task.progress) as bar:
            page = view.page(layers, bar)
            page = replace(page, above=above, below=below, others=_others(page, live, bar))
            try:
                return html.to_html(page)
            except ExportError:
                continue
    return None


def _others(page: html.Page, live: int, bar: Any) -> Iterator[html.Page]:
    """The pages of the other texts; the bar, which grows by what each needs, says which it is at."""
    others = iter(page.others)
    for number in range(2, live + 1):
        bar.set_description(f"page, text {number} of {live}")
        yield from itertools.islice(others, 1)


def notebook_card(task: Answered) -> str:
    """A task as a notebook shows it: what it is of, and its scores and confusion once all examples are run."""
    fields: Fields = {"model": task.lens.model_name, "n": len(task), "asked": _asked(task), "scores": [], "wrong": None}
    fields |= {"source": task.examples.columns.source, "notes": task.examples.notes, "confusion": None}
    if task.is_run:
        scores = task.kind.metrics(task.records, task.labels)
        if 0 < len(task.names) <= MOST_NAMES:
            labels, logits, _ = task.kind.counted(task.records, task.labels)
            counts = confusion_table(labels, logits.argmax(1), task.names).to_numpy().tolist()
            fields["confusion"] = {"names": task.names, "rows": counts}
        fields["scores"] = _records(scores[scores["label"] == ""])
        fields |= {"notes": task.notes, "wrong": int(task.wrong.sum()) if task.names else None}
    return pages.render("taskcell.jinja", **fields)


def _asked(task: Answered) -> str:
    names = task.names
    return f"{len(names)} {'tags' if task.kind.name == 'tags' else 'classes'}" if names else task.kind.asks


def _first(heads: Heads | None) -> tuple[dict[str, int], str]:
    """The head to open at, and what is said of it: the largest effect, of either sign, that is no chance. Where none
    is, the view opens as that of any text."""
    if heads is None:
        return {}, ""
    run = heads.table[(heads.table["head"] >= 0) & heads.table["effect"].notna()]
    findings = run[run["finding"]]
    if findings.empty:
        return {}, f"; of the {len(run)} that were run none has an effect that can be told from chance"
    best = findings.loc[findings["effect"].abs().idxmax()]
    place = {"layer": int(best["layer"]), "head": int(best["head"])}
    does = "the task loses" if best["effect"] > 0 else "the task wins"
    return place, f", opened at {best['part']}: without it {does} most, of the {len(run)} that were run"


def _tables(task: Answered, heads: Heads | None, errors: Errors | None, words: TaskWords | None) -> Fields:
    """What task.jinja shows: rows of tables as records, None for what the task has not."""
    table = task.table.sort_values("loss", ascending=False, kind="stable")
    scores = task.kind.metrics(task.records, task.labels)
    names, has_tags = task.names, task.kind.name == "tags"
    by_class = scores[scores["label"] != ""]
    fewest = "200 texts with one" if has_tags else "50"
    return {
        "model": task.lens.model_name,
        "source": task.examples.columns.source,
        "n": len(task),
        "asked": _asked(task),
        "notes": task.notes,
        "scores": _records(scores[scores["label"] == ""]),
        "classes": [_class(name, by_class) for name in dict.fromkeys(by_class["label"])],
        "too_few": fewest if scores["note"].str.startswith("too few").any() else "",
        "confusion": _confusion(task, table) if names else None,
        "heads": None if heads is None else _heads(heads),
        "errors": None if errors is None else _errors(errors),
        "words": None if words is None else _words(words),
        "calibration": _calibration(task) if names else None,
        "examples": _examples(table.head(EXAMPLES)),
    }


def _records(table: pd.DataFrame) -> list[Fields]:
    return table.to_dict("records")


def _class(name: str, scores: pd.DataFrame) -> Fields:
    of_class = scores[scores["label"] == name].set_index("measure")
    measures = of_class.loc[["precision", "recall", "F1"]]
    return {"name": name, "n": int(of_class.loc["recall", "n"]), "scores": _records(measures)}


def _confusion(task: Answered, table: pd.DataFrame) -> Fields:
    """Counts of labels and guesses, with the texts of each that is wrong."""
    labels, logits, places = task.kind.counted(task.records, task.labels)
    names, guesses = task.names, logits.argmax(1)
    counts = confusion_table(labels, guesses, names).to_numpy()

    def cell(i: int, j: int) -> Fields:
        n = int(counts[i, j])
        texts = table[table["row"].isin(places[(labels == i) & (guesses == j)])] if n and i != j else None
        return {
            "n": n,
            "share": n / float(counts[i].sum()) if n else 0.0,
            "id": f"cell-{i}-{j}",
            "label": names[i],
            "guess": names[j],
            "texts": None if texts is None else _examples(texts.head(OF_A_CELL)),
            "is_cut": texts is not None and len(texts) > OF_A_CELL,
        }

    cells = [[cell(i, j) for j in range(len(names))] for i in range(len(names))]
    return {"names": names, "counts": cells, "units": "words that " if task.kind.name == "tags" else ""}


def _examples(table: pd.DataFrame) -> Fields:
    columns = [(name, digits) for name, digits in MORE if name in table.columns]
    rows = [
        {
            **{name: r[name] for name in ("row", "label", "guess")},
            "right": bool(r.get("right", True)),
            "more": [pages.number(r[name], digits) for name, digits in columns],
            "text": f"{r['text']} / {r['text_pair']}" if "text_pair" in r else r["text"],
        }
        for r in _records(table)
    ]
    return {"more": [(name, "number") for name, _ in columns], "rows": rows}


def _heads(heads: Heads) -> Fields:
    return {
        "said": heads.said,
        "ablation": ABLATIONS[heads.ablation],
        "unit": "loss, nats" if heads.measure == "loss" else "accuracy",
        "rows": _records(heads.table[heads.table["effect"].notna()]),
    }


def _errors(errors: Errors) -> Fields:
    rows = _records(errors.table)
    return {
        "said": errors.said,
        "wrong_is": errors.wrong_is,
        "slices": _records(errors.slices.head(SLICES)),
        "rows": [{**r, "words": NAMED.sub(lambda name: name[1] + isolate(name[2]), r["words"])} for r in rows],
        "twins": _records(errors.duplicates.head(OF_A_CELL)),
    }


def _words(words: TaskWords) -> Fields:
    """The first rows of each class that raise it, suspects first, each with its texts."""
    raises = words.table[words.table["effect"] > 0].sort_values("suspect", ascending=False, kind="stable")
    shown = raises.groupby("class", sort=False).head(WORDS)

    changes = None if words.changes is None else words.changes.set_index(["class", "kind", "word", "of"])["before"]

    def row(number: int, r: Fields) -> Fields:
        texts = words.cases(r["word"], r["of"])
        r["before"] = None if changes is None else changes.get((r["class"], r["kind"], r["word"], r["of"]), math.nan)
        cases = _examples(texts.head(OF_A_CELL))
        return r | {"id": f"word-{number}", "cases": cases, "is_cut": len(texts) > OF_A_CELL}

    rows = [row(number, r) for number, r in enumerate(_records(shown))]
    return {"said": words.said, "unit": words.unit, "rows": rows, "has_before": changes is not None}


def _calibration(task: Answered) -> list[Fields]:
    table = calibration_table(*task.kind.counted(task.records, task.labels))
    return _records(table[table["n"] > 0])
