"""What parts matter to a task: a planted head is found, nothing is found where there is nothing, numbers are exact."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pandas as pd
import pytest
import torch
from scipy import stats as st

import bertlens as bl
from bertlens import whatif
from bertlens.base.progress import watched
from bertlens.errors import ClusterError, InputError
from bertlens.measures.significance import findings
from bertlens.tasks import ablation_effects
from bertlens.tasks.ablations import Ablation
from bertlens.tasks.importance import effect_table, most
from bertlens.whatif.head_study import HeadSite
from unit.tasks.classifier import labelled, lens_of, planted

PARTS = [HeadSite(layer, head) for layer in range(3) for head in (0, 1, 2, 3, -1)]


def loss_of(output, label: int) -> torch.Tensor:
    return torch.nn.functional.cross_entropy(output.logits, torch.tensor([label]))


@pytest.fixture(scope="module")
def task() -> bl.Task:
    return bl.task(lens_of(), labelled(40), batch_size=8, progress=False)


def in_words(parts: list[str], one: str, several: str) -> str:
    if len(parts) > 3:
        return f"{len(parts)} parts {several}, most: {parts[0]}, {parts[1]}, {parts[2]}"
    return f"{', '.join(parts)} {one if len(parts) == 1 else several}" if parts else ""


def test_many_parts_are_counted_and_three_named():
    for n in range(1, 6):
        parts = [f"L0·H{k}" for k in range(n)]
        assert most(parts, "is", "are") == in_words(parts, "is", "are")


@pytest.mark.sampled(4)
@pytest.mark.parametrize("seed", range(20))
def test_the_planted_head_is_found_at_the_top(seed):
    lens, (layer, head), examples = planted(seed)
    found = bl.task(lens, examples, progress=False).heads(chosen=4, seed=seed)
    best = found.findings.sort_values("effect", ascending=False).iloc[0]
    assert (best["layer"], best["head"]) == (layer, head)
    assert best["low"] > 0 and found.table.iloc[0]["part"] == best["part"] and best["chosen"] == "estimate"
    above, below = (found.findings[found.findings["effect"] * sign > 0] for sign in (1, -1))
    needed, worse = above["part"].tolist(), below["part"].tolist()[::-1]
    said = [in_words(needed, "is needed", "are needed"), in_words(worse, "stands in the way", "stand in the way")]
    assert found.said.startswith("; ".join(filter(None, said)) + ". ")  # what was found comes first


def test_the_estimate_is_the_slope_of_each_text(task):
    rows = range(11)  # texts of several lengths, padded
    heads, mlps = ablation_effects.estimates(task, rows, 3)
    lens, expected = task.lens, []
    for row in rows:
        trace = lens.trace(task.examples.texts[row][0])
        expected.append(whatif.estimate(trace, lambda output, row=row: loss_of(output, task.labels[row])).numpy())
    np.testing.assert_allclose(heads, np.mean(expected, 0), atol=2e-5)
    for layer in range(3):  # by a small step of the weights, either way
        ends = []
        for step in (0.999, 1.001):
            own = lens_of()
            dense = own.model.bert.encoder.layer[layer].output.dense
            with torch.no_grad():
                dense.weight *= step
                dense.bias *= step
            own.model.double()
            ends.append(
                np.mean([float(loss_of(own.trace(task.examples.texts[r][0]).output, task.labels[r])) for r in rows])
            )
        assert mlps[layer] == pytest.approx(-(ends[1] - ends[0]) / 0.002, rel=1e-2, abs=1e-4)


def test_the_effect_of_off_is_that_of_a_run_of_each_text_alone(task):
    rows = list(range(10))
    found = ablation_effects.effects(task, rows, PARTS, Ablation("zero", 5, task.lens, [], PARTS, 0))
    for at, row in enumerate(found["row"]):
        trace = task.lens.trace(task.examples.texts[row][0])
        for k, part in enumerate(PARTS, 1):
            change = whatif.mlp(part.layer) if part.head < 0 else whatif.off(part.layer, part.head)
            output = trace.rerun(change).output
            assert found["loss"][at, k] == pytest.approx(float(loss_of(output, task.labels[row])), abs=2e-5)
            assert found["right"][at, k] == (int(output.logits.argmax()) == task.labels[row])


def naive(lens: bl.Lens, text: str, part: HeadSite, vectors: torch.Tensor) -> torch.Tensor:
    """The logits where a part's output is given: by a hook on the model's own projection."""
    block = lens.model.bert.encoder.layer[part.layer]

    def head(module, args):
        state = args[0].clone()
        state[0, :, 8 * part.head : 8 * part.head + 8] = vectors
        return (state,)

    if part.head < 0:
        handle = block.output.dense.register_forward_hook(lambda module, args, output: vectors[None].expand_as(output))
    else:
        handle = block.attention.output.dense.register_forward_pre_hook(head)
    try:
        with torch.no_grad():
            return lens.model(**lens.tokenizer(text, return_tensors="pt")).logits
    finally:
        handle.remove()


def made(lens: bl.Lens, text: str, part: HeadSite) -> torch.Tensor:
    """What a part makes of a text, by a hook on the model's own projection."""
    block, kept = lens.model.bert.encoder.layer[part.layer], []
    dense = block.output.dense if part.head < 0 else block.attention.output.dense
    handle = dense.register_forward_hook(
        lambda module, args, output: kept.append(output[0] if part.head < 0 else args[0][0])
    )
    with torch.no_grad():
        lens.model(**lens.tokenizer(text, return_tensors="pt"))
    handle.remove()
    return kept[0] if part.head < 0 else kept[0][:, 8 * part.head : 8 * part.head + 8]


