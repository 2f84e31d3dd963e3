"""From text to token ids, and the report of what the tokenizer did on the way.

Positions added by the tokenizer's template ([CLS], [SEP], ...) are told from text by position, never by name: a special
token typed by the user is text, and is flagged.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import torch
from torch import nn

from ..base.limits import TEXT_CHARACTERS
from ..base.quotes import isolate
from ..base.vocabulary import phrases
from ..errors import InputError
from .display import as_written, spelling_of, unknown_id
from .tokenizer import Pieces, Text, cut_side, resting_state, tokenise
from .word_numbers import scripts_without_blanks, text_words

UNKNOWN = "is this the model's own tokenizer, and is the text in its language?"

_HALF = re.compile("[\ud800-\udfff]")
CUT = "pass truncation=True to cut it"  # what to do about a long text, in Python


@dataclass(frozen=True)
class InputReport:
    """What became of the input. Texts are numbered 0 (first) and 1 (pair); positions count tokens from 0."""

    n_tokens: int  # S
    n_pieces: int  # tokens that come from the text, template tokens left out
    n_words: int | None  # of the text; None where words are not known
    limit: int | None  # the most tokens that model and tokenizer take; None without a limit
    unknown: list[dict[str, Any]] = field(default_factory=list)  # {"position", "text"}; text None where not known
    truncated: dict[str, int] = field(default_factory=dict)  # {"text": dropped, "text_pair": dropped}
    truncated_side: str = "right"  # "left": the first tokens were dropped, as the tokenizer is set to
    typed_special: list[dict[str, Any]] = field(default_factory=list)  # {"position", "token"}
    without_token: list[dict[str, Any]] = field(default_factory=list)  # {"text", "index", "character"} as "U+200D"
    without_blanks: list[str] = field(default_factory=list)  # scripts of a text in which a token counts as a word
    overridden: dict[str, Any] = field(default_factory=dict)  # stored "padding" and "truncation" that were not applied
    offsets_known: bool = True  # where in the text each token stands
    words_known: bool = True  # which word each token is of
    notes: list[str] = field(default_factory=list)  # one sentence each

    @property
    def mostly_unknown(self) -> bool:
        """Whether more than half of the text's tokens are unknown: rarely the tokenizer that the text needs."""
        return 2 * len(self.unknown) > self.n_pieces

    @property
    def dropped_end(self) -> str:
        """Which tokens a cut has dropped: "last" or "first"."""
        return "first" if self.truncated_side == "left" else "last"

    def to_dict(self) -> dict[str, Any]:
        """The report as plain JSON data."""
        return asdict(self)

    def lines(self) -> list[str]:
        """The report in words, one sentence each: the first always, the others where there is something to say."""
        words = "" if self.n_words is None else f" in {_count(self.n_words, 'word')}"
        limit = "" if self.limit is None else f" of at most {self.limit}"
        lines = [f"{_count(self.n_tokens, 'token')}{limit}: {_count(self.n_pieces, 'piece')} of text{words}"]
        if not self.n_pieces:
            lines.append(phrases.NO_TEXT_ABOUT)
        for name, dropped in self.truncated.items():
            lines.append(f"cut: the {self.dropped_end} {_count(dropped, 'token')} of {name} dropped")
        if self.mostly_unknown:
            lines.append(f"{len(self.unknown)} of {self.n_pieces} tokens of text are unknown: {UNKNOWN}")
        if self.unknown:
            names = ", ".join(
                f"{u['position']} {'?' if u['text'] is None else isolate(repr(u['text']))}" for u in self.unknown
            )
            lines.append(f"unknown to the tokenizer: {names}")
        if self.typed_special:
            names = ", ".join(f"{t['position']} {isolate(repr(t['token']))}" for t in self.typed_special)
            lines.append(f"{phrases.TYPED}: {names}")
        if self.without_token:
            names = ", ".join(f"{isolate(c['character'])} at {c['index']}" for c in self.without_token[:10])
            surplus = len(self.without_token) - 10
            lines.append(f"characters without a token: {names}{f' and {surplus} more' if surplus > 0 else ''}")
        if self.without_blanks:
            lines.append(phrases.WITHOUT_BLANKS_ABOUT.format(scripts=" and ".join(self.without_blanks)))
        for name, value in self.overridden.items():
            lines.append(f"{name} stored in the tokenizer was not applied: {json.dumps(value)}")
        return lines + list(self.notes)

    def __repr__(self) -> str:
        return "InputReport\n  " + "\n  ".join(self.lines())

    def _repr_html_(self) -> str:
        return "<ul>" + "".join(f"<li>{html.escape(line)}</li>" for line in self.lines()) + "</ul>"


