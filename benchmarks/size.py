"""The bundle's size, and what `import bertlens` adds to an import that every user has paid already."""

from __future__ import annotations

import gzip
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import median

import bertlens
from benchmarks.rows import Row, ms

SPENT = "import time; import torch, transformers; t = time.perf_counter(); {}; print(time.perf_counter() - t)"


def seconds(statement: str, runs: int = 3) -> float:
    """Median time of a statement in a fresh interpreter that has torch and transformers already."""
    command = [sys.executable, "-c", SPENT.format(statement)]
    return median(float(subprocess.run(command, capture_output=True, check=True).stdout) for _ in range(runs))


def rows() -> Iterator[Row]:
    static = Path(bertlens.__file__).parent / "page" / "static"
    script, style = ((static / name).read_bytes() for name in ("widget.js", "widget.css"))
    packed = sum(len(gzip.compress(content, 9)) for content in (script, style))
    yield Row(
        "bundle, gzipped",
        "≤ 170 kB",
        f"{packed / 1e3:.1f} kB ({len(script) / 1e3:.0f} kB script + {len(style) / 1e3:.0f} kB style unpacked)",
        "React views: 220 kB and more, minified",
        packed <= 170_000,
    )
    spent = seconds("import bertlens")
    first = seconds("from bertlens import Lens, Explorer", runs=1)
    models = seconds("from transformers import BertModel, AutoTokenizer", runs=1)
    yield Row(
        "import bertlens, over import torch, transformers",
        "≤ 300 ms",
        f"{ms(spent)}; with Lens and Explorer, used or not, {ms(first)}",
        f"from transformers import BertModel, AutoTokenizer: {ms(models)}",
        spent <= 0.3,
    )
