"""What changes do to the answer, from one batch: against runs of their own and the model's own eager run."""

from __future__ import annotations

import copy
import sys
from typing import Any

import pytest
import torch
import transformers as tf

from bertlens import InputError, Lens, ModelError, Trace, whatif
from bertlens.base.vocabulary.phrases import NO_KEY
from bertlens.run.changes import Change
from bertlens.text.pair_positions import pair_positions
from bertlens.whatif import effects as module
from bertlens.whatif.effects import NOT_APART, Effect, Effects, effects
from bertlens.widgets.answers.matter import cell_matters
from bertlens.widgets.questions import QUESTIONS
from unit import tiny
from unit.model.test_families import accepted, inputs_of

MASKED = "the cat [MASK] on the mat"
PAIR = ("the cat sat on the mat", "it was very warm")
LAYER, HEAD, QUERY, KEY = 1, 2, 3, 2
CHANGES = (whatif.off(LAYER, HEAD), whatif.cut(LAYER, HEAD, QUERY, KEY), whatif.hide(KEY))
CLASSES: dict[str, tuple[Any, tuple[str, ...], dict[str, Any]]] = {
    "words": (tf.BertForMaskedLM, (MASKED,), {}),
    "words, two masks": (tf.BertForMaskedLM, ("the [MASK] sat on the [MASK]",), {}),
    "labels": (tf.BertForSequenceClassification, PAIR, {"num_labels": 3}),
    "labels, regression": (tf.BertForSequenceClassification, PAIR, {"num_labels": 1}),
    "tags": (tf.BertForTokenClassification, PAIR, {"num_labels": 3}),
    "span": (tf.BertForQuestionAnswering, PAIR, {}),
    "similarity": (tf.BertModel, PAIR, {}),
    "embedding": (tf.BertModel, PAIR[:1], {}),
}


def lens_of(kind: Any, seed: int = 0, **settings: Any) -> Lens:
    return Lens(tiny.shaken(kind(tf.BertConfig(**tiny.BERT | settings)), seed), tiny.wordpiece())


def traced(name: str, seed: int = 0) -> Trace:
    kind, text, settings = CLASSES[name]
    return lens_of(kind, seed, **settings).trace(*text)


def numbers(trace: Trace, kind: str) -> dict[tuple[int, str], float]:
    """All answers of a run by place and name, from its own predictions; of an encoder's one text from its states."""
    if kind == "embedding":
        one, other = (run.output.last_hidden_state[0].double().mean(0) for run in (trace.original, trace))
        return {(-1, ""): float(torch.cosine_similarity(one, other, dim=0))}
    table = trace.predictions(k=10_000)
    found = {}
    for row in table.to_dict("records"):
        value = row["probability"] if row["probability"] == row["probability"] else row["logit"]
        found[row["position"], "" if kind == "similarity" else row.get("token", row.get("label"))] = value
    return found


def first_at(all_of: dict[tuple[int, str], float], kind: str, position: int) -> str:
    places = {at: value for at, value in all_of.items() if kind not in ("words", "tags") or at[0] == position}
    return max(places, key=lambda at: places[at])[1]


def check_rows(found: Effects, trace: Trace, changes: Any = CHANGES) -> None:
    """Each row is a run of its own: the number of the answer of before, and what comes first."""
    before = numbers(trace, found.kind)
    name = "" if found.kind in ("similarity", "embedding") else found.name
    assert found.before == pytest.approx(before[found.position, name], abs=2e-6)
    assert name == first_at(before, found.kind, found.position)
    for row, change in zip(found.changes, changes, strict=True):
        assert isinstance(row, Effect)
        after = numbers(trace.rerun(change), found.kind)
        assert row.after == pytest.approx(after[found.position, name], abs=2e-6)
        first = first_at(after, found.kind, found.position)
        assert row.first == ("" if first == name else first)
        best = max((v for (at, n), v in after.items() if n == first and at == found.position), default=None)
        if found.kind != "span":
            assert best is not None and row.first_value == pytest.approx(best, abs=2e-6)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("name", CLASSES)
def test_rows_are_the_runs_one_by_one(name: str, seed: int) -> None:
    trace = traced(name, seed)
    found = effects(trace, CHANGES)
    assert found.kind == name.split(",")[0]
    assert found.unit == {"similarity": "cosine", "embedding": "cosine", "labels, regression": "logit"}.get(
        name, "probability"
    )
    check_rows(found, trace)


@pytest.mark.parametrize("name", CLASSES)
def test_on_top_of_the_changes_of_the_run(name: str) -> None:
    trace = traced(name).rerun(whatif.off(0, 1), whatif.mlp(2))
    check_rows(effects(trace, CHANGES), trace)


