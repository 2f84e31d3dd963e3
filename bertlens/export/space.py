"""A page as a folder that any host of files takes: a static Space of the Hugging Face hub, GitHub Pages, a web server.

index.html is the page; weights that it carries stand beside it in a file of their own. README.md is the card: what the
folder holds and whose it is, with the front matter of a Space. Weights whose licence nobody states, and texts of a
corpus that nobody names, are not handed on.
"""

from __future__ import annotations

import json
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from html import unescape
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

from .. import __version__
from ..base.atomic import check_writable, replacing, text_file
from ..base.outputs import check_apart, is_signed, signature
from ..base.paths import as_path
from ..errors import ExportError, InputError, excerpt
from ..model.licence import file_of
from ..model.licence import licence as stated_licence
from ..trace.provenance import visible
from . import pages
from .html import INDEX, WEIGHTS, carries_weights, weights_apart

SECTION, PICTURE = "model-card.md", "report.png"  # of a report, for the card of its model
CARD, LICENCE, MODEL_LICENCE, PLAIN = "README.md", "LICENSE", "LICENSE-model", ".nojekyll"  # as hosts name them
FILES = (INDEX, WEIGHTS, CARD, LICENCE, MODEL_LICENCE, PLAIN, SECTION, PICTURE)
LISTED = 40  # texts of a card
TAG = "bertlens"  # of a Space, by which a later upload knows it
_ORIGIN = re.compile(r'<meta name="bertlens-origin" content="([^"]*)">')
_TITLE = re.compile(r"<title>(.*?)</title>", re.DOTALL)
_DATA = re.compile(
    r'<script type="application/json" id="(?!bertlens-(?:live|weights-))[^"]*">(.*?)</script>', re.DOTALL
)
_TEXTS = ("text", "text_pair", "texts", "a", "b")  # what fields of a page's data that hold texts are called
_HUB = re.compile(r"[\w.-]+/[\w.-]+")
_KNOWN = re.compile(
    r"(apache-2\.0|mit|bsd(-[23]-clause)?|cc0-1\.0|cc-by(-nc)?(-sa|-nd)?-[234]\.0|[al]?gpl-[23]\.0|unlicense)"
)


@dataclass(frozen=True)
class Origin:
    """What a page says of itself. corpus: whose texts it shows beside those typed, "" for none; licence: of the weights
    that it carries, "" where the model states none; texts: those that were typed."""

    title: str
    model: str
    corpus: str
    licence: str
    texts: tuple[str, ...]


def origin_of(text: str) -> Origin:
    """Of the text of a page. Raises InputError for what is no page that this version of bertlens writes."""
    place = _ORIGIN.search(text[:20_000])
    if place is None:
        raise InputError("that is no page of this bertlens: write the page again with it, then publish it")
    title = _TITLE.search(text)
    texts = [text for data in _DATA.finditer(text) for text in _texts(json.loads(data[1]))]
    return Origin(
        title=visible(unescape(title[1] if title else "")),
        texts=tuple(dict.fromkeys(filter(None, texts))),
        **json.loads(unescape(place[1])),
    )


def _texts(data: Any, is_text: bool = False) -> Iterator[str]:
    """The texts in the data of a page."""
    if isinstance(data, str):
        if is_text:
            yield visible(data)
    elif isinstance(data, Mapping):
        for name, field in data.items():
            yield from _texts(field, is_text or name in _TEXTS)
    elif isinstance(data, list):
        for member in data:
            yield from _texts(member, is_text)


