"""Geometry of vectors and of traces: analytic cases, and every number against its definition written out in loops."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from bertlens.base.vocabulary import TERMS
from bertlens.errors import InputError, ModelError, SelectionError
from bertlens.lens import Lens
from bertlens.measures import geometry
from bertlens.trace import Trace
from unit import tiny

TEXT = ("the unbelievable cats", "it was very warm, very warm. the mats")


def gaussian(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


@pytest.fixture(scope="module")
def lens() -> Lens:
    return Lens(tiny.bert(), tiny.wordpiece())


@pytest.fixture(scope="module")
def trace(lens) -> Trace:
    return lens.trace(*TEXT)


# --- cone index ---

U = torch.tensor([3.0, 4.0])
V = torch.tensor([math.cos(math.pi / 3), math.sin(math.pi / 3)])


@pytest.mark.parametrize(
    ("name", "rows", "index"),
    [
        ("n the same", U.expand(7, 2), 7),
        ("opposite", torch.stack([U, -U]), 0),
        ("opposite, longer", torch.stack([U, -3 * U]), 0),
        ("orthonormal", torch.eye(9), 3),
        ("two at 60 degrees", torch.stack([torch.tensor([1.0, 0.0]), V]), 2 * math.cos(math.pi / 6)),
        (
            "a pentagon",
            torch.stack([torch.tensor([math.cos(t), math.sin(t)]) for t in np.arange(5) * 2 * np.pi / 5]),
            0,
        ),
        ("a simplex", torch.eye(5) - 1 / 5, 0),
        ("one row", U[None], 1),
    ],
)
def test_cone_index_of_known_sets(name, rows, index):
    assert float(geometry.cone_index(rows)) == pytest.approx(index, abs=1e-6)


def test_cone_index_and_the_mean_cosine():
    x = gaussian(12, 5) + 0.5
    u = x / x.norm(dim=1, keepdim=True)
    cosines = [float(u[i] @ u[j]) for i in range(12) for j in range(12) if i != j]
    mean = sum(cosines) / len(cosines)
    n = len(x)
    assert float(geometry.cone_index(x)) ** 2 == pytest.approx(n + n * (n - 1) * mean)
    share = float(geometry.cone_share(x))
    assert share == pytest.approx(math.sqrt(1 / n + (1 - 1 / n) * mean))
    assert share == pytest.approx(float(geometry.intra_similarity(u)))
    assert float(geometry.anisotropy(x)) == pytest.approx(mean)


def test_cone_index_invariants():
    x, y = gaussian(10, 6, seed=1), gaussian(7, 6, seed=2)
    index = float(geometry.cone_index(x))
    rotation = torch.linalg.qr(gaussian(6, 6, seed=3)).Q
    assert float(geometry.cone_index(x * torch.rand(10, 1).double().add(0.1))) == pytest.approx(index)
    assert float(geometry.cone_index(x @ rotation)) == pytest.approx(index)
    assert float(geometry.cone_index(x.flip(0))) == pytest.approx(index)
    assert float(geometry.cone_index(torch.cat([x, y]))) <= index + float(geometry.cone_index(y))
    flipped = x.clone()
    flipped[0] *= -1
    assert float(geometry.cone_index(flipped)) != pytest.approx(index)


def test_cone_index_drops_padding_and_zeros():
    x = gaussian(6, 4)
    padded = torch.cat([x, gaussian(3, 4, seed=5), torch.zeros(2, 4)])
    mask = torch.arange(11) != 6
    mask[7:9] = False
    assert float(geometry.cone_index(padded, mask)) == pytest.approx(float(geometry.cone_index(x)))
    assert int(geometry.usable(padded, mask).sum()) == 6
    assert float(geometry.cone_share(padded, mask)) == pytest.approx(float(geometry.cone_index(x)) / 6)
    assert geometry.cone_index(torch.zeros(3, 4)).isnan()
    assert geometry.cone_share(x, torch.zeros(6, dtype=torch.bool)).isnan()


def test_cone_index_by_the_letter_and_many_sets_at_once():
    x = gaussian(3, 5, 4)
    assert float(geometry.cone_index(torch.stack([U, -3 * U]), normalize=False)) == pytest.approx(10)
    together = geometry.cone_index(x)
    assert together.shape == (3,)
    assert together.tolist() == pytest.approx([float(geometry.cone_index(rows)) for rows in x])


def test_cone_of_random_directions_is_near_chance():
    assert float(geometry.cone_share(gaussian(400, 3000))) == pytest.approx(1 / math.sqrt(400), rel=0.15)


# --- moments, dimensions ---


def test_moments_of_known_rows():
    d = 20
    rows = torch.stack([torch.full((d,), 3.0), torch.tensor([1.0, -1.0]).repeat(d // 2), torch.eye(d)[-1]])
    found = geometry.moments(rows)
    assert found["skewness"][0].isnan() and found["kurtosis"][0].isnan() and found["dimension"][0] == -1
    assert found["skewness"][1:].tolist() == pytest.approx([0, (d - 2) / math.sqrt(d - 1)], abs=1e-12)
    assert found["kurtosis"][1:].tolist() == pytest.approx([-2, d**2 / (d - 1) - 6])
    assert found["mean"].tolist() == pytest.approx([3, 0, 1 / d])
    assert found["sd"].tolist() == pytest.approx([0, 1, math.sqrt(d - 1) / d])
    assert found["dimension"][2] == d - 1
    assert float(found["max_z"][2]) == pytest.approx(math.sqrt(d - 1))
    large = geometry.moments(gaussian(200_000))
    assert abs(float(large["skewness"])) < 0.02 and abs(float(large["kurtosis"])) < 0.05


def test_participation_ratio_of_equal_directions():
    k, d = 4, 30
    axes = torch.cat([torch.eye(d)[:k], -torch.eye(d)[:k]])  # k equal directions, mean 0
    assert float(geometry.participation_ratio(axes)) == pytest.approx(k)
    x = gaussian(50, 8)
    for rows in (x, x.T):  # by the Gram matrix on either side
        values = torch.linalg.eigvalsh(torch.cov(rows.T))
        expected = float(values.sum() ** 2 / values.square().sum())
        assert float(geometry.participation_ratio(rows)) == pytest.approx(expected)
    assert geometry.participation_ratio(U.expand(5, 2)).isnan()
    assert geometry.participation_ratio(U[None]).isnan()
    assert 1 <= float(geometry.participation_ratio(gaussian(3, 40))) <= 2


def test_similarities_by_hand():
    x = gaussian(6, 5, seed=8) + 1
    mean = x.mean(0)
    inner = np.mean([float(row @ mean / row.norm() / mean.norm()) for row in x])
    assert float(geometry.intra_similarity(x, 0.25)) == pytest.approx(inner - 0.25)
    pairs = [float(x[i] @ x[j] / x[i].norm() / x[j].norm()) for i in range(6) for j in range(i)]
    assert float(geometry.self_similarity(x, 0.25)) == pytest.approx(np.mean(pairs) - 0.25)
    values = torch.linalg.svdvals(x)
    assert float(geometry.max_explainable_variance(x)) == pytest.approx(float(values[0] ** 2 / (values**2).sum()))
    assert float(geometry.max_explainable_variance(U.expand(4, 2))) == pytest.approx(1)
    assert geometry.self_similarity(x[:1]).isnan() and geometry.max_explainable_variance(x[:1]).isnan()


def test_rows_without_a_direction_are_left_out_of_the_similarities():
    """NaN rows and zero rows: as if they were not there; NaN where too few are left."""
    x = gaussian(6, 5, seed=8) + 1
    holed = torch.cat([x[:2], torch.full((1, 5), math.nan), x[2:], torch.zeros(2, 5)])
    holed[-1, 0] = math.nan
    for measure in (
        geometry.intra_similarity,
        geometry.max_explainable_variance,
        geometry.cone_share,
        geometry.anisotropy,
    ):
        assert float(measure(holed)) == pytest.approx(float(measure(x)))
        assert measure(holed[2:3]).isnan()
    assert geometry.max_explainable_variance(torch.cat([holed[2:3], x[:1]])).isnan()
    assert float(geometry.intra_similarity(torch.cat([holed[2:3], x[:1]]))) == pytest.approx(1)
    long = torch.tensor([[9.0, 0.0], [-1, 0], [-1, 0], [-1, 0]])  # the mean points where most vectors do not
    assert float(geometry.intra_similarity(long)) == pytest.approx(-0.5)


def test_anisotropy_without_what_carries_it():
    x = gaussian(60, 40, seed=9)
    assert abs(float(geometry.anisotropy(x))) < 0.02
    rogue = x.clone()
    rogue[:, 7] += 20
    assert float(geometry.anisotropy(rogue)) > 0.8
    assert int(geometry.cosine_contributions(rogue).argmax()) == 7
    assert float(geometry.cosine_contributions(rogue).sum()) == pytest.approx(float(geometry.anisotropy(rogue)))
    kept = [dim for dim in range(40) if dim != 7]
    assert float(geometry.anisotropy(rogue, without=1)) == pytest.approx(float(geometry.anisotropy(x[:, kept])))
    centred = rogue - rogue.mean(0)
    assert float(geometry.anisotropy(rogue, centre=True)) == pytest.approx(float(geometry.anisotropy(centred)))
    assert abs(float(geometry.anisotropy(rogue, centre=True))) < 0.03
    assert geometry.anisotropy(x[:1]).isnan()


@pytest.mark.parametrize("trim", [0.0, 0.1])
@pytest.mark.parametrize("dimension", [1, 2])
def test_two_nn_of_a_line_and_a_square(dimension, trim):
    points = torch.rand(2000, dimension, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
    embedded = points @ gaussian(dimension, 10)
    assert geometry.two_nn(embedded, trim) == pytest.approx(dimension, rel=0.1)


@pytest.mark.parametrize(("n", "documented"), [(100, 13), (200, 15), (1600, 16.5)])
def test_two_nn_depends_on_the_number_of_points_as_documented(n, documented):
    found = [geometry.two_nn(torch.randn(n, 20, generator=torch.Generator().manual_seed(s))) for s in range(8)]
    assert np.mean(found) == pytest.approx(documented, abs=1)


def test_two_nn_by_hand_and_without_repeats():
    x = gaussian(150, 3, seed=4)
    ratios = []
    for i in range(150):
        distances = sorted(float((x[i] - x[j]).norm()) for j in range(150) if j != i)
        ratios.append(math.log(distances[1] / distances[0]))
    assert geometry.two_nn(x, trim=0) == pytest.approx(149 / sum(ratios))
    assert geometry.two_nn(torch.cat([x, x[:40]]), trim=0) == pytest.approx(149 / sum(ratios))
    with pytest.raises(InputError, match="100 different points or more, these are 99"):
        geometry.two_nn(torch.cat([x[:99], x[:99]]))


# --- layers of a trace ---


def cone_by_hand(x: Tensor) -> float:
    return float(sum(row / row.norm() for row in x.double()).norm()) / len(x)


@pytest.mark.parametrize("include_special", [True, False])
def test_layer_table_against_its_definitions(trace, include_special):
    table = geometry.layer_table(trace, include_special)
    rows = torch.ones(trace.n_tokens, dtype=torch.bool) if include_special else ~trace.special_mask
    n = int(rows.sum())
    assert (table["tokens"] == n).all() and table["chance"][0] == pytest.approx(n**-0.5)
    assert set(table["specials"]) == {"counted" if include_special else "left out"}
    assert table["layer"].tolist() == [0, 1, 2]
    for layer, found in table.iterrows():
        x, y, z = (
            part[rows].double()
            for part in (trace.hidden_states[layer], trace.attention_output(layer), trace.hidden_states[layer + 1])
        )
        context = trace.context(layer)[rows]
        heads = [cone_by_hand(part) for part in context.chunk(trace.n_heads, -1)]
        assert found["cone_input"] == pytest.approx(cone_by_hand(x))
        assert found["cone_heads"] == pytest.approx(np.mean(heads))
        assert (found["cone_heads_min"], found["cone_heads_max"]) == pytest.approx((min(heads), max(heads)))
        assert geometry.head_cones(trace, layer, include_special).tolist() == pytest.approx(heads)
        assert found["cone_concatenation"] == pytest.approx(cone_by_hand(context))
        assert found["cone_attention"] == pytest.approx(cone_by_hand(y))
        assert found["cone_output"] == pytest.approx(cone_by_hand(z))
        assert found["norm_output"] == pytest.approx(np.mean([float(row.norm()) for row in z]))
        array = z.numpy()
        standard = (array - array.mean(1, keepdims=True)) / array.std(1, keepdims=True)
        assert found["skewness"] == pytest.approx((standard**3).mean())
        assert found["kurtosis"] == pytest.approx((standard**4).mean(1).mean() - 3)
        assert found["max_z"] == pytest.approx(np.abs(standard).max())
        assert found["max_z_dimension"] == np.unravel_index(np.abs(standard).argmax(), standard.shape)[1]
        values = np.linalg.eigvalsh(np.cov(array.T))
        assert found["participation"] == pytest.approx(values.sum() ** 2 / (values**2).sum())
        for name, before, after in (("attention", x, y), ("mlp", y, z)):
            steps = [(a - b, b) for a, b in zip(after, before, strict=True)]
            assert found[f"{name}_ratio"] == pytest.approx(np.mean([float(s.norm() / b.norm()) for s, b in steps]))
            cosines = [float(s @ b / s.norm() / b.norm()) for s, b in steps]
            assert found[f"{name}_cosine"] == pytest.approx(np.mean(cosines))
        assert found["attention_cone"] + found["mlp_cone"] == pytest.approx(found["cone_output"] - found["cone_input"])


def test_padding_changes_nothing(lens, trace):
    batched = lens.trace_batch([TEXT, "the cat sat on the mat, it was very warm. the cat sat on the mat. unbelievable"])
    alone, padded = geometry.layer_table(trace), geometry.layer_table(batched[0])
    for name in alone.columns.drop("specials"):
        assert np.allclose(alone[name], padded[name], rtol=1e-4), name


@pytest.mark.parametrize("name", tiny.FAMILIES)
def test_layer_table_of_every_family_with_an_adapter(name):
    family = tiny.FAMILIES[name]
    lens = Lens(tiny.shaken(family.model()), family.tokenizer())
    trace = lens.trace("the cat sat on the mat")
    try:
        trace.layer_output(0)
    except ModelError:
        with pytest.raises(ModelError, match="adapter"):
            geometry.layer_table(trace)
        return
    table = geometry.layer_table(trace).select_dtypes("number")
    unknown = {"attention_ratio", "attention_cosine", "mlp_ratio", "mlp_cosine"} if name == "mobilebert" else set()
    assert set(table.columns[table.isna().any()]) == unknown
    cones = table[[column for column in table.columns if column.startswith("cone_")]]
    assert ((cones >= 0) & (cones <= 1 + 1e-9)).all(axis=None)


def test_the_words_give_the_range_of_the_table(trace):
    """Docs and tooltip speak of I/n, which `layer_table` has in its columns, and not of I, which reaches n."""
    table = geometry.layer_table(trace)
    assert 0 < table["cone_output"].max() <= 1
    docs = Path(__file__).parents[3] / "docs"
    [row] = [line for line in (docs / "measures.md").read_text("utf-8").splitlines() if line.startswith("| cone index")]
    assert "$I/n = " in row and "| 0 to 1; about 1/√n by chance |" in row
    assert "shown as $I/n$: 1 where all vectors point one way" in (docs / "views" / "geometry.md").read_text("utf-8")
    assert "÷ number of tokens n" in TERMS["cone"].about and "0 to 1;" in TERMS["cone"].about


def test_attention_cone_of_known_maps():
    n = 8
    index = torch.arange(n)
    previous = (index[None, :] == (index[:, None] - 1).clamp_min(0)).double()  # row 0 has only itself
    maps = torch.stack(
        [previous, torch.eye(n).double(), torch.full((n, n), 1 / n), torch.eye(n).double()[:1].expand(n, n)]
    )
    trace = Trace.from_attentions(maps[None], [f"t{i}" for i in range(n)])
    expected = [math.sqrt(n + 2) / n, 1 / math.sqrt(n), 1, 1]  # rows 0 and 1 agree: .395, identity .354
    assert geometry.attention_cone(trace, 0).tolist() == pytest.approx(expected, abs=1e-6)


def test_head_writes_sum_to_the_projection(lens, trace):
    """A_h V_h W_O slice, over heads, plus b_O, is what attention.output.dense put out."""
    seen = []
    dense = lens.model.encoder.layer[1].attention.output.dense
    hook = dense.register_forward_hook(lambda module, args, output: seen.append(output[0]))
    try:
        lens.trace(*TEXT)
    finally:
        hook.remove()
    writes = geometry.head_writes(trace, 1)
    assert writes.shape == (trace.n_heads, trace.n_tokens, 32)
    assert torch.allclose(writes.sum(0) + dense.bias, seen[0], atol=1e-5)
    # and each is that head's attention times its values times its columns of W_O
    part = trace.attention(1)[2] @ trace.value(1)[2] @ dense.weight[:, 16:24].T
    assert torch.allclose(writes[2], part, atol=1e-5)


# --- histograms ---


def test_histograms_share_bins_and_count_every_token(trace):
    for include_special in (True, False):
        found = geometry.norm_histograms(trace, 1, 2, bins=12, include_special=include_special)
        rows = torch.ones(trace.n_tokens, dtype=torch.bool) if include_special else ~trace.special_mask
        assert found.edges.shape == (13,) and found.edges[0] == 0
        assert found.special == ("counted" if include_special else "left out")
        given = {"query": trace.query(1)[2], "key": trace.key(1)[2], "value": trace.value(1)[2]}
        given["context"] = trace.context(1)[:, 16:24]
        for kind, vectors in given.items():
            norms = vectors[rows].norm(dim=-1).numpy()
            assert found.norms[kind] == pytest.approx(norms)
            assert found.counts[kind].sum() == rows.sum()
            assert found.counts[kind].tolist() == np.histogram(found.norms[kind], found.edges)[0].tolist()
        assert found.edges[-1] == pytest.approx(max(values.max() for values in found.norms.values()))


@pytest.mark.parametrize("name", tiny.FAMILIES)
def test_no_norm_passes_its_bound(name):
    """‖q‖ ≤ σ_max(W_h) ‖x‖ + ‖b_h‖, by the weights of every family; attained by a token along the first direction."""
    family = tiny.FAMILIES[name]
    lens = Lens(tiny.shaken(family.model()), family.tokenizer())
    trace = lens.trace("the cat sat on the mat")
    for layer in range(trace.n_layers):
        for head in range(trace.n_heads):
            found = geometry.norm_histograms(trace, layer, head)
            if name in ("mobilebert", "llama, grouped keys", "t5 encoder"):
                assert all(math.isnan(bound) for bound in found.bounds.values())
                continue
            for kind, norms in found.norms.items():
                assert norms.max() <= found.bounds[kind] * (1 + 1e-6), (kind, layer, head)
                assert norms.max() > 0.02 * found.bounds[kind]


def test_bound_of_bert_by_hand(lens, trace):
    projection = lens.model.encoder.layer[0].attention.self.key
    rows = slice(24, 32)  # head 3
    found = geometry.norm_histograms(trace, 0, 3)
    sigma = float(torch.linalg.matrix_norm(projection.weight[rows].detach(), 2))
    longest = float(trace.hidden_states[0].norm(dim=-1).max())
    assert found.sigma_max["key"] == pytest.approx(sigma, rel=1e-5)
    assert found.bounds["key"] == pytest.approx(
        sigma * longest + float(projection.bias[rows].detach().norm()), rel=1e-5
    )


def test_bad_input(trace):
    with pytest.raises(SelectionError, match=r"head 4 .* 0 to 3"):
        geometry.norm_histograms(trace, 0, 4)
    with pytest.raises(SelectionError, match=r"layer 3 .* 0 to 2"):
        geometry.norm_histograms(trace, 3, 0)
    given = Trace.from_attentions(np.full((1, 1, 4, 4), 0.25), list("abcd"))
    with pytest.raises(ModelError):
        geometry.layer_table(given)
    with pytest.raises(ModelError):
        geometry.norm_histograms(given, 0, 0)
    with pytest.raises(InputError, match="one trace or more"):
        geometry.corpus_table([])


# --- corpus ---


def test_corpus_table_by_hand(lens):
    traces = lens.trace_batch(["the cat sat on the mat.", "the mat was very warm.", "it was the cat."])
    table = geometry.corpus_table(traces)
    assert table["state"].tolist() == [0, 1, 2, 3]
    pieces, vectors = [], []
    for trace in traces:
        for i, token in enumerate(trace.tokens):
            if not trace.special_mask[i]:
                pieces.append(token)
                vectors.append(trace.hidden_states[2][i].double())
    units = [v / v.norm() for v in vectors]
    baseline = np.mean([float(units[i] @ units[j]) for i in range(len(units)) for j in range(i)])
    assert table["tokens"][2] == len(vectors) and set(table["specials"]) == {"left out"}
    assert table["anisotropy"][2] == pytest.approx(baseline)
    similar = []
    for piece in sorted(set(pieces)):
        at = [i for i, other in enumerate(pieces) if other == piece]
        if len(at) > 1:
            similar.append(np.mean([float(units[i] @ units[j]) for i in at for j in at if i < j]))
    assert table["self_similarity"][2] == pytest.approx(np.mean(similar) - baseline)
    assert table["dimension"].isna().all()  # under 100 points


def test_corpus_table_has_a_dimension_where_there_are_enough_points(lens):
    letters = "abcdefghijklmnopqrstuvwxyz"
    texts = [" ".join(letters[(i * step) % 26] for i in range(40)) for step in (1, 3, 5, 7)]
    traces = lens.trace_batch(texts)
    table = geometry.corpus_table(traces)
    assert (table["dimension"] > 0).all()
    for state, points in enumerate(table["dimension_points"]):
        vectors = np.concatenate([t.hidden_states[state][~t.special_mask].numpy() for t in traces])
        assert points == len({v.tobytes() for v in vectors})
    again = geometry.corpus_table([*traces, *traces])  # more tokens, no more points
    assert (again["tokens"] == 2 * table["tokens"]).all()
    assert again["dimension_points"].tolist() == table["dimension_points"].tolist()


# --- the embedded model ---


def test_heads_narrow_the_cone_and_the_mlp_widens_it(embedded_lens):
    trace = embedded_lens.trace("The cat sat on the mat because it was tired.", "The dog lay on the rug.")
    table = geometry.layer_table(trace)
    assert (table["cone_heads"] > table["cone_input"] + 0.15).all()
    assert (table["cone_attention"] > table["cone_input"]).all()
    assert (table["mlp_cone"] < -0.02).all()
    assert (table["cone_output"].diff().dropna() > 0).all()  # and yet it narrows from layer to layer
