"""head_stats: one pass over a corpus, with a progress bar; an interrupt keeps what is done, a later call goes on."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from ..base.batch_work import checkpoints, partial_work
from ..base.progress import Progress
from ..base.shards import Shard
from ..errors import ClusterError, ExportError, InputError, SaveError, check_lens
from ..lens import Lens
from ..trace.provenance import made_with, model_provenance
from ..trace.trace import Trace
from .batch_stats import batch_stats
from .corpus import Corpus, Numbered, digest, numbered, size, windows
from .headstats import HeadStats
from .scale import window_sums
from .survey_shards import ShardBatches
from .text_statistics import Lengths
from .top_texts import TopTexts


def head_stats(
    lens: Lens | None,
    corpus: Corpus,
    *,
    batch_size: int = 8,
    truncation: bool = False,
    limit: int | None = None,
    resume: HeadStats | str | Path | None = None,
    save: str | Path | None = None,
    progress: bool = True,
    client: Any = None,
    texts: bool = True,
    column: str | tuple[str, str] | None = None,
    shard: str | None = None,
) -> HeadStats:
    """Statistics of every head over a corpus, in one pass and in memory that does not grow with it: HeadStats.

    corpus: an iterable of texts, (text, text) pairs, lists of words or Traces; a table (pandas, polars, Arrow, a data
    set of Hugging Face, also a streaming one, {name: column}, .csv, .tsv, .parquet, .json); .jsonl; .conllu and .conll,
    whose words they are; any other file is a text a line; a folder of such files, all of one kind;
    "hf://datasets/OWNER/NAME#SPLIT". Files may be gzipped. column: of a table, two of pairs (default: "text"; "a" and
    "b", or "text" and "text_pair", where they are there); a note says which was taken. lens may be None where the
    corpus holds Traces only.
    truncation: cut texts that are too long for the model, instead of an error. limit: only the first so many texts.
    resume: statistics (or their file) of a run over this corpus that ended early; texts counted then are skipped.
    save: .npz file, written at the end, after an interrupt or error, and every half minute or so, by one run at a time.
    client: workers that share the work: a dask.distributed.Client, or "local" for a cluster on this machine; an
    Executor (ProcessPoolExecutor, joblib's), or a function that makes one, which is called again where a worker has
    died; the module ray, or a list of its actors. The sums are those of one process.
    texts: keep, also in the file, the first 500 characters of the few texts with the highest value of each statistic of
    each head (HeadStats.texts); False for a corpus that nobody else may read.
    shard: "3/32", the third of 32 shares of the corpus, for as many processes that know nothing of each other;
    `survey.merge` makes one of their files. batch_size has to be the same in all.
    An interrupt (Ctrl-C, SIGTERM, or Interrupt in the notebook) ends the run with a warning; what is done is returned.
    Processes that share cores wait for each other's threads, at worst some forty times as long as they work: give each
    its own, or OMP_NUM_THREADS=1.

    Raises InputError for a corpus or text that cannot be read, naming it, an empty one, traces of different models,
    statistics to resume of another model or corpus, a file to save in that is a folder, in none, or that another run
    is writing; SaveError, which holds the statistics, where they cannot be written (a full disk).
    """
    run = SurveyRun(save)
    with checkpoints(save, run.save) as autosave:  # first of all: an unusable file is not found out after hours
        share = None if shard is None else Shard.parse(shard)
        settings = SurveySettings(batch_size, truncation, limit, column, share, texts)
        return _survey(lens, corpus, settings, resume, run, autosave, progress, client)


@dataclass(frozen=True)
class SurveySettings:
    """What is counted of a corpus, and in which batches: arguments of `head_stats`."""

    batch_size: int
    truncation: bool
    limit: int | None
    column: str | tuple[str, str] | None
    shard: Shard | None
    texts: bool  # whether some are kept


class SurveyRun:
    """What a survey has counted so far, and the file that it is saved in, if one was asked for."""

    def __init__(self, path: str | Path | None) -> None:
        self._path, self.stats = path, HeadStats({})

    def save(self) -> None:
        """Save. Raises SaveError, which holds the statistics, where they cannot be saved."""
        stats = self.stats
        if self._path is None or not stats.n_texts:
            return
        try:
            stats.save(self._path)
        except ExportError as error:
            raise SaveError(
                f"{error}. The statistics of {stats.n_texts} texts are not lost: they are in this error's .stats "
                "(in a notebook: import sys; sys.last_value.stats.save(...))",
                stats,
            ) from error


def _survey(
    lens: Lens | None,
    corpus: Corpus,
    settings: SurveySettings,
    resume: HeadStats | str | Path | None,
    run: SurveyRun,
    autosave: Callable[[], None],
    progress: bool,
    client: Any,
) -> HeadStats:
    shard = settings.shard
    if shard is not None and (client is not None or lens is None):
        raise InputError("a shard is of texts, a lens and one process: leave client= out, or shard=")
    texts = numbered(corpus, settings.limit, settings.column)
    if lens is None:
        texts, about = _about_traces(texts)
    else:
        check_lens(lens)
        about = model_provenance(lens.borrowed)
    stats = HeadStats(
        about | {"options": {"truncation": settings.truncation}}, highest=TopTexts() if settings.texts else None
    )
    start = resume if resume is None or isinstance(resume, HeadStats) else HeadStats.load(resume)
    share = None if shard is None else ShardBatches(shard, texts, settings.batch_size, start)
    if start is not None:
        texts = texts if share else _remainder(texts, start)
        stats = stats + start
        stats.ahead = list(start.ahead)
    if share is not None:
        stats.shard = share.record
    total = size(corpus, settings.limit) if progress else None  # lines of a file are counted for the bar alone
    if shard is not None and total is not None:
        total //= shard.of
    with Progress(total=total, initial=stats.n_texts, unit="text", desc="survey", disable=not progress) as bar:
        if client is not None:
            tick = partial(bar.update, 0)
            parts = window_sums(client, lens, stats.provenance, texts, settings.batch_size, settings.truncation, tick)
        else:
            batches = share or itertools.chain.from_iterable(windows(texts, settings.batch_size))
            parts = _batch_sums(lens, stats.provenance, batches, settings.truncation)
        run.stats = stats
        return _count(run, parts, autosave, bar)


def _batch_sums(
    lens: Lens | None, provenance: dict[str, Any], batches: Iterable[list[Numbered]], truncation: bool
) -> Generator[tuple[HeadStats, list[Numbered]], None, None]:
    lengths = Lengths()
    model = None if lens is None else lens.borrowed.fingerprint()
    for batch in batches:
        yield batch_stats(lens, batch, provenance, truncation, lengths, model), batch


def _count(
    run: SurveyRun,
    parts: Generator[tuple[HeadStats, list[Numbered]], None, None],
    autosave: Callable[[], None],
    bar: Any,
) -> HeadStats:
    """The statistics of `run` and those of successive items. Raises ClusterError, which holds what was counted."""
    try:
        report = partial_work(lambda: f"{run.stats.n_texts} texts are counted, head_stats(..., resume=stats) goes on")
        with report, closing(parts):
            for sums, entries in parts:
                # one assignment: an interrupt finds either all of a part counted or nothing
                run.stats = run.stats.with_items(sums, [entry.number for entry in entries])
                bar.update(len(entries))
                autosave()
    except ClusterError as error:
        if not run.stats.n_texts:
            raise
        raise ClusterError(
            f"{error}. {run.stats.n_texts} texts are counted, in this error's .stats: head_stats(..., resume=stats) "
            "goes on",
            run.stats,
        ) from error
    return run.stats


def _remainder(texts: Iterator[Numbered], start: HeadStats) -> Iterator[Numbered]:
    """The items that are not counted yet. Raises InputError where the counted ones are other texts than before."""
    prefix, beyond, remainder = start.n_texts - len(start.ahead), set(start.ahead), []
    checksum = 0
    for entry in itertools.islice(texts, max(start.ahead, default=prefix - 1) + 1):
        if entry.number < prefix or entry.number in beyond:
            checksum += digest(entry.item)
        else:
            remainder.append(entry)
    if checksum % (1 << 64) != start.corpus:
        raise InputError("the statistics to resume are of other texts: give the corpus that they were begun with")
    return itertools.chain(remainder, texts)


def _about_traces(texts: Iterator[Numbered]) -> tuple[Iterator[Numbered], dict[str, Any]]:
    """The provenance of a corpus of traces: that of the first one."""
    entry = next(texts)
    trace = entry.item
    if not isinstance(trace, Trace):
        raise InputError("texts need a lens; only a corpus of traces goes with lens=None")
    about = {"model": trace.model_name, **made_with()}
    return itertools.chain([entry], texts), about | ({} if trace.model is None else model_provenance(trace.model))
