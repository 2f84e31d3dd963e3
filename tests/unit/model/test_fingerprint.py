"""What changes a model's numbers is noticed, by its name, in a process and between files; what changes none is not."""

from __future__ import annotations

import copy
import pickle
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
import torch
from peft import LoraConfig, get_peft_model
from tokenizers import AddedToken, normalizers, processors
from torch import nn

import bertlens as bl
from bertlens.errors import InputError, ModelError
from bertlens.measures import norms
from bertlens.model import borrowed
from bertlens.model.borrowed import checked_once
from bertlens.model.fingerprint import Fingerprint, difference
from bertlens.run.forward import output_of
from bertlens.run.interventions import Run
from bertlens.tasks.resume_folder import identity
from unit import tiny
from unit.tasks.classifier import labelled, lens_of
from unit.tiny_attention import roformer
from unit.tiny_encoders import crossed, dense, encoder

TEXT = "the cat sat on the mat"


def adapted() -> nn.Module:
    """A BERT with two adapters, of which the first is on."""
    settings = LoraConfig(target_modules=["query", "value"], r=2, init_lora_weights=False)
    torch.manual_seed(0)
    model = get_peft_model(tiny.bert(), settings, adapter_name="a")
    model.add_adapter("b", settings)
    model.set_adapter("a")
    return model.eval()


def lens_with(model: nn.Module) -> bl.Lens:
    return bl.Lens(model, tiny.wordpiece())


def output(lens: bl.Lens) -> Any:
    return lens.borrowed.base.encoder.layer[0].output


def query(lens: bl.Lens) -> Any:
    return lens.model.base_model.model.encoder.layer[1].attention.self.query


def write(tensor: torch.Tensor, place: Any, value: float) -> None:
    """Past the counters of torch."""
    tensor.data.numpy()[place] = value


def set_(part: Any, name: str, value: Any) -> None:
    setattr(part, name, value)


def add_token(lens: bl.Lens) -> None:
    lens.tokenizer.backend_tokenizer.add_tokens([AddedToken("warmth")])


def other_template(lens: bl.Lens) -> None:
    lens.tokenizer.backend_tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))


def bert() -> bl.Lens:
    return lens_with(tiny.bert())


def peft() -> bl.Lens:
    return lens_with(adapted())


def pooled() -> bl.Lens:
    return bl.Lens(encoder(dense(nn.Tanh())))


def scored() -> bl.Lens:
    return bl.Lens(crossed())


