"""Would half the dimensions do? The first k numbers of a vector, beside k drawn ones and k principal ones."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ...base.amounts import amount
from ...base.dataframes import pd
from ...base.progress import bar
from ...errors import InputError, check_number, check_seed
from ...measures.significance import Sizes, change_said, choice, choice_said, over, told
from ..collection import Collection
from ..stages import Stages
from .shares import MEASURE, check_measure, depth_of, part, ranked_by, shares_of, single_vectors

DRAWS = 20
POWERS = (64, 128, 256, 512, 1024)  # what vectors are often cut to
ENDS = ("", "_low", "_high", "_p")
COLUMNS = [
    "dimensions",
    "mean",
    *(f"difference{end}" for end in ENDS),
    "drawn",
    "drawn_least",
    "drawn_most",
    *(f"over_drawn{end}" for end in ENDS),
    "principal",
    "principal_whole",
    *(f"principal_difference{end}" for end in ENDS),
]


def dimensions(
    stages: Stages,
    collection: Collection,
    counts: Iterable[int] | None = None,
    *,
    measure: str = MEASURE,
    draws: int = DRAWS,
    seed: int = 0,
    progress: bool = True,
) -> Sizes:
    """See `Retrieval.dimensions`."""
    measure, seed = check_measure(measure, collection), check_seed(seed)
    draws = check_number(draws, "draws is how many sets of dimensions to draw,", 2)
    passages, queries = (vectors.numbers(slice(None), np.float32) for vectors in single_vectors(stages, "dimensions"))
    width = passages.shape[1]
    sizes = _sizes(width, counts)
    generator = np.random.default_rng(seed)
    fitted, other = _halves(collection, generator)
    axes = _principal(passages[fitted])
    half = part(collection, other)
    depth = 2 * depth_of(measure)

    def shares(columns: np.ndarray | slice) -> np.ndarray:
        lists = ranked_by(queries[:, columns], passages[:, columns], stages.function, collection, depth)
        return shares_of(lists, collection, measure)

    def of_half(turn: np.ndarray | None) -> np.ndarray:
        """On the passages that the axes were not fitted on."""
        q, p = (array if turn is None else array @ turn for array in (queries, passages[other]))
        return shares_of(ranked_by(q, p, stages.function, half, depth), half, measure)

    whole, whole_of_half = shares(slice(None)), of_half(None) if half.judged else np.empty(0)
    first: dict[int, np.ndarray] = {}
    drawn: dict[int, np.ndarray] = {}  # (draws, n)
    principal: dict[int, np.ndarray] = {}
    tests: dict[str, np.ndarray] = {}
    with bar(len(sizes) * (1 + draws), "ranking", "dimensions", progress) as progress_bar:
        for k in sizes:
            sets = [np.arange(k), *(np.sort(generator.permutation(width)[:k]) for _ in range(draws))]
            rankings = []
            for columns in sets:
                rankings.append(shares(columns))
                progress_bar.update()
            first[k], drawn[k] = rankings[0], np.stack(rankings[1:])
            is_fitted = k <= axes.shape[1] and len(whole_of_half) > 0
            principal[k] = of_half(axes[:, :k]) if is_fitted else np.full(len(whole_of_half), np.nan)
            tests |= {f"{k} first": first[k] - whole, f"{k} drawn": first[k] - drawn[k].mean(0)}
            if is_fitted:
                tests[f"{k} principal"] = principal[k] - whole_of_half
    ends, none = told(tests), (np.nan,) * 4
    rows = [
        (
            k,
            first[k].mean(),
            *ends[f"{k} first"],
            drawn[k].mean(),
            *(end(drawn[k].mean(1)) for end in (np.min, np.max)),
            *ends[f"{k} drawn"],
            principal[k].mean() if len(whole_of_half) else np.nan,
            whole_of_half.mean() if len(whole_of_half) else np.nan,
            *ends.get(f"{k} principal", none),
        )
        for k in sizes
    ]
    table = pd.DataFrame(rows, columns=COLUMNS)
    index = pd.Index([collection.query_ids[query] for query in collection.judged], name="query")
    all_of_them = f"all {width}"
    by_size = pd.DataFrame({all_of_them: whole} | {name_of(k): first[k] for k in sizes}, index=index)
    best = choice(by_size, all_of_them, seed)
    lines = [*_said(table, measure, width, draws, len(tests), by_size), choice_said(best, f"{all_of_them} dimensions")]
    return Sizes(table, best, " ".join(lines), measure, by_size, choice(by_size, all_of_them, seed, rival=True))


def name_of(k: int) -> str:
    """How a row is called in `Sizes.shares`."""
    return f"the first {k}"


def _sizes(width: int, counts: Iterable[int] | None) -> list[int]:
    """How many dimensions, most first. Raises InputError for a number that is none or not below the width."""
    if counts is None:
        halves = [width // 2**n for n in (1, 2, 3)]
        counts = [k for k in {*halves, *POWERS} if 1 <= k < width]
    if isinstance(counts, str | int):
        raise InputError("counts are numbers of dimensions, such as [192, 96]")
    sizes = sorted({check_number(k, "counts are numbers of dimensions,", 1, width - 1) for k in counts}, reverse=True)
    if not sizes:
        raise InputError(f"counts names no number of dimensions: give some from 1 to {width - 1}")
    return sizes


def _halves(collection: Collection, generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """(n,), (m,) the passages of two halves of the documents, drawn."""
    names = [*dict.fromkeys(collection.documents)]
    first = {names[at] for at in generator.permutation(len(names))[: len(names) // 2]}
    inside = np.array([name in first for name in collection.documents])
    return np.flatnonzero(inside), np.flatnonzero(~inside)


def _principal(vectors: np.ndarray) -> np.ndarray:
    """(E, r) axes of most variance of vectors (n, E), the most first, as far as they can be told: r < n. The vectors
    themselves are turned onto them, their mean included, as sentence-transformers' example of PCA does."""
    if len(vectors) < 2:
        return np.empty((vectors.shape[1], 0))
    away = vectors.astype(np.float64) - vectors.mean(0, dtype=np.float64)
    _, axes = np.linalg.eigh(away.T @ away)
    return axes[:, ::-1][:, : len(vectors) - 1]


def _said(table: pd.DataFrame, measure: str, width: int, draws: int, tests: int, shares: pd.DataFrame) -> list[str]:
    """What the row that is nearest to one half says, and how few cannot be told from all."""
    row = table.iloc[(table["dimensions"] - width / 2).abs().to_numpy().argmin()]
    k, n = int(row["dimensions"]), len(shares)
    sentences = [
        f"With {name_of(k)} of {width} dimensions {measure} changes by "
        f"{change_said(row['difference'], row['difference_low'], row['difference_high'])}, from "
        f"{shares.iloc[:, 0].mean():.3f}; as many drawn ones give {row['drawn']:.3f} ({row['drawn_least']:.3f} to "
        f"{row['drawn_most']:.3f}, {amount(draws, 'draw')}), the first {row['mean']:.3f}."
    ]
    if not np.isnan(row["principal"]):
        change = change_said(*(row[f"principal_difference{end}"] for end in ENDS[:3]))
        sentences.append(f"{k} principal ones change it by {change} on the half of the passages that they are not of.")
    lost = [str(int(size)) for size in table.loc[table["difference_high"] < 0, "dimensions"]]
    none = "No loss can be told from chance" if n > 1 else "Whether that is a loss cannot be told"
    loss = f"A loss can be told with {', '.join(lost)}" if lost else none
    return [*sentences, f"{loss} ({over(n, tests)})."]
