"""Every question that a live page's model answers, asked of the kernel too: random texts, runs, arguments, one model.

The same fields, the same sentences, numbers to 2e-5; what has a bound of its own stands in BOUNDS, what a page leaves
to Python in `Run.untold`, and names that are near a wrong one are its first.
"""

from __future__ import annotations

import json
import random
from functools import cached_property
from typing import Any

import numpy as np
import pytest
import transformers as tf

import bertlens as bl
from bertlens import whatif
from bertlens.base import wire
from bertlens.base.vocabulary import MEASURES
from bertlens.measures import gates, sources
from bertlens.widgets.questions import QUESTIONS
from unit import tiny
from unit.answer_fit import misfits
from unit.asking import replies
from unit.export import engine
from unit.export.test_families import CLASSES, WORDS, lens_of
from unit.export.test_live import NEEDS_PYTHON

MODELS = {
    "vectors": lambda: tf.BertModel(tf.BertConfig(**tiny.BERT)),
    "words": WORDS["BERT"],
    "labels": CLASSES["BERT"],
    "tags": CLASSES["BERT, tokens"],
}
CLOSE = 2e-5  # of numbers; of the largest of an array or a row where that is above 1
BOUNDS = {
    "thumbs": 1,  # a grey level
    "within": 2e-3,  # a rank correlation, in which two keys that are equal but for rounding change places
    "pooled": 1e-4,
}
TIMES = 2  # that a question is asked of a run, with other arguments


def names_of_the_table() -> list[str]:
    """The questions that the page's table names: read from it, so that nothing here lists them."""
    text = (engine.ROOT / "js" / "src" / "engine" / "registry.ts").read_text(encoding="utf-8")
    table = text.split("export const QUESTIONS = {")[1].split("}")[0]
    return [line.split(":")[0].strip(" ,") for line in table.strip().splitlines()]


def sentence(rng: random.Random, kind: str) -> str:
    words = [rng.choice(tiny.WORDS).removeprefix("##") for _ in range(rng.randrange(4, 12))]
    if kind == "words":
        words[rng.randrange(len(words))] = "[MASK]"
    return " ".join(words)


