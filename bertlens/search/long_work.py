"""Work of minutes on many texts, window by window, whose answers are saved now and then and whatever ends it."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from pathlib import Path
from typing import TypeVar

from ..base.batch_work import checkpoints
from ..base.progress import bar, is_watched, watched
from ..errors import BertLensError, ModelError
from ..sentences.encoders import SentenceLens

Key = TypeVar("Key", bound=Hashable)
Answer = TypeVar("Answer")


def complete(
    lens: SentenceLens,
    answers: dict[Key, Answer],
    missing: Sequence[Key],
    work: Callable[[Sequence[Key]], Iterable[Answer]],
    size: int,
    path: Path | None,
    save: Callable[[], None],
    unit: str,
    doing: str,
    progress: bool,
) -> None:
    """Put into `answers` those of what is missing. work: of a window of at most `size`, in its order, by the lens.

    path: the file that `save` writes, claimed meanwhile, now and then and whatever ends the work; None where nothing is
    saved. unit, doing, progress: as of `progress.bar`. Raises BertLensError, one sentence, after Ctrl-C where there is
    a file, KeyboardInterrupt where there is none or somebody watches; InputError where another run writes the file,
    ModelError where the model changes meanwhile.
    """
    model = lens.borrowed.fingerprint() if len(missing) > size or path is not None else None
    try:
        with checkpoints(path, save) as autosave, bar(len(missing), unit, doing, progress) as progress_bar:
            ticked = 0.0

            def tick(_doing: str, count: float, _total: float) -> None:
                """Of work that tells of its batches: the bar moves before the window's end."""
                nonlocal ticked
                progress_bar.update(count - ticked)
                ticked = count

            for start in range(0, len(missing), size):
                window, ticked = missing[start : start + size], 0.0
                with watched(tick):
                    made = [*work(window)]
                if model is not None and (name := lens.borrowed.change(model)):
                    raise ModelError(f"the model has changed in the middle of {doing} ({name}): begin again")
                answers |= zip(window, made, strict=True)
                progress_bar.update(len(window) - ticked)
                autosave()
    except KeyboardInterrupt:
        if path is None or is_watched():
            raise
        count = sum(key in answers for key in missing)
        saved = f", and saved in {path}" if count else ""
        raise BertLensError(
            f"stopped: {count:,} of {len(missing):,} {unit}s are done{saved}; the same call goes on"
        ) from None
