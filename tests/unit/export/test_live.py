"""What a page that carries its model answers: as the kernel does for the same run, on the same weights."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bertlens as bl
from bertlens import whatif
from bertlens.base.wire import unpack
from bertlens.errors import ExportError, InputError
from bertlens.export import live
from bertlens.widgets.answers import head_answers, matter, why
from bertlens.widgets.answers import whatif as answers
from bertlens.widgets.overview import with_overview
from bertlens.widgets.view_record import ViewRecord
from unit.export import engine
from unit.export.test_live_why import split_alike

OWN = "The cat sat on the mat."
TYPED = "She gave the dog a bone, and he [MASK] it: good dog 㐂!"
PAIR = ("A dog lay on the rug.", "It was asleep.")
OFF = [["off", 2, 5]]
ALL = [["cut", 1, 7, 2, 4], ["hide", 3], ["off", 4, None]]
NEEDS_PYTHON = "This needs Python, which this page does not hold: open the notebook."
CELL = {"layer": 5, "head": 11, "query": 3, "key": 5}
WHY: list[dict[str, Any]] = [
    CELL | {"side": "query", "against": "others", "through_mlps": False},
    CELL | {"side": "key", "against": "others", "through_mlps": True},
    CELL | {"side": "key", "against": None, "through_mlps": False},
]
QUESTIONS: list[dict[str, Any]] = [
    {"op": "trace", "text": TYPED},
    {"op": "head", "trace": "last", "layer": 3, "head": 2},
    {"op": "rows", "trace": "last", "query": 2, "last": 4},
    {"op": "statistics", "trace": "last", "by": "weight"},
    {"op": "answers", "trace": "last"},
    {"op": "geometry", "trace": "last"},
    {"op": "change", "trace": "last", "changes": OFF},
    {"op": "matters_exact", "trace": "last", "metric": "similarity", "layer": 1},
    {"op": "cell_matters", "trace": "last", "layer": 1, "head": 7, "query": 2, "key": 4},
    {"op": "change", "trace": "last", "changes": [0, *ALL]},
    {"op": "head", "trace": "last", "layer": 1, "head": 7},
    {"op": "moved", "trace": "last"},
    {"op": "change", "trace": "last", "changes": [["neuron", 1, 2, 3]]},
    {"op": "trace", "text": PAIR[0], "text_pair": PAIR[1]},
    {"op": "answers", "trace": "last"},
    {"op": "head", "trace": "gone", "layer": 0, "head": 0},
    {"op": "change", "trace": "own", "changes": []},
    {"op": "trace", "text": ""},
    {"op": "trace", "text": TYPED},
    *({"op": "why", "trace": "last", **asked} for asked in WHY),
    {"op": "why_pairs", "trace": "last", **CELL},
    {"op": "change", "trace": "own", "changes": OFF},
    {"op": "change", "trace": "last", "changes": []},
    {"op": "change", "trace": "last", "changes": [0]},
    {"op": "trace", "text": TYPED},
    {"op": "answers", "trace": "before"},
    {"op": "answers", "trace": "last"},
    {"op": "answers", "trace": "before"},
]


@pytest.fixture(scope="module")
def said(embedded_lens: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """(lens on the rounded weights, [(error, fields, show, arrays) of each of QUESTIONS])"""
    return engine.asked(embedded_lens, OWN, QUESTIONS, tmp_path_factory.mktemp("live"))


def kernels(trace: bl.Trace) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    overview = with_overview(ViewRecord(trace), "self", 1, 8).overview
    return overview["header"], unpack(overview["header"]["arrays"], overview["data"])


def same_overview(trace: bl.Trace, show: Any, arrays: dict[str, np.ndarray]) -> None:
    header, own = kernels(trace)
    assert arrays.keys() == own.keys()
    for name in ("thumb_max", "stats", "head.q", "head.k", "head.lse", *({"moved"} & own.keys())):
        assert arrays[name].shape == own[name].shape and arrays[name].dtype == own[name].dtype
        # k90 counts keys: one row of which the last lies at nine tenths may count one more
        most = 1.01 / trace.n_tokens if name == "stats" else 2e-5
        np.testing.assert_allclose(arrays[name], own[name], atol=most, rtol=1e-5, err_msg=name)
    if "stats" in own:
        columns = [n for n, name in enumerate(header["stats"]) if name != "k90"]
        np.testing.assert_allclose(arrays["stats"][..., columns], own["stats"][..., columns], atol=2e-5)
    assert np.abs(arrays["thumbs"].astype(int) - own["thumbs"]).max() <= 1
    assert arrays["thumbs"].shape == own["thumbs"].shape
    for name in ("queries", "keys", "pair", "spans", "pending", "n_layers", "n_heads", "stats", "text", "text_pair"):
        assert show["header"][name] == header[name], name
    assert show["header"]["made"] == header["made"]
    assert [{**one, "id": 0} for one in show["header"]["changes"]] == [{**one, "id": 0} for one in header["changes"]]
    assert {**show["header"]["head"], "scaling": 0} == {**header["head"], "scaling": 0, "decimals": 3}
    assert show["header"]["head"]["scaling"] == pytest.approx(header["head"]["scaling"])


def test_a_typed_text_is_answered_as_by_the_kernel(said):
    lens, found = said
    trace = lens.trace(TYPED)
    assert [error for error, *_ in found[:5]] == [""] * 5
    same_overview(trace, *found[0][2:])
    kinds = [badge["kind"] for badge in found[0][2]["header"]["badges"]]
    assert kinds == ["unknown", "typed", "without_blanks", "live"]
    fields, arrays = head_answers.head(trace, 3, 2)
    own = {**fields, "scaling": pytest.approx(fields["scaling"]), "arrays": 0, "decimals": 3}
    assert {**found[1][1], "arrays": 0} == own
    for name in ("q", "k", "lse"):
        np.testing.assert_allclose(found[1][3][name], arrays[name], atol=1e-5)
    rows = head_answers.query_rows(trace, 2, 4)[1]
    assert found[2][3].keys() == rows.keys() == {"weight", "norm", "share"}
    for name, own in rows.items():
        np.testing.assert_allclose(found[2][3][name], own, atol=1e-5)
    fields, arrays = head_answers.head_statistics(trace, "weight")
    assert found[3][1]["names"] == fields["names"]
    np.testing.assert_allclose(found[3][3]["received"], arrays["received"], atol=1e-5)
    fields, _ = answers.answers(trace)
    assert found[4][1] == json.loads(json.dumps(fields))
    assert found[5][0] == NEEDS_PYTHON


def test_changes_are_those_of_the_kernel(said):
    lens, found = said
    trace = lens.trace(TYPED)
    off = trace.rerun(whatif.off(2, 5))
    same_overview(off, *found[6][2:])
    [[_, _, before, after]] = found[6][2]["header"]["answers"]["rows"]
    [[_, _, _, own]] = answers.answers(off)[0]["rows"]
    assert before == 1 and after == pytest.approx(own, abs=1e-6) and own < 0.9999
    swept = answers.matters_exact(off, "similarity", 1)[1]["values"]
    np.testing.assert_allclose(found[7][3]["values"], swept, atol=2e-6)
    cell = matter.cell_matters(off, 1, 7, 2, 4)[0]
    for name in ("before", "after", "first_value"):
        there, own = ([row.pop(name) for row in rows["rows"]] for rows in (found[8][1], cell))
        assert there == pytest.approx(own, abs=1e-6)
    assert {**found[8][1], "before": 0} == {**cell, "before": 0}
    assert found[8][1]["before"] == pytest.approx(cell["before"], abs=1e-6)
    everything = trace.rerun(whatif.off(2, 5), whatif.cut(1, 7, 2, 4), whatif.hide(3), whatif.off(4))
    same_overview(everything, *found[9][2:])
    assert [one["id"] for one in found[9][2]["header"]["changes"]] == [0, 1, 2, 3]
    fields, arrays = head_answers.head(everything, 1, 7)
    assert found[10][1]["mask"] == fields["mask"] == "bits"
    assert (found[10][3]["bits"] == arrays["bits"]).all()
    np.testing.assert_allclose(found[11][3]["moved"], answers.moved(everything)[1]["moved"], atol=2e-5)
    assert found[12][0] == NEEDS_PYTHON


def test_a_pair_an_empty_text_and_the_pages_own(said, embedded_lens):
    lens, found = said
    pair = lens.trace(*PAIR)
    same_overview(pair, *found[13][2:])
    fields, _ = answers.answers(pair)
    assert found[14][1]["kind"] == fields["kind"] == "similarity"
    assert found[14][1]["rows"][0][:2] == list(fields["rows"][0][:2])
    assert found[14][1]["rows"][0][2:] == pytest.approx(fields["rows"][0][2:], abs=1e-5)
    assert found[15][0] == "the text has changed since: choose the head again"
    assert found[16][2] == with_overview(ViewRecord(embedded_lens.trace(OWN)), "self", 1, 8).id  # the page has it
    assert [badge["kind"] for badge in found[17][2]["header"]["badges"]] == ["empty", "live"]


def test_a_score_is_split_as_by_the_kernel(said, embedded_lens):
    """On the page's weights each part; on the model's own, of which those are rounded, what the parts add up to."""
    rounded, found = said[0].trace(TYPED), said[1][19:]
    exact = embedded_lens.trace(TYPED)
    for asked, reply in zip(WHY, found, strict=False):
        split_alike(reply, why.why(rounded, **asked), 1e-5)
        fields, arrays = why.why(exact, **asked)
        assert reply[1]["total"] == pytest.approx(fields["total"], abs=2e-3)
        for name, values in arrays.items():
            np.testing.assert_allclose(reply[3][name], values.numpy(), atol=2e-3)
    split_alike(found[len(WHY)], why.why_pairs(rounded, **CELL), 1e-5)
    np.testing.assert_allclose(found[len(WHY)][3]["values"], why.why_pairs(exact, **CELL)[1]["values"], atol=2e-3)


def test_a_change_of_the_pages_own_text_is_made_again_by_its_number(said):
    off, back, again = said[1][19 + len(WHY) + 1 :][:3]
    assert off[2]["header"]["changes"] == again[2]["header"]["changes"] != []
    assert back[2] == said[1][16][2]  # the run that the page carries


def test_a_run_that_the_page_does_not_show_after_all_takes_none_away(said):
    overtaken, now, gone = said[1][-3:]
    assert [overtaken[0], now[0], gone[0]] == ["", "", "the text has changed since: choose the head again"]


def test_what_is_not_offered_says_that_it_needs_python(said):
    _, found = said
    header = found[0][2]["header"]
    assert {name for name, reason in header["offers"].items() if reason == ""} == {
        "neurons",
        "norms",
        "gates",
        "whatif",
        "sources",
    }
    assert set(header["offers"].values()) == {"", NEEDS_PYTHON}
    assert [tab["name"] for tab in header["tabs"] if tab["why_not"] == ""] == [
        "neurons",
        "why",
        "matter",
        "norms",
        "gates",
        "compare",
        "table",
    ]
    assert header["measures"] == ["weight", "norm", "difference"] and header["layer_maps"] == []


@pytest.mark.sampled(1, of="rounding of a page")
def test_the_page_says_what_its_rounding_changes_and_has_a_policy_of_its_own(embedded_lens, monkeypatch):
    trace, made_live, make = embedded_lens.trace(OWN), [], live.live
    monkeypatch.setattr(live, "live", lambda *given: made_live.append(make(*given)) or made_live[-1])
    same = bl.Lens(engine.rounded(embedded_lens.borrowed), embedded_lens.tokenizer).trace(OWN)
    apart = max(float((same.attention(n) - trace.attention(n)).abs().max()) for n in range(6))
    view = trace.explore()
    page, plain = view.to_html(live=True, progress=False), view.to_html(progress=False)
    [most] = set(re.findall(r"weights of 16 bits move attention by at most ([\d.e-]+);", page))
    assert apart <= float(most) < 2 * apart + 1e-4 and float(most) <= 2e-3
    with_model, without = (
        re.sub("sha256-[^']+", "", re.findall(r'Content-Security-Policy" content="([^"]+)"', text)[0])
        for text in (page, plain)
    )
    assert "wasm" not in without and "blob:" not in without.replace("img-src data: blob:", "")
    assert with_model == without.replace("script-src ''", "script-src '' 'wasm-unsafe-eval'; worker-src blob:")
    assert len(page.encode()) <= 55e6 and "bertlens-weights-0" not in plain and "WebAssembly" not in plain
    smaller = view.to_html(live=True, small=True, progress=False)
    small = made_live[-1]
    assert len(smaller.encode()) <= 42e6 and small.digits in smaller
    readme = (Path(__file__).parents[3] / "README.md").read_text("utf-8")
    assert f"with the model in it ({len(page.encode()) / 1e6:.0f} MB)" in readme
    assert f"{len(smaller.encode()) / 1e6:.0f} MB with `small=True`" in readme
    for is_small, made in ((False, page), (True, smaller)):
        assert 0.95 < live.cost(trace, is_small).size / len(made.encode()) < 1.05
    teaching = (Path(__file__).parents[3] / "docs" / "handing_out.md").read_text("utf-8")
    told = [int(size) * 1e6 for size in re.findall(r"\| (\d+) MB \|", teaching)]
    made = [live.cost(trace, is_small, is_hosted).size for is_small, is_hosted in ((0, 0), (1, 0), (0, 1))]
    assert told == pytest.approx(made, rel=0.08)  # the cost is of a page without a lesson
    [of_all] = re.findall(r'"decimals":(\[\[.*?\]\])', page)
    of_small, of_all = dict(small.about["decimals"]), dict(json.loads(of_all))
    assert of_small[trace.n_tokens] == 2 and of_small[256] == 1 and {*of_all.values()} == {3}
    less = bl.Lens(engine.rounded(embedded_lens.borrowed, small=True), embedded_lens.tokenizer).trace(OWN)
    apart = max(float((less.attention(n) - trace.attention(n)).abs().max()) for n in range(6))
    [most] = re.findall(r"8 bits and other weights in 15 move attention by at most ([\d.]+);", small.digits)
    assert apart <= float(most) < 2 * apart and 2e-3 < apart <= 2e-2  # of two decimals the last moves by two at most
    assert page.isascii()
    carried = page.split('id="bertlens-live"')[0]  # what a browser that cannot unpack shows
    assert '"planes"' not in carried and '"planes"' in plain
    [about] = re.findall("<summary>About this page</summary>(.*?)</details>", page, re.DOTALL)
    assert "<p>The model is all-MiniLM-L6-v2; licence: apache-2.0.</p>" in about
    assert "@huggingface/tokenizers, which is under the Apache License 2.0" in about and "Apache" not in plain


def test_pages_that_cannot_be_live_say_why(embedded_lens, tmp_path):
    trace = embedded_lens.trace(OWN)
    with pytest.raises(ExportError, match=r"undo the changes first, or save trace.original.explore\(\)"):
        trace.rerun(whatif.off(0, 0)).explore().to_html(tmp_path / "a.html", live=True)
    assert not (tmp_path / "a.html").exists()
    with pytest.raises(InputError, match="give live=True with it"):
        trace.explore().to_html(small=True)
    with pytest.raises(ExportError, match="a live page shows one text"):
        bl.compare(trace, trace.rerun(whatif.off(0, 0))).explore().to_html(live=True)