@pytest.mark.parametrize(
    ("name", "rows"), [("words", [4]), ("labels", [4]), ("embedding", [4]), ("similarity", [4, 2])]
)
def test_all_rows_are_of_one_batch(name: str, rows: list[int]) -> None:
    """A text of a pair has no rows for what is not done to it: the cell and the token are the first's."""
    trace = traced(name)
    if name == "similarity":
        trace.predictions()  # traces both texts alone, once
    assert trace.lens is not None and isinstance(trace.lens, Lens)
    sizes: list[int] = []
    handle = trace.lens.model.register_forward_pre_hook(
        lambda part, args, kwargs: sizes.append(len(kwargs["input_ids"])), with_kwargs=True
    )
    effects(trace, CHANGES)
    handle.remove()
    assert sizes == rows


@pytest.mark.parametrize("name", ["words", "similarity"])
def test_a_long_text_is_run_in_turns(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    trace = traced(name)
    expected = effects(trace, CHANGES)
    monkeypatch.setattr(module, "TOKENS_AT_ONCE", 2 * trace.n_tokens)
    found = effects(trace, CHANGES)
    assert found.before == pytest.approx(expected.before, abs=1e-6)
    for one, other in zip(found.changes, expected.changes, strict=True):
        assert isinstance(one, Effect) and isinstance(other, Effect)
        assert one.after == pytest.approx(other.after, abs=1e-6) and one.first == other.first


def test_rows_are_the_models_own_eager_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its own attention function: the head's output 0 in one layer, one score lowered there, one key in every layer."""
    trace = traced("words")
    found = effects(trace, CHANGES)
    assert trace.lens is not None and isinstance(trace.lens, Lens)
    at, word = trace.tokens.index("[MASK]"), tiny.VOCABULARY.index(found.name)
    runs: list[Change | None] = [None, *CHANGES]
    wanted = [found.before, *(row.after for row in found.changes if isinstance(row, Effect))]
    assert len(wanted) == 4 and len({round(value, 6) for value in wanted}) == 4
    for change, value in zip(runs, wanted, strict=True):
        chances = eager_logits(trace, trace.lens.model, change, monkeypatch)[0, at].double().softmax(-1)
        assert float(chances[word]) == pytest.approx(value, abs=2e-6)


def eager_logits(trace: Trace, model: Any, change: Any, monkeypatch: pytest.MonkeyPatch) -> torch.Tensor:
    source = sys.modules[type(model).__module__]
    model, eager = copy.deepcopy(model), source.eager_attention_forward
    calls: list[int] = []

    def changed(part: Any, q: Any, k: Any, v: Any, mask: Any, *args: Any, **kwargs: Any) -> Any:
        here = len(calls) == LAYER
        calls.append(1)
        added = torch.zeros(1, q.shape[1], q.shape[2], q.shape[2])
        if change == CHANGES[1] and here:
            added[0, HEAD, QUERY, KEY] = torch.finfo(torch.float32).min
        if change == CHANGES[2]:
            added[..., KEY] = torch.finfo(torch.float32).min
        context, weights = eager(part, q, k, v, added if mask is None else mask + added, *args, **kwargs)
        if change == CHANGES[0] and here:
            context = context.clone()
            context[:, :, HEAD] = 0
        return context, weights

    monkeypatch.setattr(source, "eager_attention_forward", changed)
    model.set_attn_implementation("eager")
    with torch.no_grad():
        logits = model(**accepted(model, inputs_of(trace))).logits
    monkeypatch.undo()
    assert len(calls) == 3
    found: torch.Tensor = logits
    return found


def test_the_mask_that_changes_most_is_shown() -> None:
    trace = traced("words, two masks")
    found = effects(trace, CHANGES)
    masks = [at for at, token in enumerate(trace.tokens) if token == "[MASK]"]
    before = numbers(trace, "words")
    moved = {}
    for at in masks:
        name = first_at(before, "words", at)
        runs = [numbers(trace.rerun(change), "words") for change in CHANGES]
        flips = any(first_at(run, "words", at) != name for run in runs)
        moved[at] = flips, max(abs(run[at, name] - before[at, name]) for run in runs)
    assert found.position == max(moved, key=lambda at: moved[at])


def test_what_cannot_be_made_is_said_in_its_row() -> None:
    """The others keep their numbers: one token that sees nothing else, and the first of a decoder."""
    decoder = Lens(tiny.shaken(tiny.FAMILIES["gpt2"].model()), tiny.gpt_like())
    text = decoder.trace("the cat sat")
    found = effects(text, [whatif.off(1, 2), whatif.cut(1, 2, 0, 0), whatif.hide(0)])
    assert found.changes[1:] == (NO_KEY, NO_KEY)
    assert isinstance(found.changes[0], Effect)
    assert found.changes[0].after == pytest.approx(numbers(text.rerun(whatif.off(1, 2)), "embedding")[-1, ""], abs=1e-6)
    alone = decoder.trace("a")
    assert alone.n_tokens == 1
    found = effects(alone, [whatif.off(1, 2), whatif.cut(1, 2, 0, 0), whatif.hide(0)])
    assert found.changes[1:] == (NO_KEY, NO_KEY) and isinstance(found.changes[0], Effect)
    unseen = effects(text, [whatif.cut(1, 2, 0, 2)]).changes[0]  # the first token sees no later one anyway
    assert isinstance(unseen, Effect) and unseen.after == pytest.approx(1, abs=1e-9)


def test_no_answer_is_one_sentence() -> None:
    given = Trace.from_attentions(torch.full((1, 2, 3, 3), 1 / 3), ["a", "b", "c"])
    causal = Lens(tiny.shaken(tf.GPT2LMHeadModel(tiny.FAMILIES["gpt2"].model().config)), tiny.gpt_like())
    outside = tiny.OUTSIDE["xlm"]
    eager = Lens(tiny.shaken(outside.model()), outside.tokenizer()).trace("the cat sat")
    for trace, words in [
        (lens_of(tf.BertForMaskedLM).trace("the cat"), r"no token of this text is masked: write \[MASK\]"),
        (causal.trace("the cat"), "an answer that is not read here"),
        (given, "made from attention weights"),
        (eager, "cannot be changed"),
    ]:
        with pytest.raises(ModelError, match=words):
            effects(trace, [whatif.off(0, 0)])
    assert QUESTIONS["cell_matters"].needs == "whatif"
    with pytest.raises(InputError, match="takes changes"):
        effects(traced("words"), ["off"])  # type: ignore[list-item]


def test_the_page_gets_the_three_rows() -> None:
    trace = traced("words")
    fields, arrays = cell_matters(trace, LAYER, HEAD, QUERY, KEY)
    found = effects(trace, CHANGES)
    assert not arrays and (fields["name"], fields["before"], fields["unit"]) == (found.name, found.before, found.unit)
    assert [row["label"] for row in fields["rows"]] == [
        "L1·H2 off",
        "L1·H2: “[MASK]” → “cat” cut",
        "“cat” hidden",
    ]
    for row, change, effect in zip(fields["rows"], CHANGES, found.changes, strict=True):
        assert eval(row["code"], {"whatif": whatif}) == change
        assert isinstance(effect, Effect) and (row["after"], row["first"]) == (effect.after, effect.first)
        assert row["asked"][1:] == [value for value in vars(change).values() if value is not None and value is not True]
    decoder = Lens(tiny.shaken(tiny.FAMILIES["gpt2"].model()), tiny.gpt_like()).trace("the cat sat")
    refused = cell_matters(decoder, 1, 2, 0, 0)[0]["rows"][1]
    assert (refused["why_not"], refused["after"], refused["first_value"]) == (NO_KEY, None, None)


@pytest.mark.parametrize(
    ("tokenizer", "there"),
    [
        (tiny.wordpiece, ([0, 1, 2, 3, 4, None, None, None], [0, None, None, None, None, 1, 2, 3])),
        (tiny.roberta_like, None),
        (tiny.gpt_like, None),
    ],
)
def test_the_tokens_of_a_pair_in_either_text_alone(tokenizer: Any, there: Any) -> None:
    name = {"wordpiece": "bert", "roberta_like": "roberta", "gpt_like": "gpt2"}[tokenizer.__name__]
    lens = Lens(tiny.FAMILIES[name].model(), tokenizer())
    texts = ("the cat sat", "it was")
    pair = lens.trace(*texts).encoding
    found = []
    for number, text in enumerate(texts):
        alone = lens.trace(text).encoding
        places = pair_positions(pair, alone, number)
        assert all(pair.input_ids[at] == alone.input_ids[place] for at, place in places.items())
        inside = [at for at in range(len(pair)) if not pair.special[at] and pair.segments[at] == number]
        assert [places[at] for at in inside] == [at for at in range(len(alone)) if not alone.special[at]]
        assert set(places.values()) == set(range(len(alone)))  # its template tokens too
        found.append([places.get(at) for at in range(len(pair))])
    assert there is None or [*found] == [*there]
    other = lens.trace("the mat sat").encoding
    assert pair_positions(pair, other, 0) == {}


def test_a_change_of_tokens_that_no_text_alone_has_together() -> None:
    trace = traced("similarity")
    across = whatif.cut(LAYER, HEAD, 2, 9)
    assert (trace.tokens[2], trace.tokens[9]) == ("cat", "was")
    found = effects(trace, [whatif.off(0, 0), across, whatif.hide(9)])
    assert found.changes[1] == NOT_APART
    check_rows(
        Effects(found.kind, found.unit, -1, found.name, found.before, (found.changes[0], found.changes[2])),
        trace,
        [whatif.off(0, 0), whatif.hide(9)],
    )
    changed = trace.rerun(across)
    assert whatif.answers(changed).kind == "embedding"
    with pytest.raises(ModelError, match="are not together when each text is read alone"):
        changed.predictions()
