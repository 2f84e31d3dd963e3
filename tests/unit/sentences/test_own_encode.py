"""The first trace of an object of sentence-transformers is compared with its own `encode` or `predict`."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from bertlens import Lens, ModelError
from unit import tiny_encoders

TEXT, PAIR = "the cat sat on the mat.", ("was it warm", "it was very warm.")
KINDS = {
    "two towers": (
        lambda: tiny_encoders.encoder(tiny_encoders.dense(torch.nn.Tanh()), default_prompt_name="query"),
        (TEXT,),
    ),
    "cut vectors": (lambda: tiny_encoders.encoder(mode=("mean", "cls"), truncate_dim=20), (TEXT,)),
    "cross": (lambda: tiny_encoders.crossed(3), PAIR),
    "sparse": (tiny_encoders.sparse, (TEXT,)),
    "late": (tiny_encoders.late, (TEXT,)),
}


def runs(model: Any) -> list[tuple[int, ...]]:
    """What the transformers model in it reads from now on, by the attention that is its own."""
    read: list[tuple[int, ...]] = []
    inner = model[0].model

    def note(module: Any, args: Any) -> None:
        if inner.config._attn_implementation == "sdpa":
            read.append(tuple(args[0].shape[:2]))

    inner.base_model.encoder.layer[0].register_forward_pre_hook(note)
    return read


@pytest.mark.parametrize("kind", KINDS)
def test_one_run_of_its_own_without_a_bar_or_a_prompt(kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    make, text = KINDS[kind]
    model = make()
    capsys.readouterr()  # bars of its making
    calls, lens = runs(model.train()), Lens(model)
    first, second = lens.trace(*text), lens.trace(*text)
    assert calls == [(1, first.n_tokens)] and first.has_neurons and not first.report.notes
    assert capsys.readouterr() == ("", "") and all(module.training for module in model.modules())
    torch.testing.assert_close(first.hidden_states[-1], second.hidden_states[-1])
    with torch.no_grad():
        next(model.parameters()).mul_(1.1)
    lens.trace(*text)
    assert len(calls) == 2


@pytest.mark.parametrize("kind", KINDS)
def test_an_answer_that_is_another_is_refused(kind: str) -> None:
    """A patch that the object's own method alone sees, behind the transformers model."""
    make, text = KINDS[kind]
    model = make()
    name = "predict" if kind == "cross" else "encode"
    true = getattr(model, name)

    def patched(*args: Any, **kwargs: Any) -> Any:
        found = true(*args, **kwargs)
        return (
            {key: x + 0.5 if key == "token_embeddings" else x for key, x in found.items()}
            if kind == "late"
            else found * 2
        )

    setattr(model, name, patched)
    with pytest.raises(ModelError, match=r"gives .* where bertlens' run gives .*\(answer\)"):
        Lens(model).trace(*text)


def test_states_that_are_others_in_encode_are_refused() -> None:
    model = tiny_encoders.encoder()
    model[0].model.encoder.layer[1].register_forward_hook(
        lambda module, args, output: output * 1.5 if model[0].model.config._attn_implementation == "sdpa" else output
    )
    with pytest.raises(ModelError, match="take off what hooks"):
        Lens(model).trace(TEXT)


@pytest.mark.parametrize("words", [True, False])
def test_where_encode_reads_no_such_text_the_model_in_it_runs(words: bool) -> None:
    model = tiny_encoders.crossed()
    calls, lens = runs(model), Lens(model)
    trace = lens.trace_words(["the", "cat"]) if words else lens.trace(TEXT)
    assert calls == [(1, trace.n_tokens)] and not trace.report.notes
