"""Texts as tokens in a live page, for other kinds of tokenizers than BERT's: trained here, beside Python."""

from __future__ import annotations

import copy
import io
import json
import re
import struct
import unicodedata
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import transformers as tf
from tokenizers import Tokenizer, models, pre_tokenizers, trainers
from tokenizers import __version__ as release

import bertlens as bl
from bertlens.errors import ExportError
from bertlens.export import live
from bertlens.export.page_tokenizer import RARE, tokenizer_files
from bertlens.text.encoding import encode
from bertlens.widgets.answers import whatif as answers
from bertlens.widgets.badges import badges
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


def xlm_roberta(corpus: list[str], rule: str = "nmt_nfkc") -> Any:
    own, charsmap = pieces(corpus, rule)
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


@pytest.fixture(scope="module")
def made(embedded_lens: Any) -> Callable[[str], tuple[Any, list[str]]]:
    """A tokenizer of a kind, trained once, and what it was trained on."""
    words = sorted(word for word in embedded_lens.tokenizer.get_vocab() if word.isalpha())
    corpus = lines(words, 1200)
    return cache(lambda kind: (KINDS[kind](corpus) if kind in KINDS else embedded_lens.tokenizer, corpus))


@pytest.mark.parametrize("kind", KINDS)
def test_the_pages_tokenizer_is_pythons(kind: str, made: Any, tmp_path: Path):
    tokenizer, corpus = made(kind)
    singles = [line.replace("[MASK]", tokenizer.mask_token) for line in corpus[:900]]
    texts = [*((line,) for line in singles), *zip(singles[:80], singles[80:160], strict=True), ("one", "")]
    [out] = engine.node(tmp_path, readers=[{"tokenizer": tokenizer_files(tokenizer), "texts": texts}])
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


def outcome(question: Callable[..., Any], trace: bl.Trace, name: str) -> tuple[str, Any]:
    """Why there is no answer, or its fields."""
    try:
        return "", question(trace, name)[0]
    except bl.InputError as refusal:
        return str(refusal), None


@pytest.mark.parametrize("kind", ["byte level", "XLM-R"])
def test_a_page_names_words_and_unknown_pieces_as_the_kernel_does(kind: str, embedded_lens: Any, tmp_path: Path):
    words = sorted(word for word in embedded_lens.tokenizer.get_vocab() if word.isalpha())
    tokenizer = KINDS[kind](lines(words, 300) + ["el niño comió más y la niña bebió agua"] * 30)
    sizes = {**tiny.ROBERTA, "vocab_size": len(tokenizer)}
    lens = bl.Lens(tiny.shaken(tf.RobertaForMaskedLM(tf.RobertaConfig(**sizes)), scale=0.15), tokenizer)
    texts = ["el <mask> comió", "<mask> comió", "el n<mask>", "el 猫 <unk> <mask>, 猫<mask>"]
    names = [*("niño", "ĠniÃ±o", "▁niño", "el", "##el", "␣el", "Ġel", "▁el", "niñoz"), tokenizer.mask_token]
    questions: list[dict[str, Any]] = []
    for text in texts:
        questions += [{"op": "trace", "text": text, "text_pair": ""}, {"op": "answers", "trace": "last"}]
        questions += [{"op": "find_target", "trace": "last", "text": name} for name in names]
        questions += [{"op": "answers", "trace": "last", "target": name} for name in names]
    same, found = engine.asked(lens, "el niño", questions, tmp_path)
    of_text = len(questions) // len(texts)
    for n, text in enumerate(texts):
        trace = same.trace(text)
        show, told, *others = found[n * of_text : (n + 1) * of_text]
        labels = [badge["label"] for badge in badges(trace.report, tokenizer.mask_token)]
        assert [badge["label"] for badge in show[2]["header"]["badges"]][:-1] == labels
        assert show[2]["header"]["queries"]["tokens"] == trace.display_tokens
        assert told[1]["choices"] == answers.answers(trace)[0]["choices"]
        assert not {"Ġ", "▁"} & {letter for name in told[1]["choices"] for letter in name}
        typed, about = others[: len(names)], others[len(names) :]
        for name, (error, given, *_) in zip(names, typed, strict=True):
            why, own = outcome(answers.find_target, trace, name)
            assert (error, given) == (why.split(" Near it")[0], own)
        for name, (error, given, *_) in zip(names, about, strict=True):
            why, own = outcome(answers.answers, trace, name)
            assert error == why
            for row, [place, shown, before, _] in zip(given["rows"], own["rows"], strict=True) if own else ():
                assert row[:2] == [place, shown] and row[2] == pytest.approx(before, abs=1e-5)
    assert labels == (["2 unknown", "special token from your text"] if kind == "XLM-R" else labels)


