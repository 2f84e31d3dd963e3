"""Weight against norm of a long text: in blocks, in turns, and the same numbers as from whole maps."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

import bertlens as bl
from bertlens.errors import InputError
from bertlens.measures import attention, categories, norms, received, rows
from bertlens.widgets.answers import head_answers, layer_answers
from unit import tiny
from unit.largest import Largest


@pytest.fixture(scope="module")
def trace() -> bl.Trace:
    lens = bl.Lens(tiny.shaken(tiny.modernbert(num_hidden_layers=2, max_position_embeddings=1024)), tiny.wordpiece())
    return lens.trace("the cat sat on the mat, it was very warm. " * 80)


def test_what_keys_receive_is_the_sum_of_the_maps(trace: bl.Trace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "WEIGHTS_AT_ONCE", 70 * trace.n_tokens)
    trace = replace(trace)  # with nothing kept
    for layer in range(trace.n_layers):
        weights, found = trace.attention(layer, torch.float64), received.received(trace, layer)
        torch.testing.assert_close(found.sums, weights.sum(1), rtol=1e-5, atol=1e-7)
        torch.testing.assert_close(found.diagonal.double(), weights.diagonal(0, 1, 2), rtol=1e-5, atol=1e-8)


def test_weight_against_norm_holds_no_map(trace: bl.Trace, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither all heads' maps nor one in float64, and the numbers of sums written out."""
    monkeypatch.setattr(rows, "WEIGHTS_AT_ONCE", 70 * trace.n_tokens)
    trace = replace(trace)  # with nothing kept
    with Largest() as made:
        while (fields_arrays := layer_answers.norm_view(trace))[0].get("again"):
            pass
    fields, arrays = fields_arrays
    assert made.elements < trace.n_tokens**2 and made.doubles < trace.n_tokens**2 / 4
    assert fields["per"] == "key"
    kinds = torch.nn.functional.one_hot(categories.categories(trace), 4).double()
    for layer in range(trace.n_layers):
        weights, lengths = trace.attention(layer).double(), norms.transformed_norm(trace, layer).double()
        for by, passed in enumerate((weights, weights * lengths[:, None])):
            given = passed.sum((0, 1)) @ kinds
            torch.testing.assert_close(arrays["shares"][layer, by].double(), given / given.sum(), rtol=1e-5, atol=1e-7)
        own, others = weights.diagonal(0, 1, 2), 1 - weights.diagonal(0, 1, 2).mean(0)
        assert own.shape == lengths.shape
        torch.testing.assert_close(arrays["mixing"][0, layer].double(), others, rtol=1e-5, atol=1e-6)


def test_weight_against_norm_gives_other_questions_their_turn(trace: bl.Trace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layer_answers, "PATIENCE", 0.0)
    monkeypatch.setattr(rows, "WEIGHTS_AT_ONCE", trace.n_tokens)
    trace = replace(trace)  # with nothing kept
    looked_at: list[tuple[int, int]] = []
    real = rows.blocks
    monkeypatch.setattr(received, "blocks", lambda *of: looked_at.append((of[1], of[2].start)) or real(*of))
    groups = [(layer, head) for layer in range(trace.n_layers) for head in range(trace.n_heads)]
    replies = []
    while not replies or replies[-1].get("again"):
        replies.append(layer_answers.norm_view(trace)[0])
        assert len(replies) <= len(groups) + 1
    assert len(replies) == len(groups) and looked_at == groups


def test_which_keys_rows_see_is_read_from_the_mask_once(trace: bl.Trace, monkeypatch: pytest.MonkeyPatch) -> None:
    """It takes longer than the rows themselves, for every head and measure anew."""
    monkeypatch.setattr(rows, "WEIGHTS_AT_ONCE", 70 * trace.n_tokens)
    trace = replace(trace)
    read: list[tuple[int, int, int]] = []
    real = bl.Trace.keys_seen
    monkeypatch.setattr(bl.Trace, "keys_seen", lambda self, *of: read.append(of) or real(self, *of))
    while layer_answers.norm_view(trace)[0].get("again"):
        pass
    assert len(read) == len(set(read)) > 0


def test_the_mean_of_a_layer_holds_one_map(trace: bl.Trace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "WEIGHTS_AT_ONCE", 70 * trace.n_tokens)
    for layer in range(trace.n_layers):
        with Largest() as made:
            found = attention.mean_weight(trace, layer)
        assert made.elements == trace.n_tokens**2 and made.doubles == 0
        torch.testing.assert_close(found, trace.attention(layer).mean(0), rtol=1e-5, atol=1e-8)


def test_maps_of_a_layer_of_a_longer_text_are_refused_with_the_way_out() -> None:
    lens = bl.Lens(tiny.bert(max_position_embeddings=2304, num_hidden_layers=1), tiny.wordpiece())
    trace = lens.trace("the cat " * 1024)
    assert trace.n_tokens == 2050
    with pytest.raises(InputError) as said:
        head_answers.layer_map(trace, 0, "attn-w")
    assert str(said.value) == (
        "maps of a whole layer are shown of texts of at most 2,048 tokens, this one has 2,050: "
        "choose a head, whose map is drawn at any length"
    )
