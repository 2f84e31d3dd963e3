"""The contrast of an encoder that makes vectors: each text is read alone, and two similarities share one question."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..base.dataframes import pd
from ..errors import ModelError, SelectionError, excerpt
from ..run.changes import Change
from ..run.forward import output_of
from ..run.interventions import Run
from ..sentences.encoders import COSINE, DOT, MANHATTAN, SentenceLens
from ..sentences.inputs import check_by, why_no_input
from ..sentences.late_interaction import LateEncoder, LateSimilarity, TokensReading, late_notes, tokens_reading
from ..sentences.own_embedder import MANHATTAN_SUM
from ..sentences.sparse_encoder import SparseTextEncoder
from ..sentences.sparse_similarity import NO_INPUT, SparseSimilarity
from ..sentences.text_pair import Side
from ..sentences.text_similarity import SPLITS, Similarity
from ..sentences.token_parts import held_notes, no_sum
from ..whatif.reruns import check as check_changes
from .score_difference import Contrast, Tasks
from .text_words import TEXTS, TextWords, check_text_name, check_three, subject, unknown_notes

NO_DISTANCE = "the difference of two distances is no sum over words"
TIME = "Its pooling reads one token: words are split by what went in, about three forward passes of each text."
ADDED = "the model adds tokens to this query, which its run here has not: take words out of it with how='deleted'"
BY_INPUT = "Words are split by what went in, about three forward passes of each text."


@dataclass(frozen=True, eq=False, repr=False)
class VectorContrast(Contrast):
    """See `contrast`. Of cosines and dot products of pooled vectors."""

    pairs: tuple[Similarity, Similarity]  # of the question with the wrong passage, with the right one
    of: str  # "output" or "input"

    @property
    def why_not(self) -> str:
        pair = self.pairs[0]
        if pair.function not in (COSINE, DOT):
            return MANHATTAN_SUM if pair.function == MANHATTAN else NO_DISTANCE
        if self.of == "output":
            return pair.why_not
        return no_sum(self.lens.sentences) or next(filter(None, map(why_no_input, map(self._side, TEXTS))), "")

    @property
    def gap(self) -> float:
        _, wrong, right = self._question
        return float((wrong - right).sum()) - self.difference

    @property
    def norms(self) -> pd.Series:
        return pd.Series({text: float(self._side(text).reading.vector.double().norm()) for text in TEXTS})

    def by(self, name: str, of: str = "query") -> pd.DataFrame:
        """See `Contrast.by`. of: "query", what the question's run wrote, as each passage's vector reads it: one run, so
        that rows are of the same heads; "passages", what the runs of the passages wrote, as the question reads it."""
        check_by(name)
        if of not in ("query", "passages"):
            raise SelectionError(f"no runs {excerpt(of)}: there are 'query' and 'passages'")
        self.check()
        column = "a" if of == "query" else "b"
        wrong, right = (pair.by(name)[column] for pair in self.pairs)
        return pd.DataFrame({"wrong": wrong, "right": right, "difference": wrong - right})

    def words(self, text: str) -> TextWords:
        side = self._side(check_text_name(text))
        units = side.units()
        return TextWords.of(side.names(units), units, [*map(side.is_of_text, units)], self._is_biased(side))

    def _is_biased(self, side: Side) -> bool:
        """Whether biases have a row of their own."""
        return self.of == "input" or bool(side.parts[-1].any())

    @cached_property
    def _question_parts(self) -> tuple[np.ndarray, np.ndarray]:
        return self._tokens(0, "a"), self._tokens(1, "a")

    @cached_property
    def _passage_parts(self) -> tuple[np.ndarray, np.ndarray]:
        return self._tokens(0, "b"), self._tokens(1, "b")

    def _tokens(self, number: int, side: str) -> np.ndarray:
        return self.pairs[number].tokens(side, self.of, words=True).to_numpy()

    def _answers(self, keys: Sequence[str]) -> tuple[np.ndarray, np.ndarray] | None:
        if self.of == "input":
            return None
        by_key = self.words("query").by_key
        rows = [row for key in keys for row in by_key[key]]
        wrong, right = (self._pair_parts(number)[rows].sum(0) for number in range(2))
        return wrong, right

    def _pair_parts(self, number: int) -> np.ndarray:
        """What each pair of a row of the question and one of a passage puts in."""
        return self.pairs[number].pairs("output", words=True).to_numpy()

    def scores_without(self, text: str, sets: Sequence[Sequence[int]]) -> np.ndarray:
        self.lens.borrowed.check(self._fingerprint)
        side = self._side(check_text_name(text))
        return self._scored(text, self._vectors(side, side.states_without(sets)))

    def scores_of(self, text: str, versions: Sequence[str]) -> np.ndarray:
        self.lens.borrowed.check(self._fingerprint)
        task = self.tasks[0 if check_text_name(text) == "query" else 1]
        return self._scored(text, self.lens.sentences.encode(list(versions), task, None, 32, False))

    def _vectors(self, side: Side, batches: Iterator[tuple[Tensor, Tensor]]) -> Any:
        """Of runs of a text, as the model makes vectors of them. batches: as of `Side.states_without`."""
        return torch.cat([self.lens.sentences.vectors(states, keep) for states, keep in batches])

    def _scored(self, text: str, vectors: Any) -> np.ndarray:
        """(n, 2) with n vectors in the place of a text's own."""
        similarity, columns = self.lens.sentences.similarity, []
        for number, passage in enumerate(TEXTS[1:]):
            if text == "query":
                scores = similarity(vectors, _batch(self._side(passage)))[:, 0]
            elif text == passage:
                scores = similarity(_batch(self._side("query")), vectors)[0]
            else:
                scores = torch.full((len(vectors),), self.scores[number], device="cpu")
            columns.append(scores.detach().double().cpu().numpy())
        return np.stack(columns, 1)

    def scores_changed(self, changes: Sequence[Change]) -> tuple[float, float]:
        self.lens.borrowed.check(self._fingerprint)
        vectors = []
        for text in TEXTS:
            side = self._side(text)
            trace = side.trace
            check_changes(trace, changes)
            states = trace.borrowed.states(output_of(trace.borrowed, trace.inputs(), Run([tuple(changes)])))
            vectors.append(self._vectors(side, iter([(states, side.keep[None])])))
        query, *passages = vectors
        wrong, right = (float(self.lens.sentences.similarity(query, vector)[0, 0]) for vector in passages)
        return wrong, right

    def rewritten(self, query: str | None = None, wrong: str | None = None, right: str | None = None) -> VectorContrast:
        self.lens.borrowed.check(self._fingerprint)
        versions = (query, wrong, right)
        sides = [None if new is not None else self._side(text) for text, new in zip(TEXTS, versions, strict=True)]
        texts = [old if new is None else new for old, new in zip(self.texts, versions, strict=True)]
        return vector_contrast(self.lens, (texts[0], texts[1], texts[2]), self.tasks, self.of, sides)

    def _side(self, text: str) -> Side:
        wrong, right = self.pairs
        return {"query": wrong.sides[0], "wrong": wrong.sides[1], "right": right.sides[1]}[text]


