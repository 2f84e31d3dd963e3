"""What the page is told and may ask of changes, against runs one by one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers as tf

import bertlens as bl
from bertlens import InputError, Lens, Trace, whatif
from bertlens.whatif import chips
from bertlens.whatif.swept_numbers import swept_numbers
from bertlens.widgets import saving
from bertlens.widgets.answers import whatif as page
from bertlens.widgets.questions import QUESTIONS
from unit import tiny
from unit.asking import replies

MASKED = "the cat [MASK] on the mat"
PAIR = ("the cat sat on the mat", "it was very warm")


def lens_of(kind: type[Any], **settings: Any) -> Lens:
    return Lens(tiny.shaken(kind(tf.BertConfig(**tiny.BERT | settings)), 0), tiny.wordpiece())


def asks(view: Any, op: str, **fields: Any) -> dict[str, Any]:
    """The reply to one message of the page."""
    header = view.overview["header"]
    return replies(view, {"id": 1, "op": op, "trace": header["trace"], "map": "self"} | fields)[-1][0]


def labels(view: Any) -> list[str]:
    return [chip["label"] for chip in view.overview["header"]["changes"]]


@pytest.fixture
def view() -> Any:
    shown = lens_of(tf.BertModel).trace(*PAIR).explore(layer=0, head=0)
    yield shown
    shown.close()


def test_changes_of_a_message(view: Any) -> None:
    trace = view.trace
    first = view.overview["header"]
    assert first["changes"] == []
    reply = asks(view, "change", changes=[["off", 0, 1], ["cut", 1, 0, 2, 3], ["hide", 4]])
    assert "error" not in reply
    assert view.trace.changes == (whatif.off(0, 1), whatif.cut(1, 0, 2, 3), whatif.hide(4))
    assert view.trace.original is trace
    assert labels(view) == ["L0·H1 off", "L1·H0: “cat” → “sat” cut", "“on” hidden"]
    chips = view.overview["header"]["changes"]
    assert [chip["off"] for chip in chips] == [[0, 1], None, None]
    for chip, change in zip(chips, view.trace.changes, strict=True):  # the line of Python makes the same
        assert eval(chip["code"], {"whatif": whatif}) == change
    asks(view, "change", changes=[chips[2]["id"], ["neuron", 1, 1, 0]])  # a known one by its number
    assert view.trace.changes == (whatif.hide(4), whatif.neuron(1, 1, 0))
    asks(view, "change", changes=[chips[0]["id"]])  # of two steps before
    assert view.trace.changes == (whatif.off(0, 1),)
    assert view.overview["header"]["subject"] == first["subject"]
    asks(view, "change", changes=[])
    assert view.trace is trace and view.overview["header"]["trace"] == first["trace"]
    view.trace = trace.lens.trace("the mat")
    assert view.overview["header"]["subject"] != first["subject"]
    assert "does not know" in asks(view, "change", changes=[0])["error"]  # numbers are of the text


@pytest.mark.parametrize(
    "changes",
    [
        None,
        "off",
        [["off"]],
        [["off", 0, 0, 0]],
        [["off", "0", 0]],
        [["off", True, 0]],
        [["rerun", 0]],
        [[]],
        [{}],
        [-1],
        [True],
        [99],
        [["off", 9, 0]],
        [["neuron", 0, 0, 99]],
        [["patch", 0, 1]],
        [["patch", 0, 1, "layer", "", None]],
        [["patch", 0, 1, "layer", 3, None]],
        [["patch", 0, 1, "nothing", "the cat", None]],
        [["off", 0, 0]] * 101,
    ],
)
def test_what_a_page_cannot_ask_for(view: Any, changes: Any) -> None:
    trace = view.trace
    error = asks(view, "change", changes=changes)["error"]
    assert len(error) < 200 and not error.startswith(("TypeError", "AttributeError", "IndexError", "ValueError"))
    assert view.trace is trace


def test_runs_of_other_changes_have_other_names(view: Any) -> None:
    """No weight differs where the last layer's head is off: the page must not take the original's answers for it."""
    names = {view.overview["header"]["trace"]}
    last = view.trace.n_layers - 1
    one, other = ["off", last, 0], ["off", last, 1]
    for changes in ([one], [other], [one, other], [["mlp", last]]):
        asks(view, "change", changes=changes)
        names.add(view.overview["header"]["trace"])
    assert len(names) == 5


def test_moved_against_kullback_and_leibler() -> None:
    trace = lens_of(tf.BertModel).trace(*PAIR)

    def naive(run: Trace, layer: int, head: int) -> float:
        total = 0.0
        for a, b in zip(*(of.attention(layer, torch.float64)[head].numpy() for of in (trace, run)), strict=True):
            a, b = a / a.sum(), b / b.sum()
            for p in (a, b):
                seen = p > 0
                total += (p[seen] * np.log(p[seen] / ((a + b) / 2)[seen])).sum() / 2
        return total / trace.n_tokens

    last = trace.n_layers - 1
    for change, can in (
        (whatif.off(last - 1, 1), {(last, h) for h in range(trace.n_heads)}),
        (whatif.cut(last, 0, 2, 3), {(last, 0)}),
        (whatif.cut(last, 0, 2, 3, renormalize=False), {(last, 0)}),
        (whatif.neuron(last, 1, 0), {(last, 1)}),
        (whatif.off(last, 0), set()),
    ):
        run = trace.rerun(change)
        found = whatif.moved(run)
        assert {tuple(at) for at in (~found.isnan()).nonzero().tolist()} == can
        for layer, head in can:
            assert float(found[layer, head]) == pytest.approx(naive(run, layer, head), abs=1e-7)
        for layer in range(trace.n_layers):  # and those that cannot differ do not
            for head in range(trace.n_heads):
                if (layer, head) not in can:
                    assert torch.equal(run.attention(layer)[head], trace.attention(layer)[head])
    assert whatif.moved(trace).isnan().all()
    assert not whatif.moved(trace.rerun(whatif.hide(2))).isnan().any()


CLASSES = {
    "words": (tf.BertForMaskedLM, (MASKED,), {}),
    "labels": (tf.BertForSequenceClassification, PAIR, {"num_labels": 3}),
    "tags": (tf.BertForTokenClassification, PAIR, {"num_labels": 3}),
    "span": (tf.BertForQuestionAnswering, PAIR, {}),
    "similarity": (tf.BertModel, PAIR, {}),
    "embedding": (tf.BertModel, PAIR[:1], {}),
}


@pytest.mark.parametrize("kind", CLASSES)
def test_answers_and_sweeps_of_every_kind(kind: str) -> None:
    """Before and after are those of `predictions`, each estimate and each exact number that of a run of its own."""
    model, text, settings = CLASSES[kind]
    trace = lens_of(model, **settings).trace(*text)
    run = trace.rerun(whatif.off(0, 1))
    found = whatif.answers(run, k=4)
    assert found.kind == kind
    if kind in ("words", "labels", "span"):
        for of, side in ((trace, "before"), (run, "after")):
            table = of.predictions(k=4)
            name = "token" if "token" in table else "label"
            known = {(row.position, row.name): getattr(row, side) for row in found.rows}
            for row in table.to_dict("records"):
                assert known[row["position"], row[name]] == pytest.approx(row["probability"], abs=1e-9)
    elif kind == "similarity":
        [row] = found.rows
        assert (row.before, row.after) == pytest.approx([of.predictions()["logit"][0] for of in (trace, run)], abs=1e-6)
    elif kind == "tags":
        before, after = (of.output.logits[0].double().softmax(-1) for of in (trace, run))
        labels = [f"LABEL_{n}" for n in range(3)]
        tags = before.argmax(-1)
        words = (~trace.special_mask).nonzero()[:, 0].tolist()
        count = tags[words].bincount(minlength=3)
        first = next((at for at in words if count[tags[at]] < count.max()), words[0])
        change = {at: -abs(float(after[at, tags[at]] - before[at, tags[at]])) for at in words if at != first}
        others = sorted(sorted(change, key=change.__getitem__)[:3])
        ranked = before[first].argsort(descending=True).tolist()
        wanted = [(first, ranked[0]), *((at, int(tags[at])) for at in others), *((first, n) for n in ranked[1:])]
        for row, (at, n) in zip(found.rows, wanted, strict=True):
            assert (row.position, row.name) == (at, labels[n])
            assert (row.before, row.after) == pytest.approx((float(before[at, n]), float(after[at, n])), abs=1e-9)
        fields = page.answers(run, labels[ranked[2]], others[0])[0]
        assert fields["rows"][0][:2] == (others[0], labels[ranked[2]]) and len(fields["rows"]) == 1 + 1 + 4 + 2 - 1
        assert {name for at, name, *_ in fields["rows"] if at == others[0]} == set(labels)
        assert fields["tags"] == [labels[tags[at]] for at in fields["places"]] and fields["places"] == words
    for name, one in swept_numbers(trace).items():
        values = np.full((trace.n_layers, trace.n_heads), np.nan)
        for layer in range(trace.n_layers):
            for batch in one.exact([(layer, h) for h in range(trace.n_heads)]):
                for index, value in batch:
                    values[index] = value
        for (layer, head), value in np.ndenumerate(values):
            assert value == pytest.approx(_change(trace, name, kind, whatif.off(layer, head)), abs=2e-6), (name, layer)
        if one.estimated is None:
            assert name in ("divergence", "similarity")
            continue
        slopes = one.estimated().numpy()
        assert slopes.shape == values.shape and np.corrcoef(slopes.flatten(), values.flatten())[0, 1] > 0.5


def _change(trace: Trace, name: str, kind: str, change: Any) -> float:
    """The number from whole runs' outputs."""
    run = trace.rerun(change)
    if kind == "similarity":
        return float(run.predictions()["logit"][0] - trace.predictions()["logit"][0])
    outputs = [of.output for of in (trace, run)]
    if kind == "embedding":
        one, other = (output.last_hidden_state[0].double().mean(0) for output in outputs)
        return float(torch.cosine_similarity(one, other, dim=0)) - 1
    if kind == "span":
        first = trace.predictions(k=1)
        i = int(first["position"][0])
        scores = [(o.start_logits[0, i] + o.end_logits[0]).double() for o in outputs]
        j = int((scores[0] - first["logit"][0]).abs().argmin())
        return float(scores[1][j] - scores[0][j])
    if kind == "tags":
        at = (~trace.special_mask).nonzero()[:, 0]
        own = outputs[0].logits[0].argmax(-1)[at]
        return float(outputs[1].logits[0, at, own].double().sum() - outputs[0].logits[0, at, own].double().sum())
    place = trace.tokens.index("[MASK]") if kind == "words" else None
    before, after = ((o.logits[0] if place is None else o.logits[0, place]).double() for o in outputs)
    first_two = before.topk(2).indices
    if name == "divergence":
        return float((before.softmax(-1) * (before.log_softmax(-1) - after.log_softmax(-1))).sum())
    if name == "probability":
        return float((after.softmax(-1) - before.softmax(-1))[first_two[0]])
    moved = (after - before)[first_two]
    return float(moved[0] - moved[1] if name == "difference" else moved[0])


