"""The numbers of claims about resting places and massive activations."""

from __future__ import annotations

import numpy as np
import torch

from .. import whatif
from ..errors import ModelError, SelectionError
from ..lens import Lens
from ..measures import predictions
from ..measures.distributions import total_variation
from ..measures.significance import LEVEL, mean_interval
from ..survey.corpus import Item, Numbered, traces_of
from ..survey.text_statistics import CATEGORIES
from ..trace.trace import Trace
from .few_texts import FewTexts
from .registry import NO_NORMS, few_texts_measure, interval, measure, strongest
from .rules import Measured
from .text_numbers import TextNumbers

RESTS = 0.3  # of a head's attention, on one kind of token: Gu et al. 2025 (arXiv 2410.10781) take the same
NULL = 0.5  # a resting place whose ‖f(x)‖ is less than this part of other words' sends next to nothing
OTHERS = 4  # tokens whose loss is compared with that of the resting place
OFF_TEXTS = 16
MASSIVE = 1000.0, 100.0  # medians of the layer, and size itself: Sun et al. 2024 ask for both


def resting_places(g: TextNumbers) -> tuple[list[str], np.ndarray, list[list[np.ndarray]]]:
    """Kinds of resting place that the texts have; (kinds, L, H) mean attention to each; the ends of its intervals."""
    names, means, ends = [], [], []
    level = 1 - (1 - LEVEL) / (2 * g.shape[0] * g.shape[1])
    for name in ("first", "separator"):
        values = g.of(name)
        values = values[np.isfinite(values).all((1, 2))]
        special = np.stack(g.kinds)[:, CATEGORIES.index(name)].any()
        if len(values) >= 2 and (special or name == "first"):
            mean, low, high = mean_interval(values, level)
            names.append(name)
            means.append(mean)
            ends.append([*np.where(np.isnan([low, high]), mean, [low, high])])  # the same in all texts
    return names, np.stack(means) if means else np.zeros((0, *g.shape)), ends


@measure("sinks-resting")
def resting(g: TextNumbers) -> Measured:
    names, means, ends = resting_places(g)
    if not names:
        return Measured(n=g.n)
    bounds = (means, np.stack([low for low, _ in ends]), np.stack([high for _, high in ends]))
    value, low, high = (float((bound > RESTS).any(0).mean()) for bound in bounds)
    heads = (means > RESTS).sum((1, 2))
    counts = ", ".join(f"{int(count)} on the {'first token' if name == 'first' else 'separators'}"
                     for name, count in zip(names, heads, strict=True))  # fmt: skip
    series = {name: mean.mean(1).tolist() for name, mean in zip(names, means, strict=True)}
    return Measured(
        *(value, low, high, g.n),
        chance=float(any(g.even(name) > RESTS for name in names)),
        series=series,
        **strongest(means.max(0)),
        note=f"Of {means[0].size} heads {counts}.",
        ends="95 % for all heads together, by texts",
    )


@measure("sinks-null", "lengths")
def null(g: TextNumbers) -> Measured:
    names, means, _ = resting_places(g)
    lengths = np.stack(g.lengths)  # (N, L, H, kinds)
    rests = [(name, *place) for name, mean in zip(names, means, strict=True) for place in np.argwhere(mean > RESTS)]
    rests = [sink for sink in rests if np.isfinite(lengths[..., CATEGORIES.index(sink[0])]).any()]
    if not rests:
        return Measured(
            n=g.n, why=f"no head gives the first token or separators more than {100 * RESTS:.0f} % of its attention"
        )
    words = lengths[..., CATEGORIES.index("other")]
    with np.errstate(invalid="ignore", divide="ignore"):
        ratios = np.stack([lengths[:, at, h, CATEGORIES.index(name)] / words[:, at, h] for name, at, h in rests], 1)
    ends = interval(ratios.mean(1))
    shortest = int(np.nanmean(ratios, 0).argmin())
    small = int((np.nanmean(ratios, 0) < 0.5).sum())
    series = {
        kind: np.nanmean(lengths[..., CATEGORIES.index(kind)], (0, 2)).tolist()
        for kind in ("first", "separator", "other")
        if np.isfinite(lengths[..., CATEGORIES.index(kind)]).all((0, 2)).all()
    }
    return Measured(
        **ends,
        chance=1.0,
        series=series,
        head=(int(rests[shortest][1]), int(rests[shortest][2])),
        head_value=float(np.nanmean(ratios, 0)[shortest]),
        note=f"{small} of {len(rests)} resting heads send less than half as much (null), {len(rests) - small} do not.",
    )


@measure("sinks-massive")
def massive(g: TextNumbers) -> Measured:
    ratios, sizes = np.stack(g.largest), np.stack(g.size)  # (N, L + 1)
    values = np.minimum(ratios / MASSIVE[0], sizes / MASSIVE[1])
    layer = int(values.mean(0).argmax())
    ends = interval(values[:, layer])
    dimensions, counts = np.unique(np.stack(g.dimension)[:, layer], return_counts=True)
    mode = int(counts.argmax())
    where = "the embeddings" if layer == 0 else f"layer {layer - 1}"
    note = (
        f"It is {sizes[:, layer].mean():,.1f}, {ratios[:, layer].mean():,.0f} medians, in the output of {where}, "
        f"dimension {dimensions[mode]} in {counts[mode]} of {ends['n']} texts."
    )
    return Measured(**ends, chance=None, series={"largest ÷ median": ratios.mean(0).tolist()}, note=note)


