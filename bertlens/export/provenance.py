"""Where an exported number, picture or page comes from, and text as people can read it."""

from __future__ import annotations

import platform
import unicodedata
from datetime import date
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from .. import __version__
from ..trace import Trace

_HIDDEN = {"Cc", "Cf", "Cn", "Co", "Zl", "Zp"}


def versions() -> dict[str, str]:
    """Versions of bertlens, transformers, torch and Python."""
    found = {"bertlens": __version__}
    for name in ("transformers", "torch"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:  # torch in Colab and other hosts may carry no metadata
            found[name] = "unknown"
    return found | {"python": platform.python_version()}


def provenance(trace: Trace) -> dict[str, Any]:
    """Model, revision and attention implementation (None where not known), tokenizer, texts, dtype, versions, date.

    Holds JSON types only. `revision` is the commit that transformers loaded from the hub. `attention` is the
    implementation that the user's model is set to; bertlens computes scores and weights from its queries and keys.
    """
    model = trace.lens.model if trace.lens else None
    config = getattr(model, "config", None)
    return {
        "model": trace.model_name,
        "revision": getattr(config, "_commit_hash", None),
        "tokenizer": type(trace.lens.tokenizer).__name__ if trace.lens else None,
        "text": trace.text,
        "text_pair": trace.text_pair,
        "dtype": trace.dtype,
        "attention": getattr(config, "_attn_implementation", None),
        "versions": versions(),
        "date": date.today().isoformat(),
    }


def visible(text: str) -> str:
    """`text` with control and format characters as ⟨U+202E⟩, lone surrogates as U+FFFD: one line in order."""

    def shown(character: str) -> str:
        category = unicodedata.category(character)
        if category == "Cs":
            return "\ufffd"
        return f"⟨U+{ord(character):04X}⟩" if category in _HIDDEN else character

    return "".join(map(shown, text))
