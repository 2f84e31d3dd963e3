"""A token as a person reads it, whichever tokenizer wrote it; and which tokens are unknown."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import transformers as tf
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

import bertlens as bl
from bertlens import whatif
from bertlens.lessons.facts import words_of
from bertlens.measures import sources
from bertlens.measures.answer_words import word_names, word_number
from bertlens.plots.grid import shown_grid
from bertlens.tasks.kinds.masked_words import Words
from bertlens.text.display import Spelling, letters_of, names_of, spelling_in, spelling_of, unknown_id, word_of
from bertlens.text.encoding import encode
from bertlens.whatif.swept_numbers import swept_numbers
from bertlens.whatif.targets import named_by
from bertlens.widgets.badges import badges
from unit import tiny

SPANISH = ["El niño comió más y bebió agua.", "La niña vio el río y el niño comió pan.", "un sueño, ¿qué más?"] * 20
NAMES = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", "pad_token": "<pad>", "mask_token": "<mask>"}
MASK = tf.AddedToken("<mask>", lstrip=True, special=True)


def trained(kind: str, texts: list[str] = SPANISH, **settings: Any) -> tf.PreTrainedTokenizerFast:
    """Byte-level as RoBERTa's, Unigram as XLM-R's, or WordPiece as BERT's with case."""
    special = [*NAMES.values()]
    if kind == "bytes":
        tokenizer = Tokenizer(models.BPE())
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        tokenizer.decoder = decoders.ByteLevel()
        alphabet = pre_tokenizers.ByteLevel.alphabet()
        trainer: Any = trainers.BpeTrainer(
            vocab_size=400, special_tokens=special, initial_alphabet=alphabet, show_progress=False
        )
    elif kind == "unigram":
        words = ["▁", *(f"▁{word}" for text in texts for word in text.split()), "▁niño", *sorted(set("".join(texts)))]
        pieces = [(name, 0.0) for name in special] + [(word, -len(word) / 9) for word in dict.fromkeys(words)]
        tokenizer = Tokenizer(models.Unigram(pieces, special.index("<unk>")))
        tokenizer.normalizer = normalizers.NFKC()
        tokenizer.pre_tokenizer, tokenizer.decoder = pre_tokenizers.Metaspace(), decoders.Metaspace()
        tokenizer.add_special_tokens(special)
        trainer = None
    else:
        tokenizer = Tokenizer(models.WordPiece(unk_token="<unk>"))
        tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        tokenizer.decoder = decoders.WordPiece()
        trainer = trainers.WordPieceTrainer(vocab_size=120, special_tokens=special, show_progress=False)
    if trainer is not None:
        tokenizer.train_from_iterator(texts, trainer)
    start, end = (tokenizer.token_to_id(name) for name in ("<s>", "</s>"))
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A </s> $B </s>", special_tokens=[("<s>", start), ("</s>", end)]
    )
    return tf.PreTrainedTokenizerFast(tokenizer_object=tokenizer, **NAMES | {"mask_token": MASK} | settings)


def lens_of(tokenizer: Any) -> bl.Lens:
    config = tf.BertConfig(vocab_size=len(tokenizer), **tiny.SIZE, max_position_embeddings=64)
    return bl.Lens(tiny.shaken(tf.BertForMaskedLM(config)), tokenizer)


def answered(tokenizer: Any, text: str, token: str) -> bl.Trace:
    """A run whose model answers with one token above all."""
    lens = lens_of(tokenizer)
    with torch.no_grad():
        lens.model.cls.predictions.bias[tokenizer.convert_tokens_to_ids(token)] += 200
    return lens.trace(text)


@pytest.fixture(scope="module")
def bytes_tokenizer() -> Any:
    return trained("bytes")


@pytest.fixture(scope="module")
def unigram() -> Any:
    return trained("unigram")


# Unknown


@pytest.mark.parametrize("setting", [{}, {"unk_token": None}])
def test_a_piece_that_is_named_by_its_letters_is_unknown(setting: dict[str, Any]) -> None:
    """As Unigram names it: XLM-R, CamemBERT, ALBERT, T5, mBART, BigBird and XLNet do so."""
    tokenizer = trained("unigram", **setting)
    encoding = encode(tokenizer, "el 猫 niño 💻💻", limit=None)
    report = encoding.report
    assert [unknown["text"] for unknown in report.unknown] == ["猫", "💻💻"]
    assert [encoding.tokens[unknown["position"]] for unknown in report.unknown] == ["猫", "💻💻"]
    assert report.typed_special == []
    ids = zip(encoding.input_ids, encoding.tokens, strict=True)
    assert all((number == 2) == (token in ("猫", "💻💻")) for number, token in ids)


