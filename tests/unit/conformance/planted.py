"""Vectors with one or two faults of the hypotheses put on a small model of a family, run alone, a text at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import transformers as tf

import bertlens as bl
from bertlens.conformance import scoring
from bertlens.conformance.hypothesis import RIGHT, Fault
from bertlens.conformance.pooling_faults import FAULTS as POOLINGS
from bertlens.conformance.search import Search
from unit import tiny

LIMIT = 40
SEVEN = ("bert", "roberta", "mpnet", "distilbert", "modernbert", "deberta-v2", "esm")
SIZE = {**tiny.BERT, "pad_token_id": 0}
MORE: dict[str, Callable[[], Any]] = {
    "mpnet": lambda: tf.MPNetModel(tf.MPNetConfig(**SIZE | {"pad_token_id": 1})),
    "deberta-v2": lambda: tf.DebertaV2Model(
        tf.DebertaV2Config(
            **SIZE,
            relative_attention=True,
            pos_att_type=["c2p", "p2c"],
            position_buckets=8,
            max_relative_positions=64,
            norm_rel_ebd="layer_norm",
            share_att_key=True,
            position_biased_input=False,
        )
    ),
}


def lens_of(family: str, seed: int = 5) -> bl.Lens:
    """A random model with weights by .25 and biases that are not 0."""
    kind = tiny.FAMILIES.get(family)
    model = tiny.shaken(kind.model() if kind else MORE[family](), seed)
    return bl.Lens(model, (kind.tokenizer if kind else tiny.wordpiece)(model_max_length=LIMIT))


@dataclass(frozen=True)
class Plant:
    text: Fault | None = None
    forward: tuple[Fault, ...] = ()
    pooling: str = RIGHT
    after: str = RIGHT

    @property
    def faults(self) -> set[str]:
        named = [fault.name for fault in (self.text, *self.forward) if fault]
        return {*named, self.pooling, self.after} - {RIGHT}


class Field:
    """A lens, the probing texts, and the faults that can be planted in it."""

    def __init__(self, family: str):
        self.lens = lens_of(family)
        self.texts = bl.probing_texts(self.lens)
        self.right = self.lens.encode(self.texts).numpy().astype(np.float64)
        self.search = Search(self.lens, self.texts, self.right.astype(np.float32), None, None)

    def singles(self) -> list[Plant]:
        search = self.search
        forward = [f for f in search.forward_faults if not f.name.startswith("padded to")]
        plants = [Plant(text=fault) for fault in search.text_faults] + [Plant(forward=(fault,)) for fault in forward]
        plants += [Plant(pooling=fault.name) for fault in POOLINGS if fault.name != RIGHT]
        return plants + [Plant(after=name) for name, _ in search.after_functions if name != RIGHT]

    def vectors(self, plant: Plant) -> np.ndarray | None:
        """(N, D) float32; None where the model has no such fault, or its texts do not show it."""
        search = self.search
        readings, change = search.readings(plant.text, search.every), search.change(plant.forward)
        if readings is None or change is None:
            return None
        rows = [change.row(row, search.batch) if change.row else row for row in readings]
        try:
            pooled = search.runner.run(rows, change, 1)
            after = dict(search.after_functions)[plant.after]
            moved = after(np.stack([vectors[plant.pooling] for vectors in pooled]))
        except (*scoring.UNCALLED,):
            return None
        far = np.linalg.norm(moved - self.right, axis=1) / np.linalg.norm(self.right, axis=1)
        shows = moved.shape == self.right.shape and np.isfinite(moved).all() and far.max() >= 10 * search.noise
        return moved.astype(np.float32) if shows else None

    @contextmanager
    def one_runner(self) -> Iterator[None]:
        """What was run once is not run again for the next array of the same texts."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(scoring, "Runner", lambda lens, reader: self.search.runner)
            patch.setattr(scoring, "Reader", lambda lens, task, prompt_name: self.search.reader)
            yield


def names(parity: bl.conformance.Parity, first: bool = True) -> list[set[str]]:
    """The faults of each hypothesis that is named, of the first class alone or of all."""
    return [set(c.faults) for group in parity.classes[: 1 if first else None] for c in group]


def pairs(field: Field, generator: np.random.Generator, count: int) -> Iterator[tuple[Plant, np.ndarray]]:
    """Pairs of faults that round no activations, of which each shows beside the other, drawn alike of four kinds."""
    singles = [p for p in field.singles() if not any(fault.is_rounding for fault in p.forward) and p.after == RIGHT]
    kinds: dict[str, list[Plant]] = {"text": [], "forward": [], "pooling": []}
    for plant in singles:
        kinds["text" if plant.text else "forward" if plant.forward else "pooling"].append(plant)
    for kind in range(10**6):
        one, other = (("text", "forward"), ("forward", "forward"), ("forward", "pooling"), ("text", "pooling"))[
            kind % 4
        ]
        while True:
            a, b = (kinds[name][generator.integers(len(kinds[name]))] for name in (one, other))
            both = Plant(a.text or b.text, a.forward + b.forward, b.pooling)
            found = [field.vectors(plant) for plant in (a, b, both)] if a is not b else [None]
            if any(vectors is None for vectors in found):
                continue
            apart = [np.linalg.norm(found[2] - alone, axis=1) / np.linalg.norm(alone, axis=1) for alone in found[:2]]
            if min(distance.max() for distance in apart) >= 10 * field.search.noise:
                break
        yield both, found[2]
        if kind + 1 == count:
            return
