"""How long a cell of a notebook takes and for how long it shows nothing, on a machine that does nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nbclient

LONGEST = 5.0  # seconds without a sign of life
SEEN = {"stream", "display_data", "update_display_data", "execute_result", "error", "comm_msg"}


def queued(pid: int) -> float:
    """Seconds in which a process could have run and others ran, by Linux's own account; elsewhere 0."""
    account = Path(f"/proc/{pid}/schedstat")
    return int(account.read_text().split()[1]) / 1e9 if account.is_file() else 0.0


class Listener(nbclient.NotebookClient):
    """Executes a notebook and notes, cell by cell, `seconds` and `silence`: the longest stretch without a message that
    a reader sees (text, a picture, a bar or view that moves, the end). `queue`: seconds that are left out of both."""

    def __init__(self, notebook: Any, **options: Any) -> None:
        super().__init__(notebook, **options)
        self.seconds: dict[str, float] = {}
        self.silence: dict[str, float] = {}
        self.queue = self._start = self._sign = 0.0

    def process_message(self, msg: dict[str, Any], cell: Any, cell_index: int) -> Any:
        assert self.km is not None
        self.queue = queued(self.km.provisioner.pid)
        # when it was sent: who listens may be late on a busy machine
        clock, state = msg["header"]["date"].timestamp() - self.queue, msg["content"].get("execution_state")
        if state == "busy":
            self._start = self._sign = clock
        elif state == "idle" or msg["msg_type"] in SEEN:
            self.seconds[cell.id] = clock - self._start
            self.silence[cell.id] = max(self.silence.get(cell.id, 0), clock - self._sign)
            self._sign = clock
        return super().process_message(msg, cell, cell_index)

    def silent(self, cells: set[str]) -> dict[str, float]:
        """Those of the cells that show nothing for too long."""
        return {name: round(self.silence[name], 1) for name in cells if self.silence.get(name, 0) > LONGEST}

    def __str__(self) -> str:
        longest, quiet = (max(times, key=lambda name: times[name]) for times in (self.seconds, self.silence))
        return (
            f"{sum(self.seconds.values()):.0f} s and {self.queue:.0f} s of waiting for a processor; "
            f"longest cell {longest}, {self.seconds[longest]:.1f} s; "
            f"longest silence {quiet}, {self.silence[quiet]:.1f} s"
        )
