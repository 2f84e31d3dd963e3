"""Vectors and scores against sentence-transformers itself, on small models built here; what is declined; what stays."""

from __future__ import annotations

import copy
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

import bertlens as bl
from bertlens.errors import InputError, ModelError
from bertlens.sentences import folders
from unit import tiny
from unit.tiny_encoders import MODES, TEXTS, base, crossed, dense, encoder, folder, parts, st, words

ROOT = Path(__file__).resolve().parents[3]


def close(found: Any, expected: Any, bound: float = 1e-5) -> None:
    found, expected = torch.as_tensor(found), torch.as_tensor(expected)
    assert found.shape == expected.shape
    assert ((found - expected).abs() <= bound * expected.abs().clamp(min=1)).all()


def pooled(model: Any, text: str, task: str | None, mode: Any = None) -> torch.Tensor:
    """The vector of a text from transformers alone, by a loop over the tokens: no pooling of either package."""
    prompt = model.prompts[task] if task else ""
    inputs = model.tokenizer(prompt + text, return_tensors="pt", truncation=True, max_length=model.max_seq_length)
    with torch.no_grad():
        states = model[0].model(**inputs).last_hidden_state[0]
    skipped = 0 if model[1].include_prompt else len(model.tokenizer(prompt)["input_ids"]) - 1 if prompt else 0
    kept = list(range(skipped, len(states)))
    total, weights = sum(states[i] for i in kept), sum(i + 1 for i in kept)
    known = {
        "cls": states[kept[0]],
        "lasttoken": states[-1],
        "max": states[kept].max(0).values,
        "mean": total / len(kept),
        "mean_sqrt_len_tokens": total / len(kept) ** 0.5,
        "weightedmean": sum((i + 1) * states[i] for i in kept) / weights,
    }
    return torch.cat([known[name] for name in ([mode] if isinstance(mode, str) else mode)])


@pytest.mark.sampled(4)
@pytest.mark.parametrize("include_prompt", [True, False])
@pytest.mark.parametrize("mode", [*MODES, ("mean", "cls", "max")])
def test_every_pooling_and_task_is_the_models_own(mode: Any, include_prompt: bool) -> None:
    model = encoder(mode=mode, include_prompt=include_prompt)
    lens = bl.Lens(model)
    texts = [*TEXTS, words(60, 1)]  # the last is cut
    for task, call in ((None, model.encode), ("query", model.encode_query), ("document", model.encode_document)):
        close(lens.encode(texts, task, batch_size=2), call(texts))
        close(lens.encode(texts[0], task), pooled(model, texts[0], task, mode))
        close(lens.encode(texts, task)[-1], pooled(model, texts[-1], task, mode))
        for text in (texts[0], texts[-1]):
            read = lens.sentences.read(text, task)
            assert len(read.input_ids) == min(40, len(model.tokenizer(read.text)["input_ids"]))
            keep = torch.arange(len(read.input_ids)) >= read.left_out
            close(lens.sentences.vectors(read.states[None], keep[None])[0], pooled(model, text, task, mode))
    close(lens.encode(texts, prompt_name="odd"), model.encode(texts, prompt_name="odd"))
    close(lens.encode(texts, "query", "odd"), model.encode_query(texts, prompt_name="odd"))


def test_a_default_prompt_is_used_as_the_model_does() -> None:
    model = encoder(prompts={"odd": "very "}, default_prompt_name="odd")
    lens = bl.Lens(model)
    for task, call in ((None, model.encode), ("query", model.encode_query), ("document", model.encode_document)):
        close(lens.encode(TEXTS, task), call(TEXTS))
        read = lens.sentences.read("cats", task)
        assert list(read.input_ids) == model.tokenizer(read.text)["input_ids"]
        assert read.prompt == ("" if task else "very ")  # the package gives every model empty ones for the two tasks


