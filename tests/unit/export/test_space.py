"""A page as a folder for a host of files: what stands in it, what stays out, and what an upload sends and asks."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from huggingface_hub import constants

import bertlens as bl
from bertlens.cli import command_line as cli
from bertlens.errors import ExportError, InputError
from bertlens.export import html, space
from bertlens.export.hub_upload import listing
from unit import tiny
from unit.export.hub_stub import TOKEN, Hub, hub
from unit.tasks.classifier import labelled, lens_of

TEXTS = ["the cat sat", ("the mat", "it was ``` warm")]
DATE = re.compile(rb"\d{4}-\d\d-\d\d")


@pytest.fixture(scope="module")
def lens() -> bl.Lens:
    return bl.Lens(tiny.bert(), tiny.wordpiece())


@pytest.fixture(scope="module")
def class_page(lens: bl.Lens, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return bl.classroom(lens, TEXTS).to_html(tmp_path_factory.mktemp("class") / "class.html", progress=False)


@pytest.fixture(scope="module")
def folder(class_page: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return space.to_space(class_page, tmp_path_factory.mktemp("space") / "web", licence="mit").parent


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: DATE.sub(b"", path.read_bytes()) for path in folder.iterdir()}


def front(folder: Path) -> dict[str, Any]:
    """The front matter of a card: each field is JSON, which YAML is too."""
    lines = (folder / space.CARD).read_text(encoding="utf-8").split("---\n")[1].splitlines()
    return {name: json.loads(field) for name, field in (line.split(": ", 1) for line in lines)}


def test_weights_stand_beside_the_page_as_a_hosted_one_has_them(lens, class_page, folder, tmp_path):
    """Those of a hosted page are written without ever standing in one file."""
    hosted = bl.classroom(lens, TEXTS).to_space(tmp_path / "hosted", licence="mit", progress=False)
    assert contents(hosted.parent) == contents(folder)
    assert len(contents(folder)[html.INDEX]) < class_page.stat().st_size
    again = space.to_space(hosted.parent, tmp_path / "again", licence="mit")  # from such a folder
    assert contents(again.parent) == contents(folder)


def test_the_card_says_what_the_folder_holds_and_whose_it_is(folder):
    fields, card = front(folder), (folder / space.CARD).read_text(encoding="utf-8")
    assert (fields["sdk"], fields["app_file"], fields["license"]) == ("static", html.INDEX, "mit")
    assert fields["tags"] == [space.TAG] and fields["title"] == "BertModel: type a text"
    texts = card.split("````text\n")[1].split("\n````")[0].splitlines()  # a fence that no text ends
    assert sorted(texts) == ["it was ``` warm", "the cat sat", "the mat"]
    assert "licence: mit" in card and f"bertlens {bl.__version__}" in card and "Texts: 3 below" in card
    assert "Apache License" in (folder / space.LICENCE).read_text(encoding="utf-8")
    assert not DATE.search(card.encode())
    yaml = pytest.importorskip("yaml")
    assert yaml.safe_load(card.split("---\n")[1]) == fields


def test_weights_of_no_stated_licence_stay_out(lens, class_page, tmp_path):
    with pytest.raises(InputError, match=r"states no licence, so its weights stay out: licence='mit' or --licence mit"):
        space.to_space(class_page, tmp_path / "a")
    assert not (tmp_path / "a").exists()
    page = lens.trace("the cat sat").explore().to_space(tmp_path / "b", progress=False)
    assert not (page.parent / html.WEIGHTS).exists() and "license" not in front(page.parent)
    assert "not in this folder" in (page.parent / space.CARD).read_text(encoding="utf-8")


def test_a_licence_that_the_model_states_is_not_replaced(lens, tmp_path):
    model = tiny.bert()
    model.config.license = "of-our-own"
    view = bl.Lens(model, tiny.wordpiece()).trace("the cat sat").explore()
    view.to_html(tmp_path / "a.html", live=True, progress=False)
    with pytest.raises(InputError, match=r"says that its licence is of-our-own"):
        space.to_space(tmp_path / "a.html", tmp_path / "b", licence="mit")
    page = space.to_space(tmp_path / "a.html", tmp_path / "b", licence="of-our-own")
    assert (front(page.parent)["license"], front(page.parent)["license_name"]) == ("other", "of-our-own")


def refused(view: Any, folder: Path, **page: Any) -> None:
    with pytest.raises(InputError, match=r"shows texts of a corpus \(.+\): say whose they are"):
        view.to_space(folder, **page)


def test_texts_of_a_corpus_stay_out_unless_they_are_named(lens, tmp_path):
    refused(bl.task(lens_of(), labelled(40), progress=False), tmp_path / "a", live=0)
    passages = {f"d{n}": f"the cat sat on the mat {'warm ' * n}" for n in range(3)}
    search = bl.retrieval(lens, {"q": "was it warm"}, passages, {"q": {"d1": 1}}, progress=False)
    refused(search, tmp_path / "b")
    refused(search.explore(), tmp_path / "c", contrasts=0, progress=False)
    page = search.to_space(tmp_path / "named", texts="my *own*")
    assert "whose they are: my \\*own\\*" in (page.parent / space.CARD).read_text(encoding="utf-8")


@pytest.mark.long
def test_so_do_those_of_other_views(lens, tmp_path, monkeypatch):
    stats = bl.survey.head_stats(lens, ["it was warm"] * 20, progress=False)
    refused(bl.Explorer(lens.trace("the cat sat"), stats=stats), tmp_path / "a", progress=False)
    refused(bl.task(lens_of(), labelled(40), progress=False).explore(), tmp_path / "b", progress=False)
    report = bl.report(lens, ["the cat sat on the mat"] * 30, "sinks", progress=False)
    not_computed(report, monkeypatch)
    refused(report, tmp_path / "c", progress=False)
    refused(bl.rank(lens, "was it warm", ["the cat sat", "the mat"]).explore(), tmp_path / "d", progress=False)


def not_computed(source: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def computed(*_: Any, **__: Any) -> None:
        pytest.fail("the page was computed")

    monkeypatch.setattr(type(source), "to_html", computed)


def test_what_is_refused_is_refused_before_a_page_is_computed(lens, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine.txt").write_text("")
    passages = {f"d{n}": f"the cat sat on the mat {'warm ' * n}" for n in range(3)}
    task = bl.task(lens_of(), labelled(40), progress=False)
    search = bl.retrieval(lens, {"q": "was it warm"}, passages, {"q": {"d1": 1}}, progress=False)
    ranking = bl.rank(lens, "was it warm", ["the cat sat", "the mat"])
    view = lens.trace("the cat sat").explore()
    shown, page = {"texts": "my own"}, {"live": True}
    for source, terms, model in (
        (task, shown, None),
        (task.explore(), shown, page),
        (search, shown, page),
        (search.explore(), shown, page),
        (ranking.explore(), shown, page),
        (view, {}, page),
        (bl.classroom(lens, TEXTS), {}, {}),
    ):
        with monkeypatch.context() as patch:
            not_computed(source, patch)
            if terms:
                refused(source, tmp_path / "new")
            if model is not None:
                with pytest.raises(InputError, match="states no licence, so its weights stay out"):
                    source.to_space(tmp_path / "new", **terms, **model)
                terms = terms | {"licence": "mit"}
            assert not (tmp_path / "new").exists()
            with pytest.raises(InputError, match=r"full holds 'mine\.txt', which is of no earlier bertlens publish"):
                source.to_space(tmp_path / "full", **terms, **(model or {}))
            with pytest.raises(InputError, match="file is a file: name a folder"):
                source.to_space(tmp_path / "file", **terms, **(model or {}))
            with pytest.raises(pytest.fail.Exception, match="the page was computed"):
                source.to_space(tmp_path / "new", **terms, **(model or {}))
            (tmp_path / "new").rmdir()


def test_an_upload_that_cannot_be_asked_about_is_refused_before_the_folder_is_written(class_page, tmp_path, capsys):
    for name, words in (
        ("me/cats", "nobody can be asked here: leave --upload out"),
        ("cats", "OWNER/NAME, not 'cats'"),
    ):
        assert publish(class_page, "--to", tmp_path / "web", "--licence", "mit", "--upload", name) == 2
        assert words in capsys.readouterr().err and not (tmp_path / "web").exists()


def test_a_report_brings_its_section_of_a_model_card(lens, tmp_path, capsys):
    """Its texts come with the package: these are nobody else's."""
    report = bl.report(lens, claims="vig", texts=8, progress=False)
    report.to_json(tmp_path / "a-numbers.json")
    report.to_html(tmp_path / "a.html", progress=False)
    assert cli.main(["publish", str(tmp_path / "a.html"), "--to", str(tmp_path / "web")]) == 0
    assert f"{space.SECTION}, {space.PICTURE}; " in capsys.readouterr().out
    section = (tmp_path / "web" / space.SECTION).read_text(encoding="utf-8")
    rows = [line for line in section.splitlines() if line.startswith("| ")][2:]
    assert len(rows) == len(report.table) and all(row.count(" | ") == 5 for row in rows)
    for row, claim in zip(rows, report.table.itertuples(), strict=True):
        assert f"| {claim.verdict} |" in row and f"| {claim.n} {claim.n_of} |" in row
    assert f"![A head's attention on one of the texts]({space.PICTURE})" in section
    assert (tmp_path / "web" / space.PICTURE).read_bytes().startswith(b"\x89PNG")
    (tmp_path / "a-numbers.json").write_text("{}")  # of something else
    assert cli.main(["publish", str(tmp_path / "a.html"), "--to", str(tmp_path / "other")]) == 0
    assert not (tmp_path / "other" / space.SECTION).exists()


