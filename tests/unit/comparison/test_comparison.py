"""Two runs compared, against float64 loops over columns with names; what is said of heads against the weights."""

from __future__ import annotations

import copy
import math
import re
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

import bertlens as bl
from bertlens import BertLensError, InputError, Lens, ModelError, SelectionError, Trace, survey, whatif
from bertlens.comparison.same_training import kinship
from bertlens.measures import attention, norms
from unit import tiny

A, B = "the unbelievable cat sat on the mat", "the cat was very warm on the mat ."


def lens_of(seed: int = 0, **settings: Any) -> Lens:
    return Lens(tiny.bert(seed, **settings).double(), tiny.wordpiece())


def naive_divergence(p: dict[Any, float], q: dict[Any, float]) -> float:
    """½ KL(p ‖ m) + ½ KL(q ‖ m) over columns by name."""
    total = 0.0
    for column in p.keys() | q.keys():
        x, y = p.get(column, 0.0), q.get(column, 0.0)
        mean = (x + y) / 2
        total += sum(part / 2 * math.log(part / mean) for part in (x, y) if part > 0)
    return total


def naive_rows(c: bl.Comparison, layer: int, head: int) -> list[float]:
    """Word by word, in Python: rows averaged over pieces, columns summed; what one has alone by its own name."""
    keys_a = {i: ("both", i) for i, _ in c.keys.shared}
    keys_b = {j: ("both", i) for i, j in c.keys.shared}
    first, second = c.a.attention(layer).double(), c.b.attention(layer).double()
    rows = []
    for i, j in c.queries.shared:
        sides = []
        for alpha, units, names, at, own in (
            (first, c.queries.a, keys_a, i, "a"),
            (second, c.queries.b, keys_b, j, "b"),
        ):
            row = sum(alpha[head, piece] for piece in units[at].pieces) / len(units[at].pieces)
            columns = c.keys.a if own == "a" else c.keys.b
            side = {
                names.get(n, (own, n)): sum(float(row[piece]) for piece in unit.pieces)
                for n, unit in enumerate(columns)
            }
            side["nothing"] = max(0.0, 1 - sum(side.values()))
            sides.append(side)
        rows.append(naive_divergence(*sides))
    return rows


def naive_heads(c: bl.Comparison) -> np.ndarray:
    found = np.zeros((c.a.n_layers, c.a.n_heads))
    for layer, head in np.ndindex(*found.shape):
        found[layer, head] = np.mean(naive_rows(c, layer, head))
    return found


def naive_aligned_rows(c: bl.Comparison, side: int, layer: int, head: int) -> np.ndarray:
    """(n, m) of one side: every token's row over the pieces of aligned words, by its sum; then words, in Python."""
    trace, units, columns = (c.b, c.queries.b, c.keys.b) if side else (c.a, c.queries.a, c.keys.a)
    alpha = trace.attention(layer)[head].double().tolist()
    words = [columns[pair[side]].pieces for pair in c.keys.shared]
    kept = [piece for word in words for piece in word]
    found = []
    for pair in c.queries.shared:
        rows = []
        for piece in units[pair[side]].pieces:
            total = sum(alpha[piece][key] for key in kept)
            rows.append([sum(alpha[piece][key] for key in word) / total for word in words])
        found.append(np.mean(rows, 0))
    return np.array(found)


