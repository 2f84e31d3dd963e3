"""The first trace of each state of a model is compared with `model(**inputs)`, the model's own run."""

from __future__ import annotations

import contextlib
import re
from typing import Any

import pytest
import torch
import transformers as tf

from bertlens import Lens, ModelError
from unit import tiny

TEXT = "the cat sat on the mat"


class Counted(tf.BertModel):
    runs: list[tuple[int, ...]]  # what was read, by the model's own implementation

    def forward(self, input_ids: Any = None, **kwargs: Any) -> Any:
        if self.config._attn_implementation == "sdpa":
            self.runs.append(tuple(input_ids.shape))
        return super().forward(input_ids, **kwargs)


def counted(**settings: Any) -> Any:
    Counted.runs = []
    return tiny.shaken(Counted(tf.BertConfig(**tiny.BERT | settings)))


def answer(model: Any, text: str = TEXT, tokenizer: Any = None) -> Any:
    inputs = (tokenizer or tiny.wordpiece())(text, return_tensors="pt")
    with torch.no_grad():
        return model.eval()(**inputs)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("implementation", ["sdpa", "eager"])
@pytest.mark.parametrize("name", [name for name in tiny.FAMILIES if name != "mobilebert"])
def test_what_is_shown_is_the_models_own_answer(name: str, implementation: str) -> None:
    family = tiny.FAMILIES[name]
    model, tokenizer = tiny.shaken(family.model()), family.tokenizer()
    model.set_attn_implementation(implementation)
    trace = Lens(model, tokenizer).trace(TEXT)
    inputs = {"input_ids": trace.input_ids[None]}
    if trace.token_type_ids is not None and name not in ("distilbert", "esm", "modernbert"):
        inputs["token_type_ids"] = trace.token_type_ids[None]
    with torch.no_grad():
        own = model(**{name: x for name, x in inputs.items() if name in model.forward.__code__.co_varnames} or inputs)
    torch.testing.assert_close(trace.output.last_hidden_state, own.last_hidden_state, rtol=0, atol=5e-5)
    assert trace.has_neurons and not trace.report.notes


def test_once_for_each_state() -> None:
    model = counted()
    lens = Lens(model, tiny.wordpiece())
    lens.trace(TEXT)
    lens.trace_batch([TEXT, "it was very warm", "a cat"])
    assert Counted.runs == [(1, 8)]
    with torch.no_grad():
        model.encoder.layer[0].output.dense.weight.add_(0.1)
    lens.trace(TEXT)
    lens.trace(TEXT)
    assert Counted.runs == [(1, 8)] * 2


def test_of_a_batch_one_text_without_its_padding() -> None:
    lens = Lens(counted(), tiny.wordpiece())
    for trace in lens.trace_batch([TEXT, "a cat"]):
        own = answer(lens.model, trace.encoding.text or "")
        torch.testing.assert_close(trace.output.last_hidden_state, own.last_hidden_state)
    assert Counted.runs[0] == (1, 4) and len(Counted.runs) == 3


def test_of_a_long_text_its_first_512_tokens() -> None:
    lens = Lens(counted(max_position_embeddings=1024), tiny.wordpiece())
    assert lens.trace("cat " * 600).n_tokens == 602 and Counted.runs == [(1, 512)]


class Asking(tf.BertModel):
    """Answers with twice its states where it is called in another way than its user's."""

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        output = super().forward(*args, **kwargs)
        if self.config._attn_implementation in ("bertlens", "eager"):
            output.hidden_states = (*output.hidden_states[:-1], output.hidden_states[-1] * 2)
        return output


def test_a_forward_that_answers_another_caller_otherwise_is_refused() -> None:
    model = tiny.shaken(Asking(tf.BertConfig(**tiny.BERT)))
    own = answer(model).last_hidden_state
    with pytest.raises(
        ModelError, match=r"gives -?[\d.]+ where bertlens' run gives .*hidden_states.*Trace\.from_att"
    ) as e:
        Lens(model, tiny.wordpiece()).trace(TEXT)
    theirs, ours = (float(number) for number in re.findall(r"gives (-?[\d.]+)", str(e.value)))
    assert ours == pytest.approx(2 * theirs, rel=1e-4) and (own - theirs).abs().min() < 1e-4
    assert model.config._attn_implementation == "sdpa"


def test_a_hook_of_one_implementation_is_shown_by_the_run_that_agrees() -> None:
    """It changes a layer but where the interface of bertlens is set: eagerly the model gives its own numbers."""
    model = tiny.bert()

    def hook(module: Any, args: Any, output: Any) -> Any:
        return output if model.config._attn_implementation == "bertlens" else output * 1.5

    model.encoder.layer[1].register_forward_hook(hook)
    trace = Lens(model, tiny.wordpiece()).trace(TEXT)
    torch.testing.assert_close(trace.output.last_hidden_state, answer(model).last_hidden_state, rtol=0, atol=1e-5)
    assert not trace.has_neurons and "in its own run" in trace.why_no_neurons
    assert "through the attention interface" in trace.report.notes[-1]
    again = trace.rerun()
    torch.testing.assert_close(again.output.last_hidden_state, trace.output.last_hidden_state)


def test_a_hook_of_sdpa_alone_is_refused_until_it_is_taken_off() -> None:
    model = tiny.bert()
    handle = model.encoder.layer[1].register_forward_hook(
        lambda module, args, output: output * 1.5 if model.config._attn_implementation == "sdpa" else output
    )
    with pytest.raises(ModelError, match="take off what hooks"):
        Lens(model, tiny.wordpiece()).trace(TEXT)
    handle.remove()
    assert Lens(model, tiny.wordpiece()).trace(TEXT).has_neurons


