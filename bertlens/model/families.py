"""Where each family of models keeps its parts: one table of small adapters.

An adapter only says where a part is (layers, attention block output, W_O, value projection, LayerNorms, MLP,
embeddings). Queries, keys and values need none of it (run/forward.py), so a family without an adapter still has them.
`register_family` adds one for a family of the user's own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from ..errors import InputError, ModelError
from .plain_modules import HeadThird
from .stream_parts import STREAMS, StreamParts

if TYPE_CHECKING:
    from transformers import PreTrainedModel

Get = Callable[[nn.Module], nn.Module]
PAGE = "docs/models.md"  # which checkpoints transformers reads without the code that they come with


@dataclass(frozen=True)
class Adapter:
    """Where one family keeps its parts. `layers` and `embeddings` take the base model, the rest one layer.

    `attention_tap` is the place where the attention block's output is seen: the module's "output" (post-LN families:
    after W_O, residual and LayerNorm) or its "input" (pre-LN families add the residual outside any module, so the sum
    is seen where the next LayerNorm takes it in).
    """

    family: str  # its name in messages
    post_ln: bool  # each LayerNorm stands behind its residual
    layers: Callable[[nn.Module], Sequence[nn.Module]]  # in the order they run: a shared layer appears once per run
    embeddings: Get
    attention_tap: Callable[[nn.Module], tuple[nn.Module, str]]
    output_projection: Get  # W_O
    query_projection: Get  # W_Q
    key_projection: Get  # W_K
    value_projection: Get  # W_V
    value_part: int | None  # where q, k, v are fused, in this order: which third of the outputs the values are
    attention_norm: Get  # the LayerNorm that belongs to the attention block
    mlp_norm: Get  # the LayerNorm that belongs to the MLP
    mlp: Callable[[nn.Module], tuple[nn.Module, ...]]  # the MLP's projections, first the inner ones, the outer one last
    # the rest of the layer: (layer, attention block output, layer input) -> layer output, all (B, S, D)
    rest: Callable[[Any, torch.Tensor, torch.Tensor], torch.Tensor]
    # the module that makes the attention block's residual of the layer's input; None where it is that input
    residual: Callable[[Any], nn.Module | None] = lambda layer: None
    # what a split of the stream needs beside the layers; None where the stream cannot be split (MobileBERT)
    stream: StreamParts | None = None


def _children(path: str) -> Callable[[nn.Module], Sequence[nn.Module]]:
    get = attrgetter(path)
    return lambda base: list(get(base))


def _tap(path: str, side: str) -> Callable[[nn.Module], tuple[nn.Module, str]]:
    get = attrgetter(path)
    return lambda layer: (get(layer), side)


def _all(*paths: str) -> Callable[[nn.Module], tuple[nn.Module, ...]]:
    return lambda layer: tuple(attrgetter(path)(layer) for path in paths)


def _albert_layers(base: Any) -> Sequence[nn.Module]:
    # AlbertTransformer.forward runs num_hidden_layers times through num_hidden_groups groups of shared layers
    encoder, runs = base.encoder, base.config.num_hidden_layers
    groups = [encoder.albert_layer_groups[int(i / (runs / base.config.num_hidden_groups))] for i in range(runs)]
    return [layer for group in groups for layer in group.albert_layers]


def _mobilebert_rest(layer: Any, attended: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    for ffn in layer.ffn if layer.num_feedforward_networks > 1 else ():
        attended = ffn(attended)
    return layer.output(layer.intermediate(attended), attended, x)


def _rest_in_two(layer: Any, attended: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    return layer.output(layer.intermediate(attended), attended)


def _head_third(number: int, bias: str = "") -> Callable[[Any], Any]:
    """A getter of DeBERTa's queries, keys or values, whose bias stands apart under that name."""

    def third(layer: Any) -> HeadThird:
        module = layer.attention.self
        return HeadThird(module.in_proj, number, module.num_attention_heads, getattr(module, bias) if bias else None)

    return third


def _bert(family: str) -> Adapter:
    """The adapter of a family that keeps its parts where BERT does."""
    return Adapter(
        family=family,
        post_ln=True,
        layers=_children("encoder.layer"),
        embeddings=attrgetter("embeddings"),
        attention_tap=_tap("attention.output", "output"),
        output_projection=attrgetter("attention.output.dense"),
        query_projection=attrgetter("attention.self.query"),
        key_projection=attrgetter("attention.self.key"),
        value_projection=attrgetter("attention.self.value"),
        value_part=None,
        attention_norm=attrgetter("attention.output.LayerNorm"),
        mlp_norm=attrgetter("output.LayerNorm"),
        mlp=_all("intermediate.dense", "output.dense"),
        rest=lambda layer, attended, x: layer.feed_forward_chunk(attended),
    )


