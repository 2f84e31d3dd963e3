"""Head statistics: every number against plain loops, sums in any order, interrupts, files."""

from __future__ import annotations

import gzip
import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from bertlens import InputError, Lens, SelectionError, Trace
from bertlens.measures import gates
from bertlens.measures.statistics import SURVEY_NAMES
from bertlens.model.fingerprint import Fingerprint
from bertlens.survey import batch_stats
from bertlens.survey import corpus as corpora
from bertlens.survey.headstats import HeadStats
from bertlens.survey.sums import edges
from bertlens.survey.survey_run import head_stats
from bertlens.survey.text_statistics import CATEGORIES, LABELS
from unit import survey_naive as naive
from unit import tiny
from unit.interrupts import interrupt_after

TEXTS: list[Any] = [
    "The cat, the dog and THE bird: all of them sat on the mat.",
    ("Warm weather came late; it was unbelievably warm.", "Nobody had asked for warm weather, had they?"),
    "Yes.",
    ["Pre-tokenised", "words", ",", "words", "again", "."],
    "A head may look at the token before, at the separator, or at nothing in particular.",
]
TINY: list[Any] = [
    "the cat sat on the mat, it was very warm.",
    ("the unbelievable cats", "it was very warm, very warm. the mats"),
    "warm",
    ["the", "cat", "sat", "'", "cat"],
    "a b c d e f g a b",
    ("warm mat", "cat"),
    "it was on the mat.",
]
HEADS = [(0, 0), (0, 5), (1, 8), (2, 3), (3, 11), (5, 1), (5, 7)]


@pytest.fixture(scope="module")
def small() -> Lens:
    return Lens(tiny.bert(), tiny.wordpiece())


def traces_of(lens: Lens, corpus: list[Any]) -> list[Trace]:
    return [lens.trace_words(item) if isinstance(item, list) else traced(lens, item) for item in corpus]


def traced(lens: Lens, item: Any) -> Trace:
    return item if isinstance(item, Trace) else lens.trace(*item) if isinstance(item, tuple) else lens.trace(item)


def survey(lens: Lens | None, corpus: Any, **options: Any) -> HeadStats:
    return head_stats(lens, corpus, progress=False, **options)


def same(a: HeadStats, b: HeadStats, tolerance: float = 1e-9) -> None:
    assert (a.n_texts, a.n_tokens, a.corpus) == (b.n_texts, b.n_tokens, b.corpus)
    ours, theirs = naive.arrays(a), naive.arrays(b)
    assert ours.keys() == theirs.keys()
    for name, values in ours.items():
        np.testing.assert_allclose(values, theirs[name], rtol=tolerance, atol=tolerance, err_msg=name)


def bound(name: str) -> float:
    return 1e-4 if name.startswith("entropy") else 1e-5


@pytest.mark.parametrize("average", ["text", "token"])
def test_every_statistic_equals_the_loops(embedded_lens: Lens, average: str) -> None:
    found = survey(embedded_lens, TEXTS)
    eager = naive.Eager(embedded_lens)
    traces = traces_of(embedded_lens, TEXTS)
    runs = [eager(trace) for trace in traces]
    for by in ("weight", "norm"):
        table = found.table(by, average)
        assert list(table) == ["layer", "head", *SURVEY_NAMES]
        expected = {"by": by, "average": average, "special_rows": "counted", "texts": len(TEXTS)}
        assert {name: table.attrs[name] for name in expected} == expected
        for layer, head in HEADS:
            per_text = []
            for trace, (maps, blocks, _) in zip(traces, runs, strict=True):
                rows = maps[layer][head]
                if by == "norm":
                    rows = rows * blocks[layer].f[head].norm(dim=-1)
                    rows = rows / rows.sum(-1, keepdim=True)
                per_text.append(naive.one_head(rows.tolist(), trace))
            row = table[(table["layer"] == layer) & (table["head"] == head)].iloc[0]
            for name in SURVEY_NAMES:
                values = [text[name] for text in per_text]
                assert row[name] == pytest.approx(naive.mean(values, average), abs=bound(name)), (name, by)
                assert found.values(name, by, average)[layer, head] == row[name]
                if average == "text":
                    means = [total / count for total, count in values if count]
                    assert found.spread(name, by)[layer, head] == pytest.approx(
                        np.std(means, ddof=1), abs=5 * bound(name)
                    )
    assert (found.n_texts, found.n_tokens) == (len(TEXTS), sum(trace.n_tokens for trace in traces))


