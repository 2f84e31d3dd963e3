"""Loading: a checkpoint that is not whole is refused in one line that names what it lacks."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
import torch
import transformers as tf
from safetensors.torch import load_file, save_file

from bertlens import InputError, Lens, ModelError, cli
from bertlens.measures.predictions import predictions
from bertlens.model import loading
from unit import tiny


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "my-bert"
    tiny.bert().save_pretrained(path)
    tiny.wordpiece().save_pretrained(path)
    return path


def weights(folder: Path, change: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    file = folder / "model.safetensors"
    save_file(change(load_file(file)), file, metadata={"format": "pt"})


def config(folder: Path, **changes: Any) -> None:
    file = folder / "config.json"
    known = json.loads(file.read_text()) | changes
    file.write_text(json.dumps({name: value for name, value in known.items() if value is not ...}))


def without(*parts: str) -> Callable[[Path], None]:
    return lambda folder: weights(folder, lambda w: {k: v for k, v in w.items() if not k.startswith(parts)})


def shards(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    tiny.bert().save_pretrained(folder, max_shard_size="20KB")
    sorted(folder.glob("model-*"))[1].unlink()


def no_tokenizer(folder: Path) -> None:
    for file in folder.glob("*token*"):
        file.unlink()


def cut(folder: Path) -> None:
    file = folder / "model.safetensors"
    file.write_bytes(file.read_bytes()[:3000])


LAYER = "my-bert lacks weights of BertModel: encoder.layer.1. They would be random"
BROKEN: dict[str, tuple[Callable[[Path], Any], str]] = {
    "a layer": (without("encoder.layer.1."), LAYER),
    "a bias": (
        without("encoder.layer.2.output.dense.bias"),
        "lacks weights of BertModel: encoder.layer.2.output.dense.b",
    ),
    "words": (without("embeddings.word"), "lacks weights of BertModel: embeddings.word_embeddings"),
    "all": (without(""), r"holds no weights of BertModel \(none at all\)"),
    "names": (
        lambda f: weights(f, lambda w: {f"x.{k}": v for k, v in w.items()}),
        r"no weights of BertModel \(x\.embed",
    ),
    "shape": (
        lambda f: config(f, vocab_size=40),
        "another shape than its config says: embeddings.word_embeddings.weight",
    ),
    "no type": (lambda f: config(f, model_type=...), "my-bert cannot be loaded .*model_type"),
    "unknown type": (lambda f: config(f, model_type="zork"), "my-bert cannot be loaded .*zork"),
    "wrong config": (lambda f: config(f, hidden_size="wide"), "my-bert cannot be loaded .*hidden_size"),
    "impossible config": (lambda f: config(f, num_attention_heads=5), "my-bert cannot be loaded .*heads"),
    "no config": (lambda f: (f / "config.json").unlink(), "holds no model: config.json is missing"),
    "damaged config": (lambda f: (f / "config.json").write_text("{"), "my-bert cannot be loaded"),
    "cut off": (cut, "my-bert cannot be loaded .*Safetensor"),
    "garbage": (lambda f: (f / "model.safetensors").write_bytes(b"no"), "my-bert cannot be loaded .*Safetensor"),
    "a shard": (shards, r"lacks model-00002-of-0000\d.safetensors of its \d files of weights"),
    "no weights": (lambda f: (f / "model.safetensors").unlink(), "holds no weights: model.safetensors is missing"),
    "TensorFlow": (lambda f: (f / "model.safetensors").rename(f / "tf_model.h5"), "holds TensorFlow weights only"),
    "Flax": (lambda f: (f / "model.safetensors").rename(f / "flax_model.msgpack"), "holds Flax weights only"),
    "no tokenizer": (no_tokenizer, "my-bert holds no tokenizer"),
    "damaged tokenizer": (lambda f: (f / "tokenizer.json").write_text("{"), "my-bert cannot be loaded"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_checkpoint_that_is_not_whole_is_refused_by_name(folder: Path, case: str, capfd: Any) -> None:
    """From Python and from the command: one line, status 2, and no advice to unpickle what is not pickled."""
    change, message = BROKEN[case]
    change(folder)
    with pytest.raises(ModelError, match=message) as caught:
        Lens.from_pretrained(folder)
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 450 and "allow_pickle" not in str(caught.value)
    capfd.readouterr()
    assert cli.main(["html", "the cat", "-o", str(folder / "page.html"), "--model", str(folder)]) == 2
    assert capfd.readouterr().err == f"bertlens: {caught.value}\n"
    assert not (folder / "page.html").exists()


def test_a_pooler_may_be_missing_and_the_report_says_so(folder: Path) -> None:
    """It is random then, but the same each time: statistics of two runs add up. The user's random numbers stay."""
    whole = Lens.from_pretrained(folder)
    assert whole.trace("the cat").report.notes == []
    without("pooler.")(folder)
    state = torch.random.get_rng_state()
    first = Lens.from_pretrained(folder)
    assert torch.equal(torch.random.get_rng_state(), state)
    torch.manual_seed(7)
    second = Lens.from_pretrained(folder)
    [note] = first.trace("the cat").report.notes
    assert "pooler" in note and first.trace_batch(["the cat"])[0].report.notes == [note]
    assert any(badge["detail"] == note for badge in first.trace("the cat").explore().overview["header"]["badges"])
    assert torch.equal(first.trace("the cat").attention(2), whole.trace("the cat").attention(2))
    assert first.borrowed.identity() == second.borrowed.identity()


