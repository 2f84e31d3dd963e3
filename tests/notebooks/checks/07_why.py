"""What the notebook says in words of splits and of experiments."""

import math

from studies import split_stories
from studies.lifts import COUNTING, KINDS, PAIRS

# %% after one
weights = trace.attention(1)[8, sat].double()
others = weights[[key for key in range(trace.n_tokens) if key != sat + 1]].log().mean().exp()  # their geometric mean
assert abs(why.gap) < 1e-4 and abs(math.log(weights[sat + 1] / others) - why.model) < 1e-3

# %% after one-check
assert by_kind.idxmax() == "position" and heads.idxmax() == (0, 2) and heads.max() > 0.8 * by_kind["head"]
assert by_kind["position"] > 0.7 * why.total

# %% after pairs
assert study.exact.gap < 1e-3

# %% after shares
found = study.layer_0
assert low(found.position) > 0.88 and found.others < 0.8
assert low(found.type_and_bias) > 0.9 and max(abs(low(found.own_word)), abs(high(found.own_word))) < 0.2

# %% after lift
whole, part, lost, bag = study.whole, study.part, study.patterns.lost, "bag of words"
assert all(np.abs(study.parts[name].sum(1) - whole[name]).max() < 1e-3 for name in whole)
assert low(part("previous", COUNTING) / whole["previous"]) > 0.9
assert low(lost["previous"]["position"] / whole["previous"]) > 0.85
by_types, by_places = part(bag, "type · type"), part(bag, COUNTING)
assert low(by_types) > 0 and high(by_types / whole[bag]) < 0.5 and low(by_places / whole[bag]) > 0.6
assert low(lost[bag]["position"] - 2 * lost[bag]["type"]) > 0
assert low(part("[SEP]", "bias · word") - whole["[SEP]"]) > 0
assert PAIRS[np.abs(study.parts["[CLS]"].mean(0)).argmax()] == "bias · mlps"
assert low(lost["next"]["position"] / whole["next"]) > 0.9 and high(part("next", COUNTING) / whole["next"]) < 0.65
assert high(lost["[CLS]"]["position"] / whole["[CLS]"]) < 0.2

# %% after predict
assert low(study.foretold.agreement) > 0.7

# %% after open
closed_cls, open_cls, closed_next, open_next = study.opened.both.values()
mlp, place, head, bias = (KINDS.index(kind) for kind in ("mlp", "position", "head", "bias"))
assert np.allclose(closed_cls.sum(1), open_cls.sum(1), atol=1e-3)
assert np.allclose(closed_next.sum(1), open_next.sum(1), atol=1e-3)
assert low(closed_cls[:, mlp] / closed_cls.sum(1)) > 0.8
assert low(open_cls[:, place] / open_cls.sum(1)) > 0.6 and low(open_cls[:, head] / open_cls.sum(1)) > 0.3
assert high(open_next[:, place]) < low(closed_next[:, place]) / 2 and low(open_next[:, bias]) > 2

# %% after neuron
parts, first = stories.neuron.parts, stories.neuron.first
assert first == [split_stories.NEURON] * len(study.traces) and low(parts[:, 0] / parts[:, 2]) > 0.4

# %% after again
rows = stories.again.rows
key, query = rows[rows["side"] == "key"], rows[rows["side"] == "query"]
assert key["largest"].mean() > 0.95 and (key["step"] == 0).mean() > 0.95 and (query["step"] == -1).mean() > 0.95
assert low(key.groupby("text")["position"].mean() / key.groupby("text")["there"].mean()) > 0.7

# %% after experiments
for _, _, part, taken in stories.tried.stories:
    assert low(part) > 1.5 and high(taken) < 0.25 * part.mean()
composed, ninth, single = stories.tried.stories
assert low(composed[3]) > 0.1 and abs(ninth[3].mean()) < 0.15 and high(single[3]) < 0.1

# %% after divisor
spreads = stories.divisor.spreads
assert low(spreads[:, 0] / spreads[:, 1]) > 2 and low(spreads[:, 0] / spreads[:, 2]) > 3

# %% after order
rank, taken = stories.order.rank, stories.order.taken
assert low(rank["opened"]) > 0.35 and low(rank["opened"] - rank["as sources"]) > 0
assert np.median(stories.next_parts["opened"][:, 2] / taken[:, 2]) > 1.4
