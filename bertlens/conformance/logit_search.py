"""Logits in place of vectors: what is run is the whole model, and what follows is what is made of logits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from ..errors import InputError, ModelError
from ..lens import Lens
from ..model.loan import Loan
from .after_faults import Function
from .hypothesis import FORWARD, RIGHT, Fault, Hook, ModelParts, PassChange, Row
from .search import Search
from .states import Runner, Vectors
from .text_faults import Reader

LEAST = 1e-4  # by which a temperature is none
SHAPES = "logits are an array (N, C), a row a text and a column a label: the model makes {}, these are {}"


class LogitRunner(Runner):
    """A classifier of texts. Raises ModelError for another model."""

    def __init__(self, lens: Lens, reader: Reader):
        self.lens, self.reader, self.parts = lens, reader, ModelParts(lens.borrowed)
        self.left_out, self.passes = 0, 0
        self._made: dict[tuple[str, Row], Vectors] = {}

    @property
    def called(self) -> Any:
        return self.lens.borrowed.module

    def _lend(self, loan: Loan, change: PassChange, jitter: int | None, kernel: bool) -> dict[str, list[Tensor]]:
        """Weights in another precision are those of the model; its head has its own."""
        for child in self.called.children():
            if child is not self.parts.base and (weight := next(iter(child.parameters()), None)) is not None:
                loan.hook(child.register_forward_pre_hook(_cast(weight.dtype)))
        return super()._lend(loan, change, jitter, kernel)

    def _read(
        self, output: Any, rows: list[Row], states: dict[str, list[Tensor]], poolings: Sequence[Fault]
    ) -> list[Vectors]:
        logits = getattr(output, "logits", None)
        if logits is None or logits.ndim != 2:
            raise ModelError("logits= are those of a classifier of texts: this model makes none")
        return [{RIGHT: row} for row in logits.double().cpu().numpy()]

    def head_faults(self) -> list[Fault]:
        """The square layer of the head left out, as a program does that applies the last one alone."""
        inner = {id(m) for layer in self.parts.layers for m in layer.modules()}
        heads = [
            m
            for m in self.called.modules()
            if type(m) is nn.Linear and m.in_features == m.out_features and id(m) not in inner
        ]
        hooks = tuple(Hook(m, False, lambda module, arguments, output: arguments[0]) for m in heads)
        return (
            [Fault("inner layer of the head left out", FORWARD, lambda parts: PassChange(hooks=hooks))] if hooks else []
        )


def _cast(dtype: torch.dtype) -> Any:
    return lambda module, arguments: tuple(x.to(dtype) if isinstance(x, Tensor) else x for x in arguments)


class LogitSearch(Search):
    """Hypotheses beside an array of logits."""

    rows_are = "rows"

    def __init__(self, lens: Lens, texts: Sequence[str], array: np.ndarray):
        super().__init__(lens, texts, array, None, None)
        if array.shape != self.right.shape:
            raise InputError(SHAPES.format(self.right.shape, array.shape))
        self.after_functions += _fitted(self.array.numbers, self.right)
        assert isinstance(self.runner, LogitRunner)
        self.forward_faults = [*self.runner.head_faults(), *self.forward_faults]

    def _runner(self, reader: Reader) -> LogitRunner:
        return LogitRunner(self.lens, reader)

    def _after_functions(self) -> list[tuple[str, Function]]:
        return [
            (RIGHT, lambda x: x),
            ("softmax", _softmax),
            ("softmax applied twice", lambda x: _softmax(_softmax(x))),
            ("sigmoid", lambda x: 1 / (1 + np.exp(-x))),
            ("logarithm of the softmax", lambda x: np.log(_softmax(x))),
        ]

    def _check(self, task: str | None, prompt_name: str | None) -> None:
        self.encoded = self.right[:1], self.every[:1]

    def _sort_rows(self) -> None:
        """Few columns do not tell a text; and a row's length is no fact of logits."""
        self.array = replace(self.array, is_unit=False)


def _fitted(array: np.ndarray, right: np.ndarray) -> list[tuple[str, Function]]:
    """What follows with a number or an order that is read from the array: a temperature, labels in another order."""
    from scipy.optimize import linear_sum_assignment

    functions: list[tuple[str, Function]] = []
    by = float((array * right).sum() / max((right**2).sum(), 1e-30))
    if abs(by - 1) > LEAST:
        functions.append((f"logits times {by:.4g}", lambda x: by * x))
    if (array > 0).all():
        spread, right_spread = (x - x.mean(1, keepdims=True) for x in (np.log(array), right))
        slope = float((spread * right_spread).sum() / max((right_spread**2).sum(), 1e-30))
        if slope > 0 and abs(slope - 1) > LEAST:
            functions.append((f"softmax at temperature {1 / slope:.4g}", lambda x: _softmax(slope * x)))
    for name, function in (("", lambda x: x), (", softmax", _softmax)):
        distances = ((function(right)[:, :, None] - array[:, None]) ** 2).sum(0)
        order = linear_sum_assignment(distances)[1].argsort()
        if (order != np.arange(len(order))).any():
            order_said = ", ".join(map(str, order[:12]))
            functions.append((f"labels in another order ({order_said}){name}", _ordered(order, function)))
    return functions


def _ordered(order: np.ndarray, function: Function) -> Function:
    return lambda x: function(x)[:, order]


def _softmax(x: np.ndarray) -> np.ndarray:
    powers = np.exp(x - x.max(1, keepdims=True))
    return powers / powers.sum(1, keepdims=True)
