"""The command `bertlens retrieval`: reads, ranks, writes a page or a table, and checks against an earlier run."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from ..base.arrays_file import about_of
from ..base.atomic import text_file
from ..base.dataframes import pd
from ..base.outputs import check_apart, check_outputs, sign
from ..base.shards import Shard
from ..errors import InputError, check_number
from ..export import table_file
from ..lens import Lens
from ..trace.provenance import model_provenance, short_provenance
from . import metrics, paired, vector_shards
from .hard_negatives import check_ending
from .ranking_heads import FEWEST
from .reading import collection, texts
from .retrieval_run import Retrieval, retrieval
from .search_page import page

HEAD = ["query", "question"]  # the first columns of a table
TRIPLET = ["anchor", "positive", "negative"]
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
    hard_negatives: Path | None = None,
    negatives: int = 5,
    probe: bool = False,
    heads: bool = False,
    layers: bool = False,
    dimensions: bool = False,
    shard: str | None = None,
    force: bool = False,
    **options: Any,
) -> int:
    """The exit status: 0, or 1 where a measure fell against `check`, the numbers of an earlier run.

    in_order: questions are numbered 1, 2, … as they come, whatever ids they have. load_first: the model of the first
    stage. shard: instead of all this the vectors of a share of the passages, see `vector_shards`. hard_negatives: a
    file for triplets with so many `negatives` of a question. probe, heads, layers, dimensions: whether
    their tables stand on the page.
    options: as of `retrieval`. Beside a page or a table stand the numbers that a later `check` takes.
    Raises InputError for what is wrong with the arguments, before a model is loaded where that can be.
    """
    kind = output.suffix.lower()
    if shard is not None:
        share = Shard.parse(shard)
        if kind != ".npz":
            raise InputError(f"a shard of vectors is written as .npz: {output.name} is none")
        check_outputs("retrieval", [output], [corpus], force=force, is_earlier=lambda path: bool(about_of(path)))
        lens = load()
        names = {name: options[name] for name in ("column", "document")}
        passages = collection(queries, corpus, relevance, **names).passages
        names = {name: options[name] for name in ("int8", "batch_size")}
        count = vector_shards.run_shard(lens, passages, output, share, **names)
        print(f"{output}: shard {share}, vectors of {count:,} passages, {lens.model_name}")
        return 0
    if kind not in KINDS:
        raise InputError(f"a retrieval is written as one of {', '.join(KINDS)}: {output.name} is none of them")
    asked = {"probe": probe, "heads": heads, "layers": layers, "dimensions": dimensions}
    if any(asked.values()) and kind != ".html":
        raise InputError(
            "--probe, --heads, --layers and --dimensions stand on a page: name a file that ends in .html, not "
            f"{output.name}"
        )
    if in_order and queries is None:
        raise InputError("--in-order numbers the questions of a file: name it by --queries")
    numbers = output if kind == ".json" else output.with_name(f"{output.stem}-numbers.json")
    inputs = [corpus, queries, relevance, check]
    is_earlier = partial(table_file.begins, HEAD) if kind in (".csv", ".parquet") else None
    check_outputs("retrieval", [output], inputs, force=force, is_earlier=is_earlier)
    others = [output, numbers]
    for file, option in ((hard_negatives, "--hard-negatives"), (options.get("keep"), "--vectors")):
        if isinstance(file, Path):
            if file.resolve() in [other.resolve() for other in others]:
                raise InputError(f"{file} is written already: name another file for {option}")
            check_apart(file, inputs)
            others.append(file)
    if hard_negatives is not None:
        negatives = check_number(negatives, "--negatives is how many of a question to take,", 1)
        is_earlier = partial(table_file.begins, TRIPLET)
        check_outputs("retrieval", [check_ending(hard_negatives)], inputs, force=force, is_earlier=is_earlier)
    check_outputs("retrieval", [numbers], inputs, force=force)
    if check is not None:
        paired.record_of(check)
    questions = texts(queries) if in_order else queries
    if heads:
        names = {name: options.get(name) for name in ("column", "document")}
        judged = len(collection(questions, corpus, relevance, **names).judged)
        if judged < FEWEST:
            raise InputError(f"{judged} judged questions are too few for --heads: at least {FEWEST}; leave --heads out")
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
        tables: dict[str, Any] = {name: getattr(search, name)() for name, wanted in asked.items() if wanted}
        text_file(page(search, **tables), output)
        sign(output, "retrieval")
    elif kind != ".json":
        table_file.write(question_table(search), output)
    print(f"{output}: {search.lens.model_name}. {quality}")
    if hard_negatives is not None:
        mined = search.hard_negatives(negatives)
        print(f"{mined.save(hard_negatives)}: {mined.said}")
    if comparison is None:
        return 0
    fell = bool(comparison["falls"].any())
    print(f"Against {check}: {paired.sentence(comparison)}", file=sys.stderr if fell else sys.stdout)
    return int(fell)


def question_table(search: Retrieval) -> pd.DataFrame:
    """A row a judged question: query, question, the measures, those of BM25, and of a failure wrong, right, …, kind.

    `attrs`: "provenance" of the model, and "units" of the measures.
    """
    collection = search.collection
    now = search.by_question
    by_words = metrics.by_question(search.bm25_lists, collection).add_prefix("BM25 ")
    questions = dict(zip(collection.query_ids, collection.queries, strict=True))
    head = pd.DataFrame({HEAD[1]: [questions[name] for name in now.index]}, index=now.index)
    table = pd.concat([head, now, by_words, search.failures().set_index("query")], axis=1)
    table = table.rename_axis("query").reset_index()
    units = dict.fromkeys([*now, *by_words], "0 to 1")
    table.attrs = {"provenance": short_provenance(model_provenance(search.lens.borrowed)), "units": units}
    return table
