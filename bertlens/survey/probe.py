"""How much of a sentence's tree do all heads know together? A probe whose only inputs are attention weights.

After Clark et al. 2019, section 5: p(i is the head of j) ∝ exp Σ_k (w_k α^k_ij + u_k α^k_ji) over all heads k. Words
are merged as in `survey.relation_scores`. Unlike theirs, the root is not asked for, and all sentences train at once.
"""

from __future__ import annotations

import itertools

import numpy as np
import torch
from torch import Tensor

from ..base.dataframes import pd
from ..base.notes import note
from ..errors import InputError, check_lens
from ..lens import Lens
from .corpus import check_limit
from .syntax import word_attention
from .treebank import ROOT, Sentence, Treebank, read_treebank

STEPS = 60
DECAY = 1e-3
LONGEST = 60  # words: a longer sentence would weigh more than all others together
LEFT_OUT = ("punct", "root")


def attention_probe(lens: Lens, treebank: Treebank, *, limit: int | None = None) -> pd.DataFrame:
    """How many words' heads a probe on attention finds: DataFrame(sentence, words, probe, next, previous), a row each.

    probe: words of the sentence whose head is found by a probe that was trained on the other half of the sentences
    (every second one); next, previous: those whose head is the word behind, or before. words: those that count, all but
    punctuation and roots. Sentences of more than 60 words, and those that are too long for the model, are left out.
    limit: only the first so many sentences. Clark et al. 2019, section 5 and table 3 (theirs: Penn Treebank, roots
    count). Raises InputError for what is no treebank, and for fewer than two sentences.
    """
    check_lens(lens)
    sentences = list(itertools.islice(read_treebank(treebank), check_limit(limit)))
    triples = [
        (number, sentence, features)
        for number, sentence in enumerate(sentences)
        if len(sentence) <= LONGEST and (features := _features(lens, sentence)) is not None
    ]
    if len(triples) < len(sentences):
        note(
            f"{len(sentences) - len(triples):,} of {len(sentences):,} sentences are left out: longer than {LONGEST} "
            "words or than the model reads, or without a word that counts"
        )
    if len(triples) < 2:
        raise InputError("a probe takes two sentences and more, of 60 words at most")
    halves = [triples[0::2], triples[1::2]]
    weights = [_fit([(features, sentence) for _, sentence, features in half]) for half in halves]
    rows = []
    for at, half in enumerate(halves):
        for number, sentence, features in half:
            words, heads = _scored_words(sentence)
            guess = _scores(features, words, weights[1 - at]).argmax(-1).numpy()
            rows.append(
                {
                    "sentence": number,
                    "words": len(words),
                    "probe": int((guess == heads).sum()),
                    "next": int((heads == words + 1).sum()),
                    "previous": int((heads == words - 1).sum()),
                }
            )
    return pd.DataFrame(rows).sort_values("sentence", ignore_index=True)


def _features(lens: Lens, sentence: Sentence) -> Tensor | None:
    """(n, n, 2·L·H) float32 for word j (first axis) and its possible head i: α_ji and α_ij of each head.

    None for a sentence that is too long for the model, or of which no word counts.
    """
    if not len(_scored_words(sentence)[0]):
        return None
    trace = lens.trace_words(sentence.words, truncation=True)
    if trace.report.truncated:
        return None
    layers = range(trace.n_layers)
    alpha = torch.cat([word_attention(trace, layer, len(sentence)) for layer in layers]).nan_to_num(0).cpu()
    return torch.cat([alpha, alpha.transpose(1, 2)]).permute(1, 2, 0).float()


def _scored_words(sentence: Sentence) -> tuple[np.ndarray, np.ndarray]:
    """The words that count, and their heads."""
    heads, names = np.array(sentence.heads), [name.split(":")[0] for name in sentence.relations]
    words = np.flatnonzero([head != ROOT and name not in LEFT_OUT for head, name in zip(heads, names, strict=True)])
    return words, heads[words]


def _scores(features: Tensor, words: np.ndarray, weights: Tensor) -> Tensor:
    """(words, n) of every possible head; a word is not its own."""
    itself = torch.zeros(len(words), len(features), dtype=torch.bool, device=features.device)
    itself[torch.arange(len(words), device=features.device), torch.from_numpy(words).to(features.device)] = True
    return (features[words] @ weights).masked_fill(itself, -torch.inf)


def _fit(sentences: list[tuple[Tensor, Sentence]]) -> Tensor:
    """(2·L·H,) weights of the largest likelihood, less a little for their size (the problem is convex)."""
    examples = [(features, *_scored_words(sentence)) for features, sentence in sentences]
    weights = torch.zeros(examples[0][0].shape[-1], device=examples[0][0].device, requires_grad=True)
    count = sum(len(heads) for _, _, heads in examples)
    search = torch.optim.LBFGS([weights], max_iter=STEPS, line_search_fn="strong_wolfe")

    def loss() -> Tensor:
        search.zero_grad()
        total = DECAY * weights.square().sum()
        for features, words, heads in examples:
            scores = _scores(features, words, weights)
            total = total + torch.nn.functional.cross_entropy(scores, torch.from_numpy(heads), reduction="sum") / count
        total.backward()
        return total

    with torch.enable_grad():
        search.step(loss)
    return weights.detach()
