"""`bertlens publish`, a page as a folder for a host of files, and `bertlens skill`, what an agent should know."""

from __future__ import annotations

import argparse
import io
import sys
from functools import partial
from pathlib import Path

from ..errors import InputError
from .command_arguments import Argument, argument, path

SKILL_FILE = "SKILL.md"

PUBLISH: tuple[Argument, ...] = (
    argument("page", type=path, help="a page that bertlens wrote, or a folder of classroom --hosted or of publish"),
    argument("--to", type=path, metavar="FOLDER", help="the folder to write: index.html, weights, licence, card"),
    argument("--title", default="", help="of the Space (default: the page's)"),
    argument("--licence", default="", metavar="NAME", help="of the weights, where the model states none, such as mit"),
    argument(
        "--texts", default="", metavar="WHOSE", help="whose the texts of a corpus on the page are, and their terms"
    ),
    argument("--upload", metavar="OWNER/NAME", help="then send it to this static Space of the Hugging Face hub"),
    argument("--public", action="store_true", help="for anyone to see (default: private)"),
    argument("--yes", action="store_true", help="send it without asking"),
    argument("--force", action="store_true", help="write over files that are not of an earlier publish"),
)
ABOUT_PUBLISH = {
    "help": "make a link of a page: a folder for any web server, or a Space of the Hugging Face hub",
    "description": "Write a page as a folder that any host of files takes. With --upload what would be sent is listed, "
    "and it is asked before anything is; huggingface_hub's own login is used. The Space is private without --public.",
}
ABOUT_SKILL = {"help": "print what an agent should know to use bertlens well, as SKILL.md"}


def publish(arguments: argparse.Namespace) -> None:
    """Write the folder, say where it is, send it where asked to."""
    from ..export.space import FILES, to_space

    page, folder = arguments.page, arguments.to
    if folder is None and not (arguments.upload and page.is_dir()):
        raise InputError(
            "publish needs --to FOLDER, where the page goes; or a folder of an earlier publish, and --upload"
        )
    if arguments.upload is None and (arguments.public or arguments.yes):
        raise InputError("--public and --yes are about --upload OWNER/NAME")
    if arguments.upload is not None:
        from ..export.hub_upload import check_name, upload

        check_name(arguments.upload)
        if folder is not None and not arguments.yes and not sys.stdin.isatty():
            raise InputError("nobody can be asked here: leave --upload out to write the folder alone, or give --yes")
    if folder is not None:
        index = to_space(
            page,
            folder,
            title=arguments.title,
            licence=arguments.licence,
            texts=arguments.texts,
            attachments=partial(_section, page),
            force=arguments.force,
        )
        names = [name for name in FILES if (index.parent / name).is_file()]
        size = sum((index.parent / name).stat().st_size for name in names)
        print(f"{index.parent}: {', '.join(names)}; {size:,} bytes")
        if arguments.upload is None:
            print(f"to try it: python -m http.server -d {folder}, then http://localhost:8000")
    if arguments.upload is not None:
        print(upload(folder or page, arguments.upload, arguments.public, arguments.yes, arguments.force))


def _section(page: Path) -> dict[str, bytes]:
    """Of a report beside which its numbers stand, the section of a model card."""
    from ..export import space
    from ..reports.model_card import attached
    from ..reports.report_comparison import read

    numbers = page.with_name(f"{page.stem}-numbers.json")
    is_report = numbers.is_file() and '"bertlens_report"' in numbers.read_text(encoding="utf-8", errors="replace")
    return attached(read(numbers), space.read(page)) if is_report and page.is_file() else {}


def skill_file() -> Path:
    """In a wheel, or in a checkout."""
    package = Path(__file__).parents[1]
    return next((p for p in (package / SKILL_FILE, package.parent / "docs" / SKILL_FILE) if p.is_file()), package)


def skill(arguments: argparse.Namespace) -> None:
    """Print the file, in UTF-8 whatever the terminal takes its text for."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8")
    print(skill_file().read_text(encoding="utf-8"), end="")
