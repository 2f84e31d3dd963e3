"""Numbers of cards beside the public functions on the same texts; files, pages and what cannot be reported."""

from __future__ import annotations

import json
import math
import random
import re
from dataclasses import replace
from html import escape
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
import transformers as tf

import bertlens as bl
from bertlens import InputError, Lens, SelectionError
from bertlens.base import colors
from bertlens.cli import main
from bertlens.measures import norms
from bertlens.measures.categories import NAMES, categories
from bertlens.measures.significance import mean_interval, share_interval
from bertlens.measures.statistics import SURVEY_NAMES
from bertlens.reports import CLAIMS, report_run, rules
from bertlens.reports.attention_passes import PASSES
from bertlens.reports.claims import BY_NAME
from bertlens.reports.excerpt_pairs import pairs
from bertlens.reports.registry import heads_above, middle
from bertlens.reports.report_comparison import read
from bertlens.reports.report_page import _card  # what is written of one card
from bertlens.reports.rules import CANNOT, DIFFERS, HOLDS
from bertlens.reports.text_numbers import TextNumbers, gather
from bertlens.survey import attention_gradients, best_heads, frequency_correlation, head_distances, head_stats, resolve
from bertlens.survey.corpus import Numbered
from bertlens.text.excerpts import paragraphs
from unit import tiny

TEXTS = [(a[:60], b[:50]) for a, b in pairs()[:10]]


@pytest.fixture(scope="module")
def small() -> Lens:
    torch.manual_seed(0)
    model = tf.BertForMaskedLM(tf.BertConfig(**tiny.BERT | {"num_hidden_layers": 4, "max_position_embeddings": 96}))
    return Lens(tiny.shaken(model, 3), tiny.wordpiece())


@pytest.fixture(scope="module")
def report(small: Lens) -> Any:
    return bl.report(small, TEXTS, texts=10, progress=False)


@pytest.fixture(scope="module")
def per_text(small: Lens) -> Any:
    """Statistics of each text alone."""
    return [head_stats(small, [text], progress=False) for text in TEXTS]


def test_without_a_corpus_the_excerpts_are_read_in_halves() -> None:
    texts = [text for some in paragraphs().values() for text in some]
    assert len(pairs()) >= 200
    for a, b in pairs():
        assert f"{a} {b}" in texts and a[-1] in ".!?”’" and not a.endswith(("Mr.", "Mrs.", "Dr."))
    lengths = [min(map(len, pair)) / sum(map(len, pair)) for pair in pairs()]
    assert np.median(lengths) > 0.35
    of = [[f"{a} {b}" in some for some in paragraphs().values()].index(True) for a, b in pairs()]
    assert of[:100] == [0, 1] * 50
    one = Lens(tiny.FAMILIES["gpt2"].model(), tiny.gpt_like())
    assert report_run.default_texts(one)[0] == " ".join(pairs()[0])


def test_middle_layers_are_the_papers_and_the_same_places_elsewhere() -> None:
    assert middle(12) == [5, 6, 7, 8, 9] and middle(6) == [2, 3, 4] and middle(24) == [*range(10, 20)]
    assert middle(1) == [0] and middle(2) == [1] and middle(4) == [2]


