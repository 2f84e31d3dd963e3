"""A page for a class: it carries its model, opens on a teacher's text, and has the teacher's other texts at hand."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias

from .. import lessons
from ..base.amounts import amount
from ..base.atomic import check_writable, text_file
from ..base.one_thread import one_thread_if_small
from ..base.paths import as_path
from ..base.progress import page_bar
from ..base.vocabulary.phrases import EXAMPLES
from ..errors import InputError, check_language, check_name, excerpt
from ..export import html, live
from ..export.carried_rows import CarriedRows, carried_rows
from ..export.page_weights import is_in_four_bits
from ..export.space import SpaceSource
from ..lens import Lens
from ..model.borrowed import checked_once
from ..text.piece_counts import FEW, fertility
from ..text.texts import entries
from ..trace.provenance import visible
from ..trace.trace import Trace
from ..widgets.view_record import stream_size
from ..widgets.views import Explorer
from .teaching_texts import TEACHING

Text: TypeAlias = str | tuple[str, str]

TEXTS: tuple[Text, ...] = (EXAMPLES[0][0], EXAMPLES[3][0], EXAMPLES[5])


def classroom(
    lens: Lens,
    texts: Iterable[Text] | Path = (),
    lesson: Any = None,
    *,
    column: Any = None,
    language: str | None = None,
) -> Classroom:
    """A page that carries its model, for readers without Python: what they type is run in the page.

    texts: strings, or (text, text_pair), or a table, of which `column` is read (see `survey.head_stats`); the page
    opens on the first, the others are offered in it (default: the lesson's; else those of the teaching texts in en, de,
    fr, tr, ru, ar, hi and zh that the model's tokenizer reads, where these are more than half, or three English ones).
    lesson: a bl.Lesson, its file or the name of a shipped one, which stands beside it. language: of the texts, a tag
    such as "ar", which the page gives them as `lang`; where there are none, it opens on the teaching text in it.
    Raises InputError for anything else, for a text that is longer than the model takes, and for a language that has no
    teaching text or that the tokenizer does not read; ExportError where a page cannot run the model.
    """
    return Classroom(lens, texts, lesson, column, language)


class Classroom(SpaceSource):
    """What `classroom` makes: a lens, the texts of its page and its lesson.

    language: of the texts, as of `classroom`.
    """

    def __init__(
        self,
        lens: Lens,
        texts: Iterable[Text] | Path = (),
        lesson: Any = None,
        column: Any = None,
        language: str | None = None,
    ) -> None:
        if not isinstance(lens, Lens):
            raise InputError(f"classroom(lens, texts) needs a Lens, not {type(lens).__name__}")
        if isinstance(texts, str):
            raise InputError("texts is a list of texts: texts=[text]")
        if language is not None:
            check_language(language)
        self.lens = lens
        self.lesson = lesson
        steps = [] if lesson is None else lessons.for_page(lesson)["steps"]
        states = [step["state"] for step in steps if step.get("state", {}).get("text")]
        lesson_texts = dict.fromkeys((state["text"], state.get("text_pair")) for state in states)
        self.texts = (
            tuple(_pair(entry.item) for entry in entries(texts, column, "texts"))
            or tuple(lesson_texts)
            or _default(lens, language)
        )
        for text, pair in self.texts:
            lens.encoding(text, pair)
        known = {text: tag for tag, text in TEACHING}
        tags = {text: known.get(text, language) for texts in self.texts for text in texts if text}
        self.languages = {text: tag for text, tag in tags.items() if tag is not None}

    @cached_property
    def trace(self) -> Trace:
        """The run that the page opens on."""
        return self.lens.trace(*self.texts[0])

    def explore(self, **selection: Any) -> Explorer:
        """What the page opens on, as a view of the notebook; `selection` as of `Trace.explore`."""
        return Explorer(self.trace, **{"lesson": self.lesson, "language": self.languages} | selection)

    def cost(self, small: bool = False, hosted: bool = False) -> live.Cost:
        """About how large the page will be (bytes) and how long it takes to write, from a piece of the weights.

        small, hosted: as for `to_html`.
        """
        return live.cost(self.trace, self._is_small(small), hosted, None if hosted else self.rows)

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
            model = live.live(self.trace, self._is_small(small), hosted, traces, None if hosted else self.rows)
            page = self.explore().page(bar=bar)
            texts = tuple((text, pair or "") for text, pair in self.texts)
            title = f"{visible(self.lens.model_name)}: type a text"
            pages = () if small else (Explorer(trace, language=self.languages).page() for trace in traces)
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


def _default(lens: Lens, language: str | None) -> tuple[tuple[str, str | None], ...]:
    """The texts of a page that was given none: those in the languages that the model reads, this one first."""
    if language is not None:
        check_name(language, [tag for tag, _ in TEACHING], "language of a teaching text", InputError)
    languages = {tag: text for tag, text in TEACHING if not unread(lens, text)}
    if language is None:
        texts = languages.values() if 2 * len(languages) > len(TEACHING) else TEXTS
        return tuple(map(_pair, texts))
    if language not in languages:
        raise InputError(
            f"the tokenizer of {visible(lens.model_name)} does not read {language!r}: of its teaching text "
            f"{unread(lens, dict(TEACHING)[language])}; bl.Lens.embedded('multilingual') reads it"
        )
    return tuple(_pair(text) for _, text in sorted(languages.items(), key=lambda one: one[0] != language))


def unread(lens: Lens, text: str) -> str:
    """Why a model's tokenizer does not read the language of a text, "" where it does: each piece is known, and has
    FEW letters or more in a script with blanks between words."""
    if unknown := len(lens.encoding(text).report.unknown):
        return f"{amount(unknown, 'piece')} {'is' if unknown == 1 else 'are'} unknown"
    [counts] = fertility(lens.tokenizer, [text])
    is_fine = counts.words is not None and counts.characters_a_piece < FEW
    return f"a piece has {counts.characters_a_piece:.1f} letters" if is_fine else ""


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
