"""The page of a comparison: where each dot stands, which step is marked, and that a text is no markup."""

from __future__ import annotations

import math
import re
from html import unescape
from pathlib import Path

import numpy as np
import pytest

import bertlens as bl
from bertlens import cli
from bertlens.conformance import forward_faults, rounding_faults
from unit.conformance import naive_encoder as naive
from unit.conformance.planted import lens_of

TEXTS = ["the cat sat on the mat", "it was <b>very</b> warm", "a", "unbelievable cats, the mat was warm"]


@pytest.fixture
def lens(monkeypatch: pytest.MonkeyPatch) -> bl.Lens:
    monkeypatch.setattr(rounding_faults, "FAULTS", ())
    kept = ("tanh GELU", "quick GELU", "causal mask")
    monkeypatch.setattr(forward_faults, "FAULTS", tuple(f for f in forward_faults.FAULTS if f.name in kept))
    return lens_of("bert")


@pytest.fixture
def wrong(lens: bl.Lens) -> np.ndarray:
    rows = [naive.mean(lens.model, lens.tokenizer(t)["input_ids"], activation=naive.tanh_gelu) for t in TEXTS]
    return np.stack(rows).astype(np.float32)


def rows(page: str) -> dict[str, tuple[float, str]]:
    """Name of a text or a hypothesis -> where its dot stands, and its number."""
    found = re.findall(r'<th scope="row"[^>]*>(.*?)</th>.*?<b style="left:([\d.]+)%">.*?<td>([^<]*)</td></tr>', page)
    return {unescape(name): (float(at), number) for name, at, number in found}


def test_dots_stand_at_the_logarithm_of_their_distance(lens: bl.Lens, wrong: np.ndarray, tmp_path: Path) -> None:
    p = bl.parity(lens, TEXTS, wrong, pairs=False)
    page = p.to_html(tmp_path / "page.html").read_text(encoding="utf-8")
    dots = rows(page)
    right = np.stack([naive.mean(lens.model, lens.tokenizer(t)["input_ids"]) for t in TEXTS])
    for text, ours, theirs in zip(TEXTS, right, wrong, strict=True):
        distance = math.sqrt(sum((a - b) ** 2 for a, b in zip(ours, theirs, strict=True)))
        distance /= math.sqrt(sum(a * a for a in ours))
        assert dots[text][0] == pytest.approx(100 * (math.log10(distance) + 8) / 9, abs=0.2)
        assert float(dots[text][1]) == pytest.approx(distance, rel=0.06)
    assert p.said in unescape(page) and "<b>very" not in page and "<script" not in page
    assert re.findall(r'<li class="off">(.*?)</li>', page) == ["layers"]
    assert re.findall(r'<tr class="fits"><th scope="row" dir="auto">(.*?)</th>', page) == ["tanh GELU"]
    band = float(re.findall(r'<i style="width:([\d.]+)%">', page)[0])
    assert band == pytest.approx(100 * (math.log10(10 * p.noise) + 8) / 9, abs=0.2)


def test_the_command_writes_it(
    lens: bl.Lens,
    wrong: np.ndarray,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("bertlens.cli.command_line.load_lens", lambda model: lens)
    (tmp_path / "t.txt").write_text("\n".join(TEXTS))
    np.save(tmp_path / "a.npy", wrong)
    page = tmp_path / "page.html"
    command = ["parity", "any", str(tmp_path / "a.npy"), "--texts", str(tmp_path / "t.txt"), "--no-pairs"]
    assert cli.main([*command, "-o", str(page)]) == 1
    assert "Fault: tanh GELU" in page.read_text(encoding="utf-8")
    assert cli.main([*command, "-o", str(page)]) == 1  # over its own
    page.write_text("mine")
    capsys.readouterr()
    assert cli.main([*command, "-o", str(page)]) == 2
    assert "--force writes over it" in capsys.readouterr().err and page.read_text() == "mine"
    assert cli.main(["parity", "any", "--lock", str(tmp_path / "a.lock"), "-o", str(tmp_path / "b.html")]) == 2
    assert "a page is of vectors" in capsys.readouterr().err and not (tmp_path / "a.lock").exists()
    assert cli.main(["parity", "any", str(tmp_path / "no.npy"), "--texts", str(tmp_path / "t.txt")]) == 2
    assert "no.npy cannot be opened: No such file" in capsys.readouterr().err