@dataclass(frozen=True)
class Encoding:
    """One tokenised text or pair. Everything is a tuple with one entry per token."""

    text: str | None
    text_pair: str | None
    input_ids: tuple[int, ...]
    token_type_ids: tuple[int, ...] | None  # None where the tokenizer makes none
    tokens: tuple[str, ...]
    display_tokens: tuple[str, ...]
    word_ids: tuple[int | None, ...]  # None for template tokens; words of the second text go on counting
    offsets: tuple[tuple[int, int] | None, ...] | None  # into the token's own text (or word); None where not known
    special: tuple[bool, ...]  # put there by the template
    segments: tuple[int, ...]
    separators: tuple[bool, ...]  # template tokens that are the tokenizer's separator
    report: InputReport
    words: tuple[tuple[str, ...], ...] | None = None  # of each text, where they were split before
    continuation: str = ""  # what a displayed token that goes on with a word begins with, "##" or ""

    def __len__(self) -> int:
        return len(self.tokens)


def noted(encoding: Encoding, note: str) -> Encoding:
    """With one more sentence in its report, "" for none."""
    report = encoding.report
    return replace(encoding, report=replace(report, notes=[*report.notes, note])) if note else encoding


def token_limit(tokenizer: Any, base: nn.Module) -> int | None:
    """The most tokens that tokenizer and model take, special tokens included; None where neither has a limit."""
    limits = []
    if tokenizer.model_max_length < 10**6:  # tokenizers without a limit store 10^30
        limits.append(int(tokenizer.model_max_length))
    if (positions := position_limit(base)) is not None:
        limits.append(positions)
    return min(limits, default=None)


def position_limit(base: nn.Module) -> int | None:
    """The most tokens that a model has positions for, or says that it was trained on; None where nothing says."""
    positions: int | None = getattr(base.config, "max_position_embeddings", None)
    if positions is None or positions <= 0:
        return None
    if (table := position_table(base)) is None:
        return positions
    size, padding = getattr(table, "num_embeddings", None) or len(table.weight), getattr(table, "padding_idx", None)
    return size - (0 if padding is None else padding + 1)  # RoBERTa and its kin count from padding_idx + 1


def position_table(base: nn.Module) -> Any:
    """The embeddings of positions, which end; None for a model that has none, as with rotary ones."""
    modules = (x for name, x in base.named_modules() if name.endswith(("position_embeddings", "wpe")))
    return next((module for module in modules if hasattr(module, "weight")), None)


def encode(
    tokenizer: Any,
    text: Text,
    text_pair: Text | None = None,
    *,
    limit: int | None,
    truncation: bool = False,
    notes: Sequence[str] = (),
) -> Encoding:
    """Tokenise a text or words, or a pair of either.

    An empty second text is none, as tokenizers have it. notes go to the report.

    Raises InputError for anything else than strings, for lone surrogates, for an input without any token, for more than
    TEXT_CHARACTERS in a text, and for more than `limit` tokens unless `truncation` (then both texts are cut on the
    tokenizer's truncation side, the longer one first).
    """
    check_text(text, "text")
    if text_pair is not None:
        check_text(text_pair, "text_pair")
    texts = [text, text_pair] if text_pair else [text]
    with resting_state(tokenizer) as overridden:
        pieces = tokenise(tokenizer, texts, None)
        truncated: dict[str, int] = {}
        if limit is not None and len(pieces.input_ids) > limit:
            if not truncation:
                message = phrases.TOO_LONG.format(tokens=len(pieces.input_ids), limit=limit)
                raise InputError(f"{message}. Shorten or split the text, or {CUT}")
            uncut, pieces = pieces, tokenise(tokenizer, texts, limit)
            for i, name in enumerate(("text", "text_pair")[: len(texts)]):
                if dropped := uncut.sequences.count(i) - pieces.sequences.count(i):
                    truncated[name] = dropped
    if not pieces.input_ids:
        raise InputError("the tokenizer made no token of this text: give some text")
    return _encoding(tokenizer, texts, pieces, limit, truncated, overridden, notes)