def test_no_answer_is_a_reason() -> None:
    trace = lens_of(tf.BertForMaskedLM).trace("the cat")
    fields, _ = page.answers(trace)
    assert fields["kind"] == "" and "[MASK]" in fields["why_not"]
    given = bl.Trace.from_attentions(torch.full((1, 1, 2, 2), 0.5), ["a", "b"])
    assert page.answers(given)[0]["why_not"]
    assert QUESTIONS["matters"].needs == "whatif"


def test_a_change_that_names_a_token_of_the_pair() -> None:
    """It is made in the text alone that has the token; where neither has, the pair's own embedding is compared."""
    trace = lens_of(tf.BertModel).trace(*PAIR)
    run = trace.rerun(whatif.hide(3))
    found = whatif.answers(run)
    [row] = found.rows
    assert trace.lens is not None and trace.tokens[3] == "sat" and found.kind == "similarity"
    first, second = (trace.lens.trace(text) for text in PAIR)
    one, other = (of.output.last_hidden_state[0].double().mean(0) for of in (first.rerun(whatif.hide(3)), second))
    assert row.after == pytest.approx(float(torch.cosine_similarity(one, other, dim=0)), abs=1e-6)
    for asked_of in swept_numbers(run).values():  # and every head is swept on top of it
        [batch] = asked_of.exact([(1, h) for h in range(4)])
        both = [text.rerun(*changes, whatif.off(1, 0)) for text, changes in ((first, [whatif.hide(3)]), (second, []))]
        one, other = (of.output.last_hidden_state[0].double().mean(0) for of in both)
        expected = float(torch.cosine_similarity(one, other, dim=0)) - row.after
        assert dict(batch)[1, 0] == pytest.approx(expected, abs=2e-6)
    run = trace.rerun(whatif.cut(0, 1, 2, 9))
    found = whatif.answers(run)
    [row] = found.rows
    assert found.kind == "embedding"
    one, other = (of.output.last_hidden_state[0].double().mean(0) for of in (trace, run))
    cosine = float(torch.cosine_similarity(one, other, dim=0))
    assert row.before == 1 and row.after == pytest.approx(cosine, abs=1e-7)  # of float32 outputs


