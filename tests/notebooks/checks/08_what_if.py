"""What the notebook says in words of changed runs."""

from studies import experiments
from studies.masked_sentences import NATURAL

# %% after one-changed
assert she_he(trace) > 0 > she_he(changed)

# %% after one-sweep
assert (layer, head) == (5, 8) and (words[query], words[key]) == ("[MASK]", "nurse")

# %% after tasks
for name in study.tasks:
    assert (study.before[name] > 0).mean() >= 0.75 and low(study.before[name]) > 0.5

# %% after estimate
assert low(study.estimate.agreed) > 0.8 and study.estimate.worst > 0.3

# %% after strongest
found = study.strongest
for name in study.tasks:
    assert low(found.at_random[name] - found.together[name]) > 0 and high(found.alone[name][:, 0]) < 0
assert len({heads[0] for heads in found.top.values()}) == 3
assert high(found.together["natural agreement"]) < 0  # what was found in templates is missed here, too
assert low(found.less["agreement"]) > 0 and all(high(values) > 0 for values in found.less.values())

# %% after helps
gain, alone = study.against.gain, study.strongest.alone
assert all(gain[name].mean() < -0.35 * alone[name][:, 0].mean() for name in study.tasks)

# %% after where
found, patched = study.where, study.where.patched
assert high(found.without) < -0.2 and 0.6 < found.share < 1.4
assert high(found.who) < -0.2 and high(found.who) < low(found.nobody) and high(found.nobody) > 0 and found.he > 0.8
assert high(patched["the noun", 0]) < 0 and low(patched["[MASK]", 0]) > 0.5
assert found.arrived < 0.3 and low(patched["[MASK]", 4]) > 0.3
assert low(patched["the noun", 5]) > 0.5 and high(patched["[MASK]", 5]) < 0

# %% after important
ways, loss = study.importance.ways, study.importance.loss
assert abs(ways["sharpness"].mean()) < 0.25 and low(ways["length of output"]) > 0.15 and low(ways["gradient"]) > 0.8
assert set(study.importance.sharpest.values()) == {(0, 2)}
assert high(loss["agreement"]) < 0 and -loss["agreement"].mean() > 2 * study.importance.median
assert all(high(loss[name]) > 0 for name in NATURAL if name in loss)

# %% after closed
found = study.closed
assert all(high(ratio) < 0.9 and low(ratio) > 0.2 for ratio in found.ratio.values())
assert low(found.every[0] - found.every[1]) > 0 and any(high(values) < 0 for values in found.closed_off.values())

# %% after similarity
moved, size = np.abs(of_pairs.swept), np.abs(of_pairs.layers_off)
assert low(of_pairs.agreed) > 0.6 and moved.mean() < 0.01 and moved.max() < 0.2
assert 5 in size.mean(0).argsort()[-2:]
assert high(of_pairs.between) < 0.5

# %% after variants
margins, left, needed = of_genes.margins, of_genes.left, of_genes.needed
change, one_head = margins.sub(margins[experiments.AS_IT_IS], axis=0), margins[experiments.ONE_HEAD]
for what in (experiments.PATCHED, experiments.CLS_LATE, experiments.HIDDEN, experiments.ALL_OFF):
    assert (margins[what] < 0).all()
for what in (experiments.PATCHED_AT_RANDOM, experiments.CLS_EARLY, experiments.LATE, experiments.HIDDEN_AT_RANDOM):
    assert change[what].abs().max() < 0.5
assert (one_head[::2] > 0).all() and (one_head[1::2] < 0).any() and len(needed) <= 0.2 * len(left) and len(needed) > 0

# %% after repair
direct, lost = study.repair.direct, study.repair.lost
assert low(direct) > 0.3 and low(lost) > 0.3
assert 0.6 < lost.mean() / direct.mean() < 1.3
