"""What the notebook says in words of differences and of attributions."""

# %% after compare-05
assert len(study.sentences) >= 16, "intervals and shares need sixteen pairs or more"

# %% after compare-11
found = study.order
by_order, by_other = found.by_order, found.by_other
assert int(found.previous.argmax()) == int(found.most[0])
assert low(by_order[:, 0, 2] / by_order.mean((1, 2))) > 2
assert (low(by_other.mean(2) / by_order.mean(2)) > 2).all()

# %% after compare-14
found = study.without_head
assert not found.by_off[:, :2].any()  # nothing before the change can differ, and its own layer's weights do not
depth = found.by_off[:, 2:].mean(2)
assert (low(depth[:, :-1] - depth[:, 1:]) > 0).all() and high(depth).max() < 0.01
assert found.first / len(found.by_off) > 0.5

# %% after compare-16
of_layers, turned = trained.by_training.mean(2), trained.turned
assert all(low(of_layers[:, 5] - of_layers[:, layer]) > 0 for layer in range(5))
assert low(trained.shared) > 2
assert study.name(trained.ranked[-1]) == "L0·H2"
assert turned[3, 11] > 0.3 and turned[5, 10] < -0.1 and turned[5, 7] < -0.1

# %% after compare-19
assert not strange.same_heads

# %% after compare-21
integrated, linear = found[2], found[3]
assert abs(integrated.gap) <= 0.05 * abs(integrated.expected) and abs(linear.gap) < 1e-4

# %% after compare-23
assert sum(token == "keys" for token in first.values()) == 3

# %% after compare-25
ways, beaten = tested.ways, tested.beaten
good = [ways.index(name) for name in ("occlusion", "integrated_gradients", "linearised", "attention_gradient")]
slope = ways.index("gradient_input")
assert (low(beaten)[good] > 10).all()  # better than random
assert (low(beaten[:, good, 0] - beaten[:, [slope], 0]) > 0).all()

# %% after compare-27
ways, agreed = tested.ways, tested.agreed
good = [ways.index(name) for name in ("occlusion", "integrated_gradients", "linearised", "attention_gradient")]
slope, upper = ways.index("gradient_input"), [(i, j) for i in good for j in good if i < j]
assert all(low(agreed[:, i, j]) > 0.1 for i, j in upper)
assert all(high(agreed[:, slope, i]) < 0.5 for i in good)
assert max(agreed.mean(0)[i, j] for i, j in upper) < 0.9
