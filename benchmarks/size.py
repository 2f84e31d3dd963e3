"""The bundle's size."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from pathlib import Path

import bertlens
from benchmarks.rows import Row


def rows() -> Iterator[Row]:
    static = Path(bertlens.__file__).parent / "export" / "static"
    script, style = ((static / name).read_bytes() for name in ("widget.js", "widget.css"))
    packed = sum(len(gzip.compress(content, 9)) for content in (script, style))
    yield Row(
        "bundle, gzipped",
        "≤ 210 kB",
        f"{packed / 1e3:.1f} kB ({len(script) / 1e3:.0f} kB script + {len(style) / 1e3:.0f} kB style unpacked)",
        "React views: 220 kB and more, minified",
        packed <= 210_000,
    )
