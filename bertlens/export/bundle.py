"""The front end as it was built, whole or packed."""

from __future__ import annotations

import gzip
import json
from functools import cache
from pathlib import Path

from ..errors import ExportError

STATIC = Path(__file__).parent / "static"
_BEGINNINGS = ('"use strict";', "var made=")  # of what js/build.mjs gives the name "made"


def text(name: str) -> str:
    """The text of a file of the bundle."""
    return (STATIC / name).read_text(encoding="utf-8")


def function(name: str) -> str:
    """A bundle that no notebook loads as the JavaScript of a function that makes it anew: in a page, in a Worker of it.

    Raises ExportError where it is not there, or was built in another way.
    """
    code = text(name).strip() if (STATIC / name).exists() else ""
    if not code.startswith(_BEGINNINGS):
        raise ExportError(f"the bundle of this installation has no {name}: run `make build` again")
    return f"()=>{{{code}return made}}"


@cache
def packed() -> bytes:
    """widget.js and widget.css as loader.js takes them, whole or in base64: JSON, gzipped."""
    files = {"code": text("widget.js"), "style": text("widget.css")}
    return gzip.compress(json.dumps(files, ensure_ascii=False).encode(), 9, mtime=0)
