"""What follows from the words of a task: cases, counter-examples, page; scripts, numbers, tags and pairs."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
import transformers as tf

import bertlens as bl
from bertlens.errors import InputError
from unit import tiny
from unit.tasks.classifier import NAMES, labelled, lens_of, texts_of


@pytest.fixture(scope="module")
def task() -> bl.Task:
    return bl.task(lens_of(1), labelled(40, seed=1), progress=False)


@pytest.fixture(scope="module")
def words(task: bl.Task) -> bl.tasks.TaskWords:
    return task.words()


def test_a_word_has_its_cases(task, words):
    cases = words.cases("cat")
    assert [*cases["loss"]] == sorted(cases["loss"], reverse=True)
    assert {*cases["row"]} == {row for row, (text,) in enumerate(task.examples.texts) if "cat" in text.split()}
    with pytest.raises(InputError, match="no word 'dog' in the table"):
        words.cases("dog")


def test_counter_examples_are_texts_without_the_word_and_with_another(task, words, tmp_path):
    table = words.counter_examples(["cat"], tmp_path / "more.csv")
    rows = {row: text.split() for row, (text,) in enumerate(task.examples.texts) if "cat" in text.split()}
    for line in table.itertuples():
        kept = [word for word in rows[line.row] if word != "cat"]
        if line.change == "without":
            assert line.text.split() == kept
        else:
            new = line.change.removesuffix(" in its place")
            assert line.text.split() == [new if word == "cat" else word for word in rows[line.row]] and new != "cat"
        assert line.label == NAMES[task.labels[line.row]]
    assert {*table["change"]} > {"without"} and {*table["row"]} <= {*rows}
    pd.testing.assert_frame_equal(pd.read_csv(tmp_path / "more.csv"), table)
    words.counter_examples(["cat"], tmp_path / "more.parquet")
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "more.parquet"), table)
    assert len(bl.task(task.lens, tmp_path / "more.csv", progress=False)) == len(table)  # what training reads
    for bad, error in ((["dog"], "no word"), ("cat", "a list of words"), ([], "a list of words")):
        with pytest.raises(InputError, match=error):
            words.counter_examples(bad)
    with pytest.raises(InputError, match="neither"):
        words.counter_examples(["cat"], "more.txt")


@pytest.mark.parametrize("name", ["byte-level", "thai and arabic"])
def test_words_of_any_script(name):
    """In a script without blanks a token is a word; of a letter in several bytes no piece is told."""
    torch.manual_seed(0)
    config = tf.RobertaConfig(**tiny.ROBERTA, num_labels=2, id2label=NAMES)
    lens = bl.Lens(tiny.shaken(tf.RobertaForSequenceClassification(config)), tiny.byte_level(True))
    texts = ["unbelievable cats sat", "the mat was warm"] if name == "byte-level" else ["مرحبا يا عالم", "สวัสดีชาวโลก"]
    task = bl.task(lens, [(text, label) for label, text in enumerate(texts)] * 5, progress=False)
    words = task.words()
    found = {*words.table.query("kind == 'word'")["word"]}
    assert {"cats", "mat"} <= found if name == "byte-level" else {"مرحبا", "يا", "عالم"} <= found
    assert not words.table["word"].str.contains("<0x").any() or name != "byte-level"
    if name == "byte-level":
        table = words.counter_examples(["cats"])
        assert table[table["change"] == "without"]["text"].unique().tolist() == ["unbelievable sat"]


def test_one_text_and_a_word_in_every_text():
    lens = lens_of(1)
    words = bl.task(lens, [("the cat sat", "warm")], progress=False).words()
    assert (
        words.table["effect"].notna().all() and words.table["p"].isna().all() and "one text: no interval" in words.said
    )
    examples = [(f"it {text}", label) for text, label in labelled(30)]
    task = bl.task(lens, examples, progress=False)
    row = task.words().table.query("word == 'it' and kind == 'word'").iloc[0]
    assert row["texts"] == 30 and math.isnan(row["label_without"]) and math.isnan(row["rate_outside"])
    assert not row["suspect"] and row["p_wrong"] == 1
    right = bl.task(
        lens, [(text, int(guess)) for (text, _), guess in zip(examples, task.guesses, strict=True)], progress=False
    )
    table = right.words().table
    assert (table["errors"] == 0).all() and table["turned_share"].isna().all() and (table["wrong"] == 0).all()
    with pytest.raises(InputError, match="a task needs at least two"):
        bl.task(lens, [(text, "warm") for text, _ in examples])


def test_words_of_numbers_and_of_tags():
    """A number is what words move; of tags the log-odds at all other words, added."""
    number = bl.task(lens_of(classes=1), [(t, float(k % 5)) for k, (t, _) in enumerate(labelled(30))], progress=False)
    found = number.words()
    row = found.table.query("kind == 'word'").iloc[0]
    effects = []
    for (text,) in number.examples.texts:
        if row["word"] in text.split():
            whole, gone = (number.lens.model(**number.lens.tokenizer(one, return_tensors="pt")).logits.item()
                           for one in (text, text.replace(row["word"], "[MASK]")))  # fmt: skip
            effects.append(whole - gone)
    assert row["effect"] == pytest.approx(np.mean(effects), abs=1e-5)
    assert few_said(number.words(runs=10)) and not found.estimates.size
    torch.manual_seed(0)
    config = tf.BertConfig(**tiny.BERT, num_labels=3, id2label={0: "O", 1: "B-X", 2: "I-X"})
    lens = bl.Lens(tiny.shaken(tf.BertForTokenClassification(config)), tiny.wordpiece())
    random = np.random.default_rng(0)
    texts = [text.split() for text in texts_of(24)]
    tags = bl.task(
        lens, [(text, [["O", "B-X"][k] for k in random.integers(0, 2, len(text))]) for text in texts], progress=False
    )
    row = tags.words().table.query("kind == 'word' and `class` == 'B-X'").iloc[0]
    effects = []
    for text in texts:
        if row["word"] in text:
            stays = [at for at, word in enumerate(text) if word != row["word"]]
            sums = []
            for one in (text, ["[MASK]" if word == row["word"] else word for word in text]):
                inputs = lens.tokenizer([one], is_split_into_words=True, return_tensors="pt")
                ids = inputs.word_ids(0)
                p = lens.model(**inputs).logits[0].double().softmax(-1)[:, 1]
                sums.append(sum(float(torch.logit(p[ids.index(at)])) for at in stays))
            effects.append(sums[0] - sums[1])
    assert row["effect"] == pytest.approx(np.mean(effects), abs=1e-4)
    few = tags.words(runs=60)
    assert few.runs <= 80 and "of them run in some texts" in few.said
    with pytest.raises(InputError, match="words are told of classes, tags and numbers"):
        bl.task(bl.Lens.embedded(), [(("a", "b"), 1.0), (("c", "d"), 0.0)]).words()


def few_said(words: Any) -> bool:
    return "estimated by one backward pass" in words.said and words.error > 0


def test_words_of_pairs_say_which_text():
    examples = [
        ((text, other), label) for (text, label), (other, _) in zip(labelled(40), labelled(40, seed=5), strict=True)
    ]
    task = bl.task(lens_of(), examples, progress=False)
    table = task.words().table
    assert {*table["of"]} == {"first text", "second text"}
    row = table.query("word == 'cat' and kind == 'word' and of == 'second text'").iloc[0]
    assert row["texts"] == sum("cat" in pair[1].split() for pair, _ in examples)
    words = task.words()
    assert "text_pair" in words.counter_examples(["cat"])
    for line in words.table[words.table["kind"] == "word"].to_dict("records"):  # a number of texts leads to these
        assert len(words.cases(line["word"], line["of"])) == line["texts"]
    with pytest.raises(InputError, match="is in no row of the table of 'third text'"):
        words.cases("cat", "third text")


def test_the_arguments_are_told(task):
    for given, error in (
        ({"n": 0}, "n is how many"),
        ({"runs": 0}, "runs is how many"),
        ({"seed": -1}, "seed"),
        ({"against": 3}, "give a bl.Lens"),
    ):
        with pytest.raises(InputError, match=error):
            task.words(**given)


def test_the_page_has_words_and_their_texts(task, words, tmp_path):
    page = task.to_html(tmp_path / "t.html", words=words, live=0).read_text(encoding="utf-8")
    assert "Words it goes by" in page
    first = words.table[words.table["effect"] > 0].sort_values("suspect", ascending=False, kind="stable").iloc[0]
    place = page.index('<a href="#word-')
    name = page[place:].split('"#')[1].split('"')[0]
    assert f'id="{name}"' in page and page[place:].split(">")[1].split("<")[0] == str(first["texts"])
    with pytest.raises(InputError, match=r"task.words\(\) gave"):
        task.to_html(tmp_path / "t.html", words=3)
