"""What makes vectors of whole texts: objects of sentence-transformers, or an encoder without a pooling of its own.

The package is not imported: an object of one of its classes has brought it along. All its numbers come from the
object's own methods; it comes back as it was.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

import torch
from torch import Tensor, nn

from ..base.interrupts import interruptible
from ..base.locks import locked
from ..base.progress import bar
from ..errors import InputError, ModelError, excerpt
from ..model import transformers_private as private
from ..model.borrowed import Model
from ..model.loan import Loan
from ..text.encoding import Encoding
from ..text.tokenizer import resting_state
from ..trace.trace import Trace, Tracer
from .no_vectors import no_vectors
from .pooling import Modes
from .position_limit import within_positions
from .routes import check_routes

PACKAGE = "sentence_transformers"
TASKS = {"query": ("query",), "document": ("document", "passage", "corpus")}  # task -> names of its prompt, first first
WINDOW = 8  # batches whose texts of like length stand side by side: what an interrupt may lose
FIRST = ("Transformer", "MLMTransformer")  # the second of sparse encoders that were saved before 5.4
TAIL = ("Dense", "LayerNorm", "Normalize", "Dropout")  # what may follow on a pooling
COSINE, DOT, EUCLIDEAN, MANHATTAN = "cosine", "dot", "euclidean", "manhattan"
NO_VECTORS = "a cross-encoder reads two texts as one input and has no vectors: lens.similarity scores texts"


@dataclass(frozen=True, eq=False)
class TextReading:
    """What an encoder made of one text alone: S tokens of width D, prompt included, a vector of E numbers."""

    prompt: str
    text: str  # with its prompt
    input_ids: tuple[int, ...]
    states: Tensor  # (S, D) what the pooling was given
    left_out: int  # tokens of the prompt that the pooling leaves out
    vector: Tensor  # (E,) the model's own
    trace: Trace | None = field(default=None, kw_only=True)  # the run that it was read in, where that was traced


class SentenceEncoder:
    """A SentenceTransformer or CrossEncoder. Raises ModelError, naming the module, for one that is not known here."""

    note = ""  # what is said beside its numbers

    def __init__(self, module: Any):
        kinds = kinds_of(module)
        self.module, self.crosses = module, "CrossEncoder" in kinds
        if not (self.crosses or "SentenceTransformer" in kinds):
            raise ModelError(
                f"{type(module).__name__} is not read here: Lens takes a SentenceTransformer, a CrossEncoder, a "
                "MultiVectorEncoder, a SparseEncoder, or a transformers model with its tokenizer"
            )
        check_routes(module)
        base, *steps = module
        check_first(module, base, "sequence-classification" if self.crosses and not steps else "feature-extraction")
        pooling = steps[:1]
        if pooling and type(pooling[0]).__name__ != "Pooling":
            raise unknown(module, pooling[0])
        if not (pooling or self.crosses):
            raise ModelError(f"this {type(module).__name__} has no Pooling: its vectors are no single ones of texts")
        for step in steps[1:]:
            of_tokens = getattr(step, "module_input_name", "sentence_embedding") != "sentence_embedding"
            if type(step).__name__ not in TAIL or of_tokens:
                raise unknown(module, step, "of tokens" if of_tokens else "")

    @property
    def tail(self) -> tuple[Any, ...]:
        """The modules behind the pooling, as they are now."""
        return tuple(self.module)[2:]

    @property
    def modes(self) -> Modes:
        """How tokens are pooled, as it is set now."""
        pooling = tuple(self.module)[1:2]
        modes: Any = pooling[0].pooling_mode if pooling else ()
        return Modes((modes,) if isinstance(modes, str) else tuple(modes))

    @property
    def model(self) -> nn.Module:
        """The transformers model in it."""
        return self.module[0].model

    @property
    def tokenizer(self) -> Any:
        return self.module.tokenizer

    @property
    def limit(self) -> int | None:
        """The most tokens that it reads; it cuts what is longer."""
        return self.module.max_seq_length

    @property
    def function(self) -> str:
        """Its similarity function: cosine, dot, euclidean, manhattan; of a MultiVectorEncoder maxsim or meanmaxsim."""
        return str(self.module.similarity_fn_name)

    @property
    def default_prompt(self) -> str:
        """What `encode` without a task puts before each text."""
        return self.prompt(None, None)

    def prompt(self, task: str | None, prompt_name: str | None) -> str:
        """What `encode` puts before each text. Raises InputError for a task or prompt that the object has not."""
        name = self._prompt_name(task, prompt_name)
        return "" if name is None else str(self.module.prompts[name])

    @property
    def truncate_dim(self) -> int | None:
        """How many numbers of a vector are kept; None for all."""
        return self.module.truncate_dim

    def encode(
        self, texts: str | Sequence[str], task: str | None, prompt_name: str | None, batch_size: int, progress: bool
    ) -> Any:
        """(N, E), of one string (E,): `encode`, `encode_query` or `encode_document` of the object."""
        if self.crosses:
            raise ModelError(NO_VECTORS)
        options = {"batch_size": batch_size, "show_progress_bar": progress, "convert_to_tensor": True}
        vectors: Tensor = self._output_of(texts, task, prompt_name, **options)
        return vectors.clone()  # made in inference mode: as it is, no gradient could ever pass it

    def _output_of(self, texts: str | Sequence[str], task: str | None, prompt_name: str | None, **options: Any) -> Any:
        """What the object's own method gives for a task."""
        name = self._prompt_name(task, prompt_name)
        batch = texts if isinstance(texts, str) else list(texts)
        call = {None: "encode", "query": "encode_query", "document": "encode_document"}[task]
        with self.as_it_was(), interruptible():
            return getattr(self.module, call)(batch, prompt_name=name, **options)

    def predict(self, pairs: Sequence[tuple[str, str]], batch_size: int = 32, **options: Any) -> Tensor:
        """(N,), with several labels (N, labels): the scores of a cross-encoder, its activation applied."""
        with self.as_it_was(), interruptible():
            scores: Tensor = self.module.predict(
                list(pairs), batch_size=batch_size, show_progress_bar=False, convert_to_tensor=True, **options
            )
        return scores.clone()

    def own_answer(self, text: str | tuple[str, str]) -> Tensor:
        """Of `encode` the vector (E,) of a text, of `predict` the scores (labels,) of a pair; without a prompt."""
        options = {"prompt": "", "show_progress_bar": False, "convert_to_tensor": True}
        answer: Tensor = self.module.predict([text], **options) if self.crosses else self.module.encode(text, **options)
        return answer.to_dense().flatten()

    def similarity(self, a: Any, b: Any) -> Tensor:
        """(N, M) the object's similarity of vectors (N, E) and (M, E)."""
        return self.module.similarity(a, b)

    def read(self, text: str, task: str | None, prompt_name: str | None = None) -> TextReading:
        """One text as the model reads it: caught on its way through the object's own `encode`."""
        features, vector = self._features(text, task, prompt_name)
        mask = features["attention_mask"][0].bool()
        prompt = self.prompt(task, prompt_name)
        left_out = 0 if self.module[1].include_prompt else int(features.get("prompt_length") or 0)
        return TextReading(
            prompt=prompt,
            text=prompt + text,
            input_ids=tuple(features["input_ids"][0][mask].tolist()),
            states=features["token_embeddings"][0][mask].clone(),
            left_out=left_out,
            vector=vector,
        )

    def _features(self, text: str, task: str | None, prompt_name: str | None) -> tuple[dict[str, Any], Tensor]:
        """What a text's first module hands on, and the vector that `encode` makes of it."""
        caught: list[dict[str, Any]] = []
        thread = threading.get_ident()

        def catch(module: nn.Module, arguments: Any, features: dict[str, Any]) -> None:
            if threading.get_ident() == thread:
                caught.append(dict(features))

        with Loan() as loan:
            loan.hook(self.module[0].register_forward_hook(catch))
            vector = self.encode(text, task, prompt_name, 1, False)
        return caught[0], vector

    def vectors(self, states: Tensor, keep: Tensor) -> Tensor:
        """(N, E) of states (N, S, D), pooled over the tokens that `keep` (N, S) says, then as the object has it.

        Gradients pass.
        """
        pooled = self.modes.pooled(states, keep)
        like = next((p for module in self.tail for p in module.parameters()), pooled)
        features: dict[str, Tensor] = {"sentence_embedding": pooled.to(like.dtype)}
        for module in self.tail:
            if type(module).__name__ != "Dropout":  # in eval mode, as the object encodes, it does nothing
                features = module(features)
        return features["sentence_embedding"][:, : self.truncate_dim]

    def _prompt_name(self, task: str | None, name: str | None) -> str | None:
        """The prompt that the object's `encode…` uses. Raises InputError for a task or prompt that it has not."""
        prompts: dict[str, str] = self.module.prompts
        if task is not None and not (isinstance(task, str) and task in TASKS):
            raise InputError(f"no task {excerpt(task)}: there are None, {', '.join(map(repr, TASKS))}")
        if name is not None and not (isinstance(name, str) and name in prompts):
            raise InputError(f"no prompt {excerpt(name)}: this model has {', '.join(map(repr, prompts)) or 'none'}")
        task_prompt = next((p for p in TASKS.get(task or "", ()) if p in prompts), None)
        return next((p for p in (name, task_prompt, self.module.default_prompt_name) if p is not None), None)

    @contextmanager
    def as_it_was(self) -> Iterator[None]:
        """The object's own methods leave it in eval mode and the tokenizer's padding changed: both are put back.

        Raises as `within_positions`.
        """
        with locked(private.configs(self.module)), resting_state(self.tokenizer), Loan() as loan:
            for module in self.module.modules():
                if module.training:
                    loan.set(module, "training", False)
            with within_positions(self.module):
                yield


