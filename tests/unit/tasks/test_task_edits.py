"""Edits of labelled texts: how often an answer turns, or how far a number moves, beside fillers."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import transformers as tf
from scipy import stats as st

import bertlens as bl
from bertlens.errors import InputError
from unit import tiny
from unit.tasks.classifier import NAMES, lens_of


def sentences(n: int, seed: int) -> list[tuple[str, int]]:
    random = np.random.default_rng(seed)
    known = ["the cat", "it was", "mat", "warm", "very"]
    rows = []
    for k in range(n):
        text = f"{random.choice(known)} of the cat was {random.choice(known)} on {random.integers(10, 99)} mats"
        rows.append((text, k % 2))
    return rows


def test_edits_turn_answers_beside_fillers():
    """Counts of answers of the model itself, by its tokenizer; McNemar's exact test."""
    task = bl.task(lens_of(7), sentences(60, 0), progress=False)
    probe = task.edits(
        words=["warm", "very warm"], frames=["the {} cat sat", "it was {}.", "on the {} mat"], fillers=["it", "a", "on"]
    )
    table = probe.table.set_index(["kind", "word"])
    assert {("not", ""), ("number", ""), ("word", "warm"), ("word", "very warm")} == {*table.index}
    lens = task.lens

    def guess(text: str) -> str:
        with torch.no_grad():
            return NAMES[int(lens.model(**lens.tokenizer(text, return_tensors="pt")).logits.argmax())]

    for (kind, word), line in table.iterrows():
        pairs = probe.pairs[(probe.pairs["kind"] == kind) & (probe.pairs["word"] == word)]
        own, edit, filler = ([*map(guess, pairs[name])] for name in ("text", "edit", "filler"))
        assert [*pairs["guess_edit"]] == edit and [*pairs["guess"]] == own
        turned = [a != b for a, b in zip(own, edit, strict=True)]
        by_filler = [a != b for a, b in zip(own, filler, strict=True)]
        assert (line["n"], line["turned"], line["filler_turned"]) == (len(pairs), sum(turned), sum(by_filler))
        more, fewer = (
            sum(a and not b for a, b in zip(*both, strict=True)) for both in ((turned, by_filler), (by_filler, turned))
        )
        assert line["p"] == pytest.approx(st.binomtest(more, more + fewer).pvalue if more + fewer else 1)
        lengths = [len(lens.tokenizer(text)["input_ids"]) for text in pairs["filler"]]
        if kind == "word":
            assert lengths == [len(lens.tokenizer(text)["input_ids"]) for text in pairs["edit"]]
    assert all(" not " in text for text in probe.pairs.query("kind == 'not'")["edit"])
    assert (probe.pairs.query("kind == 'word'")["row"] == -1).all() and "“very warm” turns" in probe.said
    for given, error in (
        ({"words": ["a"]}, "give both"),
        ({"words": ["a"], "frames": ["no place"]}, "frames are texts such as"),
        ({"words": [], "frames": ["{}"]}, "words is empty"),
        ({"words": "a", "frames": ["{} a"]}, "a list of texts"),
        ({"roles": ["a"]}, "roles are a list"),
        ({"n": 0}, "n is how many"),
    ):
        with pytest.raises(InputError, match=error):
            task.edits(**given)


def test_edits_move_numbers_beside_fillers():
    """By the model itself; paired by text. Tags would shift with the words: refused."""
    lens = lens_of(3, classes=1)
    task = bl.task(lens, [(text, float(n % 7)) for n, (text, _) in enumerate(sentences(40, 1))], progress=False)
    probe = task.edits(words=["warm", "very"], frames=["the {} cat sat", "it was {}."], fillers=["it", "a", "on"])

    def number(text: str) -> float:
        with torch.no_grad():
            return lens.model(**lens.tokenizer(text, return_tensors="pt")).logits.item()

    assert [*probe.table["kind"]] == ["not", "number", "word", "word"]
    for line in probe.table.to_dict("records"):
        pairs = probe.pairs[(probe.pairs["kind"] == line["kind"]) & (probe.pairs["word"] == line["word"])]
        own, edit, filler = (np.array([*map(number, pairs[name])]) for name in ("text", "edit", "filler"))
        assert pairs["guess_edit"].tolist() == pytest.approx(edit.tolist(), abs=1e-5)
        far, by_filler = np.abs(edit - own), np.abs(filler - own)
        assert (line["n"], line["moved"], line["filler_moved"]) == pytest.approx(
            (len(pairs), np.median(far), np.median(by_filler)), abs=1e-5
        )
        ends = st.ttest_rel(far, by_filler).confidence_interval()
        assert (line["more"], line["low"], line["high"]) == pytest.approx(((far - by_filler).mean(), *ends), abs=1e-4)
        assert line["p"] == pytest.approx(st.ttest_rel(far, by_filler).pvalue, abs=1e-3)
    first = probe.table.iloc[0]
    chance = ", and that is no chance." if first["finding"] else "."
    said = f"“not” moves {first['n']} answers by {first['moved']:.2g} (median), a filler of equal length by "
    assert probe.said.startswith(f"{said}{first['filler_moved']:.2g}{chance}")
    config = tf.BertConfig(**tiny.BERT, num_labels=2, id2label={0: "O", 1: "B-X"})
    tagger = bl.Lens(tiny.shaken(tf.BertForTokenClassification(config)), tiny.wordpiece())
    tags = bl.task(tagger, [(["the", "cat"], ["O", "B-X"]), (["a", "mat"], ["O", "O"])], progress=False)
    with pytest.raises(InputError, match="edits turn classes of texts, or move numbers of them"):
        tags.edits()
