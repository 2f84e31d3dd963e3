"""Why two texts are similar, beside the run of the first: their number, its split, and what is left without a word."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, TypeAlias

from torch import Tensor
from typing_extensions import TypedDict

from ...base.dataframes import pd
from ...base.limits import LIMITS, PAGE_TEXT_CHARACTERS, within
from ...base.wire import Float32
from ...errors import InputError
from ...export.still_picture import pairs_png
from ...measures.offers import why_not
from ...measures.rows import Here
from ...sentences.late_interaction import LateSimilarity
from ...sentences.pair_similarity import similarity
from ...sentences.passages import TASKS
from ...sentences.sparse_similarity import SparseSimilarity
from ...sentences.text_pair import Side
from ...sentences.text_reading import compares, is_late
from ...sentences.text_similarity import Similarity
from ...trace.provenance import visible
from ...trace.trace import Trace
from ..messages.records import Answer, Nothing, Selection
from ..messages.turns import PATIENCE, ask_again, in_steps
from ..panels.panel import Panel
from ..request import Request
from . import maxsim
from .similar_fields import SimilarArrays, SimilarFields, TextSide
from .vocabulary_words import words_told

if TYPE_CHECKING:
    from ...sentences.ranking_table import Ranking

AnySimilarity: TypeAlias = Similarity | LateSimilarity
Texts: TypeAlias = tuple[str, str, str, str]  # a, b, the task of each or ""
MAXSIM = "maxsim"
FEW = 64  # tokens of two texts together, whose split by input takes a second at most


class InputGap(TypedDict):
    gap: float


class InputPairs(TypedDict):
    pairs: Float32  # (S_a + 1, S_b + 1), biases last


class BaselineFields(TypedDict):
    """As of `sentences.baseline.Baseline`."""

    value: float
    n: int
    pairs: int
    low: float
    median: float
    high: float
    above: float


class ByLayer(TypedDict):
    """What each layer put into the number, of either text's vector, read by the other's."""

    names: Annotated[Any, list[str]]
    a: Annotated[Any, list[float]]
    b: Annotated[Any, list[float]]


class WithoutWords(TypedDict):
    without: Float32  # (W_a + 1, W_b + 1), first with all; words are those of `told`, of the text's own, in their order


class SimilarityPanel(Panel):
    """The similarity of two texts; the trace of the view is at first the run of the first of them.

    Raises InputError for texts that are too long for a view.
    """

    needs: ClassVar = {"similarity": "this model makes no vectors of texts: bl.similarity takes an encoder"}
    no_model = "a live page shows one text: save trace.explore() with live=True"

    def __init__(self, similarity: AnySimilarity) -> None:
        if not within("similar", *_sizes(similarity)):
            raise InputError(
                f"why two texts are similar is shown of texts of at most {LIMITS['similar'].tokens:,} tokens: "
                "bl.similarity(lens, a, b).pairs() has the numbers of longer ones"
            )
        self.similarity = similarity

    @staticmethod
    def of_trace(trace: Trace, need: str) -> bool:
        return compares(trace)

    def overview(self, layer: int, head: int) -> Answer:
        fields, arrays = told(self.similarity)
        return {"similar": fields}, {f"similar.{name}": values for name, values in arrays.items()}

    def title(self, model: str, parts: Sequence[str]) -> str:
        """The model and both texts."""
        return f"{model}: {' | '.join(visible(side.reading.text)[:60] for side in self.similarity.sides)}"

    def still(self, layer: int, head: int, query: int | None, key: int | None) -> bytes | None:
        """PNG of the pairs of tokens, where the first picture has them."""
        fields, arrays = told(self.similarity)
        if "pairs" not in arrays:
            return None
        sides = fields["sides"]
        scored = fields["late"]["scored"] if "late" in fields else [range(len(side["tokens"])) for side in sides]
        rows, columns = (
            [*(side["tokens"][at] for at in places), *["bias"] * (size - len(places))]
            for side, places, size in zip(sides, scored, arrays["pairs"].shape, strict=True)
        )
        a, b = (visible(side.reading.text) for side in self.similarity.sides)
        line = f"{fields['function']} {self.similarity.value:.4f}; a: {a}"
        return pairs_png(arrays["pairs"], rows, columns, [line, f"b: {b}"])


class RankingPanel(Panel):
    """Passages in their order for a query; what the view shows of one of them stands below."""

    def __init__(self, ranking: Ranking) -> None:
        self.ranking = ranking

    @property
    def corpus(self) -> str:
        return "ranked passages"

    def overview(self, layer: int, head: int) -> Answer:
        """query, crosses (one input each), rows of (passage, score, words)."""
        rows = self.ranking[["passage", "score", "words"]].itertuples(index=False)
        fields = {
            "query": self.ranking.query_text,
            "crosses": self.ranking.lens.sentences.crosses,
            "rows": [[passage, float(score), words] for passage, score, words in rows],
        }
        return {"ranking": fields}, {}


def told(pair: AnySimilarity) -> tuple[SimilarFields, SimilarArrays]:
    """A similarity as the page draws it, with its split: where it has none, `why_not` says why. Of a sparse encoder
    with `vocabulary`, see `words_told`."""
    if isinstance(pair, LateSimilarity):
        return maxsim.told(pair)
    a, b = pair.sides
    fields: SimilarFields = {
        "sides": (_side(a), _side(b)),
        "tasks": (a.task or "", b.task or ""),
        "function": pair.function,
        "value": pair.value,
        "why_not": pair.why_not,
        "splits": list(pair.splits),
        "notes": list(pair.notes),
        "runs": sum(len(side.words) for side in pair.sides),
        "removable": _why_no_removal(pair.traces[0]),
    }
    if isinstance(pair, SparseSimilarity):
        fields["vocabulary"] = words_told(pair)
    if pair.splits:
        fields |= {"terms": [(name, float(value)) for name, value in pair.terms.items()], "gap": pair.gap}
    if "output" not in pair.splits:
        return fields, {}
    return fields, {"pairs": pair.pairs("output").to_numpy("float32")}


def _side(side: Side) -> TextSide:
    return {
        "text": side.reading.text[len(side.reading.prompt) :],
        "read": side.reading.text,
        "tokens": [visible(token) for token in side.encoding.display_tokens],
        "words": side.units(),
        "names": [visible(name) for name in side.names(side.units())],
        "special": [bool(flag) for flag in side.encoding.special],
        "own": [side.is_of_text([at]) for at in range(len(side.encoding))],
    }


def similar(request: Request, texts: Texts | None = None) -> tuple[SimilarFields, SimilarArrays]:
    """`told` of two texts, or of the view's own."""
    return told(shown_pair(request, texts))


