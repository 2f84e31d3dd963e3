"""What a model's numbers depend on: weights and buffers, the settings of modules, configs and tokenizer, functions of
the user's. Of one moment and one process; `identity` is what a file holds of it.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum
from functools import lru_cache
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from ..base.arrays_file import difference
from . import transformers_private as private
from .functions import content, is_users, numbers
from .modules import (
    attribute_tensors,
    attributes_of_passes,
    is_wrapper,
    modules_by_name,
    plain_tensors,
    tensors_by_name,
)
from .user_functions import digests

PLACES = 4093  # a prime, no divisor of a width: neighbours in a row, column or head are in sums of their own
ORDER, FUNCTIONS = -1, -2  # no object's identity
USERS = "functions of the user's"
SAMPLE = 8  # values of each tensor that are looked at at each use
OF_TORCH = frozenset(vars(nn.Module()))  # parameters, hooks, train mode
# What no forward pass reads, or what a pass itself changes; a patched forward is among the user's functions.
IDLE = frozenset(
    "name_or_path gradient_checkpointing all_tied_weights_keys kernel_config loss_type max_seq_len_cached kwargs "
    "module_kwargs trust_remote_code backend warnings_issued is_hpu_graph_enabled model_forward_params "
    "transformers_version architectures output_hidden_states return_dict dtype torch_dtype id2label label2id "
    "forward problem_type model_type use_cache tokenizer_class initializer_range auto_map task_specific_params "
    "extra_repr".split()
)
OF_MODULE = IDLE | OF_TORCH
# Of peft, of sentence-transformers: what counts though it is private there.
PRIVATE = frozenset(("_active_adapter", "_disable_adapters", "_adapters_disabled", "_similarity_fn_name"))
COMPONENTS = ("normalizer", "pre_tokenizer", "post_processor", "decoder")
# What a tokenizer's calls read of it beside its vocabulary.
CALLS = (
    "model_max_length",
    "truncation_side",
    "model_input_names",
    "all_special_tokens",
    "split_special_tokens",
)
WORDS = ("antidisestablishmentarianism", "electroencephalographically", "Zürich", "lower")  # whose pieces tell merges
INTEGERS = (torch.int64, torch.int32, torch.int16, torch.uint8)
# What counts among the private attributes of a module.
NUMERIC = (float, complex, np.ndarray, np.generic, torch.ScriptObject)
PLAIN = frozenset((int, float, str, bool, type(None), bytes, torch.dtype, torch.Size))
Settings = tuple[tuple[str, Any], ...]


@dataclass(frozen=True)
class Fingerprint:
    """What a model's numbers depended on at one moment. Equal ones are of the same numbers.

    contents: by name, of a tensor its shape, dtype, device, some values and sums of its bits (of the word
    embeddings without the sums); of a module, a config and the tokenizer the settings. rows: those sums of the word
    embeddings, of `ids` alone where a text was read. places: by the object's identity, where a tensor lies, its
    version counter and those values, or the settings; at ORDER which object stands where. They are what is compared
    at each use, and made anew where this is a copy.
    """

    contents: dict[str, Any]
    rows: bytes
    ids: Tensor | None = field(default=None, compare=False)
    places: dict[int, Any] = field(default_factory=dict, compare=False)

    @classmethod
    def of(cls, root: nn.Module, tokenizer: Any, table: Tensor, ids: Tensor | None = None) -> Fingerprint:
        """Of the outermost module. table: the word embeddings; ids: the tokens that are read, all by default."""
        modules = modules_by_name(root)
        tensors, components = tensors_and_components(root, modules)
        samples, sums = _samples(tensors.values()), _sum_hashes(tensors.values(), table)
        contents: dict[str, Any] = {name: settings_of(component) for name, component in components.items()}
        contents["its tokenizer"] = tokenizer_settings(tokenizer)
        contents[USERS] = digests(modules, _address)
        contents |= {
            name: (p.shape, p.dtype, p.device, sample, of_rows)
            for (name, p), sample, of_rows in zip(tensors.items(), samples, sums, strict=True)
        }
        places = {id(p): _place(p, sample) for p, sample in zip(tensors.values(), samples, strict=True)}
        places |= {id(component): contents[name] for name, component in components.items()}
        places[ORDER], places[FUNCTIONS] = _order(modules), contents[USERS]
        return cls(contents, _bits(table, ids), ids, places)

    def _without_tables(self, root: nn.Module) -> dict[str, Any]:
        """The contents, but for attributes that each pass sets anew."""
        modules = modules_by_name(root).items()
        names = {_attribute(path, name) for path, module in modules for name in attributes_of_passes(module)}
        return {name: entry for name, entry in self.contents.items() if name not in names}

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "places": {}}  # addresses are of this process

    def holds(self, root: nn.Module, module: nn.Module | None = None) -> bool:
        """Whether a module's tensors (default: all) lie where they did, its settings are the same, every module of the
        model stands where it did, and so do the user's functions: quick, and never True falsely but where values were
        written past torch's counters."""
        modules = modules_by_name(root)
        if not self.places or self.places[ORDER] != _order(modules):
            return False
        if self.places[FUNCTIONS] != digests(modules, _address):
            return False
        tensors, components = (
            tensors_and_components(root, modules)
            if module in (None, root)
            else tensors_and_components(module, modules_by_name(module))
        )
        return all(
            self.places.get(id(p)) == _place(p, sample)
            for p, sample in zip(tensors.values(), _samples(tensors.values()), strict=True)
        ) and all(self.places.get(id(component)) == settings_of(component) for component in components.values())

    def difference(self, root: nn.Module, tokenizer: Any, table: Tensor) -> str:
        """The name of what is otherwise now, by all contents; "" where nothing is."""
        now = Fingerprint.of(root, tokenizer, table, self.ids)
        before = self._without_tables(root)
        if (before, self.rows) != (now.contents, now.rows):
            return difference(_by_setting(before), _by_setting(now.contents)) or "word embeddings"
        self.places.clear()
        self.places.update(now.places)
        return ""


