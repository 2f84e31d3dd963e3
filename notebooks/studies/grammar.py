"""Do heads know grammar? Single heads on marked sentences, and all together in a probe: Clark et al. 2019, 4.2 and 5.

With the test data 150 sentences of the English PUD treebank; otherwise 16 that were marked for this.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import Any

import numpy as np
import pandas as pd
import torch

from bertlens.lens import Lens
from bertlens.survey import Decisions, Sentence, decide, mean_interval, read_treebank, word_attention
from bertlens.survey.intervals import share_interval

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
NEXT, SINGLE, PROBE = "next word", "best single head", "probe, other sentences"
LEARNED, CONTROL = "probe, sentences it learned from", "control: the probe's weights, shuffled among heads"
Example = tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]  # features, own word, counted words, heads
Guess = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]  # features, own word -> each word's head


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


def _example(lens: Lens, sentence: Sentence) -> Example:
    trace = lens.trace_words(sentence.words)
    maps = [word_attention(trace, layer, len(sentence)) for layer in range(trace.n_layers)]
    attention = torch.cat(maps).float()  # (heads, words, words)
    eye = torch.eye(len(sentence), dtype=torch.bool)
    features = torch.cat([attention, attention.transpose(1, 2)]).masked_fill(eye, 0)
    words = [i for i, name in enumerate(sentence.relations) if name.split(":")[0] not in ("root", "punct")]
    return features, eye, torch.tensor(words), torch.tensor(sentence.heads)


def _scores(weights: torch.Tensor, features: torch.Tensor, eye: torch.Tensor) -> torch.Tensor:
    return torch.einsum("k,kij->ij", weights, features).masked_fill(eye, -torch.inf)


def _taught(examples: Sequence[Example]) -> torch.Tensor:
    """(2·heads,) weights, learned from these sentences."""
    weights = torch.zeros(len(examples[0][0]), requires_grad=True)
    optimizer = torch.optim.Adam([weights], lr=0.1)
    for _ in range(40):
        losses = [
            torch.nn.functional.cross_entropy(_scores(weights, features, eye)[words], heads[words])
            for features, eye, words, heads in examples
        ]
        loss = torch.stack(losses).mean() + 1e-4 * weights.square().sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return weights.detach()


def _found(guess: Guess, examples: Sequence[Example]) -> np.ndarray:
    """(sentences, 2) words with the right head, and words that count."""
    return np.array([(int((guess(x, eye)[at] == heads[at]).sum()), len(at)) for x, eye, at, heads in examples])


def _probe(weights: torch.Tensor) -> Guess:
    return lambda features, own: _scores(weights, features, own).argmax(-1)


def _single(k: int) -> Guess:
    return lambda features, own: features[k].masked_fill(own, -1).argmax(-1)


def _following(features: torch.Tensor, own: torch.Tensor) -> torch.Tensor:
    return torch.arange(features.shape[1]) + 1


def probe(lens: Lens, bank: Sequence[Sentence]) -> Finding:
    """One weight for each head and direction, learned on half of the sentences and tested on the other: Clark's 5.

    `rows`: name -> (sentences, 2) words with the right head, and words that count; `orders` share for each of 20
    orders of the weights among heads; `lead`: name -> (sentences,) how much more the probe finds.
    """
    examples = [_example(lens, sentence) for sentence in bank]
    halves = [(examples[::2], examples[1::2]), (examples[1::2], examples[::2])]
    generator = torch.Generator().manual_seed(0)
    counts: dict[str, list[np.ndarray]] = {}
    shuffled = []
    for teach, test in halves:
        weights = _taught(teach)
        # chosen where the probe was taught
        right = [_found(_single(k), teach)[:, 0].sum() for k in range(len(weights))]
        winner = int(np.argmax(right))
        for name, guess in ((NEXT, _following), (SINGLE, _single(winner)), (PROBE, _probe(weights))):
            counts.setdefault(name, []).append(_found(guess, test))
        counts.setdefault(LEARNED, []).append(_found(_probe(weights), teach))
        orders = [torch.randperm(len(weights), generator=generator) for _ in range(20)]
        shuffled.append([_found(_probe(weights[order]), test) for order in orders])
    rows = {name: np.concatenate(x) for name, x in counts.items()}
    control = np.concatenate(shuffled, 1)  # (orders, sentences, 2)
    rows[CONTROL] = control.mean(0)
    mine = rows[PROBE]
    lead = {name: (mine[:, 0] - rows[name][:, 0]) / mine[:, 1] for name in (SINGLE, NEXT, CONTROL)}
    orders_share = share(control)
    lines = []
    for name, values in lead.items():
        mean, low, high = mean_interval(values)
        lines.append(f"The probe leads {name} by {mean:.3f} [{low:.3f}, {high:.3f}], mean of {len(bank)} sentences.")
    lines.append(f"The 20 orders of the control give {orders_share.min():.3f} to {orders_share.max():.3f}.")
    bounds = {name: share_interval(x[:, 0], x[:, 1]) for name, x in rows.items()}
    columns: dict[str, Any] = {
        f"share of {int(mine[:, 1].sum())} words with the right head": {
            name: round(float(share(x)), 3) for name, x in rows.items()
        },
        "95 %, over sentences": {name: f"[{low:.3f}, {high:.3f}]" for name, (low, high) in bounds.items()},
    }
    return Finding("\n".join(lines), pd.DataFrame(columns), rows=rows, orders=orders_share, lead=lead)


def share(counts: np.ndarray) -> np.ndarray:
    """Of (…, sentences, 2) words with the right head and words that count: the share over all sentences."""
    shares: np.ndarray = counts[..., 0].sum(-1) / counts[..., 1].sum(-1)
    return shares