def test_a_part_at_its_mean_and_as_in_another_text(task):
    texts = [text[0] for text in task.examples.texts]
    pool = [task.lens.encoding(text) for text in texts[:5]]
    parts, rows = [HeadSite(0, 2), HeadSite(1, -1), HeadSite(2, 0)], list(range(5, 15))
    for name in ("mean", "resample"):
        found = ablation_effects.effects(
            task, rows, parts, Ablation(name, 6, task.lens, pool[: 5 if name == "mean" else 1], parts, 3)
        )
        for at, row in enumerate(found["row"]):
            for k, part in enumerate(parts, 1):
                if name == "mean":
                    vectors = torch.cat([made(task.lens, text, part) for text in texts[:5]]).mean(0)
                else:  # from the one text of the pool: first for first, last for last, those between in turn
                    own, size = made(task.lens, texts[0], part), len(task.lens.encoding(texts[row]))
                    between = [1 + i % (len(own) - 2) for i in range(size - 2)]
                    vectors = own[[0, *between, len(own) - 1]]
                logits = naive(task.lens, texts[row], part, vectors)
                expected = float(torch.nn.functional.cross_entropy(logits, torch.tensor([task.labels[row]])))
                assert found["loss"][at, k] == pytest.approx(expected, abs=2e-5), (name, str(part))


def test_batches_change_no_number_and_draws_differ(task):
    parts, rows = [HeadSite(0, 1), HeadSite(2, -1)], list(range(5, 25))
    pool = [task.examples.encoding(task.lens, row, False) for row in range(5)]
    for name in ("mean", "resample"):
        losses = []
        for size in (1, 7):
            own = bl.task(task.lens, labelled(40), batch_size=size, progress=False)
            found = ablation_effects.effects(own, rows, parts, Ablation(name, 5, task.lens, pool, parts, 0))
            losses.append(found["loss"][np.argsort(found["row"])])
        np.testing.assert_allclose(*losses, atol=2e-5)
    ablation = Ablation("resample", 5, task.lens, pool, parts, 0)
    drawn = [ablation.change(parts[0], 7, draw, 5, 5).vectors for draw in range(5)]
    assert any(not torch.equal(drawn[0], other) for other in drawn[1:])


def test_a_head_without_output_weights_has_no_effect_at_all():
    lens = lens_of(5)
    with torch.no_grad():
        lens.model.bert.encoder.layer[1].attention.output.dense.weight[:, 16:24] = 0
    for ablation in ("zero", "mean", "resample"):
        found = bl.task(lens, labelled(30), progress=False).heads("all", ablation).table.set_index("part").loc["L1·H2"]
        assert found["effect"] == 0 and found["p"] == 1 and not found["finding"]
        assert found["estimate"] == 0
        assert np.isnan([found["low"], found["high"]]).all()


def test_labels_that_have_nothing_to_do_with_the_text_make_few_findings():
    """Tables whose guesses, before and with each part out, are drawn without regard to the label: no model."""
    random, some = np.random.default_rng(0), 0
    parts = [HeadSite(layer, head) for layer in range(6) for head in range(12)]
    for _ in range(200):
        labels = random.integers(0, 2, 200)
        before = random.integers(0, 2, 200)
        flips = random.random((200, len(parts))) < random.uniform(0.02, 0.4, len(parts))
        guesses = np.column_stack([before, before[:, None] ^ flips])
        right = (guesses == labels[:, None]).astype(float)
        table = effect_table(parts, np.zeros(len(parts)), parts, -right, True)
        some += bool(table["finding"].any())
    assert some / 200 <= 0.09


