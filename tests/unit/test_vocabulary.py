"""One vocabulary: the page's copy is fresh, names mean something, and what is registered is offered."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers as tf

import bertlens as bl
from bertlens.base import colors, vocabulary, wire
from bertlens.measures import categories, gates, norms, sources
from bertlens.measures.offers import CAPABILITIES, offers
from bertlens.measures.statistics import STATISTICS
from bertlens.model import transformers_private
from bertlens.model.families import ADAPTERS, families
from bertlens.survey.text_statistics import LABELS
from bertlens.widgets import Question, Tab, register_question, register_tab, sheet, typescript
from bertlens.widgets.messages.arguments import ARGUMENTS
from bertlens.widgets.panels.panel import NEEDS
from bertlens.widgets.questions import QUESTIONS
from bertlens.widgets.tabs import PARTS, TABS
from unit import tiny
from unit.widgets.test_widgets import question


def test_the_page_has_this_vocabulary() -> None:
    for name, text in typescript.FILES.items():
        stale = f"js/src/generated/{name} is stale: python -m bertlens.widgets.typescript"
        assert (typescript.FOLDER / name).read_text(encoding="utf-8") == text(), stale


def test_every_word_explains_itself_in_a_sentence() -> None:
    tables = ("MEASURES", "LAYER_MAPS", "GATES", "CATEGORIES", "PAIR_FILTERS", "UNITS", "TERMS")
    words = [word for name in tables for word in getattr(vocabulary, name).values()] + list(TABS.values())
    for word in (*words, *vocabulary.SOURCES.values(), *STATISTICS.values()):
        assert word.label and re.match(r"[A-ZΣ‖].*[.?]$", word.about), word
    assert all(word.symbol for word in vocabulary.LAYER_MAPS.values())


def test_names_are_those_of_the_code() -> None:
    """No measure computes something that has no word, and no word stands for nothing."""
    assert [name for name, record in STATISTICS.items() if record.function is None] == ["variation"]  # measures.byhead
    assert tuple(vocabulary.GATES) == LABELS and set(gates.GATES) == set(LABELS) - {"mixed", "undefined"}
    assert tuple(vocabulary.CATEGORIES) == categories.NAMES and tuple(vocabulary.SOURCES) == sources.KINDS
    assert (gates.THRESHOLD, gates.MARGIN) == (vocabulary.GATE_THRESHOLD, vocabulary.GATE_MARGIN)
    for word in vocabulary.LAYER_MAPS.values():
        module, name = str(word.function).split(":")
        assert callable(getattr(import_module(f"bertlens.measures.{module}"), name))
        assert not word.needs or word.needs in CAPABILITIES
    asked = [name for part in (*PARTS.values(), *TABS.values()) for name in part.questions]
    assert set(asked) == set(QUESTIONS)
    assert {name.removesuffix("?") for question in QUESTIONS.values() for name in question.arguments} == set(ARGUMENTS)
    assert {q.needs for q in QUESTIONS.values()} | {t.needs for t in TABS.values()} <= {"", *CAPABILITIES, *NEEDS}


def test_inks_can_be_read() -> None:
    """WCAG 2: 4.5 : 1 for text on its ground, in both themes."""

    def luminance(color: str) -> float:
        channels = np.array([int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)])
        linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
        return float(linear @ [0.2126, 0.7152, 0.0722]) + 0.05

    for theme, inks in colors.INKS.items():
        for text, ground in (
            *((ink, at) for ink in ("ink", "muted", "select-text") for at in ("bg", "panel", "soft")),
            ("on-select", "select-text"),
            ("select-text", "select-soft"),
            ("warning-ink", "warning-bg"),
        ):
            a, b = sorted((luminance(inks[text]), luminance(inks[ground])))
            assert b / a >= 4.5, (theme, text, ground, b / a)
        for color in colors.SERIES[theme]:
            a, b = sorted((luminance(color), luminance(inks["panel"])))
            assert b / a >= 3, (theme, color)


def test_private_names_of_transformers_are_there() -> None:
    assert transformers_private.missing() == [], f"transformers {tf.__version__} took them away"


def test_no_other_file_knows_private_modules_of_transformers() -> None:
    package = Path(bl.__file__).parent
    module = re.compile(r"from (transformers\.(?!utils\b|activations\b)[\w.]*) import")
    private = [path for path in package.rglob("*.py") if module.search(path.read_text("utf-8"))]
    assert [path.relative_to(package).as_posix() for path in private] == ["model/transformers_private.py"]


def test_the_commit_of_a_model_from_the_hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As the hub's cache lies on the disk; transformers itself forgot to note it in some release."""
    commit = "0123456789abcdef0123456789abcdef01234567"
    repository = tmp_path / "models--some--bert"
    (repository / "refs").mkdir(parents=True)
    (repository / "refs" / "main").write_text(commit)
    (repository / "snapshots" / commit).mkdir(parents=True)
    tf.BertConfig(**tiny.BERT).save_pretrained(repository / "snapshots" / commit)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr("huggingface_hub.file_download.HF_HUB_CACHE", str(tmp_path), raising=False)
    config = tf.BertConfig(**tiny.BERT)
    assert transformers_private.commit(config) is None
    config._name_or_path = "some/bert"
    assert transformers_private.commit(config) == commit
    config._name_or_path = "some/other"
    assert transformers_private.commit(config) is None


