"""Numbers, scores, similarities, tags and masked words: answers are the model's own, scores are those of libraries."""

from __future__ import annotations

import copy
import json
import math
import re
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
import transformers as tf
from scipy import stats as st
from sklearn import metrics as m

import bertlens as bl
from bertlens import whatif
from bertlens.errors import BertLensError, InputError, ModelError
from bertlens.measures.ranks import spearman
from bertlens.measures.significance import share_interval
from bertlens.tasks import ablation_effects, correlations, entities, mistakes
from bertlens.tasks.ablations import Ablation
from bertlens.tasks.kinds.classes import rivals
from bertlens.tasks.task_page import page_of
from bertlens.tasks.view.task_fields import TOLD
from bertlens.whatif.head_study import HeadSite
from unit import tiny
from unit.tasks.classifier import texts_of

TAGS = ["O", "B-CAT", "I-CAT", "B-MAT", "I-MAT"]
WORDS = ["cat", "mat", "warm", "very", "it"]


def headed(kind: str, seed: int = 0, **settings: Any) -> bl.Lens:
    torch.manual_seed(seed)
    config = tf.BertConfig(**tiny.BERT | settings)
    return bl.Lens(tiny.shaken(getattr(tf, kind)(config), seed), tiny.wordpiece())


def numbers(n: int, seed: int = 0) -> list[tuple[str, float]]:
    random = np.random.default_rng(seed)
    return list(zip(texts_of(n, seed), random.normal(3, 2, n).tolist(), strict=True))


def tagged(n: int, names: list[str] = TAGS, seed: int = 0) -> list[tuple[list[str], list[str]]]:
    random = np.random.default_rng(seed)
    texts = [text.split() for text in texts_of(n, seed)]
    texts[0] = ["unbelievable", "cats", "sat"]  # words of several tokens
    return [(words, random.choice(names, len(words)).tolist()) for words in texts]


def masked(n: int, seed: int = 0) -> list[tuple[str, str]]:
    random = np.random.default_rng(seed)
    found = []
    for text in texts_of(n, seed):
        words = text.split()
        words.insert(int(random.integers(len(words) + 1)), "[MASK]")
        found.append((" ".join(words), str(random.choice(WORDS))))
    return found


def scored_pairs(n: int, seed: int = 0) -> list[tuple[tuple[str, str], float]]:
    random = np.random.default_rng(seed)
    pairs = zip(texts_of(n, seed), texts_of(n, seed + 1), strict=True)
    return list(zip(pairs, random.integers(0, 6, n).astype(float).tolist(), strict=True))


def bi_encoder(**settings: Any) -> bl.Lens:
    from unit import tiny_encoders

    return bl.Lens(tiny_encoders.encoder(**settings))


def cross_encoder() -> bl.Lens:
    from unit import tiny_encoders

    return bl.Lens(tiny_encoders.crossed())


MADE: dict[str, Any] = {
    "number": lambda: bl.task(headed("BertForSequenceClassification", num_labels=1), numbers(60), progress=False),
    "similarity": lambda: bl.task(bi_encoder(), scored_pairs(60), batch_size=8, progress=False),
    "plain encoder": lambda: bl.task(headed("BertModel"), scored_pairs(40), batch_size=8, progress=False),
    "score": lambda: bl.task(cross_encoder(), scored_pairs(60), progress=False),
    "tags": lambda: bl.task(
        headed("BertForTokenClassification", id2label=dict(enumerate(TAGS)), num_labels=5), tagged(60), progress=False
    ),
    "words": lambda: bl.task(headed("BertForMaskedLM"), masked(60), progress=False),
}


@pytest.fixture(scope="module")
def tasks() -> dict[str, bl.Task]:
    return {name: make() for name, make in MADE.items()}


