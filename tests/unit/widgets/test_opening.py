"""The head that a view opens on: against a search of all cells, on planted heads, and what is given wins."""

from __future__ import annotations

import numpy as np
import pytest

import bertlens as bl
from bertlens import whatif
from bertlens.errors import SelectionError
from bertlens.measures import gates
from bertlens.measures.words import merge_map, strongest_word
from bertlens.whatif.strongest_heads import strongest_heads
from bertlens.widgets import first_head
from bertlens.widgets.first_head import opening

WORDS = ["[CLS]", *"a b c d e f g h i j".split(), "[SEP]"]
N = len(WORDS)


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


def clear_cells(trace, layers, gate_of):
    """Every cell of two different words from .4 to .9 in a head that is not open or closed, the largest first."""
    words = [n for n, special in enumerate(trace.special_mask.tolist()) if not special]
    maps = {layer: trace.attention(layer).tolist() for layer in layers}
    return sorted(
        (-maps[layer][head][i][j], layer, head, i, j)
        for layer in layers
        for head in range(trace.n_heads)
        if gate_of(layer, head) not in ("open", "closed")
        for i in words
        for j in words
        if i != j and 0.4 <= maps[layer][head][i][j] <= 0.9
    )


def opened(trace, layers):
    table = gates.classify(trace).set_index(["layer", "head"])["label"]
    _, layer, head, query, key = clear_cells(trace, layers, lambda layer, head: table[layer, head])[0]
    return {"layer": layer, "head": head, "query": query, "key": key}


def test_planted_head_is_found_and_self_and_sinks_are_not():
    clear = previous(0.8)
    trace = trace_of([haze(), itself(), sink()], [haze(), clear, sink()])
    assert opening(trace) == {"layer": 1, "head": 1, "query": 5, "key": 4}


def test_equal_heads_lower_index():
    clear = previous(0.8)
    trace = trace_of([haze(), haze(), clear], [clear, haze(), haze()])
    assert (opening(trace)["layer"], opening(trace)["head"]) == (0, 2)


def test_what_is_saturated_gives_way_to_what_is_clear():
    trace = trace_of([previous(1.09), previous(0.6)])
    assert trace.attention(0)[0][5, 4] > 0.9
    assert opening(trace) == {"layer": 0, "head": 1, "query": 5, "key": 4}


def test_a_word_that_looks_at_itself_is_no_cell():
    own = 0.2 * haze() + 0.8 * np.eye(N)
    trace = trace_of([own, previous(0.6)])
    assert 0.4 < trace.attention(0)[0][5, 5] < 0.9
    assert opening(trace) == {"layer": 0, "head": 1, "query": 5, "key": 4}


def test_a_closed_head_gives_way_though_one_of_its_weights_is_clear():
    resting = sink()
    resting[5] = 0.15 / (N - 1)
    resting[5, 4] = 0.85
    trace = trace_of([resting, previous(0.6)])
    assert gates.classify(trace)["label"].tolist()[0] == "closed"
    assert opening(trace) == {"layer": 0, "head": 1, "query": 5, "key": 4}


def test_where_nothing_is_clear_the_weight_nearest_to_six_tenths():
    trace = trace_of([haze(), previous(1.09)])
    maps = trace.attention(0)[:, 1:-1, 1:-1].numpy().copy()
    maps[:, range(N - 2), range(N - 2)] = -9
    _, query, key = np.unravel_index(np.abs(maps - 0.6).argmin(), maps.shape)
    assert opening(trace) == {"layer": 0, "head": 1, "query": query + 1, "key": key + 1}


def test_a_text_too_short_for_gates_leaves_out_heads_that_rest_on_special_tokens():
    words = ["[CLS]", "a", "b", "[SEP]"]
    resting = np.full((4, 4), 0.02) + 0.92 * np.eye(4)[3]
    resting[1] = [0.05, 0.05, 0.85, 0.05]  # clearer than the other head's
    looking = np.array([[0.1, 0.4, 0.4, 0.1], [0.1, 0.3, 0.5, 0.1], [0.1, 0.45, 0.35, 0.1], [0.1, 0.4, 0.4, 0.1]])
    trace = bl.Trace.from_attentions(np.stack([np.stack([resting, looking])]).astype(np.float32), words)
    assert opening(trace) == {"layer": 0, "head": 1, "query": 1, "key": 2}


TIRED = "The cat did not drink the milk because the [MASK] was tired."
SINGLE = ["The keys to the cabinet are on the table.", "She gave the book to her brother, who read it twice."]


@pytest.mark.parametrize(
    ("text", "head", "words", "weight"),
    [
        (TIRED, (5, 7), ("[MASK]", "cat"), 0.735),
        (TIRED.replace("tired", "sour"), (5, 7), ("[MASK]", "milk"), 0.585),
    ],
)
def test_the_head_that_matters_most_to_the_answer(language_model, text, head, words, weight):
    """Against each head off, one by one: it moves the first answer most of all, and looks from its row at that word."""
    trace = language_model.trace(text)
    effects = whatif.sweep(trace, whatif.probability(trace.predictions(k=1)["token"][0]), progress=False)
    cell = opening(trace)
    assert divmod(int(effects.abs().argmax()), trace.n_heads) == (cell["layer"], cell["head"]) == head
    assert tuple(trace.display_tokens[cell[side]] for side in ("query", "key")) == words
    row = trace.attention(cell["layer"])[cell["head"], cell["query"]]
    assert float(row[cell["key"]]) == pytest.approx(weight, abs=5e-4)
    assert cell["key"] == int(row.masked_fill(trace.special_mask, 0).argmax())


