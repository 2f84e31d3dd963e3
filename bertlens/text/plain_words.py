"""The words of a text as they are counted: without case and punctuation, in every script."""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from itertools import groupby, pairwise

from ..base.vocabulary.constants import WITHOUT_BLANKS

PAIRS = "of a script without blanks between words, each two characters side by side"
_INSIDE = "'’׳״\u200c\u200d"  # apostrophes, and what Hebrew, Persian and Indian words have between two letters
_ASCII = re.compile(r"\w+(?:'\w+)*")


def words_of(text: str) -> list[str]:
    """Its runs of letters, their marks and digits, an apostrophe inside one too, without case, in one way of writing
    (Unicode's NFKC). Of a script without blanks between words, each two characters side by side are one, as in Lucene's
    analyser of Chinese, Japanese and Korean; a character with none beside it is one by itself."""
    if text.isascii():
        return _ASCII.findall(text.lower())
    runs, letter = _patterns()
    words: list[str] = []
    plain = unicodedata.normalize("NFKC", text).casefold().replace("i\u0307", "i")  # the small letter of a Turkish İ
    for run in runs.finditer(unicodedata.normalize("NFC", plain)):
        if run[1] is None:
            words.append(run[0])
        else:
            letters = letter.findall(run[0])
            words += letters if len(letters) == 1 else map("".join, pairwise(letters))
    return words


@cache
def _patterns() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Of a run, its group 1 there where it is of a script without blanks; and of a letter of it with its marks."""
    marks = _classes([code for code in range(0x300, 0x1F000) if unicodedata.category(chr(code))[0] == "M"])
    glued = "".join(WITHOUT_BLANKS.values())
    apart = rf"[^\W{glued}]"
    word = rf"{apart}(?:{apart}|[{marks}]|[{_INSIDE}](?={apart}))*"
    return re.compile(rf"((?:(?=[{glued}])\w[{marks}]*)+)|{word}"), re.compile(rf"\w[{marks}]*")


def _classes(codes: list[int]) -> str:
    """Ascending numbers of characters, as ranges of a class of an expression."""
    runs = [[code for _, code in run] for _, run in groupby(enumerate(codes), lambda pair: pair[1] - pair[0])]
    return "".join(f"{chr(run[0])}-{chr(run[-1])}" for run in runs)
