"""Changes that move a model's numbers, by name: its weights, modules, hooks, forwards, settings, tokenizer.

A change takes the Lens of its kind and changes the model in place; it gives a Lens where the change is another object,
and a handle where it is of the process, to be taken off at the end.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import torch
import transformers as tf
from peft import LoraConfig, get_peft_model
from tokenizers import AddedToken, models, normalizers, pre_tokenizers, processors
from torch import Tensor, nn
from torch.nn.modules import module as hooks_of_all
from torch.nn.utils import parametrize
from transformers import AttentionInterface
from transformers.masking_utils import AttentionMaskInterface, eager_mask

import bertlens as bl
from unit import tiny
from unit.tasks.classifier import lens_of
from unit.tiny_encoders import crossed, dense, encoder

Made = bl.Lens | AbstractContextManager[Any] | None
RARE = tiny.VOCABULARY.index("z")
FEW, MANY = 1.5, 2.5


class Change(NamedTuple):
    """Of which kind of model, and how it is made."""

    kind: str
    make: Callable[[bl.Lens], Made]


def layer(lens: bl.Lens, number: int = 1) -> Any:
    return lens.model.bert.encoder.layer[number]


def set_(part: Any, name: str, value: Any) -> None:
    setattr(part, name, value)


# --- Weights ---

HEADS = [*range(8), *range(16, 24), *range(8, 16), *range(24, 32)]
TURNED = torch.tensor([-1.0 if column in (3, 5) else 1.0 for column in range(32)])


def one_value(w: Tensor) -> Tensor:
    w[3, 5] += 2
    return w


# By name: where the tensor is, and what it becomes.
EDITS: dict[str, tuple[Callable[[bl.Lens], Any], Callable[[Tensor], Tensor]]] = {
    "two heads exchanged": (lambda lens: layer(lens).attention.output.dense, lambda w: w[:, HEADS]),
    "two columns negated": (lambda lens: layer(lens).attention.output.dense, lambda w: w * TURNED),
    "rows rolled": (lambda lens: layer(lens, 0).intermediate.dense, lambda w: w.roll(1, 0)),
    "one value": (lambda lens: layer(lens, 2).output.dense, one_value),
    "LayerNorm": (lambda lens: layer(lens).output.LayerNorm, lambda w: w.roll(3)),
    "LayerNorm of words": (lambda lens: lens.model.bert.embeddings.LayerNorm, lambda w: w.flip(0)),
    "word embeddings": (lambda lens: lens.model.bert.embeddings.word_embeddings, lambda w: w[:, HEADS]),
    "positions": (lambda lens: lens.model.bert.embeddings.position_embeddings, lambda w: w.flip(1)),
}


def loaded(part: nn.Module, weight: Tensor, **options: bool) -> None:
    part.load_state_dict(part.state_dict() | {"weight": weight}, **options)


def copied(part: Any, weight: Tensor) -> None:
    with torch.no_grad():
        part.weight.copy_(weight)


WAYS: dict[str, Callable[[Any, Tensor], Any]] = {
    "copied": copied,
    "data copied": lambda part, weight: part.weight.data.copy_(weight),
    "data set": lambda part, weight: set_(part.weight, "data", weight),
    "numpy": lambda part, weight: np.copyto(part.weight.detach().numpy(), weight.numpy()),
    "loaded": loaded,
    "loaded in place of": lambda part, weight: loaded(part, weight, assign=True),
    "a parameter": lambda part, weight: set_(part, "weight", nn.Parameter(weight)),
    "swapped": lambda part, weight: torch.utils.swap_tensors(part.weight, nn.Parameter(weight)),
}


def written(edit: str, way: str, lens: bl.Lens) -> None:
    at, edited = EDITS[edit]
    part = at(lens)
    WAYS[way](part, edited(part.weight.detach().clone()).contiguous())


def weights() -> dict[str, Change]:
    """Three edits by each way, each edit by three ways."""
    edits = [*EDITS]
    pairs = [(edits[(3 * at + n) % len(edits)], way) for at, way in enumerate(WAYS) for n in range(3)]
    return {f"{edit}, {way}": Change("classifier", partial(written, edit, way)) for edit, way in pairs}


# --- Modules ---


class Doubled(nn.Module):
    """An intermediate of another class."""

    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, x: Tensor) -> Tensor:
        return 2 * self.inner(x)


def order(*places: int) -> Callable[[bl.Lens], None]:
    def change(lens: bl.Lens) -> None:
        layers = lens.model.bert.encoder.layer
        before = [*layers]
        del layers[len(places) :]
        for at, number in enumerate(places):
            layers[at] = before[number]

    return change


def wrap(lens: bl.Lens) -> None:
    layer(lens).intermediate = Doubled(layer(lens).intermediate)


MODULES: dict[str, Callable[[bl.Lens], Any]] = {
    "layers exchanged": order(0, 2, 1),
    "a layer dropped": order(0, 1),
    "a layer shared": order(0, 0, 2),
    "the first layer dropped": order(1, 2),
    "a module of another class": wrap,
    "an activation": lambda lens: set_(layer(lens).intermediate, "intermediate_act_fn", nn.ReLU()),
    "a function of an activation": lambda lens: set_(layer(lens).intermediate.intermediate_act_fn, "act", torch.sin),
    "eps": lambda lens: set_(layer(lens).output.LayerNorm, "eps", 0.3),
    "the scaling": lambda lens: set_(layer(lens).attention.self, "scaling", 0.9),
    "a LayerNorm dropped": lambda lens: set_(layer(lens).output, "LayerNorm", nn.Identity()),
    "its head replaced": lambda lens: set_(lens.model, "classifier", dense(nn.Identity(), 32, 2).linear),
    "position numbers": lambda lens: lens.model.bert.embeddings.position_ids.copy_(torch.arange(64).flip(0)[None]),
}

# --- Hooks ---


def times(answer: Any, factor: Any) -> Any:
    """A module's answer, a tensor or a tuple whose first is one, multiplied."""
    return (answer[0] * factor, *answer[1:]) if isinstance(answer, tuple) else answer * factor


