"""A blank before the mask: where it is a token of its own, the mask that hides a word takes its place."""

from __future__ import annotations

from typing import Any

import pytest
from tokenizers import AddedToken

from bertlens.text.tokenizer import blank_stays, tokenise
from unit import tiny

TEXTS = ("the cat sat on the mat", "tired cats, warm mats")


def stripped() -> Any:
    tokenizer = tiny.byte_level(True)
    tokenizer.add_special_tokens({"mask_token": AddedToken("<mask>", lstrip=True, special=True)})
    return tokenizer


@pytest.mark.parametrize(
    ("make", "stays"), [(tiny.wordpiece, False), (lambda: tiny.byte_level(True), True), (stripped, False)]
)
def test_a_hidden_word_has_the_ids_of_the_text_with_masks_in_its_place(make: Any, stays: bool) -> None:
    """Each word, in the text that the page writes (`replaced` of js/src/front/sentence/verbs.tsx)."""
    tokenizer = make()
    mask = tokenizer.mask_token
    assert blank_stays(tokenizer, mask) is stays
    for text in TEXTS:
        pieces = tokenise(tokenizer, [text], None)
        words = text.replace(",", " ").split()
        for word in words:
            start = text.index(word)
            end = start + len(word)
            of_word = [
                at
                for at, (a, b) in enumerate(pieces.offsets or [])
                if pieces.sequences[at] is not None and b > a and start < b <= end and a >= start - 1
            ]
            joined = stays and text[start - 1 : start] == " "
            hidden = text[: start - joined] + mask * len(of_word) + text[end:]
            wanted = [tokenizer.mask_token_id if at in of_word else one for at, one in enumerate(pieces.input_ids)]
            assert tokenise(tokenizer, [hidden], None).input_ids == wanted, (word, hidden)
