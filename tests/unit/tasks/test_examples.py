"""Labelled data from wherever it comes: the same examples, or one sentence that names row and column."""

from __future__ import annotations

import gc
import gzip
import json
import math
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import transformers as tf

import bertlens as bl
from bertlens.errors import BertLensError, InputError, ModelError
from unit import tiny
from unit.tasks.classifier import lens_of

ROWS = [("the cat sat", "warm"), ("on, the mat", "cold"), ('it was "very" warm', "warm"), ("two\nlines", "cold")]


@pytest.fixture(scope="module")
def lens() -> bl.Lens:
    return lens_of()


def quoted(separator: str) -> str:
    return "\r\n".join(
        separator.join('"' + cell.replace('"', '""') + '"' for cell in row) for row in [("text", "label"), *ROWS]
    )


class Dataset:
    """What a data set of Hugging Face shows of itself."""

    column_names = ("text", "label")

    def __getitem__(self, name: str) -> list[object]:
        return [row[name == "label"] if name == "text" else int(row[1] == "warm") for row in ROWS]


def jsonl() -> str:
    return "\n".join(json.dumps({"text": text, "label": label, "more": 1}) for text, label in ROWS)


FILES = {
    "a.csv": quoted(",").encode(),
    "excel.csv": quoted(";").encode("utf-8-sig"),
    "said.csv": ("sep=;\r\n" + quoted(";")).encode("utf-8-sig"),
    "unicode.txt": quoted("\t").encode("utf-16"),
    "a.tsv": quoted("\t").encode(),
    "a.csv.gz": gzip.compress(quoted(",").encode()),
    "a.jsonl": jsonl().encode("utf-8-sig"),
}


@pytest.mark.parametrize("name", FILES)
def test_a_file_is_read_whatever_wrote_it(lens, tmp_path, name):
    (tmp_path / name).write_bytes(FILES[name])
    found = bl.task(lens, tmp_path / name)
    assert [text[0].replace("\r", "") for text in found.examples.texts] == [text for text, _ in ROWS]
    assert [found.names[k] for k in found.labels] == [label for _, label in ROWS]


@pytest.mark.parametrize(
    "given",
    [
        ROWS,
        [{"text": text, "label": label} for text, label in ROWS],
        pd.DataFrame(ROWS, columns=["text", "label"]),
        Dataset(),
        [(text, float(label == "warm")) for text, label in ROWS],
        [(text, str(int(label == "warm"))) for text, label in ROWS],
        [(text, np.int32(label == "warm")) for text, label in ROWS],
        [(text, label.upper()) for text, label in ROWS],
    ],
    ids=["pairs", "dictionaries", "frame", "data set", "floats", "digits", "numpy", "capitals"],
)
def test_lists_and_tables_are_the_same_examples(lens, given):
    found = bl.task(lens, given)
    assert [text[0] for text in found.examples.texts] == [text for text, _ in ROWS]
    assert found.labels.tolist() == [1, 0, 1, 0]


def test_pairs_of_texts_and_names_of_ones_own(lens):
    found = bl.task(lens, [(("the cat", "sat"), "yes"), (("on", "the mat"), "no")], labels={"yes": "warm", "no": 0})
    assert found.examples.texts == [("the cat", "sat"), ("on", "the mat")] and found.labels.tolist() == [1, 0]
    assert {"text", "text_pair"} <= set(found.table.columns)
    frame = pd.DataFrame({"a": ["the cat", "on"], "b": ["sat", "the mat"], "y": [1, 0]})
    again = bl.task(lens, frame, text="a", text_pair="b", label="y")
    assert again.examples.texts == found.examples.texts
    np.testing.assert_array_equal(again.logits, found.logits)
    expected = lens.trace("the cat", "sat").output.logits[0]
    np.testing.assert_allclose(found.logits[0], expected.double().numpy(), rtol=1e-5)


