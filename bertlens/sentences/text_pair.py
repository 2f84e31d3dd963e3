"""Two texts as a model reads them, each alone, and the number that it has for them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from ..base.quotes import quotation
from ..base.registered import registered
from ..base.vocabulary import phrases
from ..errors import ModelError
from ..measures.words import grouped
from ..model.fingerprint import Fingerprint
from ..run.changes import Hide
from ..run.forward import output_of
from ..run.interventions import Run
from ..text.display import word_of
from ..text.encoding import Encoding, encode
from ..trace.checks import check_hiding
from ..trace.trace import Trace
from .baseline import Baseline, baseline
from .encoders import SentenceLens, TextReading
from .token_parts import split

SIDES = ("a", "b")
TOKENS = 768  # of a batch without words: so many rows times the text's length, at most


@dataclass(frozen=True, eq=False)
class Side:
    """One of two texts: what the model read, and its tokens by name."""

    lens: SentenceLens
    reading: TextReading
    encoding: Encoding
    task: str | None = None
    model: Fingerprint | None = None  # of the model that read it; without one there is nothing else to ask of it

    @classmethod
    def of(cls, lens: SentenceLens, text: str, task: str | None, model: Fingerprint | None = None) -> Side:
        """Raises ModelError where the model reads other tokens than its tokenizer makes."""
        reading = lens.sentences.read(text, task)
        if reading.trace is not None:
            return cls(lens, reading, reading.trace.encoding, task, model)
        encoding = encode(lens.tokenizer, reading.text, limit=len(reading.input_ids), truncation=True)
        if tuple(encoding.input_ids) != reading.input_ids:
            raise ModelError(f"{lens.model_name} reads other tokens than its tokenizer makes of this text")
        return cls(lens, reading, encoding, task, model)

    def check(self) -> None:
        """Raises ModelError where the model has changed since it read the text."""
        if self.model is not None:
            self.lens.borrowed.check(self.model)

    @property
    def keep(self) -> Tensor:
        """(S,) whether the pooling reads the token."""
        size = len(self.encoding)
        return torch.arange(size, device=self.reading.states.device) >= self.reading.left_out

    def units(self, words: bool = True) -> list[list[int]]:
        """The token positions of each word, a template token as one of its own; or each token."""
        return grouped(self.encoding.word_ids) if words else [[at] for at in range(len(self.encoding))]

    @property
    def words(self) -> list[list[int]]:
        """The words that the text has, its template's and its prompt's tokens left out."""
        return [unit for unit in self.units() if self.is_of_text(unit)]

    def is_of_text(self, unit: Sequence[int]) -> bool:
        """Whether tokens are the text's own, and not of its template or its prompt."""
        if self.encoding.special[unit[0]]:
            return False
        offsets = self.encoding.offsets
        return not self.reading.prompt or offsets is None or (offsets[unit[-1]] or (0, 0))[1] > len(self.reading.prompt)

    def notes(self, subject: str) -> Iterator[str]:
        """What is to be known of how the text is read, which a sentence calls so."""
        if self.reading.prompt:
            yield phrases.BEHIND_PROMPT.format(subject=subject, prompt=quotation(self.reading.prompt))
        if self.encoding.report.truncated:
            yield f"{subject} is cut to {len(self.encoding)} tokens."

    def names(self, units: Sequence[Sequence[int]]) -> list[str]:
        """Of units: their pieces as written."""
        names = self.encoding.display_tokens
        return [word_of((names[at] for at in unit), self.encoding.continuation) for unit in units]

    @cached_property
    def trace(self) -> Trace:
        """The run of this text alone. Raises as `check`."""
        self.check()
        return self.reading.trace or self.lens.run([self.encoding])[0]

    @cached_property
    def parts(self) -> Tensor:
        """(S + 1, E) float64 of each token, and last of biases: they sum to the vector. See `split`, `check`."""
        self.check()
        return split(self.lens.sentences, self.reading, self.keep)

    def without_words(self) -> Iterator[Tensor]:
        """(n, E) batches of W + 1 vectors: with all words, and without each, which no head sees and no pooling reads.

        See `Similarity.effects`. Raises ModelError for a model that hands out no queries and keys.
        """
        for states, keep in self.states_without([[], *self.words]):
            yield self.lens.sentences.vectors(states, keep)

    @torch.no_grad()
    def states_without(self, sets: Sequence[Sequence[int]]) -> Iterator[tuple[Tensor, Tensor]]:
        """Batches: last hidden states (n, S, D), no head seeing each set of tokens, and (n, S) what is pooled of them.

        Places stay. Raises as `check`, and ModelError for a model that hands out no queries and keys.
        """
        trace = self.trace
        if not trace.has_neurons:
            check_hiding(trace)
        size = max(1, TOKENS // trace.n_tokens)
        for start in range(0, len(sets), size):
            self.check()
            batch = sets[start : start + size]
            rows = [tuple(map(Hide, gone)) for gone in batch]
            states = trace.borrowed.states(output_of(trace.borrowed, trace.inputs(len(batch)), Run(rows)))
            keep = self.keep.repeat(len(batch), 1)
            for row, gone in zip(keep, batch, strict=True):
                row[list(gone)] = False
            yield states, keep


@dataclass(frozen=True, eq=False, repr=False)
class TextPair(ABC):
    """The similarity of two texts: the model's own number."""

    lens: SentenceLens
    value: float  # as the model gives it; distances are less than 0
    sides: tuple[Side, Side]  # each text with its run
    notes: tuple[str, ...]  # sentences on how the texts are read
    _fingerprint: Fingerprint
    # cosine, dot, euclidean or manhattan; of late interaction maxsim, or meanmaxsim: divided by the query's tokens
    function: str = field(init=False)

    def __post_init__(self) -> None:
        vars(self)["function"] = self.lens.sentences.function

    @property
    def traces(self) -> tuple[Trace, Trace]:
        """The run of each text, without what a late-interaction encoder adds to a query."""
        self.lens.borrowed.check(self._fingerprint)
        return self.sides[0].trace, self.sides[1].trace

    @property
    def baseline(self) -> Baseline:
        """The number beside those of all pairs of 48 unrelated English sentences, encoded for the same tasks."""
        return self.against()

    def against(self, texts: Iterable[str] | None = None, *, column: str | None = None) -> Baseline:
        """The number beside those of all pairs of `texts`, which should be unrelated; kept for the lens.

        texts, column: as for `lens.encode`.
        Texts that are like yours, in language, length and kind, tell most. Raises InputError for fewer than 8,
        ModelError where the model has changed since.
        """
        self.lens.borrowed.check(self._fingerprint)
        return baseline(self.lens, self.value, (self.sides[0].task, self.sides[1].task), texts, column)

    def explore(self, **selection: Any) -> Any:
        """The SimilarityView widget: both texts, the largest pairs as lines, the matrix that sums to the number, and
        what is left of it without a word; of late interaction each token of the query with its best one of the passage.
        selection: its traits (theme=, settings=)."""
        return registered("similarity_view")(self, **selection)

    def to_html(self, path: str | Path | None = None) -> str | Path:
        """The view as one page that needs no kernel and no network: its text, or `path`, where it was written."""
        return self.explore().to_html(path)

    def to_space(self, folder: str | Path, **options: Any) -> Path:
        """The view as a folder that any host of files takes: `LensWidget.to_space`, which takes these options."""
        return self.explore().to_space(folder, **options)

    @property
    @abstractmethod
    def _detail(self) -> str:
        """What stands behind the number in words."""

    def __repr__(self) -> str:
        try:
            detail = self._detail
        except ModelError as error:  # the model has changed since
            detail = str(error)
        words = [f"{type(self).__name__}({self.function} {self.value:.4f}; {detail}.", *self.notes]
        return " ".join(words).rstrip() + ")"
