"""What a large cosine of two texts means: unrelated pairs, and three kinds of pairs that mislead, made from frames.

Pairs of one frame are alike, so intervals are over frames.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import torch

from bertlens.lens import Lens
from bertlens.measures.ranks import spearman
from bertlens.sentences.pair_similarity import similarity
from bertlens.survey import mean_text

from .finding import Count, Finding, verdicts

Pairs = Sequence[tuple[str, str]]

SUBJECTS = ["The committee", "My sister", "The farmer", "Our teacher", "The mayor", "Her doctor", "The new pilot"]
SUBJECTS += ["His uncle", "The baker", "A neighbour"]
DENIALS = [  # said, denied, something else
    ("likes the new plan", "does not like the new plan", "likes the old chair"),
    ("will come to the wedding", "will not come to the wedding", "will come to the harbour"),
    ("can read this letter", "cannot read this letter", "can read this map"),
    ("has paid the bill", "has not paid the bill", "has paid the driver"),
    ("trusts the weather report", "does not trust the weather report", "trusts the weather station"),
    ("was happy with the answer", "was not happy with the answer", "was happy with the soup"),
    ("sold the house last year", "did not sell the house last year", "sold the horse last year"),
    ("knows how to swim", "does not know how to swim", "knows how to cook"),
    ("believes the story", "does not believe the story", "believes the lawyer"),
    ("has a key to the garden", "has no key to the garden", "has a key to the office"),
    ("speaks with the press", "never speaks with the press", "speaks with the pupils"),
    ("found the lost ring", "did not find the lost ring", "found the lost dog"),
]
WHO = ["dog", "cat", "farmer", "teacher", "boy", "nurse", "soldier", "king", "thief", "driver", "horse", "monk"]
VERBS = ["chased", "helped", "followed", "called", "watched", "saved", "met", "hit", "paid", "taught", "feared"]
VERBS += ["found"]
RARE = ["kumquat", "harpsichord", "axolotl", "zeppelin", "trombone", "papyrus", "samovar", "gargoyle", "otter"]
RARE += ["chisel"]
FREQUENT = ["thing", "man", "place", "day", "house", "book", "time", "letter", "money", "child"]
TWO = [
    ("The old woman found a {} behind the church.", "We heard about a {} on the radio."),
    ("A {} lay on the table.", "Nobody at school had ever drawn a {}."),
    ("He spent his money on a {}.", "The museum wants to show a {} next week."),
    ("They talked about the {} all night.", "My brother dreamt of a {}."),
    ("There is a {} in the window of the shop.", "The film begins with a {}."),
    ("She wrote a poem about a {}.", "The police are looking for a {}."),
    ("The captain kept a {} under his bed.", "The guide told us about a {}."),
    ("Every guest was given a {}.", "A {} was on the cover of the magazine."),
    ("I would rather have a {}.", "The bus stopped because of a {}."),
    ("The children named their boat after a {}.", "The lawyer asked for a {}."),
]


def cosines(lens: Lens, pairs: Pairs) -> np.ndarray:
    """(pairs,) the model's cosine of the two texts of each pair; each text is encoded once."""
    place = {text: at for at, text in enumerate(dict.fromkeys(text for pair in pairs for text in pair))}
    vectors = lens.encode(list(place)).double()
    a, b = (vectors[[place[text] for text in side]] for side in zip(*pairs, strict=True))
    return torch.nn.functional.cosine_similarity(a, b).numpy()


def cosines_of(lens: Lens, kinds: dict[str, Pairs]) -> dict[str, np.ndarray]:
    """`cosines` of pairs of several kinds, which may share texts."""
    values = cosines(lens, [pair for pairs in kinds.values() for pair in pairs])
    ends = np.cumsum([len(pairs) for pairs in kinds.values()])[:-1]
    return dict(zip(kinds, np.split(values, ends), strict=True))


def filled(words: Sequence[str], shift: int = 0) -> list[tuple[str, str]]:
    """Each frame of TWO with each word; the second text has another word for shift > 0."""
    numbers = range(len(words))
    return [(a.format(words[n]), b.format(words[(n + shift) % len(words)])) for a, b in TWO for n in numbers]


