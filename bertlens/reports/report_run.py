"""bl.report: which texts, how many in the time there is, one pass over them, and a card for every claim."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from ..base.arrays_file import difference
from ..base.batch_work import checkpoints
from ..base.notes import note
from ..base.paths import as_path
from ..base.progress import bar
from ..errors import InputError, ModelError, SelectionError, check_number, check_seed, excerpt
from ..export import bundle
from ..lens import Lens
from ..model.borrowed import checked_once
from ..search import Retrieval, retrieval
from ..survey.corpus import Corpus, Numbered, digest, numbered, traces_of
from ..survey.text_statistics import Lengths, text_statistics
from ..tasks import task
from ..text.table_files import kind_of_file
from ..text.texts import is_stream
from ..trace.provenance import model_provenance
from . import attention_numbers, few_texts, health_numbers, sink_numbers, vector_numbers
from .attention_passes import DISTANCE_TEXTS, PASSES, PROBE_SENTENCES, gradient_texts
from .cards import Card, task_card
from .claim import SETUP
from .claims import CLAIMS, GROUPS, RETRIEVAL, Claim
from .excerpt_pairs import NAME, pairs, singles
from .registry import FEW_MEASURES, MEASURES, layer_count, middle
from .report_page import LIMIT, Report
from .resume_file import PLACES, ResumeFile
from .rules import Measured, too_few, verdict
from .search_claims import SearchNumbers
from .text_numbers import TextNumbers, gather

TEXTS = 200
POOL = 10_000  # texts of a stream that a report draws from
USED = 0.8  # of the minutes that are given: other processes want some
GRADIENT, DISTANCE, FEW_TEXTS = 6.5, 2.8, 4.5  # what a text takes there, beside its first pass: measured
PASSES_OF_ALL = PASSES | {
    "vig-position": attention_numbers.position,
    "bonino-direction": vector_numbers.direction,
    "bonino-subspaces": vector_numbers.subspaces,
    "sinks-off": sink_numbers.off,
    "health-doubled": health_numbers.doubled,
}


def report(
    lens: Lens,
    corpus: Corpus | None = None,
    claims: str | Sequence[str] | None = None,
    minutes: float = 10,
    *,
    texts: int | None = None,
    seed: int = 0,
    resume: str | Path | None = None,
    progress: bool = True,
    labels: Any = None,
    search: Any = None,
    column: str | tuple[str, str] | None = None,
) -> Report:
    """What four papers found, on this model: a Report with a card for every claim.

    corpus, column: as for `survey.head_stats`; None: excerpts of two books that come with the package, in pairs. A
    .conllu file is asked about syntax too, one with `Entity=` about coreference. Of a data set that is streamed the
    texts are drawn from its first 10,000. claims: names of claims or of papers ("clark"),
    also in one string with commas; default: all. minutes: from the time of a few texts it is worked out how many fit
    (at most 200), which are then drawn from the corpus by `seed`. texts: so many instead, whatever time it takes.
    resume: a file; what is done is kept in it now and then, and a later call for the same report goes on from there. It
    is deleted when the report is whole.
    labels: labelled examples, as `bl.task` takes them: the page then has a card of the task too.
    search: what `bl.retrieval` gave of this model, with relevance, or the folder (as BEIR has them) that it is given:
    then there are cards of the ranking too, and the page has 3 MB at most.
    The same texts, seed, versions and number of threads give the same numbers. An interrupt (Ctrl-C) ends the pass with
    a warning, and the report is of the texts that were done. Texts that are too long for the model are cut.
    Raises InputError for an empty corpus, one that cannot be read, and weights that are NaN; SelectionError for a
    claim that does not exist; ModelError where the model changes meanwhile.
    """
    if not isinstance(lens, Lens):
        raise InputError(
            f"report(lens, corpus) takes a lens first, not {type(lens).__name__}: bl.Lens(model, tokenizer)"
        )
    selection = claims_of(claims)
    ranking = None if search is None else searched(lens, search, progress)
    treebank = _treebank(corpus)
    labelled = None if labels is None else task(lens, labels, progress=progress)
    plan = draw(lens, corpus, minutes, texts, seed, column)
    if sentence := undecided(selection, len(plan.texts), corpus)[1]:
        note(sentence)
    entries = list(plan.texts)
    start, model = time.monotonic(), lens.borrowed.fingerprint()
    file = None if resume is None else ResumeFile(as_path(resume), report_identity(lens, plan, seed))
    so_far = TextNumbers() if file is None else file.read()

    def save() -> None:
        if file is not None and so_far.n:
            file.write(so_far)

    def saved() -> AbstractContextManager[Callable[[], None]]:
        """A part of the work, which an interrupt ends, and whose numbers are saved where there is a file."""
        return checkpoints(None if file is None else file.path, save)

    with saved() as autosave:
        gather(lens, entries, numbers=so_far, autosave=autosave, progress=progress)
    numbers = so_far.in_order()
    texts_run = {*numbers.places}
    items = [entry.item for entry in entries if entry.number in texts_run]
    names = [c.name for c in selection if c.name in FEW_MEASURES and (file is None or c.name not in file.claims)]
    close = few_texts.measure_few(lens, items) if names else None

    searches = None if ranking is None else SearchNumbers(ranking, seed, progress)

    def measured_of(name: str) -> Measured:
        if file is None or name in MEASURES or len(texts_run) < len(entries):
            return computed(name)
        if name not in file.claims:
            file.claims[name] = computed(name)
        return file.claims[name]

    def computed(name: str) -> Measured:
        if name in MEASURES:
            return MEASURES[name](numbers)
        if close is not None and name in FEW_MEASURES:
            return FEW_MEASURES[name](numbers, close) if close.pieces else Measured(why=few_texts.TOO_LONG)
        return PASSES_OF_ALL[name](lens, items, numbers, treebank)

    measurements = []
    with saved() as autosave, bar(len(selection), "claim", "claims", progress) as progress_bar:
        for claim in selection:
            measurements.append((claim, measured_of(claim.name)))
            autosave()
            progress_bar.update()
    if searches is not None:
        measurements += [(claim, searches.measured(claim.name)) for claim in RETRIEVAL]
    if name := lens.borrowed.change(model, whole=True):
        raise ModelError(f"the model has changed while its report was made ({name}): make it again")
    places = _places(numbers)
    cards = [
        Card(replace(claim, python=claim.python.format(**places)), measured, *verdict(claim.rule, measured))
        for claim, measured in measurements
    ]
    if file is not None and len(texts_run) == len(entries):
        file.path.unlink(missing_ok=True)
    facts = _facts(lens, numbers, corpus, plan.of, len(entries), seed, column)
    return Report(lens, tuple(cards), facts, [item for item in items[:50] if isinstance(item, str | tuple)], {
        "date": model_provenance(lens.borrowed)["date"], "seconds": round(time.monotonic() - start, 1)
    }, "" if labelled is None else task_card(labelled, seed), model)  # fmt: skip


def searched(lens: Lens, search: Any, progress: bool) -> Retrieval:
    """The ranking of a search, made where it is a folder. Raises InputError without judgements, and for that of another
    model, ModelError where its model has changed since it ranked."""
    ranking = search if isinstance(search, Retrieval) else retrieval(lens, None, search, progress=progress)
    if name := difference(ranking.lens.borrowed.identity(), lens.borrowed.identity()):
        raise InputError(
            f"search= is a ranking of {ranking.lens.model_name} (what differs: {name}): a report is of one model"
        )
    ranking.check_model(whole=True)
    if not ranking.collection.judged:
        raise InputError("search= needs relevance: without it nothing tells how good a ranking is")
    return ranking


def report_identity(lens: Lens, plan: Plan, seed: int) -> dict[str, Any]:
    """What a report is of, by name."""
    texts = sum(digest(entry.item) for entry in plan.texts) % (1 << 64)
    places = [entry.number for entry in plan.texts]
    return lens.borrowed.identity() | {"seed": seed, PLACES: places, "texts": f"{texts:016x}"}


def claims_of(claims: str | Sequence[str] | None) -> list[Claim]:
    """The claims of these names or papers, in the order of the table."""
    if claims is None:
        return [*CLAIMS]
    words = claims.split(",") if isinstance(claims, str) else [*claims] if isinstance(claims, Iterable) else [None]
    if not all(isinstance(name, str) for name in words):
        raise SelectionError(f"claims are names in a list, or in a text with commas, not {excerpt(claims)}")
    names = [str(name).strip() for name in words]
    claim_names = {claim.name for claim in CLAIMS} | {*GROUPS}
    if wrong := [name for name in names if name not in claim_names]:
        raise SelectionError(
            f"no claim {wrong[0]!r}: there are {', '.join(GROUPS)}, and claims such as {CLAIMS[0].name}"
        )
    selection = [claim for claim in CLAIMS if claim.name in names or claim.group in names]
    if not selection:
        raise SelectionError(f"no claims chosen: there are {', '.join(GROUPS)}")
    return selection


@dataclass(frozen=True)
class Plan:
    """The texts of a report, in the order of the corpus, of how many, and about how many seconds they take."""

    texts: tuple[Numbered, ...]
    of: int
    seconds: float


def draw(lens: Lens, corpus: Corpus | None, minutes: float, texts: int | None, seed: int, column: Any = None) -> Plan:
    """Which texts, and how many in the time there is, by the time that a few take. Errors as for `report`."""
    texts = None if texts is None else check_number(texts, "texts is how many to take,", 1)
    seed = check_seed(seed)
    if isinstance(minutes, bool) or not isinstance(minutes, int | float) or not 0 < minutes < 1e6:
        raise InputError(f"minutes is a time above 0, not {excerpt(minutes)}")
    pool = POOL + 1 if is_stream(corpus) else None
    entries = [*numbered(default_texts(lens) if corpus is None else corpus, pool, column)]
    if len(entries) == pool:
        note(f"the texts of the report are drawn from the first {POOL:,} of the stream")
        del entries[-1]
    size = min(len(entries), texts or TEXTS)
    order = random.Random(seed).sample(entries, size)
    rate = seconds_a_text(lens, order[:4])
    if texts is None:
        fits = (n for n in range(size, 1, -1) if rate * _cost(lens, n) <= minutes * 60 * USED)
        size = next(fits, 1)
    sample = sorted(order[:size], key=lambda entry: entry.number)
    return Plan(tuple(sample), len(entries), rate * _cost(lens, size))


def _cost(lens: Lens, n: int) -> float:
    """Of a report of n texts, in texts of the first pass."""
    has_loss = type(lens.borrowed.runner).__name__.endswith(("ForMaskedLM", "ForSequenceClassification"))
    return (
        n
        + DISTANCE * min(n, DISTANCE_TEXTS)
        + FEW_TEXTS * min(n, few_texts.TEXTS)
        + GRADIENT * has_loss * gradient_texts(n)
    )


def default_texts(lens: Lens) -> tuple[Any, ...]:
    """Pairs of passages; whole ones where the tokenizer puts no separator between two texts."""
    return pairs() if sum(lens.encoding("a", "b").separators) > 1 else singles()


def seconds_a_text(lens: Lens, texts: Sequence[Numbered]) -> float:
    """Measured, after one text to warm up."""
    entries, memory, start = [*texts], Lengths(), 0.0
    for number, entry in enumerate([entries[0], *entries]):
        if number == 1:
            start = time.monotonic()
        for trace in traces_of(lens, [entry], True):
            with checked_once():
                text_statistics(trace, memory)
    return max(1e-4, (time.monotonic() - start) / len(entries))


def page_bytes(lens: Lens) -> int:
    """About how large the page will be: known from shapes."""
    bundle_bytes = len(bundle.text("widget.js")) + len(bundle.text("widget.css")) + 200_000
    layers, width = _shape(lens)
    heads = layers * width * 2 * 4 * 40 * 5 / 4  # queries and keys of some 40 tokens, as text
    return int(min(LIMIT, bundle_bytes + heads))


def _shape(lens: Lens) -> tuple[int, int]:
    config: Any = lens.borrowed.base.config.get_text_config()
    return int(config.num_hidden_layers), int(config.hidden_size)


def undecided(claims: Sequence[Claim], texts: int, corpus: Corpus | None) -> tuple[int, str]:
    """How many of the claims so many texts of a corpus may decide, and why not all: see `rules.too_few`."""
    return too_few([claim.name for claim in claims], texts, _treebank(corpus) is not None)


def _treebank(corpus: Corpus | None) -> Path | None:
    path = as_path(corpus, "a corpus") if isinstance(corpus, str | Path) else None
    return path if path is not None and kind_of_file(path) == "conllu" else None


def _places(g: TextNumbers) -> dict[str, Any]:
    """What the lines of claims have in braces: layers, and of how many texts."""
    (layers, heads), between = g.shape, middle(g.shape[0])
    return {
        "first": between[0],
        "last": between[-1] + 1,
        "third": layer_count(layers, 1 / 3),
        "sixth": layer_count(layers, 1 / 6),
        "heads": heads,
        "gradients": gradient_texts(g.n),
        "sentences": min(g.n, PROBE_SENTENCES),
    }


def _facts(
    lens: Lens, g: TextNumbers, corpus: Corpus | None, of: int, drawn: int, seed: int, column: Any
) -> dict[str, Any]:
    about = model_provenance(lens.borrowed)
    del about["date"]
    layers, heads = g.shape
    named = NAME if corpus is None else "your texts"
    if isinstance(corpus, str | Path):
        named = Path(corpus).name
    return {
        "model": about | {"layers": layers, "heads": heads, "class": type(lens.borrowed.runner).__name__},
        "corpus": {
            "name": named,
            "texts": g.n,
            "drawn": drawn,
            "of": of,
            "tokens": g.tokens,
            "hash": f"{g.hash:016x}",
            "unknown": sum(g.unknown),
            "cut": g.truncated,
        },
        "seed": seed,
        "threads": torch.get_num_threads(),
        "python": in_python(lens, corpus, g.n, seed, column),
        "setup": [*SETUP],
    }


def in_python(lens: Lens, corpus: Corpus | None, n: int, seed: int, column: Any = None) -> str:
    argument = "" if corpus is None else ', "your/corpus"'
    argument += "" if column is None else f", column={column!r}"
    lens_line = lens.made or "bl.Lens(model, tokenizer)"
    return f"bl.report({lens_line.split('  #')[0]}{argument}, texts={n}, seed={seed})"
