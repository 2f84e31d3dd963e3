"""Texts in another script than the page's carry `lang` and `dir`: for a screen reader's voice, for a line's direction.

Which language it is nobody says here, only the script: `und-Arab`. Who knows writes it in the page,
`<span lang="fa" dir="rtl">…</span>`, and that stays.
"""

from __future__ import annotations

import re
import unicodedata

# By how Unicode begins a letter's name; Greek and what formulas are written with stays as it is.
SCRIPTS = {
    "ARABIC": "Arab", "ARMENIAN": "Armn", "BENGALI": "Beng", "CJK": "Hani", "CYRILLIC": "Cyrl", "DEVANAGARI": "Deva",
    "ETHIOPIC": "Ethi", "GEORGIAN": "Geor", "GUJARATI": "Gujr", "GURMUKHI": "Guru", "HANGUL": "Kore", "HEBREW": "Hebr",
    "HIRAGANA": "Jpan", "KANNADA": "Knda", "KATAKANA": "Jpan", "KHMER": "Khmr", "LAO": "Laoo", "MALAYALAM": "Mlym",
    "MYANMAR": "Mymr", "SINHALA": "Sinh", "SYRIAC": "Syrc", "TAMIL": "Taml", "TELUGU": "Telu", "THAANA": "Thaa",
    "THAI": "Thai", "TIBETAN": "Tibt",
}  # fmt: skip
RIGHT_TO_LEFT = {"Arab", "Hebr", "Syrc", "Thaa"}
PIECE = re.compile(r"(<(?:script|style)\b.*?</(?:script|style)>|<[^>]*>)", re.DOTALL)


def script_of(letter: str) -> str:
    """Its ISO 15924 code; "" of Latin and Greek letters, digits, signs."""
    return SCRIPTS.get(re.split("[ -]", unicodedata.name(letter, ""))[0], "") if ord(letter) >= 0x400 else ""


def _runs(text: str) -> list[tuple[str, str]]:
    """(script, text) of each run; blanks and marks between two letters of one script belong to it."""
    runs: list[tuple[str, str]] = []
    waiting = ""  # what may be inside a run
    codes = [script_of(letter) for letter in text]
    for letter, code in zip(text, codes, strict=True):
        code = "Jpan" if code == "Hani" and "Jpan" in codes else code
        if runs and not code and not letter.isalnum() and runs[-1][0]:
            waiting += letter
            continue
        if runs and code == runs[-1][0]:
            runs[-1] = (code, runs[-1][1] + waiting + letter)
        else:
            runs += [("", waiting)] if waiting else []
            runs.append((code, letter))
        waiting = ""
    return [*runs, ("", waiting)]


def marked(html: str) -> str:
    """The HTML with a span around each run of another script: not in tags, scripts, elements with a language.

    >>> marked("<p>“сон” is sleep.</p>")
    '<p>“<span lang="und-Cyrl" dir="ltr">сон</span>” is sleep.</p>'
    """
    if not any(map(script_of, set(html))):
        return html
    pieces = PIECE.split(html)
    for at in range(0, len(pieces), 2):  # between tags
        if at and re.search(r'\slang="', pieces[at - 1]):
            continue
        pieces[at] = "".join(
            f'<span lang="und-{code}" dir="{"rtl" if code in RIGHT_TO_LEFT else "ltr"}">{text}</span>' if code else text
            for code, text in _runs(pieces[at])
        )
    return "".join(pieces)
