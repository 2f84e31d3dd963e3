"""What needs scikit-learn says so, and how to get it, where it is not installed."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import bertlens as bl
from bertlens.survey import head_map
from bertlens.tasks.scores import metrics_table

ASKED = {
    "manifold": (lambda: head_map(1 - np.eye(4), 2), "a map of heads needs"),
    "metrics": (lambda: metrics_table(np.zeros(2, int), np.eye(2), ["a", "b"]), "the metrics of a task need"),
}


@pytest.mark.parametrize("module", ASKED)
def test_one_sentence_says_what_needs_it(module: str, monkeypatch: pytest.MonkeyPatch) -> None:
    call, purpose = ASKED[module]
    monkeypatch.setitem(sys.modules, f"sklearn.{module}", None)
    with pytest.raises(bl.InputError, match=f"^{purpose} scikit-learn: pip install scikit-learn$"):
        call()
