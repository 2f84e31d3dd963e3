"""A closer look at a few of the texts: what takes too long, or too much room, to be measured of all."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field

import numpy as np
import torch

from ..errors import ModelError
from ..lens import Lens
from ..measures import neurons
from ..measures.geometry import cosine_contributions
from ..measures.offers import why_not
from ..measures.spectra import Spectrum
from ..survey.corpus import Item, Numbered, traces_of
from ..survey.text_statistics import Lengths
from ..text.display import word_of
from ..trace.trace import Trace

TEXTS = 16
LONGEST = 512  # tokens: a map of every head is held
TOO_LONG = f"the texts that are looked at closer have more than {LONGEST} tokens"
LEAST = 1e-12  # vectors that are shorter have no length to speak of


@dataclass
class FewTexts:
    """What was measured of a few texts, in their order. L layers, H heads; NaN where a text has none of it.

    pieces, other_sentence (L, H): attention of the parts of a word to its other parts, of a word to the same word in
    the other sentence. spread (L, H): how far a head's rows are from their mean, mutual information of query and key in
    nats. neurons (L, H): neurons of the strongest key ÷ chance, medians of the queries. lengths (3, L, H): mean ‖q‖,
    ‖k‖, ‖v‖. rank, top_shares (L, H): effective rank of a head's output ÷ the most it can be, and its share in one
    direction. norms (L, H): mean length of a head's output behind W_O. layer_changes (L,): ‖output − input‖ ÷ ‖input‖
    of a layer. rogue (L,): the largest dimension's share of the layer's mean cosine. Lists are empty where a family
    offers none.
    """

    pieces: list[np.ndarray] = field(default_factory=list)
    other_sentence: list[np.ndarray] = field(default_factory=list)
    spread: list[np.ndarray] = field(default_factory=list)
    neurons: list[np.ndarray] = field(default_factory=list)
    lengths: list[np.ndarray] = field(default_factory=list)
    rank: list[np.ndarray] = field(default_factory=list)
    top_shares: list[np.ndarray] = field(default_factory=list)
    norms: list[np.ndarray] = field(default_factory=list)
    layer_changes: list[np.ndarray] = field(default_factory=list)
    rogue: list[np.ndarray] = field(default_factory=list)
    why: str = ""  # why there are no queries

    def add(self, trace: Trace, sizes: Lengths) -> None:
        pairs = pairs_of(trace)
        layers = [_of_weights(trace.attention(layer).double(), *pairs) for layer in range(trace.n_layers)]
        for kind, rows in zip((self.pieces, self.other_sentence, self.spread), zip(*layers, strict=True), strict=True):
            kind.append(torch.stack(rows).cpu().numpy())
        states = trace.hidden_states
        if states:
            self.layer_changes.append(np.array([_layer_change(a, b) for a, b in itertools.pairwise(states)]))
            self.rogue.append(np.array([_rogue(state) for state in states[1:]]))
        try:
            self._of_vectors(trace)
        except ModelError as error:
            self.why = str(error).split(": ")[0]
            return
        if not why_not(trace, "norms"):
            self.norms.append(np.stack([_norms(trace, layer, sizes) for layer in range(trace.n_layers)]))

    def _of_vectors(self, trace: Trace) -> None:
        layers = range(trace.n_layers)
        three = (trace.query, trace.key, trace.value)
        lengths = [[of(layer).double().norm(dim=-1).mean(-1).cpu().numpy() for layer in layers] for of in three]
        spectra = [Spectrum.of(trace.head_context(layer)) for layer in layers]
        full_rank = min(trace.n_tokens, trace.head_context(0).shape[-1])
        self.lengths.append(np.array(lengths))
        self.rank.append(np.stack([spectrum.effective_rank.cpu().numpy() / full_rank for spectrum in spectra]))
        self.top_shares.append(np.stack([spectrum.top_share.cpu().numpy() for spectrum in spectra]))
        self.neurons.append(
            np.array([[_neurons(trace, layer, head) for head in range(trace.n_heads)] for layer in layers])
        )


@torch.no_grad()
def measure_few(lens: Lens, items: list[Item]) -> FewTexts:
    """The first `TEXTS` of the texts, without those of more than `LONGEST` tokens."""
    numbers, sizes = FewTexts(), Lengths()
    for number, item in enumerate(items[:TEXTS]):
        for trace in traces_of(lens, [Numbered(number, item)], True):
            if trace.n_tokens <= LONGEST:
                numbers.add(trace, sizes)
    return numbers


def pairs_of(trace: Trace) -> tuple[torch.Tensor, torch.Tensor]:
    """(S, S) bool: two parts of one word; the same word in the other sentence, upper and lower case alike."""
    tokens, word = trace.display_tokens, trace.word_ids
    pieces: dict[int, list[str]] = {}
    for token, number in zip(tokens, word, strict=True):
        if number is not None:
            pieces.setdefault(number, []).append(token)
    spelled = {n: word_of(tokens, trace.encoding.continuation).casefold() for n, tokens in pieces.items()}
    indices: dict[str, int] = {}
    for spelling in spelled.values():
        if any(map(str.isalnum, spelling)):
            indices.setdefault(spelling, len(indices))
    device = trace.input_ids.device
    numbers = torch.tensor([-1 if number is None else number for number in word], device=device)
    spellings = torch.tensor(
        [-1 if number is None else indices.get(spelled[number], -1) for number in word], device=device
    )
    same_word = (numbers[:, None] == numbers) & (numbers >= 0) & ~torch.eye(len(word), dtype=torch.bool, device=device)
    segments = trace.segments.to(device)
    two_sentences = segments[:, None] != segments
    return same_word, (spellings[:, None] == spellings) & (spellings >= 0) & two_sentences


def _of_weights(alpha: torch.Tensor, pieces: torch.Tensor, repeats: torch.Tensor) -> tuple[torch.Tensor, ...]:
    return attention_to(alpha, pieces), attention_to(alpha, repeats), _spread(alpha)


def attention_to(alpha: torch.Tensor, pairs: torch.Tensor) -> torch.Tensor:
    """(H,) what the queries that have such a key give to all of them, mean of these queries."""
    having = pairs.any(-1)
    if not having.any():
        return alpha.new_full((len(alpha),), torch.nan)
    return (alpha * pairs).sum(-1)[:, having].mean(-1)


def _spread(alpha: torch.Tensor) -> torch.Tensor:
    """(H,) entropy of the mean row less the mean entropy of the rows."""
    return torch.special.entr(alpha.mean(1)).sum(-1) - torch.special.entr(alpha).sum(-1).mean(-1)


def _neurons(trace: Trace, layer: int, head: int) -> float:
    sizes = neurons.n80_of_strongest(trace, layer, head)
    sizes = sizes[sizes > 0]
    chance = neurons.n80_chance(trace.query(layer).shape[-1], trace.n_tokens).median
    return float(sizes.double().median()) / chance if len(sizes) else float("nan")


def _norms(trace: Trace, layer: int, sizes: Lengths) -> np.ndarray:
    return sizes.of(trace, layer, trace.head_context(layer)).mean(-1).cpu().numpy()


def _layer_change(before: torch.Tensor, after: torch.Tensor) -> float:
    x, y = before.double(), after.double()
    return float(((y - x).norm(dim=-1) / x.norm(dim=-1).clamp_min(LEAST)).mean())


def _rogue(state: torch.Tensor) -> float:
    if len(state) < 2:
        return float("nan")
    gives = cosine_contributions(state).abs()
    return float(gives.max() / gives.sum().clamp_min(LEAST))
