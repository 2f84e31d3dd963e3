"""Do frequent tokens send shorter vectors? Kobayashi et al. 2020, over a corpus of any kind."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from tqdm.auto import tqdm

from ..measures import norms
from ..trace.trace import Trace
from .corpus import Corpus, numbered, size, traces_of, windows

if TYPE_CHECKING:
    from ..lens import Lens


def frequency_correlation(
    lens: Lens | None,
    corpus: Corpus,
    ranks: Mapping[int, int] | None = None,
    *,
    batch_size: int = 8,
    truncation: bool = False,
    limit: int | None = None,
    progress: bool = True,
) -> norms.FrequencyCorrelation:
    """Spearman's ρ of frequency rank and mean ‖f(x)‖, one point per occurrence of a token: norms.frequency_correlation.

    ranks: token id -> frequency rank from 1; without it they are counted in the corpus. The rest as for `head_stats`.
    Keeps L + 1 numbers a token; HeadStats.frequency_correlation takes a point per piece and needs no further pass.
    Kobayashi et al. 2020, section 4. Raises InputError like `head_stats`, ModelError where there are no norms.
    """
    texts = numbered(corpus, limit)

    def traces() -> Iterator[Trace]:
        with tqdm(total=size(corpus, limit), unit="text", desc="frequency", disable=not progress) as bar:
            for batch in itertools.chain.from_iterable(windows(texts, batch_size)):
                for trace in traces_of(lens, batch, truncation):
                    bar.update()
                    yield trace

    return norms.frequency_correlation(traces(), ranks)
