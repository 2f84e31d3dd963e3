"""The statistics of a batch of texts: what one process, or one worker of a cluster, does at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..errors import InputError
from ..model.borrowed import checked_once
from ..model.fingerprint import Fingerprint
from .corpus import Numbered, traces_of
from .headstats import HeadStats
from .text_statistics import Lengths, text_statistics

if TYPE_CHECKING:
    from ..lens import Lens


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
    for entry, trace in zip(batch, traces_of(lens, batch, truncation, model), strict=True):
        try:
            with checked_once():
                stats.add(trace, text_statistics(trace, lengths), entry.item, entry.number)
        except InputError as error:
            raise InputError(f"{entry}: {error}") from None
    return stats