def to_space(
    page: str | Path,
    folder: str | Path,
    *,
    title: str = "",
    licence: str = "",
    texts: str = "",
    attachments: Callable[[], Mapping[str, bytes]] = dict,
    force: bool = False,
) -> Path:
    """Write a page that bertlens wrote as a folder for a host of files, made if it is not there; where its page is.

    page: the file, or the folder of a page whose weights stand beside it. title: of the Space (default: the page's).
    licence: under which the model's weights may be handed on, where the model does not say so itself. texts: whose the
    texts of a corpus are that the page shows, and on what terms. attachments: makes further files of ours, if nothing
    is refused. force: over files that are of no earlier call.

    Raises InputError for what is no page of this version, for weights of a licence that nobody states, for texts of a
    corpus that nobody names, and for a folder with other files; ExportError where it cannot be written.
    """
    page, folder = as_path(page), as_path(folder, "a folder")
    page = page / INDEX if page.is_dir() else page
    text = read(page)
    origin, weights_file = origin_of(text), page.with_name(WEIGHTS)
    has_file = not carries_weights(text) and f'"file":"{WEIGHTS}?' in text
    if has_file and not weights_file.is_file():
        raise InputError(f"{weights_file} is not there: the page needs the weights beside it")
    terms = _terms(origin, licence, texts, carries_weights(text) or has_file)
    check_folder(folder, force)
    check_apart(folder / INDEX, [page])
    check_apart(folder / WEIGHTS, [weights_file] if has_file else [])
    files = attachments()
    if carries_weights(text):
        with replacing(folder / WEIGHTS) as out:
            text = weights_apart(text, out)
    elif has_file:
        with weights_file.open("rb") as source, replacing(folder / WEIGHTS) as out:
            shutil.copyfileobj(source, out)
    text_file(text, folder / INDEX)
    if not terms:
        (folder / WEIGHTS).unlink(missing_ok=True)  # of an earlier page, which needed them until now
    licences = {
        LICENCE: _our_licence(),
        MODEL_LICENCE: file_of(origin.model, LICENCE) if terms and _HUB.fullmatch(origin.model) else "",
    }
    for name, words in licences.items():
        if words:
            text_file(words, folder / name)
    for name, content in files.items():
        with replacing(folder / name) as out:
            out.write(content)
    text_file("", folder / PLAIN)  # GitHub Pages then gives out the files as they are
    text_file(_card(origin, visible(title) or origin.title, terms, texts, folder, tuple(files)), folder / CARD)
    return folder / INDEX


def read(page: Path) -> str:
    """The text of a page. Raises InputError where there is none."""
    try:
        return page.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise InputError(f"{page} is no page of bertlens") from None
    except OSError as error:
        raise InputError(f"{page} cannot be read ({error.strerror or error})") from None


def check_folder(folder: Path, force: bool = False) -> None:
    """Raises InputError, unless `force`, for a folder with files that are of no earlier call, and for no folder;
    ExportError where it cannot be made."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        is_ours = (folder / CARD).is_file() and is_signed(folder / CARD, "publish")
        foreign = [
            path.name for path in folder.iterdir() if not is_ours and path.name not in (".git", ".gitattributes")
        ]
    except FileExistsError:
        raise InputError(f"{folder} is a file: name a folder") from None
    except OSError as error:
        raise ExportError(f"{folder} cannot be written ({error.strerror or error})") from error
    if foreign and not force:
        raise InputError(
            f"{folder} holds {excerpt(sorted(foreign)[0])}, which is of no earlier bertlens publish: name a new one, "
            "or force it"
        )
    check_writable(folder / INDEX)


def _terms(origin: Origin, licence: str, whose: str, has_weights: bool) -> str:
    """The licence of the weights in a folder, "" for none in it. Raises InputError for what may not be handed on."""
    if origin.corpus and not whose.strip():
        raise InputError(
            f"the page shows texts of a corpus ({origin.corpus[:60]}): say whose they are and on what terms, such as "
            'texts="my own" or --texts "SST-2, CC0", if you may hand them on'
        )
    if not has_weights:
        return ""
    if origin.licence and licence and licence != origin.licence:
        raise InputError(f"{origin.model} says that its licence is {origin.licence}: leave licence out")
    if not (terms := origin.licence or visible(licence)):
        raise InputError(
            f"{origin.model} states no licence, so its weights stay out: licence='mit' or --licence mit names it, if "
            "it lets you hand them on; or publish a page without the model"
        )
    return terms


def _our_licence() -> str:
    """The licence of the page's code, and of the library in it that reads texts."""
    try:
        text = distribution("bertlens").read_text("licenses/LICENSE")
    except PackageNotFoundError:
        text = None
    checkout = Path(__file__).parents[2] / LICENCE
    return text or (checkout.read_text(encoding="utf-8") if checkout.is_file() else "")