def late_positions(module: nn.Module, given: Any, answer: Any) -> Any:
    x = answer[0] if isinstance(answer, tuple) else answer
    return times(answer, torch.where(torch.arange(x.shape[1]) < 30, 1.0, 1.7)[None, :, None])


def one_word(module: nn.Module, given: Any, keywords: dict[str, Any], answer: Any) -> Any:
    ids = keywords.get("input_ids", given[0] if given else None)
    return answer * torch.where(ids == RARE, 3.0, 1.0)[..., None]


def pairs_alone(module: nn.Module, given: Any, keywords: dict[str, Any], answer: Any) -> Any:
    segments = keywords["token_type_ids"]
    return answer * (1 + segments.amax(-1, keepdim=True)[..., None])


def in_place(module: nn.Module, given: Any, answer: Any) -> None:
    (answer[0] if isinstance(answer, tuple) else answer).mul_(1.5)


def turned(module: nn.Module, given: Any, answer: Any) -> Any:
    return times(answer, torch.linspace(0.2, 2.0, 32))


def turned_before(module: nn.Module, given: Any) -> Any:
    return (given[0] * torch.linspace(0.2, 2.0, given[0].shape[-1]), *given[1:])


def turned_keywords(module: nn.Module, given: Any, keywords: dict[str, Any]) -> Any:
    states = keywords.get("hidden_states")
    return (
        (turned_before(module, given), keywords)
        if states is None
        else (given, keywords | {"hidden_states": 2 * states})
    )


def on_every_norm(module: nn.Module, given: Any, answer: Any) -> Any:
    return 1.3 * answer if isinstance(module, nn.LayerNorm) else None


def before_every_norm(module: nn.Module, given: Any) -> Any:
    return (given[0] * torch.linspace(0.5, 2, given[0].shape[-1]),) if isinstance(module, nn.LayerNorm) else None


