"""Small random models of the families that compute attention in modules of their own; nothing is downloaded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import transformers as tf

from bertlens import Lens
from unit import tiny

NARROW = {"embedding_size": 16}
DISTANCES = {"relative_attention": True, "pos_att_type": ["p2c", "c2p"]}
DEBERTA_3 = tiny.BERT | DISTANCES | {"position_buckets": 4, "share_att_key": True, "norm_rel_ebd": "layer_norm"}
DEBERTA_3 |= {"position_biased_input": False, "type_vocab_size": 0}
LAYOUT = tiny.ROBERTA | {"hidden_size": 48, "channel_shrink_ratio": 4, "max_2d_position_embeddings": 8}
BOXES = {"coordinate_size": 6, "shape_size": 4, "max_2d_position_embeddings": 8, "visual_embed": False}


SINCE = {"MPNetModel": (5, 20), "LayoutLMv3Model": (5, 21)}  # of transformers: in older ones their queries are not had


def needs(name: str) -> None:
    """Skips the test where the installed transformers is too old for a class."""
    if tuple(map(int, tf.__version__.split(".")[:2])) < SINCE[name]:
        pytest.skip(f"{name}: not with transformers {tf.__version__}")


def mpnet(**settings: Any) -> Any:
    needs("MPNetModel")
    return tf.MPNetModel(tf.MPNetConfig(**tiny.ROBERTA | settings))


def deberta(**settings: Any) -> Any:
    return tf.DebertaModel(tf.DebertaConfig(**tiny.BERT | DISTANCES | {"type_vocab_size": 2} | settings))


def deberta_v2(**settings: Any) -> Any:
    return tf.DebertaV2Model(tf.DebertaV2Config(**DEBERTA_3 | settings))


def roformer(**settings: Any) -> Any:
    return tf.RoFormerModel(tf.RoFormerConfig(**tiny.BERT | NARROW | settings))


def layoutlmv3() -> Any:
    needs("LayoutLMv3Model")
    bins = {"rel_pos_bins": 8, "max_rel_pos": 16, "rel_2d_pos_bins": 8, "max_rel_2d_pos": 16}
    return tf.LayoutLMv3Model(tf.LayoutLMv3Config(**tiny.ROBERTA | BOXES | bins))


FAMILIES: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {
    "mpnet": (mpnet, tiny.roberta_like),
    "deberta-v2": (deberta_v2, tiny.wordpiece),
    "deberta-v2, positions and types": (
        lambda: deberta_v2(
            **NARROW, share_att_key=False, position_buckets=-1, position_biased_input=True, type_vocab_size=2
        ),
        tiny.wordpiece,
    ),
    "deberta": (deberta, tiny.wordpiece),
    "deberta, narrow": (lambda: deberta(**NARROW, position_biased_input=False), tiny.wordpiece),
    "roformer": (roformer, tiny.wordpiece),
    "rembert": (
        lambda: tf.RemBertModel(tf.RemBertConfig(**tiny.BERT, input_embedding_size=16, output_embedding_size=32)),
        tiny.wordpiece,
    ),
    "megatron-bert": (lambda: tf.MegatronBertModel(tf.MegatronBertConfig(**tiny.BERT)), tiny.wordpiece),
    "luke": (
        lambda: tf.LukeModel(tf.LukeConfig(**tiny.ROBERTA, entity_vocab_size=8, entity_emb_size=16)),
        tiny.roberta_like,
    ),
    "lilt": (lambda: tf.LiltModel(tf.LiltConfig(**LAYOUT)), tiny.roberta_like),
    "visual_bert": (
        lambda: tf.VisualBertModel(tf.VisualBertConfig(**tiny.BERT, visual_embedding_dim=16)),
        tiny.wordpiece,
    ),
    "splinter": (lambda: tf.SplinterModel(tf.SplinterConfig(**tiny.BERT)), tiny.wordpiece),
    "markuplm": (
        lambda: tf.MarkupLMModel(tf.MarkupLMConfig(**tiny.ROBERTA, max_depth=4, xpath_unit_hidden_size=8)),
        tiny.roberta_like,
    ),
    "layoutlmv3": (layoutlmv3, tiny.roberta_like),
}


def shaken(model: Any) -> Any:
    """`tiny.shaken`, but for RoFormer's angles, which are no weights."""
    model = tiny.shaken(model)
    for module in model.modules():
        if hasattr(module, "create_weight"):
            with torch.no_grad():
                module.weight.copy_(module.create_weight())
    return model


OWN = {name: tiny.Family(*both) for name, both in FAMILIES.items()}


def lens_of(name: str, dtype: torch.dtype = torch.float64) -> Lens:
    """A lens of one of FAMILIES, its weights large enough that heads differ and every bias shows."""
    build, tokenizer = FAMILIES[name]
    return Lens(shaken(build()).to(dtype), tokenizer())
