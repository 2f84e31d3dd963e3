"""Where an exported number, picture or page comes from, and text as people can read it."""

from __future__ import annotations

import functools
import json
import platform
import unicodedata
from datetime import date
from typing import Any

from ..base.quotes import ISOLATES
from ..model import transformers_private as private
from ..model.borrowed import Model
from ..model.identity import releases
from .trace import Trace

_HIDDEN = {"Cc", "Cf", "Cn", "Co", "Zl", "Zp"}


def versions() -> dict[str, str]:
    """Versions of bertlens, transformers, torch and Python."""
    return dict(_versions())


@functools.cache
def _versions() -> dict[str, str]:
    return releases() | {"python": platform.python_version()}


def made_with() -> dict[str, Any]:
    """Versions and today's date."""
    return {"versions": versions(), "date": date.today().isoformat()}


def provenance(trace: Trace) -> dict[str, Any]:
    """Model, revision, attention implementation (None where not known), tokenizer, texts, changes, dtype, versions.

    And the date. Holds JSON types only. `revision` is the commit that transformers loaded from the hub. `attention` is
    the implementation that the user's model is set to; bertlens computes scores and weights from its queries and keys.
    """
    config: Any = None if trace.model is None else getattr(trace.model.module, "config", None)
    return {
        "model": trace.model_name,
        "revision": private.commit(config),
        "tokenizer": None if trace.model is None else type(trace.model.tokenizer).__name__,
        "text": trace.text,
        "text_pair": trace.text_pair,
        "changes": [str(change) for change in trace.changes],
        "dtype": trace.dtype,
        "attention": private.attention_of(config),
        **made_with(),
    }


def in_python(trace: Trace) -> dict[str, str]:
    """The Python that makes the lens and, from `lens`, `text` and `text_pair`, the run without its changes.

    Neither names a folder of this machine. What only its maker has is named, with a comment that says so; without a
    model there is no lens.
    """
    if trace.lens is None:
        return {
            "lens": "",
            "trace": "bl.Trace.from_attentions(attentions, tokens)  # your attention weights and tokens",
        }
    lens = trace.lens.made or f"bl.Lens(model, tokenizer)  # yours: {visible(trace.model_name)}"
    words = trace.encoding.words
    arguments = [json.dumps(list(text), ensure_ascii=False) for text in words or ()]
    if words is None:
        arguments = ["text"] if trace.text_pair is None else ["text", "text_pair"]
    if trace.report.truncated:
        arguments.append("truncation=True")
    return {"lens": lens, "trace": f"lens.trace{'' if words is None else '_words'}({', '.join(arguments)})"}


def model_provenance(model: Model) -> dict[str, Any]:
    """What a number of a survey has to be reported with; JSON types only.

    Model, revision, its identity (a hash of the weights among it), tokenizer with its options, dtype, versions, date.
    """
    about = model.identity()
    options = ("do_lower_case", "strip_accents", "model_max_length", "vocab_size", "cls_token", "sep_token")
    return {
        "model": model.name,
        "revision": private.commit(model.base.config),
        "weights": about["weights"],
        "identity": about,
        "tokenizer": type(model.tokenizer).__name__,
        "tokenizer_options": {name: getattr(model.tokenizer, name, None) for name in options},
        "dtype": str(model.dtype).removeprefix("torch."),
        **made_with(),
    }


def short_provenance(about: dict[str, Any]) -> dict[str, Any]:
    """What a table has to be reported with: `model_provenance` without every setting."""
    return {name: value for name, value in about.items() if name not in ("identity", "tokenizer_options")}


def identity(trace: Trace) -> dict[str, Any]:
    """That of the trace's model, which still has to be as in the trace. Raises ModelError where it is not."""
    trace.check_unchanged(whole=True)
    return trace.borrowed.identity()


def visible(text: str) -> str:
    """`text` with control and format characters as ⟨U+202E⟩, lone surrogates as U+FFFD: one line in order.

    Pairs of U+2068 and U+2069 round right-to-left letters stay (`quotes.isolate`): they end where they began.
    """

    def shown(character: str) -> str:
        category = unicodedata.category(character)
        if category == "Cs":
            return "\ufffd"
        return f"⟨U+{ord(character):04X}⟩" if category in _HIDDEN else character

    isolates = {at for pair in ISOLATES.finditer(text) for at in (pair.start(), pair.end() - 1)}
    return "".join(letter if at in isolates else shown(letter) for at, letter in enumerate(text))
