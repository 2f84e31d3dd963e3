"""What edits are made of texts, and that a probe tells a model that reads them from one that does not."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Sequence
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

import bertlens as bl
from bertlens.errors import InputError
from bertlens.measures.significance import count_interval
from bertlens.search.edit_probe import EditProbe, probe
from bertlens.search.edits import FILLERS, Editor, exchanged, names_of, sentences_of
from bertlens.survey.treebank import Sentence
from unit import tiny_encoders

NOUNS = "engine wing tunnel pilot bridge harbour museum garden letter window".split()
NAMES = "Ada Berlin Carla Dover Elena Fargo Greta Hanoi Irene Jena".split()


def text(at: int) -> str:
    a, b = NOUNS[at % 10], NOUNS[(at // 10 + at) % 10]
    return f"the {a} and the {b} of {NAMES[at % 10]} were moved {at + 11} times by the people of the town in {at}."


TEXTS = [text(at) for at in range(70)]


@cache
def tokenizer() -> Any:
    return bl.Lens.embedded().tokenizer


STEADY = SimpleNamespace(fingerprint=lambda: None, change=lambda before: "")  # a model that never changes


class HandMade:
    """An encoder by a function of a text to its vector."""

    crosses, function, truncate_dim, limit = False, "cosine", None, None

    def __init__(self, vector: Callable[[str], np.ndarray]):
        self._vector = vector

    def encode(self, texts: Sequence[str], *_: Any) -> torch.Tensor:
        return torch.tensor(np.array([self._vector(text) for text in texts]), dtype=torch.float32)

    def prompt(self, *_: Any) -> str:
        return ""


def lens(vector: Callable[[str], np.ndarray]) -> Any:
    return SimpleNamespace(borrowed=STEADY, sentences=HandMade(vector), tokenizer=tokenizer(), model_name="hand-made")


def draw(word: str, seed: int = 0) -> np.ndarray:
    key = int.from_bytes(hashlib.blake2b(f"{seed} {word}".encode(), digest_size=8).digest(), "little")
    return np.random.default_rng(key).normal(size=16)


def bag(text: str, weights: dict[str, float], seed: int = 0) -> np.ndarray:
    """A sum of a vector for each word. weights: words that weigh more or less than 1."""
    words = re.findall(r"\w+", text)
    return np.sum([weights.get(word, 1.0) * draw(word, seed) for word in words], axis=0)


def naive(pairs: pd.DataFrame, kind: str) -> int:
    rows = pairs[pairs["kind"] == kind]
    return sum(abs(r.score - r.score_edit) < abs(r.score - r.score_filler) - 1e-6 for r in rows.itertuples())


def test_a_model_that_ignores_not_is_found_and_one_that_reads_it_is_not() -> None:
    deaf = probe(lens(lambda text: bag(text, {"not": 0.0})), TEXTS, progress=False)
    row = deaf.table.set_index("kind").loc["not"]
    assert row["n"] == 70 and row["less"] == 70 and row["finding"] and row["p_holm"] < 1e-15
    assert row["moved"] == pytest.approx(0, abs=1e-6) and row["filler"] > 0.005
    assert (
        "In 70 of 70 texts “not” moves the score less than a filler of equal length does (100 %, 95 to 100), "
        in deaf.said
    )
    assert "more often than chance gives: to this model a filler is more." in deaf.said
    alert = probe(lens(lambda text: bag(text, {"not": 3.0})), TEXTS, progress=False)
    row = alert.table.set_index("kind").loc["not"]
    assert row["less"] <= 2 and not row["finding"] and row["moved"] > row["filler"]
    numbers = probe(lens(lambda text: bag(re.sub(r"\d+", "1", text), {})), TEXTS, progress=False)
    assert numbers.table.set_index("kind")["finding"].to_dict() == {"not": False, "number": True, "name": False}


def alarms(seeds: range) -> int:
    """How often something is found where an edit is to the model what any filler is: each version at random."""
    count = 0
    for seed in seeds:

        def vector(text: str, seed: int = seed) -> np.ndarray:
            return 8 * draw(re.findall(r"moved|times", text)[0], seed) + draw(text, seed)

        table = probe(lens(vector), TEXTS, seed=seed, progress=False).table
        assert (table["n"] >= 30).sum() == 3
        count += bool(table["finding"].any())
    return count


def test_false_alarms_are_rare() -> None:
    assert alarms(range(20)) <= 2


@pytest.mark.long
def test_in_200_draws_false_alarms_are_at_most_one_in_twenty() -> None:
    assert alarms(range(200)) <= 10


def test_a_table_counts_what_its_pairs_say() -> None:
    paraphrases = [
        (f"the {a} was closed and empty", f"nobody was in the {a} and {b}") for a in NOUNS for b in NOUNS[:4]
    ]
    weights = {"not": 0.6, "also": 0.5, "here": 1.5}
    found = probe(lens(lambda text: bag(text, weights)), TEXTS, paraphrases=paraphrases, seed=3, progress=False)
    table = found.table.set_index("kind")
    assert [*table.index] == ["not", "number", "name", "paraphrase"]
    moves = {kind: (rows["score"] - rows["score_edit"]).abs() for kind, rows in found.pairs.groupby("kind")}
    for kind, row in table.iterrows():
        n = int((found.pairs["kind"] == kind).sum())
        assert row["n"] == n >= 30 and row["less"] == naive(found.pairs, kind)
        assert (row["low"], row["high"]) == count_interval(row["less"], n) and row["share"] == row["less"] / n
        assert row["moved"] == pytest.approx(moves[kind].median())
        if kind != "paraphrase":
            below = np.mean([[a < b for b in moves["paraphrase"]] for a in moves[kind]])
            assert row["below_paraphrases"] == pytest.approx(below)
    assert np.isnan(table.loc["paraphrase", "p"]) and not table.loc["paraphrase", "finding"]
    assert "texts a paraphrase moves the score less than a filler of equal length does" in found.said


def test_of_few_texts_nothing_is_told() -> None:
    few = probe(lens(lambda text: bag(text, {})), TEXTS[:29], progress=False)
    assert (
        few.table["share"].isna().all() and few.table["n"].tolist() == [29, 29, 29] and not few.table["finding"].any()
    )
    assert few.said.startswith(
        "Of “not” nothing is told: 29 texts are too few, at least 30 are needed. Of another number"
    )
    assert probe(lens(lambda text: bag(text, {})), TEXTS, n=30, progress=False).table["n"].tolist() == [30, 30, 30]
    none = probe(lens(lambda text: bag(text, {})), ["kurz"], progress=False)
    assert none.table["n"].tolist() == [0, 0, 0] and not len(none.pairs)


def test_texts_that_are_cut_are_left_out() -> None:
    whole = lens(lambda text: bag(text, {}))
    whole.sentences.limit = 24
    cut = probe(whole, TEXTS, progress=False)
    sizes = [len(tokenizer()(text)["input_ids"]) for name in ("text", "edit", "filler") for text in cut.pairs[name]]
    assert max(sizes) <= 24
    whole.sentences.limit = 16
    assert not len(probe(whole, TEXTS, progress=False).pairs)


# --- edits ---


def editor(seed: int = 0) -> Editor:
    return Editor(tokenizer(), FILLERS, np.random.default_rng(seed))


def sizes(*texts: str) -> list[int]:
    return [len(tokenizer().tokenize(text)) for text in texts]


def test_not_stands_behind_the_first_auxiliary_and_a_filler_where_it_stands() -> None:
    edit = editor().with_not("the wing was bent and will be mended")
    assert edit is not None and edit.edit == "the wing was not bent and will be mended"
    assert re.fullmatch(rf"the wing was ({'|'.join(FILLERS)}) bent and will be mended", edit.filler)
    before, after, filler = sizes(edit.text, edit.edit, edit.filler)
    assert after == filler == before + 1
    for other in (
        "the wing bent",
        "the wing was never bent",
        "the wing isn't what it was",
        "er will den Flügel",
        "Is the wing bent",
    ):
        assert editor().with_not(other) is None


def test_another_number_has_as_many_digits_each_another() -> None:
    for seed in range(20):
        edit = editor(seed).with_number("of 1,905.5 the 7 are here")
        assert edit is not None
        (number,) = re.fullmatch(r"of (\d,\d{3}\.\d) the 7 are here", edit.edit).groups()
        assert all(a != b for a, b in zip(number, "1,905.5", strict=True) if b.isdigit()) and number[0] != "0"
        before, filler = sizes(edit.text, edit.filler)
        assert filler - before == sizes(number)[0]
    assert editor().with_number("the F16 of the year") is None and editor().with_number("Zahl 5") is None


def test_another_name_comes_from_the_texts() -> None:
    texts = [
        "We met the people of Berlin in May and the Rose grew",
        "a rose of the garden",
        "They left Dover for the sea",
    ]
    names = names_of(texts)
    assert names == ["Berlin", "Dover"]
    edit = editor().with_name(texts[0], names)
    assert edit is not None and edit.edit == texts[0].replace("Berlin", "Dover")
    title = "The Flow of Air in the Berlin Wind Tunnel"
    assert names_of([*texts, title]) == names and editor().with_name(title, names) is None
    assert editor().with_name(texts[1], names) is None and editor().with_name(texts[0], ["Berlin"]) is None


def test_a_filler_stands_before_the_stop_where_there_is_no_auxiliary() -> None:
    edit = Editor(tokenizer(), ["also"], np.random.default_rng(0)).beside(
        "roles", "Hund beißt Mann.", "Mann beißt Hund."
    )
    assert edit is not None and re.fullmatch(r"Hund beißt Mann( also)+\.", edit.filler)
    assert Editor(tokenizer(), ["☃☃unknownish☃"], np.random.default_rng(0)).beside("roles", "a b", "b a") is None


def test_sentences_are_of_a_middle_length() -> None:
    assert sentences_of("Too short. This one has five words!  And\nthis one has even six. End") == [
        "This one has five words!", "And this one has even six.",
    ]  # fmt: skip


def tree(words: str, heads: Sequence[int], relations: str) -> Sentence:
    return Sentence(words.split(), [head - 1 for head in heads], relations.split())


def test_subject_and_object_change_places() -> None:
    dog = tree("The old dog bites a man today .", [3, 3, 4, 0, 6, 4, 4, 4], "det amod nsubj root det obj advmod punct")
    assert exchanged(dog) == ("The old dog bites a man today .", "A man bites the old dog today .")
    ada = tree("Ada saw Bea", [2, 0, 2], "nsubj root obj")
    assert exchanged(ada) == ("Ada saw Bea", "Bea saw Ada")
    for words, heads, relations in (
        ("She saw Bea", [2, 0, 2], "nsubj root obj"),
        ("Ada slept", [2, 0], "nsubj root"),
        ("Ada saw Bea", [2, 0, 2], "nsubj root obl"),
    ):
        assert exchanged(tree(words, heads, relations)) is None
    gap = tree("Ada Bea saw who", [3, 3, 0, 1], "nsubj obj root acl")  # what depends on Ada stands behind the verb
    assert exchanged(gap) is None


def test_roles_are_of_a_treebank_or_of_pairs() -> None:
    trees = [tree(f"Ada{at} saw Bea", [2, 0, 2], "nsubj root obj") for at in range(40)]
    pairs = [(f"Ada{at} saw Bea", f"Bea saw Ada{at}") for at in range(40)]
    tables = [
        probe(lens(lambda text: bag(text, {})), ["-"], roles=roles, progress=False).table.set_index("kind")
        for roles in (trees, pairs)
    ]
    pd.testing.assert_frame_equal(*tables)
    row = tables[0].loc["roles"]
    assert row["n"] == row["less"] == 40 and row["finding"]  # a bag has no order


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"roles": 3}, r"roles are a list of \(text, text\), not 3"),
        ({"roles": ["ab"]}, r"roles are a list of \(text, text\), of which 'ab' is none"),
        ({"roles": "nowhere.conllu"}, "no treebank at nowhere.conllu"),
        ({"paraphrases": [("a", "")]}, "paraphrases are a list of"),
        ({"paraphrases": []}, "paraphrases are a list of"),
        ({"fillers": "also"}, "fillers are words that change nothing, such as"),
        ({"n": 0}, "n is how many texts of a kind to take, at least 1"),
        ({"seed": -1}, "seed is a whole number"),
    ],
)
def test_what_cannot_be_is_said(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        probe(lens(lambda text: bag(text, {})), TEXTS, progress=False, **arguments)


@pytest.mark.parametrize("kind", ["bi", "cross"])
def test_scores_are_the_models_own(kind: str) -> None:
    """Of a text as a question with itself, with its edit, with its filler."""
    model = tiny_encoders.crossed() if kind == "cross" else tiny_encoders.encoder(similarity_fn_name="dot")
    corpus = {"a": "the cat sat on the mat.", "b": "it was unbelievable, very warm"}
    search = bl.retrieval(bl.Lens(model), {"q": "cats"}, corpus, progress=False,
                          first_stage=bl.Lens(tiny_encoders.encoder()) if kind == "cross" else None)  # fmt: skip
    texts = [f"the cat sat on the mat and {at} was on it" for at in "abc"]
    found: EditProbe = search.probe(texts, fillers=["very", "mat"], progress=False)
    assert found.pairs["kind"].tolist() == ["not"] * 3
    for row in found.pairs.itertuples():
        versions = [row.text, row.edit, row.filler]
        if kind == "cross":
            expected = model.predict([(row.text, version) for version in versions])
        else:
            expected = model.similarity(model.encode_query([row.text]), model.encode_document(versions))[0].numpy()
        assert [row.score, row.score_edit, row.score_filler] == pytest.approx(expected.tolist(), rel=1e-5)
