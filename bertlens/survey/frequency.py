"""Do frequent tokens send shorter vectors? Kobayashi et al. 2020, over a corpus of any kind."""

from __future__ import annotations

from collections.abc import Mapping

from ..lens import Lens
from ..measures import norms
from .corpus import Corpus, traces


def frequency_correlation(
    lens: Lens | None,
    corpus: Corpus,
    ranks: Mapping[int, int] | None = None,
    *,
    batch_size: int = 8,
    truncation: bool = False,
    limit: int | None = None,
    progress: bool = True,
    column: str | tuple[str, str] | None = None,
) -> norms.FrequencyCorrelation:
    """Spearman's ρ of frequency rank and mean ‖f(x)‖, one point per occurrence of a token: norms.frequency_correlation.

    ranks: token id -> frequency rank from 1; without it they are counted in the corpus. The rest as for `head_stats`.
    Keeps L + 1 numbers a token; HeadStats.frequency_correlation takes a point per piece and needs no further pass.
    Kobayashi et al. 2020, section 4. Raises InputError like `head_stats`, ModelError where there are no norms.
    """
    every_trace = traces(lens, corpus, "frequency", batch_size, truncation, limit, progress, column)
    return norms.frequency_correlation(every_trace, ranks)
