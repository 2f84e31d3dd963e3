"""What the kernel answers to each question of the page."""

from __future__ import annotations

from typing import Any, TypeAlias

Arrays: TypeAlias = dict[str, Any]
Answer: TypeAlias = tuple[dict[str, Any], Arrays]  # JSON fields; arrays