def test_numbers_are_those_of_the_public_functions(small: Lens, report: Any, per_text: list[Any]) -> None:
    stats = head_stats(small, TEXTS, progress=False)
    traces = [small.trace(*text) for text in TEXTS]

    def each(name: str, by: str = "weight") -> np.ndarray:
        return np.stack([one.values(name, by) for one in per_text])

    layers, mid = stats.layers(), middle(4)
    lengths = np.array([trace.n_tokens for trace in traces])

    def ratio(name: str) -> np.ndarray:
        with np.errstate(invalid="ignore"):
            return each(name, "norm").mean((1, 2)) / each(name).mean((1, 2))

    mixed = np.stack([one.layers()[["mixing attnresln-n", "mixing attnres-n"]].mean() for one in per_text])
    with np.errstate(invalid="ignore"):
        late = each("punctuation")[:, -1:].mean((1, 2)) / each("punctuation")[:, :1].mean((1, 2))
    weights = each("first") + each("separator")
    sent = each("first", "norm") + each("separator", "norm")
    by_layer = np.stack([one.layers()["mixing attnresln-n"] for one in per_text])
    with_residual = np.stack([one.layers()[["mixing attnres-n", "mixing attn-n"]].mean() for one in per_text])
    inputs = np.stack([one.layers()["cone input"] for one in per_text])
    gradients = []
    for text in TEXTS[:8]:
        table = attention_gradients(small, [text], batch_size=1, progress=False)
        means = table[table["layer"].isin(mid)][["separator", "other"]].mean()
        gradients.append(means["separator"] / means["other"])
    same = np.arange(16)[:, None] // 4 == np.arange(16) // 4
    distances = [head_distances(small, [text], progress=False) for text in TEXTS]
    inside = [d[same].sum() / (16 * 3) / d[~same].mean() for d in distances]
    cone = np.stack([one.layers()["cone output"] for one in per_text])
    least = cone.mean(0).argmin()
    states = [[s.abs() for s in t.hidden_states] for t in traces]
    sizes = np.array([[min(float(s.max() / s.median()) / 1000, float(s.max()) / 100) for s in t] for t in states])
    expected = {
        "clark-separator": each("separator")[:, mid].mean((1, 2)),
        "clark-separator-to-separator": each("separator_to_separator")[:, mid].mean((1, 2)),
        "clark-broad-first": each("entropy")[:, :1].mean((1, 2)) - each("entropy")[:, 1:].mean((1, 2)),
        "clark-first-row": each("entropy_first")[:, 3].mean(1) / np.log(lengths),
        "clark-punctuation-late": late[np.isfinite(late)],
        "clark-first-early": each("first")[:, :1].mean((1, 2)) / each("first")[:, -1:].mean((1, 2)),
        "kobayashi-special": sent.mean((1, 2)) / weights.mean((1, 2)),
        "kobayashi-depth": by_layer[:, -1] / by_layer[:, 0],
        "kobayashi-residual": with_residual[:, 0] / with_residual[:, 1],
        "bonino-cone-grows": cone[:, -1] - inputs[:, 0],
        "clark-gradient": np.array(gradients),
        "clark-alike": np.array(inside),
        "kobayashi-separator": ratio("separator"),
        "kobayashi-punctuation": ratio("punctuation")[np.isfinite(ratio("punctuation"))],
        "kobayashi-mixing": mixed[:, 0],
        "kobayashi-layernorm": mixed[:, 0] / mixed[:, 1],
        "bonino-cone": cone[:, least] - 1 / np.sqrt(lengths),
        "sinks-massive": sizes[:, sizes.mean(0).argmax()],
    }
    for name, values in expected.items():
        m, ends = report.claim(name).measured, [float(x) for x in mean_interval(values)]
        if report.claim(name).claim.rule.unit == "share":
            ends[1:] = share_interval(values, np.ones(len(values)), smooth=True)
        assert (m.value, m.low, m.high) == pytest.approx(ends, rel=2e-4), name
        assert m.n == len(values), name
    assert report.claim("kobayashi-mixing").measured.series["+ LayerNorm"] == pytest.approx(
        layers["mixing attnresln-n"]
    )
    assert report.claim("clark-separator").measured.series["first token"] == pytest.approx(
        stats.values("first").mean(1), rel=1e-5
    )
    tokens = frequency_correlation(small, TEXTS, progress=False)
    card = report.claim("kobayashi-frequency")
    assert card.measured.value == pytest.approx(tokens.rho, abs=2e-3) and card.verdict == CANNOT
    needed = math.ceil(100_000 * len(TEXTS) / tokens.n)
    assert f"{tokens.n:,} tokens" in card.why and f"take {needed:,} texts of this length" in card.why
    for name, columns in (
        ("vig-next", ["next"]),
        ("vig-previous", ["previous"]),
        ("vig-same-word", ["same_word"]),
        ("vig-separator", ["separator"]),
        ("clark-neighbours", ["previous", "next"]),
        ("sinks-resting", ["first", "separator"]),
    ):
        m, most = report.claim(name).measured, stats.table()[columns].max(axis=1).to_numpy().reshape(4, 4)
        assert m.head_value == pytest.approx(most.max(), rel=1e-5)
        assert m.head == np.unravel_index(most.argmax(), (4, 4)), name
    shares = stats.gates().iloc[:, 4:]
    kinds = ["directional", "open", "closed", "forward contextual", "backward contextual", "cluster", "instance"]
    assert report.claim("bonino-gates").measured.value == (shares[kinds].max() > 0.5).sum()