BAD = [
    ([("the cat", "warm"), ("sat", None)], r"row 1, column 'label': the label is missing"),
    ([("the cat", "warm"), ("sat", float("nan"))], r"row 1, column 'label': the label is missing"),
    ([("the cat", "warm"), ("sat", "hot")], r"row 1, column 'label': no label 'hot', the model has cold, warm"),
    ([("the cat", 1), ("sat", 2)], r"row 1, column 'label': no label 2"),
    ([("the cat", 1), ("sat", -1)], r"row 1, column 'label': no label -1"),
    ([("the cat", 1), ("sat", [0])], r"row 1, column 'label': a label is one name"),
    ([("the cat", 1), ("sat", 1)], r"all 2 examples have the label 'warm'"),
    ([("the cat", 1), (None, 0)], r"row 1, column 'text': the text is missing"),
    ([("the cat", 1), (7, 0)], r"row 1, column 'text': the text is a int, not a text"),
    ([("the cat", 1), (" ", 0)], r"row 1, column 'text': the text is empty"),
    ([("the cat", 1), "sat"], r"row 1 is no \(text, label\) pair"),
    ([], r"there is no example"),
    (7, r"examples are a file .* not a int"),
    (pd.DataFrame({"sentence": ["a"], "y": [1]}), r"no column 'text': there are 'sentence', 'y'; name them by text="),
    ([{"text": "a", "label": 1}, {"text": "b"}], r"row 1, column 'label': there is none in this row"),
]


@pytest.mark.parametrize(("given", "said"), BAD, ids=[said[:40] for _, said in BAD])
def test_what_cannot_be_used_is_named_by_row_and_column(lens, given, said):
    with pytest.raises(InputError, match=said):
        bl.task(lens, given)


DEFLATED = gzip.compress(b"text,label\nthe cat,1\nsat,0\n" * 50)
BAD_FILES = {
    "short.csv": (b"text,label\na,1\nb,c,0\n", r"row 1 \(line 3 of short.csv\) has 3 fields"),
    "label.csv": (
        b'text,label\n"a\nb",1\nc,\n',
        r"row 1 \(line 4 of label.csv\), column 'label': the label is missing",
    ),
    "named.csv": (b"sentence;class\na;1\n", r"no column 'text' in named.csv: there are 'sentence', 'class'"),
    "twice.csv": (b"text,text,label\na,b,1\n", r"2 columns 'text'"),
    "none.csv": (b"", r"none.csv is empty"),
    "head.csv": (b"text,label\n", r"head.csv has no example below its first line"),
    "latin.csv": ("text,label\ncafé,1\n".encode("latin-1"), r"line 2 of latin.csv is no UTF-8"),
    "broken.jsonl": (b'{"text": "a", "label": 1}\n{"text": \n', r"line 2 of broken.jsonl cannot be read as JSON"),
    "zero.csv.gz": (gzip.compress(b""), r"zero.csv.gz is empty"),
    "array.jsonl": (b"[1]\n", r"line 1 of array.jsonl is no JSON object"),
    "sheet.xlsx": (b"PK", r"sheet.xlsx is a workbook: save the sheet as CSV"),
    "a.parquet": (b"PAR1", r"a.parquet cannot be read as Parquet: |need the library pyarrow"),
    "bent.csv.gz": (DEFLATED[:10] + b"\x07" + DEFLATED[11:], r"bent.csv.gz cannot be opened: Error -3"),
    "cut.csv.gz": (DEFLATED[:-12], r"cut.csv.gz cannot be opened: Compressed file ended"),
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_a_file_that_cannot_be_used_is_named_by_line(lens, tmp_path, name):
    content, said = BAD_FILES[name]
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=said):
        bl.task(lens, tmp_path / name)
    with pytest.raises(InputError, match="cannot be opened"):
        bl.task(lens, tmp_path / "missing.csv")


def test_lines_end_in_three_ways_and_quotes_hold_any_of_them(lens, tmp_path):
    """As pandas reads them. A separator of paragraphs, which other lines do not end in, ends none."""
    path = tmp_path / "a.csv"
    for end in ("\n", "\r\n", "\r"):
        for text in ("a\rb", "a\nb", "a\r\nb", "a\u2028b", "a\x85b", "a\x0bb"):
            path.write_bytes(f'text,label{end}"{text}",1{end}c\u2028d\x85,0{end}'.encode())
            found = bl.task(lens, path).examples
            table = pd.read_csv(path, keep_default_na=False)
            assert [one for (one,) in found.texts] == table["text"].tolist() == [text, "c\u2028d\x85"]
            assert found.labels.tolist() == [1, 0]


def test_splits_long_texts_and_limits(lens):
    class Splits:
        column_names = {"train": ["text"], "test": ["text"]}  # noqa: RUF012

    with pytest.raises(InputError, match=r"has the splits train, test: give one"):
        bl.task(lens, Splits())
    long = [("the cat", 0), ("cat " * 100, 1)]
    with pytest.raises(InputError, match=r"row 1, column 'text': 102 tokens"):
        _ = bl.task(lens, long, progress=False).logits
    assert bl.task(lens, long, truncation=True, progress=False).logits.shape == (2, 2)
    assert len(bl.task(lens, ROWS, limit=2)) == 2
    with pytest.raises(InputError, match="limit"):
        bl.task(lens, ROWS, limit=0)
    with pytest.raises(InputError, match="batch_size"):
        _ = bl.task(lens, ROWS, batch_size=0).logits


