"""SpikeTokenizer: a transformers tokenizer of 12-mers with stride 9; it also places its tokens on the reference."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from transformers import PreTrainedTokenizer

from .annotation import Annotation, annotate_sequence
from .kmers import SPECIAL, UNKNOWN, Vocabulary, clean, windows

FILE = "kmers.json"


class SpikeTokenizer(PreTrainedTokenizer):
    """[CLS] 12-mers [SEP]; a 12-mer that was in no training sequence is [UNK].

    Lower case, white space, a FASTA header and U for T are read as they are meant. Raises InputError for letters that
    are no nucleotides and for sequences shorter than 12. vocab_file: a file that `Vocabulary.save` wrote, or give the
    vocabulary itself; kwargs: of transformers' tokenizers.
    """

    vocab_files_names = {"vocab_file": FILE}  # noqa: RUF012 (transformers' own class attribute)
    model_input_names = ["input_ids", "token_type_ids", "attention_mask"]  # noqa: RUF012

    def __init__(self, vocab_file: str | Path | None = None, *, vocabulary: Vocabulary | None = None, **kwargs: Any):
        self.vocabulary = Vocabulary.load(Path(str(vocab_file))) if vocabulary is None else vocabulary
        self._tokens = [*SPECIAL, *self.vocabulary.kmers]
        self._numbers = {token: number for number, token in enumerate(self._tokens)}
        names = dict(zip(("pad_token", "unk_token", "cls_token", "sep_token"), SPECIAL, strict=True))
        super().__init__(**{**names, **kwargs})

    @property
    def vocab_size(self) -> int:
        """Tokens that it knows, special ones counted."""
        return len(self._tokens)

    def get_vocab(self) -> dict[str, int]:
        return dict(self._numbers)

    def _tokenize(self, text: str, **kwargs: Any) -> list[str]:
        return windows(clean(text))

    def _convert_token_to_id(self, token: str) -> int:
        return self._numbers.get(token, UNKNOWN)

    def _convert_id_to_token(self, index: int) -> str:
        return self._tokens[index]

    def build_inputs_with_special_tokens(
        self, token_ids_0: list[int], token_ids_1: list[int] | None = None
    ) -> list[int]:
        ids = [self.cls_token_id, *token_ids_0, self.sep_token_id]
        return ids if token_ids_1 is None else [*ids, *token_ids_1, self.sep_token_id]

    def create_token_type_ids_from_sequences(
        self, token_ids_0: list[int], token_ids_1: list[int] | None = None
    ) -> list[int]:
        second = 0 if token_ids_1 is None else len(token_ids_1) + 1
        return [0] * (len(token_ids_0) + 2) + [1] * second

    def annotate(self, sequence: str, n_tokens: int | None = None) -> Annotation:
        """What each of a sequence's tokens is on the spike, of n_tokens where it was cut; see `annotate_sequence`."""
        return annotate_sequence(sequence, self.vocabulary, n_tokens)

    def save_vocabulary(self, save_directory: str, filename_prefix: str | None = None) -> tuple[str]:
        path = Path(save_directory) / f"{filename_prefix + '-' if filename_prefix else ''}{FILE}"
        self.vocabulary.save(path)
        return (str(path),)