def test_the_resting_place_has_the_length_of_its_tokens(small: Lens) -> None:
    """Heads that rest by hand: one on the first token, two on separators; of the others nothing counts."""
    found = report_run.gather(small, list(report_run.draw(small, TEXTS, 10, 10, 0).texts), progress=False)
    first, separator = SURVEY_NAMES.index("first"), SURVEY_NAMES.index("separator")
    for values in found.values["weight"]:
        values[first], values[separator] = 0.1, 0.1
        values[first, 1, 2] = values[separator, 2, 0] = values[separator, 3, 3] = 0.31
    ratios = []
    for text in TEXTS:
        trace = small.trace(*text)
        kinds = categories(trace, (".", ","))
        ratio = []
        for layer, head, kind in ((1, 2, "first"), (2, 0, "separator"), (3, 3, "separator")):
            length = norms.transformed_norm(trace, layer)[head].double()
            ratio.append(
                float(length[kinds == NAMES.index(kind)].mean() / length[kinds == NAMES.index("other")].mean())
            )
        ratios.append(np.mean(ratio))
    m = report_run.MEASURES["sinks-null"](found)
    assert (m.value, m.low, m.high) == pytest.approx([float(x) for x in mean_interval(np.array(ratios))], rel=1e-4)
    m = report_run.MEASURES["sinks-resting"](found)
    assert m.value == pytest.approx(3 / 16) and "1 on the first token, 2 on the separators" in m.note


def test_heads_are_counted_where_their_interval_is_clear() -> None:
    """Two heads clearly above, one around the bound, one below: 2 to 3 of them."""
    rng = np.random.default_rng(0)
    values = np.stack([np.array([[0.9, 0.7], [0.52, 0.1]]) + rng.normal(0, 0.05, (2, 2)) for _ in range(20)])
    m = heads_above([values], 0.5, "")
    assert (m.low, m.value, m.high, m.head) == (2, 3, 3, (0, 0))
    assert m.other_bounds == [(0.75, 1, 1), (pytest.approx(1 / 3), 3, 3)]
    assert m.series["most of any head"] == pytest.approx([values[:, 0, 0].mean(), values[:, 1, 0].mean()], rel=1e-5)
    m = heads_above([values], 0.5, "", even=0.1)
    assert m.chance == 0 and m.note.endswith("; even rows would give 10 %.")


def test_no_head_does_most_of_nothing(report: Any) -> None:
    card = report.claim("vig-next")
    shown = {}
    for value in (0.3, 4e-7, 0.0):
        measured = replace(card.measured, head=(0, 1), head_value=value)
        head = _card(replace(card, measured=measured), set())["head"]
        shown[value] = head is not None and "does it most" in head["which"]
    assert shown == {0.3: True, 4e-7: False, 0.0: False}


def test_what_even_rows_give_is_the_chance_of_short_texts() -> None:
    """Of a model that looks at all alike, where two of nine tokens are separators, and where one of three is."""
    torch.manual_seed(0)
    lens = Lens(tf.BertModel(tf.BertConfig(**tiny.BERT, initializer_range=1e-6)), tiny.wordpiece())
    for texts, even, chance in (([("the cat", "it sat on the")] * 4, 2 / 9, 0.0), (["cat"] * 4, 1 / 3, 1.0)):
        g = gather(lens, [Numbered(n, text) for n, text in enumerate(texts)], progress=False)
        assert g.even("separator") == pytest.approx(even) == pytest.approx(float(g.of("separator").mean()), abs=1e-5)
        assert all(g.even(name) == pytest.approx(float(g.of(name).mean()), abs=1e-5) for name in ("first", "next"))
        assert report_run.MEASURES["clark-separator"](g).chance == pytest.approx(even)
        resting = report_run.MEASURES["sinks-resting"](g)
        assert resting.chance == chance == resting.value  # all heads, or none, without any head's doing
        note = report_run.MEASURES["vig-separator"](g).note
        assert note == f"The head with most gives {100 * even:.0f} %; even rows would give {100 * even:.0f} %."


