"""What the notebook says in words of gates and cones."""

# %% after texts
assert min(trace.n_tokens for trace in long) > 1.5 * max(trace.n_tokens for trace in short)

# %% after bound
found = study.vector_lengths
assert found.used.max(axis=None) < 0.6 and low(found.values_shortest) > 66

# %% after counts
closed = study.closed
assert low(closed.short) > high(closed.long)  # shorter texts, more closed heads
assert 2 / 5 < closed.short.mean() < 2 / 3 and high(closed.long) < 0.45
assert high(closed.outer) < 0.3

# %% after examples
for gate in gate_counts.SHOWN:
    assert full.loc[full[gate].idxmax()]["label"] == gate

# %% after both-ways
found = study.found
assert low(found.previous) > 0.98
assert all(share > 0.9 for share in found.with_gate.values())
assert min(found.last) > 0.7  # six layers: 0.17 if they were spread evenly

# %% after closed
for values in (study.given_by_cls.short, study.given_by_cls.long):
    assert high(values)[0] < 0.05 and high(values)[0] < low(values)[1] and high(values)[1] < 0.2

# %% after several
assert study.lasting.same > 0.75 and study.lasting.other < study.lasting.same - 0.1

# %% after instance
medians = instances.medians
assert medians["agreement"] > max(medians["chance"], medians["chance_by_place"])
assert instances.by_token > 36 and instances.labelled == 0 and instances.sharp < 0.01

# %% after cone-table
for found, few, last in ((cones_short, False, 4), (cones_long, True, 3)):
    of_layers = found.cones
    climb = np.diff(of_layers[:, :, 4], axis=1)
    assert (low(of_layers[:, :, 1] - of_layers[:, :, 0]) > 0).all()  # heads narrow the cone, in each layer
    assert (high(of_layers[:, :, 3] - of_layers[:, :, 1]) < 0).all()  # W_O with residual and LayerNorm widens it
    # and so does the MLP, in the mean of a few texts
    assert ((of_layers[:, :, 5].mean(0) if few else high(of_layers[:, :, 5])) < 0).all()
    assert (low(climb[:, :last]) > 0).all()  # a little narrowing stays, from layer 0 to 4 or 3

# %% after steps
assert all((high(found.steps[:, :, 3]) < 0).all() for found in (steps_short, steps_long))

# %% after softmax-which
assert low(softmax.over) > 1 > softmax.over_long.mean()
assert softmax.closed_over.mean() > 0.97
kinds = softmax.kinds
assert abs(np.mean(kinds["closed"]) - np.mean(kinds["directional"])) < 0.04
assert min(low(kinds["closed"]), low(kinds["directional"])) > high(kinds[None]) + 0.05

# %% after symmetry
found = symmetry
assert abs(found.whole.median() - 0.49) < 0.01 and found.by_chance < 0.02 < found.whole.min()
assert (found.own > found.others).mean() > 0.9 and found.others.mean() > 1.5 * found.chance

# %% after ranks
assert rank.least > 64 and rank.ranks == {32}
assert rank.reached / rank.n > 0.95

# %% after corpus
found, carried = dimensions, dimensions.carried
alike = np.array([part["self_similarity"] for part in [found.corpus, *found.parts]])
explainable = found.corpus["max_explainable_variance"]
assert (low(carried) > 3 / 384).all() and carried.mean(0).min() > 0.25 and carried.mean(0).max() < 0.65
assert (np.diff(alike[:, :5]) < 0).all()  # down from state to state, in all texts and in each quarter of them
assert explainable[5] > explainable[4] < explainable[0]
assert found.rogue[1] > 0.9 * len(short) and found.extreme > 10
