"""`bertlens handout`: lessons for print, a page each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

from ..base.outputs import check_outputs, sign
from ..errors import InputError
from ..lens import Lens, embedded_named
from ..model import offline_model
from .lesson import SHIPPED, Lesson


def run(lessons: Sequence[str], output: Path, load: Callable[[], Lens] | None, *, solutions: bool, force: bool) -> None:
    """Write lessons, shipped ones by name or files, all shipped ones where none is named, and say where each is.

    output: the page of one lesson, or else a folder, made if it is not there. load: the lens on the pictures' model;
    None: of the embedded model that a lesson names.
    Raises InputError for what is no lesson, for two of one name, for a lesson of a model that is not embedded, and as
    `check_outputs`.
    """
    from ..base.progress import Progress

    names, is_page = list(lessons) or list(SHIPPED), output.suffix == ".html" or output.is_file()
    stems = [Path(name).name.removesuffix(".lesson.json") for name in names]
    pages = [output] if is_page else [output / f"{stem}.html" for stem in stems]
    if len(pages) < len(names):
        raise InputError(f"{len(names)} lessons are as many pages, and {output} is one: name a folder for them")
    if doubled := next((page for page in pages if pages.count(page) > 1), None):
        raise InputError(f"two lessons would be written to {doubled}: write one of them by itself")
    check_outputs("handout", pages if is_page or output.is_dir() else (), names, force=force)
    plans = [Lesson.load(name) for name in names]
    lens, embedded = load() if load else None, cache(embedded_named)
    lenses = [lens or embedded(plan.model or offline_model.NAME) for plan in plans]
    if None in lenses:
        at = lenses.index(None)
        raise InputError(
            f"{names[at]} is of {plans[at].model}, which is not embedded: name the pictures' model by --model"
        )
    if not is_page:
        output.mkdir(parents=True, exist_ok=True)
    for plan, page, lens in Progress([*zip(plans, pages, lenses, strict=True)], desc="lessons", delay=2, leave=False):
        plan.to_paper(page, lens, solutions)
        sign(page, "handout")
        Progress.write(f"{page}: {plan.title}, {len(plan.steps)} steps, {page.stat().st_size:,} bytes")
