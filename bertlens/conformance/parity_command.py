"""The command `bertlens parity`: whether a file of vectors is a model's, and a model keeps its lock."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from ..base.outputs import check_outputs, sign
from ..errors import InputError
from ..lens import Lens
from ..sentences.similarity_matrix import check_texts
from .lock import Lock, lock_of
from .parity_run import SAME, parity
from .probing import probing_texts
from .vector_array import read


def run(
    load: Callable[[], Lens],
    vectors: Path | None,
    *,
    texts: Path | str | None = None,
    check: Path | None = None,
    lock: Path | None = None,
    output: Path | None = None,
    column: str | None = None,
    task: str | None = None,
    prompt_name: str | None = None,
    pairs: bool = True,
    force: bool = False,
) -> int:
    """The exit status: 0 for the same, 1 for a fault or a lock that is not kept.

    texts: whose vectors they are; None: those of the lock, or of `probing_texts`. check: a lock to keep, lock: one to
    write. output: where to write a page on the vectors. Raises InputError for what is wrong with the files, before a
    model is loaded where that can be.
    """
    if vectors is None and texts is not None:
        raise InputError("--texts are those of a file of vectors: name it too")
    if vectors is None and check is None and lock is None:
        raise InputError("parity compares vectors: name their file; or a lock, by --check or --lock")
    if output is not None and vectors is None:
        raise InputError("a page is of vectors that are compared: name their file too")
    check_outputs("parity", [path for path in (lock, output) if path], [vectors, texts, check], force=force)
    locked = None if check is None else Lock.read(check)
    array = None if vectors is None else read(vectors, column)
    texts_at_hand = locked.texts if locked and texts is None else None if texts is None else check_texts(texts)
    lens = load()
    is_same = True
    if array is not None:
        compared = texts_at_hand or probing_texts(lens)
        p = parity(lens, compared, array, task=task, prompt_name=prompt_name, pairs=pairs, progress=True)
        is_same = p.verdict == SAME
        if output is not None:
            sign(p.to_html(output), "parity")
        print(f"{vectors}: {p!r}", file=sys.stdout if is_same else sys.stderr)
    if locked is not None:
        present = Lock.of(lens, locked.texts, task, prompt_name)
        lost = locked.said(present.vectors, present)
        promise = f"{lens.model_name} keeps it: {len(locked.texts)} texts, tokens and vectors."
        print(f"{check}: {lost or promise}", file=sys.stderr if lost else sys.stdout)
        is_same = is_same and not lost
    if lock is not None:
        print(f"{lock_of(lens, task, prompt_name).write(lock)}: {lens.model_name}, of texts made for its tokenizer")
    return int(not is_same)
