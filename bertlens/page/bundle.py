"""The front end as it was built, whole or packed."""

from __future__ import annotations

import gzip
import json
from functools import cache
from pathlib import Path

STATIC = Path(__file__).parent / "static"


def text(name: str) -> str:
    """The text of a file of the bundle."""
    return (STATIC / name).read_text(encoding="utf-8")


@cache
def packed() -> bytes:
    """widget.js and widget.css as loader.js takes them, whole or in base64: JSON, gzipped."""
    files = {"code": text("widget.js"), "style": text("widget.css")}
    return gzip.compress(json.dumps(files, ensure_ascii=False).encode(), 9, mtime=0)