def test_syntax_and_coreference_of_a_treebank(small: Lens, treebank: Path) -> None:
    found = bl.report(small, treebank, ["clark-syntax", "clark-coreference"], texts=80, progress=False)
    table = best_heads(small, treebank, least=50, progress=False)
    table = table[table["relation"].isin(["det", "amod", "nsubj", "case", "obj"])]
    m = found.claim("clark-syntax").measured
    assert m.n == len(table) == 5 and m.value == (table["low"] > table["offset_accuracy"]).mean()
    assert m.series["head"] == pytest.approx(table["accuracy"].tolist()) and m.labels == table["relation"].tolist()
    row = resolve(small, treebank, progress=False).best_heads().iloc[0]
    m = found.claim("clark-coreference").measured
    assert (m.value, m.low, m.high) == pytest.approx(
        [row["accuracy"] - row["nearest"], row["gain_low"], row["gain_high"]]
    )
    assert (m.n, m.units) == (4, "documents") and m.head == (row["layer"], row["head"])


def test_a_relation_counts_where_its_whole_interval_is_above_the_offset(monkeypatch: pytest.MonkeyPatch) -> None:
    names = ["det", "obj", "amod", "case", "dep"]
    rows = {"relation": names, "layer": 0, "head": 1, "accuracy": 0.8, "low": [0.7, 0.6, 0.4, 0.2, 0.9], "high": 0.9}
    table = pd.DataFrame(rows | {"n": 60, "offset_accuracy": 0.5})
    monkeypatch.setattr(
        "bertlens.reports.attention_passes.decide", lambda *_, **__: SimpleNamespace(best_heads=lambda least: table)
    )
    m = PASSES["clark-syntax"](None, [], 1, Path("a.conllu"))  # type: ignore[arg-type]
    assert (m.value, m.n, m.labels) == (0.5, 4, names[:4])


def test_the_same_texts_give_the_same_json(small: Lens, report: Any, tmp_path: Path) -> None:
    again = bl.report(small, TEXTS, texts=10, progress=False)
    one, other = (json.loads(each.to_json()) for each in (report, again))
    assert {*one.pop("made")} == {*other.pop("made")} == {"date", "seconds"}
    assert one == other and one["corpus"]["texts"] == 10 and one["corpus"]["of"] == 10
    assert one["seed"] == 0 and one["model"]["weights"] and len(one["claims"]) == len(CLAIMS)
    report.save(tmp_path / "a.json")
    assert json.loads((tmp_path / "a.json").read_text(encoding="utf-8"))["claims"] == one["claims"]
    assert "texts=10, seed=0)" in one["python"]


def test_table_and_cards_say_the_same(report: Any) -> None:
    table = report.table.set_index("claim")
    for card in report.cards:
        row = table.loc[card.claim.name]
        assert row["verdict"] == card.verdict and row["found"] == card.claim.found
        value = card.measured.value
        assert row["value"] == pytest.approx(value, rel=1e-5) if math.isfinite(value) else not row["value"] > 0
        assert card.claim.sentence in str(card) and card.verdict in str(card)
    assert sum(report.verdicts.values()) + sum(report.checks.values()) == len(CLAIMS)
    with pytest.raises(SelectionError, match="no claim 'clark-all' in this report"):
        report.claim("clark-all")


