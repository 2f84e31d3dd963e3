"""Numbers of the cards that take a closer look, beside naive versions and the public functions on the same texts."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers as tf

import bertlens as bl
from bertlens import Lens
from bertlens.measures import geometry, neurons, sources, spectra
from bertlens.measures.significance import count_interval, mean_interval, share_interval
from bertlens.measures.statistics import SURVEY_NAMES
from bertlens.reports import report_run
from bertlens.reports.attention_numbers import position
from bertlens.reports.excerpt_pairs import pairs
from bertlens.reports.few_texts import TOO_LONG, FewTexts, measure_few, pairs_of
from bertlens.reports.registry import FEW_MEASURES, count_beyond
from bertlens.reports.rules import CANNOT, DIFFERS, HOLDS
from bertlens.reports.sink_numbers import off
from bertlens.reports.text_numbers import TextNumbers
from bertlens.survey import attention_probe, head_distances, word_attention
from bertlens.survey.treebank import read_treebank
from unit import tiny

TEXTS = [(f"the cat sat on the mat. {a[:20]}", f"the mats of the cat, {b[:15]}") for a, b in pairs()[:9]]


@pytest.fixture(scope="module")
def small() -> Lens:
    torch.manual_seed(0)
    model = tf.BertForMaskedLM(tf.BertConfig(**tiny.BERT | {"num_hidden_layers": 3, "max_position_embeddings": 96}))
    return Lens(tiny.shaken(model, 3), tiny.wordpiece())


@pytest.fixture(scope="module")
def report(small: Lens) -> Any:
    return bl.report(small, TEXTS, texts=len(TEXTS), progress=False)


def check(report: Any, name: str, values: np.ndarray) -> None:
    card, m = report.claim(name), report.claim(name).measured
    expected = [float(end) for end in mean_interval(values)]
    if card.claim.rule.unit == "share" and name != "kobayashi-order":  # its steps are differences
        expected = shared(values)
    assert (m.value, m.low, m.high) == pytest.approx(expected, rel=1e-4, abs=1e-7), name
    assert m.n == len(values) and m.each == pytest.approx(values.tolist(), rel=1e-4, abs=1e-7), name


def shared(values: Any) -> list[float]:
    """The mean of one share a text, and its interval."""
    return [float(np.mean(values)), *share_interval(values, np.ones(len(values)), smooth=True)]


def lower_median(values: list[float]) -> float:
    return float(np.nanquantile(values, 0.5, method="inverted_cdf"))


def partners(trace: Any) -> tuple[list[list[int]], list[list[int]]]:
    """Of each token, by hand: the other parts of its word, and its word in the other sentence."""
    spelled = [
        "".join(t.removeprefix("##") for t, w in zip(trace.display_tokens, trace.word_ids, strict=True) if w == word)
        if word is not None
        else None
        for word in trace.word_ids
    ]
    n, word, segment = trace.n_tokens, trace.word_ids, trace.segments.tolist()
    parts = [[j for j in range(n) if j != i and word[i] is not None and word[j] == word[i]] for i in range(n)]
    others = [
        [j for j in range(n) if segment[j] != segment[i] and spelled[i] and spelled[j] == spelled[i]
         and any(map(str.isalnum, str(spelled[i])))]
        for i in range(n)
    ]  # fmt: skip
    return parts, others


def test_parts_and_other_sides_of_words_are_found(small: Lens) -> None:
    trace = small.trace("the cat. mats", "The mats, cat.")
    parts, others = (mask.tolist() for mask in pairs_of(trace))
    tokens = trace.display_tokens
    assert [(tokens[i], tokens[j]) for i in range(len(tokens)) for j in range(i) if parts[i][j]] == [("##s", "mat")] * 2
    named = {(tokens[i], tokens[j]) for i in range(len(tokens)) for j in range(len(tokens)) if others[i][j]}
    assert ("the", "the") in named and ("mat", "##s") in named and ("cat", "cat") in named
    assert not any("." in pair for pair in named)
    segments = trace.segments.tolist()
    assert not any(others[i][j] and segments[i] == segments[j] for i in range(len(tokens)) for j in range(len(tokens)))


def test_heads_that_look_at_partners_of_a_word(small: Lens, report: Any) -> None:
    found: dict[str, list[np.ndarray]] = {"vig-pieces": [], "vig-other-sentence": []}
    for text in TEXTS:
        trace = small.trace(*text)
        for name, keys in zip(found, partners(trace), strict=True):
            rows = [i for i in range(trace.n_tokens) if keys[i]]
            given = [[np.mean([sum(float(trace.attention(layer)[head, i, j]) for j in keys[i]) for i in rows])
                      for head in range(4)] for layer in range(3)]  # fmt: skip
            found[name].append(np.array(given))
    for name, values in found.items():
        m, mean = report.claim(name).measured, np.mean(values, 0)
        assert m.head_value == pytest.approx(mean.max(), rel=1e-4) and m.n == len(TEXTS)
        assert m.head == np.unravel_index(mean.argmax(), mean.shape)
        low, high = (end for end in mean_interval(np.stack(values), 1 - 0.05 / 12)[1:])
        assert (m.low, m.value, m.high) == ((low > 0.25).sum(), (mean > 0.25).sum(), (high > 0.25).sum())


def test_numbers_of_vectors_are_those_of_the_public_functions(small: Lens, report: Any) -> None:
    traces = [small.trace(*text) for text in TEXTS]
    few, ratio, rank, dead, spread, idle, rogue = [], [], [], [], [], [], []
    for trace in traces:
        chance = neurons.n80_chance(8, trace.n_tokens).median
        sizes = [[lower_median([neurons.n80(trace, at, head, q, int(trace.scores(at)[head, q].argmax()))
                                for q in range(trace.n_tokens)]) / chance for head in range(4)]
                 for at in range(3)]  # fmt: skip
        few.append(np.mean(sizes))
        lengths = np.array([[[float(x[head].norm(dim=-1).mean()) for x in (trace.query(at), trace.key(at),
                   trace.value(at))] for head in range(4)] for at in range(3)])  # fmt: skip
        ratio.append((lengths.max(-1) / lengths.min(-1)).mean())
        table = [spectra.layer_spectra(trace, at) for at in range(3)]
        rank.append(np.mean([each[each["of"] == "context"]["effective_rank"] for each in table]) / 8)
        written = np.array([geometry.head_writes(trace, at).norm(dim=-1).mean(-1) for at in range(3)])
        dead.append(written / written.mean(1, keepdims=True))
        rows = [trace.attention(at).double() for at in range(3)]
        spread.append(np.array([[float((a * (a / a.mean(0)).log()).sum(-1).mean()) for a in alpha] for alpha in rows]))
        states = trace.hidden_states
        idle.append([float(((b - a).norm(dim=-1) / a.norm(dim=-1)).mean()) for a, b in itertools.pairwise(states)])
        gives = [geometry.cosine_contributions(state).abs() for state in states[1:]]
        rogue.append([float(each.max() / each.sum()) for each in gives])
    check(report, "vig-few-neurons", np.array(few))
    check(report, "bonino-lengths", np.array(ratio))
    check(report, "bonino-rank", np.array(rank))
    check(report, "health-rogue", np.array(rogue)[:, np.mean(rogue, 0).argmax()])
    for name, values in (("health-dead", dead), ("health-collapsed", spread)):
        m, mean = report.claim(name).measured, np.mean(values, 0)
        assert m.head_value == pytest.approx(mean.min(), rel=1e-4)
        assert m.head == np.unravel_index(mean.argmin(), mean.shape), name
    m = report.claim("health-idle").measured
    assert m.series["change ÷ length"] == pytest.approx(np.mean(idle, 0), rel=1e-4)
    nearest = np.mean([head_distances(small, [text], progress=False) for text in TEXTS], 0) + np.diag([9] * 12)
    assert report.claim("health-doubled").measured.head_value == pytest.approx(nearest.min(), rel=1e-5)


def test_numbers_of_weights_are_those_of_the_table(small: Lens, report: Any) -> None:
    table = spectra.weights_table(small)
    table = table[table["head"] != "all"]
    outside = (table["directionality"].abs() > table["directionality_chance"]).sum()
    m = report.claim("bonino-direction").measured
    assert (m.value, m.low, m.high) == pytest.approx((outside / 12, *count_interval(float(outside), 12))) and m.n == 12
    ratio = (table["overlap"] / table["chance"]).to_numpy(float)
    m = report.claim("bonino-subspaces").measured
    assert (m.value, m.low, m.high) == pytest.approx([float(x) for x in mean_interval(ratio)])
    assert m.units == "heads"


def test_mixing_falls_step_by_step_and_heads_turn_by_norm(small: Lens, report: Any) -> None:
    each = [bl.survey.head_stats(small, [text], progress=False) for text in TEXTS]
    names = ["attn-w", "attn-n", "attnres-w", "attnres-n", "attnresln-n"]
    means = np.stack([one.layers()[[f"mixing {name}" for name in names]].mean() for one in each])
    steps = means[:, :-1] - means[:, 1:]
    check(report, "kobayashi-order", steps[:, steps.mean(0).argmin()])
    gathered = report_run.gather(small, list(report_run.draw(small, TEXTS, 10, 9, 0).texts), progress=False).in_order()
    kinds = ("first", "separator", "punctuation")
    rng = np.random.default_rng(0)
    for by in ("weight", "norm"):
        for values in gathered.values[by]:
            values[:] = rng.uniform(0, 0.4, values.shape)
    weight, norm = (np.sum([gathered.of(kind, by) for kind in kinds], 0) for by in ("weight", "norm"))
    share = [((w > 0.5) & (v < 0.5)).sum() / (w > 0.5).sum() for w, v in zip(weight, norm, strict=True)]
    m = report_run.MEASURES["kobayashi-patterns"](gathered)
    assert (m.value, m.low, m.high) == pytest.approx(shared(share)) and 0 <= m.low <= m.high <= 1


def resting(small: Lens, name: str = "separator") -> TextNumbers:
    """TextNumbers of texts, with one head that rests on a kind of token, and one that looks at the word before."""
    found = report_run.gather(small, list(report_run.draw(small, TEXTS, 10, 9, 0).texts), progress=False).in_order()
    for values in found.values["weight"]:
        for each in ("first", "separator", "previous", "next"):
            values[SURVEY_NAMES.index(each)] = 0.1
        values[SURVEY_NAMES.index(name), 1, 2] = 0.4
        values[SURVEY_NAMES.index("previous"), 0, 3] = 0.6
    return found


def test_without_the_resting_place_the_answer_moves_so_far(small: Lens) -> None:
    m = off(small, list(TEXTS), resting(small), None)
    moved = []
    for number, text in enumerate(TEXTS):
        trace = small.trace(*text)
        special = trace.special_mask.tolist()
        rest = trace.key_separator_mask.nonzero()[:, 0].tolist()
        words = [at for at in range(trace.n_tokens) if not special[at]]
        drawn = np.random.default_rng(number).choice(words, (4, 2), replace=False)
        asked = [at for at in words if at not in drawn.ravel()]
        before = small.model(input_ids=trace.input_ids[None], token_type_ids=trace.segments[None]).logits[0].softmax(-1)
        far = []
        for places in (rest, *drawn.tolist()):
            mask = torch.ones(1, trace.n_tokens)
            mask[0, places] = 0
            hidden = small.model(
                input_ids=trace.input_ids[None], token_type_ids=trace.segments[None], attention_mask=mask
            ).logits[0].softmax(-1)  # fmt: skip
            far.append(float(((before - hidden).detach()[asked].abs().sum(-1) / 2).mean()))
        moved.append(far[0] - np.mean(far[1:]))
    assert (m.value, m.low, m.high) == pytest.approx([float(x) for x in mean_interval(np.array(moved))], rel=1e-3)


def test_broadcasting_heads_are_those_whose_resting_place_is_not_short(small: Lens) -> None:
    found, closer = resting(small), measure_few(small, list(TEXTS))
    shares = [float(spectra.top_share(small.trace(*text).head_context(1))[2]) for text in TEXTS]
    for values in found.lengths:
        values[:] = 1.0
    m = FEW_MEASURES["sinks-broadcast"](found, closer)
    assert (m.value, m.low, m.high) == pytest.approx(shared(shares), rel=1e-5)
    assert m.head == (1, 2)
    for values in found.lengths:
        values[..., 1] = 0.49  # separators send less than half
    assert FEW_MEASURES["sinks-broadcast"](found, closer).why.startswith("no head rests on a token that sends half")


def test_neighbours_from_positions(small: Lens) -> None:
    m = position(small, list(TEXTS), resting(small), None)
    shares = [sources.map_shares(sources.maps(small.trace(*text), 0, 3))["position", "position"] for text in TEXTS[:8]]
    assert (m.value, m.low, m.high) == pytest.approx(shared(shares), rel=1e-5)
    assert m.head == (0, 3) and m.labels == ["L0·H3"]


def test_a_layer_of_positions_alone_is_seen_as_such(small: Lens) -> None:
    """Word and type vectors of zero: all that keys differ by in the first layer is their position."""
    model = tiny.shaken(tf.BertModel(tf.BertConfig(**tiny.BERT)), 1)
    model.embeddings.word_embeddings.weight.data[:] = 0
    model.embeddings.token_type_embeddings.weight.data[:] = 0
    attention = model.encoder.layer[0].attention.self
    for module in (model.embeddings.LayerNorm, attention.query, attention.key):
        module.bias.data[:] = 0
    lens = Lens(model, tiny.wordpiece())
    m = position(lens, ["the cat sat on the mat"] * 3, resting(small), None)
    assert m.value == pytest.approx(1, abs=1e-4)


def test_columns_are_counted_where_their_interval_is_clear() -> None:
    rng = np.random.default_rng(0)
    values = np.array([0.1, 0.52, 0.9]) + rng.normal(0, 0.05, (20, 3))
    found = count_beyond([values], 0.5, "below")
    assert (found["low"], found["value"], found["high"]) == (1, 1, 2)
    assert found["other_bounds"] == [(0.75, 2, 2), (pytest.approx(1 / 3), 1, 1)]
    above = count_beyond([values, values[::-1] - 0.1], 0.5, "above")
    assert (above["low"], above["value"], above["high"]) == (1, 2, 2) and above["ends"].startswith("95 % for all heads")
    assert count_beyond([np.full((5, 2), np.nan)], 1, "below") == {"n": 0}


def broken() -> Lens:
    """By hand: a head without values, two heads alike, a head with one row, a layer that adds nothing."""
    model = tiny.shaken(tf.BertModel(tf.BertConfig(**tiny.BERT | {"num_hidden_layers": 3})), 2)
    first, second, last = (layer.attention for layer in model.encoder.layer)
    first.self.value.weight.data[:8] = 0
    first.self.value.bias.data[:8] = 0
    for name in ("query", "key"):
        for tensor in getattr(second.self, name).parameters():
            tensor.data[8:16] = tensor.data[:8]
    first.self.query.weight.data[24:] = 0  # one row for all tokens
    last.output.dense.weight.data[:] = 0
    last.output.dense.bias.data[:] = 0
    feed = model.encoder.layer[2].output.dense
    feed.weight.data[:] = 0
    feed.bias.data[:] = 0
    for norm in (
        last.output.LayerNorm,
        model.encoder.layer[1].output.LayerNorm,
        model.encoder.layer[2].output.LayerNorm,
    ):
        norm.weight.data[:] = 1
        norm.bias.data[:] = 0
    return Lens(model, tiny.wordpiece())


def test_dead_doubled_collapsed_and_idle_parts_are_found() -> None:
    lens = broken()
    texts = [f"the cat sat on the mat {'it was warm ' * n}" for n in range(9)]
    made = bl.report(lens, texts, "health", progress=False)
    told = {card.claim.name: card for card in made.cards}
    assert told["health-dead"].measured.head == (0, 0) and told["health-dead"].verdict == DIFFERS
    assert told["health-dead"].measured.value == 5  # with the four of the idle layer
    assert told["health-doubled"].measured.value == 2 and told["health-doubled"].verdict == DIFFERS
    assert told["health-doubled"].measured.head == (1, 0)
    assert told["health-collapsed"].measured.head == (0, 3) and told["health-collapsed"].verdict == DIFFERS
    assert told["health-idle"].measured.value == 1 and told["health-idle"].verdict == DIFFERS
    assert told["health-cut"].measured.value == 0 and told["health-unknown"].measured.value == 0


def test_rates_of_the_corpus(small: Lens) -> None:
    texts = ["the cat \N{SNOWMAN} sat"] * 30 + ["the cat sat " * 40] * 10
    made = bl.report(small, texts, "health-cut,health-unknown", texts=40, progress=False)
    cut, unknown = (card.measured for card in made.cards)
    traces = [small.trace(text, truncation=True) for text in texts]
    rate = sum(len(trace.report.unknown) for trace in traces) / sum(trace.n_tokens for trace in traces)
    assert (cut.low, cut.value, cut.high, cut.n) == (0.25, 0.25, 0.25, 40)
    assert unknown.low == unknown.value == unknown.high == pytest.approx(rate) and rate > 0.02
    assert [card.verdict for card in made.cards] == [DIFFERS, DIFFERS]
    assert [card.number for card in made.cards] == [
        "25 %",
        f"{100 * rate:.1f} %" if rate < 0.1 else f"{100 * rate:.0f} %",
    ]
    few = bl.report(small, texts[:3], "health-cut,health-unknown", texts=3, progress=False)
    assert [card.verdict for card in few.cards] == [HOLDS, DIFFERS]  # what is known needs no eight texts
    assert few.cards[0].interval == "counted, not estimated" and "(counted, not estimated)" in str(few.cards[0])


def test_long_texts_are_not_looked_at_closer(monkeypatch: pytest.MonkeyPatch, small: Lens) -> None:
    monkeypatch.setattr("bertlens.reports.few_texts.LONGEST", 5)
    made = bl.report(small, TEXTS, "vig-pieces,bonino-rank", texts=9, progress=False)
    assert {card.why for card in made.cards} == {TOO_LONG}
    assert FewTexts().pieces == []


# --- the probe ---


@pytest.fixture(scope="module")
def treebank(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Sentences whose words hang on the word behind them, but for the last."""
    lines = []
    for number in range(12):
        words = ["the", "warm", "cat", "sat", "it", "mat"][: 4 + number % 3]
        last = len(words)
        for at, word in enumerate(words, 1):
            head, name = (0, "root") if at == last else (at + 1, "det")
            lines.append(f"{at}\t{word}\t_\tNOUN\t_\t_\t{head}\t{name}\t_\t_\n")
        lines.append("\n")
    path = tmp_path_factory.mktemp("treebank") / "next.conllu"
    path.write_text("".join(lines), encoding="utf-8")
    return path


