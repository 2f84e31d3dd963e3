"""What is cited: entries that parse, as the project's own files have them, and one for each paper that a map names."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from bertlens.base.references import REFERENCES, SOFTWARE
from bertlens.base.vocabulary import LAYER_MAPS, MEASURES

ROOT = Path(__file__).resolve().parents[3]


def fields(entry: str) -> dict[str, str]:
    """The fields of an entry that is written line by line."""
    first, *lines, last = entry.splitlines()
    assert re.fullmatch(r"@(inproceedings|misc|software)\{[a-z0-9]+,", first) and last == "}"
    parsed = [re.fullmatch(r"  ([a-z]+) = \{(.*)\},", line) for line in lines]
    assert all(parsed) and entry.count("{") == entry.count("}") and entry.isascii()
    return {match[1]: match[2].strip("{}") for match in parsed if match}


@pytest.mark.parametrize("name", REFERENCES)
def test_an_entry_is_of_the_paper_that_its_name_says(name):
    entry = fields(REFERENCES[name])
    who, year = name.rsplit(" ", 1)
    authors = [author.split(",")[0] for author in entry["author"].split(" and ")]
    assert entry["year"] == year and re.fullmatch(r"\d{4}\.\d{5}", entry["eprint"])
    assert who == (f"{authors[0]} et al." if len(authors) > 2 else " and ".join(authors))
    assert set(re.findall(r"\b20\d\d\b", entry.get("booktitle", ""))) <= {year}


def test_entries_agree_with_what_the_project_says_elsewhere():
    """CITATION.cff and the README name papers by title and address, too."""
    cited = (ROOT / "CITATION.cff").read_text()
    papers = re.findall(r'title: "?([^"\n]+)"?\n    authors: \[(.*)\]\n    year: (\d+)\n    url: \S+/([\d.]+)', cited)
    by_number = {entry["eprint"]: entry for entry in map(fields, REFERENCES.values())}
    assert len(papers) == 3 and len(by_number) == len(REFERENCES)
    for title, authors, year, number in papers:
        people = re.findall(r"family-names: ([^,}]+), given-names: ([^}]+)}", authors)
        assert by_number[number]["title"] == title and by_number[number]["year"] == year
        assert by_number[number]["author"] == " and ".join(", ".join(one) for one in people)
    assert set(re.findall(r"arxiv\.org/abs/([\d.]+)\)", (ROOT / "README.md").read_text())) <= by_number.keys()
    own = fields(SOFTWARE)
    assert own["version"] == "VERSION" and f'title: "{own["title"]}"' in cited and own["author"] in cited


def test_every_paper_that_a_measure_or_map_names_can_be_cited():
    sentences = " ".join(word.about for word in (*MEASURES.values(), *LAYER_MAPS.values()))
    named = set(re.findall(r"\(([A-Z][^()]* \d{4})\)", sentences))
    assert len(named) == 6 and named <= REFERENCES.keys()
