"""Why is the wrong passage first? A collection as a model ranks it: how well, where it fails, why, and what if."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial, wraps
from pathlib import Path
from typing import Any

from ..base.amounts import amount
from ..base.atomic import text_file
from ..base.dataframes import pd
from ..base.outputs import check_apart
from ..base.paths import as_path
from ..base.registered import registered
from ..errors import InputError, ModelError, check_batch, check_lens, check_number, excerpt
from ..export.space import SpaceSource
from ..lens import Lens
from ..measures.significance import Sizes
from ..model.fingerprint import Fingerprint
from ..sentences.similarity_matrix import check_texts
from ..text.piece_counts import fertility
from ..text.plain_words import words_of
from . import bm25, hubs, long_passages, metrics, paired, slices
from .collection import Collection
from .contrast import contrast
from .edit_probe import EditProbe, probe
from .edits import FILLERS
from .failures import failure_table
from .hard_negatives import HardNegatives, hard_negatives
from .passage_limits import PassageLimit
from .ranked_lists import RankedLists, place_among
from .ranking_heads import RankingHeads, heads
from .reading import collection
from .score_difference import Contrast
from .search_page import PASSAGES, page
from .sizes.sized_retrieval import SizedRetrieval
from .stages import Stages, ranked
from .two_towers import check_one_model
from .vectors_file import file_of


def _once(table: Callable[[Retrieval], pd.DataFrame]) -> Callable[[Retrieval], pd.DataFrame]:
    """A method whose table is made once, so that it stays that of the model that ranked."""

    @wraps(table)
    def kept(self: Retrieval) -> pd.DataFrame:
        if (name := table.__name__) not in self._tables:
            self._tables[name] = table(self)
        return self._tables[name].copy()

    return kept


@dataclass(frozen=True, eq=False, repr=False)
class Retrieval(SizedRetrieval, SpaceSource):
    """What `retrieval` gives: ranked lists of a collection's passages, and what can be asked of them.

    `failures` and `metrics` need judgements, `ranking`, `hubs` and `contrast` do not. Tables are DataFrames.
    """

    lens: Lens
    collection: Collection
    stages: Stages  # the ranked lists
    first_stage: Lens | None = None  # of a cross-encoder: what found the passages that it ranks
    query_lens: Lens | None = None  # what encodes questions, where it is another model than that of passages
    _fingerprints: tuple[Fingerprint, ...] = ()  # of the model, and of `query_lens`, as they ranked
    _tables: dict[str, pd.DataFrame] = field(default_factory=dict, init=False)  # by the method that made them

    @property
    def lists(self) -> RankedLists:
        """The ranked lists of the model."""
        return self.stages.lists

    @cached_property
    def bm25_lists(self) -> RankedLists:
        """The lists that BM25 gives for the same questions, see `bm25.bm25`."""
        return bm25.bm25(self.collection)

    @cached_property
    def by_question(self) -> pd.DataFrame:
        """A row for each question with a relevant document, a column for each measure. Raises InputError without."""
        self._check_judged()
        return metrics.by_question(self.lists, self.collection)

    @cached_property
    def frequencies(self) -> dict[str, int]:
        """Word, without case, -> in how many passages it stands: for `Contrast.without(frequencies=)`."""
        return dict(Counter(word for text in self.collection.passages for word in {*words_of(text)}))

    @_once
    def metrics(self) -> pd.DataFrame:
        """nDCG@10 with binary and with graded gains, MRR, MAP and recall: the mean over questions with its interval,
        beside BM25 on the same questions and the paired difference. See `metrics.table`.

        Raises InputError without judgements.
        """
        return metrics.table(self.by_question, metrics.by_question(self.bm25_lists, self.collection))

    @_once
    def slices(self) -> pd.DataFrame:
        """The measures for short and long questions and passages, cut passages, rare words, questions in small pieces.
        See `slices.slices`.

        Raises InputError without judgements, ModelError where the model has changed before it was first asked for.
        """
        self._check_judged()
        limit, tokenizer = self._limit, (self.query_lens or self.lens).tokenizer
        return slices.slices(self.by_question, self.collection, limit, pieces=partial(fertility, tokenizer))

    @_once
    def failures(self) -> pd.DataFrame:
        """The questions for which a wrong document stands first: a row each, with kinds. See `failures.failure_table`.

        A question whose list has no right passage is searched to the end, where the model makes vectors.
        Raises InputError without judgements, ModelError where the model has changed before it was first asked for.
        """
        self._check_judged()
        stages, texts = self.stages, self.collection
        return failure_table(texts, stages.to_the_end(texts), stages.first_lists, self._limit)

    @_once
    def hubs(self) -> pd.DataFrame:
        """How often each passage stands among ten for questions that it is not relevant to. See `hubs.hubs`."""
        return hubs.hubs(self.collection, self.lists)

    def probe(
        self,
        texts: Sequence[str] | None = None,
        *,
        roles: Any = None,
        paraphrases: Iterable[tuple[str, str]] | None = None,
        n: int = 200,
        fillers: Sequence[str] = FILLERS,
        seed: int = 0,
        progress: bool = True,
    ) -> EditProbe:
        """Does the model read *not*, numbers, names? How far an edit of a text moves the score that the text has with
        itself (as a question with a passage), beside the same text with a filler of as many tokens.

        texts: of whose sentences edits are made, None: of the passages; the rules (`edits.RULES`) are for English, in
        other languages give pairs and fillers. roles: a treebank (a CoNLL-U file, sentences), whose subjects and
        objects change places; or pairs of a text and its edit. paraphrases: pairs of a text and the same in other
        words, beside which edits are counted. n: texts of a kind, drawn by `seed`; of a kind with fewer than 30 nothing
        is told. fillers: words that change nothing.
        Raises InputError for pairs that are none and with a query_lens, ModelError where the model has changed since it
        ranked.
        """
        check_one_model(self.query_lens, self.lens, "probe")
        self.check_model()
        return probe(
            self.lens,
            self.collection.passages if texts is None else check_texts(texts),
            roles=roles,
            paraphrases=paraphrases,
            n=n,
            fillers=fillers,
            seed=seed,
            progress=progress,
        )

    def heads(
        self, n: int = 10, *, depth: int = 50, seed: int = 0, batch_size: int = 32, progress: bool = True
    ) -> RankingHeads:
        """Which heads does the ranking need, and which stand in its way?

        On one half of the judged questions, drawn by `seed`, all heads are estimated by gradient: what the lead of a
        right passage over its neighbour in the list would gain without the head, and the gap of failures. The n heads
        with the largest estimates are switched off on the other half: what the gap of its failures gains, beside the
        same with the right passage's neighbour; and nDCG@10, the first `depth` passages of each question ranked anew.
        Intervals and p by Holm over all tests. What it will take is said before; Ctrl-C ends it, and what was done
        counts. A head that is switched off leaves runs that training never made: it is an experiment on this model.

        Raises InputError without judgements, for fewer than 20 questions and with a query_lens, ModelError where the
        model has changed since it ranked, for late interaction, and where its heads cannot be switched off.
        """
        self._check_judged()
        check_one_model(self.query_lens, self.lens, "heads")
        self.check_model(whole=True)
        return heads(
            self.lens,
            self.collection,
            self.lists,
            n=n,
            depth=depth,
            seed=seed,
            batch_size=batch_size,
            progress=progress,
        )

    def hard_negatives(self, n: int = 5, *, judged: bool = False) -> HardNegatives:
        """What to train on: of each judged question and right document n triplets of question, right passage and one
        that the model ranks high wrongly. See `hard_negatives.hard_negatives`.

        judged: True for those alone that were judged. Raises InputError without judgements, and where there is none.
        """
        self._check_judged()
        return hard_negatives(self.collection, self.lists, n, judged)

    @_once
    def long_passages(self) -> pd.DataFrame:
        """What to split: passages that are longer than what the model reads, those first that cost failures most. See
        `long_passages.long_passages`. Raises ModelError where the model has changed before it was first asked for."""
        table = self.failures() if self.collection.judged else None
        return long_passages.long_passages(self.collection, self._limit, table)

    def ranking(self, query: str | int, k: int = 10) -> pd.DataFrame:
        """The k best passages of a question, query its id: rank, passage, document, score, grade (NaN where none was
        given), text. Raises InputError for an id that is not there and a k below 1."""
        at = self._query(query)
        rows = self.lists.passages(at)[: check_number(k, "k is how many passages to list,", 1)].tolist()
        grades = self.collection.grades.get(self.collection.query_ids[at], {})
        documents = [self.collection.documents[row] for row in rows]
        return pd.DataFrame(
            {
                "rank": range(1, len(rows) + 1),
                "passage": [self.collection.passage_ids[row] for row in rows],
                "document": documents,
                "score": self.lists.scores[at, : len(rows)],
                "grade": [grades.get(name, float("nan")) for name in documents],
                "text": [self.collection.passages[row] for row in rows],
            }
        )

    def contrast(self, query: str | int, wrong: str | int | None = None, right: str | int | None = None) -> Contrast:
        """Why one passage stands before another for a question: the difference of their scores as exact sums.

        query, wrong, right: ids. wrong: else the first passage; right: else the best of those that are relevant.
        Raises InputError for an id that is not there, where no relevant passage can be told, and with a query_lens;
        ModelError where the model has changed since it ranked, or has no contrast.
        """
        check_one_model(self.query_lens, self.lens, "contrast")
        self.check_model()
        at = self._query(query)
        first = self._passage(wrong) if wrong is not None else int(self.lists.passages(at)[0])
        second = self._passage(right) if right is not None else self.lists.best_right(at, self.collection)
        texts = self.collection.passages
        if first == second:
            ids = self.collection.passage_ids
            way = "name right=" if right is not None or wrong is not None else "a relevant one is first, name wrong="
            raise InputError(f"passage {excerpt(ids[first])} cannot be laid beside itself: {way}")
        return contrast(self.lens, self.collection.queries[at], texts[first], texts[second])

    def against(self, before: Retrieval | str | Path) -> pd.DataFrame:
        """Each measure beside that of an earlier run (before), or of the file that `save` wrote: the paired difference
        over the same questions with its interval, p by Holm over the measures. See `paired.against`.

        Raises InputError for another collection.
        """
        if not isinstance(before, Retrieval):
            return paired.against(paired.from_json(as_path(before), self.collection), self.by_question)
        paired.check_same("the earlier run", paired.digests(before.collection), self.collection)
        return paired.against(before.by_question, self.by_question)

    def save(self, path: str | Path) -> Path:
        """Write the measures of each question as JSON, for `against` and `--check`.

        Raises InputError without judgements, ExportError where it cannot be written.
        """
        return paired.to_json(as_path(path), self.by_question, self.collection, self.lens.model_name)

    def to_html(
        self,
        path: str | Path,
        *,
        probe: EditProbe | None = None,
        heads: RankingHeads | None = None,
        layers: Sizes | None = None,
        dimensions: Sizes | None = None,
        live: bool = False,
        hosted: bool = False,
    ) -> Path:
        """Write all tables as one page that needs no kernel and no network. probe, heads, layers, dimensions: what the
        methods of these names gave, to stand on it too.

        live: instead the view of `explore`, with the model, the passages and their vectors in it: a search engine in
        one file. hosted: `path` is a folder, in which page and weights are two files for a web server. See
        `RetrievalView.to_html`.
        Raises ExportError, InputError for such tables on a live page and for hosted without live; ModelError where
        the model has changed since it ranked.
        """
        self.check_model()
        if not live and not hosted:
            return text_file(page(self, probe, heads, layers, dimensions), path)
        if any(given is not None for given in (probe, heads, layers, dimensions)):
            raise InputError(
                "probe, heads, layers, dimensions stand on the page of tables: write it without live=True, too"
            )
        view = self.explore()
        try:
            return as_path(view.to_html(path, live=live, hosted=hosted))
        finally:
            view.close()

    def _rights(self, page: Mapping[str, Any]) -> tuple[Any, str, bool]:
        return self.lens, PASSAGES, bool(page.get("live"))

    def explore(self, **options: Any) -> Any:
        """The questions as a view: the worst failures first, why each, what if a word or a head were not there. A
        RetrievalView, which takes these options."""
        return registered("retrieval_view")(self, **options)

    def _check_judged(self) -> None:
        if not self.collection.judged:
            raise InputError("no question has a relevant document: give relevance=, or ask for ranking, hubs, contrast")

    def check_model(self, *, whole: bool = False) -> None:
        """Raises ModelError where the model has changed since it ranked. whole: by every value and its tokenizer."""
        for lens, before in zip((self.lens, self.query_lens), self._fingerprints, strict=False):
            if lens is not None and (name := lens.borrowed.change(before, whole=whole)):
                raise ModelError(
                    f"the model has changed since it ranked ({name}): rank again, bl.retrieval(lens, queries, corpus)"
                )

    @property
    def _limit(self) -> PassageLimit:
        """What the model that ranked reads of passages. Raises as `check_model`."""
        self.check_model(whole=True)
        return PassageLimit(self.lens)

    def _query(self, name: str | int) -> int:
        return place_among(self.collection.query_ids, name, "question")

    def _passage(self, name: str | int) -> int:
        return place_among(self.collection.passage_ids, name, "passage")

    def __repr__(self) -> str:
        size = f"{amount(len(self.collection.queries), 'question')}, {amount(len(self.collection.passages), 'passage')}"
        if not self.collection.judged:
            return f"Retrieval({self.lens.model_name}: {size}, without judgements)"
        mean = float(self.by_question["nDCG@10"].mean())
        over = amount(len(self.by_question), "question")
        return f"Retrieval({self.lens.model_name}: {size}; nDCG@10 {mean:.3f} over {over})"


def retrieval(
    lens: Lens,
    queries: Any,
    corpus: Any,
    relevance: Any = None,
    *,
    first_stage: Lens | None = None,
    query_lens: Lens | None = None,
    column: str | None = None,
    document: str | None = None,
    keep: bool | str | Path = True,
    int8: bool = False,
    batch_size: int = 32,
    progress: bool = True,
) -> Retrieval:
    """How a model ranks the passages of a corpus for questions, and why the wrong one is first: a `Retrieval`.

    lens: of a sentence encoder, a bare encoder, a late-interaction encoder; or of a cross-encoder, which scores the
    first 100 of `first_stage`, a Lens of an encoder, anew. queries, corpus, relevance, column, document: as of
    `reading.collection`: files, folders of BEIR, tables, lists. Without relevance there are no measures and failures.

    The passages' vectors are kept in a file of each model beside the corpus, where that is a file or a folder, and made
    again only where a text or the model changed; keep: False for none, or the file. Where nothing can be written beside
    the corpus, a note says so. int8: kept as a byte a number, a quarter of the room; scores are of the rounded ones.
    After Ctrl-C the same call goes on. progress: a bar after two seconds.
    The 200 best of each question are listed, by score, then by id; scores are the model's own similarity, in float64.

    query_lens: what encodes questions, where that is another model than that of passages (DPR, MedCPT, the routes of a
    Router); lens, or first_stage, is of passages. What is asked of the runs of one model, as contrast, is refused then.

    Raises InputError for ids that do not fit each other, for texts that cannot be read and for a query_lens whose
    vectors cannot be compared, ModelError for a cross-encoder without a first stage, or of several labels.
    """
    check_lens(lens)
    batch_size = check_batch(batch_size)
    texts = collection(queries, corpus, relevance, column=column, document=document)
    file = file_of(keep, corpus, lens if first_stage is None else first_stage, int8)
    if file is not None:
        check_apart(file, [source for source in (queries, corpus, relevance) if isinstance(source, str | Path)])
    query_lens = None if query_lens in (lens, first_stage) else query_lens
    if query_lens is not None:
        check_lens(query_lens)
    models = [lens.borrowed.fingerprint(), *([] if query_lens is None else [query_lens.borrowed.fingerprint()])]
    stages = ranked(
        lens,
        texts,
        first_stage=first_stage,
        query_lens=query_lens,
        file=file,
        int8=int8,
        batch_size=batch_size,
        progress=progress,
    )
    retrieval = Retrieval(lens, texts, stages, first_stage, query_lens, tuple(models))
    retrieval.check_model()
    return retrieval
