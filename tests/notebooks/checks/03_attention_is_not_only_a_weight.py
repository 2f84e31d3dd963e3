"""What the notebook says in words of weights and lengths; text by text, where it shows means."""

from bertlens.measures import categories, norms

CLS, SEP, STOPS, OTHER = range(4)
MIDDLE = slice(1, 5)  # L1 to L4

# %% after norms-06
alpha, length, sent = row["weight α"], row["‖f(x)‖"], row["‖αf(x)‖"]
assert 0.7 < alpha.iloc[0] < 0.8 and length[(~trace.special_mask).numpy()].min() > 20 * length.iloc[0]
assert set(sent.nlargest(2).index) == {"cat (2)", "sat (3)"}

# %% after norms-12
assert report.claim("kobayashi-special").verdict == "holds"
each = [categories.shares([one], MARKS) for one in traces]
attention, norm = (np.stack([getattr(one, name) for one in each]) for name in ("attention", "norm"))
drop = norm - attention  # (texts, layers, kinds)
assert (low(attention[:, MIDDLE, CLS]) > 1 / 3).all() and (high(norm[:, MIDDLE, CLS]) < 0.08).all()
assert (high(attention[:, 1:, SEP]) < 0.08).all()
assert low(drop[:, MIDDLE, STOPS].mean(1)) > 0 > high(drop[:, 5, STOPS])

# %% after norms-13
assert kinds == ["first", "separator", "punctuation", "other"]
length = np.stack([categories.shares([one], MARKS).length for one in traces])
length = length / length[:, :, [OTHER]]
assert (high(length[:, 1:, CLS]) < 0.15).all()
assert (low(length[:, MIDDLE, SEP]) > 0.6).all() and (high(length[:, MIDDLE, SEP]) < 1.2).all()
assert (high(length[:, [0, 5], SEP]) < 0.8).all()
stops = length[~np.isnan(length[:, 0, STOPS])][:, :, STOPS]  # of the texts that have one
assert (low(stops[:, MIDDLE]) > 0.6).all()
assert high(stops[:, 5]) < 0.5

# %% after norms-15
assert found.pooled[CLS] < -0.4 and abs(within[:, CLS].nanmean()) < 0.15
assert between < -0.4 and abs(float(resting.mean())) < 0.3

# %% after norms-19
assert difference < 1e-4

# %% after norms-21
for name in ("kobayashi-order", "kobayashi-mixing"):
    assert report.claim(name).verdict == "holds"
assert report.claim("kobayashi-depth").verdict == "differs"
ratios = [norms.mixing_ratios(one) for one in traces]
by_weight, by_vector = (np.stack([x[way].mean(1) for x in ratios]) for way in ("attn-w", "attnresln-n"))
np.testing.assert_allclose(report.claim("kobayashi-mixing").table["+ LayerNorm"], by_vector.mean(0), atol=1e-4)
assert low(by_weight.mean(1)) > 0.9 and 1 - 1 / np.mean([one.n_tokens for one in traces]) - by_weight.mean() < 0.08
assert low(by_vector.mean(1)) > 0.2 and high(by_vector.mean(1)) < 0.3
assert low(by_vector[:, 0] - by_vector[:, 4]) > 0  # less mixing from L0 to L4
assert low(by_vector[:, 5] - by_vector[:, :5].max(1)) > 0  # and most in L5

# %% after norms-25
by_weight, by_vector = (np.array(values) for values in of_cls.values())
assert low(by_weight) > 0.3 and low(by_weight / by_vector) > 4
assert high(by_vector) < 0.12 and low(by_vector - [1 / one.n_tokens for one in traces]) > 0
front = parts.nlargest(5, "vectors, residual, LayerNorm").index
assert sum(name.split()[0] in ("cat", "mat", "dog", "rug") for name in front) >= 4

# %% after norms-27
per_layer = frequency.per_layer
assert frequency.rho > 0.3 and frequency.rho_without_special > 0.3
assert per_layer.argmax() == 5 and per_layer[:2].max() < 0.4
assert report.claim("kobayashi-frequency").verdict == "cannot be told"
if len(traces) == 200:  # Wikipedia
    assert per_layer[:4].max() < 0.25
