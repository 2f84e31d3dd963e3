"""The first trace of a class is compared with the class's own eager run, and padding that is seen is found out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch
import transformers as tf

from bertlens import InputError, Lens
from bertlens.run import trust
from unit import tiny

TEXT = "the cat sat on the mat"


@pytest.fixture(autouse=True)
def _forgotten(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Nothing is known of any class."""
    monkeypatch.setattr(trust, "_eagerly", {})
    monkeypatch.setattr(trust, "_sees_padding", {})
    return


class Counted(tf.BertModel):
    runs: list[tuple[int, str]]  # tokens, attention implementation

    def forward(self, input_ids: Any = None, **kwargs: Any) -> Any:
        self.runs.append((input_ids.shape[1], self.config._attn_implementation))
        return super().forward(input_ids, **kwargs)


def counted() -> Any:
    Counted.runs = []
    return tiny.shaken(Counted(tf.BertConfig(**tiny.BERT)))


def test_one_short_text_both_ways_once_per_class() -> None:
    lens = Lens(counted(), tiny.wordpiece())
    lens.trace(TEXT * 3)
    assert [run for run in Counted.runs if run[0] == 12] == [(12, "bertlens"), (12, "eager")]
    assert Counted.runs[2:] == [(24, "bertlens"), (24, "sdpa")]  # the trace, and the model's own run of this state
    lens.trace(TEXT)
    Lens(tiny.shaken(Counted(tf.BertConfig(**tiny.BERT)), seed=3), tiny.wordpiece()).trace(TEXT)
    assert len(Counted.runs) == 7  # no short one for a second text, none for a second model of the class
    Lens(tiny.shaken(Counted(tf.BertConfig(**tiny.BERT | {"is_decoder": True}))), tiny.wordpiece()).trace(TEXT)
    assert len(Counted.runs) == 11  # but for another config


def test_a_class_that_means_something_else_by_a_mask_is_shown_eagerly() -> None:
    """All tokens visible is no mask to sdpa; this class takes no mask as causal where it is not run eagerly.

    Given eagerly it is shown so; given with sdpa its own run is causal, and that is shown.
    """

    class Causal(tf.BertModel):
        def forward(self, *args: Any, **kwargs: Any) -> Any:
            for layer in self.encoder.layer:
                layer.attention.self.is_causal = self.config._attn_implementation != "eager"
            return super().forward(*args, **kwargs)

    model = tiny.shaken(Causal(tf.BertConfig(**tiny.BERT, attn_implementation="eager")))
    trace = Lens(model, tiny.wordpiece()).trace(TEXT)
    assert not trace.has_neurons and "not those of its eager run" in trace.why_no_neurons
    right = tiny.bert(attn_implementation="eager")
    right.load_state_dict(model.state_dict())
    with torch.no_grad():
        output = right(trace.input_ids[None], output_attentions=True)
    torch.testing.assert_close(trace.attention(1), output.attentions[1][0])
    model.set_attn_implementation("sdpa")
    trace = Lens(model, tiny.wordpiece()).trace(TEXT)
    assert trace.has_neurons and not trace.attention(1).triu(1).any()
    torch.testing.assert_close(trace.output.last_hidden_state, model(trace.input_ids[None]).last_hidden_state)


def test_arguments_that_change_scores_are_whatever_is_not_known_to_change_none(monkeypatch: Any) -> None:
    """A list of what is harmless, so an argument of tomorrow is not overlooked."""
    from transformers.models.bert import modeling_bert

    class Newer(tf.BertModel):
        pass

    model = tiny.shaken(Newer(tf.BertConfig(**tiny.BERT)))
    for module in model.modules():
        if isinstance(module, modeling_bert.BertSelfAttention):
            forward = module.forward
            monkeypatch.setattr(module, "forward", lambda *a, _f=forward, **k: _f(*a, **k, temperature=2.0))
    trace = Lens(model, tiny.wordpiece()).trace(TEXT)
    assert not trace.has_neurons and "temperature" in trace.why_no_neurons