def test_a_regression_is_the_models_number_and_scipys_scores(tasks):
    task = tasks["number"]
    own = np.array([float(task.lens.trace(text).output.logits) for text, _ in numbers(60)])
    labels = np.array([label for _, label in numbers(60)])
    table = task.table
    np.testing.assert_allclose(table["guess"], own, atol=1e-5)
    np.testing.assert_allclose(table["error"], own - labels, atol=1e-5)
    np.testing.assert_allclose(table["loss"], (own - labels) ** 2, atol=1e-4)
    values = task.metrics().set_index("measure")["value"]
    assert values["Pearson"] == pytest.approx(st.pearsonr(own, labels).statistic, abs=1e-5)
    assert values["Spearman"] == pytest.approx(st.spearmanr(own, labels).statistic, abs=1e-5)
    assert values["mean squared error"] == pytest.approx(m.mean_squared_error(labels, own), rel=1e-5)
    assert values["mean absolute error"] == pytest.approx(m.mean_absolute_error(labels, own), rel=1e-5)
    notes = task.metrics().set_index("measure")["note"]
    assert notes["Pearson"] == notes["Spearman"] == "too few for an interval: 60 of 200"
    for refused in (task.confusion, task.calibration, lambda: task.logits, lambda: task.heads(measure="accuracy")):
        with pytest.raises(InputError, match="a task of numbers has no"):
            refused()


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", ["similarity", "plain encoder", "score"])
def test_scores_of_pairs_are_the_encoders_own(tasks, name):
    task = tasks[name]
    pairs = [text for text, _ in scored_pairs(len(task))]
    own = [float(task.lens.similarity([one], [other])[0, 0]) for one, other in pairs]
    np.testing.assert_allclose(task.table["guess"], own, atol=1e-5)
    labels = task.labels
    line = np.polyfit(own, labels, 1)  # an independent way to the same line
    np.testing.assert_allclose(task.table["loss"], (np.polyval(line, own) - labels) ** 2, atol=1e-3)
    found = task.metrics().set_index("measure")["value"]
    assert found["Spearman"] == pytest.approx(st.spearmanr(own, labels).statistic, abs=1e-4)
    assert set(found.index) == {"Pearson", "Spearman"}
    with pytest.raises(InputError, match="scores two texts: name the second"):
        bl.task(task.lens, numbers(10))


def test_a_prompt_is_read_as_the_encoder_reads_it():
    lens = bi_encoder(default_prompt_name="odd")
    own = [float(lens.similarity([one], [other])[0, 0]) for (one, other), _ in scored_pairs(6)]
    np.testing.assert_allclose(bl.task(lens, scored_pairs(6), progress=False).table["guess"], own, atol=1e-5)
    with pytest.raises(ModelError, match="leaves its prompt out"):
        bl.task(bi_encoder(default_prompt_name="odd", include_prompt=False), scored_pairs(6))


def test_a_word_has_the_tag_at_its_first_token(tasks):
    task, examples = tasks["tags"], tagged(60)
    for row in (0, 7):
        words, tags = examples[row]
        trace = task.lens.trace_words(words)
        firsts = [trace.encoding.word_ids.index(k) for k in range(len(words))]
        logits = trace.output.logits[0, firsts]
        guesses = [TAGS[k] for k in logits.argmax(1)]
        record = task.table.loc[row]
        assert record["text"] == " ".join(words) and record["guess"].split() == guesses
        assert record["label"].split() == tags and record["wrong"] == sum(
            a != b for a, b in zip(tags, guesses, strict=True)
        )
        loss = torch.nn.functional.cross_entropy(logits, torch.tensor([TAGS.index(tag) for tag in tags]))
        assert record["loss"] == pytest.approx(float(loss), abs=1e-5)
    assert len(task.lens.trace_words(examples[0][0]).tokens) > len(examples[0][0]) + 2
    flat = [
        (a, b)
        for label, guess in task.table[["label", "guess"]].to_numpy()
        for a, b in zip(label.split(), guess.split(), strict=True)
    ]
    expected = m.confusion_matrix(*zip(*flat, strict=True), labels=TAGS)
    np.testing.assert_array_equal(task.confusion(), expected)
    cell = task.cell("O", "B-CAT")
    assert all(("O", "B-CAT") in zip(a.split(), b.split(), strict=True) for a, b in cell[["label", "guess"]].to_numpy())
    assert task.calibration()["n"].sum() == len(flat)


def random_tags(seed: int, n: int = 40) -> tuple[list[list[str]], list[list[str]]]:
    random = np.random.default_rng(seed)
    labels = [random.choice(TAGS, random.integers(1, 12)).tolist() for _ in range(n)]
    guesses = [[tag if random.random() < 0.8 else str(random.choice(TAGS)) for tag in one] for one in labels]
    return labels, guesses


