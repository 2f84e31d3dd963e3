"""Folders of files of one kind, and data sets of the hub: the texts of their files, one after the other."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bertlens import InputError
from bertlens.survey import corpus
from bertlens.tasks.columns import columns
from bertlens.text.folders import files_of, hub_data_set
from bertlens.text.texts import entries, is_stream

pytestmark = pytest.mark.filterwarnings("ignore:texts are the column")
TEXTS = ["the cat sat", "it was warm", "the mat", "nobody had asked", "a dog", "had they?", "it was not"]
SIZES = (3, 0, 2, 2)


def parquet(path: Path, texts: list[str], **more: Any) -> None:
    arrow = pytest.importorskip("pyarrow")
    pytest.importorskip("pyarrow.parquet").write_table(
        arrow.table({"text": arrow.array(texts, "string"), "label": [len(str(text)) % 2 for text in texts]} | more),
        path,
    )


WRITERS: dict[str, Callable[[Path, list[str]], None]] = {
    "parquet": parquet,
    "csv": lambda path, texts: path.write_text("text,label\n" + "".join(f"{t},{len(t) % 2}\n" for t in texts)) and None,
    "jsonl": lambda path, texts: (
        path.write_text("".join(f"{json.dumps({'text': t, 'label': len(t) % 2})}\n" for t in texts)) and None
    ),
    "txt": lambda path, texts: path.write_text("".join(f"{text}\n" for text in texts)) and None,
    "txt.gz": lambda path, texts: path.write_bytes(gzip.compress("\n".join(texts).encode())) and None,
}


def folder_of(kind: str, folder: Path) -> Path:
    """Four files, one of them empty, one in a folder below, and what Spark and people leave beside them."""
    (folder / "year=2024").mkdir(parents=True)
    at = 0
    for number, size in enumerate(SIZES):
        below = folder / "year=2024" if number == 3 else folder
        WRITERS[kind](below / f"part-{number}.{kind}", TEXTS[at : at + size])
        at += size
    (folder / "_SUCCESS").write_text("")
    (folder / ".part-0.crc").write_text("crc")
    return folder


@pytest.mark.parametrize("kind", WRITERS)
def test_a_folder_is_the_texts_of_its_files(kind: str, tmp_path: Path) -> None:
    folder = folder_of(kind, tmp_path / "c")
    assert [*corpus.items(folder)] == [*corpus.items(str(folder))] == TEXTS
    assert corpus.size(folder) == (len(TEXTS) if kind == "parquet" else None)
    assert corpus.size(folder, 3) == 3 and [entry.number for entry in corpus.numbered(folder, 5)] == [0, 1, 2, 3, 4]
    if "txt" not in kind:
        table = columns(folder, ["text", "label"])
        assert table.values["text"] == TEXTS and [int(n) for n in table.values["label"]] == [len(t) % 2 for t in TEXTS]
        assert len(columns(folder, ["text", "label"], limit=2)) >= 2


def test_a_folder_that_is_none(tmp_path: Path) -> None:
    """One sentence each, which names the file."""
    mixed, empty, cut, other, damaged = (tmp_path / name for name in ("mixed", "empty", "cut", "other", "damaged"))
    for folder in (mixed, empty, cut, other, damaged):
        folder.mkdir()
    parquet(mixed / "a.parquet", TEXTS)
    (mixed / "b.csv").write_text("text\na\n")
    (empty / ".hidden").write_text("a")
    for folder in (cut, damaged):
        parquet(folder / "a.parquet", TEXTS)
        parquet(folder / "b.parquet", TEXTS * 500)
    content = (cut / "b.parquet").read_bytes()
    (cut / "b.parquet").write_bytes(content[: len(content) // 2])
    (damaged / "b.parquet").write_bytes(content[:4] + bytes(len(content) // 2) + content[4 + len(content) // 2 :])
    parquet(other / "a.parquet", TEXTS)
    parquet(other / "b.parquet", TEXTS, title=TEXTS)
    for folder, fault in (
        (mixed, r"the folder .*mixed mixes files of kinds \.csv \(b\.csv\), \.parquet \(a\.parquet\): give one with"),
        (empty, "the folder .*empty holds no files: give one with files of one kind"),
        (cut, r"b\.parquet cannot be read as Parquet"),
        (damaged, r"b\.parquet cannot be read as Parquet"),
        (other, r"b\.parquet has a column 'title', other than a\.parquet"),
    ):
        for read in (corpus.items, lambda source: columns(source, ["text", "label"]).values["text"]):
            with pytest.raises(InputError, match=fault) as error:
                list(read(folder))
            assert "\n" not in str(error.value)
    with pytest.raises(InputError, match=r"b\.parquet"):  # before the first text
        next(corpus.items(other))
    (other / "b.parquet").unlink()
    (other / "a.parquet").rename(other / "a.csv")
    (other / "a.csv").write_text("text,label\na,1\n")
    (other / "b.csv").write_text("label,text\n1,b\n")
    assert [*corpus.items(other)] == ["a", "b"]  # the order of columns may differ
    (other / "b.csv").write_text("label\n1\n")
    with pytest.raises(InputError, match=r"b\.csv has no column 'text', other than a\.csv"):
        list(corpus.items(other))


def test_places_name_the_file(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"text": "a"}\n')
    (tmp_path / "b.jsonl").write_text('{"text": "b"}\n\n{"label": 1}\n')
    with pytest.raises(InputError, match=r"line 3 of b\.jsonl has no 'text'"):
        list(entries(tmp_path))
    for file in files_of(tmp_path):
        file.unlink()
    parquet(tmp_path / "a.parquet", ["a", None])  # type: ignore[list-item]
    with pytest.raises(InputError, match=rf"row 1 of {tmp_path.name}, column 'text': the text is missing"):
        list(entries(tmp_path))


class Hub:
    """Instead of the hub: what `datasets.load_dataset` is asked for, and data sets of this machine."""

    def __init__(self, content: Any):
        self.content, self.calls = content, list[Any]()

    def __call__(self, *names: Any, **options: Any) -> Any:
        self.calls.append((names, options))
        if isinstance(self.content, Exception):
            raise self.content
        return self.content


def test_a_data_set_of_the_hub_is_read_as_it_comes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    datasets = pytest.importorskip("datasets")
    load = datasets.load_dataset
    folder = folder_of("parquet", tmp_path / "c")
    files = [str(file) for file in files_of(folder) if file.name != "part-1.parquet"]  # `datasets` fails at empty ones
    stream = load("parquet", data_files=files, split="train", streaming=True, cache_dir=tmp_path)
    hub = Hub(stream)
    monkeypatch.setattr(datasets, "load_dataset", hub)
    base = {"streaming": True}
    for address, names, options in (
        ("hf://datasets/o/n#train", ("o/n",), {"revision": "main", "split": "train"}),
        ("hf://datasets/o/n@v2#de/test", ("o/n", "de"), {"revision": "v2", "split": "test"}),
        ("hf://datasets/o/n/a/*.parquet", ("parquet",), {"split": "train"}),
        ("hf://datasets/o/n/x.jsonl.gz", ("json",), {"split": "train"}),
    ):
        files_there = {} if "revision" in options else {"data_files": address}
        assert [*corpus.items(address)] == TEXTS and corpus.size(address) is None and is_stream(address)
        assert hub.calls[-1] == (names, base | options | files_there)
    name = "hf://datasets/o/n"
    assert columns(f"{name}#train", ["text", "label"], limit=2).values["text"] == TEXTS[:2]
    hub.content = {"train": stream}
    assert [*corpus.items(name)] == TEXTS
    for content, address, fault in (
        ({"train": stream, "test": stream}, name, rf"{name} has the splits train, test: name one, as {name}#train"),
        (FileNotFoundError("Couldn't find it\nmore"), name, f"{name} cannot be read: Couldn't find it$"),
        (stream, "hf://o/n", "hf://datasets/OWNER/NAME is a data set of the hub, 'hf://o/n' is none"),
        (stream, f"{name}/a.xml", "names no file of a kind that is read there"),
    ):
        hub.content = content
        with pytest.raises(InputError, match=fault):
            hub_data_set(address)


def test_the_command_takes_folders_and_addresses() -> None:
    from bertlens.cli.command_line import parser

    for command in (["survey", "{}"], ["report", "m", "{}"], ["task", "m", "{}"]):
        for source in ("hf://datasets/o/n#train", "folder"):
            arguments = parser().parse_args([part.format(source) for part in command] + ["-o", "x"])
            assert str(getattr(arguments, "examples" if command[0] == "task" else "corpus")) == source
