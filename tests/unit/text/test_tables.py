"""A row of a table stays a row, whatever letters stand in it, in each dialect; files of words, and lists as printed."""

from __future__ import annotations

import csv
import io
import json
import random
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import psutil
import pytest
import transformers as tf

import bertlens as bl
from bertlens import InputError, survey
from bertlens.base import textfile
from bertlens.base.notes import Note
from bertlens.survey import corpus
from bertlens.text import table_files
from bertlens.text.texts import entries as texts_of
from unit import tiny
from unit.tasks.classifier import labelled, lens_of

# Letters that break lines elsewhere, quotes that open and never close, backslashes, separators
HARD = [
    "a\u2028b\x85c\x0bd\x0ce\x1cf\x1dg\x1eh",
    '"Hello," he said',
    'it was "good"',
    "a, b; c | d",
    "C:\\new\\table",
    "don't 'quote'",
    "\u200bnothing\u00a0there\ufeff",
    'ends with a quote"',
    "#1, really",
    "\U0001f469\u200d\U0001f680 مرحبا שלום",
]
BROKEN = ["two\nlines", 'two\r\nlines, and "quotes"', "a\ttab"]


def rows_of(texts: list[str]) -> list[dict[str, Any]]:
    return [{"text": text, "label": str(number % 2)} for number, text in enumerate(texts)]


def in_dialect(texts: list[str], **dialect: Any) -> str:
    out = io.StringIO(newline="")
    writer = csv.DictWriter(out, ["text", "label"], lineterminator="\n", **dialect)
    writer.writeheader()
    writer.writerows(rows_of(texts))
    return out.getvalue()


DIALECTS = {
    "a.csv": in_dialect(HARD + BROKEN),
    "all quoted.csv": in_dialect(HARD + BROKEN, quoting=csv.QUOTE_ALL),
    "semicolons.csv": in_dialect(HARD + BROKEN, delimiter=";"),
    "bars.csv": in_dialect(HARD + BROKEN, delimiter="|"),
    "backslashes.csv": in_dialect(HARD + BROKEN, doublequote=False, escapechar="\\", quoting=csv.QUOTE_ALL),
    "quoted.tsv": in_dialect(HARD + BROKEN, delimiter="\t"),
    "glue.tsv": "text\tlabel\n" + "\n".join(f"{row['text']}\t{row['label']}" for row in rows_of(HARD)) + "\n",
    "pandas.csv": pd.DataFrame(rows_of(HARD + BROKEN)).to_csv(index=False),
    "lines.jsonl": "\n".join(json.dumps(row, ensure_ascii=False) for row in rows_of(HARD + BROKEN)),
    "ascii.jsonl": "\r\n".join(json.dumps(row) for row in rows_of(HARD + BROKEN)),
    "list.json": json.dumps(rows_of(HARD + BROKEN), indent=1),
}


@pytest.mark.parametrize("name", DIALECTS)
def test_a_row_stays_a_row_in_each_dialect(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(DIALECTS[name].encode())
    expected = HARD if name == "glue.tsv" else HARD + BROKEN
    assert list(corpus.items(path, "text")) == expected
    examples = bl.task(lens_of(), path).examples
    assert [text for (text,) in examples.texts] == expected
    assert examples.labels.tolist() == [number % 2 for number in range(len(expected))]


def test_two_lines_between_two_quotes_are_two_rows(tmp_path: Path) -> None:
    """A quote opens one text and closes the next: with quotes read it would be one row of the same number of cells."""
    (tmp_path / "a.tsv").write_text('text\tlabel\n"A strange film, he said\t1\nit was good"\t0\nno more\t1\n')
    assert list(corpus.items(tmp_path / "a.tsv", "text")) == ['"A strange film, he said', 'it was good"', "no more"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'text,label\n"a, b,1\nc,0\n', r"line 2 of a.csv cannot be read: unexpected end of data"),
        (b'text,label\nc,0\n"a, b" c,1\n', r"line 3 of a.csv cannot be read: ',' expected after"),
        (b"text,label\nc,0\n\na,b,1\n", r"row 1 \(line 4 of a.csv\) has 3 fields, the first line has 2:"),
        (b"text,label\nc\0,0\n", r"a.csv is no text: it holds zero bytes"),
        (b"title,label\nc,0\n", r"no column 'text' in a.csv: there are 'title', 'label'"),
        (b"", r"a.csv is empty"),
    ],
)
def test_what_is_no_row_is_named_by_its_line(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "a.csv").write_bytes(content)
    for read in (lambda path: list(corpus.items(path)), lambda path: bl.task(lens_of(), path)):
        with pytest.raises(InputError, match=message):
            read(tmp_path / "a.csv")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.parquet", b"PAR1", "a.parquet cannot be read as Parquet|need the library pyarrow"),
        ("a.xlsx", b"PK", "a.xlsx is a workbook: save the sheet as CSV"),
        ("a.json", b'{"text": ', "a.json cannot be read as JSON: .* a row a line is .jsonl"),
        ("a.json", b"7", "a.json holds no list of rows, nor columns by name"),
        ("a.conllu", b"1\tthe\ncat\tsat\n", "line 2 of a.conllu is not of a CoNLL-U file"),
    ],
)
def test_a_file_that_is_none_of_its_kind(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=message):
        list(corpus.items(tmp_path / name))


