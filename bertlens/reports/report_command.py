"""The command `bertlens report`: says what it will take, runs, writes, and checks against an older report."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from ..base.outputs import check_outputs, sign, signature
from ..base.shards import Shard
from ..errors import InputError
from ..lens import Lens
from .report_comparison import changes, read
from .report_run import claims_of, draw, page_bytes, report, undecided
from .report_shards import run_shard
from .resume_file import texts_in
from .rules import FEWEST_TEXTS


def run(
    load: Callable[[], Lens],
    *,
    corpus: Path | str | None,
    output: Path,
    claims: str | None,
    minutes: float,
    texts: int | None,
    seed: int,
    against: Path | None = None,
    check: Path | None = None,
    resume: bool = False,
    labels: Path | None = None,
    search: Path | None = None,
    column: str | None = None,
    shard: str | None = None,
    force: bool = False,
) -> int:
    """The exit status: 0, or 1 where a claim of `check` went from holds to differs or back, 2 after an interrupt.

    shard: instead of the report the first pass over a share of its texts, which `bertlens merge` puts together.
    What is done is kept beside the output; resume: a report that was interrupted goes on from there.

    Everything that can be wrong with the arguments is found out before the model is loaded. Raises InputError for it.
    """
    kind = output.suffix.lower()
    if shard is not None:
        share = Shard.parse(shard)
        if texts is None:
            raise InputError("a shard of a report needs --texts N: each machine would draw others by --minutes")
        if kind != ".npz":
            raise InputError(f"a shard of a report is written as .npz: {output.name} is none")
        if any((against, check, labels, search)):
            raise InputError(
                "--against, --check, --labels, --search are of the report, not of its shards: leave them out"
            )
        check_outputs("report", [output], [corpus], force=force, is_earlier=lambda path: texts_in(path) is not None)
        print(run_shard(load(), corpus, output, share, texts, seed, column))
        return 0
    if kind not in (".html", ".json"):
        raise InputError(f"a report is a page (.html) or its numbers (.json): {output.name} is neither")
    files = [output] if kind == ".json" else [output, output.with_name(f"{output.stem}-numbers.json")]
    selection = claims_of(claims)
    alone = labels is None and search is None  # no other cards

    def check_number_of_texts(number: int) -> None:
        decided, sentence = undecided(selection, number, corpus)
        if alone and not decided:
            raise InputError(f"{sentence} (--texts {FEWEST_TEXTS}, or a larger corpus)")

    if texts is not None:
        check_number_of_texts(texts)
    numbers_against, earlier = (None if path is None else read(path) for path in (against, check))
    inputs = [corpus, labels, search, against, check]
    check_outputs("report", files, inputs, force=force)
    resume_file = output.with_name(f"{output.stem}.part.npz")
    check_outputs("report", [resume_file], inputs, force=force, is_earlier=lambda path: texts_in(path) is not None)
    if not resume:
        resume_file.unlink(missing_ok=True)
    texts = texts or texts_in(resume_file)
    lens = load()
    plan = draw(lens, corpus, minutes, texts, seed, column)
    check_number_of_texts(len(plan.texts))
    print(
        f"{len(plan.texts)} of {plan.of:,} texts (--texts {len(plan.texts)}), about {plan.seconds / 60:.1f} minutes; "
        f"a page of about {page_bytes(lens) / 1e6:.1f} MB, at most 5 MB",
        flush=True,
    )
    outcome = report(
        lens,
        corpus,
        claims,
        texts=len(plan.texts),
        seed=seed,
        resume=resume_file,
        labels=labels,
        search=search,
        column=column,
    )
    replace(outcome, made={**outcome.made, "by": signature("report")}).to_json(files[-1])
    if kind == ".html":
        outcome.to_html(output, against=numbers_against)
        sign(output, "report")
    print(f"{' and '.join(map(str, files))}: {lens.model_name}, {outcome.said}; {output.stat().st_size:,} bytes")
    status = 0
    for change in [] if earlier is None else changes(earlier, outcome.to_dict()):
        print(f"{'' if change.flipped else 'warning: '}{change}", file=sys.stderr)
        status = max(status, int(change.flipped))
    if outcome.facts["corpus"]["texts"] < len(plan.texts):
        print(f"{outcome.facts['corpus']['texts']} of {len(plan.texts)} texts: the same command with --resume goes on",
              file=sys.stderr)  # fmt: skip
        return 2
    return status