def similar_input(
    request: Request, texts: Texts | None = None, patience: float = PATIENCE
) -> tuple[InputGap, InputPairs]:
    """The split by tokens that went in. In turns: "again", "done"."""
    pair = split_pair(request, texts)

    def begin(_here: Here) -> Generator[float, None, pd.DataFrame]:
        yield from pair.steps()
        return pair.pairs("input", progress=False)

    table = in_steps(request.trace, ("similar by input", texts), begin, patience)
    if table is None:
        return ask_again(request.trace, ("similar by input", texts))
    return {"gap": table.attrs["gap"]}, {"pairs": table.to_numpy("float32")}


def saved_input(request: Request, _selection: Selection) -> Iterator[dict[str, Any]]:
    """The arguments of `similar_input` that a page without a kernel holds: where it is the split that is shown, or was
    made, or is soon made."""
    pair = _attributed(request)
    if pair is None or "input" not in pair.splits:
        return
    if pair.splits == ("input",) or pair.is_split_by_input or sum(_sizes(pair)) <= FEW:
        yield {}


def similar_baseline(request: Request, texts: Texts | None = None) -> tuple[BaselineFields, Nothing]:
    """The similarity of unrelated texts."""
    of = shown_pair(request, texts).baseline
    return {
        "value": of.value,
        "n": of.n,
        "pairs": of.pairs,
        "low": of.low,
        "median": of.median,
        "high": of.high,
        "above": of.above,
    }, {}


