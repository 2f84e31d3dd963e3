"""From text to tokens: template, words, offsets, limits, and everything that the report says about them."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from threading import Thread
from typing import Any

import pytest
import torch
import transformers as tf
from hypothesis import given, settings
from hypothesis import strategies as st

import bertlens as bl
from bertlens import Trace
from bertlens.errors import InputError
from bertlens.text.display import Spelling
from bertlens.text.encoding import Encoding, InputReport, encode, token_limit
from bertlens.text.tokenizer import resting_state
from bertlens.widgets.badges import badges
from unit import tiny


def encoded(text: Any, pair: Any = None, tokenizer: Any = None, limit: int | None = 64, **settings: Any) -> Encoding:
    return encode(tokenizer or tiny.wordpiece(), text, pair, limit=limit, **settings)


def source(encoding: Encoding, i: int) -> str | None:
    """The characters of the given text that token i stands for."""
    if encoding.offsets is None or encoding.offsets[i] is None:
        return None
    start, end = encoding.offsets[i]
    text = encoding.text_pair if encoding.segments[i] else encoding.text
    return text[start:end]


def test_template_of_a_pair() -> None:
    found = encoded("The cats", "unbelievable.")
    assert [*found.tokens] == ["[CLS]", "the", "cat", "##s", "[SEP]", "un", "##believ", "##able", ".", "[SEP]"]
    assert [*found.special] == [True, False, False, False, True, False, False, False, False, True]
    assert [*found.separators] == [False] * 4 + [True] + [False] * 4 + [True]
    assert found.segments == found.token_type_ids == (0, 0, 0, 0, 0, 1, 1, 1, 1, 1)
    assert [*found.word_ids] == [None, 0, 1, 1, None, 2, 2, 2, 3, None]
    assert [source(found, i) for i in range(10)] == [
        None, "The", "cat", "s", None, "un", "believ", "able", ".", None
    ]  # fmt: skip
    assert (found.report.n_tokens, found.report.n_pieces, found.report.n_words) == (10, 7, 4)


def test_segments_without_token_types() -> None:
    """RoBERTa's </s></s> belongs to the first text."""
    found = encoded("the cat", "it sat", tiny.roberta_like())
    assert found.token_type_ids is None or set(found.token_type_ids) == {0}
    ends = [i for i, token in enumerate(found.tokens) if token == "</s>"]
    assert len(ends) == 3 and ends[1] == ends[0] + 1
    assert [*found.segments] == [int(i > ends[1]) for i in range(len(found))]
    assert [*found.special] == [i == 0 or i in ends for i in range(len(found))]
    assert encoded("the cat", None, tiny.roberta_like()).segments == (0,) * 4


@pytest.mark.parametrize("tokenizer", [tiny.wordpiece, tiny.roberta_like])
def test_an_empty_second_text_is_none_and_one_without_tokens_has_its_end(tokenizer: Any) -> None:
    """Tokenizers add no second end for "": the only [SEP] is sentence A's."""
    alone = encoded("the cat", None, tokenizer())
    for pair in ("", []):
        found = encoded("the cat", pair, tokenizer())
        assert (found.tokens, found.segments, found.text_pair) == (alone.tokens, alone.segments, None)
    assert set(alone.segments) == {0}
    found = encoded("the cat", " ", tokenizer())
    assert found.segments[-1] == 1 and sum(found.segments) == len(found) - len(alone) - (found.tokens[0] == "<s>")


def test_no_template() -> None:
    """GPT-2 adds nothing: no special token, no separator; a pair is told apart all the same."""
    found = encoded("the cat", " it sat", tiny.gpt_like())
    assert not any(found.special) and not any(found.separators)
    second = found.segments.index(1)
    assert "".join(found.tokens[:second]).replace("Ġ", " ") == "the cat"


def test_typed_special_tokens_are_text() -> None:
    """Flagged, not masked; the template's own are told apart by position."""
    found = encoded("the [SEP] cat [MASK]", "[CLS] it [PAD] [UNK]")
    assert [t["token"] for t in found.report.typed_special] == ["[SEP]", "[MASK]", "[CLS]", "[PAD]", "[UNK]"]
    for flagged in found.report.typed_special:
        assert found.tokens[flagged["position"]] == flagged["token"]
        assert not found.special[flagged["position"]] and not found.separators[flagged["position"]]
    assert found.report.unknown == []  # "[UNK]" was typed, nothing was unknown
    assert sum(found.special) == 3
    assert "special token from your text: 2 '[SEP]'" in repr(found.report)
    typed = encoded("the </s> cat", None, tiny.roberta_like())
    assert [t["token"] for t in typed.report.typed_special] == ["</s>"] and sum(typed.special) == 2