@pytest.mark.parametrize("function", ["cosine", "dot", "euclidean", "manhattan"])
def test_every_similarity_function_is_the_models_own(function: str) -> None:
    model = encoder(dense(nn.Tanh()), parts.LayerNorm(24), base.Normalize(), similarity_fn_name=function)
    lens = bl.Lens(model)
    vectors = model.encode(TEXTS)
    expected = model.similarity(vectors, vectors[:2])
    close(lens.similarity(TEXTS, TEXTS[:2]), expected)
    close(lens.similarity(lens.encode(TEXTS), lens.encode(TEXTS[:2])), expected)
    close(lens.similarity(vectors, vectors[0]), model.similarity(vectors, vectors[0]))


def test_in_double_precision_and_in_half() -> None:
    model = encoder(dense(nn.Tanh()), truncate_dim=7).double()
    close(bl.Lens(model).encode(TEXTS), model.encode(TEXTS), 1e-10)
    assert bl.Lens(model).encode("cats").shape == (7,) and bl.Lens(model).encode("cats").dtype == torch.float64
    model = encoder().bfloat16()
    close(bl.Lens(model).encode(TEXTS).float(), model.encode(TEXTS, convert_to_tensor=True).float(), 2**-7)


def test_a_cross_encoders_score_has_its_activation() -> None:
    model = crossed()
    lens = bl.Lens(model)
    pairs = [(one, other) for one in TEXTS[:2] for other in TEXTS]
    close(lens.similarity(TEXTS[:2], TEXTS).flatten(), model.predict(pairs))
    logits = model.model(**model.tokenizer(*pairs[1], return_tensors="pt")).logits[0, 0].detach()
    close(lens.similarity(*pairs[1])[0, 0], torch.sigmoid(logits))
    close(lens.trace(*pairs[1]).output.logits[0, 0], logits)
    many = crossed(3, activation_fn=nn.Softmax(-1))
    close(bl.Lens(many).similarity(TEXTS[:2], TEXTS).flatten(0, 1), many.predict(pairs))
    head = dense(None, out=1, module_output_name="scores")
    pooling = st.CrossEncoder(modules=[base.Transformer(folder()), parts.Pooling(32, "cls"), head], device="cpu")
    close(bl.Lens(pooling).similarity(TEXTS[:2], TEXTS).flatten(), pooling.predict(pairs))
    for call in (lambda: lens.encode("cats"), lambda: bl.similarity(lens, "cats", "cat")):
        with pytest.raises(ModelError, match="a cross-encoder reads two texts as one input"):
            call()
    with pytest.raises(InputError, match="a cross-encoder"):
        lens.similarity(torch.ones(2), torch.ones(2))


def state_of(model: Any) -> Any:
    """Whatever of an object a call might change."""
    modules = list(model.modules())
    backend = model.tokenizer.backend_tokenizer
    return (
        [part.training for part in modules],
        [(len(part._forward_hooks), len(part._forward_pre_hooks)) for part in modules],  # torch's own names
        [(p.dtype, p.device, p.requires_grad, p.grad, p.data_ptr()) for p in model.parameters()],
        model[0].model.config._attn_implementation,  # transformers' own
        copy.deepcopy((backend.padding, backend.truncation, model.max_seq_length)),
    )


@pytest.mark.parametrize("make", [lambda: encoder(dense(nn.Tanh())), crossed])
def test_the_object_comes_back_as_it_was(make: Any) -> None:
    model = make().train()
    next(model[0].model.modules()).eval()
    model[0].register_forward_hook(lambda *call: None)
    model.tokenizer.backend_tokenizer.enable_truncation(17)
    before = state_of(model)
    lens = bl.Lens(model)
    lens.trace("the cat")
    lens.similarity(TEXTS, TEXTS[:1])
    if not lens.sentences.crosses:
        bl.similarity(lens, *TEXTS[:2]).effects()
        assert lens.encode(TEXTS).requires_grad_().requires_grad  # no tensor of inference mode
    assert state_of(model) == before and lens.model is model