def test_layers_equal_the_loops(embedded_lens: Lens) -> None:
    found = survey(embedded_lens, TEXTS)
    eager = naive.Eager(embedded_lens)
    traces = traces_of(embedded_lens, TEXTS)
    runs = [eager(trace) for trace in traces]
    weights = {"text": [1.0] * len(traces), "token": [float(trace.n_tokens) for trace in traces]}
    for average, weight in weights.items():
        table = found.layers(average)
        for layer in (0, 2, 5):
            for method in ("attn-w", "attnres-w", "attn-n", "attnres-n", "attnresln-n"):
                ratios = [float(blocks[layer].mixing(method).mean()) for _, blocks, _ in runs]
                expected = np.average(ratios, weights=weight)
                assert table[f"mixing {method}"][layer] == pytest.approx(expected, abs=1e-5)
            for name, state in (("cone input", layer), ("cone output", layer + 1)):
                shares = [naive.cone(states[state]) for *_, states in runs]
                assert table[name][layer] == pytest.approx(np.average(shares, weights=weight), abs=1e-5)
    kinds: dict[str, list[float]] = {kind: [] for kind in CATEGORIES}
    pieces: dict[int, list[float]] = {}
    for trace, (_, blocks, _) in zip(traces, runs, strict=True):
        lengths = blocks[2].f.norm(dim=-1).mean(0).tolist()
        special = trace.special_mask.tolist()
        for place, length in enumerate(lengths):
            word = "separator" if place else "first"
            if not special[place]:
                word = "punctuation" if trace.display_tokens[place] in (".", ",") else "other"
            kinds[word].append(length)
            pieces.setdefault(int(trace.input_ids[place]), []).append(length)
    for kind, values in kinds.items():
        assert table[f"length {kind}"][2] == pytest.approx(np.mean(values), abs=1e-5)
        assert found.lengths()[2, :, CATEGORIES.index(kind)].mean() == pytest.approx(np.mean(values), abs=1e-5)
    stats = pytest.importorskip("scipy.stats")
    expected = stats.spearmanr([-len(v) for v in pieces.values()], [np.mean(v) for v in pieces.values()]).statistic
    assert found.frequency_correlation()[2] == pytest.approx(expected, abs=1e-3)
    assert table["frequency"][2] == found.frequency_correlation()[2]


def test_gates_count_the_labels_of_classify(embedded_lens: Lens) -> None:
    found = survey(embedded_lens, TEXTS).gates()
    labels = [gates.classify(trace)["label"].tolist() for trace in traces_of(embedded_lens, TEXTS)]
    for head, row in found.iterrows():
        given = [text[head] for text in labels]
        for name in LABELS:
            assert row[name] == pytest.approx(given.count(name) / len(TEXTS))
        assert row["share"] == max(row[name] for name in LABELS) == row[row["label"]]


def test_distribution_counts_every_text(small: Lens) -> None:
    found = survey(small, TINY)
    for name in ("previous", "entropy", "k90", "separator"):
        bins, counts = found.distribution(name, "norm")
        assert counts.shape == (3, 4, len(bins) - 1) and (counts.sum(-1) == len(TINY)).all()
        singles = [survey(small, [item]).values(name, "norm")[1, 2] for item in TINY]
        expected, _ = np.histogram(np.minimum(singles, bins[-1] * (1 - 1e-9)), bins)
        assert counts[1, 2].tolist() == expected.tolist()
    assert len(edges("first")) == len(edges("k90"))
    assert edges("first")[[0, 1, -1]].tolist() == [0, 1 / 32**2, 1]  # fine where most shares are


@pytest.mark.parametrize("name", ["roberta", "gpt2", "distilbert", "modernbert", "xlm", "llama, grouped keys"])
def test_other_families(name: str) -> None:
    """Separators, or NaN where there are none; norms where there is an adapter."""
    family = (tiny.FAMILIES | tiny.OUTSIDE)[name]
    lens = Lens(tiny.shaken(family.model()), family.tokenizer())
    texts = [item for item in TINY if not isinstance(item, list)]
    found, traces = survey(lens, texts), traces_of(lens, texts)
    table = found.table()
    for layer, head in ((0, 0), (2, 3)):
        per_text = [naive.one_head(trace.attention(layer)[head].double().tolist(), trace) for trace in traces]
        row = table.iloc[layer * 4 + head]
        for column in SURVEY_NAMES:
            expected = naive.mean([text[column] for text in per_text], "text")
            assert row[column] == pytest.approx(expected, abs=bound(column), nan_ok=True), column
    assert table["separator"].isna().all() == (name in ("gpt2", "llama, grouped keys"))
    assert found.has_norms == (name not in ("xlm", "llama, grouped keys"))
    if not found.has_norms:
        with pytest.raises(InputError, match="no norms"):
            found.table("norm")
        assert not [column for column in found.layers() if "mixing" in column]


