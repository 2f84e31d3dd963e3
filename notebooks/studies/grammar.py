"""Do heads know grammar? Single heads on marked sentences: Clark et al. 2019, section 4.2.

With the test data 150 sentences of the English PUD treebank; otherwise 16 that were marked for this.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any

from bertlens.lens import Lens
from bertlens.survey import Decisions, Sentence, decide, read_treebank

from .finding import Finding
from .texts import data_folder

# word/relation/head: the head is the place of another word, from 1, and 0 for the root
MARKED = """
The/det/3 old/amod/3 cat/nsubj/4 slept/root/0 on/case/8 the/det/8 warm/amod/8 mat/obl/4 ./punct/4
She/nsubj/2 gave/root/0 the/det/4 children/iobj/2 three/nummod/7 red/amod/7 apples/obj/2 ./punct/2
My/nmod:poss/2 sister/nmod:poss/4 's/case/2 friend/nsubj/5 plays/root/0 the/det/7 piano/obj/5 well/advmod/5 ./punct/5
The/det/2 letter/nsubj:pass/4 was/aux:pass/4 written/root/0 by/case/8 a/det/8 famous/amod/8 doctor/obl/4 ./punct/4
He/nsubj/3 will/aux/3 buy/root/0 bread/obj/3 and/cc/7 fresh/amod/7 milk/conj/4 today/obl/3 ./punct/3
Nobody/nsubj/2 knows/root/0 that/mark/7 the/det/5 museum/nsubj/7 is/cop/7 closed/ccomp/2 ./punct/2
Boats/nsubj/2 stayed/root/0 in/case/5 the/det/5 port/obl/2 because/mark/9 a/det/8 storm/nsubj/9 came/advcl/2 ./punct/2
Our/nmod:poss/2 teacher/nsubj/3 wanted/root/0 to/mark/5 read/xcomp/3 another/det/7 book/obj/5 ./punct/3
The/det/2 girl/nsubj/7 who/nsubj/4 won/acl:relcl/2 the/det/6 race/obj/4 smiled/root/0 ./punct/7
It/nsubj/6 is/cop/6 a/det/6 very/advmod/5 good/amod/6 idea/root/0 ./punct/6
They/nsubj/2 turned/root/0 off/compound:prt/2 the/det/6 kitchen/compound/6 lights/obj/2 ./punct/2
The/det/2 price/nsubj/6 of/case/4 coffee/nmod/2 has/aux/6 risen/root/0 again/advmod/6 ./punct/6
Two/nummod/2 men/nsubj/3 carried/root/0 the/det/6 heavy/amod/6 table/obj/3 into/case/9 the/det/9 house/obl/3 ./punct/3
I/nsubj/4 do/aux/4 not/advmod/4 like/root/0 cold/amod/6 coffee/obj/4 ./punct/4
The/det/2 dog/nmod:poss/4 's/case/2 owner/nsubj/5 lives/root/0 near/case/8 the/det/8 station/obl/5 ./punct/5
The/det/2 guests/nsubj/3 left/root/0 the/det/7 unbelievably/advmod/6 hot/amod/7 hall/obj/3 early/advmod/3 ./punct/3
"""


def marked(line: str) -> Sentence:
    """A line of MARKED as a sentence."""
    words, relations, heads = zip(*(word.rsplit("/", 2) for word in line.split()), strict=True)
    return Sentence(list(words), [int(head) - 1 for head in heads], list(relations))


def sentences(n: int = 150) -> list[Sentence]:
    pud = data_folder() / "ud_english" / "en_pud-ud-test.conllu"
    bank: Iterable[Sentence] = read_treebank(pud) if pud.is_file() else map(marked, MARKED.strip().splitlines())
    return list(islice(bank, n))


def single_heads(decisions: Decisions, best: Any) -> Finding:
    """How much a head gains by being counted where it was chosen: `flattery`; best: `decisions.best_heads()`."""
    optimistic = decisions.scores().groupby("relation")["accuracy"].max()  # chosen and counted on the same sentences
    table = best.assign(flattered=optimistic.loc[best["relation"]].to_numpy())
    rows = table[~table["relation"].str.startswith("ALL")]
    flattery = float((rows["flattered"] - rows["accuracy"]).mean())
    ahead = ", ".join(rows["relation"][rows["low"] > rows["offset_accuracy"]]) or "no relation"
    note = (
        f"{decisions.n_sentences} sentences. Chosen and counted on the same ones, a best head seems "
        f"{flattery:.2f} better (mean of {len(rows)} relations).\nBetter than the best offset by its interval: {ahead}."
    )
    columns = ["relation", "direction", "layer", "head", "n", "accuracy", "low", "high", "stable", "flattered"]
    return Finding(note, table[[*columns, "offset", "offset_accuracy"]].head(12).round(2), flattery=flattery)


def merging(lens: Lens, bank: Sequence[Sentence]) -> Finding:
    """How many words some head judges otherwise if rows of pieces are put together in another way: `changed`."""
    ways = {rows: decide(lens, bank, rows=rows, progress=False) for rows in ("mean", "first", "max")}
    mean = ways["mean"]
    changed = {rows: int((x.correct != mean.correct).any((1, 2, 3)).sum()) for rows, x in ways.items()}
    listed = ", ".join(f"“{rows}” {count}" for rows, count in changed.items() if rows != "mean")
    note = f"Words of {len(mean.relation)} for which some head's answer differs from “mean”: {listed}."
    return Finding(note, changed=changed)
