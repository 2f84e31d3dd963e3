"""How loud a head is and how much a token is looked at: against hooks on the model and its own eager run."""

from __future__ import annotations

import copy
import math
import sys
from fractions import Fraction
from typing import Any

import pytest
import torch

from bertlens import InputError, Lens, ModelError, SelectionError, Trace, whatif
from bertlens.measures import norms
from bertlens.measures.attribution import attention_gradient
from bertlens.measures.gradients import gradients
from bertlens.run.changes import base
from bertlens.whatif import chips
from unit import tiny
from unit.model.test_families import accepted, inputs_of
from unit.whatif.test_whatif import ALONE, EVERY, PAIR, TEXT, close, lens_of, same_run, w_o

LAYER, HEAD, TOKEN = 1, 2, 4
FACTORLESS: tuple[Any, ...] = (-1, math.nan, math.inf, True, "2", 10**400, 1e39, Fraction(-1, 2))


def hooked(lens: Lens, factors: dict[int, float], texts: Any = PAIR) -> list[torch.Tensor]:
    """Hidden states of a run in which what W_O of the layer reads of each head is multiplied."""
    model = copy.deepcopy(lens.model)

    def louder(module: Any, args: Any) -> Any:
        context = args[0].clone()
        size = context.shape[-1] // 4
        for head, factor in factors.items():
            context[..., head * size : (head + 1) * size] *= factor
        return (context, *args[1:])

    w_o(model, LAYER).register_forward_pre_hook(louder)
    return list(Lens(model, lens.tokenizer).trace(*texts).hidden_states)


@ALONE
def test_a_scaled_head_is_what_a_hook_in_front_of_its_output_gives(name: str) -> None:
    lens = lens_of(name)
    trace = lens.trace(*PAIR)
    for head, factor in ((HEAD, 1.75), (None, 0.4)):
        run = trace.rerun(whatif.scale(LAYER, head, factor))
        heads = range(4) if head is None else [head]
        for one, other in zip(run.hidden_states, hooked(lens, dict.fromkeys(heads, factor)), strict=True):
            close(one, other)
        assert run.changed_contexts(LAYER) == dict.fromkeys(heads, factor)
        assert torch.equal(run.attention(LAYER), trace.attention(LAYER))  # it looks where it looked
        assert float((run.hidden_states[-1] - trace.hidden_states[-1]).abs().max()) > 1e-3


@pytest.mark.sampled(4)
@EVERY
def test_none_and_one_are_off_hidden_and_the_run_itself(name: str) -> None:
    """Bit by bit, in every family."""
    trace = lens_of(name).trace(*PAIR)
    for change, other in (
        (whatif.scale(LAYER, HEAD, 0), whatif.off(LAYER, HEAD)),
        (whatif.scale(LAYER, None, 0), whatif.off(LAYER)),
        (whatif.dim(TOKEN, 0), whatif.hide(TOKEN)),
    ):
        same_run(trace.rerun(change), trace.rerun(other))
    for change in (whatif.scale(LAYER, HEAD, 1), whatif.scale(LAYER, None, 1.0), whatif.dim(TOKEN, 1)):
        run = trace.rerun(change)
        same_run(run, trace)
        assert run.changes == (change,)


