"""A survey in shards, or by any engine through `batch_sums`, is that of one process: counts equal, sums to 1e-12."""

from __future__ import annotations

import pickle
import random
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bertlens import InputError, Lens, cli
from bertlens.survey import HeadStats, batch_sums, corpus, head_stats, merge, sums
from unit import survey_naive as naive
from unit import tiny
from unit.interrupts import interrupt_after

SHARDS = 7
N = 120  # of which a bin of lengths has more than are kept, so that values are drawn
WINDOW = 16  # texts


@pytest.fixture(scope="module", autouse=True)
def _few_are_many() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sums, "KEPT_TEXTS", 60)
        patch.setattr(sums, "SAMPLED_TEXTS", 20)
        patch.setattr(corpus, "WINDOW", 2)
        yield


@pytest.fixture(scope="module")
def lens() -> Lens:
    return Lens(tiny.bert(num_hidden_layers=2), tiny.wordpiece())


@pytest.fixture(scope="module")
def texts() -> list[Any]:
    draw = np.random.default_rng(0)
    drawn: list[Any] = [" ".join(draw.choice(tiny.WORDS[:9], draw.choice([3] * 19 + [11]))) for _ in range(N)]
    drawn[3], drawn[4] = ("the cat", "it was warm."), ["the", "unbelievable", "cats"]
    return drawn


@pytest.fixture(scope="module")
def alone(lens: Lens, texts: list[Any]) -> HeadStats:
    return head_stats(lens, texts, progress=False)