def test_no_tokenizer_is_needed_and_another_is_refused() -> None:
    model = encoder()
    assert bl.Lens(model).tokenizer is model.tokenizer and bl.Lens(model).limit == 40
    trace = bl.Lens(model, model.tokenizer).trace("the cat")
    assert torch.equal(trace.attention(1), bl.Lens(model[0].model, model.tokenizer).trace("the cat").attention(1))
    with pytest.raises(ModelError, match="has its own tokenizer"):
        bl.Lens(model, tiny.wordpiece())
    with pytest.raises(ModelError, match="needs a transformers tokenizer, not NoneType"):
        bl.Lens(tiny.bert())


def declined() -> dict[str, Any]:
    first = base.Transformer(folder())
    pooling = parts.Pooling(32)
    static = parts.StaticEmbedding(tiny.wordpiece().backend_tokenizer, embedding_dim=8)
    routed = base.Router.for_query_document([first], [first])
    by_token = base.Dense(32, 8, module_input_name="token_embeddings")
    weighted = parts.WordWeights(list(tiny.VOCABULARY), {})
    return {
        "StaticEmbedding": lambda: st.SentenceTransformer(modules=[static], device="cpu"),
        "Router": lambda: st.SentenceTransformer(modules=[routed, pooling], device="cpu"),
        "Dense of tokens": lambda: st.SentenceTransformer(modules=[first, pooling, by_token], device="cpu"),
        "WordWeights": lambda: st.SentenceTransformer(modules=[first, weighted, pooling], device="cpu"),
        "CNN": lambda: encoder(parts.CNN(32)),
        "no Pooling": lambda: st.SentenceTransformer(modules=[first], device="cpu"),
        "Pooling is not": lambda: pooling,
    }


@pytest.mark.parametrize("name", declined())
def test_what_is_not_known_is_declined_by_name(name: str) -> None:
    with pytest.raises(ModelError, match=name) as caught:
        bl.Lens(declined()[name]())
    assert "\n" not in str(caught.value) and ". " not in str(caught.value)


def test_what_cannot_be_meant_is_one_sentence() -> None:
    lens = bl.Lens(encoder())
    for call, message in (
        (lambda: lens.encode(TEXTS, "search"), "no task 'search'"),
        (lambda: lens.encode(TEXTS, prompt_name="none"), "no prompt 'none': this model has 'query'"),
        (lambda: lens.encode([]), "at least one"),
        (lambda: lens.encode([1]), "a string or a list of strings"),
        (lambda: lens.similarity("cats", torch.ones(32)), "texts and texts, or of vectors"),
        (lambda: bl.similarity(lens, TEXTS, "cats"), "two strings"),
        (lambda: bl.similarity(lens, "cats", "cats", "query"), "tasks are two"),
    ):
        with pytest.raises(InputError, match=message):
            call()


def test_a_saved_folder_is_the_object_again(tmp_path: Path, monkeypatch: Any) -> None:
    model = encoder(dense(nn.GELU()), base.Normalize(), mode="weightedmean", similarity_fn_name="dot")
    model.save_pretrained(str(tmp_path / "mine"))
    lens = bl.Lens.from_pretrained(tmp_path / "mine")
    close(lens.encode(TEXTS, "query"), model.encode_query(TEXTS))
    assert lens.sentences.function == "dot" and not isinstance(lens.model, type(model[0].model))
    assert bl.Lens.from_pretrained(tmp_path / "mine", dtype=torch.float64).encode("cats").dtype == torch.float64
    crossed().save_pretrained(str(tmp_path / "crossed"))
    close(bl.Lens.from_pretrained(tmp_path / "crossed").similarity(*TEXTS[:2]), crossed().predict([TEXTS[:2]])[:, None])
    monkeypatch.setattr(folders, "find_spec", lambda name: None)
    with pytest.raises(ModelError, match=r"mine is a sentence encoder.*pip install sentence-transformers"):
        bl.Lens.from_pretrained(tmp_path / "mine")


