"""What is selected together is checked together; what is refused leaves nothing behind, in kernel or page."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from traitlets import TraitError

import bertlens as bl
from bertlens.base.vocabulary import TRAITS
from bertlens.export import save_npz
from unit.tiny import bert, wordpiece


@pytest.fixture(scope="module")
def lens() -> bl.Lens:
    return bl.Lens(bert(), wordpiece())  # 3 layers of 4 heads


@pytest.fixture
def view(lens: bl.Lens) -> bl.Explorer:
    return lens.trace("the cat sat on the mat", "it was warm").explore(layer=1, head=2, query=3)


@pytest.fixture
def maps() -> bl.Explorer:
    give = lambda layers, rows, cols: torch.full((layers, 2, rows, cols), 1 / cols)  # noqa: E731
    trace = bl.Trace.from_encoder_decoder(
        encoder=give(3, 4, 4), cross=give(2, 3, 4), encoder_tokens=list("abcd"), decoder_tokens=list("xyz")
    )
    return trace.explore(layer=2, query=3)


@pytest.mark.parametrize(
    ("call", "way_out"),
    [
        *((view, r"lens.trace\(text\), not str") for view in (bl.HeadView, bl.NeuronView, bl.Explorer)),
        (lambda text: bl.word_vector(text, text), "give a bl.Lens, not str"),
        (bl.register_layer_map, "bl.LayerMap, not str"),
    ],
)
def test_a_text_in_place_of_a_trace_a_lens_or_a_map_is_refused(call: Any, way_out: str):
    with pytest.raises(bl.InputError, match=way_out):
        call("the cat sat")


def state(view: Any) -> dict[str, Any]:
    return {trait.name: getattr(view, trait.name) for trait in TRAITS}


def sent_back(view: Any, update: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """The updates that the page gets after its own."""
    messages: list[Any] = []
    monkeypatch.setattr(type(view), "_send", lambda self, message, buffers=None: messages.append(message))
    view._handle_msg({"content": {"data": {"method": "update", "state": update, "buffer_paths": []}}, "buffers": []})
    return [message["state"] for message in messages if message["method"] == "update"]


WRONG: list[dict[str, Any]] = [
    {"layer": 99},
    {"head": 2**31},
    {"layer": 2, "head": 2**31},
    {"layer": 99, "head": -1, "query": 10**9},
    {"layer": 2, "measure": "colour"},
    {"heads": [[0, 0], [9, 9]], "mode": "lines"},
    {"heads": [None]},
    {"heads": [3.5]},
    {"heads": ["ab"]},
    {"heads": [{"a": 1, "b": 2}]},
    {"heads": [[[0], 1]]},
    {"heads": [[0, 1]] * 1000},
    {"map": "cross", "layer": 0},
    {"layer": 2, "include_layers": [0, 1]},
    {"include_layers": [0, 2]},
    {"include_heads": []},
    {"include_heads": [True, 2]},
    {"layer": None},
    {"layer": True},
    {"theme": "dark", "view": "nothing"},
]


@pytest.mark.parametrize("wrong", WRONG, ids=str)
def test_refused_from_the_page_is_taken_back_whole(
    view: bl.Explorer, wrong: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the kernel, where the view can be shown again, and on the page, which is told what holds."""
    before = state(view)
    seen: list[Any] = []
    view.observe(seen.append, list(wrong))
    [back] = sent_back(view, wrong, monkeypatch)
    assert state(view) == before and seen == []
    assert back == {name: before[name] for name in wrong}
    assert "image/png" in view._repr_mimebundle_()[0]


@pytest.mark.parametrize("wrong", WRONG, ids=str)
def test_refused_from_python_is_taken_back_whole(view: bl.Explorer, wrong: dict[str, Any]) -> None:
    before = state(view)

    def together() -> None:
        with view.hold_trait_notifications():
            for name, value in wrong.items():
                setattr(view, name, value)

    with pytest.raises(TraitError):
        together()
    assert state(view) == before


def test_a_selection_error_is_a_trait_error() -> None:
    assert issubclass(bl.SelectionError, TraitError) and issubclass(bl.SelectionError, bl.BertLensError)


