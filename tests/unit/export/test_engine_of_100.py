"""The engine of a live page on 100 texts of 3 to 512 tokens: what takes minutes."""

from __future__ import annotations

import random
from typing import Any

import pytest

import bertlens as bl
from bertlens import whatif
from bertlens.widgets.answers import whatif as answers
from unit.export import engine
from unit.export.passes import check, check_both, generated

pytestmark = [pytest.mark.long, pytest.mark.timeout(1800)]
SOME = 10  # texts whose passes are held together


@pytest.fixture(scope="module")
def written(embedded_lens: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("weights")
    engine.write(embedded_lens.borrowed, folder)
    rounded = engine.rounded(embedded_lens.borrowed)
    return embedded_lens.borrowed, bl.Lens(rounded, embedded_lens.tokenizer), folder


@pytest.fixture(scope="module")
def texts(embedded_lens: Any) -> list[tuple[str, str | None]]:
    made = generated(embedded_lens, 100)
    lengths = [len(embedded_lens.encoding(*text)) for text in made]
    assert min(lengths) <= 3 and max(lengths) == 512
    return made


def test_passes_of_100_texts_are_torchs(written, embedded_lens, texts):
    apart = [one for at in range(0, 100, SOME) for one in check_both(written, embedded_lens, texts[at : at + SOME])]
    for kind, some in (("sentences", apart[::2]), ("words at random", apart[1::2])):
        most = {name: max(one.get(name, 0) for one in some) for name in apart[0]}
        print(f"rounding moves, {kind}:", ", ".join(f"{name} {value:.1e}" for name, value in most.items()))
        assert max(most[name] for name in ("attention", "norms", "pooled", "similarity")) <= 2e-3


def test_changes_of_100_texts_are_those_of_a_rerun(written, texts):
    """A head off, a cell cut, a token hidden."""
    model, same, folder = written
    rng = random.Random(43)
    for at in range(0, 100, SOME):
        cases = []
        for trace in [same.trace(*text) for text in texts[at : at + SOME]]:
            layer, head, size = rng.randrange(5), rng.randrange(12), trace.n_tokens
            query, key, token = (rng.randrange(size) for _ in range(3))
            cell = {"kind": "cut", "layer": layer, "head": head, "query": query, "key": key}
            cases += [
                (trace, [{"kind": "off", "layer": layer, "head": head}], whatif.off(layer, head)),
                (trace, [cell], whatif.cut(layer, head, query, key)),
                (trace, [{"kind": "hide", "token": token}], whatif.hide(token)),
            ]
        found, _ = engine.passes(model, folder, [(trace, asked) for trace, asked, _ in cases])
        for arrays, (trace, _, change) in zip(found, cases, strict=True):
            check(arrays, trace.rerun(change), 1e-5)


def test_words_at_masks_of_100_texts_are_torchs(texts, tmp_path):
    lens = bl.Lens.embedded(mlm=True)
    rng = random.Random(44)
    masked = []
    for text, pair in texts:
        words = text.split()
        words[rng.randrange(len(words))] = "[MASK]"
        masked.append((" ".join(words), pair))
    typed = [{"op": "trace", "text": text, "text_pair": pair or ""} for text, pair in masked]
    questions = [one for trace in typed for one in (trace, {"op": "answers", "trace": "last"})]
    same, found = engine.asked(lens, "The cat [MASK].", questions, tmp_path)
    moved = 0.0
    for text, (error, fields, *_) in zip(masked, found[1::2], strict=True):
        assert error == ""
        here, rounded, own = (
            {tuple(row[:2]): row[2] for row in rows}
            for rows in (
                fields["rows"],
                answers.answers(same.trace(*text))[0]["rows"],
                answers.answers(lens.trace(*text))[0]["rows"],
            )
        )
        assert here.keys() == rounded.keys()
        assert list(here.values()) == pytest.approx(list(rounded.values()), abs=1e-5)
        moved = max(moved, *(abs(here[name] - own[name]) for name in here.keys() & own.keys()))
    print(f"rounding moves the probability of a word at [MASK] by at most {moved:.1e}")
    assert 0 < moved <= 2e-3
