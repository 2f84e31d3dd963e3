"""The model card: what the weights were trained on, under which terms, how good they are and where they fail."""

from __future__ import annotations

import textwrap
from typing import Any

from ...sars_cov_2.kmers import KMER, STRIDE
from ...sars_cov_2.model import NAME

CLOSE = 2  # nucleotides

HEAD = """# {name}

A BERT (`transformers.BertForSequenceClassification`) that tells SARS-CoV-2 variants apart by their spike gene. It is
made to be looked into, with {layers} layers x {heads} heads in few parameters. It is no diagnostic tool.

## How far its score carries

{near}

## What it is

| | |
| --- | --- |
| Shape | {layers} layers, {heads} heads, width {width}, feed-forward {intermediate} |
| Weights | {parameters:,} parameters, stored in float16 |
| Input | spike gene from its start codon on, as {kmer}-mers with stride {stride}: about 424 tokens, [CLS], [SEP] |
| Vocabulary | {kmers:,} {kmer}-mers of the train split and of the reference; anything else is [UNK] |
| Output | {classes} |

`kmers.json` holds the windows of one reference, the spike of lineage B (3,822 nt, D614), with their coordinates. No
sequence of a sample is stored.

## Data and terms

{data}

The train, validation and test splits hold different sequences; validation was drawn from the train split by whole
lineages, or by single sequences where no lineages add up to an eighth of a class. Training did not look at the test
split.

| sequences | {labels} | all |
| --- |{rule} ---: |
{sizes}
"""

OWN_DATA = (
    "Trained on `{file}` (SHA-256 {sha}…). Its terms are those of whoever made it: say them here before you pass it on."
)

# The file that the shipped weights were trained on, by its SHA-256.
OPEN_FILE = "62f431f23f49ce4e51bbb4acf105cc7daceeb370a3b572dce034d2729a99c553"
OPEN_DATA = """Spike genes of public consensus genomes: repository andersen-lab/HCoV-19-Genomics, commit
ee5993b16d3709099e6eac2b0b712c10056061c4 (also NCBI BioProject PRJNA612578; San Diego, Baja California, Jordan and
others). Its README says "please feel free to download and use without restrictions", and asks to be told of
publications that use the data; it has no licence file. Nothing comes from GISAID. Identical sequences were merged, and
variants below 20 sequences left out. Labels are the variant of the nearest Pango lineage, computed from the whole
genome: they are approximate below the level of variants. `other` is what is none of the named variants, mostly lineages
of 2020 and early 2021. Whole lineages are in one of train and test for Delta, Omicron, Gamma, Mu and other; single
sequences for Alpha, Epsilon and Iota, which have too few lineages. The weights are licensed like bertlens, Apache-2.0.

What this data means for the answers: Beta, Lambda, Zeta, Kappa and Eta were too rare to be learned and are not among
`other` either, so a sequence of theirs gets a wrong answer, as may anything after early 2024. Samples are from few
places; frequencies and mutations that occur together are theirs.

The test split of this file is not quite unseen. The command's default settings were chosen on validation (macro-F1),
but two models of earlier settings had been scored on the test split before: 567 and 570 of 572 right, macro-F1 0.98
each, on validation 0.89 each."""

TRAINING = """
## Training

{steps:,} steps of {batch_size} sequences, {minutes:.0f} minutes of wall time on {device}; the best validation macro-F1
came at step {best_step:,}. AdamW at {learning_rate:g} with {warmup} steps of warm-up, then falling to 0; gradient norm
at most {clip:g}; loss weights fall with the square root of a class's size; no dropout, but {unknown:.0%} of the k-mers
shown as [UNK], and {shifted:.0%} of the sequences without one or two codons at a random place, which shifts the windows
behind. Only a share of each sequence's windows was shown at first, rare ones more often
({shown}), then all of them. Seed {seed}. Made by `bertlens train-sars-cov-2`.
"""

LIMITS = """
## Limits

- The task is easy: a single defining mutation often decides.
- Deletions that are no multiple of 9 nucleotides shift every window behind them, whose k-mers differ from then on; much
  of what sets some variants apart is this shift.
- Attention shows where a head looks; by itself it says nothing about biology.
"""


