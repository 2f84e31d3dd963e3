"""A hand that works a view: the ways to everything, each in one place (`ways/`), and every click counted.

When the screen changes, the ways change; the abilities (the other files of this folder) stay as they are.
"""

from __future__ import annotations

from .ways.changes import ChangeWays
from .ways.files import FileWays
from .ways.frame import FrameWays
from .ways.heads import HeadWays
from .ways.runs import RunWays
from .ways.tabs import TabWays


class Hand(HeadWays, ChangeWays, TabWays, RunWays, FrameWays, FileWays):
    """Works one view, and counts."""
