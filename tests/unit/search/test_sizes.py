"""Layers and dimensions of a ranking beside a naive loop; luck and shuffles make no layer better."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import bertlens as bl
from bertlens import plots
from bertlens.cli import command_line as cli
from bertlens.errors import InputError, ModelError
from bertlens.measures.significance.intervals import difference_interval
from bertlens.measures.significance.sizes import choice
from bertlens.search import paired
from bertlens.search.collection import Collection
from bertlens.search.metrics import by_question
from bertlens.search.sizes import layers as by_layers
from bertlens.search.sizes.shares import part
from sampling import sample
from unit import tiny_encoders
from unit.search import cranfield
from unit.tiny_encoders import words

PASSAGES = {f"p{n}": words(4 + n % 7, n) for n in range(60)}
QUERIES = {f"q{n}": words(5, 1000 + n) for n in range(30)}
RELEVANCE = {f"q{n}": {f"p{7 * n % 60}": 1, f"p{n}": 2, "p59": 0} for n in range(30)}


@cache
def lens() -> bl.Lens:
    return bl.Lens(tiny_encoders.encoder(tiny_encoders.dense(torch.nn.Tanh())))


@cache
def search() -> bl.Retrieval:
    return bl.retrieval(lens(), QUERIES, PASSAGES, RELEVANCE, progress=False)


@cache
def layers() -> Any:
    return search().layers(progress=False)


@cache
def dimensions() -> Any:
    return search().dimensions([16, 12, 5], draws=3, seed=2)


@cache
def states(task: str) -> np.ndarray:
    """(L + 1, N, E) float64, by the object's own modules, text by text."""
    module: Any = lens().model
    rows = []
    for text in (QUERIES if task == "query" else PASSAGES).values():
        inputs = module.tokenizer(tiny_encoders.PROMPTS[task] + text, return_tensors="pt")
        with torch.no_grad():
            hidden = module[0].model(**inputs, output_hidden_states=True).hidden_states
            pooled = torch.stack([state[0].mean(0) for state in hidden]).double()
            weight, bias = (each.double() for each in (module[2].linear.weight, module[2].linear.bias))
            rows.append(torch.tanh(pooled @ weight.T + bias).numpy())
    return np.stack(rows, 1)


def orders(queries: np.ndarray, passages: np.ndarray) -> np.ndarray:
    cosines = (queries / np.linalg.norm(queries, axis=1, keepdims=True)) @ (
        passages / np.linalg.norm(passages, axis=1, keepdims=True)
    ).T
    return np.argsort(-cosines, axis=1, kind="stable")


def ndcg(queries: np.ndarray, passages: np.ndarray, rows: np.ndarray | None = None) -> np.ndarray:
    """(Q,) of binary gains, of these passages alone; NaN without a relevant one among them."""
    places = np.arange(60) if rows is None else rows
    shares = []
    for number, order in enumerate(orders(queries, passages[places])):
        right = {int(name[1:]) for name, grade in RELEVANCE[f"q{number}"].items() if grade} & {*places.tolist()}
        gains = [1 / np.log2(rank + 2) for rank, at in enumerate(order[:10]) if int(places[at]) in right]
        best = sum(1 / np.log2(rank + 2) for rank in range(min(10, len(right))))
        shares.append(sum(gains) / best if right else np.nan)
    return np.array(shares)


def test_layers_beside_a_loop() -> None:
    table = layers().table.set_index(["layer", "centred"])
    queries, passages = states("query"), states("document")
    whole, last = ndcg(queries[3], passages[3]), orders(queries[3], passages[3])[:, :10]
    for layer in range(4):
        for centred in (False, True):
            mean = passages[layer].mean(0) * centred
            q, p = queries[layer] - mean, passages[layer] - mean
            row, shares = table.loc[layer, centred], ndcg(q, p)
            assert row["mean"] == pytest.approx(shares.mean(), abs=1e-6)
            assert row["difference"] == pytest.approx((shares - whole).mean(), abs=1e-6)
            top = orders(q, p)[:, :10]
            alike = np.mean([len({*a} & {*b}) / 10 for a, b in zip(top.tolist(), last.tolist(), strict=True)])
            assert row["first_ten"] == pytest.approx(alike)
            unit = p / np.linalg.norm(p, axis=1, keepdims=True)
            cosines = (unit @ unit.T)[~np.eye(60, dtype=bool)]
            assert row["anisotropy"] == pytest.approx(cosines.mean(), abs=1e-5)
    of_whole = table.loc[3, False]
    assert of_whole["mean"] == pytest.approx(search().by_question["nDCG@10"].mean(), abs=1e-9)
    assert np.isnan(of_whole["low"]) and of_whole["difference"] == 0 and of_whole["first_ten"] == 1


