"""What a config calls its classes: keys that are strings, names that stand twice, two tables that disagree."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import torch
import transformers as tf

import bertlens as bl
from bertlens.errors import InputError, SelectionError
from bertlens.measures.sources.logits import label as label_sources
from bertlens.model.class_names import class_names, conflicts
from unit import tiny

TEXTS = ["the cat sat", "on the mat", "it was warm", "very warm", "cats on mats", "the mat was warm"]


def model_of(kind: str = "BertForSequenceClassification", count: int = 3, **tables: Any) -> Any:
    torch.manual_seed(0)
    model: Any = tiny.shaken(getattr(tf, kind)(tf.BertConfig(**tiny.BERT, num_labels=count)))
    for name, table in tables.items():
        setattr(model.config, name, table)
    return model


def lens_of(*args: Any, **tables: Any) -> bl.Lens:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return bl.Lens(model_of(*args, **tables), tiny.wordpiece())


@pytest.mark.parametrize("table", [{"0": "neg", "1": "pos", "2": "odd"}, {0: "neg", 1: "pos", 2: "odd"}])
def test_keys_may_be_numbers_or_their_writing(table):
    lens = lens_of(id2label=table)
    trace = lens.trace(TEXTS[0])
    logits = lens.model(**lens.tokenizer(TEXTS[0], return_tensors="pt")).logits[0].tolist()
    by_name = trace.predictions().set_index("label")["logit"]
    assert [by_name[name] for name in ("neg", "pos", "odd")] == pytest.approx(logits, abs=1e-5)
    assert bl.task(lens, [(TEXTS[0], "neg"), (TEXTS[1], "pos")], progress=False).labels.tolist() == [0, 1]
    assert label_sources(trace, "pos").what == label_sources(trace, 1).what == "logit of class pos"
    tags = lens_of("BertForTokenClassification", id2label=table)
    assert bl.task(tags, [(["the", "cat"], ["odd", "neg"])], progress=False).labels[0].tolist() == [2, 0]


def test_a_class_without_a_name_is_called_by_its_number():
    assert class_names(tf.BertConfig(id2label={0: "neg", 1: "pos"}), 3) == ["neg", "pos", "2"]
    assert class_names(object(), 2) == ["0", "1"]


def test_a_name_that_stands_twice_is_said_and_each_class_has_a_name_of_its_own():
    model = model_of(id2label={0: "neg", 1: "pos", 2: "pos"})
    with pytest.warns(UserWarning, match=r"has 'pos' for 2 classes: they are called pos \(1\) and pos \(2\) here"):
        lens = bl.Lens(model, tiny.wordpiece())
    trace = lens.trace(TEXTS[0])
    assert set(trace.predictions()["label"]) == {"neg", "pos (1)", "pos (2)"}
    assert any("for 2 classes" in line for line in trace.report.lines())
    with pytest.raises(InputError, match="has this name twice: give each class a name of its own there"):
        bl.task(lens, [(TEXTS[0], "neg"), (TEXTS[1], "pos")], progress=False)
    with pytest.raises(SelectionError, match=r"no class 'pos': there are neg, pos \(1\), pos \(2\)"):
        label_sources(trace, "pos")
    model.config.id2label = {0: "neg", 1: "pos", 2: "odd"}  # the way that the refusal names
    task = bl.task(bl.Lens(model, tiny.wordpiece()), [(TEXTS[0], "neg"), (TEXTS[1], "pos")], progress=False)
    assert task.labels.tolist() == [0, 1]


def test_tables_that_disagree_are_said_and_id2label_counts():
    model = model_of(count=2, id2label={0: "neg", 1: "pos"}, label2id={"neg": 1, "pos": 0})
    with pytest.warns(UserWarning, match="label2id has 'neg' for class 1, config.id2label for class 0: id2label"):
        lens = bl.Lens(model, tiny.wordpiece())
    task = bl.task(lens, [(TEXTS[0], "neg"), (TEXTS[1], "pos")], progress=False)
    assert task.labels.tolist() == [0, 1]
    assert any("label2id" in line for line in task.notes)
    trace = lens.trace(TEXTS[0])
    assert label_sources(trace, "pos").what == label_sources(trace, 1).what
    assert not conflicts(tf.BertConfig())
    assert not conflicts(tf.BertConfig(id2label={0: "neg", 1: "pos"}, label2id={"neg": "0", "pos": "1", "other": "5"}))


@pytest.mark.parametrize("labels", [["0", "B-CAT", "0"], ["B-CAT", 0, "B-CAT"], ["O", "B-CAT", "1.0"]])
def test_a_number_beside_names_is_refused_with_both_readings(labels):
    lens = lens_of("BertForTokenClassification", id2label={0: "B-CAT", 1: "I-CAT", 2: "O"})
    number = next(label for label in labels if label not in ("O", "B-CAT"))
    place = int(float(number))
    said = rf"row 0, column 'label', tag {labels.index(number)}: .*is no name of a class, and '\S+' \(row 0, .*" + (
        f"would be {('B-CAT', 'I-CAT')[place]}; write the name"
    )
    with pytest.raises(InputError, match=said):
        bl.task(lens, [(["the", "cat", "sat"], labels)], progress=False)
    # the way that the refusal names
    ways = {label: label for label in labels if label in ("O", "B-CAT")} | {number: "O"}
    task = bl.task(lens, [(["the", "cat", "sat"], labels)], labels=ways, progress=False)
    assert task.labels[0].tolist() == [2 if label in ("O", number) else 0 for label in labels]


def test_numbers_alone_are_places_and_beside_the_names_of_unnamed_classes_too():
    tags = lens_of("BertForTokenClassification", id2label={0: "B-CAT", 1: "I-CAT", 2: "O"})
    assert bl.task(tags, [(["the", "cat"], ["2", 0])], progress=False).labels[0].tolist() == [2, 0]
    assert bl.task(lens_of(), [(TEXTS[0], "LABEL_1"), (TEXTS[1], 2)], progress=False).labels.tolist() == [1, 2]
    named = lens_of(count=2, id2label={0: "cold", 1: "warm"})
    with pytest.raises(InputError, match=r"row 2, column 'label': '1' is no name of a class, and 'warm' \(row 0, "):
        bl.task(named, [(TEXTS[0], "warm"), (TEXTS[1], "cold"), (TEXTS[2], 1)], progress=False)


def test_one_number_with_labels_of_two_values_is_said_with_the_way_to_read_them_as_classes():
    lens = lens_of(count=1)
    rows = [(text, k % 2) for k, text in enumerate(TEXTS)]
    with pytest.warns(UserWarning, match="0 and 1 alone, as of two classes, and the model gives one number"):
        task = bl.task(lens, rows, progress=False)
    [sentence] = task.notes
    way = sentence.partition("as classes: ")[2].removesuffix(" is the accuracy")
    logits = [lens.model(**lens.tokenizer(text, return_tensors="pt")).logits.item() for text in TEXTS]
    assert eval(way, {"task": task}) == np.mean([(logit > 0) == (k % 2) for k, logit in enumerate(logits)])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert bl.task(lens, [(text, k / 2) for k, text in enumerate(TEXTS)], progress=False).notes == []
