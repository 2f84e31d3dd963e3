"""Both scores without a word, against runs of the model itself: tokens masked by hand, texts cut by hand."""

from __future__ import annotations

import json
import re
import unicodedata
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import bertlens as bl
from bertlens import whatif
from bertlens.errors import BertLensError, InputError, SelectionError
from bertlens.search.contrast import contrast
from bertlens.search.text_words import TextWords, key_of
from unit import tiny
from unit.tiny_encoders import crossed, dense, encoder

KEYS = Path(__file__).parents[2] / "wire" / "word_keys.json"
Q = "was the cat very warm."
W = "the unbelievable cats sat on the mat, the cat sat. warm cat"
R = "it was very warm, the cat. unbelievable mat"
TEXTS = {"query": Q, "wrong": W, "right": R}


@cache
def bare() -> Any:
    model = encoder()
    return bl.Lens(model[0].model, model.tokenizer)


def vector(lens: bl.Lens, text: str, word: str = "") -> np.ndarray:
    """The mean of the tokens that are not of a word, none of which is looked at, positions as they were."""
    inputs = lens.tokenizer(text, return_tensors="pt")
    names = lens.tokenizer.convert_ids_to_tokens(inputs["input_ids"][0])
    hidden = [at for at, name in enumerate(names) if name == word]
    assert bool(hidden) == bool(word)
    inputs["attention_mask"][0, hidden] = 0
    with torch.no_grad():
        states = lens.model(**inputs).last_hidden_state[0].double()  # type: ignore[operator]
    return states[inputs["attention_mask"][0].bool()].mean(0).numpy()


def cosine(a: np.ndarray, b: np.ndarray) -> float:
    return float(a @ b / np.linalg.norm(a) / np.linalg.norm(b))


@pytest.mark.parametrize(("side", "word"), [("query", "cat"), ("wrong", "sat"), ("wrong", "the"), ("right", "warm")])
def test_a_hidden_word_is_seen_by_no_head_wherever_it_stands(side: str, word: str) -> None:
    lens = bare()
    table = contrast(lens, Q, W, R).without(word, side, n_random=0)
    assert list(table["draw"]) == ["none", "asked"] and list(table["word"]) == ["", word]
    assert table["times"][1] == len(re.findall(rf"\b{word}\b", TEXTS[side]))
    vectors = {name: vector(lens, text, word if name == side else "") for name, text in TEXTS.items()}
    for name in ("wrong", "right"):
        assert table[name][1] == pytest.approx(cosine(vectors["query"], vectors[name]), abs=1e-6)
        assert table[name][0] == pytest.approx(cosine(vector(lens, Q), vector(lens, TEXTS[name])), abs=1e-6)
    np.testing.assert_array_equal(table["difference"], table["wrong"] - table["right"])


def test_a_deleted_word_is_cut_out_of_the_text_beyond_the_limit_too() -> None:
    lens = bare()
    long = "the cat sat on it " * 9 + "Cat"  # the limit is 40
    for side, text, word in (("wrong", W, "sat"), ("query", Q, "cat"), ("right", long, "cat")):
        texts = TEXTS | {side: text}
        table = contrast(lens, *texts.values()).without(word, side, "deleted", n_random=0)
        texts[side] = re.sub(rf"\b{word}\b", "", text, flags=re.IGNORECASE)
        query, *passages = (lens.encode(version).double().numpy() for version in texts.values())
        np.testing.assert_allclose(
            table.loc[1, ["wrong", "right"]].astype(float), [cosine(query, x) for x in passages], atol=1e-6
        )


def test_words_without_a_letter_stay_and_another_spelling_goes() -> None:
    found = contrast(bare(), Q, W, R)
    assert found.without("CAT", "wrong", n_random=0)["word"][1] == "cat"
    drawn = found.without(side="wrong", n_random=99)
    assert set(drawn["word"]) == {"", "the", "unbelievable", "cats", "sat", "on", "mat", "cat", "warm"}


def test_the_word_is_named_by_the_split_before_any_run() -> None:
    lens, passes = bl.Lens(encoder()), []
    found = contrast(lens, Q, W, R)
    found.lens.borrowed.base.register_forward_hook(lambda *_: passes.append(1))
    names = [found.named_in(side) for side in TEXTS]
    assert not passes and found.named == names[1]
    for side, name in zip(TEXTS, names, strict=True):
        table = found.without(side=side, n_random=1)
        assert tuple(table.loc[1, ["draw", "word"]]) == ("named", name)
    assert passes


