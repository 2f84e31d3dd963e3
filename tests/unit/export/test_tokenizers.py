"""Texts as tokens in a live page, for other kinds of tokenizers than BERT's: trained here, beside Python."""

from __future__ import annotations

import io
import json
import re
import struct
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import transformers as tf
from tokenizers import Tokenizer, models, pre_tokenizers, trainers

from bertlens.errors import ExportError
from bertlens.export import live
from bertlens.text.encoding import encode
from unit import tiny
from unit.export import engine
from unit.export.test_engine import is_newer, lines

ROBERTA = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]


def byte_level(corpus: list[str]) -> Any:
    trained = Tokenizer(models.BPE())
    trained.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    settings = {"initial_alphabet": pre_tokenizers.ByteLevel.alphabet(), "show_progress": False}
    trainer = trainers.BpeTrainer(vocab_size=1500, special_tokens=ROBERTA, **settings)
    trained.train_from_iterator(corpus, trainer)
    model = json.loads(trained.to_str())["model"]
    return tf.RobertaTokenizer(vocab=model["vocab"], merges=[tuple(pair) for pair in model["merges"]])


def fields(message: bytes) -> Iterator[tuple[int, Any]]:
    """Of a protocol buffer: number and bytes, or the whole number."""
    at = 0

    def number() -> int:
        nonlocal at
        found = shift = 0
        while True:
            byte = message[at]
            at, found, shift = at + 1, found | (byte & 127) << shift, shift + 7
            if byte < 128:
                return found

    while at < len(message):
        key = number()
        size = {0: 0, 1: 8, 5: 4}.get(key & 7)
        if size == 0:
            yield key >> 3, number()
            continue
        size = number() if size is None else size
        yield key >> 3, message[at : at + size]
        at += size


def pieces(corpus: list[str], rule: str) -> tuple[list[tuple[str, float]], bytes]:
    """Pieces of a sentencepiece model with their scores, and its map of characters."""
    sentencepiece = pytest.importorskip("sentencepiece")
    made = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(line.replace("\x00", "") for line in corpus),
        model_writer=made,
        vocab_size=3000,
        normalization_rule_name=rule,
        character_coverage=0.98,
        hard_vocab_limit=False,
        num_threads=1,
        minloglevel=2,
    )
    message = list(fields(made.getvalue()))
    own = [dict(fields(value)) for key, value in message if key == 1]
    [charsmap] = [value for key, given in message if key == 3 for field, value in fields(given) if field == 2]
    scored = [(piece[1].decode(), struct.unpack("<f", piece[2])[0]) for piece in own]
    return [piece for piece in scored if piece[0] not in ("<s>", "</s>", "<unk>")], charsmap


def xlm_roberta(corpus: list[str]) -> Any:
    own, charsmap = pieces(corpus, "nmt_nfkc")
    first = [(name, 0.0) for name in ROBERTA[:-1]]
    return tf.XLMRobertaTokenizer(vocab=[*first, *own, ("<mask>", 0.0)], _spm_precompiled_charsmap=charsmap)


def albert(corpus: list[str]) -> Any:
    own, charsmap = pieces(corpus, "nmt_nfkc_cf")
    first = [(name, 0.0) for name in ("<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]")]
    return tf.AlbertTokenizer(vocab=[*first, *own], _spm_precompiled_charsmap=charsmap)


def is_rare(text: str) -> bool:
    """Marks by themselves, controls, letters of one or several signs: the library has no map of its own for them."""
    kinds = {unicodedata.category(letter) for letter in text}
    return bool(kinds & {"Mn", "Mc", "Me", "Cc", "Cf"} or re.search("[\uac00-\ud7a3\u1100-\u11ff\uffa0-\uffdc]", text))


def is_odd_space(text: str) -> bool:
    """White space to one of the two alone: words are counted otherwise, tokens are the same."""
    return bool(re.search("[\ufeff\x0b\x0c\x1c-\x1f\x85]", text))


KINDS = {"byte level": byte_level, "XLM-R": xlm_roberta, "ALBERT": albert}


@pytest.mark.parametrize("kind", KINDS)
def test_the_pages_tokenizer_is_pythons(kind: str, embedded_lens: Any, tmp_path: Path):
    words = sorted(word for word in embedded_lens.tokenizer.get_vocab() if word.isalpha())
    corpus = lines(words, 1200)
    tokenizer = KINDS[kind](corpus)
    singles = [line.replace("[MASK]", tokenizer.mask_token) for line in corpus[:900]]
    texts = [*((line,) for line in singles), *zip(singles[:80], singles[80:160], strict=True), ("one", "")]
    out = engine.node(tmp_path, tokenizer=live.tokenizer_files(tokenizer), texts=texts)
    apart, compared = [], 0
    for given, found in zip(texts, out, strict=True):
        encoding = encode(tokenizer, *given, limit=None)
        text = "".join(given)
        if found["ids"] != list(encoding.input_ids):
            apart.append(given)
            continue
        assert found["special"] == list(encoding.special), given
        assert found["segments"] == list(encoding.segments), given
        assert found["types"] == [0] * len(encoding)
        if is_newer_in(text):
            continue
        assert found["pieces"] == list(encoding.tokens), given
        assert found["tokens"] == list(encoding.display_tokens), given
        if not is_odd_space(text):
            assert found["words"] == [-1 if word is None else word for word in encoding.word_ids], given
            compared += 1
    assert compared > 0.6 * len(texts)
    exceptions = (
        [] if kind == "byte level" else [given for given in apart if is_newer_in(t := "".join(given)) or is_rare(t)]
    )
    assert [given for given in apart if given not in exceptions] == []


def is_newer_in(text: str) -> bool:
    return any(map(is_newer, text))


def test_a_page_says_what_it_does_not_read_as_python_does(embedded_lens: Any):
    tokenizer = tiny.wordpiece()
    tokenizer.backend_tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    with pytest.raises(ExportError, match="does not read texts as this model's tokenizer does: save it without live"):
        live.tokenizer_files(tokenizer)
    assert live.RARE not in live.live(embedded_lens.trace("a")).digits
