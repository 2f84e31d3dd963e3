"""Spectra and ranks: analytic cases, and the published definitions written out with full matrices."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from torch import Tensor

from bertlens.errors import InputError, ModelError, SelectionError
from bertlens.lens import Lens
from bertlens.measures import spectra
from bertlens.trace import Trace
from unit import tiny

EYE = torch.eye(50, dtype=torch.float64)


def gaussian(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


@pytest.fixture(scope="module")
def lens() -> Lens:
    return Lens(tiny.bert(), tiny.wordpiece())


@pytest.fixture(scope="module")
def trace(lens) -> Trace:
    return lens.trace("the cat sat on the mat, it was very warm.")


# --- one matrix ---


def test_ranks_of_known_matrices():
    one = torch.outer(gaussian(6), gaussian(4))
    equal = torch.cat([torch.eye(3), torch.zeros(3, 3)])
    assert spectra.rank(torch.stack([torch.zeros(5, 5), torch.eye(5)])).tolist() == [0, 5]
    for f, of_one, of_equal in (
        (spectra.rank, 1, 3),
        (spectra.effective_rank, 1, 3),
        (spectra.stable_rank, 1, 3),
        (spectra.top_share, 1, 1 / 3),
    ):
        assert float(f(one)) == pytest.approx(of_one)
        assert float(f(equal)) == pytest.approx(of_equal)
    assert spectra.effective_rank(torch.zeros(3, 3)).isnan() and spectra.top_share(torch.zeros(3, 3)).isnan()


@pytest.mark.parametrize("wrong", [torch.nan, torch.inf])
def test_matrices_that_are_not_finite_are_refused(wrong):
    x = torch.eye(4)
    x[1, 2] = wrong
    for measure in (spectra.singular_values, spectra.rank, spectra.effective_rank, spectra.stable_rank):
        with pytest.raises(InputError, match="holds NaN or Inf"):
            measure(x)
    with pytest.raises(InputError, match="holds NaN or Inf"):
        spectra.subspace_overlap(x, torch.eye(4))


def test_ranks_by_hand_and_in_order():
    x = gaussian(9, 5)
    values = np.linalg.svd(x.numpy(), compute_uv=False)
    assert spectra.singular_values(x).numpy() == pytest.approx(values)
    share = values**2 / (values**2).sum()
    assert float(spectra.effective_rank(x)) == pytest.approx(math.exp(-(share * np.log(share)).sum()))
    assert float(spectra.stable_rank(x)) == pytest.approx((values**2).sum() / values[0] ** 2)
    assert 1 <= float(spectra.stable_rank(x)) <= float(spectra.effective_rank(x)) <= int(spectra.rank(x)) == 5


def test_numerical_rank_follows_the_dtype():
    """A direction below the precision of float32 counts in float64 only."""
    x = torch.diag(torch.tensor([1.0, 1.0, 1e-9], dtype=torch.float64))
    assert (int(spectra.rank(x)), int(spectra.rank(x.float()))) == (3, 2)


@pytest.mark.parametrize(
    ("row", "keys"),
    [([1.0] + [0] * 9, 1), ([0.1] * 10, 9), ([0.5, 0.4, 0.1] + [0] * 7, 2), ([0.5, 0.39, 0.11] + [0] * 7, 3)],
)
def test_k90(row, keys):
    a = torch.tensor([row, row[::-1]])
    assert spectra.k90(a).tolist() == [keys, keys]
    assert spectra.k90(a, share=0.5).tolist() == [{1: 1, 9: 5, 2: 1, 3: 1}[keys]] * 2


def test_rank_of_the_symmetric_part():
    q = gaussian(20, 4)
    same = spectra.symmetric_rank(q, q)
    assert (same.rank, same.symmetric, same.defect) == (4, 4, 4)
    apart = spectra.symmetric_rank(EYE[:20, :4], EYE[:20, 10:14].flip(0))
    assert (apart.rank, apart.symmetric, apart.bound, apart.defect) == (4, 8, 8, 0)
    k = gaussian(20, 4, seed=1)
    k[:, 0] = q[:, 0]  # one direction in common
    product = (q @ k.T).numpy()
    found = spectra.symmetric_rank(q, k)
    assert found.rank == np.linalg.matrix_rank(product) == 4
    assert found.symmetric == np.linalg.matrix_rank(product + product.T) <= found.bound


# --- subspaces ---


def test_overlap_and_angles_of_known_subspaces():
    basis = EYE[:8]
    turn = gaussian(4, 4, seed=2)
    assert float(spectra.subspace_overlap(basis[:4], turn @ basis[:4])) == pytest.approx(1)
    assert float(spectra.subspace_overlap(basis[:4], basis[4:])) == pytest.approx(0)
    assert spectra.principal_angles(basis[:4], basis[4:]).tolist() == pytest.approx([math.pi / 2] * 4)
    t = 0.3
    tilted = torch.stack([EYE[0], math.cos(t) * EYE[1] + math.sin(t) * EYE[2]])
    assert spectra.principal_angles(EYE[:2], tilted).tolist() == pytest.approx([0, t], abs=1e-7)
    assert float(spectra.subspace_overlap(EYE[:2], tilted)) == pytest.approx((1 + math.cos(t) ** 2) / 2)
    assert float(spectra.subspace_overlap(basis[:3], basis)) == pytest.approx(1)  # the one holds the other


def test_overlap_of_random_subspaces_is_r_over_d():
    found = [
        float(spectra.subspace_overlap(gaussian(8, 64, seed=s), gaussian(8, 64, seed=s + 500))) for s in range(200)
    ]
    assert np.mean(found) == pytest.approx(8 / 64, rel=0.05)
    unequal = [
        float(spectra.subspace_overlap(gaussian(4, 64, seed=s), gaussian(16, 64, seed=s + 500))) for s in range(200)
    ]
    assert np.mean(unequal) == pytest.approx(16 / 64, rel=0.05)  # of different ranks the larger one counts


def test_overlaps_with_other_heads_are_pair_by_pair():
    """A head that shares half of its directions with every other's keys has more in common with its own."""
    shared = gaussian(4, 64, seed=9)
    queries = torch.stack([torch.cat([shared, gaussian(4, 64, seed=s)]) for s in range(3)])
    keys = torch.stack([torch.cat([shared, queries[s, 4:6], gaussian(2, 64, seed=s + 20)]) for s in range(3)])
    found = spectra.head_overlaps(queries, keys)
    for a in range(3):
        for b in range(3):
            u, v = (np.linalg.qr(x.numpy().T)[0] for x in (queries[a], keys[b]))
            assert float(found[a, b]) == pytest.approx(np.linalg.norm(u.T @ v) ** 2 / 8)
    others = spectra.of_others(found)
    assert float(others[1]) == pytest.approx((float(found[1, 0]) + float(found[1, 2])) / 2)
    assert (found.diagonal() > others + 0.1).all() and (others > 8 / 64 + 0.2).all()
    assert spectra.of_others(spectra.head_overlaps(queries[:1], keys[:1])).isnan().all()