@dataclass(frozen=True, eq=False, repr=False)
class LateContrast(VectorContrast):
    """See `contrast`. Late interaction: each token of the question finds its best one in either passage."""

    pairs: tuple[LateSimilarity, LateSimilarity]  # type: ignore[assignment]

    @property
    def why_not(self) -> str:
        return ""  # it is a sum, always

    @property
    def norms(self) -> pd.Series:
        """None: a text has no vector of its own."""
        return pd.Series({}, dtype=float)

    def words(self, text: str) -> TextWords:
        side = self._side(check_text_name(text))
        added = range(len(side.encoding), len(tokens_reading(side).all_ids))
        units = side.units()
        own = [*map(side.is_of_text, units), *[False] * len(added)]
        pair, name = self.pairs[text == "right"], "a" if text == "query" else "b"
        return TextWords.of([*pair.tokens(name, words=True).index], [*units, *([at] for at in added)], own, False)

    def _tokens(self, number: int, side: str) -> np.ndarray:
        return self.pairs[number].tokens(side, words=True).to_numpy()

    def _pair_parts(self, number: int) -> np.ndarray:
        return self.pairs[number].pairs(words=True).to_numpy()

    def _vectors(self, side: Side, batches: Iterator[tuple[Tensor, Tensor]]) -> Any:
        reading, encoder = tokens_reading(side), self.lens.sentences
        assert isinstance(encoder, LateEncoder)
        if any(reading.added):
            raise ModelError(ADDED)
        scored = torch.tensor(reading.scored, device="cpu")
        return [
            row[keep.cpu() & scored]
            for states, kept in batches
            for row, keep in zip(encoder.token_vectors(states), kept, strict=True)
        ]