@pytest.mark.parametrize("seed", range(20))
def test_entities_are_seqevals(seed):
    metrics, scheme = pytest.importorskip("seqeval.metrics"), pytest.importorskip("seqeval.scheme")
    labels, guesses = random_tags(seed)
    for own, tags in zip(scheme.Entities(labels, scheme.IOB2).entities, labels, strict=True):
        assert entities.entities(tags) == [(one.tag, one.start, one.end) for one in own]
    found = entities.counts(labels, guesses)
    report = metrics.classification_report(
        labels, guesses, mode="strict", scheme=scheme.IOB2, output_dict=True, zero_division=0
    )
    for name, of in {**found, "micro avg": sum(found.values())}.items():
        hit, there, guessed = of.sum(0)
        assert report[name]["precision"] == pytest.approx(hit / guessed)
        assert report[name]["recall"] == pytest.approx(hit / there)
        assert report[name]["f1-score"] == pytest.approx(2 * hit / (there + guessed))


@pytest.mark.parametrize(
    ("tags", "found"),
    [
        ("B-A I-A O B-A", [("A", 0, 2), ("A", 3, 4)]),
        ("B-A B-A I-A", [("A", 0, 1), ("A", 1, 3)]),
        ("I-A I-A O", []),  # begins with I-: none
        ("B-A I-B I-A", [("A", 0, 1)]),
        ("O O", []),
        ("B-A", [("A", 0, 1)]),
    ],
)
def test_strict_iob2_by_hand(tags, found):
    assert entities.entities(tags.split()) == found


def test_the_metrics_of_tags_are_those_of_their_entities(tasks):
    task = tasks["tags"]
    pairs = [(a.split(), b.split()) for a, b in task.table[["label", "guess"]].to_numpy()]
    spans = [(set(entities.entities(a)), set(entities.entities(b))) for a, b in pairs]
    hit, there, guessed = (sum(len(s) for s in x) for x in ([a & b for a, b in spans], *zip(*spans, strict=True)))
    values = task.metrics().set_index(["measure", "label"])["value"]
    assert values["entity F1", ""] == pytest.approx(2 * hit / (there + guessed))
    assert values["entity precision", ""] == pytest.approx(hit / guessed)
    words = [a == b for one in pairs for a, b in zip(*one, strict=True)]
    assert values["word accuracy", ""] == pytest.approx(np.mean(words))
    assert {"CAT", "MAT"} == {label for _, label in values.index} - {""}
    names = ["NOUN", "VERB", "DET"]
    lens = headed("BertForTokenClassification", id2label=dict(enumerate(names)), num_labels=3)
    task = bl.task(lens, tagged(30, names), progress=False)
    flat = [
        (a, b)
        for label, guess in task.table[["label", "guess"]].to_numpy()
        for a, b in zip(label.split(), guess.split(), strict=True)
    ]
    value = task.metrics().set_index(["measure", "label"])["value"]
    assert value["macro-F1", ""] == pytest.approx(
        m.f1_score(*zip(*flat, strict=True), average="macro", zero_division=0)
    )


def test_a_masked_word_is_the_models_answer_at_its_mask(tasks):
    task = tasks["words"]
    for row in (0, 3, 11):
        text, word = masked(60)[row]
        trace = task.lens.trace(text)
        logits = trace.output.logits[0, trace.encoding.tokens.index("[MASK]")].double()
        label = task.lens.tokenizer.convert_tokens_to_ids(word)
        record = task.table.loc[row]
        assert record["guess"] == task.lens.tokenizer.convert_ids_to_tokens(int(logits.argmax()))
        assert record["rank"] == int((logits > logits[label]).sum()) and record["right"] == (record["rank"] == 0)
        assert record["loss"] == pytest.approx(float(-logits.log_softmax(-1)[label]), abs=1e-5)
        others = torch.cat([logits[:label], logits[label + 1 :]])
        assert record["margin"] == pytest.approx(float(logits[label] - others.max()), abs=1e-5)
        assert record["probability"] == pytest.approx(float(logits.softmax(-1).max()), abs=1e-6)
    values = task.metrics().set_index("measure")["value"]
    assert values["accuracy"] == task.table["right"].mean()
    assert values["among the first 5"] == (task.table["rank"] < 5).mean()
    assert values["mean reciprocal rank"] == pytest.approx((1 / (1 + task.table["rank"])).mean())