# What is changed, and how the refusal names it.
CHANGES: dict[str, tuple[Callable[[], bl.Lens], Callable[[bl.Lens], Any], str]] = {
    "a step of training": (bert, lambda t: output(t).dense.weight.detach().add_(0.1), "weights of encoder.layer.0"),
    "past the counters": (bert, lambda t: write(output(t).dense.weight, (3, 5), 9.0), "weights of encoder.layer.0"),
    "a word that the text reads": (
        bert,
        lambda t: write(t.model.embeddings.word_embeddings.weight, (tiny.VOCABULARY.index("cat"), 3), 9.0),
        "word embeddings",
    ),
    "a head at zero": (
        bert,
        lambda t: t.model.encoder.layer[1].attention.self.value.weight.data[8:16].zero_(),
        "layer.1.attention.self.value",
    ),
    "two heads exchanged": (
        bert,
        lambda t: t.model.encoder.layer[1].attention.self.key.weight.data.copy_(
            t.model.encoder.layer[1].attention.self.key.weight.data.roll(8, 0)
        ),
        "layer.1.attention.self.key",
    ),
    "a parameter replaced": (
        bert,
        lambda t: set_(output(t).dense, "bias", nn.Parameter(output(t).dense.bias.detach() * 2)),
        "weights of encoder.layer.0.output.dense.bias",
    ),
    "other weights loaded": (bert, lambda t: t.model.load_state_dict(tiny.bert(1).state_dict()), "weights of"),
    "half precision": (bert, lambda t: t.model.bfloat16(), "weights of"),
    "a buffer": (bert, lambda t: t.model.embeddings.position_ids.add_(1), "position_ids"),
    "eps in place": (bert, lambda t: set_(output(t).LayerNorm, "eps", 0.1), "eps of encoder.layer.0.output.LayerNorm"),
    "another activation": (
        bert,
        lambda t: set_(t.model.encoder.layer[2].intermediate, "intermediate_act_fn", nn.ReLU()),
        "encoder.layer.2.intermediate.intermediate_act_fn",
    ),
    "a function of a module": (
        bert,
        lambda t: set_(t.model.encoder.layer[2].intermediate.intermediate_act_fn, "act", torch.sin),
        "act of encoder.layer.2",
    ),
    "the scaling": (bert, lambda t: set_(t.model.encoder.layer[0].attention.self, "scaling", 0.5), "scaling of"),
    "hidden_act": (bert, lambda t: set_(t.model.config, "hidden_act", "relu"), "hidden_act of its config"),
    "layer_norm_eps": (bert, lambda t: set_(t.model.config, "layer_norm_eps", 0.1), "layer_norm_eps of its config"),
    "a layer taken out": (
        bert,
        lambda t: set_(t.model.encoder, "layer", t.model.encoder.layer[:2]),
        "encoder.layer.2",
    ),
    "layers exchanged": (
        bert,
        lambda t: set_(t.model.encoder, "layer", nn.ModuleList([t.model.encoder.layer[i] for i in (1, 0, 2)])),
        "encoder.layer",
    ),
    "a projection wrapped": (
        bert,
        lambda t: set_(output(t), "dense", nn.Sequential(output(t).dense)),
        "encoder.layer.0.output.dense",
    ),
    "a forward of one's own": (bert, lambda t: set_(output(t), "forward", lambda a, b: b), "forward of"),
    "another adapter": (peft, lambda t: t.model.set_adapter("b"), "active_adapter of"),
    "adapters merged": (peft, lambda t: t.model.merge_adapter(), "merged_adapters of"),
    "adapters off": (peft, lambda t: t.model.base_model.disable_adapter_layers(), "disable_adapters of"),
    "an adapter's scale": (peft, lambda t: query(t).scaling.update(a=3.0), "scaling of"),
    "an adapter's weights": (peft, lambda t: query(t).lora_A["a"].weight.detach().add_(1), "lora_A.a.weight"),
    "one adapter more": (
        peft,
        lambda t: t.model.add_adapter("c", LoraConfig(target_modules=["query"], r=2)),
        "peft_config of",
    ),
    "pooling": (pooled, lambda t: set_(t.model[1], "pooling_mode", "cls"), "pooling_mode of 1"),
    "similarity function": (pooled, lambda t: set_(t.model, "similarity_fn_name", "dot"), "similarity_fn_name of"),
    "prompts": (pooled, lambda t: t.model.prompts.update(query="ask: "), "prompts of the model"),
    "the default prompt": (pooled, lambda t: set_(t.model, "default_prompt_name", "query"), "default_prompt_name of"),
    "numbers of a vector": (pooled, lambda t: set_(t.model, "truncate_dim", 4), "truncate_dim of the model"),
    "a dense layer": (pooled, lambda t: t.model[2].linear.weight.detach().mul_(2), "weights of 2.linear.weight"),
    "its activation": (pooled, lambda t: set_(t.model[2], "activation_function", nn.ReLU()), "2.activation_function"),
    "a scorer's activation": (scored, lambda t: set_(t.model, "activation_fn", nn.Tanh()), "activation_fn"),
    "the longest text": (pooled, lambda t: set_(t.model, "max_seq_length", 12), "max"),
    "letters made small": (
        bert,
        lambda t: set_(t.tokenizer.backend_tokenizer, "normalizer", normalizers.NFD()),
        "normalizer of its tokenizer",
    ),
    "a token added": (bert, add_token, "of its tokenizer"),
    "the template": (bert, other_template, "post_processor of its tokenizer"),
}

