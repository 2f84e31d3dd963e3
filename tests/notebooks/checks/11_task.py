"""What the notebook about a task says in words and numbers."""

# %% after variants
assert len(variants) == len(sequences) == len(set(sequences)) >= 45
assert {name for _, name in sequences} == set(variants.names)
assert (variants.table["guess"] == variants.table["label"]).mean() == variants.metrics()["value"][0]

# %% after confusion
# variants without some of their mutations are not always what they were made from: those with all of them are
first = {name: at for at, (_, name) in reversed(list(enumerate(sequences)))}
assert variants.table.loc[list(first.values()), "right"].all()
assert not variants.table["right"].all()

# %% after virus-heads
assert virus_heads.family == 156 and virus_heads.table["effect"].notna().sum() == 4
assert not set(virus_heads.first) & set(virus_heads.second)

# %% after authors
assert not set(train) & set(test)
assert len({label for _, label in test}) == 2 and len(test) == 160 < 200
scores = task.metrics().set_index("measure")
assert scores.loc["accuracy", "low"] > 0.5
assert np.isnan(scores.loc[["macro-F1", "Matthews"], "low"]).all()
assert scores.loc["macro-F1", "note"].startswith("too few for an interval: 160 of 200")

# %% after errors
assert (errors.table["loss"].to_numpy() == np.sort(task.losses)[::-1][:5]).all()

# %% after heads
assert heads.table["effect"].notna().sum() == 16 and heads.family == 78

# %% after pruning
assert curve["off"].max() == 72

# %% after against
counts = change.counts
assert sum(counts.values()) == len(test)
assert abs(change.accuracy[0] - (counts["fixed"] - counts["broken"]) / len(test)) < 1e-9
assert not change.note or len(change.heads)

# %% after view
assert view.text == task.table["text"][int(np.argmax(task.losses))]  # it opens on the largest loss

# %% after page
assert page.read_text(encoding="utf-8").count('"shown_by":"[[') == 10