def batch_inputs(
    encodings: Sequence[Encoding], pad_id: int, device: torch.device | str = "cpu"
) -> dict[str, torch.Tensor]:
    """Model inputs for several encodings, padded on the right (positions then stay as they are for each text alone)."""
    width = max(len(e) for e in encodings)

    def padded(rows: Iterable[Sequence[int]], fill: int) -> torch.Tensor:
        return torch.tensor([[*row, *[fill] * (width - len(row))] for row in rows], device=device)

    inputs = {
        "input_ids": padded((e.input_ids for e in encodings), pad_id),
        "attention_mask": padded(([1] * len(e) for e in encodings), 0),
    }
    if encodings[0].token_type_ids is not None:
        inputs["token_type_ids"] = padded((e.token_type_ids or [] for e in encodings), 0)
    return inputs


def _encoding(
    tokenizer: Any,
    texts: list[Text],
    pieces: Pieces,
    limit: int | None,
    truncated: dict[str, int],
    overridden: dict[str, Any],
    remarks: Sequence[str],
) -> Encoding:
    special = [sequence is None for sequence in pieces.sequences]
    offsets = None
    if pieces.offsets is not None:
        offsets = [None if s else (o[0], o[1]) for s, o in zip(special, pieces.offsets, strict=True)]
    side = cut_side(tokenizer)
    word_ids, n_words = _words(texts, pieces, truncated if side == "left" else ())
    notes = [*remarks]
    if pieces.offsets is None:
        notes.append("this tokenizer knows no offsets: characters of the text cannot be matched to tokens")
    if word_ids is None:
        notes.append("this tokenizer knows no words: every piece stands for itself")
        numbers = iter(range(len(special)))
        word_ids = [None if s else next(numbers) for s in special]
    source = [_source(texts, pieces, i) for i in range(len(special))]
    unknown, typed = _unknown_and_typed(tokenizer, pieces, source)
    report = InputReport(
        n_tokens=len(special),
        n_pieces=len(special) - sum(special),
        n_words=n_words,
        limit=limit,
        unknown=unknown,
        truncated=truncated,
        truncated_side=side,
        typed_special=typed,
        without_token=_without_token(texts, pieces, truncated, side),
        without_blanks=[]
        if n_words is None
        else scripts_without_blanks(text for text in texts if isinstance(text, str)),
        overridden=overridden,
        offsets_known=pieces.offsets is not None,
        words_known=n_words is not None,
        notes=notes,
    )
    separator, spelling = tokenizer.sep_token, spelling_of(tokenizer)
    joined = [text if isinstance(text, str) else " ".join(text) for text in texts]
    return Encoding(
        text=joined[0],
        text_pair=joined[1] if len(joined) > 1 else None,
        input_ids=tuple(pieces.input_ids),
        token_type_ids=None if pieces.token_type_ids is None else tuple(pieces.token_type_ids),
        tokens=tuple(pieces.tokens),
        display_tokens=tuple(map(as_written, map(spelling.display, pieces.tokens), source)),
        word_ids=tuple(word_ids),
        offsets=None if offsets is None else tuple(offsets),
        special=tuple(special),
        segments=tuple(_segments(pieces.sequences, pair=len(texts) > 1)),
        separators=tuple(s and token == separator for s, token in zip(special, pieces.tokens, strict=True)),
        report=report,
        words=None if isinstance(texts[0], str) else tuple(map(tuple, texts)),
        continuation=spelling.continuation,
    )


def check_text(text: Any, name: str) -> None:
    """Raises InputError for anything else than a string or words, too many characters, and half a character."""
    if isinstance(text, str):
        strings = [text]
    elif isinstance(text, list) and all(isinstance(word, str) for word in text):
        strings = text
    else:
        raise InputError(f"{name} must be a string (or a list of strings for trace_words), not {type(text).__name__}")
    if (size := sum(map(len, strings))) > TEXT_CHARACTERS:
        raise InputError(
            f"{name} is {size:,} characters long, more than the {TEXT_CHARACTERS:,} that are tokenised: split it"
        )
    for string in strings:
        if half := _HALF.search(string):
            raise InputError(
                f"{name} holds half a character (lone surrogate U+{ord(half[0]):04X} at {half.start()}): "
                "decode the text again, or remove it with text.encode('utf-8', 'ignore').decode()"
            )