@pytest.mark.long
def test_a_report_does_so_in_python(lens, tmp_path):
    report = bl.report(lens, claims="vig", texts=8, progress=False)
    page = report.to_space(tmp_path / "web", progress=False)
    assert report.to_model_card(tmp_path) == tmp_path / space.SECTION
    for name in (space.SECTION, space.PICTURE):
        assert (page.parent / name).read_bytes() == (tmp_path / name).read_bytes()


def test_files_of_others_are_not_written_over(class_page, folder, lens, tmp_path):
    (tmp_path / "thesis.html").write_text("mine")
    with pytest.raises(InputError, match=r"holds 'thesis\.html', which is of no earlier bertlens publish"):
        space.to_space(class_page, tmp_path, licence="mit")
    space.to_space(class_page, tmp_path, licence="mit", force=True)
    view = lens.trace("it was warm").explore()
    view.to_space(tmp_path, progress=False)  # over an earlier one, whose weights go
    assert not (tmp_path / html.WEIGHTS).exists() and (tmp_path / "thesis.html").read_text() == "mine"
    with pytest.raises(InputError, match="is a file: name a folder"):
        view.to_space(tmp_path / "thesis.html")
    with pytest.raises(InputError, match="is read from"):
        space.to_space(folder, folder, licence="mit")