# The recipes of docs/architecture.md, by public names alone


@pytest.fixture
def registries() -> Iterator[None]:
    """What a test registers is taken out again."""
    tables: list[dict[str, Any]] = [vocabulary.LAYER_MAPS, QUESTIONS, TABS, ADAPTERS]
    before = [dict(table) for table in tables]
    yield
    for table, kept in zip(tables, before, strict=True):
        table.clear()
        table.update(kept)


def test_a_new_layer_measure_with_a_picture(registries: None) -> None:
    def distance(trace: bl.Trace, layer: int) -> torch.Tensor:
        """(S, S) Euclidean distance of the layer's output vectors."""
        return torch.cdist(trace.layer_output(layer), trace.layer_output(layer))

    bl.register_layer_map(bl.LayerMap("distance", "Distance", "Distance of the outputs.", "‖y − y‖", distance))
    trace = bl.Lens(tiny.bert(), tiny.wordpiece()).trace("the cat sat")
    view = trace.explore(layer_map="distance")
    assert "distance" in [word["name"] for word in view.overview["header"]["layer_maps"]]
    fields, buffers = question(view, op="layer_map", layer=1, kind="distance")
    values = wire.unpack(fields["arrays"], buffers[0])["values"]
    np.testing.assert_allclose(values, distance(trace, 1))
    given = bl.Trace.from_attentions(torch.full((1, 1, 2, 2), 0.5), ["a", "b"])  # has no outputs
    fields, _ = question(given.explore(), op="layer_map", layer=0, kind="distance")
    assert "attention weights" in fields["error"]


# What a record of one more statistic looks like, and what a copy of the package with it gives
RECORD = """    Statistic(
        "second",
        "to the second token",
        "Share that goes to the second token.",
        lambda rows: (rows.values[:, :, 1].sum(1), rows.n),
        atlas=True,
    ),
"""
WITH_IT = """
import sys
sys.path[:0] = sys.argv[1:3]
import torch
import bertlens as bl
from bertlens.measures import byhead
from bertlens.survey import HeadStats, head_stats, story
from bertlens.widgets import typescript
from unit import tiny

lens = bl.Lens(tiny.bert(num_hidden_layers=1, num_attention_heads=2), tiny.wordpiece())
trace = lens.trace("the cat sat")
expected = trace.attention(0)[:, :, 1].mean(-1)
found = byhead.statistics(trace)
torch.testing.assert_close(found.values[0, :, found.names.index("second")], expected)
assert trace.explore().overview["header"]["stats"] == list(found.names)
assert '"second": {"label": "to the second token"' in typescript.typescript()
stats = head_stats(lens, ["the cat sat"], progress=False)
torch.testing.assert_close(torch.tensor(stats.table()["second"]).float(), expected)
assert "second" in set(story(stats, trace)["statistic"])
stats.save(sys.argv[3])
assert HeadStats.load(sys.argv[3]).table().equals(stats.table())
print("all there")
"""


