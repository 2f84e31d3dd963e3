"""What two runs answer: numbers against the model's own output in float64, sentences against the numbers."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
import transformers as tf

import bertlens as bl
from bertlens import Lens, Trace, whatif
from unit import tiny

TWO = ("the cat sat on the mat", "the dog was warm .")


def lens_of(kind: Any, seed: int = 0, **settings: Any) -> Lens:
    return Lens(tiny.shaken(kind(tf.BertConfig(**tiny.BERT, **settings)), seed).double().eval(), tiny.wordpiece())


def output(lens: Lens, *texts: str) -> Any:
    """Of transformers alone."""
    with torch.no_grad():
        return lens.model(**lens.tokenizer(*texts, return_tensors="pt"))


def both(lens: Lens, *texts: str, **options: Any) -> Any:
    return bl.compare(*(lens.trace(text) for text in texts)).answers(**options)


def vector(lens: Lens, text: str) -> torch.Tensor:
    return output(lens, text).last_hidden_state[0].mean(0)


def test_labels() -> None:
    lens = lens_of(tf.BertForSequenceClassification, num_labels=3)
    found = both(lens, *TWO)
    chances = [output(lens, text).logits[0].softmax(-1) for text in TWO]
    assert found.unit == "probability" and len(found.rows) == 3
    for row in found.rows:
        n = int(row.name.removeprefix("LABEL_"))
        assert (row.where, row.a, row.b) == (
            "",
            pytest.approx(float(chances[0][n])),
            pytest.approx(float(chances[1][n])),
        )
    first = found.rows[0]
    assert first.a == pytest.approx(float(chances[0].max()))
    names = [f"LABEL_{int(chance.argmax())}" for chance in chances]
    if names[0] == names[1]:
        assert found.said == f"Answer: “{names[0]}” in both, {first.a:.3f} in a, {first.b:.3f} in b."
    else:
        assert (
            found.said
            == f"Answer: “{names[0]}” in a ({chances[0].max():.3f}), “{names[1]}” in b ({chances[1].max():.3f})."
        )


def test_a_regression_has_outputs() -> None:
    lens = lens_of(tf.BertForSequenceClassification, num_labels=1)
    found = both(lens, *TWO)
    assert found.unit == "output" and [row.name for row in found.rows] == ["LABEL_0"]
    numbers = [float(output(lens, text).logits) for text in TWO]
    assert [found.rows[0].a, found.rows[0].b] == pytest.approx(numbers)
    assert found.said == "Output: {:.3f} in a, {:.3f} in b.".format(*numbers)


def test_words_at_masks() -> None:
    lens = lens_of(tf.BertForMaskedLM)
    texts = ("the [MASK] sat", "the cat was [MASK] on [MASK]")
    found = both(lens, *texts, k=2)
    names = lens.tokenizer.convert_ids_to_tokens
    at = [output(lens, text).logits[0].softmax(-1)[place] for text, place in zip(texts, (2, 4), strict=True)]
    second = output(lens, texts[1]).logits[0].softmax(-1)[6]
    best = [names(int(one.argmax())) for one in (*at, second)]
    assert found.said.startswith("At [MASK] 1 of 2: “") and best[0] in found.said and best[1] in found.said
    assert f"({at[0].max():.3f})" in found.said or f"{at[0].max():.3f} in a" in found.said
    for row in found.rows:
        n = lens.tokenizer.convert_tokens_to_ids(row.name)
        if row.where == "[MASK] 1":
            assert (row.a, row.b) == (pytest.approx(float(at[0][n])), pytest.approx(float(at[1][n])))
        else:
            assert row.where == "[MASK] 2" and math.isnan(row.a) and row.b == pytest.approx(float(second[n]))
    alone = both(lens, texts[0], "the cat")
    assert alone.said == f"At [MASK]: “{best[0]}” in a ({at[0].max():.3f}), text b has none."
    assert both(lens, "the cat", texts[0]).said == f"At [MASK]: text a has none, “{best[0]}” in b ({at[0].max():.3f})."
    assert both(lens, *TWO).said == "" and both(lens, *TWO).rows == ()


def test_the_sentence_is_of_the_first_mask_that_differs() -> None:
    lens = lens_of(tf.BertForMaskedLM)
    text = "the [MASK] sat on [MASK]"
    same = both(lens, text, text)
    assert same.said.startswith("At [MASK] 1 of 2: “") and "in both" in same.said  # none differs
    best = lambda text: [place.argmax() for place in output(lens, text).logits[0][[2, 5]]]  # noqa: E731
    others = [f"the [MASK] {word} on [MASK] {end}" for word in ("sat", "was", "cat") for end in (".", "mat", "warm")]
    for other in others:
        found = both(lens, text, other)
        differ = [int(a) != int(b) for a, b in zip(best(text), best(other), strict=True)]
        assert found.said.startswith(f"At [MASK] {2 if differ == [False, True] else 1} of 2: ")


def test_a_pair_has_a_similarity_and_one_text_a_vector() -> None:
    lens = Lens(tiny.shaken(tiny.bert()).double(), tiny.wordpiece())
    one, other = lens.trace(*TWO), lens.trace(TWO[0], "the cat sat")
    found = bl.compare(one, other).answers()
    cosines = [
        float(torch.cosine_similarity(vector(lens, a), vector(lens, b), 0))
        for a, b in ((TWO[0], TWO[1]), (TWO[0], "the cat sat"))
    ]
    assert (found.rows[0].a, found.rows[0].b) == (pytest.approx(cosines[0]), pytest.approx(cosines[1]))
    assert found.said == f"Similarity of the two sentences: {cosines[0]:.3f} in a, {cosines[1]:.3f} in b."
    apart = bl.compare(one, lens.trace(TWO[1])).answers()  # a pair beside one text
    between = float(torch.cosine_similarity(output(lens, *TWO).last_hidden_state[0].mean(0), vector(lens, TWO[1]), 0))
    assert apart.rows[0].b == pytest.approx(between) and math.isnan(apart.rows[0].a)
    assert apart.said == f"The vectors of a and b are alike by {between:.3f} (cosine; 1 = the same direction)."


def test_nothing_is_said_of_answers_that_cannot_be_compared() -> None:
    encoder, other = (Lens(tiny.shaken(tiny.bert(), seed).double(), tiny.wordpiece()) for seed in (0, 5))
    mlm = lens_of(tf.BertForMaskedLM)
    given = [Trace.from_attentions([torch.full((1, 2, 2), 0.5)], ["a", "b"]) for _ in "ab"]
    two_trainings = bl.compare(encoder.trace("the cat"), other.trace("the mat"))
    assert not two_trainings.same_heads
    for c in (two_trainings, bl.compare(*given), bl.compare(encoder.trace("the cat"), mlm.trace("the [MASK]"))):
        assert c.answers() == bl.comparison.answer_pairs.NOTHING


def test_tags_of_aligned_words_and_the_best_spans() -> None:
    lens = lens_of(tf.BertForTokenClassification, num_labels=3)
    texts = ("the cat sat on the mat", "the dog sat on the warm mat")
    c = bl.compare(*(lens.trace(text) for text in texts))
    found = c.answers(k=9)
    chances = [output(lens, text).logits[0].softmax(-1) for text in texts]
    pairs = [(i, j) for i, j in c.queries.shared if not c.a.special_mask[i]]
    others = sum(int(chances[0][i].argmax()) != int(chances[1][j].argmax()) for i, j in pairs)
    assert found.said == f"{others} of {len(pairs)} aligned tokens get another label in b than in a."
    numbers = {
        f"{c.queries.a[i].name} ({i})": chances[0][i].max() - chances[1][j][chances[0][i].argmax()] for i, j in pairs
    }
    assert {row.where: row.a - row.b for row in found.rows} == pytest.approx({k: float(v) for k, v in numbers.items()})
    spans = both(lens_of(tf.BertForQuestionAnswering), *TWO, k=1)
    assert spans.unit == "probability" and spans.said.startswith("Answer: “") and 1 <= len(spans.rows) <= 2


def test_a_changed_run_beside_its_original() -> None:
    lens = lens_of(tf.BertForSequenceClassification, num_labels=3)
    trace = lens.trace(TWO[0])
    changed = trace.rerun(whatif.off(0))
    found = bl.compare(trace, changed).answers()
    wanted = {row.name: (row.before, row.after) for row in whatif.before_after.answers(changed).rows}
    assert {row.name: (row.a, row.b) for row in found.rows} == wanted
