"""The order of these tests: those of long notebooks first, so that what runs last beside others is short."""

from __future__ import annotations

from pathlib import Path

import pytest

LONGEST = ["08", "10", "09", "07"]  # by what they compute; the others take a fraction of it


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    def turn(item: pytest.Item) -> tuple[int, str]:
        call = getattr(item, "callspec", None)
        path = call.params.get("path") if call and item.path.is_relative_to(Path(__file__).parent) else None
        name = path.stem[:2] if path else ""
        # what is asked of one file stays together
        return (LONGEST.index(name) if name in LONGEST else len(LONGEST) + (not path), name)

    items.sort(key=turn)
