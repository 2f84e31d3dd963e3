"""Lens: a model and its tokenizer, from which traces are made. Input is checked here; the layers below trust it."""

from __future__ import annotations

import copyreg
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from torch import Tensor, nn

from .base.generators import batches_of
from .base.locks import locked
from .base.notes import note
from .base.paths import as_path
from .base.registered import registered
from .errors import InputError, MissingError, ModelError, check_batch, excerpt
from .model import loading, multilingual_model, offline_model
from .model.borrowed import Model
from .model.class_names import conflicts
from .model.lens_arguments import check_module, check_tokenizer
from .model.loan import at_rest, check_hooks, shared
from .model.modules import tensors_by_name
from .run import own_run, trust
from .run.attention_weights import check_precision
from .sentences.encoders import Encoder, PlainEncoder, SentenceEncoder, is_of_package
from .sentences.folders import is_sentence_encoder
from .sentences.folders import load as load_sentence_encoder
from .sentences.own_embedder import sentence_encoder, tell_answers
from .sentences.own_encode import own_of
from .sentences.pruning import pruned
from .sentences.similarity_matrix import check_texts, note_cuts, similarities
from .text.encoding import Encoding, batch_inputs, encode, noted, token_limit
from .text.texts import as_text, entries
from .trace.trace import Trace


