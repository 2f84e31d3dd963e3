"""What is offered of a trace is what can be given; adapters and quantised models; a trace is a snapshot."""

from __future__ import annotations

import itertools
import re
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from transformers.masking_utils import sdpa_mask

import bertlens as bl
from bertlens import ModelError, whatif
from bertlens.base import wire
from bertlens.measures import flow, gates, geometry, neurons, norms, sources, spectra
from bertlens.measures.gradients import gradients
from bertlens.measures.offers import CAPABILITIES, offers, why_not
from bertlens.survey import attention_gradients, head_stats
from bertlens.widgets import widget
from bertlens.widgets.answers import layer_answers
from bertlens.widgets.questions import QUESTIONS
from unit import tiny
from unit.attention_functions import Function, put, window
from unit.widgets.test_widgets import question

TEXT = "the cat sat on the mat"
# A capability and something that needs it
USES: dict[str, Any] = {
    "neurons": lambda trace: neurons.contrast(trace, 0, 0, 1, 2),
    "norms": lambda trace: [norms.all_of(trace, layer) for layer in range(trace.n_layers)],
    "geometry": geometry.layer_table,
    "spectra": lambda trace: [layer_answers.layer_ranks(trace, layer) for layer in range(trace.n_layers)],
    "gates": gates.classify,
    "gradients": lambda trace: gradients(trace, loss=lambda output: output[0].sum()),
    "whatif": lambda trace: trace.rerun(whatif.off(0, 0)),
    "predictions": lambda trace: trace.predictions(),
    "sources": lambda trace: sources.score(trace, trace.n_layers - 1, 0, 1, 2, through_mlps=True),
}


def lens_of(model: Any) -> bl.Lens:
    return bl.Lens(model, tiny.wordpiece())


def lora(targets: Any, model: Any = None, **settings: Any) -> Any:
    """A PEFT model whose adapters do something: B is not zero."""
    peft = pytest.importorskip("peft")
    torch.manual_seed(0)
    made = peft.get_peft_model(model or tiny.bert(), peft.LoraConfig(target_modules=targets, r=4, **settings))
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for name, parameter in made.named_parameters():
            if "lora_B" in name:
                parameter.copy_(0.3 * torch.randn(parameter.shape, generator=generator))
    return made.eval()


def quantised() -> Any:
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch names a successor that cannot do this
        return torch.ao.quantization.quantize_dynamic(tiny.bert(), {torch.nn.Linear}, dtype=torch.qint8)


def broken() -> Any:
    model = tiny.bert()
    model.encoder.layer[1].attention.self.key.bias.data[0] = torch.nan
    return model


def by_function() -> Any:
    return put(Function(window), sdpa_mask, name="offered")


def traces() -> dict[str, Any]:
    return {
        "plain": lambda: lens_of(tiny.bert()).trace(TEXT),
        "LoRA on query and value": lambda: lens_of(lora(["query", "value"])).trace(TEXT),
        "LoRA everywhere": lambda: lens_of(lora("all-linear", lora_bias=True)).trace(TEXT),
        "DoRA": lambda: lens_of(lora(["query", "dense"], use_dora=True)).trace(TEXT),
        "quantised": lambda: lens_of(quantised()).trace(TEXT),
        "NaN": lambda: lens_of(broken()).trace(TEXT),
        "given": lambda: bl.Trace.from_attentions(torch.full((2, 2, 4, 4), 0.25), list("abcd")),
        "cross": lambda: bl.Trace.from_attentions(torch.full((1, 2, 2, 4), 0.25), list("ab"), list("abcd")),
        "attention function": lambda: lens_of(by_function()).trace(TEXT),
        "eager": lambda: bl.Lens(tiny.OUTSIDE["xlm"].model(), tiny.OUTSIDE["xlm"].tokenizer()).trace(TEXT),
    }


def check_measures(trace: Any) -> None:
    """Each measure gives what is offered, and refuses what is not."""
    reasons = offers(trace)
    assert set(reasons) == set(USES) and offers(trace) == reasons
    for capability, reason in reasons.items():
        if reason:
            assert len(reason) < 250
            with pytest.raises(bl.BertLensError):
                USES[capability](trace)
        else:
            USES[capability](trace)


