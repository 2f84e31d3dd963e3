"""What a view knows of a corpus: statistics of its heads and, where given, their distances and their syntax."""

from __future__ import annotations

import math
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np
import torch
from typing_extensions import NotRequired, TypedDict

from ..base.arrays_file import difference
from ..base.dataframes import pd
from ..base.limits import within
from ..errors import InputError
from ..measures.offers import offers
from ..measures.significance import FEWEST_TEXTS, LEVEL
from ..measures.statistics import FLAGGED_NAMES, SURVEY_NAMES
from ..trace.provenance import identity, visible
from ..trace.trace import Trace
from ..widgets.messages.records import Arrays
from ..widgets.messages.turns import PATIENCE, ask_again, in_steps
from ..widgets.panels.panel import Panel
from ..widgets.request import Request
from .distances import head_map, nearest_heads, square
from .headstats import HeadStats
from .similar_texts import SimilarTexts, similar_texts
from .sums import BINS, edges
from .syntax import predicted_words, word_attention
from .text_statistics import text_steps

if TYPE_CHECKING:
    from .treebank import Sentence


Span = tuple[int, int]  # shortest, longest: tokens
By = Literal["weight", "norm"]


class AlikeTexts(TypedDict):
    """The text, and the texts of its length; lists are of statistics (K), by weight or norm."""

    tokens: int
    segments: int
    span: Span
    texts: int
    counts: Annotated[Any, dict[By, list[int]]]  # of them that have a statistic
    own: Annotated[Any, dict[By, list[int]]]  # that flags of their own are of, 0 where it is not known
    own_span: dict[By, Span]  # and how long those are
    fewest: int  # texts under which nothing is compared
    level: float  # share of the texts that chance calls unusual


class MapTrust(TypedDict):
    stress: float  # by what share of the distances the drawn ones are off
    even_stress: float  # the same of as many heads that are all equally far apart
    nearest_kept: int  # heads whose nearest head is the nearest on the map too


class MapFields(TypedDict, total=False):
    map: Annotated[Any, MapTrust]  # where there are distances


class Relation(TypedDict):
    relation: str
    direction: str
    layer: int
    head: int
    accuracy: float
    low: NotRequired[float]  # 95 % interval, where the table has one: then accuracy is held out
    high: NotRequired[float]
    stable: NotRequired[float]  # share of draws of the sentences in which the same head is the best
    offset_accuracy: float
    n: int


class ParsedSentence(TypedDict):
    words: list[str]
    heads: Annotated[Any, list[int]]  # index of each word's head, -1 for the root
    relations: list[str]


class SurveyFields(MapFields):
    names: list[str]  # statistics, K
    counted: list[str]  # those that count where flags are counted: one of the four entropies
    by: list[By]
    texts: int
    tokens: int
    span: Span
    about: str  # model and corpus
    alike: AlikeTexts
    gates: Annotated[Any, list[list[str]]]  # (L, H) most frequent label
    shares: Annotated[Any, list[list[float]]]  # (L, H) its share of the texts
    gates_alike: bool  # of the texts of this length; else of all, as these are too few
    layers: Annotated[Any, dict[Literal["text", "token"], dict[str, list[float | None]]]]  # quantities of whole layers
    relations: Annotated[Any, list[Relation]]
    sentence: NotRequired[ParsedSentence]


class CorpusText(TypedDict):
    parts: Annotated[Any, list[str]]  # a text, or two
    tokens: int
    whole: bool  # nothing is cut off, and it can be run


class NoTexts(TypedDict):
    """Of statistics that hold none."""

    held: Literal[False]


class SurveyTexts(TypedDict):
    held: Literal[True]
    names: list[str]
    by: list[By]
    counts: dict[By, list[int]]  # texts that have a statistic
    texts: list[CorpusText]