def is_newer_in(text: str) -> bool:
    return any(map(is_newer, text))


def test_a_page_says_what_it_does_not_read_as_python_does(embedded_lens: Any):
    tokenizer = tiny.wordpiece()
    tokenizer.backend_tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    with pytest.raises(ExportError, match="does not read texts as this model's tokenizer does: save it without live"):
        tokenizer_files(tokenizer)
    assert RARE not in live.live(embedded_lens.trace("a")).digits


# Settings of a tokenizer's file: what it is changed to

File = dict[str, Any]
Change = Callable[[File], Any]


def put(value: Any, *path: Any) -> Change:
    """Sets what is at a path of the file."""

    def change(file: File) -> None:
        for name in path[:-1]:
            file = file[name]
        file[path[-1]] = value

    return change


def added(*contents: str, **settings: Any) -> Change:
    """Tokens of its own."""

    def change(file: File) -> None:
        first = max([len(file["model"]["vocab"]) - 1, *(token["id"] for token in file["added_tokens"])]) + 1
        plain = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized", "special"), False)
        tokens = enumerate(contents or ("foobar",), first)
        file["added_tokens"] += [{"id": number, "content": content, **plain, **settings} for number, content in tokens]

    return change


def mask(**settings: Any) -> Change:
    def change(file: File) -> None:
        [token] = [token for token in file["added_tokens"] if "mask" in token["content"].lower()]
        token.update(settings)

    return change