HOOKS: dict[str, Callable[[bl.Lens], Any]] = {
    "a hook on a layer": lambda lens: layer(lens).register_forward_hook(turned),
    "a hook on the last layer": lambda lens: layer(lens, 2).register_forward_hook(turned),
    "a hook on attention": lambda lens: layer(lens).attention.register_forward_hook(turned),
    "a hook on attention itself": lambda lens: layer(lens).attention.self.register_forward_hook(turned),
    "a hook on queries": lambda lens: layer(lens).attention.self.query.register_forward_hook(turned),
    "a hook on embeddings": lambda lens: lens.model.bert.embeddings.register_forward_hook(turned),
    "a hook on words": lambda lens: lens.model.bert.embeddings.word_embeddings.register_forward_hook(turned),
    "a hook on the head": lambda lens: lens.model.classifier.register_forward_hook(lambda m, a, o: 2 * o),
    "a hook on the pooler": lambda lens: lens.model.bert.pooler.register_forward_hook(turned),
    "a hook before a layer": lambda lens: layer(lens).register_forward_pre_hook(turned_before),
    "a hook before a projection": lambda lens: layer(lens).output.dense.register_forward_pre_hook(turned_before),
    "a hook before, with keywords": lambda lens: layer(lens).register_forward_pre_hook(
        turned_keywords, with_kwargs=True
    ),
    "a hook from a position on": lambda lens: layer(lens).register_forward_hook(late_positions),
    "a hook on one word": lambda lens: lens.model.bert.embeddings.register_forward_hook(one_word, with_kwargs=True),
    "a hook on pairs": lambda lens: lens.model.bert.embeddings.register_forward_hook(pairs_alone, with_kwargs=True),
    "a hook in place": lambda lens: layer(lens).register_forward_hook(in_place),
}
PROCESS: dict[str, Callable[[bl.Lens], Any]] = {
    "a hook on all modules": lambda lens: hooks_of_all.register_module_forward_hook(on_every_norm),
    "a hook before all modules": lambda lens: hooks_of_all.register_module_forward_pre_hook(before_every_norm),
}

# --- The same code with another factor ---


class Factor:
    """A factor, and what can be done with it."""

    def __init__(self, factor: float) -> None:
        self.factor = factor

    def hook(self, module: nn.Module, given: Any, answer: Any) -> Any:
        return times(answer, self.factor)

    __call__ = hook


class Wrapper:
    """A forward around another."""

    def __init__(self, inner: Callable[..., Any], factor: float) -> None:
        self.inner, self.factor = inner, factor

    def __call__(self, *given: Any, **keywords: Any) -> Any:
        return times(self.inner(*given, **keywords), self.factor)

    def forward(self, *given: Any, **keywords: Any) -> Any:
        return self(*given, **keywords)


class Times(nn.Module):
    """A parametrization."""

    def __init__(self, factor: float) -> None:
        super().__init__()
        self.factor = factor

    def forward(self, x: Tensor) -> Tensor:
        return x * self.factor


class Scaled(nn.Module):
    """An intermediate whose answer is multiplied by what it holds."""

    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, x: Tensor) -> Tensor:
        return self.inner(x) * self.held()

    def held(self) -> Any:
        place: Any = getattr(self, self.place)
        return place["factor"] if isinstance(place, dict) else place[0] if isinstance(place, list) else place


def hooked(lens: bl.Lens, hook: Callable[..., Any]) -> None:
    """In place of another."""
    part = layer(lens, 2)
    part._forward_hooks.clear()
    part.register_forward_hook(hook)


def hook_by_closure(lens: bl.Lens, factor: float) -> None:
    hooked(lens, lambda module, given, answer: times(answer, factor))


def hook_by_default(lens: bl.Lens, factor: float) -> None:
    hooked(lens, lambda module, given, answer, by=factor: times(answer, by))


def hook_by_tensor(lens: bl.Lens, factor: float) -> None:
    by = torch.tensor(factor)
    hooked(lens, lambda module, given, answer: times(answer, by))


def forwarded(factor: float, inner: Callable[..., Any], *given: Any, **keywords: Any) -> Any:
    return times(inner(*given, **keywords), factor)


def plain_forward(lens: bl.Lens) -> tuple[Any, Callable[..., Any]]:
    """A module, and the forward of its class, bound to it."""
    part = layer(lens).intermediate
    return part, type(part).forward.__get__(part)


def forward_by_closure(lens: bl.Lens, factor: float) -> None:
    part, inner = plain_forward(lens)
    part.forward = lambda *given, **keywords: times(inner(*given, **keywords), factor)


def forward_by_partial(lens: bl.Lens, factor: float) -> None:
    part, inner = plain_forward(lens)
    part.forward = partial(forwarded, factor, inner)


def forward_by_method(lens: bl.Lens, factor: float) -> None:
    part, inner = plain_forward(lens)
    part.forward = Wrapper(inner, factor).forward


def forward_by_object(lens: bl.Lens, factor: float) -> None:
    part, inner = plain_forward(lens)
    part.forward = Wrapper(inner, factor)


def forward_of_a_layer(lens: bl.Lens, factor: float) -> None:
    part = layer(lens, 2)
    part.forward = partial(forwarded, factor, type(part).forward.__get__(part))