# ---- large files: block by block ----


@pytest.mark.parametrize("name", [name for name in DIALECTS if name.endswith("sv")])
def test_blocks_are_read_as_the_file_at_once(tmp_path: Path, monkeypatch: Any, name: str) -> None:
    header, rows = DIALECTS[name].split("\n", 1)
    (tmp_path / name).write_bytes((header + "\n" + 3 * rows).encode())
    monkeypatch.setattr(textfile, "PIECE", 7)
    for block in (150, 400, 10**6):
        monkeypatch.setattr(table_files, "BLOCK", block)
        assert list(corpus.items(tmp_path / name, "text")) == 3 * (HARD if name == "glue.tsv" else HARD + BROKEN)


@pytest.mark.parametrize("seed", range(20))
def test_rows_of_blocks_of_any_size_are_those_that_were_written(tmp_path: Path, monkeypatch: Any, seed: int) -> None:
    draw = random.Random(seed)
    texts = ["".join(draw.choices('ab ,;\t"\n\r\\é猫', k=draw.randint(1, 20))) + "." for _ in range(40)]
    separator, end, coding = draw.choice(",;|"), draw.choice(["\n", "\r\n"]), draw.choice(["utf-8-sig", "utf-16"])
    rows = [f'"text"{separator}"label"{end}']
    for number, text in enumerate(texts):
        quoted = text.replace('"', '""')
        rows.append(f'"{quoted}"{separator}"{number}"{end}')
    (tmp_path / "a.csv").write_bytes("".join(rows).encode(coding))
    monkeypatch.setattr(textfile, "PIECE", draw.randint(2, 50))
    monkeypatch.setattr(table_files, "BLOCK", draw.randint(100, 600))
    entries = list(texts_of(tmp_path / "a.csv", "text"))
    assert [entry.item for entry in entries] == texts
    assert [entry.line for entry in entries] == [
        1 + len(re.findall("\r\n|\r|\n", "".join(rows[: number + 1]))) for number in range(len(texts))
    ]