# The same changes where they can be made without a name: what changes no number.
SAME: dict[str, tuple[Callable[[], bl.Lens], Callable[[bl.Lens], Any]]] = {
    "its name": (bert, lambda t: set_(t.model.config, "_name_or_path", "elsewhere")),
    "its folder": (bert, lambda t: set_(t.model, "name_or_path", "elsewhere")),
    "attention implementation": (bert, lambda t: t.model.set_attn_implementation("eager")),
    "train mode": (bert, lambda t: t.model.train()),
    "threads": (bert, lambda t: torch.set_num_threads(torch.get_num_threads())),
    "padding side": (bert, lambda t: set_(t.tokenizer, "padding_side", "left")),
    "stored padding": (bert, lambda t: t.tokenizer.backend_tokenizer.enable_padding(length=9)),
    "stored truncation": (bert, lambda t: t.tokenizer.backend_tokenizer.enable_truncation(9)),
    "the same weights loaded": (bert, lambda t: t.model.load_state_dict(copy.deepcopy(t.model.state_dict()))),
    "frozen parameters": (bert, lambda t: t.model.requires_grad_(False)),
    "gradients": (bert, lambda t: t.model(**t.tokenizer(TEXT, return_tensors="pt"))[0].sum().backward()),
    "names of labels": (bert, lambda t: set_(t.model.config, "id2label", {0: "cold", 1: "warm"})),
    "another text": (bert, lambda t: t.trace("it was very warm, the cats sat on it")),
    "a vector": (pooled, lambda t: t.encode("a cat")),
    "a score": (scored, lambda t: t.similarity("a cat", "a mat")),
    "checkpointing": (bert, lambda t: t.model.gradient_checkpointing_enable()),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_is_refused_by_its_name(name: str) -> None:
    make, change, named = CHANGES[name]
    lens = make()
    trace = lens.trace(TEXT)
    fingerprint, identity = lens.borrowed.fingerprint(), lens.borrowed.identity()
    with torch.no_grad():
        change(lens)
    with pytest.raises(ModelError, match=r"the model has changed since this trace \(.*\): trace again") as error:
        trace.rerun()
    assert named in str(error.value)
    assert lens.borrowed.fingerprint() != fingerprint
    assert difference(identity, lens.borrowed.identity())


@pytest.mark.parametrize("name", SAME)
def test_what_changes_no_number_is_not_refused(name: str) -> None:
    make, change = SAME[name]
    lens = make()
    trace = lens.trace(TEXT)
    fingerprint, identity = lens.borrowed.fingerprint(), lens.borrowed.identity()
    change(lens)
    assert lens.borrowed.fingerprint() == fingerprint and lens.borrowed.identity() == identity
    trace.check_unchanged()
    torch.testing.assert_close(trace.rerun().attention(1), trace.attention(1))


def rolled(w: torch.Tensor) -> torch.Tensor:
    """Columns of the first two heads change places."""
    return torch.cat([w[:, 8:16], w[:, :8], w[:, 16:]], 1)


def negated(w: torch.Tensor) -> torch.Tensor:
    """Two columns with the other sign."""
    return torch.cat([w[:, :3], -w[:, 3:4], w[:, 4:5], -w[:, 5:6], w[:, 6:]], 1)


def one_row(w: torch.Tensor) -> torch.Tensor:
    """In one row, the last, of words that of "cat", all values stand elsewhere."""
    at = tiny.VOCABULARY.index("cat") if len(w) == len(tiny.VOCABULARY) else len(w) - 1
    return torch.cat([w[:at], w[at : at + 1].flip(-1), w[at + 1 :]])


def loaded(part: nn.Module, weight: torch.Tensor, **options: bool) -> None:
    part.load_state_dict(part.state_dict() | {"weight": weight}, **options)


WRITTEN: dict[str, Callable[[Any, torch.Tensor], Any]] = {
    "copied": lambda part, weight: part.weight.detach().copy_(weight),
    "data copied": lambda part, weight: part.weight.data.copy_(weight),
    "data set": lambda part, weight: set_(part.weight, "data", weight),
    "numpy": lambda part, weight: np.copyto(part.weight.detach().numpy(), weight.numpy()),
    "a parameter": lambda part, weight: set_(part, "weight", nn.Parameter(weight)),
    "loaded": loaded,
    "loaded in place of": lambda part, weight: loaded(part, weight, assign=True),
    "through a view": lambda part, weight: part.weight.data.view(-1).copy_(weight.reshape(-1)),
}
PARTS: dict[str, Callable[[bl.Lens], Any]] = {
    "projection": lambda lens: lens.model.encoder.layer[1].attention.output.dense,
    "positions": lambda lens: lens.model.embeddings.position_embeddings,
    "types": lambda lens: lens.model.embeddings.token_type_embeddings,
    "words": lambda lens: lens.model.embeddings.word_embeddings,
}


@pytest.mark.parametrize("change", [rolled, negated, one_row])
@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("way", WRITTEN)
def test_values_that_stand_elsewhere_are_another_model(way: str, part: str, change: Callable[..., Any]) -> None:
    """Rows and columns add up to the same: only places differ."""
    lens = bert()
    trace = lens.trace("the cat sat", "on the mat")
    before = lens.borrowed.fingerprint()
    place = PARTS[part](lens)
    WRITTEN[way](place, change(place.weight.detach().clone()))
    assert lens.borrowed.fingerprint() != before
    with pytest.raises(ModelError, match="the model has changed since this trace"):
        trace.rerun()


@pytest.mark.parametrize("order", [(1, 0, 2), (0, 2, 1), (2, 1, 0), (0, 1), (1, 2), (0, 0, 2)])
def test_layers_that_stand_elsewhere_are_another_model(order: tuple[int, ...]) -> None:
    """Each tensor lies where it did, under another name."""
    lens = bert()
    layers = lens.model.encoder.layer
    for layer in layers:
        layer.attention.self.layer_idx = 0  # what would tell them apart beside their weights
    trace = lens.trace(TEXT)
    norms.attnresln_norm(trace, 1)
    trace = lens.trace(TEXT)
    kept = [*layers]
    del layers[len(order) :]
    for place, number in enumerate(order):
        layers[place] = kept[number]
    with pytest.raises(ModelError, match="the model has changed since this trace"):
        norms.attnresln_norm(trace, 1)


def test_a_measure_notices_another_adapter_before_it_computes() -> None:
    lens = peft()
    trace = lens.trace(TEXT)
    before = norms.transformed_norm(trace, 1)
    lens.model.set_adapter("b")
    with pytest.raises(ModelError, match=r"active_adapter of .*: trace again"):
        norms.transformed_norm(trace, 1)
    lens.model.set_adapter("a")
    torch.testing.assert_close(norms.transformed_norm(trace, 1), before)


def test_one_question_compares_a_model_once_whatever_texts_it_is_about(monkeypatch: pytest.MonkeyPatch) -> None:
    lens, looks = bert(), []
    texts = [lens.trace(TEXT), lens.trace("the dog sat"), lens.trace("it was tired")]
    holds = Fingerprint.holds
    monkeypatch.setattr(Fingerprint, "holds", lambda own, *of: looks.append(of) or holds(own, *of))
    with checked_once():
        for text in texts:
            text.check_unchanged()
            text.check_unchanged(lens.borrowed.layer(0)[1])
    assert looks == [(lens.borrowed.whole, None)]
    with checked_once():
        texts[0].rerun()  # compares every value, which is more
        texts[1].check_unchanged()
    assert looks == [(lens.borrowed.whole, None)]
    write(output(lens).dense.weight, (0, 0), 5.0)
    for text in texts:
        with checked_once(), pytest.raises(ModelError, match="the model has changed since this trace"):
            text.check_unchanged()


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda trace: pickle.loads(pickle.dumps(trace))])
def test_a_copy_is_the_same_until_it_changes(copied: Callable[[Any], Any]) -> None:
    trace = bert().trace(TEXT)
    other = copied(trace)
    torch.testing.assert_close(norms.transformed_norm(other, 0), norms.transformed_norm(trace, 0))
    torch.testing.assert_close(other.rerun().attention(2), trace.attention(2))
    write(output(other.lens).dense.weight, (0, 0), 5.0)
    with pytest.raises(ModelError, match="the model has changed since this trace"):
        other.rerun()
    trace.rerun()
    late = copied(trace)
    write(output(late.lens).dense.weight, (1, 2), 5.0)  # before its first use
    with pytest.raises(ModelError, match=r"weights of encoder\.layer\.0\.output\.dense\.weight"):
        norms.transformed_norm(late, 1)


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda task: pickle.loads(pickle.dumps(task))])
def test_a_copied_task_goes_on(copied: Callable[[Any], Any]) -> None:
    task = bl.task(lens_of(), labelled(24), progress=False)
    task.metrics()
    other = copied(task)
    np.testing.assert_array_equal(other.losses, task.losses)
    assert other.heads(1).table.equals(task.heads(1).table)


