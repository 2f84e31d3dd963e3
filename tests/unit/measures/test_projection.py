"""The stream as a picture: principal components and neighbours against numpy and loops, and what the page is told."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from bertlens.errors import InputError, ModelError, SelectionError
from bertlens.lens import Lens
from bertlens.measures import geometry
from bertlens.measures.geometry import projection
from bertlens.trace import Trace
from bertlens.widgets.questions import QUESTIONS
from unit import tiny
from unit.test_project import ROOT, STATIC


@pytest.fixture(scope="module")
def trace() -> Trace:
    return Lens(tiny.bert(), tiny.wordpiece()).trace("the unbelievable cats", "it was very warm, the mats")


def by_svd(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The first two components by numpy's SVD of the centred rows, up to the sign of each; shares of the variance."""
    centred = x - x.mean(0)
    u, sigma, _ = np.linalg.svd(centred, full_matrices=False)
    return (u * sigma)[:, :2], sigma[:2] ** 2 / (centred**2).sum()


@pytest.mark.parametrize("shape", [(7, 30), (40, 6), (9, 9), (2, 5)])
def test_pca_is_that_of_an_svd(shape):
    x = np.random.default_rng(3).normal(size=shape) @ np.diag(np.linspace(3, 0.5, shape[1])) + 5
    made = geometry.pca(torch.from_numpy(x))
    points, share = by_svd(x)
    assert np.allclose(made.points.abs().numpy(), np.abs(points), atol=1e-6)
    assert np.allclose((made.points * torch.from_numpy(points)).sum(0).abs(), (points**2).sum(0))  # one sign an axis
    assert np.allclose(made.share.numpy(), share, atol=1e-9)
    assert (made.points[0] >= -1e-9).all()


def test_pca_of_a_stretched_cross_lies_on_its_arms():
    x = torch.tensor([[3.0, 0, 0], [-3, 0, 0], [0, 1, 0], [0, -1, 0]]) + 7
    made = geometry.pca(x)
    assert made.points.numpy() == pytest.approx(np.array([[3, 0], [-3, 0], [0, 1], [0, -1]]), abs=1e-9)
    assert made.share.tolist() == pytest.approx([0.9, 0.1])


def test_pca_of_what_has_no_plane():
    same = geometry.pca(torch.full((4, 3), 0.1))
    assert not same.points.any() and same.share.isnan().all()
    line = geometry.pca(torch.tensor([[2.0], [0], [1]]))
    assert line.points.tolist() == [[1, 0], [-1, 0], [0, 0]] and line.share.tolist() == [1, 0]
    assert geometry.pca(torch.ones(1, 5)).points.tolist() == [[0, 0]]
    for bad in (torch.full((3, 2), torch.nan), torch.empty(0, 4)):
        with pytest.raises(InputError):
            geometry.pca(bad)


def test_neighbours_are_those_of_the_cosines(trace):
    x = projection.station(trace, 2)
    places, cosines = geometry.nearest(x, k=5)
    rows = x.double().numpy()
    for i, row in enumerate(rows):
        others = {
            j: row @ other / (np.linalg.norm(row) * np.linalg.norm(other)) for j, other in enumerate(rows) if j != i
        }
        best = sorted(others, key=lambda j: (-others[j], j))[:5]
        assert [others[j] for j in places[i].tolist()] == pytest.approx([others[j] for j in best], abs=1e-12)
        assert cosines[i].tolist() == pytest.approx([others[j] for j in places[i].tolist()], abs=1e-12)
    assert geometry.nearest(x[:3])[0].shape == (3, 2) and geometry.nearest(x[:1])[0].shape == (1, 0)


def test_of_neighbours_as_near_the_first_come_first():
    """300 rows on four axes: all of an axis are at a cosine of exactly 1, more of them than are asked for."""
    x = torch.eye(4).repeat(75, 1)
    places, cosines = geometry.nearest(x, k=5)
    for i, row in enumerate(places.tolist()):
        assert row == [j for j in range(300) if j % 4 == i % 4 and j != i][:5]
    assert bool((cosines == 1).all())


def test_stations_of_the_stream(trace):
    assert torch.equal(projection.station(trace, 0), trace.layer_input(0))
    for layer in range(trace.n_layers):
        assert torch.equal(projection.station(trace, layer + 1), trace.layer_output(layer))
    for number in (-1, trace.n_layers + 1):
        with pytest.raises(SelectionError):
            geometry.project(trace, number)
    with pytest.raises(SelectionError, match="pca, umap"):
        geometry.project(trace, 0, "tsne")
    alone = Trace.from_attentions(np.full((1, 1, 3, 3), 1 / 3, np.float32), ["a", "b", "c"])
    with pytest.raises(ModelError):
        geometry.project(alone, 0)


def test_umap_where_it_is_installed_and_where_it_is_not(trace, monkeypatch):
    """A stand-in: what it is given, and that what it gives comes out."""
    monkeypatch.setattr(projection, "has_umap", lambda: False)
    with pytest.raises(InputError, match="pip install umap-learn"):
        geometry.project(trace, 1, "umap")
    given = {}

    class UMAP:
        def __init__(self, **settings):
            given.update(settings)

        def fit_transform(self, rows):
            return rows[:, :2] + 1

    monkeypatch.setattr(projection, "has_umap", lambda: True)
    monkeypatch.setitem(sys.modules, "umap", SimpleNamespace(UMAP=UMAP))
    made = geometry.project(trace, 1, "umap")
    assert torch.equal(made.points, trace.layer_output(0).double()[:, :2] + 1) and made.share is None
    assert given["metric"] == "cosine" and given["random_state"] == 0 and given["n_neighbors"] < trace.n_tokens


def test_the_question_answers_with_the_measure(trace):
    fields, arrays = QUESTIONS["stream"].answer(trace, station=2)
    made, (near, cosines) = geometry.project(trace, 2), geometry.nearest(trace.layer_output(1))
    assert fields["share"] == made.share.tolist() and fields["station"] == 2
    assert torch.equal(arrays["points"], made.points.float())
    assert torch.equal(arrays["near"].long(), near) and torch.equal(arrays["cosines"], cosines.float())
    carried = list(QUESTIONS["stream"].carried(trace, [0, 1]))
    assert [one["station"] for one in carried] == [0, 1, 2]
    with pytest.raises(SelectionError):
        QUESTIONS["stream"].check(trace, {"station": trace.n_layers + 1})


def test_umap_is_in_python_alone() -> None:
    """As the table of what is frozen says: no view offers it."""
    assert "UMAP beside PCA | in Python |" in (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    assert "umap" not in (STATIC / "widget.js").read_text(encoding="utf-8").lower()
