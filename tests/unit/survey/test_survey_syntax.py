"""Heads as parsers: decision by decision against loops, on hand-made maps, small sentences and treebanks."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from bertlens import InputError, Lens, SelectionError, Trace
from bertlens.survey import corpus, head_stats
from bertlens.survey.syntax import (
    DIRECTIONS,
    NONE,
    Decisions,
    decide,
    held_out,
    predicted_words,
    relation_scores,
    word_attention,
)
from bertlens.survey.treebank import Sentence, read_treebank
from unit import tiny

SENTENCES = [
    Sentence(
        ["the", "unbelievable", "cat", "'", "s", "mats", "was", "warm", "."],
        [2, 2, 5, 2, 3, 7, 7, -1, 7],
        ["det", "amod", "nmod:poss", "case", "dep", "nsubj", "cop", "root", "punct"],
    ),
    Sentence(["it", "was", "unbelievably", "warm"], [3, 3, 3, -1], ["nsubj", "aux:pass", "advmod", "root"]),
    Sentence(["warm"], [-1], ["root"]),
    Sentence(["cat", "\u200b", "sat"], [2, 0, -1], ["nsubj", "dep", "root"]),  # no piece of the second word
]
RANGE = [k for k in range(-10, 11) if k]


def word_map(trace: Trace, layer: int, head: int, n: int, rows: str) -> list[list[float]]:
    """Words in order, special tokens at the end; None for words without pieces becomes an empty row."""
    alpha = trace.attention(layer)[head].double().tolist()
    groups = [[i for i, word in enumerate(trace.word_ids) if word == w] for w in range(n)]
    groups += [[i] for i, word in enumerate(trace.word_ids) if word is None]
    found = []
    for group in groups[:n]:
        merged = [[sum(alpha[i][j] for j in keys) for keys in groups] for i in group]
        if not merged:
            found.append([])
        elif rows == "mean":
            found.append([sum(column) / len(merged) for column in zip(*merged, strict=True)])
        elif rows == "first":
            found.append(merged[0])
        else:
            most = [max(column) for column in zip(*merged, strict=True)]
            found.append([value / sum(most) for value in most])
    return found


def predicted(words: list[list[float]], direction: str) -> list[int]:
    """The word that each word's row (or column) is largest at."""
    n, found = len(words), []
    for d in range(n):
        others = [w for w in range(n) if w != d and words[w] and words[d]]
        value = {w: words[d][w] if direction == "dep->head" else words[w][d] for w in others}
        found.append(max(others, key=lambda w: (value[w], -w)) if others else NONE)
    return found


def by_loops(lens: Any, sentences: list[Sentence], rows: str, heads: list[tuple[int, int]]) -> dict[Any, list[int]]:
    """(direction, layer, head) -> the predictions for all words, in order."""
    found: dict[Any, list[int]] = {(way, *head): [] for way in DIRECTIONS for head in heads}
    for sentence in sentences:
        trace = lens.trace_words(sentence.words)
        for layer, head in heads:
            words = word_map(trace, layer, head, len(sentence), rows)
            for way in DIRECTIONS:
                found[way, layer, head] += predicted(words, way)
    return found


def check(lens: Any, sentences: list[Sentence], rows: str, heads: list[tuple[int, int]]) -> None:
    decisions = decide(lens, sentences, rows=rows, progress=False)
    table = decisions.scores()
    gold = [head for sentence in sentences for head in sentence.heads]
    names = [name for sentence in sentences for name in sentence.relations]
    for (way, layer, head), guess in by_loops(lens, sentences, rows, heads).items():
        right = [g == h for g, h in zip(guess, gold, strict=True)]
        assert decisions.correct[:, DIRECTIONS.index(way), layer, head].tolist() == right  # every single decision
        chosen = table[(table["direction"] == way) & (table["layer"] == layer) & (table["head"] == head)]
        chosen = chosen.set_index("relation")
        words: dict[str, list[int]] = {"ALL": [*range(len(gold))]}
        words["ALL_nopunct"] = [i for i, name in enumerate(names) if name not in ("punct", "root")]
        for i, name in enumerate(names):
            words.setdefault(name.split(":")[0], []).append(i)
            if ":" in name:
                words.setdefault(name, []).append(i)
        assert {*words} == {*chosen.index} - {"nmod:poss+'s"}
        for name, members in words.items():
            assert chosen.loc[name, "accuracy"] == pytest.approx(sum(right[i] for i in members) / len(members))
            assert chosen.loc[name, "n"] == len(members)
        if "nmod:poss" in words:
            marks = possessive_marks(sentences)
            answers = [guess[marks[i]] == gold[i] if i in marks else right[i] for i in words["nmod:poss"]]
            assert chosen.loc["nmod:poss+'s", "accuracy"] == pytest.approx(sum(answers) / len(answers))


