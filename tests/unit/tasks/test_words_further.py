"""What follows from the words of a task: cases, counter-examples, files, a second model, edits, command and page."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
import transformers as tf
from scipy import stats as st

import bertlens as bl
from bertlens.cli import main
from bertlens.errors import InputError, ModelError
from bertlens.tasks import task_shards as shards
from bertlens.tasks.words import gained, read_words
from unit import tiny
from unit.tasks.classifier import NAMES, labelled, lens_of, texts_of
from unit.tasks.test_resume_folder import counted


@pytest.fixture(scope="module")
def task() -> bl.Task:
    return bl.task(lens_of(1), labelled(40, seed=1), progress=False)


@pytest.fixture(scope="module")
def words(task: bl.Task) -> bl.tasks.TaskWords:
    return task.words()


def test_a_word_has_its_cases(task, words):
    cases = words.cases("cat")
    assert [*cases["loss"]] == sorted(cases["loss"], reverse=True)
    assert {*cases["row"]} == {row for row, (text,) in enumerate(task.examples.texts) if "cat" in text.split()}
    with pytest.raises(InputError, match="no word 'dog' in the table"):
        words.cases("dog")


def test_counter_examples_are_texts_without_the_word_and_with_another(task, words, tmp_path):
    table = words.counter_examples(["cat"], tmp_path / "more.csv")
    rows = {row: text.split() for row, (text,) in enumerate(task.examples.texts) if "cat" in text.split()}
    for line in table.itertuples():
        kept = [word for word in rows[line.row] if word != "cat"]
        if line.change == "without":
            assert line.text.split() == kept
        else:
            new = line.change.removesuffix(" in its place")
            assert line.text.split() == [new if word == "cat" else word for word in rows[line.row]] and new != "cat"
        assert line.label == NAMES[task.labels[line.row]]
    assert {*table["change"]} > {"without"} and {*table["row"]} <= {*rows}
    pd.testing.assert_frame_equal(pd.read_csv(tmp_path / "more.csv"), table)
    words.counter_examples(["cat"], tmp_path / "more.parquet")
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "more.parquet"), table)
    assert len(bl.task(task.lens, tmp_path / "more.csv", progress=False)) == len(table)  # what training reads
    for bad, error in ((["dog"], "no word"), ("cat", "a list of words"), ([], "a list of words")):
        with pytest.raises(InputError, match=error):
            words.counter_examples(bad)
    with pytest.raises(InputError, match="neither"):
        words.counter_examples(["cat"], "more.txt")


def test_a_file_of_words_says_what_has_gained(task, words, tmp_path):
    path = words.save(tmp_path / "words.json", 3)
    rows = read_words(path)
    assert len({row["word"] for row in rows}) == 3 and len(rows) == 6
    table = gained(task, rows)
    assert table["change"].abs().max() < 1e-6 and not table["gained"].any()  # the same model, the same texts
    [earlier] = [row for row in rows if row["word"] == rows[0]["word"] and row["effect"] > 0]
    texts = [text for (text,) in task.examples.texts if earlier["word"].split()[0] in text.split()]
    assert len(earlier["by"]) == earlier["texts"] <= len({*texts})
    named = {
        "words": 1,
        "rows": [{name: earlier[name] for name in ("word", "class", "kind", "of")}, {"word": "dog", "class": "cold"}],
    }
    (tmp_path / "own.json").write_text(json.dumps(named))
    [line] = gained(task, read_words(tmp_path / "own.json")).to_dict("records")
    assert line["gained"] and (line["low"], line["high"]) == pytest.approx((earlier["low"], earlier["high"]), abs=1e-6)
    for bad in ("none.json", "old.json"):  # none, and one without the effects by text
        (tmp_path / "old.json").write_text(json.dumps({"words": 1, "rows": [{"word": "a", "class": "b", "effect": 1}]}))
        with pytest.raises(InputError, match="no file of words"):
            read_words(tmp_path / bad)
    with pytest.raises(InputError, match="the class 'hot'"):
        gained(task, [earlier | {"class": "hot"}])
    with pytest.raises(InputError, match="no word of the file stands in two of its texts"):
        gained(task, [earlier | {"by": dict([*earlier["by"].items()][:1])}])


def test_a_gain_is_of_the_same_texts(task, words, tmp_path):
    """Paired: the interval of the differences, at 95 % for all words of the file; an analytic case, chance, a shift."""
    rows = read_words(words.save(tmp_path / "words.json", 400))
    rows = [row for row in rows if row["effect"] > 0 and row["kind"] == "word"]
    assert len(rows) > 3
    random = np.random.default_rng(0)

    def before(row: dict[str, Any], noise: float, less: float = 0.0) -> dict[str, Any]:
        return row | {"by": {key: value - less + random.normal(0, noise) for key, value in row["by"].items()}}

    own = [before(row, 0.02, 0.6 * row["effect"]) for row in rows]
    for row, line, new in zip(rows, gained(task, own).to_dict("records"), own, strict=True):
        differences = np.array([row["by"][key] - new["by"][key] for key in row["by"]])
        spread, level = st.sem(differences), 1 - 0.05 / len(rows)
        ends = st.t.interval(level, len(differences) - 1, differences.mean(), spread)
        assert (line["change"], line["low"], line["high"]) == pytest.approx((differences.mean(), *ends), abs=1e-5)
        assert line["before"] == pytest.approx(np.mean([*new["by"].values()])) and line["texts"] == len(differences)
        assert line["gained"] == (ends[0] > 0)
    turned = [before(row, 1e-4, 0.9 * row["effect"]) for row in rows]  # was weak, or is weaker and the other way
    turned += [row | {"by": {key: -10 * value for key, value in row["by"].items()}} for row in rows]
    assert gained(task, turned)["gained"].tolist() == [True] * len(rows) + [False] * len(rows)
    chance = sum(gained(task, [before(row, 0.3) for row in rows])["gained"].any() for _ in range(60))
    assert chance <= 6  # of 60 without a change; 1.5 are to be expected
    large = max(rows, key=lambda row: np.std([*row["by"].values()]))
    lines = gained(task, [before(row, 0.01, 0.1 * (row is large)) for row in rows])
    assert lines[lines["gained"]]["word"].tolist() == [large["word"]]
    assert np.std([*large["by"].values()]) > 0.1  # of which the mean alone would tell nothing


def odds(lens: bl.Lens, text: str) -> float:
    with torch.no_grad():
        cold, warm = lens.model(**lens.tokenizer(text, return_tensors="pt")).logits[0].double().tolist()
    return warm - cold


def test_two_models_by_their_words(task, words):
    """Effects of either, on the same texts, paired."""
    other = lens_of(2)
    both = task.words(against=other).changes
    alone = bl.task(other, labelled(40, seed=1), progress=False).words().table.set_index(["class", "kind", "word"])
    own = words.table.set_index(["class", "kind", "word"])
    assert len(both) == len(own)
    for row in both.itertuples():
        key = row._1, row.kind, row.word
        assert (row.now, row.before) == pytest.approx((own.loc[key, "effect"], alone.loc[key, "effect"]), abs=1e-5)
        assert row.change == pytest.approx(row.now - row.before, abs=1e-9) and row.low <= row.change <= row.high
    assert [*both["change"].abs()] == sorted(both["change"].abs(), reverse=True)
    line = both[both["word"] == "cat"].query("kind == 'word' and `class` == 'warm'").iloc[0]
    texts = [text for text, _ in labelled(40, seed=1) if "cat" in text.split()]
    first, second = (
        np.array([odds(lens, text) - odds(lens, text.replace("cat", "[MASK]")) for text in texts])
        for lens in (task.lens, other)
    )
    assert line["p"] == pytest.approx(st.ttest_rel(first, second).pvalue, abs=1e-4)
    with pytest.raises(ModelError, match="has the classes"):
        task.words(against=lens_of(0, 3))


@pytest.mark.parametrize("name", ["byte-level", "thai and arabic"])
def test_words_of_any_script(name):
    """In a script without blanks a token is a word; of a letter in several bytes no piece is told."""
    torch.manual_seed(0)
    config = tf.RobertaConfig(**tiny.ROBERTA, num_labels=2, id2label=NAMES)
    lens = bl.Lens(tiny.shaken(tf.RobertaForSequenceClassification(config)), tiny.byte_level(True))
    texts = ["unbelievable cats sat", "the mat was warm"] if name == "byte-level" else ["مرحبا يا عالم", "สวัสดีชาวโลก"]
    task = bl.task(lens, [(text, label) for label, text in enumerate(texts)] * 5, progress=False)
    words = task.words()
    found = {*words.table.query("kind == 'word'")["word"]}
    assert {"cats", "mat"} <= found if name == "byte-level" else {"مرحبا", "يا", "عالم"} <= found
    assert not words.table["word"].str.contains("<0x").any() or name != "byte-level"
    if name == "byte-level":
        table = words.counter_examples(["cats"])
        assert table[table["change"] == "without"]["text"].unique().tolist() == ["unbelievable sat"]


def test_one_text_and_a_word_in_every_text():
    lens = lens_of(1)
    words = bl.task(lens, [("the cat sat", "warm")], progress=False).words()
    assert (
        words.table["effect"].notna().all() and words.table["p"].isna().all() and "one text: no interval" in words.said
    )
    examples = [(f"it {text}", label) for text, label in labelled(30)]
    task = bl.task(lens, examples, progress=False)
    row = task.words().table.query("word == 'it' and kind == 'word'").iloc[0]
    assert row["texts"] == 30 and math.isnan(row["label_without"]) and math.isnan(row["rate_outside"])
    assert not row["suspect"] and row["p_wrong"] == 1
    right = bl.task(
        lens, [(text, int(guess)) for (text, _), guess in zip(examples, task.guesses, strict=True)], progress=False
    )
    table = right.words().table
    assert (table["errors"] == 0).all() and table["turned_share"].isna().all() and (table["wrong"] == 0).all()
    with pytest.raises(InputError, match="a task needs at least two"):
        bl.task(lens, [(text, "warm") for text, _ in examples])


def test_words_of_numbers_and_of_tags():
    """A number is what words move; of tags the log-odds at all other words, added."""
    number = bl.task(lens_of(classes=1), [(t, float(k % 5)) for k, (t, _) in enumerate(labelled(30))], progress=False)
    found = number.words()
    row = found.table.query("kind == 'word'").iloc[0]
    effects = []
    for (text,) in number.examples.texts:
        if row["word"] in text.split():
            whole, gone = (number.lens.model(**number.lens.tokenizer(one, return_tensors="pt")).logits.item()
                           for one in (text, text.replace(row["word"], "[MASK]")))  # fmt: skip
            effects.append(whole - gone)
    assert row["effect"] == pytest.approx(np.mean(effects), abs=1e-5)
    assert few_said(number.words(runs=10)) and not found.estimates.size
    torch.manual_seed(0)
    config = tf.BertConfig(**tiny.BERT, num_labels=3, id2label={0: "O", 1: "B-X", 2: "I-X"})
    lens = bl.Lens(tiny.shaken(tf.BertForTokenClassification(config)), tiny.wordpiece())
    random = np.random.default_rng(0)
    texts = [text.split() for text in texts_of(24)]
    tags = bl.task(
        lens, [(text, [["O", "B-X"][k] for k in random.integers(0, 2, len(text))]) for text in texts], progress=False
    )
    row = tags.words().table.query("kind == 'word' and `class` == 'B-X'").iloc[0]
    effects = []
    for text in texts:
        if row["word"] in text:
            stays = [at for at, word in enumerate(text) if word != row["word"]]
            sums = []
            for one in (text, ["[MASK]" if word == row["word"] else word for word in text]):
                inputs = lens.tokenizer([one], is_split_into_words=True, return_tensors="pt")
                ids = inputs.word_ids(0)
                p = lens.model(**inputs).logits[0].double().softmax(-1)[:, 1]
                sums.append(sum(float(torch.logit(p[ids.index(at)])) for at in stays))
            effects.append(sums[0] - sums[1])
    assert row["effect"] == pytest.approx(np.mean(effects), abs=1e-4)
    few = tags.words(runs=60)
    assert few.runs <= 80 and "of them run in some texts" in few.said
    with pytest.raises(InputError, match="words are told of classes, tags and numbers"):
        bl.task(bl.Lens.embedded(), [(("a", "b"), 1.0), (("c", "d"), 0.0)]).words()


def few_said(words: Any) -> bool:
    return "estimated by one backward pass" in words.said and words.error > 0


def test_words_of_pairs_say_which_text():
    examples = [
        ((text, other), label) for (text, label), (other, _) in zip(labelled(40), labelled(40, seed=5), strict=True)
    ]
    task = bl.task(lens_of(), examples, progress=False)
    table = task.words().table
    assert {*table["of"]} == {"first text", "second text"}
    row = table.query("word == 'cat' and kind == 'word' and of == 'second text'").iloc[0]
    assert row["texts"] == sum("cat" in pair[1].split() for pair, _ in examples)
    words = task.words()
    assert "text_pair" in words.counter_examples(["cat"])
    for line in words.table[words.table["kind"] == "word"].to_dict("records"):  # a number of texts leads to these
        assert len(words.cases(line["word"], line["of"])) == line["texts"]
    with pytest.raises(InputError, match="is in no row of the table of 'third text'"):
        words.cases("cat", "third text")


def test_the_arguments_are_told(task):
    for given, error in (
        ({"n": 0}, "n is how many"),
        ({"runs": 0}, "runs is how many"),
        ({"seed": -1}, "seed"),
        ({"against": 3}, "give a bl.Lens"),
    ):
        with pytest.raises(InputError, match=error):
            task.words(**given)


@pytest.mark.parametrize("runs", [100, pytest.param(10_000, marks=pytest.mark.long)])
def test_what_was_run_is_kept(tmp_path, monkeypatch, runs):
    """After Ctrl-C the same call goes on, and a later task runs nothing; the model stays as it was."""
    lens = lens_of()
    before = {name: value.clone() for name, value in lens.model.state_dict().items()}

    def task() -> bl.Task:
        return bl.task(lens, labelled(40), batch_size=4, progress=False, keep=tmp_path / "kept")

    from bertlens.tasks.words import hidden_runs

    run, calls = hidden_runs.answers_of, []

    def stopped(*given: Any) -> Any:
        calls.append(1)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return run(*given)

    monkeypatch.setattr(hidden_runs, "answers_of", stopped)
    with pytest.raises(KeyboardInterrupt):
        task().words(n=2, runs=runs)
    expected = bl.task(lens, labelled(40), batch_size=4, progress=False).words(n=2, runs=runs)
    whole = len(calls) - 4
    calls[:] = [0] * 10
    words = task().words(n=2, runs=runs)
    assert len(calls) == 10 + whole - 3
    pd.testing.assert_frame_equal(words.table, expected.table, check_exact=True)
    calls[:] = [0] * 10
    monkeypatch.setattr(hidden_runs, "word_gradients", None)
    pd.testing.assert_frame_equal(task().words(n=2, runs=runs).table, expected.table, check_exact=True)
    assert len(calls) == 10
    assert all(torch.equal(value, before[name]) for name, value in lens.model.state_dict().items())


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.chdir(tmp_path)
    lens = lens_of()
    monkeypatch.setattr("bertlens.cli.command_line.load_lens", lambda _: lens)
    rows = [f"{text},{NAMES[label]}" for text, label in labelled(40)]
    Path("a.csv").write_text("\n".join(["text,label", *rows]))
    plain = ["--heads", "0", "--errors", "0", "--batch-size", "4"]
    return lambda *options: main(["task", "m", "a.csv", *plain, *options])


def test_the_command_writes_checks_and_mines(command, capsys, monkeypatch):
    monkeypatch.setattr("bertlens.tasks.labelled_task.page_of", lambda *given: f"<p>{given[4].said}</p>\n")
    assert command("-o", "page.html", "--words", "4", "--counter-examples", "more.csv") == 0
    words = bl.task(lens_of(), labelled(40), batch_size=4, progress=False).words(4)
    printed = capsys.readouterr().out
    assert words.said in printed and words.said in Path("page.html").read_text(encoding="utf-8")
    assert "page-words.json: the first 4 words" in printed
    suspects = words.suspects.query("kind == 'word'")
    assert Path("more.csv").exists() == bool(len(suspects)) and ("no word is a suspect" in printed) != bool(
        len(suspects)
    )
    assert command("-o", "next.html", "--words", "4", "--check", "page-words.json") == 0
    assert "none of 4 words has gained, by the same texts" in capsys.readouterr().out
    about = json.loads(Path("page-words.json").read_text())
    for row in about["rows"]:
        row["by"] = {key: value / 10 for key, value in row["by"].items()}
    Path("old.json").write_text(json.dumps(about))
    assert command("-o", "page.html", "--words", "4", "--check", "old.json", "--force") == 1
    assert "of 4 words have gained: “" in capsys.readouterr().err
    for options, error in (
        (["--counter-examples", "b.csv"], "give --words 30"),
        (["--words", "-1"], "numbers from 0"),
        (["--words", "2", "--check", "a.csv"], "holds no numbers of a task"),
        (["--words", "2", "--counter-examples", "b.txt"], "neither"),
    ):
        assert command("-o", "other.html", *options) == 2 and error in capsys.readouterr().err


def test_the_command_has_the_words_of_two_models(command, capsys, monkeypatch):
    """The sentence and the page's column are those of `against`."""
    lenses = {"m": lens_of(), "n": lens_of()}
    lenses["n"].model.classifier.weight.data *= 20  # words move it as much further
    lenses["n"] = bl.Lens(lenses["n"].model, lenses["n"].tokenizer)
    monkeypatch.setattr("bertlens.cli.command_line.load_lens", lenses.__getitem__)
    assert command("-o", "page.html", "--words", "4", "--against", "n") == 0
    words = bl.task(lenses["m"], labelled(40), batch_size=4, progress=False).words(4, against=lenses["n"])
    assert words.said in capsys.readouterr().out and "Beside “BertForSequenceClassification” " in words.said
    found = words.changes[words.changes["finding"]].drop_duplicates(["kind", "word", "of"])
    best = found.iloc[0]
    moves = f"“{best['word']}” moves {best['class']} by {best['now']:+.2f}, {best['before']:+.2f} there"
    assert len(found) and f" {len(found)} part" in words.said and moves.replace("-", "−") in words.said
    page = Path("page.html").read_text(encoding="utf-8")
    place = page.index("<th", page.index("Words it goes by"))
    head, body = page[place:].split("</thead>")[:2]
    names = [cell.split(">")[1].split("<")[0] for cell in head.split("<th ")[1:]]
    cells = [cell.split(">")[1].split("<")[0] for cell in body.split("<tr")[1].split("<td")[1:]]
    shown = words.table[words.table["effect"] > 0].sort_values("suspect", ascending=False, kind="stable").iloc[0]
    keys = ["class", "kind", "word", "of"]
    before = words.changes.set_index(keys)["before"][tuple(shown[keys])]
    cells = cells[: len(names)]
    assert cells[names.index("before")] == f"{before:.2f}".replace("-", "−")
    for options in (["--against", "n"], ["--words", "2", "--against", "n", "--stage", "estimate"]):
        assert command("-o", "other.npz" if "--stage" in options else "other.html", *options) == 2
        assert "--against is of words" in capsys.readouterr().err


