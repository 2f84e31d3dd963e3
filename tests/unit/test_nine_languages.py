"""Every view's words: nine languages, three kinds of tokenizer, small random models; numbers against naive code.

One sentence a language here; the treebanks are read by the tests marked `long`.
"""

from __future__ import annotations

import itertools
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers as tf

import bertlens as bl
from bertlens import Lens, plots, survey, whatif
from bertlens.comparison.alignment import align
from bertlens.measures.words import merge_map, units
from bertlens.survey.treebank import ROOT, Sentence, read_treebank
from bertlens.text.encoding import encode
from bertlens.text.word_numbers import stands_apart
from unit import tiny
from unit.nine_languages import KINDS, OTHERS, SENTENCES, tokenizer_of

CELLS = [pytest.param(kind, language, id=f"{kind}-{language}") for kind in KINDS for language in SENTENCES]
OTHER_CELLS = [("Gemma", "en"), ("Gemma", "th"), ("Unigram, no blank before", "hi"), ("Llama", "zh")]
every_cell = pytest.mark.parametrize(("kind", "language"), CELLS)


@cache
def lens_of(kind: str, head: str = "BertForMaskedLM", **settings: Any) -> Lens:
    tokenizer = tokenizer_of(kind)
    torch.manual_seed(0)
    sizes = tiny.BERT | {"num_hidden_layers": 2, "vocab_size": len(tokenizer)} | settings
    return Lens(tiny.shaken(getattr(tf, head)(tf.BertConfig(**sizes))), tokenizer)


def naive_units(trace: Any) -> list[list[int]]:
    """Runs of positions of one word; those of the template alone."""
    lists: list[list[int]] = []
    for at, word in enumerate(trace.word_ids):
        if lists and word is not None and trace.word_ids[lists[-1][-1]] == word:
            lists[-1].append(at)
        else:
            lists.append([at])
    return lists


def naive_map(alpha: np.ndarray, groups: list[list[int]]) -> np.ndarray:
    """Columns of a word summed, its rows averaged, cell by cell."""
    return np.array([[np.mean([sum(alpha[i, j] for j in col) for i in row]) for col in groups] for row in groups])


@every_cell
def test_words_of_a_trace(kind: str, language: str) -> None:
    """trace and trace_words: ids, words, offsets, and maps of words that still sum to 1."""
    lens, (words, text) = lens_of(kind), SENTENCES[language]
    given, joined, natural = lens.trace_words(words), lens.trace(" ".join(words)), lens.trace(text)
    assert given.input_ids.tolist() == joined.input_ids.tolist()
    torch.testing.assert_close(given.attention(1), joined.attention(1))
    assert {*given.word_ids} - {None} == {*range(len(words))}
    for trace in (given, natural):
        alpha = trace.attention(1).double()
        groups = naive_units(trace)
        assert units(trace) == groups
        merged = merge_map(trace, alpha)
        np.testing.assert_allclose(merged[0], naive_map(alpha[0].numpy(), groups), atol=1e-9)
        np.testing.assert_allclose(merged.sum(-1), 1, atol=1e-5)
    letters = {
        (word, place)
        for word, span in zip(given.word_ids, given.offsets, strict=True)
        if word is not None
        for place in range(*span)
    }
    assert letters == {(number, place) for number, word in enumerate(words) for place in range(len(word))}


@pytest.mark.sampled(8)
@pytest.mark.parametrize(("kind", "language"), [*CELLS, *OTHER_CELLS])
def test_a_treebank_measures_the_text(kind: str, language: str) -> None:
    """Word attention and the decisions of heads, from the eager model on the text with a blank between two words."""
    lens, (words, _) = lens_of(kind), SENTENCES[language]
    trace = lens.trace_words(words)
    with torch.no_grad():
        encoded = lens.tokenizer(" ".join(words), return_tensors="pt")
        lens.model.set_attn_implementation("eager")
        alpha = lens.model(**encoded, output_attentions=True).attentions[1][0].double().numpy()
    groups = [[at for at, word in enumerate(trace.word_ids) if word == number] for number in range(len(words))]
    found = survey.word_attention(trace, 1, len(words))
    naive = np.array([[[h[row][:, col].sum(1).mean() for col in groups] for row in groups] for h in alpha])
    np.testing.assert_allclose(found, naive, atol=1e-5)
    sentence = Sentence(words, [ROOT, *range(len(words) - 1)], ["root", *["dep"] * (len(words) - 1)])
    table = survey.relation_scores(lens, [sentence], progress=False)
    row = table.query("relation == 'dep' and direction == 'dep->head' and layer == 1 and head == 0").iloc[0]
    np.fill_diagonal(naive[0], -1)
    assert row.accuracy == np.mean([naive[0][n].argmax() == n - 1 for n in range(1, len(words))])


@pytest.mark.sampled(8)
@every_cell
def test_running_text_is_the_text(kind: str, language: str) -> None:
    """Tokens and the blanks before them, put together again."""
    trace, text = lens_of(kind).trace(SENTENCES[language][1]), SENTENCES[language][1]
    encoding, running = trace.encoding, ""
    place = 0
    for at in range(1, len(encoding) - 1):
        start, end = encoding.offsets[at]
        goes_on = encoding.word_ids[at] == encoding.word_ids[at - 1]
        if at > 1 and not goes_on and stands_apart(encoding.display_tokens, encoding.tokens, encoding.special, at):
            running += " "
        running += text[max(start, place) : end].strip()
        place = max(place, end)
    if kind == "WordPiece" and language in ("tr", "hi"):  # its tokens do not say where blanks stood before signs
        running = running.replace(" ' ", "'").replace(" ।", "।")
    assert running == text
    axes = plots.running_text(trace, 1, 0, query=1, units="words")
    assert len(axes.texts) >= len(units(trace))
    axes.figure.clear()


