"""What is read of a passage, beside the token ids that the model itself was given."""

from __future__ import annotations

from typing import Any

import pytest
import transformers as tf

import bertlens as bl
from bertlens.search.passage_limits import PassageLimit
from unit import tiny
from unit.tiny_encoders import base, crossed, encoder, folder, st, words

LONG = words(60, 1)  # of 40 tokens that are read, two of the template
QUESTIONS = ("the cat", words(12, 2), words(17, 3))


def late() -> Any:
    from sentence_transformers.multi_vector_encoder import modules as multi

    first = base.Transformer(folder(), document_length=25)
    return st.MultiVectorEncoder(modules=[first, multi.MultiVectorMask([])], device="cpu", prompts={"document": "cat "})


def lens_of(kind: str) -> Any:
    if kind == "plain":
        model = tf.AutoModel.from_pretrained(folder())
        return bl.Lens(model, tf.AutoTokenizer.from_pretrained(folder()))
    lens = bl.Lens({"pooled": encoder, "crossed": crossed, "late": late}[kind.removesuffix(" left")]())
    if kind.endswith("left"):
        lens.tokenizer.truncation_side = "left"
    return lens


def ids_given(lens: Any, question: str, text: str) -> list[int]:
    """What the transformers model was given."""
    given: list[list[int]] = []
    embeddings = lens.borrowed.base.get_input_embeddings()
    hook = embeddings.register_forward_pre_hook(lambda module, ids: given.append(ids[0][0].tolist()))
    if lens.sentences.crosses:
        lens.sentences.predict([(question, text)])
    else:
        lens.encode([text], "document")
    hook.remove()
    return given[-1]


@pytest.mark.parametrize("kind", ["plain", "pooled", "pooled left", "late", "crossed", "crossed left"])
def test_an_excerpt_is_what_the_model_was_given(kind: str) -> None:
    lens = lens_of(kind)
    limit = PassageLimit(lens)
    for question in QUESTIONS:
        for text in (LONG, "the cat sat.", " ".join(["mat"] * 37), ""):
            (excerpt,) = limit.excerpts([text], limit.room(question))
            ids = ids_given(lens, question, text)
            if kind == "pooled left":  # the prompt is the first to go
                inner = lens.tokenizer(excerpt, add_special_tokens=False)["input_ids"]
                assert ids[-1 - len(inner) : -1] == inner and (text != LONG or len(inner) == 38)
            else:
                prompt = "" if lens.sentences.crosses else lens.sentences.prompt("document", None)
                sides = ([question], [excerpt]) if lens.sentences.crosses else ([prompt + excerpt],)
                assert lens.tokenizer(*sides, truncation=False)["input_ids"] == [ids]
            assert excerpt == text if len(text) < 20 else excerpt in text


def test_a_tokenizer_without_offsets() -> None:
    """A tokenizer in Python: the cut is at a word, the one that its last token is of."""
    lens = lens_of("plain")
    limit = PassageLimit(lens)
    slow = type("Slow", (), {"tokenize": lens.tokenizer.tokenize, "truncation_side": "right"})()
    limit._tokenizer = slow  # a private name: no public lens is as small and as slow
    assert limit.excerpts([LONG], 38) == [" ".join(LONG.split()[:38])]


def test_a_model_without_a_limit_reads_all() -> None:
    lens = bl.Lens(tf.AutoModel.from_pretrained(folder()), tiny.wordpiece())
    lens.model.config.max_position_embeddings = -1
    limit = PassageLimit(lens)
    assert limit.room("cat") is None and limit.excerpts([LONG * 9], None) == [LONG * 9]