@pytest.mark.parametrize("name", ["bert", "distilbert", "gpt2", "modernbert"])
def test_a_dimmed_token_is_an_eager_run_with_logarithms(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    lens = lens_of(name, torch.float64)
    trace = lens.trace(*PAIR)
    for factor in (0.3, 2.5):
        model = copy.deepcopy(lens.model)
        module = sys.modules[type(model).__module__]
        eager = module.eager_attention_forward

        def dimmed(part: Any, q: Any, k: Any, v: Any, mask: Any, *args: Any, **kwargs: Any) -> Any:
            added = torch.zeros(1, 1, q.shape[2], q.shape[2], dtype=q.dtype)
            added[..., TOKEN] = math.log(factor)  # noqa: B023 - called in this round
            mask = added if mask is None else mask + added
            return eager(part, q, k, v, mask, *args, **kwargs)  # noqa: B023

        monkeypatch.setattr(module, "eager_attention_forward", dimmed)
        model.config._attn_implementation = "eager"
        with torch.no_grad():
            output = model(**accepted(model, inputs_of(trace)), output_hidden_states=True)
        monkeypatch.undo()
        run = trace.rerun(whatif.dim(TOKEN, factor))
        for one, other in zip(run.hidden_states, output.hidden_states, strict=True):
            close(one, other[0], 1e-9 if name != "modernbert" else 1e-6)
        weights = trace.attention(0).clone()
        weights[..., TOKEN] *= factor
        close(run.attention(0), weights / weights.sum(-1, keepdim=True), 1e-9 if name != "modernbert" else 1e-6)
        assert run.changed_weights(0) == () and float(whatif.moved(run)[0].min()) > 0


def test_with_other_changes() -> None:
    """Several multiply, in the order of contexts; a given pattern is dimmed and each row as large as before."""
    lens = lens_of("bert")
    trace = lens.trace(*PAIR)
    run = trace.rerun(whatif.scale(LAYER, HEAD, 0.5), whatif.scale(LAYER, None, 3), whatif.cut(LAYER, HEAD, 5, 4))
    assert run.changed_contexts(LAYER) == {0: 3, 1: 3, HEAD: 1.5, 3: 3}
    close(run.head_context(LAYER)[HEAD], 1.5 * run.attention(LAYER)[HEAD] @ run.value(LAYER)[HEAD])
    assert run.attention(LAYER)[HEAD, 5, 4] == 0
    assert not trace.rerun(whatif.off(LAYER, HEAD), whatif.scale(LAYER, HEAD, 2)).head_context(LAYER)[HEAD].any()
    mean = trace.rerun(whatif.mean(LAYER, HEAD), whatif.scale(LAYER, HEAD, 2))
    close(mean.head_context(LAYER)[HEAD], 2 * trace.rerun(whatif.mean(LAYER, HEAD)).head_context(LAYER)[HEAD])
    assert mean.changed_contexts(LAYER) == {HEAD: None}

    given = torch.rand(trace.n_tokens, trace.n_tokens)
    given /= given.sum(-1, keepdim=True)
    expected = given.clone()
    expected[:, TOKEN] *= 0.6
    expected[:, TOKEN + 1] = 0
    expected /= expected.sum(-1, keepdim=True)
    changes = (whatif.pattern(LAYER, HEAD, given), whatif.dim(TOKEN, 0.2), whatif.dim(TOKEN, 3), whatif.hide(TOKEN + 1))
    run = trace.rerun(*changes)
    close(run.attention(LAYER)[HEAD], expected)
    scores = (run.scores(0) - trace.scores(0))[..., TOKEN]
    close(scores, torch.full_like(scores, math.log(0.6)), 1e-5)
    loose = trace.rerun(whatif.dim(TOKEN, 0.2), whatif.cut(LAYER, HEAD, 5, 6, renormalize=False))
    expected = trace.rerun(whatif.dim(TOKEN, 0.2)).attention(LAYER).clone()
    expected[HEAD, 5, 6] = 0
    close(loose.attention(LAYER), expected)


def test_one_token_two_texts_and_a_padded_batch() -> None:
    lens = lens_of("gpt2")
    lone = lens.trace("cat")
    assert lone.n_tokens == 1
    for one, other in zip(lone.rerun(whatif.dim(0, 0.5)).hidden_states, lone.hidden_states, strict=True):
        close(one, other)  # there is nothing else to look at
    with pytest.raises(SelectionError, match="token 0 would have no key left"):
        lone.rerun(whatif.dim(0, 0))
    lens = lens_of("bert")
    changes = whatif.scale(LAYER, HEAD, 0.5), whatif.dim(TOKEN, 0.5)
    for padded, text in zip(lens.trace_batch([TEXT, PAIR]), ((TEXT,), PAIR), strict=True):
        alone = lens.trace(*text).rerun(*changes)
        run = padded.rerun(*changes)
        close(run.hidden_states[-1], alone.hidden_states[-1])
        close(run.attention(2), alone.attention(2))


def test_measures_of_a_scaled_head() -> None:
    """What it passes on is so much longer, the estimate is of the run as it is, and so is attention × gradient."""
    lens = lens_of("bert", torch.float64)
    trace = lens.trace(*PAIR)
    run = trace.rerun(whatif.scale(LAYER, HEAD, 0.25))
    lengths = norms.transformed_norm(trace, LAYER)
    lengths[HEAD] *= 0.25
    close(norms.transformed_norm(run, LAYER), lengths, 1e-12)

    def number(output: Any) -> torch.Tensor:
        return output.last_hidden_state[0, 0, :5].sum()

    step = 1e-5  # the metric's slope in the head's own gate, at a quarter
    up, down = (float(number(trace.rerun(whatif.scale(LAYER, HEAD, 0.25 + x)).output)) for x in (step, -step))
    estimate = whatif.estimate(run, number)
    assert float(estimate[LAYER, HEAD]) == pytest.approx(-0.25 * (up - down) / (2 * step), rel=1e-5)
    mean = trace.rerun(whatif.mean(LAYER, HEAD))  # of which no weight is left
    assert not gradients(mean, loss=number).attention(LAYER)[HEAD].any()
    slopes = gradients(run, loss=number)
    of_weights = (run.attention(LAYER) * slopes.attention(LAYER)).sum((1, 2))
    close(of_weights.abs(), slopes.head_importance()[LAYER], 1e-10)  # the same from both sides
    none = trace.rerun(whatif.scale(LAYER, HEAD, 0))
    assert torch.isnan(whatif.estimate(none, number)[LAYER, HEAD])
    off = attention_gradient(trace.rerun(whatif.off(LAYER, HEAD)), number)
    assert torch.equal(attention_gradient(none, number).values, off.values)
    loud = attention_gradient(run, number).values
    assert not torch.allclose(loud, off.values) and not torch.allclose(loud, attention_gradient(trace, number).values)


def test_every_type_of_number_is_a_factor() -> None:
    trace = lens_of("bert").trace("the cat sat")
    same_run(trace.rerun(whatif.scale(0, 1, Fraction(1, 4))), trace.rerun(whatif.scale(0, 1, 0.25)))
    same_run(trace.rerun(whatif.dim(2, Fraction(1, 4))), trace.rerun(whatif.dim(2, 0.25)))
    assert trace.rerun(whatif.scale(0, 1, 10**20)).changed_contexts(0) == {1: 1e20}


def test_wrong_use_is_one_sentence() -> None:
    trace = lens_of("bert").trace("the cat sat")
    cases: list[tuple[Any, type[Exception], str]] = [
        *((whatif.scale(0, 1, x), InputError, "is not a number from 0") for x in FACTORLESS),
        (whatif.dim(2, -0.1), InputError, "factor -0.1 is not a number from 0 upwards: 0 is nothing, 1 as it is"),
        (whatif.dim(2, None), InputError, "factor None is not"),  # type: ignore[arg-type]
        (whatif.scale(3, 0, 1), SelectionError, "layer 3 does not exist"),
        (whatif.scale(None, 0, 1), SelectionError, "layer None does not exist"),  # type: ignore[arg-type]
        (whatif.scale(0, 4, 1), SelectionError, "head 4 does not exist"),
        (whatif.scale(0, True, 1), SelectionError, "head True does not exist"),
        (whatif.dim(5, 0.5), SelectionError, "token 5 does not exist"),
        (whatif.dim(None, 0.5), SelectionError, "token None does not exist"),  # type: ignore[arg-type]
    ]
    for change, kind, words in cases:
        with pytest.raises(kind) as caught:
            trace.rerun(change)
        assert words in str(caught.value) and "\n" not in str(caught.value)
    family = next(iter(tiny.OUTSIDE.values()))
    outside = Lens(tiny.shaken(family.model()), family.tokenizer()).trace(TEXT)
    for change in (whatif.scale(0, 0, 0.5), whatif.dim(1, 0.5)):
        with pytest.raises(ModelError, match="cannot be changed"):
            outside.rerun(change)


def test_what_covers_what() -> None:
    scale, dim, off, hide, cut = whatif.scale, whatif.dim, whatif.off, whatif.hide, whatif.cut
    covering = [
        (off(1, 2), scale(1, 2, 0.5)),
        (off(1), scale(1, 2, 2)),
        (off(1), scale(1, None, 2)),
        (scale(1, 2, 0), off(1, 2)),
        (scale(1, None, 0), cut(1, 2, 3, 4)),
        (scale(1, 2, 0.5), scale(1, 2, 2)),
        (hide(3), dim(3, 0.5)),
        (dim(3, 0), hide(3)),
        (dim(3, 0), cut(1, 2, 0, 3)),
        (dim(3, 0.5), dim(3, 0.1)),
    ]
    others = [
        (scale(1, 2, 0.5), off(1, 2)),
        (scale(1, None, 0.5), scale(1, 2, 0.5)),
        (off(1, 3), scale(1, 2, 0)),
        (off(1, 2), scale(1, None, 0.5)),
        (scale(1, 2, 0), cut(1, None, 3, 4)),
        (dim(3, 0.5), hide(3)),
        (dim(3, 0.5), dim(4, 0.5)),
        (hide(3), dim(4, 0.5)),
    ]
    for one, other in covering:
        assert one.covers(other) and base((off(0, 0), one), other) == (off(0, 0),)
    for one, other in others:
        assert not one.covers(other) and base((one,), other) == (one,)


def test_chips_and_the_line_of_python() -> None:
    trace: Trace = lens_of("bert").trace("the cat sat on the mat")
    labels = {
        whatif.scale(1, 2, 0.4): ("L1·H2 at 0.4", "0.4 × the output of head 1.2", ["scale", 1, 2, 0.4]),
        whatif.scale(1, None, 1.25): ("all heads of L1 at 1.25", "1.25 × the output of all heads of layer 1", None),
        whatif.dim(2, 0.6666667): ("“cat” at 0.667", "scores of token 2 + ln 0.667", ["dim", 2, 0.6666667]),
    }
    for change, (label, about, asked) in labels.items():
        run = trace.rerun(change)
        [chip] = chips.chips(run, run.changes)
        assert (chip["label"], chip["about"], chip["off"]) == (label, about, None)
        assert chip["scale"] == ([1, change.head, change.factor] if "output" in about else None)
        assert eval(chip["code"], {"whatif": whatif}) == change  # the line is Python
        assert chips.read(trace, (), [chips.asked(change)]) == [change]
        assert asked is None or chips.asked(change) == asked
    for wrong in (["scale", 1, 2], ["scale", 1, 2, "loud"], ["scale", 1, 2, True], ["dim", 2, None], ["dim", 0.5, 2]):
        with pytest.raises(InputError, match="does not know"):
            chips.read(trace, (), [wrong])
