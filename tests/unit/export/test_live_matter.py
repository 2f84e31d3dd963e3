"""“Does it matter?” of a live page where the run has already what is asked about: as the kernel's, change by change."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import transformers as tf

from bertlens import whatif
from bertlens.widgets.answers import matter
from bertlens.widgets.answers import whatif as answers
from bertlens.widgets.answers.loudness_curve import loudness
from unit import tiny
from unit.export import engine
from unit.export.test_families import CLASSES, MASKED, WORDS, lens_of

LAYER, HEAD, QUERY, KEY = 1, 2, 3, 2
PLACE = {"layer": LAYER, "head": HEAD, "query": QUERY, "key": KEY}
THERE = [  # as a page asks for it and as Python does, and which rows it leaves nothing to do
    (["off", LAYER, HEAD], whatif.off(LAYER, HEAD), [0, 1]),
    (["off", LAYER, None], whatif.off(LAYER), [0, 1]),
    (["off", LAYER, HEAD + 1], whatif.off(LAYER, HEAD + 1), []),
    (["cut", LAYER, HEAD, QUERY, KEY], whatif.cut(LAYER, HEAD, QUERY, KEY), [1]),
    (["cut", LAYER, None, None, KEY], whatif.cut(LAYER, None, None, KEY), [1]),
    (["cut", LAYER, HEAD, QUERY, KEY + 1], whatif.cut(LAYER, HEAD, QUERY, KEY + 1), []),
    (["hide", KEY], whatif.hide(KEY), [1, 2]),
    (["hide", KEY + 1], whatif.hide(KEY + 1), []),
]
KINDS: dict[str, tuple[Any, list[str], str]] = {
    "words": (WORDS["BERT"], [MASKED], "logit"),
    "labels": (CLASSES["BERT"], list(tiny.TEXTS[1]), "logit"),
    "embedding": (lambda: tf.BertModel(tf.BertConfig(**tiny.BERT)), ["the cat sat on the mat"], "similarity"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_rows_and_heads_are_the_kernels(kind: str, tmp_path: Path) -> None:
    model, text, metric = KINDS[kind]
    typed = {"op": "trace", "text": text[0], "text_pair": text[1] if len(text) > 1 else ""}
    questions: list[dict[str, Any]] = []
    for sent, _, _ in THERE:
        questions += [typed, {"op": "change", "trace": "last", "changes": [["off", 0, 1], sent]}]
        questions += [{"op": "cell_matters", "trace": "last", **PLACE}]
        questions += [{"op": "matters_exact", "trace": "last", "metric": metric, "layer": LAYER}]
    same, found = engine.asked(lens_of(model(), tiny.wordpiece()), "the mat was warm", questions, tmp_path)
    trace = same.trace(*text)
    for n, (_, change, covered) in enumerate(THERE):
        run = trace.rerun(whatif.off(0, 1), change)
        wanted = json.loads(json.dumps(matter.cell_matters(run, **PLACE)[0]))
        (error, fields, *_), (*_, arrays) = found[4 * n + 2 : 4 * n + 4]
        assert (error, fields["kind"]) == ("", kind)
        assert [row["cover"] for row in fields["rows"]] == [[1] if n in covered else [] for n in range(3)]
        for one, other in zip([fields, *fields["rows"]], [wanted, *wanted["rows"]], strict=True):
            assert one.keys() == other.keys()
            for name, value in other.items():
                close = pytest.approx(value, abs=1e-5) if isinstance(value, float) else value
                assert name == "rows" or one[name] == close, (change, name)
        swept = answers.matters_exact(run, metric, LAYER)[1]["values"]
        np.testing.assert_allclose(arrays["values"], swept, atol=1e-5)


def test_a_head_of_a_layer_that_is_off_has_no_loudness(tmp_path: Path) -> None:
    """Its curve would be of another run than the one shown; other layers have theirs."""
    model, text, _ = KINDS["words"]
    silences = (["off", LAYER], ["scale", LAYER, None, 0])
    questions = [{"op": "trace", "text": text[0], "text_pair": ""}]
    for sent in silences:
        questions += [{"op": "change", "trace": "last", "changes": [sent]}]
        questions += [{"op": "loudness", "trace": "last", "layer": layer, "head": HEAD} for layer in (LAYER, 0)]
    same, found = engine.asked(lens_of(model(), tiny.wordpiece()), "the mat was warm", questions, tmp_path)
    for n, change in enumerate((whatif.off(LAYER), whatif.scale(LAYER, None, 0))):
        run = same.trace(*text).rerun(change)
        for (error, fields, *_), layer in zip(found[3 * n + 2 : 3 * n + 4], (LAYER, 0), strict=True):
            own, arrays = loudness(run, layer, HEAD)
            assert (error, fields["why_not"], fields["rows"]) == ("", own["why_not"], [*map(list, own["rows"])])
            assert ("all heads of layer 1 are off" in own["why_not"]) == (layer == LAYER)
            assert bool(own["rows"]) == (arrays["values"].shape[1] > 0) == (layer != LAYER)


@pytest.mark.parametrize("kind", KINDS)
def test_heads_together_are_the_kernels(kind: str, tmp_path: Path) -> None:
    model, text, _ = KINDS[kind]
    partners = [[0, 1], [LAYER, HEAD + 1]]
    asked = {"op": "loudness", "trace": "last", "layer": LAYER, "head": HEAD, "partners": partners}
    typed = {"op": "trace", "text": text[0], "text_pair": text[1] if len(text) > 1 else ""}
    change = {"op": "change", "trace": "last", "changes": [["off", 0, 1], ["off", 0, 0]]}
    same, found = engine.asked(
        lens_of(model(), tiny.wordpiece()), "the mat was warm", [typed, asked, change, asked], tmp_path
    )
    trace = same.trace(*text)
    for run, (error, fields, *_, arrays) in (
        (trace, found[1]),
        (trace.rerun(whatif.off(0, 1), whatif.off(0, 0)), found[3]),
    ):
        own, wanted = loudness(run, LAYER, HEAD, partners=((0, 1), (LAYER, HEAD + 1)), patience=60)
        assert (error, fields["why_not"], [*map(tuple, fields["rows"])]) == ("", "", own["rows"])
        for name, values in wanted.items():
            np.testing.assert_allclose(arrays[name], values, atol=1e-5)
