"""Schemes of tags are read as seqeval reads them in strict mode; what is no entity, and no word, is said."""

from __future__ import annotations

import math
import warnings
from itertools import product
from typing import Any

import numpy as np
import pytest
import torch
import transformers as tf

import bertlens as bl
from bertlens.errors import InputError
from bertlens.tasks import entities
from unit import tiny
from unit.tasks.classifier import texts_of

WORDS = [["the", "cat", "sat", "on", "the", "mat", "very", "."], ["it", "cat", "mat", "was", "."]]
TYPES = ("PER", "LOC", "ORG")
RIGHT = [[("PER", 0, 2), ("LOC", 3, 4), ("ORG", 5, 7)], [("LOC", 1, 2), ("LOC", 2, 3)]]
WRITTEN = {
    "IOB1": ["I-PER I-PER O I-LOC O I-ORG I-ORG O", "O I-LOC B-LOC O O"],
    "IOB2": ["B-PER I-PER O B-LOC O B-ORG I-ORG O", "O B-LOC B-LOC O O"],
    "IOE2": ["I-PER E-PER O E-LOC O I-ORG E-ORG O", "O E-LOC E-LOC O O"],
    "IOBES": ["B-PER E-PER O S-LOC O B-ORG E-ORG O", "O S-LOC S-LOC O O"],
    "BILOU": ["B-PER L-PER O U-LOC O B-ORG L-ORG O", "O U-LOC U-LOC O O"],
}
PREFIXES = {"IOB1": "BI", "IOB2": "BI", "IOE2": "IE", "IOBES": "BIES", "BILOU": "BILU", "BMES": "BMES"}


def names_of(scheme: str, mark: str = "-") -> list[str]:
    return ["O", *(f"{prefix}{mark}{kind}" for kind, prefix in product(TYPES, PREFIXES[scheme]))]


def tagger(names: list[str], seed: int = 0) -> bl.Lens:
    torch.manual_seed(seed)
    config = tf.BertConfig(**tiny.BERT, num_labels=len(names), id2label=dict(enumerate(names)))
    return bl.Lens(tiny.shaken(tf.BertForTokenClassification(config), seed), tiny.wordpiece())


def rows_of(scheme: str, mark: str = "-") -> list[tuple[list[str], list[str]]]:
    return [(words, tags.replace("-", mark).split()) for words, tags in zip(WORDS, WRITTEN[scheme], strict=True)]


def read(lens: bl.Lens, rows: Any) -> bl.Task:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return bl.task(lens, rows, progress=False)


@pytest.mark.parametrize("scheme", PREFIXES)
@pytest.mark.parametrize("seed", range(3))
def test_entities_are_seqevals_in_every_scheme_of_any_tags(scheme, seed):
    reference = pytest.importorskip("seqeval.scheme")
    random, names = np.random.default_rng(seed), names_of(scheme)
    texts = [random.choice(names, random.integers(1, 14)).tolist() for _ in range(300)]
    known, letters = ("IOBES", str.maketrans("M", "I")) if scheme == "BMES" else (scheme, {})  # seqeval has no BMES
    told = [[tag[:1].translate(letters) + tag[1:] for tag in text] for text in texts]
    of_scheme = reference.Entities(told, getattr(reference, known)).entities
    for text, spans in zip(texts, of_scheme, strict=True):
        assert entities.entities(text, scheme) == [(one.tag, one.start, one.end) for one in spans], text


@pytest.mark.parametrize("scheme", WRITTEN)
def test_five_entities_whatever_they_are_written_in(scheme):
    texts = [tags.split() for tags in WRITTEN[scheme]]
    assert entities.scheme_in(texts) == scheme
    assert [entities.entities(text, scheme) for text in texts] == RIGHT
    for target in WRITTEN:
        for text, tags, spans in zip(texts, WRITTEN[target], RIGHT, strict=True):
            spelt = ["-".join(filter(None, tag)) for tag in entities.rewritten(text, scheme, target)]
            assert spelt == tags.split() and entities.entities(spelt, target) == spans


