"""Logits, classes and similarities split by source: the parts sum to the model's own numbers, in every family."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import transformers as tf

from bertlens import InputError, Lens, ModelError, SelectionError
from bertlens.measures import sources
from unit import tiny
from unit.largest import Largest
from unit.measures.test_sources import EVERY, FAMILIES, PAIR, TEXT, lens_of
from unit.naive_sources import exact_rotation

OPENED = pytest.mark.parametrize("through_mlps", [False, True], ids=["closed", "opened"])
TOKENS = {
    "bert": (tf.BertForMaskedLM, tf.BertForPreTraining),
    "roberta": (tf.RobertaForMaskedLM,),
    "xlm-roberta": (tf.XLMRobertaForMaskedLM,),
    "camembert": (tf.CamembertForMaskedLM,),
    "distilbert": (tf.DistilBertForMaskedLM,),
    "electra": (tf.ElectraForMaskedLM,),
    "albert": (tf.AlbertForMaskedLM,),
    "nomic_bert": (tf.NomicBertForMaskedLM,),
    "esm": (tf.EsmForMaskedLM,),
    "modernbert": (tf.ModernBertForMaskedLM,),
    "gpt2": (tf.GPT2LMHeadModel,),
}
TEXTS = {
    "bert": (tf.BertForSequenceClassification, tf.BertForNextSentencePrediction),
    "roberta": (tf.RobertaForSequenceClassification,),
    "xlm-roberta": (tf.XLMRobertaForSequenceClassification,),
    "camembert": (tf.CamembertForSequenceClassification,),
    "distilbert": (tf.DistilBertForSequenceClassification,),
    "electra": (tf.ElectraForSequenceClassification,),
    "albert": (tf.AlbertForSequenceClassification,),
    "nomic_bert": (tf.NomicBertForSequenceClassification,),
    "esm": (tf.EsmForSequenceClassification,),
    "modernbert": (tf.ModernBertForSequenceClassification,),
    "gpt2": (tf.GPT2ForSequenceClassification,),
}
EACH = {
    "bert": (tf.BertForTokenClassification,),
    "modernbert": (tf.ModernBertForTokenClassification,),
    "esm": (tf.EsmForTokenClassification,),
}


def cases(table: dict[str, Any]) -> Any:
    return pytest.mark.parametrize(
        ("name", "kind"),
        [(name, kind) for name, kinds in table.items() for kind in kinds],
        ids=lambda x: str(x)[-40:-2],
    )


def with_head(name: str, kind: Any, patch: pytest.MonkeyPatch, **settings: Any) -> Lens:
    """The family's small model with a head, float64; its own rotation, if it has one, too."""
    config = tiny.FAMILIES[name].model().config
    for key, value in settings.items():
        setattr(config, key, value)
    model = tiny.shaken(kind(config)).double()
    exact_rotation(model, patch)
    return Lens(model, tiny.FAMILIES[name].tokenizer())