def test_what_is_no_page_of_this_version_is_said(tmp_path):
    for text in ("<!doctype html><p>Hello.", b"\xff\xfe\x00"):
        path = tmp_path / "a.html"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        with pytest.raises(InputError, match=r"no page of (this )?bertlens"):
            space.to_space(path, tmp_path / "web")
    with pytest.raises(InputError, match="cannot be read"):
        space.to_space(tmp_path / "none.html", tmp_path / "web")


def test_a_page_is_not_published_over_the_weights_that_it_needs(folder, tmp_path):
    for path in folder.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    (tmp_path / html.INDEX).rename(tmp_path / "lesson.html")
    before = contents(tmp_path)
    with pytest.raises(InputError, match=r"weights\.bin is read from: name another to write to"):
        space.to_space(tmp_path / "lesson.html", tmp_path, licence="mit", force=True)
    assert contents(tmp_path) == before


def test_weights_that_are_not_there_are_missed(folder, tmp_path):
    (tmp_path / html.INDEX).write_bytes((folder / html.INDEX).read_bytes())
    with pytest.raises(InputError, match=r"weights\.bin is not there"):
        space.to_space(tmp_path, tmp_path / "web")


def test_a_text_pair_is_a_folder_too(embedded_lens, tmp_path):
    small = bl.Lens(tiny.bert_with(embedded_lens.tokenizer), embedded_lens.tokenizer)
    page = bl.similarity(small, "The cat sat.", "A dog lay down.").to_space(tmp_path / "web")
    card = (page.parent / space.CARD).read_text(encoding="utf-8")
    assert "The cat sat." in card and "A dog lay down." in card


@pytest.fixture
def space_hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Hub]:
    """The hub that huggingface_hub talks to, and its login."""
    with hub() as server:
        monkeypatch.setattr(constants, "ENDPOINT", server.address)
        monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
        monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True)
        monkeypatch.setattr(constants, "HF_TOKEN_PATH", str(tmp_path / "token"))
        monkeypatch.setenv("HF_TOKEN", TOKEN)
        yield server


def publish(*arguments: str | Path) -> int:
    return cli.main(["publish", *map(str, arguments)])


def test_an_upload_lists_what_it_sends_and_is_private(folder, space_hub, capsys):
    assert publish(folder, "--upload", "me/cats", "--yes") == 0
    printed = capsys.readouterr().out
    files = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert space_hub.spaces["me/cats"] == {"private": True, "tags": [], "files": files}
    assert listing(folder, "me/cats", False, False) in printed
    for words in (
        "the cat sat",
        "licence: mit",
        f"{sum(map(len, files.values())):,} bytes in all",
        "Visibility: private",
    ):
        assert words in printed
    assert printed.endswith(f"{space_hub.address}/spaces/me/cats\n")
    assert space_hub.authorization <= {None, f"Bearer {TOKEN}"} and TOKEN not in printed