def card(metrics: dict[str, Any]) -> str:
    """The card's text in Markdown, every number from metrics.json."""
    settings, test, validation = metrics["run"]["settings"], metrics["test"], metrics["validation"]
    labels = test["labels"]
    sizes = [
        f"| {split} | {' | '.join(str(counts[label]) for label in labels)} | {sum(counts.values()):,} |"
        for split, counts in metrics["sizes"].items()
    ]
    source = metrics["data"]
    file_terms = OWN_DATA.format(file=source["file"], sha=source["sha256"][:12])
    text = HEAD.format(
        **settings,
        near=near(metrics),
        name=NAME if source["sha256"] == OPEN_FILE else "SARS-CoV-2 variant classifier",
        data=OPEN_DATA if source["sha256"] == OPEN_FILE else file_terms,
        parameters=metrics["parameters"],
        kmers=metrics["kmers"],
        kmer=KMER,
        stride=STRIDE,
        classes=", ".join(labels),
        labels=" | ".join(labels),
        rule=" ---: |" * len(labels),
        sizes="\n".join(sizes),
    )
    text += TRAINING.format(
        **settings
        | {
            "shown": _shown(settings["shown"]),
            "steps": metrics["run"]["steps"],
            "best_step": metrics["run"]["best_step"],
            "minutes": metrics["run"]["seconds"] / 60,
            "device": "the CPU" if metrics["run"]["device"] == "cpu" else "one GPU",
        }
    )
    text += "\n## Metrics\n\n| split | sequences | accuracy | macro-F1 | 95 % |\n| --- | ---: | ---: | ---: | ---: |\n"
    for name, scores in (("validation", validation), ("test", test)):
        text += f"| {name} | {scores['n']} | {scores['accuracy']:.2f} | {scores['macro_f1']:.2f} "
        text += f"| {_interval(scores['macro_f1_interval']) or 'none'} |\n"
    text += "\nTest split, per class:\n\n| variant | precision | recall | F1 | sequences |\n"
    text += "| --- | ---: | ---: | ---: | ---: |\n"
    for row in test["per_class"]:
        text += f"| {row['variant']} | {row['precision']:.2f} | {row['recall']:.2f} | {row['f1']:.2f} | {row['n']} |\n"
    text += f"\nTest split, confusion (row: label, column: answer):\n\n| | {' | '.join(labels)} |\n"
    text += f"| --- |{' ---: |' * len(labels)}\n"
    for label, row in zip(labels, test["confusion"], strict=True):
        text += f"| {label} | {' | '.join(map(str, row))} |\n"
    return text + LIMITS


def near(metrics: dict[str, Any]) -> str:
    """How far the test split lies from what was learned, and who else is right on it: three paragraphs."""
    about, test = metrics["near"], metrics["test"]
    n, away, scores = test["n"], about["far"], about["scores"]
    distances = {int(distance): number for distance, number in about["distances"].items()}
    close = sum(number for distance, number in distances.items() if distance <= CLOSE)
    twins = distances.get(0, 0)
    model, neighbour, regression = (
        scores[name]["right"] for name in ("classifier", "nearest_neighbour", "logistic_regression")
    )
    rarest = min(test["per_class"], key=lambda row: row["n"])
    between = _interval(test["macro_f1_interval"])
    paragraphs = [
        f"{close / n:.0%} of the {n:,} test sequences ({close:,}) lie within {CLOSE} nucleotides of a sequence of the "
        f"train split; {twins or 'none'} {'is' if twins < 2 else 'are'} identical to one. Whoever takes over the label "
        f"of the nearest training sequence is right in {neighbour:,} of {n:,} ({neighbour / n:.1%}), this model in "
        f"{model:,} ({model / n:.1%}). The split hardly asks for more than recognising what was seen.",
        f"Macro-F1 on the test split is {test['macro_f1']:.2f}, "
        f"{f'95 % interval {between}' if between else 'no interval'} (the rarest class, {rarest['variant']}, has "
        f"{rarest['n']}). A logistic regression over the same {KMER}-mers is right in {regression:,}, "
        f"{_more(regression - model)}.",
    ]
    if not away["n"]:
        return _wrapped([*paragraphs, f"No test sequence is {away['from']} nucleotides or more from all of training."])
    right, interval = away["right"], away["interval"]
    sizes = ", ".join(f"{number} {label}" for label, number in away["sizes"].items() if number)
    ending = (
        f"On the part that is {away['from']} nucleotides or more from every training sequence, {away['n']} sequences "
        f"({sizes}), the model is right in {right['classifier']} (95 %: a share of "
        f"{_interval(interval['classifier'])}), the nearest neighbour in {right['nearest_neighbour']}, the logistic "
        f"regression in {right['logistic_regression']}. Distances count nucleotides exchanged, put in or left out."
    )
    return _wrapped([*paragraphs, ending])


def _wrapped(paragraphs: list[str]) -> str:
    return "\n\n".join(textwrap.fill(text, 120, break_on_hyphens=False) for text in paragraphs)


def _interval(bounds: list[float] | None) -> str:
    return f"{bounds[0]:.2f} to {bounds[1]:.2f}" if bounds else ""


def _more(lead: int) -> str:
    return f"{abs(lead)} {'more' if lead > 0 else 'fewer'} than this model" if lead else "as many as this model"


def _shown(stages: list[list[float]]) -> str:
    return ", then ".join(f"{share:.0%} from {start:.0%} of the steps" for start, share in stages if share < 1)
