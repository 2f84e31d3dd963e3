"""The two sides of a trace's maps: what its query and key tokens are. In self-attention both are the same."""

from __future__ import annotations

import copy

import torch
from torch import Tensor

from ..errors import ModelError
from ..text.encoding import Encoding, InputReport, batch_inputs


class Sides:
    """What Trace knows of its tokens. Lists and tensors are new at every call: they cannot change the trace."""

    encoding: Encoding
    key_encoding: Encoding | None  # rectangular maps only

    @property
    def device(self) -> torch.device:
        raise NotImplementedError

    @property
    def _keys(self) -> Encoding:
        return self.encoding if self.key_encoding is None else self.key_encoding

    @property
    def tokens(self) -> list[str]:
        """The tokenizer's pieces, one per query position."""
        return list(self.encoding.tokens)

    @property
    def key_tokens(self) -> list[str]:
        """The pieces on the key side; the same list as `tokens` but for cross-attention."""
        return list(self._keys.tokens)

    @property
    def display_tokens(self) -> list[str]:
        """The pieces as people write them: 'Ġcat' and '▁cat' are 'cat', '##s' stays."""
        return list(self.encoding.display_tokens)

    @property
    def display_key_tokens(self) -> list[str]:
        """Like `display_tokens`, for the key side."""
        return list(self._keys.display_tokens)

    def inputs(self, copies: int = 1) -> dict[str, Tensor]:
        """The model's inputs for the text, so many times: (copies, S) each."""
        return batch_inputs([self.encoding] * copies, 0, self.device)

    @property
    def input_ids(self) -> Tensor:
        """(S,) int64. Raises ModelError where only attention was given."""
        if not self.encoding.input_ids:
            raise ModelError("this trace was made from attention weights and has no token ids")
        return torch.tensor(self.encoding.input_ids, device=self.device)

    @property
    def token_type_ids(self) -> Tensor | None:
        """(S,) int64 as the model got them, None where the tokenizer makes none."""
        ids = self.encoding.token_type_ids
        return None if ids is None else torch.tensor(ids, device=self.device)

    @property
    def word_ids(self) -> list[int | None]:
        """Word of each piece, counted from 0 through both texts; None for template tokens."""
        return list(self.encoding.word_ids)

    @property
    def key_word_ids(self) -> list[int | None]:
        """Like `word_ids`, for the key side."""
        return list(self._keys.word_ids)

    @property
    def offsets(self) -> list[tuple[int, int] | None] | None:
        """(start, end) of each piece in its own text (or word, for trace_words); None where not known."""
        offsets = self.encoding.offsets
        return None if offsets is None else list(offsets)

    @property
    def special_mask(self) -> Tensor:
        """(S,) bool: positions that the tokenizer's template added. A special token typed by the user is text."""
        return torch.tensor(self.encoding.special, device=self.device)

    @property
    def key_special_mask(self) -> Tensor:
        """Like `special_mask`, for the key side."""
        return torch.tensor(self._keys.special, device=self.device)

    @property
    def separator_mask(self) -> Tensor:
        """(S,) bool: template positions that hold the tokenizer's separator; none where it has none."""
        return torch.tensor(self.encoding.separators, device=self.device)

    @property
    def key_separator_mask(self) -> Tensor:
        """Like `separator_mask`, for the key side."""
        return torch.tensor(self._keys.separators, device=self.device)

    @property
    def segments(self) -> Tensor:
        """(S,) int64: 0 for the first text, 1 for the second; [CLS] and the first separators count as first."""
        return torch.tensor(self.encoding.segments, device=self.device)

    @property
    def key_segments(self) -> Tensor:
        """Like `segments`, for the key side."""
        return torch.tensor(self._keys.segments, device=self.device)

    @property
    def report(self) -> InputReport:
        """What the tokenizer did with the text."""
        return copy.deepcopy(self.encoding.report)

    @property
    def text(self) -> str | None:
        """The text given (words joined by spaces), None where only attention was given."""
        return self.encoding.text

    @property
    def text_pair(self) -> str | None:
        """The second text given, None without one."""
        return self.encoding.text_pair