@pytest.mark.parametrize("scheme", WRITTEN)
def test_a_task_reads_the_same_entities_in_the_schemes_of_data_and_model(scheme):
    for target in ("IOB2", "IOBES", "BILOU", scheme):
        task = read(tagger(names_of(target)), rows_of(scheme))
        said = [task.kind.said(tags).split() for tags in task.labels]
        own = scheme if {scheme, target} == {"IOB1", "IOB2"} else target  # B- and I- may be either
        assert [entities.entities(tags, own) for tags in said] == RIGHT, (scheme, target)
        table = task.metrics().set_index(["measure", "label"])
        assert {label for _, label in table.index} - {""} >= set(TYPES)
        guesses = [text.split() for text in task.table["guess"]]
        of = entities.schemes(task.names, said, guesses)
        spans = [
            [set(entities.entities(tags, s)) for tags in side] for s, side in zip(of, (said, guesses), strict=True)
        ]
        hit, there, guessed = (sum(map(len, side)) for side in ([a & b for a, b in zip(*spans, strict=True)], *spans))
        assert there == 5 and of[0] == own
        assert table.loc[("entity F1", ""), "value"] == pytest.approx(2 * hit / (there + guessed))
        assert any(f"as seqeval does in strict mode, in {own}" in sentence for sentence in task.notes)
        differs = scheme != own
        assert any(f"tags are written in {scheme} and read as" in sentence for sentence in task.notes) == differs


def test_bmes_is_iobes_with_m_inside():
    rows = [(WORDS[0], "B-PER M-PER E-PER O O S-LOC O O".split())]
    spans = [("PER", 0, 3), ("LOC", 5, 6)]
    for target in ("BMES", "IOBES", "IOB2"):
        task = read(tagger(names_of(target)), rows)
        tags = task.kind.said(task.labels[0]).split()
        assert entities.entities(tags, target) == spans and "entity F1" in set(task.metrics()["measure"]), target
    assert entities.scheme_in([rows[0][1]]) == "BMES"
    back = entities.rewritten("B-PER I-PER I-PER O O B-LOC O O".split(), "IOB2", "BMES")
    assert ["-".join(filter(None, tag)) for tag in back] == rows[0][1]


def test_ioe1_is_told_from_ioe2_and_refused():
    """E- ends an entity only where another one of its type follows; the last of them ends in I-."""
    rows = [(WORDS[0], "I-PER E-PER I-PER O O I-LOC O O".split())]
    assert entities.scheme_in([rows[0][1]]) == "IOE1"
    for target in ("IOE2", "IOB2"):
        with pytest.raises(InputError, match=r"column 'label' is written in IOE1, .* write its tags in IOE2 or IOB2"):
            read(tagger(names_of(target)), rows)
    assert entities.scheme_in(["I-PER E-PER O".split(), "I-PER O I-LOC".split()]) == "IOE2"  # a slip is no scheme


def test_another_spelling_is_the_same_tag():
    for mark, names in (("_", names_of("IOB2")), ("-", names_of("IOB2", "_")), ("_", names_of("IOB2", "_"))):
        for rows in (rows_of("IOB2", mark), rows_of("IOB1", mark)):
            task = read(tagger(names), rows)
            said = [task.kind.said(tags).split() for tags in task.labels]
            assert [entities.entities(tags, entities.scheme_in(said)) for tags in said] == RIGHT
            assert "entity F1" in set(task.metrics()["measure"])
    with pytest.raises(InputError, match=r"row 0, column 'label', tag 1: no label 'S-DOG'"):
        read(tagger(names_of("IOB2")), [(["the", "cat"], ["O", "S-DOG"])])


def test_numbers_of_a_data_set_are_the_tags_that_it_names():
    datasets = pytest.importorskip("datasets")
    names, numbers = names_of("IOB2"), [[names_of("IOB2").index(tag) for tag in tags] for _, tags in rows_of("IOB2")]
    kind = datasets.Sequence(datasets.ClassLabel(names=names))
    features = datasets.Features({"text": datasets.Sequence(datasets.Value("string")), "label": kind})
    source = datasets.Dataset.from_dict({"text": WORDS, "label": numbers}, features=features)
    for order in (names, names[::-1]):
        task = read(tagger(order), source)
        assert [task.kind.said(tags).split() for tags in task.labels] == [tags for _, tags in rows_of("IOB2")]