class CorpusPanel(Panel):
    """What a view knows of a corpus: statistics of its heads and, where given, their distances and their syntax."""

    needs: ClassVar = {"corpus": "this view was made without a survey: pass stats= of bl.survey.head_stats"}

    def __init__(
        self,
        stats: HeadStats,
        distances: np.ndarray | None,
        relations: pd.DataFrame | None,
        sentence: Sentence | None = None,
    ) -> None:
        if not isinstance(stats, HeadStats):
            raise InputError("stats are what bl.survey.head_stats gives (or HeadStats.load reads)")
        self.stats, self.relations = stats, relations
        layers, heads = stats.shape
        if distances is not None and np.shape(distances) != (layers * heads, layers * heads):
            raise InputError(
                f"distances of these statistics are ({layers * heads}, {layers * heads}), see head_distances"
            )
        self.distances, self.sentence = distances, sentence

    @property
    def corpus(self) -> str:
        return "" if self.stats.highest is None else "the corpus of its statistics"

    def check(self, trace: Trace) -> None:
        """Raises InputError for a trace of another shape than the statistics, or, where known, of other weights."""
        (layers, heads), shape = self.stats.shape, (trace.n_layers, trace.n_heads)
        if (layers, heads) != shape:
            raise InputError(
                f"the statistics are of {layers} layers x {heads} heads, the trace has {shape[0]} x {shape[1]}: survey "
                "the model that you look at"
            )
        surveyed = self.stats.provenance.get("identity")
        if surveyed is None or trace.model is None:
            return
        if name := difference(surveyed, trace.kept("identity", lambda: identity(trace))):
            model = visible(str(self.stats.provenance.get("model")))
            raise InputError(
                f"the statistics are of {model} with other {name} than the trace of {visible(trace.model_name)}: "
                "survey the model that you look at"
            )

    def why_not(self, trace: Trace) -> str:
        try:
            self.check(trace)
        except InputError as error:
            return str(error)
        return offers(trace)["gates"]  # square and without NaN

    def answer(self, trace: Trace) -> tuple[SurveyFields, Arrays]:
        """Everything for the page; arrays (K, L, H) by weight or norm. Raises InputError where `why_not` says why.

        Of a long text in turns: "again", see turns.
        """
        if reason := self.why_not(trace):
            raise InputError(reason)
        stats, (layers, heads) = self.stats, self.stats.shape
        by: list[By] = ["weight", "norm"] if stats.has_norms and not offers(trace)["norms"] else ["weight"]
        text = in_steps(trace, "survey", text_steps, math.inf if within("saved", trace.n_tokens) else PATIENCE)
        if text is None:
            return ask_again()
        arrays: dict[str, Any] = {"edges": np.stack([edges(name) for name in SURVEY_NAMES]).astype(np.float32)}
        likes = {which: similar_texts(stats, trace, text, which) for which in by}
        like = likes["weight"]
        of_length = stats.of_length(like.tokens, like.segments)
        for which, similar in likes.items():
            for average in ("text", "token"):
                values = np.stack([stats.values(name, which, average) for name in SURVEY_NAMES])
                arrays[f"{average}.{which}"] = values.astype(np.float32)
            arrays |= _arrays(similar, which)
            arrays[f"bins.{which}"] = _bins(of_length, which, (layers, heads))
        map_fields, map_arrays = self._map
        arrays |= map_arrays
        about = stats.provenance
        of_gates = of_length if of_length.n_texts >= FEWEST_TEXTS else stats
        gates = of_gates.gates()
        fields: SurveyFields = {
            "names": list(SURVEY_NAMES),
            "counted": list(FLAGGED_NAMES),
            "by": by,
            "texts": stats.n_texts,
            "tokens": stats.n_tokens,
            "span": stats.span,
            "about": f"{visible(str(about.get('model')))}, corpus {stats.corpus:016x}"[:80],
            "alike": {
                "tokens": like.tokens,
                "segments": like.segments,
                "span": (like.shortest, like.longest),
                "texts": like.texts,
                "counts": {which: similar.counts.astype(int).tolist() for which, similar in likes.items()},
                "own": {which: similar.expected.texts.tolist() for which, similar in likes.items()},
                "own_span": {
                    which: (similar.expected.shortest, similar.expected.longest) for which, similar in likes.items()
                },
                "fewest": FEWEST_TEXTS,
                "level": round(1 - LEVEL, 2),
            },
            "gates": gates["label"].to_numpy().reshape(layers, heads),
            "shares": gates["share"].to_numpy().reshape(layers, heads),
            "gates_alike": of_gates is of_length,
            "layers": {mean: stats.layers(mean).drop(columns="layer").to_dict("list") for mean in ("text", "token")},
            "relations": self._best_heads(),
            **map_fields,
        }
        if self.sentence is not None and (guesses := _guesses(trace, self.sentence)) is not None:
            arrays["guesses"] = guesses
            fields["sentence"] = {
                "words": [visible(word) for word in self.sentence.words],
                "heads": self.sentence.heads,
                "relations": [visible(relation) for relation in self.sentence.relations],
            }
        return fields, arrays

    def texts(self, trace: Trace, layer: int) -> tuple[SurveyTexts | NoTexts, Arrays]:
        """The texts in which each head of a layer has a statistic most: arrays of numbers of texts and of values
        (texts, K, H), of means (K, H). Raises InputError where `why_not` says why."""
        if reason := self.why_not(trace):
            raise InputError(reason)
        if self.stats.highest is None:
            return {"held": False}, {}
        texts, arrays = self.stats.highest.numbered(layer)
        by: list[By] = ["weight", "norm"] if self.stats.has_norms else ["weight"]
        for which in by:
            means = [self.stats.values(name, which)[layer] for name in SURVEY_NAMES]
            arrays[f"{which}.means"] = np.stack(means).astype(np.float32)  # (K, H)
        fields: SurveyTexts = {
            "held": True,
            "names": list(SURVEY_NAMES),
            "by": by,
            "counts": {which: self.stats.counts(which).astype(int).tolist() for which in by},
            "texts": [{"parts": text.sides, "tokens": text.tokens, "whole": text.is_whole} for text in texts.values()],
        }
        return fields, arrays

    @cached_property
    def _map(self) -> tuple[MapFields, Arrays]:
        """Places of the heads, how far to trust them, and the heads that are nearest by distance; of any text."""
        if self.distances is None:
            return {}, {}
        return _places(square(self.distances).tobytes(), *self.stats.shape)

    def _best_heads(self) -> list[dict[str, Any]]:
        """The best head of each relation in its better direction, most frequent relations first."""
        if self.relations is None:
            return []
        best = self.relations.sort_values("accuracy", ascending=False).drop_duplicates("relation")
        columns = ["relation", "direction", "layer", "head", "accuracy", "offset_accuracy", "n"]
        columns += [name for name in ("low", "high", "stable") if name in best]
        rows: list[dict[str, Any]] = best.sort_values("n", ascending=False)[columns].to_dict("records")
        return [row | {"relation": visible(str(row["relation"]))} for row in rows]


