"""What a parameter is, where a docstring does not say it: a line of the reference, which no parameter is without."""

from __future__ import annotations

import inspect
import re
from typing import Any

# Those that mean the same everywhere
PARAMETERS = {
    "trace": "a run: `lens.trace(text)`",
    "traces": "runs: `lens.trace_batch(texts)`",
    "lens": "a model and its tokenizer: `bl.Lens(model, tokenizer)`",
    "layer": "from 0",
    "head": "from 0",
    "query": "the position of the token that looks, from 0",
    "key": "the position of the token that is looked at, from 0",
    "position": "of a token, from 0; None: the one asked about, as a lone mask",
    "text_pair": "a second text that is read with the first",
    "column": "of a table, the one that has the texts",
    "limit": "so many texts at most",
    "truncation": "cut a text that is longer than the model reads, in place of an error",
    "batch_size": "texts that run together",
    "progress": "a bar while it runs",
    "seed": "of the random numbers",
    "path": "where the file is, or is written",
    "by": '"weight" or "norm"',
    "dtype": "what it is computed in; as the run unless it is given",
    "include_special": "count special tokens too",
    "stats": "of a corpus: `bl.survey.head_stats(lens, texts)`",
    "special_mask": "(S,), True at special tokens",
    "segments": "(S,), the number of each token's sentence",
    "vectors": "(n, D), a row for each token",
    "metric": "a number of the answer: `whatif.probability(word)` and its kin",
    "selection": "what the view opens with, by the names of LensWidget: `layer=3, head=7`",
    "panels": "what the view shows beside the trace: of a corpus, of a comparison, of a task",
    "view": '"full" counts all keys; "content" leaves special tokens out and scales the rows anew',
    "heads": "a slice of the layer's heads",
    "queries": "a slice of the query tokens",
    "keys": "a slice of the key tokens",
    "roles": "what the tokens are: `rows.Roles.of(trace)`",
    "here": "gives the trace, which is not held between two steps",
    "punctuation": 'pieces that count as such, say `(".", ",")`; None: those of punctuation marks only',
    "kind": 'a map of a layer by its name: "attn-w", "attnres-n", ...',
    "through_mlps": "open the MLPs, so that no part is theirs: see `sources.score`",
    "encodings": "texts with their tokens: `lens.encoding(text)`",
    "model_name": "on screen and in files",
    "vocabulary": "the 12-mers that have a number: `Vocabulary.load(path)`",
    "request": "what a page asks, and of which view",
    "found": "what a method of `measures.attribution` gives",
    "c": "two runs: `bl.compare(a, b)`",
    "other_trace": "another run of the same model",
}

FIELD = re.compile(r"^((?:    # .*\n)*)    (\w+): [^#\n]*?(?:  # (?!noqa|type:)(.*))?$", re.MULTILINE)


def fields(owner: type) -> dict[str, str]:
    """The comments above or behind the fields of a class and of its parents."""
    parents = [parent for parent in reversed(owner.__mro__) if parent.__module__.startswith("bertlens")]
    comments = {}
    for above, name, behind in FIELD.findall("".join(map(inspect.getsource, parents))):
        if comment := behind or " ".join(line.strip(" #") for line in above.splitlines()):
            comments[name] = comment
    return comments


def names(described: Any) -> list[str]:
    """Of the parameters of a function or class; a class of Python's own makes some without."""
    if inspect.isclass(described) and getattr(described.__init__, "__module__", "").startswith("bertlens"):
        return [*inspect.signature(described.__init__).parameters][1:]  # which a parent's __new__ may hide
    try:
        return [*inspect.signature(described).parameters]
    except (TypeError, ValueError):
        return []


def lines(described: Any, text: str) -> dict[str, str]:
    """Name -> line of each parameter that the docstring does not name; of a field that has a comment in any case."""
    comments = fields(described) if inspect.isclass(described) else {}
    unnamed = {name: line for name, line in PARAMETERS.items() if not re.search(rf"\b{name}\b", text)}
    return {name: line for name in names(described) if (line := (unnamed | comments).get(name))}
