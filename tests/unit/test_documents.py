"""Every block of Python in the documentation runs, page by page, on the embedded model.

What a page takes as given (texts, a model in a folder) is in `GIVEN`.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted([ROOT / "README.md", *(page for page in (ROOT / "docs").rglob("*.md") if "_build" not in page.parts)])


def blocks(page: Path) -> list[tuple[int, str]]:
    """(line, code) of each."""
    text = page.read_text()
    found = re.finditer(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    return [(text[: one.start()].count("\n") + 2, one[1]) for one in found]


def encoders(patch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Models of sentence-transformers, whatever their folder."""
    made = pytest.importorskip("unit.tiny_encoders")
    late = pytest.importorskip("unit.sentences.test_late")
    encoder = made.encoder()
    for one in (encoder, made.crossed(), late.late()):
        patch.setattr(f"sentence_transformers.{type(one).__name__}", lambda _, one=one: one)
    texts = ["the cat sat on the mat.", "it was very warm"]
    return {"texts": texts, "passages": texts, "query": "warm", "sentence_transformer": encoder}


def classifier(patch: pytest.MonkeyPatch) -> dict[str, Any]:
    """A folder with a classifier, and examples of its labels."""
    from unit.tasks import classifier as made

    lens, _, examples = made.planted(0)
    for part in (lens.model, lens.tokenizer):
        part.save_pretrained("path/to/classifier")
    names = lens.model.config.id2label
    rows = [f'"{text}",{names[label]}' for text, label in examples]
    Path("labelled.csv").write_text("text,label\n" + "\n".join(rows) + "\n")
    return {"base": lens, "classifier": lens}


GIVEN = {"README.md": (encoders, classifier), "docs/sentences.md": (encoders,), "docs/tasks.md": (classifier,)}


@pytest.mark.long
@pytest.mark.timeout(300)
@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page)], ids=lambda page: str(page.relative_to(ROOT)))
def test_blocks_run(page: Path, embedded_lens: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for given in GIVEN.get(page.relative_to(ROOT).as_posix(), ()):
        names |= given(monkeypatch)
    for line, code in blocks(page):
        exec(compile("\n" * (line - 1) + code, str(page), "exec"), names)
