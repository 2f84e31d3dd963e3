"""Gates in a page that carries its model: patterns, scores, labels and evidence are those of Python."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from bertlens import whatif
from bertlens.measures import gates
from bertlens.widgets.answers import gate_answers
from unit.export import engine

SHORT = "A dog lay on the red rug all day."
TYPED = "She gave the dog a bone, and he [MASK] it: good dog, said the man from the river bank."
PAIR = ("A dog lay on the rug by the fire.", "It was asleep until the cat came in.")
GATES = list(gates.GATES)


def maps() -> list[tuple[Tensor, Tensor, Tensor]]:
    """(attention, special tokens, segments): noise of several kinds and each pattern in noise, one text or two."""
    torch.manual_seed(5)
    found = []
    for n, size in enumerate([4, 5, 6, 8, 9, 12, 13, 17, 24, 31, 40, 77, 150] * 3):
        special, segments = torch.zeros(size, dtype=torch.bool), torch.zeros(size, dtype=torch.long)
        special[[0, -1]] = True
        if n % 3 == 1:  # a pair: a separator in the middle, a second side of one token and more
            middle = (2, size // 2, size - 3)[n % 9 // 3]
            special[middle], segments[middle + 1 :] = True, 1
        rows = torch.arange(size)
        offset = rows - rows[:, None]
        pattern = [
            torch.zeros(size, size),
            *(torch.where(offset == d, 4.0, 0.0) for d in (-1, 0, 1)),
            torch.where((offset.abs() <= 2) & (offset != 0), 3.0, 0.0),
            torch.where(rows == size // 3, 4.0, 0.0).expand(size, -1),
            torch.where((rows < size // 2) == (rows < size // 2)[:, None], 5.0, 0.0),
            torch.where(offset > 0, 3.0, 0.0),
            torch.where(offset < 0, 3.0, 0.0),
            torch.where(special, 4.0, 0.0).expand(size, -1),
        ][n % 10]
        noise = torch.randn(size, size) * (0.1, 1, 3)[n // 10 % 3]
        attention = (pattern + noise).softmax(-1)
        if n % 7 == 3:
            attention = torch.distributions.Dirichlet(torch.full((size,), 0.05)).sample((size,))
        if n % 11 == 5:
            attention[:, ~special] = 0  # all on special tokens: nothing is left without them
            attention[:, 0] = 1
        found.append((attention.float().double(), special, segments))
    return found


def neighbours(offset: int) -> tuple[Tensor, Tensor, Tensor]:
    """Each token looks at the one beside it, of two texts: across the separator that counts for nothing."""
    rows = torch.arange(24)
    special, segments = torch.zeros(24, dtype=torch.bool), (rows > 11).long()
    special[[0, 11, 23]] = True
    attention = torch.where(rows - rows[:, None] == offset, 5.0, 0.0).softmax(-1)
    return attention.double(), special, segments


def test_patterns_and_evidence_of_a_map_are_pythons(tmp_path: Path):
    cases = [
        {"attention": attention, "special": special, "segments": segments, "gate": GATES[n % 9], "view": view}
        for n, (attention, special, segments) in enumerate(maps())
        for view in gates.VIEWS
    ]
    for offset, gate in ((1, "forward contextual"), (-1, "backward contextual")):
        named = zip(("attention", "special", "segments"), neighbours(offset), strict=True)
        cases.append({**dict(named), "gate": gate, "view": "full"})
    asked = [
        {
            "values": one["attention"].tolist(),
            "special": one["special"].tolist(),
            "segments": one["segments"].tolist(),
            "gate": one["gate"],
            "isContent": one["view"] == "content",
        }
        for one in cases
    ]
    found = engine.node(tmp_path, maps=asked)
    best = dict.fromkeys(gates.PATTERNS, 0.0)
    for here, one in zip(found, cases, strict=True):
        given = (one["attention"], one["special"])
        own = gates.patterns(*given, one["segments"], view=one["view"])
        for name, score in own.items():
            if score.isnan():
                assert name not in here["scores"]
                continue
            assert here["scores"][name] == pytest.approx(float(score), abs=1e-6), name
            best[name] = max(best[name], float(score))
        evidence = gates.evidence(*given, one["gate"], one["segments"], view=one["view"])
        assert (here["pattern"], here["detail"]) == (evidence.pattern, evidence.detail)
        assert here["mass"] == pytest.approx(evidence.mass, abs=1e-6)
        assert here["cells"] == np.packbits(evidence.cells.numpy()).tolist()
    assert min(best.values()) > 0.3, best  # each is there in one of them


def test_gates_of_a_run_are_the_kernels(embedded_lens: Any, tmp_path: Path):
    usual = {"op": "gates", "trace": "last", "threshold": gates.THRESHOLD, "margin": gates.MARGIN}
    clear = {"op": "evidence", "trace": "last", "layer": 3, "head": 1, "gate": "closed", "view": "full"}
    questions = [
        {"op": "trace", "text": TYPED},
        usual,
        {**usual, "layer": 2, "threshold": 0.2, "margin": 0.0},
        *(clear | {"gate": gate, "view": view} for gate in GATES for view in gates.VIEWS),
        {"op": "change", "trace": "last", "changes": [["off", 0, 3], ["hide", 4]]},
        usual,
        {"op": "trace", "text": PAIR[0], "text_pair": PAIR[1]},
        usual,
        {"op": "trace", "text": "A dog."},
        usual,
        clear,
        {"op": "trace", "text": SHORT},
        usual,
    ]
    same, found = engine.asked(embedded_lens, "The cat sat.", questions, tmp_path, decimals=[(512, 3)])
    trace = same.trace(TYPED)
    changed = trace.rerun(whatif.off(0, 3), whatif.hide(4))
    short = same.trace("A dog.")
    compared = [
        (1, trace),
        (4 + 18, changed),
        (6 + 18, same.trace(*PAIR)),
        (8 + 18, short),
        (11 + 18, same.trace(SHORT)),
    ]
    for at, run in compared:
        equal(found[at], gate_answers.gate_labels(run, gates.THRESHOLD, gates.MARGIN))
    equal(found[2], gate_answers.gate_labels(trace, 0.2, 0.0, layer=2))
    for (error, fields, _, arrays), asked in zip(found[3:21], questions[3:21], strict=True):
        own, cells = gate_answers.gate_evidence(trace, 3, 1, asked["gate"], asked["view"])
        assert error == "" and fields["mass"] == pytest.approx(own["mass"], abs=1e-5)
        assert {**fields, "mass": 0, "arrays": 0} == {**own, "mass": 0, "arrays": 0}
        assert (arrays["cells"] == cells["cells"]).all()
    assert len({label for labels in found[1][1]["labels"].values() for row in labels for label in row}) > 3
    assert found[29][1]["content_tokens"] == 10 and found[29][1]["least"] > gates.THRESHOLD
    assert {label for row in found[26][1]["labels"]["full"] for label in row} == {"undefined"}
    assert found[27][1]["pattern"] == gate_answers.gate_evidence(short, 3, 1, "closed", "full")[0]["pattern"]


def equal(found: tuple[Any, ...], own: tuple[dict[str, Any], dict[str, Any]]) -> None:
    error, fields, _, arrays = found
    names, values = own
    assert error == "" and fields["labels"] == {view: rows.tolist() for view, rows in names["labels"].items()}
    assert {**fields, "labels": 0, "arrays": 0} == {**names, "labels": 0, "arrays": 0}
    for view in gates.VIEWS:
        np.testing.assert_allclose(arrays[view], values[view], atol=2e-5)