# --- symmetry and directionality ---


def full_symmetry(w: np.ndarray) -> float:
    return 2 * np.linalg.norm((w + w.T) / 2) ** 2 / np.linalg.norm(w) ** 2 - 1


def full_directionality(w: np.ndarray, g: float = 2) -> float:
    rows, columns = np.linalg.norm(w, axis=1), np.linalg.norm(w, axis=0)
    r, c = (sum(max(0, x - v.mean() - g * v.std(ddof=1)) for x in v) for v in (rows, columns))
    return (c - r) / (c + r) if c + r else 0.0


def test_symmetry_of_known_matrices():
    m = gaussian(50, 50)
    for w, expected in ((m + m.T, 1), (m - m.T, -1), (m.triu(1), 0)):
        assert float(spectra.symmetry_of(EYE, w)) == pytest.approx(expected, abs=1e-12)
    assert abs(float(spectra.symmetry_of(EYE, m))) < 0.05


def test_directionality_of_known_matrices():
    m = gaussian(50, 50, seed=3)
    assert float(spectra.directionality_of(EYE, m + m.T)) == pytest.approx(0)
    assert float(spectra.directionality_of(EYE, torch.ones(50, 50))) == 0
    assert float(spectra.directionality_of(EYE, m.T)) == pytest.approx(-float(spectra.directionality_of(EYE, m)))
    found = []
    for seed in range(40):
        w = gaussian(50, 50, seed=seed)
        w[:, 11] *= 20
        found.append(float(spectra.directionality_of(EYE, w)))
    assert 0.6 < np.mean(found) < 0.85
    assert min(found) > 0


