"""A page for a class: what it is made of, what it says before it is made, and what it refuses."""

from __future__ import annotations

import json
import re

import pytest

import bertlens as bl
from bertlens import cli
from bertlens.errors import ExportError, InputError
from unit.tiny import bert_with

TEXTS = ["The cat sat.", ("A dog lay down.", "It slept.")]


@pytest.fixture(scope="module")
def lens(embedded_lens):
    return bl.Lens(bert_with(embedded_lens.tokenizer), embedded_lens.tokenizer)


def data(page: str) -> dict:
    return json.loads(re.findall(r'id="bertlens-data">(.*?)</script>', page)[0])


def test_it_opens_on_the_first_text_and_offers_all_of_them(lens, tmp_path):
    made = bl.classroom(lens, TEXTS)
    path = made.to_html(tmp_path / "class.html", progress=False)
    page = path.read_text()
    assert data(page)["state"]["text"] == TEXTS[0]
    assert data(page)["texts"] == [["The cat sat.", ""], ["A dog lay down.", "It slept."]]
    assert 0.8 < made.cost.size / path.stat().st_size < 1.2
    assert data(bl.classroom(lens).to_html(tmp_path / "b.html", progress=False).read_text())["texts"][0][0].isascii()


def test_what_cannot_be_a_class_says_why(lens, tmp_path):
    with pytest.raises(InputError, match=r"texts=\[text\]"):
        bl.classroom(lens, "The cat sat.")
    for wrong in (3, ("a",), ("a", 3)):
        with pytest.raises(InputError, match="a string or a pair of strings"):
            bl.classroom(lens, [wrong])
    with pytest.raises(InputError, match="602 tokens"):
        bl.classroom(lens, ["The cat sat.", "word " * 600])
    with pytest.raises(InputError, match="needs a Lens, not BertModel"):
        bl.classroom(lens.model)
    with pytest.raises(InputError, match="make it first"):
        bl.classroom(lens, TEXTS).to_html(tmp_path / "no" / "class.html")
    model = bert_with(lens.tokenizer, hidden_act="relu")
    with pytest.raises(ExportError, match="gelu, not relu"):
        bl.classroom(bl.Lens(model, lens.tokenizer), TEXTS).to_html(tmp_path / "class.html")
    assert not (tmp_path / "class.html").exists()


def test_the_command_says_what_it_takes_before_it_is_written(lens, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(cli, "_lens", lambda model: lens)
    page = tmp_path / "class.html"
    command = ["classroom", "some/model", "--text", TEXTS[0], "--pair", *TEXTS[1], "-o", str(page)]
    assert cli.main(command) == 0
    before, after = capsys.readouterr().out.splitlines()
    [megabytes] = re.findall(r"^BertModel: about (\d+) MB, about \d+ s$", before)
    assert abs(int(megabytes) * 1e6 / page.stat().st_size - 1) < 0.3
    assert after == f"{page}: 2 texts, {page.stat().st_size:,} bytes"
    assert len(data(page.read_text())["texts"]) == 2
    assert cli.main([*command[:-1], str(tmp_path)]) == 2
    assert "is a folder" in capsys.readouterr().err