def test_one_example_has_numbers_and_no_interval(lens):
    found = bl.task(lens, [("the cat", "warm")], progress=False).metrics()
    assert found["low"].isna().all() and (found.loc[found["measure"] == "accuracy", "n"] == 1).all()


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("BertForQuestionAnswering", "answers questions by a span, which is no task here"),
        ("BertForMultipleChoice", "has no head that is read here"),
        ("BertForNextSentencePrediction", "has no head that is read here"),
    ],
)
def test_another_model_is_one_sentence(kind, said):
    model = getattr(tf, kind)(tf.BertConfig(**tiny.BERT))
    with pytest.raises(ModelError, match=said):
        bl.task(bl.Lens(model, tiny.wordpiece()), ROWS)


def test_several_labels_and_several_numbers_are_one_sentence():
    for problem, said in (("multi_label_classification", "several labels"), ("regression", "2 numbers")):
        model = tf.BertForSequenceClassification(tf.BertConfig(**tiny.BERT, num_labels=2, problem_type=problem))
        with pytest.raises(ModelError, match=f"gives {said} to a text"):
            bl.task(bl.Lens(model, tiny.wordpiece()), ROWS)


def test_one_of_several_labels_is_a_classifier_of_two():
    """As docs/task_kinds.md makes it: the probability is the logistic of that label's logit."""
    text = (Path(__file__).parents[3] / "docs" / "task_kinds.md").read_text(encoding="utf-8")
    settings = tiny.BERT | {"num_labels": 3, "problem_type": "multi_label_classification"}
    lens = bl.Lens(tiny.shaken(tf.BertForSequenceClassification(tf.BertConfig(**settings))), tiny.wordpiece())
    code = next(code for code in text.split("```python\n") if "model.classifier" in code).split("```")[0]
    lines = [line for line in code.splitlines() if "import bertlens" not in line and "from_pretrained" not in line]
    names = {"bl": bl, "lens": lens}
    exec("\n".join(lines[: next(n for n, line in enumerate(lines) if "bl.task" in line)]), names)
    task = bl.task(names["one"], ROWS, labels={"warm": "with", "cold": "without"}, progress=False)
    for (shown,), logits in zip(task.examples.texts, task.logits, strict=True):
        z = lens.model(**lens.tokenizer(shown, return_tensors="pt")).logits[0, names["k"]].item()
        assert 1 / (1 + math.exp(logits[0] - logits[1])) == pytest.approx(1 / (1 + math.exp(-z)), abs=1e-5)
    assert lens.model.classifier.weight.shape[0] == 3 and names["one"].model.config.num_labels == 2


def test_nan_logits_name_the_row():
    lens = lens_of(3)
    bad = lens.tokenizer.convert_tokens_to_ids("mat")
    lens.model.bert.embeddings.word_embeddings.weight.data[bad] = float("nan")
    with pytest.raises(BertLensError, match=r"row 1, column 'text': the model's logits are NaN or Inf"):
        _ = bl.task(lens, ROWS, progress=False).metrics()


def test_a_hundred_thousand_rows_are_read_without_lag(lens, tmp_path):
    """Ten times the rows take about ten times as long, whatever the machine: nothing looks at all rows for each."""

    def seconds(size):
        lines = "\n".join(f"the cat sat on mat {i},{i % 2}" for i in range(size))
        (tmp_path / "long.csv").write_text(f"text,label\n{lines}\n")
        gc.collect()
        gc.disable()  # how long a collection takes hangs on what other tests have left
        try:
            began = time.process_time()
            assert len(bl.task(lens, tmp_path / "long.csv")) == size
            return time.process_time() - began, lines
        finally:
            gc.enable()

    tenth = min(seconds(10_000)[0] for _ in range(3))
    whole, lines = seconds(100_000)
    assert whole < 30 * tenth
    (tmp_path / "long.csv").write_text(f"text,label\n{lines}\nlast,\n")
    with pytest.raises(InputError, match=r"row 100000 \(line 100002 of long.csv\), column 'label'"):
        bl.task(lens, tmp_path / "long.csv")
