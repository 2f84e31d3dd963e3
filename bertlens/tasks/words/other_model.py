"""Two models beside each other by their words, on the same examples."""

from __future__ import annotations

import numpy as np

from ...base.amounts import amount, verb
from ...base.dataframes import pd
from ...base.quotes import quotation
from ...measures.significance import FOUND, holm, paired
from ...trace.provenance import visible
from ..task_answers import Answered
from .part_effects import FeatureEffects, RunPlan, effects_of
from .text_parts import SIDES
from .tried_parts import tried_features
from .word_table import moves_said


def changes(task: Answered, companion: Answered, effects: FeatureEffects) -> pd.DataFrame:
    """DataFrame(class, kind, word, of, texts, before, now, change, low, high, p, p_holm, finding), the largest change
    first: the effects of parts in the other model, before, and in this one, over texts in which both hold the part.

    Paired by text; Holm over all.
    """
    order = [companion.names.index(name) for name in task.names] or [0]
    complete = tried_features(companion, every=True)
    occurrences = complete.occurrences
    common = {
        feature: [row for row in effects.plan.sample[feature] if row in occurrences.get(feature, {})]
        for feature in effects.plan.sample
    }
    plan = RunPlan({feature: rows for feature, rows in common.items() if len(rows) > 1}, {})
    original = effects_of(companion, complete, plan)
    rows = []
    for feature, texts in plan.sample.items():
        earlier, now = original.values(feature)[:, order], effects.values(feature, rows=texts)
        for k, name in enumerate(effects.names):
            test = paired(now[:, k] - earlier[:, k], False)
            means = float(earlier[:, k].mean()), float(now[:, k].mean())
            rows.append((name, feature.kind, feature.name, SIDES[feature.side], len(texts), *means, *test))
    columns = ["class", "kind", "word", "of", "texts", "before", "now", "change", "low", "high", "p"]
    table = pd.DataFrame(rows, columns=columns)
    once = np.array([name == effects.names[0] for name in table["class"]], dtype=bool)
    family = len(plan.sample) * (1 if len(effects.names) == 2 else len(effects.names))
    adjusted = np.full(len(table), np.nan)
    for group in [once, ~once] if len(effects.names) == 2 else [once | ~once]:
        adjusted[group] = holm(table["p"].to_numpy(dtype=float)[group], family)
    table["p_holm"] = adjusted
    table["finding"] = table["p_holm"] <= FOUND
    table.attrs["model"] = companion.lens.model_name
    return table.sort_values("change", key=np.abs, ascending=False, kind="stable", ignore_index=True)


def changes_said(table: pd.DataFrame) -> str:
    """What words move a class otherwise than in the other model, in a sentence."""
    rows = table[table["finding"]].drop_duplicates(["kind", "word", "of"])  # of two classes each is the other's
    beside = f"Beside {quotation(visible(table.attrs['model']))}"
    if not len(rows):
        return f"{beside} no word moves a class otherwise than chance would have it."
    count = amount(len(rows), "part")
    return f"{beside} {count} {verb(len(rows), 'differs', 'differ')} by more than chance: {moves_said(rows, 'there')}."
