"""Would a masked model find a word again? Each word hidden in a run of its own, and what the model says in its place.

The probability of each word given all others: the terms of the pseudo-log-likelihood (Salazar et al. 2020, section 2),
of whole words: the pieces of one are hidden together (Kauf and Ivanova 2023).
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from math import prod

from ..base.limits import HEADS_WORK, STEP_WORK
from ..base.vocabulary import phrases
from ..errors import ModelError
from ..measures.answer_words import namer
from ..measures.predictions import kind_of, words_of
from ..measures.rows import Here
from ..measures.words import lettered
from ..run.forward import output_of
from ..run.interventions import Run
from ..trace.trace import Trace
from .sweeps import batches, work


@dataclass(frozen=True)
class ClozeWord:
    """A word of a text, and what a model says where it is hidden, all of its pieces at once.

    pieces: tokens. probability: of the word, in [0, 1]: the product of those of its pieces, each at its place.
    guess: what is likeliest at its first piece, as people write it, and how likely that is.
    """

    pieces: list[int]
    probability: float
    guess: str
    guess_probability: float


def cloze_words(here: Here) -> Generator[float, None, list[ClozeWord]]:
    """Each word that has a letter or a digit and is no unknown token, in the order of the text: a run of the whole
    model each, in batches, as the run shown, changes included. Yields the share that is done. Raises ModelError as
    `why_not` says."""
    if reason := why_not(here()):
        raise ModelError(reason)
    answers: list[ClozeWord] = []
    groups = batches(here(), _words(here()), STEP_WORK)
    for n, group in enumerate(groups):
        answers += _answers(here(), group)
        if n + 1 < len(groups):
            yield (n + 1) / len(groups)
    return answers


def why_not(trace: Trace) -> str:
    """Why no word is hidden, in one sentence; "" where each may be. Raises ModelError where the model has no answer."""
    if kind_of(trace) != "words":
        return phrases.NO_WORDS.format(model=trace.model_name)
    if getattr(trace.borrowed.tokenizer, "mask_token_id", None) is None:
        return phrases.NO_MASK_TOKEN.format(model=trace.model_name)
    words = _words(trace)
    if not words:
        return phrases.NO_WORD_TO_HIDE
    return phrases.WORDS_LONG.format(words=len(words)) if work(trace, len(words)) > HEADS_WORK else ""


def is_plain(trace: Trace) -> bool:
    """Whether the model names hidden words and none of this text is hidden."""
    if kind_of(trace) != "words":
        return False
    mask = getattr(trace.borrowed.tokenizer, "mask_token_id", None)
    return mask is not None and mask not in trace.input_ids.tolist()


def _words(trace: Trace) -> list[list[int]]:
    tokenizer, ids = trace.borrowed.tokenizer, trace.input_ids.tolist()
    unnamed = {tokenizer.mask_token_id, tokenizer.unk_token_id}  # a token of many words is not found again
    return [pieces for pieces in lettered(trace) if all(ids[piece] not in unnamed for piece in pieces)]


def _answers(trace: Trace, words: Sequence[list[int]]) -> list[ClozeWord]:
    inputs = trace.inputs(len(words))
    for row, pieces in zip(inputs["input_ids"], words, strict=True):
        row[pieces] = trace.borrowed.tokenizer.mask_token_id
    logits = words_of(output_of(trace.borrowed, inputs, Run([trace.changes] * len(words))))
    answers = []
    for row, pieces in zip(logits, words, strict=True):
        chances = row[pieces].double().softmax(-1)
        own = chances.gather(1, trace.input_ids[pieces, None].to(chances.device))[:, 0].tolist()
        guess = int(chances[0].argmax())
        answers.append(ClozeWord(pieces, prod(own), namer(trace, pieces[0])(guess), float(chances[0, guess])))
    return answers
