"""What the notebook says in words of where heads look, and of grammar."""

from studies.grammar import CONTROL, LEARNED, NEXT, PROBE, SINGLE, share

# %% after cell-13
assert known.iloc[0].tolist() == [0, 0.75, 0.25]

# %% after cell-15
sinks = study.sinks.each
for name in sinks:
    np.testing.assert_allclose(sinks[name].mean(0), stats.values(name).mean(1), atol=1e-6)  # the survey's own means
ahead = sinks["first"] - np.maximum(sinks["separator"], sinks["punctuation"])
assert (low(ahead)[1:] > 0).all()
assert (high(sinks["separator"])[1:] < 0.12).all()

# %% after cell-17
both, change = study.by_norm.both, study.by_norm.change
assert high(change["first"]) < 0 < low(change["all others"])
assert high(both["norm"]["first"] / both["weight"]["first"]) < 0.4

# %% after cell-20
assert study.entropy.broadest["layer"] == 0 and study.entropy.ten[0] >= 4  # 10 · 12 / 72 = 1.7 by chance

# %% after cell-25
relative, length = moved.relative, moved.length
assert (high(relative) < 0.6).all() and relative.mean(0).argmax() == 0
assert ((relative / length).mean(0) > 0.4).all() and ((relative / length).mean(0) < 2).all()

# %% after nearest
found = study.neighbours(distances, positions)
assert 0.1 < found.stress < found.even and found.kept < found.n / 2 and found.resting < found.mixed

# %% after cell-31
assert grammar.single_heads(decisions, best).flattery > 0

# %% after cell-35
changed = merged.changed
assert min(changed["first"], changed["max"]) > 0 == changed["mean"]

# %% after probe-table
for name in (SINGLE, NEXT, CONTROL):
    assert low(probe.lead[name]) > 0
assert probe.orders.max() < share(probe.rows[PROBE]) < share(probe.rows[LEARNED])
