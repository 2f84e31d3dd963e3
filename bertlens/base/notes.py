"""What a reader should know of how input was read, though nothing is wrong: a warning at the line that called."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

PACKAGE = str(Path(__file__).resolve().parents[1])


class Note(UserWarning):
    """One sentence on how input was read."""


def note(sentence: str, kind: type[Note] = Note) -> None:
    """Warn with a Note of a kind, at the first line outside bertlens that led here; Python shows one of a line once."""
    frame: FrameType | None = sys._getframe(1)
    level = 2
    while frame is not None and frame.f_code.co_filename.startswith(PACKAGE):
        frame, level = frame.f_back, level + 1
    warnings.warn(sentence, kind, stacklevel=level)


@contextmanager
def notes_in_lines() -> Iterator[None]:
    """What is noted in the block stands on stderr as errors of a command do, without a line of Python."""
    with warnings.catch_warnings():
        show = warnings.showwarning

        def shown(message: Warning | str, category: type[Warning], *place: Any) -> None:
            if issubclass(category, Note):
                print("bertlens:", message, file=sys.stderr)
            else:
                show(message, category, *place)

        warnings.showwarning = shown  # type: ignore[assignment]
        yield
