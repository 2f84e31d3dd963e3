"""What names a file: checked once, before a system call stumbles over it."""

from __future__ import annotations

import errno
from pathlib import Path
from typing import Any

from ..errors import InputError, excerpt


def as_path(path: Any, what: str = "a file") -> Path:
    """The path, "~" in it your home.

    Raises InputError for what can name no file: no string, too long, or with NUL or half a character.
    """
    try:
        file = Path(path).expanduser()
        file.lstat()
    except (TypeError, ValueError, RuntimeError):
        raise InputError(f"{what} is named by a string or a path that a system can have, not {excerpt(path)}") from None
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            raise InputError(f"{what} cannot be named {excerpt(path)}…: that is too long") from None
    return file
