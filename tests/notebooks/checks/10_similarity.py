"""What the notebook says in words of similarity."""

# %% after similar-04
assert abs(table.to_numpy().sum() - s.value) < 1e-5 and abs(s.gap) < 1e-5

# %% after similar-08
assert study.baseline.low < study.baseline.high < 0.6

# %% after similar-10
found, above = study.misleading, study.baseline.high
assert (found.denied > above).mean() > 0.95 and low(found.denial) > 0
assert found.swapped.min() > 0.95 and low(found.roles) > 0.2
assert low(found.gain_rare - 2 * found.gain_frequent) > 0 and low(found.gain_frequent) > 0

# %% after books-1
found = books
assert (found.not_said > found.high + 0.2).all() and low(found.now_said - found.not_said) > 0
assert high(1 - found.not_said) < 0.1
assert (found.exchanged > found.high).all() and low(found.exchanged - found.elsewhere) > 0.1
assert low(found.per_word) > high(found.per_sentence) and 0.1 < (found.one_shared > found.high).mean() < 0.5

# %% after similar-12
found = study.shared_word
assert found.first.mean() > 0.8 and low(found.own - 2 * found.cell) > 0 and len(found.cell) >= 80

# %% after similar-14
found = study.order
assert low(found.rho) > 0.15 and high(found.rho) < 0.9 and found.same.mean() > 0.3
