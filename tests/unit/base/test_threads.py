"""Small work takes one of torch's threads, and gives the others back."""

from __future__ import annotations

import pytest
import torch

from bertlens.base.one_thread import SMALL_STREAM, one_thread_if_small
from bertlens.widgets.answers import head_answers, layer_pictures


@pytest.fixture
def two_threads():
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize(("size", "threads"), [(0, 1), (SMALL_STREAM, 1), (SMALL_STREAM + 1, 2)])
def test_threads_are_given_back(two_threads, size, threads):
    with one_thread_if_small(size):
        assert torch.get_num_threads() == threads
    assert torch.get_num_threads() == 2
    with pytest.raises(KeyError), one_thread_if_small(size):
        raise KeyError
    assert torch.get_num_threads() == 2


def test_trace_page_and_answers_of_a_short_text(two_threads, embedded_lens, monkeypatch):
    """What runs inside is seen by the modules and functions that run."""
    seen = {}
    layer = embedded_lens.model.encoder.layer[0]
    handle = layer.register_forward_hook(lambda *_: seen.update({"pass": torch.get_num_threads()}))
    try:
        trace = embedded_lens.trace("The cat sat.")
    finally:
        handle.remove()

    def watched(name, function):
        def run(*arguments, **named):
            seen[name] = torch.get_num_threads()
            return function(*arguments, **named)

        return run

    monkeypatch.setattr(layer_pictures, "fractions", watched("overview", layer_pictures.fractions))
    view = trace.explore(layer=1, head=8)
    monkeypatch.setattr(head_answers.norms, "transformed_norm", watched("page", head_answers.norms.transformed_norm))
    view.to_html()
    assert seen == {"pass": 1, "overview": 1, "page": 1}
    assert torch.get_num_threads() == 2


def test_long_texts_have_all_threads(two_threads, embedded_lens):
    seen = []
    layer = embedded_lens.model.encoder.layer[0]
    handle = layer.register_forward_hook(lambda *_: seen.append(torch.get_num_threads()))
    try:
        embedded_lens.trace("word " * 200, truncation=True)
    finally:
        handle.remove()
    assert set(seen) == {2}
