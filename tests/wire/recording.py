"""What pages are answered, before a change and behind it: drawn valid messages, and a digest of each whole answer.

`python tests/wire/recording.py FILE` records where the file is not there, and else plays the same messages again and
says which answers are other ones. Compare runs of one machine: the last digits of a float are its own.
"""

from __future__ import annotations

import hashlib
import json
import random
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import bertlens as bl
from bertlens.base.vocabulary import LAYER_MAPS, MEASURES
from bertlens.measures import gates
from bertlens.search.view import case_questions
from bertlens.widgets.messages.records import Message
from bertlens.widgets.questions import QUESTIONS
from unit import tiny, tiny_encoders
from unit.asking import replies
from unit.tasks import classifier as classified
from unit.tiny_encoders import words

SEED = 0
EACH = 7  # drawn messages of a question, in each view where it is answered
TURNS = 5000  # until work of minutes is done
COSTLY = ("html", "bundle", "pdf", "similar_pdf")  # a page holds its date, a figure that of its making
CLOCKS = re.compile(r'"(seconds|ms|milliseconds|date|left|took)": [^,}\]]+|"model": "tmp\w+"')  # a folder is chance
PASSAGES = {f"d{at}": f"{words(5 + at % 3, at)}, 12." for at in range(9)}
SEARCHED = {f"q{at}": f"{words(4, 50 + at)}?" for at in range(3)}
TEXT, PAIR = "The cat that the dogs chased was hungry.", "It ate all the fish."


def views() -> dict[str, Any]:
    """By name: the embedded encoder and masked model, and tiny ones of each kind of view."""
    lens = bl.Lens.embedded()
    masked = bl.Lens.embedded(mlm=True).trace("The capital of France is [MASK].")
    changed = masked.rerun(bl.whatif.off(1, 2))
    labels = bl.Lens(classified.model_of(), tiny.wordpiece())
    task = bl.task(labels, classified.labelled(30), progress=False)
    small = bl.Lens(tiny.bert(num_hidden_layers=2), tiny.wordpiece())
    stats = bl.survey.head_stats(small, ["the cat sat on the mat", "it was very warm"] * 3, progress=False)
    encoder = bl.Lens(tiny_encoders.encoder(similarity_fn_name="cosine"))
    judged = {name: {f"d{at}": 1} for at, name in enumerate(SEARCHED)}
    return {
        "explorer": lens.trace(TEXT).explore(),
        "masked": masked.explore(),
        "changed": changed.explore(),
        "corpus": small.trace("the cat sat", "it was").explore(stats=stats),
        "compare": bl.compare(lens.trace(TEXT), lens.trace(TEXT.replace("hungry", "happy"))).explore(),
        "similarity": bl.similarity(lens, TEXT, PAIR).explore(),
        "rank": bl.rank(lens, "what did it eat", [TEXT, PAIR, "A mat."]).explore(),
        "task": task.explore(),
        "retrieval": bl.retrieval(encoder, SEARCHED, PASSAGES, judged, progress=False).explore(),
    }


def explorer_values(draw: random.Random, view: Any, op: str) -> dict[str, Any]:
    """An argument of each name, for what the view shows."""
    maps = view.trace.maps[view.map]
    place = lambda size: draw.randrange(size)  # noqa: E731
    query, key = place(len(maps.tokens)), place(len(maps.key_tokens))
    works = ("heads", "slices", "words", "errors", "against", "presence") if op.startswith("task") else ("slices",)
    texts = [[TEXT, PAIR, "", ""], ["the cat", "the dog sat", "", ""]]
    return {
        "layer": place(maps.n_layers),
        "head": place(maps.n_heads),
        "partners": [[0, 1]],
        "query": query,
        "key": key,
        "last": min(query + 2, len(maps.tokens) - 1),
        "side": draw.choice(["query", "key"]),
        "against": draw.choice(["others", None, 0]),
        "through_mlps": draw.random() < 0.5,
        "measure": draw.choice([*MEASURES]),
        "kind": draw.choice([*LAYER_MAPS]),
        "threshold": draw.choice([0.2, 0.35]),
        "margin": 0.1,
        "gate": draw.choice([*gates.GATES]),
        "view": draw.choice([*gates.VIEWS]),
        "by": draw.choice(["weight", "norm"]),
        "station": place(maps.n_layers + 1),
        "attribution": draw.choice(["occlusion", "gradient"]),
        "metric": draw.choice(["similarity", "answer", "entropy"]),
        "target": draw.choice(["", "Paris", "warm"]),
        "target_at": place(view.trace.n_tokens),
        "long": True,
        "most": 4,
        "row": place(8),
        "col": place(8),
        "aligned": draw.random() < 0.5,
        "other": draw.choice([["original"], ["before"], ["text", PAIR, "", ""]]),
        "texts": draw.choice(texts),
        "text": draw.choice([TEXT, PAIR, "Paris"]),
        "text_pair": None,
        "changes": draw.choice([[["off", 0, 1]], [["hide", 2]]]),
        "work": draw.choice(works),
        "effect_of": draw.choice(["loss", "accuracy"]),
        "ablation": draw.choice(["zero", "mean"]),
        "layers": [0],
        "live": False,
        "settings": {},
    }


