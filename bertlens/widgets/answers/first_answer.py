"""What the first answer of a view rests on: heads that matter, tokens of a vector; and unrelated texts beside two."""

from __future__ import annotations

import math
from collections.abc import Container, Iterable, Iterator
from contextlib import suppress
from typing import Any

from typing_extensions import NotRequired, TypedDict

from ...base.limits import ALONE_WORK, BAND_WORK, HEADS_WORK, within
from ...base.ranking import is_nothing
from ...base.vocabulary.constants import LITTLE
from ...base.wire import Float32, Float64
from ...errors import BertLensError
from ...measures.vector_shares import vector_shares
from ...trace.trace import Trace
from ...whatif import single_changes
from ...whatif.before_after import answer_kind
from ...whatif.cloze import cloze_words, is_plain
from ...whatif.cloze import why_not as why_no_cloze
from ...whatif.head_sets import HeadSets
from ...whatif.head_sets import head_sets as head_sets_of
from ...whatif.hidden_words import hidden_words as hidden_words_of
from ...whatif.hidden_words import why_not as why_no_hidden_words
from ...whatif.strongest_heads import (
    RUN,
    Asked,
    count,
    effects_of_runs,
    first_number,
    limit,
    limit_of_all,
    ranking,
    runs,
)
from ...whatif.sweeps import work
from ..messages.records import Nothing, Selection
from ..messages.turns import PATIENCE, ask_again, in_steps
from .matter import changes_alone
from .whatif import asked_target, carried_target

ALIKE = (None, None)  # both texts are read as the view reads them, neither as a query


class MatterHeads(TypedDict):
    kind: str  # as of `FirstNumber`, as all to `before`
    name: str
    position: int
    unit: str
    before: float
    heads: list[tuple[int, int, float]]  # layer, head, change: exact, the largest first
    rows: list[int]  # of each the token whose row there moves the number most, -1 where that is not known
    tried: int  # heads that were run
    limit: str  # a sentence where nothing was tried unasked (`long` asks), "" where it is done
    limit_of_all: str  # a sentence where the others are not to be run unasked
    runs: int  # of the whole model that what is limited takes, about
    why_not: str


class HeadChanges(TypedDict):
    changes: NotRequired[Float32]  # (L, H) where it is done: of the heads tried exact, of the others to first order


Matter = tuple[MatterHeads, HeadChanges]


def heads_that_matter(
    trace: Trace, target: str = "", target_at: int = -1, long: bool = False, most: int = RUN, patience: float = PATIENCE
) -> Matter:
    """The heads that move the number of the answer's first bar most: see `whatif.strongest_heads`.

    most: how many are run. Where it takes longer than `patience` (s): "again", see turns.
    """
    return _heads_that_matter(trace, asked_target(target, target_at), long, most, patience, HEADS_WORK)


def _heads_that_matter(trace: Trace, about: Asked, long: bool, most: int, patience: float, most_work: float) -> Matter:
    nothing: MatterHeads = {
        "kind": "",
        "name": "",
        "position": -1,
        "unit": "",
        "before": math.nan,
        "heads": [],
        "rows": [],
        "tried": 0,
        "limit": "",
        "limit_of_all": "",
        "runs": 0,
        "why_not": "",
    }
    try:
        number = first_number(trace, about)
        fields = nothing | {"kind": number.kind, "name": number.name, "position": number.position}
        fields |= {"unit": number.unit, "before": number.before}
        if not long and (reason := limit(trace, number, most_work)):
            return fields | {"limit": reason, "runs": runs(trace, number, most)}, {}
        of = ("strongest heads", about, most)
        strongest = in_steps(trace, of, lambda here: ranking(here, about, most), patience)
    except BertLensError as error:
        return nothing | {"why_not": str(error)}, {}
    if strongest is None:
        return ask_again(trace, of)
    fields |= {"heads": list(strongest.heads), "rows": list(strongest.rows), "tried": strongest.tried}
    if strongest.tried < count(trace) and (reason := limit_of_all(trace, most_work)):
        fields |= {"limit_of_all": reason, "runs": runs(trace, number, count(trace))}
    return fields, {"changes": strongest.changes.float()}


def saved_heads(trace: Trace, target: str = "", target_at: int = -1, long: bool = False, most: int = RUN) -> Matter:
    """`heads_that_matter` as a saved page holds it: of all heads where that takes seconds, else of those run so far."""
    about = asked_target(target, target_at)
    if not limit_of_all(trace, ALONE_WORK):
        most = count(trace)
    with suppress(BertLensError, ValueError):  # which is said below; no such place
        _take_single_changes(trace, about, target, target_at)
    return _heads_that_matter(trace, about, long, most, math.inf, ALONE_WORK)


