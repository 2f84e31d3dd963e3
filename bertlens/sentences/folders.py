"""A folder that sentence-transformers saved: loaded by that package, after its transformers model was found whole."""

from __future__ import annotations

import json
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ..errors import ModelError
from ..model import loading
from .encoders import PACKAGE

MODULES, SETTINGS = "modules.json", "config_sentence_transformers.json"


def is_sentence_encoder(name: str | Path) -> bool:
    """Whether a folder holds an object of sentence-transformers."""
    return (Path(name) / MODULES).is_file()


def load(folder: Path, *, allow_pickle: bool, dtype: Any, device: Any) -> tuple[Any, tuple[str, ...]]:
    """The object that was saved, and notes on what its checkpoint lacked; on the CPU without `device`.

    Raises ModelError where the package is absent, and for what cannot be loaded whole, like `loading.load`.
    """
    label = folder.resolve().name
    if find_spec(PACKAGE) is None:
        raise ModelError(
            f"{label} is a sentence encoder, and how it pools is known to sentence-transformers alone: "
            "pip install sentence-transformers, or for its heads give Lens(model, tokenizer) of transformers"
        )
    with loading.one_line(label):
        first = json.loads((folder / MODULES).read_text(encoding="utf-8"))[0]
        settings = folder / SETTINGS
        saved = json.loads(settings.read_text(encoding="utf-8")) if settings.is_file() else {}
    notes: tuple[str, ...] = ()
    if first["type"].endswith(".Transformer"):
        notes = loading.load(folder / first["path"], allow_pickle=allow_pickle, dtype=dtype).notes
    options = ({} if dtype is None else {"dtype": dtype}) | ({} if allow_pickle else {"use_safetensors": True})
    with loading.one_line(label), loading.quiet():
        kind = getattr(import_module(PACKAGE), saved.get("model_type", "SentenceTransformer"))
        made = kind(
            str(folder),
            device="cpu" if device is None else str(device),
            trust_remote_code=False,
            local_files_only=True,
            model_kwargs=options,
        )
    return made, notes
