"""What a view carries to its host: the bundle once per kernel, and no buffers where they would be lost."""

from __future__ import annotations

import base64
import gzip
import json
import sys
from types import ModuleType, SimpleNamespace

import IPython
import pytest
from ipywidgets.widgets.widget import _remove_buffers

import bertlens as bl
from bertlens.export import bundle
from bertlens.widgets import host
from unit.asking import replies
from unit.tiny import bert, wordpiece


@pytest.fixture
def trace():
    return bl.Lens(bert(), wordpiece()).trace("the cat sat on the mat")


@pytest.fixture
def kernel(monkeypatch):
    """As in a Jupyter kernel: IPython's shell has one."""
    monkeypatch.setattr(IPython, "get_ipython", lambda: SimpleNamespace(kernel=object()))
    monkeypatch.setattr(host, "_bundles", [])


def test_views_of_a_kernel_name_one_bundle(trace, kernel):
    views = [trace.explore(), bl.HeadAtlas(trace)]
    states = [view.get_state() for view in views]
    assert len({state["bundle"] for state in states}) == 1 and states[0]["bundle"].startswith("IPY_MODEL_")
    assert all(len(json.dumps([state["_esm"], state["_css"]])) < 2000 for state in states)
    held = json.loads(gzip.decompress(views[0].bundle.packed))
    assert held == {"code": bundle.text("widget.js"), "style": bundle.text("widget.css")}
    views[0].bundle.close()  # as Widget.close_all does: the next view has one again
    assert trace.explore().bundle.comm is not None


def test_views_without_a_jupyter_kernel_carry_the_bundle(trace):
    state = trace.explore().get_state()
    assert state["_esm"] == bundle.text("widget.js") and "bundle" not in state


def test_the_bundle_can_be_asked_for(trace, kernel):
    [(fields, _)] = replies(trace.explore(), {"id": 1, "op": "bundle"})
    assert base64.b64decode(fields["packed"]) == bundle.packed()


def test_nothing_opens_with_buffers_in_colab(trace, kernel, monkeypatch):
    """Its manager loses the buffers of the message that opens a widget."""
    usual = _remove_buffers(trace.explore().get_state())
    assert len(usual[2]) == 1
    colab = ModuleType("google.colab.output")
    colab.enable_custom_widget_manager = lambda: None
    monkeypatch.setitem(sys.modules, "google.colab.output", colab)
    monkeypatch.setattr(host, "_bundles", [])
    view = trace.explore()
    assert base64.b64decode(view.bundle.packed) == bundle.packed()
    state, _, buffers = _remove_buffers(view.get_state())
    assert buffers == []
    assert base64.b64decode(state["overview"]["data"]) == view.overview["data"] == usual[2][0]
    for model in (view.bundle, view.layout):
        assert _remove_buffers(model.get_state())[2] == []