def test_a_notebook_shows_a_card_with_the_numbers_of_its_chart(report: Any) -> None:
    for card in report.cards:
        curves = card.to_dict()["series"]
        assert list(card.table) == list(curves)
        for name, values in curves.items():
            assert card.table[name].fillna(0).tolist() == pytest.approx([value or 0 for value in values], rel=1e-5)
        shown = card._repr_html_()
        assert repr(card) == str(card) and escape(str(card)) in shown and escape(card.measured.note) in shown
        assert shown.count("<tr") == (1 + len(card.table) if curves else 0)
    mixing, order = (report.claim(name).table for name in ("kobayashi-mixing", "kobayashi-order"))
    assert mixing.index.tolist() == ["L0", "L1", "L2", "L3"]  # the small model's layers
    assert order.index.tolist() == ["Attn-W", "Attn-N", "Res-W", "Res-N", "ResLn-N"]  # bars


def html_of(report: Any) -> str:
    return str(report._repr_html_())


def test_a_notebook_shows_the_cards_of_a_report(report: Any) -> None:
    """Every card, as text, in elements that a notebook keeps where it trusts nobody, and in little room."""
    shown = html_of(report)
    tags = set(re.findall(r"<([a-z0-9]+)", shown))
    assert tags <= {"div", "p", "b", "small", "details", "summary", "ul", "li", "code"}, tags
    assert shown.count("<details") == len(report.cards) and len(shown) < 150_000
    for card, drawn in zip([*report.groups[0], *report.groups[1]], shown.split("<details")[1:], strict=True):
        for text in (card.claim.sentence, card.verdict, card.number, card.claim.found, card.measured.note, card.why):
            assert escape(text) in drawn, card.claim.name
    grounds = {*re.findall(r"background:(#\w+)", shown)}
    assert grounds and all(colors.ink_on(ground) == "#ffffff" for ground in grounds)  # white on them is read
    assert not re.search(r"[;']color:(?!#ffffff;background)", shown)  # all else has the notebook's own ink
    hostile = replace(report, facts={**report.facts, "model": {**report.facts["model"], "model": "<img src=x>"}})
    assert "<img" not in html_of(hostile) and "&lt;img src=x&gt;" in html_of(hostile)


def test_the_page_holds_every_card_and_the_heads_it_names(report: Any, tmp_path: Path) -> None:
    text = report.to_html(tmp_path / "r.html", progress=False).read_text()
    assert len(text) <= 5_000_000 and text.isascii()
    for card in report.cards:
        assert text.count(f'<article id="{card.claim.name}"') == 1
        assert f'<a href="#{card.claim.name}">' in text
        if card.measured.head is not None:
            layer, head = card.measured.head
            assert f'href="#bertlens=%7B%22layer%22%3A{layer}%2C%22head%22%3A{head}%7D"' in text
    assert re.findall(r"https?://[^\s\"'<]+", text.split("<main")[0]) == []
    papers = [card.verdict for card in report.cards if card.claim.group != "health"]
    sound = [card.verdict for card in report.cards if card.claim.group == "health"]
    assert len(sound) == 7 and text.count("the paper (") == len(papers) and text.count("<dt>expected</dt>") == 7
    words = {HOLDS: ("holds", "hold"), DIFFERS: ("differs", "differ"), CANNOT: ("cannot be told",) * 2}
    counted = [
        [f"{n} {words[word][n != 1]}" for word in words if (n := verdicts.count(word))] for verdicts in (papers, sound)
    ]
    above, health = text.split('<h2 id="health">')
    for part, counts in ((above, counted[0]), (health, counted[1])):
        shown = re.search(r'<p class="counts">(.*?)</p>', part)
        assert shown and re.findall("<b[^>]*>(.*?)</b>", shown[1]) == counts
    # and what is said without the page says the same two numbers
    said = f"of the papers' claims {', '.join(counted[0])}; of the checks of the model {', '.join(counted[1])}"
    assert report.said == said and f"10 texts: {said})" in repr(report)
    assert re.findall("<b[^>]*>(.*?)</b>", html_of(report).split("<details")[0])[1:] == counted[0]
    untrained = sum(not claim.of_training for claim in CLAIMS if claim.group != "health")
    assert text.count("May hold of a random model too.") == untrained
    assert f"{len(papers) - untrained} of the {len(papers)} claims test what was learnt: of a random model" in text
    assert f"{untrained} may hold of a random model too" in text
    assert "intervals: 95 %" not in text.split("<main")[0]  # each card says what its own is of
    articles = {found[1]: found[0] for found in re.finditer(r'<article id="([a-z-]+)".*?</article>', text, re.S)}
    for card in report.cards:
        said = articles[card.claim.name]
        assert said.count(f"</b> ({card.interval})") == bool(card.interval), card.claim.name
        assert said.count("Rule, with a bound of ours: holds if") == card.claim.rule.ours
        assert card.turn in said
        if card.claim.rule.unit == "share" and card.interval and card.claim.name != "kobayashi-order":  # a difference
            assert 0 <= card.measured.low <= card.measured.value <= card.measured.high <= 1, card.claim.name
    for name, of in (
        ("vig-next", "95 % for all heads together, by texts"),
        ("bonino-direction", "95 %, by heads"),
        ("health-doubled", "those in each of 10 texts, those in one or more"),
        ("health-cut", "counted, not estimated"),
        ("clark-separator", "95 %, by texts"),
    ):
        assert f"({of})" in articles[name], name


