"""The front end as it was built, whole or packed."""

from __future__ import annotations

import base64
import gzip
import json
from functools import cache
from pathlib import Path

STATIC = Path(__file__).parent / "static"


def text(name: str) -> str:
    """The text of a file of the bundle."""
    return (STATIC / name).read_text(encoding="utf-8")


@cache
def packed() -> str:
    """widget.js and widget.css as loader.js takes them: JSON, gzipped, in base64 (buffers do not reach every host)."""
    files = {"code": text("widget.js"), "style": text("widget.css")}
    return base64.b64encode(gzip.compress(json.dumps(files, ensure_ascii=False).encode(), 9, mtime=0)).decode()
