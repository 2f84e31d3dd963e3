"""bl.report: which texts, how many in the time there is, one pass over them, and a card for every claim."""

from __future__ import annotations

import random
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from ..base.interrupts import Held, stoppable
from ..base.paths import as_path
from ..base.progress import bar
from ..errors import InputError, ModelError, SelectionError, check_number, check_seed, excerpt
from ..export import bundle
from ..lens import Lens
from ..survey.corpus import Corpus, Numbered, digest, numbered, traces_of
from ..survey.statistics import Lengths, text_statistics
from ..tasks import task
from ..tasks.card import card_of
from ..trace.provenance import model_provenance
from . import closer, health, lengths, patterns, sinks, subspaces, weights  # most register their measures
from .cards import Card, Report
from .claim import SETUP
from .claims import CLAIMS, GROUPS, Claim
from .gathered import Gathered, gather
from .measuring import CLOSE, MEASURES, layers_in, middle
from .page import LIMIT
from .passes import DISTANCE_TEXTS, PASSES, PROBE_SENTENCES, gradient_texts
from .resume_file import PLACES, ResumeFile
from .rules import Measured, verdict
from .texts import NAME, pairs, singles

TEXTS = 200
USED = 0.8  # of the minutes that are given: other processes want some
GRADIENT, DISTANCE, CLOSE_LOOK = 6.5, 2.8, 4.5  # what a text takes there, beside its first pass: measured
_REGISTERS = (lengths, weights)
PASSES_OF_ALL = PASSES | {
    "vig-position": patterns.position,
    "bonino-direction": subspaces.direction,
    "bonino-subspaces": subspaces.subspaces,
    "sinks-off": sinks.off,
    "health-doubled": health.doubled,
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
) -> Report:
    """What four papers found, on this model: a Report with a card for every claim.

    corpus: as for `survey.head_stats`; None: excerpts of two books that come with the package, in pairs. A .conllu file
    is asked about syntax too, one with `Entity=` about coreference. claims: names of claims or of papers ("clark"),
    also in one string with commas; default: all. minutes: from the time of a few texts it is worked out how many fit
    (at most 200), which are then drawn from the corpus by `seed`. texts: so many instead, whatever time it takes.
    resume: a file; what is done is kept in it now and then, and a later call for the same report goes on from there. It
    is deleted when the report is whole.
    labels: labelled examples, as `bl.task` takes them: the page then has a card of the task too.
    The same texts, seed, versions and number of threads give the same numbers. An interrupt (Ctrl-C) ends the pass with
    a warning, and the report is of the texts that were done. Texts that are too long for the model are cut.
    Raises InputError for an empty corpus, one that cannot be read, and weights that are NaN; SelectionError for a
    claim that does not exist.
    """
    if not isinstance(lens, Lens):
        raise InputError(
            f"report(lens, corpus) takes a lens first, not {type(lens).__name__}: bl.Lens(model, tokenizer)"
        )
    chosen = claims_of(claims)
    treebank = _treebank(corpus)
    labelled = None if labels is None else task(lens, labels, progress=progress)
    plan = draw(lens, corpus, minutes, texts, seed)
    drawn = list(plan.texts)
    begun, model = time.monotonic(), lens.borrowed.fingerprint()
    file = None if resume is None else ResumeFile(as_path(resume), _report_identity(lens, plan, seed))
    with stoppable():
        so_far, autosave = (Gathered(), None) if file is None else (file.read(), file.autosave)
        so_far = gather(lens, drawn, found=so_far, autosave=autosave, progress=progress)
        if file is not None:
            with Held():
                file.write(so_far)
        gathered = so_far.in_order()
    done = {*gathered.places}
    items = [entry.item for entry in drawn if entry.number in done]
    left = [claim for claim in chosen if claim.name in CLOSE and (file is None or claim.name not in file.claims)]
    close = closer.look(lens, items) if left else None

    def measured_of(name: str) -> Measured:
        if file is None or name in MEASURES or len(done) < len(drawn):
            return computed(name)
        if name not in file.claims:
            file.claims[name] = computed(name)
            file.autosave(so_far)
        return file.claims[name]

    def computed(name: str) -> Measured:
        if name in MEASURES:
            return MEASURES[name](gathered)
        if close is not None and name in CLOSE:
            return CLOSE[name](gathered, close) if close.pieces else Measured(why=closer.TOO_LONG)
        return PASSES_OF_ALL[name](lens, items, gathered, treebank)

    found = []
    with bar(len(chosen), "claim", "claims", progress) as told:
        for claim in chosen:
            found.append((claim, measured_of(claim.name)))
            told.update()
    if name := lens.borrowed.change(model, whole=True):
        raise ModelError(f"the model has changed while its report was made ({name}): make it again")
    places = _places(gathered)
    cards = [
        Card(replace(claim, python=claim.python.format(**places)), measured, *verdict(claim.rule, measured))
        for claim, measured in found
    ]
    if file is not None and len(done) == len(drawn):
        file.path.unlink(missing_ok=True)
    facts = _facts(lens, gathered, corpus, plan.of, len(drawn), seed)
    return Report(lens, tuple(cards), facts, [item for item in items[:50] if isinstance(item, str | tuple)], {
        "date": model_provenance(lens.borrowed)["date"], "seconds": round(time.monotonic() - begun, 1)
    }, "" if labelled is None else card_of(labelled, seed))  # fmt: skip


