"""A view of labelled examples: what it tells the page is the task's own, and long work can be begun and stopped."""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np
import pandas as pd
import pytest
import transformers as tf
from scipy.stats import binomtest

import bertlens as bl
from bertlens.base import jobs as jobs_module
from bertlens.base.jobs import Job, Stopped
from bertlens.base.wire import unpack
from bertlens.errors import ExportError, InputError
from bertlens.tasks.subgroups import slices_said
from bertlens.tasks.view import task_fields
from bertlens.tasks.view import task_panel as panel
from bertlens.widgets.questions import Question
from unit import tiny
from unit.asking import replies
from unit.tasks.classifier import labelled, lens_of
from unit.tasks.test_model_comparison import turned


@pytest.fixture(scope="module")
def task() -> bl.Task:
    return bl.task(lens_of(), labelled(260), progress=False)


@pytest.fixture(scope="module")
def few() -> bl.Task:
    return bl.task(lens_of(), labelled(40), progress=False)


@pytest.fixture(scope="module")
def view(task: bl.Task) -> Any:
    return task.explore()


def asked(view: Any, op: str, **arguments: Any) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    fields, buffers = replies(view, {"id": 1, "trace": "", "map": "self", "op": op, **arguments})[0]
    arrays = unpack(fields["arrays"], bytes(buffers[0])) if "arrays" in fields else {}
    return fields, arrays


def finished(view: Any, work: str) -> dict[str, Any]:
    for _ in range(600):
        fields, _ = asked(view, "task_work", work=work)
        if not fields.get("again"):
            return fields
    raise AssertionError("it does not end")


def columns(fields: dict[str, Any], arrays: dict[str, np.ndarray]) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for one in fields["columns"]:
        name, kind = one["name"], one["kind"]
        if kind == "text":
            found[name] = one["values"]
        else:
            numbers = arrays[name].tolist()
            found[name] = [one["names"][k] for k in numbers] if kind == "class" else numbers
    return found


def test_the_page_is_told_the_tasks_own_numbers(task: bl.Task, view: Any) -> None:
    table = task.table.sort_values("loss", ascending=False, kind="stable")
    fields, arrays = asked(view, "task")
    assert (fields["examples"], fields["wrong"]) == (260, int((~table["right"]).sum()))
    assert len(columns(fields, arrays)["row"]) == panel.KEPT == 200
    assert fields["confusion"] == {"names": task.names, "counts": task.confusion().to_numpy().tolist()}
    metrics = task.metrics()
    assert [one["measure"] for one in fields["metrics"]] == metrics["measure"].tolist()
    for name in ("value", "low", "high"):
        told = [np.nan if one[name] is None else one[name] for one in fields["metrics"]]
        np.testing.assert_array_equal(told, metrics[name].to_numpy(float))
    whole = columns(*asked(view, "task_table"))
    assert list(whole) == list(table.columns)
    for name in ("row", "text", "label", "guess"):
        assert whole[name] == table[name].tolist(), name
    np.testing.assert_array_equal(np.array(whole["right"], bool), table["right"])
    for name in ("probability", "margin", "loss"):
        np.testing.assert_array_equal(whole[name], table[name].to_numpy(np.float32))


def test_it_opens_on_the_largest_loss_or_on_a_row_and_runs_the_one_that_is_clicked(task: bl.Task) -> None:
    own = task.explore()
    worst = int(task.table["loss"].idxmax())
    assert own.trace.text == task.table["text"][worst]
    assert asked(own, "task")[0]["opened"] == worst
    assert task.explore(row=4).trace.text == task.table["text"][4]
    assert asked(own, "task_open", row=17)[0]["row"] == 17
    assert own.trace.text == task.table["text"][17] == own.text
    logits = own.trace.output.logits[0].detach().numpy()
    assert int(logits.argmax()) == task.guesses[17]
    for row in (-1, 260, "2", True, None):
        assert asked(own, "task_open", row=row)[0]["error"] == f"no example {row}: there are 0 to 259"
    assert own.trace.text == task.table["text"][17]