def possessive_marks(sentences: list[Sentence]) -> dict[int, int]:
    """Number of each possessor among all words -> number of its mark, the word right behind it."""
    found, first = {}, 0
    for sentence in sentences:
        for d in range(len(sentence) - 1):
            is_mark = sentence.heads[d + 1] == d and sentence.relations[d + 1] == "case"
            if sentence.relations[d] == "nmod:poss" and is_mark:
                found[first + d] = first + d + 1
        first += len(sentence)
    return found


@pytest.fixture(scope="module")
def small() -> Lens:
    return Lens(tiny.bert(), tiny.wordpiece())


@pytest.mark.parametrize("rows", ["mean", "first", "max"])
def test_every_decision_equals_the_loops(small: Lens, rows: str) -> None:
    check(small, SENTENCES, rows, [(layer, head) for layer in range(3) for head in range(4)])


def test_word_attention(small: Lens) -> None:
    """Columns summed, rows merged in three ways; what is missing to 1 goes to [CLS] and [SEP]."""
    sentence = SENTENCES[0]
    trace = small.trace_words(sentence.words)
    assert trace.n_tokens > len(sentence) + 2  # split words
    found = {rows: word_attention(trace, 1, len(sentence), rows) for rows in ("mean", "first", "max")}
    for rows, values in found.items():
        for head in range(4):
            expected = torch.tensor(word_map(trace, 1, head, len(sentence), rows), dtype=torch.float64)
            torch.testing.assert_close(values[head], expected[:, : len(sentence)])
            torch.testing.assert_close(expected.sum(-1), torch.ones(len(sentence), dtype=torch.float64))
    assert not torch.allclose(found["mean"], found["first"])
    assert word_attention(small.trace_words(SENTENCES[3].words), 0, 3)[:, 1].isnan().all()


class Given:
    """Stands for a Lens: every sentence gets the same hand-made maps, one row per word and [CLS] in front."""

    borrowed = None  # as a lens has it

    def __init__(self, *maps: list[list[float]]):
        self.maps = torch.tensor(maps)[None]

    def trace_words(self, words: list[str], truncation: bool = False) -> Trace:
        return Trace.from_attentions(self.maps, ["[CLS]", *words])


def test_a_map_made_by_hand() -> None:
    """Heads and directions, the possessive rule, offsets; [CLS] and the word itself are out of the race."""
    sentence = Sentence(
        ["Ann", "'s", "old", "cat", "sleeps"], [3, 0, 3, 4, -1], ["nmod:poss", "case", "amod", "nsubj", "root"]
    )
    maps = [
        [1.0, 0, 0, 0, 0, 0],
        [0.6, 0.2, 0.15, 0, 0.05, 0],  # Ann -> 's
        [0, 0.4, 0, 0, 0.6, 0],  # 's -> cat, the possessor's head
        [0, 0, 0, 0.6, 0.4, 0],  # old -> cat, once itself is out
        [0.1, 0.3, 0, 0, 0.2, 0.4],  # cat -> sleeps
        [0, 0, 0, 0, 0.7, 0.3],  # sleeps -> cat
    ]
    table = relation_scores(Given(maps), [sentence], progress=False)  # type: ignore[arg-type]
    assert table.attrs == {"rows": "mean", "sentences": 1, "too_long": 0}
    there = table[table["direction"] == "dep->head"].set_index("relation")
    accuracy = {"nmod": 0, "nmod:poss": 0, "nmod:poss+'s": 1, "case": 0, "amod": 1, "nsubj": 1, "root": 0}
    for name, expected in (accuracy | {"ALL": 2 / 5, "ALL_nopunct": 2 / 4}).items():
        assert there.loc[name, "accuracy"] == pytest.approx(expected), name
    back = table[table["direction"] == "head->dep"].set_index("relation")
    # most attention to Ann is from 's, to 's from Ann, to old from nobody (the first word), to cat from sleeps; by the
    # mark's own column the possessor's head would be Ann
    accuracy = {"nmod:poss": 0, "nmod:poss+'s": 0, "case": 1, "amod": 0, "nsubj": 1, "root": 0, "ALL": 2 / 5}
    for name, expected in accuracy.items():
        assert back.loc[name, "accuracy"] == pytest.approx(expected), name
    # +1 finds old -> cat and cat -> sleeps; the root only a clamped offset finds: none here, as -5 leaves the others
    assert there.loc["ALL", ["offset", "offset_accuracy"]].tolist() == [1, 2 / 5]
    assert there.loc["amod", ["offset", "offset_accuracy", "offset_accuracy_clamped"]].tolist() == [1, 1, 1]
    assert there.loc["nmod:poss", "offset"] == 3
    assert there.loc["root", ["offset_accuracy", "offset_accuracy_clamped"]].tolist() == [0, 1]  # -5 leads to the root