def test_an_activation_is_massive_by_both_parts_of_the_papers_rule(small: Lens) -> None:
    """1,000 times the median and above 100, not one of them."""
    found = report_run.gather(small, list(report_run.draw(small, TEXTS, 10, 10, 0).texts), progress=False)
    for ratio, size, expected in ((2000.0, 50.0, 0.5), (500.0, 900.0, 0.5), (2000.0, 300.0, 2.0)):
        for largest, sizes, by in zip(found.largest, found.size, np.linspace(0.99, 1.01, len(found.size)), strict=True):
            largest[:], sizes[:] = 1.0, 1.0
            largest[2], sizes[2] = ratio * by, size * by
        m = report_run.MEASURES["sinks-massive"](found)
        assert m.value == pytest.approx(expected) and f"It is {size:.1f}, {ratio:,.0f} medians" in m.note
        assert rules.verdict(BY_NAME["sinks-massive"].rule, m)[0] == (HOLDS if expected > 1 else DIFFERS)


def test_names_of_models_and_files_are_text(small: Lens, tmp_path: Path) -> None:
    path = tmp_path / "<b>x&.txt"
    path.write_text("the cat sat on the mat.\nit was warm\n", encoding="utf-8")
    made = bl.report(small, path, "bonino-cone", progress=False)
    text = made.to_html(progress=False)
    assert "<b>x" not in text and "&lt;b&gt;x&amp;.txt" in text


def test_few_texts_a_model_without_separator_or_loss_and_a_causal_one() -> None:
    lens = Lens(tiny.FAMILIES["gpt2"].model(), tiny.gpt_like())
    made = bl.report(lens, ["the cat sat on the mat"] * 9, progress=False)
    why = {card.claim.name: card.why for card in made.cards}
    assert why["clark-separator"] == why["kobayashi-separator"] == "the tokenizer puts no separator into these texts"
    assert why["clark-gradient"].startswith("there is no loss") and "no treebank" in why["clark-syntax"]
    one = bl.report(lens, ["the cat"], ["clark-first-row", "vig-next", "bonino-gates", "sinks-resting"], progress=False)
    assert [card.why for card in one.cards] == ["1 text is too few: at least 8"] * 4
    assert "the cat" in one.to_html(progress=False)


