"""What changes no number of a model, by name: another place, way of calling, copy; hooks that only look on."""

from __future__ import annotations

import copy
import pickle
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import torch
import transformers as tf
from accelerate.hooks import ModelHook, add_hook_to_module
from torch import nn
from torch.nn.modules import module as hooks_of_all

import bertlens as bl
from unit.model.model_changes import FACTORS, Change, layer, of, set_
from unit.tiny_encoders import st

TEXT = "the cat sat on the mat"
COUNTS: Counter[str] = Counter()


def with_model(lens: bl.Lens, model: Any) -> bl.Lens:
    return bl.Lens(model, lens.tokenizer)


@contextmanager
def threads() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(before + 1)
    yield
    torch.set_num_threads(before)


def stored(load: Callable[[str], Any], lens: bl.Lens) -> Any:
    """The model as it comes from a folder that was moved."""
    first, second = (Path(tempfile.mkdtemp()) / name for name in ("model", "elsewhere"))
    lens.model.save_pretrained(str(first))
    shutil.move(first, second)
    return load(str(second))


def classifier_of(folder: str) -> Any:
    return tf.BertForSequenceClassification.from_pretrained(folder).eval()


def tokenizer_of(lens: bl.Lens) -> bl.Lens:
    folder = tempfile.mkdtemp()
    lens.tokenizer.save_pretrained(folder)
    return bl.Lens(lens.model, type(lens.tokenizer).from_pretrained(folder))


def inputs(lens: bl.Lens) -> Any:
    return lens.tokenizer(TEXT, return_tensors="pt")


def each_value(lens: bl.Lens, write: Callable[[Any], Any]) -> None:
    for parameter in lens.model.parameters():
        write(parameter)


def other_strides(lens: bl.Lens) -> None:
    part = layer(lens).output.dense
    part.weight.data = part.weight.data.t().contiguous().t()


PLACES: dict[str, Callable[[bl.Lens], Any]] = {
    "nothing": lambda lens: None,
    "the device once more": lambda lens: lens.model.to("cpu"),
    "threads": lambda lens: threads(),
    "eager attention": lambda lens: lens.model.set_attn_implementation("eager"),
    "sdpa attention": lambda lens: lens.model.set_attn_implementation("sdpa"),
    "its name": lambda lens: set_(lens.model, "name_or_path", "elsewhere"),
    "its name in the config": lambda lens: set_(lens.model.config, "_name_or_path", "/elsewhere/model"),
    "train mode": lambda lens: lens.model.train(),
    "train mode of a layer": lambda lens: layer(lens).train(),
    "frozen parameters": lambda lens: lens.model.requires_grad_(False),
    "free parameters": lambda lens: lens.model.requires_grad_(True),
    "no gradients": lambda lens: torch.no_grad(),
    "inference mode": lambda lens: torch.inference_mode(),
    "a seed": lambda lens: torch.manual_seed(5),
    "gradient checkpointing": lambda lens: lens.model.gradient_checkpointing_enable(),
}
COPIES: dict[str, Callable[[bl.Lens], Any]] = {
    "a copy of the model": lambda lens: with_model(lens, copy.copy(lens.model)),
    "a copy of the Lens": copy.copy,
    "a deep copy of the model": lambda lens: with_model(lens, copy.deepcopy(lens.model)),
    "a deep copy of the Lens": copy.deepcopy,
    "a pickle of the model": lambda lens: with_model(lens, pickle.loads(pickle.dumps(lens.model))),
    "a pickle of the Lens": lambda lens: pickle.loads(pickle.dumps(lens)),
    "stored and loaded": lambda lens: with_model(lens, stored(classifier_of, lens)),
    "a tokenizer stored and loaded": tokenizer_of,
    "the same values loaded": lambda lens: lens.model.load_state_dict(copy.deepcopy(lens.model.state_dict())),
    "the same values in place of": lambda lens: lens.model.load_state_dict(
        copy.deepcopy(lens.model.state_dict()), assign=True
    ),
    "the same values copied": lambda lens: each_value(lens, lambda p: p.data.copy_(p.data.clone())),
    "other numbers there and back": lambda lens: lens.model.double().float(),
    "other strides": other_strides,
}
USES: dict[str, Callable[[bl.Lens], Any]] = {
    "a pass": lambda lens: lens.model(**inputs(lens)),
    "a gradient": lambda lens: lens.model(**inputs(lens)).logits.sum().backward(),
    "a trace": lambda lens: lens.trace(TEXT),
    "padding": lambda lens: lens.tokenizer([TEXT, "cats"], padding="max_length", max_length=30),
    "truncation": lambda lens: lens.tokenizer(TEXT, truncation=True, max_length=4),
    "padding of the backend": lambda lens: lens.tokenizer.backend_tokenizer.enable_padding(length=9),
    "truncation of the backend": lambda lens: lens.tokenizer.backend_tokenizer.enable_truncation(9),
    "padding side": lambda lens: set_(lens.tokenizer, "padding_side", "left"),
}