def test_a_mask_that_was_typed_is_no_warning() -> None:
    """It is what one types on purpose; beside another special token it is flagged with it."""

    def severity(text: str) -> str:
        [badge] = [one for one in badges(encoded(text).report, "[MASK]") if one["kind"] == "typed"]
        return badge["severity"]

    assert severity("the [MASK] sat") == "info" and severity("the [MASK] sat [SEP]") == "warning"
    assert badges(encoded("the [MASK] sat").report)[0]["severity"] == "warning"


def test_unknown_pieces_with_their_text() -> None:
    found = encoded("the 日本 cat \U0001f469‍\U0001f680 " + "x" * 150)
    texts = [u["text"] for u in found.report.unknown]
    assert texts[:2] == ["日", "本"] and texts[-1] == "x" * 150
    assert "\U0001f469" in texts[2]
    for unknown in found.report.unknown:
        assert found.tokens[unknown["position"]] == "[UNK]"
        assert source(found, unknown["position"]) == unknown["text"]


@pytest.mark.parametrize(
    ("text", "lost"),
    [
        ("a\x00b", [(1, "U+0000")]),
        ("the\u200d cat", [(3, "U+200D")]),
        ("cat\ufffd", [(3, "U+FFFD")]),
        ("\u202ecat", [(0, "U+202E")]),
        ("tab\there\nand line", []),
        ("the cat", []),
    ],
)
def test_characters_without_a_token(text: str, lost: list[tuple[int, str]]) -> None:
    """What the normaliser drops is named with its place."""
    report = encoded(text).report
    assert [(c["index"], c["character"]) for c in report.without_token] == lost
    assert all(c["text"] == 0 for c in report.without_token)


def test_characters_without_a_token_in_the_second_text() -> None:
    assert encoded("cat", "a\x00").report.without_token == [{"text": 1, "index": 1, "character": "U+0000"}]


UNICODE = [
    "\U0001f469\U0001f3fd‍\U0001f4bb \U0001f1e9\U0001f1ea family \U0001f468‍\U0001f469‍\U0001f467",
    "cafe\u0301 café nai\u0308ve",
    "שלום cat עולם",
    "العربية the cat",
    "the \u202ecat\u202c sat",
    "한국어 日本語 中文",
    "a\u00a0b\u2003c",
]


@pytest.mark.parametrize("text", UNICODE)
@pytest.mark.parametrize("tokenizer", [tiny.wordpiece, tiny.roberta_like, tiny.gpt_like])
def test_unicode(text: str, tokenizer: Any) -> None:
    """One entry per token everywhere, offsets inside the text, byte-level pieces cover every character."""
    found = encoded(text, None, tokenizer(), limit=None)
    lengths = (found.tokens, found.display_tokens, found.word_ids, found.offsets, found.special, found.segments)
    assert {len(x) for x in lengths} == {len(found)}
    assert all(o is None or 0 <= o[0] <= o[1] <= len(text) for o in found.offsets)
    assert all(found.display_tokens)
    if tokenizer is not tiny.wordpiece:
        assert found.report.without_token == [] and found.report.unknown == []
        covered = {i for o in found.offsets if o for i in range(*o)}
        assert {i for i, c in enumerate(text) if not c.isspace()} <= covered


@pytest.mark.parametrize("text", ["", "   ", "\n", "\t", ".", "cat", "[UNK]", "..., ."])
def test_next_to_nothing(text: str) -> None:
    found = encoded(text)
    assert found.tokens[0] == "[CLS]" and found.tokens[-1] == "[SEP]"
    assert found.report.n_pieces == len(found) - 2
    with pytest.raises(InputError, match="no token"):
        encoded("", None, tiny.gpt_like())


@pytest.mark.parametrize("text", ["\ud800", "the \udfff cat"])
def test_lone_surrogates(text: str) -> None:
    for give in (lambda: encoded(text), lambda: encoded("cat", text), lambda: encoded(["cat", text])):
        with pytest.raises(InputError, match=r"lone surrogate U\+D[8F].*'ignore'"):
            give()
    fixed = text.encode("utf-8", "ignore").decode()  # the way out that the message names
    encoded(fixed)


