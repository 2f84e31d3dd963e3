"""Why two texts are similar: the model's own number, as a sum over pairs of tokens, and without its words."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from ..base.dataframes import pd
from ..base.generators import run_to_end
from ..errors import ModelError, SelectionError, check_number, excerpt
from .encoders import COSINE, EUCLIDEAN, MANHATTAN, Encoder
from .inputs import NOTE, by_input, check_by, contributions, read_of_input, why_no_input
from .own_embedder import MANHATTAN_SUM
from .text_pair import SIDES, Side, TextPair
from .token_parts import grouped_sums, no_sum, why_not

SPLITS = ("output", "input")


@dataclass(frozen=True, eq=False, repr=False)
class Similarity(TextPair):
    """The similarity of two texts, each read alone, as the model computes it, and what it is a sum of.

    A split by vectors of the last layer: what one word's vector took in of the others on the way is in its part. What
    the number would be without a word is another question, which `effects` answers by an experiment.
    """

    @property
    def why_not(self) -> str:
        """Why the number is no sum over pairs of tokens of the last layer; "" where it is.

        Where pooling reads single tokens, it is a sum over pairs of tokens that went in, `pairs("input")`.
        """
        return self._never or why_not(self._encoder)

    @property
    def terms(self) -> pd.Series:
        """What the number is a sum of, by name: of a cosine or a dot product itself.

        The Euclidean distance has no such sum, its square has: −‖a − b‖² = 2a·b − ‖a‖² − ‖b‖².
        Raises ModelError where there is no sum.
        """
        if reason := self._never:
            raise ModelError(f"this similarity cannot be split by tokens: {reason}")
        a, b = self._sums
        dot = float(a @ b)
        if self.function == EUCLIDEAN:
            return pd.Series({"2a·b": 2 * dot, "−‖a‖²": -float(a @ a), "−‖b‖²": -float(b @ b)})
        return pd.Series({"a·b / ‖a‖‖b‖": dot / self._norms} if self.function == COSINE else {"a·b": dot})

    @property
    def gap(self) -> float:
        """The terms' sum less the model's own number (of the Euclidean distance d, less −d²): what rounding leaves."""
        model = -(self.value**2) if self.function == EUCLIDEAN else self.value
        return float(self.terms.sum()) - model

    @property
    def of(self) -> str:
        """The split that is shown where none is named: "input" where the pooling reads single tokens, else "output"."""
        return "input" if self._encoder.modes.single else "output"

    @property
    def splits(self) -> tuple[str, ...]:
        """Which of "output" and "input" there are: see `pairs`."""
        if self._never:
            return ()
        output = () if why_not(self._encoder) else ("output",)
        return output if any(map(why_no_input, self.sides)) else (*output, "input")

    def pairs(self, of: str | None = None, *, words: bool = False, progress: bool = True) -> pd.DataFrame:
        """(S_a, S_b) what each pair of tokens puts into the number; it sums to the first of `terms`.

        of="output": tokens of the last layer, exact. Of the cosine, cell (i, j) is wᵢ vⱼ aᵢ·bⱼ / (‖a‖‖b‖), of last
        hidden states aᵢ, bⱼ and pooling weights w, v; a Dense or LayerNorm is applied to each part, and what their
        biases put in is the last row and column, "bias".
        of="input": tokens that went in, each its word, position and type, taken through all layers; attention weights,
        deviations of LayerNorms and gates of MLPs kept as the run had them. The last row and column are all biases. The
        work is about that of a forward pass for each token; Ctrl-C ends it, and what is done of it is kept.
        words: pieces of a word summed. attrs: "of", "notes" and "gap", the sum of all terms less the model's number.
        Raises ModelError where there is no sum, SelectionError for another `of`.
        """
        of = self.of if of is None else of
        if of not in SPLITS:
            raise SelectionError(f"no split of {excerpt(of)}: there are {', '.join(map(repr, SPLITS))}")
        matrix, units, names = self._pairs if of == "output" else self._by_input(progress), [], []
        for side, rows in zip(self.sides, matrix.shape, strict=True):
            size = len(side.encoding)
            side_units = side.units(words)
            names.append([*side.names(side_units), *["bias"] * (rows - size)])
            units.append([*side_units, *[[size]] * (rows - size)])
        table = pd.DataFrame(grouped_sums(matrix, units).numpy(), index=names[0], columns=names[1])
        table.attrs["of"], table.attrs["notes"] = of, [*self.notes, *([NOTE] if of == "input" else [])]
        table.attrs["gap"] = float(matrix.sum()) - float(self.terms.iloc[0]) + self.gap
        return table

    def tokens(self, side: str = "a", of: str | None = None, *, words: bool = False, own: bool = False) -> pd.Series:
        """What each token of text "a" or "b" puts in, over all of the other text: sums of rows or columns of `pairs`.

        own: the text's own tokens alone. The template's, a prompt's and biases have their parts in the whole sum, too.
        words: pieces of a word summed. of="input" takes about three forward passes of the text, not one for each token.
        Raises SelectionError for another side.
        """
        if side not in SIDES:
            raise SelectionError(f"no side {excerpt(side)}: there are 'a' and 'b'")
        text_side = self.sides[SIDES.index(side)]
        if (self.of if of is None else of) == "input":
            sums = self._tokens_of_input(SIDES.index(side), words)
        else:
            sums = self.pairs(of, words=words).sum(axis=1 - SIDES.index(side))
        if not own:
            return sums
        of_text = [text_side.is_of_text(unit) for unit in text_side.units(words)]
        return sums[: len(of_text)][of_text]

    def _tokens_of_input(self, number: int, words: bool) -> pd.Series:
        self._check_input()
        side, partner = self.sides[number], self.sides[1 - number]
        terms = read_of_input(side, partner.parts.sum(0) * self._scale).cpu()
        units = side.units(words)
        sums = [*(float(terms[unit].sum()) for unit in units), float(terms[-1])]
        return pd.Series(sums, index=[*side.names(units), "bias"])

    def steps(self) -> Iterator[float]:
        """The work of `pairs("input")` in steps, which yield how much is done, to 1; then it is there at once.

        Leave off to cancel; what is done of one text is kept. Raises ModelError where there is no such split.
        """
        self._check_input()
        for number, side in enumerate(self.sides):
            if number not in self._inputs:
                work = by_input(side)
                while number not in self._inputs:
                    try:
                        yield (number + next(work)) / 2
                    except StopIteration as end:
                        self._inputs[number] = end.value
        yield 1.0

    def _check_input(self) -> None:
        """Raises ModelError where there is no split by what went in, and where the model has changed since."""
        if reason := self._never:
            raise ModelError(f"this similarity cannot be split by tokens: {reason}")
        self.lens.borrowed.check(self._fingerprint)

    def by(self, name: str) -> pd.DataFrame:
        """What each "layer", "head" or "kind" (word, position, type, heads, MLPs, biases) put into the number.

        Column "a" is of the first text's vector, read by all of the other's, "b" the reverse; either sums to the first
        of `terms`. What a head or an MLP wrote is the run's own; deviations of the LayerNorms behind it are kept. A
        layer is its heads and its MLP. Raises ModelError where there is no sum, SelectionError for another name.
        """
        check_by(name)
        if reason := self._never:
            raise ModelError(f"this similarity cannot be split by {name}: {reason}")
        self.lens.borrowed.check(self._fingerprint)
        a, b = self._sums
        scale = self._scale
        columns = [dict(contributions(side, v * scale, name)) for side, v in zip(self.sides, (b, a), strict=True)]
        return pd.DataFrame(dict(zip(SIDES, columns, strict=True)))

    @cached_property
    def _inputs(self) -> dict[int, Tensor]:
        """Of each side: (S + 1, E), see `by_input`."""
        return {}

    @property
    def is_split_by_input(self) -> bool:
        """Whether the work of `pairs("input")` is done."""
        return len(self._inputs) == len(self.sides)

    def _by_input(self, progress: bool) -> Tensor:
        """(S_a + 1, S_b + 1) float64, the last row and column of biases."""
        from ..base.progress import Progress

        with Progress(total=100, desc="input tokens", unit="%", delay=2, leave=False, disable=not progress) as bar:
            for share in self.steps():
                bar.update(round(100 * share) - bar.n)
        a, b = (self._inputs[number] for number in range(2))
        return (a @ b.T * self._scale).cpu()

    @cached_property
    def _effects(self) -> Tensor:
        """(W_a + 1, W_b + 1) the similarity without word i and without word j; first with all."""
        return run_to_end(self.without_words())

    def without_words(self) -> Generator[None, None, Tensor]:
        """What `effects` is made of, in steps of a batch: (W_a + 1, W_b + 1) without word i and word j, first with all.

        Of `sides[n].words`. Raises like `effects`.
        """
        vectors = []
        for side in self.sides:
            batches = []
            for batch in side.without_words():
                batches.append(batch)
                yield
                side.check()
            vectors.append(torch.cat(batches))
        return self._encoder.similarity(*vectors).double().cpu()

    def effects(self, k: int = 10) -> pd.DataFrame:
        """The k pairs of words with the largest parts, and the number without each: an experiment beside the split.

        A word taken out is seen by no head and left out of the pooling; places of the others stay. Columns: a, b the
        words, part, without_a, without_b, without_both, and own = s − s₋ₐ − s₋ᵦ + s₋ₐ₋ᵦ, what goes only with both.
        Where there is no split, part is NaN and the largest `own` come first. Work: one run per word.
        Raises ModelError for a model that hands out no queries and keys, SelectionError where a token would be left
        with nothing to look at (a model that reads from left to right, without its first word), InputError for a k
        below 0.
        """
        k = check_number(k, "k is how many pairs of words to name,", 0)
        s, units = self._effects, [side.words for side in self.sides]
        names = [side.names(side_units) for side, side_units in zip(self.sides, units, strict=True)]
        joint = s[0, 0] - s[1:, :1] - s[:1, 1:] + s[1:, 1:]
        terms = torch.full_like(joint, torch.nan) if self.why_not else grouped_sums(self._pairs, units)
        order = (joint if self.why_not else terms).abs().flatten().argsort(descending=True, stable=True)[:k]
        rows = [divmod(int(at), joint.shape[1]) for at in order]
        numbers = {
            "part": [float(terms[i, j]) for i, j in rows],
            "without_a": [float(s[i + 1, 0]) for i, _ in rows],
            "without_b": [float(s[0, j + 1]) for _, j in rows],
            "without_both": [float(s[i + 1, j + 1]) for i, j in rows],
            "own": [float(joint[i, j]) for i, j in rows],
        }
        return pd.DataFrame({"a": [names[0][i] for i, _ in rows], "b": [names[1][j] for _, j in rows], **numbers})

    @cached_property
    def _pairs(self) -> Tensor:
        """(S_a, S_b) float64; with a row or column of biases where the model has them."""
        a, b = (side.parts if side.parts[-1].any() else side.parts[:-1] for side in self._split)
        return (a @ b.T * self._scale).cpu()

    @property
    def _scale(self) -> float:
        """What a product of two parts is multiplied by."""
        return 2.0 if self.function == EUCLIDEAN else 1 / self._norms if self.function == COSINE else 1.0

    @property
    def _never(self) -> str:
        """Why the number is no sum over tokens, of whatever layer; "" where it is."""
        return MANHATTAN_SUM if self.function == MANHATTAN else no_sum(self._encoder)

    @property
    def _encoder(self) -> Encoder:
        return self.lens.sentences

    @property
    def _split(self) -> tuple[Side, Side]:
        if reason := self.why_not:
            way = "" if self._never else "; of='input' splits it by what went in"
            raise ModelError(f"this similarity cannot be split by tokens of the last layer: {reason}{way}")
        return self.sides

    @property
    def _norms(self) -> float:
        a, b = (float(vector.norm()) for vector in self._sums)
        return max(a, 1e-12) * max(b, 1e-12)

    @property
    def _sums(self) -> tuple[Tensor, Tensor]:
        """(E,) float64 the vectors, as sums of their parts."""
        a, b = (side.parts.sum(0) for side in self.sides)
        return a, b

    @property
    def _detail(self) -> str:
        return self.why_not or f"sum of pairs, gap {self.gap:.0e}"