def test_a_public_one_says_so_first(folder, space_hub, capsys):
    assert publish(folder, "--upload", "me/cats", "--public", "--yes") == 0
    assert space_hub.spaces["me/cats"]["private"] is False
    assert "Visibility: PUBLIC: anyone can see the page and its texts" in capsys.readouterr().out


def test_nothing_is_sent_without_a_yes(folder, space_hub, capsys, monkeypatch):
    assert publish(folder, "--upload", "me/cats") == 2  # no terminal
    assert "nobody can be asked here" in capsys.readouterr().err
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
    for answer, status in (("", 2), ("n", 2), ("Yes", 0)):
        monkeypatch.setattr("builtins.input", lambda _prompt, answer=answer: answer)
        assert not space_hub.spaces
        assert publish(folder, "--upload", "me/cats") == status
    assert space_hub.spaces.keys() == {"me/cats"}

    def closed(_prompt: str) -> str:
        raise EOFError

    monkeypatch.setattr("builtins.input", closed)
    assert publish(folder, "--upload", "me/dogs") == 2 and "me/dogs" not in space_hub.spaces


def test_a_space_that_is_there_is_written_into_only_where_it_is_the_same_kind(folder, space_hub, capsys):
    space_hub.spaces["me/cats"] = {"private": False, "tags": [space.TAG], "files": {html.WEIGHTS: b"", "mine.txt": b""}}
    assert publish(folder, "--upload", "me/cats", "--yes") == 2
    assert "me/cats is there already and public: give --public" in capsys.readouterr().err
    assert publish(folder, "--upload", "me/cats", "--public", "--yes") == 0
    assert space_hub.spaces["me/cats"]["files"].keys() == {*(path.name for path in folder.iterdir()), "mine.txt"}
    space_hub.spaces["me/dogs"] = {"private": True, "tags": ["gradio"], "files": {}}
    assert publish(folder, "--upload", "me/dogs", "--yes") == 2
    assert "me/dogs is there already and not of bertlens" in capsys.readouterr().err
    assert publish(folder, "--upload", "me/dogs", "--yes", "--force") == 0


def test_earlier_weights_go_where_there_are_none_now(lens, space_hub, tmp_path):
    space_hub.spaces["me/cats"] = {"private": True, "tags": [space.TAG], "files": {html.WEIGHTS: b"many"}}
    page = lens.trace("the cat sat").explore().to_space(tmp_path / "web", progress=False)
    assert publish(page.parent, "--upload", "me/cats", "--yes") == 0
    assert html.WEIGHTS not in space_hub.spaces["me/cats"]["files"]


def test_wrong_arguments_of_publish_are_one_line(folder, class_page, space_hub, tmp_path, capsys, monkeypatch):
    for arguments, words in (
        ([class_page], "publish needs --to FOLDER"),
        ([class_page, "--upload", "me/cats"], "publish needs --to FOLDER"),
        ([folder, "--to", tmp_path / "a", "--public", "--licence", "mit"], "--public and --yes are about --upload"),
        ([tmp_path, "--upload", "me/cats"], "no folder that bertlens publish has written"),
        ([folder, "--upload", "cats", "--yes"], "a Space is named OWNER/NAME, not 'cats'"),
        ([folder, "--upload", "me/c ts", "--yes"], "a Space is named OWNER/NAME"),
    ):
        assert publish(*arguments) == 2
        printed = capsys.readouterr().err
        assert words in printed and printed.count("\n") == 1
    monkeypatch.delenv("HF_TOKEN")
    assert publish(folder, "--upload", "me/cats", "--yes") == 2
    assert "hf auth login" in capsys.readouterr().err and not space_hub.spaces


def test_a_hub_that_is_not_reached_is_one_line(folder, space_hub, capsys, monkeypatch):
    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")
    assert publish(folder, "--upload", "me/cats", "--yes") == 2
    assert "the hub was not reached" in capsys.readouterr().err


def test_a_folder_that_cannot_be_made_is_said(lens, tmp_path, monkeypatch):
    def refused(*_: Any, **__: Any) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "mkdir", refused)
    with pytest.raises(ExportError, match=r"cannot be written \(Permission denied\)"):
        space.check_folder(tmp_path / "web")