def test_a_probe_finds_what_a_head_shows(treebank: Path) -> None:
    """A model whose first head looks at the next token alone: the probe finds every head."""
    config = tf.BertConfig(**tiny.BERT | {"num_hidden_layers": 1})
    model = tiny.shaken(tf.BertModel(config), 0)
    width = config.hidden_size
    table = torch.zeros(config.max_position_embeddings, width)
    angle = torch.arange(config.max_position_embeddings) * 0.7
    table[:, 0], table[:, 1] = angle.sin(), angle.cos()
    model.embeddings.position_embeddings.weight.data[:] = 40 * table
    model.embeddings.LayerNorm.weight.data[:] = 1
    model.embeddings.LayerNorm.bias.data[:] = 0
    attention = model.encoder.layer[0].attention.self
    turn = torch.zeros(8, width)
    c, s = np.cos(0.7), np.sin(0.7)
    turn[0, 0], turn[0, 1], turn[1, 0], turn[1, 1] = c, s, -s, c  # the angle of the next position
    key = torch.zeros(8, width)
    key[0, 0], key[1, 1] = 1, 1
    for projection, wanted in ((attention.query, 3 * turn), (attention.key, 3 * key)):
        projection.weight.data[:8] = wanted
        projection.bias.data[:8] = 0
    lens = Lens(model, tiny.wordpiece())
    found = attention_probe(lens, treebank)
    assert (found["probe"] == found["words"]).all() and (found["next"] == found["words"]).all()
    assert found["previous"].sum() == 0 and found["words"].tolist() == [3, 4, 5] * 4
    made = bl.report(lens, treebank, "clark-probe", texts=12, progress=False)
    card = made.cards[0]
    assert card.measured.value == 0 and card.measured.n == 12
    assert (card.verdict, card.why) == (CANNOT, "the number has no interval: all 12 sentences are alike")