@pytest.mark.parametrize("given", [None, 3, b"cat", ("cat",), ["cat", 3], [["cat"]]])
def test_what_is_not_text(given: Any) -> None:
    with pytest.raises(InputError, match="string"):
        encoded(given)


@pytest.mark.parametrize(("pieces", "fits"), [(61, True), (62, True), (63, False), (5000, False)])
def test_limit(pieces: int, fits: bool) -> None:
    """To the token; past it an error that names the limit and the two ways out, or a visible cut."""
    text = "cat " * pieces
    if fits:
        assert len(encoded(text)) == pieces + 2
        assert encoded(text, truncation=True).report.truncated == {}
        return
    with pytest.raises(InputError, match=rf"{pieces + 2} tokens.* 64[.] Shorten or split .*truncation=True"):
        encoded(text)
    cut = encoded(text, truncation=True)
    assert len(cut) == 64 and cut.tokens[-1] == "[SEP]"
    assert cut.report.truncated == {"text": pieces - 62}
    assert f"the last {pieces - 62} token" in repr(cut.report)


def test_cut_of_a_pair() -> None:
    """The longer text is cut first, and characters after the cut are not called lost."""
    cut = encoded("cat " * 30, "mat " * 100 + "\x00", truncation=True)
    assert len(cut) == 64
    assert cut.report.truncated == {"text_pair": 100 - (64 - 3 - 30)}
    assert cut.report.without_token == []
    both = encoded("cat " * 100, "mat " * 90, truncation=True)
    assert sum(both.report.truncated.values()) == 190 - 61


def test_stored_padding_and_truncation() -> None:
    """What the tokenizer's file asks for is not applied, said, and still stored afterwards."""
    tokenizer = tiny.wordpiece()
    backend = tokenizer.backend_tokenizer
    backend.enable_padding(length=40, pad_id=0, pad_token="[PAD]")
    backend.enable_truncation(max_length=6)
    before = (backend.padding, backend.truncation)
    found = encoded("the cat sat on the mat , it was very warm", None, tokenizer)
    assert len(found) == 13 and "[PAD]" not in found.tokens
    assert found.report.overridden == {"padding": before[0], "truncation": before[1]}
    assert (backend.padding, backend.truncation) == before
    with pytest.raises(InputError):
        encoded("cat " * 100, None, tokenizer)
    assert (backend.padding, backend.truncation) == before
    assert encoded("cat").report.overridden == {}


def test_the_stored_state_outlives_two_threads() -> None:
    """A thread that comes while another one has the state set aside waits, and so finds and leaves what was stored."""
    tokenizer = tiny.wordpiece()
    tokenizer.backend_tokenizer.enable_truncation(max_length=6)
    found: list[set[str]] = []
    other = Thread(target=lambda: found.append(set(encoded("the cat", None, tokenizer).report.overridden)))
    with resting_state(tokenizer):
        tokenizer.backend_tokenizer.no_truncation()
        other.start()
        other.join(0.2)
    other.join(30)
    assert found == [{"truncation"}] and tokenizer.backend_tokenizer.truncation["max_length"] == 6


def test_words_given() -> None:
    """Pre-split words keep their numbers, also empty ones and those that vanish; the second list counts on."""
    found = encoded(["the", "cats", "", "\u200d", "sat"], ["unbelievable", "."])
    assert [*found.word_ids] == [None, 0, 1, 1, 4, None, 5, 5, 5, 6, None]
    assert found.report.n_words == 7
    assert found.offsets[3] == (3, 4)  # inside its word
    assert found.report.without_token == [{"text": 0, "index": 0, "character": "U+200D"}]
    assert list(encoded(["the", ""], ["it"]).word_ids) == [None, 0, None, 2, None]
    assert found.text == "the cats  \u200d sat" and found.text_pair == "unbelievable ."


@pytest.mark.parametrize("tokenizer", [tiny.roberta_like, tiny.gpt_like])
def test_words_given_to_byte_level_tokenizers(tokenizer: Any) -> None:
    """Words stand with a space between them, as in text, and every piece knows its word."""
    words = ["the", "cats", "sat", "", "日本", "."]
    found = encoded(words, ["it", "was"], tokenizer())
    natural = encoded(" ".join(words), "it was", tokenizer())
    assert found.input_ids == natural.input_ids
    for number, word in enumerate([*words, "it", "was"]):
        own = [i for i, w in enumerate(found.word_ids) if w == number]
        pieces = "".join(found.tokens[i] for i in own)
        assert tokenizer().convert_tokens_to_string([pieces]).strip() == word
        for i in own:
            assert 0 <= found.offsets[i][0] <= found.offsets[i][1] <= len(word)


