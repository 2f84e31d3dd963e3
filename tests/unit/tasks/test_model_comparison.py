"""Two models on one set of examples: what changed is counted from each alone, a head that was turned is the first."""

from __future__ import annotations

import copy
import re

import numpy as np
import pytest
import torch
from scipy.stats import binomtest, ttest_rel

import bertlens as bl
from bertlens.errors import InputError, ModelError
from bertlens.measures.significance import holm
from unit.tasks.classifier import labelled, lens_of, planted


def turned() -> tuple[bl.Lens, bl.Lens]:
    """A model, and the same with the queries of L1·H2 changed and its classes the other way."""
    before = lens_of(7)
    logits = torch.stack([before.trace(text).output.logits[0] for text, _ in labelled(60)])
    with torch.no_grad():  # half of the texts are warm
        before.model.classifier.bias[0] += (logits[:, 1] - logits[:, 0]).median()
    model = copy.deepcopy(before.model)
    with torch.no_grad():
        model.bert.encoder.layer[1].attention.self.query.weight[16:24] *= -3
        model.classifier.weight.copy_(model.classifier.weight.flip(0))
        model.classifier.bias.copy_(model.classifier.bias.flip(0))
    model.config.id2label = {0: "warm", 1: "cold"}
    return before, bl.Lens(model, before.tokenizer)


def test_examples_are_fixed_and_broken_as_each_model_alone_says():
    before, after = turned()
    examples = [(text, "warm" if label else "cold") for text, label in labelled(60)]
    task = bl.task(after, examples, progress=False)
    found = task.against(before, texts=6)
    own = bl.task(before, examples, progress=False)
    one, two = (t.table.set_index("row") for t in (own, task))
    table = found.table.set_index("row")
    assert len(table) == 60 and set(table["change"]) >= {"fixed", "broken"}
    for row in range(60):
        words = {
            (False, True): "fixed",
            (True, False): "broken",
            (False, False): "still wrong",
            (True, True): "still right",
        }
        assert table.loc[row, "change"] == words[bool(one.loc[row, "right"]), bool(two.loc[row, "right"])]
        assert (table.loc[row, "before"], table.loc[row, "guess"]) == (one.loc[row, "guess"], two.loc[row, "guess"])
        assert table.loc[row, "loss_before"] == pytest.approx(one.loc[row, "loss"])
        assert table.loc[row, "loss"] == pytest.approx(two.loc[row, "loss"])
    assert (table["loss"] - table["loss_before"]).abs().is_monotonic_decreasing
    counts = found.counts
    assert counts == {name: int((table["change"] == name).sum()) for name in counts} and sum(counts.values()) == 60
    change, low, high, p = found.accuracy
    assert change == pytest.approx((counts["fixed"] - counts["broken"]) / 60) and low <= change <= high
    assert p == pytest.approx(binomtest(counts["fixed"], counts["fixed"] + counts["broken"]).pvalue)
    numbers = re.match(r"Of 60 examples: (\d+) fixed, (\d+) broken, (\d+) still wrong, (\d+) still right", found.said)
    assert numbers is not None and [int(x) for x in numbers.groups()] == list(counts.values())


def test_the_head_that_was_turned_is_the_first():
    before, after = turned()
    found = bl.task(after, [(t, "warm" if k else "cold") for t, k in labelled(30)], progress=False).against(before, 5)
    assert found.heads.iloc[0]["part"] == "L1·H2" and found.texts == 5
    assert (found.heads[found.heads["layer"] == 0]["distance"] < 1e-6).all()
    rows = np.random.default_rng(0).permutation(30)[:5]
    apart = [found.compare(int(row)).heads for row in rows]
    expected = float(torch.stack(apart).mean(0)[1, 2])
    assert found.heads.iloc[0]["distance"] == pytest.approx(expected) and "L1·H2" in found.said
    both = found.compare(0)
    assert both.a.model is before.borrowed and both.b.model is after.borrowed
    with pytest.raises(InputError, match="no example 30"):
        found.compare(30)


