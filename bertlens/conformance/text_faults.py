"""Faults of the text: other ids than the user's tokenizer gives, made with a copy of it or from another text."""

from __future__ import annotations

import copy
import html
import json
import unicodedata
from collections.abc import Callable
from functools import cached_property
from typing import Any

from ..base.locks import locked
from ..base.quotes import quotation
from ..lens import Lens
from ..text.tokenizer import resting_state
from .hypothesis import TEXT, Fault

LIMITS = (64, 128, 254, 256, 384, 510, 512)
BGE = "Represent this sentence for searching relevant passages: "
PREFIXES = ("query: ", "passage: ", "search_document: ", "search_query: ", BGE)
QUOTES = {"“": '"', "”": '"', "’": "'", "–": "-"}


class Reader:
    """A tokenizer as the lens reads with it: with its prompt and its limit."""

    def __init__(self, lens: Lens, task: str | None = None, prompt_name: str | None = None):
        self.lens, self.tokenizer = lens, lens.tokenizer
        self.prompt = lens.sentences.prompt(task, prompt_name)
        self.capacity = _capacity(lens)
        self.limit = min(lens.sentences.limit or lens.limit or self.capacity, self.capacity)
        self._copies: dict[str, Any] = {}
        names = ("cls_token_id", "sep_token_id", "bos_token_id", "eos_token_id")
        self.special = {i for name in names if (i := getattr(self.tokenizer, name, None)) is not None}

    @cached_property
    def prompts(self) -> dict[str, str]:
        """The encoder's own, by name."""
        prompts = getattr(getattr(self.lens.sentences, "module", None), "prompts", None) or {}
        return {name: prompt for name, prompt in prompts.items() if isinstance(prompt, str)}

    def right(self, text: str) -> tuple[int, ...]:
        """The ids that the lens reads."""
        return self.ids(self.prompt + text)

    def ids(self, text: str, tokenizer: Any = None, limit: int | None = None, special: bool = True) -> tuple[int, ...]:
        """limit: of tokens; None is the lens's own, 0 for as many as the model has positions."""
        tokenizer = tokenizer or self.tokenizer
        length = self.limit if limit is None else limit or self.capacity
        options = {"truncation": True, "max_length": length, "padding": False, "add_special_tokens": special}
        with resting_state(tokenizer):
            return tuple(tokenizer(text, verbose=False, **options)["input_ids"])

    def whole(self, text: str) -> tuple[int, ...]:
        """The ids of a text that is not cut."""
        with resting_state(self.tokenizer):
            options = {"truncation": False, "padding": False, "verbose": False}
            return tuple(self.tokenizer(self.prompt + text, **options)["input_ids"])

    def copied(self, name: str, change: Callable[[Any], bool | None]) -> Any:
        """A copy of the tokenizer that `change` was done to; None where it returns False."""
        if name not in self._copies:
            with locked([self.tokenizer]):
                tokenizer_copy = copy.deepcopy(self.tokenizer)
            self._copies[name] = tokenizer_copy if change(tokenizer_copy) is not False else None
        return self._copies[name]


def _capacity(lens: Lens) -> int:
    """How many tokens the model has positions for."""
    config: Any = lens.borrowed.base.config
    positions = getattr(config.get_text_config(), "max_position_embeddings", None) or 1 << 14
    module = getattr(getattr(lens.borrowed.base, "embeddings", None), "position_embeddings", None)
    offset = getattr(module, "padding_idx", None)
    return int(positions) - (0 if offset is None else offset + 1)


def _bert(**options: Any) -> Callable[[Reader, str], Any]:
    """The text by BERT's normaliser with other settings; not of another tokenizer."""

    def change(tokenizer: Any) -> bool | None:
        from tokenizers import normalizers

        backend = getattr(tokenizer, "backend_tokenizer", None)
        backend_normalizer = getattr(backend, "normalizer", None)
        if backend is None or type(backend_normalizer).__name__ != "BertNormalizer":
            return False
        names = ("clean_text", "handle_chinese_chars", "strip_accents", "lowercase")
        now = {name: getattr(backend_normalizer, name) for name in names}
        now["strip_accents"] = now["lowercase"] if now["strip_accents"] is None else now["strip_accents"]
        backend.normalizer = normalizers.BertNormalizer(**now | options)
        return None

    def way(reader: Reader, text: str) -> Any:
        tokenizer = reader.copied(f"{options}", change)
        return None if tokenizer is None else reader.ids(reader.prompt + text, tokenizer)

    return way


def _other_text(change: Callable[[str], str]) -> Callable[[Reader, str], Any]:
    return lambda reader, text: reader.ids(reader.prompt + change(text))