@pytest.mark.parametrize("name", traces())
def test_what_is_offered_can_be_given_and_what_is_not_says_why(name: str) -> None:
    check_measures(traces()[name]())


def check_view(trace: Any, operations: Iterable[str] = ()) -> None:
    """Each question, or one of these, is answered where what it needs is offered, else refused in words; tabs say so; a
    page is made."""
    view = trace.explore()
    arguments = {
        "layer": 0,
        "head": 0,
        "measure": "norm",
        "kind": "attn-w",
        "threshold": 0.3,
        "margin": 0.1,
        "by": "weight",
        "last": 1,
    }
    arguments |= {"query": 1, "key": 0, "side": "key", "against": None, "through_mlps": False}
    arguments |= {"station": 0, "method": "pca", "attribution": "linearised"}
    for op in operations or QUESTIONS:
        fields, _ = question(view, op=op, gate="self", view="full", **arguments)
        needs, of_view = QUESTIONS[op].needs, QUESTIONS[op].of_view
        if of_view:  # of the view, not of the trace
            assert not re.match(r"[A-Z]\w*(Error|Exception):", fields.get("error", "")), (op, fields)
            continue
        of_choice = op in (
            "layer_map",
            "matters",
            "matters_exact",
            "find_target",
            "which_words",
            "faithful",
        )  # as the trace has it
        assert ("error" in fields) == bool(needs and offers(trace)[needs]) or of_choice, (op, fields)
    tabs = {tab["name"]: tab["why_not"] for tab in view.overview["header"]["tabs"]}
    assert tabs["norms"] == offers(trace)["norms"] and tabs["gates"] == offers(trace)["gates"]
    assert "<main" in view.to_html()


@pytest.mark.parametrize("name", traces())
def test_every_question_of_a_view_is_answered_or_refused_in_words(name: str) -> None:
    check_view(traces()[name]())


@pytest.mark.parametrize("name", ["LoRA on query and value", "LoRA everywhere", "DoRA", "quantised"])
def test_surveys_take_what_there_is(name: str, tmp_path: Path) -> None:
    trace = traces()[name]()
    stats = head_stats(trace.lens, [TEXT, "it was warm"], progress=False, save=tmp_path / "stats.npz")
    assert stats.n_texts == 2 and stats.has_norms == (not offers(trace)["norms"])
    assert "<main" in trace.explore(stats=stats).to_html()


@pytest.mark.parametrize("targets", [["query", "value"], "all-linear"])
@pytest.mark.parametrize("more", [{}, {"lora_bias": True}])
def test_adapters_count_exactly(targets: Any, more: dict[str, Any]) -> None:
    """Everything that needs weights equals what the merged model gives."""
    adapted = lora(targets, **more)
    ours = lens_of(adapted).trace(TEXT)
    merged = lens_of(lora(targets, **more).merge_and_unload()).trace(TEXT)
    for layer in range(ours.n_layers):
        for kind in (norms.attnresln_norm, flow.globenc, norms.transformed_norm):
            torch.testing.assert_close(kind(ours, layer), kind(merged, layer), atol=1e-5, rtol=1e-4)
        assert ours.model is not None and merged.model is not None
        for a, b in zip(spectra.projections(ours.model, layer), spectra.projections(merged.model, layer), strict=True):
            torch.testing.assert_close(a, b, atol=1e-6, rtol=1e-5)
    with adapted.disable_adapter():
        plain = norms.transformed_norm(lens_of(adapted).trace(TEXT), 0)
    torch.testing.assert_close(plain, norms.transformed_norm(lens_of(tiny.bert()).trace(TEXT), 0))


def test_gradients_through_quantised_weights_are_refused_and_not_zero() -> None:
    trace = lens_of(quantised()).trace(TEXT)
    assert "dequantise" in offers(trace)["gradients"]
    assert offers(lens_of(lora("all-linear")).trace(TEXT))["gradients"] == ""
    with pytest.raises(bl.ModelError, match="quantised weights"):
        gradients(trace, loss=lambda output: output[0].sum())
    with pytest.raises(bl.ModelError, match="quantised weights"):
        attention_gradients(trace.lens, [TEXT], loss=lambda output: output[0].sum())


