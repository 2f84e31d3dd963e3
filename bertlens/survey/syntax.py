"""Do heads find grammatical relations? Each head as a parser that is right or wrong word by word.

A head predicts, for every word, the other word that this one attends to most (direction "dep->head"), or that attends
to it most ("head->dep"); [CLS], [SEP] and the word itself are out of the race. After Clark et al. 2019, section 4.2.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..base.amounts import amount, verb
from ..base.dataframes import pd
from ..base.limits import TEXT_CHARACTERS
from ..base.progress import Progress
from ..errors import InputError, SelectionError, check_lens, check_number, check_seed, excerpt
from ..lens import Lens
from ..measures.significance import share_interval
from ..trace.trace import Trace
from . import corpus
from .treebank import ROOT, Sentence, Treebank, read_treebank

DIRECTIONS = ("dep->head", "head->dep")
ROWS = ("mean", "first", "max")
NONE = -2  # no prediction: the only word, or one of which the tokenizer made no token
OFFSETS = 10
POSSESSIVE = "nmod:poss+'s"
FEWEST_WORDS = 20  # words that a relation needs for a best head


def word_attention(trace: Trace, layer: int, n_words: int, rows: str = "mean") -> Tensor:
    """(H, n, n) float64 attention among the n_words words of a trace made by trace_words; rows sum to 1 less what goes
    to special tokens.

    Columns of a word's pieces are summed; its rows averaged ("mean"), or the first piece's alone ("first"), or the
    largest of them, scaled so that the whole row sums to 1 ("max", as Clark's released code has it). A word without
    pieces has a row and column of NaN. Clark et al. 2019, section 4.1.
    Raises SelectionError for other `rows`, InputError for a trace of more words.
    """
    _check_rows(rows)
    n_words = check_number(n_words, "n_words is how many words the sentence has,", 1, TEXT_CHARACTERS)
    if any(word is not None and word >= n_words for word in trace.word_ids):
        raise InputError("the trace is of other words than the sentence: use lens.trace_words(sentence.words)")
    alpha = trace.attention(layer).double()
    pieces = alpha.new_zeros(trace.n_tokens, n_words)
    starts = [trace.n_tokens] * n_words
    for position, word in enumerate(trace.word_ids):
        if word is not None:
            pieces[position, word] = 1
            starts[word] = min(starts[word], position)
    keys = alpha @ pieces  # (H, S, n)
    places = [word for word in range(n_words) if starts[word] < trace.n_tokens]
    words = alpha.new_full((len(alpha), n_words, n_words), torch.nan)
    if rows == "mean":
        merged = (pieces[:, places] / pieces[:, places].sum(0)).T @ keys
    elif rows == "first":
        merged = keys[:, [starts[word] for word in places]]
    else:
        everything = torch.cat([keys, alpha[:, :, trace.special_mask]], -1)
        maxima = [everything[:, pieces[:, word] > 0].amax(1) for word in places]
        merged = torch.stack([row[:, :n_words] / row.sum(-1, keepdim=True) for row in maxima], 1)
    index = torch.tensor(places, device=alpha.device)
    words[:, index[:, None], index] = merged[:, :, index]
    return words


def _check_rows(rows: str) -> None:
    if rows not in ROWS:
        raise SelectionError(f"no way {excerpt(rows)} to merge the rows of a word: there are {', '.join(ROWS)}")


def predicted_words(attention: Tensor) -> Tensor:
    """(2, H, n) which word each head predicts for each word in each of DIRECTIONS, from word attention (H, n, n).

    NONE where there is no other word, or no token. Equal weights: the word that stands first.
    """
    attention = attention.masked_fill(
        torch.eye(attention.shape[-1], dtype=torch.bool, device=attention.device), -1
    ).nan_to_num(-1)
    weights = torch.stack([attention, attention.transpose(1, 2)])
    return torch.where(weights.amax(-1) < 0, NONE, weights.argmax(-1))


@dataclass(frozen=True)
class Decisions:
    """What every head predicted for every word of a treebank. N words, L layers, H heads."""

    correct: np.ndarray  # (N, 2, L, H) bool, by DIRECTIONS
    by_mark: np.ndarray  # (N, 2, L, H) bool: the same of what the word after it predicts, for this word's head
    relation: np.ndarray  # (N,) full names
    sentence: np.ndarray  # (N,) number of the word's sentence
    position: np.ndarray  # (N,) in the sentence, from 0
    head: np.ndarray  # (N,) in the sentence, ROOT for the root
    length: np.ndarray  # (N,) words of the sentence
    possessor: np.ndarray  # (N,) bool: nmod:poss, followed by its mark
    rows: str  # see `word_attention`
    skipped: int  # sentences that were too long for the model

    @property
    def n_sentences(self) -> int:
        """Sentences that have a word counted."""
        return len(np.unique(self.sentence))

    def members(self) -> Iterator[tuple[str, np.ndarray]]:
        """The relations, as (name, (N,) bool which words count), in order of frequency.

        ALL, ALL_nopunct (without punct and root), full names, names before the ":" (with all their subtypes).
        """
        folded = np.array([full.split(":")[0] for full in self.relation])
        names = {*self.relation.tolist(), *folded.tolist()}
        masks = {name: folded == name if ":" not in name else self.relation == name for name in names}
        yield "ALL", np.ones(len(self.relation), dtype=bool)
        yield "ALL_nopunct", ~np.isin(folded, ["punct", "root"])
        yield from sorted(masks.items(), key=lambda item: (-item[1].sum(), item[0]))
        if (self.relation == "nmod:poss").any():
            yield POSSESSIVE, self.relation == "nmod:poss"

    def counted(self, name: str) -> np.ndarray:
        """(N, 2, L, H) bool what is right for a relation (name): in the possessive row what a possessor's mark
        predicts for it."""
        if name != POSSESSIVE:
            return self.correct
        return np.where(self.possessor[:, None, None, None], self.by_mark, self.correct)

    def scores(self) -> pd.DataFrame:
        """See `relation_scores`."""
        tables = []
        _, _, layers, heads = self.correct.shape
        direction, layer, head = np.indices((2, layers, heads)).reshape(3, -1)
        for name, member in self.members():
            offset, strict, clamped = self._baseline(member)
            table = pd.DataFrame({"relation": name, "direction": np.array(DIRECTIONS)[direction]})
            table["layer"], table["head"] = layer, head
            table["accuracy"] = self.counted(name)[member].mean(0).ravel()
            table["n"], table["offset"] = int(member.sum()), offset
            table["offset_accuracy"], table["offset_accuracy_clamped"] = strict, clamped
            tables.append(table)
        joined = pd.concat(tables, ignore_index=True)
        joined.attrs = {"rows": self.rows, "sentences": self.n_sentences, "too_long": self.skipped}
        return joined

    def best_heads(self, samples: int = 1000, seed: int = 0, least: int = FEWEST_WORDS) -> pd.DataFrame:
        """The best head and direction of each relation of at least `least` words in two sentences and more.

        DataFrame(relation, direction, layer, head, accuracy, low, high, stable, n, offset, offset_accuracy,
        offset_accuracy_clamped), n and the last three as `relation_scores`. The head named is the best of all
        sentences. As the best of 2·L·H is flattered by the words it was chosen on, accuracy is held out: the sentences
        are split in two by `seed`, the best head of each half is counted on the other one, and every word counts once.
        It is the accuracy of a head chosen on half the sentences, a little below what the head named has elsewhere.
        low, high: 95 % for the accuracy that the head named has on other such sentences, `intervals.share_interval`
        over sentences: low is of the held-out words, high the higher one of these and
        of the head named on all sentences, so that the choice is inside. stable: share of `samples` bootstrap draws of
        whole sentences in which the same head was the best again. The fixed offset is the best of 20 on all sentences.
        Raises InputError for a `samples`, `seed` or `least` that is no such number.
        """
        least = check_number(least, "least is how many words a relation has,", 1)
        samples = check_number(samples, "samples is how many draws to take,", 1, 10**6)
        random = np.random.default_rng(check_seed(seed))
        sentences, sentence_of = np.unique(self.sentence, return_inverse=True)
        turn = random.permutation(len(sentences))  # those of a relation go to one half and to the other by turns
        draws = random.multinomial(len(sentences), np.full(len(sentences), 1 / len(sentences)), samples)
        draws = draws.astype(np.float32)
        shape, rows = self.correct.shape[1:], []
        for name, member in self.members():
            if member.sum() < least or not self.counted(name)[member].any():  # roots are never right
                continue
            # per sentence: how often each head is right, and how many such words there are
            words = np.bincount(sentence_of[member], minlength=len(sentences)).astype(np.float32)
            having = turn[words[turn] > 0]
            if len(having) < 2:
                continue
            right = np.zeros((len(sentences), int(np.prod(shape))), dtype=np.float32)
            np.add.at(right, sentence_of[member], self.counted(name)[member].reshape(-1, right.shape[1]))
            best = int(right.sum(0).argmax())
            hits = held_out(right[having], np.arange(len(having)) % 2 == 0)
            low, high = share_interval(hits, words[having])
            _, flattered = share_interval(right[having, best], words[having])
            occurs = draws @ words
            accuracies = (draws @ right)[occurs > 0] / occurs[occurs > 0, None]
            direction, layer, head = np.unravel_index(best, shape)
            offset, strict, clamped = self._baseline(member)
            rows.append(
                {
                    "relation": name,
                    "direction": DIRECTIONS[direction],
                    "layer": int(layer),
                    "head": int(head),
                    "accuracy": float(hits.sum() / words.sum()),
                    "low": low,
                    "high": max(high, flattered),
                    "stable": float((accuracies.argmax(1) == best).mean()),
                    "n": int(member.sum()),
                    "offset": offset,
                    "offset_accuracy": strict,
                    "offset_accuracy_clamped": clamped,
                }
            )
        return pd.DataFrame(rows)

    def _baseline(self, member: np.ndarray) -> tuple[int, float, float]:
        """The best fixed offset, its accuracy, and the best accuracy of clamped ones (see `relation_scores`)."""
        position, gold, length = (values[member] for values in (self.position, self.head, self.length))
        ks = sorted((k for k in range(-OFFSETS, OFFSETS + 1) if k), key=lambda k: (abs(k), -k))
        strict = [float(((position + k == gold) & (gold != ROOT)).mean()) for k in ks]
        clamped = [float((np.clip(position + k, ROOT, length - 1) == gold).mean()) for k in ks]
        best = int(np.argmax(strict))
        return ks[best], strict[best], max(clamped)


def held_out(right: np.ndarray, half: np.ndarray) -> np.ndarray:
    """(m,) how many words of each sentence are found by the head that was chosen on the other half of the sentences.

    right: (m, heads) words that each head finds; half: (m,) bool, neither half empty. Equal heads: the first.
    """
    heads = [int(right[side].sum(0).argmax()) for side in (half, ~half)]
    return np.where(half, right[:, heads[1]], right[:, heads[0]])


def decide(
    lens: Lens,
    treebank: Treebank,
    *,
    rows: str = "mean",
    limit: int | None = None,
    progress: bool = True,
) -> Decisions:
    """Run a treebank through the model and keep whether each head is right about each word: Decisions.

    rows, limit: as for `relation_scores`, and it raises like it. Takes 4 L·H bytes a word.
    """
    _check_rows(rows)
    check_lens(lens)
    limit = corpus.check_limit(limit)
    correct, by_mark, words, skipped = [], [], [], 0
    total = corpus.size(treebank, limit) if progress and isinstance(treebank, str | Path) else limit
    with Progress(total=total, unit="sentence", desc="syntax", disable=not progress) as bar:
        for number, sentence in enumerate(read_treebank(treebank)):
            if number == limit:
                break
            bar.update()
            trace = _trace(lens, sentence)
            if trace is None:
                skipped += 1
                continue
            maps = (word_attention(trace, layer, len(sentence), rows) for layer in range(trace.n_layers))
            guess = torch.stack([*map(predicted_words, maps)], 1).permute(3, 0, 1, 2).cpu().numpy()  # (n, 2, L, H)
            heads = np.array(sentence.heads)[:, None, None, None]
            correct.append(guess == heads)
            next_guess = np.concatenate([guess[1:], np.full_like(guess[:1], NONE)])
            by_mark.append(next_guess == heads)
            words.append((sentence, number))
    if not words:
        raise InputError("the treebank holds no sentences that the model can take")
    if skipped:
        warnings.warn(
            f"{amount(skipped, 'sentence')} too long for the model {verb(skipped, 'is', 'are')} left out", stacklevel=2
        )
    return Decisions(
        correct=np.concatenate(correct),
        by_mark=np.concatenate(by_mark),
        relation=np.array([name for sentence, _ in words for name in sentence.relations]),
        sentence=np.array([number for sentence, number in words for _ in sentence.words]),
        position=np.array([position for sentence, _ in words for position in range(len(sentence))]),
        head=np.array([head for sentence, _ in words for head in sentence.heads]),
        length=np.array([len(sentence) for sentence, _ in words for _ in sentence.words]),
        possessor=np.array([mark for sentence, _ in words for mark in _possessors(sentence)]),
        rows=rows,
        skipped=skipped,
    )


def relation_scores(
    lens: Lens,
    treebank: Treebank,
    *,
    rows: str = "mean",
    limit: int | None = None,
    progress: bool = True,
) -> pd.DataFrame:
    """How often each head finds each word's head, by relation: one row per (relation, direction, layer, head).

    treebank: a CoNLL-U file or an iterable of Sentences; limit: only the first so many. rows: how the rows of a word's
    pieces become one, see `word_attention`. Sentences that are too long for the model are left out, with a warning.

    DataFrame(relation, direction, layer, head, accuracy, n, offset, offset_accuracy, offset_accuracy_clamped).
    relation: a word counts under ALL, under its full relation name and under the name before ":" (so nmod, aux, acl
    include subtypes); ALL_nopunct leaves out punct and root; "nmod:poss+'s" is nmod:poss with the prediction of the
    mark right behind the possessor (its `case` word, 's) in place of the possessor's own, in both directions, right if
    it is the possessor's head. The root is never right.
    direction: "dep->head", the word attends most to its head; "head->dep", the head attends most to the word of all.
    offset: k of the best rule "the head stands k words on", |k| ≤ 10, with its accuracy; the strict one counts places
    outside the sentence as wrong, the clamped one (the best k for itself) takes the last word, or the root before the
    first one, as Clark's released code does.
    Clark et al. 2019, section 4.2 and table 1 (theirs: Penn Treebank, Stanford Dependencies).
    Raises InputError for what is no treebank, SelectionError for another `rows`.
    """
    return decide(lens, treebank, rows=rows, limit=limit, progress=progress).scores()


def best_heads(
    lens: Lens, treebank: Treebank, *, samples: int = 1000, seed: int = 0, least: int = FEWEST_WORDS, **options: Any
) -> pd.DataFrame:
    """`Decisions.best_heads` of a treebank (samples, seed, least: as there); `options` as for `relation_scores`."""
    return decide(lens, treebank, **options).best_heads(samples, seed, least)


def _trace(lens: Lens, sentence: Sentence) -> Trace | None:
    """None for a sentence that is too long."""
    trace = lens.trace_words(sentence.words, truncation=True)
    return None if trace.report.truncated else trace


def _possessors(sentence: Sentence) -> list[bool]:
    """Is a word nmod:poss with its case mark right behind it? "'s" in English treebanks."""
    possessors = []
    for position, relation in enumerate(sentence.relations):
        at = position + 1
        mark = at < len(sentence) and sentence.heads[at] == position and sentence.relations[at] == "case"
        possessors.append(relation == "nmod:poss" and mark)
    return possessors
