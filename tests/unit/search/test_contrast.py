"""The difference of two scores as a sum over the question's words, against loops over the model's own vectors."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

import bertlens as bl
from bertlens.errors import BertLensError, InputError, ModelError, SelectionError
from bertlens.search.contrast import contrast
from bertlens.search.text_words import TextWords
from unit.tiny_encoders import PROMPTS, base, dense, encoder

Q, W, R = (
    "was the cat very warm.",
    "the unbelievable cats sat on the mat.",
    "it was very warm, the cat. unbelievable mat",
)


@cache
def lens_of(**settings: Any) -> bl.Lens:
    """Of a model that no test changes."""
    return bl.Lens(encoder(**settings))


def weighted(model: Any, text: str, mode: str = "mean") -> np.ndarray:
    """(S, D) what each token puts into the pooled vector, from transformers alone, in float64."""
    with torch.no_grad():
        states = model[0].model(**model.tokenizer(text, return_tensors="pt")).last_hidden_state[0].double().numpy()
    n = len(states)
    weights = {"mean": np.full(n, 1 / n), "weightedmean": np.arange(1, n + 1) / (n * (n + 1) / 2)}[mode]
    return weights[:, None] * states


@pytest.mark.parametrize("mode", ["mean", "weightedmean"])
@pytest.mark.parametrize("function", ["cosine", "dot"])
def test_each_row_of_the_question_is_its_formula(function: str, mode: str) -> None:
    """Σ over a word's tokens of q̂ᵢ·ŵ and q̂ᵢ·r̂, with prompts; of dot products nothing is divided."""
    lens: Any = lens_of(mode=mode, similarity_fn_name=function)
    model, found = lens.model, contrast(lens, Q, W, R)
    q, *passages = (
        weighted(model, PROMPTS[task] + text, mode)
        for task, text in zip(("query", *["document"] * 2), (Q, W, R), strict=True)
    )
    columns = []
    for passage in passages:
        scale = 1 / np.linalg.norm(q.sum(0)) / np.linalg.norm(passage.sum(0)) if function == "cosine" else 1
        columns.append([sum(float(i @ j) for j in passage) * scale for i in q])
    table = found.query
    ids = model.tokenizer(PROMPTS["query"] + Q)["input_ids"]
    ends = [*table["at"][1:], len(ids)]
    for name, column in zip(("wrong", "right"), columns, strict=True):
        by_word = [sum(column[start:end]) for start, end in zip(table["at"], ends, strict=True)]
        np.testing.assert_allclose(table[name], by_word, atol=1e-6 * max(1, np.abs(column).sum()))
    np.testing.assert_array_equal(table["difference"], table["wrong"] - table["right"])
    assert list(table["word"]) == ["[CLS]", "was", "it", "warm", "was", "the", "cat", "very", "warm", ".", "[SEP]"]
    query = model.encode_query(Q)
    scores = [float(model.similarity(query, model.encode_document(text))) for text in (W, R)]
    np.testing.assert_allclose(found.scores, scores, rtol=1e-6)
    size = 1e-5 * max(1.0, float(table[["wrong", "right"]].abs().to_numpy().sum()))
    assert found.difference == found.scores[0] - found.scores[1] and abs(found.gap) <= size
    for list_, score in ((found.wrong, scores[0]), (found.right, scores[1])):
        assert list_["part"].sum() == pytest.approx(score, abs=size)
    assert list(found.wrong["word"][-4:]) == ["the", "mat", ".", "[SEP]"]
    norms = [np.linalg.norm(x.sum(0)) for x in (q, *passages)]
    np.testing.assert_allclose(found.norms[["query", "wrong", "right"]], norms, rtol=1e-5)
    assert found.notes == tuple(
        f"{name} is read behind its prompt “{PROMPTS[task]}”."
        for name, task in (
            ("The question", "query"),
            ("The wrong passage", "document"),
            ("The right passage", "document"),
        )
    )


@pytest.mark.parametrize("tail", ["Dense", "Tanh"])
def test_a_dense_module_has_its_biases_as_the_last_row(tail: str) -> None:
    model = encoder(dense(nn.Tanh() if tail == "Tanh" else None), base.Normalize())
    found = contrast(bl.Lens(model), Q, W, R)
    for table in (found.query, found.wrong, found.right):
        assert tuple(table.iloc[-1][["word", "at"]]) == ("bias", -1)
    assert abs(found.gap) < 1e-6 and found.query["difference"].sum() == pytest.approx(found.difference, abs=1e-6)
    assert any("Kept as this run had it" in note for note in found.notes) == (tail == "Tanh")