@pytest.fixture(scope="module")
def files(lens: Lens, texts: list[Any], tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("parts")
    paths = [folder / f"part-{number}.npz" for number in range(1, SHARDS + 1)]
    for number, path in enumerate(paths, 1):
        head_stats(lens, iter(texts), progress=False, shard=f"{number}/{SHARDS}", save=path)
    return paths


def same(merged: HeadStats, alone: HeadStats, places: bool = True) -> None:
    """Counts are equal, sums within 1e-12, and so what is made of them: means, spreads, ranks, texts."""
    assert (merged.n_texts, merged.n_tokens, merged.corpus) == (alone.n_texts, alone.n_tokens, alone.corpus)
    ours, theirs = naive.arrays(merged), naive.arrays(alone)
    assert ours.keys() == theirs.keys()
    for name, totals in ours.items():
        if name.endswith(("count", "texts", "tokens", "gates", "bins", "weight", "norm")):
            np.testing.assert_array_equal(totals, theirs[name], err_msg=name)
        np.testing.assert_allclose(totals, theirs[name], rtol=1e-12, atol=0, err_msg=name)
    for by in ("weight", "norm"):
        np.testing.assert_allclose(merged.spreads(by), alone.spreads(by), rtol=1e-9, atol=1e-12)
        values = np.stack([alone.values(name, by) for name in alone.table().columns[2:]]).astype(np.float32)
        np.testing.assert_array_equal(merged.lower(values, by), alone.lower(values, by))
    columns = ["value", "text", "text_pair", "tokens", "whole", *(["place"] if places else [])]
    for layer, head in np.ndindex(*alone.shape):
        ours, theirs = (stats.texts("next", layer, head)[columns] for stats in (merged, alone))
        assert ours.equals(theirs)


def test_seven_shards_merged_in_five_orders_are_one_process(
    files: list[Path], alone: HeadStats, tmp_path: Path
) -> None:
    assert any("weight.text_bins" in tally.sums for tally in alone.bins.values())
    assert {HeadStats.load(path).n_texts for path in files} <= {*range(10, 25)}
    merged = []
    for seed in range(5):
        order = random.Random(seed).sample(files, SHARDS)
        merged.append(merge(order))
        same(merged[-1], alone)
        assert merged[-1].shard is None
        for name, totals in naive.arrays(merged[-1]).items():
            np.testing.assert_array_equal(totals, naive.arrays(merged[0])[name])  # to the bit: by number they are added
    merged[0].save(tmp_path / "all.npz")
    same(HeadStats.load(tmp_path / "all.npz"), alone)


def test_a_shard_goes_on_where_it_was(
    lens: Lens, texts: list[Any], files: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "part-2.npz"
    options: dict[str, Any] = {"progress": False, "shard": f"2/{SHARDS}", "save": path}
    with monkeypatch.context() as patch:
        interrupt_after(20, patch)
        with pytest.warns(UserWarning, match="interrupted"):
            head_stats(lens, texts, **options)
    counted = HeadStats.load(path)
    assert 0 < counted.n_texts < 20
    with pytest.raises(InputError, match=r"part-2.npz is not complete: --shard 2/7 with --resume goes on"):
        merge([*files[:1], path, *files[2:]])
    for changes, fault in (
        ({"shard": "3/7"}, "are not of shard 3/7 in batches of 8"),
        ({"batch_size": 4}, "are not of shard 2/7 in batches of 4"),
        ({"shard": None}, "are of other texts"),
    ):
        with pytest.raises(InputError, match=fault):
            head_stats(lens, texts, **options | {"save": None} | changes, resume=path)
    with pytest.raises(InputError, match="of other texts"):
        head_stats(lens, texts[1:], **options | {"save": None}, resume=path)
    for _ in range(2):  # also where nothing is left to do
        head_stats(lens, texts, **options, resume=path)
        for name, totals in naive.arrays(HeadStats.load(path)).items():
            np.testing.assert_array_equal(totals, naive.arrays(HeadStats.load(files[1]))[name])
        assert merge([*files[:1], path, *files[2:]]).n_texts == N


def test_foreign_parts_are_named(lens: Lens, texts: list[Any], tmp_path: Path) -> None:
    first, second, foreign = (tmp_path / f"{name}.npz" for name in ("first", "second", "foreign"))
    base: dict[str, Any] = {"progress": False, "batch_size": 2}
    head_stats(lens, texts[:8], **base, shard="1/3", save=first)
    head_stats(lens, texts[:8], **base, shard="2/3", save=second)
    other = Lens(tiny.bert(num_hidden_layers=2, seed=1), tiny.wordpiece())
    for fault, model, source, options in (
        ("weights", other, texts[:8], {}),
        ("corpus", lens, texts[:7], {}),
        ("batch size", lens, texts[:8], {"batch_size": 1}),
        ("truncation", lens, texts[:8], {"truncation": True}),
        ("number of shards", lens, texts[:8], {"shard": "3/4"}),
    ):
        head_stats(model, source, **base | {"shard": "3/3", "save": foreign} | options)
        with pytest.raises(InputError, match=rf"foreign.npz is of another job .*what differs: {fault}\)"):
            merge([foreign, first, second])
    head_stats(lens, texts[:2], **base, save=foreign)
    with pytest.raises(InputError, match=r"foreign.npz is no part of a survey"):
        merge([foreign, first])


def test_what_is_no_shard_of_a_survey(lens: Lens, texts: list[Any]) -> None:
    with pytest.raises(InputError, match="there are 2 batches of 8 texts: too few for 7 shards"):
        head_stats(lens, texts[:16], progress=False, shard="1/7")
    for options in ({"shard": "8/7"}, {"shard": "1/7", "client": "local"}):
        with pytest.raises(InputError, match="shard"):
            head_stats(lens, texts, progress=False, **options)


def test_the_command(files: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = tmp_path / "all.npz"
    assert cli.main(["merge", *map(str, reversed(files)), "-o", str(output)]) == 0
    assert capsys.readouterr().out.startswith(f"{output}: {N} texts, ") and HeadStats.load(output).n_texts == N
    for parts, end in ((files, "of 7 parts\n"), ([*files, output], "of 7 parts; all.npz itself is none of them\n")):
        assert cli.main(["merge", *map(str, parts), "-o", str(output)]) == 0  # as part*.npz of a shell names it
        assert capsys.readouterr().out.endswith(end) and HeadStats.load(output).n_texts == N
    (tmp_path / "text.txt").write_text("no part")
    foreign = HeadStats.load(output)
    foreign.provenance["options"] = {}
    foreign.save(tmp_path / "foreign.npz")
    before = output.read_bytes()
    for parts, target, fault in (
        (files, tmp_path / "foreign.npz", "foreign.npz is there already, and is of no earlier bertlens merge of these"),
        (files, tmp_path / "text.txt", "text.txt is there already"),
        ([*files, tmp_path / "foreign.npz"], tmp_path / "foreign.npz", "is read from"),
        ([output], output, "is read from"),
        (files, files[0], "is read from"),
        (files[1:], tmp_path / "no.npz", "lacks shard 1/7"),
        ([output], tmp_path / "no.npz", "all.npz is no part of a survey"),
        ([tmp_path / "text.txt"], tmp_path / "no.npz", "text.txt is no file of bertlens that can be read"),
        ([tmp_path / "none.npz"], tmp_path / "no.npz", "No such file"),
    ):
        assert cli.main(["merge", *map(str, parts), "-o", str(target)]) == 2
        [line] = capsys.readouterr().err.splitlines()
        assert fault in line
    assert output.read_bytes() == before and not (tmp_path / "no.npz").exists()


def windows_of(texts: list[Any], size: int = WINDOW) -> list[list[Any]]:
    return [texts[at : at + size] for at in range(0, len(texts), size)]


def test_batch_sums_add_up_to_a_survey(lens: Lens, texts: list[Any]) -> None:
    work = pickle.loads(pickle.dumps(partial(batch_sums, lens)))
    total = sum(pickle.loads(pickle.dumps(work(window))) for window in reversed(windows_of(texts[:70])))
    same(total, head_stats(lens, texts[:70], progress=False), places=False)
    assert {text.place for text in total.highest.texts.values()} == {-1}
    assert batch_sums(lens, texts[:9], top_texts=False).highest is None
    with pytest.raises(TypeError):
        _ = 1 + total
    with pytest.raises(InputError, match="item 1 of the corpus"):
        batch_sums(lens, ["the cat", 3])


def test_batches_as_engines_hand_them_over(lens: Lens, texts: list[Any]) -> None:
    """Columns by name, as lists and arrays, and an iterator."""
    plain = [text for text in texts[:20] if isinstance(text, str)]
    expected = naive.arrays(batch_sums(lens, plain))
    for batch in ({"text": plain}, {"text": np.array(plain, object)}, iter(plain)):
        for name, values in naive.arrays(batch_sums(lens, batch)).items():
            np.testing.assert_array_equal(values, expected[name])
    pairs = {"a": plain, "b": plain[::-1]}
    assert batch_sums(lens, pairs).n_texts == batch_sums(lens, pairs, column="b").n_texts == len(plain)


@pytest.mark.long
def test_a_model_is_named_and_each_process_loads_it_once(lens: Lens, texts: list[Any], tmp_path: Path) -> None:
    lens.model.save_pretrained(tmp_path)
    lens.tokenizer.save_pretrained(tmp_path)
    work = partial(batch_sums, str(tmp_path))
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        total = sum(pool.map(work, windows_of(texts[:70])))
    same(total, head_stats(Lens.from_pretrained(tmp_path), texts[:70], progress=False), places=False)
