"""The command `bertlens retrieval`: reads, ranks, writes a page or a table, and checks against an earlier run."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..base.atomic import replacing, text_file
from ..base.outputs import check_outputs, sign
from ..errors import InputError
from ..export.arrays import inert
from ..lens import Lens
from . import metrics, paired, parquet_file
from .reading import texts
from .retrieval_run import Retrieval, retrieval
from .search_page import page

if TYPE_CHECKING:
    import pandas as pd

HEAD = ["query", "question"]  # the first columns of a table
KINDS = (".html", ".csv", ".parquet", ".json")


def run(
    load: Callable[[], Lens],
    corpus: Path,
    output: Path,
    *,
    queries: Path | None = None,
    relevance: Path | None = None,
    in_order: bool = False,
    load_first: Callable[[], Lens] | None = None,
    check: Path | None = None,
    force: bool = False,
    **options: Any,
) -> int:
    """The exit status: 0, or 1 where a measure fell against `check`, the numbers of an earlier run.

    in_order: questions are numbered 1, 2, … as they come, whatever ids they have. load_first: the model of the first
    stage. options: as of `retrieval`. Beside a page or a table stand the numbers that a later `check` takes.
    Raises InputError for what is wrong with the arguments, before a model is loaded where that can be.
    """
    kind = output.suffix.lower()
    if kind not in KINDS:
        raise InputError(f"a retrieval is written as one of {', '.join(KINDS)}: {output.name} is none of them")
    if in_order and queries is None:
        raise InputError("--in-order numbers the questions of a file: name it by --queries")
    numbers = output if kind == ".json" else output.with_name(f"{output.stem}-numbers.json")
    inputs = [corpus, queries, relevance, check]
    is_table = kind in (".csv", ".parquet")
    check_outputs("retrieval", [output], inputs, force=force, is_earlier=_is_table if is_table else None)
    check_outputs("retrieval", [numbers], inputs, force=force)
    if check is not None:
        paired.record_of(check)
    questions = texts(queries) if in_order else queries
    first_stage = None if load_first is None else load_first()
    search = retrieval(load(), questions, corpus, relevance, first_stage=first_stage, **options)
    if kind != ".html":
        search.metrics()  # refuses a collection without judgements
    comparison = None if check is None else search.against(check)
    quality = f"{len(search.collection.queries):,} questions, none of them judged"
    if search.collection.judged:
        search.save(numbers)
        quality = metrics.sentence(search.metrics())
    if kind == ".html":
        text_file(page(search), output)
        sign(output, "retrieval")
    elif is_table:
        _write(question_table(search), output)
    print(f"{output}: {search.lens.model_name}. {quality}")
    if comparison is None:
        return 0
    fell = bool(comparison["falls"].any())
    print(f"Against {check}: {paired.sentence(comparison)}", file=sys.stderr if fell else sys.stdout)
    return int(fell)


def question_table(search: Retrieval) -> pd.DataFrame:
    """A row a judged question: query, question, the measures, those of BM25, and of a failure wrong, right, …, kind."""
    import pandas as pd

    collection = search.collection
    now = search.by_question
    by_words = metrics.by_question(search.bm25_lists, collection).add_prefix("BM25 ")
    questions = dict(zip(collection.query_ids, collection.queries, strict=True))
    head = pd.DataFrame({HEAD[1]: [questions[name] for name in now.index]}, index=now.index)
    return (
        pd.concat([head, now, by_words, search.failures().set_index("query")], axis=1)
        .rename_axis("query")
        .reset_index()
    )


def _write(table: pd.DataFrame, path: Path) -> None:
    if path.suffix.lower() == ".parquet":
        parquet_file.write(table, path)
        return
    with replacing(path) as out:
        plain = table.map(lambda cell: inert(cell) if isinstance(cell, str) else cell)
        out.write(plain.to_csv(index=False, lineterminator="\r\n").encode("utf-8", "replace"))


def _is_table(path: Path) -> bool:
    """Whether a file is a table of this command, by its first columns."""
    if path.suffix.lower() == ".csv":
        with path.open("rb") as file:
            return file.readline().startswith(",".join(HEAD).encode())
    try:
        from pyarrow import ArrowException
        from pyarrow.parquet import read_schema
    except ImportError:
        return False
    try:
        return list(read_schema(path).names[: len(HEAD)]) == HEAD
    except (OSError, ArrowException):
        return False
