"""A folder of `space.to_space` to a static Space of the Hugging Face hub: what it holds is listed, then it is asked.

The token is huggingface_hub's own: nothing here reads, prints or writes it.
"""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path

from huggingface_hub import HfApi
from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalTokenNotFoundError, RepositoryNotFoundError
from huggingface_hub.utils import validate_repo_id

from ..base.outputs import is_signed
from ..errors import BertLensError, InputError, excerpt
from .space import CARD, FILES, TAG

NETWORK: type[Exception] = HfHubHTTPError.__mro__[1]  # of the library that huggingface_hub asks the network with


def upload(folder: Path, name: str, public: bool = False, sure: bool = False, force: bool = False) -> str:
    """Send a folder to the Space `name`, OWNER/NAME, which is made where it is not there; its address.

    public: for anyone to see; else it is private. sure: without asking. force: into a Space that is not of bertlens.
    Raises InputError for a folder that `to_space` has not written, for another name, for a Space that is there and is
    of another visibility or not of bertlens, without a yes, and where nobody can be asked; BertLensError where the hub
    refuses.
    """
    if not (folder / CARD).is_file() or not is_signed(folder / CARD, "publish"):
        raise InputError(f"{folder} is no folder that bertlens publish has written")
    check_name(name)
    try:
        return _sent(HfApi(library_name="bertlens"), folder, name, public, sure, force)
    except LocalTokenNotFoundError:
        raise BertLensError("huggingface_hub has no token on this machine: hf auth login asks for one") from None
    except HfHubHTTPError as error:
        raise BertLensError(f"the hub refused it: {str(error).splitlines()[0]}") from None
    except (ConnectionError, NETWORK) as error:
        raise BertLensError(f"the hub was not reached: {error}") from None


def check_name(name: str) -> None:
    """Raises InputError for what can name no Space."""
    with suppress(HFValidationError):
        validate_repo_id(name)
        if name.count("/") == 1:
            return
    raise InputError(f"a Space is named OWNER/NAME, not {excerpt(name)}")


def _sent(api: HfApi, folder: Path, name: str, public: bool, sure: bool, force: bool) -> str:
    api.whoami()
    is_there = _check_space(api, name, public, force)
    print(listing(folder, name, public, is_there), flush=True)
    if not sure and not _agreed():
        raise InputError("nothing was sent")
    api.create_repo(name, repo_type="space", space_sdk="static", private=not public, exist_ok=True)
    api.upload_folder(
        repo_id=name,
        repo_type="space",
        folder_path=folder,
        allow_patterns=list(FILES),
        delete_patterns=list(FILES),
        commit_message="A page of bertlens",
    )
    return f"{api.endpoint}/spaces/{name}"


def _check_space(api: HfApi, name: str, public: bool, force: bool) -> bool:
    """Whether the Space is there. Raises InputError where it is another than was asked for."""
    try:
        space = api.space_info(name)
    except RepositoryNotFoundError:
        return False
    if space.private is public:
        was, way = ("private", "leave --public out") if public else ("public", "give --public")
        raise InputError(f"{name} is there already and {was}: {way}, or name another")
    if TAG not in (space.tags or ()) and not force:
        raise InputError(f"{name} is there already and not of bertlens: name another, or --force writes into it")
    return True


def listing(folder: Path, name: str, public: bool, is_there: bool) -> str:
    """What would be sent, in lines: the card, files with their sizes, and who will see it."""
    card = (folder / CARD).read_text(encoding="utf-8").split("\n---\n", 1)[1].rsplit("<!--", 1)[0].strip()
    sizes = {file: (folder / file).stat().st_size for file in FILES if (folder / file).is_file()}
    files = ", ".join(f"{file} {size:,} bytes" for file, size in sizes.items() if size)
    who = "PUBLIC: anyone can see the page and its texts" if public else "private: its owner sees it, nobody else"
    return "\n".join(
        [
            card,
            "",
            f"To: the static Space {name}, {'over its earlier files' if is_there else 'which is new'}",
            f"Files: {files}; {sum(sizes.values()):,} bytes in all",
            f"Visibility: {who}",
        ]
    )


def _agreed() -> bool:
    """Asks. Raises InputError where there is no terminal."""
    if not sys.stdin.isatty():
        raise InputError("nobody can be asked here, so nothing was sent: --yes sends what is listed above")
    try:
        return input("Send it? [y/N] ").strip().lower() in ("y", "yes")
    except EOFError:
        return False