def test_two_texts_open_on_the_head_whose_loudness_moves_their_similarity_most(pair):
    """By runs with each head a little louder and a little softer."""

    def alike(layer, head, factor):
        return pair.rerun(whatif.scale(layer, head, factor)).predictions()["logit"][0]

    slopes = {
        (layer, head): abs(alike(layer, head, 1.02) - alike(layer, head, 0.98))
        for layer, head, _ in strongest_heads(pair).heads
    }
    cell = opening(pair)
    assert (cell["layer"], cell["head"]) == max(slopes, key=lambda head: slopes[head])


@pytest.mark.parametrize("text", SINGLE)
def test_an_encoder_with_one_text_opens_on_its_largest_link(text, embedded_lens):
    """By loops over every head and pair of words; these texts have no word of several pieces."""
    trace = embedded_lens.trace(text)
    n, tokens = trace.n_tokens, trace.display_tokens
    vectors = trace.record.output.last_hidden_state[0].double()
    vector = vectors.mean(0)
    share = [float(v @ vector) / n / float(vector @ vector) for v in vectors]
    words = [i for i in range(1, n - 1) if tokens[i].isalnum()]
    content = [i for i in words if share[i] > sum(share[j] for j in words) / len(words)]
    links = []
    for layer in range(trace.n_layers):
        maps = trace.attention(layer).tolist()
        for head in range(trace.n_heads):
            alpha = maps[head]
            near = [sum(alpha[i][i + by] for i in range(n) if 0 <= i + by < n) for by in (-1, 0, 1)]
            if max(near) < 0.5 * n:
                pairs = [(i, j) for i in content for j in content if abs(i - j) > 1]
                links += [(alpha[i][j], layer, head, i, j) for i, j in pairs]
    _, layer, head, query, key = max(links)
    assert opening(trace) == {"layer": layer, "head": head, "query": query, "key": key}


def test_a_positional_head_is_no_link(embedded_lens, monkeypatch):
    trace = embedded_lens.trace(SINGLE[0])
    monkeypatch.setattr(first_head, "POSITIONAL", 0.0)  # then every head is one
    assert opening(trace) == opened(trace, range(trace.n_layers))


def test_the_strongest_word_is_one_with_letters_and_above_an_even_share():
    words = ["[CLS]", "cat", ",", "sat", "7", "[SEP]"]
    rows = np.full((6, 6), 1 / 6)
    rows[1] = [0.5, 0.1, 0.2, 0.05, 0.1, 0.05]  # the most goes to [CLS], then to a comma
    rows[3] = [0.1, 0.2, 0.3, 0.3, 0.05, 0.05]
    trace = bl.Trace.from_attentions(rows[None, None].astype(np.float32), words)
    assert strongest_word(trace, 0, 0, 1) is None  # "7" has less than a sixth
    assert strongest_word(trace, 0, 0, 3) == 1
    rows[:] = 1 / 6
    even = bl.Trace.from_attentions(rows[None, None].astype(np.float32), words)
    assert strongest_word(even, 0, 0, 4) is None


def test_longer_texts_look_at_the_first_layer_only(embedded_lens):
    trace = embedded_lens.trace(" ".join(["cat sat on the mat and the dog slept"] * 16))
    assert trace.n_tokens > 128
    assert opening(trace) == opened(trace, [0])


def test_explorer_opens_there_and_stays(pair, embedded_lens):
    view = pair.explore()
    chosen = {name: getattr(view, name) for name in ("layer", "head", "query")}
    assert chosen | {"key": strongest_word(pair, *chosen.values())} == opening(pair)
    assert view.key is None  # the row's strongest word, in whichever head is chosen next
    view.trace = embedded_lens.trace("One two three four five six seven eight nine ten.")
    assert (view.layer, view.head) == (chosen["layer"], chosen["head"])


def test_explorer_opens_at_the_cell(embedded_lens):
    """A key that the page would not take from the row is pinned too; what is given wins over both."""
    words = [*WORDS[:4], ",", *WORDS[5:]]
    comma = bl.Trace.from_attentions(previous(0.8)[None, None].astype(np.float32), words)
    is_pinned = []
    for trace in (comma, *map(embedded_lens.trace, [*SINGLE, " ".join(["cat sat"] * 70)])):
        cell, view = opening(trace), trace.explore()
        place = {name: getattr(view, name) for name in ("layer", "head", "query")}
        followed = strongest_word(trace, *place.values())
        assert place | {"key": followed if view.key is None else view.key} == cell
        is_pinned.append(view.key is not None)
        view = trace.explore(query=1)
        assert (view.query, view.key) == (1, None)
    assert is_pinned[0] and not all(is_pinned)


def test_without_memory_for_a_backward_pass_a_clear_cell(pair, monkeypatch):
    def fails(trace):
        raise RuntimeError("CUDA out of memory")

    monkeypatch.setattr(first_head, "estimated_effects", fails)
    assert opening(pair) == opened(pair, range(pair.n_layers))


def test_the_words_of_a_layer_are_merged_at_once(embedded_lens, monkeypatch):
    trace, calls = embedded_lens.trace(SINGLE[0]), []
    monkeypatch.setattr(first_head, "merge_map", lambda *args: calls.append(args) or merge_map(*args))
    opening(trace)
    assert len(calls) == trace.n_layers


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
