"""A tokenizer as a page carries it, for js/src/engine/tokenizer.ts: its file, where a page is known to read each of its
settings as Python does, and what Python reads some hard texts as, which the page compares before it reads another.

A page's tokenizer is another program than Python's. What it does with a setting is known of the values below, by tests
that run both (`tests/unit/export/test_tokenizers.py`); any other setting is refused by its name.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator
from typing import Any

from ..errors import ExportError
from ..text.display import spelling_of
from ..text.encoding import encode

RARE = "Rare characters may be read in another way here than in Python."  # where characters are mapped
KINDS = {  # the steps of normalizer, pre-tokenizer and model: BERT's, RoBERTa's, XLM-R's, the multilingual one's
    ("BertNormalizer", "BertPreTokenizer", "WordPiece"),
    ("", "ByteLevel", "BPE"),
    ("Precompiled", "WhitespaceSplit+Metaspace", "Unigram"),
    ("Replace+Replace+NFKC+Replace", "Metaspace", "Unigram"),
    ("Replace+Replace+NFKD+StripAccents+Lowercase+Precompiled", "WhitespaceSplit+Metaspace", "Unigram"),  # ALBERT's
}
SETTINGS = {  # of each step: the values that a page reads, as JSON; * is any
    "BertNormalizer": "clean_text=true handle_chinese_chars=* strip_accents=* lowercase=*",
    "Precompiled": "precompiled_charsmap=*",  # by what it does: `_check_map`
    "Replace": "pattern=* content=*",  # `_check_replace`
    **dict.fromkeys(("NFKD", "NFKC", "StripAccents", "Lowercase", "BertPreTokenizer", "WhitespaceSplit"), ""),
    "ByteLevel": "add_prefix_space=* trim_offsets=* use_regex=true",
    "Metaspace": 'replacement="▁" prepend_scheme="always" split=true',
    "WordPiece": "unk_token=* continuing_subword_prefix=* max_input_chars_per_word=* vocab=*",
    "BPE": 'dropout=null continuing_subword_prefix=null|"" end_of_word_suffix=null|"" fuse_unk=false '
    "byte_fallback=false ignore_merges=false unk_token=* vocab=* merges=*",
    "Unigram": "unk_id=* vocab=* byte_fallback=false",
    "TemplateProcessing": "single=* pair=* special_tokens=*",  # `_check_template`
    "BertProcessing": "sep=* cls=*",
    "RobertaProcessing": "sep=* cls=* trim_offsets=* add_prefix_space=*",
    "added token": "id=* content=* single_word=false lstrip=* rstrip=* normalized=* special=*",
}
STEPS = ("normalizer", "pre_tokenizer", "model")
PARTS = ("version", "truncation", "padding", "added_tokens", "decoder", "post_processor", *STEPS)
TEXTS = [  # hard ones
    *("The cat sat on the mat.", "  two  spaces ", "tab\tand\nline", "don't we've I'LL", "U.S.A., 3.14 (half) $&"),
    *("UNBELIEVABLE Tokenisation", "naïve café ÀÉÎÕ", "straße", "ΣΑΣ ΌΣΟΣ", "Привет мир", "😀!"),
    *("½ Ⅷ ① １２", "ﬁ ™ ℃ …", "no\u00a0break \u3000wide", "``quoted'' “so”", "a-b_c/d\\e@f#g", "[mask] <MASK> ##ing"),
    *("x" * 101, "ab" * 60, "中文字 日本 猫が好き"),
    *("男孩2015年读了ABC书。", "แมวนั่งบนเสื่อ", "लड़के किताबें पढ़ीं।", "القِطَّة"),
]


def tokenizer_files(tokenizer: Any) -> dict[str, Any]:
    """Its file, without the padding and truncation that are set at the moment; whether it makes token types; what it
    reads hard texts and pairs as. Raises ExportError where a page reads texts otherwise, with the setting."""
    backend = getattr(tokenizer, "backend_tokenizer", None)
    file = json.loads(backend.to_str()) if backend is not None else {}
    if tuple("+".join(map(_kind, steps(file.get(name)))) for name in STEPS) not in KINDS:
        raise ExportError("a page does not read texts as this model's tokenizer does: save it without live")
    _check(tokenizer, file)
    processor, spelling = file["post_processor"]["type"], spelling_of(tokenizer)
    return {
        "file": {**file, "padding": None, "truncation": None, "decoder": None},
        "spelling": [spelling.has_bytes, spelling.blank, spelling.continuation],
        "config": {},
        "types": "token_type_ids" in tokenizer.model_input_names and processor != "RobertaProcessing",
        "readings": list(_readings(tokenizer, file)),
    }


def maps_characters(file: dict[str, Any]) -> bool:
    """Whether a table in it maps characters, of which a page knows the rule and not the rare exceptions."""
    return any(_kind(step) == "Precompiled" for step in steps(file["normalizer"]))


def steps(part: dict[str, Any] | None) -> list[dict[str, Any]]:
    """What a part of a tokenizer's file does, one after the other."""
    inner = (part or {}).get("normalizers") or (part or {}).get("pretokenizers")
    return list(inner or [part]) if part else []


def _kind(step: dict[str, Any]) -> str:
    return str(step.get("type"))


def _refuse(what: str) -> None:
    raise ExportError(f"a page does not read texts as this tokenizer does, for its {what}: save it without live")


