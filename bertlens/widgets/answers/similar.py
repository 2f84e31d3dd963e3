"""Questions about two texts: their similarity, its split by pairs of tokens, and what is left without each word."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, TypeAlias

from torch import Tensor

from ...base.limits import LIMITS, PAGE_TEXT_CHARACTERS, within
from ...errors import InputError
from ...export.still import pairs_png
from ...measures.rows import Here
from ...sentences.encoders import SentenceEncoder
from ...sentences.late import LateEncoder, LateSimilarity
from ...sentences.pairs import Similarity, similarity
from ...sentences.passages import TASKS
from ...trace.provenance import visible
from ...trace.trace import Trace
from ..slices import PATIENCE, ask_again, in_steps
from . import Answer, late

if TYPE_CHECKING:
    from pandas import DataFrame

    from ...sentences.ranking import Ranking
    from ..questions import Asked
    from ..saving import Selection

AnySimilarity: TypeAlias = Similarity | LateSimilarity
Texts: TypeAlias = tuple[str, str, str, str]  # a, b, the task of each or ""
MAXSIM = "maxsim"
FEW = 64  # tokens of two texts together, whose split by input takes a second at most
PAIRS = 2  # of texts that a view keeps beside its own


def similar(asked: Asked, texts: Texts | None = None) -> Answer:
    """`told` of two texts, or of the view's own."""
    return told(shown_pair(asked, texts))


def similar_input(asked: Asked, texts: Texts | None = None, patience: float = PATIENCE) -> Answer:
    """The split by tokens that went in: array pairs (S_a + 1, S_b + 1), biases last; gap. In turns: "again", "done"."""
    found = split_pair(asked, texts)

    def begin(_here: Here) -> Generator[float, None, DataFrame]:
        yield from found.steps()
        return found.pairs("input", progress=False)

    table = in_steps(asked.trace, ("similar by input", texts), begin, patience)
    if table is None:
        return ask_again(asked.trace, ("similar by input", texts))
    return {"gap": table.attrs["gap"]}, {"pairs": table.to_numpy("float32")}


def saved_input(asked: Asked, _selection: Selection) -> Iterator[dict[str, Any]]:
    """The arguments of `similar_input` that a page without a kernel holds: where it is the split that is shown, or was
    made, or is soon made."""
    own = asked.shown.similar
    if not isinstance(own, Similarity) or "input" not in own.splits or not within("attributed", *_sizes(own)):
        return
    if own.splits == ("input",) or own.is_split_by_input or sum(_sizes(own)) <= FEW:
        yield {}


def similar_baseline(asked: Asked, texts: Texts | None = None) -> Answer:
    """The similarity of unrelated texts: `sentences.baseline.Baseline` as fields."""
    return asdict(shown_pair(asked, texts).baseline), {}


def similar_layers(asked: Asked, texts: Texts | None = None) -> Answer:
    """What each layer put into the number: names, and of either text's vector, read by the other's, a and b."""
    table = split_pair(asked, texts).by("layer")
    return {"names": table.index.tolist(), **{side: table[side].tolist() for side in table}}, {}


def saved_layers(asked: Asked, _selection: Selection) -> Iterator[dict[str, Any]]:
    """The arguments of `similar_layers` that a page without a kernel holds."""
    own = asked.shown.similar
    if isinstance(own, Similarity) and own.splits and within("attributed", *_sizes(own)):
        yield {}


def similar_without(asked: Asked, texts: Texts | None = None, patience: float = PATIENCE) -> Answer:
    """The similarity without each word of a, of b and of both: array without (W_a + 1, W_b + 1), first with all.

    In turns: "again", see slices. Words are those of `told`, of the text's own, in their order.
    """
    found = split_pair(asked, texts)

    def begin(_here: Here) -> Generator[None, None, Tensor]:
        return found.without_words()

    numbers = in_steps(asked.trace, ("similar", texts), begin, patience)
    return ask_again() if numbers is None else ({}, {"without": numbers.float()})


def saved(asked: Asked, _selection: Selection) -> Iterator[dict[str, Any]]:
    """The arguments of `similar_without` that a page without a kernel holds."""
    own = asked.shown.similar
    if (
        isinstance(own, Similarity)
        and within("attributed", *_sizes(own))
        and all(trace.has_neurons for trace in own.traces)
    ):
        yield {}


def saved_baseline(asked: Asked, _layers: Iterable[int]) -> Iterator[dict[str, Any]]:
    """The arguments of `similar_baseline` that a page without a kernel holds."""
    own = asked.shown.similar
    if own is not None and own.function != MAXSIM:  # which grows with the query: the page does not ask
        yield {}


def has_vectors(trace: Trace) -> bool:
    """Whether the model makes one vector of a text read alone: no cross-encoder, and not one of each token."""
    lens: Any = trace.lens
    sentences = None if lens is None else lens.sentences
    return (
        sentences is not None
        and not sentences.crosses
        and sentences.modes.names != ()
        and "last_hidden_state" in (trace.output or ())
    )


def is_late(trace: Trace) -> bool:
    """Whether the model makes a vector of each token, and compares those of two texts."""
    lens: Any = trace.lens
    return lens is not None and isinstance(lens.sentences, LateEncoder)


