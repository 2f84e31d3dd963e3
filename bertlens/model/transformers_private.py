"""What bertlens uses of transformers that is not public, in one place, with a check that says what a release took away.

Private are: where a config keeps its attention implementation, the hooks that transformers 5 leaves on a model when
hidden states are first asked for, its list of classes that can record, which classes run with sdpa attention, which
choose their attention when they are built, what makes the masks of an attention implementation, and sdpa's own.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from huggingface_hub import try_to_load_from_cache
from torch import nn
from transformers import PretrainedConfig, PreTrainedModel, modeling_utils
from transformers.integrations.sdpa_attention import sdpa_attention_forward as sdpa_attention_forward
from transformers.masking_utils import ALL_MASK_ATTENTION_FUNCTIONS as ALL_MASK_ATTENTION_FUNCTIONS
from transformers.masking_utils import AttentionMaskInterface as AttentionMaskInterface
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS as ALL_ATTENTION_FUNCTIONS

from .modules import modules_by_name

IMPLEMENTATION = "_attn_implementation_internal"
INSTALLED = "_output_capturing_hooks_installed"  # transformers' mark on a model that carries its hooks
CAPTURING = "transformers.utils.output_capturing"  # the module that these hooks come from
REGISTRY = "_CAN_RECORD_REGISTRY"
RECORDED = "_can_record_outputs"
SUPPORTS_SDPA = "_supports_sdpa"
ATTENTION_CLASSES = "_ATTENTION_CLASSES"  # how older families name their table of attention modules


def missing() -> list[str]:
    """The names above that the installed transformers does not have; empty where all is well."""
    from importlib.util import find_spec

    presence = {
        IMPLEMENTATION: hasattr(PretrainedConfig(), IMPLEMENTATION),
        CAPTURING: find_spec(CAPTURING) is not None,
        REGISTRY: hasattr(modeling_utils, REGISTRY),
        RECORDED: hasattr(PreTrainedModel, RECORDED),
        SUPPORTS_SDPA: hasattr(PreTrainedModel, SUPPORTS_SDPA),
    }
    return [name for name, present in presence.items() if not present]


def configs(module: nn.Module, modules: dict[str, nn.Module] | None = None) -> list[PretrainedConfig]:
    """The different configs in a module, each once. modules: those in it, where known."""
    candidates = (child.__dict__.get("config") for child in (modules or modules_by_name(module)).values())
    return list({id(c): c for c in candidates if isinstance(c, PretrainedConfig)}.values())


def is_capturing(hook: Any) -> bool:
    """Whether transformers has put the hook on, to record hidden states."""
    return getattr(hook, "__module__", None) == CAPTURING


@contextmanager
def without_capturing_hooks(module: nn.Module) -> Iterator[None]:
    """Afterwards the hooks that transformers leaves behind when hidden states are first asked for are taken off."""
    hooks = {child: set(child._forward_hooks) for child in modules_by_name(module).values()}
    installed = {child for child in hooks if INSTALLED in child.__dict__}
    try:
        yield
    finally:
        for child, keys in hooks.items():
            if child not in installed:
                child.__dict__.pop(INSTALLED, None)
            for key in child._forward_hooks.keys() - keys:
                if is_capturing(child._forward_hooks[key]):
                    del child._forward_hooks[key]


def announce(module: nn.Module) -> None:
    """transformers notes in a model's __init__ what it can record; one that was unpickled elsewhere never ran it."""
    registry: Any = getattr(modeling_utils, REGISTRY)
    for child in modules_by_name(module).values():
        if isinstance(child, PreTrainedModel) and str(type(child)) not in registry:
            dict.__setitem__(registry, str(type(child)), getattr(child, RECORDED, None))


def supports_sdpa(module: Any) -> bool:
    """Whether a class was declared to run with sdpa attention; others get masks that mean something else to it."""
    return bool(getattr(module, SUPPORTS_SDPA))


def chose_attention(module: Any) -> bool:
    """Whether a class takes its attention modules from a table when it is built, so that no setting changes them."""
    return any(name.endswith(ATTENTION_CLASSES) for name in vars(sys.modules[type(module).__module__]))


def commit(config: Any) -> str | None:
    """The commit that a config came from, None where it came from no hub.

    Releases that no longer note it (5.6 and later) loaded what the hub's cache holds under the config's name.
    """
    noted: str | None = getattr(config, "_commit_hash", None)
    name = getattr(config, "name_or_path", "")
    if noted or not re.fullmatch(r"[\w.-]+/[\w.-]+|[\w.-]+", name) or Path(name).is_dir():
        return noted
    cached = try_to_load_from_cache(name, "config.json")
    return Path(cached).parent.name if isinstance(cached, str) else None


def attention_of(config: Any) -> str | None:
    """The attention implementation that a config is set to."""
    return getattr(config, "_attn_implementation", None)
