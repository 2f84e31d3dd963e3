"""A report that was interrupted goes on, and ends with the numbers of one that was not; two models text by text."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bertlens as bl
from bertlens import InputError, Lens
from bertlens.cli import main
from bertlens.measures.significance import mean_interval
from bertlens.reports.report_comparison import difference, same_texts
from bertlens.reports.report_run import PASSES_OF_ALL
from bertlens.reports.resume_file import PLACES, ResumeFile, texts_in
from bertlens.reports.text_numbers import TextNumbers
from unit import tiny
from unit.asking import answered_once

pytestmark = pytest.mark.usefixtures("ctrl_c")
TEXTS = [f"the cat sat on the mat {'it was warm ' * (n % 4)}" for n in range(20)]
CLAIMS = "vig-next,clark-first-row,kobayashi-depth,bonino-rank"


@pytest.fixture(scope="module")
def small() -> Lens:
    return Lens(tiny.bert(), tiny.wordpiece())


@pytest.fixture(scope="module")
def whole(small: Lens) -> Any:
    return bl.report(small, TEXTS, CLAIMS, texts=20, progress=False)


def stopping(monkeypatch: pytest.MonkeyPatch, after: int) -> None:
    """Ctrl-C while the text after so many is counted."""
    add = TextNumbers.add

    def stops(self: TextNumbers, *given: Any) -> None:
        if self.n == after:
            monkeypatch.setattr(TextNumbers, "add", add)
            os.kill(os.getpid(), signal.SIGINT)
        add(self, *given)

    monkeypatch.setattr(TextNumbers, "add", stops)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("after", [3, 8, 13])
def test_an_interrupted_report_goes_on_to_the_same_numbers(
    small: Lens, whole: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, after: int
) -> None:
    path = tmp_path / "r.part.npz"
    stopping(monkeypatch, after)
    with pytest.warns(UserWarning, match="interrupted"):
        partly = bl.report(small, TEXTS, CLAIMS, texts=20, resume=path, progress=False)
    assert partly.facts["corpus"]["texts"] in (after, after + 1) and path.exists() and texts_in(path) == 20
    counted: list[int] = []
    add = TextNumbers.add

    def counts(self: TextNumbers, *given: Any) -> None:
        counted.append(1)
        add(self, *given)

    monkeypatch.setattr(TextNumbers, "add", counts)
    again = bl.report(small, TEXTS, CLAIMS, texts=20, resume=path, progress=False).to_dict()
    assert len(counted) == 20 - partly.facts["corpus"]["texts"] and not path.exists()
    expected = whole.to_dict()
    for each in (expected, again):
        del each["made"]
    assert again == expected


def test_numbers_of_claims_that_are_done_are_not_made_again(
    small: Lens, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An interrupt behind the texts, while claims are worked on."""
    path = tmp_path / "r.part.npz"
    monkeypatch.setattr("bertlens.base.arrays_file.EVERY", -1.0)
    monkeypatch.setattr("bertlens.base.arrays_file.PAUSE", 0)

    def stops(*given: Any) -> Any:
        raise KeyboardInterrupt

    def made_again(*given: Any) -> Any:
        raise AssertionError("it was done")

    first = PASSES_OF_ALL["bonino-direction"]
    monkeypatch.setitem(PASSES_OF_ALL, "health-doubled", stops)
    with pytest.raises(KeyboardInterrupt):
        bl.report(small, TEXTS, "bonino-direction,health-doubled", texts=20, resume=path, progress=False)
    monkeypatch.undo()
    monkeypatch.setitem(PASSES_OF_ALL, "bonino-direction", made_again)
    made = bl.report(small, TEXTS, "bonino-direction,health-doubled", texts=20, resume=path, progress=False)
    monkeypatch.setitem(PASSES_OF_ALL, "bonino-direction", first)
    plain = bl.report(small, TEXTS, "bonino-direction,health-doubled", texts=20, progress=False)
    assert [card.to_dict() for card in made.cards] == [card.to_dict() for card in plain.cards]


def test_a_part_of_another_report_is_refused(small: Lens, tmp_path: Path) -> None:
    path = tmp_path / "r.part.npz"
    ResumeFile(path, {"seed": 5, PLACES: [3, 4]}).write(TextNumbers())
    assert texts_in(path) == 2
    with pytest.raises(InputError, match=r"is of another run \(what differs: seed\): delete it, or leave --resume out"):
        bl.report(small, TEXTS, CLAIMS, texts=20, resume=path, progress=False)
    for content in (b"", b"PK\x03\x04", b"nonsense"):
        path.write_bytes(content)
        assert texts_in(path) is None
        with pytest.raises(InputError, match=r"holds no part of a report \(.*: delete it, or leave --resume out"):
            bl.report(small, TEXTS, CLAIMS, texts=20, resume=path, progress=False)


def test_the_command_goes_on(
    small: Lens, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("bertlens.cli.command_line.load_lens", lambda *given, **options: small)
    corpus, output, part = tmp_path / "c.txt", tmp_path / "r.json", tmp_path / "r.part.npz"
    corpus.write_text("\n".join(TEXTS), encoding="utf-8")
    command = ["report", "model", str(corpus), "-o", str(output), "--claims", "vig-next,clark-first-row"]
    stopping(monkeypatch, 5)
    assert main(command) == 2
    told = capsys.readouterr().err
    assert "bertlens: interrupted: the report is of the 5 texts" in told and part.exists()
    assert "of 20 texts: the same command with --resume goes on" in told
    assert main([*command, "--resume"]) == 0 and not part.exists()
    resumed = json.loads(output.read_text())
    assert main(command) == 0
    whole = json.loads(output.read_text())
    for each in (resumed, whole):
        del each["made"]
    assert resumed == whole and whole["corpus"]["texts"] == 20


@pytest.fixture
def once() -> Iterator[None]:
    with answered_once():
        yield


@pytest.mark.usefixtures("once")  # two pages of a text
def test_two_models_on_the_same_texts_are_compared_text_by_text(small: Lens, whole: Any) -> None:
    other = Lens(tiny.shaken(tiny.bert(), 5), tiny.wordpiece())
    one, two = whole, bl.report(other, TEXTS, CLAIMS, texts=20, progress=False)
    assert same_texts(one.facts, two.facts)
    rows = []
    for lens in (small, other):
        entropy = [bl.survey.head_stats(lens, [text], progress=False).values("entropy_first") for text in TEXTS]
        n = [lens.trace(text).n_tokens for text in TEXTS]
        rows.append([float(value[-1].mean() / np.log(s)) for value, s in zip(entropy, n, strict=True)])
    found = difference(one.claim("clark-first-row").to_dict(), two.claim("clark-first-row").to_dict())
    expected = [float(end) for end in mean_interval(np.array(rows[0]) - np.array(rows[1]))]
    assert found is not None and found[:3] == pytest.approx(expected, abs=1e-5) and found[3] == 20
    text = one.to_html(against=json.loads(two.to_json()), progress=False)
    assert text.count("this model less that one") == 3 and "text by text, n = 20" in text
    assert difference(one.claim("vig-next").to_dict(), two.claim("vig-next").to_dict()) is None
    three = bl.report(other, TEXTS[:10], CLAIMS, texts=10, progress=False)
    assert not same_texts(one.facts, three.facts)
    assert "text by text" not in one.to_html(against=three.to_dict(), progress=False)
