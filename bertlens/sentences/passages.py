"""Passages in the order in which a model finds that they answer a query."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from ..base.batch_work import partial_work
from ..base.progress import bar
from ..base.ranking import is_nothing
from ..errors import check_batch, check_lens, check_number
from ..model.fingerprint import Fingerprint
from .cross_scores import CrossScores, check_finite_scores, cross_scores
from .encoders import WINDOW, SentenceEncoder, SentenceLens
from .late_interaction import LateSimilarity
from .pair_similarity import similarity_of
from .similarity_matrix import check_texts, note_cuts
from .text_pair import Side

if TYPE_CHECKING:
    from .ranking_table import Ranking

TASKS = ("query", "document")
WORDS = 3  # of a passage that are named


def rank(
    lens: SentenceLens,
    query: str,
    passages: Iterable[str] | Path,
    *,
    explained: int = 5,
    batch_size: int = 32,
    progress: bool = True,
    column: str | None = None,
) -> Ranking:
    """Ranking(rank, passage, score, words), a DataFrame, the best first: passages by the model's own score for a query.

    An interrupt (Ctrl-C, or Interrupt in the notebook) ends it with a warning: the ranking is of the passages that were
    done, the first ones of those given. progress: a bar once it has taken two seconds.

    passages, column: as the texts of `lens.encode`. The query is encoded as a "query" and passages as "document"; a
    cross-encoder reads each pair as one input. words: of the first `explained` passages the words that put most into
    the score, by the split that its pooling has (see `Similarity.of`); "" where it has none.
    rank counts from 1, the index is the passage's place in what was given; `.explore()` is the list as a view.
    Of one score of a cross-encoder the larger logit is first.
    Raises ModelError for a cross-encoder of several labels and for scores that are no numbers, InputError like
    `lens.encode`.
    """
    from .ranking_table import Ranking

    check_lens(lens)
    encoder, texts = lens.sentences, check_texts(passages, "passages", column)
    explained = check_number(explained, "explained is of how many passages to name words,", 0)
    batch_size = check_batch(batch_size)
    check_texts([query], "query")
    model = lens.borrowed.fingerprint()
    if isinstance(encoder, SentenceEncoder) and encoder.crosses:
        note_cuts(lens, texts, query=query)
    else:
        note_cuts(lens, texts, TASKS[1])
    scores, logits = _scores(lens, query, texts, batch_size, progress)
    order = np.lexsort([-x.double().cpu().numpy() for x in (logits, scores)]).tolist()
    words = [""] * len(order)
    place = 0
    with partial_work(lambda: f"words are named of {place} passages"):
        side = None if encoder.crosses or not explained else Side.of(lens, query, TASKS[0], model)
        for place, at in enumerate(order[:explained]):
            words[place] = "" if side is None else _words(side, texts[at], model)
    columns = {"rank": range(1, len(order) + 1), "passage": [texts[at] for at in order]}
    table = Ranking({**columns, "score": scores[order].float().cpu().numpy(), "words": words}, index=order)
    table.lens, table.query_text, table.model = lens, query, model
    return table


def _scores(lens: SentenceLens, query: str, texts: list[str], batch_size: int, progress: bool) -> tuple[Tensor, Tensor]:
    """(N,) the score of each passage, and of a cross-encoder its logit, else the score again; of the first ones alone,
    with a warning, where Ctrl-C came before the end."""
    encoder = lens.sentences
    crosses = isinstance(encoder, SentenceEncoder) and encoder.crosses
    vector = None if crosses else lens.encode([query], TASKS[0])
    scores: list[CrossScores] = []

    def told() -> str:
        size = sum(len(window.scores) for window in scores)
        return f"ranked are the first {size:,} of {len(texts):,} passages" if size else ""

    with bar(len(texts), "passage", "passages", progress) as progress_bar, partial_work(told):
        for start in range(0, len(texts), WINDOW * batch_size):
            passages = texts[start : start + WINDOW * batch_size]
            if isinstance(encoder, SentenceEncoder) and crosses:
                pairs = [(query, passage) for passage in passages]
                scores.append(cross_scores(encoder, pairs, batch_size, lens.model_name))
            else:
                vectors = encoder.encode(passages, TASKS[1], None, batch_size, False)
                similarities = encoder.similarity(vector, vectors)[0]
                check_finite_scores(similarities, lens.model_name)
                scores.append(CrossScores(similarities, similarities))
            progress_bar.update(len(passages))
    return torch.cat([window.scores for window in scores]), torch.cat([window.logits for window in scores])


def _words(query: Side, passage: str, model: Fingerprint) -> str:
    """The words of a passage that put most into its score, most first."""
    pair = similarity_of(query.lens, (query, Side.of(query.lens, passage, TASKS[1], model)), model)
    if not (isinstance(pair, LateSimilarity) or pair.of in pair.splits):
        return ""
    terms = pair.tokens("b", words=True, own=True)
    return ", ".join(word for word, term in terms.nlargest(WORDS).items() if not is_nothing(max(0, term), pair.value))
