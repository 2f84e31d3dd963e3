"""What a model's numbers depend on: its weights and buffers, the settings of its modules, its configs, its tokenizer.

`Fingerprint` is of one moment and one process, and notices each change; `identity` is what a file holds of it: the same
in another process, on another device, under another name.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import numpy as np
import torch
import transformers
from torch import Tensor, nn

from .. import __version__
from ..base.arrays_file import difference
from . import transformers_private as private
from .modules import modules_by_name, tensors_by_name

SAMPLE = 8  # values of each tensor that are looked at at each use
OF_TORCH = frozenset(vars(nn.Module()))  # parameters, hooks, train mode
# What no forward pass reads, or what a pass itself changes.
IDLE = frozenset(
    "name_or_path gradient_checkpointing all_tied_weights_keys kernel_config loss_type max_seq_len_cached kwargs "
    "module_kwargs trust_remote_code backend warnings_issued is_hpu_graph_enabled model_forward_params "
    "transformers_version architectures output_hidden_states return_dict dtype torch_dtype id2label label2id "
    "problem_type use_cache tokenizer_class initializer_range auto_map task_specific_params".split()
)
OF_MODULE = IDLE | OF_TORCH
# Of peft, of sentence-transformers: what counts though it is private there.
PRIVATE = frozenset(("_active_adapter", "_disable_adapters", "_adapters_disabled", "_similarity_fn_name"))
COMPONENTS = ("normalizer", "pre_tokenizer", "post_processor", "decoder")
INTEGERS = (torch.int64, torch.int32, torch.int16, torch.uint8)
PLAIN = frozenset((int, float, str, bool, type(None), bytes, torch.dtype, torch.Size))
Settings = tuple[tuple[str, Any], ...]


@dataclass(frozen=True)
class Fingerprint:
    """What a model's numbers depended on at one moment. Equal ones are of the same numbers.

    contents: by name, of a tensor its shape, dtype, device, some values and the sums of its rows, of bits (of the word
    embeddings without the sums); of a module, a config and the tokenizer the settings. rows: those sums of the word
    embeddings, of `ids` alone where a text was read. places: by the object's identity, where a tensor lies, its version
    counter and those values, or the settings: what is compared at each use, and made anew where this is a copy.
    """

    contents: dict[str, Any]
    rows: bytes
    ids: Tensor | None = field(default=None, compare=False)
    places: dict[int, Any] = field(default_factory=dict, compare=False)

    @classmethod
    def of(cls, root: nn.Module, tokenizer: Any, table: Tensor, ids: Tensor | None = None) -> Fingerprint:
        """Of the outermost module. table: the word embeddings; ids: the tokens that are read, all by default."""
        tensors, components = _tensors_and_components(root)
        samples, sums = _samples(tensors.values()), _sum_hashes(tensors.values(), table)
        contents: dict[str, Any] = {name: _settings(component) for name, component in components.items()}
        contents["its tokenizer"] = _tokenizer_settings(tokenizer)
        contents |= {
            name: (p.shape, p.dtype, p.device, sample, of_rows)
            for (name, p), sample, of_rows in zip(tensors.items(), samples, sums, strict=True)
        }
        places = {id(p): _place(p, sample) for p, sample in zip(tensors.values(), samples, strict=True)}
        places |= {id(component): contents[name] for name, component in components.items()}
        return cls(contents, _bits(table, ids), ids, places)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "places": {}}  # addresses are of this process

    def holds(self, module: nn.Module) -> bool:
        """Whether a module's tensors lie where they did and its settings are the same: quick, and never True falsely
        but where values were written past torch's counters."""
        if not self.places:
            return False
        tensors, components = _tensors_and_components(module)
        return all(
            self.places.get(id(p)) == _place(p, sample)
            for p, sample in zip(tensors.values(), _samples(tensors.values()), strict=True)
        ) and all(self.places.get(id(component)) == _settings(component) for component in components.values())

    def difference(self, root: nn.Module, tokenizer: Any, table: Tensor) -> str:
        """The name of what is otherwise now, by all contents; "" where nothing is."""
        now = Fingerprint.of(root, tokenizer, table, self.ids)
        if self != now:
            return difference(_by_setting(self.contents), _by_setting(now.contents)) or "word embeddings"
        self.places.clear()
        self.places.update(now.places)
        return ""


