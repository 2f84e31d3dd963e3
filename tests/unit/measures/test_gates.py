"""Gates of single maps: the analytic cases, noise, sinks, short texts, and bad input."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest
import torch
from torch import Tensor

from bertlens.errors import InputError
from bertlens.measures import gates
from unit import gate_maps
from unit.gate_maps import GATES, beside_sink, layout, noisy, pure

N = 8
SPECIAL = torch.tensor([True] + [False] * 6 + [True])
INDEX = torch.arange(N)
OFFSET = INDEX[None, :] - INDEX[:, None]


def scores_of(a: Tensor | np.ndarray, special=SPECIAL, segments=None, **view) -> dict[str, float]:
    found = gates.scores(torch.as_tensor(a), torch.as_tensor(special), as_tensor(segments), **view)
    return {gate: float(score) for gate, score in found.items()}


def as_tensor(x):
    return None if x is None else torch.as_tensor(x)


def primary(a, special, segments, **view) -> str:
    return str(gates.label(gates.scores(torch.as_tensor(a), torch.as_tensor(special), as_tensor(segments), **view)))


def one_column(j: int) -> Tensor:
    return (j == INDEX).double().expand(N, N)


# --- n = 8, special tokens first and last ---

PREVIOUS = (OFFSET == -1).double() + (OFFSET == N - 1)
NEXT = (OFFSET == 1).double() + (OFFSET == 1 - N)


@pytest.mark.parametrize(
    ("name", "a", "gate"),
    [
        ("previous token", PREVIOUS, "backward contextual"),
        ("next token", NEXT, "forward contextual"),
        ("identity", torch.eye(N).double(), "self"),
        ("even", torch.full((N, N), 1 / N).double(), "open"),
        ("all on column 0", one_column(0), "closed"),
        ("all on content column 3", one_column(3), "directional"),
    ],
)
def test_pure_maps_score_one(name, a, gate):
    scores = scores_of(a)
    assert scores[gate] == pytest.approx(1, abs=1e-6)
    assert gates.label({key: torch.tensor(value) for key, value in scores.items()}) == gate  # of a plain mapping
    assert primary(a, SPECIAL, None) == "undefined"  # six content tokens
    runners = {key: value for key, value in scores.items() if key != gate}
    # one stripe in the middle is half of all neighbours' business in so short a text, nothing else comes near
    assert max(runners.values()) <= (0.5 if gate == "directional" else 0.1), runners


def test_previous_token_is_neither_forward_nor_directional():
    scores = scores_of(PREVIOUS)
    assert scores["forward contextual"] == scores["directional"] == 0


def test_blocks_are_clusters_by_segments_and_by_the_best_cut():
    n = 24
    special = torch.zeros(n, dtype=torch.bool)
    special[[0, 10, n - 1]] = True
    segments = (torch.arange(n) > 10).long()
    a = (segments[:, None] == segments[None, :]).double() * ~special
    a /= a.sum(1, keepdim=True)
    assert scores_of(a, special, segments)["cluster"] == pytest.approx(1, abs=1e-6)
    assert scores_of(a, special)["cluster"] == pytest.approx(1, abs=1e-6)
    found = gates.evidence(a, special, "cluster")
    assert found.detail == "cut before token 11"
    assert found.mass == pytest.approx(1, abs=1e-6)


def test_the_end_tokens_do_not_count_as_one_sided_context():
    """Every row on [CLS] (before it) and the last [SEP] (after it): a sink, not context."""
    a = 0.5 * one_column(0) + 0.5 * one_column(N - 1)
    scores = scores_of(a)
    assert scores["closed"] == pytest.approx(1)
    assert scores["forward contextual"] == scores["backward contextual"] == 0


def test_a_local_band_is_no_block():
    rng = np.random.default_rng(11)
    special, segments = layout(rng, 30, pair=True)
    index = np.arange(30)
    band = np.abs(index[:, None] - index[None, :])
    a = noisy(np.where((band > 0) & (band < 3), 0.25, 1e-6), 0.1, rng)
    scores = scores_of(a, special, segments)
    assert scores["bidirectional"] > 0.7
    assert scores["cluster"] < 0.3


def test_scores_by_hand():
    """Shares of chance: previous (p − 1/n) / (1 − 1/n), special columns (s − k/S) / (1 − k/S), weights √m."""
    p, s, n = 0.4, 0.3, 6
    rest = (1 - p - s) / (n - 1)
    a = torch.full((N, N), rest).double()
    a[:, 0], a[:, -1] = s, 0
    a[OFFSET == -1] = p
    content = ~SPECIAL
    a[1, 0], a[1, content] = s, (1 - s) / n  # the first content row has [CLS] before it
    scores = gates.patterns(a, SPECIAL)
    share = p / (1 - s)
    assert float(scores["previous"]) == pytest.approx((1 - s) ** 0.5 * (share - 1 / n) / (1 - 1 / n))
    assert float(scores["special columns"]) == pytest.approx((s - 2 / N) / (1 - 2 / N))
    rows = a[content]
    assert float(scores["uniform"]) == pytest.approx(float((-torch.xlogy(rows, rows).sum(1) / np.log(N)).mean()))


def test_a_separator_is_no_neighbour():
    """The last word before a [SEP] has no next word, though in the list of content tokens there is one."""
    special = torch.tensor([True, False, False, False, True, False, False, True])
    a = NEXT.clone()
    assert float(gates.patterns(a, special)["next"]) == pytest.approx(1)
    a[3] = 0
    a[3, 1] = 1  # what that word does instead is no matter
    assert float(gates.patterns(a, special)["next"]) == pytest.approx(1)


def test_columns_by_hand():
    """Concentration times the root of the intraclass correlation, from their definitions."""
    rng = np.random.default_rng(3)
    n = 20
    a = noisy(np.tile(np.where(np.arange(n) % 7 == 3, 1 / 3, 1e-9), (n, 1)), 0.5, rng)
    a /= a.sum(1, keepdims=True)
    special = np.zeros(n, bool)
    mean = np.sort(a.mean(0))[::-1]
    concentration = max((mean[:k].sum() - k / n) / (1 - k / n) for k in range(1, n // 4 + 1))
    x = a - 1 / n
    pairs = [x[i] @ x[j] for i in range(n) for j in range(n) if i != j]
    agreement = np.sqrt(np.mean(pairs) / np.mean((x**2).sum(1)))
    found = gates.patterns(torch.tensor(a), torch.tensor(special))["content columns"]
    assert float(found) == pytest.approx(concentration * agreement, rel=1e-9)
    assert gates.evidence(torch.tensor(a), torch.tensor(special), "directional").detail == "columns 3, 10, 17"


@pytest.mark.parametrize("even", [True, False])
def test_block_by_hand(even):
    """√(inside · beyond) times evenness, by loops over rows, against the own column and distance profile."""
    rng = np.random.default_rng(8)
    n, first = 14, 6
    group = np.arange(n) >= first
    same = group[:, None] == group[None, :]
    weights = same * (1.0 if even else rng.gamma(0.25, size=(n, n)))
    a = noisy(weights / weights.sum(1, keepdims=True), 0.5 if even else 0.2, rng)

    def contrast(a):
        c, mass = a.mean(0), a.sum(1)
        p = {}
        for d in range(-n + 1, n):
            pairs = [(i, i + d) for i in range(n) if 0 <= i + d < n]
            p[d] = sum(a[i, j] for i, j in pairs) / sum(mass[i] * c[j] for i, j in pairs)
        expected = np.array([[c[j] * p[j - i] for j in range(n)] for i in range(n)])
        expected /= expected.sum(1, keepdims=True)
        return [((a - expected) * same)[side].sum(1).mean() for side in (~group, group)]

    ideal = contrast(same / same.sum(1, keepdims=True))
    parts = []
    for side, own, best in zip((~group, group), contrast(a), ideal, strict=True):
        chance = side.mean()
        inside = ((a * same)[side].sum(1).mean() - chance) / (1 - chance)
        parts.append(np.sqrt(inside * own / best))
    stays = a * same
    weight = stays.sum(1)
    q = stays / weight[:, None]
    entropy = -(q * np.log(np.where(q > 0, q, 1))).sum(1) / np.log(same.sum(1))
    evenness = (entropy * weight).sum() / weight.sum()
    assert even or 0.3 < evenness < 0.7
    expected = min(parts) * np.clip((evenness - 0.25) / 0.5, 0, 1)
    found = gates.patterns(torch.tensor(a), torch.zeros(n, dtype=torch.bool), torch.tensor(group.astype(int)))
    assert float(found["block"]) == pytest.approx(expected, rel=1e-6)


# --- noise, sinks, short texts ---


def right(n: int, share: float, seed: int, draws: int) -> float:
    return found(n, share, seed, draws)[0]


def found(n: int, share: float, seed: int, draws: int, pair: bool | None = None) -> tuple[float, float]:
    """Of noisy maps of n tokens with a known gate: share of right labels, and of right or mixed ones."""
    rng = np.random.default_rng(seed)
    hits, mixed = 0, 0
    alike = defaultdict(list)  # maps of one layout are judged at once
    for gate in GATES:
        for _ in range(draws):
            special, segments = layout(rng, n, pair)
            alike[special.tobytes(), segments.tobytes()].append(
                (gate, noisy(pure(gate, rng, special, segments), share, rng), special, segments)
            )
    for names, maps, (special, *_), (segments, *_) in (zip(*drawn, strict=True) for drawn in alike.values()):
        says = gates.label(gates.scores(*map(torch.as_tensor, (np.stack(maps), special, segments))))
        hits += (says == names).sum()
        mixed += (says == "mixed").sum()
    return hits / (draws * len(GATES)), (hits + mixed) / (draws * len(GATES))


@pytest.mark.parametrize("share", [0.2, 0.4])
@pytest.mark.parametrize("n", [24, 48, 96])
def test_primary_labels_under_noise(n, share):
    assert right(n, share, seed=1000 + n, draws=16) >= 0.99


@pytest.mark.parametrize(
    ("content", "share", "least"), [(8, 0, 0.95), (8, 0.2, 0.8), (9, 0.2, 0.95), (10, 0.2, 0.98), (11, 0.4, 0.97)]
)
def test_primary_labels_in_short_texts(content, share, least):
    """Where the threshold rises, what was clear keeps its name, and what was not becomes "mixed", no other gate."""
    for pair in (False, True):
        hits, named = found(content + 2 + pair, share, 2000 + content, 16, pair)
        assert hits >= least and named >= 0.97, (pair, hits, named)


@pytest.mark.parametrize("content", [12, 14])
def test_primary_labels_from_twelve_content_tokens_on(content):
    for share in (0.2, 0.4):
        assert found(content + 2, share, 2000 + content, 16, pair=False)[0] >= 0.97


# --- noise carries no structured label, at any length ---

UNSTRUCTURED = ("undefined", "mixed", "open", "instance")


def noise(rng: np.random.Generator, shape: tuple[int, int, int], sd: float = 0, concentration: float = 0) -> np.ndarray:
    """Maps without structure: the softmax of N(0, sd), or rows from a Dirichlet distribution."""
    if sd:
        logits = sd * rng.normal(size=shape)
        weights = np.exp(logits - logits.max(-1, keepdims=True))
    else:
        weights = rng.gamma(concentration, size=shape) + 1e-300
    return weights / weights.sum(-1, keepdims=True)


KINDS = [{"sd": 1}, {"sd": 2}, {"sd": 4}, *({"concentration": c} for c in (0.01, 0.03, 0.1, 0.3))]
SPARSEST = {"concentration": 0.01}  # its share is the largest: it is drawn more often


def template(tokens: int, specials: int) -> tuple[np.ndarray, np.ndarray]:
    """None; [CLS] … [SEP]; [CLS] … [SEP] … [SEP]; <s> … </s></s> … </s>, the last without segments."""
    special, segments = np.zeros(tokens, bool), np.zeros(tokens, int)
    if specials:
        special[[0, -1]] = True
    if specials > 2:
        middle = tokens // 2
        special[middle : middle + specials - 2] = True
        segments[middle + 1 :] = specials == 3
    return special, segments


def structured(rng: np.random.Generator, tokens: int, specials: int, draws: int) -> float:
    """The largest share of structured labels that any kind of noise gets, in any view."""
    special, segments = (torch.tensor(x) for x in template(tokens, specials))
    most = 0.0
    for kind in KINDS:
        more = 12 if kind == SPARSEST else 1
        maps = torch.tensor(noise(rng, (more * draws, tokens, tokens), **kind))
        for view in ("full", "content"):
            names = gates.label(gates.scores(maps, special, segments, view=view))
            most = max(most, float((~np.isin(names, UNSTRUCTURED)).mean()))
    return most


@pytest.mark.parametrize("specials", [0, 2, 3, 4])
def test_noise_carries_no_structured_label(specials):
    rng = np.random.default_rng(40 + specials)
    for tokens in (3, 5, 7):
        assert structured(rng, max(tokens, specials + 1), specials, 50) <= 0.03, tokens
    for content in (8, 9, 10, 12):
        assert structured(rng, content + specials, specials, 500) <= 0.03, content
    for tokens in (32, 128):
        assert structured(rng, tokens, specials, 64 if tokens < 100 else 4) <= 0.03, tokens


@pytest.mark.long
@pytest.mark.parametrize("specials", [0, 2, 3, 4])
def test_noise_carries_no_structured_label_at_any_length(specials):
    rng = np.random.default_rng(50 + specials)
    for tokens in (*range(max(3, specials + 1), 33), 48, 64, 96, 128, 192, 256):
        draws = 1000 if tokens < 20 else 100 if tokens < 100 else 20
        assert structured(rng, tokens, specials, draws) <= 0.03, tokens


def test_the_plain_threshold_would_let_noise_through():
    """Why it rises: at 8 content tokens far over 3 % of sparse maps pass it, at 12 they do not."""
    rng = np.random.default_rng(60)
    shares = []
    for content in (8, 9, 12):
        special, segments = (torch.tensor(x) for x in template(content + 3, 3))
        maps = torch.tensor(noise(rng, (1500, content + 3, content + 3), concentration=0.01))
        plain = dict(gates.scores(maps, special, segments))  # without its length
        shares.append(float((~np.isin(gates.label(plain), UNSTRUCTURED)).mean()))
    assert shares[0] > 0.06 and shares[1] > 0.03 > shares[2]


def test_threshold_by_length():
    assert [gates.threshold_at(n) for n in (3, 7)] == [np.inf, np.inf]
    assert gates.threshold_at(8) == pytest.approx(0.6)
    assert gates.threshold_at(9) == pytest.approx(0.35 + 6 * (1 / 9 - 1 / 12))
    assert [gates.threshold_at(n) for n in (12, 13, 500)] == [0.35] * 3
    assert gates.threshold_at(8, 0.5) == pytest.approx(0.75)


def test_a_clear_previous_map_of_nine_content_tokens_keeps_its_label():
    special = torch.tensor([True] + [False] * 9 + [True])
    index = torch.arange(11)
    clear = torch.where(index[None, :] - index[:, None] == -1, 0.8, 0.2 / 10).double()
    clear /= clear.sum(1, keepdim=True)
    found = gates.scores(clear, special)
    assert found.n == 9
    assert gates.label(found) == "backward contextual"
    assert gates.labels(found).item() == ("backward contextual",)
    eight = gates.scores(clear[1:, 1:], special[1:])  # nine as well: only [CLS] has gone
    assert (eight.n, gates.label(eight)) == (9, "backward contextual")


@pytest.mark.parametrize("n", [16, 24, 48])
def test_blocks_beside_a_sink_carry_both_labels(n):
    rng = np.random.default_rng(n)
    for draw in range(40):
        special, segments = layout(rng, n, pair=draw % 2 == 0)
        a = beside_sink(pure("cluster", rng, special, segments), rng.uniform(0.5, 0.7), special)
        found = gates.labels(
            gates.scores(torch.tensor(noisy(a, 0.1, rng)), torch.tensor(special), torch.tensor(segments))
        )
        assert set(found.item()) == {"closed", "cluster"}


@pytest.mark.parametrize("gate", ["directional", "backward contextual", "forward contextual", "bidirectional", "self"])
def test_other_structures_beside_a_sink_are_seen_too(gate):
    rng = np.random.default_rng(4)
    for _ in range(10):
        special, segments = layout(rng, 24)
        a = noisy(beside_sink(pure(gate, rng, special, segments), 0.6, special), 0.1, rng)
        scores = gates.scores(torch.tensor(a), torch.tensor(special), torch.tensor(segments))
        assert set(gates.labels(scores).item()) == {"closed", gate}
        assert primary(a, special, segments, view="content") == gate


def test_many_stripes_are_directional():
    rng = np.random.default_rng(5)
    n = 40
    special, _ = layout(rng, n, pair=False)
    for _ in range(20):
        columns = rng.choice(np.flatnonzero(~special), 6, replace=False)
        stripes = np.zeros((n, n))
        stripes[:, columns] = rng.gamma(2.0, size=(n, 6))  # every row weighs them anew
        a = noisy(stripes / stripes.sum(1, keepdims=True), 0.4, rng)
        assert primary(a, special, None) == "directional"


@pytest.mark.parametrize(("sd", "gate"), [(1, "open"), (4, "instance")])
def test_random_logits(sd, gate):
    rng = np.random.default_rng(6)
    logits = torch.tensor(rng.normal(size=(100, 24, 24)) * sd)
    special, segments = layout(rng, 24, pair=True)
    found = gates.label(gates.scores(logits.softmax(-1), torch.tensor(special), torch.tensor(segments)))
    assert (found == gate).mean() >= 0.95


def test_labels_below_threshold_and_ties_are_mixed():
    tied = {"closed": torch.tensor([0.5, 0.3, 0.8]), "self": torch.tensor([0.45, 0.1, 0.2])}
    assert gates.label(tied).tolist() == ["mixed", "mixed", "closed"]
    assert gates.label(tied, threshold=0.25, margin=0.04).tolist() == ["closed", "closed", "closed"]
    assert gates.labels(tied).tolist() == [("closed", "self"), (), ("closed",)]


# --- shapes, views, edge cases ---


def test_all_heads_at_once_equal_one_by_one():
    rng = np.random.default_rng(7)
    special, segments = (torch.tensor(x) for x in layout(rng, 20, pair=True))
    maps = torch.tensor(rng.gamma(0.3, size=(2, 3, 20, 20)))
    for view in ("full", "content"):
        together = gates.patterns(maps, special, segments, view=view)
        assert list(together) == list(gates.PATTERNS)
        alone = {at: gates.patterns(maps[at], special, segments, view=view) for at in np.ndindex(2, 3)}
        for name, values in together.items():
            assert values.shape == (2, 3)
            assert ((values >= 0) & (values <= 1)).all(), name
            for at, scores in alone.items():
                assert float(scores[name]) == pytest.approx(float(values[at]), abs=1e-12)


def test_the_given_map_is_not_changed_and_float32_agrees():
    rng = np.random.default_rng(9)
    special, _ = layout(rng, 30, pair=False)
    a = torch.tensor(rng.gamma(0.5, size=(4, 30, 30)))
    before = a.clone()
    exact = gates.scores(a, torch.tensor(special))
    assert torch.equal(a, before)
    for gate, values in gates.scores(a.float(), torch.tensor(special)).items():
        assert torch.allclose(values, exact[gate], atol=1e-5), gate


def test_content_view_is_the_map_without_special_tokens():
    """Same scores as of the cut map, where no [SEP] stands between content tokens; nothing is closed."""
    rng = np.random.default_rng(10)
    special, _ = layout(rng, 20, pair=False)
    a = torch.tensor(rng.gamma(0.5, size=(5, 20, 20)))
    content = ~torch.tensor(special)
    seen = gates.scores(a, torch.tensor(special), view="content")
    cut = gates.scores(a[:, content][:, :, content], torch.zeros(18, dtype=torch.bool))
    for gate in GATES:
        assert torch.allclose(seen[gate], cut[gate], atol=1e-9), gate
    assert (seen["closed"] == 0).all()


def test_a_row_of_zeros_is_even_and_rows_are_scaled():
    rng = np.random.default_rng(12)
    a = torch.tensor(rng.gamma(0.5, size=(N, N)))
    a /= a.sum(1, keepdim=True)
    even, zero = a.clone(), 3 * a
    even[2], zero[2] = 1 / N, 0
    first, second = scores_of(even), scores_of(zero)
    assert first == pytest.approx(second, abs=1e-9)
    assert all(np.isfinite(list(scores_of(torch.zeros(N, N)).values())))


def test_content_tokens_without_content_neighbours():
    """Special tokens in between: no row has a next or previous token, and nothing is NaN."""
    a = torch.full((N, N), 1 / N)
    found = gates.patterns(a, torch.arange(N) % 2 == 0)
    assert found["next"] == found["previous"] == 0
    assert all(value.isfinite() for value in found.values())


def test_too_few_tokens_are_undefined():
    three = gates.scores(torch.eye(3), torch.tensor([True, False, True]))
    assert gates.label(three) == "undefined"
    assert gates.labels(three).item() == ()
    few = gates.scores(torch.eye(4), torch.tensor([True, False, False, True]))
    assert gates.label(few) == "undefined"
    for n in (3, 7):  # scores there are, but noise has them as well
        short = gates.scores(torch.eye(n + 2), torch.tensor([True, *[False] * n, True]))
        assert short["self"] == pytest.approx(1)
        assert gates.label(short) == gates.label(short, threshold=0) == "undefined"
        assert gates.labels(short).item() == ()
    enough = gates.scores(torch.eye(10), torch.tensor([True, *[False] * 8, True]))
    assert gates.label(enough) == "self"
    assert gates.evidence(torch.eye(3), torch.tensor([True, False, True]), "self").cells.sum() == 0


@pytest.mark.parametrize(
    ("a", "special", "segments", "view", "says"),
    [
        (torch.full((N, N), torch.nan), SPECIAL, None, "full", "NaN"),
        (torch.ones(N, N + 1), SPECIAL, None, "full", "cross-attention"),
        (torch.ones(N, N), SPECIAL[:-1], None, "full", "each of the 8 tokens"),
        (torch.ones(N, N), SPECIAL, torch.zeros(3), "full", "each of the 8 tokens"),
        (torch.ones(N, N), SPECIAL, None, "words", "'full' or 'content'"),
    ],
)
def test_bad_input_is_one_short_error(a, special, segments, view, says):
    with pytest.raises(InputError, match=says):
        gates.scores(a, special, segments, view=view)


def test_unknown_gate_names_the_known_ones():
    with pytest.raises(InputError, match="bidirectional"):
        gates.evidence(torch.eye(N), SPECIAL, "diagonal")


# --- evidence ---


def test_evidence_is_where_the_attention_lies():
    rng = np.random.default_rng(13)
    for gate in GATES:
        special, segments = layout(rng, 30, pair=True)
        a = torch.tensor(pure(gate, rng, special, segments))
        for view in ("full", "content"):
            if (gate, view) == ("closed", "content"):
                continue
            found = gates.evidence(a, torch.tensor(special), gate, torch.tensor(segments), view=view)
            assert found.gate == gate
            assert found.pattern in gates.GATES[gate]
            assert found.cells.shape == (30, 30) and not found.cells[special].any()
            assert found.score == pytest.approx(scores_of(a, special, segments, view=view)[gate])
            assert found.mass >= (0.5 if gate == "instance" else 0.75), (gate, view, found.mass)
            if gate not in ("open", "cluster"):
                assert found.cells.double().mean() < 0.5


def test_evidence_cells_by_hand():
    assert gates.evidence(PREVIOUS, SPECIAL, "backward contextual").cells.nonzero().tolist() == [
        [i, i - 1] for i in range(2, 7)
    ]
    assert gates.evidence(one_column(0), SPECIAL, "closed").cells.nonzero().tolist() == [
        [i, j] for i in range(1, 7) for j in (0, 7)
    ]
    assert gates.evidence(one_column(3), SPECIAL, "directional").detail == "column 3"
    divided = torch.tensor([True, False, False, True, False, False, False, True])
    assert gates.evidence(NEXT, divided, "forward contextual").cells.nonzero().tolist() == [[1, 2], [4, 5], [5, 6]]


def test_a_second_text_of_one_word_is_no_block():
    """Then blocks are looked for by a cut, here within the first text."""
    n = 16
    special = torch.zeros(n, dtype=torch.bool)
    special[[0, 13, 15]] = True
    segments = (torch.arange(n) == 14).long()
    group = torch.arange(n) >= 7
    a = (group[:, None] == group[None, :]).double() * ~special
    scores = gates.scores(a, special, segments)
    assert float(scores["cluster"]) > 0.9
    assert gates.evidence(a, special, "cluster", segments).detail == "cut before token 7"


def test_every_gate_has_a_prototype_here():
    assert tuple(gates.GATES) == gate_maps.GATES
