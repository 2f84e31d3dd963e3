"""What the notebook says in words of where heads look, and of grammar."""

# %% after cell-13
assert known.iloc[0].tolist() == [0, 0.75, 0.25]

# %% after cell-15
card, layers = report.claim("clark-separator"), table.groupby("layer")[sinks].mean()
np.testing.assert_allclose(card.table["separator"], layers["separator"], atol=1e-4)
assert card.verdict == "differs" and card.measured.high < 0.12
assert (layers["first"] > layers[["separator", "punctuation"]].max(axis=1) + 0.03)[1:].all()
assert (layers["separator"] < 0.12)[1:].all()

# %% after cell-17
card = report.claim("kobayashi-special")
assert card.verdict == "holds" and card.measured.high < 0.4
assert rows.loc["first", "norm"] < 0.4 * rows.loc["first", "weight"]
assert rows.loc["all others", "norm"] > rows.loc["all others", "weight"] + 0.1

# %% after cell-20
broad = table.nlargest(10, "entropy")["layer"]
assert broad.iloc[0] == 0 and (broad == 0).sum() >= 4  # 10 · 12 / 72 = 1.7 by chance
assert report.claim("clark-broad-first").verdict == "holds"

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
for rule in ("next", "previous"):
    assert low((probe["probe"] - probe[rule]) / probe["words"]) > 0
assert rules["probe"] > rules["best single head"] + 0.05