@pytest.mark.parametrize("by", ["tokens", "words"])
def test_aligned_only_is_as_if_both_had_the_shared_words_alone(by: str) -> None:
    lens = lens_of()
    other = (
        lens
        if by == "tokens"
        else Lens(tiny.shaken(tiny.FAMILIES["roberta"].model()).double(), tiny.roberta_like(add_prefix_space=True))
    )
    whole = bl.compare(lens.trace(A), other.trace(B), same_heads=None if by == "tokens" else True)
    only = bl.compare(whole.a, whole.b, same_heads=whole.same_heads, aligned_only=True)
    assert only.queries.by == by and only.aligned_only and not whole.aligned_only
    assert only.tokens.equals(whole.tokens.dropna().reset_index(drop=True)) and len(only.tokens) < len(whole.tokens)
    counts = len(only.tokens), len(only.queries.a), len(only.queries.b)
    said = "Only aligned " + by + ": {} of {} of a and of {} of b. Each row is scaled to sum 1."
    assert only.said.startswith(said.format(*counts))
    for layer, head in ((0, 1), (2, 3)):
        rows = [naive_aligned_rows(only, side, layer, head) for side in (0, 1)]
        pairs = zip(*rows, strict=True)
        wanted = np.mean([naive_divergence(dict(enumerate(p)), dict(enumerate(q))) for p, q in pairs])
        assert float(only.heads[layer, head]) == pytest.approx(wanted, abs=1e-12)
        assert abs(float(whole.heads[layer, head]) - wanted) > 1e-4
        for side in (0, 1):
            np.testing.assert_allclose(only.head(side, layer, head).numpy(), rows[side], atol=1e-12)
            np.testing.assert_allclose(only.weights(layer)[side][head].numpy(), rows[side], atol=1e-12)
        np.testing.assert_allclose(only.attention(layer)[head].numpy(), rows[1] - rows[0], atol=1e-12)
        row, column = only.cell(layer, head)
        apart = [naive_divergence(dict(enumerate(p)), dict(enumerate(q))) for p, q in zip(*rows, strict=True)]
        assert (row, column) == (int(np.argmax(apart)), int(np.abs(rows[1] - rows[0])[row].argmax()))
    back = only.only(False)
    assert back.tokens.equals(whole.tokens) and torch.equal(back.heads, whole.heads) and only.only() is only


def test_norms_of_aligned_words_are_of_the_scaled_weights() -> None:
    lens = lens_of()
    only = bl.compare(lens.trace(A), lens.trace(B), aligned_only=True)
    size = norms.transformed_norm(only.b, 1)[2].double().numpy()
    kept = [j for _, j in only.keys.shared]
    passed_on = naive_aligned_rows(only, 1, 1, 2) * size[kept]
    np.testing.assert_allclose(only.head(1, 1, 2, "norm").numpy(), passed_on, atol=1e-12)


def test_a_row_that_gives_aligned_words_nothing_is_nowhere_the_same() -> None:
    """It stays 0 in a; b gives them all: ln 2; where neither gives anything they are alike."""
    a, b = torch.eye(3)[[1, 1, 1]], torch.eye(3)[[0, 1, 0]]
    traces = [bl.Trace.from_attentions([x[None]], tokens) for x, tokens in ((a, ["x", "p", "y"]), (b, ["x", "q", "y"]))]
    only = bl.compare(*traces, aligned_only=True)
    assert not only.head(0, 0, 0).any() and only.head(1, 0, 0)[:, 0].tolist() == [1.0, 1.0]
    assert float(only.heads) == pytest.approx(math.log(2), abs=1e-6)
    assert float(bl.compare(traces[0], traces[0], aligned_only=True).heads) == 0
    none = bl.Trace.from_attentions([a[None]], ["x", "q", "y"])
    assert float(bl.compare(traces[0], none, aligned_only=True).heads) == 0


def test_heads_of_two_texts_are_the_naive_divergence() -> None:
    lens = lens_of()
    a, b = lens.trace(A), lens.trace(B)
    c = bl.compare(a, b)
    assert [len(side) for side in c.keys.alone] == [4, 4] and len(c.queries.shared) == 7
    np.testing.assert_allclose(c.heads.numpy(), naive_heads(c), atol=1e-12, rtol=0)
    assert c.heads.shape == (3, 4) and c.heads.dtype == torch.float64
    assert float(c.heads.min()) > 0 and float(c.heads.max()) < math.log(2)
    single = Lens(tiny.bert(), tiny.wordpiece())
    np.testing.assert_allclose(bl.compare(single.trace(A), single.trace(B)).heads, c.heads, atol=1e-6, rtol=0)
    assert c.said == "7 of 11 tokens of a and of 11 of b are aligned."


