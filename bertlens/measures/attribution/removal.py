"""Tokens taken away: the model's own answer without them, by one of three meanings of "without".

Occlusion is after Zeiler and Fergus 2014.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor

from ...base.quotes import quotation
from ...errors import InputError, ModelError, SelectionError, check_name
from ...run.changes import Hide
from ...run.forward import output_of
from ...run.interventions import Run
from ...trace.trace import Trace
from ..metrics import Metric, Read, row_of
from .attribution import Attribution, reader

REMOVALS = {
    "mask": "removed tokens are replaced by {mask}, and their places stay",
    "delete": "removed tokens are taken out of the text, and those behind them move up",
    "hide": "no head of any layer sees removed tokens; their own streams go on",
}
TOKENS = 768  # of a batch: so many rows times the text's length, at most
Gone = frozenset[int]


class Without:
    """A metric of the runs of one text without some of its tokens; each set of tokens is run once.

    known: what sets gave, where somebody keeps it from one call to the next.
    Never removed: the template's tokens, and the one whose answer the metric reads. Raises InputError where that leaves
    none, SelectionError for another `remove`, ModelError where the model cannot do it, else as a trace's rerun.
    """

    def __init__(self, trace: Trace, metric: Metric | Read, remove: str, known: dict[Gone, float] | None = None):
        check_name(remove, REMOVALS, "removal")
        self.trace, self.metric, self.remove = trace, metric, remove
        self.read, self.answer = reader(trace, metric)
        self.at = metric.at(trace.original) if isinstance(metric, Metric) else None
        self.mask = _mask_id(trace) if remove == "mask" else None
        named = next((change for change in trace.changes if change.names_tokens), None)
        if remove == "delete" and named is not None:
            raise ModelError(
                f"{quotation(named)} is about one place in the text, which deleting moves: use remove='mask'"
            )
        special = trace.special_mask.tolist()
        self.tokens = [i for i in range(trace.n_tokens) if not special[i] and i != self.at]
        if not self.tokens:
            raise InputError(
                "no token of this text can be removed: the template's and the one that is read always stay"
            )
        self._known = {} if known is None else known
        self._known[frozenset()] = self.answer

    @property
    def notes(self) -> tuple[str, ...]:
        """How tokens were removed, and which never are."""
        token = "" if self.mask is None else self._name(self.mask)
        remainder = "the template's tokens" + ("" if self.at is None else f" and token {self.at}, which is read,")
        return (f"{REMOVALS[self.remove].format(mask=token)}; {remainder} always stay.",)

    def __call__(self, sets: Iterable[Iterable[int]], progress: bool = False) -> Tensor:
        """(n,) float64 the metric without each of the sets."""
        removals = [frozenset(removal) for removal in sets]
        gaps = [removal for removal in dict.fromkeys(removals) if removal not in self._known]
        if gaps:
            from ...base.progress import Progress

            with Progress(
                total=len(gaps), desc="texts without tokens", delay=2, leave=False, disable=not progress
            ) as bar:
                for batch in self._batches(gaps):
                    self._known.update(zip(batch, self._run(batch), strict=True))
                    bar.update(len(batch))
        return torch.tensor([self._known[removal] for removal in removals], dtype=torch.float64, device="cpu")

    def _batches(self, sets: Sequence[Gone]) -> Iterator[list[Gone]]:
        """Deleted texts of one length share a batch."""
        groups: dict[int, list[Gone]] = {}
        for removal in sets:
            groups.setdefault(len(removal) if self.remove == "delete" else 0, []).append(removal)
        size = max(1, TOKENS // self.trace.n_tokens)
        for group in groups.values():
            yield from (group[start : start + size] for start in range(0, len(group), size))

    def _run(self, sets: list[Gone]) -> list[float]:
        trace, changes = self.trace, self.trace.changes
        inputs = trace.inputs(len(sets))
        rows: list[Any] = [changes] * len(sets)
        survivors: list[list[int]] | None = None
        if self.remove == "mask":
            for row, gone in zip(inputs["input_ids"], sets, strict=True):
                row[sorted(gone)] = self.mask
        elif self.remove == "hide":
            rows = [(*changes, *map(Hide, sorted(gone))) for gone in sets]
        else:
            survivors = [[i for i in range(trace.n_tokens) if i not in gone] for gone in sets]
            index = torch.tensor(survivors, device=trace.device)
            inputs = {name: value.gather(1, index) for name, value in inputs.items()}
        try:
            output = output_of(trace.borrowed, inputs, Run(rows))
        except SelectionError as error:
            raise SelectionError(f"{str(error).split(':')[0]}: use remove='mask' or remove='delete'") from error
        numbers = []
        for row in range(len(sets)):
            text_output = row_of(output, row)
            if survivors is not None and self.at is not None:
                text_output = _in_place(text_output, survivors[row], trace.n_tokens)
            numbers.append(float(self.read(text_output)))
        return numbers

    def _name(self, token: int) -> str:
        return str(self.trace.borrowed.tokenizer.convert_ids_to_tokens(token))


def occlusion(
    trace: Trace,
    metric: Metric | Read,
    remove: str = "mask",
    *,
    progress: bool = True,
    known: dict[Gone, float] | None = None,
) -> Attribution:
    """F(x) − F(x without token i), of S runs: what the number loses without each token while all others stay.

    remove: "mask" the tokenizer's mask token stands in its place; "delete" it is taken out, the tokens behind it move
    up (a function of the output is then given that of the shorter text; a metric goes on reading its own token);
    "hide" no head sees it, −`whatif.sweep(..., "tokens")`. These are three different numbers. NaN for tokens that are
    never removed: the template's, and the one whose answer the metric reads. On a changed trace, with its changes.
    known: F of texts without some tokens, kept by who asks in turns.
    Raises InputError and ModelError as `whatif.sweep`, and without a mask token; SelectionError for another `remove`.
    """
    without = Without(trace, metric, remove, known)
    values = torch.full((trace.n_tokens,), torch.nan, dtype=torch.float64, device="cpu")
    values[without.tokens] = without.answer - without([[i] for i in without.tokens], progress)
    return Attribution(trace, f"occlusion ({remove})", metric, values, without.answer, without.notes)


def _mask_id(trace: Trace) -> int:
    mask = getattr(trace.borrowed.tokenizer, "mask_token_id", None)
    if mask is None:
        raise ModelError(f"the tokenizer of {trace.model_name} has no mask token: use remove='delete' or remove='hide'")
    return int(mask)


def _in_place(output: Any, survivors: list[int], size: int) -> Any:
    """The logits of a shorter text at the places that its tokens had; at those that are gone, any."""
    place = dict(zip(survivors, range(len(survivors)), strict=True))
    index = [place.get(i, 0) for i in range(size)]
    fields = {
        name: value[:, index] if isinstance(value, Tensor) and value.ndim == 3 else value
        for name, value in output.items()
        if name in ("logits", "prediction_logits")
    }
    return type(output)(**fields)