def test_more_layers_than_the_config_asks_for_are_said(folder: Path) -> None:
    config(folder, num_hidden_layers=2)
    trace = Lens.from_pretrained(folder).trace("the cat")
    assert trace.n_layers == 2
    assert "more layers than its config asks for: encoder.layer.2" in trace.report.notes[0]


def test_a_checkpoint_with_a_task_head_is_whole(tmp_path: Path) -> None:
    """Weights that the encoder has no use for, under another prefix, are no fault."""
    model = tiny.shaken(tf.BertForMaskedLM(tf.BertConfig(**tiny.BERT)))
    model.save_pretrained(tmp_path)
    tiny.wordpiece().save_pretrained(tmp_path)
    trace = Lens.from_pretrained(tmp_path).trace("the cat")
    assert trace.report.notes == []
    torch.testing.assert_close(trace.attention(1), Lens(model, tiny.wordpiece()).trace("the cat").attention(1))


@pytest.mark.sampled(5)
@pytest.mark.parametrize("name", [*tiny.FAMILIES, *tiny.OUTSIDE])
def test_what_every_family_saves_is_whole(name: str, tmp_path: Path) -> None:
    family = (tiny.FAMILIES | tiny.OUTSIDE)[name]
    model = family.model()
    if name == "t5 encoder":
        pytest.skip("AutoModel reads T5's encoder as a whole T5, whose decoder it then lacks")
    model.save_pretrained(tmp_path)
    family.tokenizer().save_pretrained(tmp_path)
    assert Lens.from_pretrained(tmp_path).notes == ()


def test_a_name_that_nobody_knows_is_one_line(monkeypatch: Any) -> None:
    """Whatever the hub says, or does not say."""
    import huggingface_hub
    from huggingface_hub import errors

    class Response:
        headers, status_code, request = MappingProxyType({}), 404, None

    for raised, message in (
        (OSError("name or service not known"), "no folder no/such, no model of that name was downloaded before"),
        (errors.RepositoryNotFoundError("404\nrequest", response=Response()), "the hub has no model of that name"),
        (errors.GatedRepoError("403", response=Response()), "no/such is gated"),
    ):

        def answer(*_arguments: Any, error: Exception = raised, **_options: Any) -> Any:
            raise error

        monkeypatch.setattr(huggingface_hub, "get_hf_file_metadata", answer)
        with pytest.raises(ModelError, match=message) as caught:
            Lens.from_pretrained("no/such")
        assert "\n" not in str(caught.value)
    for name in ("no folder/with a/name", "../nowhere", ""):
        with pytest.raises(ModelError, match="there is no folder"):
            Lens.from_pretrained(name or "///nowhere")
    with pytest.raises(InputError, match="revision is a branch, tag or commit, as a string, not 5"):
        Lens.from_pretrained("no/such", revision=5)


def test_a_hub_that_does_not_answer_is_not_waited_for(monkeypatch: Any) -> None:
    import huggingface_hub

    answered, over = threading.Event(), threading.Event()

    def answer(*_: Any, **__: Any) -> None:
        over.wait(60)
        answered.set()

    monkeypatch.setattr(huggingface_hub, "get_hf_file_metadata", answer)
    monkeypatch.setattr(loading, "REACHABLE", 0.2)
    with pytest.raises(ModelError, match="the hub cannot be reached"):
        Lens.from_pretrained("no/such")
    assert not answered.is_set()
    over.set()


@pytest.mark.sampled(5, of="processes")
def test_wrong_name_without_network_at_the_command_line(tmp_path: Path) -> None:
    """One line that names it, without waiting for a hub that cannot be asked (offline mode stands for no network)."""
    arguments = ["html", "a", "-o", str(tmp_path / "p.html"), "--model", "no/such"]
    code = "import sys; from bertlens.cli import main; sys.exit(main(sys.argv[1:]))"
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        capture_output=True,
        text=True,
        env=os.environ | {"HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path)},
        timeout=60,
    )
    assert done.returncode == 2 and done.stdout == ""
    [line] = done.stderr.splitlines()
    assert line.startswith("bertlens: there is no folder no/such")