def template(single: str, pair: str) -> Change:
    """A letter for each piece: c and s are [CLS] and [SEP], a capital one has type 1."""

    def pieces_of(letters: str) -> list[dict[str, Any]]:
        names = {"c": "[CLS]", "s": "[SEP]"}
        return [
            {"SpecialToken": {"id": names[one.lower()], "type_id": int(one.isupper())}}
            if one.lower() in names
            else {"Sequence": {"id": "AB"["aAbB".index(one) // 2], "type_id": int(one.isupper())}}
            for one in letters
        ]

    def change(file: File) -> None:
        file["post_processor"] |= {"single": pieces_of(single), "pair": pieces_of(pair)}

    return change


SPECIAL = {"byte level": ("<s>", "</s>", "<pad>", "<unk>", "<mask>")}
SPECIAL["XLM-R"] = SPECIAL["byte level"]
SPECIAL["ALBERT"] = ("[CLS]", "[SEP]", "<pad>", "<unk>", "[MASK]")
SPECIAL["BERT"] = ("[CLS]", "[SEP]", "[PAD]", "[UNK]", "[MASK]")
TOKENS: list[Change] = [
    *(added(), added(lstrip=True), added(rstrip=True), added(normalized=True), added("FooBar", normalized=True)),
    *(added(special=True), added("foo", "foobar", "oba", "dogs foo"), mask(lstrip=True), mask(rstrip=True)),
    *(mask(normalized=True), mask(lstrip=True, normalized=True)),
]
PRE = ("pre_tokenizer",)
META = ("pre_tokenizer", "pretokenizers", 1)
READ: dict[str, list[Change]] = {
    "BERT": [
        *TOKENS,
        *(put(False, "normalizer", name) for name in ("handle_chinese_chars", "strip_accents", "lowercase")),
        put(True, "normalizer", "strip_accents"),
        put(10, "model", "max_input_chars_per_word"),
        put("@@", "model", "continuing_subword_prefix"),
        put(None, "decoder"),
        template("CAs", "CaSbs"),
        put({"type": "BertProcessing", "sep": ["[SEP]", 102], "cls": ["[CLS]", 101]}, "post_processor"),
        put(
            {"type": "RobertaProcessing", "sep": ["[SEP]", 102], "cls": ["[CLS]", 101]}
            | {"trim_offsets": True, "add_prefix_space": False},
            "post_processor",
        ),
    ],
    "byte level": [
        *TOKENS,
        *(put(True, *PRE, "add_prefix_space"), put(False, *PRE, "trim_offsets")),
        *(put("<unk>", "model", "unk_token"), put(False, "post_processor", "trim_offsets")),
    ],
    "XLM-R": TOKENS,
    "ALBERT": TOKENS,
}
OTHERS: dict[str, list[tuple[Change, str]]] = {  # and how they are named
    "BERT": [
        (added(single_word=True), "added token with single_word = true"),
        (put(False, "normalizer", "clean_text"), "BertNormalizer with clean_text = false"),
        (template("cas", "csbsa"), "TemplateProcessing ·A· and ··B·A, where · is a special token"),
        (template("cas", "cabs"), "TemplateProcessing ·A· and ·AB·, where"),
        (template("caas", "casbs"), "TemplateProcessing ·AA· and"),
        (template("sas", "ccasb"), "TemplateProcessing ·A· and ··A·B, where"),
        (template("a", "ab"), "TemplateProcessing A and AB, where"),
        (
            put([102, 103], "post_processor", "special_tokens", "[SEP]", "ids"),
            "TemplateProcessing with [SEP] = [102, 103]",
        ),
        (put([103], "post_processor", "special_tokens", "[SEP]", "ids"), "TemplateProcessing with [SEP] = [103]"),
        (
            lambda file: put({"type": "Sequence", "processors": [file["post_processor"]]}, "post_processor")(file),
            "Sequence",
        ),
    ],
    "byte level": [
        *(
            (put(0.5, "model", "dropout"), "BPE with dropout = 0.5"),
            (put(True, "model", "fuse_unk"), "BPE with fuse_unk"),
        ),
        (put("</w>", "model", "end_of_word_suffix"), 'BPE with end_of_word_suffix = "</w>"'),
        *((put(True, "model", name), f"BPE with {name} = true") for name in ("byte_fallback", "ignore_merges")),
        (put(False, *PRE, "use_regex"), "ByteLevel with use_regex = false"),
        (put(["</s>", 4], "post_processor", "sep"), "RobertaProcessing with </s> = [4]"),
    ],
    "XLM-R": [
        *(
            (put(name, *META, "prepend_scheme"), f'Metaspace with prepend_scheme = "{name}"')
            for name in ("first", "never")
        ),
        *((put("_", *META, "replacement"), "with replacement"), (put(False, *META, "split"), "with split = false")),
        (put(True, "model", "byte_fallback"), "Unigram with byte_fallback = true"),
    ],
    "ALBERT": [
        (put({"Regex": "a+"}, "normalizer", "normalizers", 0, "pattern"), 'Replace with pattern = {"Regex":"a+"}'),
        (put("$&", "normalizer", "normalizers", 0, "content"), 'Replace with content = "$&"'),
    ],
}
HARD = [
    "a<mask>b",
    "a <mask> b",
    "<mask> <mask>",
    "  <mask>  ",
    "<mask><mask>",
    "x[MASK]y",
    "x [MASK]  y",
    "[mask] [MASK]",
]
HARD += [
    "dogs foobar dogs",
    "foobars",
    "foobar",
    "FooBar foobar",
    " foobar ",
    "a  b   c",
    "don't we've",
    "  lead",
    "trail  ",
]
HARD += [
    "a\u00a0b",
    "tab\tb",
    "new\n\nline",
    "'' ``x'' ``",
    "A.B",
    "x" * 101,
    "ab" * 60,
    "ß ẞ",
    "ﬁnance",
    "½ ⅓",
    "①",
    "Ⅷ",
]
HARD += ["１２３", "ΌΣΟΣ", "中文字", "日本語 text", "مرحبا", "שלום", "<s> </s>", "[CLS] [SEP]", "<PAD>", "##ing"]


@pytest.fixture(scope="module")
def trained(made: Any) -> Callable[[str], tuple[File, list[str]]]:
    def of(kind: str) -> tuple[File, list[str]]:
        tokenizer, corpus = made(kind)
        return json.loads(tokenizer.backend_tokenizer.to_str()), corpus

    return of


def changed(kind: str, file: File, change: Change, **settings: Any) -> Any:
    file = copy.deepcopy(file)
    change(file)
    roles = ("cls_token", "sep_token", "pad_token", "unk_token", "mask_token")
    names = ["input_ids", "attention_mask", *(["token_type_ids"] if kind in ("BERT", "byte level") else [])]
    given = dict(zip(roles, SPECIAL[kind], strict=True)) | {"model_input_names": names} | settings
    return tf.PreTrainedTokenizerFast(tokenizer_object=Tokenizer.from_str(json.dumps(file)), **given)


@pytest.mark.skipif(release < "0.23", reason="pieces of tokenizers before 0.23 keep a space more")
@pytest.mark.sampled(1)
@pytest.mark.parametrize("kind", READ)
def test_settings_that_a_page_reads_are_read_as_in_python(kind: str, trained: Any, tmp_path: Path):
    file, corpus = trained(kind)
    tokenizers = [changed(kind, file, change) for change in READ[kind]]
    singles = [line for line in corpus[:60] if not is_newer_in(line) and not is_rare(line)] + HARD
    texts = [*((line,) for line in singles), *zip(HARD, HARD[7:] + HARD[:7], strict=True)]
    out = engine.node(tmp_path, readers=[{"tokenizer": tokenizer_files(one), "texts": texts} for one in tokenizers])
    for number, (tokenizer, found) in enumerate(zip(tokenizers, out, strict=True)):
        for given, one in zip(texts, found, strict=True):
            encoding = encode(tokenizer, *given, limit=None)
            assert one["ids"] == list(encoding.input_ids), (number, given)
            assert one["words"] == [-1 if word is None else word for word in encoding.word_ids], (number, given)
            assert one["types"] == list(encoding.token_type_ids or [0] * len(encoding)), (number, given)
            for name, own in (
                ("special", encoding.special),
                ("segments", encoding.segments),
                ("pieces", encoding.tokens),
            ):
                assert one[name] == list(own), (number, given, name)


@pytest.mark.parametrize("kind", OTHERS)
def test_other_settings_are_refused_by_their_names(kind: str, trained: Any):
    file, _ = trained(kind)
    for change, name in OTHERS[kind]:
        with pytest.raises(ExportError, match=f"for its .*{re.escape(name)}.*: save it without live"):
            tokenizer_files(changed(kind, file, change))
    with pytest.raises(ExportError, match="for its setting split_special_tokens: save it without live"):
        tokenizer_files(changed(kind, file, lambda _: None, split_special_tokens=True))


def test_another_map_of_characters_is_refused(embedded_lens: Any):
    corpus = lines(sorted(word for word in embedded_lens.tokenizer.get_vocab() if word.isalpha()), 600)
    with pytest.raises(ExportError, match="with a precompiled_charsmap that makes 'a' of 'A': save it without live"):
        tokenizer_files(xlm_roberta(corpus, "nmt_nfkc_cf"))


def test_a_page_that_reads_a_hard_text_otherwise_says_so(embedded_lens: Any, tmp_path: Path):
    files = tokenizer_files(embedded_lens.tokenizer)
    assert len(files["readings"]) > 40 and any(pair for _, pair, *_ in files["readings"])
    text = files["readings"][7][0]
    files["readings"][7][2][1] += 1
    with pytest.raises(AssertionError, match=re.escape(f"its tokenizer reads “{text}” otherwise here than in Python")):
        engine.node(tmp_path, readers=[{"tokenizer": files, "texts": []}])


def test_a_mask_is_named_without_the_white_space_that_it_takes_in(trained: Any):
    file, _ = trained("byte level")
    encoding = encode(changed("byte level", file, mask(lstrip=True)), "a <mask> b", limit=None)
    assert encoding.tokens[2] == encoding.display_tokens[2] == "<mask>"
    assert encoding.report.typed_special == [{"position": 2, "token": "<mask>"}]