def _take_single_changes(trace: Trace, about: Asked, target: str, target_at: int) -> None:
    """What a page runs of each head for *Does it matter?* is not run once more."""
    if single_changes.why_not(trace) or trace.changes:
        return  # of a changed run they are about its own first answer
    number, outcome = first_number(trace, about), changes_alone(trace, target, target_at)
    at = [position for position, *_ in outcome.places].index(number.position)
    rows = [(n, row[at]) for n, row in enumerate(outcome.heads) if not isinstance(row, str)]
    sign = -1 if number.kind == "embedding" else 1  # of a cosine the view says how far it is from 1
    changes = {divmod(n, trace.n_heads): sign * (effect.after - effect.before) for n, effect in rows}
    effects_of_runs(trace, about).update(changes)


class Sets(TypedDict):
    name: str  # as of `FirstNumber`, as unit and before
    unit: str
    before: float
    heads: list[tuple[int, int, float]]  # as they were added: layer, head, the number without it and those before it
    tried: int  # heads that were candidates
    why_not: str


def head_sets(trace: Trace, target: str = "", target_at: int = -1, patience: float = PATIENCE) -> tuple[Sets, Nothing]:
    """Heads that move the number of the answer's first bar together: see `whatif.head_sets`.

    Where it takes longer than `patience` (s): "again", see turns.
    """
    about = asked_target(target, target_at)
    of, fields = ("head sets", about), Sets(name="", unit="", before=math.nan, heads=[], tried=0, why_not="")
    kept = trace.kept("head sets", dict[Asked, HeadSets])
    if about not in kept:
        try:
            number = first_number(trace, about)
            if not effects_of_runs(trace, about) and (reason := limit(trace, number)):
                return fields | {"why_not": reason}, {}
            sets = in_steps(trace, of, lambda here: head_sets_of(here, about), patience)
        except BertLensError as error:
            return fields | {"why_not": str(error)}, {}
        if sets is None:
            return ask_again(trace, of)
        kept[about] = sets
    sets = kept[about]
    number = sets.number
    heads = [(*head, value) for head, value in zip(sets.heads, sets.values, strict=True)]
    fields |= {"name": number.name, "unit": number.unit, "before": number.before}
    return fields | {"heads": heads, "tried": sets.tried}, {}


def saved_head_sets(trace: Trace, target: str = "", target_at: int = -1) -> tuple[Sets, Nothing]:
    """`head_sets` as a saved page holds it."""
    return head_sets(trace, target, target_at, math.inf)


def carried_head_sets(trace: Trace, layers: Iterable[int]) -> Iterator[dict[str, Any]]:
    """Of a text whose heads a page holds all, where none alone moves the answer."""
    for arguments in carried(trace, layers):
        fields, _ = saved_heads(trace)
        sizes = [abs(change) for *_, change in fields["heads"]]
        if sizes and max(sizes) < LITTLE and fields["kind"] != "embedding" and not trace.changes:
            yield arguments


def largest_place(trace: Trace, layers: Container[int] | None, heads: Container[int] | None) -> dict[str, int | None]:
    """What a view opens on, of PLACE: the head that matters most of those that are run for a saved page, if it is of
    these layers and heads, and the row that matters in it. Empty where none moves the answer, and of a lone vector,
    whose view opens on a clear link between two words."""
    fields, _ = saved_heads(trace)
    if fields["kind"] == "embedding":
        return {}
    for (layer, head, change), row in zip(fields["heads"], fields["rows"], strict=True):
        if (layers is None or layer in layers) and (heads is None or head in heads) and not is_nothing(change):
            return {"layer": layer, "head": head, "query": None if row < 0 else row, "key": None}
    return {}


def _is_carried(trace: Trace) -> bool:
    try:
        answer_kind(trace)
    except BertLensError:
        return True  # with the reason
    return not single_changes.why_not(trace)


def carried(trace: Trace, _layers: Iterable[int]) -> Iterator[dict[str, Any]]:
    """Of a text whose single changes a page without a kernel holds."""
    if _is_carried(trace):
        yield {}


def carried_with_target(trace: Trace, selection: Selection) -> Iterator[dict[str, Any]]:
    """With the target that the view is set to, of such a text."""
    if _is_carried(trace):
        yield from carried_target(trace, selection)


class Unrelated(TypedDict, total=False):
    """As of `sentences.baseline.Baseline`; or why_not alone, where the answer is no similarity of two texts, or the
    model is so large that 48 sentences take more than about 2 s and nobody has asked."""

    n: int
    pairs: int
    low: float
    median: float
    high: float
    why_not: str