def test_a_downloaded_model_is_loaded_without_asking_again(folder: Path, tmp_path: Path, monkeypatch: Any) -> None:
    """The hub is away, the cache has the model: transformers looks nowhere else."""
    import huggingface_hub

    asked = {}

    def in_cache(_name: str, file: str, **_options: Any) -> str | None:
        return str(folder / file) if (folder / file).is_file() else None

    monkeypatch.setattr(huggingface_hub, "try_to_load_from_cache", in_cache)
    monkeypatch.setattr(
        huggingface_hub, "get_hf_file_metadata", lambda *a, **k: (_ for _ in ()).throw(OSError("no network"))
    )
    for auto in (tf.AutoConfig, tf.AutoModel, tf.AutoTokenizer):
        load = auto.from_pretrained

        def local(name: str, *, _load: Any = load, **options: Any) -> Any:
            if name == "my/bert":  # not what transformers asks itself of the folder below
                asked[len(asked)] = options.pop("local_files_only", False)
            return _load(folder, **options)

        monkeypatch.setattr(auto, "from_pretrained", local)
    assert Lens.from_pretrained("my/bert").trace("the cat").n_layers == 3
    assert asked == {0: True, 1: True, 2: True}
    shutil.rmtree(folder)


def test_a_head_to_train_may_be_missing_and_nothing_else(folder: Path) -> None:
    """The same head for the same seed; the encoder below it has to be there."""
    from bertlens.training.run import start

    (first, _), (again, _), (other, _) = (start(str(folder), None, seed) for seed in (3, 3, 4))
    [one, two, three] = (model.cls.predictions.transform.dense.weight for model in (first, again, other))
    assert torch.equal(one, two) and not torch.equal(one, three)
    without("encoder.layer.1.")(folder)
    with pytest.raises(
        ModelError, match=r"lacks weights of BertForMaskedLM: bert.encoder.layer.1\. They would be random"
    ):
        start(str(folder), None, 3)
    model = tiny.FAMILIES["gpt2"].model()
    model.save_pretrained(folder)
    with pytest.raises(ModelError, match=r"my-bert cannot be loaded .*GPT2Config"):
        start(str(folder), None, 3)


HEADS: dict[str, dict[str, Any]] = {  # classes whose answer is read -> settings of their config
    "BertForSequenceClassification": {"id2label": {0: "no", 1: "maybe", 2: "yes"}},
    "BertForTokenClassification": {"id2label": {0: "O", 1: "B", 2: "I", 3: "E"}},
    "BertForQuestionAnswering": {},
    "BertForMaskedLM": {},
    "BertForPreTraining": {},
}


def saved(name: str, folder: Path, **settings: Any) -> Any:
    """A model of that class with random weights, saved with a tokenizer."""
    kind = getattr(tf, name)
    model = tiny.shaken(kind(kind.config_class(**tiny.BERT | settings)))
    model.save_pretrained(folder)
    tiny.wordpiece().save_pretrained(folder)
    return model


@pytest.mark.parametrize("name", HEADS)
def test_a_model_that_answers_is_loaded_with_its_head(name: str, tmp_path: Path) -> None:
    """Its logits are those that the saved model gives of itself, and labels have their names; of a pair too."""
    model = saved(name, tmp_path, **HEADS[name])
    lens = Lens.from_pretrained(tmp_path)
    assert type(lens.model).__name__ == name and lens.notes == ()
    for texts in (("the [MASK] sat",), ("the [MASK] sat", "it was warm")):
        trace = lens.trace(*texts)
        with torch.no_grad():
            wanted = model(**tiny.wordpiece()(*texts, return_tensors="pt"))
        table = predictions(trace, k=3)
        if "QuestionAnswering" in name:
            sums = wanted.start_logits[0][:, None] + wanted.end_logits[0][None]
            allowed = (~trace.special_mask) & (trace.segments == len(texts) - 1)
            best = sums.masked_fill(~(allowed[:, None] & allowed[None]).triu(), -torch.inf).max()
            assert table.logit[0] == pytest.approx(float(best), abs=1e-5)
            continue
        logits = (wanted.prediction_logits if name == "BertForPreTraining" else wanted.logits)[0]
        first = table.position[0]
        row = logits if first == -1 else logits[first]
        assert table.logit[0] == pytest.approx(float(row.max()), abs=1e-5)
        if labels := HEADS[name].get("id2label"):
            assert table.label[0] == labels[int(row.argmax())]


@pytest.mark.parametrize("name", ["BertForNextSentencePrediction", "BertLMHeadModel", "ElectraForPreTraining"])
def test_a_head_whose_answer_is_not_read_is_named(name: str, tmp_path: Path) -> None:
    saved(name, tmp_path)
    lens = Lens.from_pretrained(tmp_path)
    assert [note for note in lens.notes if "pooler" not in note] == [
        f"config.json names {name}, whose answer is not read here: loaded without its head"
    ]
    assert not any(char in type(lens.model).__name__ for char in ("For", "Head"))


@pytest.mark.parametrize("damage", ["missing", "another shape"])
def test_a_head_that_is_not_whole_is_left_out_and_named(damage: str, tmp_path: Path) -> None:
    """A random head would answer at random."""
    saved("BertForSequenceClassification", tmp_path)
    if damage == "missing":
        without("classifier.")(tmp_path)
    else:
        config(tmp_path, id2label={"0": "a", "1": "b", "2": "c"})
    lens = Lens.from_pretrained(tmp_path)
    assert type(lens.model) is tf.BertModel
    assert lens.notes == (
        "config.json names BertForSequenceClassification, but the checkpoint holds no weights that fit classifier: "
        "loaded without its head",
    )
