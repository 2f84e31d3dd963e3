"""A page for a class: it carries its model, opens on a teacher's text, and has the teacher's other texts at hand."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias

from .. import lessons
from ..base.atomic import check_writable, text_file
from ..base.one_thread import one_thread_if_small
from ..base.paths import as_path
from ..base.progress import page_bar
from ..base.vocabulary.phrases import EXAMPLES
from ..errors import InputError, excerpt
from ..export import html
from ..export.carried_rows import CarriedRows, carried_rows
from ..export.live import Cost, cost, live
from ..export.page_weights import is_in_four_bits
from ..export.space import SpaceSource
from ..lens import Lens
from ..lessons.teaching_texts import TEACHING
from ..model.borrowed import checked_once
from ..model.multilingual_model import NAME as MULTILINGUAL
from ..text.texts import entries
from ..trace.provenance import visible
from ..trace.trace import Trace
from .view_record import stream_size
from .views import Explorer

Text: TypeAlias = str | tuple[str, str]

LANGUAGE_TEXTS = tuple(text for _, text in TEACHING)
TEXTS: tuple[Text, ...] = (EXAMPLES[0][0], EXAMPLES[3][0], EXAMPLES[5])


def classroom(lens: Lens, texts: Iterable[Text] | Path = (), lesson: Any = None, *, column: Any = None) -> Classroom:
    """A page that carries its model, for readers without Python: what they type is run in the page.

    texts: strings, or (text, text_pair), or a table, of which `column` is read (see `survey.head_stats`); the page
    opens on the first, the others are offered in it (default: three English ones, of the embedded multilingual model
    one in each of eight languages, or the lesson's). lesson: a
    bl.Lesson, its file or the name of a shipped one, which stands beside it.
    Raises InputError for anything else, and for a text that is longer than the model takes; ExportError where a page
    cannot run the model.
    """
    return Classroom(lens, texts, lesson, column)


class Classroom(SpaceSource):
    """What `classroom` makes: a lens, the texts of its page and its lesson."""

    def __init__(self, lens: Lens, texts: Iterable[Text] | Path = (), lesson: Any = None, column: Any = None) -> None:
        if not isinstance(lens, Lens):
            raise InputError(f"classroom(lens, texts) needs a Lens, not {type(lens).__name__}")
        if isinstance(texts, str):
            raise InputError("texts is a list of texts: texts=[text]")
        self.lens = lens
        self.lesson = lesson
        steps = [] if lesson is None else lessons.for_page(lesson)["steps"]
        states = [step["state"] for step in steps if step.get("state", {}).get("text")]
        lesson_texts = dict.fromkeys((state["text"], state.get("text_pair")) for state in states)
        self.texts = (
            tuple(_pair(entry.item) for entry in entries(texts, column, "texts"))
            or tuple(lesson_texts)
            or tuple(map(_pair, LANGUAGE_TEXTS if lens.model_name == MULTILINGUAL else TEXTS))
        )
        for text, pair in self.texts:
            lens.encoding(text, pair)

    @cached_property
    def trace(self) -> Trace:
        """The run that the page opens on."""
        return self.lens.trace(*self.texts[0])

    def cost(self, small: bool = False, hosted: bool = False) -> Cost:
        """About how large the page will be (bytes) and how long it takes to write, from a piece of the weights.

        small, hosted: as for `to_html`.
        """
        return cost(self.trace, self._is_small(small), hosted, None if hosted else self.rows)

    @cached_property
    def others(self) -> list[Trace]:
        """The runs of the other texts."""
        return [self.lens.trace(*text) for text in self.texts[1:]]

    def _is_small(self, small: bool) -> bool:
        """Whether weights have the small form: asked for, or no less exact."""
        return small or is_in_four_bits(self.trace.borrowed)

    @cached_property
    def rows(self) -> CarriedRows | None:
        """Which vectors one file of a model in four bits has, where all are too many; None: of all pieces."""
        return carried_rows([self.trace, *self.others]) if self._is_small(False) else None

    def _rights(self, page: Mapping[str, Any]) -> tuple[Any, str, bool]:
        return self.lens, "", True

    def to_html(
        self,
        path: str | Path,
        *,
        small: bool = False,
        hosted: bool = False,
        progress: bool = True,
        force: bool = False,
    ) -> Path:
        """Write the page, one file that needs neither a network nor a kernel; where it is.

        It carries the answers of its first text, and of the others while they take less than 4 MB: these are there
        before the model is. small: of the first text only; weights rounded further. hosted:
        `path` is a folder, made if it is not there, in which index.html and the weights are two files for a web
        server: tablets open no local page with scripts in it. A model in four bits keeps them; in one file it has the
        vectors of at most 130,000 pieces, those of the scripts of the texts first, and says so. progress: a
        bar once it has taken two seconds. force: there, over an index.html or weights.bin that are not of bertlens too.

        Raises InputError for no path, ExportError past 150 MB of weights in one file, where a page cannot run the
        model, and where a file cannot be made.
        """
        path = as_path(path)
        if hosted:
            path.mkdir(parents=True, exist_ok=True)
            html.check_folder(path, force)
        check_writable(path / html.WEIGHTS if hosted else path)
        with (
            one_thread_if_small(stream_size(self.trace)),
            checked_once(),
            page_bar(progress) as bar,
        ):
            traces = self.others
            model = live(self.trace, self._is_small(small), hosted, traces, None if hosted else self.rows)
            page = Explorer(self.trace, lesson=self.lesson).page(bar=bar)
            texts = tuple((text, pair or "") for text, pair in self.texts)
            title = f"{visible(self.lens.model_name)}: type a text"
            pages = () if small else (Explorer(trace).page() for trace in traces)
            page = replace(page, live=model, title=title, texts=texts, others=pages)
            if hosted:
                return html.to_folder(page, path)
            text_file(html.to_html(page), path)
        return path

    def to_space(self, folder: str | Path, **options: Any) -> Path:
        """The page with its weights beside it, as a folder that any host of files takes; where its index.html is.

        options: title, licence, texts, force as of `LensWidget.to_space`, and those of `to_html` but hosted. Raises as
        these.
        """
        return super().to_space(folder, hosted=True, **options)


def _pair(text: Text) -> tuple[str, str | None]:
    a, b = (
        (text, None)
        if isinstance(text, str)
        else text
        if isinstance(text, tuple | list) and len(text) == 2
        else (None, None)
    )
    if not isinstance(a, str) or not isinstance(b, str | None):
        raise InputError(f"a text is a string or a pair of strings, not {excerpt(text, 60)}")
    return a, b