def _attribute(path: str, name: str) -> str:
    return f"weights of {path}.{name}" if path else f"weights of {name}"


def _address(value: Any) -> str:
    """Of an object that nothing else tells apart from another, in this process."""
    return f"{type(value).__qualname__} at {id(value)}"


def _by_setting(contents: dict[str, Any]) -> dict[str, Any]:
    """Settings by their own names, `eps of LayerNorm`; of what is no tensor."""
    named: dict[str, Any] = {}
    for name, entry in contents.items():
        if name.startswith("weights of "):
            named[name] = entry
        elif name == USERS:
            named |= entry
        else:
            named |= {f"{setting} of {name}": value for setting, value in entry}
    return named


def tensors_and_components(root: nn.Module, modules: dict[str, nn.Module]) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Tensors, and what has settings, each once. modules: by name, as `modules_by_name` of the root."""
    configs = private.configs(root, modules)
    configs_by_name = {"its config" if k == 0 else f"its config {k}": config for k, config in enumerate(configs)}
    attributes = {  # but of a module whose weight a hook makes anew at each pass, as weight_norm does
        _attribute(path, name): tensor
        for path, module in modules.items()
        if not module._forward_pre_hooks
        for name, tensor in attribute_tensors(module).items()
    }
    weights = {f"weights of {name}": tensor for name, tensor in tensors_by_name(root, modules=modules).items()}
    return (
        {name: plain for key, tensor in weights.items() for name, plain in plain_tensors(key, tensor)} | attributes,
        {name or "the model": module for name, module in modules.items()} | configs_by_name,
    )


def _order(modules: dict[str, nn.Module]) -> tuple[int, ...]:
    """Which modules and tensors stand where: the identities of all, as a walk comes to them."""
    return tuple(
        id(each)
        for module in modules.values()
        for each in (module, *module._parameters.values(), *module._buffers.values())
    )


def settings_of(component: Any) -> Settings:
    """What a module or a config is set to, by name; read of a copy: another thread's pass may put something on it."""
    is_module = isinstance(component, nn.Module)
    idle = OF_MODULE if is_module else IDLE
    settings: list[tuple[str, Any]] = [("class", type(component).__qualname__)]
    for name, value in vars(component).copy().items():
        counts = name[0] != "_" or name in PRIVATE or (is_module and isinstance(value, NUMERIC))
        if counts and type(value) is not Tensor and name not in idle and (plain := _plain(value)) is not ...:
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
        return type(value).__qualname__ if value._modules else settings_of(value)
    if isinstance(value, np.ndarray | np.generic):
        return numbers(value)
    if isinstance(value, torch.ScriptObject):
        return _packed(value)
    if isinstance(value, Tensor) or not callable(value):
        return ...
    if is_users(value):
        return content(value, {}, _address)
    return f"{getattr(value, '__module__', '')}.{getattr(value, '__qualname__', kind.__qualname__)}"