@pytest.mark.parametrize("runs", [100, pytest.param(10_000, marks=pytest.mark.long)])
def test_shards_are_one_process(command, monkeypatch, runs, capsys):
    monkeypatch.setattr("bertlens.tasks.task_shards.RUNS", runs)
    for stage, parts in (("estimate", []), ("exact", ["--parts", "estimate.npz"])):
        names = [f"{stage}-{number}.npz" for number in (1, 2)]
        for number, name in enumerate(names, 1):
            assert command("--words", "2", "--stage", stage, "--shard", f"{number}/2", "-o", name, *parts) == 0
        assert main(["merge", *names, "-o", f"{stage}.npz"]) == 0
    merged = bl.task(lens_of(), labelled(40), batch_size=4, progress=False)
    settings = {"heads": 0, "words": 2, "seed": 0, "ablation": "zero"}
    shards.read(merged, [Path("estimate.npz"), Path("exact.npz")], settings)
    expected = bl.task(lens_of(), labelled(40), batch_size=4, progress=False).words(2, runs=runs)
    calls = counted(monkeypatch)
    words = merged.words(2, runs=runs)
    assert len(calls) == 0
    pd.testing.assert_frame_equal(words.table, expected.table, check_exact=True)
    assert words.said == expected.said


def test_the_page_has_words_and_their_texts(task, words, tmp_path):
    page = task.to_html(tmp_path / "t.html", words=words, live=0).read_text(encoding="utf-8")
    assert "Words it goes by" in page
    first = words.table[words.table["effect"] > 0].sort_values("suspect", ascending=False, kind="stable").iloc[0]
    place = page.index('<a href="#word-')
    name = page[place:].split('"#')[1].split('"')[0]
    assert f'id="{name}"' in page and page[place:].split(">")[1].split("<")[0] == str(first["texts"])
    with pytest.raises(InputError, match=r"task.words\(\) gave"):
        task.to_html(tmp_path / "t.html", words=3)