def loss_alone(task: bl.Task, row: int, *changes: Any, lens: bl.Lens | None = None) -> float:
    """An example's loss in a run of its own, by the definition."""
    lens = lens or task.lens
    text, label = task.examples.texts[row], task.labels[row]
    if task.kind.name == "similarity":
        vectors = []
        for part in text:
            trace = lens.trace(part)
            states = (trace.rerun(*changes) if changes else trace).output.last_hidden_state
            vectors.append(states[0].mean(0))
        value = float(torch.cosine_similarity(*vectors, dim=0))
        return (task.kind.line[0] + task.kind.line[1] * value - label) ** 2
    trace = lens.trace_words(text) if task.kind.name == "tags" else lens.trace(*text)
    logits = (trace.rerun(*changes) if changes else trace).output.logits[0]
    if task.kind.name == "number":
        return float(logits[0] - label) ** 2
    if task.kind.name == "score":
        return float(task.kind.line[0] + task.kind.line[1] * logits[0].sigmoid() - label) ** 2
    if task.kind.name == "tags":
        places = [trace.encoding.word_ids.index(k) for k in range(len(text))]
    else:
        places, label = [trace.encoding.tokens.index("[MASK]")], [label]
    return float(torch.nn.functional.cross_entropy(logits[places], torch.as_tensor(label)))


PARTS = [HeadSite(0, 1), HeadSite(1, 3), HeadSite(2, 0), HeadSite(1, -1)]


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", MADE)
def test_effects_are_those_of_each_text_alone_and_estimates_their_slopes(tasks, name):
    task, rows = tasks[name], list(range(9))
    task.losses  # noqa: B018  the line of scores
    found = ablation_effects.effects(task, rows, PARTS, Ablation("zero", 5, task.lens, [], PARTS, 0))
    for at, row in enumerate(found["row"]):
        assert found["loss"][at, 0] == pytest.approx(task.losses[row], abs=1e-4)
        for k, part in enumerate(PARTS, 1):
            change = whatif.mlp(part.layer) if part.head < 0 else whatif.off(part.layer, part.head)
            assert found["loss"][at, k] == pytest.approx(loss_alone(task, int(row), change), rel=1e-3, abs=1e-4)
    layer, head = task.lens.trace("the cat").n_layers - 1, 3
    ends = []
    for size in (0.99, 1.01):  # the head, by a small step of what reads it
        lens = copy.deepcopy(task.lens)
        with torch.no_grad():
            lens.borrowed.base.encoder.layer[layer].attention.output.dense.weight[:, 24:32] *= size
        ends.append(np.mean([loss_alone(task, row, lens=lens) for row in rows]))
    heads, _ = ablation_effects.estimates(task, rows, layer + 1)
    assert heads[layer, head] == pytest.approx(-(ends[1] - ends[0]) / 0.02, rel=2e-2, abs=2e-4)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", MADE)
def test_heads_errors_slices_and_the_page_of_every_kind(tasks, name):
    task = tasks[name]
    for ablation in ("zero", "mean", "resample"):
        heads = task.heads(2, ablation)
        assert heads.table["effect"].notna().sum() == 4 and "heads and MLPs" in heads.said
    curve = heads.pruning(3)
    assert curve[curve["off"] == 0][task.kind.quality].notna().all()
    records = [task.records[row] for row in heads.second]
    whole, _ = task.kind.of_quality(records, task.labels[heads.second])
    assert curve["off"].tolist()[:1] == [0] and curve.iloc[0][task.kind.quality] == pytest.approx(whole, abs=1e-6)
    errors = task.errors(4)
    assert errors.table["loss"].tolist() == sorted(task.losses, reverse=True)[:4]
    assert (errors.table["words"] != "").any() == (task.kind.name != "similarity")
    assert len(errors.slices) > 1 and task.kind.wrong_is in errors.said
    assert errors.wrong == int(task.wrong.sum()) > 0
    page = page_of(task, heads, errors)
    assert f"{len(task):,} examples" in page and "nan" not in re.sub(r"<[^>]*>", " ", page)
    HTMLParser().feed(page)
    assert repr(task).startswith(f"Task({task.lens.model_name}, {len(task)} examples, ")


def test_what_a_number_rests_on_took_it_away_from_its_label(tasks):
    task = tasks["number"]
    table = task.table
    assert table["error"].min() < 0 < table["error"].max()
    for at in (table["error"].idxmin(), table["error"].idxmax()):
        row = table.loc[at]
        word, value = re.match(r"(\S+) \(\+([\d.]+)\)", mistakes.rests_on(task, int(at))[0]).groups()
        words = row["text"].split()
        changes = []
        for place, one in enumerate(words):
            if one == word:
                text = " ".join([*words[:place], "[MASK]", *words[place + 1 :]])
                changes.append(float(task.lens.trace(text).output.logits) - row["guess"])
        best = max(-np.sign(row["error"]) * change for change in changes)
        assert best == pytest.approx(float(value), abs=6e-3)


