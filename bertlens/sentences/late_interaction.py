"""Late interaction: a vector for each token, and for each token of a query its best one of a passage (MaxSim).

Khattab and Zaharia 2020 (ColBERT), section 3.3: the score is Σᵢ maxⱼ qᵢ·dⱼ over the tokens that the model scores.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor

from ..base.amounts import amount, verb
from ..base.dataframes import pd
from ..errors import ModelError, SelectionError
from ..measures.sources import Reading, Stream
from ..model.fingerprint import Fingerprint
from ..text.display import spelling_of
from ..trace.checks import check_finite
from .encoders import SentenceEncoder, SentenceLens, TextReading, check_first, unknown
from .inputs import check_by, read_parts
from .pooling import Modes
from .routes import check_routes
from .text_pair import SIDES, Side, TextPair
from .token_parts import grouped_sums, read_by

KIND = "MultiVectorEncoder"
AFTER = ("Dense", "Normalize", "Dropout", "MultiVectorMask")  # what may follow on the transformers model
CHANGES = ("Dense", "Normalize")  # of them, what changes a vector
NO_ANSWER = (
    "a late-interaction encoder makes a vector of each token: "
    "bl.similarity(lens, query, passage, ('query', 'document')) has the score of two texts"
)


@dataclass(frozen=True, eq=False)
class TokensReading(TextReading):
    """A text as a late-interaction encoder reads it. T tokens: those of the text, then those that it adds to a query.

    `states` (T, E) are vectors of all, `vector` (n, E) of those that are scored.
    """

    all_ids: tuple[int, ...] = ()  # (T,)
    scored: tuple[bool, ...] = ()  # (T,) False for a token of the skip-list
    added: tuple[bool, ...] = ()  # (T,) True for a query's expansion


class LateEncoder(SentenceEncoder):
    """A MultiVectorEncoder. Raises ModelError, naming the module, for one that is not known here."""

    def __init__(self, module: Any):
        self.module, self.crosses = module, False
        check_routes(module)
        base, *steps = module
        check_first(module, base, "feature-extraction")
        for step in steps:
            of_text = getattr(step, "module_input_name", "token_embeddings") != "token_embeddings"
            if type(step).__name__ not in AFTER or of_text:
                raise unknown(module, step, "of whole texts" if of_text else "", f"on its tokens, {', '.join(AFTER)}")

    @property
    def tail(self) -> tuple[Any, ...]:
        return ()

    @property
    def modes(self) -> Modes:
        return Modes(())

    def encode(
        self, texts: str | Sequence[str], task: str | None, prompt_name: str | None, batch_size: int, progress: bool
    ) -> Any:
        """(n, E) of one string, of several a list of such: a vector of each token that is scored."""
        vectors = self._output_of(texts, task, prompt_name, batch_size=batch_size, show_progress_bar=progress)
        return vectors.clone() if isinstance(texts, str) else [matrix.clone() for matrix in vectors]

    def own_answer(self, text: str | tuple[str, str]) -> Tensor:
        """(S, E) the vectors of all tokens, scored or not."""
        features = self.module.encode(text, prompt="", show_progress_bar=False, output_value=None)
        vectors: Tensor = features["token_embeddings"]
        return vectors

    def read(self, text: str, task: str | None, prompt_name: str | None = None) -> TokensReading:
        features = self._output_of(text, task, prompt_name, output_value=None, show_progress_bar=False)
        prompt = self.prompt(task, prompt_name)
        scored = features["attention_mask"].bool()
        added = features.get("query_expansion_positions", torch.zeros_like(scored)).bool()
        states = features["token_embeddings"].clone()
        ids = features["input_ids"].tolist()
        text_ids = [number for number, is_added in zip(ids, added.tolist(), strict=True) if not is_added]
        return TokensReading(
            prompt=prompt,
            text=prompt + text,
            input_ids=tuple(text_ids),
            states=states,
            left_out=0,
            vector=states[scored],
            all_ids=tuple(ids),
            scored=tuple(scored.tolist()),
            added=tuple(added.tolist()),
        )

    @property
    def of_token(self) -> Any:
        """What makes the vector of one token, as `token_parts` reads an encoder."""
        steps = [step for step in [*self.module][1:] if type(step).__name__ in CHANGES]
        return SimpleNamespace(modes=Modes(("mean",)), tail=steps, truncate_dim=None)

    def token_vectors(self, states: Tensor) -> Tensor:
        """(N, S, E) of last hidden states (N, S, D): the vector of each token, scored or not."""
        features: dict[str, Tensor] = {"token_embeddings": states}
        with torch.no_grad():
            for step in self.of_token.tail:
                features = step(features)
        return features["token_embeddings"]


@dataclass(frozen=True, eq=False, repr=False)
class LateSimilarity(TextPair):
    """The MaxSim of two texts, a the query and b the passage: the model's own number, and which tokens made it."""

    why_not = ""  # it is a sum, always

    def products(self) -> pd.DataFrame:
        """(n, m) qᵢ·dⱼ of the tokens that are scored: the cosines, where the model normalises its vectors."""
        return pd.DataFrame(self._products.numpy(), index=self._names(0), columns=self._names(1))

    def pairs(self, *, words: bool = False) -> pd.DataFrame:
        """(T_a, T_b) what each pair of tokens puts into the number, 0 but at the maximum of each row; it sums to it.

        Tokens that are not scored have 0. words: pieces of a word summed, each added token a word of its own.
        """
        rows, cols = ([at for at, is_in in enumerate(reading.scored) if is_in] for reading in self._readings)
        matrix = torch.zeros(*(len(reading.all_ids) for reading in self._readings), dtype=torch.float64, device="cpu")
        for row, best in zip(rows, self._best.tolist(), strict=True):
            matrix[row, cols[best]] = self._products[rows.index(row), best] * self._scale
        units = [self._units(number, words) for number in range(2)]
        names = [self._unit_names(number, side_units) for number, side_units in enumerate(units)]
        return pd.DataFrame(grouped_sums(matrix, units).numpy(), index=names[0], columns=names[1])

    def tokens(self, side: str = "a", *, words: bool = False, own: bool = False) -> pd.Series:
        """What each token of the query "a" puts in; of the passage "b" what it won. Either sums to the number.

        own: the text's own tokens alone, without those of the template, a prompt and a query's expansion.
        """
        if side not in SIDES:
            raise SelectionError(f"no side {side!r}: there are 'a' and 'b'")
        number = SIDES.index(side)
        sums = self.pairs(words=words).sum(axis=1 - number)
        if not own:
            return sums
        text_side, size = self.sides[number], len(self.sides[number].encoding)
        return sums[[unit[0] < size and text_side.is_of_text(unit) for unit in self._units(number, words)]]

    def matches(self) -> pd.DataFrame:
        """For each token of the query its best token of the passage, in the order of the query.

        Columns: token and at (its place), best and best_at, cosine of the two vectors, part (the parts sum to the
        number), share = part / number, added (a token that the model put behind the query).
        """
        q, d = (reading.vector.double().cpu() for reading in self._readings)
        best = self._best
        cosines = torch.cosine_similarity(q, d[best], dim=-1)
        terms = self._products[torch.arange(len(q), device="cpu"), best] * self._scale
        places = [[at for at, is_in in enumerate(reading.scored) if is_in] for reading in self._readings]
        names = [self._names(number) for number in range(2)]
        return pd.DataFrame(
            {
                "token": names[0],
                "at": places[0],
                "best": [names[1][j] for j in best.tolist()],
                "best_at": [places[1][j] for j in best.tolist()],
                "cosine": cosines.numpy(),
                "part": terms.numpy(),
                "share": (terms / terms.sum()).numpy(),
                "added": [self._readings[0].added[at] for at in places[0]],
            }
        )

    @torch.no_grad()
    def by(self, name: str) -> pd.DataFrame:
        """What each "layer", "head" or "kind" put into the number, as `Similarity.by`: "a" of the query's run, each
        token read by its best one of the passage, "b" of the passage's, each token by those of the query that it is
        the best one of. Which one is the best is kept, so are norms.

        Raises ModelError where the model adds tokens to the query, which its run here has not, and like
        `Similarity.by`.
        """
        check_by(name)
        if any(self._readings[0].added):
            raise ModelError(
                "the model adds tokens to the query, which are in no run here: layers have no parts of them"
            )
        q, d = (reading.vector.double() for reading in self._readings)
        best = self._best.to(q.device)
        readers = d[best] * self._scale, torch.zeros_like(d).index_add_(0, best, q * self._scale)
        columns = [
            dict(read_parts(Stream(side.trace), _token_reading(side, rows), name))
            for side, rows in zip(self.sides, readers, strict=True)
        ]
        return pd.DataFrame(dict(zip(SIDES, columns, strict=True)))

    @property
    def gap(self) -> float:
        """The sum of the parts less the model's own number: what rounding leaves."""
        return float(self._products.amax(1).sum() * self._scale) - self.value

    @property
    def names(self) -> tuple[list[str], list[str]]:
        """All tokens of the query and of the passage, those that are not scored and those that are added included."""
        a, b = (_tokens(self.lens, reading.all_ids) for reading in self._readings)
        return a, b

    @property
    def is_normal(self) -> bool:
        """Whether the model normalises its vectors, last: then its products are cosines."""
        encoder: Any = self.lens.sentences
        names = [type(module).__name__ for module in encoder.module]
        return [name for name in names if name in ("Transformer", "Dense", "Normalize")][-1] == "Normalize"

    @property
    def _readings(self) -> tuple[TokensReading, TokensReading]:
        return tokens_reading(self.sides[0]), tokens_reading(self.sides[1])

    @cached_property
    def _products(self) -> Tensor:
        """(n, m) float64 on the CPU."""
        q, d = (reading.vector.double().cpu() for reading in self._readings)
        return q @ d.T

    @property
    def _best(self) -> Tensor:
        """(n,) the first maximum of each row."""
        return self._products.argmax(1)

    @property
    def _scale(self) -> float:
        return 1 / len(self._products) if self.function == "meanmaxsim" else 1.0

    def _units(self, number: int, words: bool) -> list[list[int]]:
        side, size = self.sides[number], len(self.sides[number].encoding)
        return [*side.units(words), *[[at] for at in range(size, len(self._readings[number].all_ids))]]

    def _unit_names(self, number: int, units: list[list[int]]) -> list[str]:
        side, size = self.sides[number], len(self.sides[number].encoding)
        tokens = _tokens(self.lens, self._readings[number].all_ids)
        return [*side.names([unit for unit in units if unit[0] < size]), *tokens[size:]]

    def _names(self, number: int) -> list[str]:
        reading = self._readings[number]
        return [name for name, is_in in zip(_tokens(self.lens, reading.all_ids), reading.scored, strict=True) if is_in]

    @property
    def _detail(self) -> str:
        return f"{len(self._products)} tokens of the query, gap {self.gap:.0e}"