def test_a_class_that_never_declared_sdpa_is_run_eagerly() -> None:
    class Old(tf.BertModel):
        _supports_sdpa = False

    trace = Lens(tiny.shaken(Old(tf.BertConfig(**tiny.BERT))), tiny.wordpiece()).trace(TEXT)
    assert not trace.has_neurons and "never declared" in trace.why_no_neurons


def test_users_hooks_do_not_see_it() -> None:
    """They see the trace, and once for each state of the model its own run."""
    model, seen = counted(), []
    model.register_forward_pre_hook(lambda *args: seen.append("before"))
    model.encoder.layer[0].register_forward_hook(lambda *args: seen.append("after"))
    hooks = [(dict(m._forward_hooks), dict(m._forward_pre_hooks)) for m in model.modules()]
    Lens(model, tiny.wordpiece()).trace(TEXT)
    assert seen == ["before", "after"] * 2
    assert hooks == [(dict(m._forward_hooks), dict(m._forward_pre_hooks)) for m in model.modules()]


def test_a_short_limit_is_kept() -> None:
    config = tf.BertConfig(**tiny.BERT | {"max_position_embeddings": 8})
    lens = Lens(tiny.shaken(tf.BertModel(config)), tiny.wordpiece())
    assert lens.trace("the cat").has_neurons
    lens.trace_batch(["the cat", "warm the cat"])
    with pytest.raises(InputError, match="8"):
        lens.trace(TEXT * 2)


def test_nan_does_not_count_as_a_difference_nor_as_agreement() -> None:
    """The next model of the class is tried again, and then none."""
    model = counted()
    with torch.no_grad():
        model.encoder.layer[1].attention.self.key.weight[0, 0] = torch.nan
    assert Lens(model, tiny.wordpiece()).trace(TEXT).has_neurons
    for runs in (4, 2):
        assert Lens(counted(), tiny.wordpiece()).trace(TEXT).has_neurons
        assert len(Counted.runs) == runs


def test_a_half_precision_model_is_trusted_at_its_own_precision() -> None:
    assert Lens(tiny.bert().to(torch.bfloat16), tiny.wordpiece()).trace(TEXT).has_neurons


def test_padding_that_is_seen_keeps_lengths_apart() -> None:
    """MobileBERT mixes neighbouring embeddings; so does a class of one's own; BERT does not."""

    class Mixing(torch.nn.LayerNorm):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return super().forward(x + x.roll(-1, 1))

    class Neighbours(tf.BertModel):
        def __init__(self, config: Any):
            super().__init__(config)
            self.embeddings.LayerNorm = Mixing(32)

    def widths(model: Any) -> set[int]:
        lens = Lens(model, tiny.wordpiece())
        texts = ["the cat", "the mats were very warm", "it was", "warm warm warm warm warm"]
        encodings = [lens.encoding(text) for text in texts]
        return {len({len(encodings[i]) for i in batch}) for batch in lens.batches(encodings, 4)}

    assert widths(tiny.shaken(Neighbours(tf.BertConfig(**tiny.BERT)))) == {1}
    assert widths(tiny.shaken(tiny.FAMILIES["mobilebert"].model())) == {1}
    assert widths(tiny.bert()) == {3}


def test_that_a_model_sees_padding_says_nothing_of_another_of_its_class() -> None:
    """One of whose modules was replaced by one that looks at the whole text."""

    class Mean(torch.nn.Module):
        def forward(self, states: torch.Tensor) -> torch.Tensor:
            return states + states.mean(1, keepdim=True)

    def seen(model: Any) -> bool:
        lens = Lens(model, tiny.wordpiece())
        inputs = lens.tokenizer([TEXT], return_tensors="pt")
        return trust.sees_padding(lens.borrowed, dict(inputs), 0)

    other = tiny.bert()
    other.encoder.layer[0].intermediate = torch.nn.Sequential(Mean(), other.encoder.layer[0].intermediate)
    assert [seen(other), seen(tiny.bert()), seen(other)] == [True, False, True]
