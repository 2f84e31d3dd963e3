"""Which words does the answer rest on? One of five attributions of it, and how faithful their order of tokens is."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import TypeAlias

import torch
from torch import Tensor
from typing_extensions import NotRequired, TypedDict

from ...base.limits import LIMITS, within
from ...base.wire import Float64
from ...errors import InputError, ModelError
from ...measures import attribution as attributions
from ...measures.attribution.faithful import FEWEST_RANKINGS, bins_of, removed_for
from ...measures.attribution.gradient_methods import FEWEST_STEPS, MOST_STEPS, NEAR
from ...measures.attribution.removal import TOKENS, Gone, Without
from ...measures.metrics import Metric, Read, is_flat, similarity
from ...measures.predictions import texts_apart
from ...measures.rows import Here
from ...text.pair_positions import pair_positions
from ...trace.trace import Trace
from ...whatif.before_after import answer_kind
from ...whatif.swept_numbers import swept_numbers
from ..messages.records import Nothing
from ..messages.turns import PATIENCE, ask_again, in_steps
from .whatif import asked_target

Values: TypeAlias = list[Tensor]  # (S,) float64 of each text that is run
Key: TypeAlias = tuple[str, str, int]  # method, target, where
ONE_RUN: dict[str, Callable[[Trace, Metric | Read], attributions.Attribution]] = {
    "gradient × input": attributions.gradient_input,
    "attention × gradient": attributions.attention_gradient,
    "linearised": attributions.linearised,
}
NO_SLOPE = (
    "One text's vector is compared with itself, and there every slope is 0. Choose occlusion or integrated gradients."
)
NO_SUM = "This number is no sum of parts. Choose another method."
UNCHANGED = "The linearised model is of the unchanged run. Undo the change, or choose another method."


@dataclass(frozen=True)
class TextRun:
    """A text that is run, the number of it that is asked, and where its tokens are among those of the view."""

    text: Trace
    metric: Metric | Read
    places: dict[int, int] | None = None  # in the view -> in this text; None: the same


class Attributed(TypedDict):
    attribution: str  # the method
    label: str  # of the number
    kind: str
    unit: str
    signed: bool  # False: how much flows, never below 0
    removal: str  # how occlusion takes tokens away: "mask" or "hide"
    why_not: str  # a sentence with a way out, "" where there are values
    runs: int  # that `faithful` takes
    removable: list[int]  # tokens, of each text that is run


class TokenValues(TypedDict):
    values: NotRequired[Float64]  # (S,) NaN for tokens that are never removed


class FaithfulRow(TypedDict):
    """Of a text: attrs and columns of `measures.attribution.faithfulness`, and their chance level."""

    n: int  # tokens that can be taken out
    bins: list[int]  # how many are
    model: float
    rankings: int
    comprehensiveness: float
    comprehensiveness_beats: int
    random_comprehensiveness: float
    random_comprehensiveness_error: float
    sufficiency: float
    sufficiency_beats: int
    random_sufficiency: float
    random_sufficiency_error: float


class Faithful(TypedDict):
    attribution: str
    rows: list[FaithfulRow]


def which_words(
    trace: Trace, attribution: str, target: str = "", target_at: int = -1, patience: float = PATIENCE
) -> tuple[Attributed, TokenValues]:
    """What each token counts for, for the answer that the model gave first or the target; by `whatif.swept_numbers`.

    Of a pair's similarity each text is run alone; a token that both have, [CLS], has the sum. As the run shown, changes
    included. Raises as `whatif.answers` where the model gives no answer. Takes turns, see turns.py.
    """
    label, unit, text_runs = _text_runs(trace, target, target_at)
    fields: Attributed = {
        "attribution": attribution,
        "label": label,
        "kind": answer_kind(trace),
        "unit": unit,
        "signed": attribution != "attention × gradient",
        "removal": _removal(trace),
        "why_not": _why_not(trace, attribution, text_runs),
        "runs": 0,
        "removable": [],
    }
    if fields["why_not"]:
        return fields, {}
    values = _values(trace, attribution, target, target_at, patience)
    if values is None:
        return ask_again()
    counts = [_removable(run) for run in text_runs]
    runs = sum(2 * len(bins_of(n)) * (FEWEST_RANKINGS + 1) for n in counts if n)
    return fields | {"runs": runs, "removable": counts}, {"values": _placed(trace, text_runs, values).numpy()}


def faithful(
    trace: Trace, attribution: str, target: str = "", target_at: int = -1, patience: float = PATIENCE
) -> tuple[Faithful, Nothing]:
    """`measures.attribution.faithfulness` of that order of tokens, without the ceiling; of a pair of each text."""

    def begin(here: Here) -> Generator[None, None, list[FaithfulRow]]:
        return _faithful(here, attribution, target, target_at)

    rows = in_steps(trace, ("faithful", attribution, target, target_at), begin, patience)
    return ask_again() if rows is None else ({"attribution": attribution, "rows": rows}, {})


def _text_runs(trace: Trace, target: str, target_at: int) -> tuple[str, str, list[TextRun]]:
    """The number's name, its unit, and the texts that are run for it."""
    if not within("words", trace.n_tokens):
        raise InputError(
            f"which words the answer rests on is shown in texts of at most {LIMITS['words'].tokens:,} tokens"
        )
    [number, *_] = swept_numbers(trace, *asked_target(target, target_at)).values()
    if number.metric is not None:
        return number.label, number.unit, [TextRun(trace, number.metric)]
    texts = texts_apart(trace)
    places = [pair_positions(trace.encoding, text.encoding, n) for n, text in enumerate(texts)]
    if not all(places):
        raise ModelError("read alone, the two texts are cut elsewhere: their tokens are not those shown")
    runs = [TextRun(*run) for run in zip(texts, map(similarity, (texts[1], texts[0])), places, strict=True)]
    return number.label, number.unit, runs


