"""Does the word that a contrast names matter? How often the order turns without it, on Cranfield's failures.

`python -m notebooks.studies.turned_orders FOLDER`, of the folder with cran.all.1400.gz, cran.qry.gz and qrels.txt.gz,
prints the table of docs/turned_orders.md. A question fails where its first abstract is not relevant; each failure is
one case, its right passage the best-ranked relevant one.
"""

from __future__ import annotations

import gzip
import re
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import bertlens as bl
from bertlens.measures.significance import difference_interval, share_interval
from bertlens.search.collection import Collection
from bertlens.search.contrast import contrast

WORDS = 180  # of an abstract that are searched
LENGTHS: tuple[int | None, ...] = (110, None)  # words of both passages in the experiment; None: uncut
HOW = ("hidden", "deleted")
DRAWS = 8  # random words a case, and as many that are as frequent
COLUMNS = ("named", "random", "as frequent")


@dataclass(frozen=True)
class Failure:
    """A question whose first passage is wrong, by places in the collection."""

    query: int
    wrong: int
    right: int


def cranfield(folder: Path) -> Collection:
    """All texts whole: title and text, which begins with the title again. Judgements count the questions in the order
    of their file; each label is relevant."""
    texts = {}
    for number, fields in _records(folder / "cran.all.1400.gz"):
        title, body = (" ".join(fields.get(name, "").split()) for name in "TW")
        texts[number] = f"{title} {body}"
    queries = [" ".join(fields["W"].split()) for _, fields in _records(folder / "cran.qry.gz")]
    grades: dict[str, dict[str, int]] = {}
    with gzip.open(folder / "qrels.txt.gz", "rt", encoding="utf-8") as lines:
        for query, _, document, grade in map(str.split, lines):
            grades.setdefault(query, {})[document] = int(grade)
    ids = tuple(texts)
    names = tuple(str(number + 1) for number in range(len(queries)))
    return Collection(names, tuple(queries), ids, tuple(texts.values()), ids, grades)


def failures(scores: np.ndarray, collection: Collection) -> list[Failure]:
    """scores: (Q, P). Passages of one score by their number."""
    cases = []
    for query, row in enumerate(scores):
        order = np.lexsort((collection.passage_order, -row)).tolist()
        relevant = collection.relevant(query)
        if collection.documents[order[0]] not in relevant:
            right = next(place for place in order if collection.documents[place] in relevant)
            cases.append(Failure(query, order[0], right))
    return cases


def first_words(text: str, count: int | None) -> str:
    """Its first blank-separated words."""
    return text if count is None else " ".join(text.split()[:count])


def passage_counts(collection: Collection) -> dict[str, int]:
    """In how many passages each word stands, in small letters."""
    counts: Counter[str] = Counter()
    for text in collection.passages:
        counts.update(set(re.findall(r"[^\W_]+", text.lower())))
    return counts


def turns(
    lens: Any,
    collection: Collection,
    cases: Sequence[Failure],
    length: int | None,
    counts: Mapping[str, int],
) -> pd.DataFrame:
    """A row each case and way: how, query, gap, word, and the share of turned orders without each kind of word.

    Cases in which the right passage is first at this length are left out.
    """
    rows = []
    for case in cases:
        passages = [first_words(collection.passages[place], length) for place in (case.wrong, case.right)]
        split = contrast(lens, collection.queries[case.query], passages[0], passages[1])
        if split.difference <= 0:
            continue
        for how in HOW:
            table = split.without(how=how, n_random=DRAWS, frequencies=counts, seed=case.query)
            shares = table.groupby("draw")["turned"].mean()
            rows.append(
                {
                    "how": how,
                    "query": collection.query_ids[case.query],
                    "difference": split.difference,
                    "gap": split.gap,
                    "word": split.named,
                    "times": table["times"].iloc[1],
                    **{name: shares[name] for name in COLUMNS},
                }
            )
    return pd.DataFrame(rows)


def rates(cases: pd.DataFrame) -> pd.DataFrame:
    """A row for each way: n, the share of orders that turn without each kind of word, and the differences of the named
    one to the others over the same cases, each with its interval over cases (95 %)."""
    rows = []
    for how, table in cases.groupby("how", sort=False):
        row: dict[str, Any] = {"how": how, "n": len(table)}
        for name in COLUMNS:
            low, high = share_interval(table[name], np.ones(len(table)))
            row[name] = f"{table[name].mean():.2f} [{low:.2f}, {high:.2f}]"
        for name in COLUMNS[1:]:
            excess = table["named"].astype(float) - table[name]
            low, high = difference_interval(excess)
            row[f"named − {name}"] = f"{excess.mean():+.2f} [{low:+.2f}, {high:+.2f}]"
        rows.append(row)
    return pd.DataFrame(rows)


def scores(lens: Any, collection: Collection, words: int | None = WORDS) -> np.ndarray:
    """(Q, P) float64 cosines of all questions and abstracts."""
    queries = lens.encode(collection.queries, "query")
    passages = lens.encode([first_words(text, words) for text in collection.passages], "document", progress=True)
    a, b = (vectors.double() / vectors.double().norm(dim=1, keepdim=True) for vectors in (queries, passages))
    cosines: np.ndarray = (a @ b.T).cpu().numpy()
    return cosines


def main(folder: str, file: str = "") -> None:
    """file: where the scores are kept between two calls."""
    collection, lens = cranfield(Path(folder)), bl.Lens.embedded()
    cosines = np.load(file) if file and Path(file).exists() else scores(lens, collection)
    if file:
        np.save(file, cosines)
    cases, counts = failures(cosines, collection), passage_counts(collection)
    print(f"{len(cases)} of {len(collection.queries)} questions have a wrong abstract first")
    for length in LENGTHS:
        table = turns(lens, collection, cases, length, counts)
        print(f"\n{'uncut' if length is None else f'{length} words'}, largest gap {table['gap'].abs().max():.1e}")
        print(rates(table).to_string(index=False))
        print(", ".join(table.loc[table["how"] == HOW[0], "word"]))
        if file:
            table.to_csv(f"{file}.{length or 'uncut'}.csv", index=False)


def _records(path: Path) -> list[tuple[str, dict[str, str]]]:
    """(number, {letter of the field: text}) of each record of an .I/.W file."""
    with gzip.open(path, "rt", encoding="utf-8", errors="replace") as file:
        parts = re.split(r"^\.I\s+(\d+)\s*$", file.read(), flags=re.MULTILINE)[1:]
    records = []
    for number, body in zip(parts[::2], parts[1::2], strict=True):
        fields = re.split(r"^\.([A-Z])\s*$", body, flags=re.MULTILINE)[1:]
        records.append((number, dict(zip(fields[::2], fields[1::2], strict=True))))
    return records


if __name__ == "__main__":
    main(*sys.argv[1:])
