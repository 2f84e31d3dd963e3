"""`parity`: whether vectors made elsewhere are this model's beside its own noise, else which fault explains them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np

from ..base.amounts import verb
from ..base.atomic import text_file
from ..base.dataframes import pd
from ..base.quotes import quotation
from ..base.registered import registered
from ..errors import InputError, check_lens, check_number
from ..lens import Lens
from ..sentences.similarity_matrix import check_texts
from .dump_steps import Steps
from .hypothesis import RIGHT, TWINS
from .likeness import EXPLAINED, moved, rounds, same_rounding, share, stands_out
from .lock import Lock, lock_of
from .logit_search import LogitSearch
from .parity_page import page_of
from .probing import probing_texts
from .row_pattern import pattern
from .scoring import Candidate, relative
from .search import Search
from .served import served
from .vector_array import read

SAME, FAULT, UNCLEAR, LIKE, NONE = VERDICTS = ("same", "fault", "unclear", "like", "none")
CLOSER = 10  # times fewer numbers outside their cells: which of two that fit a rounded array
SHOWN = 60  # characters of a text in a sentence


@dataclass(frozen=True, eq=False)
class Parity:
    """What `parity` found. Prints as a short report."""

    search: Search  # the texts, the array, the model's own vectors and their noise
    verdict: str  # one of VERDICTS
    classes: tuple[tuple[Candidate, ...], ...]  # hypotheses that fit, those that no text tells apart together
    telling: str  # a text that would tell the first class from the second, "" where it is not needed
    nearest: Candidate  # of all that were tried
    right: Candidate  # no fault
    turned: str = ""  # how the array's axes differ from the model's, "" for not at all
    served: tuple[str, ...] = ()  # what run= does beyond one array, a sentence each

    @property
    def said(self) -> str:
        """The verdict in one or two sentences."""
        return " ".join(filter(None, (self.turned, self._verdict(), self._rows(), *self.served)))

    @property
    def storage(self) -> str:
        """How the numbers are stored, and what else the array shows without a model."""
        return " ".join((f"Stored as {self.search.array.storage}.", *self.search.array.facts))

    @property
    def noise(self) -> float:
        """The largest relative difference of the model's own float reruns on these texts."""
        return self.search.noise

    @cached_property
    def texts(self) -> pd.DataFrame:
        """A row a text: text, tokens, distance from the model's own vector, distance under the nearest hypothesis."""
        reference = dict(zip(self.right.rows, self.right.errors, strict=True))
        distances = dict(zip(self.nearest.rows, self.nearest.errors, strict=True))
        table = pd.DataFrame({"text": self.search.texts, "tokens": self.search.lengths})
        sides = {"distance": reference, "nearest": distances}
        return table.assign(**{name: [of.get(n, np.nan) for n in self.search.every] for name, of in sides.items()})

    @cached_property
    def table(self) -> pd.DataFrame:
        """A row a hypothesis, the nearest first: hypothesis, factor, rows that fit, of how many, worst distance, share
        of the squared distance that it explains, floor (what a row may differ by), fits.

        One that no short text fits was run on those alone.
        """
        rows = [
            {
                "hypothesis": candidate.name,
                "factor": candidate.factor,
                "rows": int(candidate.fits.sum()),
                "of": len(candidate.rows),
                "worst": float(candidate.errors.max()),
                "share": share(candidate, self.right),
                "floor": float(candidate.limits.max()),
                "fits": bool(candidate.fits.all()) and len(candidate.rows) == len(self.search.sample),
            }
            for candidate in sorted(self.candidates, key=lambda c: c.rank)
        ]
        table = pd.DataFrame(rows)
        return table.sort_values(["fits", "worst"], ascending=[False, True], ignore_index=True)

    @cached_property
    def candidates(self) -> list[Candidate]:
        """One fault each, and the pairs that fit."""
        named: dict[str, Candidate] = {}
        fitting = [c for group in self.classes for c in group]
        for candidate in (*fitting, self.right, *self.search.tried):
            if candidate.weight <= 1 or candidate in fitting:
                namesake = named.setdefault(candidate.name, candidate)
                if len(candidate.rows) > len(namesake.rows):
                    named[candidate.name] = candidate
        return list(named.values())

    def lock(self, path: str | Path) -> Path:
        """Write what the model makes of `probing_texts` to a file of 20 kB at most, none of the texts compared here.
        `bertlens parity --check` holds the model to it, and so does `against`.

        Raises ExportError where it cannot be written.
        """
        return lock_of(self.search.lens, self.search.task, self.search.prompt_name).write(path)

    def against(self, path: str | Path) -> str:
        """Which tokens and vectors of a lock the model does not keep, in sentences; "" where it keeps all beside float
        noise. Raises InputError for a file that is no lock."""
        locked = Lock.read(path)
        present = Lock.of(self.search.lens, locked.texts, self.search.task, self.search.prompt_name)
        return locked.said(present.vectors, present)

    def costs(self, of: Any) -> Any:
        """What the fault named costs. of: a Retrieval of this model, whose texts are run again under the fault, or,
        of logits, a Task of texts and classes. Gives `Costs` or `TaskCosts` with `said` and `table`.

        Of a retrieval `.table` is each measure without and with the fault and the paired interval, see
        `Retrieval.against`; None without judgements; `.questions`: DataFrame(query, question, first_before, first,
        before, now), those with another first passage, what lost most nDCG@10 first. Of a task `.table` is a row a text
        that has another class: DataFrame(row, text, label, before, now), those that were right first.
        Raises InputError where no fault was named, and for what is neither of this model.
        """
        named = self.classes[0][0] if self.classes else self.nearest if self.verdict == LIKE else None
        if named is None:
            raise InputError("costs are those of a fault that was named: here none was")
        lens, is_task = getattr(of, "lens", None), isinstance(self.search, LogitSearch)
        if not isinstance(lens, Lens) or lens.borrowed.module is not self.search.lens.borrowed.module:
            means = "Task of the model whose logits were" if is_task else "Retrieval of the model that was"
            raise InputError(f"costs are told of a {means} compared: give its bl.{means.split()[0].lower()}(…)")
        function = registered("task_costs") if is_task else registered("retrieval_costs")
        return function(of, named.name, partial(self.search.elsewhere, named))

    def to_html(self, path: str | Path, *, steps: Sequence[Steps] = (), live: int = 3, progress: bool = True) -> Path:
        """Write one page, which needs nothing else: the verdict, which step of the pipeline it is of, each text by its
        distance and each hypothesis on a log axis, with the band of noise. Below them texts open in the Explorer.

        path: where to. steps: what `parity_steps` gave of some of these texts: each is said beside its text, which
        opens at that layer. live: how many texts open, of those with steps and then of those that differ most, as far
        as 14 MB reach; 0 leaves them out, and the page has no script. progress: a bar once it has taken two seconds.
        Raises ExportError where it cannot be written, InputError for other arguments.
        """
        check_number(live, "live is how many texts open,", 0)
        return text_file(page_of(self, live, steps, progress), path)

    def __repr__(self) -> str:
        search = self.search
        noise = f"Noise of the model's own reruns: {self.noise:.1e}; a row fits below {search.limit:.1e}."
        return "\n".join((self.said, self.storage, noise, TWINS))

    def _verdict(self) -> str:
        total = len(self.search.every)
        rows = self.search.rows_are
        vectors = f"all {total} {rows}" if total > 1 else f"the {rows[:-1]}"
        if self.verdict == SAME:
            worst = f"worst {self.right.errors.max():.1e}, noise of four reruns {self.noise:.1e}"
            if self.search.array.is_rounded:
                out, numbers = int(self.right.outside.sum()), self.search.array.numbers.size
                worst = f"{out:,} of {numbers:,} stored numbers are rounded otherwise than ours, as noise does"
            return f"The same: {total} of {total} {rows} lie within the model's own float noise ({worst})."
        if self.verdict == FAULT:
            best = self.classes[0]
            named = " or ".join(c.name for c in best[:3]) + ", which give the same vectors" * (len(best) > 1)
            word = "Rounded" if rounds(best[0]) else "Fault"
            if best[0].is_rounding:
                within = f"{best[0].errors.max():.2g}, and it differs from itself by {best[0].limits.max() / 2:.2g}"
                return f"{word}: {named}. With it {vectors} are ours as far as can be told (worst {within})."
            return f"{word}: {named}. With it {vectors} are ours (worst {best[0].errors.max():.1e}{self._margin()})."
        if self.verdict == UNCLEAR:
            names = [group[0].name for group in self.classes]
            if all(group[0].is_rounding for group in self.classes):
                return (
                    f"Rounded: activations too. {'; '.join(names)} fit within what each differs from itself by, so the "
                    "scheme cannot be told from vectors; layer dumps would tell."
                )
            would = f" This text would tell: {quotation(self.telling[:SHOWN])}." if self.telling else ""
            return f"Cannot be told on these texts: {'; '.join(names[:4])}.{would}"
        explained = share(self.nearest, self.right)
        if self.verdict == LIKE and explained < EXPLAINED:
            cosine, times = moved(self.search, self.nearest)
            return (
                f"Looks like rounding: {self.nearest.name} moves the {rows} {times:.2f} times as far as they are off, "
                f"and much the same way (cosine {cosine:.2f}, 0 where two changes have nothing in common). The scheme "
                "cannot be told from vectors; layer dumps would tell."
            )
        if self.verdict == LIKE:
            return f"Looks like {self.nearest.name}: it explains {explained:.0%} of the squared distance, and not all."
        tried = f"{len(self.candidates)} hypotheses{', alone or in pairs' if self.search.has_pairs else ''}"
        return (
            f"None of {tried}: the nearest, {self.nearest.name}, explains {max(0.0, explained):.0%} of the squared "
            "distance. Layer dumps would tell the step."
        )

    def _margin(self) -> str:
        fitting = {c.name for group in self.classes for c in group}
        best = self.classes[0][0]
        rivals = [
            float(c.errors.max())
            for c in self.search.tried
            if c.name not in fitting and c.weight == 1 and len(c.rows) == len(best.rows)
        ]
        return f"; the next hypothesis {min(rivals):.1e}" if rivals else ""

    def _rows(self) -> str:
        if self.verdict == SAME or self.turned:
            return ""
        fits, total = self.right.fits, len(self.right.fits)
        if not fits.any():
            return f"None of {total} rows is ours without any fault."
        like = pattern([self.search.texts[n] for n in self.right.rows], self.search.lengths[self.right.rows], ~fits)
        differ = f"{(~fits).sum()} {verb(int((~fits).sum()), 'differs', 'differ')}"
        return f"{fits.sum()} of {total} rows are ours without any fault; {differ}{like}."


