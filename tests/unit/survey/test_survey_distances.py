"""Distances of heads against loops, their laws, and the map."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch

from bertlens import InputError, Lens, SelectionError, Trace
from bertlens.survey.distances import clustering, head_distances, head_map, nearest_heads
from unit import tiny
from unit.survey_naive import Eager, entropy

TEXTS = ["The cat sat on the mat because it was tired.", ("A dog barked.", "Nobody heard it, not even the cat.")]


def divergence(p: list[float], q: list[float]) -> float:
    return entropy([(a + b) / 2 for a, b in zip(p, q, strict=True)]) - (entropy(p) + entropy(q)) / 2


def test_equal_the_loops(embedded_lens: Lens) -> None:
    traces = [embedded_lens.trace(TEXTS[0]), embedded_lens.trace(*TEXTS[1])]
    maps = [torch.cat(Eager(embedded_lens)(trace)[0]).tolist() for trace in traces]
    found = {name: head_distances(embedded_lens, TEXTS, name, progress=False) for name in ("mean", "sum", "smoothed")}
    tokens = sum(trace.n_tokens for trace in traces)
    for a, b in ((0, 1), (3, 70), (12, 13), (20, 45), (71, 60), (5, 5)):
        plain = smooth = 0.0
        for text in maps:
            n = len(text[0])
            for p, q in zip(text[a], text[b], strict=True):
                plain += divergence(p, q)
                smooth += divergence([0.999 * x + 0.001 / n for x in p], [0.999 * x + 0.001 / n for x in q])
        assert found["sum"][a, b] == pytest.approx(plain, abs=1e-5 * tokens)
        assert found["mean"][a, b] == pytest.approx(plain / tokens, abs=1e-5)
        assert found["smoothed"][a, b] == pytest.approx(smooth, abs=1e-5 * tokens)
    np.testing.assert_allclose(head_distances(embedded_lens, TEXTS, "sqrt", progress=False), np.sqrt(found["mean"]))
    for values in found.values():
        assert values.shape == (72, 72) and (values == values.T).all() and (np.diag(values) == 0).all()
    assert (found["mean"] <= math.log(2)).all() and (found["mean"] >= 0).all()


def test_heads_that_share_no_key_are_ln_2_apart() -> None:
    one, other = torch.eye(5), torch.eye(5).roll(1, 1)
    trace = Trace.from_attentions(torch.stack([one, other, one])[None], list("abcde"))
    expected = np.log(2) * np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    np.testing.assert_allclose(head_distances(None, [trace], progress=False), expected, atol=1e-7)


def test_long_texts_are_worked_on_in_parts() -> None:
    """More weights than are held at a time, and not a multiple of it."""
    maps = torch.randn(1, 3, 61, 61, dtype=torch.float64).softmax(-1)
    found = head_distances(None, [Trace.from_attentions(maps, ["a"] * 61)], progress=False)
    pairs = zip(maps[0, 0].tolist(), maps[0, 2].tolist(), strict=True)
    assert found[0, 2] == pytest.approx(sum(divergence(p, q) for p, q in pairs) / 61, abs=1e-12)


def test_map_of_points_in_a_plane() -> None:
    """Distances of points in a plane give the points back, but for turning and mirroring, and their groups."""
    pytest.importorskip("sklearn")
    random = np.random.default_rng(0)
    centres = np.array([[0, 0], [9, 1], [2, 8]])
    points = np.repeat(centres, 4, 0) + random.normal(size=(12, 2)) * 0.4
    distances = np.linalg.norm(points[:, None] - points, axis=-1)
    table = head_map(distances, 4)
    assert list(table) == ["layer", "head", "x", "y"]
    assert table["layer"].tolist() == np.repeat([0, 1, 2], 4).tolist() and table["head"].tolist() == [0, 1, 2, 3] * 3
    found = table[["x", "y"]].to_numpy()
    np.testing.assert_allclose(np.linalg.norm(found[:, None] - found, axis=-1), distances, atol=0.05)
    assert table.attrs["stress"] < 0.01 and table.attrs["nearest_kept"] == 12
    assert head_map(distances, 4).equals(table)  # seeded
    assert clustering(distances).shape == (11, 4)


def test_map_says_how_far_it_lies(embedded_lens: Lens) -> None:
    """Stress, what equal distances have, and nearest heads: written out, on real heads."""
    pytest.importorskip("sklearn")
    distances = head_distances(embedded_lens, TEXTS, "sqrt", progress=False)
    table = head_map(distances, 12)
    assert len(table) == 72
    at = table[["x", "y"]].to_numpy().tolist()
    drawn = [[math.dist(a, b) for b in at] for a in at]
    off = sum((drawn[a][b] - distances[a, b]) ** 2 for a in range(72) for b in range(72))
    stress = math.sqrt(off / sum(d * d for d in distances.ravel()))
    assert table.attrs["stress"] == pytest.approx(stress) and stress < 0.35

    def nearest(rows: Any, a: int) -> int:
        return min((b for b in range(72) if b != a), key=lambda b: rows[a][b])

    kept = sum(nearest(drawn, a) == nearest(distances, a) for a in range(72))
    assert table.attrs["nearest_kept"] == kept and 72 / 71 < kept < 72
    # with nothing to show, the map is much worse; the docstring's figures
    assert table.attrs["even_stress"] == pytest.approx(0.41, abs=0.005)
    assert head_map(1 - np.eye(12), 4).attrs["stress"] == pytest.approx(0.35, abs=0.005)
    assert head_map(1 - np.eye(12), 4).attrs["even_stress"] == pytest.approx(0.35, abs=0.005)


def test_nearest_heads() -> None:
    distances = np.array([[0, 3, 1, 3.0], [3, 0, 2, 5], [1, 2, 0, 4], [3, 5, 4, 0]])
    nearest, apart = nearest_heads(distances, 2)
    assert nearest.tolist() == [[2, 1], [2, 0], [0, 1], [0, 2]]  # equally far: the first
    assert apart.tolist() == [[1, 3], [2, 3], [1, 2], [3, 4]]
    assert nearest_heads(distances, 9)[0].shape == (4, 3)
    assert nearest_heads(np.zeros((3, 3)))[0].tolist() == [[1, 2], [0, 2], [0, 1]]  # never itself
    assert np.diag(distances).tolist() == [0, 0, 0, 0]  # its input is left alone


def test_one_head_against_all_others_is_no_cluster(embedded_lens: Lens) -> None:
    """Why the map tells no groups: the best silhouette is of 71 heads and one, every other cut is weak."""
    pytest.importorskip("sklearn")
    from scipy.cluster.hierarchy import fcluster
    from sklearn.metrics import silhouette_score

    distances = head_distances(embedded_lens, TEXTS, "sqrt", progress=False)
    tree = clustering(distances)
    cuts = {k: fcluster(tree, k, criterion="maxclust") for k in range(2, 13)}
    scores = {k: silhouette_score(distances, cut, metric="precomputed") for k, cut in cuts.items()}
    best = max(scores, key=lambda k: scores[k])
    assert sorted(np.bincount(cuts[best])[1:]) == [1, 71]


def test_bad_input() -> None:
    lens = Lens(tiny.bert(), tiny.wordpiece())
    with pytest.raises(SelectionError, match="no variant 'euclid'"):
        head_distances(lens, ["cat"], "euclid")
    with pytest.raises(InputError, match="no texts"):
        head_distances(lens, [], progress=False)
    with pytest.raises(InputError, match="item 0"):
        head_distances(lens, ["cat " * 100], progress=False)
    pytest.importorskip("sklearn")
    with pytest.raises(InputError, match="n_heads"):
        head_map(np.zeros((10, 10)), 4)
    with pytest.raises(InputError, match="distances are"):
        head_map(np.zeros((10, 3)), 5)
    with pytest.raises(InputError, match="distances are"):
        nearest_heads(np.zeros((10, 3)))