ADAPTERS: dict[str, Adapter] = {  # by the config's model_type; register_family adds to it
    "bert": _bert("BERT"),
    "roberta": _bert("RoBERTa"),
    "xlm-roberta": _bert("XLM-RoBERTa"),
    "camembert": _bert("CamemBERT"),
    "electra": _bert("ELECTRA"),
    "roformer": _bert("RoFormer"),
    "rembert": _bert("RemBERT"),
    "luke": _bert("LUKE"),  # of its two streams that of the words: a text brings no entities
    "lilt": _bert("LiLT"),  # of its two streams that of the text: the layout's acts on it through the scores alone
    "visual_bert": _bert("VisualBERT"),
    "splinter": _bert("Splinter"),
    "markuplm": _bert("MarkupLM"),
    "layoutlmv3": _bert("LayoutLMv3"),
    "mpnet": replace(
        _bert("MPNet"),
        attention_tap=_tap("attention.LayerNorm", "output"),
        output_projection=attrgetter("attention.attn.o"),
        query_projection=attrgetter("attention.attn.q"),
        key_projection=attrgetter("attention.attn.k"),
        value_projection=attrgetter("attention.attn.v"),
        attention_norm=attrgetter("attention.LayerNorm"),
        rest=_rest_in_two,
    ),
    "deberta": replace(
        _bert("DeBERTa"),
        query_projection=_head_third(0, "q_bias"),
        key_projection=_head_third(1),
        value_projection=_head_third(2, "v_bias"),
        rest=_rest_in_two,
    ),
    "deberta-v2": replace(
        _bert("DeBERTa-v2"),
        query_projection=attrgetter("attention.self.query_proj"),
        key_projection=attrgetter("attention.self.key_proj"),
        value_projection=attrgetter("attention.self.value_proj"),
        rest=_rest_in_two,
    ),
    "megatron-bert": replace(
        _bert("Megatron-BERT"),
        post_ln=False,
        attention_tap=_tap("ln", "input"),
        attention_norm=attrgetter("attention.ln"),
        mlp_norm=attrgetter("ln"),
    ),
    # MobileBERT's attention works inside a bottleneck: its output has the bottleneck's width, not the layer's
    "mobilebert": replace(
        _bert("MobileBERT"),
        rest=_mobilebert_rest,
        residual=lambda layer: layer.bottleneck.input if layer.use_bottleneck else None,
    ),
    "distilbert": Adapter(
        family="DistilBERT",
        post_ln=True,
        layers=_children("transformer.layer"),
        embeddings=attrgetter("embeddings"),
        attention_tap=_tap("sa_layer_norm", "output"),
        output_projection=attrgetter("attention.out_lin"),
        query_projection=attrgetter("attention.q_lin"),
        key_projection=attrgetter("attention.k_lin"),
        value_projection=attrgetter("attention.v_lin"),
        value_part=None,
        attention_norm=attrgetter("sa_layer_norm"),
        mlp_norm=attrgetter("output_layer_norm"),
        mlp=_all("ffn.lin1", "ffn.lin2"),
        rest=lambda layer, attended, x: layer.output_layer_norm(layer.ffn(attended) + attended),
    ),
    "albert": Adapter(
        family="ALBERT",
        post_ln=True,
        layers=_albert_layers,
        embeddings=attrgetter("embeddings"),
        attention_tap=_tap("attention.LayerNorm", "output"),
        output_projection=attrgetter("attention.dense"),
        query_projection=attrgetter("attention.query"),
        key_projection=attrgetter("attention.key"),
        value_projection=attrgetter("attention.value"),
        value_part=None,
        attention_norm=attrgetter("attention.LayerNorm"),
        mlp_norm=attrgetter("full_layer_layer_norm"),
        mlp=_all("ffn", "ffn_output"),
        rest=lambda layer, attended, x: layer.full_layer_layer_norm(layer.ff_chunk(attended) + attended),
    ),
    "nomic_bert": Adapter(
        family="NomicBERT",
        post_ln=True,
        layers=_children("layers"),
        embeddings=attrgetter("embeddings"),
        attention_tap=_tap("post_attention_layernorm", "output"),
        output_projection=attrgetter("self_attn.o_proj"),
        query_projection=attrgetter("self_attn.q_proj"),
        key_projection=attrgetter("self_attn.k_proj"),
        value_projection=attrgetter("self_attn.v_proj"),
        value_part=None,
        attention_norm=attrgetter("post_attention_layernorm"),
        mlp_norm=attrgetter("post_mlp_layernorm"),
        mlp=_all("mlp.gate_proj", "mlp.up_proj", "mlp.down_proj"),
        rest=lambda layer, attended, x: layer.post_mlp_layernorm(layer.mlp(attended) + attended),
    ),
    "esm": Adapter(
        family="ESM",
        post_ln=False,
        layers=_children("encoder.layer"),
        embeddings=attrgetter("embeddings"),
        attention_tap=_tap("LayerNorm", "input"),
        output_projection=attrgetter("attention.output.dense"),
        query_projection=attrgetter("attention.self.query"),
        key_projection=attrgetter("attention.self.key"),
        value_projection=attrgetter("attention.self.value"),
        value_part=None,
        attention_norm=attrgetter("attention.LayerNorm"),
        mlp_norm=attrgetter("LayerNorm"),
        mlp=_all("intermediate.dense", "output.dense"),
        rest=lambda layer, attended, x: layer.feed_forward_chunk(attended),
    ),
    "modernbert": Adapter(
        family="ModernBERT",
        post_ln=False,
        layers=_children("layers"),
        embeddings=attrgetter("embeddings"),
        attention_tap=_tap("mlp_norm", "input"),
        output_projection=attrgetter("attn.Wo"),
        query_projection=attrgetter("attn.Wqkv"),
        key_projection=attrgetter("attn.Wqkv"),
        value_projection=attrgetter("attn.Wqkv"),
        value_part=2,
        attention_norm=attrgetter("attn_norm"),  # an Identity in layer 0
        mlp_norm=attrgetter("mlp_norm"),
        mlp=_all("mlp.Wi", "mlp.Wo"),
        rest=lambda layer, attended, x: attended + layer.mlp(layer.mlp_norm(attended)),
    ),
    "gpt2": Adapter(
        family="GPT-2",
        post_ln=False,
        layers=_children("h"),
        embeddings=attrgetter("wte"),
        attention_tap=_tap("ln_2", "input"),
        output_projection=attrgetter("attn.c_proj"),
        query_projection=attrgetter("attn.c_attn"),
        key_projection=attrgetter("attn.c_attn"),
        value_projection=attrgetter("attn.c_attn"),
        value_part=2,
        attention_norm=attrgetter("ln_1"),
        mlp_norm=attrgetter("ln_2"),
        mlp=_all("mlp.c_fc", "mlp.c_proj"),
        rest=lambda layer, attended, x: attended + layer.mlp(layer.ln_2(attended)),
    ),
}

