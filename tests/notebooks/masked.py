"""Sentences with one [MASK] that no notebook has, with their words: drawn from templates by a seed, and natural ones.

A row is (text, right word, wrong word). Half of each list need the one word, half the other.
"""

from __future__ import annotations

import random

Row = tuple[str, str, str]
SEEDS = (0, 1, 2)

THINGS = ["cup", "dog", "picture", "bridge", "coat", "lamp", "wagon", "field", "bell", "song"]
MEN = ["man", "boy", "king", "father", "brother", "gentleman", "prince", "husband", "monk", "lord"]
WOMEN = ["woman", "girl", "queen", "mother", "sister", "lady", "princess", "wife", "nun", "widow"]


def agreement(draw: random.Random, second: bool) -> Row:
    one, other = draw.sample(THINGS, 2)
    one, other = (f"{one}s", other) if second else (one, f"{other}s")
    where = draw.choice(["next to", "in front of", "below", "above"])
    end = draw.choice(["hardly seen", "very beautiful", "still there", "never clean"])
    right, wrong = ("were", "was") if second else ("was", "were")
    return f"We thought that the {one} {where} the {other} [MASK] {end}.", right, wrong


def pronoun(draw: random.Random, second: bool) -> Row:
    who = draw.choice(WOMEN if second else MEN)
    end = draw.choice(
        [
            "did not answer, for [MASK] was afraid",
            "wept when [MASK] read the letter",
            "slept until [MASK] heard a noise",
        ]
    )
    right, wrong = ("she", "he") if second else ("he", "she")
    return f"In the evening the {who} {end}.", right, wrong


def negation(draw: random.Random, second: bool) -> Row:
    who, what = draw.choice(["I", "We", "You"]), draw.choice(["wood", "fruit", "bread", "stones", "money", "clothes"])
    now, past = draw.choice([("take", "took"), ("keep", "kept"), ("send", "sent"), ("sell", "sold")])
    verb, (right, wrong) = (f"did not {now}", ("any", "some")) if second else (past, ("some", "any"))
    return f"{who} {verb} [MASK] {what} that day.", right, wrong


TASKS = {"agreement": agreement, "pronoun": pronoun, "negation": negation}


def drawn(task: str, seed: int, n: int = 24) -> list[Row]:
    """n sentences of a template that is not the notebook's."""
    draw = random.Random(seed)
    return [TASKS[task](draw, bool(at % 2)) for at in range(n)]


def rows(right: str, wrong: str, ones: list[str], others: list[str]) -> list[Row]:
    """One by one in turn, so that both halves of a list need both words."""
    pairs = zip(ones, others, strict=True)
    return [row for one, other in pairs for row in ((one, right, wrong), (other, wrong, right))]


NATURAL = {
    "agreement": rows(
        "was",
        "were",
        [
            "The noise of the machines [MASK] so loud that we had to shout.",
            "After the long meeting in the town hall everyone [MASK] hungry and a little angry.",
            "The museum, which my cousins wanted to see, [MASK] closed on Mondays.",
            "His knowledge of rare plants [MASK] known far beyond the valley.",
            "What I remember best [MASK] the taste of cold milk.",
            "There [MASK] no doctor on the island in those days.",
            "The winner of both races [MASK] a girl from the north.",
            "Every one of the boxes [MASK] marked with a red cross.",
            "The plan that the workers had made [MASK] too expensive.",
            "A ship with many passengers [MASK] reported missing last Friday.",
        ],
        [
            "The people in the waiting room [MASK] silent and tired.",
            "Both of the hotels near the station [MASK] full, so he slept in a chair.",
            "The twins, like their mother, [MASK] afraid of thunder.",
            "When the results of the vote [MASK] printed, nobody believed them.",
            "The reasons for his long silence [MASK] never explained.",
            "There [MASK] several good schools in that part of the city.",
            "The owners of the large house [MASK] away for the summer.",
            "Most of the books on the upper shelf [MASK] written in Greek.",
            "The trees that the storm had broken [MASK] sold for wood.",
            "Her hands, after a whole day in the field, [MASK] rough and red.",
        ],
    ),
    "pronoun": rows(  # a word of the sentence says who it is
        "he",
        "she",
        [
            "The priest shut the heavy door before [MASK] lit the lamp.",
            "My grandfather kept every letter that [MASK] had ever received.",
            "The emperor trusted nobody, and [MASK] tasted each dish twice.",
            "A boy from the next street says that [MASK] has seen a wolf.",
            "Her brother has a good voice, but [MASK] is too shy to sing.",
            "The old gentleman paid for the meal although [MASK] had eaten nothing.",
            "The king of that country was ill, and [MASK] could not ride.",
            "Our father built the house where [MASK] was going to live.",
            "The guard was a tall man, and [MASK] never smiled at us.",
            "His son wants to be a painter when [MASK] is older.",
        ],
        [
            "The old nun shut the heavy door before [MASK] lit the lamp.",
            "My grandmother kept every letter that [MASK] had ever received.",
            "The empress trusted nobody, and [MASK] tasted each dish twice.",
            "A girl from the next street says that [MASK] has seen a wolf.",
            "His sister has a good voice, but [MASK] is too shy to sing.",
            "The old lady paid for the meal although [MASK] had eaten nothing.",
            "The queen of that country was ill, and [MASK] could not ride.",
            "Our mother drew the house where [MASK] was going to live.",
            "The cook was a tall woman, and [MASK] never smiled at us.",
            "His daughter wants to be a painter when [MASK] is older.",
        ],
    ),
    "pronoun, nothing says who": rows(  # which word is right is then nothing that the sentence tells
        "he",
        "she",
        [
            "Nobody knew why [MASK] had left the town so early.",
            "After dinner [MASK] went out to look at the stars.",
            "The driver said that [MASK] had not seen the light.",
            "For many years [MASK] lived alone in a small flat.",
            "The winner told us that [MASK] trained every morning.",
            "In the second chapter [MASK] finally speaks about the war.",
            "It was clear that [MASK] did not want to stay.",
            "The author wrote the book while [MASK] was travelling.",
            "At the age of ten [MASK] moved to another country.",
            "Then [MASK] took the bus and got off at the market.",
        ],
        [
            "Nobody asked where [MASK] had been all day.",
            "Before sunrise [MASK] fed the hens and made a fire.",
            "The visitor thought that [MASK] had missed the train.",
            "For a long time [MASK] worked in a bank.",
            "The student hoped that [MASK] would pass the exam.",
            "In the last scene [MASK] leaves the house for ever.",
            "It seemed that [MASK] had forgotten the appointment.",
            "The singer was famous long before [MASK] came to Paris.",
            "At the end of the year [MASK] opened a second shop.",
            "Later [MASK] found the ring under the carpet.",
        ],
    ),
}