@pytest.mark.parametrize("mode", ["cls", "mean"])
def test_words_by_what_went_in(mode: str) -> None:
    """Where pooling reads one token it is the split that there is, and its time is the first thing that is said. Its
    rows are those of the matrix of all pairs, which is made token by token."""
    lens = lens_of(mode=mode)
    found = contrast(lens, Q, W, R, of=None if mode != "mean" else "input")
    assert "about three forward passes of each text" in found.notes[0]
    assert found.notes[0].startswith("Its pooling reads one token") == (mode != "mean")
    for name, passage in (("wrong", W), ("right", R)):
        matrix = bl.similarity(lens, Q, passage, ("query", "document")).pairs("input", words=True, progress=False)
        np.testing.assert_allclose(found.query[name], matrix.sum(axis=1), atol=1e-6)
        np.testing.assert_allclose(getattr(found, name)["part"], matrix.sum(axis=0), atol=1e-6)
    assert abs(found.gap) < 1e-6
    if mode != "mean":
        refused = contrast(lens, Q, W, R, of="output")
        with pytest.raises(ModelError, match="pooling reads one token"):
            _ = refused.query
        assert refused.scores == found.scores


@pytest.mark.parametrize("of", ["query", "passages"])
def test_layers_heads_and_kinds_are_splits_of_their_own(of: str) -> None:
    found: Any = contrast(lens_of(), Q, W, R)
    tables = {name: found.by(name, of) for name in ("layer", "head", "kind")}
    for table in tables.values():
        np.testing.assert_allclose(table.sum(), [*found.scores, found.difference], atol=1e-6)
        np.testing.assert_array_equal(table["difference"], table["wrong"] - table["right"])
    assert "L1·H3" in tables["head"].index and "position" in tables["kind"].index
    layer = [row for row in tables["head"].index if row.startswith("L0")]
    np.testing.assert_allclose(tables["head"].loc[layer].sum(), tables["layer"].loc["L0"], atol=1e-9)
    pair = bl.similarity(lens_of(), Q, W, ("query", "document")).by("head")["a" if of == "query" else "b"]
    np.testing.assert_allclose(tables["head"]["wrong"], pair, atol=1e-9)
    with pytest.raises(SelectionError, match="no runs 'wrong': there are 'query' and 'passages'"):
        found.by("head", "wrong")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"similarity_fn_name": "manhattan"}, "the Manhattan distance adds up absolute values"),
        ({"similarity_fn_name": "euclidean"}, "the difference of two distances is no sum over words"),
        ({"mode": "max"}, "max pooling takes each number of the vector from another token"),
        ({"tail": nn.Sigmoid()}, "the Dense module's Sigmoid is no multiple"),
    ],
)
def test_what_has_no_sum_has_its_scores_and_one_sentence(settings: dict[str, Any], message: str) -> None:
    tail = [dense(settings.pop("tail"))] if "tail" in settings else []
    model = encoder(*tail, **settings)
    found = contrast(bl.Lens(model), Q, W, R)
    scores = [float(model.similarity(model.encode_query(Q), model.encode_document(text))) for text in (W, R)]
    np.testing.assert_allclose(found.scores, scores, rtol=1e-5)
    calls = ("query", "wrong", "right", "gap", "named")
    for call in (*(lambda name=name: getattr(found, name) for name in calls), lambda: found.by("head")):
        with pytest.raises(ModelError, match=message) as caught:
            call()
        assert "\n" not in str(caught.value)
    assert found.said.startswith(f"The two scores are no sums over words: {message}") and found.said.endswith(".")
    assert len(found.norms) == 3


def test_the_word_that_is_named_has_the_largest_excess() -> None:
    """Occurrences together, less the same word in the other passage; no template, no prompt, no mark."""
    for function in ("cosine", "dot"):
        found = contrast(lens_of(similarity_fn_name=function), Q, W, R)
        sums = {}
        for name in ("wrong", "right"):
            table = getattr(found, name)
            own = table[(table["at"] >= 3) & table["word"].str.isalpha()]  # behind [CLS] and the prompt
            sums[name] = own.groupby("word")["part"].sum()
        for ours, other in (("wrong", "right"), ("right", "wrong")):
            excess = sums[ours] - sums[other].reindex(sums[ours].index).fillna(0)
            assert found.named_in(ours) == excess.idxmax()
        assert found.named == found.named_in("wrong")
        question = found.query.iloc[4:-2].groupby("word")["difference"].sum()
        assert found.named_in("query") == question.idxmax()
    with pytest.raises(SelectionError, match="no text 'q': there are 'query', 'wrong', 'right'"):
        found.named_in("q")
    with pytest.raises(InputError, match="The question has no word with a letter or a digit"):
        contrast(lens_of(), ". ,", W, R).named_in("query")


def sentence(lens: bl.Lens, *texts: str) -> tuple[Any, str]:
    found = contrast(lens, *texts, tasks=(None, None))
    return found, found.said


