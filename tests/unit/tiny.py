"""Small random models of every family and tokenizers to go with them, built on the spot: nothing is downloaded."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import torch
import transformers as tf
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
LETTERS = list("abcdefghijklmnopqrstuvwxyz")
WORDS = [
    "the",
    "cat",
    "sat",
    "on",
    "mat",
    "it",
    "was",
    "very",
    "warm",
    "un",
    "##believ",
    "##able",
    "##s",
    ".",
    ",",
    "'",
]
VOCABULARY = list(dict.fromkeys(SPECIAL + WORDS + LETTERS + ["##" + letter for letter in LETTERS]))
CORPUS = ["the cat sat on the mat, it was very warm. unbelievable cats, the mat was warm"]


def wordpiece(**settings: Any) -> tf.PreTrainedTokenizerFast:
    """BERT's way: [CLS] A [SEP] B [SEP], lower case, accents stripped."""
    tokenizer = Tokenizer(models.WordPiece({t: i for i, t in enumerate(VOCABULARY)}, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    names = {
        "pad_token": "[PAD]",
        "unk_token": "[UNK]",
        "cls_token": "[CLS]",
        "sep_token": "[SEP]",
        "mask_token": "[MASK]",
    }
    names |= {"model_input_names": ["input_ids", "token_type_ids", "attention_mask"]}
    return tf.PreTrainedTokenizerFast(tokenizer_object=tokenizer, **names | settings)


def byte_level(template: bool, **settings: Any) -> tf.PreTrainedTokenizerFast:
    """GPT-2's way, or with `template` RoBERTa's: <s> A </s></s> B </s>."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    names = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"] if template else ["<|endoftext|>"]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=300, special_tokens=names, initial_alphabet=alphabet, show_progress=False)
    tokenizer.train_from_iterator(CORPUS, trainer)
    if not template:
        end = {f"{name}_token": "<|endoftext|>" for name in ("bos", "eos", "unk")}
        return tf.PreTrainedTokenizerFast(tokenizer_object=tokenizer, **end | settings)
    tokenizer.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), add_prefix_space=False)
    given = {"bos_token": "<s>", "cls_token": "<s>", "eos_token": "</s>", "sep_token": "</s>"}
    given |= {"pad_token": "<pad>", "unk_token": "<unk>", "mask_token": "<mask>"}
    return tf.PreTrainedTokenizerFast(tokenizer_object=tokenizer, **given | settings)


def shaken(model: Any, seed: int = 0, scale: float = 0.25) -> Any:
    """The model with random weights and biases large enough that heads differ and every bias shows."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            noise = torch.randn(parameter.shape, generator=generator)
            if parameter.ndim == 1 and name.endswith("weight"):  # LayerNorms
                parameter.copy_(1 + 0.1 * noise)
            else:
                parameter.copy_(scale * noise)
    return model.eval()


SIZE = {"hidden_size": 32, "num_hidden_layers": 3, "num_attention_heads": 4, "intermediate_size": 48}
BERT = SIZE | {"vocab_size": len(VOCABULARY), "max_position_embeddings": 64}
ROBERTA = SIZE | {
    "vocab_size": 300,
    "max_position_embeddings": 66,
    "pad_token_id": 1,
    "bos_token_id": 0,
    "eos_token_id": 2,
}


@dataclass
class Family:
    """How to build one family's model, which tokenizer goes with it, and where its q, k, v projections are."""

    model: Callable[[], Any]
    tokenizer: Callable[[], Any] = wordpiece
    projections: tuple[str, ...] = ()  # dotted from a layer: query, key, value, or one that makes all three
    rotary: bool = False


SELF = ("attention.self.query", "attention.self.key", "attention.self.value")


def modernbert(**settings: Any) -> Any:
    special = {"pad_token_id": 0, "bos_token_id": 2, "eos_token_id": 3, "cls_token_id": 2, "sep_token_id": 3}
    return tf.ModernBertModel(tf.ModernBertConfig(**BERT | special | settings)).eval()


def roberta_like(**settings: Any) -> tf.PreTrainedTokenizerFast:
    return byte_level(template=True, **settings)


def gpt_like(**settings: Any) -> tf.PreTrainedTokenizerFast:
    return byte_level(template=False, **settings)


FAMILIES = {
    "bert": Family(lambda: tf.BertModel(tf.BertConfig(**BERT)), projections=SELF),
    "roberta": Family(lambda: tf.RobertaModel(tf.RobertaConfig(**ROBERTA)), roberta_like, SELF),
    "xlm-roberta": Family(lambda: tf.XLMRobertaModel(tf.XLMRobertaConfig(**ROBERTA)), roberta_like, SELF),
    "camembert": Family(lambda: tf.CamembertModel(tf.CamembertConfig(**ROBERTA)), roberta_like, SELF),
    "distilbert": Family(
        lambda: tf.DistilBertModel(
            tf.DistilBertConfig(
                vocab_size=len(VOCABULARY), max_position_embeddings=64, dim=32, n_layers=3, n_heads=4, hidden_dim=48
            )
        ),
        projections=("attention.q_lin", "attention.k_lin", "attention.v_lin"),
    ),
    "electra": Family(lambda: tf.ElectraModel(tf.ElectraConfig(**BERT, embedding_size=16)), projections=SELF),
    "albert": Family(
        lambda: tf.AlbertModel(tf.AlbertConfig(**BERT, embedding_size=16)),
        projections=("attention.query", "attention.key", "attention.value"),
    ),
    "albert, two groups of two": Family(
        lambda: tf.AlbertModel(
            tf.AlbertConfig(**BERT | {"num_hidden_layers": 4}, embedding_size=16, num_hidden_groups=2)
        ),
        projections=("attention.query", "attention.key", "attention.value"),
    ),
    "mobilebert": Family(
        lambda: tf.MobileBertModel(
            tf.MobileBertConfig(**BERT, embedding_size=16, intra_bottleneck_size=16, num_feedforward_networks=2)
        ),
        projections=SELF,
    ),
    "esm": Family(
        lambda: tf.EsmModel(
            tf.EsmConfig(**BERT, position_embedding_type="rotary", pad_token_id=0, mask_token_id=4, token_dropout=True)
        ),
        projections=SELF,
        rotary=True,
    ),
    "esm, absolute positions": Family(
        lambda: tf.EsmModel(tf.EsmConfig(**BERT, position_embedding_type="absolute", pad_token_id=0, mask_token_id=4)),
        projections=SELF,
    ),
    "nomic_bert": Family(
        lambda: tf.NomicBertModel(tf.NomicBertConfig(**BERT)),
        projections=("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"),
        rotary=True,
    ),
    "modernbert": Family(
        lambda: modernbert(num_hidden_layers=4, local_attention=6, global_attn_every_n_layers=3, attention_bias=True),
        projections=("attn.Wqkv",),
        rotary=True,
    ),
    "gpt2": Family(
        lambda: tf.GPT2Model(tf.GPT2Config(vocab_size=300, n_positions=64, n_embd=32, n_layer=3, n_head=4)),
        gpt_like,
        projections=("attn.c_attn",),
    ),
    "llama, grouped keys": Family(
        lambda: tf.LlamaModel(
            tf.LlamaConfig(**SIZE, vocab_size=300, max_position_embeddings=64, num_key_value_heads=2, head_dim=6)
        ),
        gpt_like,
        projections=("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"),
        rotary=True,
    ),
}

# Families that compute attention on their own, not through the interface
OUTSIDE = {
    "mpnet": Family(lambda: tf.MPNetModel(tf.MPNetConfig(**ROBERTA)), roberta_like),
    "deberta-v2": Family(
        lambda: tf.DebertaV2Model(
            tf.DebertaV2Config(**BERT, relative_attention=True, position_buckets=8, pos_att_type=["p2c", "c2p"])
        )
    ),
    "roformer": Family(lambda: tf.RoFormerModel(tf.RoFormerConfig(**BERT, embedding_size=32))),
}

# T5 came to the interface with a later transformers 5
(FAMILIES if hasattr(import_module("transformers.models.t5.modeling_t5"), "eager_attention_forward") else OUTSIDE)[
    "t5 encoder"
] = Family(
    lambda: tf.T5EncoderModel(
        tf.T5Config(vocab_size=len(VOCABULARY), d_model=32, d_kv=8, num_heads=4, num_layers=3, d_ff=48)
    )
)

TEXTS = [
    "The cat sat on the mat.",
    ("the unbelievable cats", "it was very warm, very warm. the mats"),
    "warm",
]


def bert(seed: int = 0, **settings: Any) -> Any:
    """A small random BERT."""
    return shaken(tf.BertModel(tf.BertConfig(**BERT | settings)), seed)


def bert_with(tokenizer: Any, **config: Any) -> tf.BertModel:
    """A random BERT of 2 layers x 2 heads that reads what a tokenizer gives; its weights are some 1.5 MB in 16 bits."""
    sizes = {"hidden_size": 24, "num_hidden_layers": 2, "num_attention_heads": 2}
    sizes |= {"intermediate_size": 32, "initializer_range": 0.3}  # attention is not even
    torch.manual_seed(0)
    return tf.BertModel(tf.BertConfig(vocab_size=len(tokenizer), **sizes | config)).eval()