@pytest.mark.sampled(5, of="processes")
@pytest.mark.long
def test_a_new_statistic_is_one_file(tmp_path: Path) -> None:
    """In a copy of the package with one record more: the atlas, the survey, the page's words, and the file, which
    the package without the record refuses."""
    package, copy = Path(bl.__file__).parent, tmp_path / "bertlens"
    (copy / "measures").mkdir(parents=True)
    for folder in (".", "measures"):
        for entry in (package / folder).iterdir():
            if entry.name not in ("measures", "statistics.py", "__pycache__"):
                (copy / folder / entry.name).symlink_to(entry)
    text = (package / "measures" / "statistics.py").read_text(encoding="utf-8")
    edited = text.replace("_RECORDS = [\n", "_RECORDS = [\n" + RECORD)
    (copy / "measures" / "statistics.py").write_text(edited, encoding="utf-8")
    tests = Path(__file__).parents[1]
    path = tmp_path / "stats.npz"
    done = subprocess.run(
        [sys.executable, "-c", WITH_IT, str(tmp_path), str(tests), str(path)], capture_output=True, text=True
    )
    assert done.stdout == "all there\n", done.stderr
    with pytest.raises(bl.InputError, match="was written by another version of bertlens: run the survey again"):
        bl.survey.HeadStats.load(path)


def test_a_tab_takes_four_files_by_hand() -> None:
    """Those that the recipe names are there; the page's types of a new question are written from its record."""
    root = Path(__file__).parents[2]
    recipe = (root / "docs" / "architecture.md").read_text(encoding="utf-8").split("### A tab\n")[1].split("###")[0]
    named = set(re.findall(r"`((?:bertlens|js)/[\w/.]+)`", recipe))  # with a folder, for the file of the body
    assert len(named) == 4 and all((root / name).exists() for name in named)


def test_a_question_of_the_view_and_the_types_of_its_arguments(registries: None) -> None:
    def of_view(request: Any, layer: int, gate: str = "") -> Any:
        return {"view": request.traits["view"], "model": request.trace.model_name, "layer": layer}, {}

    register_question(Question("of_view", of_view, ("layer", "gate?"), of_view=True))
    view = bl.Lens(tiny.bert(), tiny.wordpiece()).trace("the cat sat").explore(view="norms")
    fields, _ = question(view, op="of_view", layer=1)
    assert (fields["view"], fields["model"], fields["layer"]) == ("norms", view.trace.model_name, 1)
    assert "  of_view: { layer: number; gate?: string };" in typescript.typescript().splitlines()


def toy(trace: bl.Trace, layer: int, head: int) -> Any:
    scores = trace.scores(layer)[head]
    tokens = trace.display_tokens
    numbers = {"head": ["largest score"], "rows": [[float(scores.max())]]}
    return sheet(
        ("Scores", "before the softmax", {"values": scores, "rows": tokens, "cols": tokens}),
        ("In numbers", "", numbers),
    )


def register_toy_tab() -> None:
    def each_head(trace: bl.Trace, layers: Any) -> Iterator[dict[str, int]]:
        yield from ({"layer": layer, "head": head} for layer in layers for head in range(trace.n_heads))

    register_question(Question("toy", toy, ("layer", "head"), "neurons", each_head))
    register_tab(Tab("toy", "Toy", "What the toy shows.", "neurons", ("toy",)))


