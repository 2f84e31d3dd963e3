"""Which words on a command line name a model, and the line that was meant where one stands in the place of a text."""

from __future__ import annotations

import argparse
import os
import re
import shlex
from typing import Any

from ..errors import InputError

# what comes along, and how `Lens.embedded` is asked for it
EMBEDDED: dict[str, dict[str, Any]] = {
    "embedded": {},
    "embedded-mlm": {"mlm": True},
    "multilingual": {"model": "multilingual"},
}
_HUB = re.compile(r"[\w.-]+(/[\w.-]+)?")
_FILES = ("config.json", "modules.json")  # one of them stands in a model's folder


def is_model(word: str) -> bool:
    """Whether a word is the name of an embedded model, the folder of one, or one of the hub that is on this machine."""
    folder = os.path.expanduser(word)
    if not word.strip():
        return False
    if word in EMBEDDED or any(os.path.isfile(os.path.join(folder, file)) for file in _FILES):
        return True
    if not _HUB.fullmatch(word):
        return False
    from huggingface_hub import try_to_load_from_cache
    from huggingface_hub.errors import HFValidationError

    try:
        return any(isinstance(try_to_load_from_cache(word, file), str) for file in _FILES)
    except HFValidationError:
        return False


def is_model_or_folder(word: str) -> bool:
    """The same of any folder; not of dots, which are a text too."""
    return bool(word.strip(" .")) and (os.path.isdir(os.path.expanduser(word)) or is_model(word))


def check_text(arguments: argparse.Namespace) -> None:
    """Raises InputError where a text of `bertlens html` names a model and no --model is given."""
    texts = [text for text in (arguments.text, arguments.text_pair) if text is not None]
    models = [text for text in texts if is_model_or_folder(text)]
    if arguments.model is None and models:
        model = models[0]
        texts.remove(model)
        output = ["-o", str(arguments.output)]
        meant = shlex.join(["bertlens", "look", model, *(texts or ["TEXT"]), *output])
        raise InputError(
            f"{model} is a model or a folder, not a text. Meant is: {meant}; for the word itself add --model NAME"
        )


def check_order(arguments: argparse.Namespace) -> None:
    """Raises InputError where the model of `bertlens look` comes behind a text."""
    texts = [arguments.text, *([arguments.text_pair] if arguments.text_pair else [])]
    model = next(filter(is_model, texts), None)
    if model is None or _HUB.fullmatch(arguments.model) or is_model_or_folder(arguments.model):
        return
    texts.remove(model)
    raise InputError(f"the model comes first: {shlex.join(['bertlens', 'look', model, arguments.model, *texts])}")


def check_corpus(arguments: argparse.Namespace, further: list[str]) -> None:
    """Raises InputError where a command that has --model is given a model in the place of its corpus."""
    model = str(arguments.corpus)
    if arguments.model is None and is_model(model):
        corpus = next((word for word in further if not word.startswith("-")), "CORPUS")
        command = [arguments.command, corpus, "--model", model, "-o", str(arguments.output)]
        raise InputError(f"{model} is a model, not a corpus. Meant is: {shlex.join(['bertlens', *command])}")