PAIRS = {
    "normal": lambda x, y, rho: (x, rho * x + np.sqrt(1 - rho * rho) * y),
    "skewed": lambda x, y, rho: (np.exp(x / 2), np.exp((rho * x + np.sqrt(1 - rho * rho) * y) / 2)),
    "grades": lambda x, y, rho: (np.clip(np.round(2.5 + 1.5 * x), 0, 5), rho * x + np.sqrt(1 - rho * rho) * y),
    "sums": lambda x, y, rho: (-st.norm.logsf(x), -rho * st.norm.logsf(x) - (1 - rho) * st.norm.logsf(y)),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("rho", [0.0, 0.5, 0.9])
@pytest.mark.parametrize("kind", PAIRS)
def test_the_intervals_of_correlations_cover(kind, rho):
    """Of 200 pairs. The delta method covers .92 of Pearson's of skewed numbers, Bonett and Wright's s² .80 of
    Spearman's of sums."""
    random = np.random.default_rng(3)

    def drawn(n: int) -> tuple[np.ndarray, np.ndarray]:
        return PAIRS[kind](random.normal(size=n), random.normal(size=n), rho)

    large = drawn(1_000_000)
    truth = (np.corrcoef(*large)[0, 1], st.spearmanr(*large).statistic)
    held = np.zeros(2)
    for _ in range(600):
        pair = drawn(200)
        ends = (correlations.pearson_interval(*pair), correlations.spearman_interval(*pair))
        held += [low <= own <= high for (low, high), own in zip(ends, truth, strict=True)]
    assert (held / 600 >= 0.925).all() and (held / 600 <= 0.985).all()


def test_numbers_that_are_too_skewed_have_no_interval_of_pearsons():
    """Of e^x beside x the jackknife covers .70, whose r hangs on the few largest."""
    x = np.random.default_rng(0).normal(size=400)
    table = correlations.numbers_table(np.exp(x), x + 0.1, False).set_index("measure")
    assert (
        math.isnan(table.loc["Pearson", "low"])
        and table.loc["Spearman", "note"] == "no interval: the examples show no spread"
    )
    assert re.fullmatch(r"no interval: a skewness of [3-9]\.\d, above 2", table.loc["Pearson", "note"])
    table = correlations.numbers_table(x, x + np.sin(9 * x), False)
    assert table["low"].notna().all() and (table["note"] == "").all()


def test_correlations_are_scipys_and_their_jackknife_is_one():
    random = np.random.default_rng(1)
    a, b = random.integers(0, 6, 40).astype(float), random.normal(size=40)
    assert spearman(a, b) == pytest.approx(st.spearmanr(a, b).statistic)
    assert correlations.pearson(a, b) == pytest.approx(st.pearsonr(a, b).statistic)
    each = np.array([np.arctanh(st.pearsonr(np.delete(a, k), np.delete(b, k)).statistic) for k in range(40)])
    away = each - each.mean()
    degrees = min(39, 2 / ((away**4).sum() / (away**2).sum() ** 2 - 1 / 40))
    half = st.t.ppf(0.975, degrees) * np.sqrt(39 / 40 * (away**2).sum())
    middle = np.arctanh(st.pearsonr(a, b).statistic)
    assert correlations.pearson_interval(a, b) == pytest.approx((np.tanh(middle - half), np.tanh(middle + half)))
    # the influence function of Spearman's: nearly what its own jackknife gives
    each = np.array([np.arctanh(st.spearmanr(np.delete(a, k), np.delete(b, k)).statistic) for k in range(40)])
    low, high = correlations.spearman_interval(a, b)
    spread = np.sqrt(39 / 40 * ((each - each.mean()) ** 2).sum())
    assert np.arctanh(high) - np.arctanh(low) == pytest.approx(2 * 2.02 * spread, rel=0.1)
    for other in (np.zeros(40), np.eye(40)[0]):
        assert np.isnan(correlations.pearson_interval(a, other)).all()


def test_the_interval_of_entities_covers():
    """Texts with several entities, found with a chance of the text's own."""
    random, truth, held = np.random.default_rng(1), [], 0

    def drawn(n: int) -> tuple[np.ndarray, np.ndarray]:
        chance = random.beta(6, 2, n)
        there, more = random.poisson(2, n), random.poisson(0.4, n)
        hit = random.binomial(there, chance)
        return 2 * hit, there + hit + more

    above, below = drawn(1_000_000)
    truth = above.sum() / below.sum()
    for _ in range(2000):
        low, high = share_interval(*drawn(200))
        held += low <= truth <= high
    assert 0.93 <= held / 2000 <= 0.97


BAD = [
    ("number", [("the cat", 1.0), ("sat", None)], r"row 1, column 'label': the label is missing"),
    ("number", [("the cat", 1.0), ("sat", "3,5")], r"row 1, column 'label': the label '3,5' is no number \(a decimal"),
    ("number", [("the cat", 1.0), ("sat", "inf")], r"row 1, column 'label': the label 'inf' is no finite number"),
    ("number", [("the cat", 1), ("sat", 1)], r"all 2 examples have the label 1"),
    ("similarity", [(("the cat", "sat"), 1), (("on", " "), 2)], r"row 1, column 'text_pair': the text is empty"),
    ("tags", [(["the", "cat"], ["O"])], r"row 0, column 'label': 1 tags for 2 words"),
    ("tags", [(["the", "cat"], ["O", "B-DOG"])], r"row 0, column 'label', tag 1: no label 'B-DOG'"),
    ("tags", [(["the", ""], ["O", "O"])], r"row 0, column 'text': word 1 is ''"),
    ("tags", [([], [])], r"row 0, column 'text': there is no word"),
    ("tags", [("the cat", 1)], r"row 0, column 'label': tags are a list"),
    ("words", [("the cat", "cat")], r"row 0, column 'text': the text has 0 \[MASK\]"),
    ("words", [("the [MASK] [MASK]", "cat")], r"row 0, column 'text': the text has 2 \[MASK\]"),
    ("words", [("the [MASK]", "unbelievable")], r"'unbelievable' is no one token of the model but un ##believ ##able"),
    ("words", [("the [MASK]", 3)], r"row 0, column 'label': '3' is no one token of the model"),
]


@pytest.mark.parametrize(("name", "given", "said"), BAD, ids=[f"{name}: {said[-30:]}" for name, _, said in BAD])
def test_what_cannot_be_used_is_named_by_row_and_column(tasks, name, given, said):
    with pytest.raises(InputError, match=said):
        bl.task(tasks[name].lens, given)


def test_words_and_tags_from_files_and_tables(tasks, tmp_path):
    lens, rows = tasks["tags"].lens, tagged(6)
    (tmp_path / "a.jsonl").write_text("\n".join(json.dumps({"tokens": a, "ner": b}) for a, b in rows))
    lines = "\n".join(f"{' '.join(a)};{' '.join(b)}" for a, b in rows)
    (tmp_path / "a.csv").write_text(f"tokens;ner\n{lines}\n")
    frame = pd.DataFrame({"tokens": [a for a, _ in rows], "ner": [[TAGS.index(t) for t in b] for _, b in rows]})
    for given in (tmp_path / "a.jsonl", tmp_path / "a.csv", frame):
        found = bl.task(lens, given, text="tokens", label="ner")
        assert found.examples.texts == [tuple(a) for a, _ in rows]
        assert [[TAGS[k] for k in one] for one in found.labels] == [b for _, b in rows]
    # two words in each text are no pair of texts
    assert bl.task(lens, [(["the", "cat"], ["O", "O"]), (["on", "it"], ["O", "O"])]).examples.texts[1] == ("on", "it")


def test_words_that_were_cut_have_no_answer(tasks):
    lens = headed("BertForTokenClassification", id2label=dict(enumerate(TAGS)), num_labels=5)
    rows = [(["cat"] * 100, ["O"] * 100), (["the", "cat"], ["B-CAT", "O"])]
    with pytest.raises(InputError, match="row 0, column 'text': 102 tokens"):
        _ = bl.task(lens, rows, progress=False).losses
    found = bl.task(lens, rows, truncation=True, progress=False).table
    assert found["words"].tolist() == [62, 2]


def test_nan_of_any_kind_names_its_row(tasks):
    for name in ("number", "tags", "words"):
        lens = MADE[name]().lens
        bad = lens.tokenizer.convert_tokens_to_ids("mat")
        with torch.no_grad():
            lens.borrowed.base.embeddings.word_embeddings.weight[bad] = float("nan")
        given = {
            "number": [("the cat", 1.0), ("on mat", 2.0)],
            "tags": [(["cat"], ["O"]), (["mat", "cat"], ["O", "O"])],
            "words": [("the [MASK]", "cat"), ("mat [MASK]", "cat")],
        }[name]
        with pytest.raises(BertLensError, match=r"row \d, column 'text': the model's logits are NaN or Inf"):
            _ = bl.task(lens, given, progress=False).losses


def test_before_and_after_of_tags_and_words(tasks):
    for name, kind in (("tags", "BertForTokenClassification"), ("words", "BertForMaskedLM")):
        task = tasks[name]
        settings = {"id2label": dict(enumerate(TAGS)), "num_labels": 5} if name == "tags" else {}
        other = headed(kind, 3, **settings)
        found = task.against(other, texts=3)
        given = tagged(60) if name == "tags" else masked(60)
        own = bl.task(other, given, progress=False).table
        table = found.table.sort_values("row")
        assert table["before"].tolist() == own["guess"].tolist()
        fixed = (~own["right"] & task.table["right"]).sum()
        assert found.counts["fixed"] == fixed and sum(found.counts.values()) == 60
        with pytest.raises(ModelError, match="the other model is asked for a class of the text, this one for"):
            task.against(headed("BertForSequenceClassification", num_labels=2))
    with pytest.raises(InputError, match="has no right and wrong"):
        tasks["number"].against(tasks["number"].lens)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", MADE)
def test_every_kind_has_a_view_whose_sentences_are_of_it(tasks, name):
    task = tasks[name]
    page = task.explore(row=3).page()
    assert page.shown_by == {"op": "task_open", "row": 3}
    told = next(fields for question, (fields, _) in page.answers if question["op"] == "task")
    assert told["opened"] == 3
    worst = [row for row in task.table.sort_values("loss", ascending=False, kind="stable")["row"][:10] if row != 3]
    assert [other.shown_by["row"] for other in page.others] == worst
    curve = task.heads(2).pruning(3)
    told = TOLD["pruning"](curve)
    quality = "Spearman’s correlation" if task.kind.quality == "Spearman" else "the accuracy"
    assert told["quality"] == task.kind.quality
    values = curve[task.kind.quality]
    least = f"keep 95 % of {quality} where"
    wanted = least if values[0] > 0 else f"{quality} is {values[0]:.2f}: there is nothing to keep.".replace("-", "−")
    assert wanted in told["said"] and all(np.isfinite(one["value"]) for one in told["rows"])
    gap = "With 12 heads off all answers of an order are alike: no correlation."
    assert (gap in told["said"]) == values.isna().any() == (len(told["rows"]) < len(curve))


def test_the_rival_of_a_right_guess_is_another_class_also_of_equal_ones():
    cases = (([1, 3, 3], 1, (1, 2)), ([3, 3, 3], 0, (0, 1)), ([1, 3, 2], 0, (1, 0)), ([2, 3], 1, (1, 0)))
    for logits, label, pair in cases:
        assert rivals(np.array(logits, dtype=float), label) == pair


def test_rounding_is_not_ranked(tasks):
    labels = np.arange(40.0)
    noise = 0.25 + 1e-9 * np.random.default_rng(0).permutation(40)
    for kind in (tasks["score"].kind, tasks["number"].kind):
        assert np.isnan(kind.of_quality(list(noise), labels)[0])
        assert kind.metrics(list(noise), labels)["value"][:2].isna().all()
        assert kind.of_quality(list(noise - 0.25), labels)[0] == pytest.approx(st.spearmanr(noise, labels)[0])
    curve = tasks["score"].heads(2).pruning(3)  # without heads a cross-encoder reads [CLS] alone
    assert curve["Spearman"].isna().tolist() == [False, False, True] * 2


def test_a_curve_of_a_model_that_answers_all_alike_is_refused():
    lens = cross_encoder()
    with torch.no_grad():
        for name, weights in lens.model.named_parameters():
            if "classifier" in name:
                weights.zero_()
    heads = bl.task(lens, scored_pairs(60), progress=False).heads(2)
    with pytest.raises(InputError, match="answers all 30 texts of this half alike: no correlation to keep"):
        heads.pruning(3)