def test_tests_and_the_correction_are_scipys():
    random = np.random.default_rng(2)
    for n in (5, 40):
        x = random.normal(0.3, 1, n)
        assert findings.t_test(x) == pytest.approx(st.ttest_1samp(x, 0).pvalue, rel=1e-9)
        signs = random.choice([-1, 0, 1], n, p=[0.2, 0.3, 0.5])
        more, fewer = int((signs > 0).sum()), int((signs < 0).sum())
        assert findings.exact_test(signs) == pytest.approx(st.binomtest(more, more + fewer).pvalue, rel=1e-9)
    assert findings.t_test(np.zeros(5)) == findings.exact_test(np.zeros(5)) == 1
    assert findings.t_test(np.full(5, 3e-8)) == 1 and findings.t_test(np.full(5, 3e-6)) == 0  # rounding is no finding
    noise = 4e-7 + 1e-8 * random.normal(0, 1, 40)
    assert findings.t_test(noise) == 1 > 1e-9 > findings.t_test(100 * noise)
    p = np.array([0.01, 0.04, 0.03, 0.005])
    np.testing.assert_allclose(findings.holm(p, 4), [0.03, 0.06, 0.06, 0.02])  # Holm 1979's own steps
    np.testing.assert_allclose(findings.holm(np.array([0.01, np.nan, 0.004]), 10), [0.09, np.nan, 0.04])
    a, b = random.normal(size=30), random.normal(size=30)
    assert findings.rank_correlation(a, b) == pytest.approx(st.spearmanr(a, b).statistic)
    assert math.isnan(findings.rank_correlation(a, np.zeros(30)))


def test_the_halves_share_no_text_and_the_choice_is_by_the_first(task, capsys):
    loud = bl.task(task.lens, labelled(40), batch_size=8)
    found = loud.heads(chosen=3, seed=4)
    assert not set(found.first) & set(found.second) and len(found.first) == len(found.second) == 20
    said = capsys.readouterr().out
    assert said.startswith("6 parts, 20 texts: about ") and "Ctrl-C" in said
    table = found.table
    assert len(table) == found.family == 15 and (table["chosen"] != "").sum() == 6
    best = table.loc[table["estimate"].abs().sort_values(ascending=False).index[:3]]
    assert (best["chosen"] == "estimate").all()
    assert (table["effect"].notna() == (table["chosen"] != "")).all()
    pd.testing.assert_frame_equal(table, task.heads(chosen=3, seed=4).table)
    accuracy = task.heads("all", measure="accuracy", seed=4)
    assert set(np.sign(accuracy.agreement["halves"] * np.ones(1))) <= {-1.0, 0.0, 1.0}
    rows = np.array(accuracy.second)
    row = accuracy.table.set_index("part").loc["L0·H0"]
    right = [
        int(task.lens.trace(task.examples.texts[r][0]).rerun(whatif.off(0, 0)).output.logits.argmax()) == task.labels[r]
        for r in rows
    ]
    assert row["effect"] == pytest.approx((task.guesses[rows] == task.labels[rows]).mean() - np.mean(right))