def test_a_typed_unknown_token_is_a_special_token(unigram: Any) -> None:
    for tokenizer, name in ((unigram, "<unk>"), (tiny.wordpiece(), "[UNK]")):
        report = encode(tokenizer, f"a {name} 猫", limit=None).report
        assert [special["token"] for special in report.typed_special] == [name]
        assert [unknown["text"] for unknown in report.unknown] == ["猫"]


def test_the_unknown_id_is_that_of_the_model_where_the_tokenizer_names_none(unigram: Any, bytes_tokenizer: Any) -> None:
    assert unknown_id(unigram) == unknown_id(trained("unigram", unk_token=None)) == 2
    assert unknown_id(trained("wordpiece", unk_token=None)) == 2
    assert unknown_id(trained("bytes", unk_token=None)) is None
    bare = Tokenizer(models.WordPiece({"a": 0}, unk_token="[UNK]"))
    assert unknown_id(tf.PreTrainedTokenizerFast(tokenizer_object=bare)) is None


def test_the_report_and_the_badges_count_unknown_tokens(unigram: Any) -> None:
    trace = lens_of(unigram).trace("el 猫 niño")
    assert "unknown to the tokenizer: " in repr(trace.report) and "'猫'" in repr(trace.report)
    assert [badge["label"] for badge in badges(trace.report)] == ["1 unknown", "words without blanks"]


# One display


def test_display_is_the_text_in_each_spelling() -> None:
    cases = {
        Spelling(True, "Ġ", added=frozenset({"café"})): {
            "ĠniÃ±o": "niño",
            "niÃ±o": "niño",
            "Ġ": "␣",
            "ĠĠ": " ",
            "Ċ": "\n",
            "ðŁ": "<0xF0><0x9F>",
            "##": "##",
            "##x": "##x",
            "café": "café",
            "猫": "猫",
        },
        Spelling(False, "▁"): {"▁niño": "niño", "▁": "␣", "ni▁ño": "ni ño", "##x": "##x", "ĠorÄ¡": "ĠorÄ¡"},
        Spelling(False, "", "##"): {"##s": "##s", "Ġorġ": "Ġorġ", "▁": "▁", "x</w>": "x</w>", "": "␣", " a": " a"},
        Spelling(end="</w>"): {"cat</w>": "cat", "cat": "cat"},
    }
    for spelling, tokens in cases.items():
        assert {token: spelling.display(token) for token in tokens} == tokens


def test_a_tokenizer_spells_as_its_steps_do(bytes_tokenizer: Any, unigram: Any) -> None:
    def signs(tokenizer: Any) -> tuple[Any, ...]:
        spelling = spelling_of(tokenizer)
        return spelling.has_bytes, spelling.blank, spelling.continuation, spelling.end

    assert signs(bytes_tokenizer) == (True, "Ġ", "", "")
    assert signs(unigram) == (False, "▁", "", "")
    assert signs(tiny.wordpiece()) == (False, "", "##", "")
    gemma = Tokenizer(models.BPE({"a": 0, "▁a": 1}, [], byte_fallback=True))
    gemma.normalizer = normalizers.Replace(" ", "▁")
    assert signs(tf.PreTrainedTokenizerFast(tokenizer_object=gemma)) == (False, "▁", "", "")
    clip = Tokenizer(models.BPE({"a": 0, "a</w>": 1}, [], end_of_word_suffix="</w>"))
    clip.pre_tokenizer = pre_tokenizers.Whitespace()
    assert signs(tf.PreTrainedTokenizerFast(tokenizer_object=clip)) == (False, "", "", "</w>")


@pytest.mark.parametrize("kind", ["bytes", "unigram", "wordpiece"])
def test_displayed_tokens_are_the_letters_of_their_text(kind: str) -> None:
    """Against the tokenizer's own offsets."""
    tokenizer, text = trained(kind), SPANISH[1]
    encoding = encode(tokenizer, text, limit=None)
    for token, offsets, special in zip(encoding.display_tokens, encoding.offsets or (), encoding.special, strict=True):
        if not special and offsets and token != "␣" and not token.startswith("<0x"):
            assert letters_of(token, encoding.continuation) == text[slice(*offsets)].strip()


def test_letters_of_other_scripts_are_no_signs() -> None:
    """Ġ is a letter of Maltese, ## of Markdown; neither is a sign but in the tokenizers that write it."""
    maltese = tf.PreTrainedTokenizerFast(tokenizer_object=_words(["Ġorġ", "u", "##"]), unk_token="<unk>")
    assert encode(maltese, "Ġorġ u ##", limit=None).display_tokens == ("Ġorġ", "u", "##")
    markdown = trained("bytes", ["## Title ##Title"] * 20)
    encoding = encode(markdown, "x ##Title", limit=None)
    assert encoding.continuation == "" and "##" in encoding.display_tokens[2]
    assert "".join(encoding.display_tokens[2:-1]) == word_of(encoding.display_tokens[2:-1], "") == "##Title"


