"""The words of a task: effects are those of a plain loop, planted shortcuts come first, and what follows from them."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pandas as pd
import pytest
import torch
from scipy import stats as st

import bertlens as bl
from bertlens.tasks.words import gained, gained_said, read_words
from bertlens.tasks.words.text_parts import Feature
from bertlens.tasks.words.word_table import leading
from unit import tiny
from unit.tasks import trained_words as tw
from unit.tasks.classifier import labelled, lens_of, model_of, texts_of

MASK, CLS, SEP = (tiny.SPECIAL.index(name) for name in ("[MASK]", "[CLS]", "[SEP]"))


def words_in(lens: bl.Lens, text: str) -> list[tuple[str, list[int]]]:
    """Each word of a text, and the tokens of each, by blanks alone."""
    tokenize = lens.tokenizer
    return [(word.lower(), tokenize(word, add_special_tokens=False)["input_ids"]) for word in text.split()]


def logits_of(lens: bl.Lens, words: list[list[int]]) -> np.ndarray:
    return _logits(lens, (CLS, *(token for word in words for token in word), SEP))


@cache
def _logits(lens: bl.Lens, ids: tuple[int, ...]) -> np.ndarray:
    with torch.no_grad():
        return lens.model(torch.tensor([ids])).logits[0].double().numpy()


def odds_of(logits: np.ndarray, k: int) -> float:
    """log p / (1 − p)."""
    p = np.exp(logits - logits.max())
    p /= p.sum()
    return math.log(p[k]) - math.log(p[np.arange(len(p)) != k].sum())


def naive(lens: bl.Lens, examples: list[tuple[str, int]], is_gone, k: int) -> pd.DataFrame:
    """Of each text with such words: what a class loses by the mask and by deletion, and whether an error of it turns.

    is_gone: which words, by (names, at).
    """
    rows = []
    for text, label in examples:
        words = words_in(lens, text)
        names = [name for name, _ in words]
        gone = {at for at in range(len(words)) if is_gone(names, at)}
        if not gone:
            continue
        whole = logits_of(lens, [ids for _, ids in words])
        masked = logits_of(lens, [[MASK] * len(ids) if at in gone else ids for at, (_, ids) in enumerate(words)])
        deleted = logits_of(lens, [ids for at, (_, ids) in enumerate(words) if at not in gone])
        error = whole.argmax() == k != label
        turned = error and masked.argmax() != k
        rows.append((odds_of(whole, k) - odds_of(masked, k), odds_of(whole, k) - odds_of(deleted, k), error, turned))
    return pd.DataFrame(rows, columns=["mask", "delete", "error", "turned"])


def line_of(words: bl.TaskWords, kind: str, word: str, name: str) -> pd.Series:
    table = words.table
    [row] = [
        row for _, row in table[(table["kind"] == kind) & (table["word"] == word)].iterrows() if row["class"] == name
    ]
    return row


@pytest.fixture(scope="module")
def examples() -> list[tuple[str, int]]:
    """With words of several pieces."""
    texts = [text + (" unbelievable cats" if n % 3 == 0 else "") for n, text in enumerate(texts_of(48, 2))]
    return list(zip(texts, np.random.default_rng(0).integers(0, 3, 48).tolist(), strict=True))


@pytest.fixture(scope="module")
def lens() -> bl.Lens:
    return bl.Lens(model_of(3, 3).double(), tiny.wordpiece())


@pytest.fixture(scope="module")
def words(lens, examples) -> bl.TaskWords:
    return bl.task(lens, examples, progress=False).words()


def is_word(word: str):
    return lambda names, at: names[at] == word


def is_pair(first: str, second: str):
    return lambda names, at: (
        (names[at : at + 2] == [first, second]) or (at > 0 and names[at - 1 : at + 1] == [first, second])
    )


def test_effects_are_those_of_a_plain_loop(lens, examples, words):
    """Words, pairs, words in a place and orders, by both ways, with their intervals and the errors that turn."""
    tried = words.table[words.table["class"] == "class 1"]
    assert {"word", "pair", "place", "order", "piece"} == {*tried["kind"]}
    of_place = {
        "first word": lambda at, n: at == 0,
        "last word": lambda at, n: at == n - 1,
        "first third": lambda at, n: n >= 3 and 3 * at // n == 0,
        "middle third": lambda at, n: n >= 3 and 3 * at // n == 1,
        "last third": lambda at, n: n >= 3 and 3 * at // n == 2,
    }
    for row in tried[tried["kind"] != "piece"].itertuples():
        if row.kind == "word":
            gone = is_word(row.word)
        elif row.kind == "place":
            word, place = row.word.removesuffix(")").split(" (")
            gone = lambda names, at, word=word, place=place: names[at] == word and of_place[place](at, len(names))  # noqa: E731
        else:
            gone = is_pair(*row.word.split(" before " if row.kind == "order" else " "))
        expected = naive(lens, examples, gone, 1)
        assert (row.texts, row.run) == (len(expected), len(expected)), row.word
        assert row.effect == pytest.approx(expected["mask"].mean(), abs=1e-6)
        assert row.deletion == pytest.approx(expected["delete"].mean(), abs=1e-6)
        low, high = st.t.interval(0.95, len(expected) - 1, expected["mask"].mean(), st.sem(expected["mask"]))
        assert (row.low, row.high) == pytest.approx((low, high), abs=1e-6)
        assert (row.errors, row.turned) == (expected["error"].sum(), expected["turned"].sum())
        assert row.disagree == (expected["mask"].mean() * expected["delete"].mean() < 0)


def test_a_piece_is_hidden_in_its_place_in_words(lens, examples, words):
    """“…able” is the end of a word, and “un…” the beginning of one."""
    able = tiny.VOCABULARY.index("##able")
    effects = []
    for text, _ in examples:
        ids = [token for _, tokens in words_in(lens, text) for token in tokens]
        if able in ids:
            whole, gone = logits_of(lens, [ids]), logits_of(lens, [[MASK if token == able else token for token in ids]])
            effects.append(odds_of(whole, 2) - odds_of(gone, 2))
    row = line_of(words, "piece", "…able", "class 2")
    assert (row["texts"], row["effect"]) == (len(effects), pytest.approx(np.mean(effects), abs=1e-6))
    assert {"un…", "…believ…"} <= {*words.table["word"]}


def test_what_is_expected_is_what_its_words_do_elsewhere(lens, examples, words):
    """Welch's test of a pair against both words apart, of a place against the word elsewhere, of an order against the
    other; of a word against those in about as many texts."""
    pairs = words.table[
        (words.table["kind"] == "pair") & (words.table["class"] == "class 0") & words.table["p"].notna()
    ]
    assert len(pairs) > 3
    for row in pairs.itertuples():
        first, second = row.word.split()
        own = naive(lens, examples, is_pair(first, second), 0)["mask"].to_numpy()
        apart = [example for example in examples if f" {first} {second} " not in f" {example[0].lower()} "]
        rest = [naive(lens, apart, is_word(word), 0)["mask"].to_numpy() for word in dict.fromkeys((first, second))]
        beyond = own.mean() - sum(each.mean() for each in rest)
        shares = [each.var(ddof=1) / len(each) for each in (own, *rest)]
        freedom = sum(shares) ** 2 / sum(s**2 / (len(each) - 1) for s, each in zip(shares, (own, *rest), strict=True))
        p = 2 * st.t.sf(abs(beyond) / math.sqrt(sum(shares)), freedom)
        assert (row.beyond, row.p) == pytest.approx((beyond, p), abs=1e-6)
    table = words.table
    for order in table[(table["kind"] == "order") & (table["class"] == "class 0")].itertuples():
        first, second = order.word.split(" before ")
        expected = [naive(lens, examples, is_pair(*both), 0)["mask"] for both in ((first, second), (second, first))]
        assert order.p == pytest.approx(st.ttest_ind(*expected, equal_var=False).pvalue, abs=1e-6)
    alone = table[(table["kind"] == "word") & (table["class"] == "class 2")]
    for row in alone.itertuples():
        others = alone[alone["word"] != row.word].assign(far=lambda own, n=row.texts: np.abs(np.log(own["texts"] / n)))
        means = others.sort_values("far")["effect"].to_numpy()
        if len(others) <= 10:
            assert row.matched == pytest.approx(means.mean(), abs=1e-9)
            assert row.matched_as_far == (np.abs(means) >= abs(row.effect)).sum()


def test_holm_is_over_all_that_was_tried(words):
    table, tried = words.table, 3 * words.tried
    order = table["p"].to_numpy()[np.argsort(table["p"].to_numpy(), kind="stable")]
    order = order[~np.isnan(order)]
    expected = np.minimum(1, np.maximum.accumulate(order * (tried - np.arange(len(order)))))
    assert np.sort(table["p_holm"].dropna().to_numpy()) == pytest.approx(np.sort(expected))
    assert (table["finding"] == (table["p_holm"] <= 0.05)).all()
    assert words.tried == len(table) / 3 and words.error is None and words.estimates.empty


def test_columns_of_labels_and_of_wrong_answers(lens, examples, words):
    """Fisher's exact tests: of the label towards the effect, and of wrong answers, by Holm for all that was tried."""
    task = words.task
    for row in words.table[words.table["kind"] == "word"].itertuples():
        inside = np.array([row.word in text.split() for text, _ in examples])
        has = np.array([f"class {label}" == row._1 for _, label in examples])
        if math.isnan(row.beyond):
            continue
        other = has if row.beyond > 0 else ~has
        counts = [
            [(other & inside).sum(), (~other & inside).sum()],
            [(other & ~inside).sum(), (~other & ~inside).sum()],
        ]
        assert row.p_label == pytest.approx(st.fisher_exact(counts, "greater").pvalue, rel=1e-6)
        assert (row.label_with, row.label_without) == pytest.approx((has[inside].mean(), has[~inside].mean()))
    wrong = task.labels != task.logits.argmax(1)
    for row in words.table[words.table["kind"] == "word"].itertuples():
        inside = np.array([row.word in text.split() for text, _ in examples])
        counts = [[(wrong & side).sum(), (~wrong & side).sum()] for side in (inside, ~inside)]
        assert (row.texts, row.wrong) == (inside.sum(), counts[0][0])
        assert (row.rate, row.rate_outside) == pytest.approx((wrong[inside].mean(), wrong[~inside].mean()))
        assert row.p_wrong == pytest.approx(st.fisher_exact(counts, "greater").pvalue, rel=1e-6)
    once = words.table[words.table["class"] == "class 0"].sort_values("p_wrong", kind="stable")
    holm = np.minimum(1, np.maximum.accumulate(once["p_wrong"] * (len(once) - np.arange(len(once)))))
    assert once["p_wrong_holm"].tolist() == pytest.approx(holm.tolist())