def by_frame(values: np.ndarray, frames: Sequence[Any]) -> np.ndarray:
    """(frames,) the mean of each frame's pairs."""
    return values.reshape(len(frames), -1).mean(1)


class Alike:
    """Counts on a sentence encoder, over pairs of sentences that go together."""

    def __init__(self, lens: Lens, pairs: Pairs) -> None:
        self.lens, self.pairs = lens, list(pairs)

    @Count
    def baseline(self) -> Finding:
        """Cosines of a first sentence with the second of another pair: `low` and `high` hold 90 % of them, `unrelated`
        is all; `related` (pairs,) of those that go together, `beyond` the share of these above `high`."""
        firsts, seconds = zip(*self.pairs, strict=True)
        table = self.lens.similarity(list(firsts), list(seconds)).double().numpy()
        unrelated, related = table[~np.eye(len(table), dtype=bool)], np.diag(table)
        low, high = np.quantile(unrelated, [0.05, 0.95])
        beyond = float((related > high).mean())
        note = (
            f"{len(unrelated)} pairs that do not belong together: 90 % of them lie between {low:.2f} and {high:.2f}.\n"
            f"{len(related)} pairs that do: {mean_text(related)}; {beyond:.0%} of them are above {high:.2f}, "
            "by chance it would be 5 %."
        )
        return Finding(note, low=low, high=high, unrelated=unrelated, related=related, beyond=beyond)

    @Count
    def misleading(self) -> Finding:
        """Cosines of the three kinds and of what stands beside each: (pairs,) `denied` `changed` `swapped` `third`
        `rare` `apart` `frequent` `frequent_apart`, and over frames `denial`, `roles`, `gain_rare`, `gain_frequent`."""
        high, draw = self.baseline.high, random.Random(0)
        threes = [(verb, *draw.sample(WHO, 3)) for verb in VERBS for _ in range(10)]
        kinds: dict[str, Pairs] = {
            "denied": [(f"{who} {a}.", f"{who} {no}.") for a, no, _ in DENIALS for who in SUBJECTS],
            "changed": [(f"{who} {a}.", f"{who} {b}.") for a, _, b in DENIALS for who in SUBJECTS],
            "swapped": [(_street(a, v, b), _street(b, v, a)) for v, a, b, _ in threes],
            "third": [(_street(a, v, b), _street(a, v, c)) for v, a, b, c in threes],
            "rare": filled(RARE),
            "apart": filled(RARE, 3),
            "frequent": filled(FREQUENT),
            "frequent_apart": filled(FREQUENT, 3),
        }
        by_kind = cosines_of(self.lens, kinds)
        frames: dict[str, Sequence[Any]] = {"denied": DENIALS, "changed": DENIALS, "swapped": VERBS, "third": VERBS}
        denial = by_frame(by_kind["denied"] - by_kind["changed"], DENIALS)
        roles = by_frame(by_kind["swapped"] - by_kind["third"], VERBS)
        gain_rare = by_frame(by_kind["rare"] - by_kind["apart"], TWO)
        gain_frequent = by_frame(by_kind["frequent"] - by_kind["frequent_apart"], TWO)
        names = {
            "denied": "a sentence and its denial",
            "changed": "… and with another word",
            "swapped": "two roles swapped",
            "third": "… and with a third one",
            "rare": "unrelated, one rare word shared",
            "apart": "… with two rare words",
            "frequent": "unrelated, one frequent word shared",
            "frequent_apart": "… with two frequent words",
        }
        rows = [
            (
                names[name],
                len(values),
                mean_text(by_frame(values, frames.get(name, TWO))),
                f"{(values > high).mean():.0%}",
            )
            for name, values in by_kind.items()
        ]
        note = (
            f"Denied less another word: {mean_text(denial)}. Roles swapped less a third one: {mean_text(roles)}.\n"
            f"What sharing the word adds: rare {mean_text(gain_rare)}, frequent {mean_text(gain_frequent)}."
        )
        columns = ["pairs", "n", "cosine [95 %, over frames]", f"above {high:.2f} (chance 5 %)"]
        over_frames = {"denial": denial, "roles": roles, "gain_rare": gain_rare, "gain_frequent": gain_frequent}
        return Finding(note, pd.DataFrame(rows, columns=columns).set_index("pairs"), **by_kind, **over_frames)

    @Count
    def shared_word(self) -> Finding:
        """Does the split find the rare word that two texts share? `first` (pairs,) whether it is the largest cell of
        two words, `chance`; where it is: `cell` its part of the cosine, `own` what goes with it in the experiment."""
        cell, effect, hits, chance = [], [], [], []
        for pair, word in zip(filled(RARE), RARE * len(TWO), strict=True):
            split = similarity(self.lens, *pair)
            among = split.pairs(words=True)
            inner = among.loc[[name not in SPECIAL for name in among.index], [name not in SPECIAL for name in among]]
            at = divmod(int(inner.to_numpy().argmax()), inner.shape[1])
            hits.append((inner.index[at[0]], inner.columns[at[1]]) == (word, word))
            chance.append(1 / inner.size)
            tried = split.effects(1).iloc[0]
            if (tried["a"], tried["b"]) == (word, word):
                cell.append(tried["part"])
                effect.append(tried["own"])
        note = (
            f"The rare word with itself is the largest cell of two words in {np.mean(hits):.0%} of {len(hits)} "
            f"pairs; by chance in {np.mean(chance):.1%}.\n{len(cell)} pairs: its part of the sum {mean_text(cell)}, "
            f"its own part in the experiment {mean_text(effect)}."
        )
        return Finding(
            note, first=np.array(hits), chance=float(np.mean(chance)), cell=np.array(cell), own=np.array(effect)
        )

    @Count
    def order(self) -> Finding:
        """Parts against experiments, the eight largest cells of each pair: (pairs,) `rho`, `same` largest one."""
        rho, agrees = [], []
        for pair in self.pairs:
            tried = similarity(self.lens, *pair).effects(8)
            size, effect = (torch.tensor(tried[name].to_numpy()) for name in ("part", "own"))
            rho.append(float(spearman(size, effect)))
            agrees.append(tried["part"].abs().idxmax() == tried["own"].abs().idxmax())
        note = (
            f"{len(rho)} pairs: rank correlation of part and own part {mean_text(rho, most=1)} (0 by chance).\n"
            f"The largest part is the largest own part, too, in {np.mean(agrees):.0%} of them (chance 12.5 %)."
        )
        return Finding(note, rho=np.array(rho), same=np.array(agrees))

    @property
    def conclusions(self) -> Any:
        """A table: what is said of similarity, what holds on this model, by which numbers."""
        baseline, trap, word = self.baseline, self.misleading, self.shared_word
        high = baseline.high
        rows = [
            (
                "A cosine of .5 means: alike",
                f"above {high:.2f} it does",
                f"unrelated: {baseline.low:.2f} to {high:.2f}, n = {len(baseline.unrelated)}",
            ),
            (
                "A denial is less alike than another word",
                "the other way, in these frames",
                f"{mean_text(trap.denial)}, n = {len(trap.denied)}",
            ),
            (
                "Who does what to whom counts",
                "hardly",
                f"cosine {mean_text(by_frame(trap.swapped, VERBS))}, n = {len(trap.swapped)}",
            ),
            (
                "One shared word is not enough",
                "a rare one can be",
                f"{(trap.rare > high).mean():.0%} above {high:.2f}, n = {len(trap.rare)}",
            ),
            (
                "The largest cell shows the word it depends on",
                "for a shared rare word",
                f"{word.first.mean():.0%}, chance {word.chance:.1%}",
            ),
            (
                "… and how much depends on it",
                "no: try it",
                f"part {mean_text(word.cell)}, own part {mean_text(word.own)}",
            ),
            (
                "Parts and experiment have one order",
                "in part",
                f"ρ {mean_text(self.order.rho, most=1)}, n = {len(self.order.rho)}",
            ),
        ]
        return verdicts(rows, ("claim", "on this model", "numbers"))


SPECIAL = ("[CLS]", "[SEP]")


def of_words(table: Any) -> float:
    """The sum of the cells of two words in a table of `Similarity.pairs(words=True)`."""
    rows, columns = ([name not in SPECIAL for name in names] for names in (table.index, table.columns))
    return float(table.loc[rows, columns].to_numpy().sum())


def _street(a: str, verb: str, b: str) -> str:
    return f"The {a} {verb} the {b} in the street."