def test_what_is_wrong_with_a_task_is_said_in_one_sentence(task: bl.Task) -> None:
    other = bl.task(lens_of(1), labelled(40), progress=False)
    with pytest.raises(InputError, match=r"task is what bl.task\(lens, examples\) gives, not list"):
        bl.TaskView([1])  # type: ignore[arg-type]
    with pytest.raises(InputError, match="no example 999: there are 0 to 259"):
        task.explore(row=999)
    with pytest.raises(InputError, match=r"heads is what task.heads\(\) of the same task gives"):
        task.explore(heads_found=other.heads(2))
    with pytest.raises(InputError, match=r"errors is what task.errors\(\) gives"):
        task.explore(errors_found=3)
    with pytest.raises(InputError, match=r"the task is of another model than this trace: trace with task\.lens"):
        task.lens.trace("the cat").explore(task=other)
    maps = bl.Trace.from_attentions([np.full((1, 2, 2), 0.5)], ["a", "b"])
    with pytest.raises(InputError, match="the task is of another model than this trace"):
        maps.explore(task=task)
    with pytest.raises(ExportError, match="a live page holds no labelled examples"):
        task.explore().to_html(live=True)


def test_the_explorer_has_the_tab_where_a_task_is_given_and_a_lesson_beside_it(task: bl.Task) -> None:
    lesson = bl.Lesson("Look", [bl.Lesson.step("Look at the head.")])
    with_both = task.lens.trace("the cat sat").explore(task=task, lesson=lesson)
    reasons = {tab["name"]: tab["why_not"] for tab in with_both.overview["header"]["tabs"]}
    assert reasons["task"] == ""
    assert with_both.lesson["title"] == "Look"
    assert asked(with_both, "task")[0]["opened"] is None
    without = task.lens.trace("the cat sat").explore()
    assert {tab["name"]: tab["why_not"] for tab in without.overview["header"]["tabs"]}["task"] is None
    assert asked(without, "task")[0]["error"].startswith("this view was made without labelled examples")


def test_any_table_is_told(task: bl.Task) -> None:
    table = pd.DataFrame(
        {
            "row": [0, 1],
            "text": ["a", "b" * 300],
            "words": [["x", "y"], ["z"]],
            "score": [1.5, np.nan],
            "seen": [True, False],
        }
    )
    fields, arrays = task_fields.columns_of(table)
    kinds = {one["name"]: one["kind"] for one in fields["columns"]}
    assert kinds == {"row": "number", "text": "text", "words": "class", "score": "number", "seen": "flag"}
    assert columns(fields, arrays)["words"] == ["x y", "z"]
    assert fields["cut"] == 0
    assert task_fields.worst_first(table.iloc[::-1])["row"].tolist() == [1, 0]  # without a loss in the order given