def test_estimates_are_slopes_and_their_error_is_measured(lens, examples):
    """The gradient at the word embedding times what the mask would change, by torch alone; and the largest distance."""
    task = bl.task(lens, examples, progress=False)
    words = task.words(n=2, runs=50)
    assert words.table["run"].max() <= 40 and words.tried > len(words.features) and words.runs < 2000
    estimates = words.estimates.set_index(["class", "kind", "word"])["estimate"]
    table = lens.model.get_input_embeddings().weight.detach()
    sums = []
    for text, _ in examples:
        tokens = [(word, token) for word, ids in words_in(lens, text) for token in ids]
        if "cat" not in [word for word, _ in tokens]:
            continue
        ids = torch.tensor([CLS, *(token for _, token in tokens), SEP])
        vectors = table[ids].clone().requires_grad_()
        logits = lens.model(inputs_embeds=vectors[None]).logits[0]
        (logits[1] - torch.logsumexp(logits[[0, 2]], 0)).backward()
        slope = ((vectors.detach() - table[MASK]) * vectors.grad).sum(-1)
        sums.append(sum(float(slope[at]) for at, (word, _) in enumerate(tokens, 1) if word == "cat"))
    assert estimates["class 1", "word", "cat"] == pytest.approx(np.mean(sums), abs=1e-9)
    exact = bl.task(lens, examples, progress=False).words().table.set_index(["class", "kind", "word"])["effect"]
    drawn = words.effects.plan.probes
    assert len(drawn) == 59 and f"off by {words.error:.2g} at most, in 59 drawn parts" in words.said
    whole = [part for part, rows in drawn.items() if len(rows) == len(words.effects.features.occurrences[part])]
    keys = [(name, part.kind, part.name) for part in whole for name in task.names]
    assert max(abs(exact[key] - estimates[key]) for key in keys) <= words.error + 1e-9
    best = words.table[["kind", "word"]].drop_duplicates()
    assert len(best) <= 6 and np.allclose(
        words.table["effect"], [exact[tuple(row)] for row in words.table[["class", "kind", "word"]].to_numpy()]
    )


