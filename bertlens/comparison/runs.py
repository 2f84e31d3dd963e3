"""Two runs side by side: tokens aligned, how far each head's attention is apart, differences of any measure.

Two texts, a run and its changed run, two checkpoints, two models. Which of the two is called a matters to nothing but
signs: a difference is always b − a, and above 0 where b has more.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from ..base.dataframes import pd
from ..base.quotes import quotation
from ..base.ranking import is_nothing, ranked
from ..base.registered import registered
from ..base.vocabulary import MEASURES, phrases
from ..base.vocabulary.constants import SINK
from ..errors import InputError, ModelError, SelectionError, check_index, check_name, excerpt
from ..measures.distributions import divergences, jensen_shannon, shares
from ..measures.norms import transformed_norm
from ..trace.trace import Trace
from .alignment import Alignment, Unit, align, members, spread
from .answer_pairs import BothAnswers, answers
from .same_training import match_heads, one_tokenizer

KINDS = ("map", "tokens", "heads")
WEIGHTS_AT_ONCE = 2**20  # weights of one side that are worked on at a time: a dozen tensors of 4 MB
Measure = Callable[..., Tensor]


def compare(a: Trace, b: Trace, *, same_heads: bool | None = None, aligned_only: bool = False) -> Comparison:
    """Two traces, aligned: see Comparison.

    Aligned is a longest common sequence of words. Often there are several as long: where a word comes twice, or where
    words change places. Taken is the one whose next pair both texts come to first (smallest i + j, then |i − j|, then
    the word), the same for (b, a). `said` names the pairs that another one lacks (`queries.open`); a head's divergence
    may depend on that choice.

    same_heads: whether a head of one index is the same head in both. None: where both are of one model, where their
    weights say that one was trained on from the other (`kinship`), and where attention weights were given.
    aligned_only: as if both texts had their common tokens alone, see `Comparison.only`.
    Raises InputError for anything but two traces, and for two that have no word in common.
    """
    for trace in (a, b):
        if not isinstance(trace, Trace):
            raise InputError(f"compare takes two traces, not {type(trace).__name__}: trace the text first")
    single = one_tokenizer(a, b)
    queries = align(a.encoding, b.encoding, single)
    keys = queries
    if a.key_encoding is not None or b.key_encoding is not None:
        keys = align(a.key_encoding or a.encoding, b.key_encoding or b.encoding, single)
    if not queries.shared or not keys.shared:
        raise InputError(phrases.NO_COMMON_WORD)
    return Comparison(a, b, queries, keys, *match_heads(a, b, same_heads)).only(aligned_only)


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """Two traces and which of their tokens are the same. L layers, H heads; U query and V key units, gaps included.

    Units are tokens where both were made with one tokenizer, else words: rows of a word are the mean over its pieces,
    columns their sum.
    """

    a: Trace
    b: Trace  # what is told is b − a
    queries: Alignment  # of U units
    keys: Alignment  # of V units
    same_heads: bool  # whether heads are matched by index
    note: str  # why, or why not, in one sentence
    aligned_only: bool = False  # weights are shares of what a row gives to aligned tokens

    def only(self, aligned: bool = True) -> Comparison:
        """The same two runs by their aligned tokens alone, or (False) by all of them.

        By those alone there are no gaps, and the weights of each token's row over their keys are scaled to sum 1, or
        stay 0 where it gives them nothing; norms and differences are those of these weights. What looks elsewhere only
        for a word that has no partner is then no difference.
        """
        if aligned == self.aligned_only:
            return self
        queries = self.queries.only(aligned)
        keys = queries if self.keys is self.queries else self.keys.only(aligned)
        return replace(self, queries=queries, keys=keys, aligned_only=aligned)

    @property
    def tokens(self) -> pd.DataFrame:
        """DataFrame(a, b), one row per aligned unit, in order; None is a gap."""
        names = [
            (None if i is None else self.queries.a[i].name, None if j is None else self.queries.b[j].name)
            for i, j in self.queries.pairs
        ]
        return pd.DataFrame(names, columns=["a", "b"], dtype=object)

    @cached_property
    def heads(self) -> Tensor:
        """(L, H) Jensen-Shannon divergence of each head's rows in a and in b, in nats in [0, ln 2], float64.

        Mean over aligned query rows, special tokens included, as `survey.head_distances`. A key without a partner
        keeps its weight in a column of its own, as does weight that goes to no token: nothing is renormalised, but for
        what `only` does.
        Lin 1991; between heads Clark et al. 2019, section 6. Raises ModelError where heads are not matched by index.
        """
        self._check_heads()
        return self._apart.mean(2)

    @cached_property
    def _apart(self) -> Tensor:
        """(L, H, n) float64: the divergence of every aligned row."""
        while not self.advance():
            pass
        chunks = [self._known[at] for at in range(len(self._known))]
        return torch.cat(chunks, 1).unflatten(1, (self.a.n_layers, -1)).transpose(0, 1)

    def cell(self, layer: int, head: int) -> tuple[int, int]:
        """Where a head differs most: the aligned row that does, and the column of it whose weight does.

        The row counts in `tokens`, the column in the aligned keys, the same for maps within one text; gaps included.
        Raises as `heads`, SelectionError for a head that does not exist.
        """
        self._check_heads()
        check_index(layer, self.a.n_layers, "layer")
        check_index(head, self.a.n_heads, "head")
        row = self.queries.pairs.index(self.queries.shared[int(self._apart[layer, head].argmax())])
        in_a, in_b = (self.head(side, layer, head, queries=slice(row, row + 1))[0].nan_to_num(0) for side in (0, 1))
        return row, int((in_b - in_a).abs().argmax())

    def attention(self, layer: int) -> Tensor:
        """(H, U, V) attention of b − that of a, NaN at gaps. Raises as `heads`."""
        in_a, in_b = self.weights(layer)
        return in_b - in_a

    def weights(self, layer: int) -> tuple[Tensor, Tensor]:
        """(H, U, V) attention of a and of b on the units of both, NaN at gaps. Raises as `heads`."""
        return self.both(lambda trace: self._given(0 if trace is self.a else 1, trace.attention(layer)))

    def difference(self, measure: Measure, layer: int | None = None, kind: str = "map") -> Tensor:
        """A measure of b − that of a, float64, NaN at gaps.

        measure: (trace) or, with `layer`, (trace, layer) -> Tensor. kind: "map" (…, S, K) [query, key] gives
        (…, U, V); "tokens" (…, S) gives (…, U); "heads" anything without tokens, taken as it is.
        Raises SelectionError for another kind, InputError where the measure has another shape, ModelError where it is
        of heads and these are not matched by index.
        """
        in_a, in_b = self.both(measure, layer, kind)
        return in_b - in_a

    def both(self, measure: Measure, layer: int | None = None, kind: str = "map") -> tuple[Tensor, Tensor]:
        """The measure of a and of b, on the units of both, NaN at gaps.

        layer, kind, InputError and SelectionError as for `difference`.
        """
        if not callable(measure):
            raise InputError(f"measure is a function of a trace, not {excerpt(measure)}")
        if not isinstance(kind, str) or kind not in KINDS:
            raise SelectionError(f"no kind {excerpt(kind)} of measure: there are {', '.join(KINDS)}")
        outcomes = [measure(trace) if layer is None else measure(trace, layer) for trace in (self.a, self.b)]
        in_a, in_b = (
            (x if isinstance(x, Tensor) else torch.as_tensor(x, device="cpu")).detach().double() for x in outcomes
        )
        in_b = in_b.to(in_a.device)
        placed = [self._placed(x, side, kind) for side, x in enumerate((in_a, in_b))]
        if placed[0].shape != placed[1].shape:
            raise InputError(f"the measure is {tuple(in_a.shape)} in a and {tuple(in_b.shape)} in b")
        lead = placed[0].ndim - {"map": 2, "tokens": 1, "heads": 0}[kind]
        if lead > 0:  # of heads, or of layers
            self._check_heads()
        return placed[0], placed[1]

    def head(
        self,
        side: int,
        layer: int,
        head: int,
        measure: str = "weight",
        queries: slice = slice(None),
        keys: slice = slice(None),
    ) -> Tensor:
        """(u, v) one head of one side by one of `vocabulary.MEASURES`, float64, on the units of both: NaN at gaps.

        side: 0 for a, 1 for b. queries, keys: which of the U and V aligned units; only their rows are computed.
        Raises SelectionError for a side, head or measure that does not exist, ModelError without norms for one of them.
        """
        check_index(side, 2, "side")
        trace = self.b if side else self.a
        check_index(layer, trace.n_layers, "layer")
        check_index(head, trace.n_heads, "head")
        check_name(measure, MEASURES, "measure")
        rows, columns = self.queries.pairs[queries], self.keys.pairs[keys]
        cells = torch.full((len(rows), len(columns)), torch.nan, dtype=torch.float64, device="cpu")
        down, across = ([(n, pair[side]) for n, pair in enumerate(pairs)] for pairs in (rows, columns))
        row_units = [unit for _, unit in down if unit is not None]
        column_units = [unit for _, unit in across if unit is not None]
        if row_units and column_units:
            values = self._weights(side, layer, row_units[0], row_units[-1], measure)[head]
            values = values[[unit - row_units[0] for unit in row_units]][:, column_units].detach().cpu().double()
            places = torch.tensor([n for n, unit in down if unit is not None], device="cpu")
            column_places = torch.tensor([n for n, unit in across if unit is not None], device="cpu")
            cells[places[:, None], column_places] = values
        return cells

    def explore(self, **selection: Any) -> Any:
        """The CompareView widget: A, B and b − a of one head on one scale, linked with the heads that differ most.

        selection: its traits (layer=, head=, query=, key=, measure=, theme=). Opens on the head that differs most.
        """
        return registered("compare_view")(self, **selection)

    def most(self, n: int = 5) -> pd.DataFrame:
        """The n heads that differ most, of those that do: DataFrame(layer, head, divergence, query, key, a, b, words).

        query: the aligned row in which the head differs most; key: the column of that row whose weight differs most;
        a, b: its weights there, 0 where no token of that text is aligned with the key. words: the same as a sentence,
        with where the tokens stand: in a, but for a key of b that has no partner. Of a key without one it says whether
        the other text has it elsewhere.
        Raises InputError for n < 1, else as `heads`.
        """
        if isinstance(n, bool) or not isinstance(n, int) or n < 1:
            raise InputError(f"n must be a whole number of at least 1, not {n!r}")
        heads = self.heads
        nats = heads.flatten()
        places = nats.argsort(descending=True, stable=True)[:n].tolist()
        order = [at for at in places if not is_nothing(float(nats[at]))]
        rows = [self._described(*divmod(at, heads.shape[1])) for at in order]
        columns = ["layer", "head", "divergence", "query", "key", "a", "b", "words"]
        return pd.DataFrame(rows, columns=columns)

    def nearest(self) -> pd.DataFrame:
        """For every head of a the head of b that looks most alike: DataFrame(layer, head, layer_b, head_b, divergence).

        By Jensen-Shannon divergence in nats, as `heads`; of equal ones the first. For two models whose heads are not
        matched by index. That one of so many heads is near by chance is to be expected: compare with the nearest of
        another text. Work: every pair of heads of both.
        """
        maps = [
            torch.cat([self._union(side, layer) for layer in range(trace.n_layers)])
            for side, trace in enumerate((self.a, self.b))
        ]
        count, rows = len(maps[0]), len(self.queries.shared)
        distances = divergences(torch.cat(maps))[:count, count:].cpu() / rows
        best, at = distances.min(1)
        nearest_rows = [
            (*divmod(index, self.a.n_heads), *divmod(int(at[index]), self.b.n_heads), float(best[index]))
            for index in range(count)
        ]
        return pd.DataFrame(nearest_rows, columns=["layer", "head", "layer_b", "head_b", "divergence"])

    @property
    def said(self) -> str:
        """How much is aligned, which pairs could be others, and what is said of heads."""
        gaps = len(self.queries.shared) < max(len(self.queries.a), len(self.queries.b))
        scaled = f"{phrases.ALIGNED_SCALED} " if self.aligned_only and gaps else ""
        return f"{self.queries.said} {scaled}{self.note}".rstrip()

    def answers(self, k: int = 5) -> BothAnswers:
        """What the model answers in a and in b: `.rows` of (where, name, a, b), `.unit`, and `.said`, one sentence.

        The k best of either; see `comparison.answer_pairs`. No rows and "" where there is nothing to compare.
        """
        return answers(self.a, self.b, self.queries, self.same_heads, k)

    def __repr__(self) -> str:
        return f"Comparison({self.a!r}, {self.b!r}: {self.said})"

    # --- inside ---

    def _check_heads(self) -> None:
        if not self.same_heads:
            raise ModelError(self.note)

    def _side(self, side: int) -> tuple[Trace, Sequence[Unit], Sequence[Unit]]:
        trace = self.b if side else self.a
        return (trace, self.queries.b, self.keys.b) if side else (trace, self.queries.a, self.keys.a)

    def _weights(self, side: int, layer: int, first: int, last: int, measure: str = "weight") -> Tensor:
        """(H, n, key units) a measure of one side's query units first … last, in the model's dtype."""
        trace, rows, columns = self._side(side)
        units = rows[first : last + 1]
        start, stop = units[0].pieces[0], units[-1].pieces[-1] + 1
        alpha = self._given(side, trace.attention_rows(layer, start, stop))
        if measure != "weight":
            passed_on = alpha * transformed_norm(trace, layer)[:, None].to(alpha)
            alpha = passed_on if measure == "norm" else alpha - shares(passed_on)
        if self.queries.by == "tokens":
            return alpha
        return members(units, alpha, mean=True).T @ alpha @ members(columns, alpha)

    def _given(self, side: int, alpha: Tensor) -> Tensor:
        """(…, all keys of one side) weights as they are compared: with `aligned_only`, shares of aligned keys."""
        if not self.aligned_only:
            return alpha
        units = self._side(side)[2]
        aligned = [piece for pair in self.keys.shared for piece in units[pair[side]].pieces]
        alone = torch.ones(alpha.shape[-1], dtype=torch.bool, device=alpha.device)
        alone[aligned] = False
        return shares(alpha.masked_fill(alone, 0))

    def _split(self, side: int, layer: int, pairs: Sequence[tuple[int, int]]) -> tuple[Tensor, Tensor]:
        """(H, n, m + 1) aligned rows, over aligned keys and nothing; (H, n, k) over keys without a partner."""
        rows, keys = ([pair[side] for pair in aligned] for aligned in (pairs, self.keys.shared))
        alpha = self._weights(side, layer, rows[0], rows[-1])[:, [row - rows[0] for row in rows]]
        sink = 1 - alpha.sum(-1, keepdim=True)
        sink = sink.where(sink > SINK, 0)
        return torch.cat([alpha[..., keys], sink], -1), alpha[..., list(self.keys.alone[side])]

    @cached_property
    def _chunks(self) -> list[list[tuple[int, int]]]:
        """Aligned pairs in groups whose weights are worked on at once, gaps between them included."""
        limit = max(1, WEIGHTS_AT_ONCE // (self.a.n_heads * max(len(self.keys.a), len(self.keys.b))))
        chunks: list[list[tuple[int, int]]] = []
        for pair in self.queries.shared:
            if not chunks or max(a - b for a, b in zip(pair, chunks[-1][0], strict=True)) >= limit:
                chunks.append([])
            chunks[-1].append(pair)
        return chunks

    def advance(self) -> bool:
        """Compare some rows more, unless all are; whether `heads` has all that it needs. What is done is kept."""
        number, count = len(self._known), self.a.n_layers * len(self._chunks)
        if number < count:
            self._known[number] = self._rows(number // len(self._chunks), self._chunks[number % len(self._chunks)])
        return number + 1 >= count

    @cached_property
    def _known(self) -> dict[int, Tensor]:
        """Rows that were compared, layer by layer, chunk by chunk; by number, as two threads may be at it."""
        return {}

    def _rows(self, layer: int, pairs: Sequence[tuple[int, int]]) -> Tensor:
        """(H, n) float64 on the CPU: `_apart` of some pairs of one layer."""
        (p, alone_p), (q, alone_q) = self._split(0, layer, pairs), self._split(1, layer, pairs)
        # with 0 on the other side a column's part is ½ p ln 2
        alone = alone_p.sum(-1).cpu().double() + alone_q.sum(-1).cpu().double()
        return jensen_shannon(p, q.to(p)).cpu().double() + math.log(2) / 2 * alone

    def _union(self, side: int, layer: int) -> Tensor:
        """(H, n, all keys) aligned rows over the keys of both, where the first run lies."""
        shared, alone = self._split(side, layer, self.queries.shared)
        nothing = shared.new_zeros(*shared.shape[:2], len(self.keys.alone[1 - side]))
        blocks = [shared, alone, nothing] if side == 0 else [shared, nothing, alone]
        return torch.cat(blocks, -1).to(self.a.device)

    def _placed(self, x: Tensor, side: int, kind: str) -> Tensor:
        """On the units of both; NaN elsewhere."""
        trace, rows, columns = self._side(side)
        n, m = trace.n_tokens, len(trace.key_tokens)
        if kind == "heads":
            return x
        shape = (n, m) if kind == "map" else (n,)
        if tuple(x.shape[x.ndim - len(shape) :]) != shape:
            ending = ", ".join(map(str, shape))
            raise InputError(f"a measure of kind {kind!r} ends in ({ending}), one for each token, not {tuple(x.shape)}")
        if self.queries.by == "words" and kind == "map":
            x = members(rows, x, mean=True).T @ x @ members(columns, x)
        elif self.queries.by == "words":
            x = x @ members(rows, x)
        for dim, alignment in ((-2, self.queries), (-1, self.keys)) if kind == "map" else ((-1, self.queries),):
            x = spread(x, dim, [pair[side] for pair in alignment.pairs])
        return x

    def _described(self, layer: int, head: int) -> tuple[Any, ...]:
        """One row of `most`."""
        row, at = self.cell(layer, head)
        i, j = self.queries.pairs[row]
        assert i is not None and j is not None
        weights = [
            float(self.head(side, layer, head, queries=slice(row, row + 1), keys=slice(at, at + 1)).nan_to_num(0))
            for side in (0, 1)
        ]
        p, q = self.keys.pairs[at]
        side, n = (1, q) if p is None else (0, p)
        assert n is not None
        query, key = self.queries.a[i], (self.keys.b if side else self.keys.a)[n]
        order = sorted((0, 1), key=weights.__getitem__, reverse=True)
        texts = dict(zip(order, ranked([weights[side] for side in order], 2), strict=True))
        sentence = phrases.BOTH.format(a=texts[0], b=texts[1])
        if p is None or q is None:
            sentence = phrases.WEIGHT_AND_GAP.format(weight=texts[side], side="ab"[side], gap=self.keys.gap(side, n))
        divergence = float(self.heads[layer, head])
        words = phrases.HEAD_DIFFERS.format(head=f"L{layer}·H{head}", query=_at(query), key=_at(key), weights=sentence)
        return layer, head, divergence, query.name, key.name, *weights, words


def _at(unit: Unit) -> str:
    return f"{quotation(unit.name)} ({unit.pieces[0]})"