def _card(origin: Origin, title: str, terms: str, whose: str, folder: Path, attachments: tuple[str, ...]) -> str:
    """The card: front matter of a static Space, what stands in the folder, whose it is."""
    fields: dict[str, Any] = {"title": title, "emoji": "🔎", "colorFrom": "indigo", "colorTo": "gray"}
    fields |= {"sdk": "static", "app_file": INDEX, "pinned": False}
    if terms:
        fields |= {"license": terms} if _KNOWN.fullmatch(terms) else {"license": "other", "license_name": terms}
    if _HUB.fullmatch(origin.model):
        fields["models"] = [origin.model]
    fields["tags"] = [TAG]
    front = "\n".join(f"{name}: {json.dumps(field, ensure_ascii=False)}" for name, field in fields.items())
    model = f"{markdown(origin.model)}, not in this folder: the page shows what was computed before"
    if terms:
        size = f"{(folder / WEIGHTS).stat().st_size / 1e6:.1f} MB"
        model = f"{markdown(origin.model)}, its weights rounded, in {WEIGHTS}, {size}; licence: {markdown(terms)}"
    n, library = len(origin.texts), ", and in it @huggingface/tokenizers" if terms else ""
    texts = [f"{n} below"] if n else []
    if origin.corpus:
        texts.append(f"excerpts of {markdown(origin.corpus)}; whose they are: {markdown(visible(whose))}")
    lines = [
        f"# {markdown(title)}",
        "",
        "A page that runs in the browser alone: what is typed in it stays there, and it loads nothing from elsewhere.",
        "",
        f"- Model: {model}.",
        f"- Texts: {'; '.join(texts) or 'none'}.",
        f"- Page: bertlens {__version__}{library}; Apache License 2.0, see {LICENCE}.",
        *(f"- Beside it: {name}." for name in attachments),
    ]
    excerpts = [pages.shortened(text, 300) for text in origin.texts[:LISTED]]
    fence = "`" * max(3, 1 + max((len(run) for text in excerpts for run in re.findall("`+", text)), default=0))
    lines += ["", "## The texts", "", f"{fence}text", *excerpts, fence] if n else []
    if n > LISTED:
        lines += ["", f"And {n - LISTED} more."]
    return f"---\n{front}\n---\n\n" + "\n".join(lines) + f"\n\n<!-- {signature('publish')} -->\n"


def markdown(text: str) -> str:
    """Text that Markdown takes as it is."""
    return re.sub(r"([\\`*_{}\[\]<>#|~!&])", r"\\\1", text)


class SpaceSource:
    """What has a page (`to_html`) can be a folder for a host of files, too."""

    def to_space(
        self,
        folder: str | Path,
        *,
        title: str = "",
        licence: str = "",
        texts: str = "",
        force: bool = False,
        **page: Any,
    ) -> Path:
        """The page as a folder that any host of files takes: a static Space of the Hugging Face hub, GitHub Pages, a
        web server. Returns where its index.html is; `bertlens publish FOLDER --upload OWNER/NAME` sends it.

        title: of the Space (default: the page's). licence: of the model's weights, where the page carries them and the
        model states none. texts: whose the texts of a corpus are that the page shows, and on what terms. page: what
        `to_html` takes, such as live=True. force: over files there that are of no earlier call.
        Raises as `to_html`; InputError for weights of a licence that nobody states, for texts of a corpus that nobody
        names, and for a folder with other files; ExportError where it cannot be written.
        """
        lens, corpus, has_weights = self._rights(page)
        if lens is not None:
            stated = visible(stated_licence(lens.borrowed.base.config, lens.made)) if has_weights else ""
            _terms(Origin("", visible(lens.model_name), visible(corpus), stated, ()), licence, texts, has_weights)
        check_folder(as_path(folder, "a folder"), force)
        with tempfile.TemporaryDirectory() as draft:
            path: Any = self.to_html(Path(draft) / INDEX, **page)  # type: ignore[attr-defined]
            files = partial(self._attachments, path)
            return to_space(path, folder, title=title, licence=licence, texts=texts, attachments=files, force=force)

    def _rights(self, page: Mapping[str, Any]) -> tuple[Any, str, bool]:
        """Before a page is computed: the lens that it is of, None for maps alone; `Origin.corpus`; whether it carries
        the model's weights. page: what `to_html` is given."""
        raise NotImplementedError

    def _attachments(self, page: Path) -> Mapping[str, bytes]:
        """Further files of the folder."""
        return {}