def test_a_probes_weights_are_the_best_ones(small: Lens, treebank: Path) -> None:
    """Beside a naive probe in float64, trained by plain gradient descent on the paper's formula."""
    found = attention_probe(small, treebank, limit=8)
    sentences = [*read_treebank(treebank)][:8]
    features = []
    for sentence in sentences:
        trace = small.trace_words(sentence.words)
        alpha = torch.cat([word_attention(trace, layer, len(sentence)) for layer in range(3)])
        features.append(torch.cat([alpha, alpha.transpose(1, 2)]))
    for half in (0, 1):
        weights = torch.zeros(24, dtype=torch.float64, requires_grad=True)
        search = torch.optim.Adam([weights], lr=0.3)
        for _ in range(600):
            search.zero_grad()
            losses = []
            for at in range(half, 8, 2):
                for word, head in enumerate(sentences[at].heads):
                    if head >= 0:
                        scores = torch.einsum("k,ki->i", weights, features[at][:, word])
                        others = [i for i in range(len(scores)) if i != word]
                        losses.append(-(scores[head] - torch.logsumexp(scores[others], 0)))
            (sum(losses) / len(losses) + 1e-3 * weights.square().sum()).backward()
            search.step()
        for at in range(1 - half, 8, 2):
            right = 0
            for word, head in enumerate(sentences[at].heads):
                if head >= 0:
                    scores = torch.einsum("k,ki->i", weights.detach(), features[at][:, word])
                    scores[word] = -torch.inf
                    right += int(scores.argmax()) == head
            assert found["probe"][at] == right
