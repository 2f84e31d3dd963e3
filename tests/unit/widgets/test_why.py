"""What the page is told about one cell is what the measures and the weights themselves say."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch

from bertlens import Lens, ModelError, SelectionError, whatif
from bertlens.base.limits import LIMITS, Limit
from bertlens.measures import sources, words
from bertlens.measures.words import lettered
from bertlens.widgets.answers.score_maps import MOST_PAIRS, carried_maps, score_maps
from bertlens.widgets.answers.why import LARGEST, carried, carried_pairs, why, why_pairs
from bertlens.widgets.messages.records import Selection
from bertlens.widgets.questions import QUESTIONS, packed
from unit.asking import question
from unit.measures.test_sources import TEXT, lens_of


def answer(op: str, trace: Any, message: dict[str, Any]) -> Any:
    """As a page gets it, arguments checked."""
    return packed(*QUESTIONS[op].answer(trace, **QUESTIONS[op].check(trace, message)))


@pytest.mark.parametrize("name", ["bert", "gpt2", "modernbert"])
@pytest.mark.parametrize("through_mlps", [False, True])
@pytest.mark.parametrize("side", ["query", "key"])
def test_the_numbers_of_one_cell(name: str, side: str, through_mlps: bool) -> None:
    trace = lens_of(name).trace(TEXT)
    alpha = trace.attention(2)[1, 4]
    seen = [j for j, weight in enumerate(alpha.tolist()) if weight > 0]
    key, foil = seen[1], seen[2]
    for against in ("others", foil, None):
        fields, arrays = why(trace, 2, 1, 4, key, side, against, through_mlps)
        s = sources.score(trace, 2, 1, 4, key, side, against, through_mlps)
        assert (fields["total"], fields["model"], fields["gap"]) == (s.total, s.model, s.gap)
        assert fields["seen"] == len(seen) and fields["absolute"] == pytest.approx(s.parts.value.abs().sum())
        assert fields["weight"] == pytest.approx(float(alpha[key]))
        others = [float(alpha[j]) for j in seen if j != key]
        if against == "others":
            assert fields["other_weight"] == pytest.approx(np.mean(others))
            expected = float(alpha[key]) / math.exp(np.mean(np.log(others)))
        elif against is not None:
            assert fields["other_weight"] == pytest.approx(float(alpha[foil]))
            expected = float(alpha[key] / alpha[foil])
        else:
            assert fields["other_weight"] is None and fields["ratio"] is None
            expected = None
        if abs(s.total) < 0.1:
            assert fields["ratio"] is None and fields["spread"] is None
        else:
            assert fields["spread"] == pytest.approx(s.parts.value.abs().sum() / abs(s.total))
            assert expected is None or fields["ratio"] == pytest.approx(expected, rel=1e-6)
        assert dict(fields["kinds"]) == pytest.approx(s.by("kind").to_dict())
        assert sum(part["value"] for part in fields["largest"]) + fields["others"]["value"] == pytest.approx(s.total)
        assert len(fields["largest"]) + fields["others"]["count"] == len(s.rows)
        assert len(fields["largest"]) == LARGEST
        for part in fields["largest"]:
            if part["kind"] != "head":
                assert part["token"] is None
                continue
            fetched = sources.tokens(trace, s, part["layer"], part["head"])
            assert part["token"] == int(fetched.abs().argmax())
            assert part["fetched"] == pytest.approx(float(fetched[part["token"]]))
        heads = s.parts.query("kind == 'head'").value.to_numpy().reshape(2, -1)
        assert arrays["heads"].dtype == torch.float32
        assert arrays["heads"].numpy() == pytest.approx(heads, rel=1e-6)
        assert ("mlps" in arrays) is not through_mlps
        assert packed(fields, arrays)  # as it travels


def test_first_layer_and_what_is_refused() -> None:
    trace = lens_of("bert").trace(TEXT)
    fields, arrays = why(trace, 0, 1, 4, 2)
    assert not arrays and {kind for kind, _ in fields["kinds"]} == {"word", "position", "type", "bias"}
    assert fields["others"] == {"count": 0, "value": 0}
    with pytest.raises(SelectionError):
        why(trace, 0, 1, 4, 99)
    wanted: Any = [(1, 0)]
    with pytest.raises(SelectionError, match="not earlier"):
        sources.fetched_most(sources.score(trace, 1, 0, 1, 2), wanted)


def test_ratio_of_the_sentence_is_that_of_the_weights(embedded_lens: Lens) -> None:
    """“it” at “animal”, L2·H5: the weight over the geometric mean of the others, from the weights alone."""
    trace = embedded_lens.trace("The animal didn't cross the street because it was too tired.")
    it, animal = trace.tokens.index("it"), trace.tokens.index("animal")
    fields, _ = why(trace, 2, 5, it, animal)
    alpha = trace.attention(2, torch.float64)[5, it]
    others = torch.cat([alpha[:animal], alpha[animal + 1 :]])
    assert fields["ratio"] == pytest.approx(float(alpha[animal] / others.log().mean().exp()), rel=1e-4)
    assert fields["ratio"] > 2


def test_of_a_changed_run_the_one_without_changes_is_split() -> None:
    """By the page's own way: the tab has something to show, and its answers are those of before."""
    trace = lens_of("bert").trace(TEXT)
    changed = trace.rerun(whatif.off(0, 1), whatif.hide(3))
    cell = {"layer": 2, "head": 1, "query": 4, "key": 2}
    more = {"side": "query", "against": "others", "through_mlps": False}
    views = [run.explore(**cell) for run in (trace, changed)]
    for name, asked in (("why", cell | more), ("why_pairs", cell), ("score_maps", {"layer": 2, "head": 1})):
        own, other = (question(view, op=name, **asked) for view in views)
        assert own[1] == other[1] and {**own[0], "id": 0} == {**other[0], "id": 0}, name
        assert QUESTIONS[name].of_original
    for view in views:
        [tab] = [tab for tab in view.overview["header"]["tabs"] if tab["name"] == "why"]
        assert tab["why_not"] == ""
        page = view.page()
        assert any(asked["op"] == "why" for asked, _ in page.answers)  # and a saved page has them too
        view.close()
    with pytest.raises(ModelError, match=r"take trace\.original"):
        sources.score(changed, **cell)


