"""What a lesson says, to be taken off it as it is found to be so; and sentences that no lesson has."""

from __future__ import annotations

import re
from collections.abc import Iterator

from torch import Tensor

import bertlens as bl
from bertlens.lessons.lesson import Step, one_of
from bertlens.trace.trace import Trace

OTHERS = """Dogs chase cars in the street.|She gave him a book about birds and he read it twice.|Time flies.|
My brother works in a small town near the sea and likes it.|Water boils at one hundred degrees.|
The teacher asked whether anyone had seen the key.|Nobody came to the party last night.|He who laughs last laughs best.|
The red car stopped at the corner.|Many people drink tea in the morning.|Birds sing early.|
The book that I read was long and dull.|We will meet at noon.|Can you hear the music?|
The train was late, so we walked home.|A good idea needs time.|Her answer surprised us all.|
Rain fell on the roof all night.|The child drew a house with a blue door.|Old trees grow slowly."""

GAPS = (
    "She drank a cup of [MASK].|The cat sat on the [MASK].|Paris is the capital of [MASK].|"
    "He opened the [MASK] with a key.|The [MASK] barked all night.|She wrote a letter to her [MASK].|"
    "We drove to the [MASK].|The sun is [MASK].|He is a very [MASK] man.|They live in a small [MASK].|"
    "I would like a glass of [MASK].|The teacher read a [MASK] to the class.|Birds can [MASK].|In winter it is [MASK].|"
    "The boy ate an [MASK].|She plays the [MASK].|The train was [MASK].|My [MASK] is broken.|He closed the [MASK].|"
    "The soup was too [MASK]."
).split("|")

# short sentences that begin with I or He, and others
PERSONAL = (
    "I laughed.|He laughed.|He came home.|I saw it.|He told me.|I like tea.|He is here.|I do not know.|He left early.|"
    "I am tired.|He said nothing.|I think so.|He ran away.|I want to go.|He has a dog.|I was late.|He knows her.|"
    "I heard him.|He will come.|I forgot."
)
REST = (
    "Birds sing.|Rain fell.|The dog slept.|Cats like milk.|Tea is hot.|Snow is white.|The door opened.|"
    "Trees grow slowly.|Dogs bark.|The train left.|Water boils.|The sun set.|Books are heavy.|Children play.|"
    "The soup is cold.|Nothing happened.|Winter came.|The bell rang.|Paper burns.|The king died."
)
# two sentences that share a word
SHARED = [
    tuple(line.split("|"))
    for line in """The dog barked all night.|Nobody liked the dog.|dog
She bought a red car.|The car was old.|car
My brother lives in Rome.|I saw my brother there.|brother
The children play in the garden.|Our garden is small.|garden
He wrote a long letter.|The letter never came.|letter
We drink tea in the morning.|Green tea is good.|tea
The river is deep.|A boat is on the river.|river
They built a house.|It is the best house here.|house
The music was loud.|I do not like such music.|music
A storm came at night.|After the storm it was quiet.|storm
The king had a daughter.|Everybody loved the daughter.|daughter
Her book won a prize.|I have read the book.|book
The bridge is closed.|Cars may not use the bridge.|bridge
Bring your own chair.|There is no chair left.|chair
The doctor was late.|We waited for the doctor.|doctor
The soup is hot.|Who made this soup?|soup
A bird sat in the tree.|The old tree fell.|tree
The train stopped twice.|We missed the train.|train
The window was open.|Please close the window.|window
I lost my key.|This key fits.|key""".split("\n")
]

# what begins so asks the reader to do something, and says nothing that could be wrong
ASKS = re.compile(
    r"(Click|Find|Type|Run|Read|Write|Guess|Draw|Look|Try|Suppose|Take|Point|Begin|Switch off|Keep|Then (find|click)|"
    r"Now find|Just one word|One word|For example|On a tablet|You can begin)\b"
)


class Told:
    """What a lesson says, taken off it as it is found to be so."""

    def __init__(self, name: str) -> None:
        self.lesson = one_of(name)
        self.left = {n: list(self.parts(step)) for n, step in enumerate(self.lesson.steps, 1)}
        self.said: dict[int, list[str]] = {n: [] for n in self.left}

    @staticmethod
    def parts(step: Step) -> Iterator[str]:
        yield from (step.text, step.after, step.model, *step.hints)
        for line in (step.table or {}).get("rows", []):
            yield " | ".join(line)

    def says(self, step: int, so: str) -> None:
        """A step says this; its numbers are then accounted for, and so is the sentence that it is part of."""
        assert any(so in part for part in self.parts(self.lesson.steps[step - 1])), (step, so)
        self.left[step] = [part.replace(so, "") for part in self.left[step]]
        self.said[step].append(so)

    def only_says(self, step: int, *sentences: str) -> None:
        """Sentences that state no fact about the model: what a word means, what a person thinks, what a picture is."""
        for sentence in sentences:
            assert any(sentence in part for part in self.parts(self.lesson.steps[step - 1])), (step, sentence)
            self.said[step].append(sentence)

    def numbers_left(self) -> list[tuple[int, str]]:
        """Numbers that nothing was said of; names of heads and layers are none."""
        named = re.compile(r"L\d(·H\d+)?\b|layers? \d|head \d")
        texts = [(n, named.sub("", part)) for n, parts in self.left.items() for part in parts]
        return [(n, number) for n, text in texts for number in re.findall(r"\d[\d.]*", text)]

    def unsaid(self) -> list[tuple[int, str]]:
        """Sentences that nothing was said of, without questions, titles and what asks the reader to do something."""
        found = []
        for n, step in enumerate(self.lesson.steps, 1):
            for part in (step.text, step.after, step.model, *step.hints):
                lines = [line for line in part.splitlines() if not line.startswith("# ")]
                for sentence in (one for line in lines for one in re.split(r"(?<=[.!?:])\s+(?=[^a-z])", line)):
                    free = not sentence or sentence.rstrip("*”)").endswith("?") or ASKS.match(sentence.lstrip("*"))
                    if not free and not any(so in sentence or sentence.rstrip(".") in so for so in self.said[n]):
                        found.append((n, sentence))
        return found


def others(lens: bl.Lens) -> list[Trace]:
    texts = [text.strip() for text in OTHERS.split("|")]
    assert len(texts) == 20
    return lens.trace_batch(texts)


def share(trace: Trace, layer: int, head: int, diagonal: int) -> float:
    """Of the attention of all tokens, what goes along a diagonal."""
    return float(trace.attention(layer)[head].diagonal(diagonal).sum()) / trace.n_tokens


def row(trace: Trace, layer: int, head: int, word: str) -> Tensor:
    return trace.attention(layer)[head][trace.tokens.index(word)]


def weight(trace: Trace, layer: int, head: int, query: str, key: str) -> float:
    return float(row(trace, layer, head, query)[trace.tokens.index(key)])


def first(trace: Trace) -> tuple[str, float]:
    best = trace.predictions(1).iloc[0]
    return str(best["token"]), float(best["probability"])


def best(shares: list[tuple[float, tuple[int, int]]]) -> tuple[int, int]:
    """The head with the largest share."""
    return max(shares)[1]
