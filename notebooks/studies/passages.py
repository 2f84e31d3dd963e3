"""A collection to search: abstracts of Cranfield, or paragraphs of two books, of which each misses a sentence.

A sentence that was cut out of a paragraph is a question that nobody had to write or to judge: what it came from is the
right answer (the inverse cloze task of Lee, Chang and Toutanova, ACL 2019).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from bertlens.text import excerpts

from .texts import data_folder
from .turned_orders import cranfield

LENGTHS = range(6, 31)  # words of a sentence that is a question
_END = re.compile(r"(?<=[.!?])(?<!Mr\.)(?<!Mrs\.)(?<!Dr\.)(?<!St\.)\s+(?=[“‘A-Z])|(?<= \.) ")


def collection(path: Path) -> str:
    """Write the folder of a collection as BEIR has them; what it is of, in a sentence."""
    if (data_folder() / "cranfield").is_dir():
        abstracts = cranfield(data_folder() / "cranfield")
        queries = dict(zip(abstracts.query_ids, abstracts.queries, strict=True))
        passages = dict(zip(abstracts.passage_ids, abstracts.passages, strict=True))
        relevance = {name: [*abstracts.relevant(at)] for at, name in enumerate(abstracts.query_ids)}
        source = "questions of engineers on abstracts, judged by them (Cranfield, 1967)"
    else:
        queries, passages = cut_sentences()
        relevance = {name: [name.removeprefix("from ")] for name in queries}
        source = "sentences that were cut out of paragraphs of two books"
    (path / "qrels").mkdir(parents=True, exist_ok=True)
    rows = [f"{query}\t{passage}\t1" for query, names in relevance.items() for passage in names]
    (path / "qrels" / "test.tsv").write_text("\n".join(["query-id\tcorpus-id\tscore", *rows]), encoding="utf-8")
    _write(path / "queries.jsonl", queries)
    _write(path / "corpus.jsonl", passages)
    return f"{len(queries):,} questions, {len(passages):,} passages: {source}"


def cut_sentences() -> tuple[dict[str, str], dict[str, str]]:
    """Questions and passages by their ids: a sentence of the middle of each paragraph of three or more, and what is
    left of the paragraph; the others as they are."""
    queries, passages = {}, {}
    for author, paragraphs in excerpts.paragraphs().items():
        for number, paragraph in enumerate(paragraphs, 1):
            name, sentences = f"{author.split()[-1]} {number}", sentences_of(paragraph)
            places = [at for at, sentence in enumerate(sentences) if len(sentence.split()) in LENGTHS]
            if len(sentences) >= 3 and places:
                queries[f"from {name}"] = sentences.pop(places[len(places) // 2])
            passages[name] = " ".join(sentences)
    return queries, passages


def sentences_of(text: str) -> list[str]:
    """Split at . ! and ?"""
    return _END.split(text)


def split(path: Path) -> pd.DataFrame:
    """A row a sentence of the passages of a folder: id, text, document, the passage that it stands in."""
    lines = (path / "corpus.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [
        (f"{passage['_id']}, {number}", sentence, passage["_id"])
        for passage in map(json.loads, lines)
        for number, sentence in enumerate(sentences_of(passage["text"]), 1)
    ]
    return pd.DataFrame(rows, columns=["id", "text", "document"])


def _write(path: Path, texts: Mapping[str, str]) -> None:
    lines = (json.dumps({"_id": name, "title": "", "text": text}) for name, text in texts.items())
    path.write_text("\n".join(lines), encoding="utf-8")
