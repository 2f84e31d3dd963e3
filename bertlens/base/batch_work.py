"""Work on batch after batch that may be ended: what is done counts, and is saved now and then and whatever ends it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from .arrays_file import Autosave
from .atomic import claimed
from .interrupts import Stop, stoppable
from .notes import Note, note
from .progress import is_watched


class PartialNote(Note):
    """What an interrupted run is of."""


class partial_work:
    """An interrupt ends the block, and what was done counts: a note says what that is, unless somebody watches.

    told: of what it is; "" where that is too little: then the interrupt is raised. others: errors that end it alike.
    """

    def __init__(self, told: Callable[[], str], *others: type[Exception]) -> None:
        self._told = told
        self._ends: tuple[type[BaseException], ...] = (KeyboardInterrupt, *others)

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, place: object) -> bool:
        sentence = self._told() if isinstance(error, self._ends) else ""
        if sentence and not is_watched():
            note(f"{'interrupted' if isinstance(error, KeyboardInterrupt) else error}: {sentence}", PartialNote)
        return bool(sentence)


@contextmanager
def checkpoints(path: str | Path | None, save: Callable[[], None]) -> Iterator[Callable[[], None]]:
    """The block's work is saved by `save`, now and then where what this gives is called, and whatever ends the block.

    path: the file, which no other run may write meanwhile; None: nothing is saved. The first signal ends the block,
    further ones change nothing. Raises InputError as `claimed`, and what `save` raises at the end.
    """
    with ExitStack() as stack:
        if path is not None:
            stack.enter_context(claimed(path))
        stop: Stop = stack.enter_context(stoppable())
        autosave = Autosave(save)
        try:
            yield (lambda: None) if path is None else autosave
        finally:
            stop.over = True  # a signal that comes before this line is raised, and with it all are
            if path is not None:
                save()