def test_a_page_holds_what_was_swept() -> None:
    trace = lens_of(tf.BertForMaskedLM).trace(MASKED)
    assert not list(page.carried(trace, [0])) and not list(page.carried_exact(trace, [0]))
    page.matters(trace, "logit")
    page.matters_exact(trace, "logit", 1)
    assert list(page.carried(trace, [0])) == [{"metric": "logit"}]
    assert list(page.carried_exact(trace, [0])) == [{"metric": "logit", "layer": 1}]
    with pytest.raises(bl.SelectionError, match="there are logit"):
        page.matters(trace, "size")
    with pytest.raises(InputError, match="at most 100"):
        chips.read(trace, (), [0] * 101)


def test_weights_are_compared_once_for_a_question() -> None:
    from bertlens.model.borrowed import checked_once

    lens = lens_of(tf.BertModel)
    trace = lens.trace(*PAIR)
    with checked_once():
        trace.check_unchanged()
    with torch.no_grad():
        next(lens.model.parameters()).add_(1)
    with pytest.raises(bl.ModelError, match="changed"), checked_once():
        trace.check_unchanged()


def test_a_page_whose_weights_change_meanwhile_is_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lens = lens_of(tf.BertModel)
    view, file = lens.trace(*PAIR).explore(), tmp_path / "page.html"
    answer, answered, last = saving._whole, 0, 0  # what answers a saved page, one by one

    def trained(*asked: Any) -> Any:
        nonlocal answered
        answered += 1
        if answered == last:
            with torch.no_grad():
                next(lens.model.parameters()).add_(1)
        return answer(*asked)

    monkeypatch.setattr(saving, "_whole", trained)
    view.to_html(file)
    file.unlink()
    answered, last = 0, answered  # the last answer needs no weights
    with pytest.raises(bl.ModelError, match="changed while the page was being made"):
        view.to_html(file)
    assert not file.exists()