def test_predictions_without_others() -> None:
    assert predicted_words(torch.ones(1, 1, 1)).tolist() == [[[NONE]], [[NONE]]]
    even = torch.full((1, 3, 3), 1 / 3)
    assert predicted_words(even)[0].tolist() == [[1, 0, 0]]  # equal weights: the first word


def test_baselines_equal_the_loops(small: Lens) -> None:
    table = relation_scores(small, SENTENCES, progress=False)
    for name in ("ALL", "ALL_nopunct", "nsubj", "root", "aux"):
        words = [
            (d, head, len(sentence))
            for sentence in SENTENCES
            for d, (head, full) in enumerate(zip(sentence.heads, sentence.relations, strict=True))
            if name == "ALL" or (name == "ALL_nopunct" and full not in ("punct", "root")) or full.split(":")[0] == name
        ]
        strict, clamped = {}, {}
        for k in RANGE:
            strict[k] = sum(d + k == head and head >= 0 for d, head, _ in words) / len(words)
            # positions from 1 and 0 for the root, as in the released code
            clamped[k] = sum(min(max(0, d + 1 + k), n) == head + 1 for d, head, n in words) / len(words)
        row = table[table["relation"] == name].iloc[0]
        assert row["offset_accuracy"] == pytest.approx(max(strict.values())) == pytest.approx(strict[row["offset"]])
        assert row["offset_accuracy_clamped"] == pytest.approx(max(clamped.values()))


def made_up(correct: np.ndarray, sentence: np.ndarray) -> Decisions:
    n = len(correct)
    return Decisions(
        correct=correct,
        by_mark=np.zeros_like(correct),
        relation=np.array(["nsubj"] * n),
        sentence=sentence,
        position=np.zeros(n, dtype=int),
        head=np.ones(n, dtype=int),
        length=np.full(n, 2),
        possessor=np.zeros(n, dtype=bool),
        rows="mean",
        skipped=0,
    )


def test_held_out_words() -> None:
    """Three heads, six sentences: each half's best is counted on the other half, ties take the first head."""
    right = np.array([[3, 0, 1], [0, 2, 1], [3, 0, 1], [0, 3, 2], [2, 0, 1], [1, 1, 1]])
    half = np.array([True, False, True, False, True, False])  # there head 0 is best with 8, in the others 1 with 6
    assert held_out(right, half).tolist() == [0, 0, 0, 0, 0, 1]
    assert held_out(np.ones((4, 3), dtype=int), np.array([True, True, False, False])).tolist() == [1, 1, 1, 1]


def test_best_heads() -> None:
    """A clear winner, words that stand and fall together, heads that share the wins, too few words or sentences."""
    random = np.random.default_rng(1)
    alone = random.random((400, 2, 2, 3)) < 0.3
    alone[:, 1, 0, 2] = random.random(400) < 0.6
    found = made_up(alone, np.arange(400)).best_heads().iloc[0]
    assert (found["relation"], found["direction"], found["layer"], found["head"]) == ("ALL", "head->dep", 0, 2)
    p = alone[:, 1, 0, 2].mean()
    assert found["accuracy"] == pytest.approx(p) and found["stable"] == 1  # the same head in both halves
    half = 1.96 * np.sqrt(p * (1 - p) / 400)
    assert found["low"] == pytest.approx(p - half, abs=0.01) and found["high"] == pytest.approx(p + half, abs=0.01)
    together = np.repeat(alone[:100], 4, 0)
    wide = made_up(together, np.repeat(np.arange(100), 4)).best_heads().iloc[0]
    assert (wide["high"] - wide["low"]) / (found["high"] - found["low"]) == pytest.approx(2, abs=0.25)
    # two heads that are equally good: each is the best in about half of the draws
    even = np.zeros((200, 2, 1, 2), dtype=bool)
    even[::2, 0, 0, 0] = even[1::2, 0, 0, 1] = True
    shared = made_up(even, np.arange(200))
    assert 0.4 < shared.best_heads().iloc[0]["stable"] < 0.6
    assert shared.best_heads(100, seed=3).equals(shared.best_heads(100, seed=3))
    assert made_up(alone[:19], np.arange(19)).best_heads().empty  # too few words
    assert made_up(alone, np.zeros(400, dtype=int)).best_heads().empty  # one sentence has no other half