@lru_cache(1024)
def _packed(value: torch.ScriptObject) -> str:
    """A hash of weights that a quantised module keeps packed: such an object is not written to, another takes its
    place."""
    return content(value.__getstate__(), {}, _address) if hasattr(value, "__getstate__") else _address(value)


def tokenizer_settings(tokenizer: Any) -> Settings:
    """What a tokenizer does beside its vocabulary; padding and truncation, which every call sets, apart."""
    settings: list[tuple[str, Any]] = [("class", type(tokenizer).__qualname__)]
    settings += [(name, _plain(getattr(tokenizer, name, None))) for name in CALLS]
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is None:
        return (*settings, ("size", len(tokenizer)), ("settings", _plain(getattr(tokenizer, "init_kwargs", {}))))
    for name in COMPONENTS:
        component = getattr(backend, name)
        settings.append((name, None if component is None else component.__getstate__()))
    model = backend.model
    settings.append(("pieces", tuple(piece.value for word in WORDS for piece in model.tokenize(word))))
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
    """Of each tensor SAMPLE float64 values spread over rows and columns: writes through `.data` raise no counter."""
    slices = []
    for p in tensors:
        flat = _values(p)
        step = 0 if p.is_meta else _stride(flat.numel() // SAMPLE, flat.shape[-1] if flat.ndim else 1)
        if step and flat.is_contiguous():
            slices.append(flat.as_strided((SAMPLE,), (step,)))
            continue
        flat = flat.flatten() if flat.numel() and not p.is_meta else torch.zeros(1, device="cpu")
        slices.append(flat[: step * SAMPLE : step] if step else flat)
    return [values.tobytes() for values in _split(slices, torch.float64)]


@lru_cache(4096)
def _stride(most: int, width: int) -> int:
    """The largest step up to `most` that comes to another column each time: with no divisor of the width."""
    return next((step for step in range(most, 0, -1) if math.gcd(step, width) == 1), 0)


def _sum_hashes(tensors: Iterable[Tensor], table: Tensor) -> list[bytes]:
    """Of each tensor a hash of its `_sums`; of the word embeddings of none."""
    sums = [_sums(p) if p is not table and not p.is_meta else torch.zeros(0, device="cpu") for p in tensors]
    is_here = all(tensor.device.type == "cpu" for tensor in sums)
    arrays: list[Any] = (
        [tensor.numpy() for tensor in sums] if is_here else _split(sums, torch.int64)
    )  # no copy of what lies here
    return [hashlib.sha256(array).digest() for array in arrays]


def _sums(p: Tensor) -> Tensor:
    """The bits as integers, those PLACES apart added: exact in any order of adding, and a value that goes elsewhere,
    into another row or column, is added to another sum."""
    flat = _values(p).contiguous().flatten()
    size = flat.numel() * flat.element_size()
    dtypes = (t for t in INTEGERS if size % t.itemsize == 0 and flat.data_ptr() % t.itemsize == 0)
    integers = flat.view(next(dtypes))
    whole = len(integers) - len(integers) % PLACES
    if not whole:
        return integers.to(torch.int64)
    columns = integers[:whole].view(-1, PLACES)
    if columns.device.type == "cpu":  # numpy takes three quarters of torch's time
        added = torch.from_numpy(columns.numpy().sum(0, dtype=np.int64))
    else:
        added = columns.sum(0, dtype=torch.int64)
    return torch.cat([added, integers[whole:].to(torch.int64)])


def _bits(table: Tensor, ids: Tensor | None) -> bytes:
    """The sums of the word embeddings of these tokens, or of all."""
    if table.is_meta or is_wrapper(table):  # what a wrapper holds is among the other tensors, whole
        return b""
    sums = _sums(table if ids is None else _values(table)[ids])
    return hashlib.blake2b(sums.cpu().numpy().tobytes()).digest()


def _split(tensors: list[Tensor], dtype: torch.dtype) -> list[np.ndarray]:
    """The values of each tensor, fetched from its device at once."""
    if not tensors:
        return []
    if len({(tensor.dtype, tensor.device) for tensor in tensors}) > 1:
        tensors = [tensor.to(tensors[0].device, dtype) for tensor in tensors]
    values: np.ndarray = torch.cat(tensors).to(dtype).cpu().numpy()
    sizes = [tensor.numel() for tensor in tensors]
    ends = np.cumsum(sizes)
    return [values[end - size : end] for size, end in zip(sizes, ends, strict=True)]