def test_a_task_notices_another_model_between_two_results() -> None:
    torch.manual_seed(0)
    settings = LoraConfig(target_modules=["query"], r=2, init_lora_weights=False, task_type="SEQ_CLS")
    model = get_peft_model(lens_of().model, settings, adapter_name="a")
    model.add_adapter("b", settings)
    model.set_adapter("a")
    task = bl.task(bl.Lens(model.eval(), tiny.wordpiece()), labelled(24), progress=False)
    task.metrics()
    model.set_adapter("b")
    for use in (lambda: task.heads(1), lambda: task.errors(2), task.metrics):
        with pytest.raises(ModelError, match=r"since this task was made \(active_adapter of .*bl.task"):
            use()
    model.set_adapter("a")
    task.heads(1)


def test_pieces_of_two_tasks_in_one_folder_are_of_their_own_models(tmp_path: Any) -> None:
    folder = tmp_path / "kept"
    expected = [bl.task(lens_of(seed), labelled(40), progress=False).losses for seed in (0, 1)]
    tasks = [bl.task(lens_of(seed), labelled(40), batch_size=8, progress=False, keep=folder) for seed in (0, 1)]
    for task, losses in zip(tasks, expected, strict=True):
        np.testing.assert_allclose(task.losses, losses, rtol=1e-5)
    again = [bl.task(lens_of(seed), labelled(40), batch_size=8, progress=False, keep=folder) for seed in (1, 0, 1)]
    for task, seed in zip(again, (1, 0, 1), strict=True):
        np.testing.assert_allclose(task.losses, expected[seed], rtol=1e-5)