def test_the_first_quote_tells_the_dialect_however_late_it_comes(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(table_files, "BLOCK", 100)
    plain = ["the cat sat"] * 100
    for name, text, cell in (
        ("a.csv", 'it "sat", he said', '"it \\"sat\\", he said"'),
        ("b.csv", 'it "sat", he said', '"it ""sat"", he said"'),
        ("c.csv", '"it" sat', '"it" sat'),
    ):
        lines = ["text,label", *(f"{line},0" for line in plain), f"{cell},0", "it sat,0"]
        (tmp_path / name).write_text("\n".join(lines) + "\n")
        assert list(corpus.items(tmp_path / name, "text")) == [*plain, text, "it sat"]


LATE = {
    "a.csv": (b"a,b,1\n", r"row 1000 \(line 1002 of a.csv\) has 3 fields, the first line has 2:"),
    "b.csv": (b'"a, b" c,1\n', r"line 1002 of b.csv cannot be read: ',' expected after"),
    "c.csv": (b"caf\xe9,1\n", r"line 1002 of c.csv is no UTF-8"),
    "d.csv": (b"c\0,1\n", r"line 1002 of d.csv is no text: it holds zero bytes"),
    "e.csv": (b'"a, b,1\n', r"line 1002 of e.csv cannot be read: unexpected end of data"),
    "f.tsv": (b'"A strange\t1\nit was good"\t0\n', r"line 1003 of f.tsv is a row of its own, unless a quote joins it"),
    "g.csv": (
        b"the cat,1\n",
        r"row 1000 \(line 1002 of g.csv\), column 'text': that is no list, as in the rows before",
    ),
}


@pytest.mark.parametrize("name", LATE)
def test_what_is_wrong_far_on_is_named_by_its_line_when_it_is_reached(
    tmp_path: Path, monkeypatch: Any, name: str
) -> None:
    late, message = LATE[name]
    cell, text = ("\"['it', 'sat']\"", ["it", "sat"]) if name == "g.csv" else ('"it sat"', "it sat")
    separator = "\t" if name == "f.tsv" else ","
    rows = f"text{separator}label\n" + f"{cell}{separator}0\n" * 1000
    (tmp_path / name).write_bytes(rows.encode() + late + b"it was,1\n".replace(b",", separator.encode()) * 1000)
    monkeypatch.setattr(textfile, "PIECE", 100)
    monkeypatch.setattr(table_files, "BLOCK", 300)
    read: list[Any] = []
    with pytest.raises(InputError, match=message):
        read.extend(corpus.items(tmp_path / name, "text"))
    assert 900 < len(read) <= 1000 and all(item == text for item in read)


@pytest.mark.parametrize("name", ["a.txt", "a.jsonl", "a.csv", "quoted.csv", "a.tsv"])
def test_a_corpus_is_begun_before_its_file_is_read(tmp_path: Path, name: str) -> None:
    """Bytes that the system has given to this process, of a file of 30 MB."""
    process = psutil.Process()
    if not hasattr(process, "io_counters") or not hasattr(process.io_counters(), "read_chars"):
        pytest.skip("this system does not say how many bytes a process has read")
    text = "the cat sat on the mat"
    header, line = {
        "a.txt": ("", "{}\n"),
        "a.jsonl": ("", '{{"text": "{}"}}\n'),
        "quoted.csv": ("text,label\n", '"{}",1\n'),
        "a.tsv": ("text\tlabel\n", "{}\t1\n"),
    }.get(name, ("text,label\n", "{},1\n"))
    path = tmp_path / name
    path.write_text(header + line.format(text) * 10**6, newline="")
    before = process.io_counters().read_chars
    assert next(iter(corpus.items(path, None if name == "a.txt" else "text"))) == text
    assert process.io_counters().read_chars - before < path.stat().st_size / 2


# ---- words and tags ----

SENTENCES = [["the", "cat", "sat"], ["it", "was", "warm", "."]]
TAGS = [["O", "B-CAT", "O"], ["O", "O", "B-CAT", "I-CAT"]]
NAMES = ["O", "B-CAT", "I-CAT"]


@pytest.fixture(scope="module")
def tagger() -> bl.Lens:
    config = tf.BertConfig(**tiny.BERT, id2label=dict(enumerate(NAMES)))
    return bl.Lens(tiny.shaken(tf.BertForTokenClassification(config)), tiny.wordpiece())


def conll(template: str, before: str = "", between: str = "\n") -> str:
    return before + between.join(
        "".join(template.format(word=word, tag=tag) for word, tag in zip(*pair, strict=True))
        for pair in zip(SENTENCES, TAGS, strict=True)
    )


def frame() -> pd.DataFrame:
    return pd.DataFrame({"text": SENTENCES, "label": TAGS})


def numpy_frame() -> pd.DataFrame:
    return pd.DataFrame({"text": map(np.array, SENTENCES), "label": map(np.array, TAGS)})


START = "-DOCSTART- -X- -X- O\n\n"
FILES = {
    "a.conll": conll("{word} {tag}\n"),
    "train.txt": conll("{word} NN B-NP {tag}\n", START),
    "tabs.tsv": conll("{word}\t{tag}\n", between="\n\n \n"),
    "a.iob2": conll("{word}\t_\t_\t{tag}\r\n", "# id 7c domain=en\r\n", "\r\n# id 8d domain=en\r\n"),
    "a.bio": conll("{word} {tag}\n", "# sent_id = 1\n# text = the cat\n"),
    "pandas.csv": frame().to_csv(index=False),
    "numpy.csv": numpy_frame().to_csv(index=False),
    "json.tsv": "text\tlabel\n"
    + "\n".join(f"{json.dumps(a)}\t{json.dumps(b)}" for a, b in zip(SENTENCES, TAGS, strict=True)),
    "a.jsonl": "\n".join(json.dumps({"text": a, "label": b}) for a, b in zip(SENTENCES, TAGS, strict=True)),
    "blanks.csv": "text,label\n"
    + "\n".join(f"{' '.join(a)},{' '.join(b)}" for a, b in zip(SENTENCES, TAGS, strict=True)),
}


@pytest.mark.parametrize("name", FILES)
def test_tags_of_words_from_every_file(tagger: bl.Lens, tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(FILES[name].encode())
    examples = bl.task(tagger, tmp_path / name).examples
    assert [[*words] for words in examples.texts] == SENTENCES
    assert [[NAMES[k] for k in tags] for tags in examples.labels] == TAGS


@pytest.mark.parametrize(
    "name", [name for name in FILES if name.endswith(("csv", "json.tsv", "jsonl", "conll", "iob2"))]
)
def test_words_are_words_in_a_survey_too(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(FILES[name].encode())
    with pytest.warns(Note) if "sv" in name else pytest.MonkeyPatch.context():
        found = list(corpus.items(tmp_path / name))
    assert found == ([" ".join(words) for words in SENTENCES] if name == "blanks.csv" else SENTENCES)


def test_tags_of_words_from_tables(tagger: bl.Lens, tmp_path: Path) -> None:
    datasets, pl, pa = (pytest.importorskip(name) for name in ("datasets", "polars", "pyarrow"))
    numbers = [[NAMES.index(tag) for tag in tags] for tags in TAGS]
    frame().to_parquet(tmp_path / "a.parquet")
    columns = {"text": SENTENCES, "label": TAGS}
    for source in (
        frame(),
        numpy_frame(),
        pd.read_csv(io.StringIO(FILES["pandas.csv"])),
        pd.read_parquet(tmp_path / "a.parquet"),
        tmp_path / "a.parquet",
        columns,
        pl.DataFrame(columns),
        pa.table(columns),
        datasets.Dataset.from_dict(columns),
        datasets.Dataset.from_dict({"text": SENTENCES, "label": numbers}).with_format("numpy"),
        list(zip(SENTENCES, map(np.array, numbers), strict=True)),
    ):
        examples = bl.task(tagger, source).examples
        assert [[*words] for words in examples.texts] == SENTENCES
        assert [[NAMES[k] for k in tags] for tags in examples.labels] == TAGS


def test_columns_of_a_word_a_line(tagger: bl.Lens, tmp_path: Path) -> None:
    path = tmp_path / "a.conll"
    path.write_text(conll("{word} {tag} NN\n"))
    assert bl.task(tagger, path, label=1).labels[1].tolist() == [0, 0, 1, 2]  # type: ignore[arg-type]
    path.write_text("the O\ncat\n")
    with pytest.raises(InputError, match=r"line 2 of a.conll has 1 fields, not 2 fields, as the lines before"):
        bl.task(tagger, path)
    with pytest.raises(InputError, match=r"a.conll has a tag for each word, and this model gives none to words"):
        bl.task(lens_of(), path)
    path = tmp_path / "a.conllu"
    path.write_text("# newdoc\n# text = au chat\n1-2\tau\t_\t_\n1\ta\t_\tO\n2\tcat\t_\tB-CAT\n2.1\tsat\t_\tO\n\n")
    assert bl.task(tagger, path, label="upos").examples.texts == [("a", "cat")]
    with pytest.raises(InputError, match=r"no column 'label' in a.conllu: there are 'id', 'text', 'lemma', 'upos'"):
        bl.task(tagger, path)


def test_a_word_that_is_a_number_sign_or_has_no_width_is_a_word(tmp_path: Path) -> None:
    path = tmp_path / "a.conll"
    path.write_text("# O\n1 O\n\n\u200d O\n\u00ad O\na\u00a0b O\n")
    assert list(corpus.items(path)) == [["#", "1"], ["\u200d", "\u00ad", "a\u00a0b"]]


def test_a_treebank_without_trees_is_words_in_a_survey_and_refused_where_trees_are_measured(tmp_path: Path) -> None:
    lens = bl.Lens(tiny.bert(num_hidden_layers=2), tiny.wordpiece())
    path = tmp_path / "A.CONLLU"
    path.write_text("1\tthe\t_\n2\tcat\t_\n\n1\tsat\t_\n")
    stats = survey.head_stats(lens, path, progress=False)
    expected = survey.head_stats(lens, [["the", "cat"], ["sat"]], progress=False)
    np.testing.assert_array_equal(stats.values("entropy"), expected.values("entropy"))
    assert corpus.size(path) == 2
    with pytest.raises(InputError, match="words without head or relation"):
        survey.relation_scores(lens, path, progress=False)


# ---- the first rows of a sorted file ----


@pytest.mark.parametrize("container", [list, lambda rows: pd.DataFrame(rows, columns=["text", "label"])])
def test_a_limit_of_a_sorted_file_says_that_the_others_differ(container: Any) -> None:
    rows = sorted(labelled(200), key=lambda pair: pair[1])
    zeros = sum(label == 0 for _, label in rows)
    counts = rf"\(.*0 {zeros} and 0 times"
    with pytest.warns(Note, match=rf"limit= takes the first {zeros + 3} of 200 rows, and their labels .* {counts}"):
        bl.task(lens_of(), container(rows), limit=zeros + 3)
    with pytest.warns(Note, match="shuffle the rows first"), pytest.raises(InputError, match="all 50 examples"):
        bl.task(lens_of(), container(rows), limit=50)


@pytest.mark.parametrize("seed", range(20))
def test_a_limit_of_a_shuffled_file_says_nothing(seed: int, recwarn: Any) -> None:
    bl.task(lens_of(), labelled(200, seed=seed), limit=60)
    bl.task(lens_of(), labelled(200, seed=seed), limit=200)
    assert not [warning for warning in recwarn if issubclass(warning.category, Note)]
