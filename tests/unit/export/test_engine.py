"""The pass of js/src/engine on weights as a page carries them: against torch's own, changed runs too."""

from __future__ import annotations

import random
import unicodedata
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import torch

import bertlens as bl
from bertlens import whatif
from bertlens.errors import ExportError
from bertlens.export import page_weights
from bertlens.export.page_tokenizer import tokenizer_files
from bertlens.text.word_numbers import is_mark
from unit.export import engine
from unit.export.passes import check, check_both, generated

TEXTS = [
    ("The cat sat on the mat because it was tired.", None),
    ("a", None),
    ("I [MASK] it, naïvely.", "Unbelievable 😀 tokenisation ㋛ 猫"),
    ("She gave the dog a bone, and he buried it at once in the garden. " * 9, None),
]
OFF = {"kind": "off", "layer": 2, "head": 5}
ALL_OFF = {"kind": "off", "layer": 4, "head": None}
HIDDEN = {"kind": "hide", "token": 3}
CUT = {"kind": "cut", "layer": 1, "head": 7, "query": 2, "key": 4}
FAR = {"kind": "cut", "layer": 3, "head": None, "query": None, "key": 1}
CHANGED = [
    ([OFF], [whatif.off(2, 5)]),
    ([ALL_OFF], [whatif.off(4)]),
    ([HIDDEN], [whatif.hide(3)]),
    ([CUT], [whatif.cut(1, 7, 2, 4)]),
    ([FAR, OFF, HIDDEN], [whatif.cut(3, None, None, 1), whatif.off(2, 5), whatif.hide(3)]),
]