def sentences(n: int, seed: int) -> list[tuple[str, int]]:
    random = np.random.default_rng(seed)
    known = ["the cat", "it was", "mat", "warm", "very"]
    rows = []
    for k in range(n):
        text = f"{random.choice(known)} of the cat was {random.choice(known)} on {random.integers(10, 99)} mats"
        rows.append((text, k % 2))
    return rows


def test_edits_turn_answers_beside_fillers():
    """Counts of answers of the model itself, by its tokenizer; McNemar's exact test."""
    task = bl.task(lens_of(7), sentences(60, 0), progress=False)
    probe = task.edits(
        words=["warm", "very warm"], frames=["the {} cat sat", "it was {}.", "on the {} mat"], fillers=["it", "a", "on"]
    )
    table = probe.table.set_index(["kind", "word"])
    assert {("not", ""), ("number", ""), ("word", "warm"), ("word", "very warm")} == {*table.index}
    lens = task.lens

    def guess(text: str) -> str:
        with torch.no_grad():
            return NAMES[int(lens.model(**lens.tokenizer(text, return_tensors="pt")).logits.argmax())]

    for (kind, word), line in table.iterrows():
        pairs = probe.pairs[(probe.pairs["kind"] == kind) & (probe.pairs["word"] == word)]
        own, edit, filler = ([*map(guess, pairs[name])] for name in ("text", "edit", "filler"))
        assert [*pairs["guess_edit"]] == edit and [*pairs["guess"]] == own
        turned = [a != b for a, b in zip(own, edit, strict=True)]
        by_filler = [a != b for a, b in zip(own, filler, strict=True)]
        assert (line["n"], line["turned"], line["filler_turned"]) == (len(pairs), sum(turned), sum(by_filler))
        more, fewer = (
            sum(a and not b for a, b in zip(*both, strict=True)) for both in ((turned, by_filler), (by_filler, turned))
        )
        assert line["p"] == pytest.approx(st.binomtest(more, more + fewer).pvalue if more + fewer else 1)
        lengths = [len(lens.tokenizer(text)["input_ids"]) for text in pairs["filler"]]
        if kind == "word":
            assert lengths == [len(lens.tokenizer(text)["input_ids"]) for text in pairs["edit"]]
    assert all(" not " in text for text in probe.pairs.query("kind == 'not'")["edit"])
    assert (probe.pairs.query("kind == 'word'")["row"] == -1).all() and "“very warm” turns" in probe.said
    for given, error in (
        ({"words": ["a"]}, "give both"),
        ({"words": ["a"], "frames": ["no place"]}, "frames are texts such as"),
        ({"words": [], "frames": ["{}"]}, "words is empty"),
        ({"words": "a", "frames": ["{} a"]}, "a list of texts"),
        ({"roles": ["a"]}, "roles are a list"),
        ({"n": 0}, "n is how many"),
    ):
        with pytest.raises(InputError, match=error):
            task.edits(**given)