def _words(words: list[str]) -> Tokenizer:
    tokenizer = Tokenizer(models.WordLevel({word: n for n, word in enumerate([*words, "<unk>"])}, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return tokenizer


def test_hash_signs_of_a_text_stay_in_its_words() -> None:
    """In the unit of a figure, in Compare, in a lesson and in the view: of a tokenizer without continuations."""
    letters = {
        letter: n for n, letter in enumerate(["<s>", "</s>", "<unk>", "<pad>", "<mask>", *"abcĠ#", "##", "##b", "##c"])
    }
    tokenizer = tf.PreTrainedTokenizerFast(
        tokenizer_object=Tokenizer(models.BPE(letters, [("#", "#"), ("##", "b"), ("##", "c")])), **NAMES
    )
    tokenizer.backend_tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]
    )
    trace = lens_of(tokenizer).trace("a##b ##c")
    words = [label for label, _ in words_of(trace)]
    assert words == ["a##b", "##c"]
    assert [unit.label for unit in shown_grid(trace, 0, 0, "weight", units="words").rows] == words


def test_given_tokens_are_spelled_as_they_look() -> None:
    def shown(*tokens: str) -> list[str]:
        return [*map(spelling_in(tokens).display, tokens)]

    assert shown("<s>", "Ġel", "ĠniÃ±o", "</s>") == ["<s>", "el", "niño", "</s>"]
    assert shown("▁el", "▁niño", "s") == ["el", "niño", "s"]
    assert shown("[CLS]", "niño", "##s") == ["[CLS]", "niño", "##s"]
    assert shown("Ġcat", "niño", "猫") == ["cat", "niño", "猫"]
    assert spelling_in(["a", "##s"]).continuation == "##" and spelling_in(["Ġa", "##s"]).continuation == ""


# Answers


CASES = {"bytes": "ĠniÃ±o", "unigram": "▁niño", "wordpiece": "niño"}


@pytest.mark.parametrize("kind", CASES)
def test_answers_are_shown_as_people_write_them_everywhere(kind: str) -> None:
    tokenizer, raw = trained(kind), CASES[kind]
    number = tokenizer.convert_tokens_to_ids(raw)
    assert number != tokenizer.unk_token_id
    trace = answered(tokenizer, "El <mask> comió más.", raw)
    [mask] = [n for n, token in enumerate(trace.tokens) if token == "<mask>"]
    logit = float(trace.output.logits[0, mask, number])
    table = trace.predictions(k=3)
    assert table["token"][0] == "niño"
    assert whatif.answers(trace).rows[0].name == "niño"
    assert {whatif.logit(name)(trace) for name in ("niño", raw, number)} == {logit}
    for name in ("niño", raw, number):
        [lead, *_] = whatif.answers(trace, target=name).rows
        assert (lead.name, lead.before) == ("niño", table["probability"][0])
    assert named_by(trace, "niño") == named_by(trace, raw) == "niño"
    assert swept_numbers(trace)["probability"].label == "probability of “niño”"
    both = bl.compare(trace, trace).answers()
    assert both.rows[0].name == "niño" and "“niño” in both" in both.said


@pytest.mark.parametrize("kind", CASES)
@pytest.mark.parametrize("text", ["El <mask> comió.", "<mask> comió.", "com<mask> más", "<mask><mask> y <mask>"])
def test_what_is_shown_names_the_token_at_every_place(kind: str, text: str) -> None:
    """Of two tokens that are shown alike, "Ġe" and "e", no name that is read off is the other's."""
    tokenizer = trained(kind)
    trace = lens_of(tokenizer).trace(text)
    tokens = tokenizer.convert_ids_to_tokens(range(len(tokenizer)))
    for position, rows in trace.predictions(k=len(tokenizer)).groupby("position"):
        assert rows["token"].is_unique
        order = [word_number(trace, name, position) for name in rows["token"]]
        assert rows["logit"].tolist() == trace.output.logits[0, position, order].tolist()
        for number, token in enumerate(tokens):
            if token.startswith(("Ġ", "▁", "##")):  # as the tokenizer writes it, and no other is shown so
                assert word_number(trace, token, position) == number
        name, logit = rows["token"].iloc[1], rows["logit"].iloc[1]
        assert whatif.logit(name, position)(trace) == logit
        assert whatif.logit(name, position).reading(trace) is not None
        assert sources.logit(trace, position, name).model == pytest.approx(logit)


