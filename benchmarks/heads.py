"""What it costs to run all heads off for the head that matters most, and how often the estimate names another."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

import torch
import transformers as tf

from benchmarks.models import base_model, text, tokenizer
from benchmarks.rows import Row, in_turn, ms, ratio
from bertlens import Lens
from bertlens.run.forward import output_of
from bertlens.run.interventions import Run
from bertlens.whatif.strongest_heads import FIRST_ANSWER, RUN, estimated_effects, size_of, strongest_heads

TEXTS, WORDS = 200, range(4, 31)
SECONDS = {32: 0.5, 64: 1.0}
MOST = 60
DATA = Path(os.environ.get("BERTLENS_DATA", "../shared/data")) / "ud_english" / "en_ewt-ud-dev.conllu"


def rows() -> Iterator[Row]:
    masked = Lens.embedded(mlm=True)
    for tokens, budget in SECONDS.items():
        trace = masked.trace(f"{text(tokens - 1)} [MASK]")
        base, ours = in_turn(forward(trace), lambda trace=trace: everything(trace), rounds=5, warm=1)
        yield Row(
            f"all 72 heads off for the first guess, embedded model, {trace.n_tokens} tokens",
            f"≤ {budget} s",
            f"{median(ours):.2f} s, {ratio(ours, base):.0f} × one forward",
            ok=median(ours) <= budget,
        )
    model = tf.BertForMaskedLM(base_model().config).eval()
    lens = Lens(model, tokenizer())
    trace = lens.trace(f"{text(127)} [MASK]")
    base, ours = in_turn(forward(trace), lambda: everything(trace), rounds=3, warm=1)
    yield Row(
        f"all 144 heads off for the first guess, BERT-base shape, {trace.n_tokens} tokens",
        f"≤ {MOST} × one forward of this text",
        f"{ratio(ours, base):.0f} × ({median(ours):.1f} s over {ms(median(base))})",
        ok=ratio(ours, base) <= MOST,
    )
    if not DATA.exists():
        return
    sentences = [
        line.split(" = ", 1)[1] for line in DATA.read_text("utf-8").splitlines() if line.startswith("# text =")
    ]
    sentences = random.Random(0).sample([one for one in sentences if len(one.split()) in WORDS], TEXTS + 1)
    plain = Lens.embedded()
    yield estimates("masked words, embedded model", [*map(masker(), sentences[:TEXTS])], masked.trace)
    pairs = [*pairwise(sentences)]
    yield estimates("similarity of two texts, embedded model", pairs, lambda pair: plain.trace(*pair))
    questions = questioner(plain, sentences)
    yield estimates("a question or none, embedded model after 20 steps", sentences[:TEXTS], questions.trace)


def forward(trace: Any) -> Callable[[], Any]:
    return lambda: output_of(trace.model, trace.inputs(), Run([()]))


def everything(trace: Any) -> None:
    """As if nothing were known of it: what was run is kept."""
    trace.kept(("effects of runs", FIRST_ANSWER), dict).clear()
    strongest_heads(trace)


def masker() -> Callable[[str], str]:
    """One word of a sentence masked, drawn."""
    draw = random.Random(1)

    def masked(sentence: str) -> str:
        words = sentence.split()
        words[draw.randrange(len(words))] = "[MASK]"
        return " ".join(words)

    return masked


def questioner(lens: Lens, sentences: list[str]) -> Lens:
    """A classifier of two labels, trained for 20 steps on whether a sentence ends in a question mark."""
    torch.manual_seed(0)
    config = {**lens.model.config.to_dict(), "id2label": {0: "other", 1: "question"}}
    model = tf.BertForSequenceClassification(tf.BertConfig.from_dict(config))
    model.bert.load_state_dict(lens.model.state_dict(), strict=False)
    few = sentences[:64]
    given = lens.tokenizer(few, padding=True, truncation=True, return_tensors="pt")
    labels = torch.tensor([int(one.rstrip().endswith("?")) for one in few])
    optimizer = torch.optim.AdamW(model.parameters(), 2e-4)
    for _ in range(20):
        optimizer.zero_grad()
        model(**given, labels=labels).loss.backward()
        optimizer.step()
    return Lens(model.eval(), lens.tokenizer)


def estimates(name: str, texts: list[Any], trace_of: Callable[[Any], Any]) -> Row:
    """How often the head with the largest estimate, and the largest of the eight that are run first, is the largest of
    all; and how much of the largest change it has where it is not."""
    of_estimate, of_eight, shares, count = 0, 0, [], 0
    for one in texts:
        trace = trace_of(one)
        slopes = estimated_effects(trace)
        if slopes is None:
            continue
        whole = strongest_heads(trace)
        sizes = {head: size_of(whole.number, float(whole.changes[head])) for head in heads_of(trace)}
        peak = max(sizes.values())
        guess = divmod(int(slopes.sum(2).abs().nan_to_num(-1).argmax()), trace.n_heads)
        order = slopes.sum(2).abs().flatten().argsort(descending=True, stable=True)[:RUN].tolist()
        best = max(sizes[divmod(n, trace.n_heads)] for n in order)
        count += 1
        of_estimate += sizes[guess] >= peak - 1e-6
        of_eight += best >= peak - 1e-6
        if sizes[guess] < peak - 1e-6:
            shares.append(sizes[guess] / peak)
    return Row(
        f"the head that matters most, by estimate: {name}, {count} texts",
        "–",
        f"right in {of_estimate}; the largest of {RUN} run right in {of_eight}; a wrong one has "
        f"{median(shares or [1]):.0%} of the largest change (median; least {min(shares or [1]):.0%})",
    )


def heads_of(trace: Any) -> list[tuple[int, int]]:
    return [(layer, head) for layer in range(trace.n_layers) for head in range(trace.n_heads)]
