"""The pairs that mislead, in sentences that nobody wrote for this: of two books whose excerpts come with bertlens."""

from __future__ import annotations

import random
import re
from collections import Counter, defaultdict

import numpy as np
import pandas as pd

from bertlens.lens import Lens
from bertlens.survey import mean_text
from bertlens.text import excerpts

from .alike import cosines_of
from .finding import Finding, counted

VERB = re.compile(r"\b(was|were|had|could|would|is|are|will|can|should|must)\b(?! not)")
BEHIND = re.compile(r"\b[Tt]he ([a-z]{3,})\b")
RARE = 4  # sentences at most that a word is in
FROM, TO = 30, 200  # characters of a sentence


def with_two(text: str, first: str, last: str) -> str:
    """The text with two other words behind its first and its last "the"."""
    a, *_, b = BEHIND.finditer(text)
    return text[: a.start(1)] + first + text[a.end(1) : b.start(1)] + last + text[b.end(1) :]


@counted
def misleading(lens: Lens, seed: int = 0) -> Finding:
    """Cosines of denials, of two words exchanged and of a rare word shared, each beside a control.

    Numbers: `high` 95 % of pairs across the books lie below it; `not_said` `now_said` (sentences,) with "not" or "now"
    behind the first verb; `exchanged` `elsewhere` (sentences,); `one_shared` (pairs,), `per_word` and `per_sentence`
    means of pairs that share a rare word, and that share none.
    """
    doyle, jerome = ([text for text in texts if FROM <= len(text) <= TO] for texts in excerpts.sentences().values())
    books, draw = [*doyle, *jerome], random.Random(seed)
    across = lens.similarity(doyle, jerome).double().numpy()
    high = float(np.quantile(across, 0.95))

    sayable = [text for text in books if VERB.search(text) and "not" not in text.split() and "n’t" not in text]
    nouns = [the[1] for text in books for the in BEHIND.finditer(text)]
    behind = {text: BEHIND.findall(text) for text in books}
    ends = [(text, the[0], the[-1]) for text, the in behind.items() if len(the) > 1 and the[0] != the[-1]]
    kinds = cosines_of(
        lens,
        {
            "not_said": [(text, VERB.sub(r"\1 not", text, count=1)) for text in sayable],
            "now_said": [(text, VERB.sub(r"\1 now", text, count=1)) for text in sayable],
            "exchanged": [(text, with_two(text, end, start)) for text, start, end in ends],
            "elsewhere": [(text, with_two(text, *draw.sample(nouns, 2))) for text, _, _ in ends],
        },
    )
    not_said, now_said, exchanged, elsewhere = kinds.values()
    by_word, without_any = _sharing(doyle, jerome, across)
    one_shared, no_word = (np.concatenate([np.array(x) for x in by.values()]) for by in (by_word, without_any))
    per_word, per_sentence = (np.array([np.mean(x) for x in by.values()]) for by in (by_word, without_any))
    rows = [
        ("a sentence and its denial", len(sayable), not_said, not_said),
        ("two words exchanged", len(ends), exchanged, exchanged),
        (f"one rare word shared ({len(by_word)} words)", len(one_shared), per_word, one_shared),
        ("no word shared", len(no_word), per_sentence, no_word),
    ]
    note = (
        f"{across.size:,} pairs across the books: 95 % of them are below {high:.2f}.\n"
        f"What “not” takes away beside “now”: {mean_text(now_said - not_said, 3)}, n = {len(sayable)}. "
        f"Exchanged less other words: {mean_text(exchanged - elsewhere)}, n = {len(ends)}."
    )
    table = pd.DataFrame(
        [(what, n, mean_text(means), f"{(cosines > high).mean():.0%}") for what, n, means, cosines in rows],
        columns=["pairs", "n", "cosine [95 %]", f"above {high:.2f} (chance 5 %)"],
    ).set_index("pairs")
    return Finding(note, table, high=high, one_shared=one_shared, per_word=per_word, per_sentence=per_sentence, **kinds)


def _sharing(
    doyle: list[str], jerome: list[str], across: np.ndarray
) -> tuple[dict[str, list[float]], dict[str, list[float]]]:
    """Cosines of pairs that have one rare word in common, by word; and of those that have none, by first sentence."""
    words_of = {text: set(re.findall(r"[a-z]{4,}", text.lower())) for text in [*doyle, *jerome]}
    count = Counter(word for words in words_of.values() for word in words)
    by_word: dict[str, list[float]] = defaultdict(list)
    without_any: dict[str, list[float]] = defaultdict(list)
    for i, a in enumerate(doyle):
        for j, b in enumerate(jerome):
            shared = words_of[a] & words_of[b]
            if not shared:
                without_any[a].append(across[i, j])
            elif len(shared) == 1 and count[next(iter(shared))] <= RARE:
                by_word[next(iter(shared))].append(across[i, j])
    return by_word, without_any