def late_similarity(lens: SentenceLens, sides: tuple[Side, Side], fingerprint: Fingerprint) -> LateSimilarity:
    """See `pair_similarity.similarity_of`. Raises ModelError where the model scores no token of a text."""
    notes = [note for name, side in zip(SIDES, sides, strict=True) for note in late_notes(side, f"Text {name}")]
    vectors = ([side.reading.vector] for side in sides)
    value = float(lens.sentences.similarity(*vectors)[0, 0])
    return LateSimilarity(lens, value, sides, tuple(notes), fingerprint)


def tokens_reading(side: Side) -> TokensReading:
    """How late interaction reads a text."""
    assert isinstance(side.reading, TokensReading)
    return side.reading


def late_notes(side: Side, subject: str) -> Iterator[str]:
    """As `Side.notes`, and which tokens are scored. Raises ModelError where none is."""
    reading, inside = tokens_reading(side), subject[0].lower() + subject[1:]
    if not any(reading.scored):
        raise ModelError(f"{side.lens.model_name} scores no token of {inside}: all of them are on its skip-list")
    yield from side.notes(subject)
    if count := sum(reading.added):
        yield f"{amount(count, 'token')} {verb(count, 'is', 'are')} added to {inside}, and scored."
    if count := len(reading.scored) - sum(reading.scored):
        yield f"{amount(count, 'token')} of {inside} {verb(count, 'is', 'are')} not scored."


def _token_reading(side: Side, directions: Tensor) -> Reading:
    """Σ directions · vectors of the tokens that are scored, (n, E) each, as it is read off the last hidden states."""
    encoder, reading = side.lens.sentences, tokens_reading(side)
    assert isinstance(encoder, LateEncoder)
    check_finite(side.trace)
    states = side.trace.output.last_hidden_state[0]
    tokens = torch.tensor(reading.scored, device=states.device).nonzero()[:, 0]
    rows, constants = [], []
    for at, direction in zip(tokens.tolist(), directions, strict=True):
        one = torch.ones(1, dtype=torch.bool, device=states.device)
        _, slopes, constant = read_by(encoder.of_token, states[at, None], one, direction)
        rows.append(slopes)
        constants.append(constant)
    vectors, share = torch.stack(rows), torch.ones(len(tokens), dtype=torch.float64, device=states.device)
    return Reading(side.trace.n_layers, tokens, share, vectors, torch.stack(constants).sum()[None])


def _tokens(lens: SentenceLens, ids: Sequence[int]) -> list[str]:
    return [*map(spelling_of(lens.tokenizer).display, lens.tokenizer.convert_ids_to_tokens(list(ids)))]