def survey(request: Request) -> tuple[SurveyFields, Arrays]:
    """`CorpusPanel.answer` of the view's corpus."""
    return request.panel(CorpusPanel).answer(request.trace)


def survey_texts(request: Request, layer: int) -> tuple[SurveyTexts | NoTexts, Arrays]:
    """`CorpusPanel.texts` of the view's corpus."""
    return request.panel(CorpusPanel).texts(request.trace, layer)


@lru_cache(maxsize=4)  # views of one survey have one map
def _places(numbers: bytes, n_layers: int, n_heads: int) -> tuple[MapFields, Arrays]:
    distances = np.frombuffer(numbers).reshape(n_layers * n_heads, -1)
    table = head_map(distances, n_heads)
    nearest, apart = nearest_heads(distances)
    arrays = {"map": table[["x", "y"]].to_numpy(np.float32), "nearest": nearest.astype(np.int32)}
    return {"map": dict(table.attrs)}, arrays | {"apart": apart.astype(np.float32)}


def _arrays(like: SimilarTexts, by: str) -> dict[str, np.ndarray]:
    """A text among the texts of its length, (K, L, H) each, of rows by weight or by norm."""
    numbers = {"sentence": like.values, "mean": like.mean, "sd": like.sd, "reach": like.reach, "z": like.z}
    numbers |= {"own.statistics": like.expected.statistics, "own.heads": like.expected.heads}
    arrays = {f"{name}.{by}": values.astype(np.float32) for name, values in numbers.items()}
    return arrays | {f"lower.{by}": like.lower.astype(np.int32), f"unusual.{by}": like.unusual.astype(np.uint8)}


def _bins(stats: HeadStats, by: str, shape: tuple[int, int]) -> np.ndarray:
    """(K, L, H, BINS) how many texts have a value in each bin."""
    kind = np.uint16 if stats.n_texts < 1 << 16 else np.int32
    if not stats.n_texts or (by == "norm" and not stats.has_norms):
        return np.zeros((len(SURVEY_NAMES), *shape, BINS), kind)
    return np.stack([stats.distribution(name, by)[1] for name in SURVEY_NAMES]).astype(kind)


def _guesses(trace: Trace, sentence: Sentence) -> np.ndarray | None:
    """(2, L, H, W) int32 the word that each head predicts for each word; None for a trace of something else."""
    words = {word for word in trace.word_ids if word is not None}
    if trace.text != " ".join(sentence.words) or not words <= set(range(len(sentence))):
        return None
    guesses = [predicted_words(word_attention(trace, layer, len(sentence))) for layer in range(trace.n_layers)]
    return torch.stack(guesses, 1).int().cpu().numpy()