@pytest.mark.parametrize("sign", [1, -1])
def test_an_order_that_says_as_much_as_its_pair_leads(sign):
    """And one whose other order does half of it, or of which chance is not ruled out, has its own place."""

    def lead(kind: str, low: float, high: float, is_found: bool = True) -> float:
        ends = (low, high) if sign > 0 else (-high, -low)
        row = {"effect": sign * 13.0, "beyond_low": ends[0], "beyond_high": ends[1], "finding": is_found, "p": 0.1}
        return leading(row | {"part": Feature(kind, ("yak", "zob"), 0)}, 12.5)

    assert [lead("order", 12.4, 13.2), lead("order", 12.6, 13.2), lead("order", 12.4, 12.5)] == [12.5, 12.6, 12.5]
    assert [lead("order", 5, 7), lead("order", 0.1, 20, False), lead("pair", 12.4, 13.2)] == [5, 0.1, 12.4]


@pytest.mark.parametrize(
    ("seed", "rule"),
    [
        *((seed, rule) for rule in ("word", "pair", "place") for seed in range(2)),
        *(pytest.param(seed, "order", marks=pytest.mark.long) for seed in (5, 9)),  # whose pair is as sure
    ],
)
def test_a_planted_shortcut_comes_first(seed, rule):
    words = planted(rule, seed, 60)
    assert first(words) == FIRST[rule]
    assert "“complaint” goes most by “yak" in words.said


