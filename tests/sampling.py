"""Which of many cases `make test` tries: a few, drawn by the commit, so that all have their turn."""

from __future__ import annotations

import random
import subprocess
from collections.abc import Sequence
from functools import cache
from pathlib import Path


@cache
def commit() -> str:
    """The commit of the working tree, "" where there is none."""
    command = ["git", "rev-parse", "HEAD"]
    return subprocess.run(command, cwd=Path(__file__).parent, capture_output=True, text=True).stdout.strip()


def sample(names: Sequence[str], size: int) -> list[str]:
    """So many of the names, the same ones all along a commit."""
    return random.Random(commit()).sample(sorted(names), min(size, len(names)))
