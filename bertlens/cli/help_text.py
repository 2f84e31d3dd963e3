"""The list of commands in `bertlens --help`, by what one wants to do: argparse itself knows one list only."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Mapping

GROUPS = ("look", "teach", "measure", "train", "share")
NAME = 18  # letters of the widest name, with what stands before and behind it


def grouped(commands: Mapping[str, Mapping[str, str]]) -> str:
    """The commands of each group with a line about each. commands: group -> name -> what it does."""
    width = max(60, min(100, shutil.get_terminal_size().columns - 2))
    lines = []
    for group in GROUPS:
        lines.append(f"{group}:")
        for name, about in commands[group].items():
            first = f"  {name}".ljust(NAME + 2)
            lines.append(textwrap.fill(about, width, initial_indent=first, subsequent_indent=" " * (NAME + 2)))
        lines.append("")
    return "\n".join([*lines, "bertlens COMMAND --help says more about one."])
