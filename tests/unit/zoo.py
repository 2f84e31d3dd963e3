"""Every text model class of the installed transformers, small: built from its own config class with small numbers.

A config keeps its own defaults but for the sizes below, so that what a class does on its own (masks, biases, sinks,
windows, experts) stays. What cannot be built so small, or needs packages that are not installed, is left out.
"""

from __future__ import annotations

import contextlib
import inspect
import warnings
from collections.abc import Iterator
from copy import deepcopy
from functools import cache
from typing import Any

import torch
import transformers as tf

LARGEST = 20_000_000  # parameters

# Sizes by the names that configs give them. A head is 16 wide, 8 of which are rotated where a part is.
SIZES: dict[str, Any] = {
    name: number
    for number, names in {
        2: "num_hidden_layers n_layer n_layers num_layers num_decoder_layers encoder_layers decoder_layers depth "
        "num_encoder_layers num_experts_per_tok num_experts_per_token num_key_value_heads multi_query_group_num "
        "num_global_key_value_heads index_n_heads l_layers x_layers r_layers num_hash_layers moe_topk mamba_n_heads "
        "num_cross_attention_heads",
        4: "num_attention_heads n_head n_heads num_heads encoder_attention_heads decoder_attention_heads "
        "num_encoder_attention_heads num_decoder_attention_heads num_experts num_local_experts n_routed_experts "
        "moe_num_experts num_decoder_attention_heads mamba_num_heads ssm_num_heads linear_num_key_heads "
        "linear_num_value_heads",
        8: "rotary_dim qk_rope_head_dim qk_nope_head_dim index_topk mamba_d_state patch_size "
        "linear_key_head_dim linear_value_head_dim num_buckets",
        16: "head_dim d_kv d_head attention_head_dim global_head_dim v_head_dim q_lora_rank kv_lora_rank "
        "moe_intermediate_size index_head_dim expert_ffn_hidden_size qk_head_dim kv_channels mamba_d_head "
        "mamba_head_dim ssm_head_dim key_value_dim",
        32: "image_size",
        48: "intermediate_size n_inner d_ff encoder_ffn_dim decoder_ffn_dim ffn_dim ffn_hidden_size d_inner hidden_dim "
        "ffn_intermediate_size shared_expert_intermediate_size n_inner moe_shared_expert_intermediate_size "
        "intermediate_size_mlp",
        64: "hidden_size n_embd d_model dim emb_dim embedding_size max_position_embeddings n_positions n_ctx "
        "max_seq_len max_target_positions projection_dim input_embedding_size lru_width output_embedding_size "
        "embedding_dim entity_emb_size out_hidden_size "
        "hidden_size_per_layer_input encoder_hidden_size",
        99: "vocab_size vocab_size_per_layer_input entity_vocab_size",
        1: "n_group topk_group num_nextn_predict_layers first_k_dense_replace num_feedforward_networks",
    }.items()
    for name in names.split()
}
MROPE = {"rope_type": "default", "rope_theta": 10000.0, "mrope_section": [2, 3, 3]}  # half a head
EXPERTS = {"n_routed_experts": 4, "n_shared_experts": 1, "num_experts_per_tok": 2, "n_group": 1, "topk_group": 1}
# What the sizes above do not say, by config class
MORE: dict[str, dict[str, Any]] = {
    "Blip2QFormerConfig": {"use_qformer_text_input": True},
    "ClvpEncoderConfig": {"hidden_size": 256, "projection_dim": 256},
    "CohereCompassTextConfig": {"rope_parameters": {"full_attention": {"rope_type": "default", "rope_theta": 1e4}}},
    "DeepseekOcr2TextConfig": EXPERTS | {"mlp_layer_types": ["dense", "sparse"]},
    "Dots1Config": EXPERTS,
    "Gemma3nTextConfig": {"num_kv_shared_layers": 0},
    "Glm4vMoeTextConfig": {"rope_parameters": MROPE | {"mrope_section": [1, 1, 2], "partial_rotary_factor": 0.5}},
    "Glm4vTextConfig": {"rope_parameters": MROPE},
    "GlmImageTextConfig": {"rope_parameters": MROPE},
    "GlmOcrTextConfig": {"rope_parameters": MROPE},
    "LayoutLMv3Config": {"coordinate_size": 10, "shape_size": 12},
    "Lfm2MoeConfig": {"layer_types": ["conv", "full_attention"]},
    "LiltConfig": {"hidden_size": 96},
    "LongformerConfig": {"attention_window": 8},
    "Mamba2Config": {"num_heads": 8, "n_groups": 1},
    "NemotronHConfig": {"n_groups": 1},
    "PaddleOCRTextConfig": {"rope_parameters": MROPE},
    "Qwen2VLTextConfig": {"rope_parameters": MROPE},
    "Qwen2_5OmniTalkerConfig": {"rope_parameters": MROPE},
    "Qwen2_5OmniTextConfig": {"rope_parameters": MROPE},
    "Qwen2_5_VLTextConfig": {"rope_parameters": MROPE},
    "ReformerConfig": {"axial_pos_embds_dim": (16, 48), "axial_pos_shape": (8, 8)},
    "Step3p7TextConfig": {"sliding_window": 8},
    "XmodConfig": {"default_language": "en_XX"},
}
TOKENS = {"pad_token_id": 0, "unk_token_id": 1, "bos_token_id": 2, "eos_token_id": 3, "mask_token_id": 4}