def test_a_new_tab(registries: None) -> None:
    """In the kernel; tests/browser/frame/test_recipes.py shows it on a page."""
    register_toy_tab()
    trace = bl.Lens(tiny.bert(), tiny.wordpiece()).trace("the cat sat")
    view = trace.explore(view="toy")
    assert view.overview["header"]["tabs"][-1]["label"] == "Toy" and "toy" in view.parts
    fields, buffers = question(view, op="toy", layer=2, head=1)
    np.testing.assert_allclose(
        wire.unpack(fields["arrays"], buffers[0])["values0"], trace.scores(2)[1].numpy(), rtol=1e-6
    )
    assert fields["sections"][1]["table"]["rows"] == [[pytest.approx(float(trace.scores(2)[1].max()))]]
    assert view.to_html(layers=[1]).count("&quot;op&quot;,&quot;toy&quot;") == trace.n_heads
    given = bl.Trace.from_attentions(torch.full((1, 1, 2, 2), 0.5), ["a", "b"]).explore()
    assert "without the queries" in given.overview["header"]["tabs"][-1]["why_not"]


def test_a_new_family(registries: None) -> None:
    config = tf.ErnieConfig(**tiny.BERT)
    torch.manual_seed(0)
    model = tiny.shaken(tf.ErnieModel(config))
    trace = bl.Lens(model, tiny.wordpiece()).trace("the cat sat")
    assert "ErnieModel has no adapter" in offers(trace)["norms"]
    bert, names = ADAPTERS["bert"], {adapter.family for adapter in ADAPTERS.values()}
    assert families().endswith(f"and {len(names) - 6} more families")
    bl.register_family("ernie", replace(bert, family="ERNIE", layers=attrgetter("encoder.layer")))
    trace = bl.Lens(model, tiny.wordpiece()).trace("the cat sat")
    assert {name for name, reason in offers(trace).items() if reason} == {"predictions"}  # of an encoder: of a pair
    block = norms.Block(trace, 1)
    torch.testing.assert_close(block.output, trace.attention_output(1), atol=1e-5, rtol=1e-5)
    assert families().endswith(f"and {len(names) - 5} more families")


def test_a_wrong_registration_is_refused_at_once_and_breaks_nothing(registries: None) -> None:
    bert, tables = ADAPTERS["bert"], (QUESTIONS, TABS, ADAPTERS)
    before = [dict(table) for table in tables]

    def tab(*more: Any, name: Any = "mine", label: Any = "Mine") -> Any:
        return lambda: register_tab(Tab(name, label, "What mine shows.", *more))

    def asked(*more: Any, name: Any = "mine") -> Any:
        return lambda: register_question(Question(name, toy, *more))

    cases: list[tuple[Any, str]] = [
        (lambda: register_tab("mine"), "a Tab is registered, not str"),  # type: ignore[arg-type]
        (tab("", ("no such",)), "register_question first"),
        (tab("", "head"), "questions is a tuple"),
        (tab("", ["head"]), "questions is a tuple"),
        (tab(("head",)), "needs is '' or one of neurons, norms"),
        (tab("gpu"), "not 'gpu'"),
        (tab(label=None), "a name, a label and a sentence"),
        (tab(name="atlas"), "of its own, not 'atlas'"),
        (lambda: register_question(toy), "a Question is registered, not function"),  # type: ignore[arg-type]
        (asked(name=3), "named by a word, not by 3"),
        (asked(("layer", "colour")), "arguments is a tuple of some of layer, head"),
        (asked("layer"), "arguments is a tuple"),
        (asked((), "gpu"), "needs is '' or one of"),
        (asked((), "", [{}]), "answer, carried and carried_shown are functions"),
        (lambda: bl.register_family("ernie", "bert"), "with an Adapter, not with str"),  # type: ignore[arg-type]
        (lambda: bl.register_family(None, bert), "model_type is what"),  # type: ignore[arg-type]
        (lambda: bl.register_family("ernie", replace(bert, family=None, mlp="mlp")), "mlp, family is not what Adapter"),
    ]
    for number, (call, said) in enumerate(cases):
        with pytest.raises(bl.InputError) as caught:
            call()
        assert said in str(caught.value) and "\n" not in str(caught.value), (number, caught.value)
    assert [dict(table) for table in tables] == before