class Run:
    """A run that both sides show, and random questions about it."""

    def __init__(self, kind: str, lens: bl.Lens, texts: tuple[str, str | None], changes: list[list[Any]], seed: int):
        self.kind, self.texts, self.changes, self.rng = kind, texts, changes, random.Random(seed)
        trace = lens.trace(*texts)
        made = [getattr(whatif, name)(*numbers) for name, *numbers in changes]
        self.trace = trace.rerun(*made) if changes else trace
        self.view = self.trace.explore()
        self.other = ["original"] if changes else ["text", f"{sentence(self.rng, kind)} {texts[0]}", texts[1] or "", ""]

    def kernels(self, question: dict[str, Any]) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Its fields and arrays."""
        about = {"id": 1, "map": "self", **question, "trace": self.view.overview["header"]["trace"]}
        [(fields, buffers)] = replies(self.view, about)
        if fields.pop("again", False):
            return self.kernels(question)
        del fields["id"]
        arrays = wire.unpack(fields.pop("arrays"), buffers[0]) if "arrays" in fields else {}
        return json.loads(json.dumps(fields)), arrays

    @cached_property
    def answer(self) -> dict[str, Any]:
        return self.kernels({"op": "answers"})[0]

    def argument(self, op: str, name: str) -> Any:
        rng = self.rng
        measures = [one for one in MEASURES if op == "compared" or one != "weight"]
        choices: dict[str, Any] = {
            "layer": lambda: rng.randrange(self.trace.n_layers),
            "head": lambda: rng.randrange(self.trace.n_heads),
            "partners": lambda: [[n, rng.randrange(self.trace.n_heads)] for n in range(self.trace.n_layers)][:5],
            "by": lambda: rng.choice(["weight", "norm"]),
            "measure": lambda: rng.choice(measures),
            "threshold": lambda: round(rng.uniform(0.1, 0.6), 3),
            "margin": lambda: round(rng.uniform(0, 0.2), 3),
            "gate": lambda: rng.choice(list(gates.GATES)),
            "view": lambda: rng.choice(gates.VIEWS),
            "metric": lambda: rng.choice(self.answer["metrics"])[0],
            "target": lambda: rng.choice(self.answer["choices"]),
            "text": lambda: rng.choice(["cat", "Warm", "catmat", "BAD", "so", "zz", "[MASK]", ""]),
            "aligned": lambda: rng.random() < 0.5,
            "long": lambda: rng.random() < 0.5,
            "other": lambda: self.other,
            "row": lambda: rng.randrange(4),
            "side": lambda: rng.choice(sources.SIDES),
            "against": lambda: rng.choice(["others", None, rng.randrange(self.trace.n_tokens)]),
            "through_mlps": lambda: rng.random() < 0.5,
        }
        choices["col"] = choices["row"]
        return choices.get(name, lambda: rng.randrange(self.trace.n_tokens))()

    def question(self, op: str) -> dict[str, Any]:
        """With arguments; those that may be missing are there half of the time."""
        asked: dict[str, Any] = {"op": op, "trace": "last"}
        for name in QUESTIONS[op].arguments:
            is_free = name.endswith("?") and name != "other?"
            of_target = ("answers", "matters_exact", "heads_that_matter", "head_sets", "loudness")
            has_target = op in of_target and name == "target?" and self.answer["choices"]
            if not is_free or ((has_target or not name.startswith("target")) and self.rng.random() < 0.5):
                asked[name.removesuffix("?")] = self.argument(op, name.removesuffix("?"))
        if op == "heads_that_matter":
            asked["most"] = self.trace.n_layers * self.trace.n_heads  # as many as a page runs
        if op == "rows":
            asked["query"], asked["last"] = sorted((asked["query"], asked["last"]))
        return asked

    def shown(self) -> list[dict[str, Any]]:
        """What a page sends to show it."""
        typed = {"op": "trace", "text": self.texts[0], "text_pair": self.texts[1] or ""}
        return [typed, *([{"op": "change", "trace": "last", "changes": self.changes}] if self.changes else [])]

    def untold(self, op: str) -> str:
        """How a page leaves the answer to Python: in words, without numbers or without rows; "" where it does not."""
        is_pair = self.kind == "vectors" and bool(self.texts[1])
        if (op in ("matters", "matters_exact") and is_pair) or (
            op == "cell_matters" and (is_pair or self.kind == "tags")
        ):
            return "words"
        if op == "find_target" and self.kind == "vectors":
            return "words"
        if op == "matters":
            return "numbers"
        return "rows" if op == "compared_answers" and self.kind != "vectors" else ""


def runs_of(kind: str, lens: bl.Lens, seed: int) -> list[Run]:
    """Of a text and of a pair: unchanged, and with a head off and one less loud; of tokens cut and hidden where a page
    can say it, of a pair one looked at less."""
    rng = random.Random(seed)
    found = []
    for texts in ((sentence(rng, kind), None), (sentence(rng, kind), sentence(rng, kind))):
        n, heads = len(lens.encoding(*texts)), [["off", rng.randrange(2), rng.randrange(4)], ["scale", 1, 2, 0.4]]
        hidden = rng.randrange(1, n - 1)
        changes = [*heads, ["hide", hidden], ["cut", 1, rng.randrange(4), rng.randrange(n), hidden % (n - 2) + 1]]
        if texts[1]:
            changes.append(["dim", (hidden + 1) % n, 0.3])
        alone = kind == "vectors" and texts[1]
        found += [Run(kind, lens, texts, some, rng.randrange(1000)) for some in ([], heads if alone else changes)]
    return found


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The names of the page's table, and of each question [(run, question, the page's answer)]."""
    names = names_of_the_table()
    answers: dict[str, list[Any]] = {name: [] for name in ("trace", "change", *names)}
    for n, (kind, model) in enumerate(MODELS.items()):
        lens = lens_of(model(), tiny.wordpiece(), seed=n)
        sent = []
        for run in runs_of(kind, lens, 50 + n):
            sent += [(run, question) for question in run.shown()]
            ops = [op for op in names if op != "moved" or run.changes]
            metrics = run.answer["metrics"] or [["similarity"]]
            run.answer["metrics"] = metrics
            sent += [(run, run.question(op)) for op in ops for _ in range(TIMES)]
        questions = [question for _, question in sent]
        same, found = engine.asked(lens, "the cat sat on the mat", questions, tmp_path_factory.mktemp(kind))
        twins = {run: Run(kind, same, run.texts, run.changes, 0) for run in dict.fromkeys(run for run, _ in sent)}
        for (run, question), reply in zip(sent, found, strict=True):
            answers[question["op"]].append((twins[run], question, reply))
    return engine.node(tmp_path_factory.mktemp("table"), questions=True), answers


def test_each_question_of_the_page_is_one_of_the_kernel(asked: Any) -> None:
    table, answers = asked
    assert sorted(table) == sorted(names_of_the_table()) and set(table) <= QUESTIONS.keys() and len(table) > 15
    assert all(len(answers[name]) >= len(MODELS) for name in table)  # each was asked, of each model
    assert {error for op in ("trace", "change") for *_, (error, *_) in answers[op]} == {""}


