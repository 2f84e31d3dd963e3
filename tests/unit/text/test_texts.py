"""Every function that takes texts takes them out of every container, and its numbers are those of the list."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
import transformers as tf

import bertlens as bl
from bertlens import InputError, survey
from bertlens.base.notes import Note
from bertlens.training import training_text as training
from unit import tiny
from unit.tasks.classifier import lens_of

datasets, pl, pa = (pytest.importorskip(name) for name in ("datasets", "polars", "pyarrow"))

TEXTS = [
    "the cat sat on the mat",
    "it was, very warm",
    'the "warm" mat',
    "a cat on a mat",
    "un'believable cats",
    "cats sat",
    "the mat was on it",
    "warm, the cat; it was",
]
LABELS = [1, 0, 1, 0, 0, 1, 1, 0]
ROWS = [
    {"number": at, "text": text, "label": label} for at, (text, label) in enumerate(zip(TEXTS, LABELS, strict=True))
]
FRAME = pd.DataFrame(ROWS)


def written(folder: Path, name: str) -> Path:
    path, frame = folder / name, FRAME
    name = name.lower()
    if name.endswith(".txt"):
        path.write_text("\n".join(TEXTS) + "\n", encoding="utf-8")
    elif name.endswith(".tsv"):
        frame.to_csv(path, sep="\t", index=False)
    elif ".csv" in name:
        frame.to_csv(path, index=False)
    elif name.endswith(".parquet"):
        frame.to_parquet(path)
    elif name.endswith(".jsonl"):
        path.write_text("\n".join(map(json.dumps, ROWS)), encoding="utf-8")
    elif name == "columns.json":
        path.write_text(json.dumps(FRAME.to_dict("list")), encoding="utf-8")
    elif name == "object.json":
        path.write_text(json.dumps({"data": ROWS}), encoding="utf-8")
    else:
        path.write_text(json.dumps(ROWS), encoding="utf-8")
    return path


# Tables have labels too; the others are texts alone
TABLES: dict[str, Callable[[Path], Any]] = {
    "frame": lambda _: FRAME,
    "columns": lambda _: FRAME.to_dict("list"),
    "dictionaries": lambda _: list(ROWS),
    "generator of dictionaries": lambda _: (row for row in ROWS),
    "polars": lambda _: pl.DataFrame(ROWS),
    "polars lazy": lambda _: pl.DataFrame(ROWS).lazy(),
    "Arrow": lambda _: pa.Table.from_pylist(ROWS),
    "Arrow batch": lambda _: pa.RecordBatch.from_pylist(ROWS),
    "data set": lambda _: datasets.Dataset.from_list(ROWS),
    "data set of torch": lambda _: datasets.Dataset.from_list(ROWS).with_format("torch"),
    "slice": lambda _: datasets.Dataset.from_list([*ROWS, *ROWS])[: len(ROWS)],
    "stream": lambda _: datasets.IterableDataset.from_generator(lambda: iter(ROWS)),
    "stream with features": lambda _: datasets.Dataset.from_list(ROWS).to_iterable_dataset(),
} | {
    name: (lambda folder, name=name: written(folder, name))  # type: ignore[misc]
    for name in (
        "a.csv",
        "a.csv.gz",
        "a.tsv",
        "A.JSONL",
        "a.jsonl",
        "a.json",
        "columns.json",
        "object.json",
        "a.parquet",
    )
}
CONTAINERS: dict[str, Callable[[Path], Any]] = TABLES | {
    "tuple": lambda _: tuple(TEXTS),
    "generator": lambda _: (text for text in TEXTS),
    "Series": lambda _: pd.Series(TEXTS, index=range(3, 3 + len(TEXTS))),
    "strings": lambda _: pd.Series(TEXTS, dtype="string"),
    "categories": lambda _: pd.Series(TEXTS, dtype="category"),
    "polars Series": lambda _: pl.Series(TEXTS),
    "numpy": lambda _: np.array(TEXTS),
    "numpy objects": lambda _: np.array(TEXTS, dtype=object),
    "Arrow array": lambda _: pa.array(TEXTS),
    "Arrow chunks": lambda _: pa.chunked_array([TEXTS[:3], TEXTS[3:]]),
    "column of a data set": lambda _: datasets.Dataset.from_list(ROWS)["text"],
    "a.txt": lambda folder: written(folder, "a.txt"),
}


@cache
def encoder() -> bl.Lens:
    return bl.Lens(tiny.bert(num_hidden_layers=2), tiny.wordpiece())


@cache
def classifier() -> bl.Lens:
    return lens_of()


def _ranked(source: Any, column: Any) -> list[float]:
    table = bl.rank(encoder(), "the cat", source, explained=0, progress=False, column=column)
    return [*table.index, *table["score"]]


def _baseline(source: Any, column: Any) -> list[float]:
    beside = bl.similarity(encoder(), "the cat", "a mat").against(source, column=column)
    return [beside.n, beside.low, beside.median, beside.high, beside.above]


def _reported(source: Any, column: Any) -> list[Any]:
    numbers = bl.report(encoder(), source, "vig-next", texts=8, progress=False, column=column).to_dict()
    return [numbers["corpus"]["hash"], numbers["corpus"]["of"], repr(numbers["claims"])]


def _labelled(source: Any, column: Any) -> list[Any]:
    task = bl.task(classifier(), source, text=column or "text", progress=False)
    return [*task.labels.tolist(), *np.asarray(task.logits).ravel()]


FUNCTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "trace_batch": lambda s, c: torch.stack(
        [t.output.last_hidden_state[0].mean(0) for t in encoder().trace_batch(s, column=c)]
    ),
    "encode": lambda s, c: encoder().encode(s, column=c),
    "similarity": lambda s, c: encoder().similarity(s, ["the cat", "a mat"], column=c),
    "rank": _ranked,
    "against": _baseline,
    "classroom": lambda s, c: [len(text) for text, _ in bl.classroom(encoder(), s, column=c).texts],
    "head_stats": lambda s, c: survey.head_stats(encoder(), s, progress=False, column=c).values("entropy"),
    "head_distances": lambda s, c: survey.head_distances(encoder(), s, progress=False, column=c),
    "frequency": lambda s, c: survey.frequency_correlation(encoder(), s, progress=False, column=c).rho,
    "gradients": lambda s, c: survey.attention_gradients(classifier(), s, progress=False, column=c).to_numpy(),
    "report": _reported,
}


def numbers(function: str, source: Any, column: Any = None) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", Note)
        return FUNCTIONS[function](source, column)


@cache
def of_list(function: str) -> Any:
    return numbers(function, list(TEXTS))


def assert_same(function: str, outcome: Any) -> None:
    if isinstance(outcome, list) and any(isinstance(x, str) for x in outcome):
        assert outcome == of_list(function)
    else:
        np.testing.assert_allclose(np.asarray(outcome), np.asarray(of_list(function)), rtol=1e-6, atol=1e-7)


@pytest.mark.sampled(30)
@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_every_function_takes_texts_from_every_container(function: str, container: str, tmp_path: Path) -> None:
    assert_same(function, numbers(function, CONTAINERS[container](tmp_path)))


@pytest.mark.sampled(8)
@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize(
    "container", ["frame", "columns", "polars", "Arrow", "stream", "dictionaries", "a.csv", "a.jsonl"]
)
def test_a_column_of_another_name(function: str, container: str, tmp_path: Path, monkeypatch: Any) -> None:
    rows = [{"text": "another", "review": row["text"], "label": row["label"]} for row in ROWS]
    monkeypatch.setitem(globals(), "ROWS", rows)
    monkeypatch.setitem(globals(), "FRAME", pd.DataFrame(rows))
    assert_same(function, numbers(function, CONTAINERS[container](tmp_path), "review"))


@pytest.mark.parametrize("container", TABLES)
def test_a_task_takes_every_table(container: str, tmp_path: Path) -> None:
    expected = _labelled(list(zip(TEXTS, LABELS, strict=True)), None)
    assert expected[: len(LABELS)] == LABELS
    np.testing.assert_allclose(_labelled(TABLES[container](tmp_path), None), expected, rtol=1e-6)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_table_without_texts_names_its_columns(function: str) -> None:
    with pytest.raises(
        InputError, match=r"no column 'text': there are 'review', 'y'; name the one of the texts by col"
    ):
        numbers(function, pd.DataFrame({"review": TEXTS, "y": LABELS}))
    with pytest.raises(InputError, match=r"no column 'body': there are 'number', 'text', 'label'"):
        numbers(function, FRAME, "body")
    with pytest.raises(InputError, match=r"the splits train, test: give one"):
        numbers(function, datasets.DatasetDict(dict.fromkeys(("train", "test"), datasets.Dataset.from_list(ROWS))))
    with pytest.raises(InputError, match=r"row 1, column 'text': the text is missing"):
        numbers(function, pd.DataFrame({"text": ["the cat", None]}))
    with pytest.raises(InputError, match=r"item 0 of \w+( \w+)? has no columns: leave column= out"):
        numbers(function, list(TEXTS), "text")


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize(
    "labels", [LABELS, np.array(LABELS), torch.tensor(LABELS), ["good", "bad"] * 4, ["very good"] * 8]
)
def test_texts_with_labels_are_no_pairs_of_texts(function: str, labels: Any) -> None:
    with pytest.raises(
        InputError, match=r"\(text, label\) pairs, as \('the cat sat on the mat', .*: give the texts alone"
    ):
        numbers(function, list(zip(TEXTS, labels, strict=True)))


def test_pairs_of_texts_stay_pairs() -> None:
    pairs = [("the cat sat", "it was warm"), ("on the mat", "the cat."), ("the mat", "cat")]
    expected = survey.head_stats(encoder(), pairs, progress=False).values("entropy")
    frame = pd.DataFrame(pairs, columns=["one", "two"])
    for source, column in (
        ([{"a": a, "b": b} for a, b in pairs], None),
        (frame, ("one", "two")),
        (frame.rename(columns={"one": "text", "two": "text_pair"}), None),
        (datasets.Dataset.from_pandas(frame), ("one", "two")),
    ):
        stats = survey.head_stats(encoder(), source, progress=False, column=column)
        np.testing.assert_array_equal(stats.values("entropy"), expected)
    assert len(encoder().trace_batch([("the cat", "sat")])) == 1
    with pytest.raises(InputError, match=r"an array of one axis, a text each, not of shape \(3, 2\)"):
        survey.head_stats(encoder(), np.array(pairs), progress=False)


def test_a_note_says_which_column_was_taken() -> None:
    for function in FUNCTIONS:
        with pytest.warns(Note, match=r"texts are the column 'text' of a table with 3 columns: column= takes") as notes:
            FUNCTIONS[function](FRAME, None)
        assert {note.filename for note in notes} == {__file__}, function
    with warnings.catch_warnings():
        warnings.simplefilter("error", Note)
        survey.head_stats(encoder(), FRAME, progress=False, column="text")
        survey.head_stats(encoder(), FRAME[["text"]], progress=False)
        survey.head_stats(encoder(), TEXTS, progress=False)


def test_home_is_understood_in_every_path(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("a.txt", "a.csv", "a.jsonl", "a.parquet"):
        written(tmp_path, name)
        assert_same("head_stats", numbers("head_stats", f"~/{name}"))
        assert_same("report", numbers("report", f"~/{name}"))
        assert_same("encode", numbers("encode", Path(f"~/{name}")))
    assert list(training.read(training.files(["~/a.txt"]))) == TEXTS
    assert _labelled("~/a.csv", None)[: len(LABELS)] == LABELS
    survey.head_stats(encoder(), TEXTS, progress=False, save="~/stats.npz")
    assert survey.HeadStats.load("~/stats.npz").n_texts == len(TEXTS)
    encoder().trace("the cat").explore().to_html("~/page.html")
    assert (tmp_path / "page.html").is_file() and not Path("~").exists()
    encoder().model.save_pretrained(tmp_path / "model")
    encoder().tokenizer.save_pretrained(tmp_path / "model")
    loaded = bl.Lens.from_pretrained("~/model")
    np.testing.assert_allclose(loaded.encode(TEXTS), encoder().encode(TEXTS), rtol=1e-6)


def test_a_stream_is_read_no_further_than_it_has_to_be() -> None:
    def endless() -> Any:
        for number in range(10**9):
            assert number < 10_500
            yield {"text": f"the cat {number}", "label": number % 2}

    stream = datasets.IterableDataset.from_generator(endless)
    assert survey.head_stats(encoder(), stream, limit=3, progress=False).n_texts == 3
    assert len(bl.task(classifier(), stream, limit=4)) == 4
    with pytest.warns(Note, match="drawn from the first 10,000 of the stream"):
        assert bl.report(encoder(), stream, "vig-next", texts=2, progress=False).facts["corpus"]["of"] == 10_000


def test_what_is_cut_or_left_out_is_said() -> None:
    long, short = "the cat sat " * 40, "the mat"
    cut = r"2 of 3 texts are longer than the 64 tokens that the model reads: it cuts them"
    for call in (
        lambda: encoder().encode([long, short, long]),
        lambda: encoder().similarity([long, short], [long]),
        lambda: bl.rank(encoder(), short, [long, short, long], explained=0),
    ):
        with pytest.warns(Note, match=cut) as notes:
            call()
        assert {note.filename for note in notes} == {__file__}
    masked = bl.Lens(tf.BertForMaskedLM(tf.BertConfig(**tiny.BERT)).eval(), tiny.wordpiece())
    with pytest.warns(Note, match="1 text of special tokens alone is left out"):
        assert survey.attention_gradients(masked, ["\u200b", short], progress=False).attrs["texts"] == 1
    trees = [survey.Sentence([*words], [-1, *range(len(words) - 1)], ["root", *["dep"] * (len(words) - 1)])
             for words in (["the", "cat"], ["a", "mat"], ["cat"] * 61)]  # fmt: skip
    with pytest.warns(Note, match="1 of 3 sentences are left out: longer than 60 words"):
        survey.attention_probe(encoder(), trees)
    with warnings.catch_warnings():
        warnings.simplefilter("error", Note)
        encoder().encode(TEXTS)
