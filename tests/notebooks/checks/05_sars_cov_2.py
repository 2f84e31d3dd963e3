"""What the notebook says in words of the classifier of spike genes."""

# %% after cell-04
assert set(study.labels) == set(study.variants)

# %% after cell-07
assert sum(name in spike.mutations for name in ("del24", "del25", "del26", "del27")) >= 2

# %% after cell-10
assert study.answers.whole >= 7 and study.answers.right >= 0.7 * len(study.labels)

# %% after cell-11
right = unseen.right
assert right["nearest_neighbour"] >= right["classifier"] and right["logistic_regression"] >= right["classifier"]

# %% after cell-33
seen = study.mutated.seen
assert (seen["most attended"] > seen["all windows"])[seen["variant"] != "other"].mean() >= 0.9

# %% after cell-34
each = study.cones.each
assert (each["heads narrow, layers"] == 12).all()
assert (each["MLP widens, layers"] <= 6).mean() >= 0.8 and (each["MLP widens, layers"] < 12).all()
assert each["first input"].between(0.53, 0.59).all() and (each["last output"] > 0.85).all()
assert each["heads above 0.99"].max() > 40 and each["heads above 0.99"].min() <= 5
assert each["highest"].max() >= 0.9998 > each["highest"].min()

# %% after cell-23
counts, highest = study.gates.counts, study.gates.highest
assert not any(label in counts for label in ("forward contextual", "backward contextual", "contextual"))
assert (highest[["forward contextual", "backward contextual"]] < 0.25).all(axis=None)
assert (counts[["directional", "open"]] >= 10).all(axis=None)

# %% after cell-28
assert study.separation.between.min() > 0.6 > max(study.separation.by_chance)
