"""The `bertlens` command: what may be typed (command_arguments.py), and what each command does (command_line.py)."""

from .command_line import main
from .demo_command import notebooks

__all__ = ["main", "notebooks"]