@pytest.mark.parametrize("name", ["bert", "gpt2", "modernbert"])
def test_kinds_of_both_sides(name: str) -> None:
    """Rows sum to the query's kinds, columns to the key's, all of it to the score of a plain product."""
    trace = lens_of(name).trace(TEXT)
    fields, arrays = why_pairs(trace, 2, 1, 4, 3)
    values = arrays["values"]
    assert values.dtype == torch.float64 and values.shape == (len(fields["kinds"]),) * 2
    for axis, side in ((1, "query"), (0, "key")):
        wanted = sources.score(trace, 2, 1, 4, 3, side, None).by("kind").to_dict()
        assert dict(zip(fields["kinds"], values.sum(axis).tolist(), strict=True)) == pytest.approx(wanted, abs=1e-5)
    score = float((trace.query(2)[1, 4].double() * trace.key(2)[1, 3].double()).sum()) * trace.scaling(2)
    assert fields["model"] == pytest.approx(score) and fields["total"] == pytest.approx(score, abs=1e-5)
    assert fields["gap"] == fields["total"] - fields["model"]
    assert packed(fields, arrays)


def meant(trace: Any, row: list[float], query: int) -> int:
    """The strongest piece of the strongest other word with a letter, above an even share; else the strongest key."""
    words: dict[Any, list[int]] = {}
    for at, word in enumerate(trace.word_ids):
        if word is not None and any(letter.isalnum() for letter in trace.display_tokens[at]):
            words.setdefault(word, []).append(at)
    others = [pieces for pieces in words.values() if query not in pieces]
    best = max(others, key=lambda pieces: sum(row[at] for at in pieces))
    key = max(best, key=lambda at: row[at])
    return key if row[key] > 1.000001 / len(row) else row.index(max(row))


