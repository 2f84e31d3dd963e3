"""The command `bertlens task`: reads, runs, writes one page, and says in a line what came out."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from ..base.arrays_file import about_of
from ..base.atomic import claimed
from ..base.interrupts import stoppable
from ..base.outputs import check_outputs, sign
from ..base.shards import WHOLE, Shard
from ..errors import BertLensError, InputError
from ..export import table_file
from ..lens import Lens
from ..text.folders import is_hub
from . import earlier_run, task_shards
from .importance import FEWEST_EXAMPLES, Heads
from .labelled_task import Task, task
from .words import TaskWords, gained, gained_said, is_of_words, read_words
from .words.counter_examples import COLUMNS, check_ending

NAMED = 3  # words that a line lists


def run(
    load: Callable[[], Lens],
    examples: Path | str,
    output: Path,
    *,
    heads: int,
    errors: int,
    words: int = 0,
    counter_examples: Path | None = None,
    against: Callable[[], Lens] | None = None,
    ablation: str,
    seed: int,
    stage: str | None = None,
    shard: str | None = None,
    parts: Sequence[Path] = (),
    check: Path | None = None,
    force: bool = False,
    **options: Any,
) -> int:
    """The exit status: 0, or 1 where fewer examples are right than in `check`, or one of its words gained: what an
    earlier run wrote beside its page.

    options: as of `task`. heads: how many to choose, errors: how many texts to explain, words: how many of each class;
    0 leaves the part out. counter_examples: a file for examples without the suspects among the words.
    against: loads a model whose words stand beside these.
    stage, shard: instead of the page one part of a job, see `task_shards`. parts: merged files of such jobs.
    What is run is kept beside the page until it is written: after Ctrl-C the same command goes on.
    Raises InputError for what is wrong with the arguments, before the model is loaded where that can be.
    """
    share = WHOLE if shard is None else Shard.parse(shard)
    if stage is None and shard is not None:
        raise InputError("a task in shards has two stages: --stage estimate and, when its parts are merged, exact")
    if stage == task_shards.STAGES[1] and not (parts and (heads or words)):
        raise InputError("--stage exact runs what --stage estimate chooses: name its merged file by --parts")
    if output.suffix.lower() != (".html" if stage is None else ".npz"):
        what = "the page of a task is an .html file" if stage is None else "a part of a task is an .npz file"
        raise InputError(f"{what}: {output.name} is none")
    if not is_hub(examples) and not Path(examples).exists():
        raise InputError(f"no examples at {examples}: give a .csv, .tsv, .jsonl, .json or .parquet file")
    if min(heads, errors, words) < 0:
        raise InputError("--heads, --errors and --words are numbers from 0")
    if counter_examples is not None and not words:
        raise InputError("--counter-examples are of words: give --words 30, too")
    if against is not None and not (words and stage is None):
        raise InputError("--against is of words, of the whole task: give --words 30, and no --stage")
    is_earlier = None if stage is None else (lambda path: about_of(path)["kind"] == task_shards.FILE.name)
    inputs: list[Path | str | None] = [examples, *parts, check]
    check_outputs("task", [output], inputs, force=force, is_earlier=is_earlier)
    numbers, leading = (output.with_name(f"{output.stem}-{name}.json") for name in ("numbers", "words"))
    if stage is None:
        check_outputs("task", [numbers, *([leading] if words else [])], inputs, force=force)
    if check is not None:
        if stage is not None:
            raise InputError("--check is of the whole task: leave --stage out")
        with_words = is_of_words(check)
        read_words(check) if with_words else earlier_run.record_of(check)
    if counter_examples is not None:
        is_table = partial(table_file.begins, COLUMNS)
        check_outputs("task", [check_ending(counter_examples)], inputs, force=force, is_earlier=is_table)
    settings = {"heads": heads, "ablation": ablation, "seed": seed, "words": words}
    with claimed(output), stoppable():
        work = task(load(), examples, keep=output.with_name(f"{output.name}.kept"), **options)
        if heads and len(work) < FEWEST_EXAMPLES:
            raise InputError(
                f"{len(work)} examples are too few to tell which heads matter: at least {FEWEST_EXAMPLES}; --heads 0 "
                "writes the page without"
            )
        if check is not None and not with_words and not work.kind.has_right:
            raise InputError(f"{work.kind.lacks} has no right and wrong, which --check compares: leave it out")
        if len(work.kept):
            print("going on from what was kept", flush=True)
        task_shards.read(work, parts, settings)
        try:
            if stage is not None:
                count = task_shards.run_stage(work, stage, share, settings, output)
                work.kept.remove()
                print(f"{output}: {stage}, shard {share}, {count:,} of {len(work):,} examples, {work.lens.model_name}")
                return 0
            effects = _heads(work, heads, ablation, seed)
            mistakes = work.errors(errors) if errors else None
            found = work.words(words, seed=seed, against=None if against is None else against()) if words else None
            if found is not None:
                print(found.said, flush=True)
                print(f"{found.save(leading, words)}: the first {words} words, for a later --check")
            if found is not None and counter_examples is not None:
                _write_counter_examples(found, counter_examples)
            changes = gained(work, read_words(check)) if check is not None and with_words else None
            print("writing the page, with the heads of ten examples in it", flush=True)
            work.to_html(output, heads=effects, errors=mistakes, words=found)
            sign(output, "task")
            if work.kind.has_right:
                earlier_run.save(work, numbers)
        except KeyboardInterrupt:
            work.kept.save()
            raise BertLensError("stopped: the same command goes on") from None
    work.kept.remove()
    scores = work.metrics().set_index("measure")["value"]
    summary = ", ".join(f"{name} {scores.loc[name]:.3f}" for name in dict.fromkeys(scores.index[:2]))
    print(f"{output}: {work.lens.model_name}, {len(work):,} examples, {summary}; {output.stat().st_size:,} bytes")
    if check is None:
        return 0
    if changes is None:
        is_worse, sentence = earlier_run.fall(work, check)
    else:
        is_worse, sentence = bool(changes["gained"].any()), gained_said(changes)
    print(f"Against {check}: {sentence}", file=sys.stderr if is_worse else sys.stdout)
    return int(is_worse)


def _write_counter_examples(found: TaskWords, path: Path) -> None:
    suspects = found.suspects
    names = [*dict.fromkeys(suspects[suspects["kind"] == "word"]["word"])]
    if not names:
        print(f"no word is a suspect: {path} is not written")
        return
    print(f"{path}: {len(found.counter_examples(names, path)):,} examples without {', '.join(names[:NAMED])}")


def _heads(work: Task, count: int, ablation: str, seed: int) -> Heads | None:
    _ = work.losses
    if not count:
        return None
    effects = work.heads(count, ablation, seed=seed)
    if len(effects.first) + len(effects.second) < len(work):
        raise KeyboardInterrupt  # it was, and counted what was done
    print(effects.said, flush=True)
    return effects