@pytest.mark.parametrize("by", ["tokens", "words"])
def test_chunks_of_rows_change_nothing(by: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Long texts are worked on in groups of rows; gaps do not make a group longer."""
    lens = lens_of()
    if by == "tokens":
        a, b = lens.trace(A), lens.trace(B)
    else:
        model = tiny.shaken(tiny.FAMILIES["roberta"].model()).double()
        a, b = lens.trace(A), Lens(model, tiny.roberta_like(add_prefix_space=True)).trace(B)
    whole = bl.compare(a, b, same_heads=True)
    monkeypatch.setattr("bertlens.comparison.runs.WEIGHTS_AT_ONCE", 3 * 4 * len(whole.keys.b))
    cut = bl.compare(a, b, same_heads=True)
    groups = cut._chunks  # no number shows that there were groups: that is what is tested below
    assert len(groups) > 2 and sum(map(len, groups)) == len(whole.queries.shared)
    assert all(group[-1][side] - group[0][side] < 3 for group in groups for side in (0, 1))
    torch.testing.assert_close(cut.heads, whole.heads, atol=1e-14, rtol=0)
    assert cut.most(5)["words"].tolist() == whole.most(5)["words"].tolist()


def test_heads_are_as_head_distances_has_them() -> None:
    """Two maps of the same tokens, as heads of one trace and as one head of two."""
    maps = torch.rand(2, 3, 5, 5, generator=torch.Generator().manual_seed(1)).softmax(-1)
    tokens = ["[CLS]", "a", "b", "c", "[SEP]"]
    one = Trace.from_attentions([torch.cat([maps[0], maps[1]])], tokens)
    distances = survey.head_distances(None, [one], progress=False)
    c = bl.compare(*(Trace.from_attentions([x], tokens) for x in maps))
    assert c.heads[0].tolist() == pytest.approx([distances[h, h + 3] for h in range(3)], abs=1e-6)
    assert "attention weights that were given" in c.note


def test_a_trace_with_itself_is_zero_everywhere() -> None:
    trace = lens_of().trace(A)
    c = bl.compare(trace, trace)
    assert not c.heads.any() and not any(map(len, c.queries.alone))
    assert all(not c.attention(layer).any() for layer in range(3))
    assert not c.difference(Trace.hidden_state, 2, kind="heads").any()
    assert c.most(2).empty  # none is named as the one that differs most
    near = c.nearest()
    assert (near["layer"] == near["layer_b"]).all() and (near["head"] == near["head_b"]).all()


def test_swapped_every_sign_flips_and_nothing_else() -> None:
    lens = lens_of()
    there, back = bl.compare(lens.trace(A), lens.trace(B)), bl.compare(lens.trace(B), lens.trace(A))
    assert torch.equal(there.heads, back.heads)
    assert {(j, i) for i, j in back.queries.shared} == set(there.queries.shared)
    rows = [[n for n, pair in enumerate(c.queries.pairs) if None not in pair] for c in (there, back)]
    for layer in range(3):
        one, other = there.attention(layer)[:, rows[0]][..., rows[0]], back.attention(layer)[:, rows[1]][..., rows[1]]
        assert torch.equal(one, -other) and bool(one.any())
    first, second = there.most(12), back.most(12)
    assert first[["layer", "head", "divergence", "query", "key"]].equals(
        second[["layer", "head", "divergence", "query", "key"]]
    )
    assert first["a"].equals(second["b"]) and first["b"].equals(second["a"])


def test_two_tokenizers_are_compared_by_words() -> None:
    """Two families of one shape, taken to be matched: naive merging of pieces, gaps in place."""
    bert = lens_of()
    roberta = Lens(tiny.shaken(tiny.FAMILIES["roberta"].model()).double(), tiny.roberta_like(add_prefix_space=True))
    a, b = bert.trace("The unbelievable cat's mat"), roberta.trace("the unbelievable cat's warm mat")
    c = bl.compare(a, b, same_heads=True)
    assert c.queries.by == "words" and c.tokens["a"].isna().tolist() == [False] * 4 + [True] + [False] * 2
    assert "6 of 6 words of a and of 7 of b" in c.said and "as asked" in c.said
    np.testing.assert_allclose(c.heads.numpy(), naive_heads(c), atol=1e-12, rtol=0)
    map_a, map_b = c.both(Trace.attention, 1)
    torch.testing.assert_close(map_b.nansum(-1)[:, [0, 1, 2, 3, 4, 5, 6]], torch.ones(4, 7, dtype=torch.float64))
    assert bool(map_a[:, 4].isnan().all()) and bool(map_a[..., 4].isnan().all())
    alpha, word = a.attention(1), c.queries.a[2].pieces
    assert len(word) == 3
    expected = sum(alpha[:, i, j] for i in word for j in c.queries.a[3].pieces) / 3
    torch.testing.assert_close(map_a[:, 2, 3], expected)
    received = c.both(lambda trace: attention.mean_weight(trace, 1).mean(0), kind="tokens")[0]
    torch.testing.assert_close(received[2], attention.mean_weight(a, 1).mean(0)[list(word)].sum())


def test_weight_that_goes_nowhere_has_a_column_too() -> None:
    trace = lens_of().trace(A)
    changed = trace.rerun(whatif.cut(1, 2, query=4, renormalize=False))
    c = bl.compare(trace, changed)
    np.testing.assert_allclose(c.heads.numpy(), naive_heads(c), atol=1e-12, rtol=0)
    assert float(c.heads[1, 2]) == pytest.approx(math.log(2) / trace.n_tokens, abs=1e-12)  # all of one row has moved
    assert not c.heads[0].any() and not c.heads[1, :2].any() and bool(c.heads[2].all())


def test_differences_of_measures() -> None:
    """Where both have the token, b − a by hand; NaN elsewhere; heads as they are."""
    lens = lens_of()
    a, b = lens.trace(A), lens.trace(B)
    c = bl.compare(a, b)
    found = c.attention(2)
    assert found.shape == (4, 15, 15)
    for m, (i, j) in enumerate(c.queries.pairs):
        for n, (k, l) in enumerate(c.keys.pairs):  # noqa: E741
            if None in (i, j, k, l):
                assert bool(found[:, m, n].isnan().all())
            else:
                torch.testing.assert_close(found[:, m, n], b.attention(2)[:, j, l] - a.attention(2)[:, i, k])
    of_tokens = c.difference(lambda t, layer: t.layer_output(layer).norm(dim=-1), 1, "tokens")
    i, j = c.queries.shared[3]
    at = c.queries.pairs.index((i, j))
    assert float(of_tokens[at]) == pytest.approx(
        float(b.layer_output(1)[j].norm() - a.layer_output(1)[i].norm()), abs=1e-12
    )
    assert int(of_tokens.isnan().sum()) == 8
    heads = c.difference(lambda t: torch.stack([t.attention(n).amax((1, 2)) for n in range(3)]), kind="heads")
    assert heads[1, 2] == b.attention(1)[2].max() - a.attention(1)[2].max()


def test_the_most_different_heads_in_words() -> None:
    """Every number of every sentence from the weights."""
    lens = lens_of()
    a, b = lens.trace(A), lens.trace(B)
    c = bl.compare(a, b)
    table = c.most(5)
    naive = naive_heads(c)
    order = np.argsort(-naive, axis=None)[:5]
    assert [(r.layer, r.head) for r in table.itertuples()] == [divmod(int(n), 4) for n in order]
    assert table["divergence"].tolist() == pytest.approx(naive.flatten()[order].tolist())
    pattern = re.compile(
        r"L(?P<layer>\d)·H(?P<head>\d) differs most at “(?P<query>\S+)” \((?P<i>\d+)\): it looks at “(?P<key>\S+)” "
        r"\((?P<j>\d+)\) with (?:(?P<a>\S+) in a, (?P<b>\S+) in b|(?P<one>\S+) in (?P<own>[ab]); "
        r"(?P<other>[ab]) has no such token)\."
    )
    partner = dict(c.queries.shared)
    for row in table.itertuples():
        said = pattern.fullmatch(row.words)
        assert said is not None, row.words
        layer, head, query = int(said["layer"]), int(said["head"]), int(said["i"])
        assert a.display_tokens[query] == said["query"] == row.query
        first, second = a.attention(layer)[head], b.attention(layer)[head]
        shared = dict(c.keys.shared)
        changes = {
            ("a", i): abs(float(first[query, i]) - (float(second[partner[query], shared[i]]) if i in shared else 0))
            for i in range(a.n_tokens)
        }
        changes |= {("b", j): float(second[partner[query], j]) for j in c.keys.alone[1]}
        own = said["own"] or "a"
        assert said["other"] == {None: None, "a": "b", "b": "a"}[said["own"]]
        key = (own, int(said["j"]))
        assert changes[key] == max(changes.values()) == pytest.approx(abs(row.b - row.a))
        assert (a if own == "a" else b).display_tokens[key[1]] == said["key"] == row.key
        told = {"a": said["a"], "b": said["b"]} if said["one"] is None else {own: said["one"]}
        for side, value in (("a", row.a), ("b", row.b)):
            assert (side not in told and value == 0) or told[side] == f"{value:.2f}"
        # the row that is named is the one in which the head differs most
        assert c.queries.shared[int(np.argmax(naive_rows(c, layer, head)))][0] == query


def test_heads_of_two_trainings_are_not_matched_by_index() -> None:
    """By what the weights say; permuted heads are found again by what they look at."""
    lens, stranger = lens_of(), lens_of(seed=1)
    trained = copy.deepcopy(lens.model)
    with torch.no_grad():
        for p in trained.parameters():
            p += 0.3 * p.std() * torch.randn(p.shape, dtype=p.dtype, generator=torch.Generator().manual_seed(3))
    later = Lens(trained, tiny.wordpiece())
    one, two, three = (x.trace(A) for x in (lens, later, stranger))
    r, count = kinship(lens.borrowed, later.borrowed)
    names = [name for name, p in lens.model.named_parameters() if p.ndim == 2]
    other = dict(later.model.named_parameters())
    expected = [
        np.corrcoef(p.detach().flatten(), other[name].detach().flatten())[0, 1]
        for name, p in lens.model.named_parameters()
        if name in names
    ]
    assert (r, count) == (pytest.approx(float(np.median(expected)), abs=0.01), len(names))
    same = bl.compare(one, two)
    assert same.same_heads and f"one training (their weights correlate at r = {r:.2f}, median of {count}" in same.note
    assert same.heads.shape == (3, 4)
    apart = bl.compare(one, three)
    assert not apart.same_heads and apart.note.startswith(
        "Heads of two different pre-trainings are not matched by index"
    )
    assert abs(kinship(lens.borrowed, stranger.borrowed)[0]) < 0.1
    for call in (lambda: apart.heads, lambda: apart.most(), lambda: apart.attention(0)):
        with pytest.raises(ModelError, match=r"two different pre-trainings.* use nearest\(\), or same_heads=True"):
            call()
    assert apart.difference(lambda t, n: attention.mean_weight(t, n), 1).shape == (11, 11)  # of no head
    asked = bl.compare(one, three, same_heads=True)
    np.testing.assert_allclose(asked.heads.numpy(), naive_heads(asked), atol=1e-12, rtol=0)

    deeper = lens_of(num_hidden_layers=4).trace(A)
    c = bl.compare(one, deeper)
    assert c.note == "Heads of 3 × 4 and 4 × 4 are not matched by index: use nearest()."
    assert len(c.nearest()) == 12

    order = [2, 0, 3, 1]
    maps = torch.stack([one.attention(n) for n in range(3)])
    mixed = bl.compare(
        Trace.from_attentions(maps, one.tokens), Trace.from_attentions(maps[:, order], one.tokens), same_heads=False
    )
    near = mixed.nearest()
    assert near["layer_b"].tolist() == near["layer"].tolist()
    assert [order[head] for head in near["head_b"]] == near["head"].tolist()
    assert near["divergence"].abs().max() < 1e-9
    with pytest.raises(ModelError, match="as asked"):
        _ = mixed.heads


@pytest.mark.parametrize("words", [30_522, 250_000])  # more than 2²⁴ entries, which float32 does not count
def test_how_alike_large_matrices_are(words: int) -> None:
    """Rows that repeat take no memory; the values compared lie evenly from the first to the last."""
    generator = torch.Generator().manual_seed(0)
    one, two = (torch.randn(768, generator=generator, dtype=torch.float64) for _ in range(2))

    def model(row: torch.Tensor) -> Any:
        base = torch.nn.Module()
        base.matrix = torch.nn.Parameter(row.expand(words, 768), requires_grad=False)
        return SimpleNamespace(base=base)

    at = [i * (words * 768 - 1) // 4095 % 768 for i in range(4096)]
    expected = np.corrcoef(one[at], two[at])[0, 1]
    assert kinship(model(one), model(two)) == (pytest.approx(expected, abs=1e-12), 1)
    assert kinship(model(one), model(one)) == (pytest.approx(1), 1)


def test_nearest_is_the_smallest_naive_divergence() -> None:
    lens = lens_of()
    a, b = lens.trace(A), lens.trace(B)
    c = bl.compare(a, b)
    near = c.nearest()
    for row in near.iloc[[0, 5, 11]].itertuples():
        found = {}
        for layer in range(3):
            for head in range(4):
                one = Trace.from_attentions(a.attention(row.layer)[None, None, row.head], a.tokens)
                two = Trace.from_attentions(b.attention(layer)[None, None, head], b.tokens)
                pair = bl.Comparison(one, two, c.queries, c.keys, True, "")
                found[layer, head] = float(naive_heads(pair)[0, 0])
        best = min(found, key=lambda name: found[name])
        assert (row.layer_b, row.head_b) == best
        assert row.divergence == pytest.approx(found[best], abs=1e-9)


def test_cross_attention_is_aligned_on_both_sides() -> None:
    weights = torch.rand(2, 1, 2, 3, 4, generator=torch.Generator().manual_seed(0)).softmax(-1)
    a = Trace.from_attentions(weights[0], ["x", "y", "z"], ["k", "l", "m", "n"])
    b = Trace.from_attentions(weights[1], ["x", "z", "w"], ["l", "m", "n", "o"])
    c = bl.compare(a, b)
    np.testing.assert_allclose(c.heads.numpy(), naive_heads(c), atol=1e-6, rtol=0)
    assert c.attention(0).shape == (2, 4, 5) and len(c.queries.shared) == 2 and len(c.keys.shared) == 3


def test_wrong_use_is_one_sentence() -> None:
    lens = lens_of()
    a, b = lens.trace(A), lens.trace(B)
    c = bl.compare(a, b)
    far = [Trace.from_attentions(torch.full((1, 2, 2, 2), 0.5), tokens) for tokens in (["a", "b"], ["c", "d"])]
    cases: list[tuple[Any, type[BertLensError], str]] = [
        (lambda: bl.compare(a, A), InputError, "trace the text first"),  # type: ignore[arg-type]
        (lambda: bl.compare(*far), InputError, "no word in common"),
        (lambda: bl.compare(a, lens_of(num_hidden_layers=4).trace(A), same_heads=True), InputError, "leave same_heads"),
        (lambda: c.most(0), InputError, "at least 1"),
        (lambda: c.attention(3), SelectionError, "layer 3"),
        (lambda: c.difference(Trace.attention, 0, "cells"), SelectionError, "there are map, tokens, heads"),
        (lambda: c.difference(lambda t: torch.zeros(3), kind="tokens"), InputError, "ends in (11)"),
        (lambda: c.difference(lambda t: torch.zeros(len(t.text or "")), kind="heads"), InputError, "in a and"),
    ]
    for at, (call, kind, said) in enumerate(cases):
        with pytest.raises(kind) as caught:
            call()
        assert said in str(caught.value) and "\n" not in str(caught.value), (at, caught.value)


def test_the_embedded_encoder_and_the_language_model_made_from_it(embedded_lens: Lens, language_model: Lens) -> None:
    a, b = (lens.trace("The cat sat on the mat.") for lens in (embedded_lens, language_model))
    c = bl.compare(a, b)
    assert c.same_heads and "Two models of one training" in c.said and not any(map(len, c.queries.alone))
    np.testing.assert_allclose(c.heads.numpy(), naive_heads(c), atol=1e-6, rtol=0)