# --- What only looks on ---


def count(module: nn.Module, given: Any, answer: Any) -> None:
    COUNTS["passes"] += 1


def count_with_keywords(module: nn.Module, given: Any, keywords: dict[str, Any], answer: Any) -> None:
    COUNTS[f"{len(keywords)} keywords"] += 1


def same_answer(module: nn.Module, given: Any, answer: Any) -> Any:
    return answer


def first_of(answer: Any) -> Any:
    return answer[0] if isinstance(answer, tuple) else answer


def print_norm(module: nn.Module, given: Any, answer: Any) -> None:
    print(f"{type(module).__name__}: {first_of(answer).norm():.3f}")


class Log:
    """What a module gave out."""

    def __init__(self) -> None:
        self.lengths: list[float] = []

    def __call__(self, module: nn.Module, given: Any, answer: Any) -> None:
        self.lengths.append(float(first_of(answer).detach().norm()))

    def hook(self, module: nn.Module, given: Any, answer: Any) -> None:
        self(module, given, answer)


def listed(lens: bl.Lens) -> None:
    states: list[Any] = []
    layer(lens).register_forward_hook(lambda module, given, answer: states.append(first_of(answer).detach()))


def counter(lens: bl.Lens) -> None:
    passes = 0

    def hook(module: nn.Module, given: Any, answer: Any) -> None:
        nonlocal passes
        passes += 1

    layer(lens).register_forward_hook(hook)


def put_back(lens: bl.Lens) -> None:
    """The hook that moves the numbers, before and after."""
    part = layer(lens, 2)
    [hook] = part._forward_hooks.values()
    part._forward_hooks.clear()
    part.register_forward_hook(hook)


def on_and_off(lens: bl.Lens) -> None:
    handle = layer(lens).register_forward_hook(lambda module, given, answer: 2 * answer)
    handle.remove()


HOOKS: dict[str, Callable[[bl.Lens], Any]] = {
    "a list of states": listed,
    "a counter": lambda lens: layer(lens).register_forward_hook(count),
    "a counter of every module": lambda lens: [m.register_forward_hook(count) for m in lens.model.modules()] and None,
    "a closure that counts": counter,
    "an object that logs": lambda lens: layer(lens).register_forward_hook(Log()),
    "a method that logs": lambda lens: layer(lens).register_forward_hook(Log().hook),
    "norms on the screen": lambda lens: layer(lens).register_forward_hook(print_norm),
    "a counter of keywords": lambda lens: lens.model.bert.register_forward_hook(count_with_keywords, with_kwargs=True),
    "the same answer": lambda lens: layer(lens).register_forward_hook(same_answer),
    "a counter before": lambda lens: layer(lens).register_forward_pre_hook(
        lambda module, given: COUNTS.update(["before"])
    ),
    "a counter of gradients": lambda lens: layer(lens).register_full_backward_hook(lambda module, before, after: None),
    "a counter of all modules": lambda lens: hooks_of_all.register_module_forward_hook(count),
    "a hook on and off": on_and_off,
    "a hook of accelerate": lambda lens: add_hook_to_module(layer(lens), ModelHook()) and None,
}
SENTENCES: dict[str, Callable[[bl.Lens], Any]] = {
    "vectors meanwhile": lambda lens: lens.model.encode([TEXT, "cats"]),
    "an encoder stored and loaded": lambda lens: bl.Lens(stored(partial(st.SentenceTransformer, device="cpu"), lens)),
    "a copy of an encoder": lambda lens: bl.Lens(copy.deepcopy(lens.model)),
}
SCORES: dict[str, Callable[[bl.Lens], Any]] = {
    "scores meanwhile": lambda lens: lens.model.predict([(TEXT, "cats")]),
    "a scorer stored and loaded": lambda lens: bl.Lens(stored(partial(st.CrossEncoder, device="cpu"), lens)),
}

SAME: dict[str, Change] = {
    **of("classifier", PLACES | COPIES | USES | HOOKS),
    "the same hook put back": Change("a hook's closure", put_back),
    "the same forward once more": Change("a forward's closure", partial(FACTORS["a forward's closure"], factor=1.5)),
    **of("pooled", SENTENCES),
    **of("scored", SCORES),
}
