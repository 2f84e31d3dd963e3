"""Do heads find what a mention names again? Each head as a resolver that is right or wrong mention by mention.

A head predicts, for the head word of every mention, the other word that this one attends to most. After Clark et al.
2019, section 4.3 and table 2, whose code was not released.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from ..base.amounts import amount, verb
from ..base.dataframes import pd
from ..base.progress import Progress
from ..errors import InputError, excerpt
from ..lens import Lens
from ..measures.significance import difference_interval, share_interval
from ..text.encoding import Encoding
from ..trace.trace import Trace
from .mentions import KINDS, Document, Documents, Mention, read_documents
from .syntax import NONE, word_attention

MEASURES = ("earlier", "any")
AMONG = ("words", "mentions")
TYPES = ("all", *KINDS)
WINDOW = 128  # pieces, as in the paper
SENTENCE = "sentence"


@dataclass(frozen=True)
class SentenceWindow:
    """Whole sentences of one document that are run together; places of words count through all of them."""

    document: int
    words: list[str]
    mentions: list[Mention]  # with `words` and `head` as places in the window, by place of the head word
    antecedents: dict[str, frozenset[str]]  # entity -> itself and its parts

    def right(self, mention: Mention) -> tuple[list[int], list[int]]:
        """The head words of the earlier mentions of the entity (or of a part of it), and of all other ones.

        Earlier: the head word stands before this mention's and outside it.
        """
        entities = self.antecedents[mention.entity]
        heads = [m.head for m in self.mentions if m.entity in entities and m.head not in mention.words]
        return sorted({head for head in heads if head < mention.head}), sorted({*heads})


@dataclass(frozen=True)
class Resolutions:
    """What every head predicted for every mention that has another one in its window. M mentions, L layers, H heads."""

    correct: np.ndarray  # (M, 2, 2, L, H) bool, by MEASURES and AMONG
    scored: np.ndarray  # (M, 2) bool, by MEASURES: has an earlier mention, has any other
    nearest: np.ndarray  # (M, 2) bool: the nearest mention is right
    same_word: np.ndarray  # (M, 2) bool: the nearest mention with the same head word is
    random: np.ndarray  # (M, 2, 2): how often a word drawn from the candidates would be right
    kind: np.ndarray  # (M,) of KINDS
    document: np.ndarray  # (M,) number of the mention's document
    mentions: int  # in all windows, also those that have no other
    windows: int
    window: int | str
    skipped: int  # sentences that were too long for the model

    def members(self, measure: str, kind: str) -> np.ndarray:
        """(M,) bool which mentions count."""
        member: np.ndarray = self.scored[:, MEASURES.index(measure)]
        return member if kind == "all" else member & (self.kind == kind)

    def scores(self) -> pd.DataFrame:
        """See `coreference_scores`."""
        tables = []
        layers, heads = self.correct.shape[-2:]
        layer, head = (index.ravel() for index in np.indices((layers, heads)))
        for measure, among, kind, member in self._questions():
            table = pd.DataFrame({"measure": measure, "among": among, "type": kind, "layer": layer, "head": head})
            table["accuracy"] = self._right(measure, among)[member].mean(0).ravel()
            table["n"] = int(member.sum())
            for name, value in self._baselines(measure, among, member).items():
                table[name] = value
            tables.append(table)
        joined = pd.concat(tables, ignore_index=True)
        joined.attrs = {
            "window": self.window,
            "windows": self.windows,
            "documents": len(np.unique(self.document)),
            "mentions": self.mentions,
            "without_earlier": self.mentions - int(self.scored[:, 0].sum()),
            "without_any": self.mentions - int(self.scored[:, 1].sum()),
            "too_long": self.skipped,
        }
        return joined

    def best_heads(self, seed: int = 0) -> pd.DataFrame:
        """The best head of each measure, of each way to choose and of each type of mention, held out by documents.

        DataFrame(measure, among, type, layer, head, accuracy, low, high, gain_low, gain_high, documents, n, nearest,
        same_word, random).
        The documents are split in two by `seed`. The head is the best of one half (all its mentions alike; equal heads:
        the first); accuracy is of the other half, the mean of its `documents`, each weighing the same, with n mentions;
        low, high: 95 %, over these documents (`intervals.share_interval`): of few documents it is wide; NaN where they
        are fewer than two. gain_low, gain_high: those of accuracy − nearest, document by document
        (`difference_interval`). Baselines are of the same documents, counted in the same way.
        A row is left out where one of the halves has no such mention.
        """
        names = np.unique(self.document)
        turn = np.random.default_rng(seed).permutation(len(names))
        choosing = np.isin(self.document, names[turn[: len(names) // 2]])
        rows = []
        for measure, among, kind, member in self._questions():
            right, test = self._right(measure, among), member & ~choosing
            if not test.any() or not (member & choosing).any():
                continue
            layer, head = np.unravel_index(int(right[member & choosing].sum(0).argmax()), right.shape[1:])
            masks = [test & (self.document == name) for name in np.unique(self.document[test])]
            values = np.array([right[mask, layer, head].mean() for mask in masks])
            low, high = share_interval(values, np.ones(len(values)))
            base = [self._baselines(measure, among, mask) for mask in masks]
            gain_low, gain_high = difference_interval(values - [row["nearest"] for row in base])
            rows.append(
                {"measure": measure, "among": among, "type": kind, "layer": int(layer), "head": int(head)}
                | {"accuracy": float(values.mean()), "low": low, "high": high}
                | {"gain_low": gain_low, "gain_high": gain_high}
                | {"documents": len(masks), "n": int(test.sum())}
                | {name: float(np.mean([row[name] for row in base])) for name in base[0]}
            )
        return pd.DataFrame(rows)

    def _questions(self) -> Iterator[tuple[str, str, str, np.ndarray]]:
        for measure in MEASURES:
            for among in AMONG:
                for kind in TYPES:
                    member = self.members(measure, kind)
                    if member.any():
                        yield measure, among, kind, member

    def _right(self, measure: str, among: str) -> np.ndarray:
        """(M, L, H)."""
        return self.correct[:, MEASURES.index(measure), AMONG.index(among)]

    def _baselines(self, measure: str, among: str, member: np.ndarray) -> dict[str, float]:
        of, candidates = MEASURES.index(measure), AMONG.index(among)
        return {
            "nearest": float(self.nearest[member, of].mean()),
            "same_word": float(self.same_word[member, of].mean()),
            "random": float(self.random[member, of, candidates].mean()),
        }


def resolve(
    lens: Lens, corpus: Documents, *, window: int | str = WINDOW, rows: str = "mean", progress: bool = True
) -> Resolutions:
    """Run a corpus through the model and keep whether each head is right about each mention: Resolutions.

    window, rows: as for `coreference_scores`, and it raises like it. Takes 4 L·H bytes a mention.
    """
    _check_window(window)
    resolutions: list[dict[str, Any]] = []
    mentions = count = skipped = 0
    with Progress(unit="sentence", desc="coreference", disable=not progress) as bar:
        for number, document in enumerate(read_documents(corpus)):
            for pair in windows(lens, document, number, window):
                if pair is None:
                    skipped += 1
                    bar.update()
                    continue
                of_window, encoding = pair
                count += 1
                mentions += len(of_window.mentions)
                if any(of_window.right(mention)[1] for mention in of_window.mentions):
                    resolutions.extend(_rows(of_window, lens.run([encoding])[0], rows))
            bar.update(len(document.sentences))
    if not resolutions:
        raise InputError(f"no mention of the corpus has another one of its entity in its window ({window})")
    if skipped:
        warnings.warn(
            f"{amount(skipped, 'sentence')} too long for the model {verb(skipped, 'is', 'are')} left out", stacklevel=2
        )
    columns = {name: np.stack([row[name] for row in resolutions]) for name in resolutions[0]}
    return Resolutions(**columns, mentions=mentions, windows=count, window=window, skipped=skipped)


def coreference_scores(
    lens: Lens, corpus: Documents, *, window: int | str = WINDOW, rows: str = "mean", progress: bool = True
) -> pd.DataFrame:
    """How often each head finds what a mention names again: one row per (measure, among, type, layer, head).

    corpus: a CoNLL-U file with `Entity=`, or an iterable of Documents. window: what is run together, whole sentences of
    a document up to so many pieces, special tokens counted (a longer sentence stands alone), or "sentence", each alone.
    rows: how the rows of a word's pieces become one, see `word_attention`. Sentences that are too long for the model
    are left out, with a warning.

    DataFrame(measure, among, type, layer, head, accuracy, n, nearest, same_word, random).
    For each mention the head predicts the word that the mention's head word attends to most: among all words of the
    window ("words", the paper's way) or the head words of all its mentions ("mentions"); special tokens and the
    mention's own words are out of the race; equal weights: the first. It is right, by the measure "earlier", if this is
    the head word of any earlier mention of the entity in the window; by "any", of any other one. Earlier: its head word
    stands before this one's, outside this mention. Mentions without one are not scored: `attrs` counts them. Of an
    entity that is made of others (split antecedents) any part will do.
    type: "all", "pronoun", "proper", "nominal", by the part of speech of the mention's head word. n: mentions scored.
    nearest: share that the nearest (earlier) mention gets right, same_word: the nearest one with the same head word,
    letter case aside (wrong where there is none); random: a word drawn from the candidates, on average.
    Clark et al. 2019, section 4.3 (theirs: CoNLL-2012, documents cut to 128 tokens).
    Raises InputError for what has no coreference, SelectionError for another `rows`.
    """
    return resolve(lens, corpus, window=window, rows=rows, progress=progress).scores()


def windows(
    lens: Lens, document: Document, number: int = 0, window: int | str = WINDOW
) -> Iterator[tuple[SentenceWindow, Encoding] | None]:
    """The windows of a document with their tokens, `number` being the document's; None for a sentence too long."""
    _check_window(window)
    limit = 0 if isinstance(window, str) else window
    start, encoding = 0, None
    for at in range(len(document.sentences)):
        if encoding is not None:
            longer = _encoding(lens, document, start, at + 1)
            if longer is not None and len(longer) <= limit:
                encoding = longer
                continue
            yield _window(document, number, start, at), encoding
        start, encoding = at, _encoding(lens, document, at, at + 1)
        if encoding is None:
            yield None
    if encoding is not None:
        yield _window(document, number, start, len(document.sentences)), encoding


def _check_window(window: int | str) -> None:
    if window != SENTENCE and (not isinstance(window, int) or isinstance(window, bool) or window < 1):
        raise InputError(f"window is 'sentence' or a number of pieces, at least 1, not {excerpt(window)}")


def _encoding(lens: Lens, document: Document, start: int, end: int) -> Encoding | None:
    """None for sentences that are too long for the model."""
    words = [word for sentence in document.sentences[start:end] for word in sentence.words]
    encoding = lens.encoding(words, None, True)
    return None if encoding.report.truncated else encoding


def _window(document: Document, number: int, start: int, end: int) -> SentenceWindow:
    starts = np.cumsum([0, *map(len, document.sentences[start:end])]).tolist()
    words = [word for sentence in document.sentences[start:end] for word in sentence.words]
    mentions = []
    for m in document.mentions:
        if start <= m.sentence < end:
            offset = starts[m.sentence - start]
            places = tuple(offset + word for word in m.words)
            mentions.append(Mention(m.entity, m.sentence, places, offset + m.head, m.kind))
    mentions.sort(key=lambda m: (m.head, m.words))
    return SentenceWindow(number, words, mentions, {m.entity: document.antecedents(m.entity) for m in mentions})


def predicted_antecedents(
    trace: Trace, window: SentenceWindow, mentions: list[Mention], rows: str = "mean"
) -> np.ndarray:
    """(M, 2, L, H) the word that each head predicts for each of `mentions`, by AMONG; NONE where there is none."""
    n = len(window.words)
    heads = torch.tensor([mention.head for mention in mentions], device="cpu")
    itself = torch.zeros(len(mentions), n, dtype=torch.bool, device="cpu")
    for mention, row in zip(mentions, itself, strict=True):
        row[list(mention.words)] = True
    elsewhere = torch.ones(n, dtype=torch.bool, device="cpu")
    elsewhere[[mention.head for mention in window.mentions]] = False
    layers = []
    for layer in range(trace.n_layers):
        attention = word_attention(trace, layer, n, rows).cpu()[:, heads].nan_to_num(-1)  # (H, M, n)
        candidates = torch.stack([attention.masked_fill(itself, -1), attention.masked_fill(itself | elsewhere, -1)])
        layers.append(torch.where(candidates.amax(-1) < 0, NONE, candidates.argmax(-1)))
    return torch.stack(layers).permute(3, 1, 0, 2).numpy()


def _rows(window: SentenceWindow, trace: Trace, rows: str) -> list[dict[str, Any]]:
    """One row per mention that has another one, as the columns of Resolutions."""
    answers = [(mention, window.right(mention)) for mention in window.mentions]
    answers = [(mention, right) for mention, right in answers if right[1]]
    guesses = predicted_antecedents(trace, window, [mention for mention, _ in answers], rows)
    return [
        {
            "correct": np.stack([np.isin(guess, heads) for heads in right]),
            "scored": np.array([bool(heads) for heads in right]),
            "document": window.document,
            "kind": mention.kind,
            **_baselines(window, mention, right),
        }
        for (mention, right), guess in zip(answers, guesses, strict=True)
    ]


def _baselines(window: SentenceWindow, mention: Mention, right: tuple[list[int], list[int]]) -> dict[str, np.ndarray]:
    heads = sorted({m.head for m in window.mentions} - {*mention.words})
    word = window.words[mention.head].casefold()
    nearest: list[bool] = []
    same_word: list[bool] = []
    for of, answers in enumerate(right):
        antecedents = [head for head in heads if of or head < mention.head]
        namesakes = [head for head in antecedents if window.words[head].casefold() == word]
        for hits, pool in ((nearest, antecedents), (same_word, namesakes)):
            hits.append(bool(pool) and min(pool, key=lambda head: (abs(head - mention.head), head)) in answers)
    candidates = (len(window.words) - len(mention.words), len(heads))
    return {
        "nearest": np.array(nearest),
        "same_word": np.array(same_word),
        "random": np.array([[len(answers) / n if n else 0.0 for n in candidates] for answers in right]),
    }