def test_sums_in_any_order(small: Lens) -> None:
    """Shuffled, split, merged in other orders: the same statistics."""
    whole = survey(small, TINY)
    random = np.random.default_rng(0)
    shuffled = [TINY[i] for i in random.permutation(len(TINY))]
    same(survey(small, shuffled, batch_size=2), whole, 1e-5)  # padded in other company: float32 rounding
    a, b, c = (survey(small, part, batch_size=1) for part in (TINY[:2], TINY[2:3], TINY[3:]))
    same((a + b) + c, a + (b + c))
    same(a + b, b + a)
    same(c + a + b, survey(small, TINY, batch_size=1))
    before = {name: values.copy() for name, values in naive.arrays(a).items()}
    _ = a + b
    after = naive.arrays(a)
    assert after.keys() == before.keys()  # adding changes neither
    assert all(np.array_equal(after[name], values, equal_nan=True) for name, values in before.items())


def test_texts_with_and_without_norms_add_up(small: Lens) -> None:
    """Maps that were given have weights alone: both averages go over the texts that have them."""
    trace = small.trace(TINY[0])
    maps = Trace.from_attentions([trace.attention(layer) for layer in range(3)], trace.tokens)
    both = survey(small, [maps, TINY[1]])
    alone = survey(small, [TINY[1]])
    np.testing.assert_allclose(both.values("first", "norm"), alone.values("first", "norm"))
    np.testing.assert_allclose(both.layers()["mixing attn-n"], alone.layers()["mixing attn-n"])
    weight = (survey(small, [TINY[0]]).values("first") + alone.values("first")) / 2
    np.testing.assert_allclose(both.values("first"), weight, atol=1e-6)


class Interrupting:
    """A corpus that is interrupted while its nth text is read."""

    def __init__(self, texts: list[Any], at: int):
        self.texts, self.at = texts, at

    def __iter__(self) -> Iterator[Any]:
        for number, text in enumerate(self.texts):
            if number == self.at:
                raise KeyboardInterrupt
            yield text


def test_long_texts_are_run_few_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(corpora, "CHARACTERS", 30)
    texts = ["x" * size for size in (20, 8, 9, 10, 4, 50, 3)]
    (window,) = corpora.windows(corpora.numbered(texts), 3)
    assert [[len(entry.item) for entry in chosen] for chosen in window] == [[3, 4, 8], [9, 10], [20], [50]]


@pytest.mark.parametrize("window", [1, 3])
def test_interrupted_and_resumed(small: Lens, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, window: int) -> None:
    """Interrupts while reading and in the middle of a sorted window; what was done is kept, in memory and on disk."""
    monkeypatch.setattr(corpora, "WINDOW", window)
    texts = TINY * 3
    whole = survey(small, texts, batch_size=2)
    count = batch_stats.text_statistics
    interrupt_after(9, monkeypatch)
    with pytest.warns(UserWarning, match="interrupted: 8 texts are counted"):
        part = survey(small, texts, batch_size=2, save=tmp_path / "part.npz")
    monkeypatch.setattr(batch_stats, "text_statistics", count)
    assert part.n_texts == 8
    assert bool(part.ahead) == (window == 3)  # sorted by length: some of the texts done come later in the corpus
    with pytest.warns(UserWarning, match="interrupted"):
        more = survey(small, Interrupting(texts, 15), batch_size=2, resume=tmp_path / "part.npz")
    assert 8 <= more.n_texts < 21
    same(survey(small, texts, batch_size=2, resume=more), whole, 1e-5)
    same(survey(small, texts, batch_size=2, resume=HeadStats.load(tmp_path / "part.npz")), whole, 1e-5)
    same(survey(small, texts, resume=whole), whole)
    with pytest.raises(InputError, match="other texts"):
        survey(small, texts[::-1], resume=part)