def test_the_module_that_is_not_plain_is_named() -> None:
    reason = offers(lens_of(quantised()).trace(TEXT))["norms"]
    assert reason.startswith("encoder.layer.0.attention.output.dense is a Linear") or "DynamicQuantized" in reason
    reason = offers(lens_of(lora(["dense"], use_dora=True)).trace(TEXT))["norms"]
    assert "encoder.layer.0.attention.output.dense is adapted by more than LoRA" in reason


def adapted(config: Any) -> Any:
    """A model with adapters of another kind, their parameters shaken."""
    peft = pytest.importorskip("peft")
    torch.manual_seed(0)
    made = peft.get_peft_model(tiny.bert(), config(peft))
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for parameter in made.parameters():
            if parameter.requires_grad:
                parameter.add_(0.2 * torch.randn(parameter.shape, generator=generator))
    return made.eval()


def reparametrised(norm: Any) -> Any:
    model = tiny.bert()
    for layer in model.encoder.layer:
        norm(layer.attention.self.query)
        norm(layer.attention.output.dense)
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name.endswith(("weight_g", "original0")):
                parameter.mul_(1 + torch.rand(parameter.shape, generator=generator))
    return model.eval()


def quantised_embeddings() -> Any:
    import warnings

    from torch.ao.quantization import float_qparams_weight_only_qconfig, quantize_dynamic

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return quantize_dynamic(tiny.bert(), {torch.nn.Embedding: float_qparams_weight_only_qconfig})


