"""The page of a comparison: where each dot stands, which step is marked, and that a text is no markup."""

from __future__ import annotations

import json
import math
import re
from html import escape, unescape
from pathlib import Path
from urllib.parse import unquote

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
    page = p.to_html(tmp_path / "page.html", live=0).read_text(encoding="utf-8")
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


def dump(lens: bl.Lens, text: str) -> dict[str, np.ndarray]:
    """What leaves one product of layer 1, which another program makes a thousandth too large."""
    made: list[np.ndarray] = []
    name = "encoder.layer.1.output.dense"
    module = lens.model.get_submodule(name)
    with module.register_forward_hook(lambda module, arguments, output: made.append(output.detach().numpy() * 1.001)):
        lens.model(**lens.tokenizer(text, return_tensors="pt"))
    return {name: made[0]}


def test_texts_that_differ_open_below_at_their_first_step(lens: bl.Lens, wrong: np.ndarray, tmp_path: Path) -> None:
    """Of three: the one that has a dump first, then those that differ most."""
    p = bl.parity(lens, TEXTS, wrong, pairs=False)
    steps = bl.parity_steps(lens, TEXTS[2], dump(lens, TEXTS[2]))
    assert (steps.step, steps.layer) == ("output.dense in layer 1", 1)
    path = p.to_html(tmp_path / "page.html", steps=[steps], progress=False)
    page = path.read_text(encoding="utf-8")
    links = {unescape(n): json.loads(unquote(at)) for at, n in re.findall(r'<a href="#bertlens=(.*?)">(.*?)</a>', page)}
    far = p.texts.sort_values("distance", ascending=False)["text"].tolist()
    assert [*links] == [text for text in far if text in [TEXTS[2], *[t for t in far if t != TEXTS[2]][:2]]]
    assert {text: state["text"] for text, state in links.items()} == {text: text for text in links}
    assert links[TEXTS[2]]["layer"] == 1
    assert re.findall(r'class="said">(.*?)</td>', page) == [escape(steps.said)]
    data = json.loads(re.findall(r'id="bertlens-data">(.*?)</script>', page)[0])
    carried = [data["state"]["text"], *(other["text"] for other in data["others"])]
    assert carried[0] == TEXTS[2] and sorted(carried) == sorted(links)


def test_as_many_texts_open_as_fit(
    lens: bl.Lens, wrong: np.ndarray, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is no longer carried is no link; and where not one fits the page has no script."""
    p = bl.parity(lens, TEXTS, wrong, pairs=False)

    def links() -> int:
        page = p.to_html(tmp_path / "page.html", live=4, progress=False).read_text(encoding="utf-8")
        assert ("<script" in page) is ('<a href="#bertlens' in page)
        return len(re.findall('<a href="#bertlens', page))

    assert links() == 4
    monkeypatch.setattr("bertlens.export.html.BESIDE", 30_000)
    assert 1 <= links() < 4
    monkeypatch.setattr("bertlens.export.html.LIMIT", 1000)
    assert links() == 0


def test_the_same_has_nothing_to_open_and_steps_are_of_these_texts(lens: bl.Lens, tmp_path: Path) -> None:
    p = bl.parity(lens, TEXTS, lens.encode(TEXTS), pairs=False)
    path = tmp_path / "page.html"
    assert "<script" not in p.to_html(path).read_text(encoding="utf-8")
    other = bl.parity_steps(lens, "the mat", dump(lens, "the mat"))
    elsewhere = lens_of("bert", 6)
    for steps in (3, None, other, [other], [None], [bl.parity_steps(elsewhere, TEXTS[2], dump(elsewhere, TEXTS[2]))]):
        with pytest.raises(bl.InputError, match="texts compared here, one each"):
            p.to_html(path, steps=steps)  # type: ignore[arg-type]
    with pytest.raises(bl.InputError, match="live is how many texts open, at least 0"):
        p.to_html(path, live=-1)


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