def _words(texts: list[Text], pieces: Pieces, beheaded: Iterable[str]) -> tuple[list[int | None] | None, int | None]:
    """Word of each piece, counted through both texts, and how many words there are; None where not known.

    beheaded: the texts ("text", "text_pair") whose first words were cut off; those are not among the number.
    """
    if pieces.word_ids is None:
        return None, None
    word_of: list[int | None] = [None] * len(pieces.sequences)
    offset, lost = 0, 0
    for number, text in enumerate(texts):
        positions = [i for i, sequence in enumerate(pieces.sequences) if sequence == number]
        words = [pieces.word_ids[i] for i in positions]
        if isinstance(text, str) and pieces.offsets is not None:
            words = text_words(text, [pieces.offsets[i] for i in positions], words)
        for i, word in zip(positions, words, strict=True):
            word_of[i] = None if word is None else offset + word
        if isinstance(text, list):
            offset += len(text)
        else:
            indices = [word for word in words if word is not None]
            offset += max(indices, default=-1) + 1
            if ("text", "text_pair")[number] in beheaded:
                lost += min(indices, default=0)
    return word_of, offset - lost


def _segments(sequences: list[int | None], pair: bool) -> list[int]:
    """0 for the first text, [CLS] and the first block of separators, 1 for the second text and what follows it."""
    if not pair:
        return [0] * len(sequences)
    # an empty second text leaves only its closing special token
    second = sequences.index(1) if 1 in sequences else len(sequences) - (sequences[-1:] == [None])
    return [int(i >= second) for i in range(len(sequences))]


def _source(texts: list[Text], pieces: Pieces, i: int) -> str | None:
    """The characters that piece i stands for, None for template tokens and where offsets are not known."""
    sequence = pieces.sequences[i]
    if sequence is None or pieces.offsets is None:
        return None
    text = texts[sequence]
    if isinstance(text, list):
        word = pieces.word_ids[i] if pieces.word_ids is not None else None
        if word is None:
            return None
        text = text[word]
    start, end = pieces.offsets[i]
    return text[start:end]


def _unknown_and_typed(
    tokenizer: Any, pieces: Pieces, source: list[str | None]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Pieces that the tokenizer has none for, and special tokens that the text itself names.

    Unknown is the id, not the name: Unigram and BPE name an unknown piece as the text has it.
    """
    unknown, typed = [], []
    none = unknown_id(tokenizer)
    named = {*tokenizer.all_special_ids, none}
    name = None if none is None else tokenizer.convert_ids_to_tokens(none)
    for i, (token_id, token) in enumerate(zip(pieces.input_ids, pieces.tokens, strict=True)):
        if pieces.sequences[i] is None or token_id not in named:
            continue
        text = source[i]
        if token_id == none and (text is None or text.strip() != name):
            unknown.append({"position": i, "text": text})
        else:
            typed.append({"position": i, "token": token})
    return unknown, typed


def _without_token(texts: list[Text], pieces: Pieces, truncated: dict[str, int], side: str) -> list[dict[str, Any]]:
    """Characters, white space aside, that no piece covers; of a text that was cut only what was not cut off."""
    if pieces.offsets is None:
        return []
    characters = []
    for number, text in enumerate(texts):
        strings = [text] if isinstance(text, str) else text
        covered = [bytearray(len(string)) for string in strings]
        lower, upper = (len(strings), 0), (0, 0)
        for i, sequence in enumerate(pieces.sequences):
            if sequence == number:
                word = (
                    0 if isinstance(text, str) else (pieces.word_ids[i] if pieces.word_ids is not None else None) or 0
                )
                start, end = pieces.offsets[i]
                covered[word][start:end] = b"\1" * (min(end, len(strings[word])) - start)
                lower, upper = min(lower, (word, start)), max(upper, (word, end))
        if ("text", "text_pair")[number] not in truncated:
            lower, upper = (0, 0), (len(strings), 0)
        elif side == "left":
            upper = (len(strings), 0)
        else:
            lower = (0, 0)
        for word, string in enumerate(strings):
            for index, character in enumerate(string):
                is_inside = lower <= (word, index) < upper
                if is_inside and not covered[word][index] and not character.isspace():
                    characters.append({"text": number, "index": index, "character": f"U+{ord(character):04X}"})
    return characters


def _count(n: int, noun: str) -> str:
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"