def test_what_a_page_without_a_kernel_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the heads shown each query at its strongest word and at its strongest key, by either side; of the pinned cell
    all but a chosen key."""
    trace = lens_of("gpt2").trace(TEXT)
    weights = trace.attention(1)[0].tolist()
    strongest = [meant(trace, row, query) for query, row in enumerate(weights)]
    seeing = range(1, trace.n_tokens)  # the first token sees itself alone: nothing to compare with
    unpinned = list(carried(trace, Selection(((1, 0),))))
    cells_held = sorted({(i, key) for i in seeing for key in (strongest[i], weights[i].index(max(weights[i])))})
    assert [(one["query"], one["key"]) for one in unpinned[::2]] == cells_held
    assert [one["side"] for one in unpinned] == ["query", "key"] * len(cells_held)
    assert {(one["against"], one["through_mlps"]) for one in unpinned} == {("others", False)}
    least = int(trace.attention(1)[0, 4, :5].argmin())
    assert least != strongest[4]
    for key, pinned in ((least, least), (None, strongest[4])):
        made = list(carried(trace, Selection(((1, 0), (2, 1)), 4, key)))
        here = [one for one in made if (one["layer"], one["query"], one["key"]) == (1, 4, pinned)]
        assert len(here) == 8 and len({tuple(one.values()) for one in made}) == len(made)
        assert {(one["layer"], one["head"]) for one in made} == {(1, 0), (2, 1)}
        cells = list(carried_pairs(trace, Selection(((1, 0), (2, 1)), 4, key)))
        assert {tuple(cell.values()) for cell in cells} == {tuple(one.values())[:4] for one in made}
        assert len(cells) == len({tuple(cell.values()) for cell in cells})
        for one in here:
            assert answer("why", trace, one)
    calls: list[Any] = []
    monkeypatch.setattr(words, "lettered", lambda trace: calls.append(trace) or lettered(trace))
    assert list(carried(trace, Selection(((1, 0),)))) == unpinned and len(calls) == 1
    hidden = Selection(((1, 0),), 2, 4)  # masked: no question
    assert all(one["key"] != 4 for one in carried(trace, hidden) if one["query"] == 2)
    monkeypatch.setitem(LIMITS, "carried", Limit(trace.n_tokens - 1, "", ""))
    assert not list(carried(trace, Selection(((1, 0),), 1, 0)))


@pytest.mark.parametrize(
    "wrong",
    [{"query": 99}, {"key": -1}, {"key": True}, {"side": "both"}, {"against": "average"}, {"through_mlps": 1}],
)
def test_questions_of_what_does_not_exist(wrong: dict[str, Any]) -> None:
    trace = lens_of("bert").trace(TEXT)
    right = {"layer": 1, "head": 0, "query": 1, "key": 2, "side": "query", "against": "others", "through_mlps": False}
    assert answer("why", trace, right)
    with pytest.raises(SelectionError):
        answer("why", trace, right | wrong)


@pytest.mark.parametrize("name", ["bert", "gpt2", "modernbert"])
def test_score_as_a_sum_of_pictures(name: str) -> None:
    """The pictures sum to the centred scores; shares are Σ_i cov_j / Σ_i var_j, written out."""
    trace = lens_of(name).trace(TEXT)
    fields, arrays = score_maps(trace, 2, 1)
    values = arrays["values"].double().numpy()
    scores, alpha = trace.scores(2)[1].double().numpy(), trace.attention(2)[1].numpy()
    assert values.shape == (2 + MOST_PAIRS, *scores.shape) and arrays["values"].dtype == torch.float32
    cov = np.zeros(len(values))
    for i, row in enumerate(scores):
        seen = alpha[i] > 0
        assert np.isnan(values[:, i, ~seen]).all()
        assert values[0, i, seen] == pytest.approx(row[seen] - row[seen].mean(), abs=1e-5)
        assert values[1:, i, seen].sum(0) == pytest.approx(values[0, i, seen], abs=1e-5)
        cov += [np.mean((part[i, seen] - part[i, seen].mean()) * (row[seen] - row[seen].mean())) for part in values]
    shares = [*fields["share"], fields["rest"]]
    assert shares == pytest.approx(list(cov[1:] / cov[0]), abs=1e-5) and sum(shares) == pytest.approx(1)
    sizes = [abs(share) for share in fields["share"]]
    every = sources.map_shares(sources.maps(trace, 2, 1))
    assert sizes == sorted(sizes, reverse=True)
    assert sizes == pytest.approx(sorted(map(abs, every.values()), reverse=True)[:MOST_PAIRS], abs=1e-6)
    assert [every[query, key] for query, key in fields["pairs"]] == pytest.approx(fields["share"], abs=1e-6)
    assert 0 <= fields["gap"] < 1e-4 and fields["block"] == 1
    assert packed(fields, arrays)


def test_pictures_of_many_tokens_hold_the_largest_of_each_cell(monkeypatch: pytest.MonkeyPatch) -> None:
    trace = lens_of("gpt2").trace(TEXT)
    whole = score_maps(trace, 1, 0)[1]["values"].numpy()
    monkeypatch.setattr("bertlens.widgets.answers.score_maps.MOST_CELLS", 3)
    fields, arrays = score_maps(trace, 1, 0)
    block, size = fields["block"], arrays["values"].shape[-1]
    assert block == math.ceil(trace.n_tokens / 3) > 1 and size <= 3
    for n, picture in enumerate(arrays["values"].numpy()):
        for r, c in np.ndindex(size, size):
            cells = whole[n, block * r : block * (r + 1), block * c : block * (c + 1)].ravel()
            cells = cells[~np.isnan(cells)]
            if len(cells):
                assert abs(picture[r, c]) == abs(cells).max() and picture[r, c] in cells
            else:
                assert np.isnan(picture[r, c])
    assert arrays["values"][:, 0, -1].isnan().all()
    assert list(carried_maps(trace, Selection(((1, 0), (2, 1))))) == [
        {"layer": 1, "head": 0},
        {"layer": 2, "head": 1},
    ]