FIRST = {
    "word": ("complaint", "word", "yak"),
    "pair": ("complaint", "pair", "yak zob"),
    "place": ("complaint", "place", "yak (first word)"),
    "order": ("complaint", "order", "yak before zob"),
}


DRAWS = 4  # trainings of one seed, of which some stop short of the rule: the first that has learned it counts


def planted(rule: str, seed: int, n: int = 100) -> bl.TaskWords:
    models = (tw.trained(getattr(tw, rule), seed, draw) for draw in range(DRAWS))
    lens = next((lens for lens, accuracy in models if accuracy > 0.95), None)
    assert lens is not None, f"{DRAWS} trainings of seed {seed} have not learned the rule"
    return bl.task(lens, tw.drawn(getattr(tw, rule), n, 9000 + seed), progress=False).words()


def first(words: bl.TaskWords) -> tuple[str, str, str]:
    return tuple(words.table.iloc[0][["class", "kind", "word"]])


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize(("rule", "fewest"), [("word", 20), ("pair", 16), ("place", 16), ("order", 16)])
def test_planted_shortcuts_of_twenty_models(rule, fewest):
    found = [first(planted(rule, seed)) == FIRST[rule] for seed in range(20)]
    assert sum(found) >= fewest


def test_a_shortcut_that_the_labels_do_not_account_for_is_a_suspect():
    lens, _ = tw.trained(tw.shortcut, 0)
    task = bl.task(lens, tw.drawn(tw.balanced, 60, 0), progress=False)
    words = task.words()
    first = words.suspects.iloc[0]
    assert tuple(first[["class", "kind", "word"]]) == ("complaint", "word", "yak")
    inside = np.array(["yak" in text for (text,) in task.examples.texts])
    assert first["label_with"] == (task.labels[inside] == 1).mean() and first["p_label"] > 0.05
    count = (
        f"“yak”, in {inside.sum()} texts, {(task.labels[inside] == 1).sum()} of them complaint, moves complaint by +"
    )
    assert (
        f"that the labels do not account for: {count}" in words.said and "; a word matched in count by " in words.said
    )


def test_a_shortcut_that_a_model_has_learned_since_has_gained(tmp_path):
    """From a clean model to one with it, most of all words; and not the other way round."""
    clean, planted = (tw.trained(rule, 0)[0] for rule in (tw.clean, tw.shortcut))
    examples = tw.drawn(tw.balanced, 60, 0)
    before, after = (bl.task(lens, examples, progress=False) for lens in (clean, planted))
    (tmp_path / "own.json").write_text('{"words": 1, "rows": [{"word": "yak", "class": "complaint"}]}')
    own = read_words(tmp_path / "own.json")
    [line] = gained(after, own).to_dict("records")
    rows = read_words(before.words().save(tmp_path / "before.json", 400))
    table = gained(after, rows)
    found = table[table["gained"] & (table["kind"] == "word") & (table["class"] == "complaint")]
    assert found.sort_values("change").iloc[-1]["word"] == "yak" and line["gained"] and line["now"] > 1
    assert "“yak" in gained_said(table)
    back = gained(before, read_words(after.words().save(tmp_path / "after.json", 400)))
    assert not back[back["word"] == "yak"]["gained"].any() and back[back["word"] == "yak"]["change"].max() < -1


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_a_clean_model_has_no_suspects():
    assert sum(len(planted("clean", seed).suspects) > 0 for seed in range(20)) <= 1


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_the_printed_error_holds_the_exact_effects_of_the_others():
    """Of fifty models and sets: the largest error of 59 drawn parts holds 95 % of all parts in nine of ten."""
    held = []
    for seed in range(50):
        lens, examples = lens_of(seed), labelled(60, seed=seed)
        task = bl.task(lens, examples, progress=False)
        few, all_of_it = task.words(n=1, runs=1, seed=seed), task.words()
        exact = all_of_it.table.set_index(["class", "kind", "word"])["effect"]
        estimates = few.estimates.set_index(["class", "kind", "word"])["estimate"]
        held.append((np.abs(estimates - exact[estimates.index]) <= few.error).mean() >= 0.95)
    assert np.mean(held) >= 0.9
