"""What each head and each MLP matters to a task in two models, as before and after a fine-tuning."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ..base.amounts import amount
from ..base.dataframes import pd
from ..measures.significance import paired, with_findings
from ..whatif.head_study import run_said
from .ablations import ABLATIONS
from .importance import Heads, listed


@dataclass(frozen=True, eq=False, repr=False)
class Turned:
    """What each head and each MLP matters to the task before and after, see `Against.effects`.

    table: DataFrame(part, layer, head, before, after, difference, low, high, p, p_holm, finding), the parts that were
    run, what changed most first. before, after: the effects as `Heads` has them. difference: after less before, above 0
    where the task needs the part more now; its 95 % interval and p (Student's t) are paired by text, p_holm is adjusted
    by Holm for all parts of the model.
    """

    table: pd.DataFrame
    before: Heads
    after: Heads
    texts: int

    @property
    def said(self) -> str:
        """What was measured and found, in a few sentences."""
        findings = self.table[self.table["finding"]]
        positive, negative = (findings[findings["difference"] * sign > 0]["part"].tolist() for sign in (1, -1))
        turns = [
            f"{listed(sites)} {'matters' if len(sites) == 1 else 'matter'} {how} than before"
            for sites, how in ((positive, "more"), (negative, "less"))
            if sites
        ]
        unit = "nats of the loss" if self.after.measure == "loss" else "accuracy"
        parts, how = f"{len(self.table)} of {self.after.family} heads and MLPs", ABLATIONS[self.after.ablation]
        return (
            f"{run_said(parts, f'{how} in both models', amount(self.texts, 'text'))}; effects in {unit}. "
            f"{'; '.join(turns) or 'No difference can be told from chance'} (Holm, 5 %, over all {self.after.family})."
        )

    def __repr__(self) -> str:
        return f"Turned({self.said})"


def turned(before: Heads, after: Heads) -> Turned:
    """The effects of both models beside each other, over the texts that both have."""
    rows = before.each.index.intersection(after.each.index)
    cap = 2 if after.measure == "accuracy" else math.inf
    places = after.table.set_index("part")[["layer", "head"]]
    records = []
    for site in after.each.columns:
        was, now = (heads.each.loc[rows, site].to_numpy() for heads in (before, after))
        records.append((site, *places.loc[site].tolist(), was.mean(), now.mean(), *paired(now - was, False, cap)))
    names = ["part", "layer", "head", "before", "after", "difference", "low", "high", "p"]
    table = pd.DataFrame(records, columns=names)
    with_findings(table, after.family)
    order = table["difference"].abs().sort_values(ascending=False, kind="stable").index
    return Turned(table.loc[order].reset_index(drop=True), before, after, len(rows))
