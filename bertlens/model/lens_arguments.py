"""What people hand to Lens in place of a loaded model and its tokenizer: refused in a sentence that names the step."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from torch import Tensor, nn

from ..errors import ModelError

NEEDED = "Lens(model, tokenizer) needs a loaded model, not"
NEEDED_TOKENIZER = "Lens(model, tokenizer) needs a transformers tokenizer, not"


def check_module(model: Any) -> None:
    """Raises ModelError for anything else than a module with weights: a name, a class, what holds a model."""
    if isinstance(model, str | Path):
        raise ModelError(f"Lens is given a loaded model; of a name or folder: Lens.from_pretrained({str(model)!r})")
    if isinstance(model, type):
        name = model.__name__
        raise ModelError(f"{NEEDED} the class {name}: {name}.from_pretrained(…) loads one")
    if isinstance(model, nn.Module):
        return
    kind, attributes = type(model).__name__, getattr(model, "__dict__", {})
    name = next((n for n, x in attributes.items() if isinstance(x, nn.Module) and n[0] != "_"), "")
    if name:  # a pipeline, a Trainer
        names = ("tokenizer", "processing_class")
        tokenizer = next((f", given.{n}" for n in names if is_tokenizer(getattr(model, n, None))), "")
        raise ModelError(f"{NEEDED} a {kind} (given): its model is given.{name}, Lens(given.{name}{tokenizer})")
    if isinstance(model, Mapping) and any(isinstance(value, Tensor) for value in model.values()):
        raise ModelError(f"{NEEDED} weights alone: put them into a model by its load_state_dict")
    raise ModelError(f"{NEEDED} {kind}")


def check_tokenizer(tokenizer: Any) -> None:
    """Raises ModelError for anything else than a tokenizer of transformers."""
    if is_tokenizer(tokenizer):
        return
    kind = type(tokenizer).__name__
    if isinstance(tokenizer, type):
        name = tokenizer.__name__
        raise ModelError(f"{NEEDED_TOKENIZER} the class {name}: {name}.from_pretrained(…) loads one")
    if tokenizer is None or isinstance(tokenizer, str | Path):
        name = "…" if tokenizer is None else repr(str(tokenizer))
        raise ModelError(f"{NEEDED_TOKENIZER} {kind}: AutoTokenizer.from_pretrained({name}) loads one")
    if type(tokenizer).__module__.partition(".")[0] == "tokenizers":
        raise ModelError(
            f"{NEEDED_TOKENIZER} {kind} of tokenizers: PreTrainedTokenizerFast(tokenizer_object=…) makes one of it; "
            "name its special tokens, too (cls_token=, sep_token=, pad_token=, unk_token=)"
        )
    if is_tokenizer(getattr(tokenizer, "tokenizer", None)):  # a processor of texts and images
        raise ModelError(f"{NEEDED_TOKENIZER} {kind} (given): its tokenizer is given.tokenizer")
    raise ModelError(f"{NEEDED_TOKENIZER} {kind}")


def is_tokenizer(value: Any) -> bool:
    return callable(value) and hasattr(value, "convert_ids_to_tokens") and not isinstance(value, type)