def test_dimensions_beside_a_loop() -> None:
    table = dimensions().table
    queries, passages = states("query")[3], states("document")[3]
    assert table["dimensions"].tolist() == [16, 12, 5]
    generator = np.random.default_rng(2)
    first = generator.permutation(60)[:30]
    fitted, other = np.sort(first), np.setdiff1d(np.arange(60), first)
    values, axes = np.linalg.eigh(np.cov(passages[fitted].T))
    axes = axes[:, np.argsort(-values)]
    for row in table.itertuples():
        k = row.dimensions
        assert row.mean == pytest.approx(ndcg(queries[:, :k], passages[:, :k]).mean(), abs=1e-6)
        drawn = [ndcg(queries[:, at], passages[:, at]) for at in (generator.permutation(24)[:k] for _ in range(3))]
        means = [shares.mean() for shares in drawn]
        assert [row.drawn, row.drawn_least, row.drawn_most] == pytest.approx(
            [np.mean(means), min(means), max(means)], abs=1e-6
        )
        of_half = ndcg(queries @ axes[:, :k], passages @ axes[:, :k], other)
        assert row.principal == pytest.approx(np.nanmean(of_half), abs=1e-6)
        assert row.principal_whole == pytest.approx(np.nanmean(ndcg(queries, passages, other)), abs=1e-6)
        assert row.principal_difference == pytest.approx(row.principal - row.principal_whole)
        assert row.over_drawn == pytest.approx(row.mean - row.drawn)


def test_intervals_are_those_of_paired_differences_by_holm() -> None:
    row = layers().table.iloc[0]
    shares = layers().shares
    plain = difference_interval((shares["layer 0"] - shares["layer 3"]).to_numpy())
    assert row["low"] < plain[0] and row["high"] > plain[1] and row["low"] < row["difference"] < row["high"]
    assert bool(row["better"]) == (row["low"] > 0)


def test_a_choice_is_told_on_the_other_half() -> None:
    best, shares = layers().choice, layers().shares
    order = np.random.default_rng(0).permutation(30)
    first, second = shares.iloc[order[::2]], shares.iloc[order[1::2]]
    assert first[best.name].mean() == first.mean().max()
    assert best.mean == pytest.approx(second[best.name].mean()) and best.whole == pytest.approx(
        second["layer 3"].mean()
    )
    rival = layers().rival
    earlier = [f"layer {n}{end}" for n in range(3) for end in ("", ", centred")]
    assert rival.name == first[earlier].mean().idxmax() and rival.told_on == 15


def test_the_winner_keeps_no_luck() -> None:
    """Of twenty columns of noise the best of one half is no better on the other; on its own half it is."""
    import pandas as pd

    gains, lucky = [], []
    for seed in range(200):
        noise = pd.DataFrame(np.random.default_rng(seed).random((40, 20)), columns=[f"n{k}" for k in range(20)])
        best = choice(noise, "n0", seed, rival=True)
        assert best is not None
        gains.append(best.difference)
        first = noise.iloc[np.random.default_rng(seed).permutation(40)[::2]]
        lucky.append(first[best.name].mean() - first["n0"].mean())
    assert abs(np.mean(gains)) < 0.02 and np.mean(lucky) > 0.1


def shuffled(seed: int) -> Collection:
    """As many relevant documents of each question, drawn anew among all."""
    texts, generator = search().collection, np.random.default_rng(seed)
    grades = {
        name: {f"p{at}": grade for at, grade in zip(generator.permutation(60), of.values(), strict=False)}
        for name, of in RELEVANCE.items()
    }
    return Collection(texts.query_ids, texts.queries, texts.passage_ids, texts.passages, texts.documents, grades)


