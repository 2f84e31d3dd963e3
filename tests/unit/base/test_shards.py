"""The shares of a job: each batch in exactly one, as many in all of them, in the order of the stream."""

from __future__ import annotations

import re
from itertools import chain
from pathlib import Path

import numpy as np
import pytest

from bertlens import InputError
from bertlens.base.shards import Part, Shard, in_order


@pytest.mark.parametrize(("size", "of"), [(1, 1), (3, 7), (7, 7), (100, 7), (512, 8), (1000, 32)])
def test_each_batch_is_in_one_share(size: int, of: int) -> None:
    shares = [list(Shard(number, of).batches(range(size))) for number in range(1, of + 1)]
    assert sorted(chain(*shares)) == list(range(size))
    assert all(share == sorted(share) for share in shares)
    assert max(map(len, shares)) - min(map(len, shares)) <= 1


def test_shares_have_short_and_long_batches() -> None:
    """Of windows of eight batches, each sorted by length, no share has the long ones, whatever `of` has in common."""
    lengths = np.tile(np.arange(8), 1000)
    for of in (7, 8, 16):
        means = [lengths[list(Shard(number, of).batches(range(len(lengths))))].mean() for number in range(1, of + 1)]
        assert max(means) - min(means) < 1  # a share of the longest alone has 7, the mean is 3.5


def test_too_few_batches_are_refused_in_all_shares() -> None:
    for number in (1, 2, 5):
        with pytest.raises(InputError, match="there are 4 batches of 8 texts: too few for 5 shards"):
            list(Shard(number, 5).batches(range(4), "batches of 8 texts"))


@pytest.mark.parametrize("text", ["", "3", "0/4", "5/4", "1/0", "a/b", "-1/4", "1/2/3", "1/9999999", 3, None])
def test_what_is_no_shard(text: object) -> None:
    with pytest.raises(InputError, match="as 3/32"):
        Shard.parse(text)
    assert Shard.parse("3/32") == (3, 32)


def part(number: int, of: int = 4, **job: str) -> Part:
    return Part(Path(f"{number}.npz"), Shard(number, of), {"weights": "a", "corpus": "b"} | job)


def test_parts_come_in_any_order() -> None:
    ordered = [part(number) for number in (1, 2, 3, 4)]
    assert in_order(ordered[::-1]) == ordered == in_order([ordered[i] for i in (2, 0, 3, 1)])


@pytest.mark.parametrize(
    ("parts", "sentence"),
    [
        ([part(1), part(2), part(4)], r"1.npz is of a job that lacks shard 3/4: run what lacks, and name all parts"),
        ([part(3)], "lacks shard 1/4, 2/4, 4/4: run"),
        ([part(1, 9)], "lacks shard 2/9, 3/9, 4/9, 5/9 and 4 more: run"),
        ([part(1), part(2), part(3), part(4), part(2)], "2.npz and 2.npz are both shard 2/4: leave one out"),
        ([part(1, corpus="c"), part(2), part(3)], r"1.npz is of another job than 2.npz \(what differs: corpus\)"),
        ([part(1), part(2), part(3, 5)], r"3.npz is of another job than 1.npz \(what differs: number of shards\)"),
        ([part(1), part(2, weights="b"), part(3)], r"2.npz is of another job than 1.npz \(what differs: weights\)"),
    ],
)
def test_what_makes_no_whole_is_named(parts: list[Part], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        in_order(parts)


def test_the_simulation_on_paper_follows_from_its_numbers() -> None:
    """docs/performance.md: hours and cost of 10⁹ tokens from the seconds of one process."""
    page = (Path(__file__).parents[3] / "docs" / "performance.md").read_text(encoding="utf-8")
    tokens, seconds = 7647, 35.3  # measured: 64 passages
    assert round(tokens / seconds) == 217 and round(tokens / 64) == 119
    core_seconds = 1e9 * seconds / tokens
    assert round(core_seconds / 3600, -1) == 1280 and round(1e9 / (tokens / 64) / 1e6, 1) == 8.4
    rows = re.findall(r"^\| (\d+) \| (\d+) \| ([\d.]+) \| ([\d.]+) \| ([\d,]+) \| (\d+) \|$", page, re.MULTILINE)
    assert [int(row[0]) for row in rows] == [8, 64, 512]
    for workers, rate, slowest, hours, core_hours, cost in rows:
        n = int(workers)
        took = core_seconds / n * float(slowest) + 110 + n * 0.44
        assert int(rate) == round(n * 64 / seconds) and float(hours) == round(took / 3600, 1)
        assert int(core_hours.replace(",", "")) == round(took * n / 3600)
        assert int(cost) == round(took * n / 3600 * 0.04)
    assert round(512 * 64 / seconds / 64) == 15 and pytest.approx(225, abs=1) == 512 * 0.44
