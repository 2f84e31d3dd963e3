"""Anything that a page may send: answered or refused in words, and the kernel's state stays one that can be shown.

`make fuzz` tries more messages (BERTLENS_MESSAGES, BERTLENS_SEED).
"""

from __future__ import annotations

import json
import os
import random
import re
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import bertlens as bl
from bertlens.base.vocabulary import PLACE, SETTINGS, TRAITS
from bertlens.widgets.messages.arguments import ARGUMENTS
from bertlens.widgets.questions import QUESTIONS
from unit.asking import replies
from unit.tiny import bert, wordpiece

MESSAGES = int(os.environ.get("BERTLENS_MESSAGES", "4000"))
SEED = int(os.environ.get("BERTLENS_SEED", "0"))

WORDS = [
    "",
    "self",
    "encoder",
    "cross",
    "norm",
    "weight",
    "attn-n",
    "rollout",
    "full",
    "content",
    "closed",
    "AB",
    "the",
]
HARD = [
    None,
    True,
    False,
    0.5,
    1e308,
    float("nan"),
    float("inf"),
    2**31,
    2**63,
    -1,
    10**30,
    "\ud800",
    "\u202e",
    "x" * 9999,
]
COSTLY = ["html", "bundle"]  # a page is a megabyte: fewer of them
OPERATIONS = [name for name in QUESTIONS if name not in COSTLY]
NAMES = ["map", *ARGUMENTS]


def value(draw: random.Random, depth: int = 0) -> Any:
    """Whatever JSON can hold, most often something near what is right."""
    kind = draw.random()
    if kind < 0.5:
        return draw.randint(-1, 5)
    if kind < 0.7:
        return draw.choice(WORDS)
    if kind < 0.85 or depth > 2:
        return draw.choice(HARD)
    inner = [value(draw, depth + 1) for _ in range(draw.randint(0, 3))]
    return inner if kind < 0.93 else {draw.choice(NAMES): item for item in inner}


def message(draw: random.Random, header: dict[str, Any]) -> dict[str, Any]:
    """A question with right and wrong arguments, often of the text that is shown."""
    made: dict[str, Any] = {"op": draw.choice(OPERATIONS)}
    if draw.random() < 0.8:  # it comes further
        made |= {"trace": header["trace"], "map": header["map"], "layer": 0, "head": 1, "threshold": 0.3, "margin": 0.1}
        made |= {"measure": "norm", "kind": "attn-n", "gate": "closed", "view": "full"}
    made |= {draw.choice(NAMES): value(draw) for _ in range(draw.randint(0, 2))}
    wild = draw.random()
    if wild < 0.01:
        made["op"] = draw.choice(COSTLY)
    elif wild < 0.1:
        made["op"] = value(draw)
    elif wild < 0.15:
        made.pop(draw.choice([*made]))
    return made


@pytest.fixture(scope="module")
def views() -> list[bl.Explorer]:
    """A model's trace, and an encoder-decoder's maps."""
    lens = bl.Lens(bert(num_hidden_layers=2), wordpiece())
    give = lambda rows, cols: torch.full((2, 2, rows, cols), 1 / cols)  # noqa: E731
    maps = bl.Trace.from_encoder_decoder(
        encoder=give(4, 4), cross=give(3, 4), encoder_tokens=list("abcd"), decoder_tokens=list("xyz")
    )
    return [lens.trace("the cat sat", "it was").explore(), maps.explore()]


def state(view: bl.Explorer) -> dict[str, Any]:
    return {trait.name: getattr(view, trait.name) for trait in TRAITS}


def test_every_message_is_answered_or_refused_in_words(views: list[bl.Explorer]) -> None:
    draw, answered = random.Random(SEED), 0
    for number in range(MESSAGES):
        view = views[draw.random() < 0.3]
        asked = message(draw, view.overview["header"])
        before = state(view)
        [(fields, buffers)] = replies(view, {**asked, "id": number})
        json.dumps(fields, allow_nan=False)
        assert fields["id"] == number and all(isinstance(buffer, bytes) for buffer in buffers), asked
        error = fields.get("error")
        if error is not None:
            assert buffers == [] and 0 < len(error) < 500 and "\n" not in error and "Traceback" not in error, (
                error,
                asked,
            )
            assert not re.match(r"[A-Z]\w*(Error|Exception|Interrupt):", error), (error, asked)
        else:
            answered += 1
        if error is not None or asked.get("op") != "trace":
            assert state(view) == before, asked
    assert 0.1 < answered / MESSAGES < 0.9  # neither half is left out


scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from(HARD) | st.text(max_size=20)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
choices = {trait.name: list(trait.choices) for trait in TRAITS if trait.choices}
of_kind = {
    "number": st.integers(-1, 4),
    "optional": st.none() | st.integers(-1, 8),
    "flag": st.booleans(),
    "text": st.sampled_from(["self", "encoder", "cross", "the cat"]),
    "heads": st.lists(st.integers(0, 3) | st.lists(st.integers(0, 3), min_size=2, max_size=2), max_size=3),
    "numbers": st.none() | st.lists(st.integers(0, 3), max_size=3),
    "choice": st.sampled_from(["matrix", "lines", "table", "norms", ""]),
    "done": st.lists(st.dictionaries(st.sampled_from(["step", "guess", "written"]), values), max_size=3),
    "place": st.fixed_dictionaries(dict.fromkeys(PLACE, st.none() | st.integers(-1, 8)))
    | st.dictionaries(st.sampled_from([*PLACE, "none"]), values, max_size=4),
    "settings": st.dictionaries(st.sampled_from([*SETTINGS, "none"]), values, max_size=3)
    | st.sampled_from(list(SETTINGS.items())).map(lambda setting: dict([setting])),
}
updates = st.dictionaries(
    st.sampled_from([trait.name for trait in TRAITS if trait.selectable]), st.none(), min_size=1, max_size=5
).flatmap(
    lambda chosen: st.fixed_dictionaries(
        {
            trait.name: st.sampled_from(choices[trait.name]) | of_kind[trait.kind] | values
            if trait.name in choices
            else of_kind[trait.kind] | of_kind[trait.kind] | values
            for trait in TRAITS
            if trait.name in chosen
        }
    )
)
OURS = ["parts", "overview", "_esm", "_css", "_anywidget_id", "_model_name", "_view_module", "layout", "_dom_classes"]


def consistent(view: bl.Explorer) -> None:
    """What a selection must be, whoever set it: written out again, without the code that checks it."""
    shown = view.trace.maps[view.map]
    layers, heads = range(shown.n_layers), range(shown.n_heads)
    assert {*view.opened} <= {"layer", "head", "query", "key"}
    assert all(n is None or type(n) is int for n in view.opened.values())
    numbers = [view.layer, view.head, *(n for pair in view.heads for n in pair)]
    numbers += [
        n for n in (view.query, view.key, *(view.include_layers or ()), *(view.include_heads or ())) if n is not None
    ]
    assert all(type(number) is int for number in numbers)  # True and 1.0 only equal 1
    assert view.layer in layers and view.head in heads
    assert view.query is None or 0 <= view.query < len(shown.tokens)
    assert view.key is None or 0 <= view.key < len(shown.key_tokens)
    assert all(layer in layers and head in heads for layer, head in view.heads)
    for one, included, size in (
        (view.layer, view.include_layers, layers),
        (view.head, view.include_heads, heads),
    ):
        assert included is None or (one in included and set(included) <= set(size))
    for name, value in view.settings.items():  # JSON has one kind of number
        kinds = (type(value), type(SETTINGS[name]))
        assert len(set(kinds)) == 1 or set(kinds) == {int, float}
    for name, chosen in choices.items():
        assert getattr(view, name) in chosen


@settings(max_examples=600, deadline=None, suppress_health_check=list(HealthCheck))
@given(update=updates, ours=st.dictionaries(st.sampled_from(OURS), values, max_size=1), which=st.integers(0, 1))
def test_every_update_is_taken_whole_or_not_at_all(
    views: list[bl.Explorer], update: dict[str, Any], ours: dict[str, Any], which: int
) -> None:
    view = views[which]
    before = state(view)
    kept = {name: getattr(view, name) for name in OURS}
    view.set_state({**update, **ours})
    consistent(view)
    assert {name: getattr(view, name) for name in OURS} == kept
    after = state(view)
    taken = {name: after[name] for name in update}
    if taken == {name: before[name] for name in update}:  # refused, or nothing new
        assert after == before
    else:
        for name, value in update.items():
            if name == "heads":  # numbers are heads of the selected layer
                value = [[after["layer"], item] if isinstance(item, int) else item for item in value]
            assert taken[name] == value
        if "map" not in update:
            assert {name: after[name] for name in after if name not in update} == {
                name: before[name] for name in before if name not in update
            }


def test_what_a_refused_update_leaves_can_be_shown_again(views: list[bl.Explorer]) -> None:
    for view in views:
        view.set_state({"layer": 99, "head": 2**31})
        data, _ = view._repr_mimebundle_()
        assert "image/png" in data
        view.to_html()
