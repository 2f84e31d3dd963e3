"""One sentence in each of nine languages and six scripts, and tokenizers of three kinds that are trained on them."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import transformers as tf
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

from unit import tiny

# words as a treebank has them, and the text as it is written
SENTENCES: dict[str, tuple[list[str], str]] = {
    "en": ("The cat sat on the mat yesterday .".split(), "The cat sat on the mat yesterday."),
    "de": (
        "Die Katze saß gestern auf der größten Fußmatte .".split(),
        "Die Katze saß gestern auf der größten Fußmatte.",
    ),
    "tr": ("Kedi dün İstanbul'da ILIK ışıkta oturdu .".split(), "Kedi dün İstanbul'da ILIK ışıkta oturdu."),
    "ru": ("Вчера кошка сидела на тёплом коврике .".split(), "Вчера кошка сидела на тёплом коврике."),
    "ar": ("جلست القِطَّة على السجّادة أمس .".split(), "جلست القِطَّة على السجّادة أمس."),
    "hi": ("बिल्ली कल लड़के की किताब पर बैठी ।".split(), "बिल्ली कल लड़के की किताब पर बैठी।"),
    "ko": ("고양이가 어제 따뜻한 방석 위에 앉았다 .".split(), "고양이가 어제 따뜻한 방석 위에 앉았다."),
    "th": ("แมว นั่ง บน เสื่อ ที่ อบอุ่น เมื่อวาน นี้".split(), "แมวนั่งบนเสื่อที่อบอุ่นเมื่อวานนี้"),
    "zh": ("猫 昨天 坐 在 温暖 的 垫子 上 。".split(), "猫昨天坐在温暖的垫子上。"),
}
SPECIAL = tiny.SPECIAL
TEMPLATE = {"single": "[CLS] $A [SEP]", "pair": "[CLS] $A [SEP] $B:1 [SEP]:1"}


def _trained(tokenizer: Tokenizer, trainer: Any, size: int, **settings: Any) -> Any:
    """The tokenizer, trained on all of the sentences, most often with a blank between two words."""
    texts = [*(running for _, running in SENTENCES.values()), *[" ".join(words) for words, _ in SENTENCES.values()] * 3]
    tokenizer.train_from_iterator(
        texts, trainer(vocab_size=size, special_tokens=SPECIAL, show_progress=False, **settings)
    )
    tokenizer.post_processor = processors.TemplateProcessing(**TEMPLATE, special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
    return tokenizer


def _fast(tokenizer: Tokenizer) -> tf.PreTrainedTokenizerFast:
    names = {f"{name.strip('[]').lower()}_token": name for name in SPECIAL}
    return tf.PreTrainedTokenizerFast(tokenizer_object=tokenizer, **names)


def wordpiece(lowercase: bool = True) -> tf.PreTrainedTokenizerFast:
    """BERT's; marks of letters are lost with capitals."""
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=lowercase)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    return _fast(_trained(tokenizer, trainers.WordPieceTrainer, 350))


def byte_level(prefix_space: bool = False) -> tf.PreTrainedTokenizerFast:
    """GPT-2's; with `prefix_space` a text begins like a word behind a blank."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=prefix_space)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    return _fast(_trained(tokenizer, trainers.BpeTrainer, 520, initial_alphabet=alphabet))


def unigram(scheme: str = "always") -> tf.PreTrainedTokenizerFast:
    """XLM-R's; scheme: when a blank stands before a text, "always", "first" or "never"."""
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.normalizer = normalizers.NFKC()
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme=scheme)
    tokenizer.decoder = decoders.Metaspace(prepend_scheme=scheme)
    return _fast(_trained(tokenizer, trainers.UnigramTrainer, 400, unk_token="[UNK]"))


def gemma() -> tf.PreTrainedTokenizerFast:
    """Gemma's: blanks become "▁", none stands before a text, letters without a piece are bytes."""
    return _fast(_of_bytes(normalizers.Replace(" ", "▁"), pre_tokenizers.Split(" ", "merged_with_previous")))


def llama() -> tf.PreTrainedTokenizerFast:
    """Llama 2's: like Gemma's with one "▁" before a text, and nothing that splits it."""
    return _fast(_of_bytes(normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]), None))


def _of_bytes(normalizer: Any, splitter: Any) -> Tokenizer:
    tokenizer = Tokenizer(models.BPE(byte_fallback=True, unk_token="[UNK]", fuse_unk=True))
    tokenizer.normalizer = normalizer
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex("▁"), "merged_with_next")  # no piece over a blank
    every_byte = [f"<0x{byte:02X}>" for byte in range(256)]
    trained = json.loads(_trained(tokenizer, trainers.BpeTrainer, 330).to_str())
    vocabulary = trained["model"]["vocab"]
    vocabulary |= {name: len(vocabulary) + n for n, name in enumerate(every_byte)}
    trained["pre_tokenizer"] = None
    tokenizer = Tokenizer.from_str(json.dumps(trained))
    if splitter is not None:
        tokenizer.pre_tokenizer = splitter
    return tokenizer


class Letters(tf.PreTrainedTokenizer):
    """One in Python, with a piece for each character, blanks too, as CANINE and ByT5 have it."""

    vocab_size = property(lambda self: 0x3100 + 0x7000)

    def get_vocab(self) -> dict[str, int]:
        return {chr(point): point for point in range(5)}

    def _tokenize(self, text: str) -> list[str]:
        return list(text)

    def _convert_token_to_id(self, token: str) -> int:
        return ord(token) % self.vocab_size

    def _convert_id_to_token(self, index: int) -> str:
        return chr(index)


KINDS = {"WordPiece": wordpiece, "byte level": byte_level, "Unigram": unigram}
OTHERS = {
    "WordPiece, cased": lambda: wordpiece(lowercase=False),
    "byte level, a blank before": lambda: byte_level(prefix_space=True),
    "Unigram, a blank before the text": lambda: unigram("first"),
    "Unigram, no blank before": lambda: unigram("never"),
    "Gemma": gemma,
    "Llama": llama,
    "letters, in Python": Letters,
}


@cache
def tokenizer_of(kind: str) -> Any:
    return (KINDS | OTHERS)[kind]()