def test_a_pruning_curve_begins_with_the_model_and_ends_without_heads():
    lens, (layer, head), examples = planted(1)
    with torch.no_grad():  # nothing but the planted head
        for number, block in enumerate(lens.model.bert.encoder.layer):
            others = [i for i in range(32) if (number, i // 8) != (layer, head)]
            block.attention.output.dense.weight[:, others] = 0
    task = bl.task(lens, examples, progress=False)
    found = task.heads("all", seed=1)
    curve = found.pruning(5, orders=("estimate", "effect", "random"))
    for name, texts in (("estimate", found.second), ("random", found.second), ("effect", found.first)):
        own = curve[curve["order"] == name]
        assert own["off"].tolist() == [0, 3, 6, 9, 12]
        assert own["accuracy"].iloc[0] == pytest.approx((task.guesses[texts] == task.labels[texts]).mean())
    gone = [whatif.off(n) for n in range(3)]
    right = [
        int(lens.trace(task.examples.texts[r][0]).rerun(*gone).output.logits.argmax()) == task.labels[r]
        for r in found.second
    ]
    assert curve[(curve["order"] == "estimate") & (curve["left"] == 0)]["accuracy"].item() == pytest.approx(
        np.mean(right)
    )
    assert curve.attrs["least"]["effect"] <= 3  # in steps of three heads
    for name, least in curve.attrs["least"].items():
        own = curve[curve["order"] == name]
        enough = own["accuracy"] >= 0.95 * own["accuracy"].iloc[0]
        assert enough[own["left"] >= least].all() and not enough[own["left"] >= least - 3].all()
    with pytest.raises(InputError, match="points"):
        found.pruning(2)
    with pytest.raises(InputError, match="no order"):
        found.pruning(orders=("alphabet",))
    with pytest.raises(InputError, match="chosen='all'"):
        task.heads(2).pruning(orders=("effect",))


@pytest.mark.parametrize("error", [KeyboardInterrupt(), ClusterError("nothing has come back")])
def test_ctrl_c_and_a_cluster_that_died_keep_the_texts_that_were_done(task, monkeypatch, error):
    run, calls = ablation_effects.answers_of, []

    def interrupted(*args):
        calls.append(1)
        if len(calls) == 12:
            raise error
        return run(*args)

    monkeypatch.setattr(ablation_effects, "answers_of", interrupted)
    with pytest.warns(UserWarning, match=rf"{str(error) or 'interrupted'}: effects over 16 of 20 texts"):
        found = task.heads(chosen=2)
    assert len(found.second) == 16 and found.table["effect"].notna().sum() == 4


def test_the_model_is_as_it_was_and_needs_no_gradients():
    lens = lens_of(2)
    lens.model.train()
    for parameter in lens.model.parameters():
        parameter.requires_grad_(False)
    before = {name: value.clone() for name, value in lens.model.state_dict().items()}
    hooks = [len(module._forward_hooks) for module in lens.model.modules()]
    bl.task(lens, labelled(30), progress=False).heads(2, "mean")
    assert lens.model.training and all(p.grad is None for p in lens.model.parameters())
    assert hooks == [len(module._forward_hooks) for module in lens.model.modules()]
    assert all(torch.equal(before[name], value) for name, value in lens.model.state_dict().items())
    assert lens.model.config._attn_implementation != "bertlens-masks"


def test_inference_mode_changes_nothing_and_autocast_is_refused(task):
    with torch.inference_mode():
        found = bl.task(task.lens, labelled(40), progress=False).heads(2)
    pd.testing.assert_frame_equal(found.table, task.heads(2).table, atol=1e-6)
    with torch.autocast("cpu", torch.bfloat16), pytest.raises(InputError, match="autocast is on"):
        task.heads(2)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"chosen": 0}, "chosen is 'all' or how many"),
        ({"ablation": "noise"}, "no ablation 'noise'"),
        ({"measure": "recall"}, "no measure 'recall'"),
        ({"draws": 4, "ablation": "resample"}, "resampling takes draws, at least 5, not 4"),
    ],
)
def test_arguments_that_are_none(task, arguments, said):
    with pytest.raises(InputError, match=said):
        task.heads(**arguments)
    with pytest.raises(InputError, match="too few to tell what matters"):
        bl.task(task.lens, labelled(19)).heads()


def test_who_watches_is_told_how_far_the_work_is_and_may_end_it(capsys):
    task = bl.task(lens_of(), labelled(40), batch_size=4)
    task.logits  # noqa: B018  run before
    told: list[tuple[str, float, float]] = []

    def tell(doing: str, done: float, total: float) -> None:
        told.append((doing, done, total))
        if doing == "parts" and done > total / 2:
            raise KeyboardInterrupt

    with warnings.catch_warnings(), watched(tell):
        warnings.simplefilter("error")
        found = task.heads(2)
        found.pruning(points=3)
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "estimates" not in printed.err
    names = list(dict.fromkeys(doing for doing, _, _ in told))
    assert [names[0], *names[2:]] == ["estimates", "parts", "pruned by estimate", "pruned by random"]
    assert names[1].startswith("4 parts, 20 texts: about ")
    ends = {doing: (done, total) for doing, done, total in told if total}
    assert ends["estimates"] == (20, 20)
    assert ends["pruned by estimate"] == pytest.approx((3, 3))
    assert ends["pruned by random"] == pytest.approx((9, 9))
    assert 2 <= len(found.second) < 20  # the texts that were done count
