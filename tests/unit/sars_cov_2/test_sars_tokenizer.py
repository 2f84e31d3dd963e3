"""The case study's tokenizer: 12-mers with stride 9, unknown ones, what may be typed, and where it is stored."""

from __future__ import annotations

import pytest
import torch

import bertlens as bl
from bertlens.sars_cov_2 import SpikeTokenizer, Vocabulary, build
from bertlens.sars_cov_2.kmers import clean, windows
from unit import sars


@pytest.fixture(scope="module")
def tokenizer():
    return SpikeTokenizer(vocabulary=sars.vocabulary(), model_max_length=512)


@pytest.fixture(scope="module")
def lens(tokenizer):
    torch.manual_seed(0)
    model = build(len(tokenizer.vocabulary.kmers), ["a", "b"], width=24, layers=2, heads=3, intermediate=24)
    return bl.Lens(model.eval(), tokenizer)


def test_windows_are_12_long_and_9_apart():
    letters = "".join("ACGT"[i * i % 7 % 4] for i in range(45))
    assert windows(letters) == [letters[0:12], letters[9:21], letters[18:30], letters[27:39]]
    assert len(windows("A" * 3822)) == 424


def test_the_reference_is_kept_window_by_window():
    reference = sars.gene()
    learned = sars.vocabulary().reference
    assert len(learned) == 424
    assert all(window.kmer == reference[window.start : window.end] for window in learned)
    assert [window.start for window in learned] == list(range(0, 3811, 9))
    assert sars.vocabulary().reference_sequence == reference


@pytest.mark.parametrize(
    "wrong", [sars.gene()[:-3], sars.substitute(sars.gene(), 3 * 613, "GGT"), sars.gene() + "TAA", ""]
)
def test_another_reference_is_refused(wrong):
    with pytest.raises(bl.InputError, match="lineage B: 3822 nt with D614"):
        Vocabulary.learn([], wrong)


def test_ids_follow_the_windows_and_unknown_ones_are_unk(tokenizer):
    reference = sars.gene()
    changed = sars.substitute(reference, 900, "TTTTTTTTTTTTTTTTTT")
    plain, other = tokenizer(reference)["input_ids"], tokenizer(changed)["input_ids"]
    assert plain[0] == tokenizer.cls_token_id and plain[-1] == tokenizer.sep_token_id
    assert tokenizer.convert_ids_to_tokens(plain[1:-1]) == windows(reference)
    assert tokenizer.unk_token_id not in plain
    # 900..918 lies in the windows that start at 891, 900, 909; token numbers count [CLS]
    assert [i for i, token in enumerate(other) if token == tokenizer.unk_token_id] == [100, 101, 102]
    assert [a for i, a in enumerate(plain) if i not in (100, 101, 102)] == [
        b for i, b in enumerate(other) if i not in (100, 101, 102)
    ]


def test_what_people_paste_is_read_as_meant(tokenizer):
    reference = sars.gene()
    lines = "\n".join(reference[i : i + 70] for i in range(0, len(reference), 70))
    pasted = f">my sample | 2021\n{lines}\n".replace("T", "U").lower().replace(">my sample", ">My sample")
    assert clean(pasted) == reference
    assert tokenizer(pasted)["input_ids"] == tokenizer(reference)["input_ids"]


def test_what_is_no_sequence_is_refused(lens):
    with pytest.raises(bl.InputError, match="'-' at 3"):
        lens.trace("ATG-TTTGTTTTTCTTGT")
    with pytest.raises(bl.InputError, match="of 11 nucleotides is shorter than one window"):
        lens.trace("ATGTTTGTTTT")
    with pytest.raises(bl.InputError, match="tokens, the model reads 512"):
        lens.trace("ACGT" * 1300)


def test_ambiguous_letters_make_unknown_windows(tokenizer):
    ids = tokenizer(sars.substitute(sars.gene(), 100, "N"))["input_ids"]
    assert [i for i, token in enumerate(ids) if token == tokenizer.unk_token_id] == [11, 12]


def test_lens_traces_any_sequence(lens):
    reference = sars.gene()
    trace = lens.trace(sars.substitute(reference, 900, "TTTTTTTTTTTTTTTTTT"))
    assert trace.tokens[1] == reference[:12] and trace.tokens[101] == "[UNK]"
    assert trace.n_tokens == 426
    assert trace.special_mask.nonzero().flatten().tolist() == [0, 425]
    assert len(trace.report.unknown) == 3
    assert trace.attention(1).shape == (3, 426, 426)
    short, long = lens.trace_batch([reference[:300], reference])
    torch.testing.assert_close(short.attention(1), lens.trace(reference[:300]).attention(1), atol=1e-5, rtol=1e-5)
    assert long.n_tokens == 426
    assert lens.trace(reference + reference, truncation=True).n_tokens == 512


def test_vocabulary_and_tokenizer_survive_a_file(tokenizer, tmp_path):
    tokenizer.save_pretrained(tmp_path)
    again = SpikeTokenizer(tmp_path / "kmers.json")
    assert again.vocabulary == tokenizer.vocabulary
    assert again(sars.gene())["input_ids"] == tokenizer(sars.gene())["input_ids"]
