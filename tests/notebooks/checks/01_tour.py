"""What the tour says in words."""

# %% after count
each = found.each
assert low(each["L1·H8, weight on the next word"]) > 0.5
assert low(each["L0·H2, weight on the previous word"]) > 0.98
assert high(each["L1·H8, share of [CLS] by norm"] / each["L1·H8, share of [CLS] by weight"]) < 0.4
