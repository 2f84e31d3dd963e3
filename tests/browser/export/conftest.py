"""A small model that pages carry, and what it is in a page."""

from __future__ import annotations

from typing import Any

import pytest

import bertlens as bl
from unit.export import engine
from unit.tiny import bert_with


@pytest.fixture(scope="module")
def tiny(embedded_lens: Any) -> bl.Lens:
    return bl.Lens(bert_with(embedded_lens.tokenizer), embedded_lens.tokenizer)


@pytest.fixture(scope="module")
def rounded(tiny: bl.Lens) -> bl.Lens:
    """With the weights that a page has."""
    return bl.Lens(engine.rounded(tiny.borrowed), tiny.tokenizer)
