"""What kills processes, so many and no more; it may be sent to them."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

HERE = os.getpid()


def die(folder: str, times: int, here: int = HERE) -> None:
    """The process is killed, in the first so many calls of all processes but one: a file each in the folder."""
    if os.getpid() == here:
        return
    for number in range(times):
        try:
            (Path(folder) / f"{number}").touch(exist_ok=False)
        except FileExistsError:
            continue
        os.kill(os.getpid(), signal.SIGKILL)


class Death:
    """A hook that kills the process in its `call`-th call; 0: where it is read."""

    def __init__(self, folder: str, call: int, times: int) -> None:
        self.folder, self.call, self.times, self.here = folder, call, times, os.getpid()
        self.calls = 0

    def __call__(self, *_: Any) -> None:
        self.calls += 1
        if self.calls == self.call:
            die(self.folder, self.times, self.here)

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self.calls = 0
        if self.call == 0:
            die(self.folder, self.times, self.here)

    def __deepcopy__(self, memo: dict[int, Any]) -> Death:
        return self
