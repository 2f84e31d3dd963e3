"""The first pass of a report in shards: put together, the report goes on from it to the numbers of one process."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bertlens import Lens
from bertlens.cli import main
from bertlens.reports import text_numbers
from unit import tiny

TEXTS = [f"the cat sat on the mat {'it was warm ' * (n % 4)}" for n in range(30)]


@pytest.fixture(scope="module")
def small() -> Lens:
    return Lens(tiny.bert(), tiny.wordpiece())


def test_a_report_in_shards(
    small: Lens, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("bertlens.cli.command_line.load_lens", lambda _: small)
    monkeypatch.setattr(text_numbers, "BATCH", 2)
    Path("c.txt").write_text("\n".join(TEXTS))
    Path("d.txt").write_text("\n".join([*TEXTS[1:], "the cat"]))
    command = ["report", "m", "c.txt", "--texts", "20"]
    one = ["report", "m", "c.txt", "--texts", "20", "--claims", "vig-next,kobayashi-depth", "-o"]
    files = [f"part-{number}.npz" for number in (3, 1, 2)]
    for number, name in zip((3, 1, 2), files, strict=True):
        assert main([*command, "--shard", f"{number}/3", "-o", name]) == 0
    assert main(["merge", *files, "-o", "all.part.npz"]) == 0
    assert main(["merge", *files, "all.part.npz", "-o", "all.part.npz"]) == 0
    assert "all.part.npz: 20 texts of a report" in capsys.readouterr().out
    with monkeypatch.context() as patch:
        patch.setattr(text_numbers.TextNumbers, "add", None)  # no text is run again
        assert main([*one, "all.json", "--resume"]) == 0
    assert main([*one, "whole.json"]) == 0
    merged, whole = (json.loads(Path(name).read_text()) for name in ("all.json", "whole.json"))
    for numbers in (merged, whole):
        del numbers["made"]
    assert merged == whole

    assert main([*command[:2], "d.txt", *command[3:], "--shard", "3/3", "-o", "d-3.npz"]) == 0
    assert main([*command, "--seed", "1", "--shard", "3/3", "-o", "seed-3.npz"]) == 0
    capsys.readouterr()
    for fault, arguments in (
        ("lacks shard 2/3", ["merge", *files[:2], "-o", "x.npz"]),
        ("part-1.npz are both shard 1/3", ["merge", *files, files[1], "-o", "x.npz"]),
        ("what differs: texts", ["merge", "d-3.npz", *files[1:], "-o", "x.npz"]),
        ("what differs: seed", ["merge", "seed-3.npz", *files[1:], "-o", "x.npz"]),
        ("all-2.part.npz is not complete, or of no shard", ["merge", files[0], "all-2.part.npz", "-o", "x.npz"]),
        ("a shard of a report needs --texts N", ["report", "m", "c.txt", "--shard", "1/3", "-o", "x.npz"]),
        ("is written as .npz", [*command, "--shard", "1/3", "-o", "x.html"]),
        ("are of the report, not of its shards", [*command, "--shard", "1/3", "-o", "x.npz", "--check", "whole.json"]),
        ("part-1.npz holds texts of another shard", [*command, "--shard", "2/3", "-o", "part-1.npz"]),
    ):
        if "all-2" in fault:
            assert main(["merge", *files, "-o", "all-2.part.npz"]) == 0
        assert main(arguments) == 2
        err = capsys.readouterr().err
        assert fault in err and err.count("\n") == 1
    assert not Path("x.npz").exists()