@every_cell
def test_a_hidden_word_and_a_cut(kind: str, language: str) -> None:
    """Nobody looks at the pieces of a hidden word, and one word not at another that it is cut from; rows sum to 1."""
    trace = lens_of(kind).trace(SENTENCES[language][1])
    groups = [group for group in units(trace) if not trace.special_mask[group[0]]]
    word, other = groups[0], groups[-1]
    hidden = trace.rerun(*(whatif.hide(at) for at in word))
    weights = hidden.attention(1)
    assert float(weights[:, :, word].abs().max()) == 0
    torch.testing.assert_close(weights.sum(-1), torch.ones_like(weights[..., 0]))
    if word != other:
        cut = trace.rerun(*(whatif.cut(0, query=i, key=j) for i, j in itertools.product(word, other)))
        assert float(cut.attention(0)[:, word][:, :, other].abs().max()) == 0


@pytest.mark.parametrize("language", SENTENCES)
@pytest.mark.parametrize(("kind", "rival"), list(itertools.combinations(KINDS, 2)))
def test_two_tokenizers_are_aligned_by_the_letters_of_the_text(kind: str, rival: str, language: str) -> None:
    """All of one text: each unit has its partner, of the same letters; a unit ends where a token of both does."""
    text = SENTENCES[language][1]
    a, b = (lens_of(name).trace(text).encoding for name in (kind, rival))
    alignment = align(a, b, False)
    assert alignment.alone == ((), ()) and not alignment.open
    for encoding, side in ((a, alignment.a), (b, alignment.b)):
        assert sorted(piece for unit in side for piece in unit.pieces) == [*range(len(encoding))]
    names = [unit.name for unit in alignment.a][1:-1]
    assert names == [unit.name for unit in alignment.b][1:-1] and "".join(names) == text.replace(" ", "")
    if language not in ("th", "zh"):
        assert names == text.split()
        return
    ends = [
        {end for _, end in spans if not any(start < end < stop for start, stop in spans)}
        for spans in ([span for span in encoding.offsets if span] for encoding in (a, b))
    ]
    assert [*itertools.accumulate(map(len, names))] == sorted(ends[0] & ends[1])


@pytest.mark.sampled(8)
@every_cell
def test_similarity_by_words(kind: str, language: str) -> None:
    """Cells of words are sums of the tokens' cells, and all sum to the model's number."""
    lens, text = lens_of(kind, "BertModel"), SENTENCES[language][1]
    pair = bl.similarity(lens, text, SENTENCES["en"][1])
    cells, by_word = pair.pairs().to_numpy(), pair.pairs(words=True).to_numpy()
    groups = [naive_units(lens.trace(side)) for side in (text, SENTENCES["en"][1])]
    naive = [[cells[np.ix_(row, col)].sum() for col in groups[1]] for row in groups[0]]
    np.testing.assert_allclose(by_word[: len(groups[0]), : len(groups[1])], naive, atol=1e-9)
    assert by_word.sum() == pytest.approx(pair.value, abs=1e-5)


@pytest.mark.sampled(8)
@pytest.mark.parametrize(("kind", "language"), [*CELLS, *OTHER_CELLS])
def test_tags_of_words(kind: str, language: str) -> None:
    """A word's answer is that at the first token of it in the text with a blank between two words."""
    lens, (words, _) = lens_of(kind, "BertForTokenClassification", num_labels=3), SENTENCES[language]
    names = list(lens.model.config.id2label.values())
    task = bl.task(lens, [(words, [names[0]] * len(words))] * 2)
    with torch.no_grad():
        logits = lens.model(**lens.tokenizer(" ".join(words), return_tensors="pt")).logits[0].numpy()
    starts = [lens.trace_words(words).word_ids.index(number) for number in range(len(words))]
    assert task.table.guess[0] == " ".join(names[k] for k in logits[starts].argmax(1))


TREEBANKS = {language: f"pud_world/{language}_pud-ud-test.conllu.gz" for language in SENTENCES if language != "en"}


@pytest.mark.long
@pytest.mark.data
@pytest.mark.parametrize("kind", [*KINDS, *OTHERS])
def test_words_of_treebanks(kind: str, data: Path) -> None:
    """A hundred sentences a language: ids are the text's, and letters are each of a token of their own word."""
    tokenizer = tokenizer_of(kind)
    english = next((data / "ud_english").glob("*pud*.conllu*"))
    for path in (english, *(data / name for name in TREEBANKS.values())):
        for sentence in itertools.islice(read_treebank(path), 100):
            words = list(sentence.words)
            encoding, running = (encode(tokenizer, text, limit=None) for text in (words, " ".join(words)))
            assert encoding.input_ids == running.input_ids
            if encoding.offsets is None:
                assert {*encoding.word_ids} - {None} == {*range(len(words))}
                continue
            pairs = [pair for pair in zip(encoding.word_ids, encoding.offsets, strict=True) if pair[0] is not None]
            letters = {(word, place) for word, span in pairs for place in range(*span)}
            lost = {(number, at) for number, word in enumerate(words) for at in range(len(word))} - letters
            assert len(lost) == len(encoding.report.without_token)
            assert all(
                ord(words[number][at]) in (0xFFFD, 0xAD) or words[number][at] in "\u200b\u200c\u200d\u200e\ufeff"
                for number, at in lost
            )