CODE = """
import sys, bertlens as bl
from bertlens.sentences import folders
if sys.argv[1] == "absent":
    folders.find_spec = lambda name: None
try:
    lens = bl.Lens.from_pretrained("my/encoder")
    print(lens.model_name, type(lens.model).__name__, *lens.encode("the cat")[:3].tolist())
except bl.BertLensError as error:
    print(error)
"""


def from_hub(tmp_path: Path, model: Any, package: str = "") -> str:
    """What a process without network says of a hub's name, whose files were downloaded before."""
    snapshot = tmp_path / "hub" / "models--my--encoder" / "snapshots" / ("0" * 40)
    if not snapshot.exists():
        model.save_pretrained(str(snapshot))
        (snapshot.parents[1] / "refs").mkdir()
        (snapshot.parents[1] / "refs" / "main").write_text("0" * 40)
    environment = os.environ | {"HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path)}
    command = [sys.executable, "-c", CODE, package]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=120, check=True)
    return done.stdout.strip()


@pytest.mark.slow
@pytest.mark.sampled(5, of="processes")
@pytest.mark.parametrize("package", ["present", "absent"])
def test_a_name_of_the_hub_is_the_object_too_or_one_error(tmp_path: Path, package: str) -> None:
    model = encoder(dense(nn.GELU()), mode="cls")
    said = from_hub(tmp_path, model, package)
    if package == "present":
        name, kind, *numbers = said.split()
        assert (name, kind) == ("my/encoder", "SentenceTransformer")
        close([float(x) for x in numbers], model.encode("the cat")[:3])
    else:
        assert said.startswith("my/encoder is a sentence encoder") and "pip install sentence-transformers" in said
        assert "\n" not in said


def test_a_hub_says_whether_a_name_is_a_sentence_encoder(monkeypatch: Any) -> None:
    import huggingface_hub
    from huggingface_hub import errors

    def answer(address: str, **_options: Any) -> Any:
        asked.append(address)
        if "bare" in address:
            raise errors.EntryNotFoundError("404")

    asked: list[str] = []
    monkeypatch.setattr(huggingface_hub, "get_hf_file_metadata", answer)
    assert folders.is_sentence_encoder("my/encoder", "v2") and not folders.is_sentence_encoder("my/bare")
    assert asked[0].endswith("my/encoder/resolve/v2/modules.json")
    assert not folders.is_sentence_encoder("no name/of a/model")


def test_the_package_is_imported_for_its_own_folders_alone() -> None:
    importing = re.compile(r"^\s*(?:from|import) sentence_transformers|import_module\(PACKAGE\)", re.MULTILINE)
    files = (ROOT / "bertlens").rglob("*.py")
    assert [path.name for path in files if importing.search(path.read_text(encoding="utf-8"))] == ["folders.py"]


def test_an_encoder_without_the_package_is_pooled_by_the_mean_and_says_so(embedded_lens: Any) -> None:
    vectors = embedded_lens.encode(["A cat sat.", "Dogs sleep at night."])
    for text, vector in zip(["A cat sat.", "Dogs sleep at night."], vectors, strict=True):
        close(vector, embedded_lens.trace(text).output.last_hidden_state[0].mean(0))
    [[cosine]] = embedded_lens.similarity("A cat sat.", "Dogs sleep at night.").tolist()
    assert cosine == pytest.approx(float(torch.cosine_similarity(*vectors, dim=0)), abs=1e-6)
    found = bl.similarity(embedded_lens, "A cat sat.", "Dogs sleep at night.")
    assert found.notes[
        0
    ] == "The vector is the mean of all tokens, [CLS] and [SEP] too." and found.value == pytest.approx(cosine, abs=1e-6)
