"""What a model answers by files and traces of before a change: refused, its own numbers, or those of then."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

import bertlens as bl
from bertlens import BertLensError
from bertlens.measures import norms
from bertlens.survey import head_stats, merge
from unit import tiny
from unit.model import model_changes
from unit.model.model_changes import Change

LONG = " ".join(tiny.WORDS[:9] * 9) + " warm z"  # cut by every limit
SINGLE = ["The cat sat on the mat.", LONG, "Café, the CAT sat; naïve", "it was z"]
PAIRS = [("the unbelievable cats", "it was very warm. the mats"), (LONG, "the mat"), ("Zoé: the CAT", "it was z")]
TEXTS: list[Any] = [*SINGLE[:2], PAIRS[0], SINGLE[2], PAIRS[2]]
EXAMPLES = [{"text": a, "text_pair": b, "label": at % 2} for at, (a, b) in enumerate(PAIRS * 2)]
QUESTIONS = {"q0": "who sat on the mat", "q1": "what was z"}
BATCH = 2
CLOSE = 1e-5
GOOD = {"refused", "its own", "unmoved"}


def is_of_sentences(model: Any) -> bool:
    return type(model).__module__.startswith("sentence_transformers")


def anew(lens: bl.Lens) -> bl.Lens:
    """A new Lens of the same objects."""
    return bl.Lens(lens.model) if is_of_sentences(lens.model) else bl.Lens(lens.model, lens.tokenizer)


@dataclass
class Lenses:
    """A Lens, and that of its encoder, which makes vectors."""

    lens: bl.Lens
    encoder: bl.Lens = field(init=False)

    def __post_init__(self) -> None:
        model = self.lens.model
        if is_of_sentences(model):
            self.encoder = self.lens
            return
        model = model.get_base_model() if hasattr(model, "get_base_model") else model
        self.encoder = bl.Lens(model.base_model, self.lens.tokenizer)


def own(lens: bl.Lens) -> np.ndarray:
    """What the model itself answers, by a call of it: single texts, then pairs."""
    model: Any = lens.model
    if hasattr(model, "predict"):
        return np.asarray(model.predict(PAIRS))
    if is_of_sentences(model):
        queries, documents = (model.encode(SINGLE, prompt_name=name) for name in ("query", "document"))
        vectors = [model.encode(SINGLE), queries, model.similarity(queries, documents).numpy()]
        return np.concatenate([array.ravel() for array in vectors])
    options = {"truncation": True, "max_length": lens.limit, "return_tensors": "pt"}
    with torch.no_grad():
        single = [model(**lens.tokenizer(text, **options)).logits for text in SINGLE]
        return torch.cat(single + [model(**lens.tokenizer(*pair, **options)).logits for pair in PAIRS]).numpy()


def task(lenses: Lenses, folder: Path | None) -> np.ndarray:
    """Answers; without a folder, of a classifier, by calls of the model itself."""
    if folder is None and not is_of_sentences(lenses.lens.model):
        return np.concatenate([own(lenses.lens)[len(SINGLE) :]] * 2)
    keep = None if folder is None else folder / "answers"
    answers = bl.task(lenses.lens, EXAMPLES, truncation=True, batch_size=BATCH, keep=keep, progress=False)
    scores = is_of_sentences(lenses.lens.model)
    return answers.table.select_dtypes("number").to_numpy() if scores else np.asarray(answers.logits)


def vectors(lenses: Lenses, folder: Path | None) -> np.ndarray:
    """(questions, passages) scores; of a cross-encoder none."""
    if hasattr(lenses.lens.model, "predict"):
        return np.zeros(0)
    corpus: Any = SINGLE if folder is None else folder / "corpus.txt"
    lists = bl.retrieval(lenses.encoder, QUESTIONS, corpus, keep=folder is not None, batch_size=BATCH, progress=False)
    tables = [lists.ranking(query, len(SINGLE)) for query in QUESTIONS]
    return np.array([table.sort_values("text")["score"] for table in tables])


def counted(lenses: Lenses, texts: list[Any] = TEXTS, **options: Any) -> np.ndarray:
    return (
        head_stats(lenses.lens, texts, truncation=True, batch_size=BATCH, progress=False, **options).table().to_numpy()
    )


def survey(lenses: Lenses, folder: Path | None) -> np.ndarray:
    """Statistics of all texts; from those of the first three where they were counted."""
    return counted(lenses, resume=None if folder is None else folder / "first.npz")


def merged(lenses: Lenses, folder: Path | None) -> np.ndarray:
    """Statistics of all texts; those of the first shard as they lie in the folder."""
    if folder is None:
        return counted(lenses)
    counted(lenses, shard="2/2", save=folder / "shard-2.npz")
    return merge([folder / "shard-1.npz", folder / "shard-2.npz"]).table().to_numpy()


FILES: dict[str, Callable[[Lenses, Path | None], np.ndarray]] = {
    "task": task,
    "vectors": vectors,
    "survey": survey,
    "merge": merged,
}


@dataclass(frozen=True)
class Base:
    """What a kind of model has answered: its files, its numbers by what was asked, and what it answers itself."""

    folder: Path
    numbers: dict[str, np.ndarray | str]
    own: np.ndarray


@cache
def base(kind: str) -> Base:
    folder = Path(tempfile.mkdtemp())
    (folder / "corpus.txt").write_text("\n".join(SINGLE) + "\n", encoding="utf-8")
    lenses = Lenses(model_changes.KINDS[kind]())
    counted(lenses, TEXTS[:3], save=folder / "first.npz")
    counted(lenses, shard="1/2", save=folder / "shard-1.npz")
    numbers: dict[str, np.ndarray | str] = {
        name: ask(lenses, folder if name in ("task", "vectors") else None) for name, ask in FILES.items()
    }
    traces = traces_of(lenses.lens)
    numbers |= {name: numbers_of(lambda ask=ask: ask(traces)) for name, ask in OF_TRACES.items()}
    return Base(folder, numbers, own(lenses.lens))


def traces_of(lens: bl.Lens) -> list[Any]:
    return [lens.trace(*((text,) if isinstance(text, str) else text), truncation=True) for text in TEXTS]


def passes(traces: list[Any]) -> np.ndarray:
    """Maps and states of all layers, and the output of a classifier."""
    numbers = [t.attention(at).ravel() for t in traces for at in range(t.n_layers)]
    numbers += [t.layer_output(at).ravel() for t in traces for at in range(t.n_layers)]
    numbers += [t.output["logits"].ravel() for t in traces if "logits" in t.output]
    return torch.cat(numbers).detach().numpy()


def again(traces: list[Any]) -> np.ndarray:
    return passes([trace.rerun() for trace in traces])


def lengths(traces: list[Any]) -> np.ndarray:
    layers = [norms.attnresln_norm(t, at).ravel() for t in traces for at in range(t.n_layers)]
    return torch.cat(layers).detach().numpy()


# Norms first: they compare less, and what a rerun compares stands as compared.
OF_TRACES: dict[str, Callable[[list[Any]], np.ndarray]] = {"norms": lengths, "rerun": again}


def is_close(a: np.ndarray | str, b: np.ndarray | str) -> bool:
    if isinstance(a, str) or isinstance(b, str):
        return isinstance(a, str) and isinstance(b, str)
    return a.shape == b.shape and np.allclose(a, b, rtol=CLOSE, atol=CLOSE, equal_nan=True)


def numbers_of(ask: Callable[[], np.ndarray]) -> np.ndarray | str:
    """The numbers, or the sentence of a refusal."""
    try:
        return ask()
    except BertLensError as error:
        return f"refused: {error}"


def verdict(answer: np.ndarray | str, true: np.ndarray | str, before: np.ndarray | str) -> str:
    """Of an answer after a change, beside that of a new Lens and that of then."""
    if isinstance(answer, str):
        return "refused"
    if is_close(answer, true):
        return "unmoved" if is_close(true, before) else "its own"
    if isinstance(true, str):
        return f"answers, a new Lens does not ({true})"
    return "of then" if is_close(answer, before) else "of neither"


def copy_of(folder: Path) -> Path:
    other = Path(tempfile.mkdtemp()) / "files"
    shutil.copytree(folder, other)
    return other


def changed(lens: bl.Lens, make: Callable[[bl.Lens], Any], stack: ExitStack) -> bl.Lens:
    """The Lens that is asked after a change: another, or the same."""
    made = make(lens)
    if isinstance(made, AbstractContextManager):
        stack.enter_context(made)
    return made if isinstance(made, bl.Lens) else lens


def in_process(name: str) -> dict[str, str]:
    """What comes of a change between two calls, by what was asked; "model": whether its own numbers moved."""
    kind, make = model_changes.CHANGES[name]
    before = base(kind)
    folder, lenses = copy_of(before.folder), Lenses(model_changes.KINDS[kind]())
    for ask in (task, vectors):
        ask(lenses, folder)
    traces = traces_of(lenses.lens)
    with ExitStack() as stack:
        lens = changed(lenses.lens, make, stack)
        is_same = lens is lenses.lens
        answers = {name: numbers_of(lambda ask=ask: ask(traces)) for name, ask in OF_TRACES.items() if is_same}
        lenses = lenses if is_same else Lenses(lens)
        return _verdicts(lenses, folder, before, answers)


def by_file(name: str, before: Base) -> dict[str, str]:
    """What comes of a model made with a change from the files of one without, in a process that never had that."""
    kind, make = model_changes.CHANGES[name]
    with ExitStack() as stack:
        lens = changed(model_changes.KINDS[kind](), make, stack)
        return _verdicts(Lenses(anew(lens)), copy_of(before.folder), before, {})


def _verdicts(lenses: Lenses, folder: Path, before: Base, answers: dict[str, Any]) -> dict[str, str]:
    new = Lenses(anew(lenses.lens))
    verdicts = {"model": "unmoved" if is_close(own(new.lens), before.own) else "moved"}
    for name, ask in FILES.items():
        answers[name] = numbers_of(lambda ask=ask: ask(lenses, folder))
    for name, answer in answers.items():
        true = "" if isinstance(answer, str) else numbers_of(lambda name=name: _true(name, new))
        verdicts[name] = verdict(answer, true, before.numbers[name])
    return verdicts


def _true(name: str, lenses: Lenses) -> np.ndarray:
    return OF_TRACES[name](traces_of(lenses.lens)) if name in OF_TRACES else FILES[name](lenses, None)


def same_in_process(change: Change) -> dict[str, str]:
    """What comes of a change that is none between two calls, by what was asked."""
    before = base(change.kind)
    folder, lenses = copy_of(before.folder), Lenses(model_changes.KINDS[change.kind]())
    for ask in (task, vectors):
        ask(lenses, folder)
    traces = traces_of(lenses.lens)
    with ExitStack() as stack:
        lens = changed(lenses.lens, change.make, stack)
        asked = {name: partial(ask, traces) for name, ask in OF_TRACES.items()}
        return _uses(lenses if lens is lenses.lens else Lenses(lens), folder, before, asked)


def same_by_file(change: Change, before: Base) -> dict[str, str]:
    """The same of another process, from the files of this one."""
    with ExitStack() as stack:
        lens = changed(model_changes.KINDS[change.kind](), change.make, stack)
        return _uses(Lenses(anew(lens)), copy_of(before.folder), before, {})


def _uses(lenses: Lenses, folder: Path, before: Base, asked: dict[str, Callable[[], np.ndarray]]) -> dict[str, str]:
    files, uses = listing(folder), {}
    for name, ask in (asked | {name: partial(ask, lenses, folder) for name, ask in FILES.items()}).items():
        answer = numbers_of(ask)
        uses[name] = (
            answer if isinstance(answer, str) else "used" if is_close(answer, before.numbers[name]) else "moved"
        )
        if listing(folder) != files:
            files, uses[name] = listing(folder), "made anew"
    return uses


def listing(folder: Path) -> dict[str, int]:
    """The files of answers and vectors, and when each was written."""
    files = [path for path in folder.rglob("*") if path.is_file() and "shard" not in path.name]
    return {str(path.relative_to(folder)): os.stat(path).st_mtime_ns for path in files}
