"""A treebank that reports read."""

from __future__ import annotations

import random
from pathlib import Path

import pytest


@pytest.fixture(scope="module")
def treebank(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """80 sentences of 8 documents: the second word heads all; "it" is the cat before."""
    draw, lines = random.Random(1), []
    for number in range(80):
        if number % 10 == 0:
            lines.append(f"# newdoc id = d{number // 10}\n# global.Entity = GRP-etype\n")
        words = [
            ("the", "DET", 3, "det"),
            ("warm", "ADJ", 3, "amod"),
            ("cat", "NOUN", 4, "nsubj"),
            ("sat", "VERB", 0, "root"),
        ]
        words += [("on", "ADP", 6, "case"), (draw.choice(["mat", "cats", "it"]), "PRON", 4, "obj")]
        entity = {2: "Entity=(1-x)", 5: f"Entity=({draw.choice('12')}-x)"}
        lines += [
            f"{k + 1}\t{word}\t_\t{tag}\t_\t_\t{head}\t{name}\t_\t{entity.get(k, '_')}\n"
            for k, (word, tag, head, name) in enumerate(words)
        ]
        lines.append("\n")
    path = tmp_path_factory.mktemp("treebank") / "small.conllu"
    path.write_text("".join(lines), encoding="utf-8")
    return path