def unrelated(trace: Trace) -> tuple[Unrelated, Nothing]:
    """How similar unrelated texts are to the model, unchanged: beside the similarity of the two that are shown."""
    from ...sentences import baseline  # no other view reads texts

    try:
        if answer_kind(trace) != "similarity":
            return {"why_not": "unrelated texts are compared where the answer is the similarity of two"}, {}
        lens: Any = trace.lens
        if not baseline.is_known(lens, ALIKE):
            tokens = sum(len(text.split()) + 4 for text in baseline.TEXTS)  # of pieces and of the template, about
            if work(trace, tokens / trace.n_tokens) > BAND_WORK:
                many = f"reading {len(baseline.TEXTS)} unrelated texts takes a while"
                return {"why_not": f"{many}: bl.similarity(lens, a, b).baseline compares them"}, {}
        of = baseline.baseline(lens, math.nan, ALIKE)
    except BertLensError as error:
        return {"why_not": str(error)}, {}
    return {"n": of.n, "pairs": of.pairs, "low": of.low, "median": of.median, "high": of.high, "why_not": ""}, {}


def carried_unrelated(trace: Trace, _layers: Iterable[int]) -> Iterator[dict[str, Any]]:
    """Where they were compared."""
    from ...sentences import baseline

    try:
        lens: Any = trace.lens
        if lens is not None and answer_kind(trace) == "similarity" and baseline.is_known(lens, ALIKE):
            yield {}
    except BertLensError:
        pass


class SharesFields(TypedDict):
    how: str  # as of `vector_shares`, as `said`
    said: str
    why_not: str


class SharesArrays(TypedDict):
    shares: NotRequired[Float64]  # (S,)


def shares(trace: Trace) -> tuple[SharesFields, SharesArrays]:
    """What a text's vector rests on."""
    try:
        parts = vector_shares(trace)
    except BertLensError as error:
        return {"how": "", "said": "", "why_not": str(error)}, {}
    return {"how": parts.how, "said": parts.said, "why_not": ""}, {"shares": parts.values}


class Cloze(TypedDict):
    words: list[tuple[list[int], float, str, float]]  # of the text, in order: as `whatif.cloze.ClozeWord`
    why_not: str  # a sentence where none is hidden


def cloze(trace: Trace, patience: float = PATIENCE) -> tuple[Cloze, Nothing]:
    """How surely the model finds each word again where it is hidden: see `whatif.cloze.cloze_words`.

    Where it takes longer than `patience` (s): "again", see turns.
    """
    try:
        words = in_steps(trace, "cloze", cloze_words, patience)
    except BertLensError as error:
        return {"words": [], "why_not": str(error)}, {}
    if words is None:
        return ask_again(trace, "cloze")
    rows = [(word.pieces, word.probability, word.guess, word.guess_probability) for word in words]
    return {"words": rows, "why_not": ""}, {}


def saved_cloze(trace: Trace) -> tuple[Cloze, Nothing]:
    """`cloze` as a saved page holds it."""
    return cloze(trace, math.inf)


class HiddenWords(TypedDict):
    name: str  # as of `FirstNumber`, as unit and before
    unit: str
    before: float
    words: list[tuple[list[int], float]]  # of the text, in order: as `whatif.hidden_words.HiddenWord`
    why_not: str


def hidden_words(trace: Trace, patience: float = PATIENCE) -> tuple[HiddenWords, Nothing]:
    """What becomes of the number of the first answer where each word is hidden: see `whatif.hidden_words`.

    Where it takes longer than `patience` (s): "again", see turns.
    """
    fields = HiddenWords(name="", unit="", before=math.nan, words=[], why_not="")
    try:
        words = in_steps(trace, "hidden words", hidden_words_of, patience)
        if words is None:
            return ask_again(trace, "hidden words")
        number = first_number(trace)
    except BertLensError as error:
        return fields | {"why_not": str(error)}, {}
    fields |= {"name": number.name, "unit": number.unit, "before": number.before}
    return fields | {"words": [(word.pieces, word.after) for word in words]}, {}


def saved_hidden_words(trace: Trace) -> tuple[HiddenWords, Nothing]:
    """`hidden_words` as a saved page holds it."""
    return hidden_words(trace, math.inf)


def carried_hidden_words(trace: Trace, _layers: Iterable[int]) -> Iterator[dict[str, Any]]:
    """Of a text that a classifier labels, where that takes seconds."""
    if within("carried", trace.n_tokens):
        with suppress(BertLensError):
            if not why_no_hidden_words(trace):
                yield {}


def carried_cloze(trace: Trace, _layers: Iterable[int]) -> Iterator[dict[str, Any]]:
    """Of a text of a masked model in which nothing is hidden, where that takes seconds."""
    if not trace.changes and within("carried", trace.n_tokens):
        with suppress(BertLensError):
            if is_plain(trace) and not why_no_cloze(trace):
                yield {}