def parity(
    lens: Lens,
    texts: Any,
    vectors: Any = None,
    *,
    run: Callable[[list[str]], Any] | None = None,
    logits: Any = None,
    column: str | None = None,
    task: str | None = None,
    prompt_name: str | None = None,
    pairs: bool = True,
    progress: bool = False,
) -> Parity:
    """Whether vectors that another program made of texts are this model's, and else which fault explains them.

    vectors: (N, E), a row a text, in their order: an array, a tensor, or the path of a .npy, .npz, .safetensors or
    Parquet file, whose `column` it is. run: instead, a function of a list of texts that gives them; it alone may send
    texts anywhere. It is called some fifty times more, also from four threads: whether a text's vector depends on its
    batch, and how many tokens are read, stands in `served` and `said`. logits: instead, what another program makes with
    a classifier of texts, (N, C) or a file of them: softmax, a temperature, labels in another order are named, too.
    task, prompt_name: as of `Lens.encode`, what stands before each text here.
    pairs: whether two faults at once are tried where none alone fits (minutes).

    Distances are ‖x − v‖ / ‖v‖ of a row, x the vector and v this model's under a hypothesis, stored as x is. A row fits
    below ten times the largest distance of the model's own reruns in float (batch of one, other order, other kernel,
    float64); where a hypothesis rounds activations, below twice its distance from itself. `verdict` is "same", "fault"
    (one hypothesis fits all rows), "unclear" (several do), "like" (one explains 80 %; or a rounding of activations
    moves rows as far as they are off, within twice, at a cosine of .3 and twice that of any other fault), or "none".
    The model is as it was after it.

    Raises InputError for vectors that are not one a text, and ModelError for a model without single vectors of texts.
    """
    check_lens(lens)
    checked = check_texts(texts)
    if sum(given is not None for given in (vectors, run, logits)) != 1:
        raise InputError("parity compares vectors, logits=, or what run= makes of the texts: give one of them")
    if logits is not None:
        return _decided(LogitSearch(lens, checked, read(logits, column)), pairs, progress)
    array = read(vectors if run is None else run(list(checked)), column)
    search = Search(lens, checked, array, task, prompt_name)
    parity_of_run = _decided(search, pairs, progress)
    if run is None:
        return parity_of_run
    calls = served(run, search, array)
    if calls.hangs_on_batch and calls.alone is not None and parity_of_run.verdict in (LIKE, NONE):
        parity_of_run = _decided(Search(lens, checked, calls.alone, task, prompt_name), pairs, progress)
        return replace(parity_of_run, served=(*calls.sentences, "The verdict is of each text in a call of its own."))
    return replace(parity_of_run, served=calls.sentences)


