"""The contrast of a cross-encoder: it reads question and passage as one input, and its score is a logit of each run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch

from ..base.dataframes import pd
from ..errors import BertLensError, InputError, ModelError, check_index
from ..measures import metrics, sources
from ..measures.attribution import Attribution, linearised
from ..measures.words import units
from ..run.changes import Change, Hide
from ..run.forward import output_of
from ..run.interventions import Run
from ..sentences.encoders import SentenceEncoder, SentenceLens
from ..sentences.inputs import KINDS, check_by
from ..sentences.text_pair import TOKENS
from ..text.display import word_of
from ..trace.trace import Trace
from ..whatif.reruns import check as check_changes
from .score_difference import Contrast
from .text_words import TEXTS, TextWords, check_text_name, check_three, subject, unknown_notes

ONE_INPUT = (
    "A cross-encoder reads question and passage as one input: a logit is the sum over the words of both. Tokens of the "
    "template and biases are in the question's list."
)
KEPT = "Attention weights, LayerNorm deviations and gates are kept as the runs had them."
TOLERANCE = 1e-3  # of a score
ROUNDINGS = 8  # of half precision, whose runs of other batches differ by more


@dataclass(frozen=True, eq=False, repr=False)
class CrossContrast(Contrast):
    """See `contrast`. Scores are logits; words are those that went in."""

    traces: tuple[Trace, Trace]  # of the question with the wrong passage, with the right one

    @cached_property
    def why_not(self) -> str:
        try:
            _ = self._logits
        except BertLensError as error:
            self.lens.borrowed.check(self._fingerprint)
            return str(error)
        return ""

    @property
    def gap(self) -> float:
        (_, wrong, right), (w, r) = self._question, self._passages
        return float(wrong.sum() - right.sum() + w.sum() - r.sum()) - self.difference

    @property
    def norms(self) -> pd.Series:
        """None: there are no vectors."""
        return pd.Series({}, dtype=float)

    def by(self, name: str) -> pd.DataFrame:
        """See `Contrast.by`: what each wrote of the logit, in either run. MLPs are parts of their own."""
        check_by(name)
        self.check()
        wrong, right = (_sums(split.rows, name) for split in self._logits)
        table = pd.DataFrame({"wrong": wrong, "right": right})
        table["difference"] = table["wrong"] - table["right"]
        return table

    def fetched(self, layer: int, head: int) -> tuple[pd.DataFrame, pd.DataFrame]:
        """Where a head fetched its part of the logit, in the wrong and in the right passage's run: token, at, part.

        The parts sum to the head's in `by("head")`. Raises SelectionError for a head that does not exist.
        """
        self.check()
        check_index(layer, self.traces[0].n_layers, "layer")
        wrong, right = (
            pd.DataFrame(
                {
                    "token": trace.display_tokens,
                    "at": range(trace.n_tokens),
                    "part": sources.tokens(trace, split, layer, head).cpu().numpy(),
                }
            )
            for trace, split in zip(self.traces, self._logits, strict=True)
        )
        return wrong, right

    def words(self, text: str) -> TextWords:
        trace = self.traces[check_text_name(text) == "right"]
        rows = [unit for unit in units(trace) if _is_of_passage(trace, unit) == (text != "query")]
        names = [word_of((trace.display_tokens[at] for at in unit), trace.encoding.continuation) for unit in rows]
        special = trace.special_mask.tolist()
        return TextWords.of(names, rows, [not special[unit[0]] for unit in rows], text == "query")

    @cached_property
    def _question_parts(self) -> tuple[np.ndarray, np.ndarray]:
        wrong, right = (
            np.append(self._summed(number, False), self._attributions[number].bias or 0.0) for number in range(2)
        )
        return wrong, right

    @cached_property
    def _passage_parts(self) -> tuple[np.ndarray, np.ndarray]:
        return self._summed(0, True), self._summed(1, True)

    def _summed(self, number: int, passage: bool) -> np.ndarray:
        """What each word of one text of a run puts in."""
        trace, values = self.traces[number], self._attributions[number].values
        rows = [unit for unit in units(trace) if _is_of_passage(trace, unit) == passage]
        return np.array([float(values[unit].sum()) for unit in rows])

    @cached_property
    def _attributions(self) -> tuple[Attribution, Attribution]:
        wrong, right = (linearised(trace, metrics.label(0)) for trace in self.traces)
        return wrong, right

    @cached_property
    def _logits(self) -> tuple[sources.Sources, sources.Sources]:
        wrong, right = (sources.label(trace, 0) for trace in self.traces)
        return wrong, right

    def scores_without(self, text: str, sets: Sequence[Sequence[int]]) -> np.ndarray:
        self.lens.borrowed.check(self._fingerprint)
        columns = []
        for number, (passage, trace) in enumerate(zip(TEXTS[1:], self.traces, strict=True)):
            if check_text_name(text) not in ("query", passage):
                columns.append(np.full(len(sets), self.scores[number]))
                continue
            size = max(1, TOKENS // trace.n_tokens)
            batches = [sets[start : start + size] for start in range(0, len(sets), size)]
            columns.append(np.concatenate([_changed(trace, [[*map(Hide, x)] for x in batch]) for batch in batches]))
        return np.stack(columns, 1)

    def scores_of(self, text: str, versions: Sequence[str]) -> np.ndarray:
        self.lens.borrowed.check(self._fingerprint)
        columns = []
        for number, passage in enumerate(TEXTS[1:]):
            if check_text_name(text) not in ("query", passage):
                columns.append(np.full(len(versions), self.scores[number]))
                continue
            pairs = [(x, self.texts[number + 1]) if text == "query" else (self.texts[0], x) for x in versions]
            traces = self.lens.trace_batch(pairs, truncation=True)
            columns.append(np.array([_logit(trace) for trace in traces]))
        return np.stack(columns, 1)

    def scores_changed(self, changes: Sequence[Change]) -> tuple[float, float]:
        self.lens.borrowed.check(self._fingerprint)
        for trace in self.traces:
            check_changes(trace, changes)
        wrong, right = (float(_changed(trace, [tuple(changes)])[0]) for trace in self.traces)
        return wrong, right

    def rewritten(self, query: str | None = None, wrong: str | None = None, right: str | None = None) -> CrossContrast:
        self.lens.borrowed.check(self._fingerprint)
        texts = [old if new is None else new for old, new in zip(self.texts, (query, wrong, right), strict=True)]
        traces = [
            None if query is not None or new is not None else trace
            for new, trace in zip((wrong, right), self.traces, strict=True)
        ]
        return cross_contrast(self.lens, (texts[0], texts[1], texts[2]), traces)


def cross_contrast(
    lens: SentenceLens, texts: tuple[str, str, str], traces: Sequence[Trace | None] = (None, None)
) -> CrossContrast:
    """See `contrast`. traces: of pairs that are read already. Raises ModelError for a cross-encoder that has several
    labels, or makes its score of something else than its classifier's logit, InputError for an empty passage."""
    check_three(texts)
    encoder, fingerprint = lens.sentences, lens.borrowed.fingerprint()
    assert isinstance(encoder, SentenceEncoder)
    if lens.borrowed.why_no_answer:
        raise ModelError(f"no contrast of two logits: {lens.borrowed.why_no_answer}")
    read = []
    for trace, passage in zip(traces, texts[1:], strict=True):
        if not passage:
            raise InputError("a cross-encoder reads pairs, and an empty passage makes none: leave it out")
        if trace is None:
            trace = lens.trace_batch([(texts[0], passage)], truncation=True)[0]
            logits = trace.record.output.logits
            if logits.shape[-1] > 1:
                raise ModelError(
                    f"{lens.model_name} gives {logits.shape[-1]} labels to a pair, not one score to rank by"
                )
            activation = lens.borrowed.activation or (lambda x: x)
            score = float(encoder.predict([(texts[0], passage)])[0])
            tolerance = max(TOLERANCE, ROUNDINGS * torch.finfo(logits.dtype).eps) * max(1.0, abs(score))
            if abs(float(activation(logits)[0, 0]) - score) > tolerance:
                raise ModelError(f"{lens.model_name} reads a pair otherwise than its tokenizer makes it: no contrast")
        read.append(trace)
    lengths = [int((trace.segments == 0).sum()) for trace in read]
    if lengths[0] != lengths[1]:
        raise ModelError("the question is cut otherwise beside either passage: give a shorter one")
    notes = [ONE_INPUT, KEPT]
    for text, trace in zip(("query", *TEXTS[1:]), (read[0], *read), strict=True):
        if ("text" if text == "query" else "text_pair") in trace.encoding.report.truncated:
            notes.append(f"{subject(text)} is cut: both texts together are {trace.n_tokens} tokens.")
        places = [unknown["position"] for unknown in trace.encoding.report.unknown]
        notes += unknown_notes(sum((int(trace.segments[at]) == 0) == (text == "query") for at in places), text)
    return CrossContrast(
        lens, texts, (None, None), (_logit(read[0]), _logit(read[1])), tuple(notes), fingerprint, (read[0], read[1])
    )


def _logit(trace: Trace) -> float:
    return float(trace.record.output.logits[0, 0])


def _changed(trace: Trace, rows: Sequence[Sequence[Change]]) -> np.ndarray:
    """(n,) float64 the logit of runs of a pair with changes."""
    logits: torch.Tensor = output_of(trace.borrowed, trace.inputs(len(rows)), Run(rows)).logits
    return logits[:, 0].double().cpu().numpy()


def _is_of_passage(trace: Trace, unit: Sequence[int]) -> bool:
    return int(trace.segments[unit[0]]) == 1 and not bool(trace.special_mask[unit[0]])


def _sums(rows: Sequence[Any], name: str) -> dict[str, float]:
    """Parts of a logit by name, as `sentences.inputs.contributions` calls them."""
    sums: dict[str, float] = {}
    for kind, layer, head, part in rows:
        if name == "kind" or kind == "bias":
            row = kind
        elif layer is None:
            row = "embeddings"
        elif name == "layer":
            row = f"L{layer}"
        else:
            row = f"L{layer}·MLP" if head is None else f"L{layer}·H{head}"
        sums[row] = sums.get(row, 0.0) + part
    return {kind: sums[kind] for kind in KINDS if kind in sums} if name == "kind" else sums