def test_an_attention_function_of_the_users_own() -> None:
    """Three times as sharp: never the plain softmax in silence."""

    def sharp(module: Any, query: Any, key: Any, value: Any, mask: Any, scaling: float = 1.0, **kwargs: Any) -> Any:
        scores = query @ key.transpose(2, 3) * scaling * 3
        return (scores.softmax(-1) @ value).transpose(1, 2).contiguous(), None

    tf.AttentionInterface.register("sharp", sharp)
    model = tiny.bert()
    model.set_attn_implementation("sharp")
    own = answer(model).last_hidden_state
    with contextlib.suppress(ModelError):
        found = Lens(model, tiny.wordpiece()).trace(TEXT).output.last_hidden_state
        torch.testing.assert_close(found, own, rtol=0, atol=1e-5)


@pytest.mark.parametrize("kind", ["noise in a hook", "dropout forced on"])
def test_a_model_that_differs_from_itself_is_told_so(kind: str) -> None:
    model = tiny.bert()
    if kind == "noise in a hook":
        model.embeddings.register_forward_hook(lambda module, args, out: out + torch.randn_like(out) / 10)
    else:
        model.embeddings.dropout.forward = lambda x: torch.nn.functional.dropout(x, 0.2)
    trace = Lens(model, tiny.wordpiece()).trace(TEXT)
    assert trace.has_neurons and trace.report.notes[-1].startswith("run twice, the model gives ")
    assert "run twice" not in str(Lens(tiny.bert(), tiny.wordpiece()).trace(TEXT).report)


def test_a_model_comes_back_with_its_random_numbers() -> None:
    """Those that a trace draws are as many as a pass draws, whether the own run comes with it or not."""
    model = tiny.bert()
    model.embeddings.register_forward_hook(lambda module, args, out: out + torch.randn_like(out) / 10)
    lens, drawn = Lens(model.train(), tiny.wordpiece()), []
    lens.trace("warm up of the class")
    with torch.no_grad():
        model.encoder.layer[0].output.dense.bias.add_(0.1)
    for _ in range(2):
        torch.manual_seed(3)
        lens.trace(TEXT)
        drawn.append(torch.rand(3))
    assert torch.equal(*drawn)
    assert model.training and all(module.training for module in model.modules())
    assert model.config._attn_implementation == "sdpa" and all(p.grad is None for p in model.parameters())


def test_a_run_of_its_own_that_ends_in_an_error_is_told_so() -> None:
    class Failing(tf.BertModel):
        def forward(self, *args: Any, **kwargs: Any) -> Any:
            if self.config._attn_implementation == "sdpa":
                raise RuntimeError("no kernel")
            return super().forward(*args, **kwargs)

    trace = Lens(tiny.shaken(Failing(tf.BertConfig(**tiny.BERT))), tiny.wordpiece()).trace(TEXT)
    assert "not compared with the model's own run" in trace.report.notes[-1] and "no kernel" in trace.report.notes[-1]


def test_a_deep_model_that_is_given_eagerly_is_within_its_rounding() -> None:
    model = tiny.shaken(tf.BertModel(tf.BertConfig(**tiny.BERT | {"num_hidden_layers": 30})), scale=0.6)
    model.set_attn_implementation("eager")
    trace = Lens(model, tiny.wordpiece()).trace(TEXT)
    assert trace.has_neurons and not trace.report.notes


def test_logits_too() -> None:
    """A head that is changed alone, behind the same states."""
    model = tiny.shaken(tf.BertForSequenceClassification(tf.BertConfig(**tiny.BERT)))
    model.classifier.register_forward_hook(
        lambda module, args, output: output + 0.01 * (model.config._attn_implementation == "sdpa")
    )
    with pytest.raises(ModelError, match=r"\(logits\)"):
        Lens(model, tiny.wordpiece()).trace(TEXT)


@pytest.mark.parametrize("implementation", ["sdpa", "eager"])
@pytest.mark.parametrize("kind", ["BertModel", "BertForSequenceClassification", "BertForMaskedLM"])
def test_a_config_that_asks_for_attentions_changes_nothing_and_stays(kind: str, implementation: str) -> None:
    """transformers refuses `config.output_attentions = True` beside sdpa, but takes it with the model."""
    plain = tiny.shaken(getattr(tf, kind)(tf.BertConfig(**tiny.BERT)))
    config = tf.BertConfig(**tiny.BERT, output_attentions=True)
    model = tiny.shaken(getattr(tf, kind)(config))
    for each in (plain, model):
        each.config._attn_implementation = implementation
    before = dict(vars(model.config))
    ours, theirs = (Lens(each, tiny.wordpiece()).trace(TEXT) for each in (model, plain))
    torch.testing.assert_close(ours.attention(1), theirs.attention(1), rtol=0, atol=0)
    first, other = (next(iter(trace.output.values())) for trace in (ours, theirs))
    torch.testing.assert_close(first, other, rtol=0, atol=0)
    assert ours.has_neurons and not ours.report.notes
    assert vars(model.config) == before and model.config.output_attentions is True
    with torch.no_grad():
        attentions = model.eval()(**tiny.wordpiece()(TEXT, return_tensors="pt")).attentions
    assert len(attentions or ()) == (3 if implementation == "eager" else 0)