@few_texts_measure("sinks-broadcast")
def broadcast(g: TextNumbers, c: FewTexts) -> Measured:
    if c.why or not g.lengths:
        return Measured(why=c.why or NO_NORMS)
    names, means, _ = resting_places(g)
    lengths = np.stack(g.lengths)
    words = lengths[..., CATEGORIES.index("other")]
    rests = np.zeros(g.shape, bool)
    for name, mean in zip(names, means, strict=True):
        resting = lengths[..., CATEGORIES.index(name)]
        resting, words_beside = resting[np.isfinite(resting).all((1, 2))], words[np.isfinite(resting).all((1, 2))]
        if len(resting):
            rests |= (mean > RESTS) & (resting.mean(0) >= NULL * words_beside.mean(0))
    if not rests.any():
        return Measured(n=len(c.rank), why="no head rests on a token that sends half as much as other words, or more")
    shares = np.stack(c.top_shares)
    return Measured(
        **interval(shares[:, rests].mean(1), share=True),
        series={"share in one direction": shares.mean((0, 2)).tolist()},
        **strongest(np.where(rests, shares.mean(0), -1)),
        note=f"{int(rests.sum())} heads rest so; of all heads it is {100 * shares.mean():.0f} %.",
    )


def off(lens: Lens, items: list[Item], g: TextNumbers, treebank: object) -> Measured:
    """How far the answer moves where no head sees the resting place, less where none sees some other token."""
    names, means, _ = resting_places(g)
    heads = [int((mean > RESTS).sum()) for mean in means]
    if not any(heads):
        return Measured(n=g.n, why=f"no head gives one kind of token more than {100 * RESTS:.0f} % of its attention")
    kind = names[int(np.argmax(heads))]
    shifts: list[tuple[float, float]] = []
    for number, item in enumerate(items[:OFF_TEXTS]):
        for trace in traces_of(lens, [Numbered(number, item)], True):
            try:
                shifts.append(answer_shift(trace, kind, number))
            except ModelError as error:
                return Measured(why=f"the answer cannot be compared: {str(error).split(': ')[0]}")
            except SelectionError:  # of a causal model's first token
                return Measured(why="the resting place is all that some token can see")
    values = np.array(shifts)
    place = "the first token" if kind == "first" else "the separators"
    shift, shift_of_words = (100 * np.nanmean(values[:, at]) for at in (0, 1))
    return Measured(
        **interval(values[:, 0] - values[:, 1]),
        chance=0.0,
        note=f"Without {place} the answer moves by {shift:.1f} %, without another token by {shift_of_words:.1f} %.",
    )


def answer_shift(trace: Trace, kind: str, seed: int) -> tuple[float, float]:
    """(without the resting places, without as many other tokens), mean over the tokens that are asked about."""
    words = [place for place, special in enumerate(trace.special_mask.tolist()) if not special]
    sink = [0] if kind == "first" else trace.key_separator_mask.nonzero()[:, 0].tolist()
    sink, words = [place for place in sink if place < trace.n_tokens], [place for place in words if place not in sink]
    random = np.random.default_rng(seed)
    if not sink or len(words) <= OTHERS * len(sink):
        return np.nan, np.nan
    sample = random.choice(words, (OTHERS, len(sink)), replace=False)
    hidden = [sink, *sample.tolist()]
    positions = torch.tensor([place for place in words if place not in sample], device=trace.input_ids.device)
    answer = _answer(trace, positions)
    answers = [_answer(trace.rerun(*map(whatif.hide, places)), positions) for places in hidden]
    shifts = [_apart(answer, hidden_answer) for hidden_answer in answers]
    return shifts[0], float(np.mean(shifts[1:]))


def _answer(trace: Trace, positions: torch.Tensor) -> tuple[bool, torch.Tensor]:
    """(are they probabilities?, (n, C)): words or tags at the tokens that are asked about; classes; one vector."""
    kind, output = predictions.kind_of(trace), predictions.output_at(trace, None)
    if kind == "words":
        return True, predictions.words_of(output)[0, positions].double().softmax(-1)
    if kind == "labels" and (chances := predictions.chances(trace, output.logits[0])) is not None:
        return True, chances[None]
    if kind == "tags":
        return True, output.logits[0, positions].double().softmax(-1)
    return False, trace.hidden_states[-1][positions].double().mean(0)[None]


def _apart(a: tuple[bool, torch.Tensor], b: tuple[bool, torch.Tensor]) -> float:
    """Total variation of probabilities; 1 − cosine of vectors."""
    if a[0]:
        return float(total_variation(a[1], b[1]).mean())
    return float(1 - torch.nn.functional.cosine_similarity(a[1], b[1]).mean())