@pytest.mark.sampled(6)
@pytest.mark.parametrize("op", names_of_the_table())
def test_a_question_has_the_kernels_answer(asked: Any, op: str) -> None:
    for run, question, (error, fields, _, arrays) in asked[1][op]:
        place = f"{run.kind}, {run.texts}, {run.changes}: {question}"
        how = run.untold(op)
        if how == "words":
            assert error == NEEDS_PYTHON, place
            continue
        own, theirs = run.kernels(question)
        if "error" in own:
            assert error.partition(" Near it")[0] == own["error"].partition(" Near it")[0], place
            continue
        assert error == "" and not misfits(op, fields), place
        if how == "rows":
            assert fields == {"unit": "", "said": "", "rows": []}, place
            continue
        if op == "heads_that_matter":
            own["rows"] = [-1] * len(own["heads"])  # a page has no slopes
            heads, theirs_heads = ({tuple(at): x for *at, x in one.pop("heads")} for one in (fields, own))
            sizes, their_sizes = ([abs(x) for x in one.values()] for one in (heads, theirs_heads))
            assert sizes == pytest.approx(sorted(sizes, reverse=True), abs=1e-6), place
            assert sizes == pytest.approx(their_sizes, abs=CLOSE), place
            both = heads.keys() & theirs_heads.keys()  # two that are equal but for rounding may change places
            assert [heads[at] for at in both] == pytest.approx([theirs_heads[at] for at in both], abs=CLOSE), place
            assert len(heads) == len(theirs_heads) and len(both) >= len(heads) - 2, place
        if op == "answers" and run.kind == "vectors" and run.texts[1]:
            own["metrics"] = []  # which heads matter for a pair is Python's
        same({name: value for name, value in fields.items() if name not in ("arrays", "decimals")}, own, place)
        assert arrays.keys() == theirs.keys(), place
        for name, values in theirs.items():
            assert arrays[name].shape == values.shape and arrays[name].dtype == values.dtype, (name, place)
            if how == "numbers":
                assert np.isnan(arrays[name]).all(), place
            elif name == "stats":  # k90 counts keys: a row that lies at nine tenths may count one more
                columns = [at for at, column in enumerate(own["names"]) if column != "k90"]
                near(arrays[name][..., columns], values[..., columns], CLOSE, place)
                near(arrays[name], values, 1.01 / run.trace.n_tokens, place)
            else:
                near(arrays[name], values, BOUNDS.get(name, CLOSE), f"{name} of {place}")


def near(found: np.ndarray, own: np.ndarray, most: float, place: str) -> None:
    found, own = found.astype(float), own.astype(float)
    size = max(1, np.nanmax(np.abs(own[~np.isinf(own)]), initial=0))
    np.testing.assert_allclose(found, own, rtol=0, atol=most * size, err_msg=place)


def same(found: Any, own: Any, place: str) -> None:
    """Plain fields: numbers close, the rest equal."""
    if isinstance(own, dict):
        assert found.keys() == own.keys(), place
        for name in own.keys() - {"model"}:  # the page says a model's name alone
            same(found[name], own[name], f"{name} of {place}")
    elif isinstance(own, list):
        assert len(found) == len(own), place
        for one, other in zip(found, own, strict=True):
            same(one, other, place)
    elif isinstance(own, float) and isinstance(found, int | float):
        bound = BOUNDS["pooled"] if place.startswith("pooled") else CLOSE
        assert found == pytest.approx(own, abs=bound, rel=bound), place
    else:
        assert found == own, place


def test_what_the_page_lacks_needs_python(tmp_path: Any) -> None:
    names = sorted(QUESTIONS.keys() - {*names_of_the_table(), "trace", "change", "second_run"})
    lens = lens_of(MODELS["vectors"](), tiny.wordpiece())
    questions = [{"op": "trace", "text": "the cat"}, *({"op": name, "trace": "last"} for name in names)]
    _, found = engine.asked(lens, "the mat", questions, tmp_path)
    assert len(names) > 10 and {error for error, *_ in found[1:]} == {NEEDS_PYTHON}


def test_the_first_heads_are_those_of_the_page_where_the_kernel_runs_only_eight(tmp_path: Any) -> None:
    """The page runs all sixteen, the kernel the first eight by its estimate: of these each as the page has it, and the
    one that matters most is the same."""
    lens = lens_of(tf.BertForMaskedLM(tf.BertConfig(**tiny.BERT | {"num_hidden_layers": 4})), tiny.wordpiece())
    text = "the cat sat on the [MASK]"
    questions = [{"op": "trace", "text": text, "text_pair": ""}, {"op": "heads_that_matter", "trace": "last"}]
    same_model, [_, (error, fields, *_)] = engine.asked(lens, "the cat", questions, tmp_path)
    own, _ = Run("words", same_model, (text, None), [], 0).kernels({"op": "heads_that_matter"})
    assert error == "" and len(own["heads"]) == len(fields["heads"]) == 8
    page, kernel = ({tuple(at): change for *at, change in one["heads"]} for one in (fields, own))
    assert next(iter(page)) == next(iter(kernel))
    least = min(map(abs, page.values()))
    for at, change in kernel.items():
        assert change == pytest.approx(page[at], abs=CLOSE) if at in page else abs(change) < least + CLOSE, at