TARGETS = ["query", "value", "attention.output.dense"]
# what is refused with the module's name, beside what is right
OTHERS: dict[str, tuple[Any, set[str]]] = {
    "DoRA": (lambda: adapted(lambda p: p.LoraConfig(target_modules=TARGETS, use_dora=True)), {"norms", "spectra"}),
    "IA3": (
        lambda: adapted(lambda p: p.IA3Config(target_modules=TARGETS, feedforward_modules=[])),
        {"norms", "spectra"},
    ),
    "IA3 on values": (lambda: adapted(lambda p: p.IA3Config(target_modules=["value"], feedforward_modules=[])), set()),
    "OFT": (
        lambda: adapted(lambda p: p.OFTConfig(target_modules=TARGETS, r=4, oft_block_size=0)),
        {"norms", "spectra"},
    ),
    "AdaLoRA": (lambda: adapted(lambda p: p.AdaLoraConfig(target_modules=TARGETS, total_step=9)), set()),
    "LayerNorms": (lambda: adapted(lambda p: p.LNTuningConfig(target_modules=["LayerNorm"])), {"norms"}),
    "int8": (quantised, {"norms", "spectra", "gradients"}),
    "int8 embeddings": (quantised_embeddings, set()),
    "weight_norm": (lambda: reparametrised(torch.nn.utils.weight_norm), set()),
    "weight_norm, as a parametrisation": (
        lambda: reparametrised(torch.nn.utils.parametrizations.weight_norm),
        {"norms", "spectra"},
    ),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", OTHERS)
def test_modules_that_are_no_plain_projections(name: str) -> None:
    """The trace is the model's own; a measure is right, or refused with the module that it cannot read."""
    make, refused = OTHERS[name]
    model = make()
    lens = lens_of(model)
    trace = lens.trace(TEXT)
    with torch.no_grad():
        right = model(**tiny.wordpiece()(TEXT, return_tensors="pt")).last_hidden_state[0]
    torch.testing.assert_close(trace.hidden_states[-1], right, atol=1e-5, rtol=1e-5)
    reasons = offers(trace)
    # an encoder's answer is the similarity of two texts; a split of the stream goes through queries, keys, every
    # projection after them, LayerNorms and embeddings
    split = {"sources"} if refused or name == "int8 embeddings" else set()
    assert {capability for capability, reason in reasons.items() if reason} == refused | split | {"predictions"}
    assert trace.rerun(whatif.off(0, 1)).changed_contexts(0) == {1: 0}
    if not split:
        for side in sources.SIDES:
            s = sources.score(trace, 2, 1, 1, 3, side)
            assert abs(s.gap) < 1e-5 * (1 + s.parts.value.abs().sum())
    for capability in refused - {"gradients"}:
        assert any(part in reasons[capability] for part in ("attention.", "LNTuningLayer"))
    head_stats(lens, [TEXT, "it was warm"], progress=False)
    assert "<main" in trace.explore().to_html()
    if "norms" not in refused:  # ‖f(x)‖ by the module itself: what it makes of one head's values, less of nothing
        for layer in range(trace.n_layers):
            output = trace.layer_module(layer)[1].attention.output.dense
            for head, found in enumerate(norms.transformed_norm(trace, layer)):
                alone = torch.zeros(trace.n_tokens, 32)
                alone[:, head * 8 : head * 8 + 8] = trace.value(layer)[head]
                with torch.no_grad():
                    made = output(alone) - output(torch.zeros(1, 32))
                torch.testing.assert_close(found, made.norm(dim=-1), atol=1e-5, rtol=1e-4)


# A trace is a snapshot


def test_a_measure_that_needs_weights_refuses_other_weights() -> None:
    model = tiny.bert()
    trace = lens_of(model).trace(TEXT)
    before = norms.transformed_norm(trace, 1)
    with torch.no_grad():
        model.encoder.layer[0].attention.output.dense.weight.add_(0.1)  # a step of an optimiser
    torch.testing.assert_close(norms.transformed_norm(trace, 1), before)  # that layer is as it was
    for use in (
        lambda: norms.transformed_norm(trace, 0),
        lambda: flow.value_zeroing(trace, 0, progress=False),
        lambda: gradients(trace, loss=lambda output: output[0].sum()),
    ):
        with pytest.raises(ModelError, match=r"since this trace \(weights of encoder\.layer\.0.*\): trace again"):
            use()
    assert trace.attention(0).shape and trace.query(0).shape  # what was captured stays
    norms.transformed_norm(lens_of(model).trace(TEXT), 0)


@pytest.mark.parametrize("change", ["data", "replaced", "cast", "moved"])
def test_changes_that_raise_no_counter_are_seen(change: str) -> None:
    model = tiny.bert()
    trace = lens_of(model).trace(TEXT)
    dense = model.encoder.layer[0].attention.output.dense
    if change == "data":
        dense.weight.data.mul_(1.5)
    elif change == "replaced":
        dense.weight = torch.nn.Parameter(dense.weight.detach().clone() * 2)
    elif change == "cast":
        model.double()
    else:
        model.to("meta")
    with pytest.raises(ModelError, match="has changed since"):
        norms.transformed_norm(trace, 0)


def test_fingerprints_of_the_same_numbers_share_what_they_hold() -> None:
    borrowed = lens_of(tiny.bert()).borrowed
    one, two = borrowed.fingerprint(), borrowed.fingerprint()
    assert one == two and one.contents is two.contents  # many traces, one table
    assert lens_of(tiny.bert()).borrowed.identity() == borrowed.identity()
    assert lens_of(tiny.bert(seed=1)).borrowed.identity()["weights"] != borrowed.identity()["weights"]


def test_what_a_trace_gives_out_cannot_change_it() -> None:
    trace = lens_of(tiny.bert()).trace("the cats sat", "it was warm")
    lists = ("tokens", "key_tokens", "display_tokens", "display_key_tokens", "word_ids", "key_word_ids", "offsets")
    for name in lists:
        before = list(getattr(trace, name))
        getattr(trace, name).clear()
        assert getattr(trace, name) == before and before
    for name in ("special_mask", "segments", "separator_mask", "input_ids", "token_type_ids"):
        before = getattr(trace, name).clone()
        getattr(trace, name).fill_(1)
        assert torch.equal(getattr(trace, name), before)
    trace.report.unknown.append({})
    assert trace.report.unknown == []
    for give in (
        *(lambda name=name: getattr(trace, name)(1) for name in ("query", "key", "value", "context", "attention")),
        lambda: trace.hidden_state(1),
        lambda: trace.hidden_states[1],
        lambda: trace.output.last_hidden_state,
        lambda: flow.rollout_to(trace, 1),
    ):
        before = give().clone()
        give().zero_()
        assert torch.equal(give(), before)
    trace.maps.clear()
    assert trace.maps


class Made(TorchDispatchMode):
    """Shapes of the float32 tensors that operations make."""

    def __init__(self) -> None:
        super().__init__()
        self.shapes: set[tuple[int, ...]] = set()

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = function(*args, **(kwargs or {}))
        if isinstance(result, torch.Tensor) and result.dtype == torch.float32:
            self.shapes.add(tuple(result.shape))
        return result


@pytest.mark.parametrize("family", ["bert", "modernbert", "gpt2", "LoRA"])
def test_what_is_offered_of_half_precision_is_told_without_a_matrix(family: str) -> None:
    """Trying looks at classes: no matrix of weights is cast to float32, or made of LoRA's."""
    model = lora("all-linear") if family == "LoRA" else tiny.shaken(tiny.FAMILIES[family].model())
    make = tiny.wordpiece if family == "LoRA" else tiny.FAMILIES[family].tokenizer
    trace = bl.Lens(model.to(torch.bfloat16), make()).trace(TEXT)
    given = {tuple(p.shape) for p in model.parameters() if p.ndim == 2}
    matrices = given | {shape[::-1] for shape in given}
    assert not any(trace.n_tokens in shape for shape in matrices)
    with Made() as made:
        offered = offers(trace)
    assert made.shapes & matrices == set()
    assert [name for name in ("norms", "sources", "spectra") if offered[name]] == []
    with Made() as made:
        norms.all_of(trace, 0)
    assert made.shapes & matrices  # what is asked for is computed


def test_each_capability_is_tried_once_and_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    tried = []
    for name, probe in CAPABILITIES.items():
        monkeypatch.setitem(
            CAPABILITIES, name, lambda trace, name=name, probe=probe: (tried.append(name), probe(trace))
        )
    trace = lens_of(tiny.bert()).trace(TEXT)
    assert why_not(trace, "norms") == why_not(trace, "norms") == "" and tried == ["norms"]
    assert offers(trace) == offers(trace) and sorted(tried) == sorted(CAPABILITIES)


def test_hidden_states_are_had_one_by_one() -> None:
    trace = lens_of(tiny.bert()).trace(TEXT)
    assert all(torch.equal(trace.hidden_state(n), state) for n, state in enumerate(trace.hidden_states))
    with pytest.raises(bl.SelectionError, match="hidden state 4 does not exist"):
        trace.hidden_state(4)


def test_an_answer_is_of_one_text(monkeypatch: pytest.MonkeyPatch) -> None:
    """A question that arrives while a new text is put in is refused or answered from the text that it names."""
    lens = lens_of(tiny.bert())
    texts = {"the cat": 4, "it was very warm": 6}
    traces = {text: lens.trace(text) for text in texts}
    view = traces["the cat"].explore()
    old = view.overview["header"]["trace"]
    at_the_door, go_on = threading.Event(), threading.Event()
    publish = type(view).hold_sync

    def held(self: Any) -> Any:
        at_the_door.set()
        assert go_on.wait(10)
        return publish(self)

    monkeypatch.setattr(type(view), "hold_sync", held)
    setter = threading.Thread(target=lambda: setattr(view, "trace", traces["it was very warm"]))
    setter.start()
    assert at_the_door.wait(10)
    # between the record and the traits: the page still has the old id
    fields, buffers = question(view, op="head", layer=0, head=0, trace=old)
    assert "the text has changed" in fields["error"] and fields["stale"] and not buffers
    go_on.set()
    setter.join()
    fields, buffers = question(view, op="head", layer=0, head=0)
    assert wire.unpack(fields["arrays"], buffers[0])["q"].shape[0] == 6


def test_two_texts_at_once_leave_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """A cell and the page each put one in, the second while the first is at the door: all that is shown is of one."""
    lens = lens_of(tiny.bert())
    view = lens.trace("the cat").explore()
    at_the_door, go_on = threading.Event(), threading.Event()
    publish, first = type(view).hold_sync, iter([True])

    def held(self: Any) -> Any:
        if next(first, False):
            at_the_door.set()
            assert go_on.wait(10)
        return publish(self)

    monkeypatch.setattr(type(view), "hold_sync", held)
    setters = [
        threading.Thread(target=setattr, args=(view, "trace", lens.trace(text)))
        for text in ("it was very warm", "the warm cat")
    ]
    setters[0].start()
    assert at_the_door.wait(10)
    setters[1].start()
    setters[1].join(0.3)
    go_on.set()
    for setter in setters:
        setter.join()
    fields, _ = question(view, op="head", layer=0, head=0)
    assert "error" not in fields
    assert view.overview["header"]["text"] == view.text == view.trace.text == "the warm cat"


@pytest.mark.parametrize("then", ["another text", "closed"])
def test_a_state_that_takes_long_brings_no_text_back(then: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its pictures are computed without the lock; what is shown by then stays."""
    lens = lens_of(tiny.bert())
    view = lens.trace("the cat").explore()
    make = widget.with_pictures

    def slow(shown: Any) -> Any:
        if then == "closed":
            view.close()
        else:
            view.trace = lens.trace("it was very warm")
        return make(shown)

    monkeypatch.setattr(widget, "with_pictures", slow)
    monkeypatch.setattr(widget.ViewRecord, "pending", lambda *given: [0])
    view.get_state()
    if then == "closed":
        # not by the trait: it would be made again
        assert view._open is None and not view._trait_values.get("overview")
    else:
        assert view.trace.text == view.overview["header"]["text"] == "it was very warm"


def test_a_view_that_prepares_a_text_holds_up_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    lens = lens_of(tiny.bert())
    view, other = (lens.trace(text).explore(layer=0, head=0) for text in ("the cat", "the mat"))
    new, preparing, go_on = lens.trace("it was very warm"), threading.Event(), threading.Event()
    prepare = widget.with_overview

    def slow(*arguments: Any, **more: Any) -> Any:
        preparing.set()
        assert go_on.wait(10)
        return prepare(*arguments, **more)

    monkeypatch.setattr(widget, "with_overview", slow)
    setter = threading.Thread(target=setattr, args=(view, "trace", new))
    click = threading.Thread(target=other.set_state, args=({"layer": 1, "head": 2},))
    setter.start()
    assert preparing.wait(10)
    click.start()
    click.join(2)
    clicked = (other.layer, other.head)
    go_on.set()
    setter.join()
    click.join()
    assert clicked == (1, 2) and view.trace is new


def test_head_chosen_while_a_text_is_prepared_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    lens = lens_of(tiny.bert())
    view = lens.trace("the cat").explore(layer=0, head=0)
    prepare = widget.with_overview

    def chosen_meanwhile(*arguments: Any, **more: Any) -> Any:
        view.head = 1
        return prepare(*arguments, **more)

    monkeypatch.setattr(widget, "with_overview", chosen_meanwhile)
    view.trace = lens.trace("it was warm")
    assert view.head == 1


def test_texts_put_in_by_one_thread_while_another_asks() -> None:
    lens = lens_of(tiny.bert())
    traces = [lens.trace(text) for text in ("the cat", "it was very warm")]
    view = traces[0].explore()
    shapes = {}
    for trace in traces:
        view.trace = trace
        shapes[view.overview["header"]["trace"]] = trace.n_tokens
    stop, wrong = threading.Event(), []

    def ask() -> None:
        while not stop.is_set():
            name = view.overview["header"]["trace"]
            fields, buffers = question(view, op="head", layer=1, head=1, trace=name)
            if buffers and wire.unpack(fields["arrays"], buffers[0])["q"].shape[0] != shapes[name]:
                wrong.append(name)

    asking = threading.Thread(target=ask)
    asking.start()
    for trace in itertools.islice(itertools.cycle(traces), 60):
        view.trace = trace
    stop.set()
    asking.join()
    assert not wrong


def test_maps_of_another_text_are_refused_too() -> None:
    def decoder(n: int) -> bl.Trace:
        give = torch.full((1, 2, n, n), 1 / n)
        names = [str(i) for i in range(n)]
        return bl.Trace.from_encoder_decoder(encoder=give, decoder=give, encoder_tokens=names, decoder_tokens=names)

    view = decoder(3).explore()
    old = view.overview["header"]["trace"]
    view.trace = decoder(4)
    for name in ("encoder", "decoder"):
        fields, _ = question(view, op="head", layer=0, head=0, map=name, trace=old)
        assert "the text has changed" in fields["error"]
        fields, _ = question(view, op="head", layer=0, head=0, map=name)
        assert "error" not in fields
