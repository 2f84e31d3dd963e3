"""The statistics of a batch of texts: what one process, or one worker of any engine, does at a time."""

from __future__ import annotations

from functools import cache
from itertools import chain
from typing import Any

from ..errors import InputError, check_lens
from ..lens import Lens
from ..model.borrowed import checked_once
from ..model.fingerprint import Fingerprint
from ..trace.provenance import model_provenance
from .corpus import Corpus, Numbered, numbered, traces_of, windows
from .headstats import HeadStats
from .text_statistics import Lengths, text_statistics
from .top_texts import TopTexts


def batch_stats(
    lens: Lens | None,
    batch: list[Numbered],
    provenance: dict[str, Any],
    truncation: bool,
    lengths: Lengths,
    model: Fingerprint | None = None,
) -> HeadStats:
    """The statistics of one batch alone. model: as for `traces_of`."""
    stats = HeadStats(provenance)
    traces = list(traces_of(lens, batch, truncation, model))  # after which no code of the user's runs
    with checked_once():
        for entry, trace in zip(batch, traces, strict=True):
            try:
                stats.add(trace, text_statistics(trace, lengths), entry.item, entry.number)
            except InputError as error:
                raise InputError(f"{entry}: {error}") from None
    return stats


def batch_sums(
    lens: Lens | str,
    texts: Corpus,
    *,
    batch_size: int = 8,
    truncation: bool = False,
    column: str | tuple[str, str] | None = None,
    top_texts: bool = True,
) -> HeadStats:
    """The statistics of some texts of a corpus, for an engine that takes a function: HeadStats, which `sum` adds.

    A function of a module, so that it is sent by its name: `functools.partial(batch_sums, "folder/of/model")` goes to
    any process. lens: a Lens, or the name of a model, which each process loads once; "embedded" for the one that comes
    along. texts, column: as for `head_stats`: a list or an iterator, or columns by name, as Ray Data's `map_batches`
    and `datasets.map` hand them over; Dask bags and joblib hand over lists. An interrupt is raised, nothing is caught.
    Texts run in windows of 8 · batch_size, sorted by length: with as many texts at a time (or several times as many)
    the numbers are those of `head_stats`, to the last digits. Places of `HeadStats.texts` are -1.
    top_texts: keep the texts with the highest values (`texts` of `head_stats`). Errors as of `head_stats`.
    """
    lens = _loaded(lens) if isinstance(lens, str) else lens
    check_lens(lens)
    about = model_provenance(lens.borrowed) | {"options": {"truncation": truncation}}
    total, lengths = HeadStats(about, highest=TopTexts() if top_texts else None), Lengths()
    for batch in chain.from_iterable(windows(numbered(texts, column=column), batch_size)):
        total = total + batch_stats(lens, batch, about, truncation, lengths)
    if total.highest is not None:
        highest = total.highest.texts
        highest |= {key: text._replace(place=-1) for key, text in highest.items()}
    return total


@cache
def _loaded(name: str) -> Lens:
    return Lens.embedded() if name == "embedded" else Lens.from_pretrained(name)
