"""Files of statistics that an earlier version wrote, and those of a version with fewer statistics."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from bertlens import InputError, Lens
from bertlens.measures.statistics import SURVEY_NAMES
from bertlens.survey import HeadStats, head_stats
from unit import tiny

FILE = Path(__file__).with_name("stats_0.2.npz")  # saved by bertlens 0.2.0: `head_stats` of these texts
TEXTS = ["the cat sat on the mat", "the dog sat on the cat"]


@pytest.fixture(scope="module")
def now() -> HeadStats:
    lens = Lens(tiny.bert(num_hidden_layers=1, num_attention_heads=2), tiny.wordpiece())
    return head_stats(lens, TEXTS, progress=False)


def same(a: HeadStats, b: HeadStats, names: list[str]) -> None:
    for by in ("weight", "norm"):
        for average in ("text", "token"):
            pd.testing.assert_frame_equal(a.table(by, average)[names], b.table(by, average)[names], rtol=1e-4)
        for name in names:
            np.testing.assert_allclose(a.spread(name, by), b.spread(name, by), atol=1e-4)
            assert list(a.texts(name, 0, 1, by)["text"]) == list(b.texts(name, 0, 1, by)["text"]), name
    assert (a.n_texts, a.n_tokens, a.span) == (b.n_texts, b.n_tokens, b.span)
    pd.testing.assert_frame_equal(a.gates(), b.gates())
    pd.testing.assert_frame_equal(a.layers(), b.layers(), rtol=1e-4)


def test_a_file_of_0_2_opens(now: HeadStats, tmp_path: Path) -> None:
    old = HeadStats.load(FILE)
    assert old.provenance["versions"]["bertlens"] == "0.2.0"
    same(old, now, list(SURVEY_NAMES))
    with pytest.raises(InputError, match="statistics of different model do not add up"):
        old + now  # 0.2 did not say what model they are of
    old.save(tmp_path / "again.npz")
    same(HeadStats.load(tmp_path / "again.npz"), now, list(SURVEY_NAMES))


def without(names: list[str], path: Path) -> Path:
    """The file of 0.2 as a version would have written it that had not these statistics."""
    arrays = dict(np.load(FILE))
    header = json.loads(str(arrays["header"]))
    header["statistics"] = [name for name in SURVEY_NAMES if name not in names]
    left = [k for k, name in enumerate(SURVEY_NAMES) if name not in names]
    for name, values in arrays.items():
        for axis in range(min(2, values.ndim)):
            if values.shape[axis] == len(SURVEY_NAMES):
                arrays[name] = values.take(left, axis)
    np.savez(path, **arrays | {"header": np.array(json.dumps(header))})
    return path


def test_a_statistic_that_is_younger_than_its_file_is_one_without_texts(now: HeadStats, tmp_path: Path) -> None:
    young = ["same_word", "k90"]
    old = HeadStats.load(without(young, tmp_path / "fewer.npz"))
    same(old, now, [name for name in SURVEY_NAMES if name not in young])
    old.provenance["identity"] = now.provenance["identity"]  # which 0.2 did not say
    both = old + now
    for by in ("weight", "norm"):
        for name in young:
            k = SURVEY_NAMES.index(name)
            assert np.isnan(old.values(name, by)).all() and old.counts(by)[k] == 0
            assert old.texts(name, 0, 0, by).empty and old.distribution(name, by)[1].sum() == 0
            np.testing.assert_array_equal(both.values(name, by), now.values(name, by))
            assert both.counts(by)[k] == now.counts(by)[k]


@pytest.mark.parametrize(
    ("statistics", "said"),
    [
        ([*SURVEY_NAMES[:3], "no such", *SURVEY_NAMES[4:]], "another version of bertlens"),
        ([*SURVEY_NAMES[::-1]], "another version of bertlens"),
        ([], "another version of bertlens"),
        (None, "another version of bertlens"),
        ("self", "another version of bertlens"),
        ([*SURVEY_NAMES[:-1]], "not of 14 statistics"),
    ],
)
def test_a_file_of_statistics_that_are_not_known_is_refused(tmp_path: Path, statistics: object, said: str) -> None:
    arrays = dict(np.load(FILE))
    header = json.loads(str(arrays["header"])) | {"statistics": statistics}
    path = tmp_path / "other.npz"
    np.savez(path, **arrays | {"header": np.array(json.dumps(header))})
    with pytest.raises(InputError, match=said):
        HeadStats.load(path)