@pytest.mark.sampled(6)
@OPENED
@cases(TOKENS)
def test_logits_of_tokens(name: str, kind: Any, through_mlps: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    trace = with_head(name, kind, monkeypatch).trace(*PAIR)
    logits = trace.output["prediction_logits" if kind is tf.BertForPreTraining else "logits"][0]
    one = sources.logit(trace, 3, 7, through_mlps=through_mlps)
    assert one.model == float(logits[3, 7])
    assert abs(one.gap) < 1e-10 * max(1, one.parts.value.abs().sum())
    two = sources.logit(trace, 3, 7, 9, through_mlps)
    assert two.model == pytest.approx(float(logits[3, 7] - logits[3, 9]), abs=1e-12)
    assert abs(two.gap) < 1e-10 * max(1, two.parts.value.abs().sum())
    assert (one.unit, two.unit, two.ask(1, 2, 4).unit) == ("logits", "nats", "nats")
    fetched = sources.tokens(trace, two, 1, 2)
    frame = two.parts
    part = frame[(frame.kind == "head") & (frame.layer == 1) & (frame["head"] == 2)].value.item()
    assert float(fetched.sum()) == pytest.approx(part, abs=1e-10)
    assert two.ask(1, 2, 4).total == pytest.approx(float(fetched[4]), abs=1e-10)
    assert set(frame.layer.dropna()) == set(range(trace.n_layers))


@pytest.mark.sampled(6)
@OPENED
@cases(TEXTS)
def test_logits_of_classes(name: str, kind: Any, through_mlps: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    trace = with_head(name, kind, monkeypatch, num_labels=2).trace(*PAIR)
    logits = trace.output.logits[0]
    for against in (None, 1):
        s = sources.label(trace, 0, against, through_mlps=through_mlps)
        expected = logits[0] - (0 if against is None else logits[1])
        assert s.model == pytest.approx(float(expected), abs=1e-12)
        assert abs(s.gap) < 1e-10 * max(1, s.parts.value.abs().sum())


def test_mean_pooling_of_modernbert(monkeypatch: pytest.MonkeyPatch) -> None:
    trace = with_head(
        "modernbert", tf.ModernBertForSequenceClassification, monkeypatch, classifier_pooling="mean"
    ).trace(TEXT)
    for through_mlps in (False, True):
        s = sources.label(trace, "LABEL_1", through_mlps=through_mlps)
        assert s.model == float(trace.output.logits[0, 1])
        assert abs(s.gap) < 1e-10 * max(1, s.parts.value.abs().sum())


@cases(EACH)
def test_classes_of_each_token(name: str, kind: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    trace = with_head(name, kind, monkeypatch).trace(TEXT)
    s = sources.label(trace, 1, 0, position=4)
    assert s.model == pytest.approx(float(trace.output.logits[0, 4, 1] - trace.output.logits[0, 4, 0]), abs=1e-12)
    assert abs(s.gap) < 1e-10 * max(1, s.parts.value.abs().sum())
    with pytest.raises(SelectionError, match="each token"):
        sources.label(trace, 1)


def test_tokens_and_classes_have_names(monkeypatch: pytest.MonkeyPatch) -> None:
    trace = with_head("bert", tf.BertForMaskedLM, monkeypatch).trace("the [MASK] sat")
    s = sources.logit(trace, 2, "cat", "mat")
    ids = trace.model.tokenizer.convert_tokens_to_ids(["cat", "mat"])
    assert s.model == pytest.approx(float(trace.output.logits[0, 2, ids[0]] - trace.output.logits[0, 2, ids[1]]))
    assert "“cat”" in s.what and "“mat”" in s.what
    for wrong in ("no such token", 10**6):
        with pytest.raises(SelectionError):
            sources.logit(trace, 2, wrong)
    with pytest.raises(ModelError, match=r"ask for sources\.logit"):
        sources.label(trace, 0)
    classes = with_head(
        "bert",
        tf.BertForSequenceClassification,
        monkeypatch,
        id2label={0: "no", 1: "yes"},
        label2id={"no": 0, "yes": 1},
    )
    assert sources.label(classes.trace(TEXT), "yes").what == "logit of class yes"
    with pytest.raises(SelectionError, match="no, yes"):
        sources.label(classes.trace(TEXT), "maybe")
    with pytest.raises(ModelError, match="no token at a position"):
        sources.logit(classes.trace(TEXT), 0, 3)
    with pytest.raises(ModelError, match="no prediction head"):
        sources.logit(lens_of("bert").trace(TEXT), 1, 2)


@pytest.mark.sampled(4)
@EVERY
def test_similarity_sums_to_the_cosine(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    lens = lens_of(name)
    exact_rotation(lens.model, monkeypatch)
    a, b = lens.trace(TEXT), lens.trace(*PAIR)
    for pooling in sources.POOLINGS:
        table = sources.similarity(a, b, pooling)
        assert table.shape == (a.n_tokens + 1, b.n_tokens + 1)
        assert list(table.index) == [*a.display_tokens, "bias"]
        x, y = (
            t.output.last_hidden_state[0].mean(0) if pooling == "mean" else t.output.last_hidden_state[0, 0]
            for t in (a, b)
        )
        cosine = float(torch.nn.functional.cosine_similarity(x, y, dim=0))
        assert table.attrs["cosine"] == pytest.approx(cosine, abs=1e-10)
        assert float(table.to_numpy().sum()) == pytest.approx(cosine, abs=1e-10)
        twin = sources.similarity(b, a, pooling)
        assert twin.to_numpy() == pytest.approx(table.to_numpy().T, abs=1e-12)


def test_an_input_token_is_what_the_gradient_says(monkeypatch: pytest.MonkeyPatch) -> None:
    """Row sums against autograd: α, deviations and gates detached, the cosine is affine in the embeddings' sum."""
    lens = lens_of("bert")
    a, b = lens.trace(TEXT), lens.trace(*PAIR)
    rows = torch.from_numpy(sources.similarity(a, b).sum(axis=1).to_numpy().copy())
    model = lens.model
    module = tf.models.bert.modeling_bert
    other = b.output.last_hidden_state[0].mean(0)

    def attend(module: Any, query: Any, key: Any, value: Any, mask: Any, **kwargs: Any) -> Any:
        weights = (query @ key.transpose(2, 3) * kwargs["scaling"]).softmax(-1).detach()
        return (weights @ value).transpose(1, 2).contiguous(), weights

    def norm(self: torch.nn.LayerNorm, u: torch.Tensor) -> torch.Tensor:
        deviation = (u.var(-1, correction=0, keepdim=True) + self.eps).sqrt().detach()
        return (u - u.mean(-1, keepdim=True)) / deviation * self.weight + self.bias

    monkeypatch.setattr(module, "eager_attention_forward", lambda m, *args, **kw: attend(m, *args[:4], **kw))
    monkeypatch.setattr(torch.nn.LayerNorm, "forward", norm)
    model.config._attn_implementation = "eager"
    for block in model.encoder.layer:
        act = block.intermediate.intermediate_act_fn
        act.register_forward_hook(lambda m, args, out: args[0] * (out / args[0]).detach())
    summed: list[torch.Tensor] = []

    def leaf(module: Any, args: Any) -> Any:
        summed.append(args[0].detach().requires_grad_())
        return (summed[0],)

    handle = model.embeddings.LayerNorm.register_forward_pre_hook(leaf)
    out = model(input_ids=a.input_ids[None], token_type_ids=a.token_type_ids[None]).last_hidden_state[0].mean(0)
    handle.remove()
    (out @ other / out.detach().norm() / other.norm()).backward()
    assert summed[0].grad is not None
    expected = (summed[0].grad * summed[0].detach())[0].sum(-1)
    torch.testing.assert_close(rows[:-1], expected, atol=1e-10, rtol=1e-10)


def test_similarity_of_the_embedded_model_and_what_is_refused(embedded_lens: Lens) -> None:
    a = embedded_lens.trace("The cat sat on the mat.")
    b = embedded_lens.trace("A dog lay on the rug, asleep.")
    table = sources.similarity(a, b)
    assert float(table.to_numpy().sum()) == pytest.approx(table.attrs["cosine"], abs=1e-5)
    assert "gates of MLPs" in " ".join(table.attrs["notes"])
    with pytest.raises(SelectionError, match="mean, cls"):
        sources.similarity(a, b, "max")
    with pytest.raises(InputError, match="one Lens"):
        sources.similarity(a, lens_of("bert").trace(TEXT))


def test_chunks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    lens = lens_of("bert")
    a, b = lens.trace(TEXT), lens.trace(*PAIR)
    whole = sources.similarity(a, b)
    monkeypatch.setattr("bertlens.measures.sources.push.NUMBERS_AT_ONCE", 1)
    assert sources.similarity(a, b).to_numpy() == pytest.approx(whole.to_numpy(), abs=1e-12)
    assert set(FAMILIES) - {"esm", "esm, absolute positions", "albert, two groups of two"} <= set(TOKENS) == set(TEXTS)


def test_similarity_of_a_long_text_holds_no_map(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither all heads' maps nor one, and the same numbers as from all rows at once."""
    model = tiny.shaken(tiny.bert(num_hidden_layers=1, max_position_embeddings=512)).double()
    lens = Lens(model, tiny.wordpiece())
    a, b = lens.trace("the cat sat on the mat . " * 40), lens.trace(TEXT)
    whole = sources.similarity(a, b)
    monkeypatch.setattr("bertlens.measures.sources.push.NUMBERS_AT_ONCE", a.n_tokens**2 - 1)
    monkeypatch.setattr("bertlens.measures.rows.WEIGHTS_AT_ONCE", 70 * a.n_tokens)
    with Largest() as made:
        table = sources.similarity(a, b)
    assert made.elements < a.n_tokens**2
    assert table.to_numpy() == pytest.approx(whole.to_numpy(), abs=1e-12)
    assert float(table.to_numpy().sum()) == pytest.approx(table.attrs["cosine"], abs=1e-10)