class Lens:
    """A loaded transformers model and its tokenizer; the model is left exactly as it was by everything done here.

    A SentenceTransformer, CrossEncoder, MultiVectorEncoder or SparseEncoder of sentence-transformers brings its own
    tokenizer: Lens(model). `trace` then is of the transformers model in it, without a prompt; `encode` and `similarity`
    are the object's own.
    Raises ModelError where the model is not one that bertlens can read (the message lists what works).
    """

    def __init__(self, model: nn.Module, tokenizer: Any = None):
        check_module(model)
        self._given = model
        self.sentences: Encoder = PlainEncoder(self)  # what makes vectors of whole texts
        if is_of_package(model):
            self.sentences = sentence_encoder(model)
            if tokenizer not in (None, self.sentences.tokenizer):
                raise ModelError(f"a {type(model).__name__} has its own tokenizer: leave it out, Lens(model)")
            model, tokenizer = self.sentences.model, self.sentences.tokenizer
        check_tokenizer(tokenizer)
        self.borrowed: Model = Model(model, tokenizer, whole=self._given)
        if isinstance(self.sentences, SentenceEncoder):
            tell_answers(self.borrowed, self.sentences)
        # for the report of every trace: names of classes that cannot all be meant, what loading the model left out
        self.notes: tuple[str, ...] = tuple(conflicts(getattr(self.borrowed.base, "config", None)))
        if self.notes:
            note("; ".join(self.notes))
        self.made = ""  # the Python that makes this lens again, "" where the objects were given

    @property
    def model(self) -> nn.Module:
        """The model as it was given."""
        return self._given

    @property
    def tokenizer(self) -> Any:
        """The tokenizer as it was given."""
        return self.borrowed.tokenizer

    @property
    def limit(self) -> int | None:
        """The most tokens that the model reads now, special tokens included; None where nothing says."""
        return token_limit(self.tokenizer, self.borrowed.base)  # of a sentence encoder, its tokenizer holds it

    @property
    def model_name(self) -> str:
        """The hub id or folder name that the model came from, else its class."""
        return self.borrowed.name

    @classmethod
    def from_pretrained(
        cls,
        name: str | Path,
        *,
        allow_pickle: bool = False,
        revision: str | None = None,
        dtype: Any = None,
        device: Any = None,
    ) -> Lens:
        """Load the model and tokenizer of a hub id or folder, with the head that its config.json names.

        Heads that name masked words, classify a text, a pair or tokens, or find an answer's span are loaded; what has
        another one is loaded as the encoder alone, and the report of each trace says so.

        Weights are read from safetensors; pickled weights can run code while they load and are refused unless
        `allow_pickle`. Code that comes with a model is never run: load such a model yourself and give Lens the objects.
        Raises InputError for no name or revision, ModelError for what cannot be loaded whole: weights or a tokenizer
        that are missing, damaged or of another model are named, not replaced. A pooler or task head may be missing; the
        reports say so, too. What sentence-transformers saved (with a modules.json) is loaded by that package, which
        must be there. revision: branch, tag or commit on the hub. dtype: of the weights; device: where they go.
        """
        if not isinstance(revision, str | None):
            raise InputError(f"revision is a branch, tag or commit, as a string, not {excerpt(revision)}")
        if as_path(name, "a model").is_dir():
            name = as_path(name)  # where it is, with "~" as the home
        if is_sentence_encoder(name, revision):
            encoder, notes = load_sentence_encoder(
                name, allow_pickle=allow_pickle, revision=revision, dtype=dtype, device=device
            )
            lens = cls(encoder)
            if not Path(name).is_dir():
                lens.borrowed.name = str(name)  # not that of a folder in the cache
        else:
            loaded = loading.load(name, allow_pickle=allow_pickle, revision=revision, dtype=dtype, device=device)
            lens, notes = cls(loaded.module, loaded.tokenizer), loaded.notes
        lens.notes += notes
        lens.made = loading.call_of(name, allow_pickle, revision, dtype)
        return lens

    @classmethod
    def embedded(cls, model: str = "minilm", *, mlm: bool = False) -> Lens:
        """The offline default: all-MiniLM-L6-v2 (6 layers x 12 heads x 32) from the `demo` extra.

        model: "multilingual" is a sentence encoder of some hundred languages from the extra of that name, a four-bit
        copy of multilingual-e5-small (12 layers x 12 heads x 32) and not its published weights. `encode`, `similarity`
        and `retrieval` put "query: " before a text, "passage: " before a document; `trace` reads a text as it is.
        mlm: the same encoder trained on as a masked language model (a BertForMaskedLM), which says what may stand
        behind a [MASK]; what it was trained on and how well it answers is in bertlens/training/model/MODEL_CARD.md.
        Raises ModelError where the extra is not installed, or weights are not the known ones.
        """
        if model not in ("minilm", "multilingual") or (mlm and model != "minilm"):
            raise ModelError(f"no embedded model {excerpt(model)}: 'minilm', also as mlm=True, or 'multilingual'")
        if model == "multilingual":
            lens = cls(*multilingual_model.load())
            lens.sentences = PlainEncoder(lens, multilingual_model.PROMPTS)
            lens.borrowed.name, lens.notes = multilingual_model.NAME, (multilingual_model.NOTE,)
            lens.made = "bl.Lens.embedded('multilingual')"
            return lens
        if mlm:
            lens_of_language_model: Lens = registered("masked_language_model")()
            lens_of_language_model.made = "bl.Lens.embedded(mlm=True)"
            return lens_of_language_model
        lens = cls(*offline_model.load())
        lens.borrowed.name, lens.made = offline_model.NAME, "bl.Lens.embedded()"
        return lens

    @classmethod
    def sars_cov_2(cls) -> Lens:
        """The case study's classifier of SARS-CoV-2 variants (12 layers x 12 heads x 8): trace spike gene sequences.

        `sars_cov_2.annotate(trace)` says what each token is on the spike. Source: Bonino et al. 2025.
        """
        lens: Lens = registered("sars_cov_2")()
        lens.made = "bl.Lens.sars_cov_2()"
        return lens

    def trace(self, text: str, text_pair: str | None = None, *, truncation: bool = False) -> Trace:
        """One forward pass over a text or a pair of texts.

        A note says where the tokens are special ones alone, as of an empty text.
        Raises InputError for anything else than strings, for text without tokens, for text that is longer than the
        model takes unless `truncation` (then the cut is in the report), and under torch.autocast.
        """
        for value, name in ((text, "text"), (text_pair, "text_pair")):
            if not isinstance(value, str) and not (value is None and name == "text_pair"):
                raise InputError(
                    f"{name} must be a string, not {type(value).__name__}: lists of words go to trace_words, "
                    "several texts to trace_batch"
                )
        return self.run(_with_text([self.encoding(text, text_pair, truncation)]))[0]

    def trace_words(
        self, words: Sequence[str], words_pair: Sequence[str] | None = None, *, truncation: bool = False
    ) -> Trace:
        """One forward pass over words that are already split, as treebanks give them; `word_ids` index them.

        Words of the second list, words_pair, go on counting after the first. Raises InputError like `trace`.
        """
        for value, name in ((words, "words"), (words_pair, "words_pair")):
            if isinstance(value, str):
                raise InputError(f"{name} must be a list of words, not one string: that goes to trace")
            if not isinstance(value, Iterable) and not (value is None and name == "words_pair"):
                raise InputError(f"{name} must be a list of words, not {type(value).__name__}")
        pair = list(words_pair) if words_pair else None
        return self.run(_with_text([self.encoding(list(words), pair, truncation)]))[0]

    def trace_batch(
        self,
        texts: Iterable[str | tuple[str, str]] | Path,
        batch_size: int = 16,
        *,
        truncation: bool = False,
        column: str | tuple[str, str] | None = None,
    ) -> list[Trace]:
        """Traces of many texts (or pairs of texts), in their order, computed in padded batches.

        texts, column: as for `survey.head_stats`, without traces; a string is no file. Padding is in none of the
        results. Texts of like length share a batch. Raises InputError like `trace`.
        """
        if isinstance(texts, str):
            raise InputError("trace_batch takes a list of texts; one text goes to trace")
        batch_size = check_batch(batch_size)
        encodings = []
        for entry in entries(texts, column, "texts"):
            text = as_text(entry, " or list of words")
            first, second = text if isinstance(text, tuple) else (text, None)
            encodings.append(self.encoding(first, second, truncation))
        return self.run_batches(_with_text(encodings), batch_size)

    def encode(
        self,
        texts: str | Iterable[str] | Path,
        task: str | None = None,
        prompt_name: str | None = None,
        *,
        batch_size: int = 32,
        progress: bool = False,
        column: str | None = None,
    ) -> Any:
        """(N, E) the vectors of texts, of one string (E,), on the model's device.

        texts: a string, a list, a Series, an array, a generator; a table or a Path to a file, whose `column` it is
        (default: "text"); see `survey.head_stats`. A text beyond the model's limit is cut; a note says how many are.
        Of a SentenceTransformer they are its own, all of its steps and its limit of length included: `encode`, with
        task "query" `encode_query`, with "document" `encode_document`; prompt_name: one of its prompts. Another
        encoder's are the mean of all tokens. A late-interaction encoder has a vector for each token: (n, E), of several
        texts a list of such; a sparse encoder a number for each word of the vocabulary, as a sparse tensor.
        Raises InputError for a task or prompt that the model has not, ModelError for a model that makes no vectors.
        """
        checked = check_texts(texts, column=column)
        batch = texts if isinstance(texts, str) else checked
        note_cuts(self, checked, task, prompt_name)
        return self.sentences.encode(batch, task, prompt_name, check_batch(batch_size), progress)

    def similarity(self, a: Any, b: Any, *, column: str | None = None) -> Tensor:
        """(N, M) how similar each of `a` is to each of `b`: texts, or vectors (N, E) and (M, E).

        Texts, column: as for `encode`.
        By the model's own function: cosine, dot, the distances less than 0; the cosine where it says none. A
        cross-encoder takes texts alone, and its scores are those of `predict`; with several labels (N, M, labels).
        """
        return similarities(self, a, b, column)

    def prune(
        self,
        layers: int | None = None,
        dimensions: int | None = None,
        heads: Iterable[tuple[int, int]] | None = None,
    ) -> Lens:
        """A Lens on a smaller copy of the model, which is saved like any: `lens.prune(4).model.save_pretrained(path)`.

        layers: how many are kept, the first ones; the last one's states are those that the whole model has behind that
        layer, behind the family's final norm where it has one. dimensions: how many numbers of a vector are kept, the
        first ones, of a SentenceTransformer, whose folder says so (`truncate_dim`). heads: pairs of layer and head that
        are switched off, their columns of W_O zero: as `whatif.off`, and the model stays as large as it is.
        The model itself is left as it is. Raises InputError for numbers that there are not and for dimensions of a
        model without a pooling of its own, ModelError for a family without an adapter, and where a trial run of the
        copy gives other states.
        """
        return pruned(self, layers, dimensions, heads)

    def __repr__(self) -> str:
        return f"Lens({self.model_name}, {type(self.model).__name__})"

    if not TYPE_CHECKING:  # a lens has no other names than those declared

        def __getattr__(self, name: str) -> Any:
            """Raises MissingError, which names the way, where a trace has what is asked of a lens."""
            if not name.startswith("_") and hasattr(Trace, name) and not hasattr(type(self), name):
                call = "(…)" if callable(getattr(Trace, name)) else ""
                raise MissingError(f"a lens has no {name}, a trace has: lens.trace(text).{name}{call}")
            return object.__getattribute__(self, name)  # Python's own sentence

    # A pickle and a deep copy are of the model as it is between two passes, whatever other threads do with it

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        """Raises ModelError for a hook of the user's that cannot be pickled."""
        with self.borrowed.locked():
            check_hooks(self.model)
            state = self._at_rest({id(self): self} | shared(self.model))
        return copyreg.__newobj__, (type(self),), state  # type: ignore[attr-defined]

    def __copy__(self) -> Lens:
        copied = object.__new__(type(self))
        vars(copied).update(vars(self))
        return copied

    def __deepcopy__(self, memo: dict[int, Any]) -> Lens:
        copied = memo[id(self)] = object.__new__(type(self))
        vars(copied).update(self._at_rest(memo))
        return copied

    def _at_rest(self, memo: dict[int, Any]) -> dict[str, Any]:
        with self.borrowed.locked(), locked([self.tokenizer]):
            return at_rest(vars(self), memo)

    # The steps of a trace, for what runs the model in another way (survey.loss_gradients)

    def encoding(self, text: Any, text_pair: Any = None, truncation: bool = False) -> Encoding:
        """Tokenise a text or words, or a pair of either. Raises InputError like `trace`."""
        encoding = encode(self.tokenizer, text, text_pair, limit=self.limit, truncation=truncation, notes=self.notes)
        size = self.borrowed.vocabulary_size
        if max(encoding.input_ids) >= size:
            raise InputError(
                f"the tokenizer gives token id {max(encoding.input_ids)}, but the model knows {size} tokens: "
                "tokenizer and model do not belong together"
            )
        return encoding

    def batches(self, encodings: Sequence[Encoding], batch_size: int) -> Iterator[list[int]]:
        """Indices of encodings that may be padded together without a trace of it, like lengths together."""
        config: Any = self.borrowed.base.config
        pad = getattr(config.get_text_config(), "pad_token_id", None)
        names = {type(module).__name__ for module in self.borrowed.runner.modules()}
        if pad is None and any(name.endswith("ForSequenceClassification") for name in names):
            batch_size = 1  # such a head looks for the last token that is not padding, and needs to know padding
        lengths = [len(e) for e in encodings]
        same_length = len(set(lengths)) > 1 and batch_size > 1
        if same_length:
            sample = self.inputs(encodings[:1])
            same_length = trust.sees_padding(self.borrowed, sample, self._pad_id, self.limit)
        return batches_of(lengths, batch_size, same_length=same_length)

    def inputs(self, encodings: Sequence[Encoding]) -> dict[str, Any]:
        """The model's inputs for a batch, padded on the right, on its device.

        Raises ModelError for a model without weights, and for one on a device without float64.
        """
        device = self.borrowed.device
        if any(p.device.type == "meta" for p in tensors_by_name(self.borrowed.module, ("_parameters",)).values()):
            if any(hasattr(module, "_hf_hook") for module in self.borrowed.module.modules()):
                raise ModelError(
                    "the model is offloaded (device_map, cpu_offload): its weights are there layer by layer, and "
                    "measures read them all: load it whole, without device_map"
                )
            raise ModelError("the model has no weights yet (device 'meta'): load them first")
        if device.type == "mps":
            raise ModelError("measures need float64, which 'mps' has not: move the model first, model.to('cpu')")
        return batch_inputs(encodings, self._pad_id, device)

    @property
    def _pad_id(self) -> int:
        return self.tokenizer.pad_token_id or 0

    def run_batches(self, encodings: Sequence[Encoding], batch_size: int, apart: bool = True) -> list[Trace]:
        """The traces of many texts in their order. apart: as for `run`."""
        traces: dict[int, Trace] = {}
        for batch in self.batches(encodings, batch_size):
            traces |= zip(batch, self.run([encodings[i] for i in batch], apart), strict=True)
        return [traces[i] for i in range(len(encodings))]

    def run(self, encodings: Sequence[Encoding], apart: bool = True) -> list[Trace]:
        """The traces of a batch, from one forward pass; the first of each state is compared with the model's own run.

        apart: each holds its own numbers alone; False for traces that go together, whose numbers are not copied.
        Raises InputError under torch.autocast, ModelError like `inputs`, and where the model's own run gives others.
        """
        check_precision(self.borrowed.device)
        inputs = self.inputs(encodings)
        fingerprint = self.borrowed.fingerprint(inputs["input_ids"])
        own = partial(own_of, self.borrowed, self.sentences, encodings[0])
        record, note = own_run.run(self.borrowed, inputs, fingerprint, self.limit, own)
        return [
            Trace(
                noted(encoding, note),
                self.model_name,
                self.borrowed,
                self,
                fingerprint,
                record=record.text(row, len(encoding), apart),
            )
            for row, encoding in enumerate(encodings)
        ]


def _with_text(encodings: Sequence[Encoding]) -> Sequence[Encoding]:
    """The encodings; a note counts those of which no token comes from the text."""
    if blank := sum(not encoding.report.n_pieces for encoding in encodings):
        source = "the text" if len(encodings) == 1 else f"{blank:,} of {len(encodings):,} texts"
        note(f"no token comes from {source}: what is traced are the tokenizer's special tokens alone; give some text")
    return encodings


def embedded_named(name: str) -> Lens | None:
    """The embedded model of this name, None where none has it. Raises ModelError where the extra is not installed."""
    lens = Lens.embedded(mlm=name != offline_model.NAME)
    return lens if lens.model_name == name else None
