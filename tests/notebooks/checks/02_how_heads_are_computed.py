"""What the notebook says in words of Vig's patterns."""

position = "same position"


def of(name, scores, head_of=None):
    """(texts,) a score of the head that was chosen for it, or for another."""
    layer, head = best[head_of or name]
    return scores[name][:, layer, head]


def lost(name, run):
    return of(name, altered[run]) - of(name, altered["as it is"])


# %% after real
assert (steps["weight"] - trace.attention(1)[8, sat].numpy()).abs().max() < 1e-5

# %% after best
assert max(abs(of(name, tested).mean() - of(name, chosen).mean()) for name in names) < 0.1
assert all(low(of(name, tested)) > tested[name].mean() + 0.1 for name in names)
assert low(of("separator", tested)) > 0.15 and low(of("previous", tested, "separator")) > 0.1  # it mixes two patterns
assert low(of("next", tested) + of("first", tested, "next")) > 0.7  # what is not at the next word is at [CLS]

# %% after report
claims = report.table.set_index("claim")
assert tuple(claims.loc["vig-next", ["layer", "head"]]) == best["next"]
assert tuple(claims.loc["vig-previous", ["layer", "head"]]) == best["previous"]

# %% after rest
resting = report.claim("sinks-resting")
assert report.claim("vig-separator").verdict != "holds" and resting.verdict == "holds"
assert (resting.table["first"] > resting.table["separator"]).all()
assert resting.table["first"].mean() > resting.table["separator"].mean() + 0.2

# %% after value
card = report.claim("sinks-null")
assert card.verdict == "holds" and card.measured.high < 0.1
(layer, head), values = (
    best["first"],
    [each.value(best["first"][0])[best["first"][1]] for each in lens.trace_batch(pairs)],
)
assert high([float(value[0].norm() / value[1:].norm(dim=1).mean()) for value in values]) < 0.1

# %% after bag-numbers
assert low(np.array(own) - even) > 0.1 and high(own) < 0.95
assert of("cluster", tested).mean() < 0.6

# %% after previous-numbers
assert low(diagonals) > 0.95

# %% after altered-table
for name in ("next", "previous"):
    assert low(lost(name, "words shuffled")) > -0.05  # no loss
    assert high(lost(name, position)) < -0.4
    assert of(name, altered[position]).mean() < 0.25
assert abs(lost("cluster", "same type").mean()) < 0.08
assert high(lost("cluster", position)) < 0
assert lost("cluster", position).mean() < -0.2 * of("cluster", altered["as it is"]).mean()
assert high(lost("cluster", position) - lost("cluster", "same type")) < 0
assert of("first", altered["same both"]).mean() > 0.6 * of("first", altered["as it is"]).mean()
assert low(lost("separator", position)) > 0

# %% after position
split = report.claim("vig-position").table["position with position"]
assert split["L0·H2"] > 0.85 and 0.15 < split["L1·H8"] < 0.6

# %% after types
assert between_types < between_positions

# %% after neurons
card = report.claim("vig-few-neurons")
assert card.measured.low > 1.1
sizes = [neurons.n80_of_strongest(trace, layer, head) for layer in range(6) for head in range(12)]
assert np.median([float(size.double().median()) for size in sizes]) < 10

# %% after overlaps
above = {name: to_strongest[name][:, 0] - to_strongest[name][:, 1] for name in names}
assert low(above["first"]) > 0.1
assert all(abs(above[name].mean()) < 0.1 for name in ("next", "previous"))
assert high(to_strongest["next"][:, 0]) < 0.25 < low(to_first["next"][:, 0])
assert to_first["next"][:, 0].mean() > to_first["first"][:, 0].mean() - 0.1

# %% after signs-agree
assert low(agree[:, 0] - agree[:, 1]) > 0.1
assert agree[:, 0].mean() < 0.9 and agree[:, 1].mean() > 0.1