def test_saved_and_loaded(small: Lens, tmp_path: Path) -> None:
    stats = survey(small, TINY, save=tmp_path / "run.stats")
    assert [path.name for path in tmp_path.iterdir()] == ["run.stats"]
    loaded = HeadStats.load(tmp_path / "run.stats")
    same(loaded, stats, 0)
    assert loaded.provenance == stats.provenance == json.loads(json.dumps(stats.provenance))
    assert {"model", "revision", "weights", "tokenizer", "tokenizer_options", "versions", "options"} <= {
        *stats.provenance
    }
    assert loaded.table().equals(stats.table())
    (tmp_path / "other.npz").write_bytes(b"nothing of the kind")
    np.savez(tmp_path / "arrays.npz", a=np.zeros(3))
    for name in ("other.npz", "arrays.npz", "missing.npz"):
        with pytest.raises(InputError, match="no head statistics"):
            HeadStats.load(tmp_path / name)


def test_kinds_of_corpus(small: Lens, tmp_path: Path) -> None:
    texts = ["the cat sat.", "it was warm,", "the mats"]
    pairs = [("the cat", "sat."), ("it", "was warm")]
    plain, paired = survey(small, texts), survey(small, pairs)
    lines = "".join(text + "\n" for text in texts)
    (tmp_path / "a.txt").write_text(f"\n{lines}\n")
    with gzip.open(tmp_path / "b.txt.gz", "wt") as out:
        out.write(lines)
    (tmp_path / "c.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    with gzip.open(tmp_path / "d.jsonl.gz", "wt") as out:
        out.writelines(json.dumps({"a": a, "b": b, "id": 3}) + "\n" for a, b in pairs)
    for name in ("a.txt", "b.txt.gz", "c.jsonl"):
        assert corpora.size(tmp_path / name) == 3
        same(survey(small, tmp_path / name), plain)
        same(survey(small, str(tmp_path / name)), plain)
    same(survey(small, tmp_path / "d.jsonl.gz"), paired)
    same(survey(small, [{"text": a, "text_pair": b} for a, b in pairs]), paired)
    same(survey(small, ({"text": text, "label": 1} for text in texts)), plain)  # as a dataset gives its rows
    same(survey(small, texts * 5, limit=3), plain)
    traces = survey(None, traces_of(small, texts))
    np.testing.assert_allclose(traces.values("entropy"), plain.values("entropy"), atol=1e-5)
    assert traces.provenance["weights"] == plain.provenance["weights"]
    words = survey(small, [["the", "cat", "sat", "."]])
    np.testing.assert_allclose(words.values("next"), survey(small, texts[:1]).values("next"), atol=1e-6)
    long = "cat " * 100
    with pytest.raises(InputError, match="item 1 of the corpus: 102 tokens"):
        survey(small, ["warm", long])
    assert survey(small, ["warm", long], truncation=True).n_tokens == 3 + 64


def test_traces_come_in_the_order_of_their_texts(small: Lens) -> None:
    """Windows are sorted by length, batches run together: places, items and traces stay together."""
    seen = []
    for chosen in (chosen for window in corpora.windows(corpora.numbered(TINY * 3), 2) for chosen in window):
        for entry, trace in zip(chosen, corpora.traces_of(small, chosen), strict=True):
            place, item = entry.number, entry.item
            seen.append(place)
            assert item == (TINY * 3)[place]
            text = " ".join(item) if isinstance(item, list) else item
            assert (trace.text, trace.text_pair) == (text if isinstance(text, tuple) else (text, None))
    assert sorted(seen) == list(range(len(TINY) * 3)) and seen != sorted(seen)


def test_bad_input(small: Lens, tmp_path: Path) -> None:
    cases: list[tuple[Any, str]] = [
        (3, "the corpus is a file, a table, or a list"),
        (small.trace("cat"), "the corpus is a file, a table, or a list"),
        (["cat", 3], "item 1 of the corpus is no text"),
        ([("a", "b", "c")], "item 0 of the corpus is no text"),
        ([[]], "item 0 of the corpus is no text"),
        ([{"title": "a"}], "has no 'text'"),
        ([{"text": None}], "item 0 of the corpus is no text"),
        (tmp_path / "missing.txt", "no corpus at"),
    ]
    for corpus, message in cases:
        with pytest.raises(InputError, match=message):
            survey(small, corpus)
    (tmp_path / "bad.jsonl").write_text("{'a'}\n")
    (tmp_path / "bad.txt").write_bytes(b"caf\xe9\n")
    (tmp_path / "bad.txt.gz").write_bytes(b"not gzip")
    for name in ("bad.jsonl", "bad.txt", "bad.txt.gz"):
        with pytest.raises(InputError, match=f"line 1 of {name} cannot be read"):
            survey(small, tmp_path / name)
    with pytest.raises(InputError, match="texts need a lens"):
        survey(None, ["cat"])
    with pytest.raises(InputError, match="no texts"):
        survey(None, [])
    with pytest.raises(InputError, match="no texts"):
        survey(small, [])
    with pytest.raises(InputError, match="no texts"):
        HeadStats({}).table()
    stats = survey(small, ["cat"])
    for call in (lambda: stats.table("length"), lambda: stats.table(average="head"), lambda: stats.values("nothing")):
        with pytest.raises(SelectionError):
            call()
    other = Lens(tiny.bert(seed=1), tiny.wordpiece())
    with pytest.raises(InputError, match="different weights"):
        _ = stats + survey(other, ["cat"])
    with pytest.raises(InputError, match="different options"):
        _ = stats + survey(small, ["cat"], truncation=True)
    wide = Lens(tiny.bert(num_attention_heads=2), tiny.wordpiece())
    with pytest.raises(InputError, match="use one model"):
        survey(None, [small.trace("cat"), wide.trace("cat")])
    cross = Trace.from_attentions(torch.full((1, 1, 2, 3), 1 / 3), ["a", "b"], ["c", "d", "e"])
    with pytest.raises(InputError, match="cross-attention"):
        survey(None, [cross])
    broken = tiny.bert()
    with torch.no_grad():
        broken.encoder.layer[1].attention.self.query.weight[0, 0] = math.nan
    with pytest.raises(InputError, match="item 0 of the corpus: the attention holds NaN"):
        survey(Lens(broken, tiny.wordpiece()), ["cat"])


def test_progress_says_how_many(small: Lens, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.txt").write_text("the cat\nsat\non the mat\n")
    head_stats(small, tmp_path / "a.txt")
    assert "3/3" in capsys.readouterr().err


def test_the_model_is_given_back(small: Lens) -> None:
    small.model.train()
    survey(small, TINY)
    assert small.model.training
    small.model.eval()


def test_a_batch_compares_the_model_once(small: Lens, monkeypatch: pytest.MonkeyPatch) -> None:
    """And all of it at once, not layer by layer."""
    compared: list[Any] = []
    holds = Fingerprint.holds

    def counted(self: Fingerprint, whole: Any, module: Any = None) -> bool:
        compared.append(module)
        return holds(self, whole, module)

    traces = [small.trace(text) for text in ("the cat sat on the mat", "the dog", "the cat was warm")]
    monkeypatch.setattr(Fingerprint, "holds", counted)
    stats = head_stats(None, traces, progress=False)
    assert stats.n_texts == 3 and stats.has_norms and compared == [None]


@pytest.mark.data
def test_known_heads_of_bert_base(data: Path) -> None:
    """The heads that the data's README names, from 1."""
    folder = data / "attention" / "bertviz_pretrained"
    traces = []
    for name in ("cat_pair", "rabbit_pair", "cat_single"):
        file = np.load(folder / f"bert_base_uncased_{name}.npz")
        traces.append(Trace.from_attentions(file["attentions"], [str(token) for token in file["tokens"]]))
    table = survey(None, traces).table()
    table["name"] = [f"{layer + 1}-{head + 1}" for layer, head in zip(table["layer"], table["head"], strict=True)]
    named = table.set_index("name")
    assert set(named["previous"].nlargest(3).index) == {"4-6", "7-12", "8-5"}
    assert set(named["next"].nlargest(5).index) == {"1-11", "2-2", "3-1", "3-10", "6-10"}
    by_layer = table.groupby("layer")["separator"].mean()
    assert (by_layer[4:] > 0.6).all() and (by_layer[:4] < 0.6).all()


def test_batches_of_nothing_are_refused(small: Lens, tmp_path: Path) -> None:
    path = tmp_path / "stats.npz"
    with pytest.raises(InputError, match="batch_size must be at least 1 and at most 65,536, not 0"):
        survey(small, TINY, batch_size=0, save=path)
    assert not path.exists()  # nothing was counted: the corrected call must not find a file in its way