def _by_setting(contents: dict[str, Any]) -> dict[str, Any]:
    """Settings by their own names, `eps of LayerNorm`; of what is no tensor."""
    named: dict[str, Any] = {}
    for name, content in contents.items():
        if name.startswith("weights of "):
            named[name] = content
            continue
        for setting, value in content:
            named[f"{setting} of {name}"] = value
    return named


def _tensors_and_components(root: nn.Module) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Tensors, and what has settings, each once."""
    configs = private.configs(root)
    configs_by_name = {"its config" if k == 0 else f"its config {k}": config for k, config in enumerate(configs)}
    return (
        {f"weights of {name}": tensor for name, tensor in tensors_by_name(root).items()},
        {name or "the model": module for name, module in modules_by_name(root).items()} | configs_by_name,
    )


def _settings(component: Any) -> Settings:
    """What a module or a config is set to, by name; read of a copy: another thread's pass may put something on it."""
    idle = OF_MODULE if isinstance(component, nn.Module) else IDLE
    settings: list[tuple[str, Any]] = [("class", type(component).__qualname__)]
    for name, value in vars(component).copy().items():
        if (name[0] != "_" or name in PRIVATE) and name not in idle and (plain := _plain(value)) is not ...:
            settings.append((name.lstrip("_"), plain))
    return tuple(settings)


def _plain(value: Any) -> Any:
    """A value that can be compared; an ellipsis for what is none."""
    kind = type(value)
    if kind in PLAIN:
        return value
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, dict):
        return tuple(sorted((repr(key), repr(_plain(setting))) for key, setting in [*value.items()]))
    if isinstance(value, set | frozenset):
        return tuple(sorted(map(repr, [*value])))
    if isinstance(value, list | tuple):
        return tuple(map(_plain, value))
    if isinstance(value, nn.Module):  # that is not registered as one, as a scorer's activation
        return type(value).__qualname__ if value._modules else _settings(value)
    if isinstance(value, Tensor) or not callable(value):
        return ...
    return f"{getattr(value, '__module__', '')}.{getattr(value, '__qualname__', kind.__qualname__)}"


def _tokenizer_settings(tokenizer: Any) -> Settings:
    """What a tokenizer does beside its vocabulary; padding and truncation, which every call sets, apart."""
    settings = [("class", type(tokenizer).__qualname__), ("model_max_length", tokenizer.model_max_length)]
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is None:
        return (*settings, ("size", len(tokenizer)), ("settings", _plain(getattr(tokenizer, "init_kwargs", {}))))
    for name in COMPONENTS:
        component = getattr(backend, name)
        settings.append((name, None if component is None else component.__getstate__()))
    model = backend.model
    options = ((name, getattr(model, name)) for name in dir(model) if name[0] != "_")
    settings += [(name, option) for name, option in options if type(option) in PLAIN]
    added = tuple(f"{number} {token!r}" for number, token in sorted(backend.get_added_tokens_decoder().items()))
    return (*settings, ("size", backend.get_vocab_size()), ("added_tokens", added))


def _place(p: Tensor, sample: bytes) -> tuple[Any, ...]:
    counter = None if p.is_inference() else p._version
    return (0 if p.is_meta else p.data_ptr(), counter, p.shape, p.dtype, p.device, sample)


def _values(p: Tensor) -> Tensor:
    """Outside the graph; of a quantised tensor its integers."""
    return p.detach().int_repr() if p.is_quantized else p.detach()


def _samples(tensors: Iterable[Tensor]) -> list[bytes]:
    """Of each tensor SAMPLE float64 values spread over it: writes through `.data` raise no counter."""
    slices = []
    for p in tensors:
        flat = _values(p)
        step = 0 if p.is_meta else flat.numel() // SAMPLE
        if step and flat.is_contiguous():
            slices.append(flat.as_strided((SAMPLE,), (step,)))
            continue
        flat = flat.flatten() if flat.numel() and not p.is_meta else torch.zeros(1, device="cpu")
        slices.append(flat[: step * SAMPLE : step] if step else flat)
    return _split(slices, torch.float64)


