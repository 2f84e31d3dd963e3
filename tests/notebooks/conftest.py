"""The order of these tests: those of large files first, so that what runs last beside others is short."""

from __future__ import annotations

from pathlib import Path

import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    def size(item: pytest.Item) -> int:
        call = getattr(item, "callspec", None)
        path = call.params.get("path") if call and item.path.is_relative_to(Path(__file__).parent) else None
        return path.stat().st_size if path else 0

    items.sort(key=size, reverse=True)  # what is asked of one file stays together