def classes() -> Iterator[type[tf.PreTrainedModel]]:
    """The public model classes that read text, which is to say take `input_ids`, in alphabetical order."""
    for name in sorted(dir(tf)):
        try:
            found = getattr(tf, name)
        except Exception:  # noqa: BLE001 - needs a package that is not installed
            continue
        if not (inspect.isclass(found) and issubclass(found, tf.PreTrainedModel)):
            continue
        if name.lower().endswith("pretrainedmodel"):
            continue
        text = found.main_input_name == "input_ids" and "input_ids" in inspect.signature(found.forward).parameters
        if text and getattr(found, "config_class", None) is not None:
            yield found


def _tried(make: Any, settings: dict[str, Any]) -> Any:
    """The config with as many of the settings as it accepts: one that it refuses is left out."""
    try:
        return make(**settings)
    except Exception:  # noqa: BLE001
        pass
    for left_out in settings:
        with contextlib.suppress(Exception):
            return make(**{name: value for name, value in settings.items() if name != left_out})
    config = make()
    for name, value in settings.items():
        with contextlib.suppress(Exception):
            setattr(config, name, value)
    return config


@cache
def small(make: type[tf.PretrainedConfig], depth: int = 0) -> tf.PretrainedConfig:
    """A config of its class with small numbers. Raises what the class raises where there is none."""
    full = make()
    settings = {
        name: number for name, number in (SIZES | TOKENS).items() if hasattr(full, name) and _is_one(full, name)
    }
    for name, kind in (getattr(make, "sub_configs", None) or {}).items():
        with contextlib.suppress(Exception):
            given = getattr(full, name, None)
            kind = type(given) if isinstance(given, tf.PretrainedConfig) else kind
            if kind is not make and depth < 3 and hasattr(kind, "model_type"):
                settings[name] = small(kind, depth + 1)
    for name in ("layer_types", "layers_block_type", "mlp_layer_types"):  # a layer of each of the first two kinds
        layers = full.__dict__.get(name)
        if isinstance(layers, list) and layers:
            settings[name] = (list(dict.fromkeys(layers)) * 2)[:2]
    with contextlib.suppress(Exception):
        if full.num_key_value_heads == full.num_attention_heads:
            settings["num_key_value_heads"] = SIZES["num_attention_heads"]
    if hasattr(full, "qk_rope_head_dim") and getattr(full, "head_dim", None) == full.qk_rope_head_dim:
        settings["head_dim"] = SIZES["qk_rope_head_dim"]
    return _tried(make, settings | MORE.get(make.__name__, {}))


def _is_one(config: Any, name: str) -> bool:
    value = getattr(config, name, None)
    return value is None or (isinstance(value, int) and not isinstance(value, bool))


def fits(kind: type[tf.PreTrainedModel]) -> bool:
    """Whether the class can be built small. Raises what it raises where it cannot be built."""
    with warnings.catch_warnings(), torch.device("meta"):
        warnings.simplefilter("ignore")
        return sum(p.numel() for p in kind(deepcopy(small(kind.config_class))).parameters()) <= LARGEST


def built(kind: type[tf.PreTrainedModel], like: tf.PreTrainedModel | None = None) -> tf.PreTrainedModel:
    """A model with random weights, the same each time; or with the weights of another, built to run eagerly."""
    config = deepcopy(small(kind.config_class))
    if like is not None:
        config._attn_implementation = "eager"
        if getattr(config, "attention_type", "") == "block_sparse":  # which gives way to this one in a first run
            config.attention_type = "original_full"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = kind(config).eval()
    if like is not None:
        model.load_state_dict(like.state_dict())
        return model
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dtype.is_floating_point:
                parameter.add_(0.1 * torch.randn(parameter.shape, generator=generator))
    return model
