"""The head that a view opens on: against the gate table, on planted heads, and what is given wins."""

from __future__ import annotations

import numpy as np
import pytest

import bertlens as bl
from bertlens.errors import SelectionError
from bertlens.measures import gates
from bertlens.widgets.first_head import opening

WORDS = ["[CLS]", *"a b c d e f g h i j".split(), "[SEP]"]
N = len(WORDS)
SHOWING = [gate for gate in gates.GATES if gate not in ("open", "closed", "self")]


@pytest.fixture(scope="module")
def pair(embedded_lens):
    return embedded_lens.trace("The cat sat on the mat because it was tired.", "The dog lay on the rug.")


def haze() -> np.ndarray:
    return np.full((N, N), 1 / N)


def previous(sharp: float = 1.0) -> np.ndarray:
    """Each token looks at the one before; the fifth looks a little harder than the others."""
    maps = (1 - 0.9 * sharp) * haze() + 0.9 * sharp * np.eye(N, k=-1)
    maps[5, 4] += 1
    return maps / maps.sum(-1, keepdims=True)


def itself() -> np.ndarray:
    return 0.01 * haze() + 0.99 * np.eye(N)


def sink() -> np.ndarray:
    maps = 0.01 * haze()
    maps[:, -1] += 0.99
    return maps


def trace_of(*layers):
    return bl.Trace.from_attentions(np.stack([np.stack(heads) for heads in layers]).astype(np.float32), WORDS)


def test_planted_head_is_found_and_self_and_sinks_are_not():
    trace = trace_of([haze(), itself(), sink()], [haze(), previous(), sink()])
    assert opening(trace) == {"layer": 1, "head": 1, "query": 5, "key": 4}


def test_equal_heads_lower_index():
    trace = trace_of([haze(), haze(), previous()], [previous(), haze(), haze()])
    assert (opening(trace)["layer"], opening(trace)["head"]) == (0, 2)


def test_best_head_of_the_gate_table(pair):
    table = gates.classify(pair)
    best = table.loc[table[SHOWING].max(axis=1).idxmax()]
    opened = opening(pair)
    assert (opened["layer"], opened["head"]) == (best["layer"], best["head"]) != (0, 0)
    content = [n for n, special in enumerate(pair.special_mask.tolist()) if not special]
    alpha = pair.attention(opened["layer"])[opened["head"]].numpy()
    cells = [(float(alpha[i, j]), -i, -j) for i in content for j in content]
    most = max(cells)
    assert (opened["query"], opened["key"]) == (-most[1], -most[2])


def test_longer_texts_look_at_the_first_layer_only(embedded_lens):
    trace = embedded_lens.trace(" ".join(["cat sat on the mat and the dog slept"] * 16))
    assert trace.n_tokens > 128
    table = gates.classify(trace).query("layer == 0")
    assert opening(trace)["head"] == table.loc[table[SHOWING].max(axis=1).idxmax(), "head"]
    assert opening(trace)["layer"] == 0


def test_explorer_opens_there_and_stays(pair, embedded_lens):
    view = pair.explore()
    chosen = {name: getattr(view, name) for name in ("layer", "head", "query", "key")}
    assert chosen == opening(pair)
    view.trace = embedded_lens.trace("One two three four five six seven eight nine ten.")
    assert (view.layer, view.head) == (chosen["layer"], chosen["head"])


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"layer": 0}, (0, 0, None, None)),
        ({"head": 0}, (0, 0, None, None)),
        ({"layer": 3, "head": 2, "query": 1}, (3, 2, 1, None)),
    ],
)
def test_given_head_wins(pair, given, expected):
    view = pair.explore(**given)
    assert (view.layer, view.head, view.query, view.key) == expected


def test_given_pin_wins(pair):
    view = pair.explore(key=7)
    assert (view.layer, view.head) == (opening(pair)["layer"], opening(pair)["head"])
    assert (view.query, view.key) == (None, 7)


def test_included_heads_only(pair):
    view = pair.explore(include_layers=[4, 3], include_heads=[5, 2])
    assert view.layer in (3, 4) and view.head in (2, 5)
    with pytest.raises(SelectionError, match="layers"):
        pair.explore(include_layers=[])


def test_no_gates_no_surprise():
    maps = np.stack([np.stack([previous(), np.full((N, N), np.nan)])]).astype(np.float32)
    view = bl.Trace.from_attentions(maps, WORDS).explore()
    assert (view.layer, view.head, view.query) == (0, 0, None)