for _name, _stream in STREAMS.items():
    ADAPTERS[_name] = replace(ADAPTERS[_name], stream=_stream)


def register_family(model_type: str, adapter: Adapter) -> None:
    """Give a family of models its adapter, which norms, geometry and spectra need. model_type: as its config says.

    Adapters of one family replace each other. See docs/architecture.md for a worked example. Raises InputError for what
    is no adapter.
    """
    if not isinstance(model_type, str) or not model_type:
        raise InputError(f"model_type is what the model's config says, such as 'bert', not {model_type!r}")
    if not isinstance(adapter, Adapter):
        raise InputError(f"a family is registered with an Adapter, not with {type(adapter).__name__}")
    finders = {slot.name for slot in fields(adapter)} - {"family", "post_ln", "value_part", "stream"}
    wrong = sorted(name for name in finders if not callable(getattr(adapter, name)))
    kinds: dict[str, Any] = {"family": str, "stream": StreamParts | None}
    wrong += [name for name, kind in kinds.items() if not isinstance(getattr(adapter, name), kind)]
    if wrong:
        raise InputError(f"of the adapter for {model_type!r}, {', '.join(wrong)} is not what Adapter says")
    ADAPTERS[model_type] = adapter


def families() -> str:
    """Some families that have an adapter, in words, and how many more have one: an error is one short sentence."""
    names = list(dict.fromkeys(adapter.family for adapter in ADAPTERS.values()))
    return f"{', '.join(names[:5])}, GPT-2 and {len(names) - 6} more families"