def test_the_sentence_says_what_the_lists_say() -> None:
    """Which words of the question prefer the wrong passage, what answers them, and whether the right one has it."""
    lens, lacks, has, none = lens_of(), 0, 0, 0
    for query, wrong, right in [(Q, W, R), (Q, R, W), (Q, "warm cats", W)]:
        found, said = sentence(lens, query, wrong, right)
        table = found.query[found.query["word"].str.isalpha()].groupby("word", sort=False)["difference"].sum()
        best = table[table > 0].nlargest(2)
        if best.empty:
            none += said == "No word of the question prefers the wrong passage."
            continue
        listed = " and ".join(f"“{word}” ({number:+.3f})" for word, number in best.items())
        verb = "prefers" if len(best) == 1 else "prefer"
        total = f"{found.difference:+.3f}".replace("-", "−")
        assert said.startswith(f"{listed} of the question {verb} the wrong passage (in all {total})")
        rows = found.query["word"].isin(best.index).to_numpy()
        answers = []
        for passage in (wrong, right):
            pairs = bl.similarity(lens, query, passage).pairs(words=True)
            parts = pairs[rows].sum()[[name.isalpha() for name in pairs.columns]]
            answers.append(parts.groupby(level=0).sum())
        gains = answers[0] - answers[1].reindex(answers[0].index).fillna(0)
        word = gains.idxmax()
        is_most = answers[0][word] == answers[0].max()
        does = f"answers {'it' if len(best) == 1 else 'them'} most"
        leads = f"leads most{' over the right one' if word in answers[1] else ''}"
        assert f": in that passage “{word}” {does if is_most else leads} ({answers[0][word]:.3f}" in said
        lacks += said.endswith(", which the right one lacks.") and word not in answers[1]
        right = f"{answers[1].get(word, 0):.3f}".replace("-", "−")
        has += word in answers[1] and said.endswith(
            f", in the right one {right}." if is_most else f" against {right})."
        )
    assert (lacks, has, none) == (1, 1, 1)
    _, alike = sentence(lens, Q, W, W)
    assert alike == "Both passages have the same text: no word tells them apart."


def test_a_text_that_is_cut_says_so() -> None:
    found = contrast(lens_of(), Q, "the cat " * 40, R, (None, None))
    assert found.notes == ("The wrong passage is cut to 40 tokens.",) and abs(found.gap) < 1e-6


def test_only_the_text_that_is_rewritten_is_read_again() -> None:
    lens = lens_of()
    found = contrast(lens, Q, W, R)
    for name, at in (("query", 0), ("wrong", 1), ("right", 2)):
        texts = [Q, W, R]
        texts[at] = "it was warm on the mat"
        rewritten, anew = found.rewritten(**{name: texts[at]}), contrast(lens, *texts)
        assert rewritten.scores == anew.scores and rewritten.texts == tuple(texts) and rewritten.of == found.of  # type: ignore[attr-defined]
        np.testing.assert_allclose(rewritten.query["difference"], anew.query["difference"], atol=1e-9)
    assert found.rewritten(wrong=R).scores[1] == found.scores[1]
    assert found.rewritten().scores == found.scores


def test_a_model_that_has_changed_since_is_refused() -> None:
    model = encoder()
    found = contrast(bl.Lens(model), Q, W, R)
    with torch.no_grad():
        next(model.parameters()).mul_(2)
    for call in (lambda: found.query, found.rewritten, lambda: found.by("kind")):
        with pytest.raises(BertLensError, match="changed"):
            call()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((Q, [W], R), "wrong is a string, not list: a contrast is of three texts"),
        ((Q, W, R, "query"), "tasks are two"),
        ((Q, W, R, ("query", "answer")), "no task 'answer'"),
        ((Q, W, R, (None, None), "words"), "no split of 'words': there are 'output', 'input'"),
        (("\ud800", W, R), "query holds half a character"),
    ],
)
def test_what_is_no_contrast_is_refused(arguments: Any, message: str) -> None:
    with pytest.raises(BertLensError, match=message):
        contrast(lens_of(), *arguments)
    with pytest.raises(InputError, match="give a bl"):
        contrast("a model", Q, W, R)


def test_a_bare_encoder_says_how_its_vector_is_made() -> None:
    model = encoder()
    found = contrast(bl.Lens(model[0].model, model.tokenizer), Q, W, R)
    assert found.notes == ("The vector is the mean of all tokens, [CLS] and [SEP] too.",)
    assert repr(found).startswith(f"Contrast({found.scores[0]:.4f} and {found.scores[1]:.4f}, difference ")


def test_words_are_named_without_the_blank_that_is_a_token_of_its_own() -> None:
    words = TextWords.of(["<s>", "␣猫", "␣", "the"], [[0], [1, 2], [3], [4]], [False, True, True, True], True)
    assert words.names == ("<s>", "猫", "␣", "the", "bias") and [*words.by_key] == ["猫", "the"]