class SentenceLens(Tracer, Protocol):
    """What vectors and similarities of texts need of a Lens, which stands above them."""

    borrowed: Model
    sentences: Encoder

    @property
    def limit(self) -> int | None: ...

    @property
    def model_name(self) -> str: ...

    @property
    def tokenizer(self) -> Any: ...

    def run(self, encodings: Sequence[Encoding], apart: bool = True) -> list[Trace]: ...

    def trace_batch(
        self, texts: Iterable[str | tuple[str, str]], batch_size: int = 16, *, truncation: bool = False
    ) -> list[Trace]: ...

    def encoding(self, text: Any, text_pair: Any = None, truncation: bool = False) -> Encoding: ...

    def batches(self, encodings: Sequence[Encoding], batch_size: int) -> Iterator[list[int]]: ...

    def encode(
        self,
        texts: str | Iterable[str],
        task: str | None = None,
        prompt_name: str | None = None,
        *,
        batch_size: int = 32,
        progress: bool = False,
    ) -> Any: ...


class PlainEncoder:
    """A transformers encoder as a Lens has it, read like the sentence encoders of sentence-transformers.

    prompts: what stands before a text, by task; nothing for one that is not there.
    """

    crosses, function, truncate_dim = False, COSINE, None
    modes, tail = Modes(("mean",)), ()

    def __init__(self, lens: SentenceLens, prompts: Mapping[str | None, str] | None = None):
        self._lens, self.prompts = lens, dict(prompts or {})

    @property
    def default_prompt(self) -> str:
        """What stands before a text without a task."""
        return self.prompt(None, None)

    @property
    def limit(self) -> int | None:
        """The most tokens that it reads; it cuts what is longer."""
        return self._lens.limit

    @property
    def note(self) -> str:
        """How the vector is made, where the model does not say how."""
        names = filter(None, (getattr(self._lens.tokenizer, name, None) for name in ("cls_token", "sep_token")))
        template = " and ".join(dict.fromkeys(map(str, names)))
        return f"The vector is the mean of all tokens{template and f', {template} too'}."

    def encode(
        self, texts: str | Sequence[str], task: str | None, prompt_name: str | None, batch_size: int, progress: bool
    ) -> Tensor:
        """(N, D), of one string (D,). A text beyond the limit is cut."""
        prompt = self.prompt(task, prompt_name)
        batch = [prompt + text for text in ([texts] if isinstance(texts, str) else texts)]
        vectors: list[Tensor] = []
        with bar(len(batch), "text", "vectors", progress) as progress_bar:
            for start in range(0, len(batch), WINDOW * batch_size):
                window = batch[start : start + WINDOW * batch_size]
                encodings = [self._lens.encoding(text, None, True) for text in window]
                means: dict[int, Tensor] = {}
                for places in self._lens.batches(encodings, batch_size):  # all traces at once would fill the memory
                    traces = zip(places, self._lens.run([encodings[n] for n in places], apart=False), strict=True)
                    means |= {n: _states(trace).mean(0) for n, trace in traces}
                    progress_bar.update(len(places))
                vectors += [means[n] for n in range(len(encodings))]
        return vectors[0] if isinstance(texts, str) else torch.stack(vectors)

    def prompt(self, task: str | None, prompt_name: str | None) -> str:
        """What `encode` puts before each text. Raises InputError for a task that no encoder has, and for the name of
        a prompt."""
        _check_task(task, prompt_name)
        return self.prompts.get(task, "")

    def similarity(self, a: Any, b: Any) -> Tensor:
        """(N, M) cosines of vectors (N, D) and (M, D)."""
        tensors = (torch.as_tensor(x, device=self._lens.borrowed.device) for x in (a, b))
        u, v = (torch.nn.functional.normalize(torch.atleast_2d(x), dim=-1) for x in tensors)
        return u @ v.T

    def read(self, text: str, task: str | None, prompt_name: str | None = None) -> TextReading:
        """One text as the model reads it."""
        prompt = self.prompt(task, prompt_name)
        trace = self._lens.trace(prompt + text, truncation=True)
        states = _states(trace)
        ids = tuple(trace.encoding.input_ids)
        return TextReading(prompt, prompt + text, ids, states, 0, states.mean(0), trace=trace)

    def vectors(self, states: Tensor, keep: Tensor) -> Tensor:
        """(N, D) of states (N, S, D), the mean over the tokens that `keep` (N, S) says."""
        return self.modes.pooled(states, keep)