def _report_identity(lens: Lens, plan: Plan, seed: int) -> dict[str, Any]:
    """What a report is of, by name."""
    texts = sum(digest(entry.item) for entry in plan.texts) % (1 << 64)
    places = [entry.number for entry in plan.texts]
    return lens.borrowed.identity() | {"texts": f"{texts:016x}", PLACES: places, "seed": seed}


def claims_of(claims: str | Sequence[str] | None) -> list[Claim]:
    """The claims of these names or papers, in the order of the table."""
    if claims is None:
        return [*CLAIMS]
    given = claims.split(",") if isinstance(claims, str) else [*claims] if isinstance(claims, Iterable) else [None]
    if not all(isinstance(name, str) for name in given):
        raise SelectionError(f"claims are names in a list, or in a text with commas, not {excerpt(claims)}")
    names = [str(name).strip() for name in given]
    known = {claim.name for claim in CLAIMS} | {*GROUPS}
    if wrong := [name for name in names if name not in known]:
        raise SelectionError(
            f"no claim {wrong[0]!r}: there are {', '.join(GROUPS)}, and claims such as {CLAIMS[0].name}"
        )
    found = [claim for claim in CLAIMS if claim.name in names or claim.group in names]
    if not found:
        raise SelectionError(f"no claims chosen: there are {', '.join(GROUPS)}")
    return found


@dataclass(frozen=True)
class Plan:
    """The texts of a report, in the order of the corpus, of how many, and about how many seconds they take."""

    texts: tuple[Numbered, ...]
    of: int
    seconds: float


def draw(lens: Lens, corpus: Corpus | None, minutes: float, texts: int | None, seed: int) -> Plan:
    """Which texts, and how many in the time there is, by the time that a few take. Errors as for `report`."""
    texts = None if texts is None else check_number(texts, "texts is how many to take,", 1)
    seed = check_seed(seed)
    if isinstance(minutes, bool) or not isinstance(minutes, int | float) or not 0 < minutes < 1e6:
        raise InputError(f"minutes is a time above 0, not {excerpt(minutes)}")
    every = [*numbered(default_texts(lens) if corpus is None else corpus)]
    most = min(len(every), texts or TEXTS)
    order = random.Random(seed).sample(every, most)
    rate = seconds_a_text(lens, order[:4])
    if texts is None:
        fits = (n for n in range(most, 1, -1) if rate * _cost(lens, n) <= minutes * 60 * USED)
        most = next(fits, 1)
    chosen = sorted(order[:most], key=lambda entry: entry.number)
    return Plan(tuple(chosen), len(every), rate * _cost(lens, most))


def _cost(lens: Lens, n: int) -> float:
    """Of a report of n texts, in texts of the first pass."""
    has_loss = type(lens.borrowed.runner).__name__.endswith(("ForMaskedLM", "ForSequenceClassification"))
    return (
        n
        + DISTANCE * min(n, DISTANCE_TEXTS)
        + CLOSE_LOOK * min(n, closer.TEXTS)
        + GRADIENT * has_loss * gradient_texts(n)
    )


def default_texts(lens: Lens) -> tuple[Any, ...]:
    """Pairs of passages; whole ones where the tokenizer puts no separator between two texts."""
    return pairs() if sum(lens.encoding("a", "b").separators) > 1 else singles()


def seconds_a_text(lens: Lens, texts: Sequence[Numbered]) -> float:
    """Measured, after one text to warm up."""
    some, memory, begun = [*texts], Lengths(), 0.0
    for number, entry in enumerate([some[0], *some]):
        if number == 1:
            begun = time.monotonic()
        for trace in traces_of(lens, [entry], True):
            text_statistics(trace, memory)
    return max(1e-4, (time.monotonic() - begun) / len(some))


def page_bytes(lens: Lens) -> int:
    """About how large the page will be: known from shapes."""
    drawn = len(bundle.text("widget.js")) + len(bundle.text("widget.css")) + 200_000
    layers, width = _shape(lens)
    heads = layers * width * 2 * 4 * 40 * 5 / 4  # queries and keys of some 40 tokens, as text
    return int(min(LIMIT, drawn + heads))


def _shape(lens: Lens) -> tuple[int, int]:
    config: Any = lens.borrowed.base.config.get_text_config()
    return int(config.num_hidden_layers), int(config.hidden_size)


def _treebank(corpus: Corpus | None) -> Path | None:
    if isinstance(corpus, str | Path) and Path(corpus).name.removesuffix(".gz").endswith(".conllu"):
        return Path(corpus)
    return None


def _places(g: Gathered) -> dict[str, Any]:
    """What the lines of claims have in braces: layers, and of how many texts."""
    (layers, heads), between = g.shape, middle(g.shape[0])
    return {
        "first": between[0],
        "last": between[-1] + 1,
        "third": layers_in(layers, 1 / 3),
        "sixth": layers_in(layers, 1 / 6),
        "heads": heads,
        "gradients": gradient_texts(g.n),
        "sentences": min(g.n, PROBE_SENTENCES),
    }


def _facts(lens: Lens, g: Gathered, corpus: Corpus | None, of: int, drawn: int, seed: int) -> dict[str, Any]:
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
        "python": in_python(lens, corpus, g.n, seed),
        "setup": [*SETUP],
    }


def in_python(lens: Lens, corpus: Corpus | None, n: int, seed: int) -> str:
    given = "" if corpus is None else ', "your/corpus"'
    made = lens.made or "bl.Lens(model, tokenizer)"
    return f"bl.report({made.split('  #')[0]}{given}, texts={n}, seed={seed})"