def similar_layers(request: Request, texts: Texts | None = None) -> tuple[ByLayer, Nothing]:
    """What each layer put into the number."""
    table = split_pair(request, texts).by("layer")
    return {"names": table.index.tolist(), "a": table["a"].tolist(), "b": table["b"].tolist()}, {}


def saved_layers(request: Request, _selection: Selection) -> Iterator[dict[str, Any]]:
    """The arguments of `similar_layers` that a page without a kernel holds."""
    if (pair := _attributed(request)) and pair.splits:
        yield {}


def similar_without(
    request: Request, texts: Texts | None = None, patience: float = PATIENCE
) -> tuple[Nothing, WithoutWords]:
    """The similarity without each word of a, of b and of both. In turns: "again", see turns."""
    pair = split_pair(request, texts)

    def begin(_here: Here) -> Generator[None, None, Tensor]:
        return pair.without_words()

    numbers = in_steps(request.trace, ("similar", texts), begin, patience)
    return ask_again() if numbers is None else ({}, {"without": numbers.float()})


def _why_no_removal(trace: Trace) -> str:
    """Why no word can be hidden, "" where it can."""
    return "" if trace.has_neurons else why_not(trace, "whatif")


def saved(request: Request, _selection: Selection) -> Iterator[dict[str, Any]]:
    """The arguments of `similar_without` that a page without a kernel holds."""
    if (pair := _attributed(request)) and not any(map(_why_no_removal, pair.traces)):
        yield {}


def saved_baseline(request: Request, _layers: Iterable[int]) -> Iterator[dict[str, Any]]:
    """The arguments of `similar_baseline` that a page without a kernel holds."""
    if (pair := _own(request)) and pair.function != MAXSIM:  # which grows with the query: the page does not ask
        yield {}


def split_pair(request: Request, texts: Texts | None) -> Similarity:
    """As `shown_pair`. Raises InputError for late interaction, whose number is no sum over pairs of words."""
    pair = shown_pair(request, texts)
    if isinstance(pair, LateSimilarity):
        raise InputError(maxsim.NO_SPLIT)
    return pair


def shown_pair(request: Request, texts: Texts | None) -> AnySimilarity:
    """The similarity of two texts, or of the view's own. Raises InputError for texts that cannot be compared."""
    if texts is not None:
        return request.view.memoised("texts", texts, lambda: _similarity(request, texts))
    if (pair := _own(request)) is None:
        raise InputError("this view shows one text: bl.similarity(lens, a, b).explore() shows two")
    return pair


def _own(request: Request) -> AnySimilarity | None:
    panel = request.view.panel(SimilarityPanel)
    return None if panel is None else panel.similarity


def _attributed(request: Request) -> Similarity | None:
    """The view's own, where it has a split that a page may hold."""
    pair = _own(request)
    return pair if isinstance(pair, Similarity) and within("attributed", *_sizes(pair)) else None


def _similarity(request: Request, texts: Texts) -> AnySimilarity:
    trace = request.view.trace
    trace.check_unchanged()
    lens: Any = trace.lens
    a, b, *tasks = texts
    if lens is None:
        raise InputError("this view was made from attention maps: it has no model to read other texts with")
    if not (a.strip() and b.strip()):
        raise InputError("two texts are compared: type both")
    if len(a) + len(b) > PAGE_TEXT_CHARACTERS:
        raise InputError(f"the texts are longer than {PAGE_TEXT_CHARACTERS:,} characters: use bl.similarity in a cell")
    if _own(request) is None and is_late(trace):
        tasks = [*TASKS]  # the text shown is the query
    return SimilarityPanel(similarity(lens, a, b, (tasks[0] or None, tasks[1] or None))).similarity


def _sizes(similarity: AnySimilarity) -> list[int]:
    return [len(side.encoding) for side in similarity.sides]
