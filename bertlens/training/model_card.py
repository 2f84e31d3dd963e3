"""The model card: what the weights were trained on, how well they predict, on what, and what they cannot do."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..model import offline_model

HEAD = """# {title}

A masked language model (`transformers.AutoModelForMaskedLM`): it says which tokens may stand behind a `[MASK]`. It was
trained on text of {corpus_tokens:,} tokens, starting from the encoder {model}{new_head}.
{kept}
## Data

{data}

## Training

{taken:,} steps of {batch:,} tokens ({seen:.1f} times the corpus), {spent:.1f} hours on {device}; it ended because of:
{ended}. {masked:.0%} of the tokens were predicted, 8 of 10 shown as `[MASK]`, one as another token, one kept (Devlin
et al. 2019). AdamW at {learning_rate:g}, {warmup} steps of warm-up, then falling to 0; gradient norm at most {clip:g};
no dropout; {precision}. Seed {seed}. Made by `bertlens train-mlm`{chosen}.

Held-out texts (every 200th of the corpus) during the run:

| step | loss (nats) | top 1 | top 10 |
| ---: | ---: | ---: | ---: |
{curve}

## Scores

{share:.0%} of each passage's tokens were shown as `[MASK]`, all at once. Top 1, top 10: how often the right token was
the first, or among the first ten, of {vocabulary:,}. "One mask": a single token of each passage is hidden, all others
are seen, as when one word is asked for. Held-out texts are other texts of the corpus that it was trained on{of_books}.
{rounding}

| text | masked tokens | loss (nats) | top 1 | top 10 |
| --- | ---: | ---: | ---: | ---: |
{scores}
| held-out texts by token frequency alone | | {unigram[loss]:.3f} | {unigram[top1]:.1%} | {unigram[top10]:.1%} |

## Ten sentences

Fixed before the training, with the answers that a reader would expect; the model's first five with their probability.

| sentence | expected | first five |
| --- | --- | --- |
{sentences}

## Limits

{limits}
"""

SHIPPED = """
Its weights are kept as rounded differences from that encoder's (`differences.npz`): `Lens.embedded(mlm=True)` adds the
two. The encoder, all-MiniLM-L6-v2, is Apache-2.0, and so are the differences.
"""

BOOKS_DATA = """112 books: public-domain books in the editions of Standard Ebooks (CC0-1.0, 76 % of the characters) and
OpenStax textbooks (Rice University, CC BY 4.0, access for free at openstax.org), their running prose only, {parts}.
Three more books were set aside for the scores: Introduction to Philosophy (OpenStax), Sons and Lovers (D. H. Lawrence),
Roughing It (Mark Twain). WikiText-2 (Merity et al. 2016; text of English Wikipedia, CC BY-SA 3.0) was used for a score
only. None of the text is in this package."""

LIMITS = """- It is small, was trained for hours and not for days, and knows little of the world: names and facts are
  often wrong. It is there to be looked into, not to be asked.
{reader}- It was trained on passages of at most {length} tokens.
- It answers for one token. A word of several pieces needs several `[MASK]`, which it fills one without the other.
- A probability is the model's own, not how often it is right."""


BOOKS_READER = """- Half of what it read are novels, much of it of the 19th century: its answers and its prejudices are
  theirs.
"""
BOOKS_CHOSEN = """: one run of the command's defaults, but for bfloat16; the
learning rate is the better of two tried for 300 steps each on held-out texts"""

BOOKS_SCORED = """: other
paragraphs of the same books. `valid.txt.gz` are the three books set aside, of which it read nothing"""


def card(metrics: dict[str, Any]) -> str:
    """The card's text in Markdown, every number from metrics.json."""
    run, settings = metrics["run"], metrics["run"]["settings"]
    shipped = metrics["model"] == offline_model.NAME
    names = ", ".join(f"`{name}` (SHA-256 {sha[:12]}…)" for name, sha in metrics["corpus"].items())
    file_terms = f"{names}. Its terms are those of whoever made it: say them here before you pass it on."
    books = set(metrics["corpus"]) == {f"part-0{n}.txt.gz" for n in range(5)}
    rounded, unrounded = metrics["held_out"], metrics["before_rounding"]
    rounding = (
        f"The weights are kept as rounded differences from the encoder's: on the held-out texts that costs "
        f"{100 * (unrounded['top1'] - rounded['top1']):.2f} points of top 1. The scores are of the rounded weights."
    )
    return HEAD.format(
        **settings,
        precision="products in bfloat16" if settings["bfloat16"] else "all in float32",
        title=f"{metrics['model']} as a masked language model",
        corpus_tokens=metrics["tokens"],
        model=metrics["model"],
        new_head="" if not shipped else ", which had no head for masked tokens",
        kept=SHIPPED if shipped else "",
        data=BOOKS_DATA.format(parts=names) if books else file_terms,
        batch=settings["tokens"],
        taken=run["steps"],
        seen=run["steps"] * settings["tokens"] / metrics["tokens"],
        spent=run["seconds"] / 3600,
        device="one thread of a CPU" if run["device"] == "cpu" else "one GPU",
        ended=run["finished"],
        share=metrics["share"],
        vocabulary=metrics["vocabulary"],
        curve="\n".join(_curve(run["history"])),
        rounding=rounding if shipped else "",
        scores="\n".join(_score(*item) for item in _rows(metrics)),
        of_books=BOOKS_SCORED if books else "",
        unigram=metrics["unigram"],
        sentences="\n".join(map(_sentence, metrics["sentences"])),
        limits=LIMITS.format(**settings, reader=BOOKS_READER if books else ""),
        chosen=BOOKS_CHOSEN if books else "",
    )


def _curve(history: list[dict[str, Any]]) -> list[str]:
    """At most twelve rows, the first and the last among them."""
    end = len(history) - 1
    points = sorted({round(n * end / 11) for n in range(12)}) if end > 11 else range(end + 1)
    return [
        f"| {row['step']:,} | {row['loss']:.3f} | {row['top1']:.1%} | {row['top10']:.1%} |"
        for row in (history[n] for n in points)
    ]


def _rows(metrics: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """What is scored and its scores."""
    for name, row in metrics["scores"].items():
        yield name, row
        yield f"{name}, one mask", metrics["single"][name]
    yield "held-out texts", metrics["held_out"]


def _score(name: str, row: dict[str, float]) -> str:
    return f"| {name} | {row['n']:,} | {row['loss']:.3f} | {row['top1']:.1%} | {row['top10']:.1%} |"


def _sentence(row: dict[str, Any]) -> str:
    def answer(token: str, probability: float) -> str:
        return f"**{token}** {probability:.2f}" if token in row["expected"] else f"{token} {probability:.2f}"

    top = ", ".join(answer(**guess) for guess in row["top"])
    return f"| {row['sentence']} | {', '.join(row['expected'])} | {top} |"