def _removal(trace: Trace) -> str:
    return "hide" if getattr(trace.borrowed.tokenizer, "mask_token_id", None) is None else "mask"


def _why_not(trace: Trace, method: str, text_runs: list[TextRun]) -> str:
    """Why a method does not work, with the way out; "" where it does, or says so itself."""
    metric = text_runs[0].metric
    if method == "linearised":
        if trace.changes:
            return UNCHANGED
        return "" if isinstance(metric, Metric) and metric.reading else NO_SUM
    by_slopes = method in ("gradient × input", "attention × gradient")
    return NO_SLOPE if by_slopes and is_flat(metric, trace) else ""


def _values(trace: Trace, method: str, target: str, target_at: int, patience: float) -> Values | None:
    def begin(here: Here) -> Generator[None, None, Values]:
        return _attributed(here, method, target, target_at)

    return in_steps(trace, ("which words", method, target, target_at), begin, patience)


def _attributed(here: Here, method: str, target: str, target_at: int) -> Generator[None, None, Values]:
    """The values of each text, computed once. A step names no trace but in itself."""
    memo = here().kept("attributed", dict[Key, Values])
    key = (method, target, target_at)
    if key not in memo:
        count = len(_text_runs(here(), target, target_at)[2])
        values = []
        for n in range(count):
            values.append((yield from _of_run(_nth(here, target, target_at, n), method)))  # noqa: PERF401
        memo[key] = values
    return memo[key]


def _nth(here: Here, target: str, target_at: int, n: int) -> Callable[[], TextRun]:
    return lambda: _text_runs(here(), target, target_at)[2][n]


def _of_run(text_run: Callable[[], TextRun], method: str) -> Generator[None, None, Tensor]:
    if method in ONE_RUN:
        run = text_run()
        return ONE_RUN[method](run.text, run.metric).values
    if method == "integrated gradients":
        return (yield from _along(text_run))
    memo: dict[Gone, float] = {}
    sets = [frozenset({i}) for i in _without(text_run(), memo).tokens]
    yield from _run(text_run, sets, memo)
    run = text_run()
    return attributions.occlusion(run.text, run.metric, _removal(run.text), progress=False, known=memo).values


def _along(text_run: Callable[[], TextRun]) -> Generator[None, None, Tensor]:
    """Integrated gradients, the number of steps doubled as the function itself does."""
    count = FEWEST_STEPS
    while True:
        run = text_run()
        baseline = "mask" if _removal(run.text) == "mask" else "zero"
        attribution = attributions.integrated_gradients(run.text, run.metric, baseline, count, progress=False)
        if abs(attribution.gap or 0) <= NEAR * abs(attribution.expected or 0) or count >= MOST_STEPS:
            return attribution.values
        del run, attribution
        count *= 2
        yield


def _without(run: TextRun, memo: dict[Gone, float]) -> Without:
    return Without(run.text, run.metric, _removal(run.text), memo)


def _removable(run: TextRun) -> int:
    try:
        return len(_without(run, {}).tokens)
    except InputError:  # none is
        return 0


def _run(text_run: Callable[[], TextRun], sets: list[Gone], memo: dict[Gone, float]) -> Generator[None, None, None]:
    """Each set of tokens taken out, batch by batch."""
    size = max(1, TOKENS // text_run().text.n_tokens)
    for start in range(0, len(sets), size):
        _without(text_run(), memo)(sets[start : start + size])
        yield


def _faithful(here: Here, method: str, target: str, target_at: int) -> Generator[None, None, list[FaithfulRow]]:
    values = yield from _attributed(here, method, target, target_at)
    rows: list[FaithfulRow] = []
    for n, scores in enumerate(values):
        text_run = _nth(here, target, target_at, n)
        memo: dict[Gone, float] = {}
        sets = removed_for(text_run().text, scores, _without(text_run(), memo))
        yield from _run(text_run, sets, memo)
        run = text_run()
        table = attributions.faithfulness(
            run.text, {method: scores}, _removal(run.text), metric=run.metric, ceiling=False, progress=False, known=memo
        )
        del run
        about = table.attrs
        order, chance = table.loc[method], table.loc[attributions.RANDOM]
        rows.append(
            {
                "n": about["removable"],
                "bins": about["bins"],
                "model": about["model"],
                "rankings": about["rankings"],
                "comprehensiveness": float(order["comprehensiveness"]),
                "comprehensiveness_beats": int(order["comprehensiveness_beats"]),
                "random_comprehensiveness": float(chance["comprehensiveness"]),
                "random_comprehensiveness_error": float(chance["comprehensiveness_error"]),
                "sufficiency": float(order["sufficiency"]),
                "sufficiency_beats": int(order["sufficiency_beats"]),
                "random_sufficiency": float(chance["sufficiency"]),
                "random_sufficiency_error": float(chance["sufficiency_error"]),
            }
        )
    return rows


def _placed(trace: Trace, text_runs: list[TextRun], values: Values) -> Tensor:
    """(S,) of the tokens shown: what several texts have is summed, NaN where none has a number."""
    if text_runs[0].places is None:
        return values[0]
    placed = torch.full((len(text_runs), trace.n_tokens), torch.nan, dtype=torch.float64, device="cpu")
    for row, run, text_values in zip(placed, text_runs, values, strict=True):
        for at, text_at in (run.places or {}).items():
            row[at] = text_values[text_at]
    return placed.nansum(0).masked_fill(placed.isnan().all(0), torch.nan)
