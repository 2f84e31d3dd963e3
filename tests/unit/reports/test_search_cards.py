"""The cards of a search, where relevance is given: beside the tables of the retrieval."""

from __future__ import annotations

import json
from functools import cache, partialmethod
from html import unescape
from pathlib import Path
from typing import Any

import pytest

import bertlens as bl
from bertlens.cli import command_line as cli
from bertlens.errors import InputError
from bertlens.reports.claims import PAPERS, RETRIEVAL
from bertlens.reports.report_page import SEARCH_LIMIT
from bertlens.reports.rules import CANNOT, verdict
from unit import tiny_encoders
from unit.tiny_encoders import words

PASSAGES = {f"p{at}": f"the cat on mat {at} was {words(4 + at % 5, at)} and it was warm" for at in range(40)}
QUESTIONS = {f"q{at}": words(4, 100 + at) for at in range(16)}
RELEVANCE = {f"q{at}": {f"p{at}": 1} for at in range(16)}


@pytest.fixture(autouse=True)
def known_fillers(monkeypatch: pytest.MonkeyPatch) -> None:
    """The small tokenizer knows few words."""
    monkeypatch.setattr(bl.Retrieval, "probe", partialmethod(bl.Retrieval.probe, fillers=["very"]))


@cache
def lens() -> bl.Lens:
    return bl.Lens(tiny_encoders.encoder())


@cache
def search() -> bl.Retrieval:
    return bl.retrieval(lens(), QUESTIONS, PASSAGES, RELEVANCE, progress=False)


@cache
def report() -> Any:
    texts = [words(12, at) for at in range(10)]
    return bl.report(lens(), texts, "health-cut", texts=10, search=search(), progress=False)


def test_cards_have_the_numbers_of_the_retrieval() -> None:
    names = [card.claim.name for card in report().cards]
    assert names == ["health-cut", *(claim.name for claim in RETRIEVAL)]
    row = search().metrics().set_index("measure").loc["nDCG@10"]
    bm25 = report().claim("retrieval-bm25").measured
    ends = ["difference", "difference_low", "difference_high"]
    assert [bm25.value, bm25.low, bm25.high] == pytest.approx(row[ends].tolist()) and bm25.n == 16
    assert report().claim("retrieval-first").measured.value == (search().by_question["MRR@100"] == 1).mean()
    failures = search().failures()
    assert report().claim("retrieval-hubs").measured.value == failures["hub"].mean()
    table = search().probe(progress=False).table.set_index("kind")
    for kind in ("not", "number"):
        measured = report().claim(f"retrieval-{kind}").measured
        assert [measured.value, measured.low, measured.high] == table.loc[kind, ["share", "low", "high"]].tolist()
        assert measured.n == table.loc[kind, "n"] >= 30
    name = report().claim("retrieval-name")
    assert name.verdict == CANNOT and name.why == "0 texts are too few to edit"
    for card in report().groups[2]:
        assert (card.verdict, card.why) == verdict(card.claim.rule, card.measured)


def test_the_page_has_a_group_of_them_and_the_json_counts_them() -> None:
    page = unescape(report().to_html(progress=False))
    assert "How good is its search?" in page and len(page) <= SEARCH_LIMIT
    missing = [claim.name for claim in RETRIEVAL if f'id="{claim.name}"' not in page or claim.sentence not in page]
    assert not missing
    record = json.loads(report().to_json())
    assert sum(record["searches"].values()) == len(RETRIEVAL) and sum(record["checks"].values()) == 1
    assert "of those of its search" in report().said and "How good is its search?" in report()._repr_html_()
    bare = bl.report(lens(), [words(12, 0)] * 4, "health-cut", texts=4, progress=False)
    assert "searches" not in bare.to_dict() and "its search" not in bare.said
    assert "How good is its search?" not in bare.to_html(progress=False)


def test_lines_compute_the_numbers() -> None:
    for claim in RETRIEVAL:
        if claim.name == "retrieval-name":
            continue  # too few texts
        names = {"lens": lens(), "bl": bl, "queries": QUESTIONS, "corpus": PASSAGES, "relevance": RELEVANCE}
        setup, _, line = claim.python.rpartition("; ")
        exec(setup, names)
        assert eval(line, names) == pytest.approx(report().claim(claim.name).measured.value)
        assert claim.group in PAPERS and claim.found and not claim.on


def test_what_cannot_be_is_said() -> None:
    other = bl.Lens(tiny_encoders.encoder(mode="max"))
    with pytest.raises(InputError, match=r"search= is a ranking of .*: a report is of one model"):
        bl.report(other, ["the cat"], search=search(), progress=False)
    bare = bl.retrieval(lens(), QUESTIONS, PASSAGES, progress=False)
    with pytest.raises(InputError, match="search= needs relevance"):
        bl.report(lens(), ["the cat"], search=bare, progress=False)


def test_the_command_takes_a_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(cli, "load_lens", lambda _: lens())
    (tmp_path / "beir" / "qrels").mkdir(parents=True)
    for name, texts in (("corpus", PASSAGES), ("queries", QUESTIONS)):
        lines = [json.dumps({"_id": key, "text": text}) for key, text in texts.items()]
        (tmp_path / "beir" / f"{name}.jsonl").write_text("\n".join(lines))
    rows = [f"{query}\t{name}\t1" for query, of in RELEVANCE.items() for name in of]
    (tmp_path / "beir" / "qrels" / "test.tsv").write_text("\n".join(["query-id\tcorpus-id\tscore", *rows]))
    (tmp_path / "texts.txt").write_text("\n".join(words(12, at) for at in range(10)))
    arguments = [
        "report",
        "tiny",
        str(tmp_path / "texts.txt"),
        "-o",
        str(tmp_path / "r.json"),
        "--claims",
        "health-cut",
    ]
    assert cli.main([*arguments, "--search", str(tmp_path / "beir")]) == 0
    assert "of those of its search" in capsys.readouterr().out
    record = json.loads((tmp_path / "r.json").read_text())
    values = {claim["name"]: claim["value"] for claim in record["claims"]}
    assert values["retrieval-bm25"] == pytest.approx(report().claim("retrieval-bm25").measured.value, abs=1e-5)
