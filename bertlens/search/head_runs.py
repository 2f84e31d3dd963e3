"""What a model makes of texts without a head, for many texts and heads; and what a mask on each head would change."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import torch
from torch import Tensor

from ..errors import ModelError
from ..lens import Lens
from ..run.attention_weights import check_precision
from ..run.forward import output_of
from ..run.interventions import Run
from ..run.masks import mask_slopes
from ..sentences.encoders import PlainEncoder, SentenceEncoder
from ..sentences.late_interaction import LateEncoder
from ..sentences.no_vectors import no_vectors
from ..sentences.sparse_encoder import SparseTextEncoder
from ..text.encoding import Encoding
from ..whatif.head_study import HeadSite, head_sites

TOLERANCE = 1e-4  # of a vector's or a score's own size, beside what the model's own method makes


class Input(NamedTuple):
    """What a model reads at once: a question or a passage, of a cross-encoder both."""

    query: str | None
    passage: str | None


Outputs: TypeAlias = Mapping[Input, np.ndarray]


class HeadRuns(ABC):
    """Runs of one model. Raises ModelError where its heads cannot be switched off, or no gradient can be had."""

    def __init__(self, lens: Lens, sample: Input, batch_size: int):
        self._lens, self._batch_size = lens, batch_size
        trace = lens.run([self.encoding(sample)])[0]
        self.sites = head_sites(trace)
        self.n_layers = trace.n_layers

    @abstractmethod
    def inputs(self, query: str, passages: Sequence[str]) -> list[Input]:
        """What is read for the scores of passages."""

    @abstractmethod
    def encoding(self, source: Input) -> Encoding:
        """Its tokens."""

    @abstractmethod
    def scores(self, query: str, passages: Sequence[str], outputs: Outputs) -> np.ndarray:
        """(1 + n, K) float64, of `outputs` (1 + n, E) of each of the `inputs`."""

    @abstractmethod
    def slopes_of(self, query: str, passages: Sequence[str], signs: Sequence[float], outputs: Outputs) -> Outputs:
        """(E,) of each of the `inputs` the slope of Σ signs · scores in its output."""

    @abstractmethod
    def _read(self, output: Any, inputs: dict[str, Tensor], batch: Sequence[Input]) -> Tensor:
        """(B, E) of the model's output for a batch: vectors, of a cross-encoder logits. Gradients pass."""

    def outputs(self, texts: Sequence[Input], sites: Sequence[HeadSite] = ()) -> np.ndarray:
        """(1 + n, N, E) float32 of N inputs: without any change, and without each of n heads."""
        check_precision(self._lens.borrowed.device)
        encodings = [self.encoding(text) for text in texts]
        columns: dict[int, np.ndarray] = {}
        for places in self._lens.batches(encodings, self._batch_size):
            batch, inputs = [texts[at] for at in places], self._lens.inputs([encodings[at] for at in places])
            columns |= zip(places, self._batch(batch, inputs, sites).swapaxes(0, 1), strict=True)
        return np.stack([columns[at] for at in range(len(texts))], 1)

    def _batch(self, batch: Sequence[Input], inputs: dict[str, Tensor], sites: Sequence[HeadSite]) -> np.ndarray:
        baseline = Run(watch=bool(sites) and self._lens.borrowed.adapter is not None)
        outputs = [self._read(output_of(self._lens.borrowed, inputs, baseline), inputs, batch)]
        for site in sites:
            run = baseline.branch([[site.off]] * len(batch), site.layer)
            outputs.append(self._read(output_of(self._lens.borrowed, inputs, run), inputs, batch))
        return torch.stack(outputs).detach().float().cpu().numpy()

    def slopes(self, weights: Outputs) -> np.ndarray:
        """(L, H) float64: what Σ weights · outputs would gain to first order by each head off; weights (E,) of each."""
        texts = [*weights]
        encodings = [self.encoding(text) for text in texts]
        total = np.zeros((self.n_layers, len(self.sites) // self.n_layers))
        for places in self._lens.batches(encodings, self._batch_size):
            batch, inputs = [texts[at] for at in places], self._lens.inputs([encodings[at] for at in places])
            of_batch = torch.tensor(np.array([weights[text] for text in batch]), dtype=torch.float64, device="cpu")

            def sums(
                output: Any, batch: list[Input] = batch, inputs: Any = inputs, weight: Tensor = of_batch
            ) -> Tensor:
                vectors = self._read(output, inputs, batch)
                return (vectors * weight.to(vectors)).sum(1)

            total -= mask_slopes(self._lens.borrowed, inputs, self.n_layers, sums)[1].sum(0).numpy()
        return total


class VectorRuns(HeadRuns):
    """Of an encoder that makes a vector of each text."""

    def __init__(self, lens: Lens, sample: Input, batch_size: int):
        encoder = lens.sentences
        self._prompts = {task: encoder.prompt(task, None) for task in ("query", "document")}
        readings = {task: encoder.read("a", task) for task in self._prompts}
        self._left_out = {task: reading.left_out for task, reading in readings.items()}
        super().__init__(lens, sample, batch_size)
        for source in self.inputs(str(sample.query), [str(sample.passage)]):
            [vector] = encoder.encode([str(source.query or source.passage)], _task(source), None, 1, False)
            size = max(1.0, float(vector.abs().max()))
            if not np.abs(self.outputs([source])[0, 0] - vector.float().cpu().numpy()).max() <= TOLERANCE * size:
                raise ModelError(f"{lens.model_name} reads a text otherwise than its tokenizer makes it: no heads")

    def inputs(self, query: str, passages: Sequence[str]) -> list[Input]:
        return [Input(query, None), *(Input(None, passage) for passage in passages)]

    def encoding(self, source: Input) -> Encoding:
        text = source.passage if source.query is None else source.query
        return self._lens.encoding(self._prompts[_task(source)] + str(text), None, True)

    def scores(self, query: str, passages: Sequence[str], outputs: Outputs) -> np.ndarray:
        vectors = np.stack([outputs[source] for source in self.inputs(query, passages)], 1)
        rows = [
            self._similarity(torch.tensor(of_run[:1], device="cpu"), torch.tensor(of_run[1:], device="cpu"))[0]
            for of_run in vectors
        ]
        return torch.stack(rows).double().cpu().numpy()

    def slopes_of(self, query: str, passages: Sequence[str], signs: Sequence[float], outputs: Outputs) -> Outputs:
        source = self.inputs(query, passages)
        with torch.inference_mode(False), torch.enable_grad():
            vectors = torch.tensor(np.array([outputs[text][0] for text in source]), requires_grad=True, device="cpu")
            total = (self._similarity(vectors[:1], vectors[1:])[0] * torch.tensor(signs, device="cpu")).sum()
            [slopes] = torch.autograd.grad(total, [vectors])
        return dict(zip(source, slopes.double().numpy(), strict=True))

    def _similarity(self, a: Tensor, b: Tensor) -> Tensor:
        return self._lens.sentences.similarity(a, b).cpu()

    def _read(self, output: Any, inputs: dict[str, Tensor], batch: Sequence[Input]) -> Tensor:
        if "last_hidden_state" not in output:
            raise no_vectors(self._lens.model_name, output)
        keep = inputs["attention_mask"].bool().clone()
        for row, source in zip(keep, batch, strict=True):
            row[: self._left_out[_task(source)]] = False
        return self._lens.sentences.vectors(output.last_hidden_state, keep)


class CrossRuns(HeadRuns):
    """Of a cross-encoder, whose score is a logit of question and passage together."""

    def __init__(self, lens: Lens, sample: Input, batch_size: int):
        if lens.borrowed.why_no_answer:
            raise ModelError(f"no heads of a logit: {lens.borrowed.why_no_answer}")
        super().__init__(lens, sample, batch_size)
        encoder = lens.sentences
        assert isinstance(encoder, SentenceEncoder)
        score = encoder.predict([(str(sample.query), str(sample.passage))])
        if score.ndim > 1:
            raise ModelError(f"{lens.model_name} gives {score.shape[1]} labels to a pair, not one score to rank by")
        activation = lens.borrowed.activation or (lambda x: x)
        logit = torch.tensor(self.outputs([sample])[0], device="cpu")
        if abs(float(activation(logit)[0, 0]) - float(score[0])) > TOLERANCE * max(1.0, abs(float(score[0]))):
            raise ModelError(f"{lens.model_name} reads a pair otherwise than its tokenizer makes it: no heads")

    def inputs(self, query: str, passages: Sequence[str]) -> list[Input]:
        return [Input(query, passage) for passage in passages]

    def encoding(self, source: Input) -> Encoding:
        return self._lens.encoding(source.query, source.passage, True)

    def scores(self, query: str, passages: Sequence[str], outputs: Outputs) -> np.ndarray:
        return np.stack([outputs[source][:, 0] for source in self.inputs(query, passages)], 1).astype(np.float64)

    def slopes_of(self, query: str, passages: Sequence[str], signs: Sequence[float], outputs: Outputs) -> Outputs:
        return {source: np.array([sign]) for source, sign in zip(self.inputs(query, passages), signs, strict=True)}

    def _read(self, output: Any, inputs: dict[str, Tensor], batch: Sequence[Input]) -> Tensor:
        return output.logits[:, :1]


def head_runs(lens: Lens, query: str, passage: str, batch_size: int) -> HeadRuns:
    """Runs of a model, tried on a question and a passage. Raises ModelError for late interaction, for
    sparse vectors, of which those of all heads would fill the memory, and as `HeadRuns`."""
    if isinstance(lens.sentences, SparseTextEncoder):
        raise ModelError(
            "heads are switched off in encoders whose vectors are small: of a sparse one .contrast(…).by('head') and "
            ".rerun(whatif.off(layer, head)) tell of one question"
        )
    if isinstance(lens.sentences, LateEncoder) or not isinstance(lens.sentences, SentenceEncoder | PlainEncoder):
        raise ModelError("heads are switched off in encoders with one vector a text, and in cross-encoders")
    kind = CrossRuns if lens.sentences.crosses else VectorRuns
    return kind(lens, Input(query, passage), batch_size)


def _task(source: Input) -> str:
    return "document" if source.query is None else "query"
