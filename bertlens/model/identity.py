"""What a file holds of a model: the same in another process, on another device, under another name.

Settings by name, hashes of weights, functions and tokenizer, and the answers to trial texts. `difference` and `is_same`
of base/arrays_file.py compare two of them: answers within the noise of their type; releases are named, and decide
nothing.
"""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Iterable
from typing import Any

import torch
import transformers
from torch import Tensor, nn

from .. import __version__
from ..base.arrays_file import RELEASES, TRIAL
from ..base.notes import note
from .fingerprint import USERS, settings_of, tensors_and_components, tokenizer_settings
from .functions import Opaque, numbers
from .modules import modules_by_name, plain_tensors, tensors_by_name
from .trial import answers
from .user_functions import digests


def identity(root: nn.Module, runner: nn.Module, tokenizer: Any, dtype: torch.dtype) -> dict[str, Any]:
    """By name, JSON types. root: what the user gave; runner: the module in it that takes `input_ids`; dtype: of the
    weights.

    Alike settings of alike modules stand once. A function of the user's that cannot be told from another makes an
    identity that is the same as no other, and a note says which.
    """
    trial = answers(root, runner, tokenizer, dtype)  # first: what its passes set on modules is no part of them
    settings = dict[str, dict[str, None]]()
    modules = modules_by_name(root)
    tensors, components = tensors_and_components(root, modules)
    weights = {f"weights of {name}": tensor for name, tensor in tensors_by_name(root, modules=modules).items()}
    plain = {name for key, tensor in weights.items() for name, _ in plain_tensors(key, tensor)}
    for name, component in components.items():
        kind = name if not isinstance(component, nn.Module) else type(component).__qualname__
        for setting, value in settings_of(component):
            settings.setdefault(f"{setting} of {kind}", {})[f"{value}"] = None
    about: dict[str, Any] = {"weights": _weights({name: p for name, p in tensors.items() if name in plain})}
    about |= {name: " | ".join(values) for name, values in settings.items() if not name.startswith("class of ")}
    about["modules"] = _digest(f"{name} {settings_of(component)}" for name, component in components.items())
    about |= {f"{name} of its tokenizer": _digest([value]) for name, value in tokenizer_settings(tokenizer)}
    about["vocabulary of its tokenizer"] = _digest(sorted(tokenizer.get_vocab().items()))
    about["JSON of its tokenizer"] = _digest([_as_json(tokenizer)])
    about["tensors among attributes"] = _digest(f"{n} {numbers(p)}" for n, p in tensors.items() if n not in plain)
    about[USERS] = _functions(modules)
    return about | {TRIAL: trial, RELEASES: releases()}


def by_hash(about: dict[str, Any]) -> str:
    """Of an identity without what differs by machine and release, as JSON: by it a file has its name."""
    return json.dumps({name: value for name, value in about.items() if name not in (TRIAL, RELEASES)}, sort_keys=True)


def _functions(modules: dict[str, nn.Module]) -> list[Any]:
    def opaque(value: Any) -> str:
        raise Opaque(type(value).__qualname__)

    try:
        return [list(pair) for pair in digests(modules, opaque)]
    except Opaque as error:
        note(
            f"a function on the model reaches an object of {error}, which cannot be told from another: what is written "
            "to a file now is not gone on with. Give the function numbers and tensors instead"
        )
        return [uuid.uuid4().hex]


def _weights(tensors: dict[str, Tensor]) -> str:
    hashed = hashlib.sha256()
    for name, p in tensors.items():
        hashed.update(f"{name} {tuple(p.shape)} {p.dtype}".encode())
        hashed.update(_bytes(p))
    return hashed.hexdigest()[:16]


def _bytes(p: Tensor) -> Any:
    if p.is_meta:
        return b""
    values = p.detach().int_repr() if p.is_quantized else p.detach()
    return values.cpu().contiguous().reshape(-1).view(torch.uint8).numpy()


def _as_json(tokenizer: Any) -> str:
    """A fast tokenizer's own description, without what every call sets."""
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is None:
        return ""
    about = json.loads(backend.to_str())
    return json.dumps({name: value for name, value in about.items() if name not in ("truncation", "padding")})


def _digest(values: Iterable[Any]) -> str:
    return hashlib.sha256("\n".join(map(str, values)).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def releases() -> dict[str, str]:
    """Versions of bertlens, transformers and torch, of this one its build too: "2.13.0+cu130"."""
    return {"bertlens": __version__, "transformers": transformers.__version__, "torch": str(torch.__version__)}