def search_values(draw: random.Random) -> dict[str, Any]:
    return {
        "query": draw.choice([*SEARCHED]),
        "wrong": draw.choice([None, "d5"]),
        "right": draw.choice([None, "d2"]),
        "texts": draw.choice([None, [None, PASSAGES["d3"], None]]),
        "text": draw.choice(["the cat", words(3, 7)]),
        "side": draw.choice(["query", "wrong", "right"]),
        "word": words(1, draw.randrange(3)),
        "how": draw.choice([*case_questions.HOW]),
        "draws": draw.choice([0, 2]),
        "n": 1,
        "ending": ".jsonl",
        "work": draw.choice([*case_questions.WORKS]),
    }


def messages(view: Any) -> Iterator[Message]:
    """EACH of every question, in the order of the table; optional arguments are there by chance."""
    is_search = isinstance(view, bl.RetrievalView)
    for op, question in (case_questions.QUESTIONS if is_search else QUESTIONS).items():
        draw = random.Random(f"{SEED} {op}")
        for _ in range(0 if op in COSTLY or op.endswith("_stop") else EACH if question.arguments else 1):
            values = search_values(draw) if is_search else explorer_values(draw, view, op)
            about = {} if is_search else {"trace": view.overview["header"]["trace"], "map": view.map}
            names = [name.removesuffix("?") for name in question.arguments if name[-1] != "?" or draw.random() < 0.5]
            yield {"op": op, **about, **{name: values[name] for name in names}}


def digest(view: Any, asked: Message) -> str:
    """Of the whole answer, clocks left out; work is waited for. A view that shows another text then goes on with it."""
    for _ in range(TURNS):
        sent = replies(view, {**asked, "id": 1})
        if not sent[0][0].get("again"):
            break
    text = CLOCKS.sub("", "\n".join(json.dumps(fields, sort_keys=True, default=str) for fields, _ in sent))
    parts = [text.encode(), *(bytes(buffer) for _, buffers in sent for buffer in buffers)]
    said = "error: " + str(sent[0][0]["error"])[:60] if "error" in sent[0][0] else ""
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:24] + (f" {said}" if said else "")


def recording() -> list[tuple[str, str]]:
    """(view and message as JSON, digest) of each, in one order."""
    lines = []
    for name, view in views().items():
        for asked in messages(view):
            shown = {argument: value for argument, value in asked.items() if argument != "trace"}
            lines.append((f"{name} {json.dumps(shown, sort_keys=True)}", digest(view, asked)))
    return lines


if __name__ == "__main__":
    FILE, now = Path(sys.argv[1]), recording()
    refused = sum(" error: " in answer for _, answer in now)
    print(f"{len(now)} messages, {len(now) - refused} answered, {refused} refused")
    if not FILE.exists():
        FILE.write_text(json.dumps(now, indent=0), encoding="utf-8")
    else:
        before = [tuple(line) for line in json.loads(FILE.read_text(encoding="utf-8"))]
        other = [(*one, *old) for one, old in zip(now, before, strict=True) if one != old]
        print(*other, sep="\n")
        print(f"{len(now) - len(other)} of {len(before)} are equal")
