"""Anything that the page of a search may send: answered or refused in words. `make fuzz` tries more messages."""

from __future__ import annotations

import json
import random
import re
from typing import Any

import pytest

import bertlens as bl
from bertlens.search.view import case_questions
from bertlens.search.view.case_questions import QUESTIONS, SearchQuestion
from unit import tiny_encoders
from unit.asking import replies
from unit.tiny_encoders import words
from wire.test_messages import MESSAGES, SEED, value

FEWER = 20  # a strip is some runs of a model
TEXTS = {f"d{at}": f"{words(5 + at % 3, at)}, 12." for at in range(9)}
QUERIES = {f"q{at}": f"{words(4, 50 + at)}?" for at in range(3)}
RIGHT: dict[str, Any] = {
    "query": "q1",
    "wrong": "d1",
    "right": "d2",
    "texts": None,
    "text": "the cat",
    "side": "wrong",
    "word": words(1, 1),
    "how": "hidden",
    "draws": 1,
    "n": 1,
    "ending": ".jsonl",
    "work": "turns",
}


@pytest.fixture(scope="module")
def view() -> bl.RetrievalView:
    lens = bl.Lens(tiny_encoders.encoder(similarity_fn_name="cosine"))
    judged = {name: {f"d{at}": 1} for at, name in enumerate(QUERIES)}
    return bl.retrieval(lens, QUERIES, TEXTS, judged, progress=False).explore()


def message(draw: random.Random) -> dict[str, Any]:
    """A question with what it takes, of which at most two things are something else."""
    name = draw.choice([*QUESTIONS])
    made = {"op": name, **{argument: RIGHT[argument] for argument in QUESTIONS[name].arguments}}
    made |= {draw.choice([*made, *RIGHT]): value(draw) for _ in range(draw.randint(0, 2))}
    if draw.random() < 0.1:
        made.pop(draw.choice([*made]))
    return made


def test_every_message_is_answered_or_refused_in_words(view: bl.RetrievalView, monkeypatch: pytest.MonkeyPatch) -> None:
    assert RIGHT.keys() == SearchQuestion.TABLE.keys()
    monkeypatch.setattr(case_questions.Works, "outcome", lambda *_: {"rows": [], "said": ""})  # minutes
    draw, answered, count = random.Random(SEED), 0, MESSAGES // FEWER
    for number in range(count):
        asked = message(draw)
        [(fields, buffers)] = replies(view, {**asked, "id": number})
        json.dumps(fields, allow_nan=False)
        error = fields.get("error")
        answered += error is None
        assert fields["id"] == number and all(isinstance(buffer, bytes) for buffer in buffers), asked
        if error is not None:
            assert buffers == [] and 0 < len(error) < 500 and "\n" not in error, (error, asked)
            assert not re.match(r"[A-Z]\w*(Error|Exception|Interrupt|Iteration)\b", error), (error, asked)
    assert 0.1 < answered / count < 0.9
