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


class Told:
    """What a lesson says, taken off it as it is found to be so."""

    def __init__(self, name: str) -> None:
        self.lesson = one_of(name)
        self.left = {n: list(self.parts(step)) for n, step in enumerate(self.lesson.steps, 1)}

    @staticmethod
    def parts(step: Step) -> Iterator[str]:
        yield from (step.text, step.after, step.model, *step.hints)
        for line in (step.table or {}).get("rows", []):
            yield " | ".join(line)

    def says(self, step: int, so: str) -> None:
        """A step says this; its numbers are then accounted for."""
        assert any(so in part for part in self.parts(self.lesson.steps[step - 1])), (step, so)
        self.left[step] = [part.replace(so, "") for part in self.left[step]]

    def numbers_left(self) -> list[tuple[int, str]]:
        """Numbers that nothing was said of; names of heads and layers are none."""
        named = re.compile(r"L\d(·H\d+)?\b|layers? \d|head \d")
        texts = [(n, named.sub("", part)) for n, parts in self.left.items() for part in parts]
        return [(n, number) for n, text in texts for number in re.findall(r"\d[\d.]*", text)]


def others(lens: bl.Lens) -> list[Trace]:
    texts = [text.strip() for text in OTHERS.split("|")]
    assert len(texts) == 20
    return [lens.trace(text) for text in texts]


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