class Slow(tf.PreTrainedTokenizer):
    """A tokenizer in Python: it knows neither offsets nor words."""

    def __init__(self, **settings: Any):
        self.vocabulary = {token: i for i, token in enumerate(tiny.VOCABULARY)}
        names = {f"{name.lower()}_token": f"[{name}]" for name in ("PAD", "UNK", "CLS", "SEP", "MASK")}
        super().__init__(**names, **settings)

    vocab_size = property(lambda self: len(self.vocabulary))

    def get_vocab(self) -> dict[str, int]:
        return dict(self.vocabulary)

    def _tokenize(self, text: str) -> list[str]:
        return [piece for word in text.lower().split() for piece in ([word[:-1], "##s"] if word[-1] == "s" else [word])]

    def _convert_token_to_id(self, token: str) -> int:
        return self.vocabulary.get(token, 1)

    def _convert_id_to_token(self, index: int) -> str:
        return tiny.VOCABULARY[index]

    def build_inputs_with_special_tokens(self, a: list[int], b: list[int] | None = None) -> list[int]:
        return [2, *a, 3] if b is None else [2, *a, 3, *b, 3]


def test_slow_tokenizers() -> None:
    """Pieces stand for themselves, and the report says what is not known."""
    found = encoded("the cats", "it sat", Slow())
    assert [*found.tokens] == ["[CLS]", "the", "cat", "##s", "[SEP]", "it", "sat", "[SEP]"]
    assert [*found.special] == [True, False, False, False, True, False, False, True]
    assert [*found.segments] == [0, 0, 0, 0, 0, 1, 1, 1]
    assert found.offsets is None and list(found.word_ids) == [None, 0, 1, 2, None, 3, 4, None]
    report = found.report
    assert not report.offsets_known and not report.words_known and report.n_words is None
    assert "no offsets" in repr(report) and "no words" in repr(report)
    typed = encoded("the [SEP] cat zebra", None, Slow())
    assert [*typed.special] == [True, False, False, False, False, True]
    assert [t["position"] for t in typed.report.typed_special] == [2]
    assert typed.report.unknown == [{"position": 4, "text": None}]
    assert encoded("", None, Slow()).special == (True, True)
    cut = encoded("cat " * 100, "mat " * 20, Slow(), truncation=True)
    assert len(cut) == 64 and cut.report.truncated == {"text": 100 - 41}
    assert [*cut.segments] == [0] * 43 + [1] * 21


def test_slow_tokenizers_with_words_given() -> None:
    found = encoded(["the", "cats", "sat"], ["it"], Slow())
    assert [*found.word_ids] == [None, 0, 1, 1, 2, None, 3, None]
    assert found.report.words_known and not found.report.offsets_known


def test_one_word_for_everything_is_not_believed() -> None:
    """Tokenizers without a pre-tokenizer call the whole text one word: white space counts instead."""
    from tokenizers import Tokenizer, decoders, models, normalizers

    pieces = ["▁", "▁the", "▁cat", "s", "▁sat"]
    tokenizer = Tokenizer(models.Unigram([("<unk>", -10.0)] + [(piece, -1.0) for piece in pieces], unk_id=0))
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    tokenizer.decoder = decoders.Metaspace()
    found = encoded("the cats sat", None, tf.PreTrainedTokenizerFast(tokenizer_object=tokenizer, unk_token="<unk>"))
    assert [*found.tokens] == ["▁the", "▁cat", "s", "▁sat"]
    assert [*found.word_ids] == [0, 1, 1, 2] and found.report.n_words == 3
    assert [*found.display_tokens] == ["the", "cat", "s", "sat"]


def test_tokens_for_people() -> None:
    assert [*map(Spelling().display, ["<img src=x onerror=1>", "</script>"])] == ["<img src=x onerror=1>", "</script>"]
    assert encoded("the café", None, tiny.roberta_like()).display_tokens[-3:-1] == ("<0xC3>", "<0xA9>")


def test_limits_of_models() -> None:
    """Positions of the model or the tokenizer's own maximum, whichever is less; RoBERTa counts from 2."""
    for name, limit in (("bert", 64), ("roberta", 64), ("camembert", 64), ("distilbert", 64), ("gpt2", 64)):
        assert token_limit(tiny.wordpiece(), tiny.FAMILIES[name].model()) == limit
    assert token_limit(tiny.wordpiece(model_max_length=20), tiny.bert()) == 20
    assert token_limit(tiny.wordpiece(), tiny.FAMILIES["esm, absolute positions"].model()) == 63
    assert token_limit(tiny.wordpiece(), (tiny.FAMILIES | tiny.OUTSIDE)["t5 encoder"].model()) is None


