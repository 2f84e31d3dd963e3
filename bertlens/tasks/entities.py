"""Named spans of a text that its tags spell out, read strictly in the scheme that they are written in, and counted.

The schemes are read as seqeval does in strict mode (`seqeval.scheme`): IOB1, IOB2, IOE2, IOBES, BILOU; BMES as IOBES
with M- for I-. IOE1, which has E- only before another entity of its type, seqeval does not finish: it is told. A tag is
written B-x or B_x; B and I alone are tags of the type "_".
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache
from itertools import pairwise

import numpy as np

Entity = tuple[str, int, int]  # type, first word, the word behind its last
Tag = tuple[str, str]  # prefix, type

OUTSIDE: Tag = ("O", "")
SCHEMES = {"IOB": "BI", "IOE2": "IE", "IOBES": "BIES", "BILOU": "BILU", "BMES": "BMES"}  # prefixes; IOB is IOB1 or IOB2
LIKE_IOBES = str.maketrans("LUM", "ESI")
LIKE_BILOU = str.maketrans("ES", "LU")
LIKE_BMES = str.maketrans("I", "M")
WRITTEN = re.compile(r"([BIESLUM])[-_](.+)|([BI])", re.DOTALL)


@cache
def tag_of(name: str) -> Tag | None:
    """The parts of a tag; None for what is written in no scheme."""
    if name == "O":
        return OUTSIDE
    match = WRITTEN.fullmatch(name)
    return None if match is None else (match[1] or match[3], match[2] or "_")


def scheme_of(names: Iterable[str]) -> str:
    """The scheme that tags of these names are of: the first that has their prefixes; "" of none.

    "IOB" of B- and I-, which may be IOB1 or IOB2; "IOB1" where a type has I- alone, with which it cannot begin in IOB2.
    """
    tags = {tag_of(name) for name in names}
    prefixes = {tag[0] for tag in tags if tag} - {"O"}
    if None in tags or not prefixes:
        return ""
    scheme = next((scheme for scheme, letters in SCHEMES.items() if prefixes <= set(letters)), "")
    has_only_i = any(("B", tag[1]) not in tags for tag in tags if tag and tag[0] == "I")
    return "IOB1" if scheme == "IOB" and has_only_i else scheme


def starts(texts: Iterable[Sequence[str]]) -> tuple[int, int]:
    """How many entities begin with I-, as in IOB1, and with B- though none of their type lies before, as in IOB2."""
    counts = {"I": 0, "B": 0, "O": 0}
    for text in texts:
        for previous, tag in pairwise([OUTSIDE, *_tags(text)]):
            counts[tag[0]] += tag[1] != previous[1]
    return counts["I"], counts["B"]


def scheme_in(texts: Sequence[Sequence[str]]) -> str:
    """The scheme that texts are written in; "" of none. B- and I- are IOB1 where no entity begins with B-, I- and E-
    are IOE1 where none ends with E-, though entities of another type or none lie behind."""
    scheme = scheme_of({tag for text in texts for tag in text})
    if scheme == "IOE2":
        inside, at_e = starts([["-".join(tag) if tag[1] else "O" for tag in _mirrored(_tags(text))] for text in texts])
        return "IOE1" if inside and not at_e else scheme
    if scheme not in ("IOB", "IOB1"):
        return scheme
    inside, at_b = starts(texts)
    return "IOB1" if inside and not at_b else "IOB2"


def schemes(names: Sequence[str], labels: Sequence[Sequence[str]], guesses: Sequence[Sequence[str]]) -> tuple[str, str]:
    """The schemes of labels and of guesses; ("", "") where the names are of none.

    What names leave open the labels tell; guesses beside labels in IOB1 are IOB2 where more begin with B- than with I-.
    """
    scheme = scheme_of(names)
    if scheme != "IOB":
        return scheme, scheme
    if scheme_in(labels) != "IOB1":
        return "IOB2", "IOB2"
    inside, at_b = starts(guesses)
    return "IOB1", "IOB1" if inside >= at_b else "IOB2"


def entities(names: Sequence[str], scheme: str = "IOB2") -> list[Entity]:
    """The entities of one text, strictly: what is not written as the scheme has it is none."""
    tags = _tags(names)
    if scheme == "IOE2":
        tags = _mirrored(tags)
        return [(kind, len(tags) - end, len(tags) - start) for kind, start, end in reversed(_spans(tags))]
    if scheme == "IOB1":
        return _spans(_as_iob2(tags))
    if scheme in ("IOBES", "BILOU", "BMES"):
        return _spans([(prefix.translate(LIKE_IOBES), kind) for prefix, kind in tags], closed=True)
    return _spans(tags)


def _spans(tags: Sequence[Tag], closed: bool = False) -> list[Entity]:
    """One begins at B-x and goes on over I-x; closed: it ends at E-x, or is S-x alone."""
    spans: list[Entity] = []
    start: tuple[str, int] | None = None
    for at, (prefix, kind) in enumerate([*tags, OUTSIDE]):
        if start is not None and not (prefix in "IE" and kind == start[0] and tags[at - 1][0] in "BI"):
            if not closed or tags[at - 1][0] in "ES":
                spans.append((*start, at))
            start = None
        if prefix in "BS":
            start = kind, at
    return spans


def _as_iob2(tags: Sequence[Tag]) -> list[Tag]:
    """IOB1: an entity begins with I-x, and with B-x only behind another one of its type."""
    changed: list[Tag] = []
    for (_, precursor), (prefix, kind), behind in zip([OUTSIDE, *tags], tags, [*tags[1:], OUTSIDE], strict=False):
        goes_on = kind == precursor and bool(changed) and changed[-1] != OUTSIDE
        is_lost = behind[0] == "B" and behind[1] != kind  # where seqeval ends none
        if prefix == "I":
            changed.append(("I" if goes_on else "B", kind))
        else:
            changed.append((prefix, kind) if prefix == "B" and kind == precursor and not is_lost else OUTSIDE)
    return changed


def _mirrored(tags: Sequence[Tag]) -> list[Tag]:
    """From the last to the first, ends as beginnings."""
    return [("B" if prefix == "E" else prefix, kind) for prefix, kind in reversed(tags)]


def _tags(names: Sequence[str]) -> list[Tag]:
    return [tag_of(name) or OUTSIDE for name in names]


def rewritten(names: Sequence[str], scheme: str, target: str) -> list[Tag]:
    """The tags of a text in another scheme, which spell the same entities; in its own scheme they stay."""
    if scheme == target:
        return _tags(names)
    tags = [OUTSIDE] * len(names)
    end_before: tuple[str, int] = "", -1
    for kind, start, end in entities(names, scheme):
        prefixes = ["B"] + ["I"] * (end - start - 1)
        if target == "IOB1" and (kind, start) != end_before:
            prefixes[0] = "I"
        elif target == "IOE2":
            prefixes = [*prefixes[1:], "E"]
        elif target in ("IOBES", "BILOU", "BMES"):
            prefixes[-1] = "E" if len(prefixes) > 1 else "S"
        if target == "BILOU":
            prefixes = [prefix.translate(LIKE_BILOU) for prefix in prefixes]
        elif target == "BMES":
            prefixes = [prefix.translate(LIKE_BMES) for prefix in prefixes]
        tags[start:end] = [(prefix, kind) for prefix in prefixes]
        end_before = kind, end
    return tags


def counts(
    labels: Sequence[Sequence[str]], guesses: Sequence[Sequence[str]], of: tuple[str, str] = ("IOB2", "IOB2")
) -> dict[str, np.ndarray]:
    """Of each type, in alphabetical order: (n, 3) how many entities of a text were found, are there, were guessed.

    of: the schemes of labels and of guesses.
    """
    pairs = [(set(entities(a, of[0])), set(entities(b, of[1]))) for a, b in zip(labels, guesses, strict=True)]
    types = sorted({kind for pair in pairs for entity in pair for kind, *_ in entity})
    return {
        kind: np.array(
            [
                [sum(entity[0] == kind for entity in group) for group in (labelled & guessed, labelled, guessed)]
                for labelled, guessed in pairs
            ]
        ).reshape(len(pairs), 3)
        for kind in types
    }