@pytest.mark.parametrize("seeds", [pytest.param(range(100), marks=pytest.mark.long), "drawn"])
def test_of_shuffled_judgements_no_layer_is_better(seeds: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    vectors = {task: states(task).astype(np.float32) for task in ("query", "document")}

    def encoded(_lens: Any, _reader: Any, _texts: Any, task: str, *_: Any) -> np.ndarray:
        return vectors[task]

    monkeypatch.setattr(by_layers, "_encoded", encoded)  # private: the same vectors, made once
    numbers = sample([str(n) for n in range(100)], 10) if seeds == "drawn" else [*map(str, seeds)]
    found = [by_layers.layers(lens(), shuffled(int(n)), progress=False) for n in numbers]
    better = sum(bool(each.table["better"].any()) for each in found)
    chosen = sum(each.choice.low > 0 for each in found)
    assert better <= 0.05 * max(40, len(found)) and chosen <= 0.05 * max(40, len(found))
    assert all(("None of the others" in each.said) != each.table["better"].any() for each in found)


def test_a_layer_that_is_better_is_said_to_be() -> None:
    passages, queries = states("document")[1], states("query")[1]
    right = {f"q{n}": {f"p{at}": 1 for at in order[:3]} for n, order in enumerate(orders(queries, passages))}
    found = bl.retrieval(lens(), QUERIES, PASSAGES, right, progress=False).layers(progress=False)
    row = found.table.iloc[2]
    assert row["layer"] == 1 and row["better"] and row["mean"] == pytest.approx(1)
    assert f"Better: layer 1 by +{row['difference']:.3f} (" in found.said and "None of the others" not in found.said
    assert found.choice.name == "layer 1" and found.choice.low > 0
    claim = -found.rival.difference
    assert claim < 0


def test_sentences_are_of_the_table() -> None:
    row = dimensions().table.iloc[1]
    assert f"With the first 12 of 24 dimensions nDCG@10 changes by {row['difference']:+.3f}".replace(
        "-", "−"
    ) in dimensions().said.replace("by 0.000", "by +0.000")
    assert (
        f"give {row['drawn']:.3f} ({row['drawn_least']:.3f} to {row['drawn_most']:.3f}, 3 draws)" in dimensions().said
    )
    assert "over 9 tests" in dimensions().said and "over 7 tests" in layers().said
    assert repr(layers()) == f"Sizes({layers().said})"


def test_a_planted_loss_is_said() -> None:
    """Judged by what the whole vector ranks first, a few dimensions lose."""
    right = {f"q{n}": {f"p{at}": 1 for at in order[:3]}
             for n, order in enumerate(orders(states("query")[3], states("document")[3]))}  # fmt: skip
    found = bl.retrieval(lens(), QUERIES, PASSAGES, right, progress=False).dimensions([20, 2], draws=2)
    lost = found.table.loc[found.table["difference_high"] < 0, "dimensions"].tolist()
    assert 2 in lost and f" A loss can be told with {', '.join(map(str, lost))} (paired" in found.said
    assert (dimensions().table["difference_high"] >= 0).all() and " No loss can be told" in dimensions().said


def test_one_question_has_no_interval_and_the_sentence_says_so() -> None:
    right = dict.fromkeys(PASSAGES, 1)  # whatever comes first is right: no part differs
    r = bl.retrieval(lens(), {"q0": QUERIES["q0"]}, PASSAGES, {"q0": right}, progress=False)
    for made, which in (
        (r.layers(progress=False), "Whether another one, raw or centred, is better cannot be told"),
        (r.dimensions([12], draws=2), "Whether that is a loss cannot be told"),
    ):
        ends = [name for name in made.table if name.endswith(("low", "high", "_p")) or name == "p"]
        assert len(ends) >= 3 and made.table[ends].isna().all(axis=None) and made.choice is None
        assert f"{which} (one question: no interval)." in made.said and "changes by +0.000 (" not in made.said
        assert not re.search(r"([+−]?\d\.\d{3}) to \1\)", made.said)
    cost = r.cost(lens().prune(layers=1), progress=False)
    assert cost[["low", "high"]].isna().all(axis=None)
    assert "it cannot be told which fell or rose: one question" in paired.sentence(r.against(r))
    metrics = r.metrics()
    assert "bm25" not in metrics or metrics[["difference_low", "difference_high"]].isna().all(axis=None)


def test_a_cost_is_in_one_table() -> None:
    small = lens().prune(layers=1, dimensions=8)
    table = search().cost(small, progress=False)
    assert table["layers"].tolist() == [3, 1] and table["dimensions"].tolist() == [24, 8]
    parameters = [sum(each.numel() for each in of.model.parameters()) for of in (lens(), small)]
    assert table["parameters"].tolist() == parameters and (table["milliseconds"] > 0).all()
    pruned = by_question(bl.retrieval(small, QUERIES, PASSAGES, RELEVANCE, progress=False).lists, search().collection)
    assert table["mean"].iloc[1] == pytest.approx(pruned["nDCG@10"].mean())
    assert table["difference"].iloc[1] == pytest.approx(table["mean"].iloc[1] - table["mean"].iloc[0])
    assert table["low"].iloc[1] <= table["difference"].iloc[1] <= table["high"].iloc[1]


def test_a_pruned_model_gives_its_row() -> None:
    again = bl.retrieval(lens().prune(layers=2), QUERIES, PASSAGES, RELEVANCE, progress=False)
    row = layers().table.set_index(["layer", "centred"]).loc[2, False]
    assert again.by_question["nDCG@10"].mean() == pytest.approx(row["mean"], abs=1e-6)


def test_passages_of_documents_and_questions_that_are_passages() -> None:
    corpus = [{"_id": f"p{n}", "text": text, "document": f"d{n // 2}"} for n, text in enumerate(PASSAGES.values())]
    right = {f"q{n}": {f"d{n}": 1} for n in range(30)}
    r = bl.retrieval(lens(), QUERIES, corpus, right, progress=False)
    found = r.layers(progress=False)
    assert found.table["mean"].iloc[-2] == pytest.approx(r.by_question["nDCG@10"].mean(), abs=1e-9)
    half = part(r.collection, np.arange(10))
    assert set(half.documents) == {f"d{n}" for n in range(5)} and [*half.relevant(3)] == ["d3"] and not half.relevant(7)
    assert r.dimensions([12], draws=2).table["principal"].notna().all()


def test_what_cannot_be_is_said() -> None:
    bare = bl.retrieval(lens(), QUERIES, PASSAGES, progress=False)
    other = bl.Lens(tiny_encoders.encoder(tiny_encoders.dense(torch.nn.Tanh(), seed=5)))
    towers = bl.retrieval(lens(), QUERIES, PASSAGES, RELEVANCE, query_lens=other, progress=False)
    late = bl.retrieval(bl.Lens(tiny_encoders.late()), QUERIES, PASSAGES, RELEVANCE, progress=False)
    calls: list[tuple[Callable[[], Any], type[Exception], str]] = [
        (bare.layers, InputError, "give relevance"),
        (bare.dimensions, InputError, "give relevance"),
        (towers.layers, InputError, "layers is of the runs of one"),
        (late.layers, ModelError, "makes no single vector"),
        (late.dimensions, ModelError, "makes one vector of a text"),
        (partial(search().layers, measure="F1"), InputError, "no measure 'F1': there are nDCG@10"),
        (partial(search().dimensions, [24]), InputError, "at most 23"),
        (partial(search().dimensions, 12), InputError, "counts are numbers of dimensions"),
        (partial(search().dimensions, []), InputError, "names no number"),
        (partial(search().dimensions, draws=1), InputError, "at least 2"),
    ]
    for call, error, sentence in calls:
        with pytest.raises(error, match=sentence):
            call()
    assert len(towers.dimensions([12], draws=2).table) == 1


def test_other_measures() -> None:
    for measure in ("MRR@100", "recall@10", "graded nDCG@10"):
        found = search().layers(measure=measure, progress=False)
        assert found.table["mean"].iloc[-2] == pytest.approx(search().by_question[measure].mean(), abs=1e-9)
        assert f"3 layers {measure} is" in found.said


def test_a_page_and_the_command_have_the_tables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = search().to_html(tmp_path / "page.html", layers=layers(), dimensions=dimensions()).read_text()
    for heading in ("The ranking after each layer", "Would half the dimensions do?", "layer 3 layers"):
        assert (heading in page) == (heading != "layer 3 layers")
    assert "2, centred" in page and f"{dimensions().table['mean'].iloc[0]:.3f}" in page
    with pytest.raises(InputError, match="stand on the page of tables"):
        search().to_html(tmp_path / "live.html", layers=layers(), live=True)
    monkeypatch.setattr(cli, "load_lens", lambda _: lens())
    for name, texts in (("corpus", PASSAGES), ("queries", QUERIES)):
        (tmp_path / f"{name}.csv").write_text(
            "\n".join(["id,text", *(f'{key},"{text}"' for key, text in texts.items())])
        )
    rows = [f"{query},{name},{grade}" for query, of in RELEVANCE.items() for name, grade in of.items()]
    (tmp_path / "relevance.csv").write_text("\n".join(["query,document,grade", *rows]))
    given = ["--queries", str(tmp_path / "queries.csv"), "--relevance", str(tmp_path / "relevance.csv")]
    command = ["retrieval", str(tmp_path / "corpus.csv"), "--model", "tiny", *given, "-o"]
    assert cli.main([*command, str(tmp_path / "made.html"), "--layers", "--dimensions"]) == 0
    made = (tmp_path / "made.html").read_text()
    assert "The ranking after each layer" in made and "Would half the dimensions do?" in made
    assert cli.main([*command, str(tmp_path / "t.csv"), "--layers"]) == 2
    assert "--layers and --dimensions stand on a page" in capsys.readouterr().err


def test_a_figure_has_the_curve_and_its_band() -> None:
    pytest.importorskip("matplotlib").use("Agg")
    axes = plots.sizes(layers())
    raw = layers().table[~layers().table["centred"]]
    assert axes.lines[0].get_ydata().tolist() == raw["mean"].tolist() and len(axes.collections) == 1
    whole = raw["mean"].iloc[-1]
    heights = axes.collections[0].get_paths()[0].vertices[:, 1]
    assert heights.min() == pytest.approx((whole + raw["low"]).min()) and axes.get_ylabel() == "nDCG@10"
    axes = plots.sizes(dimensions())
    assert axes.lines[0].get_xdata().tolist() == [5, 12, 16] and axes.get_xlabel() == "dimensions"
    assert axes.lines[1].get_ydata()[0] == pytest.approx(search().by_question["nDCG@10"].mean())


@pytest.mark.long
@pytest.mark.timeout(1800)
@pytest.mark.data
def test_what_the_page_says_of_cranfield(data: Path, embedded_lens: bl.Lens) -> None:
    """docs/layers_and_dimensions.md: its numbers, from the whole collection."""
    texts = cranfield.collection(data)
    passages, queries = (dict(zip(*pair, strict=True)) for pair in (
        (texts.passage_ids, texts.passages), (texts.query_ids, texts.queries)
    ))  # fmt: skip
    r = bl.retrieval(embedded_lens, queries, passages, texts.grades, keep=False, progress=False)
    found = r.layers(progress=False)
    raw = found.table[~found.table["centred"]]
    assert raw["mean"].round(3).tolist() == [0.157, 0.108, 0.082, 0.101, 0.118, 0.158, 0.509]
    assert not found.table["better"].any()
    table = r.dimensions().table.set_index("dimensions").round(3)
    ends = table.loc[192, ["difference", "difference_low", "difference_high"]]
    assert ends.tolist() == [-0.016, -0.043, 0.011]
    assert table.loc[64, ["difference", "principal_difference"]].tolist() == [-0.117, -0.016]
    page = (Path(__file__).parents[3] / "docs" / "layers_and_dimensions.md").read_text(encoding="utf-8")
    for piece in (".157, .108, .082,\n.101, .118, .158", "cost .016\n(−.043 to +.011)", "cost .117", "drawn ones .115"):
        assert piece in page
    assert table.loc[64, "drawn"] == pytest.approx(0.509 - 0.115, abs=0.001)