def is_own_code(base: PreTrainedModel) -> bool:
    """Whether a model's class came with its checkpoint, or is the user's: none of transformers."""
    return type(base).__module__.partition(".")[0] != "transformers"


def what_works(base: PreTrainedModel | None = None) -> str:
    """What bertlens can read, for errors; of a class that is none of transformers, that this is so."""
    if base is not None and is_own_code(base):
        return (
            f"its class is of {type(base).__module__.rpartition('.')[2]}, not of transformers; {PAGE} names the "
            "checkpoints that are read without code of their own, and attention weights of any model go through "
            "Trace.from_attentions"
        )
    return (
        f"bertlens reads {families()}, and every other transformers encoder or decoder that uses the attention "
        "interface; attention weights of any model go through Trace.from_attentions"
    )


def adapter_of(base: PreTrainedModel) -> Adapter | None:
    """The adapter for a base model (as `encoder_of` finds it), or None where the family has none.

    Code that comes with a checkpoint may call itself "bert" and be built otherwise: then there is none either.
    """
    adapter = ADAPTERS.get(base.config.model_type)
    try:
        if adapter:
            layer = adapter.layers(base)[0]
            for name in "attention_tap output_projection value_projection attention_norm mlp_norm mlp".split():
                getattr(adapter, name)(layer)
    except (AttributeError, IndexError):
        return None
    return adapter


def require_adapter(base: PreTrainedModel) -> Adapter:
    """The adapter for a base model. Raises ModelError with the list of families where it has none."""
    adapter = adapter_of(base)
    if adapter is None:
        raise ModelError(f"{type(base).__name__} has no adapter, this needs one of: {families()}")
    return adapter


def runnable(model: nn.Module) -> nn.Module:
    """The module whose forward takes `input_ids`: the model itself, what torch.compile wrapped, or the model inside.

    A wrapper that knows its base model (PEFT: `get_base_model`) is run as it is, so that its additions count.
    """
    from transformers import PreTrainedModel

    model = getattr(model, "_orig_mod", model)
    if isinstance(model, PreTrainedModel) or hasattr(model, "get_base_model"):
        return model
    inside = next((module for module in model.modules() if isinstance(module, PreTrainedModel)), None)
    if inside is None:
        raise ModelError(f"{type(model).__name__} is not a transformers model. {what_works()}")
    return inside


def encoder_of(model: nn.Module) -> PreTrainedModel:
    """The base model (BertModel in BertForMaskedLM, also under wrappers). Raises ModelError where none can be read."""
    from transformers import PreTrainedModel

    pretrained = next((module for module in runnable(model).modules() if isinstance(module, PreTrainedModel)), None)
    if pretrained is None:
        raise ModelError(f"{type(model).__name__} is not a transformers model. {what_works()}")
    base: Any = pretrained.base_model
    if base.main_input_name != "input_ids":
        raise ModelError(f"{type(base).__name__} does not read text (it takes {base.main_input_name}). {what_works()}")
    if base.config.is_encoder_decoder and hasattr(base, "encoder") and hasattr(base, "decoder"):
        raise ModelError(
            f"{type(base).__name__} is an encoder-decoder: give Lens its encoder (model.get_encoder()), or give its "
            "attention weights to Trace.from_encoder_decoder"
        )
    if not _embeds(base) and len(inner := list(base.children())) == 1 and isinstance(inner[0], PreTrainedModel):
        base = inner[0]  # a wrapper around a decoder, as in BartForCausalLM
    if not _embeds(base):
        names = [name for name, p in text_models(model) if _embeds(p)]
        outermost = [name for name in names if not any(name.startswith(f"{outer}.") for outer in names)]
        advice = f"give Lens {' or '.join(outermost)}" if outermost else what_works(base)
        lack = "does not say where its embeddings of tokens are" if is_own_code(base) else "has no embeddings of tokens"
        raise ModelError(f"{type(base).__name__} {lack}: {advice}")
    return base


def text_models(model: nn.Module) -> list[tuple[str, PreTrainedModel]]:
    """The models inside a model that may read text, outer ones first, by the name that a user has for them."""
    from transformers import PreTrainedModel

    named = ((f"model.{name}", module) for name, module in model.named_modules() if name)
    return [(name, p) for name, p in named if isinstance(p, PreTrainedModel) and p.main_input_name == "input_ids"]


def _embeds(model: PreTrainedModel) -> bool:
    try:
        return hasattr(model.get_input_embeddings(), "weight")
    except (NotImplementedError, AttributeError):  # transformers finds none, or one in a part that is not there
        return False
