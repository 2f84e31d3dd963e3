"""Texts that separate what can be separated, made for a tokenizer and its limits. Nobody's own texts are in them."""

from __future__ import annotations

from ..errors import check_lens, check_number
from ..lens import Lens
from .text_faults import LIMITS, Reader

WORDS = (
    "river market copper garden winter letter engine harbour silver number window forest teacher island bridge paper "
    "summer village captain mirror thunder bottle kitchen meadow planet doctor violin castle desert ladder pepper"
).split()
MOST = 18


def word_text(n: int, first: int = 0) -> str:
    """n words whose order does not repeat soon."""
    return " ".join(WORDS[(first + k * k * 5 + k * 3) % len(WORDS)] for k in range(n))


def _of_length(reader: Reader, least: int, first: int) -> str:
    """A text of `least` tokens or a few more, special ones included."""
    n = least
    while n > 1 and len(reader.whole(word_text(n - n // 8 - 1, first))) > least:
        n -= n // 8 + 1
    while len(reader.whole(word_text(n, first))) < least:
        n += 1
    return f"{word_text(n, first)}."


def probing_texts(lens: Lens, n: int = 12) -> list[str]:
    """n texts (1 to 18), first those that separate most: accents, one beyond every limit, special tokens in the text,
    full-width letters, punctuation, Chinese, an unknown letter, numbers, lengths between the usual limits, a line
    break, accents in two characters, code.

    Vectors that another program makes of them are for `parity` and its lock. What no vector shows: see `parity`.

    Raises InputError for another number.
    """
    check_lens(lens)
    n = check_number(n, "n is how many texts to make,", 1, MOST)
    reader = Reader(lens)
    end = next((t for name in ("sep_token", "eos_token") if (t := getattr(lens.tokenizer, name, None))), "</s>")
    length = min(reader.capacity, max(reader.limit, *(limit for limit in LIMITS if limit <= reader.capacity), 8))
    low = [limit for limit in LIMITS if limit < length] or [length // 2]
    texts = [
        "Café Zoë and the naïve Übermut of São Paulo, 1 May.",
        _of_length(reader, length + max(2, length // 8), 0),
        f"The end {end} of a line is not the end.",
        "ﬁve ½ ＦＵＬＬ ｗｉｄｔｈ №2",
        'Well -- who\'s there? "No one" & <nothing>; (really)...',
        "今天天气很好 and 東京 too",
        "a ☃ and a 🜁 in it",
        " ".join(str(k * k * 37 % 1009) for k in range(30)),
        _of_length(reader, min(low[0] + 6, length - 1), 7),
        "One  line\n\tand another\u00a0line",
        "re\u0301sume\u0301 a\u030angstro\u0308m I\u0307",
        "def f(x: int) -> str:\n    return f'{x!r:>10}' if x else \"A[0] += b\\\\n\"",
        "Harbour",
        _of_length(reader, min(low[-1] - 6, length - 2), 3),
        "https://example.org/a?b=C&d=%20E#f",
        _of_length(reader, min(low[len(low) // 2] + 9, length - 3), 11),
        "Übergrößenträger İstanbul ŒUVRE",
        "!",
    ]
    return texts[:n]
