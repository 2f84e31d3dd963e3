"""What sentence-transformers saved, in a folder or on the hub: loaded by it, once its encoder was found whole."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ..errors import ModelError
from ..model import loading
from .encoders import FIRST, PACKAGE

OTHERS = ("onnx/*", "openvino/*", "coreml/*", "*.h5", "*.msgpack", "*.ot", "*.onnx")  # for other programs
MODULES, SETTINGS = "modules.json", "config_sentence_transformers.json"


def is_sentence_encoder(name: str | Path, revision: str | None = None) -> bool:
    """Whether a folder, or a hub's model, holds an object of sentence-transformers.

    Of a hub that cannot be asked, what was downloaded before.
    """
    if Path(name).is_dir():
        return (Path(name) / MODULES).is_file()
    from huggingface_hub import constants, get_hf_file_metadata, hf_hub_url, try_to_load_from_cache
    from huggingface_hub.errors import HFValidationError

    try:
        entry = try_to_load_from_cache(str(name), MODULES, revision=revision)
    except HFValidationError:
        return False  # loading says what is wrong with the name
    if entry is not None or constants.HF_HUB_OFFLINE:
        return isinstance(entry, str)
    address = hf_hub_url(str(name), MODULES, revision=revision)
    answer = loading.within(loading.REACHABLE, lambda: get_hf_file_metadata(address, timeout=loading.REACHABLE))
    return not isinstance(answer, Exception)


def load(
    name: str | Path, *, allow_pickle: bool, revision: str | None, dtype: Any, device: Any
) -> tuple[Any, tuple[str, ...]]:
    """The object that was saved, and notes on what its checkpoint lacked; on the CPU without `device`.

    Raises ModelError where the package is absent, and for what cannot be loaded whole, like `loading.load`.
    """
    is_folder = Path(name).is_dir()
    label = Path(name).resolve().name if is_folder else str(name)
    if find_spec(PACKAGE) is None:
        raise ModelError(
            f"{label} is a sentence encoder, and how it pools is known to sentence-transformers alone: "
            "pip install sentence-transformers, or for its heads give Lens(model, tokenizer) of transformers"
        )
    folder = Path(name) if is_folder else _download(str(name), revision, allow_pickle)
    with loading.one_line(label):
        module = json.loads((folder / MODULES).read_text(encoding="utf-8"))[0]
        settings = folder / SETTINGS
        saved = json.loads(settings.read_text(encoding="utf-8")) if settings.is_file() else {}
    notes: tuple[str, ...] = ()
    if module["type"].endswith(tuple(f".{name}" for name in FIRST)):
        with _named(label, folder / module["path"]):
            notes = loading.load(folder / module["path"], allow_pickle=allow_pickle, dtype=dtype).notes
    options = ({} if dtype is None else {"dtype": dtype}) | ({} if allow_pickle else {"use_safetensors": True})
    with loading.one_line(label), loading.quiet():
        kind = getattr(import_module(PACKAGE), saved.get("model_type", "SentenceTransformer"))
        encoder = kind(
            str(folder),
            device="cpu" if device is None else str(device),
            trust_remote_code=False,
            local_files_only=True,
            model_kwargs=options,
        )
    return encoder, notes


def _download(name: str, revision: str | None, allow_pickle: bool) -> Path:
    """The files of a hub's model in the cache, without those for other programs."""
    from huggingface_hub import snapshot_download

    patterns = [*OTHERS, *([] if allow_pickle else ["pytorch_model.bin"])]
    with loading.one_line(name):
        return Path(snapshot_download(name, revision=revision, ignore_patterns=patterns))


@contextmanager
def _named(label: str, folder: Path) -> Iterator[None]:
    """What goes wrong with a folder of a cache is said of the model's name."""
    try:
        yield
    except ModelError as error:
        raise ModelError(str(error).replace(folder.name, label, 1)) from error
