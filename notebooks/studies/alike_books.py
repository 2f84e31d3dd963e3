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
from .finding import Finding

VERB = re.compile(r"\b(was|were|had|could|would|is|are|will|can|should|must)\b(?! not)")
BEHIND = re.compile(r"\b[Tt]he ([a-z]{3,})\b")
RARE = 4  # sentences at most that a word is in
FROM, TO = 30, 200  # characters of a sentence


def with_two(text: str, first: str, last: str) -> str:
    """The text with two other words behind its first and its last "the"."""
    a, *_, b = BEHIND.finditer(text)
    return text[: a.start(1)] + first + text[a.end(1) : b.start(1)] + last + text[b.end(1) :]


def misleading(lens: Lens, seed: int = 0) -> Finding:
    """Cosines of denials, of two words exchanged and of a rare word shared, each beside a control.

    Numbers: `high` 95 % of pairs across the books lie below it; `not_said` `now_said` (sentences,) with "not" or "now"
    behind the first verb; `exchanged` `elsewhere` (sentences,); `one_shared` (pairs,), `per_word` and `per_sentence`
    means of pairs that share a rare word, and that share none.
    """
    doyle, jerome = ([one for one in texts if FROM <= len(one) <= TO] for texts in excerpts.sentences().values())
    books, draw = [*doyle, *jerome], random.Random(seed)
    across = lens.similarity(doyle, jerome).double().numpy()
    high = float(np.quantile(across, 0.95))

    sayable = [one for one in books if VERB.search(one) and "not" not in one.split() and "n’t" not in one]
    nouns = [the[1] for one in books for the in BEHIND.finditer(one)]
    behind = {one: BEHIND.findall(one) for one in books}
    ends = [(one, the[0], the[-1]) for one, the in behind.items() if len(the) > 1 and the[0] != the[-1]]
    found = cosines_of(
        lens,
        {
            "not_said": [(one, VERB.sub(r"\1 not", one, count=1)) for one in sayable],
            "now_said": [(one, VERB.sub(r"\1 now", one, count=1)) for one in sayable],
            "exchanged": [(one, with_two(one, last, first)) for one, first, last in ends],
            "elsewhere": [(one, with_two(one, *draw.sample(nouns, 2))) for one, _, _ in ends],
        },
    )
    not_said, now_said, exchanged, elsewhere = found.values()
    by_word, without_any = _sharing(doyle, jerome, across)
    one_shared, no_word = (np.concatenate([np.array(x) for x in by.values()]) for by in (by_word, without_any))
    per_word, per_sentence = (np.array([np.mean(x) for x in by.values()]) for by in (by_word, without_any))
    rows = [
        ("a sentence and its denial", len(sayable), not_said, not_said),
        ("two words exchanged", len(ends), exchanged, exchanged),
        (f"one rare word shared ({len(by_word)} words)", len(one_shared), per_word, one_shared),
        ("no word shared", len(no_word), per_sentence, no_word),
    ]
    said = (
        f"{across.size:,} pairs across the books: 95 % of them are below {high:.2f}.\n"
        f"What “not” takes away beside “now”: {mean_text(now_said - not_said, 3)}, n = {len(sayable)}. "
        f"Exchanged less other words: {mean_text(exchanged - elsewhere)}, n = {len(ends)}."
    )
    table = pd.DataFrame(
        [(what, n, mean_text(means), f"{(every > high).mean():.0%}") for what, n, means, every in rows],
        columns=["pairs", "n", "cosine [95 %]", f"above {high:.2f} (chance 5 %)"],
    ).set_index("pairs")
    return Finding(said, table, high=high, one_shared=one_shared, per_word=per_word, per_sentence=per_sentence, **found)


def _sharing(
    doyle: list[str], jerome: list[str], across: np.ndarray
) -> tuple[dict[str, list[float]], dict[str, list[float]]]:
    """Cosines of pairs that have one rare word in common, by word; and of those that have none, by first sentence."""
    words_of = {one: set(re.findall(r"[a-z]{4,}", one.lower())) for one in [*doyle, *jerome]}
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
