"""After its model has changed, what was made of it answers as before or refuses: every public name of every object that
holds answers, so that no number of now stands beside one of then."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache, partial
from pathlib import Path
from typing import Any

import anywidget
import numpy as np
import pandas as pd
import pytest
import torch
from torch import Tensor, nn

import bertlens as bl
from bertlens import whatif
from bertlens.errors import BertLensError, ModelError
from bertlens.search.contrast import contrast
from bertlens.search.score_difference import Contrast
from bertlens.search.view.case_questions import QUESTIONS, RetrievalQuestions
from bertlens.sentences.text_pair import Side, TextPair
from bertlens.trace.trace import Trace
from bertlens.widgets import RetrievalView
from unit import tiny, tiny_encoders
from unit.sentences.test_late_interaction import late
from unit.tasks.classifier import labelled, model_of
from unit.tiny_encoders import words

PASSAGES = {f"p{at}": words(6 + at % 7, at) for at in range(230)}
QUERIES = {f"q{at}": words(4, 100 + at) for at in range(30)}
RELEVANCE = {name: {f"p{7 * at}": 1} for at, name in enumerate(QUERIES)}
A, B, C = words(5, 1), words(7, 2), words(6, 3)
UNRELATED = [words(5, seed) for seed in range(50, 60)]

OF_WORK = ("is_split_by_input", "is_run")  # whether it is done
# What names are asked with, positions or keywords, of all classes or of one.
ARGUMENTS: dict[str, Any] = {
    "against": (UNRELATED,),
    "by": ("layer",),
    "named_in": ("wrong",),
    "words": ("wrong",),
    "rerun": (whatif.off(0, 1),),
    "rewritten": {"wrong": C + " mat"},
    "scores_changed": ([whatif.off(0, 1)],),
    "scores_of": ("wrong", [C]),
    "scores_without": ("wrong", [[], [1]]),
    "without": {"n_random": 1},
    "effects": (2,),
    "fetched": (0, 1),
    "SparseSimilarity.words": (),
    "SparseSimilarity.why": lambda pair: (pair.vector()["word"][0],),
    "Side.words": (),
    "states_without": ([[], [1]],),
    "is_of_text": ([1],),
    "Side.names": lambda side: (side.units(),),
    "Side.notes": ("Text a",),
    "Retrieval.probe": {"n": 2, "progress": False},
    "Retrieval.heads": {"n": 1, "depth": 10, "progress": False},
    "Retrieval.ranking": ("q0",),
    "Retrieval.contrast": ("q0", "p1", "p2"),
    "Retrieval.cost": lambda _: (bl.Lens(tiny_encoders.encoder()),),
    "Retrieval.against": lambda retrieval: (retrieval,),
    "Task.against": lambda task: (task.lens, 2),
    "Task.answer": lambda task: (next(task.batches([0])),),
    "Task.batches": ([0],),
    "Task.cell": ("cold", "warm"),
    "Task.errors": (2,),
    "Task.heads": (2,),
    "Task.words": (2,),
    "Task.scores_of": (torch.zeros(1, 2), [0]),
    "Heads.pruning": (3,),
    "Against.compare": (0,),
    "Against.trace_before": (0,),
}


def answer_of(thing: Any) -> Any:
    """What an answer says, as it can be compared to the last bit; an object of ours by what it shows first."""
    if isinstance(thing, Tensor):
        return thing.detach().tolist()
    if isinstance(thing, np.ndarray):
        return thing.tolist()
    if isinstance(thing, pd.DataFrame) and "milliseconds" in thing:
        thing = thing.drop(columns="milliseconds")  # no two runs take the same time
    if isinstance(thing, pd.DataFrame | pd.Series):
        return answer_of([thing.to_numpy(), thing.index.to_numpy(), [*getattr(thing, "columns", ())]])
    if isinstance(thing, Path):
        return [file.read_bytes() for file in sorted(thing.rglob("*")) if file.is_file()] or thing.read_bytes()
    if isinstance(thing, Mapping):
        return {str(key): answer_of(value) for key, value in thing.items()}
    if isinstance(thing, list | tuple | set | Iterator):
        return [*map(answer_of, thing)]
    if isinstance(thing, Trace):
        return answer_of([thing.attention(layer) for layer in range(thing.n_layers)])
    if isinstance(thing, Contrast | TextPair):
        return answer_of(getattr(thing, "scores", None) or thing.value)
    if isinstance(thing, anywidget.AnyWidget):
        is_search = isinstance(thing, RetrievalView)
        state = answer_of(thing._open.questions if is_search else thing.overview)  # what it opens with
        thing.close()
        return state
    if dataclasses.is_dataclass(thing) and type(thing).__module__.startswith(("bertlens.search", "bertlens.tasks")):
        skipped = ("lens", "task", "before", "after", "_tables")
        return {name: answer_of(value) for name, value in vars(thing).items() if name not in skipped}
    return thing if isinstance(thing, str | bytes | int | float | bool | None) else type(thing).__name__


def arguments(thing: Any, name: str, folder: Path) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """What a method is asked with. A method that needs some and has none in the table fails the test."""
    if name == "to_space":
        return (folder / name,), {"texts": "ours", "licence": "ours", "force": True}
    if name in ("to_html", "save"):
        return (folder / "a.html",), {}
    given = ARGUMENTS.get(f"{type(thing).__name__}.{name}", ARGUMENTS.get(name, ()))
    given = given(thing) if callable(given) else given
    return ((), given) if isinstance(given, dict) else (given, {})


def names_of(thing: Any) -> list[str]:
    """Every public method and property, not fields, which are what was made."""
    fields = {field.name for field in dataclasses.fields(thing)} if dataclasses.is_dataclass(thing) else set()
    names = [name for name in dir(type(thing)) if name[0] != "_" and name not in (*fields, *OF_WORK)]
    return [name for name in names if not inspect.ismethod(getattr(type(thing), name))]  # what makes one


def asked(thing: Any, name: str, folder: Path) -> str:
    """The answer as text."""
    value = getattr(thing, name)
    if callable(value):
        args, options = arguments(thing, name, folder)
        inspect.signature(value).bind(*args, **options)
        value = value(*args, **options)
    return repr(answer_of(value))


@contextmanager
def changed(module: nn.Module) -> Iterator[None]:
    """Noise on all weights, in place."""
    weights = [weight.detach().clone() for weight in module.parameters()]
    with torch.no_grad():
        for number, weight in enumerate(module.parameters()):
            weight.add_(0.3 * torch.randn(weight.shape, generator=torch.Generator().manual_seed(number)))
        try:
            yield
        finally:
            for weight, earlier in zip(module.parameters(), weights, strict=True):
                weight.copy_(earlier)


def check(make: Callable[[], Any], module: nn.Module, folder: Path, names: list[str] | None = None) -> set[str]:
    """Ask by every name before and after a change, an object that was asked before and one that was not. The names that
    were refused of the latter."""
    thing, refused = make(), set()
    names = names or names_of(thing)
    fresh = {name: make() for name in names}
    before = {}
    for name in names:
        try:
            before[name] = asked(thing, name, folder)
        except BertLensError as error:  # of a model that has no such answer
            before[name] = str(error)
    with changed(module):
        for name in names:
            for one in (thing, fresh[name]):
                try:
                    assert asked(one, name, folder) == before[name], f"{type(thing).__name__}.{name} mixes two models"
                except ModelError:
                    if one is not thing:
                        refused.add(name)
    return refused


@cache
def texts() -> dict[str, Callable[[], Any]]:
    return {
        "mean": tiny_encoders.encoder,
        "dense": lambda: tiny_encoders.encoder(tiny_encoders.dense(nn.Identity())),
        "first": lambda: tiny_encoders.encoder(mode="cls"),
        "distance": lambda: tiny_encoders.encoder(similarity_fn_name="euclidean"),
        "late": late,
        "sparse": tiny_encoders.sparse,
    }


@pytest.mark.sampled(1)
@pytest.mark.parametrize("kind", ["mean", "dense", "first", "distance", "late", "sparse"])
def test_two_texts(kind: str, tmp_path: Path) -> None:
    lens = bl.Lens(texts()[kind]())
    refused = check(lambda: bl.similarity(lens, A, B, ("query", "document")), lens.borrowed.whole, tmp_path)
    assert {"baseline", "against", "by", "explore"} <= refused


def test_one_text(tmp_path: Path) -> None:
    lens = bl.Lens(tiny_encoders.encoder())
    make = partial(Side.of, lens, A, "query", lens.borrowed.fingerprint())
    assert {"trace", "parts", "states_without"} <= check(make, lens.borrowed.whole, tmp_path)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("kind", ["mean", "dense", "first", "late", "sparse", "cross"])
def test_two_passages(kind: str, tmp_path: Path) -> None:
    lens = bl.Lens(tiny_encoders.crossed() if kind == "cross" else texts()[kind]())
    refused = check(lambda: contrast(lens, A, B, C), lens.borrowed.whole, tmp_path)
    assert {"query", "wrong", "without", "rewritten"} <= refused


def test_passages_in_their_order(tmp_path: Path) -> None:
    lens = bl.Lens(tiny_encoders.encoder())
    make = partial(bl.rank, lens, A, [B, C], progress=False)
    assert check(make, lens.borrowed.whole, tmp_path, ["explore"]) == {"explore"}


@pytest.mark.sampled(1)
@pytest.mark.parametrize("kind", ["mean", "late", "sparse", "cross"])
def test_a_collection(kind: str, tmp_path: Path) -> None:
    if kind == "cross":
        lens, first = bl.Lens(tiny_encoders.crossed()), bl.Lens(tiny_encoders.encoder())
    else:
        lens, first = bl.Lens(texts()[kind]()), None

    ranked = bl.retrieval(lens, QUERIES, PASSAGES, RELEVANCE, first_stage=first, progress=False)
    refused = check(partial(dataclasses.replace, ranked), lens.borrowed.whole, tmp_path)
    assert {"failures", "slices", "long_passages", "contrast", "heads", "probe", "check_model"} <= refused


CASE = {"query": "q0", "wrong": "p1", "right": "p2", "texts": None}
TYPED = CASE | {"query": None, "texts": ["the cat was warm", None, None]}
OF_PAGE: dict[str, list[dict[str, Any]]] = {
    "hello": [{}],
    "search": [{}],
    "search_tables": [{}],
    "search_typed": [{"text": "the cat was warm"}],
    "search_case": [CASE, TYPED],
    "search_words": [CASE, TYPED],
    "search_heads": [CASE, TYPED],
    "search_without": [case | {"side": "wrong", "word": "p", "how": "deleted", "draws": 1} for case in (CASE, TYPED)],
    "search_negatives": [{"n": 1, "ending": ".jsonl"}],
    "search_work": [{"work": "turns"}],
    "search_stop": [{"work": "turns"}],
}


@pytest.mark.long
def test_the_page_of_a_collection() -> None:
    """What it asks about what is ranked and what is typed, of a page that was asked before and of one that was not."""
    lens = bl.Lens(tiny_encoders.encoder())

    ranked = bl.retrieval(lens, QUERIES, PASSAGES, RELEVANCE, progress=False)

    def make() -> RetrievalQuestions:
        return RetrievalQuestions(dataclasses.replace(ranked))

    def answer(page: RetrievalQuestions, message: dict[str, Any]) -> str:
        said = page.full_answer(message)
        works = {"held": None} if isinstance(said, dict) else {}  # which long works are made by now
        return repr(answer_of({**said, **works} if works else said))

    assert OF_PAGE.keys() == QUESTIONS.keys()
    asked_of_page = [{"op": name} | message for name, messages in OF_PAGE.items() for message in messages]
    page, before = make(), []
    for message in asked_of_page:
        try:
            before.append(answer(page, message))
        except BertLensError as error:
            before.append(str(error))
    refused = []
    fresh = [make() for _ in asked_of_page]
    with changed(lens.borrowed.whole):
        for other, message, told in zip(fresh, asked_of_page, before, strict=True):
            for one in (page, other):
                try:
                    assert answer(one, message) == told, message
                except ModelError:
                    refused.append((message["op"], one is page))
    assert {("search_typed", True), ("search_case", True), ("search_tables", False)} <= {*refused}


@pytest.mark.long
def test_a_task(tmp_path: Path) -> None:
    lens = bl.Lens(model_of(), tiny.wordpiece())
    make = partial(bl.task, lens, labelled(40), progress=False)
    assert {"table", "metrics", "heads", "errors", "explore"} <= check(make, lens.model, tmp_path)
    task = make()
    assert check(partial(task.heads, 2), lens.model, tmp_path) == {"pruning"}
    other = bl.task(bl.Lens(model_of(1), tiny.wordpiece()), labelled(40), progress=False)
    refused = check(partial(other.against, lens, 2), lens.model, tmp_path)
    assert {"compare", "trace_before", "effects"} <= refused


@pytest.mark.long
def test_a_report(tmp_path: Path) -> None:
    """Its numbers, without a run of now below them; and none about a ranking of another model."""
    lens = bl.Lens(tiny_encoders.encoder())
    ranked = bl.retrieval(lens, QUERIES, PASSAGES, RELEVANCE, progress=False)
    make = partial(bl.report, lens, [*PASSAGES.values()][:6], "clark-separator", texts=4, progress=False)
    refused = check(make, lens.borrowed.whole, tmp_path, ["table", "said", "verdicts", "to_html", "to_space"])
    assert refused == {"to_html", "to_space"}
    with changed(lens.borrowed.whole), pytest.raises(ModelError, match="has changed since it ranked"):
        make(search=ranked)