def _literal(reader: Reader, text: str) -> Any:
    """Special tokens that are typed in the text are text."""

    def change(tokenizer: Any) -> bool | None:
        if not getattr(tokenizer, "is_fast", False):
            return False
        tokenizer.split_special_tokens = True
        return None

    tokenizer = reader.copied("literal", change)
    return None if tokenizer is None else reader.ids(reader.prompt + text, tokenizer)


def _cut(limit: int) -> Callable[[Reader, str], Any]:
    return lambda reader, text: (
        None if limit == reader.limit or limit > reader.capacity else reader.ids(reader.prompt + text, limit=limit)
    )


def _from_left(reader: Reader, text: str) -> Any:
    tokenizer = reader.copied("left", lambda tokenizer: setattr(tokenizer, "truncation_side", "left"))
    return reader.ids(reader.prompt + text, tokenizer)


def _no_end(reader: Reader, text: str) -> Any:
    return reader.whole(text)[: reader.limit]


def _without(place: int) -> Callable[[Reader, str], Any]:
    """Without the first special token of the template (0), or the last (-1)."""

    def way(reader: Reader, text: str) -> Any:
        ids = reader.right(text)
        if not ids or ids[place] not in reader.special:
            return None
        return ids[1:] if place == 0 else ids[:-1]

    return way


def _twice(reader: Reader, text: str) -> Any:
    ids = reader.right(text)
    if not ids or ids[0] not in reader.special or ids[-1] not in reader.special:
        return None
    return (ids[0], *ids, ids[-1])[: reader.capacity]


def _plain(reader: Reader, text: str) -> Any:
    ids = reader.ids(reader.prompt + text, special=False)
    return ids or None


def _prefix(prefix: str) -> Callable[[Reader, str], Any]:
    return lambda reader, text: None if prefix == reader.prompt else reader.ids(prefix + text)


def _own_prompt(name: str, prompt: str) -> Fault:
    return Fault(f"prompt {name!r} of the model: {quotation(prompt)}", TEXT, _prefix(prompt))


def _latin(text: str) -> str:
    return text.encode("utf-8").decode("latin-1")


def _no_punctuation(text: str) -> str:
    return "".join(" " if unicodedata.category(c).startswith("P") else c for c in text)


FAULTS = (
    Fault("cased input", TEXT, _bert(lowercase=False, strip_accents=True)),
    Fault("accents kept", TEXT, _bert(strip_accents=False)),
    Fault("case and accents kept", TEXT, _bert(lowercase=False, strip_accents=False)),
    Fault("Chinese characters not split", TEXT, _bert(handle_chinese_chars=False)),
    Fault("lower-cased before the tokenizer", TEXT, _other_text(str.lower)),
    Fault("NFKC before the tokenizer", TEXT, _other_text(lambda text: unicodedata.normalize("NFKC", text))),
    Fault("NFC before the tokenizer", TEXT, _other_text(lambda text: unicodedata.normalize("NFC", text))),
    Fault("white space to one space", TEXT, _other_text(lambda text: " ".join(text.split()))),
    Fault("special tokens in the text read as text", TEXT, _literal),
    Fault("no special tokens", TEXT, _plain),
    Fault("no last special token", TEXT, _without(-1)),
    Fault("no first special token", TEXT, _without(0)),
    Fault("special tokens twice", TEXT, _twice),
    *(Fault(f"cut at {n} tokens", TEXT, _cut(n)) for n in LIMITS),
    Fault("not cut", TEXT, lambda reader, text: reader.ids(reader.prompt + text, limit=0)),
    Fault("cut at 512 characters", TEXT, _other_text(lambda text: text[:512])),
    Fault("cut from the left", TEXT, _from_left),
    Fault("cut that loses the last special token", TEXT, _no_end),
    Fault("no prefix", TEXT, _prefix("")),
    *(Fault(f"prefix {quotation(prefix.strip())}", TEXT, _prefix(prefix)) for prefix in PREFIXES),
    Fault("a full stop behind each text", TEXT, _other_text(lambda text: text + ".")),
    Fault("ASCII only", TEXT, _other_text(lambda text: text.encode("ascii", "ignore").decode())),
    Fault("UTF-8 read as Latin-1", TEXT, _other_text(_latin)),
    Fault("HTML-escaped", TEXT, _other_text(html.escape)),
    Fault("JSON-escaped", TEXT, _other_text(lambda text: json.dumps(text)[1:-1])),
    Fault("punctuation left out", TEXT, _other_text(_no_punctuation)),
)


def faults(reader: Reader) -> list[Fault]:
    """Of this tokenizer: all of FAULTS, and the encoder's own prompts; a prompt of equal text stands once."""
    names = {prompt: name for name, prompt in reader.prompts.items() if prompt not in ("", *PREFIXES, reader.prompt)}
    return [*FAULTS, *(_own_prompt(name, prompt) for prompt, name in names.items())]