def _sum_hashes(tensors: Iterable[Tensor], table: Tensor) -> list[bytes]:
    """Of each tensor a hash of the sums of its rows; of the word embeddings of none."""
    sums = [_row_sums(p) if p is not table and not p.is_meta else torch.zeros(0, device="cpu") for p in tensors]
    return [hashlib.blake2b(values, digest_size=16).digest() for values in _split(sums, torch.int64)]


def _row_sums(p: Tensor) -> Tensor:
    """The sum of each row's bits as integers: exact in any order of adding."""
    rows = _values(p).contiguous()
    rows = rows.flatten(1) if rows.ndim > 1 else rows.reshape(1, -1)
    width = rows.shape[-1] * rows.element_size()
    dtypes = (t for t in INTEGERS if width % t.itemsize == 0 and rows.data_ptr() % t.itemsize == 0)
    return rows.view(next(dtypes)).sum(-1, dtype=torch.int64)


def _bits(table: Tensor, ids: Tensor | None) -> bytes:
    """The row sums of the word embeddings of these tokens, or of all."""
    if table.is_meta:
        return b""
    sums = _row_sums(table if ids is None else _values(table)[ids])
    return hashlib.blake2b(sums.cpu().numpy().tobytes()).digest()


def _split(tensors: list[Tensor], dtype: torch.dtype) -> list[bytes]:
    """The bytes of each part, fetched from its device at once."""
    if not tensors:
        return []
    if len({(tensor.dtype, tensor.device) for tensor in tensors}) > 1:
        tensors = [tensor.to(tensors[0].device, dtype) for tensor in tensors]
    values: np.ndarray = torch.cat(tensors).to(dtype).cpu().numpy()
    sizes = [tensor.numel() for tensor in tensors]
    ends = np.cumsum(sizes)
    return [values[end - size : end].tobytes() for size, end in zip(sizes, ends, strict=True)]


def identity(root: nn.Module, tokenizer: Any) -> dict[str, Any]:
    """By name, JSON types: a hash of all weights, settings, tokenizer, versions.

    Alike settings of alike modules stand once. A new release of bertlens, torch or transformers is named, a patch not.
    """
    hashed, settings = hashlib.sha256(), dict[str, dict[str, None]]()
    tensors, components = _tensors_and_components(root)
    for name, p in tensors.items():
        hashed.update(f"{name} {tuple(p.shape)} {p.dtype}".encode())
        hashed.update(_bytes(p))
    for name, component in components.items():
        kind = name if not isinstance(component, nn.Module) else type(component).__qualname__
        for setting, value in _settings(component):
            settings.setdefault(f"{setting} of {kind}", {})[f"{value}"] = None
    about: dict[str, Any] = {"weights": hashed.hexdigest()[:16]}
    about |= {name: " | ".join(values) for name, values in settings.items() if not name.startswith("class of ")}
    about["modules"] = _digest(f"{name} {_settings(component)}" for name, component in components.items())
    about |= {f"{name} of its tokenizer": _digest([value]) for name, value in _tokenizer_settings(tokenizer)}
    about["vocabulary of its tokenizer"] = _digest(sorted(tokenizer.get_vocab().items()))
    return about | {name: ".".join(number.split(".")[:2]) for name, number in releases().items()}


def _bytes(p: Tensor) -> Any:
    return b"" if p.is_meta else _values(p).cpu().contiguous().reshape(-1).view(torch.uint8).numpy()


def _digest(values: Iterable[Any]) -> str:
    return hashlib.sha256("\n".join(map(str, values)).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def releases() -> dict[str, str]:
    """Versions of bertlens, transformers and torch, of this one its build too: "2.13.0+cu130"."""
    return {"bertlens": __version__, "transformers": transformers.__version__, "torch": str(torch.__version__)}