@pytest.fixture(scope="module")
def written(embedded_lens: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The embedded model, a lens on the same weights rounded as the page has them, the folder of these weights."""
    folder = tmp_path_factory.mktemp("weights")
    model = embedded_lens.borrowed
    engine.write(model, folder)
    return model, bl.Lens(engine.rounded(model), embedded_lens.tokenizer), folder


def test_a_pass_is_torchs_on_the_same_weights_and_near_it_on_its_own(written, embedded_lens):
    texts = [*TEXTS, *generated(embedded_lens, 6)]
    apart = check_both(written, embedded_lens, texts)
    assert max(one["attention"] for one in apart) <= 2e-3
    # the stream that layers begin with, of the library itself
    model, same, folder = written
    [arrays], _ = engine.passes(model, folder, [(same.trace(*TEXTS[2]), [])])
    inputs = same.tokenizer(*TEXTS[2], return_tensors="pt", padding=False)
    with torch.no_grad():
        states = same.model(**inputs, output_hidden_states=True).hidden_states
    for n, state in enumerate(states):
        assert np.abs(arrays[f"stream.{n}"] - state[0].numpy().ravel()).max() <= 4e-5


def test_changes_are_those_of_a_rerun(written):
    model, same, folder = written
    original = same.trace(*TEXTS[0])
    found, _ = engine.passes(model, folder, [(original, asked) for asked, _ in CHANGED])
    for arrays, (_, changes) in zip(found, CHANGED, strict=True):
        changed = original.rerun(*changes)
        check(arrays, changed, 1e-5)
        before = original.layer_output(5)
        assert (changed.layer_output(5) - before).abs().max() > 1e-3  # or nothing would be tested


def test_the_plain_product_computes_the_same(written):
    model, same, folder = written
    trace = same.trace(*TEXTS[0])
    [arrays], _ = engine.passes(model, folder, [(trace, [])], product="plain")
    check(arrays, trace, 1e-5)


def read(arrays, name: str) -> np.ndarray:
    """As the page reads a matrix: float32 multiples of a factor for each row."""
    factors = arrays[f"{name}.factors"]
    assert factors.dtype == np.float32 and factors.shape == arrays[name].shape[:1]
    return (arrays[name].astype(np.int32) - 32_768).astype(np.float32) * factors[:, None]


def test_weights_are_rounded_to_the_nearest_multiple_and_vectors_not_at_all(written):
    model, same, _ = written
    embeddings, *layers = page_weights.parts(model)
    words = model.base.embeddings.word_embeddings.weight.detach().double().numpy()
    assert embeddings["words"].dtype == np.uint16
    as_read = read(embeddings, "words")
    step = engine.steps(words, 2800, 2**15 - 1)
    assert (np.abs(as_read - words) <= step * 0.505).all() and (np.abs(as_read - words) > step * 0.45).any(1).all()
    assert (as_read == same.model.embeddings.word_embeddings.weight.detach().numpy()).all()
    for n, arrays in enumerate(layers):
        own, other = (base.encoder.layer[n] for base in (model.base, same.model))
        assert (arrays["norm.weight"] == own.output.LayerNorm.weight.detach().numpy()).all()
        assert (arrays["query.bias"] == own.attention.self.query.bias.detach().numpy()).all()
        assert (read(arrays, "grow.weight") == other.intermediate.dense.weight.detach().numpy()).all()


def test_what_a_page_cannot_run_or_16_bits_do_not_hold_is_refused(tiny_bert):
    lens = tiny_bert
    assert len(list(page_weights.parts(lens.borrowed))) == lens.model.config.num_hidden_layers + 1
    weight = lens.model.encoder.layer[0].output.dense.weight
    with torch.no_grad():
        weight[0, 0] = 70_000
    with pytest.raises(ExportError, match="larger than 65,504"):
        list(page_weights.parts(lens.borrowed))
    lens.model.encoder.layer[0].intermediate.intermediate_act_fn = torch.nn.Hardtanh()
    with pytest.raises(ExportError, match="does not compute the activation Hardtanh: save it without live"):
        page_weights.check(lens.borrowed)


@pytest.fixture
def tiny_bert(embedded_lens: Any) -> bl.Lens:
    from transformers import BertConfig, BertModel

    config = BertConfig(
        vocab_size=30522, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32
    )
    torch.manual_seed(0)
    return bl.Lens(BertModel(config).eval(), embedded_lens.tokenizer)


# The tokenizer


def is_newer(character: str) -> bool:
    """Whether Unicode has it, or has it as what it is, only since 3.2. These are the exceptions: a page's browser knows
    marks and punctuation that Python's tokenizers take for letters."""
    now = unicodedata.category(character)
    return now == "Cn" or now != unicodedata.ucd_3_2_0.category(character)


SCRIPTS = [
    *[(0x20, 0x7F)] * 6,
    *((0xA0, 0x250), (0x300, 0x370), (0x370, 0x530), (0x590, 0x700), (0x900, 0xE00), (0x1100, 0x1200)),
    *((0x2000, 0x2070), (0x2190, 0x2C00), (0x3000, 0x3100), (0x4E00, 0x9FFF), (0xAC00, 0xD7A4), (0xF900, 0xFB00)),
    *((0xFF00, 0xFFF0), (0x1F300, 0x1FA00), (0, 0x20), (0x10000, 0x1F000), (0xFE00, 0xFE10)),
]
ODD = ["[MASK]", "[SEP]", "[CLS]", "[UNK]", "[PAD]", "[mask]", "##ing", "don't", "U.S.A.", "3.14", "x" * 120, "😀"]
ODD += [
    "e\u0301",
    "İ",
    "ß",
    "ﬁ",
    "\u00ad",
    "\u200b",
    "\ufeff",
    "\u2028",
    "ΣΑΣ",
    "ΌΣΟΣ",
    "a\x00b",
    "👩\u200d👧",
    "\ufffd",
    "½",
    "Ⅷ",
]


def has_marked_han(text: str) -> bool:
    """A mark behind a Chinese character: the tokenizer sets blanks around that one, and a page is told no offsets."""
    return any(unicodedata.name(a, "").startswith("CJK") and is_mark(b) for a, b in pairwise(text))


def lines(words: list[str], count: int) -> list[str]:
    rng = random.Random(30)

    def word() -> str:
        kind = rng.random()
        if kind < 0.5:
            return rng.choice(words)
        if kind < 0.65:
            return rng.choice(words) + rng.choice(words)
        if kind < 0.75:
            return "".join(chr(rng.randrange(*rng.choice(SCRIPTS))) for _ in range(rng.randrange(1, 12)))
        return rng.choice(ODD) if kind < 0.83 else rng.choice(words).upper()

    spaces = [" ", " ", "  ", "\t", "\n", "", "\u00a0", "\u3000"]
    made = [rng.choice(spaces).join(word() for _ in range(rng.randrange(1, 12))) for _ in range(count)]
    return [line for line in made if line]


def test_the_pages_tokenizer_is_pythons_on_generated_lines(embedded_lens, tmp_path):
    tokenizer = embedded_lens.tokenizer
    words = sorted(word for word in tokenizer.get_vocab() if word.isalpha())
    singles = lines(words, 2400)
    pairs = [*zip(singles[:200], singles[200:400], strict=True), ("one", "")]
    texts = [*([line] for line in singles), *pairs]
    [out] = engine.node(tmp_path, readers=[{"tokenizer": tokenizer_files(tokenizer), "texts": texts}])
    apart, other_letters = [], 0  # the page looks for a token's letters in the text, without offsets
    for texts, found in zip([*((line,) for line in singles), *pairs], out, strict=True):
        encoding = embedded_lens.encoding(*texts)
        shown, expected = (
            [unicodedata.normalize("NFKC", token) for token in side] for side in (found["tokens"], encoding.tokens)
        )
        same = found["ids"] == list(encoding.input_ids) and shown == expected
        other_letters += same and found["tokens"] != list(encoding.tokens)
        if not same:
            apart.append(texts)
            continue
        words = [-1 if word is None else word for word in encoding.word_ids]
        assert found["words"] == words or any(map(has_marked_han, texts)), texts
        assert found["special"] == list(encoding.special), texts
        assert found["segments"] == list(encoding.segments), texts
    assert len(singles) >= 2000 and len(apart) <= 0.01 * len(out) and other_letters <= 0.02 * len(out)
    assert [texts for texts in apart if not any(map(is_newer, "".join(texts)))] == []
