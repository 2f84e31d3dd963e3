"""Tables as Parquet: what pandas reads back has the cells, the units and where they come from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import bertlens as bl
from bertlens import Lens, survey
from bertlens.cli import main
from bertlens.export import table_file
from bertlens.lessons.results import COLUMNS, HEAD
from unit import tiny
from unit.lessons.test_results import line
from unit.tasks.classifier import labelled, lens_of

TEXTS = ["the cat sat on the mat.", "it was warm", "the cat", "nobody sat"]


def tables() -> dict[str, Any]:
    """Tables that say something of themselves, of each room that makes some."""
    lens = Lens(tiny.bert(), tiny.wordpiece())
    stats = survey.head_stats(lens, TEXTS, progress=False)
    trace = lens.trace(TEXTS[0])
    task = bl.task(lens_of(), labelled(40), progress=False)
    distances = survey.head_distances(lens, TEXTS, progress=False)
    passages = [f"{text} {other}" for text in TEXTS for other in TEXTS]
    search = bl.retrieval(lens, {"1": "the cat", "2": "warm"}, passages, {"1": ["5"], "2": ["7"]}, progress=False)
    return {
        "heads": stats.table(),
        "gates": stats.gates(),
        "texts": stats.texts("next", 0, 0),
        "story": survey.story(stats, trace),
        "map": survey.head_map(distances, trace.n_heads),
        "slices": task.slices(),
        "pruning": task.heads(2).pruning(3, ("estimate",)),
        "metrics": search.metrics(),
        "failures": search.failures(),
        "hubs": search.hubs(),
        "search slices": search.slices(),
    }


def test_tables_survive_a_round_trip(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    for name, table in tables().items():
        table_file.write(table, tmp_path / "t.parquet")
        again = pd.read_parquet(tmp_path / "t.parquet")
        pd.testing.assert_frame_equal(again, table.reset_index(drop=True), check_dtype=False, obj=name)
        assert again.attrs.keys() == table.attrs.keys(), name
        for key, about in table.attrs.items():
            assert repr(again.attrs[key]) == repr(plain(about)), (name, key)


def plain(about: Any) -> Any:
    """As JSON has it: lists for tuples."""
    if isinstance(about, dict):
        return {name: plain(value) for name, value in about.items()}
    return [*map(plain, about)] if isinstance(about, list | tuple) else about


def test_a_table_of_heads_has_its_units_and_where_it_comes_from(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    lens = Lens(tiny.bert(), tiny.wordpiece())
    survey.head_stats(lens, TEXTS, progress=False).table().to_parquet(tmp_path / "t.parquet")
    about = pd.read_parquet(tmp_path / "t.parquet").attrs
    assert about["units"]["entropy"] == "nats" and about["units"]["next"] == "share" and about["units"]["k90"] == "keys"
    provenance = about["provenance"]
    assert provenance["weights"] == lens.borrowed.identity()["weights"] and provenance["versions"]["bertlens"]
    assert "identity" not in provenance and provenance["options"] == {"truncation": False}


def test_a_class_is_written_as_parquet_too(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    (tmp_path / "lines.txt").write_text(f"{line(name='=Ada')}\n")
    for name in ("class.csv", "class.parquet"):
        for _ in range(2):  # an earlier run's table is known
            assert main(["results", str(tmp_path / "lines.txt"), "-o", str(tmp_path / name)]) == 0
    table = pd.read_parquet(tmp_path / "class.parquet")
    assert [*table.columns] == [*HEAD, *COLUMNS] and {*table["name"]} == {"=Ada"}
    text = pd.read_csv(tmp_path / "class.csv")
    assert {*text["name"]} == {"'=Ada"} and len(text) == len(table)
    assert text["step"].tolist() == table["step"].tolist()
    pd.DataFrame({"other": [1]}).to_parquet(tmp_path / "mine.parquet")
    assert main(["results", str(tmp_path / "lines.txt"), "-o", str(tmp_path / "mine.parquet")]) == 2
