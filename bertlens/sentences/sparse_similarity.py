"""Why a sparse encoder finds two texts similar: a sum over the words of the vocabulary that both vectors have."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from ..base.dataframes import pd
from ..base.quotes import quotation
from ..base.ranking import is_nothing, ranked
from ..errors import InputError, ModelError, SelectionError, check_lens, excerpt
from ..measures import sources
from ..measures.sources.stream import Stream
from ..text.display import BLANK, names_of
from .encoders import MANHATTAN, SentenceLens
from .inputs import check_by, read_parts
from .own_embedder import MANHATTAN_SUM
from .sparse_encoder import SparseReading, SparseTextEncoder
from .text_pair import SIDES, Side
from .text_similarity import Similarity

NO_INPUT = (
    "a sparse encoder's score is split by the tokens that made the weights, of='output'; .why(word) splits the logit "
    "of one word by what went in"
)
LISTED = 2  # words that a sentence names


def word_vector(lens: SentenceLens, text: str, task: str | None = None) -> pd.DataFrame:
    """A text's vector of a sparse encoder, the largest weight first: see `SparseSimilarity.vector`.

    task: None, "query" or "document", as in `lens.encode`. Raises ModelError for an encoder of another kind, InputError
    for what is no lens.
    """
    check_lens(lens)
    if not isinstance(lens.sentences, SparseTextEncoder):
        raise ModelError(f"{lens.model_name} makes no vector over words: bl.word_vector is of a SparseEncoder")
    return _vector(Side.of(lens, text, task))


@dataclass(frozen=True, eq=False, repr=False)
class SparseSimilarity(Similarity):
    """The similarity of two texts by a sparse encoder: Σ a_v b_v over the words v that both vectors have.

    Each weight was made by a token of its text, so that the number is a sum over pairs of tokens too (`pairs`): exact.
    With sum pooling by all tokens, each with its part.
    """

    @property
    def why_not(self) -> str:
        return self._never

    @property
    def of(self) -> str:
        return "output"

    @property
    def splits(self) -> tuple[str, ...]:
        return () if self._never else ("output",)

    def vector(self, side: str = "a") -> pd.DataFrame:
        """The vector of text "a" or "b": the words whose weight is not 0, the largest first.

        Columns: word, id (its place in the vocabulary), weight > 0; token, at: which token made it (of sum pooling the
        one with the largest part) and where it stands; share: of the weight by that token, 1 of max pooling; logit of
        the word there; expansion: whether no token of the text as it is read is the word.
        """
        return _vector(self.sides[self._number(side)])

    def parts(self, side: str = "a") -> pd.DataFrame:
        """(S, K) what each token of a text put into each of the K weights of its vector: columns sum to them."""
        text_side = self.sides[self._number(side)]
        reading = _reading(text_side)
        names = _names(self.lens, reading.words.tolist())
        return pd.DataFrame(reading.parts.cpu().numpy(), index=text_side.encoding.display_tokens, columns=names)

    def words(self) -> pd.DataFrame:
        """The words that both vectors have, the largest part first: the parts sum to the first of `terms`.

        Columns: word, id, part, share = part / sum; weight, token, at and expansion of either text, as in `vector`.
        Raises ModelError where the number is no such sum.
        """
        if reason := self._never:
            raise ModelError(f"this similarity cannot be split by words: {reason}")
        tables = [self.vector(side).set_index("id") for side in SIDES]
        joint = tables[0].index.intersection(tables[1].index)
        a, b = (table.loc[joint] for table in tables)
        terms = a["weight"] * b["weight"] * self._scale
        order = terms.argsort(kind="stable")[::-1]
        sides = {
            f"{column}_{name}": table[column]
            for name, table in zip(SIDES, (a, b), strict=True)
            for column in ("weight", "token", "at", "expansion")
        }
        share = terms / terms.sum()
        return (
            pd.DataFrame({"word": a["word"], "id": joint, "part": terms, "share": share, **sides})
            .iloc[order]
            .reset_index(drop=True)
        )

    def why(self, word: str | int, side: str = "a", **options: Any) -> sources.Sources:
        """Where a word's logit at the token that made its weight came from: `measures.sources.logit` of that run.

        word: as in `words`, or its id. The weight is log(1 + the logit). options: `against`, `through_mlps`.
        Raises InputError for a word that the vector has not, ModelError where the stream cannot be split.
        """
        table = self.vector(side)
        row = table[table["id" if isinstance(word, int) else "word"] == word]
        if not len(row):
            examples = ", ".join(table["word"][:8])
            raise InputError(f"the vector of text {side} has no word {excerpt(word)}: it has {examples} …")
        self.lens.borrowed.check(self._fingerprint)
        trace = self.sides[SIDES.index(side)].trace
        return sources.logit(trace, int(row["at"].iloc[0]), int(row["id"].iloc[0]), **options)

    @cached_property
    def said(self) -> str:
        """How many words both vectors have, which put most in, and what brought one that a text does not contain."""
        if self._never:
            return ""
        table, total = self.words(), self.terms.iloc[0]
        top = [row for row in table.head(LISTED).itertuples() if not is_nothing(row.part, total)]
        if not top:
            return "The two vectors have no word of the vocabulary in common."
        numbers = ranked([row.part for row in top])
        named = " and ".join(f"{quotation(row.word)} ({number})" for row, number in zip(top, numbers, strict=True))
        if len(table) == 1:
            sentence = f"Both vectors have one word of the vocabulary, {named}."
        else:
            put = f"{named} {'puts' if len(top) == 1 else 'put'} most into {ranked([total])[0]}"
            sentence = f"Both vectors have {len(table):,} words of the vocabulary: {put}."
        brought = [
            f"{quotation(row.word)} is no word of text {side}, {quotation(getattr(row, f'token_{side}'))} brings it"
            for row in table.itertuples()
            for side in SIDES
            if getattr(row, f"expansion_{side}")
        ]
        if not brought:
            return f"{sentence} Each is a word of both texts."
        count = int((table["expansion_a"] | table["expansion_b"]).sum())
        return f"{sentence} Not a word of both texts: {count:,} of {len(table):,}; {brought[0]}."

    def _check_input(self) -> None:
        raise ModelError(NO_INPUT)

    @torch.no_grad()
    def by(self, name: str) -> pd.DataFrame:
        """As `Similarity.by`. The quotient of each weight and its logit is kept as the run had it."""
        check_by(name)
        if reason := self._never:
            raise ModelError(f"this similarity cannot be split by {name}: {reason}")
        self.lens.borrowed.check(self._fingerprint)
        columns = []
        for side, partner in zip(self.sides, self.sides[::-1], strict=True):
            reading = _reading(side)
            gains = torch.where(reading.parts == 0, 0, reading.parts / reading.states.double())
            directions = gains * (_reading(partner).vector.double() * self._scale)[reading.words]
            stream = Stream(side.trace)
            columns.append(dict(read_parts(stream, sources.logits_read(side.trace, reading.words, directions), name)))
        return pd.DataFrame(dict(zip(SIDES, columns, strict=True)))

    @property
    def _never(self) -> str:
        return MANHATTAN_SUM if self.function == MANHATTAN else ""

    @property
    def _sums(self) -> tuple[Tensor, Tensor]:
        a, b = (side.reading.vector.double() for side in self.sides)
        return a, b

    @cached_property
    def _pairs(self) -> Tensor:
        """(S_a, S_b) float64, of the words that both vectors have."""
        a, b = map(_reading, self.sides)
        joint = a.words[torch.isin(a.words, b.words)]
        left, right = (reading.parts[:, torch.isin(reading.words, joint)] for reading in (a, b))
        return (left @ right.T * self._scale).cpu()

    def _number(self, side: str) -> int:
        if side not in SIDES:
            raise SelectionError(f"no side {excerpt(side)}: there are 'a' and 'b'")
        return SIDES.index(side)

    @property
    def _detail(self) -> str:
        return self.why_not or f"{len(self.words())} words in both, gap {self.gap:.0e}"


def _reading(side: Side) -> SparseReading:
    assert isinstance(side.reading, SparseReading)
    return side.reading


def _names(lens: SentenceLens, ids: list[int]) -> list[str]:
    """Of words of the vocabulary; no two the same."""
    names = names_of(lens.tokenizer)
    return [names.name(number, True) for number in ids]


def _vector(side: Side) -> pd.DataFrame:
    reading, tokens = _reading(side), side.encoding.display_tokens
    at = reading.parts.argmax(0)
    words, weights = reading.words.tolist(), reading.vector[reading.words].double()
    order = weights.argsort(descending=True, stable=True).tolist()
    text = {_key(name) for name in _names(side.lens, [*reading.input_ids])}
    table = pd.DataFrame(
        {
            "word": (names := _names(side.lens, words)),
            "id": words,
            "weight": weights.cpu().numpy(),
            "token": [tokens[place] for place in at.tolist()],
            "at": at.tolist(),
            "share": (reading.parts.amax(0) / weights).cpu().numpy(),
            "logit": reading.states.double().gather(0, at[None])[0].cpu().numpy(),
            "expansion": [_key(name) not in text for name in names],
        }
    )
    return table.iloc[order].reset_index(drop=True)


def _key(name: str) -> str:
    """What a token at the start of a text and the same word behind a blank have in common."""
    return name.removeprefix(BLANK).casefold() or name
