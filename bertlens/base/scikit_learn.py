"""scikit-learn, which is installed by choice: imported where it is used, with one sentence where it is not there."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from ..errors import InputError


def scikit_learn(module: str, purpose: str) -> Any:
    """A module of scikit-learn, such as "metrics". Raises InputError, beginning with `purpose`, where there is none."""
    try:
        return import_module(f"sklearn.{module}")
    except ImportError:
        raise InputError(f"{purpose} scikit-learn: pip install scikit-learn") from None