def attention_function(lens: bl.Lens, factor: float) -> None:
    """Softmax at another temperature."""

    def warm(module: Any, query: Tensor, key: Tensor, value: Tensor, mask: Any, scaling: Any = None, **_: Any) -> Any:
        scores = query @ key.transpose(2, 3) * (scaling or query.shape[-1] ** -0.5) * factor
        if mask is not None:
            scores = scores + mask[..., : key.shape[-2]]
        weights = scores.softmax(-1)
        return (weights @ value).transpose(1, 2).contiguous(), weights

    AttentionInterface.register("warm", warm)
    AttentionMaskInterface.register("warm", eager_mask)
    lens.model.set_attn_implementation("warm")


def parametrization(lens: bl.Lens, factor: float) -> None:
    part = layer(lens).output.dense
    if parametrize.is_parametrized(part):
        parametrize.remove_parametrizations(part, "weight", leave_parametrized=False)
    parametrize.register_parametrization(part, "weight", Times(factor))


def activation(lens: bl.Lens, factor: float) -> None:
    part = layer(lens).intermediate
    del part.intermediate_act_fn  # a module can be followed by nothing else
    part.intermediate_act_fn = lambda x: x.relu() * factor


def scaled(place: str, held: Callable[[float], Any], lens: bl.Lens, factor: float) -> None:
    """What is held, in place of what was."""
    part = layer(lens).intermediate
    if not isinstance(part, Scaled):
        part = layer(lens).intermediate = Scaled(part)
        part.place = place
    if isinstance(getattr(part, place, None), nn.Parameter | Tensor):
        getattr(part, place).data.fill_(factor)
    elif place.endswith("buffer"):
        part.register_buffer(place, torch.tensor(factor), persistent=place == "persistent_buffer")
    else:
        setattr(part, place, held(factor))


FACTORS: dict[str, Callable[[bl.Lens, float], None]] = {
    "a hook's closure": hook_by_closure,
    "a hook's default": hook_by_default,
    "a hook's tensor": hook_by_tensor,
    "a hook's partial": lambda lens, factor: hooked(
        lens, partial(lambda by, module, given, out: times(out, by), factor)
    ),
    "a hook's object": lambda lens, factor: hooked(lens, Factor(factor)),
    "a hook's method": lambda lens, factor: hooked(lens, Factor(factor).hook),
    "a forward's closure": forward_by_closure,
    "a forward's partial": forward_by_partial,
    "a forward's method": forward_by_method,
    "a forward's object": forward_by_object,
    "a layer's forward": forward_of_a_layer,
    "an attention function": attention_function,
    "a parametrization": parametrization,
    "an activation's closure": activation,
    "a persistent buffer": partial(scaled, "persistent_buffer", torch.tensor),
    "a passing buffer": partial(scaled, "passing_buffer", torch.tensor),
    "an attribute that is a tensor": partial(scaled, "tensor", torch.tensor),
    "an attribute that is a number of numpy": partial(scaled, "number", np.float32),
    "an attribute that is an array": partial(scaled, "array", lambda factor: torch.from_numpy(np.array(factor))),
    "an attribute that is private": partial(scaled, "_factor", float),
    "an attribute that is a number": partial(scaled, "plain", float),
    "an attribute that is a list": partial(scaled, "listing", lambda factor: [factor]),
    "an attribute that is a dictionary": partial(scaled, "table", lambda factor: {"factor": factor}),
}


def with_factor(name: str) -> bl.Lens:
    lens = lens_of()
    FACTORS[name](lens, FEW)
    return lens


def factors() -> dict[str, Change]:
    """Of each the one put on, and the same with another factor."""
    on = {f"{name}, put on": Change("classifier", partial(put, factor=FEW)) for name, put in FACTORS.items()}
    return on | {f"{name}, another factor": Change(name, partial(put, factor=MANY)) for name, put in FACTORS.items()}


# --- Adapters, packed weights ---


def adapted() -> bl.Lens:
    """A classifier with two adapters, of which the first is on."""
    settings = LoraConfig(target_modules=["query", "value"], r=2, init_lora_weights=False, task_type="SEQ_CLS")
    lens = lens_of()
    torch.manual_seed(0)
    model = get_peft_model(lens.model, settings, adapter_name="a")
    model.add_adapter("b", settings)
    model.set_adapter("a")
    return bl.Lens(model.eval(), lens.tokenizer)