def simulated(accuracies: np.ndarray, n: int, each: int, repeats: int) -> dict[str, np.ndarray]:
    """best_heads where the heads' true accuracies are known, over fresh words, `each` of them to a sentence."""
    random = np.random.default_rng(n)
    shape = (2, len(accuracies) // 2, 1)
    found: dict[str, list[float]] = {"error": [], "covered": [], "flattered": []}
    for _ in range(repeats):
        correct = (random.random((n, len(accuracies))) < accuracies).reshape(n, *shape)
        row = made_up(correct, np.arange(n) // each).best_heads(1).iloc[0]
        truth = accuracies.reshape(shape)[DIRECTIONS.index(row["direction"]), row["layer"], row["head"]]
        found["error"].append(row["accuracy"] - truth)
        found["covered"].append(row["low"] <= truth <= row["high"])
        found["flattered"].append(correct.mean(0).max() - truth)
    return {name: np.array(values) for name, values in found.items()}


def test_accuracy_is_not_that_of_the_luckiest() -> None:
    """144 heads that all guess: the best is right in .5 of new words, not in the .7 and more that it was chosen for."""
    found = simulated(np.full(144, 0.5), 40, 2, 150)
    assert found["flattered"].mean() > 0.15  # what is reported where choice and count are of the same words
    assert abs(found["error"].mean()) < 3 * found["error"].std() / np.sqrt(150)
    assert found["covered"].mean() >= 0.93


def test_accuracy_and_interval_of_a_clear_winner() -> None:
    """p = .95 in 20 words, where a bootstrap is too narrow: no bias, and the interval covers as told."""
    accuracies = np.append(np.linspace(0.02, 0.25, 143), 0.95)
    found = simulated(accuracies, 20, 1, 200)
    assert abs(found["error"].mean()) < 3 * found["error"].std() / np.sqrt(200)
    assert found["covered"].mean() >= 0.93


def test_accuracy_of_heads_that_run_close() -> None:
    """The head of half the sentences is a little worse than that of all: down by less than a tenth of a word in 50."""
    found = simulated(np.linspace(0.2, 0.7, 144), 50, 2, 200)
    assert found["flattered"].mean() > 0.06
    assert -0.03 < found["error"].mean() < 0.01
    assert abs(found["error"].mean()) < found["error"].std() / 2  # less than its own error
    assert found["covered"].mean() >= 0.93


@pytest.mark.data
@pytest.mark.long
def test_intervals_on_a_treebank(embedded_lens: Lens, data: Path) -> None:
    """Draws of sentences of a whole treebank, where each head's accuracy in all of it is the truth."""
    pytest.importorskip("conllu")
    every = decide(embedded_lens, data / "ud_english" / "en_pud-ud-test.conllu", progress=False)
    truth = {name: every.counted(name)[member].mean(0) for name, member in every.members()}
    random = np.random.default_rng(0)
    errors, covered = [], []
    for _ in range(60):
        drawn = random.choice(np.unique(every.sentence), 40)
        places = [np.flatnonzero(every.sentence == number) for number in drawn]
        words = np.concatenate(places)
        fields = ("correct", "by_mark", "relation", "position", "head", "length", "possessor")
        part = Decisions(
            **{name: getattr(every, name)[words] for name in fields},
            sentence=np.repeat(np.arange(len(drawn)), [len(place) for place in places]),
            rows="mean",
            skipped=0,
        )
        for row in part.best_heads(1).itertuples():
            p = truth[row.relation][DIRECTIONS.index(row.direction), row.layer, row.head]
            errors.append(row.accuracy - p)
            covered.append(row.low <= p <= row.high)
    assert -0.03 < np.mean(errors) < 0.01 and np.mean(covered) >= 0.93


CONLLU = """# sent_id = one
# text = Don't go
1-2\tDon't\t_\t_\t_\t_\t_\t_\t_\t_
1\tDo\tdo\tAUX\t_\t_\t3\taux\t_\t_
2\tn't\tnot\tPART\t_\t_\t3\tadvmod\t_\t_
3\tgo\tgo\tVERB\t_\t_\t0\troot\t_\t_
3.1\tgone\tgo\tVERB\t_\t_\t_\t_\t_\t_
4\ta b\tx\tNOUN\t_\t_\t3\tobl:tmod\t_\t_

"""


def test_treebank(tmp_path: Path) -> None:
    pytest.importorskip("conllu")
    path = tmp_path / "a.conllu"
    path.write_text(CONLLU * 2)
    first, second = read_treebank(path)
    assert first == second
    assert first.words == ["Do", "n't", "go", "a b"] and first.heads == [2, 2, -1, 2] and first.name == "one"
    assert first.relations == ["aux", "advmod", "root", "obl:tmod"]
    lens = Lens(tiny.bert(), tiny.wordpiece())
    assert corpus.size(path) == 2
    found, expected = (head_stats(lens, given, progress=False) for given in (path, [first.words] * 2))
    np.testing.assert_allclose(found.values("entropy"), expected.values("entropy"))
    with gzip.open(tmp_path / "a.conllu.gz", "wt") as out:
        out.write(CONLLU)
    assert list(read_treebank(tmp_path / "a.conllu.gz")) == [first]
    assert head_stats(lens, tmp_path / "a.conllu.gz", progress=False).n_tokens * 2 == found.n_tokens
    (tmp_path / "b.conllu").write_text("one\ttwo\n\n")
    (tmp_path / "c.conllu").write_text(CONLLU.replace("3\taux", "_\t_"))
    for name, message in (
        ("b.conllu", "not a CoNLL-U file"),
        ("c.conllu", "without head"),
        ("d.conllu", "no treebank"),
    ):
        with pytest.raises(InputError, match=message):
            list(read_treebank(tmp_path / name))
    for words, heads in (([], []), (["a"], [1]), (["a", "b"], [-1])):
        with pytest.raises(InputError, match="sentence 'x'"):
            Sentence(words, heads, ["root"] * len(heads), "x")


def test_a_treebank_without_its_text_is_refused(tmp_path: Path) -> None:
    """As those come whose text may not be passed on; one word that is "_" is a word."""
    pytest.importorskip("conllu")
    path = tmp_path / "a.conllu"
    lines = [f"{n}\t_\t_\tNOUN\t_\t_\t{n - 1}\t{'root' if n == 1 else 'dep'}\t_\t_" for n in (1, 2, 3)]
    path.write_text("# sent_id = x\n" + "\n".join(lines) + "\n\n")
    with pytest.raises(InputError, match="sentence 'x': each of the 3 words is '_': this treebank comes without its"):
        list(read_treebank(path))
    lens = Lens(tiny.bert(), tiny.wordpiece())
    with pytest.raises(InputError, match=r"line 1 of a.conllu: each of the 3 words is '_'"):
        head_stats(lens, path, progress=False)
    path.write_text(lines[0] + "\n\n")
    assert [sentence.words for sentence in read_treebank(path)] == [["_"]]


def test_bad_input(small: Lens) -> None:
    with pytest.raises(SelectionError, match="no way 'last'"):
        relation_scores(small, SENTENCES, rows="last")
    with pytest.raises(InputError, match="a treebank is"):
        relation_scores(small, ["the cat"], progress=False)
    with pytest.raises(InputError, match="no sentences"):
        relation_scores(small, [], progress=False)
    long = Sentence(["cat"] * 80, [-1, *[0] * 79], ["root", *["dep"] * 79])
    with pytest.warns(UserWarning, match="1 sentence too long"):
        table = relation_scores(small, [*SENTENCES, long], progress=False)
    assert table.attrs["too_long"] == 1 and table["n"].max() == sum(map(len, SENTENCES))


@pytest.mark.data
@pytest.mark.parametrize("name", ["en_ewt-ud-test", pytest.param("en_pud-ud-test", marks=pytest.mark.long)])
def test_treebank_decisions(embedded_lens: Lens, data: Path, name: str) -> None:
    """200 sentences, 100 of each treebank, the nine heads of three layers and corners."""
    pytest.importorskip("conllu")
    sentences = list(read_treebank(data / "ud_english" / f"{name}.conllu"))[:100]
    check(embedded_lens, sentences, "mean", [(0, 0), (1, 8), (2, 3), (3, 6), (4, 10), (5, 11)])


def test_word_attention_refuses_what_it_cannot_mean(small: Lens) -> None:
    trace = small.trace_words(["the", "cat", "sat"])
    with pytest.raises(SelectionError, match="no way 'frist' to merge"):
        word_attention(trace, 0, 3, "frist")
    with pytest.raises(InputError, match="other words than the sentence"):
        word_attention(trace, 0, 2)
