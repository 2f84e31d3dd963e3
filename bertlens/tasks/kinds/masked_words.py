"""The word at a mask."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ...base.dataframes import pd
from ...base.vocabulary import phrases
from ...errors import InputError, ModelError, excerpt
from ...lens import Lens
from ...measures.predictions import words_of
from ...measures.significance import count_interval, share_interval
from ...text.display import names_of, spelling_of, unknown_id
from ...text.encoding import Encoding
from ...text.tables import Columns
from ...text.tokenizer import resting_state
from ..example_batch import Batch
from ..labels import LabelColumn
from ..scores import FEWEST, FEWEST_OF_ALL, loss_row, score_table, scored
from .kind import Kind, Text

FIRST = 5
GUESS, OTHER, PROBABILITY, MARGIN, RANK, LOSS = range(6)  # of a record; OTHER: the best word that is not the label


class Words(Kind):
    """One [MASK] in each text, and the word that belongs there, one token of the vocabulary."""

    name = "words"
    lacks = "a task of masked words"
    asks = "masked words"

    def __init__(self, lens: Lens):
        super().__init__([])
        self._tokenizer = lens.tokenizer
        self._mask = getattr(lens.tokenizer, "mask_token", None)
        if self._mask is None:
            raise ModelError(phrases.NO_MASK_TOKEN.format(model=lens.model_name))

    def texts(self, columns: Columns, names: Sequence[str], n: int) -> list[Text]:
        texts = super().texts(columns, names, n)
        for row, text in enumerate(texts):
            if (count := sum(sentence.count(self._mask) for sentence in text)) != 1:
                raise InputError(
                    f"{columns.place(row, names[0])}: the text has {count} {self._mask}, and is to have one, where the "
                    "label belongs"
                )
        return texts

    def labels(self, column: LabelColumn, texts: list[Text]) -> np.ndarray:
        tokens: dict[str, int] = {}
        labels = []
        for row in range(column.n):
            cell = column.cell(row)
            word = cell if isinstance(cell, str) else column.named(cell, partial(column.place, row))
            word = column.aliases.get(word, word)
            if word not in tokens:
                tokens[word] = self._token(column.place(row), word)
            labels.append(tokens[word])
        return np.array(labels, dtype=np.int64)

    def _token(self, place: str, word: str) -> int:
        unknown = unknown_id(self._tokenizer)
        with resting_state(self._tokenizer):
            ids = self._tokenizer(f" {word.strip()}", add_special_tokens=False)["input_ids"]
        if len(ids) == 1 and ids[0] != unknown:
            return int(ids[0])
        token = names_of(self._tokenizer).number(word.strip(), True)  # as it is shown or written, such as ##s
        if token is not None and token != unknown:
            return token
        tokens = " ".join(map(spelling_of(self._tokenizer).display, self._tokenizer.convert_ids_to_tokens(ids)))
        raise InputError(
            f"{place}: {excerpt(word)} is no one token of the model but {tokens:.80}: a mask stands for one"
        )

    def read(self, output: Any, batch: Batch) -> Tensor:
        logits = words_of(output)
        if logits is None:
            raise ModelError("the model's output has no logits of masked words")
        masks = (batch.inputs["input_ids"] == self._tokenizer.mask_token_id).nonzero()
        if masks[:, 0].tolist() != list(range(len(batch.rows))):
            lost = next(i for i in range(len(batch.rows)) if (masks[:, 0] == i).sum() != 1)
            raise InputError(f"row {batch.rows[lost]}: its {self._mask} was cut off, so it has no answer")
        return logits[masks[:, 0], masks[:, 1]]

    def losses(self, answers: Tensor, labels: np.ndarray) -> Tensor:
        return torch.nn.functional.cross_entropy(
            answers, torch.as_tensor(labels, device=answers.device), reduction="none"
        )

    def records(self, answers: Tensor, labels: np.ndarray) -> list[np.ndarray]:
        index = torch.arange(len(answers), device=answers.device), torch.as_tensor(labels, device=answers.device)
        logits, rivals = answers[index], answers.clone()
        rivals[index] = -torch.inf
        second, rival = rivals.max(1)
        guess, chances = answers.argmax(1), answers.softmax(1)
        rank = (answers > logits[:, None]).sum(1)
        losses = self.losses(answers, labels)
        columns = [guess, rival, chances.max(1).values, logits - second, rank, losses]
        return list(torch.stack([column.double() for column in columns], 1).numpy())

    def scores(self, records: Sequence[np.ndarray], labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        table = np.stack(records)
        return table[:, LOSS], (table[:, GUESS] == labels).astype(float)

    def columns(self, records: Sequence[np.ndarray], labels: np.ndarray) -> dict[str, Any]:
        table = np.stack(records)
        return {
            "label": [self.said(label) for label in labels],
            "guess": [self.said(guess) for guess in table[:, GUESS]],
            "right": table[:, GUESS] == labels,
            "probability": table[:, PROBABILITY],
            "margin": table[:, MARGIN],
            "rank": table[:, RANK].astype(int),
        }

    def metrics(self, records: Sequence[np.ndarray], labels: np.ndarray) -> pd.DataFrame:
        table, n = np.stack(records), len(labels)
        rows = []
        for name, right in (
            ("accuracy", table[:, GUESS] == labels),
            (f"among the first {FIRST}", table[:, RANK] < FIRST),
        ):
            rows.append(scored(name, "", float(right.mean()), count_interval(int(right.sum()), n), n, FEWEST))
        losses, reciprocal = table[:, LOSS], 1 / (1 + table[:, RANK])
        ends = share_interval(reciprocal, np.ones(n))
        rows.append(scored("mean reciprocal rank", "", float(reciprocal.mean()), ends, n, FEWEST_OF_ALL))
        rows.append(loss_row(float(losses.mean()), losses, int((table[:, GUESS] != labels).sum())))
        return score_table(rows)

    def of_quality(self, records: Sequence[np.ndarray], labels: np.ndarray) -> tuple[float, tuple[float, float]]:
        right = int((np.stack(records)[:, GUESS] == labels).sum())
        return right / len(labels), count_interval(right, len(labels))

    def said(self, label: Any) -> str:
        return names_of(self._tokenizer).name(int(label), True)

    def of_interest(self, record: np.ndarray, label: Any, encoding: Encoding) -> Callable[[Any], Tensor]:
        """The logit of the guess less that of the label; of a right answer, of the label less that of the next one."""
        at = encoding.input_ids.index(self._tokenizer.mask_token_id)
        best, rival = int(label), int(record[OTHER])
        if record[MARGIN] < 0:
            best, rival = rival, best
        return lambda output: words_of(output)[0, at, best] - words_of(output)[0, at, rival]