def packed(seed: int = 0) -> bl.Lens:
    """Of any seed the same embeddings and LayerNorms; projections as int8, outside the parameters."""
    lens, other = lens_of(), lens_of(seed)
    for name, part in lens.model.named_modules():
        if isinstance(part, nn.Linear):
            part.load_state_dict(other.model.get_submodule(name).state_dict())
    model = torch.ao.quantization.quantize_dynamic(lens.model, {nn.Linear}, dtype=torch.qint8)
    return bl.Lens(model, lens.tokenizer)


def packed_weights(lens: bl.Lens) -> None:
    part = layer(lens).output.dense
    weight, bias = part._weight_bias()
    part.set_weight_bias(torch.quantize_per_tensor(weight.dequantize().flip(0), 0.01, 0, torch.qint8), bias)


def packed_bias(lens: bl.Lens) -> None:
    part = layer(lens).output.dense
    weight, bias = part._weight_bias()
    part.set_weight_bias(weight, bias.flip(0).clone())


def query(lens: bl.Lens) -> Any:
    return lens.model.base_model.model.bert.encoder.layer[1].attention.self.query


def one_adapter_more(lens: bl.Lens) -> None:
    lens.model.add_adapter("c", LoraConfig(target_modules=["query"], r=2, init_lora_weights=False, task_type="SEQ_CLS"))
    lens.model.set_adapter("c")


def adapter_weights(lens: bl.Lens) -> None:
    query(lens).lora_A["a"].weight.data.mul_(3)


ADAPTERS: dict[str, Callable[[bl.Lens], Any]] = {
    "another adapter": lambda lens: lens.model.set_adapter("b"),
    "adapters off": lambda lens: lens.model.base_model.disable_adapter_layers(),
    "an adapter's scale": lambda lens: query(lens).scaling.update(a=9.0),
    "an adapter's weights": adapter_weights,
    "one adapter more": one_adapter_more,
}
PACKED: dict[str, Callable[[bl.Lens], Any]] = {
    "packed weights": packed_weights,
    "a packed bias": packed_bias,
    "packed weights of another model": lambda lens: packed(1),
}

# --- Config, tokenizer ---


def modern() -> bl.Lens:
    special = {"pad_token_id": 0, "bos_token_id": 2, "eos_token_id": 3, "cls_token_id": 2, "sep_token_id": 3}
    sizes = tiny.BERT | special | {"local_attention": 6, "global_attn_every_n_layers": 3, "num_labels": 2}
    torch.manual_seed(0)
    return bl.Lens(tiny.shaken(tf.ModernBertForSequenceClassification(tf.ModernBertConfig(**sizes))), tiny.wordpiece())


def byte_pairs() -> bl.Lens:
    config = tf.RobertaConfig(**tiny.ROBERTA, num_labels=2)
    return bl.Lens(tiny.shaken(tf.RobertaForSequenceClassification(config)), tiny.byte_level(template=True))


def backend(lens: bl.Lens) -> Any:
    return lens.tokenizer.backend_tokenizer


def vocabulary(lens: bl.Lens) -> None:
    """Two words change places."""
    numbers = {token: at for at, token in enumerate(tiny.VOCABULARY)}
    numbers["cat"], numbers["warm"] = numbers["warm"], numbers["cat"]
    backend(lens).model = models.WordPiece(numbers, unk_token="[UNK]")


