"""Sentences with one `[MASK]`, the right word and the wrong one: drawn from templates by a seed, and natural ones.

A row is (text, right word, wrong word, the noun that decides). Half of each kind need the one word, half the other.
"""

from __future__ import annotations

import random

Row = tuple[str, str, str, str]
N = 24  # sentences of a task: heads are chosen on the first half and measured on the other
THINGS = [
    "key",
    "book",
    "letter",
    "boat",
    "tree",
    "horse",
    "chair",
    "flower",
    "window",
    "bird",
    "ship",
    "stone",
    "wall",
]
MEN = ["man", "boy", "king", "father", "brother", "uncle", "gentleman", "prince", "husband", "son"]
WOMEN = ["woman", "girl", "queen", "mother", "sister", "aunt", "lady", "princess", "wife", "daughter"]
SWAPPED = dict(zip(MEN + WOMEN, WOMEN + MEN, strict=True))
VERBS = [("buy", "bought"), ("find", "found"), ("see", "saw"), ("want", "wanted"), ("bring", "brought"), ("eat", "ate")]


def agreement(draw: random.Random, second: bool) -> Row:
    """Is the subject one or many? With a noun of the other number between."""
    subject, noun = draw.sample(THINGS, 2)
    subject, noun = (subject + "s", noun) if second else (subject, noun + "s")
    place, like = draw.choice(["near", "behind", "beside"]), draw.choice(["old", "small", "black", "new", "large"])
    right, wrong = ("were", "was") if second else ("was", "were")
    return f"The {subject} {place} the {noun} [MASK] {like}.", right, wrong, subject


def pronoun(draw: random.Random, second: bool) -> Row:
    """ "he" or "she"?"""
    who = draw.choice(WOMEN if second else MEN)
    endings = ["said that [MASK] was tired", "came home because [MASK] was ill", "smiled when [MASK] saw the child"]
    endings += ["knew that [MASK] had lost the key", "thought that [MASK] would never return"]
    right, wrong = ("she", "he") if second else ("he", "she")
    return f"The {who} {draw.choice(endings)}.", right, wrong, who


def negation(draw: random.Random, second: bool) -> Row:
    """ "any" after "not", but "some" without."""
    now, past = draw.choice(VERBS)
    verb, who = (f"did not {now}" if second else past), draw.choice(["He", "She", "They", "We"])
    what = draw.choice(["bread", "money", "water", "flowers", "books", "letters", "friends", "wine"])
    where = draw.choice(["in the town", "at the house", "on the way", "for the children"])
    right, wrong = ("any", "some") if second else ("some", "any")
    return f"{who} {verb} [MASK] {what} {where}.", right, wrong, what


MAKERS = {"agreement": agreement, "pronoun": pronoun, "negation": negation}
# Each written for itself: (text, right word, wrong word)
NATURAL: dict[str, list[tuple[str, str, str]]] = {
    "natural agreement": [
        ("The smell of the old kitchens [MASK] hard to forget.", "was", "were"),
        ("My first teacher, who taught both of my brothers, [MASK] very kind to me.", "was", "were"),
        ("The price of potatoes [MASK] higher than ever that winter.", "was", "were"),
        ("Behind the stables [MASK] a small garden with a well.", "was", "were"),
        ("The captain of the two ships [MASK] asleep when the storm began.", "was", "were"),
        ("One of the windows [MASK] open, and the rain came in.", "was", "were"),
        ("The box of matches that she kept for the candles [MASK] empty.", "was", "were"),
        ("Her answer to all these questions [MASK] always the same.", "was", "were"),
        ("The children of the baker [MASK] always covered in flour.", "were", "was"),
        ("The letters in the drawer [MASK] never meant for me.", "were", "was"),
        ("All the chairs around the table [MASK] taken when we came.", "were", "was"),
        ("The songs that my grandfather sang at work [MASK] mostly sad.", "were", "was"),
        ("On the shelf above the stove [MASK] three blue cups.", "were", "was"),
        ("The leaves of the tall chestnut [MASK] already yellow in August.", "were", "was"),
        ("Two men from the other side of the valley [MASK] waiting at the gate.", "were", "was"),
        ("The walls of the church [MASK] thick and cold.", "were", "was"),
    ],
    "natural he or she": [
        ("The old man put down his book when [MASK] heard the bell.", "he", "she"),
        ("The boy ran all the way home, and then [MASK] could not find the key.", "he", "she"),
        ("Nobody had told the king that [MASK] was in danger.", "he", "she"),
        ("My uncle sold the farm because [MASK] wanted to see the world.", "he", "she"),
        ("The prince rode through the forest until [MASK] came to a river.", "he", "she"),
        ("Since the death of his wife the gentleman upstairs hardly eats, and [MASK] never laughs.", "he", "she"),
        ("The old woman put down her book when [MASK] heard the bell.", "she", "he"),
        ("The girl laughed so much that [MASK] fell off the chair.", "she", "he"),
        ("Nobody dared to tell the queen what [MASK] had done.", "she", "he"),
        ("My aunt kept a parrot, and [MASK] talked to it every evening.", "she", "he"),
        ("The princess waited by the window until [MASK] saw the ship.", "she", "he"),
        ("The mother of the two boys worked at night, so [MASK] slept until noon.", "she", "he"),
    ],
    "nothing says who": [
        ("The guide told us that [MASK] had been there before.", "he", "she"),
        ("Since the accident [MASK] could not sleep at night.", "he", "she"),
        ("In the letter [MASK] asked for more money.", "he", "she"),
        ("A few years later [MASK] became the mayor of the town.", "he", "she"),
        ("The patient woke up, but [MASK] did not know the room.", "he", "she"),
        ("Every evening [MASK] walked along the river.", "he", "she"),
        ("The neighbour promised that [MASK] would water the plants.", "she", "he"),
        ("Until the autumn [MASK] stayed in a house by the lake.", "she", "he"),
        ("In the speech [MASK] thanked the people of the village.", "she", "he"),
        ("As soon as [MASK] came in, the room became quiet.", "she", "he"),
        ("The pupil smiled because [MASK] knew the answer.", "she", "he"),
        ("On the last page [MASK] goes back to the island.", "she", "he"),
    ],
}