def test_what_a_folder_is_of_is_the_same_on_another_day_and_device(tmp_path: Any) -> None:
    lens, other = bert(), bert()
    examples = bl.task(lens_of(), labelled(24), progress=False).examples
    other.model.config._name_or_path = "elsewhere"
    other.model.train()
    assert identity(lens, examples, False) == identity(other, examples, False)


def test_statistics_of_two_models_do_not_add_up(tmp_path: Any) -> None:
    texts, path = [TEXT, "it was very warm"], tmp_path / "stats.npz"
    lens = peft()
    stats = bl.survey.head_stats(lens, texts, save=path, progress=False)
    lens.model.set_adapter("b")
    for resume in (stats, path):
        with pytest.raises(InputError, match="statistics of different active_adapter of"):
            bl.survey.head_stats(lens, texts, resume=resume, progress=False)
    lens.model.set_adapter("a")
    assert bl.survey.head_stats(lens, texts, resume=path, progress=False).n_texts == 2
    lens.borrowed.name = "another name"
    assert (stats + bl.survey.head_stats(lens, ["a cat"], progress=False)).n_texts == 3


def test_a_model_that_changes_in_the_middle_of_a_corpus() -> None:
    lens = peft()

    def texts() -> Any:
        for number in range(100):
            if number == 90:
                lens.model.set_adapter("b")
            yield TEXT

    with pytest.raises(ModelError, match=r"changed in the middle of a corpus \(active_adapter of"):
        bl.survey.head_stats(lens, texts(), batch_size=1, progress=False)


