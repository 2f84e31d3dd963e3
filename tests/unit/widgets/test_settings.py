"""What a page is set to: names, kinds, and that a page is given it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from traitlets import TraitError

import bertlens as bl
from bertlens.base.vocabulary import SETTINGS, TRAITS
from bertlens.errors import SelectionError

PAGE = (Path(bl.__file__).parents[1] / "js" / "src" / "state" / "page.ts").read_text(encoding="utf-8")


@pytest.fixture
def trace():
    return bl.Trace.from_attentions(np.full((2, 2, 3, 3), 1 / 3, dtype=np.float32), ["a", "b", "c"])


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"atlas_order": "cell", "atlas_minimum": 0.5},
        {"atlas_minimum": 1, "muted": ["L0·H1"], "thresholds": [0.5, 0]},
        {"corpus": {"by": "norm"}, "all_keys": True},
    ],
)
def test_settings_that_are_taken(trace, settings):
    view = trace.explore(settings=settings)
    assert view.settings == settings
    state = re.search(r'id="bertlens-data">(.*?)</script>', view.to_html())
    assert state and json.loads(state[1])["state"]["settings"] == settings


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"order": "cell"}, "no setting 'order': there are atlas_order"),
        ({"atlas_minimum": "much"}, "atlas_minimum is like 0.0"),
        ({"atlas_minimum": True}, "atlas_minimum is like"),
        ({"atlas_minimum": float("nan")}, "atlas_minimum is like"),
        ({"all_keys": 1}, "all_keys is like False"),
        ({"thresholds": [0.1]}, "thresholds is like"),
        ({"muted": [3]}, "muted is like"),
        ({"corpus": {"by": 3}}, "corpus is like"),
        ({"corpus": {"what": "x"}}, "corpus is like"),
    ],
)
def test_settings_that_are_refused(trace, settings, says):
    with pytest.raises(SelectionError, match=re.escape(says)):
        trace.explore(settings=settings)
    view = trace.explore()
    with pytest.raises(TraitError):
        view.settings = settings
    assert view.settings == {}


def test_every_setting_has_a_place_on_the_page():
    """The same names there, as that language writes them, and none that is a trait too."""
    for name in SETTINGS:
        camel = re.sub("_(.)", lambda found: found[1].upper(), name)
        assert re.search(rf"^  {camel}: Signal<", PAGE, re.MULTILINE), name
    assert not SETTINGS.keys() & {trait.name for trait in TRAITS}
