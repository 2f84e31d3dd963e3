"""Views that a notebook's cell no longer shows are closed, and a closed view keeps nothing."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
import traitlets

import bertlens as bl
from bertlens.widgets import host, widget
from unit import tiny


class Notebook:
    """As much of IPython's shell as is asked: the cell that runs, and the event at its end."""

    def __init__(self) -> None:
        self.ends: list[Callable[[Any], None]] = []
        self.events = SimpleNamespace(register=lambda name, end: self.ends.append(end))
        self.cell: str | None = None
        self.user_ns: dict[str, Any] = {}

    def get_parent(self) -> dict[str, Any]:
        return {"metadata": {"cellId": self.cell} if self.cell else {}}

    def run(self, cell: str | None, *shown: Any) -> None:
        self.cell = cell
        for view in shown:
            view._repr_mimebundle_()
        for end in self.ends:
            end(None)


@pytest.fixture
def notebook(monkeypatch: pytest.MonkeyPatch) -> Notebook:
    shell = Notebook()
    monkeypatch.setattr(host, "_shell", lambda: shell)
    monkeypatch.setattr(widget, "CELLS", host.Cells())
    return shell


@pytest.fixture
def views() -> list[bl.Explorer]:
    trace = bl.Lens(tiny.bert(), tiny.wordpiece()).trace("the cat sat")
    return [trace.explore() for _ in range(3)]


def is_open(views: list[bl.Explorer]) -> list[bool]:
    return [view.comm is not None for view in views]


def test_a_cell_that_runs_again_closes_what_it_showed(notebook: Notebook, views: list[bl.Explorer]) -> None:
    a, b, c = views
    notebook.run("one", a, b)
    assert is_open(views) == [True, True, True]
    notebook.run("two", c)
    assert is_open(views) == [True, True, True]
    notebook.run("one", b)  # shown again: stays
    assert is_open(views) == [False, True, True]
    notebook.run("two")  # the cell was emptied
    assert is_open(views) == [False, True, False]


def test_a_view_in_two_cells_is_closed_with_the_last(notebook: Notebook, views: list[bl.Explorer]) -> None:
    a = views[0]
    notebook.run("one", a)
    notebook.run("two", a)
    notebook.run("one")
    assert a.comm is not None
    notebook.run("two")
    assert a.comm is None


def test_a_view_that_a_variable_names_stays_open(notebook: Notebook, views: list[bl.Explorer]) -> None:
    a, b, _ = views
    notebook.user_ns = {"view": a, "_": b, "_2": b, "Out": {2: b}}
    notebook.run("one", a, b)
    notebook.run("one")
    assert is_open(views) == [True, False, True]


def test_code_that_is_no_cell_closes_nothing(notebook: Notebook, views: list[bl.Explorer]) -> None:
    for _ in range(2):
        notebook.run(None, views[0])
    assert is_open(views) == [True, True, True]


def test_a_closed_view_keeps_no_trace(views: list[bl.Explorer]) -> None:
    trace = weakref.ref(views[0].trace)
    for view in views:
        view.close()
        view.close()  # twice does no harm
    gc.collect()
    assert trace() is None
    with pytest.raises(bl.InputError, match="this view is closed"):
        views[0].trace  # noqa: B018
    with pytest.raises(bl.InputError, match="this view is closed"):
        views[0].to_html()


@pytest.mark.parametrize(("closed", "open_"), [(0, 1), (1, 0)])
def test_a_view_linked_to_a_closed_one_goes_on(views: list[bl.Explorer], closed: int, open_: int) -> None:
    names = ("layer", "head", "query", "key", "heads", "measure", "include_layers", "view")
    links = [traitlets.link((views[0], name), (views[1], name)) for name in names]
    views[0].layer = 1
    assert views[1].layer == 1
    views[closed].close()
    shown = views[open_]
    values = {"layer": 0, "head": 2, "query": 1, "key": 2, "heads": [[0, 1]], "measure": "norm", "include_layers": [0]}
    for name, value in values.items():
        setattr(shown, name, value)
        assert getattr(shown, name) == value
    assert {name: getattr(views[closed], name) for name in values} == values
    with shown.hold_trait_notifications():
        shown.head, shown.query = 3, 2
    assert (views[closed].head, views[closed].query) == (3, 2)
    with pytest.raises(bl.SelectionError):  # an open one is still checked
        shown.head = 99
    views[closed].map = "self"
    for link in links:
        link.unlink()