@pytest.mark.parametrize("name", ["bert", "roberta", "distilbert", "gpt2", "mobilebert", "esm, absolute positions"])
def test_the_limit_is_the_models(name: str) -> None:
    """The model itself runs at the limit and breaks one token later."""
    model = tiny.FAMILIES[name].model().eval()
    limit = token_limit(tiny.wordpiece(), model)
    model(input_ids=torch.full((1, limit), 5))
    with pytest.raises((IndexError, RuntimeError)):
        model(input_ids=torch.full((1, limit + 1), 5))


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: set[str] = set()
        self.text = ""

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.found.add(tag)

    def handle_data(self, data: str) -> None:
        self.text += data


def test_report_as_html_and_data() -> None:
    """Markup in a text stays text; the report is plain JSON."""
    bad = InputReport(
        n_tokens=1,
        n_pieces=1,
        n_words=1,
        limit=None,
        unknown=[{"position": 0, "text": "<img src=x onerror=alert(1)>"}],
        notes=["</ul><script>x</script>"],
    )
    parser = Tags()
    parser.feed(bad._repr_html_())
    assert parser.found == {"ul", "li"}
    assert "<img src=x onerror=alert(1)>" in parser.text and "<script>" in parser.text
    assert json.loads(json.dumps(bad.to_dict(), allow_nan=False))["unknown"][0]["position"] == 0
    plain = encoded("the cat")
    assert repr(plain.report) == "InputReport\n  4 tokens of at most 64: 2 pieces of text in 2 words"


# What a tokenizer's own setting cuts, and what may be too much


@pytest.mark.parametrize("tokenizer", [tiny.wordpiece, tiny.roberta_like, Slow])
def test_a_tokenizer_that_cuts_on_the_left(tokenizer: Any) -> None:
    """The last words are left, the report says that the first went, and none of those cut off are called lost."""
    left = tokenizer(truncation_side="left")
    text = "\u200d mat " * 30 + "it was very \x00 warm"
    cut = encoded(text, None, left, limit=12, truncation=True)
    whole = encoded(text, None, left, limit=None)
    assert cut.tokens[1:-1] == whole.tokens[-11:-1] and cut.special == (True, *[False] * 10, True)
    dropped = len(whole) - 12
    assert cut.report.truncated == {"text": dropped} and cut.report.truncated_side == "left"
    assert f"cut: the first {dropped} tokens of text dropped" in cut.report.lines()
    [badge] = [badge for badge in badges(cut.report) if badge["kind"] == "truncated"]
    assert f"dropped: the first {dropped} of text." in badge["detail"]
    last = [character["index"] for character in cut.report.without_token]
    assert all(index >= (cut.offsets or whole.offsets or ((0, 0),) * 2)[1][0] for index in last)
    if cut.report.words_known:
        assert cut.report.n_words == len({word for word in cut.word_ids if word is not None})
    pair = encoded("mat " * 30, "it was warm", left, limit=20, truncation=True)
    both = encoded("mat " * 30, "it was warm", left, limit=None)
    assert pair.tokens[-5:] == both.tokens[-5:] and pair.report.truncated == {"text": len(both) - 20}
    assert pair.segments == both.segments[:1] + both.segments[len(both) - 19 :]


def test_most_of_a_text_unknown_is_said_first() -> None:
    """More than half: the tokenizer of another model, or another language."""
    for text, most in (("日本 語 cat", True), ("日 cat", False), ("日 本 語 cat sat mat", False), ("", False)):
        report = encoded(text).report
        kinds = {badge["kind"]: badge for badge in badges(report)}
        assert ("mostly_unknown" in kinds) is most, text
        assert any("tokens of text are unknown" in line for line in report.lines()) is most
        if most:
            badge = badges(report)[0]
            assert badge["severity"] == "warning"
            assert badge["label"] == f"{len(report.unknown)} of {report.n_pieces} tokens unknown"


def test_too_many_characters_are_refused_before_they_are_tokenised() -> None:
    class Counting:
        def __getattr__(self, name: str) -> Any:
            raise AssertionError("the tokenizer was asked")

    for text, pair in (("x" * 1_000_001, None), ("cat", "x" * 1_000_001), (["word" * 10] * 30_000, None)):
        with pytest.raises(InputError, match=r"is 1,[02]00,00[01] characters long, more than the 1,000,000"):
            encode(Counting(), text, pair, limit=64, truncation=True)


