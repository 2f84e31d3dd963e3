"""What the notebook says in words of weights and lengths."""

from studies.contributions import CLS, MIDDLE, SEP, STOPS

# %% after norms-06
alpha, length, sent = row["weight α"], row["‖f(x)‖"], row["‖αf(x)‖"]
assert 0.7 < alpha.iloc[0] < 0.8 and length[(~trace.special_mask).numpy()].min() > 20 * length.iloc[0]
assert set(sent.nlargest(2).index) == {"cat (2)", "sat (3)"}

# %% after norms-12
attention, norm = study.attention, study.norm
drop = norm - attention  # (texts, layers, kinds)
assert (low(attention[:, MIDDLE, CLS]) > 1 / 3).all() and (high(norm[:, MIDDLE, CLS]) < 0.08).all()
assert (high(attention[:, 1:, SEP]) < 0.08).all()
assert low(drop[:, MIDDLE, STOPS].mean(1)) > 0 > high(drop[:, 5, STOPS])

# %% after norms-13
bounds = {kind: (low(values), high(values)) for kind, values in study.relative_lengths.relative.items()}
assert (bounds["[CLS]"][1][1:] < 0.15).all()
assert (bounds["[SEP]"][0][MIDDLE] > 0.6).all() and (bounds["[SEP]"][1][MIDDLE] < 1.2).all()
assert (bounds["[SEP]"][1][[0, 5]] < 0.8).all() and (bounds[". and ,"][0][MIDDLE] > 0.6).all()
assert bounds[". and ,"][1][5] < 0.5

# %% after norms-15
found = study.order
assert high(found.pooled)[CLS] < -0.4 and abs(found.within.mean(0)[CLS]) < 0.15
assert found.between < -0.4 and abs(float(found.resting.mean())) < 0.3

# %% after norms-19
assert difference < 1e-4

# %% after norms-21
by_weight, by_vector = study.mixing.by["attn-w"], study.mixing.by["attnresln-n"]
assert low(by_weight.mean(1)) > 0.9
assert low(by_vector.mean(1)) > 0.2 and high(by_vector.mean(1)) < 0.3
assert low(by_vector[:, 0] - by_vector[:, 4]) > 0  # less mixing from L0 to L4
assert low(by_vector[:, 5] - by_vector[:, :5].max(1)) > 0  # and most in L5

# %% after norms-25
shares = study.from_cls.shares
assert low(shares)[0] > 0.3 and low(shares[:, 0] / shares[:, 1]) > 4
assert high(shares[:, 1]) < 0.12
front = parts.nlargest(5, "vectors, residual, LayerNorm").index
assert sum(name.split()[0] in ("cat", "mat", "dog", "rug") for name in front) >= 4

# %% after norms-27
per_layer, found = study.frequency.every.per_layer, study.frequency
assert (low(found.rho) > 0.3).all()
assert found.by_layer.mean(0).argmax() == 5 and per_layer[:2].max() < 0.4
if study.wiki:
    assert per_layer[:4].max() < 0.25