def compares(trace: Trace) -> bool:
    """Whether the model compares two texts that it reads alone."""
    return has_vectors(trace) or is_late(trace)


def reads_apart(trace: Trace) -> bool:
    """Whether the model reads a second text on its own: a bi-encoder, as sentence-transformers has it."""
    lens: Any = trace.lens
    return compares(trace) and isinstance(lens.sentences, SentenceEncoder)


def checked(found: AnySimilarity) -> AnySimilarity:
    """Raises InputError for texts that are too long for a view."""
    if not within("similar", *_sizes(found)):
        raise InputError(
            f"why two texts are similar is shown of texts of at most {LIMITS['similar'].tokens:,} tokens: "
            "bl.similarity(lens, a, b).pairs() has the numbers of longer ones"
        )
    return found


def told(found: AnySimilarity) -> Answer:
    """A similarity as the page draws it: js/src/tabs/similarity/data.ts. Array pairs: its split, (S_a, S_b).

    Where it has none, `why_not` says why, and there is no array; biases are a last row and column.
    """
    if isinstance(found, LateSimilarity):
        return late.told(found)
    sides = [
        {
            "text": side.read.text[len(side.read.prompt) :],
            "read": side.read.text,
            "tokens": [visible(token) for token in side.encoding.display_tokens],
            "words": side.units(),
            "names": [visible(name) for name in side.names(side.units())],
            "special": [bool(one) for one in side.encoding.special],
            "own": [side.is_of_text([at]) for at in range(len(side.encoding))],
        }
        for side in found.sides
    ]
    fields = {
        "sides": sides,
        "tasks": [side.task or "" for side in found.sides],
        "function": found.function,
        "value": found.value,
        "why_not": found.why_not,
        "splits": list(found.splits),
        "notes": list(found.notes),
        "runs": sum(len(side.words) for side in found.sides),
        "removable": "" if found.traces[0].has_neurons else found.traces[0].why_no_neurons,
    }
    if found.splits:
        fields |= {"terms": [[name, float(value)] for name, value in found.terms.items()], "gap": found.gap}
    if "output" not in found.splits:
        return fields, {}
    return fields, {"pairs": found.pairs("output").to_numpy("float32")}


def still(found: AnySimilarity) -> bytes | None:
    """PNG of the pairs of tokens, for notebooks that cannot run a view; None where the first picture has none."""
    fields, arrays = told(found)
    if "pairs" not in arrays:
        return None
    scored = fields["late"]["scored"] if "late" in fields else [range(len(side["tokens"])) for side in fields["sides"]]
    rows, columns = (
        [*(side["tokens"][at] for at in places), *["bias"] * (size - len(places))]
        for side, places, size in zip(fields["sides"], scored, arrays["pairs"].shape, strict=True)
    )
    said = f"{fields['function']} {found.value:.4f}; a: {visible(found.sides[0].read.text)}"
    return pairs_png(arrays["pairs"], rows, columns, [said, f"b: {visible(found.sides[1].read.text)}"])


def ranked(ranking: Ranking) -> dict[str, Any]:
    """A list of passages as the page draws it: query, crosses (one input each), rows of (passage, score, words)."""
    rows = ranking[["passage", "score", "words"]].itertuples(index=False)
    return {
        "query": ranking.query_text,
        "crosses": ranking.lens.sentences.crosses,
        "rows": [[passage, float(score), words] for passage, score, words in rows],
    }


def split_pair(asked: Asked, texts: Texts | None) -> Similarity:
    """As `shown_pair`. Raises InputError for late interaction, whose number is no sum over pairs of words."""
    found = shown_pair(asked, texts)
    if isinstance(found, LateSimilarity):
        raise InputError(late.NO_SPLIT)
    return found


def shown_pair(asked: Asked, texts: Texts | None) -> AnySimilarity:
    """The similarity of two texts, or of the view's own. Raises InputError for texts that cannot be compared."""
    shown = asked.shown
    if texts is None:
        if shown.similar is None:
            raise InputError("this view shows one text: bl.similarity(lens, a, b).explore() shows two")
        return shown.similar
    if texts not in shown.pairs:
        made = _made(asked, texts)
        for oldest in list(shown.pairs)[: 1 - PAIRS]:
            shown.pairs.pop(oldest, None)
        shown.pairs[texts] = made
    return shown.pairs[texts]


def _made(asked: Asked, texts: Texts) -> AnySimilarity:
    asked.shown.trace.check_unchanged()
    lens: Any = asked.shown.trace.lens
    a, b, *tasks = texts
    if lens is None:
        raise InputError("this view was made from attention maps: it has no model to read other texts with")
    if not (a.strip() and b.strip()):
        raise InputError("two texts are compared: type both")
    if len(a) + len(b) > PAGE_TEXT_CHARACTERS:
        raise InputError(f"the texts are longer than {PAGE_TEXT_CHARACTERS:,} characters: use bl.similarity in a cell")
    if asked.shown.similar is None and is_late(asked.shown.trace):
        tasks = [*TASKS]  # the text shown is the query
    return checked(similarity(lens, a, b, (tasks[0] or None, tasks[1] or None)))


def _sizes(found: AnySimilarity) -> list[int]:
    return [len(side.encoding) for side in found.sides]