def test_edits_move_numbers_beside_fillers():
    """By the model itself; paired by text. Tags would shift with the words: refused."""
    lens = lens_of(3, classes=1)
    task = bl.task(lens, [(text, float(n % 7)) for n, (text, _) in enumerate(sentences(40, 1))], progress=False)
    probe = task.edits(words=["warm", "very"], frames=["the {} cat sat", "it was {}."], fillers=["it", "a", "on"])

    def number(text: str) -> float:
        with torch.no_grad():
            return lens.model(**lens.tokenizer(text, return_tensors="pt")).logits.item()

    assert [*probe.table["kind"]] == ["not", "number", "word", "word"]
    for line in probe.table.to_dict("records"):
        pairs = probe.pairs[(probe.pairs["kind"] == line["kind"]) & (probe.pairs["word"] == line["word"])]
        own, edit, filler = (np.array([*map(number, pairs[name])]) for name in ("text", "edit", "filler"))
        assert pairs["guess_edit"].tolist() == pytest.approx(edit.tolist(), abs=1e-5)
        far, by_filler = np.abs(edit - own), np.abs(filler - own)
        assert (line["n"], line["moved"], line["filler_moved"]) == pytest.approx(
            (len(pairs), np.median(far), np.median(by_filler)), abs=1e-5
        )
        ends = st.ttest_rel(far, by_filler).confidence_interval()
        assert (line["more"], line["low"], line["high"]) == pytest.approx(((far - by_filler).mean(), *ends), abs=1e-4)
        assert line["p"] == pytest.approx(st.ttest_rel(far, by_filler).pvalue, abs=1e-3)
    first = probe.table.iloc[0]
    chance = ", and that is no chance." if first["finding"] else "."
    said = f"“not” moves {first['n']} answers by {first['moved']:.2g} (median), a filler of equal length by "
    assert probe.said.startswith(f"{said}{first['filler_moved']:.2g}{chance}")
    config = tf.BertConfig(**tiny.BERT, num_labels=2, id2label={0: "O", 1: "B-X"})
    tagger = bl.Lens(tiny.shaken(tf.BertForTokenClassification(config)), tiny.wordpiece())
    tags = bl.task(tagger, [(["the", "cat"], ["O", "B-X"]), (["a", "mat"], ["O", "O"])], progress=False)
    with pytest.raises(InputError, match="edits turn classes of texts, or move numbers of them"):
        tags.edits()
