"""Files of test collections: what stands in them, whatever their publishers left in."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import pytest

from bertlens import InputError
from bertlens.search.collection_files import folder_file, folder_judgements, marked_records, trec_judgements

MARKED = """.I 1
.T
on lift
of wings .
.A
x, y
.W
on lift of wings .
 the first.
.I 240
.T
heat
.A
c
.B
naca
.W
heat is
.A
led
.B
off
.W
somewhere .
.X
12
.I 3
.T
.A
.W
"""

TOPICS = """
<top>
<head> Tipster Topic Description
<num> Number: 051
<title> Topic: Airbus &amp; Boeing
<desc> Description:
What of
subsidies?
</top>

<top>
<num> Number: 052 </num>
<title></title>
<desc> Description: Sanctions.
<narr> Narrative: none </narr>
</top>
"""

DOCUMENTS = """<DOC>
<DOCNO> LA-1 </DOCNO>
<DATE><P>January</P></DATE>
<HEADLINE><P>Topic: a &lt;fire&gt;</P></HEADLINE>
<TEXT>
<P>It burnt, 3 < 4,</P>
<TABLE>and burnt.</TABLE>
</TEXT>
<BYLINE>nobody</BYLINE>
</DOC>
<doc><docno>2</docno><title>heat</title><author>c</author><text>flow of heat</text></doc>
"""


def records(path: Path, text: str) -> list[tuple[str, dict[str, str]]]:
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    contents = marked_records(path)
    assert contents is not None
    return [*contents]


@pytest.mark.parametrize("name", ["cran.all.1400", "cran.qry.gz"])
def test_marks_in_a_text_begin_nothing(tmp_path: Path, name: str) -> None:
    places = [f"line {line} of {name}" for line in (1, 10, 27)]
    assert records(tmp_path / name, MARKED) == [
        (places[0], {"_id": "1", "title": "on lift of wings .", "text": "on lift of wings . the first."}),
        (places[1], {"_id": "240", "title": "heat", "text": "heat is led off somewhere ."}),
        (places[2], {"_id": "3", "title": "", "text": ""}),
    ]
    assert records(tmp_path / name, MARKED.replace("\n", "\r\n")) == records(tmp_path / name, MARKED)
    with pytest.raises(InputError, match=r"^line 27 of .* has no number: a record begins with .I and its id$"):
        records(tmp_path / name, MARKED.replace(".I 3", ".I"))


def test_topics_ask_their_title(tmp_path: Path) -> None:
    path = tmp_path / "topics.51-100.gz"
    assert records(path, TOPICS) == [
        (f"line 2 of {path.name}", {"_id": "051", "text": "Airbus & Boeing"}),
        (f"line 11 of {path.name}", {"_id": "052", "text": "Sanctions."}),
    ]
    closed = "<?xml version='1.0'?>\n<xml>\n<top><num>1</num><title>what lifts</title></top></xml>"
    assert records(path, closed) == [(f"line 3 of {path.name}", {"_id": "1", "text": "what lifts"})]
    without_ends = TOPICS.replace("</top>", "").replace("</num>", "").replace("</title>", "")
    assert records(path, without_ends) == records(path, TOPICS)
    with pytest.raises(InputError, match=r"^line 2 of topics.51-100.gz begins a record without <num>, its id$"):
        records(path, TOPICS.replace("<num> Number: 051", ""))


def test_documents_lose_their_markup(tmp_path: Path) -> None:
    path = tmp_path / "la"
    assert records(path, DOCUMENTS) == [
        ("line 1 of la", {"_id": "LA-1", "title": "Topic: a <fire>", "text": "It burnt, 3 < 4, and burnt."}),
        ("line 11 of la", {"_id": "2", "title": "heat", "text": "flow of heat"}),
    ]


@pytest.mark.parametrize("text", ["", "a text\n.I is no mark\n", "I see <top> here\n", "\n.T\n.I 1\n"])
def test_other_files_are_left_to_the_reader_of_texts(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.txt").write_text(text)
    assert marked_records(tmp_path / "a.txt") is None


def test_judgements_of_trec(tmp_path: Path) -> None:
    path = tmp_path / "qrels.tsv"
    path.write_text("\n1 0 d7 2\n\n1\tQ0\td8\t-1\n")
    lines = [("line 2 of qrels.tsv", "1", "d7", "2"), ("line 4 of qrels.tsv", "1", "d8", "-1")]
    assert [*(trec_judgements(path) or ())] == lines
    path.write_text("1\t0\td 7#1\t2\n2 b\t0\td 8\t1\n1 0\td9 1\n")
    lines = [("1", "d 7#1", "2"), ("2 b", "d 8", "1"), ("1", "d9", "1")]
    assert [judgement[1:] for judgement in trec_judgements(path) or ()] == lines
    path.write_text("1 0 d7 2\n1 0 d8\n")
    with pytest.raises(InputError, match=r"^line 2 of qrels.tsv has 3 fields: a judgement is `question 0 doc"):
        [*(trec_judgements(path) or ())]
    for table in ("query-id\tcorpus-id\tscore\n1\td7\t2\n", "a b c d\n", "1 184 1\n", ""):
        path.write_text(table)
        assert trec_judgements(path) is None


def test_folders_have_one_file_of_each(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"^no queries.jsonl in .*: a folder holds corpus.jsonl, queries.jsonl and"):
        folder_file(tmp_path, "queries")
    corpus, qrels = tmp_path / "corpus.jsonl.gz", tmp_path / "qrels"
    corpus.touch()
    assert folder_file(tmp_path, "corpus") == corpus
    (tmp_path / "corpus").mkdir()
    with pytest.raises(InputError, match=r"has corpus.jsonl.gz and corpus: leave one of them there$"):
        folder_file(tmp_path, "corpus")
    assert folder_judgements(tmp_path) is None
    qrels.mkdir()
    (qrels / "dev.tsv").touch()
    assert folder_judgements(tmp_path) == qrels / "dev.tsv"
    (qrels / "train-00000-of-00001.parquet").touch()
    with pytest.raises(InputError, match=r"qrels/dev.tsv, qrels/train-00000-of-00001.parquet: name one by relevance="):
        folder_judgements(tmp_path)
    (qrels / "test.tsv").touch()
    assert folder_judgements(tmp_path) == qrels / "test.tsv"
    (qrels / "test-00000-of-00001.parquet").touch()
    with pytest.raises(InputError, match=r"name one by relevance="):
        folder_judgements(tmp_path)


@pytest.mark.long
@pytest.mark.data
def test_cranfield_is_read_whole(data: Path) -> None:
    """Beside a split at the marks that lines consist of; three abstracts have such lines in their text."""
    path = data / "cranfield" / "cran.all.1400.gz"
    contents = marked_records(path)
    assert contents is not None
    texts = {cells["_id"]: cells for _, cells in contents}
    assert [*texts] == [str(number) for number in range(1, 1401)]
    for block in f"\n{gzip.decompress(path.read_bytes()).decode()}".split("\n.I ")[1:]:
        name, title, *_ = (" ".join(piece.split()) for piece in re.split(r"\n\.[TA](?=\n)", block))
        text = re.split(r"\n\.W(?=\n|$)", block, maxsplit=1)[1]
        text = re.sub(r"\n\.[ABW](?=\n)", " ", text)
        assert texts[name] == {"_id": name, "title": title, "text": " ".join(text.split())}
    assert [name for name, cells in texts.items() if not cells["text"]] == ["471", "995"]