def merges(lens: bl.Lens) -> None:
    """The last merges are left out; each token keeps its number."""
    model = json.loads(backend(lens).to_str())["model"]
    pairs = [tuple(pair) for pair in model["merges"]]
    backend(lens).model = models.BPE(model["vocab"], pairs[: len(pairs) // 3])


def template(lens: bl.Lens) -> None:
    special = [("[CLS]", 2), ("[SEP]", 3)]
    single, pair = "[CLS] $A [SEP] [SEP]", "[CLS] $A [SEP] [SEP] $B:1 [SEP]:1"
    backend(lens).post_processor = processors.TemplateProcessing(single=single, pair=pair, special_tokens=special)


TOKENIZERS: dict[str, Callable[[bl.Lens], Any]] = {
    "truncation side": lambda lens: set_(lens.tokenizer, "truncation_side", "left"),
    "names of inputs": lambda lens: set_(lens.tokenizer, "model_input_names", ["input_ids", "attention_mask"]),
    "the longest text": lambda lens: set_(lens.tokenizer, "model_max_length", 12),
    "a normalizer": lambda lens: set_(backend(lens), "normalizer", normalizers.BertNormalizer(lowercase=False)),
    "accents": lambda lens: set_(
        backend(lens), "normalizer", normalizers.BertNormalizer(lowercase=True, strip_accents=False)
    ),
    "a pre-tokenizer": lambda lens: set_(backend(lens), "pre_tokenizer", pre_tokenizers.WhitespaceSplit()),
    "a template": template,
    "a token of its own": lambda lens: backend(lens).add_special_tokens([AddedToken("un", special=True)]),
    "words in one piece": lambda lens: set_(backend(lens).model, "max_input_chars_per_word", 4),
    "two words exchanged": vocabulary,
    "another unknown": lambda lens: set_(backend(lens).model, "unk_token", "[MASK]"),
    "another prefix": lambda lens: set_(backend(lens).model, "continuing_subword_prefix", ""),
}

# --- sentence-transformers ---


def pooled() -> bl.Lens:
    return bl.Lens(encoder())


def narrowed() -> bl.Lens:
    return bl.Lens(encoder(dense(nn.Tanh()).requires_grad_(False)))


def scored() -> bl.Lens:
    return bl.Lens(crossed())


def normalized(lens: bl.Lens) -> None:
    from sentence_transformers.sentence_transformer.modules import Normalize

    lens.model.append(Normalize())
    lens.model.similarity_fn_name = "dot"


SENTENCES: dict[str, Callable[[bl.Lens], Any]] = {
    "the longest sentence": lambda lens: set_(lens.model, "max_seq_length", 10),
    "prompts": lambda lens: lens.model.prompts.update(query="cats, ", document="very "),
    "the default prompt": lambda lens: set_(lens.model, "default_prompt_name", "odd"),
    "similarity function": lambda lens: set_(lens.model, "similarity_fn_name", "euclidean"),
    "numbers of a vector": lambda lens: set_(lens.model, "truncate_dim", 8),
    "pooling": lambda lens: set_(lens.model[1], "pooling_mode", "cls"),
    "prompts outside the pooling": lambda lens: set_(lens.model[1], "include_prompt", False),
    "vectors of length one": normalized,
    "an encoder's hook": lambda lens: lens.model[0].register_forward_hook(features_turned),
    "an encoder's layer": lambda lens: lens.model[0].model.encoder.layer[1].register_forward_hook(turned),
}
NARROW: dict[str, Callable[[bl.Lens], Any]] = {
    "a dense layer": lambda lens: lens.model[2].linear.weight.data.mul_(2),
    "its activation": lambda lens: set_(lens.model[2], "activation_function", nn.ReLU()),
}
SCORES: dict[str, Callable[[bl.Lens], Any]] = {
    "a scorer's activation": lambda lens: set_(lens.model, "activation_fn", nn.Tanh()),
    "a scorer's longest text": lambda lens: set_(lens.model, "max_length", 10),
}


def features_turned(module: nn.Module, given: Any, features: Any) -> Any:
    """Of the encoder's answer, which is a dictionary."""
    return features | {"token_embeddings": features["token_embeddings"] * torch.linspace(0.2, 2.0, 32)}


CONFIGS: dict[str, Callable[[bl.Lens], Any]] = {
    "the head's pooling": lambda lens: set_(lens.model.config, "classifier_pooling", "mean"),
    "a window": lambda lens: set_(lens.model.config, "sliding_window", 1),
}

KINDS: dict[str, Callable[[], bl.Lens]] = {
    "classifier": lens_of,
    "adapters": adapted,
    "int8": packed,
    "modern": modern,
    "byte pairs": byte_pairs,
    "pooled": pooled,
    "narrowed": narrowed,
    "scored": scored,
    **{name: partial(with_factor, name) for name in FACTORS},
}


def of(kind: str, changes: dict[str, Callable[[bl.Lens], Any]]) -> dict[str, Change]:
    return {name: Change(kind, make) for name, make in changes.items()}


CHANGES: dict[str, Change] = {
    **weights(),
    **of("classifier", MODULES | HOOKS | PROCESS | TOKENIZERS),
    **factors(),
    **of("adapters", ADAPTERS),
    **of("int8", PACKED),
    **of("modern", CONFIGS),
    "merges": Change("byte pairs", merges),
    **of("pooled", SENTENCES),
    **of("narrowed", NARROW),
    **of("scored", SCORES),
}