@dataclass(frozen=True, eq=False, repr=False)
class SparseContrast(VectorContrast):
    """See `contrast`. Of a sparse encoder: words of a text are those whose tokens made the weights."""

    pairs: tuple[SparseSimilarity, SparseSimilarity]

    def vocabulary(self) -> pd.DataFrame:
        """The words of the vocabulary that the question shares with either passage, those that speak most for the wrong
        one first: word, id, the weights query, wrong and right (0 where a vector lacks it), part_wrong and part_right,
        which sum to the scores, and their difference. Raises ModelError where there is no sum."""
        self.check()
        tables = [pair.words().set_index(["word", "id"])[["weight_a", "weight_b", "part"]] for pair in self.pairs]
        table = pd.concat(tables, axis=1, keys=TEXTS[1:]).fillna(0.0)
        query = table["wrong"]["weight_a"].where(table["wrong"]["weight_a"] > 0, table["right"]["weight_a"])
        weights = {"query": query, **{name: table[name]["weight_b"] for name in TEXTS[1:]}}
        parts = {f"part_{name}": table[name]["part"] for name in TEXTS[1:]}
        columns = weights | parts | {"difference": parts["part_wrong"] - parts["part_right"]}
        return pd.DataFrame(columns).sort_values("difference", ascending=False, kind="stable").reset_index()

    def _is_biased(self, side: Side) -> bool:
        return False


def vector_contrast(
    lens: SentenceLens,
    texts: tuple[str, str, str],
    tasks: Tasks,
    of: str | None,
    sides: Sequence[Side | None] = (None, None, None),
) -> VectorContrast:
    """See `contrast`. sides: of texts that are read already."""
    check_three(texts)
    encoder, fingerprint = lens.sentences, lens.borrowed.fingerprint()
    if of not in (None, *SPLITS):
        raise SelectionError(f"no split of {excerpt(of)}: there are {', '.join(map(repr, SPLITS))}")
    query, *passages = (
        side or Side.of(lens, text, tasks[min(number, 1)], fingerprint)
        for number, (side, text) in enumerate(zip(sides, texts, strict=True))
    )
    values = [float(encoder.similarity(_batch(query), _batch(side))[0, 0]) for side in passages]
    scores, read = (values[0], values[1]), [*zip(TEXTS, (query, *passages), strict=True)]
    unknown = [note for text, side in read for note in unknown_notes(len(side.encoding.report.unknown), text)]
    if isinstance(encoder, LateEncoder):
        if of == "input":
            raise SelectionError("late interaction is split by the tokens' own vectors alone, of='output'")
        notes = [*(note for text, side in read for note in late_notes(side, subject(text))), *unknown]
        late = [
            LateSimilarity(lens, x, (query, side), (), fingerprint) for x, side in zip(values, passages, strict=True)
        ]
        return LateContrast(lens, texts, tasks, scores, tuple(notes), fingerprint, (late[0], late[1]), "output")
    is_sparse = isinstance(encoder, SparseTextEncoder)
    if is_sparse and of == "input":
        raise SelectionError(NO_INPUT)
    single = encoder.modes.single and not is_sparse
    of = of or ("input" if single else "output")
    notes = [TIME if single else BY_INPUT] if of == "input" else []
    notes += [*filter(None, [encoder.note]), *held_notes(encoder)]
    notes += [*(note for text, side in read for note in side.notes(subject(text))), *unknown]
    arguments = [(lens, x, (query, side), (), fingerprint) for x, side in zip(values, passages, strict=True)]
    about = lens, texts, tasks, scores, tuple(notes), fingerprint
    if is_sparse:
        return SparseContrast(*about, (SparseSimilarity(*arguments[0]), SparseSimilarity(*arguments[1])), of)
    return VectorContrast(*about, (Similarity(*arguments[0]), Similarity(*arguments[1])), of)


def _batch(side: Side) -> Any:
    """The vector of a text as a batch of one; of late interaction the vectors of its tokens."""
    vector = side.reading.vector
    return [vector] if isinstance(side.reading, TokensReading) else vector[None]