LOOKS: dict[str, Callable[[bl.Trace], bool]] = {  # whether it takes the model for another
    "change": lambda trace: bool(trace.model.change(trace.fingerprint)),
    "fingerprint": lambda trace: trace.model.fingerprint().contents != trace.fingerprint.contents,
    "identity": lambda trace: trace.model.identity() != lens_with(tiny.bert()).borrowed.identity(),
    "measure": lambda trace: norms.transformed_norm(trace, 0).isnan().any().item(),
}


@pytest.mark.parametrize("look", LOOKS)
def test_what_a_pass_of_another_thread_puts_on_the_model_is_no_change_of_it(look: str) -> None:
    """As of a cell beside a view's job of minutes: it waits for the pass."""
    lens = lens_with(tiny.bert())
    trace, layer, inside = lens.trace(TEXT), lens.borrowed.base.encoder.layer[0], threading.Event()

    def run() -> None:
        with lens.borrowed.locked():
            layer.forward = lambda *given, **named: None
            inside.set()
            time.sleep(0.3)
            del layer.forward

    thread = threading.Thread(target=run)
    thread.start()
    inside.wait()
    assert not LOOKS[look](trace)
    thread.join()


def test_an_identity_is_of_one_moment_between_two_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    """And is what is told from then on, so that nothing of a pass may be in it."""
    lens, inside, over = lens_with(tiny.bert()), threading.Event(), threading.Event()
    layer = lens.borrowed.base.encoder.layer[0]

    def run() -> None:
        with lens.borrowed.locked():
            layer.forward = lambda *given, **named: None
            inside.set()
            over.wait(10)
            del layer.forward

    def beside_a_pass(*given: Any) -> dict[str, Any]:
        threads.append(threading.Thread(target=run))
        threads[0].start()
        inside.wait(0.2)
        try:
            return identity_of(*given)
        finally:
            over.set()

    threads: list[threading.Thread] = []
    identity_of = borrowed.identity
    with monkeypatch.context() as patch:
        patch.setattr(borrowed, "identity", beside_a_pass)
        first = lens.borrowed.identity()
    threads[0].join()
    assert first == lens.borrowed.identity() == lens_with(tiny.bert()).borrowed.identity()


class Unhurried:
    """An activation of the user's own: whoever asks for its name lets the other threads run first."""

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        return x

    def __getattr__(self, name: str) -> Any:
        time.sleep(0)
        raise AttributeError(name)


def test_a_model_is_read_ten_thousand_times_beside_passes_of_another_thread() -> None:
    """Which put a forward of their own on the attention of a RoFormer, and take it off."""
    lens = lens_with(roformer(num_hidden_layers=1).eval())
    attention = lens.borrowed.base.encoder.layer[0].attention.self
    attention.activation = Unhurried()
    trace, done = lens.trace("a"), threading.Event()
    model, before, inputs = lens.borrowed, trace.fingerprint, trace.inputs()
    assert before is not None

    def run() -> None:
        while not done.is_set():
            output_of(model, inputs, Run())

    parts = model.whole, model.tokenizer, model.embedding.weight
    with ThreadPoolExecutor() as pool:
        passes = pool.submit(run)
        try:
            for number in range(10_000):
                if number % 100 == 0:
                    Fingerprint.of(*parts)
                elif number % 100 == 1:
                    before.difference(*parts)
                elif number % 100 == 2:
                    assert model.change(before) == ""
                else:
                    before.holds(model.whole, attention)
        finally:
            done.set()
        passes.result()
    assert model.fingerprint().contents == before.contents and model.change(before) == ""


def test_the_baseline_is_of_the_function_that_is_set() -> None:
    model = encoder()
    lens = bl.Lens(model)
    before = bl.similarity(lens, "a cat", "a mat").baseline
    model.similarity_fn_name = "dot"
    after, fresh = bl.similarity(lens, "a cat", "a mat").baseline, bl.Lens(model)
    assert after == bl.similarity(fresh, "a cat", "a mat").baseline != before


