"""What each head and each MLP matters to a task: chosen on one half of the texts, measured on the other one."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..base.amounts import amount, shortage
from ..base.dataframes import pd
from ..base.progress import Bar, bar, is_watched, say
from ..base.ranking import signed
from ..errors import BertLensError, InputError, check_name, check_number, check_seed, excerpt
from ..measures.significance import paired, rank_correlation, with_findings
from ..run.interventions import Run
from ..whatif.head_study import HeadSite, by_estimate, duration, head_sites, passes_of_some, run_said
from ..whatif.reruns import check
from .ablation_effects import Sweep, cost, effects, estimates, of_one_pass
from .ablations import ABLATIONS, FEWEST_DRAWS, Ablation
from .batch_answers import answers_of, checked
from .kinds import one_each
from .task_answers import Answered

MEASURES = ("loss", "accuracy")
FEWEST_EXAMPLES = 20
ORDERS = ("estimate", "effect", "random")
KEPT = 0.95  # of the accuracy, or of Spearman's correlation
ROUNDING = 1e-12
ESTIMATE = 2  # forward passes that the estimate of all parts takes, about
RANDOM_ORDERS = 3


@dataclass(frozen=True, eq=False, repr=False)
class Heads:
    """What parts matter to a task, see `Task.heads`. L layers of H heads.

    table: DataFrame(part, layer, head, estimate, chosen, effect, low, high, p, p_holm, finding), a row for each head,
    and for each MLP (head −1): the largest effect first, then by estimate. effect: what the texts of the second half
    lose without the part, in nats of the loss or in accuracy: above 0 the task needs it, below 0 it stands in its way;
    NaN where it was not run. low, high: its 95 % interval over texts. p_holm: p (Student's t; McNemar's exact test
    where each text is right or wrong) adjusted by Holm for all parts of the model. finding: p_holm ≤ .05. Estimates are
    descriptive.
    """

    table: pd.DataFrame
    measure: str
    ablation: str
    family: int  # parts that Holm's correction is for
    first: list[int]  # rows that parts were chosen on
    second: list[int]  # rows that they were measured on
    agreement: dict[str, float]  # Spearman's ρ of the estimates of both halves, and of estimate and effect, unchosen
    task: Answered = field(compare=False)
    each: pd.DataFrame = field(compare=False)  # (texts, parts that were run) the effect on each text, by its row

    @property
    def findings(self) -> pd.DataFrame:
        """The rows of the table whose effect is no chance."""
        return self.table[self.table["finding"]]

    @property
    def said(self) -> str:
        """What was measured and found, in a few sentences."""
        parts = f"{int(self.table['effect'].notna().sum())} of {self.family} heads and MLPs"
        above, below = (self.findings[self.findings["effect"] * sign > 0]["part"].tolist() for sign in (1, -1))
        unit = "nats of the loss" if self.measure == "loss" else "accuracy"
        needed = most(above, "is needed", "are needed") if above else ""
        worse = most(below[::-1], "stands in the way", "stand in the way") if below else ""
        halves = self.agreement["halves"]  # NaN where all estimates are alike
        order = f" Order of the estimates in one half and the other: ρ = {signed(halves, '.2f')}."
        order = "" if math.isnan(halves) else order
        findings = "; ".join(filter(None, (needed, worse))) or "No part can be told from chance"
        return (
            f"{findings}. {run_said(parts, ABLATIONS[self.ablation], amount(len(self.second), 'text'))}; effects in "
            f"{unit} (Holm, 5 %, over all {self.family}).{order}"
        )

    def pruning(self, points: int = 12, orders: tuple[str, ...] = ("estimate", "random")) -> pd.DataFrame:
        """DataFrame(order, off, left, accuracy, low, high): more and more heads switched off, the least needed first.

        Of numbers and scores the column is Spearman's correlation, with its interval, instead of the accuracy.

        orders: "estimate" by the estimates of the first half, run on the second one; "effect" by the effects of the
        second half, run on the first one (where every head was swept); "random", the mean of 3 orders, on the second
        half, with the range of the three as low and high. Else low, high: its 95 % interval. points: at most so many
        numbers of heads, from none to all. attrs: "least" has for each order the fewest heads left, among these points,
        with which and with more than which 95 % of the accuracy is kept.
        A correlation is NaN where all answers are alike but for rounding.
        Raises InputError for another order, fewer than 3 points, "effect" where heads were left out, and where all
        answers of the whole model are alike.
        """
        return _pruned(self, points, orders)

    def __repr__(self) -> str:
        return f"Heads({self.said})"


def most(sites: list[str], one: str, several: str) -> str:
    """Up to three by name; of more how many they are, and the first three."""
    if len(sites) <= 3:
        return f"{', '.join(sites)} {one if len(sites) == 1 else several}"
    return f"{len(sites)} parts {several}, most: {', '.join(sites[:3])}"


def listed(sites: list[str]) -> str:
    """The first eight by name."""
    remainder = f" and {len(sites) - 8} more" if len(sites) > 8 else ""
    return ", ".join(sites[:8]) + remainder


def heads(
    task: Answered,
    selection: int | str = 10,
    ablation: str = "zero",
    measure: str = "loss",
    draws: int = FEWEST_DRAWS,
    seed: int = 0,
    sweep: Sweep = effects,
    beside: Answered | None = None,
) -> Heads:
    """See Task.heads. sweep: what runs the effects. beside: as of `choice`."""
    check_name(measure, MEASURES, "measure", InputError)
    if measure == "accuracy" and not task.kind.has_right:
        raise InputError(f"{task.kind.lacks} has no accuracy: measure='loss'")
    plan = choice(task, selection, ablation, draws, seed, beside)
    sites, run, how, first, second = plan.sites, plan.run, plan.ablation, plan.first, plan.second
    if task.progress or is_watched():
        say(cost(task, second, run, how, plan.n_layers), task.progress)
    arrays = sweep(task, second, run, how)
    values = arrays["loss"] if measure == "loss" else -arrays["right"]
    is_whole = measure == "accuracy" and how.draws == 1 and task.kind.name != "tags"
    table = effect_table(sites, plan.of_first, run, values, is_whole, 1 if measure == "accuracy" else math.inf)
    names = dict.fromkeys(plan.by_estimate, "estimate") | dict.fromkeys(plan.at_random, "random")
    table["chosen"] = [names.get(i, "") for i in range(len(sites))]
    unchosen = table["chosen"] == "random" if selection != "all" else table["chosen"] != ""
    agreement = {
        "halves": rank_correlation(plan.of_first, plan.of_second),
        "effect": rank_correlation(plan.of_first[unchosen], table["effect"].to_numpy()[unchosen]),
    }
    columns = ["part", "layer", "head", "estimate", "chosen", "effect", "low", "high", "p", "p_holm", "finding"]
    table = table[columns].sort_values(["effect", "estimate"], ascending=False, ignore_index=True)
    deltas = pd.DataFrame(values[:, 1:] - values[:, :1], index=arrays["row"], columns=[str(site) for site in run])
    return Heads(table, measure, ablation, len(sites), first, arrays["row"].tolist(), agreement, task, deltas)


@dataclass(frozen=True)
class Choice:
    """What is run of a task, and on which of its rows."""

    sites: list[HeadSite]
    n_layers: int
    first: list[int]  # rows that parts are chosen on
    second: list[int]  # rows that they are measured on
    of_first: np.ndarray  # (sites,) the estimates of each half
    of_second: np.ndarray
    by_estimate: list[int]  # numbers of sites
    at_random: list[int]
    ablation: Ablation

    @property
    def run(self) -> list[HeadSite]:
        """What is taken out, layer by layer."""
        return [self.sites[i] for i in sorted({*self.by_estimate, *self.at_random})]


def halves(task: Answered, seed: int) -> tuple[list[int], list[int]]:
    """Rows to choose on, and rows to measure on. Raises InputError where there are too few."""
    if len(task) < FEWEST_EXAMPLES:
        raise InputError(f"{shortage(len(task), 'example')} to tell what matters: at least {FEWEST_EXAMPLES}")
    order = np.random.default_rng(check_seed(seed)).permutation(len(task)).tolist()
    return order[: len(task) // 2], order[len(task) // 2 :]


def choice(
    task: Answered, selection: int | str, ablation: str, draws: int, seed: int, beside: Answered | None = None
) -> Choice:
    """Of arguments of `Task.heads`. beside: the same examples and another model of this shape: parts with large
    estimates in either are chosen, so that both have the effects of the same ones."""
    if not (isinstance(selection, str) and selection == "all"):
        selection = check_number(selection, "chosen is 'all' or how many parts to run,", 1)
    first, second = halves(task, seed)
    task.check(whole=True)
    _ = task.losses  # of the model as it is: of scores, the line that they are read by
    sites, n_layers = sites_of(task, first[0])
    pool = [task.examples.encoding(task.lens, row, task.truncation) for row in first[:32]]
    how = Ablation(ablation, draws, task.lens, pool, sites, seed)
    of_first, of_second = (_flat(sites, *estimates(task, rows, n_layers)) for rows in (first, second))
    matters = of_first
    if beside is not None:
        companion = np.nan_to_num(_flat(sites, *estimates(beside, first, n_layers)))
        matters = np.maximum(np.abs(np.nan_to_num(of_first)), np.abs(companion))
    return Choice(sites, n_layers, first, second, of_first, of_second, *_choice(matters, selection, seed), how)


def expected(task: Answered, chosen: int = 10, ablation: str = "zero", models: int = 1) -> str:
    """What `heads` will take, in a sentence, before anything is chosen: from one batch of texts of middle length.

    models: how many do the same, as before and after a fine-tuning.
    """
    if len(task) < FEWEST_EXAMPLES:
        raise InputError(f"{shortage(len(task), 'example')} to tell what matters: at least {FEWEST_EXAMPLES}")
    sites, n_layers = sites_of(task, 0)
    draws = FEWEST_DRAWS if ablation == "resample" else 1
    half = len(task) - len(task) // 2
    passes = passes_of_some(sites, n_layers, min(len(sites), 2 * chosen), draws)
    seconds = of_one_pass(task, range(len(task)))
    span = duration(models * seconds * (ESTIMATE + passes * half / len(task)))
    of = "" if models == 1 else " of each model"
    return f"About {span}: a backward pass over {len(task):,} texts, then about {passes:.0f} passes over {half:,}{of}."


def effect_table(
    sites: list[HeadSite],
    estimate: np.ndarray,
    run: list[HeadSite],
    values: np.ndarray,
    is_whole: bool,
    cap: float = math.inf,
) -> pd.DataFrame:
    """The table of `Heads` but for `chosen`. values: (texts, 1 + run) without any change, then with each.

    is_whole: values are whole numbers, so that right and wrong are compared. cap: no effect can be larger.
    """
    tested = {site: paired(values[:, k] - values[:, 0], is_whole, cap) for k, site in enumerate(run, 1)}
    nothing = (np.nan,) * 4
    rows = [(str(site), site.layer, site.head, *tested.get(site, nothing)) for site in sites]
    table = pd.DataFrame(rows, columns=["part", "layer", "head", "effect", "low", "high", "p"])
    table.insert(3, "estimate", estimate)
    with_findings(table, len(sites))
    return table


def sites_of(task: Answered, row: int) -> tuple[list[HeadSite], int]:
    """Every head and every MLP that can be switched off. Raises ModelError where no head can."""
    trace = task.lens.run([task.examples.encoding(task.lens, row, task.truncation)])[0]
    sites = head_sites(trace)
    for layer in range(trace.n_layers):
        site = HeadSite(layer, -1)
        try:
            check(trace, [site.off])
        except BertLensError:
            continue  # a family without an adapter, or with several MLPs in a layer
        sites.append(site)
    return sites, trace.n_layers


def _flat(sites: list[HeadSite], of_heads: np.ndarray, of_mlps: np.ndarray) -> np.ndarray:
    return np.array([of_mlps[p.layer] if p.head < 0 else of_heads[p.layer, p.head] for p in sites])


def _choice(estimate: np.ndarray, selection: int | str, seed: int) -> tuple[list[int], list[int]]:
    """The parts with the largest estimates, whatever their sign, and as many of the others at random."""
    order = by_estimate(estimate)
    if selection == "all":
        return order, []
    best, remainder = order[: int(selection)], order[int(selection) :]
    random = np.random.default_rng([seed, 1]).permutation(remainder).tolist()[: int(selection)] if remainder else []
    return best, random


def _pruned(importance: Heads, points: int, orders: tuple[str, ...]) -> pd.DataFrame:
    points = check_number(points, "points is how many numbers of heads to try,", 3)
    if wrong := [name for name in orders if name not in ORDERS]:
        raise InputError(f"no order {excerpt(wrong[0])}: there are {', '.join(ORDERS)}")
    importance.task.check(whole=True)
    of_heads = importance.table[importance.table["head"] >= 0]
    if "effect" in orders and of_heads["effect"].isna().any():
        raise InputError("an order by effect needs every head's: task.heads(chosen='all')")
    n = len(of_heads)
    sizes = sorted({round(x) for x in np.linspace(0, n, points)})
    heads_of = [HeadSite(int(layer), int(head)) for layer, head in of_heads[["layer", "head"]].to_numpy()]
    rows: list[tuple[Any, ...]] = []
    fewest: dict[str, int] = {}
    for name in dict.fromkeys(orders):
        texts = importance.first if name == "effect" else importance.second
        if name == "random":
            draws = [np.random.default_rng(seed).permutation(n).tolist() for seed in range(RANDOM_ORDERS)]
        else:
            draws = [np.argsort(of_heads[name].to_numpy(), kind="stable").tolist()]
        with bar(len(draws) * len(sizes), "size", f"pruned by {name}", importance.task.progress) as progress:
            found_at = [
                [_quality(importance.task, texts, [heads_of[i] for i in order[:k]], progress) for k in sizes]
                for order in draws
            ]
        values = np.array([[value for value, _ in order] for order in found_at])
        for at, k in enumerate(sizes):
            qualities = values[:, at]
            ends = (qualities.min(), qualities.max()) if name == "random" else found_at[0][at][1]
            rows.append((name, k, n - k, float(qualities.mean()), *map(float, ends)))
        means = values.mean(0)
        if np.isnan(means[0]):
            raise InputError(f"the model answers all {len(texts)} texts of this half alike: no correlation to keep")
        sizes_above = [k for at, k in enumerate(sizes) if (means[: at + 1] >= KEPT * means[0] - ROUNDING).all()]
        fewest[name] = n - max(sizes_above, default=0)
    table = pd.DataFrame(rows, columns=["order", "off", "left", importance.task.kind.quality, "low", "high"])
    table.attrs = {"least": fewest}
    return table


def _quality(
    task: Answered, rows: list[int], sites: list[HeadSite], progress: Bar
) -> tuple[float, tuple[float, float]]:
    """How good the answers to these rows are without some heads, and the interval."""
    records: list[np.ndarray] = []
    labels: list[Any] = []
    for batch in task.batches(rows):
        changes = [[site.off for site in sites]] * len(batch.encodings)
        answers = checked(answers_of(task.lens, task.examples, batch, Run(changes)), batch, task.examples)
        batch_labels = task.labels[batch.rows]
        records += task.kind.records(answers, batch_labels)
        labels += list(batch_labels)
        progress.update(len(batch.rows) / len(rows))
    return task.kind.of_quality(records, one_each(labels, task.labels.dtype))