def test_of_two_equal_models_no_head_turned():
    """Their distances are 0, or what float32 rounds away: none is the one that turned most."""
    before, after = turned()
    examples = [(text, "warm" if label else "cold") for text, label in labelled(20)]
    same = bl.Lens(copy.deepcopy(after.model), after.tokenizer)
    found = bl.task(after, examples, progress=False).against(same, texts=4)
    assert len(found.heads) == 12 and found.heads["distance"].max() < 5e-7
    assert found.said.endswith(" No head turned, over 4 texts.") and "most" not in found.said
    some = bl.task(after, examples, progress=False).against(before, texts=4)  # layer 0 is the same in both
    named = re.search(r"Turned most, over 4 texts: (.*)\.$", some.said)
    assert named is not None and not [part for part in named[1].split(", ") if part.startswith("L0")]


def test_models_that_cannot_be_compared_say_why():
    task = bl.task(lens_of(), labelled(20), progress=False)
    with pytest.raises(ModelError, match="the other model has the classes class 0, class 1, class 2, not cold, warm"):
        task.against(lens_of(classes=3))
    with pytest.raises(InputError, match="against takes another lens"):
        task.against(lens_of().model)
    with pytest.raises(InputError, match="at least 2"):
        task.against(lens_of(), texts=1)
    other = task.against(lens_of(9))  # another training
    assert len(other.heads) == 0 and "different pre-trainings" in other.note and "Turned" not in other.said


def without(lens: bl.Lens, layer: int, head: int) -> bl.Lens:
    """The same model, in which one head writes a fiftieth."""
    model = copy.deepcopy(lens.model)
    with torch.no_grad():
        model.bert.encoder.layer[layer].attention.output.dense.weight[:, 8 * head : 8 * head + 8] *= 0.02
    return bl.Lens(model, lens.tokenizer)


def test_the_head_that_matters_now_and_did_not_is_found():
    """The differences are those of runs of each text alone, in each model alone."""
    lens, (layer, head), examples = planted(3)
    other = without(lens, layer, head)
    found = bl.task(lens, examples, progress=False).against(other, texts=4)
    result = found.effects(chosen=4)
    table = result.table
    assert table.iloc[0]["part"] == f"L{layer}·H{head}" and bool(table.iloc[0]["finding"])
    more = table.loc[table["finding"] & (table["difference"] > 0), "part"].tolist()
    assert f"L{layer}·H{head}" in more
    assert f". {', '.join(more)} matter{'s' if len(more) == 1 else ''} more than before" in result.said
    rows = np.random.default_rng(0).permutation(60)[30:]
    assert sorted(result.after.second) == sorted(rows.tolist()) == sorted(result.before.second)
    assert result.before.each.columns.tolist() == result.after.each.columns.tolist()

    def effect(own: bl.Lens, part: str, row: int) -> float:
        text, label = examples[row]
        where = bl.whatif.mlp(int(part[4:])) if part.startswith("MLP") else bl.whatif.off(int(part[1]), int(part[4]))
        trace = own.trace(text)
        losses = [-float(run.output.logits[0].log_softmax(-1)[label].detach()) for run in (trace.rerun(where), trace)]
        return losses[0] - losses[1]

    for part in table["part"].iloc[[0, -1]]:
        was, now = (np.array([effect(own, part, row) for row in rows]) for own in (other, lens))
        one = table.set_index("part").loc[part]
        assert (one["before"], one["after"]) == pytest.approx((was.mean(), now.mean()), abs=1e-4)
        test = ttest_rel(now, was)
        assert one["difference"] == pytest.approx((now - was).mean(), abs=1e-4)
        ends = test.confidence_interval()
        assert (one["low"], one["high"]) == pytest.approx((ends.low, ends.high), abs=1e-4)
        assert one["p"] == pytest.approx(test.pvalue, rel=0.02)
    adjusted = holm(table["p"].to_numpy(), 15)
    np.testing.assert_allclose(table["p_holm"], adjusted)
    assert result.said.startswith(f"{len(table)} of 15 heads and MLPs, each switched off in both models, on 30 texts")


def test_models_that_are_the_same_have_no_difference():
    lens, _, examples = planted(3)
    found = bl.task(lens, examples, progress=False).against(bl.Lens(copy.deepcopy(lens.model), lens.tokenizer), texts=3)
    result = found.effects(chosen=2, measure="accuracy")
    assert (result.table["difference"] == 0).all() and (result.table["p"] == 1).all()
    assert "No difference can be told from chance" in result.said and "effects in of" not in result.said
    other = bl.task(lens, examples, progress=False).against(lens_of(9))
    with pytest.raises(ModelError, match="no head here is one of the other model"):
        other.effects()