def test_words_beside_it_are_drawn_by_the_seed_and_by_how_often_they_stand() -> None:
    found = contrast(bare(), Q, W, R)
    table = found.without("sat", n_random=3, seed=4)
    assert list(table["draw"]) == ["none", "asked", *["random"] * 3, *["as frequent"] * 3]
    assert "sat" not in set(table["word"][2:]) and not table["word"][2:5].duplicated().any()
    assert table.equals(found.without("sat", n_random=3, seed=4))
    others = [tuple(found.without("sat", n_random=3, seed=seed)["word"][2:5]) for seed in range(6)]
    assert len(set(others)) > 2
    assert table["word"][5] == "cat" and table["times"][5] == 2  # the one word that stands twice, too
    counts = {"sat": 50, "cat": 3, "on": 40, "warm": 48, "cats": 900, "unbelievable": 60, "the": 1000}
    near = found.without("on", n_random=3, frequencies=counts)
    assert list(near["word"][5:]) == ["warm", "unbelievable", "cats"]  # of those that stand once
    same = near[near["word"] == near["word"][2]]
    assert same["wrong"].nunique() == 1


def test_the_order_turns_where_the_sign_does_and_the_sentence_says_so() -> None:
    found, verbs = contrast(bare(), Q, W, R), set()
    for word in ("sat", "the", "cat", "unbelievable", "on"):
        for how in ("hidden", "deleted"):
            table = found.without(word, how=how, n_random=2)
            before, after = table["difference"][:2]
            assert list(table["turned"]) == [bool(x * before < 0) for x in table["difference"]]
            numbers = " → ".join(f"{x:+.3f}".replace("-", "−") for x in (before, after))
            verb = "turns" if before * after < 0 else "stays"
            verbs.add(verb)
            random, frequent = (int(table[table["draw"] == draw]["turned"].sum()) for draw in ("random", "as frequent"))
            assert table.attrs["said"] == (
                f"With “{word}” {how} in the wrong passage the order {verb} ({numbers}); with a random word in "
                f"{random} of 2, with one nearest in frequency in {frequent} of 2."
            )
    assert found.without("sat", n_random=0).attrs["said"].endswith(").")
    assert verbs == {"turns", "stays"}
    alike = contrast(bare(), Q, W, W)  # one score: there is no order that could turn
    assert not alike.without("sat", n_random=9)["turned"].any()


def test_a_head_off_changes_both_scores() -> None:
    lens = bare()
    found = contrast(lens, Q, W, R)
    for change in (whatif.off(1, 2), whatif.scale(0, 1, 0.5)):
        table = found.rerun(change)
        states = {name: lens.trace(text).rerun(change).output.last_hidden_state[0] for name, text in TEXTS.items()}
        query, wrong, right = (x.double().mean(0).numpy() for x in states.values())
        after = [cosine(query, wrong), cosine(query, right)]
        np.testing.assert_allclose(table["after"], [*after, after[0] - after[1]], atol=1e-6)
        np.testing.assert_array_equal(table["before"], [*found.scores, found.difference])
    with pytest.raises(SelectionError, match="is of one text: heads, layers and MLPs can be changed in all three"):
        found.rerun(whatif.hide(2))
    with pytest.raises(BertLensError, match="rerun takes changes of"):
        found.rerun("a head off")  # type: ignore[arg-type]
    with pytest.raises(SelectionError, match="layer"):
        found.rerun(whatif.off(9, 0))


def test_a_cross_encoder_without_a_word() -> None:
    model = crossed()
    found = contrast(bl.Lens(model), Q, W, R)
    for side, word in (("query", "cat"), ("wrong", "sat")):
        table = found.without(word, side, n_random=0)
        for name in ("wrong", "right"):
            inputs = model.tokenizer(Q, TEXTS[name], return_tensors="pt")
            names = model.tokenizer.convert_ids_to_tokens(inputs["input_ids"][0])
            end = names.index("[SEP]")
            places = range(end) if side == "query" else range(end, len(names)) if side == name else ()
            inputs["attention_mask"][0, [at for at in places if names[at] == word]] = 0
            with torch.no_grad():
                logit = float(model[0].model(**inputs).logits)
            assert table[name][1] == pytest.approx(logit, abs=1e-5)
    table = found.without("cat", "query", "deleted", n_random=0)
    pairs = [("was the very warm.", W), ("was the very warm.", R)]
    np.testing.assert_allclose(
        table.loc[1, ["wrong", "right"]].astype(float),
        model.predict(pairs, activation_fn=torch.nn.Identity()),
        atol=1e-5,
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("dog",), "The wrong passage has no word 'dog' as it is read; it has the, unbelievable, cats"),
        ((".",), "has no word '.' as it is read"),
        ((3,), "has no word 3"),
        (("cat", "passage"), "no text 'passage': there are 'query', 'wrong', 'right'"),
        (("cat", "wrong", "masked"), "no way 'masked' to take a word out: there are 'hidden', 'deleted'"),
    ],
)
def test_what_cannot_be_taken_out(arguments: Any, message: str) -> None:
    found = contrast(bare(), Q, W, R)
    with pytest.raises(BertLensError, match=re.escape(message)):
        found.without(*arguments)
    with pytest.raises(BertLensError, match="n_random is how many random words to leave out"):
        found.without(n_random=-1)
    with pytest.raises(BertLensError, match="without “cat” nothing is left of the question"):
        contrast(bare(), "cat cat", W, R).without("cat", "query", "deleted")


