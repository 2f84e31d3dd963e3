"""What the notebook says in words of Vig's patterns."""

NAMES = patterns.NAMES
position = "same position"

# %% after real
assert (steps["weight"] - trace.attention(1)[8, sat].numpy()).abs().max() < 1e-5

# %% after scores
assert max(map(abs, study.heads.moved.values())) < 0.1
assert all(low(study.of(name)) > study.tested[name].mean() + 0.1 for name in NAMES)

# %% after rest
assert low(study.rest.on_cls) > high(study.rest.on_sep) + 0.2

# %% after value
to_cls, length = study.tested["[CLS]"], study.values.length
assert np.median(length[to_cls > 0.5]) < 0.06
assert (length >= 0.9).any() and to_cls[length >= 0.9].max() < 0.15
assert low(study.of("[SEP]", "previous")) > 0.1 and low(study.of("[SEP]")) > 0.15

# %% after bag-numbers
assert low(study.of("bag of words", "other")) > 0.05 and 0.6 < study.blocks.evenness < 0.95
assert low(study.of("next") + study.of("next", "[CLS]")) > 0.7

# %% after previous-numbers
assert low(study.of("previous")) > 0.99

# %% after altered
altered = study.causes.altered
for name in ("next", "previous"):
    assert study.change("words shuffled", name)[1] > -0.05  # no loss
    assert study.change(position, name)[2] < -0.4 and altered[position][name].mean() < 0.25
assert abs(study.change("same type", "own share")[0]) < 0.06
lost, lost_both = study.change(position, "own share"), study.change("same both", "own share")
assert lost[2] < 0 and lost[0] / lost_both[0] > 0.5
assert altered["same both"]["[CLS]"].mean() > 0.6 * altered["as it is"]["[CLS]"].mean()
assert study.change(position, "[SEP]")[1] > 0

# %% after types
found = study.types
assert found.between_types < found.between_positions
assert abs(found.lost["same type"].mean()) < 0.02 and high(found.lost[position]) < -0.03
assert high(found.after - found.before) < -0.1

# %% after neurons
everywhere, use, random_size = of_neurons.everywhere, of_neurons.of_patterns, of_neurons.random_size
size, above = use["neurons of 32"], use["above chance"]
by_name = {name: study.named(name) for name in NAMES}
assert everywhere["neurons of 32"].quantile(0.95) < 11 and 3 <= random_size <= 7
assert abs(size[by_name["next"]] - size["all heads, median"]) <= 2
assert size[by_name["previous"]] >= max(size[by_name[name]] for name in NAMES)
assert above[by_name["[CLS]"]] > 0.1 and above["all heads, median"] > 0.1
assert all(above[by_name[name]] < 0.1 for name in NAMES[1:])

# %% after control
to_strongest, to_one = one_key.to_strongest, one_key.to_cls
assert high(to_strongest["next"]) < 0.25 < low(to_one["next"])
assert to_one["next"].mean() > to_one["[CLS]"].mean() - 0.1
in_layer_0 = [name for name in NAMES if study.best[name][0] == 0]
assert {"[SEP]", "previous"} <= set(in_layer_0)
to_cls = study.tested["[CLS]"]
assert all(to_one[name].mean() < 0.25 and float(to_cls[study.best[name]]) < 0.25 for name in in_layer_0)

# %% after signs
same = of_signs.same
assert low(same[:, 0] - same[:, 1]) > 0.1 and same[:, 0].mean() < 0.9 and same[:, 1].mean() > 0.1