def test_the_word_is_the_token_that_would_stand_at_the_place(bytes_tokenizer: Any) -> None:
    """ "y" is "Ġy" behind a blank, and "y" at the beginning and within a word; the other has a sign."""
    number = bytes_tokenizer.convert_tokens_to_ids
    for text, word, other in (("un <mask>", "Ġy", "y"), ("<mask> y", "y", "Ġy"), ("un<mask>", "y", "Ġy")):
        trace = answered(bytes_tokenizer, text, word)
        [(position, name)] = trace.predictions(k=1)[["position", "token"]].itertuples(index=False)
        names = word_names(trace, position, len(bytes_tokenizer))
        assert names[number(word)] == name == "y"
        assert names[number(other)] == ("##y" if other == "y" else "␣y")


def test_names_are_made_again_when_tokens_are_added() -> None:
    tokenizer = trained("bytes")
    assert names_of(tokenizer) is names_of(tokenizer)
    assert names_of(tokenizer).number("café", True) is None
    tokenizer.add_tokens(["café"])
    assert names_of(tokenizer).number("café", True) == len(tokenizer) - 1
    assert names_of(tokenizer).name(len(tokenizer), True) == f"(row {len(tokenizer)}, no token)"


def test_rows_beyond_the_vocabulary_are_told_in_every_list() -> None:
    """Models are padded to a multiple of 64 rows; a row that no token has may answer."""
    tokenizer = tiny.wordpiece()
    row = len(tokenizer) + 3
    torch.manual_seed(0)
    model: Any = tiny.shaken(tf.BertForMaskedLM(tf.BertConfig(**tiny.BERT | {"vocab_size": row + 2})))
    with torch.no_grad():
        model.cls.predictions.bias[row] += 50
    lens = bl.Lens(model, tokenizer)
    trace, other = lens.trace("the [MASK] sat"), lens.trace("the [MASK] sat on the mat")
    name = f"(row {row}, no token)"
    assert trace.predictions(k=2)["token"][0] == name
    assert whatif.answers(trace).rows[0].name == name
    both = bl.compare(trace, other).answers()
    assert both.rows[0].name == name and name in both.said


def test_a_bare_blank_is_no_letter_of_the_word_behind_it() -> None:
    """XLM-R's tokenizers have it as a piece of its own where the word is not one with it."""
    assert word_of(["␣", "สุนัข"], "") == "สุนัข" and word_of(["␣", "␣", "un", "##fit"], "##") == "unfit"
    assert word_of(["␣"], "") == "␣" and word_of(["a", "␣"], "") == "a␣" and word_of([], "") == ""


def test_a_token_has_the_letters_of_the_text_where_its_tokenizer_writes_them_otherwise() -> None:
    """By Unicode's NFKC alone; what is put in lower case or loses an accent is shown as the model reads it."""
    tokenizer = tiny.wordpiece()
    for steps, text, shown in (
        ([normalizers.NFKC()], "ทำ，ﬁt … ｆull", ["ทำ", "，", "ﬁt", ".", ".", ".", "ｆull"]),
        ([normalizers.NFC()], "ทำ，ﬁt e\u0301", ["ทำ", "，", "ﬁt", "e\u0301"]),
        ([normalizers.NFKD(), normalizers.StripAccents(), normalizers.Lowercase()], "Café ﬁt", ["cafe", "ﬁt"]),
    ):
        tokenizer.backend_tokenizer.normalizer = normalizers.Sequence(steps)
        words = pre_tokenizers.BertPreTokenizer().pre_tokenize_str(normalizers.Sequence(steps).normalize_str(text))
        tokenizer.backend_tokenizer.model = models.WordLevel(
            {word: n for n, word in enumerate([*tokenizer.all_special_tokens, *{one for one, _ in words}])},
            unk_token=tokenizer.unk_token,
        )
        found = encode(tokenizer, text, limit=None)
        own = [token for token, special in zip(found.display_tokens, found.special, strict=True) if not special]
        assert own == shown


def test_a_word_of_a_task_is_shown_as_people_write_it(bytes_tokenizer: Any) -> None:
    kind = Words(lens_of(bytes_tokenizer))
    assert kind.said(bytes_tokenizer.convert_tokens_to_ids("ĠniÃ±o")) == "niño"
    with pytest.raises(bl.InputError, match="is no one token of the model but ␣ x y z"):
        kind._token("row 1", "xyz")  # private: the sentence of one label


def test_what_is_near_is_shown_as_people_write_it(bytes_tokenizer: Any) -> None:
    trace = lens_of(bytes_tokenizer).trace("un <mask>")
    with pytest.raises(bl.InputError, match=r"it is 2 tokens \(niño z\), not one .* Near it: niño") as caught:
        named_by(trace, "niñoz")
    assert "Ã" not in str(caught.value) and "Ġ" not in str(caught.value)