def test_an_interrupt_leaves_a_report_of_what_was_done(small: Lens, monkeypatch: pytest.MonkeyPatch) -> None:
    add = TextNumbers.add

    def stops(self: TextNumbers, *given: Any) -> None:
        if self.n == 3:
            raise KeyboardInterrupt
        add(self, *given)

    monkeypatch.setattr(TextNumbers, "add", stops)
    with pytest.warns(UserWarning, match="interrupted: the report is of the 3 texts"):
        made = bl.report(small, TEXTS, "bonino", texts=10, progress=False)
    assert made.facts["corpus"]["texts"] == 3 and made.facts["corpus"]["drawn"] == 10

    def stops_at_once(self: TextNumbers, *given: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(TextNumbers, "add", stops_at_once)
    with pytest.raises(KeyboardInterrupt):
        bl.report(small, TEXTS, "bonino", texts=10, progress=False)


def test_texts_are_drawn_by_seed_and_by_time(small: Lens) -> None:
    every = [f"the cat sat {'on the mat ' * (n % 3)}{n}" for n in range(500)]
    plan = report_run.draw(small, every, 10, 40, 1)
    assert [entry.number for entry in plan.texts] == sorted(random.Random(1).sample(range(500), 40)) and plan.of == 500
    assert len(report_run.draw(small, every, 1e-6, None, 0).texts) == 1
    assert len(report_run.draw(small, every, 100, None, 0).texts) == 200
    assert len(report_run.draw(small, iter(every * 20), 1e5, 10_000, 0).texts) == 10_000


def test_bad_input(small: Lens, tmp_path: Path) -> None:
    for given, message in (
        ({"corpus": []}, "the corpus holds no texts"),
        ({"corpus": [3]}, "item 0 of the corpus is no text"),
        ({"corpus": tmp_path / "no.txt"}, "no corpus at"),
        ({"minutes": 0}, "minutes is a time above 0"),
        ({"minutes": math.nan}, "minutes is a time above 0"),
        ({"texts": 0}, "texts is how many"),
        ({"texts": 1.5}, "texts is how many"),
    ):
        with pytest.raises(InputError, match=message):
            bl.report(small, **{"corpus": TEXTS, "progress": False} | given)  # type: ignore[arg-type]
    with pytest.raises(SelectionError, match="no claim 'clarke': there are vig, clark"):
        bl.report(small, TEXTS, "vig,clarke")
    with pytest.raises(InputError, match="takes a lens first, not BertForMaskedLM"):
        bl.report(small.model, TEXTS)  # type: ignore[arg-type]
    (tmp_path / "latin.txt").write_bytes("Stühle\n".encode("latin-1"))
    with pytest.raises(InputError, match=r"line 1 of latin.txt cannot be read as a corpus in UTF-8"):
        bl.report(small, tmp_path / "latin.txt", progress=False)
    broken = tiny.bert()
    broken.encoder.layer[1].attention.self.query.weight.data[:] = torch.nan
    with pytest.raises(InputError, match="NaN"):
        bl.report(Lens(broken, tiny.wordpiece()), TEXTS, progress=False)


def test_the_command_says_what_it_will_take_and_writes_page_and_numbers(
    small: Lens, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bertlens.cli.command_line.load_lens", lambda *given, **options: small)
    corpus, output = tmp_path / "c.txt", tmp_path / "r.html"
    corpus.write_text("the cat sat on the mat, it was warm.\n" * 12, encoding="utf-8")
    assert main(["report", "model", str(corpus), "-o", str(output), "--claims", "kobayashi-depth,clark-first-row"]) == 0
    first, last = capsys.readouterr().out.splitlines()
    assert first.startswith("12 of 12 texts (--texts 12), about 0.") and "at most 5 MB" in first
    assert output.is_file() and f"{output.stat().st_size:,} bytes" in last
    assert [c["name"] for c in json.loads((tmp_path / "r-numbers.json").read_text())["claims"]] == [
        "clark-first-row",
        "kobayashi-depth",
    ]
    for arguments, message in (
        (["-o", str(tmp_path / "r.pdf")], "neither"),
        (["-o", str(tmp_path / "no" / "r.html")], "no"),
        (["-o", str(output), "--claims", "x"], "no claim 'x'"),
    ):
        assert main(["report", "model", str(corpus), *arguments]) == 2
        said = capsys.readouterr().err
        assert message in said and said.count("\n") == 1


def test_a_check_tells_what_turned_round(
    small: Lens, report: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bertlens.cli.command_line.load_lens", lambda *given, **options: small)
    corpus, old = tmp_path / "c.txt", tmp_path / "old.json"
    corpus.write_text(
        "\n".join(f"the cat sat on the mat, it was{' warm' * n}." for n in range(1, 10)), encoding="utf-8"
    )
    command = ["report", "model", str(corpus), "-o", str(tmp_path / "r.json"), "--claims", "vig-next,clark-first-row"]
    assert main(command) == 0
    now = json.loads((tmp_path / "r.json").read_text())
    assert [claim["verdict"] for claim in now["claims"]] == [DIFFERS, HOLDS]
    for verdicts, status, said in (
        ([DIFFERS, HOLDS], 0, ""),
        ([HOLDS, HOLDS], 1, "vig-next: holds before, differs now"),
        ([DIFFERS, DIFFERS], 1, "clark-first-row: differs before, holds now"),
        ([CANNOT, HOLDS], 0, "warning: vig-next: cannot be told before, differs now"),
        ([HOLDS, CANNOT], 1, "vig-next: holds before, differs now"),
    ):
        for claim, verdict in zip(now["claims"], verdicts, strict=True):
            claim["verdict"] = verdict
        old.write_text(json.dumps(now), encoding="utf-8")
        capsys.readouterr()
        assert main([*command, "--check", str(old)]) == status
        lines = capsys.readouterr().err.splitlines()
        assert [line for line in lines if " before, " in line][:1] == ([said] if said else [])
    assert main([*command, "--against", str(tmp_path / "none.json")]) == 2


def test_a_file_that_is_no_report_is_found_out_before_the_run(
    small: Lens, report: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded: list[int] = []
    monkeypatch.setattr("bertlens.cli.command_line.load_lens", lambda *_: loaded.append(1))
    corpus, old, sound = tmp_path / "c.txt", tmp_path / "old.json", json.loads(report.to_json())
    corpus.write_text("the cat sat on the mat, it was warm.\n" * 9, encoding="utf-8")

    def of(**others: Any) -> str:
        return json.dumps(sound | others)

    def of_claim(**others: Any) -> str:
        return of(claims=[sound["claims"][0] | others])

    large = "1" + "0" * 400
    texts = ["{}", "[1]", "x", "", "5", "null", "[" * 100_000, '{"a":' * 100_000, of(bertlens_report=2)]
    texts += [of(claims=wrong) for wrong in ({}, "abc", 5, None, [5], [[]], [{"name": "a", "verdict": "holds"}])]
    texts += [of_claim(name=wrong) for wrong in (["a"], 5, None)] + [
        of_claim(verdict=wrong) for wrong in ("x", ["holds"])
    ]
    texts += [of_claim(**{name: "1"}) for name in ("value", "low", "high")] + [of_claim(value=True), of_claim(unit=5)]
    texts += [of_claim(each="abc"), of_claim(each=["1"]), of_claim(each=[[1]]), of_claim(value=float("nan"))]
    texts += [of(corpus=wrong) for wrong in (None, "x", [])] + [of(model=wrong) for wrong in ({}, "x", {"model": 5})]
    texts += [of_claim(value=0.125).replace("0.125", large), "1" * 5000]
    for text in texts:
        old.write_text(text, encoding="utf-8")
        for option in ("--check", "--against"):
            assert main(["report", "model", str(corpus), "-o", str(tmp_path / "r.html"), option, str(old)]) == 2, text[
                :80
            ]
            said = capsys.readouterr().err
            assert "holds no numbers of a report" in said and said.count("\n") == 1
    assert loaded == [] and not (tmp_path / "r.html").exists()
    for data in (of().encode("utf-8-sig"), of().encode("utf-16"), of(corpus={}).encode()):
        old.write_bytes(data)
        assert read(old)["claims"] == sound["claims"]
    for wrong in ({}, 5, [], {**sound, "claims": [5]}):
        with pytest.raises(InputError, match="against= holds no numbers of a report"):
            report.to_html(against=wrong, progress=False)


def test_another_models_numbers_stand_in_the_same_cards(report: Any) -> None:
    other = json.loads(report.to_json())
    other["model"]["model"] = "another <model>"
    (claim,) = (claim for claim in other["claims"] if claim["name"] == "clark-separator")
    claim.update(value=0.613, low=0.6, high=0.625, verdict="holds")
    text = report.to_html(against=other, progress=False)
    assert '61 % [60, 62] <b class="holds">holds</b>' in text and "another &lt;model&gt;" in text
    assert text.count("another &lt;model&gt;") == len(report.cards)