@pytest.mark.parametrize(
    "name", ["overview", "parts", "_esm", "_css", "_anywidget_id", "_view_name", "_dom_classes", "layout"]
)
def test_what_only_the_kernel_writes_is_not_the_pages(view: bl.Explorer, name: str, monkeypatch: Any) -> None:
    before = getattr(view, name)
    wrong = {"_dom_classes": ["x"], "parts": ["table"], "overview": {"header": {}}}.get(name, "export default {}")
    assert sent_back(view, {name: wrong, "layer": 2}, monkeypatch) == []
    assert getattr(view, name) == before
    assert view.layer == 2  # what it may set is set


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ({"layer": 1}, {"layer": True}),
        ({"query": 1}, {"query": True}),
        ({"heads": [[0, 1]]}, {"heads": [[False, True]]}),
        ({"heads": [[0, 1]]}, {"heads": [[0.0, 1.0]]}),
        ({"include_heads": [1, 2]}, {"include_heads": [True, 2]}),
    ],
    ids=str,
)
def test_what_only_equals_a_number_is_none(view: bl.Explorer, right: dict[str, Any], wrong: dict[str, Any]) -> None:
    """Python holds True and 1.0 equal to 1, and traitlets checks no value that equals the one before."""
    view.set_state(right)
    for update in (wrong, {**wrong, "theme": "dark"}):
        view.set_state(update)
        assert {name: repr(getattr(view, name)) for name in right} == {name: repr(v) for name, v in right.items()}
        assert view.theme == "auto"


def test_a_link_to_a_smaller_view_takes_nothing_that_it_lacks(lens: bl.Lens) -> None:
    """A click on layer 5 of a 6 x 12 atlas, which jslink hands on to a 3 x 4 view."""
    small = lens.trace("the cat").explore()
    small.set_state({"layer": 5, "head": 11})
    opened = bl.widgets.Explorer(small.trace)
    assert (small.layer, small.head) == (opened.layer, opened.head)
    small._repr_mimebundle_()
    small.to_html()
    small.set_state({"layer": 2, "head": 3})
    assert (small.layer, small.head) == (2, 3)


def test_values_that_are_right_only_together(view: bl.Explorer, maps: bl.Explorer) -> None:
    view.set_state({"include_layers": [0, 2], "layer": 2})
    assert (view.include_layers, view.layer) == ([0, 2], 2)
    with pytest.raises(bl.SelectionError, match=r"layer 1 is not among include_layers \[0, 2\]: set both together"):
        view.layer = 1
    with pytest.raises(bl.SelectionError, match="set both together"):
        view.include_layers = [1]
    with view.hold_trait_notifications():
        view.layer, view.include_layers = 1, [1]
    assert (view.include_layers, view.layer) == ([1], 1)
    maps.set_state({"map": "cross", "layer": 1, "query": 2, "key": 3})
    assert (maps.map, maps.layer, maps.query, maps.key) == ("cross", 1, 2, 3)


@pytest.mark.parametrize("query", [3, 1])
def test_a_pin_belongs_to_the_map_that_it_is_set_with(maps: bl.Explorer, query: int) -> None:
    """Also where it has the value that it had in the other map."""
    maps.query = query
    maps.set_state({"map": "cross"})
    assert maps.query is None
    maps.set_state({"map": "encoder", "query": query})
    assert maps.query == query
    maps.set_state({"map": "encoder", "query": query})
    maps.query = 1
    maps.set_state({"map": "cross", "query": 1})
    assert maps.query == 1


def test_another_map_leaves_nothing_selected_that_it_lacks(maps: bl.Explorer) -> None:
    maps.heads, maps.include_layers = [[2, 0], [0, 1]], [2]
    maps.map = "cross"  # two layers
    assert (maps.layer, maps.heads, maps.include_layers) == (1, [[0, 1]], None)


@pytest.mark.parametrize("layers", [[], [0, 99], [True], "01", 3])
def test_layers_of_a_file_are_at_least_one(view: bl.Explorer, tmp_path: Any, layers: Any) -> None:
    refused = pytest.raises(bl.SelectionError, match=r"layers is a list of numbers from 0 to 2|layer .* does not exist")
    with refused:
        view.to_html(tmp_path / "page.html", layers=layers)
    with refused:
        save_npz(view.trace, tmp_path / "trace.npz", layers=layers)
    assert not list(tmp_path.iterdir())