# Whatever is given: an encoding that holds together, or an InputError

characters = st.characters(exclude_categories=[]) | st.sampled_from("ca t\u200d\u202e\ud800\x00日é'.[]#")
strings = st.text(characters, max_size=12) | st.sampled_from(["the cat", "[SEP]", "[UNK]", " ", "", "cats sat", "##s"])
given_texts = strings | st.lists(strings, max_size=5)


@settings(max_examples=300, deadline=None)
@given(
    text=given_texts,
    pair=st.none() | given_texts,
    which=st.sampled_from([tiny.wordpiece, tiny.roberta_like, tiny.gpt_like, Slow]),
    limit=st.none() | st.integers(5, 20),
    cut=st.booleans(),
    side=st.sampled_from(["left", "right"]),
)
def test_words_and_texts_of_any_kind(text: Any, pair: Any, which: Any, limit: Any, cut: bool, side: str) -> None:
    if pair is not None and type(pair) is not type(text):
        pair = None
    tokenizer = tokenizers.setdefault((which, side), which(truncation_side=side))
    try:
        found = encode(tokenizer, text, pair, limit=limit, truncation=cut)
    except InputError as error:
        found, said = None, str(error)
    if found is None:
        assert 0 < len(said) < 300 and "\n" not in said
        return
    n = len(found.input_ids)
    assert n > 0 and (limit is None or n <= limit)
    for entries in (
        found.tokens,
        found.display_tokens,
        found.word_ids,
        found.special,
        found.segments,
        found.separators,
    ):
        assert len(entries) == n
    assert all(isinstance(token, str) and token for token in found.display_tokens)
    assert list(found.segments) == sorted(found.segments)
    texts = [text] if not pair else [text, pair]
    if len(texts) == 1:
        assert set(found.segments) == {0}
    words = [word for word in found.word_ids if word is not None]
    assert words == sorted(words)
    if isinstance(text, list) and found.report.words_known:
        assert set(words) <= set(range(sum(map(len, texts))))
    if found.offsets is not None:
        every = [*texts[0], *(texts[1] if len(texts) > 1 else [])] if isinstance(text, list) else None
        for position, span in enumerate(found.offsets):
            assert (span is None) == found.special[position]
            if span is not None:
                word = found.word_ids[position]
                source = every[word] if every is not None else texts[found.segments[position]]
                assert 0 <= span[0] <= span[1] <= len(source)
    report = found.report
    assert report.n_tokens == n and report.n_pieces == n - sum(found.special)
    assert bool(report.truncated) <= cut
    json.dumps(report.to_dict())
    for badge in badges(report):
        assert badge["label"] and badge["detail"]


tokenizers: dict[Any, Any] = {}


@settings(max_examples=150, deadline=None)
@given(st.lists(strings, min_size=1, max_size=6), st.booleans())
def test_tokens_of_any_kind(tokens: list[str], shown: bool) -> None:
    """Named tokens of given maps: shown, exported, asked for."""
    n = len(tokens)
    trace = Trace.from_attentions(torch.full((1, 2, n, n), 1 / n), tokens)
    assert trace.tokens == tokens and len(trace.display_tokens) == n
    if shown:
        view = trace.explore()
        json.dumps(view.overview["header"], allow_nan=False)
        view.to_html().encode()
        view._repr_mimebundle_()


def test_nothing_that_is_asked_leaves_another_padding_or_truncation_stored() -> None:
    """A view of a masked word at the start, a target by its word, labels of a task, what a file holds of the model."""
    tokenizer = tiny.wordpiece()
    backend = tokenizer.backend_tokenizer
    backend.enable_padding(length=40, pad_id=0, pad_token="[PAD]")
    backend.enable_truncation(50)
    stored = backend.padding, backend.truncation
    lens = bl.Lens(tiny.shaken(tf.BertForMaskedLM(tf.BertConfig(**tiny.BERT))), tokenizer)
    trace = lens.trace("[MASK] sat on the mat")
    for ask in (
        trace.explore,
        lambda: bl.whatif.sweep(trace, bl.whatif.probability("cat")),
        lambda: bl.task(lens, [("the [MASK] sat", "cat"), ("the [MASK] was", "mat")], progress=False).losses,
        lens.borrowed.identity,
    ):
        ask()
        assert (backend.padding, backend.truncation) == stored