def _check(tokenizer: Any, file: dict[str, Any]) -> None:
    """Raises ExportError for a setting that a page is not known to read as Python does."""
    for name in file.keys() - {*PARTS}:
        _refuse(f"setting {name}")
    if getattr(tokenizer, "split_special_tokens", False):
        _refuse("setting split_special_tokens")
    processor = file["post_processor"] or {"type": "none"}
    if _kind(processor) not in ("TemplateProcessing", "BertProcessing", "RobertaProcessing"):
        _refuse(f"post_processor {_kind(processor)}")
    added = [{**token, "type": "added token"} for token in file["added_tokens"]]
    for step in (*(step for name in STEPS for step in steps(file[name])), processor, *added):
        settings = dict(setting.split("=", 1) for setting in SETTINGS[_kind(step)].split())
        for name, value in step.items():
            text = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
            if name != "type" and settings.get(name) != "*" and text not in settings.get(name, "").split("|"):
                _refuse(f"{_kind(step)} with {name} = {text:.60}")
    for step in steps(file["normalizer"]):
        if _kind(step) == "Replace":
            _check_replace(step)
    _check_template(tokenizer, processor)
    if maps_characters(file):
        _check_map(tokenizer.backend_tokenizer.normalizer, is_lowered=len(steps(file["normalizer"])) > 1)


def _check_replace(step: dict[str, Any]) -> None:
    """Raises ExportError for another than quotes to ", a list of characters or a run of blanks to one or nothing."""
    pattern, content = step["pattern"], step["content"]
    if not (
        (pattern in ({"String": "``"}, {"String": "''"}) and content == '"')
        or (re.fullmatch(r"\[(\\x\{[0-9a-f]+\})+\]| \{2,\}", pattern.get("Regex", "")) and content in ("", " "))
    ):
        name, value = ("pattern", pattern) if content in ('"', "", " ") else ("content", content)
        _refuse(f"Replace with {name} = {json.dumps(value, separators=(',', ':'), ensure_ascii=False):.60}")


def _check_template(tokenizer: Any, processor: dict[str, Any]) -> None:
    """Raises ExportError where a template does not put text A before B, and special tokens around each."""
    if "single" in processor:
        single, pair = (
            "".join(piece.get("Sequence", {}).get("id", "·") for piece in processor[name])
            for name in ("single", "pair")
        )
        start = single.partition("A")[0]
        if not (start and re.fullmatch("·+A·*", single) and re.fullmatch(f"{start}A·+B·*", pair)):
            _refuse(f"TemplateProcessing {single} and {pair}, where · is a special token")
        specials = [[name, *of["ids"]] for name, of in processor["special_tokens"].items()]
    else:
        specials = [processor["cls"], processor["sep"]]
    for name, *ids in specials:
        if ids != [tokenizer.backend_tokenizer.token_to_id(name)]:
            _refuse(f"{_kind(processor)} with {name} = {json.dumps(ids)}")


def is_rare(text: str) -> bool:
    """Whether a page may map its characters in another way than a table: marks, controls, Hangul, the σ at the end of a
    word, and letters that are something else, or there at all, only since Unicode 3.2."""
    kinds = {letter: unicodedata.category(letter) for letter in text}
    if {*kinds.values()} & {"Cn", "Mn", "Mc", "Me", "Cc", "Cf"} or re.search(
        "[ςϲ\u1100-\u11ff\u3130-\u318f\uac00-\ud7a3]", text
    ):
        return True
    return any(kind != unicodedata.ucd_3_2_0.category(letter) for letter, kind in kinds.items())


def _check_map(normalizer: Any, is_lowered: bool) -> None:
    """Raises ExportError where a table of characters is another than NFKC (of lower case without marks)."""
    for letter in map(chr, [*range(0x21, 0xD800), *range(0xF900, 0xFFFD)]):
        decomposed = unicodedata.normalize("NFKD", letter)
        if is_rare(letter) or is_rare(decomposed) or letter in "▁～" or unicodedata.category(letter)[0] == "Z":
            continue
        plain = decomposed.lower() if is_lowered else letter
        if normalizer.normalize_str(letter) != unicodedata.normalize("NFKC", plain):
            _refuse(
                f"Precompiled with a precompiled_charsmap that makes {normalizer.normalize_str(letter)!r} of {letter!r}"
            )


def _readings(tokenizer: Any, file: dict[str, Any]) -> Iterator[tuple[str, str, list[int], list[int]]]:
    """Two texts, "" where there is no second; the tokens' ids; the words that they are of, -1 of the template's."""
    names = [token["content"] for token in file["added_tokens"]]
    words = sorted({re.sub("^(▁|Ġ|##)", "", word) for word in tokenizer.get_vocab()})
    words = [word for word in words if word.isascii() and word.isprintable()]
    sample = words[:: len(words) // 40 + 1]
    glued = " ".join(a + b for a, b in zip(sample[::2], sample[1::2], strict=False))
    texts = [*TEXTS, *(f"a{name}b {name} {name}c" for name in names[:20]), glued, " ".join(sample).upper()]
    if maps_characters(file):
        texts = [text for text in texts if not is_rare(text)]
    for text, pair in [("one", ""), *((text, "") for text in texts), *zip(texts, texts[7:], strict=False)]:
        encoding = encode(tokenizer, text, pair or None, limit=None)
        yield text, pair, list(encoding.input_ids), [-1 if word is None else word for word in encoding.word_ids]