def test_a_score_that_is_none_says_why():
    names = ["O", "B-PER", "I-PER"]
    lens = tagger(names)
    with torch.no_grad():
        lens.model.classifier.weight.zero_()
        lens.model.classifier.bias.copy_(torch.tensor([1.0, 0.0, 0.0]))  # guesses O everywhere
    table = read(lens, [(WORDS[0], ["O"] * 8), (WORDS[1], ["O"] * 5)]).metrics().set_index("measure")
    for measure, why in (
        ("entity precision", "nothing was guessed to be so"),
        ("entity recall", "nothing is labelled so"),
        ("entity F1", "nothing is labelled or guessed so"),
    ):
        assert math.isnan(table.loc[measure, "value"]) and table.loc[measure, "note"] == f"no value: {why}"
    nouns = tagger(["NOUN", "VERB", "DET"])
    kinds = {
        "tags": read(nouns, [(["the", "cat"], ["DET", "NOUN"])]).metrics(),
        "entities": read(lens, [(["the", "cat"], ["O", "B-PER"])]).metrics(),
    }
    for table in kinds.values():
        assert (table.loc[table["value"].isna(), "note"].str.startswith("no value: ")).all()
    # what looks like tags of entities and is of no scheme
    task = read(tagger(["O", "B-PER", "I-PER", "X", "[CLS]"]), [(["the", "cat"], ["O", "B-PER"])])
    assert task.notes == [
        "no entities are counted: looked for the schemes IOB1, IOB2, IOE2, IOBES, BILOU, BMES, and found X, [CLS]"
    ]


ODD = ["\u200d", "\u00ad", "\u200b"]


def test_a_word_without_a_token_has_no_answer_and_no_part_in_any_score():
    """Among thirty texts: all else is as if it had not been there."""
    names, random = names_of("IOB2"), np.random.default_rng(0)
    plain = [(text.split(), random.choice(names, len(text.split())).tolist()) for text in texts_of(30)]
    rows = [(list(words), list(tags)) for words, tags in plain]
    for row, word, at in ((0, ODD[0], 1), (3, ODD[1], 0), (7, ODD[2], len(rows[7][0]))):
        rows[row][0].insert(at, word)
        rows[row][1].insert(at, "O")
    rows.append(([ODD[2]], ["O"]))  # nothing else in the text
    lens = tagger(names)
    task, expected = read(lens, rows), read(lens, plain)
    assert "4 of" in task.notes[0] and task.notes[0].endswith(
        "words have no token in what the model reads: they have no answer"
    )
    np.testing.assert_allclose(task.losses[:30], expected.losses, atol=1e-6)
    guess, label = (task.table.loc[7, name].split() for name in ("guess", "label"))
    assert guess[-1] == "–" and guess[:-1] == expected.table.loc[7, "guess"].split() and len(guess) == len(label)
    values = [one.metrics().set_index(["measure", "label"])["value"] for one in (task, expected)]
    np.testing.assert_allclose(*values, atol=1e-9)
    np.testing.assert_array_equal(task.confusion(), expected.confusion())
    assert "4 of" in bl.tasks.task_page.page_of(task)
    assert task.heads(2).table["effect"].notna().sum() == 4
    with pytest.raises(InputError, match="no word of the examples has a token"):
        read(lens, [([ODD[0]], ["O"])]).metrics()


def test_labels_in_iob1_beside_guesses_in_iob2_are_compared_by_entities():
    """The tags of one entity differ: its scores do not, and the note says so."""
    labels = [tags.split() for tags in WRITTEN["IOB1"]]
    guesses = [tags.split() for tags in WRITTEN["IOB2"]]
    of = entities.schemes(names_of("IOB2"), labels, guesses)
    assert of == ("IOB1", "IOB2")
    assert {name: sums.sum(0).tolist() for name, sums in entities.counts(labels, guesses, of).items()} == {
        "LOC": [3, 3, 3],
        "ORG": [1, 1, 1],
        "PER": [1, 1, 1],
    }
