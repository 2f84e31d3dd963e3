"""head_stats: one pass over a corpus, with a progress bar; an interrupt keeps what is done, a later call goes on."""

from __future__ import annotations

import itertools
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tqdm.auto import tqdm

from ..errors import InputError
from ..provenance import made_with, model_provenance
from ..trace import Trace
from .batch import batch_stats
from .corpus import Corpus, Item, Numbered, digest, numbered, size, windows
from .headstats import HeadStats
from .scale import run
from .statistics import Lengths

if TYPE_CHECKING:
    from ..lens import Lens

SAVE_EVERY = 120  # seconds


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
) -> HeadStats:
    """Statistics of every head over a corpus, in one pass and in memory that does not grow with it: HeadStats.

    corpus: an iterable of texts, (text, text) pairs, lists of words or Traces, a Hugging Face dataset with a column
    "text", or a file (a text a line, .jsonl, .conllu, also .gz). lens may be None where the corpus holds Traces only.
    truncation: cut texts that are too long for the model, instead of an error. limit: only the first so many texts.
    resume: statistics (or their file) of a run over this corpus that ended early; texts counted then are skipped.
    save: .npz file, written at the end, after an interrupt or error, and every two minutes.
    client: a dask.distributed Client whose workers share the work, or "local" for a cluster on this machine (see
    survey.scale).
    An interrupt (Ctrl-C, or Interrupt in the notebook) ends the run with a warning; what is done is returned.

    Raises InputError for a corpus or text that cannot be read, naming it, for traces of different models, for
    statistics to resume of another model or corpus, a folder to save in that is not there.
    """
    if save is not None and not Path(save).parent.is_dir():
        raise InputError(f"no folder {Path(save).parent} to save the statistics in: make it first")  # not after hours
    texts = numbered(corpus, limit)
    if lens is None:
        texts, about = _about_traces(texts)
    else:
        about = model_provenance(lens.borrowed)
    stats = HeadStats(about | {"options": {"truncation": truncation}})
    if resume is not None:
        before = resume if isinstance(resume, HeadStats) else HeadStats.load(resume)
        texts = _left(texts, before)
        stats = stats + before
        stats.ahead = list(before.ahead)
    total = size(corpus, limit)
    with tqdm(total=total, initial=stats.n_texts, unit="text", desc="survey", disable=not progress) as bar:
        if client is not None:
            return run(client, lens, stats, texts, batch_size, truncation, save, bar)
        return _run(lens, stats, texts, batch_size, truncation, save, bar)


def _run(
    lens: Lens | None,
    stats: HeadStats,
    texts: Iterator[Numbered],
    batch_size: int,
    truncation: bool,
    save: str | Path | None,
    bar: Any,
) -> HeadStats:
    saved, lengths = time.monotonic(), Lengths()
    try:
        for batch in itertools.chain.from_iterable(windows(texts, batch_size)):
            # one assignment: an interrupt finds either all of a batch counted or nothing
            added = batch_stats(lens, batch, stats.provenance, truncation, lengths)
            stats = stats.with_items(added, [number for number, _ in batch])
            bar.update(len(batch))
            if save is not None and time.monotonic() - saved > SAVE_EVERY:
                stats.save(save)
                saved = time.monotonic()
    except KeyboardInterrupt:
        warnings.warn(
            f"interrupted after {stats.n_texts} texts: these are counted, head_stats(..., resume=stats) goes on",
            stacklevel=3,
        )
    finally:
        if save is not None and stats.n_texts:
            stats.save(save)
    return stats


def _left(texts: Iterator[Numbered], before: HeadStats) -> Iterator[Numbered]:
    """The items that are not counted yet. Raises InputError where the counted ones are other texts than before."""
    first, beyond, left = before.n_texts - len(before.ahead), set(before.ahead), []
    seen = 0
    for number, item in itertools.islice(texts, max(before.ahead, default=first - 1) + 1):
        if number < first or number in beyond:
            seen += digest(item)
        else:
            left.append((number, item))
    if seen % (1 << 64) != before.corpus:
        raise InputError("the statistics to resume are of other texts: give the corpus that they were begun with")
    return itertools.chain(left, texts)


def _about_traces(texts: Iterator[Numbered]) -> tuple[Iterator[Numbered], dict[str, Any]]:
    """The provenance of a corpus of traces: that of the first one."""
    first = next(texts, None)
    if first is None:
        raise InputError("the corpus holds no texts")
    trace: Item = first[1]
    if not isinstance(trace, Trace):
        raise InputError("texts need a lens; only a corpus of traces goes with lens=None")
    about = {"model": trace.model_name, **made_with()}
    return itertools.chain([first], texts), about | ({} if trace.model is None else model_provenance(trace.model))