@pytest.mark.parametrize(("size", "draws", "wider"), [((32, 384), 400, 0.02), ((16, 96), 800, 0.1)])
def test_interval_of_directionality_is_that_of_random_weights(size, draws, wider):
    """Against whole random matrices, drawn and measured in numpy: 95 % lie inside, and it is hardly too wide."""
    random = np.random.default_rng(5)
    found = []
    for _ in range(draws):
        q, k = random.standard_normal((2, *size), dtype=np.float32)
        rows = np.sqrt(np.einsum("ab,aj,bj->j", k @ k.T, q, q, optimize=True))
        columns = np.sqrt(np.einsum("ab,aj,bj->j", q @ q.T, k, k, optimize=True))
        r, c = (np.clip(x - x.mean() - 2 * x.std(ddof=1), 0, None).sum() for x in (rows, columns))
        found.append((c - r) / (c + r))
    chance = spectra.directionality_chance(*size)
    error = 2.5 * (0.95 * 0.05 / draws) ** 0.5
    assert np.mean(np.abs(found) <= chance) >= 0.95 - error
    assert np.quantile(np.abs(found), 0.95 - error) <= chance <= np.quantile(np.abs(found), 0.95 + error) + wider


def test_interval_of_directionality_is_the_one_documented():
    assert spectra.directionality_chance(32, 384) == pytest.approx(0.46, abs=0.02)
    assert spectra.directionality_chance(64, 768) == pytest.approx(0.33, abs=0.02)
    assert spectra.directionality_chance(32, 384, g=1) < 0.3  # more norms pass: less chance


def test_scores_of_weights_equal_those_of_the_full_matrix():
    q, k = gaussian(6, 30, seed=4), gaussian(6, 30, seed=5)
    k[:, 3] *= 10
    w = (q.T @ k).numpy()
    assert float(spectra.symmetry_of(q, k)) == pytest.approx(full_symmetry(w))
    for g in (1.0, 2.0):
        assert float(spectra.directionality_of(q, k, g)) == pytest.approx(full_directionality(w, g))
    assert float(spectra.directionality_of(q, k)) > 0.5


# --- of a model ---


def test_projections_make_the_queries_and_keys_of_the_trace(lens, trace):
    query, key = spectra.projections(lens.borrowed, 1)
    attention = lens.model.encoder.layer[1].attention.self
    x = trace.layer_input(1).double()
    for weights, linear, found in ((query, attention.query, trace.query(1)), (key, attention.key, trace.key(1))):
        made = torch.einsum("hdx,sx->hsd", weights, x) + linear.bias.double().unflatten(0, (4, 8))[:, None]
        assert torch.allclose(made.float(), found, atol=1e-4)


@pytest.mark.parametrize("name", ["modernbert", "gpt2", "distilbert", "albert"])
def test_projections_where_parts_are_fused_or_named_otherwise(name):
    family = tiny.FAMILIES[name]
    lens = Lens(tiny.shaken(family.model()), family.tokenizer())
    if name == "modernbert":
        torch.nn.init.zeros_(lens.model.layers[0].attn.Wqkv.bias)
    trace = lens.trace("the cat sat on the mat")
    x = trace.layer_input(0).double()
    if name == "gpt2":
        x = lens.model.h[0].ln_1(x.float()).double()
    for weights, found in zip(spectra.projections(lens.borrowed, 0), (trace.query(0), trace.key(0)), strict=True):
        made = torch.einsum("hdx,sx->hsd", weights, x)
        if name == "modernbert":  # turned by position: lengths stay, without a bias in this model
            assert torch.allclose(made.norm(dim=-1).float(), found.norm(dim=-1), rtol=1e-4)
        else:  # the rest is the bias, the same for all tokens
            rest = found.double() - made
            assert torch.allclose(rest, rest[:, :1].expand_as(rest), atol=1e-4)


def test_symmetry_and_directionality_of_heads_and_layers(lens):
    attention = lens.model.encoder.layer[2].attention.self
    wq, wk = attention.query.weight.detach().double(), attention.key.weight.detach().double()
    head = (wq[8:16].T @ wk[8:16]).numpy()
    full = (wq.T @ wk).numpy()
    assert spectra.symmetry(lens, 2, 1) == pytest.approx(full_symmetry(head))
    assert spectra.symmetry(lens, 2) == pytest.approx(full_symmetry(full))
    assert spectra.directionality(lens, 2, 1) == pytest.approx(full_directionality(head))
    assert spectra.directionality(lens, 2) == pytest.approx(full_directionality(full))
    table = spectra.weights_table(lens)
    assert len(table) == 3 * 5
    row = table[(table["layer"] == 2) & (table["head"] == 1)].iloc[0]
    assert row["symmetry"] == pytest.approx(full_symmetry(head))
    assert row["overlap"] == pytest.approx(float(spectra.subspace_overlap(wq[8:16], wk[8:16])))
    assert row["chance"] == 8 / 32
    assert row["overlap_others"] == pytest.approx(
        np.mean([float(spectra.subspace_overlap(wq[8:16], wk[8 * h : 8 * h + 8])) for h in (0, 2, 3)])
    )
    assert row["directionality_chance"] == spectra.directionality_chance(8, 32)
    every = table[table["head"] == "all"]
    assert every["directionality_chance"].eq(spectra.directionality_chance(32, 32)).all()
    assert every[["overlap", "chance", "overlap_others"]].isna().all(axis=None)  # 1 by construction
    assert not table[table["head"] != "all"].isna().any(axis=None)
    assert table[(table["layer"] == 2) & (table["head"] == "all")]["symmetry"].iloc[0] == pytest.approx(
        full_symmetry(full)
    )


