"""Where a classifier is wrong: a planted slice is found, chance is not; words and neighbours are the model's."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import torch
from scipy import stats as st

import bertlens as bl
from bertlens.errors import InputError
from bertlens.measures import attribution
from bertlens.tasks import subgroups as sl
from bertlens.tasks.mistakes import _named  # the words of one cell
from unit.tasks.classifier import lens_of, texts_of


@pytest.fixture(scope="module")
def task() -> bl.Task:
    """A classifier whose answers are the labels but for most texts with "mat"."""
    lens, texts = lens_of(4), texts_of(120, 4)
    random = np.random.default_rng(0)
    guesses = [int(lens.trace(text).output.logits.argmax()) for text in texts]
    other = [("mat" in text.split() and random.random() < 0.8) or random.random() < 0.05 for text in texts]
    return bl.task(lens, [(t, g ^ int(o)) for t, g, o in zip(texts, guesses, other, strict=True)], progress=False)


def fisher(inside: np.ndarray, wrong: np.ndarray) -> float:
    """That so many are wrong inside, or more, is chance."""
    counts = [[(wrong & side).sum(), (~wrong & side).sum()] for side in (inside, ~inside)]
    return float(st.fisher_exact(counts, "greater").pvalue)


def test_the_planted_word_is_told_by_words_and_is_no_slice(task):
    inside = np.array(["mat" in text[0].split() for text in task.examples.texts])
    wrong = task.labels != task.guesses
    counts = inside.sum(), wrong[inside].sum(), wrong[~inside].sum(), (~inside).sum()
    said = "More is wrong than chance would make it in texts with “mat” ({1} of {0}, others {2} of {3}).".format(
        *counts
    )
    for words in (task.words(), task.words(1, runs=1)):  # where not all is run, too
        found = words.table[words.table["kind"] == "word"].sort_values("p_wrong")
        row = found.iloc[0]
        assert (row["word"], row["texts"], row["wrong"]) == ("mat", counts[0], counts[1])
        assert row["rate"] == pytest.approx(wrong[inside].mean()) and row["rate_outside"] == wrong[~inside].mean()
        assert row["p_wrong"] == pytest.approx(fisher(inside, wrong), rel=1e-6)
        assert row["p_wrong_holm"] == pytest.approx(words.tried * row["p_wrong"], rel=1e-6)
        assert said in words.said
    assert not found[found["word"] != "mat"]["p_wrong_holm"].le(0.05).any()
    assert {*task.slices()["kind"]} == {"length", "label"} and "mat" not in task.errors(1, words=False).said


def test_slices_are_counted_as_by_hand(task):
    found = task.slices().set_index("slice")
    wrong, lengths = task.labels != task.guesses, np.array([len(text[0].split()) for text in task.examples.texts])
    third, two = (int(x) for x in np.quantile(lengths, [1 / 3, 2 / 3]))
    slices = {f"at most {third} words": lengths <= third, f"more than {two} words": lengths > two}
    slices |= {name: task.labels == k for k, name in enumerate(task.names)}
    assert {*found.index} == {*slices}
    for name, inside in slices.items():
        row = found.loc[name]
        assert (row["n"], row["wrong"]) == (inside.sum(), wrong[inside].sum())
        assert (row["rate"], row["rate_outside"]) == pytest.approx((wrong[inside].mean(), wrong[~inside].mean()))
        assert row["p"] == pytest.approx(fisher(inside, wrong), rel=1e-6)


def test_texts_in_small_pieces_are_counted_beside_the_others(task):
    """Each word of the first forty is spelled so that the tokenizer has it in letters."""
    lens = task.lens
    fine = [" ".join(letter for word in text[0].split() for letter in word) for text in task.examples.texts[:40]]
    fine = [text.replace(" ", "") for text in fine]  # one long word, in many pieces
    texts = [*fine, *(text[0] for text in task.examples.texts[40:])]
    guesses = [int(lens.trace(text).output.logits.argmax()) for text in texts]
    wrong = np.array([n < 14 or 40 <= n < 43 for n in range(len(texts))])
    pieces = [len(lens.tokenizer.tokenize(text)) / len(text.split()) for text in texts]
    assert [n > 2 for n in pieces] == [True] * 40 + [False] * (len(texts) - 40)
    planted = bl.task(lens, [(t, g ^ int(w)) for t, g, w in zip(texts, guesses, wrong, strict=True)], progress=False)
    found = planted.slices()
    [row] = found[found["slice"] == "in more than 2 pieces a word"].to_dict("records")
    assert (row["n"], row["wrong"], row["finding"]) == (40, 14, True)
    table = [[14, 26], [3, len(texts) - 43]]
    assert row["p"] == pytest.approx(st.fisher_exact(table, "greater").pvalue, rel=1e-6)
    p = "below .001" if row["p_holm"] < 0.001 else f"{row['p_holm']:.3f}"[1:]
    said = f"Texts in more than 2 pieces a word: 14 of 40 wrong, others 3 of {len(texts) - 40} (p {p} by Holm)."
    assert said in planted.errors(1, words=False).said
    even = bl.task(lens, [(t, g ^ (n % 5 == 0)) for n, (t, g) in enumerate(zip(texts, guesses, strict=True))])
    others = len(texts) - 40
    chance = f"pieces a word: 8 of 40 wrong, others {others // 5} of {others} (p 1.000 by Holm: may be chance)."
    assert chance in sl.slices_said(even.slices())
    assert "pieces" not in sl.slices_said(task.slices())  # whose words are whole


def test_more_than_chance_is_fishers_test():
    for hits, n, of, total in (
        (3, 10, 20, 100),
        (0, 10, 20, 100),
        (10, 10, 20, 100),
        (7, 40, 8, 50),
        (30, 90, 200, 1000),
    ):
        table = [[hits, n - hits], [of - hits, total - n - of + hits]]
        assert sl.more_than_chance(hits, n, of, total) == pytest.approx(
            st.fisher_exact(table, "greater").pvalue, rel=1e-9
        )


def test_slices_of_answers_that_are_wrong_by_chance_make_few_findings():
    random, some = np.random.default_rng(1), 0
    for _ in range(200):
        members = [("word", str(k), random.random(300) < random.uniform(0.05, 0.5)) for k in range(50)]
        some += bool(sl.slice_table(members, random.random(300) < 0.2)["finding"].any())
    assert some / 200 <= 0.09


def test_near_duplicates_are_those_of_all_pairs():
    random = np.random.default_rng(3)
    known = [f"w{k}" for k in range(30)]
    texts = [(" ".join(random.choice(known, 10, replace=False)),) for _ in range(60)]
    texts += [(text[0].replace("w1 ", "W2, "),) for text in texts[:30]] + texts[:5]
    labels = random.integers(0, 2, len(texts))
    expected = {}
    for b in range(len(texts)):
        for a in range(b):
            one, two = (set(texts[i][0].lower().replace(",", "").split()) for i in (a, b))
            if labels[a] != labels[b] and (alike := len(one & two) / len(one | two)) >= 0.8:
                expected[a, b] = alike
    found = sl.near_duplicates(texts, labels)
    assert len(expected) > 10 and {(a, b): alike for a, b, alike in found} == expected
    assert [alike for *_, alike in found] == sorted(expected.values(), reverse=True)


def test_an_error_has_its_words_and_its_neighbour(task):
    found = task.errors(4)
    table = found.table
    assert table["loss"].tolist() == sorted(task.table["loss"], reverse=True)[:4]
    assert found.wrong == (task.labels != task.guesses).sum() and not table["right"].any()
    assert (table["words"] != "").any()
    for _, row in table.iterrows():
        guess, label = task.names.index(row["guess"]), task.names.index(row["label"])
        trace = task.lens.trace(row["text"])
        own = attribution.occlusion(trace, lambda output, g=guess, k=label: output.logits[0, g] - output.logits[0, k])
        best = own.words[own.words["value"] > 0].sort_values("value", ascending=False).head(3)
        assert row["words"] == ", ".join(
            f"{b['word'].replace(' ##', '')} ({b['value']:+.2f})" for _, b in best.iterrows()
        )
        faithful = attribution.faithfulness(trace, own, ceiling=False)
        assert row["comprehensiveness"] == pytest.approx(faithful["comprehensiveness"].iloc[0], abs=1e-5)
        assert row["random"] == pytest.approx(faithful.loc["random", "comprehensiveness"], abs=1e-5)
        assert row["beats"] == faithful["comprehensiveness_beats"].iloc[0]
    # the vector that the classifier reads, from the model's own pooler
    right = [r for r in range(len(task)) if task.labels[r] == task.guesses[r] == label and r != row["row"]]
    with torch.no_grad():
        inputs = [task.lens.tokenizer(task.examples.texts[r][0], return_tensors="pt") for r in [row["row"], *right]]
        own_vector, *others = [task.lens.model.bert(**one).pooler_output[0] for one in inputs]
    cosines = torch.cosine_similarity(torch.stack(others), own_vector[None])
    assert row["nearest"] == right[int(cosines.argmax())]
    assert row["similarity"] == pytest.approx(float(cosines.max()), abs=1e-5)
    assert row["nearest_text"] == task.examples.texts[row["nearest"]][0]


def test_the_neighbour_of_an_error_is_right(task):
    table = task.errors(len(task), words=False).table
    own = table.set_index("row")
    assert own.loc[table["nearest"], "right"].all() and (table["nearest"] != table["row"]).all()
    assert (own.loc[table["nearest"], "label"].to_numpy() == table["label"].to_numpy()).all()


def test_words_are_named_that_the_answer_rests_on_and_no_rounding():
    words = pd.DataFrame({"word": ["the", "un ##told", "cat", "sat"], "value": [-0.5, 0.004, 3e-7, np.nan]})
    assert _named(words) == "untold (+0.004)"  # as many decimals as tell it from 0
    assert _named(words.assign(value=[2.0, 1.0, 0.5, 0.25])) == "the (+2.00), untold (+1.00), cat (+0.50)"
    assert _named(words.assign(value=[-1.0, 0.0, 4e-7, -4e-7])) == ""


def test_texts_with_two_labels_are_shown_to_each_other():
    lens = lens_of()
    examples = [("the cat sat on the mat", 0), ("it was very warm", 1), ("The cat sat, on the mat.", 1), ("cats", 0)]
    found = bl.task(lens, examples, progress=False).errors(4, words=False)
    assert found.duplicates[["row", "twin", "alike"]].to_numpy().tolist() == [[0, 2, 1.0]]
    twins = found.table.set_index("row")["twin"]
    assert twins.to_dict() == {0: 2, 2: 0, 1: -1, 3: -1}
    assert "1 pair of near-duplicates has" in found.said and "No slice has 10 examples inside and" in found.said


def test_pairs_and_texts_that_are_too_long_for_runs():
    lens = lens_of(6, max_position_embeddings=300)
    examples = [(("the cat", "sat on the mat"), k % 2) for k in range(3)] + [(("the cat " * 110, "sat"), 1)]
    task = bl.task(lens, examples, progress=False)
    found = task.errors(4).table.set_index("row")
    assert np.isnan(found.loc[3, "comprehensiveness"]) and not np.isnan(found.loc[0, "comprehensiveness"])
    assert found.loc[0, "text_pair"] == "sat on the mat"
    with pytest.raises(InputError, match="n is how many"):
        task.errors(0)