def test_texts_of_very_many_examples_are_cut(task: bl.Task, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(task_fields, "CHARACTERS", 250)
    fields, _ = task_fields.columns_of(pd.DataFrame({"row": [0, 1], "text": ["a", "b" * 300]}))
    assert fields["cut"] == 200
    assert [len(text) for text in fields["columns"][1]["values"]] == [1, 200]


def test_work_is_begun_by_the_page_and_its_result_is_the_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    task = bl.task(lens_of(), labelled(40), progress=False)
    own = task.explore()
    assert asked(own, "task")[0]["held"] == []
    assert asked(own, "task_work", work="pruning")[0]["error"] == (
        "the curve needs an order of the heads: ask for these first"
    )
    monkeypatch.setattr(panel, "PATIENCE", 0.0)  # so that what is at work is seen
    began, _ = asked(own, "task_work", work="heads")
    assert began["again"] is True and set(began) >= {"doing", "done", "said"}
    monkeypatch.undo()
    told = finished(own, "heads")
    found = task.heads()
    assert told["said"] == found.said
    for name in ("part", "layer", "head", "finding"):
        assert [one[name] for one in told["rows"]] == found.table[name].tolist()
    for name in ("estimate", "effect", "low", "high", "p_holm"):
        numbers = [np.nan if one[name] is None else one[name] for one in told["rows"]]
        np.testing.assert_array_equal(numbers, found.table[name].to_numpy(float))
    curve = finished(own, "pruning")
    table = found.pruning()
    assert [list(one.values()) for one in curve["rows"]] == table.to_numpy().tolist()
    least = table.attrs["least"]
    assert curve["said"] == (
        f"{least['estimate']} of 12 heads keep 95 % of the accuracy where those with the smallest estimates are "
        f"switched off first; {least['random']} where they are taken at random (mean of 3 orders)."
    )
    slices = finished(own, "slices")
    assert [one["slice"] for one in slices["rows"]] == task.slices()["slice"].tolist()[: task_fields.SLICES]
    assert asked(own, "task")[0]["held"] == ["heads", "pruning", "slices"]


def test_words_are_the_tasks_own_each_for_the_class_that_it_speaks_for(few: bl.Task) -> None:
    """With the shares that are wrong, by Clopper and Pearson, and the examples that hold it."""
    told, words = finished(few.explore(), "words"), few.words()
    table = words.table[words.table["effect"] > 0].head(task_fields.WORDS)
    assert told["said"] == words.said and len(told["rows"]) == len(table) > 10
    texts = [text for (text,) in few.examples.texts]
    for row, own in zip(told["rows"], table.to_dict("records"), strict=True):
        assert (row["kind"], row["slice"], row["n"]) == (own["class"], own["word"], own["texts"])
        p = np.nan if row["p_holm"] is None else row["p_holm"]
        assert (row["effect"], p) == pytest.approx((own["effect"], own["p_holm"]), nan_ok=True)
        if own["kind"] == "word":
            assert row["held"] == [n for n in row["held"] if own["word"] in texts[n].split()]
            assert {*row["held"]} == {n for n, text in enumerate(texts) if own["word"] in text.split()}
        assert {*row["rows"]} == {n for n in row["held"] if few.wrong[n]} and row["wrong"] == len(row["rows"])
        ends = binomtest(row["wrong"], row["n"]).proportion_ci(0.95, "exact")
        assert (row["low"], row["high"]) == pytest.approx((ends.low, ends.high), abs=1e-6)
    texts_with_it = bl.task(lens_of(1), [(f"it {text}", label) for text, label in labelled(230)], progress=False)
    few_words = texts_with_it.words(2, runs=400)
    told = finished(texts_with_it.explore(words_found=few_words), "words")
    row = next(row for row in told["rows"] if row["n"] == 230)
    by_loss = texts_with_it.table.sort_values("loss", ascending=False, kind="stable")
    assert row["held"] == by_loss["row"].tolist()[:200] and max(len(row["held"]) for row in told["rows"]) == 200
    assert row["rows"] == by_loss[~by_loss["right"]]["row"].tolist()[:200] and row["wrong"] == (~by_loss["right"]).sum()
    found = few.explore(words_found=words)
    assert asked(found, "task")[0]["held"] == ["words"]
    with pytest.raises(InputError, match="words is what"):
        few.explore(words_found=3)


def test_layers_are_the_tasks_own_and_are_asked_of_tasks_that_have_them(few: bl.Task) -> None:
    own = few.explore()
    assert asked(own, "task")[0]["layered"] and asked(own, "task")[0]["held"] == []
    told, layers = finished(own, "layers"), few.layers()
    assert told["said"] == layers.said and told["measure"] == "accuracy" and told["by"] == "layer"
    for name in ("mean", "difference", "untrained", "over_untrained_low"):
        assert [row[name] for row in told["rows"]] == layers.table[name].tolist()
    assert [row["part"] for row in told["rows"]] == ["0", "1", "2", "3"]
    assert asked(own, "task")[0]["held"] == ["layers"]
    names = {column["label"]: column["name"] for column in told["columns"]}
    assert names["layer"] == "part" and names["accuracy"] == "mean" and "first ten" not in names
    tiny_task = bl.task(lens_of(), labelled(12), progress=False).explore()
    assert finished(tiny_task, "layers")["error"] == "layers are told of 40 examples and more, not of 12"
    model = tiny.shaken(tf.BertForSequenceClassification(tf.BertConfig(**tiny.BERT, num_labels=1)))
    numbers = [(text, n / 7) for n, (text, _) in enumerate(labelled(40))]
    assert not bl.task(bl.Lens(model, tiny.wordpiece()), numbers, progress=False).has_layers


def test_what_wrong_answers_rest_on_is_the_tasks_own() -> None:
    few = bl.task(lens_of(), labelled(12), progress=False)
    found = few.errors(20)
    own = few.explore(errors_found=found)
    told = finished(own, "errors")
    assert told["said"] == found.said
    assert [(one["row"], one["words"], one["nearest"]) for one in told["rows"]] == list(
        found.table[["row", "words", "nearest"]].itertuples(index=False, name=None)
    )
    begun = finished(few.explore(), "errors")
    assert begun["rows"] == told["rows"]


def test_the_sentence_of_slices_counts_those_that_are_worse_than_chance() -> None:
    table = pd.DataFrame({"finding": [True, False, False], "kind": "label", "slice": ["warm", "cold", "mild"]})
    assert slices_said(table).startswith("In 1 of 3 slices more is wrong than chance would make it (")
    assert ": label warm (" in slices_said(table, 5) and "cold" not in slices_said(table, 5)
    table.attrs["wrong_is"] = "far off"  # of numbers
    assert slices_said(table).startswith("In 1 of 3 slices more is far off than chance")
    table.attrs.clear()
    assert slices_said(table[1:]).startswith("In none of 2 slices is more wrong than chance would make it")
    assert slices_said(table[:0]) == "No slice has 10 examples inside and 10 outside."


def test_work_can_be_stopped_and_begun_again() -> None:
    own = bl.task(lens_of(), labelled(120), batch_size=2, progress=False).explore()
    assert asked(own, "task_work", work="heads")[0]["again"]
    asked(own, "task_stop", work="heads")
    told = finished(own, "heads")
    assert told.get("stopped") or "texts that had no part in the choice" in told["said"]
    held = asked(own, "task")[0]["held"]
    assert held == ([] if told.get("stopped") else ["heads"])
    if told.get("stopped"):
        assert asked(own, "task_work", work="heads")[0]["again"]
    own.close()  # ends what is at work


def test_closing_a_view_ends_its_work(monkeypatch: pytest.MonkeyPatch) -> None:
    jobs = []

    class Kept(Job[Any]):
        def __init__(self, work: Any) -> None:
            super().__init__(work)
            jobs.append(self)

    monkeypatch.setattr(jobs_module, "Job", Kept)
    own = bl.task(lens_of(), labelled(400), batch_size=1, progress=False).explore()
    assert asked(own, "task_work", work="errors")[0]["again"]
    own.close()
    [job] = jobs
    with pytest.raises(Stopped):
        job.made(30)


def test_what_work_raises_is_said_and_it_can_be_begun_again(few: bl.Task, monkeypatch: pytest.MonkeyPatch) -> None:
    own = few.explore()

    def fails() -> None:
        raise InputError("it is too few")

    with monkeypatch.context() as patch:
        patch.setattr(few, "heads", fails)
        assert finished(own, "heads")["error"] == "it is too few"
    assert asked(own, "task")[0]["held"] == []
    assert finished(own, "heads")["said"]


def test_a_saved_page_holds_what_was_found_and_slices(few: bl.Task, monkeypatch: pytest.MonkeyPatch) -> None:
    own, reply = few.explore(heads_found=few.heads(2)), Question.reply

    def of_task(question: Question, *asked: Any, **named: Any) -> Any:
        """What is asked of the text alone is not looked at here."""
        return reply(question, *asked, **named) if question.name.startswith("task") else ({}, [])

    monkeypatch.setattr(Question, "reply", of_task)
    steps = {json.dumps(question) for question, _ in own.page().answers if question["op"].startswith("task")}
    assert steps == {
        json.dumps({"op": op, "map": "self", **more})
        for op, more in (("task", {}), ("task_work", {"work": "heads"}), ("task_work", {"work": "slices"}))
    }
    assert own.page().title == "BertForSequenceClassification: its task"


def test_a_saved_page_opens_on_the_example_that_was_clicked_last(task: bl.Task) -> None:
    own = task.explore()
    assert asked(own, "task_open", row=17)[0]["row"] == 17
    assert asked(own, "task")[0]["opened"] == 17
    page = own.page()
    assert page.shown_by == {"op": "task_open", "row": 17}
    worst = task.table.sort_values("loss", ascending=False, kind="stable")["row"].tolist()
    rows = [other.shown_by["row"] for other in page.others if other.shown_by]
    assert rows == [row for row in worst[:10] if row != 17]
    assert asked(own, "trace", text="the cat", text_pair="")[0].get("error") is None
    assert asked(own, "task")[0]["opened"] is None and own.page().shown_by is None


def before_and_now() -> Any:
    before, after = turned()
    return bl.task(after, [(t, "warm" if k else "cold") for t, k in labelled(40)], progress=False).against(before, 4)


def test_what_changed_stands_in_the_table_and_beside_it() -> None:
    found = before_and_now()
    own = found.explore()
    fields, arrays = asked(own, "task")
    table = columns(fields, arrays)
    expected = found.table.set_index("row").loc[table["row"]]
    assert table["before"] == expected["before"].tolist() and table["change"] == expected["change"].tolist()
    names = [one["name"] for one in fields["columns"]]
    assert names[2:6] == ["label", "before", "guess", "change"]
    told = fields["against"]
    assert dict(told["counts"]) == found.counts and told["said"] == found.said
    assert [one["part"] for one in told["heads"]] == found.heads["part"].tolist()
    np.testing.assert_allclose([one["distance"] for one in told["heads"]], found.heads["distance"])
    work = finished(own, "turned")
    effects = found.effects()
    assert work["said"] == effects.said
    for name in ("before", "after", "difference", "low", "high", "p_holm"):
        np.testing.assert_array_equal([one[name] for one in work["rows"]], effects.table[name])
    assert "turned" in asked(own, "task")[0]["held"]
    plain = found.after.explore()
    assert asked(plain, "task")[0]["against"] is None
    assert asked(plain, "task_work", work="turned")[0]["error"].startswith("this view was made without another model")
    with pytest.raises(InputError, match=r"against is what task.against\(other_lens\) of the same task gives"):
        bl.TaskView(bl.task(lens_of(), labelled(40), progress=False), against=found)


def test_both_models_stand_beside_each_other_in_the_comparison() -> None:
    found = before_and_now()
    own = found.explore(row=5)
    trace = own.overview["header"]["trace"]
    fields, _ = asked(own, "compared_with", trace=trace, other=["before"])
    both = found.compare(5)
    assert [side["text"] for side in fields["sides"]] == [both.a.text, both.b.text]
    answer, _ = asked(own, "compared_answers", trace=trace, other=["before"])
    assert answer["said"] == both.answers().said
    heads, _ = asked(own, "compared_heads", trace=trace, other=["before"])
    np.testing.assert_allclose(heads["apart"], both.heads.flatten())
    plain = found.after.explore()
    error = asked(plain, "compared_with", trace=plain.overview["header"]["trace"], other=["before"])[0]["error"]
    assert error.startswith("this view knows of no model before this one")


def test_how_heads_are_taken_out_is_named_before_and_so_is_the_cost(few: bl.Task) -> None:
    own = few.explore()
    for ablation, passes in (
        ("zero", 11),
        ("mean", 11),
        ("resample", 51),
    ):  # 15 parts of 3 layers, two thirds below each
        said = asked(own, "task_cost", work="heads", ablation=ablation)[0]["said"]
        assert re.fullmatch(
            rf"About \d+ s: a backward pass over 40 texts, then about {passes} passes over 20\.", said
        ), said
    assert "of each model" in asked(own, "task_cost", work="turned", ablation="zero")[0]["said"]
    assert asked(own, "task_cost", work="heads", ablation="none")[0]["error"].startswith("no ablation 'none'")
    way = {"effect_of": "accuracy", "ablation": "mean"}
    for _ in range(600):
        told, _ = asked(own, "task_work", work="heads", **way)
        if not told.get("again"):
            break
    found = few.heads(measure="accuracy", ablation="mean")
    assert told["said"] == found.said and told["measure"] == "accuracy"
    assert few.heads().said != found.said
    fewer = bl.task(lens_of(), labelled(12), progress=False).explore()
    assert asked(fewer, "task_cost", work="heads", ablation="zero")[0]["error"].startswith("12 examples are too few")