def test_tables_of_a_trace(trace):
    table = spectra.layer_spectra(trace, 1)
    assert len(table) == 4 * trace.n_heads
    for of, vectors in (("query", trace.query(1)[3]), ("context", trace.context(1)[:, 24:32])):
        row = table[(table["head"] == 3) & (table["of"] == of)].iloc[0]
        assert row["rank"] == np.linalg.matrix_rank(vectors.numpy())
        assert row["stable_rank"] == pytest.approx(float(spectra.stable_rank(vectors)))
    ranks = spectra.attention_ranks(trace, 1)
    values = np.linalg.svd(trace.attention(1)[2].double().numpy(), compute_uv=False)
    assert ranks["visible"][2] == (values >= 1e-3).sum()
    assert ranks["top_share"][2] == pytest.approx(values[0] ** 2 / (values**2).sum())


def test_a_rank_one_map_is_seen():
    n = 6
    stripe = np.tile(np.eye(n)[2], (n, 1))
    given = Trace.from_attentions(stripe[None, None], [f"t{i}" for i in range(n)])
    found = spectra.attention_ranks(given, 0).iloc[0]
    assert (found["rank"], found["visible"], found["top_share"]) == (1, 1, pytest.approx(1))


def test_queries_and_keys_of_a_trace_keep_the_bound(trace):
    for head in range(trace.n_heads):
        found = spectra.symmetric_rank(trace.query(0)[head], trace.key(0)[head])
        assert found.rank <= trace.head_dim and 0 <= found.defect <= found.rank


def test_bad_input(lens, trace):
    with pytest.raises(SelectionError, match=r"layer 3 .* 0 to 2"):
        spectra.symmetry(lens, 3)
    with pytest.raises(SelectionError, match=r"head 4 .* 0 to 3"):
        spectra.directionality(lens, 0, 4)
    with pytest.raises(SelectionError, match=r"layer -1 .* 0 to 2"):
        spectra.layer_spectra(trace, -1)
    family = tiny.FAMILIES["llama, grouped keys"]
    with pytest.raises(ModelError, match="adapter"):
        spectra.weights_table(Lens(family.model(), family.tokenizer()))


def test_embedded_model_has_its_known_scores(embedded_lens):
    """Full W_QK of all-MiniLM-L6-v2, measured with other code."""
    layers = range(6)
    symmetry = [spectra.symmetry(embedded_lens, layer) for layer in layers]
    assert symmetry == pytest.approx([0.405, 0.640, 0.582, 0.575, 0.407, 0.254], abs=6e-4)
    directionality = [spectra.directionality(embedded_lens, layer) for layer in layers]
    assert directionality == pytest.approx([0.411, 0.113, 0.057, 0.083, 0.059, 0.213], abs=6e-4)
    medians = [np.median([spectra.symmetry(embedded_lens, layer, head) for head in range(12)]) for layer in layers]
    assert all(0.07 <= median <= 0.18 for median in medians)


def test_embedded_model_beside_chance(embedded_lens):
    """Nine of ten heads have a directionality that random weights have; own keys overlap more than another head's."""
    table = spectra.weights_table(embedded_lens)
    heads = table[table["head"] != "all"]
    inside = heads["directionality"].abs() <= heads["directionality_chance"]
    assert 0.85 <= inside.mean() <= 0.96
    medians = heads[["overlap", "overlap_others", "chance"]].median()
    assert medians.tolist() == pytest.approx([0.258, 0.159, 0.083], abs=0.002)
    assert (heads["overlap_others"] > heads["chance"]).all()  # random is not the baseline of a trained model