def _decided(search: Search, pairs: bool, progress: bool) -> Parity:
    right = _right(search, search.every)
    if right.fits.all():
        return Parity(search, SAME, (), "", right, right)
    singles = search.singles(progress)
    fitting = _fitting(search, singles)
    if not fitting and not search.array.is_rounded and (turn := _turned(search, progress)):
        return turn
    if not fitting and pairs:
        search.has_pairs = True
        fitting = _fitting(search, search.row_split(singles, progress)) or _fitting(search, search.pairs(progress))
    if fitting:
        search.tried += fitting
        classes, telling = _classes(search, fitting)
        verdict = FAULT if len(classes) == 1 else UNCLEAR
        return Parity(search, verdict, classes, telling, classes[0][0], right)
    sampled = [c for c in singles if len(c.rows) == len(search.sample) and c.faults]
    reference = _right(search, search.sample)
    nearest = max(sampled, key=lambda c: (share(c, reference), -c.weight))
    if share(nearest, reference) >= EXPLAINED and stands_out(search, nearest, sampled, reference):
        return Parity(search, LIKE, (), "", nearest, reference)
    rounding = same_rounding(search, sampled)
    return Parity(search, LIKE if rounding else NONE, (), "", rounding or nearest, reference)


def _right(search: Search, rows: np.ndarray) -> Candidate:
    return next(c for c in search.scored(None, (), rows) if c.pooling == RIGHT and c.after == RIGHT)