def test_a_report_goes_on_with_its_own_model_alone(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from bertlens.reports import report_run

    texts, path, lens = [f"{TEXT} {word}" for word in tiny.LETTERS[:6]], tmp_path / "part.npz", peft()
    with monkeypatch.context() as patch:
        patch.setattr(report_run, "verdict", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            bl.report(lens, texts, claims="clark", texts=6, resume=path, progress=False)
    assert path.exists()
    lens.model.set_adapter("b")
    with pytest.raises(InputError, match=r"of another run \(what differs: active_adapter of"):
        bl.report(lens, texts, claims="clark", texts=6, resume=path, progress=False)


def test_every_family_is_the_same_after_passes_of_other_lengths() -> None:
    for family in tiny.FAMILIES.values():
        lens = bl.Lens(family.model().eval(), family.tokenizer())
        identity = lens.borrowed.identity()
        trace = lens.trace("a cat")
        lens.trace(" ".join([TEXT] * 2))
        trace.rerun()
        assert lens.borrowed.identity() == identity, family


class Tables(nn.Module):
    """Keeps a table for texts of the last length, as rotary embeddings do, and a weight that is no parameter."""

    def __init__(self, part: nn.Module) -> None:
        super().__init__()
        self.part, self.gain = part, torch.tensor(1.0)
        self._cosines: torch.Tensor | None = None

    def forward(self, states: torch.Tensor) -> torch.Tensor:
        """The part's output, times a table."""
        if self._cosines is None or len(self._cosines) != states.shape[1]:
            self._cosines = torch.linspace(1, 2, states.shape[1])[:, None]
        output: torch.Tensor = self.part(states) * self._cosines * self.gain
        return output


@pytest.mark.parametrize("copied", [lambda trace: trace, lambda trace: pickle.loads(pickle.dumps(trace))])
def test_a_table_that_a_pass_sets_is_no_weight(copied: Callable[[Any], Any]) -> None:
    family = tiny.FAMILIES["bert"]
    models = [family.model().eval() for _ in range(2)]
    models[1].load_state_dict(models[0].state_dict())
    tokenizer = family.tokenizer()
    for model in models:
        layer = model.base_model.encoder.layer[0]
        layer.intermediate = Tables(layer.intermediate)
    used, fresh = models
    used(**tokenizer(TEXT, return_tensors="pt"))  # so that the table is there before the lens
    lens = bl.Lens(used, tokenizer)
    trace = lens.trace("a cat")
    identity = lens.borrowed.identity()
    lens.trace(TEXT)
    used(**tokenizer(" ".join([TEXT] * 2), return_tensors="pt"))
    trace = copied(trace)
    trace.rerun()
    assert lens.borrowed.identity() == identity == bl.Lens(fresh, tokenizer).borrowed.identity()
    trace.lens.model.base_model.encoder.layer[0].intermediate.gain.data.fill_(2)
    with pytest.raises(ModelError, match=r"has changed since this trace \(weights of .*intermediate\.gain\)"):
        trace.rerun()


class Late(nn.Module):
    """Makes a number when it is first called, which its owner may set to another."""

    def __init__(self, part: nn.Module) -> None:
        super().__init__()
        self.part = part
        self._gain: torch.Tensor | None = None

    def forward(self, states: torch.Tensor) -> torch.Tensor:
        """The part's output, times the number."""
        if self._gain is None:
            self._gain = torch.tensor(1.0)
        output: torch.Tensor = self.part(states) * self._gain
        return output


def test_a_number_that_the_first_pass_makes_is_one_of_the_model_once_it_is_another() -> None:
    model = tiny.FAMILIES["bert"].model().eval()
    layer = model.base_model.encoder.layer[0]
    late = layer.intermediate = Late(layer.intermediate)
    lens = bl.Lens(model, tiny.FAMILIES["bert"].tokenizer())
    trace = lens.trace("a cat")
    lens.trace(TEXT)
    trace.rerun()
    late._gain = torch.tensor(2.0)
    with pytest.raises(ModelError, match=r"has changed since this trace \(.*intermediate\._gain\)"):
        trace.rerun()
    lens.trace("a cat").rerun()
