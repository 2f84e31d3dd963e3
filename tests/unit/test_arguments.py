"""What the public functions say of arguments that are none: numbers, names, paths, lenses. One short sentence each."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import transformers as tf

import bertlens as bl
from bertlens import survey
from bertlens.base.paths import as_path
from bertlens.errors import check_index, check_number, excerpt
from unit import tiny

TEXTS = ["the cat sat on the mat", "it was very warm", "unbelievable cats", "the mat was warm."]
EXAMPLES = [(TEXTS[n % 4], ["bad", "good"][n % 2]) for n in range(24)]
NAMES = {0: "bad", 1: "so so", 2: "good"}
NO_NUMBER = (None, True, -1, 2.5, float("nan"), "3", [3], 10**400, 10**5000)  # of a number from 0 to 2³² − 1
NO_COUNT = tuple(value for value in NO_NUMBER if not (isinstance(value, int) and value > 1))  # of one from 0 up
NO_PATH = (5, True, b"x", ["x"], "a\0b", Path("a\0b"), "\ud800", "x" * 5000)
NO_NAME = (5, True, ["x"], {"x": 1}, "\ud800", 10**5000)
NO_LENS = (None, "x", 5)
Call = Callable[[Any], Any]


@pytest.fixture(scope="module")
def encoder() -> bl.Lens:
    return bl.Lens(tiny.shaken(tf.BertModel(tf.BertConfig(**tiny.BERT))), tiny.wordpiece())


@pytest.fixture(scope="module")
def classifier() -> bl.Lens:
    config = tf.BertConfig(**tiny.BERT, id2label=NAMES)
    return bl.Lens(tiny.shaken(tf.BertForSequenceClassification(config)), tiny.wordpiece())


def one_sentence(call: Call, values: tuple[Any, ...]) -> None:
    for value in values:
        said = ""
        try:
            call(value)
        except bl.BertLensError as error:
            said = str(error)
        assert 10 < len(said) < 620 and "\n" not in said, (call.__code__.co_firstlineno, excerpt(value), said[:200])


def test_numbers_of_runs(encoder: bl.Lens, classifier: bl.Lens):
    quiet: dict[str, Any] = {"progress": False}
    some = tuple(value for value in NO_NUMBER if value is not None)
    for call in (
        lambda n: bl.report(encoder, TEXTS, "health", texts=n, **quiet),
        lambda n: survey.head_stats(encoder, TEXTS, limit=n, **quiet),
        lambda n: survey.attention_gradients(classifier, TEXTS, limit=n, **quiet),
        lambda n: bl.task(classifier, EXAMPLES, limit=n, **quiet),
    ):
        one_sentence(call, tuple(value for value in NO_COUNT if value is not None))
    for call in (
        lambda n: bl.report(encoder, TEXTS, "health", texts=2, seed=n, **quiet),
        lambda n: survey.head_stats(encoder, TEXTS, batch_size=n, **quiet),
        lambda n: encoder.trace_batch(TEXTS, n),
        lambda n: encoder.encode(TEXTS, batch_size=n),
        lambda n: bl.rank(encoder, "the cat", TEXTS, batch_size=n, **quiet),
        lambda n: bl.task(classifier, EXAMPLES, batch_size=n, **quiet).metrics(),
    ):
        one_sentence(call, some)


def test_minutes_are_a_time(encoder: bl.Lens):
    for minutes in (True, False, 0, -1, float("nan"), float("inf"), "10", None, 10**400):
        with pytest.raises(bl.InputError, match="minutes is a time above 0, not"):
            bl.report(encoder, TEXTS, "health", minutes=minutes)


def test_claims_are_names(encoder: bl.Lens):
    for claims in (5, True, 2.5, [5], (None,), b"health", object()):
        with pytest.raises(bl.SelectionError, match="claims are names in a list, or in a text with commas, not"):
            bl.report(encoder, TEXTS, claims)


def test_paths_that_a_system_cannot_have(encoder: bl.Lens, classifier: bl.Lens, tmp_path: Path, monkeypatch: Any):
    monkeypatch.chdir(tmp_path)
    trace, lesson = encoder.trace("the cat"), bl.Lesson("t", [bl.Lesson.step("a")])
    stats = survey.head_stats(encoder, TEXTS, progress=False)
    for call in (
        as_path,
        lambda path: bl.task(classifier, EXAMPLES, keep=path),
        lambda path: bl.task(classifier, EXAMPLES, progress=False).to_html(path, live=0),
        lambda path: bl.report(encoder, TEXTS, "health", texts=2, resume=path, progress=False),
        lambda path: survey.head_stats(encoder, TEXTS, save=path, progress=False),
        lambda path: survey.HeadStats.load(path),
        stats.save,
        lesson.save,
        bl.Lesson.load,
        lambda path: lesson.to_paper(path, encoder),
        lambda path: bl.classroom(encoder, TEXTS).to_html(path, progress=False),
        lambda path: bl.classroom(encoder, TEXTS, lesson=path),
        trace.explore().to_html,
        lambda path: bl.export.save_csv(trace, 0, 0, path),
        lambda path: bl.export.save_npz(trace, path),
        lambda path: bl.similarity(encoder, "the cat", "the mat").to_html(path),
        bl.Lens.from_pretrained,
    ):
        one_sentence(call, NO_PATH)
    for text in ("a\0b", "\ud800", "x" * 5000):
        for call in (
            lambda path: survey.head_stats(encoder, path, progress=False),
            lambda path: list(survey.read_treebank(path)),
            lambda path: list(survey.read_documents(path)),
            lambda path: bl.task(classifier, path),
        ):
            one_sentence(call, (text, Path(text)))
    assert not [path for path in tmp_path.iterdir() if path.name == "x"]


def test_what_is_written_to_a_file_is_not_shown_too(encoder: bl.Lens, classifier: bl.Lens, tmp_path: Path):
    """The last line of a cell is shown: the path, not megabytes. Without a path the text comes back."""
    path, trace = tmp_path / "page.html", encoder.trace("the cat sat")
    report = bl.report(encoder, TEXTS, "bonino-cone", texts=2, progress=False)
    for call in (
        trace.explore().to_html,
        bl.compare(trace, encoder.trace("it was warm")).explore().to_html,
        bl.similarity(encoder, "the cat", "the mat").to_html,
        partial(report.to_html, progress=False),
        report.to_json,
    ):
        assert call(str(path)) == path and path.read_text(encoding="utf-8") == call()
    assert bl.task(classifier, EXAMPLES, progress=False).to_html(path, live=0) == path


def test_names_and_lenses(encoder: bl.Lens, classifier: bl.Lens):
    task = bl.task(classifier, EXAMPLES, progress=False)
    comparison = bl.compare(encoder.trace("the cat"), encoder.trace("it was warm"))
    for call in (
        lambda name: bl.task(classifier, EXAMPLES, text_pair=name),
        lambda name: bl.task(classifier, EXAMPLES, labels=name if isinstance(name, str | int | list) else 5),
        lambda name: task.heads(1, ablation=name),
        lambda name: task.heads(1, measure=name),
        lambda name: encoder.encode(TEXTS, task=name),
        lambda name: comparison.head(0, 0, 0, name),
        lambda name: comparison.difference(name),
        lambda name: bl.similarity(encoder, "the cat", "it", (name, None)),
        lambda name: bl.similarity(encoder, "the cat", "it").pairs(name),
        lambda name: survey.head_distances(encoder, TEXTS, name),
    ):
        one_sentence(call, NO_NAME)
    for call in (
        lambda lens: bl.task(lens, EXAMPLES),
        lambda lens: bl.similarity(lens, "a", "b"),
        lambda lens: bl.rank(lens, "a", ["b"]),
        lambda lens: bl.report(lens, TEXTS),
        lambda lens: bl.classroom(lens),
        lambda lens: survey.attention_gradients(lens, TEXTS),
        lambda lens: survey.relation_scores(lens, []),
        lambda lens: bl.Lesson("t", [bl.Lesson.step("a", {"text": "b"})]).check(lens),
    ):
        one_sentence(call, NO_LENS)
    with pytest.raises(bl.InputError, match=r"what task\.heads\(\) gave stands in a page, not True"):
        task.to_html("a.html", heads=True)  # type: ignore[arg-type]
    for text in ("\ud800", "the \udfff"):
        one_sentence(lambda given: bl.similarity(encoder, given, "it"), (text,))
        one_sentence(lambda given: encoder.encode([given]), (text,))
        one_sentence(lambda given: bl.rank(encoder, given, TEXTS), (text,))


def test_labels_of_thousands_of_digits(classifier: bl.Lens):
    for label in ("9" * 5000, 10**400, -(10**400), 10**5000, float("inf")):
        with pytest.raises(bl.InputError, match=r"row 3.*no label .*the model has bad, so so, good"):
            bl.task(classifier, [*EXAMPLES[:3], ("the cat", label)])
    one_number = tf.BertConfig(**tiny.BERT, num_labels=1, problem_type="regression")
    regression = bl.Lens(tiny.shaken(tf.BertForSequenceClassification(one_number)), tiny.wordpiece())
    for label in ("9" * 5000, 10**400, 10**5000):
        with pytest.raises(bl.InputError, match=r"row 1.*the label .* is no finite number"):
            bl.task(regression, [("the cat", 1.0), ("the mat", label)])
    assert [*bl.task(classifier, [("the cat", "0002"), ("the mat", np.float32(0))]).labels] == [2, 0]


def test_errors_write_what_python_does_not():
    assert excerpt(10**5000) == "a number of thousands of digits" and len(excerpt("x" * 99)) == 40
    assert check_number(np.int64(3), "n is a number,", 1) == 3 and type(check_number(np.int64(3), "n", 1)) is int
    with pytest.raises(bl.InputError, match=r"^n is a number, at least 1 and at most 1,000, not True$"):
        check_number(True, "n is a number,", 1, 1000)
    with pytest.raises(bl.SelectionError, match="layer a number of thousands of digits does not exist"):
        check_index(10**5000, 3, "layer")