def _check_task(task: str | None, prompt_name: str | None) -> None:
    if task is not None and not (isinstance(task, str) and task in TASKS):
        raise InputError(f"no task {excerpt(task)}: there are None, {', '.join(map(repr, TASKS))}")
    if prompt_name is not None:
        raise InputError("an encoder without sentence-transformers has no prompts: leave prompt_name")


def _states(trace: Trace) -> Tensor:
    """(S, D) the last hidden states of an encoder. Raises ModelError for a model that answers with something else."""
    output = trace.output
    if "last_hidden_state" not in output:
        raise no_vectors(trace.model_name, output)
    return output.last_hidden_state[0]


Encoder: TypeAlias = SentenceEncoder | PlainEncoder


def is_of_package(model: Any) -> bool:
    """Whether an object is of a class of sentence-transformers, or of one made from it."""
    return any(c.__module__.partition(".")[0] == PACKAGE for c in type(model).__mro__)


def kinds_of(module: Any) -> list[str]:
    """The classes of sentence-transformers that an object is of."""
    return [c.__name__ for c in type(module).__mro__ if c.__module__.partition(".")[0] == PACKAGE]


SUCCESSORS = f"a Pooling and, of its vectors, {', '.join(TAIL)}"


def check_first(module: Any, base: Any, task: str, successors: str = SUCCESSORS) -> None:
    """Raises ModelError where the first module is no Transformer that reads text for this task of transformers."""
    if not hasattr(module, "preprocess"):
        raise ModelError("objects of sentence-transformers 6 and newer are read here: upgrade the package")
    if type(base).__name__ not in FIRST or getattr(base, "backend", "torch") != "torch":
        raise unknown(module, base, "", successors)
    if base.transformer_task != task or set(base.modality_config) != {"text"}:
        raise unknown(
            module, base, f"for {base.transformer_task} of {', '.join(map(str, base.modalities))}", successors
        )


def unknown(module: Any, step: Any, what: str = "", successors: str = SUCCESSORS) -> ModelError:
    """The error for a module that is not known. successors: what may follow on the first."""
    named = " ".join((type(step).__name__, what)).strip()
    return ModelError(
        f"this {type(module).__name__} has a module {named}, which is not read here: a Transformer that reads text and "
        f"{successors} are"
    )
