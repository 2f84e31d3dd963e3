"""Why a wrong passage stands before the right one: the difference of two scores, as a list over the question's words.

s(q, w) − s(q, r) = Σᵢ q̂ᵢ·(ŵ − r̂): the question is read once, so its words can be compared between the passages. Words
of the passages are two lists, of which each sums to its own score; they are subtracted, never added to the first.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..base.dataframes import pd
from ..base.generators import run_to_end
from ..base.quotes import quotation
from ..base.ranking import is_nothing, ranked
from ..base.vocabulary import phrases
from ..errors import InputError, ModelError
from ..model.fingerprint import Fingerprint
from ..run.changes import Change
from ..sentences.encoders import SentenceLens
from .text_words import TEXTS, TextWords, check_text_name, signed, subject
from .word_runs import changed, without_in_steps

Tasks = tuple[str | None, str | None]
WORDS = 2  # of the question that a sentence names


@dataclass(frozen=True, eq=False, repr=False)
class Contrast(ABC):
    """A question, a wrong passage and a right one: two scores of one model, and what their difference is a sum of."""

    lens: SentenceLens
    texts: tuple[str, str, str]  # of the question, of the wrong passage, of the right one
    tasks: Tasks  # of the question, of the passages
    scores: tuple[float, float]  # of the wrong passage, of the right one: the model's own; of a cross-encoder logits
    notes: tuple[str, ...]  # sentences on how the texts are read and the scores split
    _fingerprint: Fingerprint

    @property
    def difference(self) -> float:
        """The score of the wrong passage less that of the right one, as the model has them."""
        return self.scores[0] - self.scores[1]

    @property
    @abstractmethod
    def why_not(self) -> str:
        """Why the scores are no sums over words; "" where they are. Raises ModelError where the model has changed."""

    @property
    @abstractmethod
    def gap(self) -> float:
        """The sum of all parts less `difference`: what rounding leaves. Raises ModelError where there is no sum."""

    @property
    @abstractmethod
    def norms(self) -> pd.Series:
        """The lengths of the vectors: "query", "wrong", "right". Of cosines they divide; no row of a list is theirs."""

    @abstractmethod
    def by(self, name: str) -> pd.DataFrame:
        """What each "layer", "head" or "kind" (word, position, type, heads, MLPs, biases) puts into either score.

        Columns wrong, right and their difference, each a split of its own, which sums to the score or the difference.
        Raises ModelError where there is no such split, SelectionError for another name.
        """

    @property
    def query(self) -> pd.DataFrame:
        """The words of the question, in its order: word, at (its first token; −1 of biases), what it puts into the
        score of the "wrong" and of the "right" passage, and the difference. Raises ModelError where there is no sum."""
        words, wrong, right = self._question
        columns = {"wrong": wrong, "right": right, "difference": wrong - right}
        return pd.DataFrame({"word": words.names, "at": words.places, **columns})

    @property
    def wrong(self) -> pd.DataFrame:
        """The words of the wrong passage, in its order: word, at, and the part that each puts into its score."""
        return self._passage_list(0)

    @property
    def right(self) -> pd.DataFrame:
        """The words of the right passage: see `wrong`."""
        return self._passage_list(1)

    @property
    def named(self) -> str:
        """The word of the wrong passage that puts most into the difference: see `named_in`. By the split alone."""
        return self.named_in("wrong")

    def named_in(self, text: str) -> str:
        """The word of a text ("query", "wrong", "right") that the split names first, its occurrences taken together.

        Of the wrong passage the one whose parts there exceed those of the same word in the right passage (0 where it
        lacks it) by most, of the right passage the reverse; of the question that with the largest difference. No text
        is run for it. Raises ModelError where there is no sum, InputError for a text without words, SelectionError for
        another text.
        """
        gains = self._gains(check_text_name(text))
        if not gains:
            raise InputError(f"{subject(text)} has no word with a letter or a digit")
        words = self.words(text)
        return words.names[words.by_key[max(gains, key=gains.__getitem__)][0]]

    @cached_property
    def said(self) -> str:
        """One sentence: which words of the question prefer the wrong passage, what in it answers them, what the right
        one lacks; or why there is no such list."""
        if self.why_not:
            return phrases.NO_SUMS.format(why=self.why_not)
        if self.texts[1] == self.texts[2]:
            return phrases.SAME_PASSAGES
        words, wrong, right = self._question
        question = words.sums(wrong - right)
        beside = max(map(abs, self.scores))
        best = sorted((key for key in question if question[key] > 0), key=lambda key: -question[key])[:WORDS]
        best = [key for key in best if not is_nothing(question[key], beside)]
        if not best:
            return phrases.NO_PREFERENCE
        names = [quotation(words.names[words.by_key[key][0]]) for key in best]
        *numbers, total = signed([*(question[key] for key in best), self.difference])
        prefer = "prefers" if len(best) == 1 else "prefer"
        listed = " and ".join(f"{name} ({number})" for name, number in zip(names, numbers, strict=True))
        sentence = phrases.PREFERENCE.format(words=listed, prefer=prefer, total=total)
        answer = self._answer(best)
        return f"{sentence}: {answer}." if answer else f"{sentence}."

    def _answer(self, keys: Sequence[str]) -> str:
        """What in the wrong passage answers words of the question, and what the right passage has of it."""
        parts = self._answers(keys)
        wrong, right = (self.words(text).sums(x) for text, x in zip(TEXTS[1:], parts or self._passages, strict=True))
        gains = {key: part - right.get(key, 0.0) for key, part in wrong.items()}
        key = max(gains, key=gains.__getitem__, default="")
        if not key or gains[key] <= 0 or is_nothing(gains[key], max(map(abs, self.scores))):
            return ""
        words = self.words("wrong")
        name = quotation(words.names[words.by_key[key][0]])
        number, *rest = ranked([wrong[key], *([right[key]] if key in right else [])])
        is_most = wrong[key] == max(wrong.values()) and wrong[key] > 0
        if not is_most:  # another word answers more, and does in the right one too
            lead = phrases.LEAD.format(name=name, number=number, right=rest[0]) if rest else ""
            return lead or phrases.LEAD_ALONE.format(name=name, number=number)
        does = f"answers {'it' if len(keys) == 1 else 'them'} most" if parts else "puts in most"
        other = phrases.IN_RIGHT.format(number=rest[0]) if rest else phrases.LACKING
        return phrases.ANSWER.format(name=name, does=does, number=number, other=other)

    def _gains(self, text: str) -> dict[str, float]:
        """By how much each word of a text, wherever it stands, speaks for what `named_in` says."""
        if text == "query":
            words, wrong, right = self._question
            return words.sums(wrong - right)
        ours, other = (TEXTS.index(name) - 1 for name in (text, "wrong" if text == "right" else "right"))
        parts = [self.words(name).sums(x) for name, x in zip(TEXTS[1:], self._passages, strict=True)]
        return {key: part - parts[other].get(key, 0.0) for key, part in parts[ours].items()}

    @property
    def _question(self) -> tuple[TextWords, np.ndarray, np.ndarray]:
        self.check()
        return self.words("query"), *self._question_parts

    @property
    def _passages(self) -> tuple[np.ndarray, np.ndarray]:
        self.check()
        return self._passage_parts

    @abstractmethod
    def words(self, text: str) -> TextWords:
        """The rows of the list of a text: "query", "wrong" or "right"."""

    @cached_property
    @abstractmethod
    def _question_parts(self) -> tuple[np.ndarray, np.ndarray]:
        """float64 what each row of the question puts into the score of the wrong and of the right passage."""

    @cached_property
    @abstractmethod
    def _passage_parts(self) -> tuple[np.ndarray, np.ndarray]:
        """float64 what each row of the wrong passage puts into its score, and each of the right one into its own."""

    def _answers(self, keys: Sequence[str]) -> tuple[np.ndarray, np.ndarray] | None:
        """The same for words of the question alone, by their keys; None where the split has no pairs of words."""
        return None

    @abstractmethod
    def scores_without(self, text: str, sets: Sequence[Sequence[int]]) -> np.ndarray:
        """(n, 2) float64 both scores, each of the sets of a text's tokens seen by no head and left out of pooling."""

    @abstractmethod
    def scores_of(self, text: str, versions: Sequence[str]) -> np.ndarray:
        """(n, 2) float64 both scores with each of the versions of a text in its place."""

    @abstractmethod
    def scores_changed(self, changes: Sequence[Change]) -> tuple[float, float]:
        """Both scores of the runs with changes. Raises SelectionError for changes of certain tokens."""

    def without(
        self,
        word: str | None = None,
        side: str = "wrong",
        how: str = "hidden",
        *,
        n_random: int = 8,
        frequencies: Mapping[str, int] | None = None,
        seed: int = 0,
    ) -> pd.DataFrame:
        """Both scores without a word of a text (side: "query", "wrong", "right"), and without other words of it.

        word: None is the one that the split names (`named_in`), before any run. how: "hidden" or "deleted".
        A row each, the first with all words: draw ("none", "named" or "asked", "random", "as frequent"), word, times
        (how often it stands there), the scores wrong and right, their difference, and turned: whether the other passage
        is first then, by more than rounding. Random are n_random words, drawn by `seed`; as frequent are n_random, the
        nearest by how often they stand in the text, then by `frequencies`: word, in small letters, -> in how many
        passages. attrs: "said", a sentence.
        Raises InputError for a word that the text has not and for frequencies that are no dictionary, SelectionError
        for another text or way, ModelError where the split names none, or nothing can be hidden.
        """
        return run_to_end(without_in_steps(self, word, side, how, n_random, frequencies, seed))

    def rerun(self, *changes: Change) -> pd.DataFrame:
        """Both scores before and after the same changes of every run: see `word_runs.changed`."""
        return changed(self, changes)

    @abstractmethod
    def rewritten(self, query: str | None = None, wrong: str | None = None, right: str | None = None) -> Contrast:
        """The contrast with another query, wrong or right text; what is not given stays, and is not read again.

        Raises as `contrast`, and ModelError where the model has changed since.
        """

    def check(self) -> None:
        """Raises ModelError where there is no sum, and where the model has changed since."""
        if self.why_not:
            raise ModelError(f"these scores cannot be split by words: {self.why_not}")
        self.lens.borrowed.check(self._fingerprint)

    def _passage_list(self, number: int) -> pd.DataFrame:
        words = self.words(TEXTS[number + 1])
        return pd.DataFrame({"word": words.names, "at": words.places, "part": self._passages[number]})

    def __repr__(self) -> str:
        scores = f"{self.scores[0]:.4f} and {self.scores[1]:.4f}, difference {self.difference:+.4f}"
        try:
            split = f" They are no sums over words: {self.why_not}." if self.why_not else ""
        except ModelError as error:
            split = f" {error}."
        return " ".join([f"Contrast({scores}.{split}", *self.notes]) + ")"