def test_equal_scores_have_no_order_that_a_word_turns() -> None:
    """Of an uncased model: two texts are one to it, whatever rounding has them differ by."""
    lens = bl.Lens(encoder())
    for right in (W, W.upper()):
        found = contrast(lens, Q, W, right)
        same = "Both passages have the same text: no word tells them apart."
        assert found.said == (same if right == W else "No word of the question prefers the wrong passage.")
        for how in ("hidden", "deleted"):
            table = found.without("sat", how=how)
            assert not table["turned"].any() and len(table) > 2
            assert table.attrs["said"] == "Both scores are equal: there is no order that a word could turn."


def test_a_word_is_hidden_before_a_dense_layer_too() -> None:
    """Its weights ask for gradients; no answer does."""
    model = encoder(dense(torch.nn.Tanh()))
    found = contrast(bl.Lens(model), Q, W, R)
    for side in ("query", "wrong", "right"):
        table = found.without("cat", side, n_random=0)
        assert table["wrong"][0] == pytest.approx(found.scores[0], abs=1e-6)
        assert {"query": 2, "wrong": 1, "right": 1}[side] == int(
            (table.loc[0] != table.loc[1])[["wrong", "right"]].sum()
        )


@pytest.mark.parametrize("model", [encoder, crossed])
def test_other_texts_and_frequencies_are_checked_like_the_first(model: Any) -> None:
    found = contrast(bl.Lens(model()), Q, W, R)
    for ask, sentence in (
        (lambda: found.rewritten(query=3), "query is a string, not int: a contrast is of three texts"),  # type: ignore[arg-type]
        (lambda: found.rewritten(wrong="\ud800"), "wrong holds half a character"),
        (lambda: found.without("cat", frequencies=3), "frequencies are a dictionary, word -> in how many passages"),  # type: ignore[arg-type]
    ):
        with pytest.raises(InputError, match=sentence):
            ask()


def test_words_are_folded_as_the_page_folds_them() -> None:
    """Unicode's CaseFolding.txt; `keyOf` of the page is tested with the same ones."""
    keys = json.loads(KEYS.read_text(encoding="utf-8"))
    assert {word: key_of(word) for word in keys} == keys


@pytest.mark.parametrize("word", ["café", "CAFÉ", unicodedata.normalize("NFD", "café"), "cafe", "İstanbul", "Straße"])
@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_a_word_is_asked_for_as_the_passage_writes_it(word: str, form: str) -> None:
    """The tokenizer strips accents: it reads "cafe"."""
    wrong = unicodedata.normalize(form, "İstanbul has a café in the Straße")
    made = contrast(bl.Lens.embedded(), "where is the café", wrong, "a mat")
    table = made.without(word, "wrong", "deleted", n_random=0)
    left = {"c": "İstanbul has a in the Straße", "i": "has a café in the Straße", "s": "İstanbul has a café in the"}
    own = made.scores_of("wrong", [unicodedata.normalize(form, left[key_of(word)[0]])])
    assert table["times"][1] == 1 and table["wrong"][1] == pytest.approx(float(own[0, 0]), abs=1e-6)


def test_a_word_is_found_whichever_way_its_accents_are_put_together() -> None:
    """The tokenizer has no normaliser: it reads what is there."""
    words = TextWords.of(["Cafe\u0301", "Mat"], [[0], [1]], [True, True], False)
    tokenizer = tiny.byte_level(template=True)
    tokenizer.backend_tokenizer.normalizer = None
    assert words.key("CAFÉ", tokenizer) == words.key("cafe\u0301", tokenizer) == "cafe\u0301"
    assert words.key("cafe", tokenizer) == "" and words.key("mat", tokenizer) == "mat"