def _fitting(search: Search, candidates: Sequence[Candidate]) -> list[Candidate]:
    """Those that fit all rows, of the fewest faults; exact ones before those with a floor of their own."""
    fitting = [c for c in candidates if len(c.rows) == len(search.sample) and c.fits.all() and 1 <= c.weight <= 2]
    if not fitting:
        return []
    least = min(c.weight for c in fitting)
    fitting = [c for c in fitting if c.weight == least]
    exact = [c for c in fitting if not c.is_rounding]
    fitting = exact or fitting
    if search.array.is_rounded and exact:
        fewest = min(int(c.outside.sum()) for c in fitting)
        fitting = [c for c in fitting if int(c.outside.sum()) <= CLOSER * (fewest + 3)]
    return sorted(fitting, key=lambda c: c.rank)


def _classes(search: Search, fitting: list[Candidate]) -> tuple[tuple[tuple[Candidate, ...], ...], str]:
    """Hypotheses that no text tells apart stand together; and the text that tells the first two classes apart."""
    if len(fitting) == 1:
        return ((fitting[0],),), ""
    texts = probing_texts(search.lens)
    short_search = search.of_texts(texts)
    finished = [
        short_search.vectors(c.text, c.forward, short_search.every, c.pooling, c.after, always=True) for c in fitting
    ]
    vectors = [search.array.of(reference) for reference in finished]
    groups: list[list[int]] = []
    for n, reference in enumerate(vectors):
        neighbours = (g for g in groups if relative(vectors[g[0]], reference).max() <= 2 * search.limit)
        group = next(neighbours, None)
        if group is None:
            groups.append([n])
        else:
            group.append(n)
    telling = ""
    if len(groups) > 1:
        apart = relative(vectors[groups[0][0]], vectors[groups[1][0]])
        telling = texts[int(apart.argmax())]
    return tuple(tuple(fitting[n] for n in group) for group in groups), telling


def _turned(search: Search, progress: bool) -> Parity | None:
    """The verdict where rows' products alone are the model's, or those of a single hypothesis."""
    turned = search.gram()
    fitting = [c for c in search.scored(None, (), search.every, turned) if c.fits.all() and c.weight == 0]
    if not fitting:
        of_axes, search.tried = search.tried, []  # their distances are of other numbers
        fitting = _fitting(search, search.singles(progress, turned))
        if not fitting:
            search.tried = of_axes
            return None
    best = fitting[0]
    ours = search.array.of(search.vectors(best.text, best.forward, search.every, best.pooling, best.after))
    numbers = search.array.numbers
    size = np.linalg.norm(ours, axis=1).max() * search.limit
    if np.abs(np.sort(numbers, 1) - np.sort(ours, 1)).max() <= size:
        how = "The columns stand in another order."
    elif np.abs(np.abs(numbers) - np.abs(ours)).max() <= size:
        how = "Columns have the other sign."
    else:
        how = "The axes are turned: all cosines between rows are kept."
    right = _right(search, search.every)
    if best.weight == 0:
        return Parity(search, SAME, (), "", best, best, how)
    classes, telling = _classes(search, fitting)
    return Parity(search, FAULT if len(classes) == 1 else UNCLEAR, classes, telling, best, right, how)
