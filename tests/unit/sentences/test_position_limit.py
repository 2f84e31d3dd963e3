"""max_seq_length beyond the positions of a model: one sentence wherever a text is encoded, and its advice works."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

import bertlens as bl
from bertlens.errors import ModelError
from unit import tiny
from unit.tiny_encoders import base, crossed, encoder, late, of_family, sparse

LONG = "the cat sat " * 50
QUIET: dict[str, Any] = {"progress": False}


def search(lens: bl.Lens, **given: Any) -> Any:
    return bl.retrieval(lens, {"q": "who sat"}, {"a": LONG, "b": "it"}, {"q": ["a"]}, keep=False, **QUIET, **given)


CALLS: dict[str, Callable[[bl.Lens], Any]] = {
    "encode": lambda lens: lens.encode(LONG),
    "similarity": lambda lens: lens.similarity("it", LONG),
    "why": lambda lens: bl.similarity(lens, "it", LONG),
    "rank": lambda lens: bl.rank(lens, "who sat", [LONG, "it"], **QUIET),
    "retrieval": search,
}
CROSSED: dict[str, Callable[[bl.Lens], Any]] = {
    "similarity": lambda lens: lens.similarity("it", LONG),
    "predict": lambda lens: lens.sentences.predict([("it", LONG)]),  # type: ignore[union-attr]
    "rank": CALLS["rank"],
    "retrieval": lambda lens: search(lens, first_stage=bl.Lens(encoder())),
}


def beyond(model: Any) -> Any:
    model.max_seq_length = 512
    return model


@pytest.mark.parametrize(
    ("make", "call"),
    [
        *((make, call) for make in (encoder, late, sparse) for call in CALLS.values()),
        *((crossed, call) for call in CROSSED.values()),
    ],
)
def test_a_longer_input_is_one_sentence_and_its_advice_works(make: Any, call: Any) -> None:
    model = beyond(make())
    lens = bl.Lens(model)
    assert lens.limit == 64
    with pytest.raises(ModelError, match=r"has \d+ tokens, .* for 64, though its max_seq_length is 512: set max_seq_l"):
        call(lens)
    model.max_seq_length = 64
    call(bl.Lens(model))


def test_what_fits_is_read_and_hooks_are_gone() -> None:
    lens, plain = bl.Lens(beyond(encoder())), encoder()
    text = "cat " * 50
    plain.max_seq_length = 64
    torch.testing.assert_close(lens.encode(text).cpu(), plain.encode(text, convert_to_tensor=True).cpu())
    with pytest.raises(ModelError):
        lens.encode(LONG)
    assert not lens.model[0]._forward_pre_hooks  # type: ignore[index, union-attr]


@pytest.mark.parametrize(("family", "limit"), [("roberta", 64), ("gpt2", 64), ("ibert", 64), ("xlm", 64)])
def test_the_true_limit_of_other_tables(family: str, limit: int, tmp_path: Path) -> None:
    """By a run: as many tokens are read, one more is refused."""
    model = beyond(of_family(family, tmp_path))
    lens = bl.Lens(model)
    assert lens.limit == limit
    words = next(n for n in range(limit + 2) if len(model.tokenizer(" cat" * (n + 1))["input_ids"]) > limit)
    assert lens.encode(" cat" * words).isfinite().all()
    with pytest.raises(ModelError, match=f"positions for {limit}, though its max_seq_length is 512"):
        lens.encode(" cat" * (words + 1))


@pytest.mark.parametrize("family", ["esm", "modernbert", "t5 encoder"])
def test_a_model_without_a_table_reads_on(family: str, tmp_path: Path) -> None:
    model = beyond(of_family(family, tmp_path))
    lens = bl.Lens(model)
    torch.testing.assert_close(lens.encode(LONG).cpu(), model.encode(LONG, convert_to_tensor=True).cpu())


def test_another_error_of_a_pass_stays_what_it_is() -> None:
    model = beyond(encoder())

    def broken(*_: Any) -> None:
        raise RuntimeError("mine")

    model[0].register_forward_hook(broken)
    with pytest.raises(RuntimeError, match=r"^mine$"):
        bl.Lens(model).encode("the cat")


def test_queries_of_late_interaction_name_their_own_length() -> None:
    model = late()
    model[0].query_length = 100
    lens = bl.Lens(model)
    with pytest.raises(ModelError, match="though its query_length is 100: set query_length to 64"):
        lens.encode(LONG, task="query")
    assert isinstance(model[0], base.Transformer) and tiny.BERT["max_position_embeddings"] == 64
