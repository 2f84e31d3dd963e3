"""What a label means: the same rows are the same labels from all readers, by name before number before place."""

from __future__ import annotations

import csv
import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
import transformers as tf

import bertlens as bl
from bertlens.errors import InputError
from bertlens.tasks.labels import are_unnamed, numbers_of
from unit import tiny

TEXTS = ["the cat sat", "on the mat", "it was warm", "very warm"]
Rows = list[tuple[str, Any]]


def lens_of(names: list[str], kind: str = "BertForSequenceClassification") -> bl.Lens:
    torch.manual_seed(0)
    config = tf.BertConfig(**tiny.BERT, num_labels=len(names), id2label=dict(enumerate(names)))
    return bl.Lens(tiny.shaken(getattr(tf, kind)(config)), tiny.wordpiece())


def frame(rows: Rows) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["text", "label"])


def as_csv(rows: Rows, folder: Path) -> Path:
    with (folder / "rows.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("text", "label"), *rows])
    return folder / "rows.csv"


def as_json_lines(rows: Rows, folder: Path) -> Path:
    lines = [json.dumps({"text": text, "label": label}) for text, label in rows]
    (folder / "rows.jsonl").write_text("\n".join(lines))
    return folder / "rows.jsonl"


def data_set(rows: Rows) -> Any:
    return pytest.importorskip("datasets").Dataset.from_list([{"text": text, "label": label} for text, label in rows])


def parquet(rows: Rows, folder: Path) -> Path:
    pytest.importorskip("pyarrow")
    frame(rows).to_parquet(folder / "rows.parquet")
    return folder / "rows.parquet"


def numpy_labels(rows: Rows) -> list[tuple[str, Any]]:
    return list(zip([text for text, _ in rows], np.array([label for _, label in rows]), strict=True))


READERS: dict[str, Callable[[Rows, Path], Any]] = {
    "pairs": lambda rows, folder: rows,
    "dictionaries": lambda rows, folder: [{"text": text, "label": label} for text, label in rows],
    "frame": lambda rows, folder: frame(rows),
    "categories": lambda rows, folder: frame(rows).astype({"label": "category"}),
    "numpy": lambda rows, folder: numpy_labels(rows),
    "csv": as_csv,
    "json lines": as_json_lines,
    "data set": lambda rows, folder: data_set(rows),
    "parquet": parquet,
    "polars": lambda rows, folder: pytest.importorskip("polars").DataFrame(
        {"text": [text for text, _ in rows], "label": [label for _, label in rows]}
    ),
    "arrow": lambda rows, folder: pytest.importorskip("pyarrow").Table.from_pandas(frame(rows)),
    "columns": lambda rows, folder: {"text": [text for text, _ in rows], "label": [label for _, label in rows]},
}
TENSORS = {"torch": lambda rows: list(zip([text for text, _ in rows], torch.tensor([k for _, k in rows]), strict=True))}

SIGNS, STARS, FIVE = ["-1", "0", "1"], ["1 star", "2 stars", "3 stars", "4 stars", "5 stars"], list("12345")
MEANINGS = {
    "names": (["cold", "warm"], ["warm", "cold", "COLD", "warm"], [1, 0, 0, 1]),
    "places": (["cold", "warm"], [1, 0, 0, 1], [1, 0, 0, 1]),
    "floats": (["cold", "warm"], [1.0, 0.0, 0.0, 1.0], [1, 0, 0, 1]),
    "written floats": (["cold", "warm"], ["1.0", "0.0", "0.0", "1.0"], [1, 0, 0, 1]),
    "truth": (["cold", "warm"], [True, False, False, True], [1, 0, 0, 1]),
    "named true": (["True", "False"], [True, False, False, True], [0, 1, 1, 0]),
    "stars": (FIVE, [1, 2, 3, 4], [0, 1, 2, 3]),
    "stars as floats": (FIVE, [1.0, 2.0, 3.0, 4.0], [0, 1, 2, 3]),
    "stars in words": (STARS, [1, 2, 3, 4], [0, 1, 2, 3]),
    "stars by name": (STARS, ["1 star", "2 stars", "3 stars", "5 stars"], [0, 1, 2, 4]),
    "signs": (SIGNS, [1, -1, 0, 1], [2, 0, 1, 2]),
    "class_1": (["class_1", "class_2", "class_3"], [1, 2, 3, 1], [0, 1, 2, 0]),
    "unnamed": (["LABEL_0", "LABEL_1", "LABEL_2"], [1, 2, 0, 1], [1, 2, 0, 1]),
    "unnamed by name": (["LABEL_0", "LABEL_1"], ["LABEL_1", "LABEL_0", "LABEL_0", "LABEL_1"], [1, 0, 0, 1]),
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("reader", READERS)
def test_the_same_rows_are_the_same_labels_from_all_readers(reader, tmp_path):
    make = READERS[reader]
    for meaning, (names, labels, places) in MEANINGS.items():
        rows = list(zip(TEXTS, labels, strict=True))
        source, lens = make(rows, tmp_path), lens_of(names)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            examples = bl.task(lens, source, progress=False).examples
        assert examples.labels.tolist() == places, meaning
        assert [text for (text,) in examples.texts] == TEXTS


def test_tensors_are_labels():
    rows = list(zip(TEXTS, [1, 2, 3, 4], strict=True))
    for make in TENSORS.values():
        assert bl.task(lens_of(FIVE), make(rows)).labels.tolist() == [0, 1, 2, 3]
        assert bl.task(lens_of(["score"]), make(rows)).labels.tolist() == [1.0, 2.0, 3.0, 4.0]


def named_set(names: list[str], labels: list[int]) -> Any:
    datasets = pytest.importorskip("datasets")
    features = datasets.Features({"text": datasets.Value("string"), "label": datasets.ClassLabel(names=names)})
    return datasets.Dataset.from_dict({"text": TEXTS[: len(labels)], "label": labels}, features=features)


PREMISES = ["entailment", "neutral", "contradiction"]


def test_the_names_of_a_data_set_are_names_and_no_places():
    """MNLI's order in the data set, and another one in the model: by place all would be wrong."""
    lens, source = lens_of(["contradiction", "entailment", "neutral"]), named_set(PREMISES, [0, 2, 1])
    task = bl.task(lens, source, progress=False)
    assert [task.names[k] for k in task.labels] == ["entailment", "contradiction", "neutral"]
    assert task.notes == [
        "labels are read by the data set’s names: its 0 is entailment, the model’s 1, its 2 is contradiction, the "
        "model’s 0, its 1 is neutral, the model’s 2"
    ]
    assert bl.task(lens_of(PREMISES), source, progress=False).notes == []
    # a number of its own or a name, in labels=
    for labels in (
        {0: "neutral", 1: "entailment", 2: 0},
        dict(zip(PREMISES, ["neutral", "entailment", 0], strict=True)),
    ):
        assert bl.task(lens, source, labels=labels).labels.tolist() == [2, 0, 1]


def test_a_model_without_names_counts_as_the_data_set_does_and_says_so():
    with pytest.warns(
        UserWarning, match=r"the model names no classes \(LABEL_0 to LABEL_2\): a label is a place"
    ) as seen:
        task = bl.task(lens_of(["LABEL_0", "LABEL_1", "LABEL_2"]), named_set(PREMISES, [0, 2, 1]), progress=False)
    assert task.labels.tolist() == [0, 2, 1]
    assert "as the data set counts: 0 is entailment, 1 is neutral, 2 is contradiction" in str(seen[0].message)


def test_where_no_name_fits_both_lists_are_told():
    with pytest.raises(InputError) as caught:
        bl.task(lens_of(["cold", "warm"]), named_set(PREMISES, [0, 2, 1]))
    assert str(caught.value) == (
        "row 0, column 'label': no label 'entailment', the model has cold, warm (0 to 1), the data set entailment, "
        "neutral, contradiction; say which is which by labels={'yours': 'the model’s'}"
    )
    with pytest.raises(InputError, match=r"no label 'hot', the model has cold, warm \(0 to 1\), the column warm, hot"):
        bl.task(lens_of(["cold", "warm"]), [(TEXTS[0], "warm"), (TEXTS[1], "hot")])
    with pytest.raises(InputError, match=r"no label 0, the model has 1 star, 2 stars, 3 stars, 4 stars, 5 stars, the"):
        bl.task(lens_of(STARS), [(TEXTS[0], 1), (TEXTS[1], 0)])
    with pytest.raises(InputError, match=r"row 1, column 'label': the label is missing: this data set has .* not -1"):
        bl.task(lens_of(PREMISES), named_set(PREMISES, [0, -1]))


def test_a_note_says_which_reading_was_taken():
    rows = list(zip(TEXTS, [1, 2, 3, 4], strict=True))
    with pytest.warns(UserWarning, match="labels are read as names of classes: 1 is '1', not '2' at place 1, 2 is '2'"):
        bl.task(lens_of(FIVE), rows)
    with pytest.warns(UserWarning, match="1 is '1 star', not '2 stars' at place 1"):
        bl.task(lens_of(STARS), rows)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert bl.task(lens_of(SIGNS), [(TEXTS[0], -1), (TEXTS[1], 0), (TEXTS[2], 1)], progress=False).notes == []
        assert bl.task(lens_of(["0", "1"]), [*rows[:1], (TEXTS[1], 0)], progress=False).notes == []
        task = bl.task(lens_of(["cold", "warm"]), [(TEXTS[0], 1), (TEXTS[1], "0")], progress=False)
    assert task.notes == ["labels are numbers, read as places in the model’s list: 0 is cold, 1 is warm"]
    page = bl.tasks.task_page.page_of(task)
    assert "0 is cold, 1 is warm" in page


@pytest.mark.parametrize(
    ("names", "numbers"),
    [
        (STARS, ({1: 0, 2: 1, 3: 2, 4: 3, 5: 4}, "star")),
        (["-1", "0", "other"], ({-1: 0, 0: 1}, "")),
        (["grade-2", "grade-1"], ({2: 0, 1: 1}, "grade")),
        (["1.5", "0.5"], ({1.5: 0, 0.5: 1}, "")),
        (["covid19", "flu"], ({}, "")),
        (["covid19", "flu20"], ({}, "")),
        (["LABEL_0", "LABEL_1"], ({}, "")),
        (["LABEL_1", "LABEL_0"], ({1: 0, 0: 1}, "label")),
        (["cold", "warm"], ({}, "")),
        (["3rd of 4", "2nd of 4"], ({}, "")),
    ],
)
def test_numbers_in_names_of_classes(names, numbers):
    assert numbers_of(names) == numbers
    assert are_unnamed(names) == (names == ["LABEL_0", "LABEL_1"])


def test_the_names_of_a_data_set_are_the_numbers_of_a_regression_and_the_words_at_a_mask():
    lens = lens_of(["score"])
    with pytest.warns(UserWarning, match="the data set names its labels 1 star, 2 stars.*the numbers in its names"):
        assert bl.task(lens, named_set(STARS, [0, 4, 2])).labels.tolist() == [1.0, 5.0, 3.0]
    with pytest.warns(UserWarning, match="its own count of them"):
        assert bl.task(lens, named_set(["bad", "good"], [0, 1])).labels.tolist() == [0.0, 1.0]
    masked = bl.Lens(tiny.shaken(tf.BertForMaskedLM(tf.BertConfig(**tiny.BERT))), tiny.wordpiece())
    source = named_set(["cat", "mat"], [1, 0]).map(lambda row: {"text": f"{row['text']} [MASK]"})
    words = bl.task(masked, source)
    assert [words.kind.said(k) for k in words.labels] == ["mat", "cat"]
