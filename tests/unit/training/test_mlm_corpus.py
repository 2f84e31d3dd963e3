"""A corpus for masked language modelling: passages, held-out texts, batches; files set aside are not opened."""

from __future__ import annotations

import gzip
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from bertlens.errors import InputError
from bertlens.training import training_text
from bertlens.training.training_text import Passages, files, passages, prepare


@pytest.fixture(scope="module")
def tokenizer(embedded_lens: Any) -> Any:
    return embedded_lens.tokenizer


def test_passages_are_whole_sentences(tokenizer: Any) -> None:
    text = "The first one is short. " + "It goes on, and on. " * 12 + "“Is this the end?” It is not yet, he said."
    [found] = passages([text], tokenizer, 32)
    assert max(map(len, found)) <= 32 and len(found) > 2
    words = [tokenizer.convert_ids_to_tokens(row) for row in found]
    assert all(row[0] == "[CLS]" and row[-1] == "[SEP]" for row in words)
    assert all(row[-2] in ".?”" for row in words)
    assert words[0][1:4] == ["the", "first", "one"]
    joined = [token for row in words for token in row[1:-1]]
    assert joined == tokenizer.tokenize(text)


def test_a_long_sentence_is_cut_where_there_is_room(tokenizer: Any) -> None:
    [found] = passages(["word " * 100], tokenizer, 32)
    assert [len(row) for row in found] == [32, 32, 32, 12]


def test_closing_quotes_stay_with_their_sentence(tokenizer: Any) -> None:
    text = "a b c d e f g h i j k l m n. ” " * 4
    [found] = passages([text], tokenizer, 20)
    assert all(tokenizer.convert_ids_to_tokens(row)[-2] == "”" for row in found)


def test_every_two_hundredth_text_is_held_out(tokenizer: Any) -> None:
    texts = [f"This is the text with the number {n} in it." for n in range(450)]
    learned, held_out = prepare(texts, tokenizer, 64)
    assert (len(learned), len(held_out)) == (448, 2)
    assert "number 199" in tokenizer.decode(held_out.rows(torch.tensor([0]))[0])
    assert "number 399" in tokenizer.decode(held_out.rows(torch.tensor([1]))[0])
    everything = {tokenizer.decode(learned.rows(torch.tensor([p]))[0]) for p in range(len(learned))}
    assert not any("number 199 " in text or "number 399 " in text for text in everything)


def test_too_few_texts(tokenizer: Any) -> None:
    with pytest.raises(InputError, match="too few"):
        prepare(["one text of a few words that is long enough"] * 10, tokenizer, 64)


@pytest.mark.parametrize("seeded", [False, True])
def test_batches_hold_every_passage_once_and_one_length_each(seeded: bool) -> None:
    lengths = torch.randint(8, 20, (300,), generator=torch.Generator().manual_seed(1)).tolist()
    held = Passages.of([list(range(n)) for n in lengths])
    batches = held.batches(100, torch.Generator().manual_seed(0) if seeded else None)
    assert sorted(p for batch in batches for p in batch.tolist()) == list(range(300))
    for batch in batches:
        sizes = held.lengths[batch].unique()
        assert len(sizes) == 1 and len(batch) * int(sizes[0]) <= 100
        assert (held.rows(batch) == torch.arange(int(sizes[0]))).all()


def test_what_is_set_aside_is_never_opened(tmp_path: Path) -> None:
    for name in ("part-1.txt", "part-0.txt.gz", "valid.txt", "test-a.jsonl", "README.md", "manifest.tsv"):
        opener: Any = gzip.open if name.endswith(".gz") else open
        with opener(tmp_path / name, "wt", encoding="utf-8") as out:
            out.write(f"a line of {name}\n")
    opened: list[str] = []
    sys.addaudithook(lambda event, args: opened.append(str(args[0])) if event == "open" else None)
    found = files([tmp_path])
    assert [path.name for path in found] == ["part-0.txt.gz", "part-1.txt"]
    assert [*training_text.read(found)] == ["a line of part-0.txt.gz", "a line of part-1.txt"]
    inside = {Path(name).name for name in opened if str(tmp_path) in name}
    assert inside == {"part-0.txt.gz", "part-1.txt"}


def test_wikitext_is_read_as_prose(tmp_path: Path) -> None:
    (tmp_path / "wiki.test.raw").write_text(" = Title = \n \n A well @-@ known 1 @,@ 000 @.@ 5 .\n = = Part = = \n")
    assert [*training_text.read([tmp_path / "wiki.test.raw"])] == ["A well-known 1,000.5 ."]


def test_what_is_no_corpus(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no corpus at"):
        files([tmp_path / "nothing"])
    with pytest.raises(InputError, match="no text files"):
        files([tmp_path])
    (tmp_path / "pairs.jsonl").write_text('{"a": "x", "b": "y"}\n')
    with pytest.raises(InputError, match=r"item 0 of pairs\.jsonl is no plain text"):
        [*training_text.read(files([tmp_path]))]
