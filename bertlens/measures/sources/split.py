"""Sources: one number, split by where it came from, and what can be asked of the split."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from ...base.dataframes import pd
from ...base.quotes import quotation
from ...base.vocabulary.constants import SCORE_TERMS
from ...errors import InputError, SelectionError, check_index
from ...trace.trace import Trace
from .pull import Parts, Reading, descend, parts
from .stream import Stream

KINDS = ("word", "position", "type", "head", "mlp", "bias", *SCORE_TERMS)
BY = ("kind", "layer")
NEAR_ZERO = 0.1  # a total below this is the difference of parts that cancel: ratios to it say nothing
Row = tuple[str, int | None, int | None, float]


@dataclass(frozen=True, eq=False, repr=False)
class Sources:
    """A number of the run as a sum of parts. Values are in the number's own unit (nats for scores, logits).

    Kinds: word, position, type (what the embeddings sum up), head (an earlier head at the tokens read, its value bias
    included), mlp (an earlier MLP, without b₂), bias (every other vector that all tokens were given alike: LayerNorm
    β, b_O, b₂, the reading's own bias; with MLPs opened their inner bias too); of a score also what its family adds to
    q·k: relative position, content to position, position to content, layout. Deviations of LayerNorms, gates of opened
    MLPs and attention weights are those of the run: a split, not an experiment.
    """

    trace: Trace
    what: str  # the number in words
    model: float  # the same number as the model gives it
    reading: Reading
    through_mlps: bool  # MLPs opened: see `score`
    layer: int  # whose input is read; L for the last layer's output
    notes: tuple[str, ...]  # sentences on how it was computed
    _parts: Parts
    unit: str = "nats"  # scores and differences of logits; "logits" for one logit
    terms: Mapping[str, float] = field(default_factory=dict)  # of a score, what is beside q·k

    @cached_property
    def rows(self) -> list[Row]:
        """(kind, layer, head, value), in the order of KINDS, as far as there are such."""
        split = self._parts
        rows: list[Row] = [
            (kind, None, None, float(x)) for kind in KINDS if (x := split.embedded.get(kind)) is not None
        ]
        for layer in sorted(split.heads):
            rows += [("head", layer, head, value) for head, value in enumerate(split.heads[layer][:, 0].tolist())]
        rows += [("mlp", layer, None, float(split.mlps[layer])) for layer in sorted(split.mlps)]
        return [
            *rows,
            ("bias", None, None, float(split.bias)),
            *((kind, None, None, x) for kind, x in self.terms.items()),
        ]

    @property
    def parts(self) -> pd.DataFrame:
        """DataFrame(kind, layer, head, value), float64; layer and head are NaN where there is none."""
        return table(self.rows)

    @property
    def total(self) -> float:
        """The sum of the parts."""
        return float(torch.tensor([value for *_, value in self.rows], dtype=torch.float64, device="cpu").sum())

    @property
    def gap(self) -> float:
        """total − model: what rounding leaves; larger in half precision."""
        return self.total - self.model

    @property
    def spread(self) -> float | None:
        """Σ|parts| / |total| ≥ 1: how much cancels; None where |total| < NEAR_ZERO."""
        total = abs(self.total)
        return sum(abs(value) for *_, value in self.rows) / total if total >= NEAR_ZERO else None

    def by(self, name: str) -> pd.Series:
        """Sums over a name, "kind" or "layer" (NaN: no layer's); they sum to the total. Raises SelectionError."""
        if name not in BY:
            raise SelectionError(f"parts cannot be summed by {name!r}: there are {', '.join(BY)}")
        frame = self.parts
        return frame.groupby(name, dropna=False, sort=name == "layer")["value"].sum()

    @torch.no_grad()
    def ask(self, layer: int, head: int, token: int) -> Sources:
        """Where one part of this came from: what that earlier head fetched at `token`, split in the same way.

        Its total is `tokens(trace, self, layer, head)[token]`. Raises SelectionError for a layer that is not earlier,
        a head or a token that does not exist.
        """
        fetch = Fetch.of(self, layer, head)
        check_index(token, self.trace.n_tokens, "token")
        reading = fetch.reading(token)
        split = parts(fetch.stream, reading, through_mlps=self.through_mlps)
        name = self.trace.display_tokens[token]
        return Sources(
            trace=self.trace,
            what=f"what L{layer}·H{head} fetched at {quotation(name)} ({token}), as a part of {self.what}",
            model=float(fetch.values()[token]),
            reading=reading,
            through_mlps=self.through_mlps,
            layer=layer,
            notes=self.notes,
            _parts=split,
            unit=self.unit,
        )

    def __repr__(self) -> str:
        return (
            f"Sources({self.what}: sum {self.total:.4f}, model {self.model:.4f}, difference {self.gap:.0e}, "
            f"{len(self.rows)} parts; {' '.join(self.notes)})"
        )


@dataclass(frozen=True)
class Fetch:
    """One earlier head's part of a number, before it is summed over the tokens where the head fetched it."""

    stream: Stream
    layer: int
    head: int
    directions: Tensor  # (T or 1, d) what the head's context is read with
    tokens: Tensor  # (T,) those read
    weights: Tensor  # (T,) what each of them counts

    @classmethod
    def of(cls, s: Sources, layer: int, head: int) -> Fetch:
        """Raises SelectionError for a layer that is not earlier, or a head that does not exist."""
        return cls.several(s, [(layer, head)])[layer, head]

    @classmethod
    def several(cls, s: Sources, heads: Iterable[tuple[int, int]]) -> dict[tuple[int, int], Fetch]:
        """Of several earlier heads, from one pull."""
        by_layer: dict[int, list[int]] = {}
        for layer, head in heads:
            _check_earlier(s, layer)
            check_index(head, s.trace.n_heads, "head")
            by_layer.setdefault(layer, []).append(head)
        if not by_layer:
            return {}
        stream = Stream(s.trace)
        fetches = {}
        for step in descend(stream, s.reading, through_mlps=s.through_mlps, down_to=min(by_layer)):
            if step.place != "attention":
                continue
            for head in by_layer.get(step.layer, ()):
                output = stream.output(step.layer)
                size = output.weight.shape[1] // s.trace.n_heads
                r = step.pull.back(output).vector[:, 0, head * size : (head + 1) * size]
                fetches[step.layer, head] = cls(stream, step.layer, head, r, step.pull.tokens, step.pull.weights)
        return fetches

    def values(self) -> Tensor:
        """(S,) float64 Σ_t λ_t α_tm v_m · r_t."""
        value = self.stream.heads(self.layer, "value", self.head).double()
        total = value.new_zeros(len(value))
        single = len(self.directions) == 1
        for rows, alpha in self._attention():
            weights = self.weights[rows]
            total += weights @ (alpha if single else alpha.mul_(self.directions[rows] @ value.T))
        return total * (value @ self.directions[0]) if single else total

    def _attention(self) -> Iterator[tuple[slice, Tensor]]:
        return self.stream.attention(self.layer, self.head, self.tokens)

    def reading(self, token: int) -> Reading:
        """The same of one of those tokens, as a reading of the layer's input there."""
        column = torch.cat([alpha[:, token] for _, alpha in self._attention()])
        r = (self.weights * column) @ self.directions.expand(len(self.weights), -1)  # (d,)
        map = self.stream.projection(self.layer, "value", self.head)
        constant = r.new_zeros(1) if map.bias is None else (map.bias.double() @ r)[None]
        unit = torch.ones(1, dtype=torch.float64, device=r.device)
        return Reading(self.layer, torch.tensor([token], device=r.device), unit, map.back(r[None])[None], constant)


@torch.no_grad()
def tokens(trace: Trace, s: Sources, layer: int, head: int) -> Tensor:
    """(S,) float64: where that earlier head fetched its part of `s`; sums to the part.

    Σ_t λ_t α_tm v_m · r_t over the tokens t that are read. Raises SelectionError for a layer that is not earlier than
    what is read, InputError for sources of another trace.
    """
    _check_own(trace, s)
    return Fetch.of(s, layer, head).values()


@torch.no_grad()
def neurons(trace: Trace, s: Sources, layer: int) -> Tensor:
    """(D_ff,) float64: the part of one earlier MLP in `s`, neuron by neuron; sums to the part.

    Raises like `tokens`, and SelectionError where `s` has its MLPs opened: then none of them is a part.
    """
    _check_own(trace, s)
    if s.through_mlps:
        raise SelectionError("with through_mlps=True no part is an MLP's: ask for the sources without it")
    _check_earlier(s, layer)
    stream = Stream(trace)
    pull = next(step.pull for step in descend(stream, s.reading, down_to=layer) if step[:2] == ("mlp", layer))
    active = stream.neurons(layer, pull.tokens)
    z = pull.back(stream.mlp_output(layer)).vector[:, 0]  # (T or 1, F)
    return z[0] * (pull.weights @ active) if len(z) == 1 else torch.einsum("t,tf,tf->f", pull.weights, active, z)


@torch.no_grad()
def fetched_most(s: Sources, heads: Iterable[tuple[int, int]]) -> dict[tuple[int, int], tuple[int, float]]:
    """For some earlier heads of a split s: the token at which most of the part was fetched, by size, and that number.

    One pull for all of them. Raises like `tokens`.
    """
    peaks = {}
    for name, fetch in Fetch.several(s, heads).items():
        values = fetch.values()
        token = int(values.abs().argmax())
        peaks[name] = token, float(values[token])
    return peaks


def _check_earlier(s: Sources, layer: int) -> None:
    if not 0 <= layer < s.layer:
        raise SelectionError(f"layer {layer} is not earlier than what is read, the input of layer {s.layer}")


def _check_own(trace: Trace, s: Sources) -> None:
    if s.trace is not trace:
        raise InputError("these sources are of another trace")


def table(rows: list[Row]) -> Any:
    """DataFrame(kind, layer, head, value)."""
    kinds, layers, heads, values = zip(*rows, strict=True)
    number: Callable[[int | None], float] = lambda n: float("nan") if n is None else float(n)  # noqa: E731
    return pd.DataFrame(
        {"kind": kinds, "layer": [*map(number, layers)], "head": [*map(number, heads)], "value": values}
    )
