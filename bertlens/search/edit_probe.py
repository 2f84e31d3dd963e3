"""Does a model read *not*, a number, a name? How far an edit moves a text's score, beside a filler of equal length."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..base.amounts import amount, shortage
from ..base.dataframes import pd
from ..base.quotes import isolate
from ..base.ranking import is_nothing
from ..errors import InputError, check_lens, check_number, check_seed, excerpt
from ..lens import Lens
from ..measures.significance import count_interval, with_findings
from ..survey.treebank import Sentence, read_treebank
from .edits import FILLERS, NAME, NOT, NUMBER, PARAPHRASE, ROLES, RULES, Edit, Editor, exchanged, names_of, sentences_of
from .exact_search import search
from .pair_scores import pair_scores
from .passage_limits import PassageLimit
from .vectors import encoded

FEWEST = 30  # pairs of a kind, of which nothing is told below
SAMPLE = 5000  # texts that sentences and names are looked for in
NAMES = 3  # that a sentence lists of those that were replaced


@dataclass(frozen=True, eq=False, repr=False)
class EditProbe:
    """What `Retrieval.probe` gives.

    table: DataFrame(kind, n, less, share, low, high, moved, filler, below_paraphrases, p, p_holm, finding, rule), a row
    a kind. less: in how many of n texts the edit moves the score less than a filler of as many tokens does; share of
    them, with its 95 % interval (Clopper and Pearson). moved, filler: by how much either moves it, medians.
    below_paraphrases: in which share of pairs of an edit and a paraphrase the edit moves it less; NaN without such. p:
    that as many or more come so of a model to which the edit is as much as a filler (exact binomial, one-sided);
    p_holm: adjusted for the kinds; finding: p_holm ≤ .05. A kind of fewer than 30 texts has its n alone; of paraphrases
    no finding is told, since they may move the score as little as they like.
    pairs: DataFrame(kind, text, edit, filler, score, score_edit, score_filler), a row a text.
    """

    table: pd.DataFrame
    pairs: pd.DataFrame

    @property
    def said(self) -> str:
        """What each kind shows, a sentence each."""
        return (
            " ".join(_sentence(row, self.pairs) for row in self.table.itertuples())
            or "There is no text that an edit could be made of."
        )

    def __repr__(self) -> str:
        return f"EditProbe({self.said})"


def _names(pairs: pd.DataFrame) -> str:
    """What was taken for a name, so that who reads sees whether they are some: " (for Kutta, Prandtl, …)"."""
    edits = pairs[pairs["kind"] == NAME] if len(pairs) else pd.DataFrame(columns=["text", "edit"])
    gone = (
        word.strip(".,;:!?()")
        for text, edit in zip(edits["text"], edits["edit"], strict=True)
        for word in text.split()
        if word not in edit.split()
    )
    names = [*dict.fromkeys(gone)]
    listed = ", ".join([*map(isolate, names[:NAMES]), *(["…"] if len(names) > NAMES else [])])
    return f" (for {listed})" if names else ""


def _sentence(row: Any, pairs: pd.DataFrame) -> str:
    name = {NOT: "“not”", NUMBER: "another number", NAME: "another name", ROLES: "exchanged roles",
            PARAPHRASE: "a paraphrase"}[row.kind]  # fmt: skip
    if row.kind == NAME:
        name += _names(pairs)
    if math.isnan(row.share):
        return f"Of {name} nothing is told: {shortage(row.n, 'text')}, at least {FEWEST} are needed."
    count = f"{row.less:,} of {amount(row.n, 'text')} {name} moves the score less than a filler of equal length does"
    ends = f"({100 * row.share:.0f} %, {100 * row.low:.0f} to {100 * row.high:.0f})"
    if row.kind == ROLES:
        count = count.replace("roles moves", "roles move")
    more = ", more often than chance gives: to this model a filler is more" if row.finding else ""
    return f"In {count} {ends}{more}."


def probe(
    lens: Lens,
    texts: Sequence[str],
    *,
    roles: Any = None,
    paraphrases: Iterable[tuple[str, str]] | None = None,
    n: int = 200,
    fillers: Sequence[str] = FILLERS,
    seed: int = 0,
    batch_size: int = 32,
    progress: bool = True,
) -> EditProbe:
    """See `Retrieval.probe`. texts: of whose sentences edits are made, those that are told by rules (`edits.RULES`)."""
    check_lens(lens)
    n, seed = check_number(n, "n is how many texts of a kind to take,", 1), check_seed(seed)
    if isinstance(fillers, str) or not fillers or not all(isinstance(word, str) and word.split() for word in fillers):
        raise InputError(f"fillers are words that change nothing, such as {list(FILLERS[:3])}, not {excerpt(fillers)}")
    generator = np.random.default_rng(seed)
    editor = Editor(lens.tokenizer, fillers, generator)
    limit = PassageLimit(lens)

    def is_whole(edit: Edit | None) -> bool:
        """Whether the model reads all of it."""
        if edit is None:
            return False
        versions = [edit.text, edit.edit, edit.filler]
        return limit.excerpts(versions, limit.room(edit.text)) == versions

    def first(edits: Iterable[Edit | None]) -> list[Edit]:
        sample: list[Edit] = []
        for edit in edits:
            if edit is not None and is_whole(edit):
                sample.append(edit)
            if len(sample) == n:
                break
        return sample

    order = generator.permutation(len(texts))[:SAMPLE].tolist()
    sentences = [sentences_of(text) for text in dict.fromkeys(texts[row] for row in order)]
    names = names_of([sentence for of_text in sentences for sentence in of_text])
    rules: dict[str, Callable[[str], Edit | None]] = {
        NOT: editor.with_not,
        NUMBER: editor.with_number,
        NAME: lambda text: editor.with_name(text, names),
    }
    edits = {
        kind: first(next(filter(None, map(rule, of_text)), None) for of_text in sentences)
        for kind, rule in rules.items()
    }
    for kind, pairs in ((ROLES, _pairs_of_roles(roles)), (PARAPHRASE, _pairs(paraphrases, "paraphrases"))):
        if pairs is not None:
            edits[kind] = first(editor.beside(kind, *pair) for pair in pairs)
    rows = [edit for kind in edits for edit in edits[kind]]
    scores = _scores(lens, rows, batch_size, progress)
    return _table([*edits], rows, scores)


def _pairs(pairs: Any, name: str) -> list[tuple[str, str]] | None:
    """Raises InputError for what is no list of pairs of texts."""
    if pairs is None:
        return None
    rows = [] if isinstance(pairs, str) or not isinstance(pairs, Iterable) else [*pairs]
    for row in rows:
        if not (isinstance(row, tuple | list) and len(row) == 2 and all(isinstance(x, str) and x.split() for x in row)):
            raise InputError(f"{name} are a list of (text, text), of which {excerpt(row)} is none")
    if not rows:
        raise InputError(f"{name} are a list of (text, text), not {excerpt(pairs)}")
    return [(first, second) for first, second in dict.fromkeys(map(tuple, rows))]


def _pairs_of_roles(roles: Any) -> list[tuple[str, str]] | None:
    """Of a treebank (a file or its sentences) those whose subject and object can change places; or those given."""
    rows = roles if roles is None or isinstance(roles, str | Path) or not isinstance(roles, Iterable) else [*roles]
    if isinstance(rows, str | Path) or (isinstance(rows, list) and rows and isinstance(rows[0], Sentence)):
        return [*dict.fromkeys(pair for pair in map(exchanged, read_treebank(rows)) if pair)]
    return _pairs(rows, "roles")


def _scores(lens: Lens, edits: Sequence[Edit], batch_size: int, progress: bool) -> np.ndarray:
    """(n, 3) float64: of each text as a question with itself, with its edit and with its filler as passages."""
    versions = [version for edit in edits for version in (edit.text, edit.edit, edit.filler)]
    if not versions:
        return np.empty((0, 3))
    if lens.sentences.crosses:
        pairs = [(edit.text, version) for edit in edits for version in (edit.text, edit.edit, edit.filler)]
        return pair_scores(lens, pairs, None, batch_size, progress)[:, 0].reshape(-1, 3)
    queries = encoded(lens, [edit.text for edit in edits], "query", batch_size=batch_size, progress=progress)
    vectors = encoded(lens, versions, "document", batch_size=batch_size, progress=progress)
    scores = np.empty((len(edits), 3))
    for row in range(len(edits)):
        three = vectors.take(np.arange(3 * row, 3 * row + 3))
        ranking = search(queries.take(np.array([row])), three, lens.sentences.function, np.arange(3), 3)
        scores[row, ranking.rows[0]] = ranking.scores[0]
    return scores


def _table(kinds: Sequence[str], edits: Sequence[Edit], scores: np.ndarray) -> EditProbe:
    """The probe of edits with their scores (n, 3)."""
    moves = np.abs(scores[:, 1:] - scores[:, :1])
    of = np.array([edit.kind for edit in edits], dtype=object)
    paraphrases = moves[of == PARAPHRASE, 0]
    rows = []
    for kind in kinds:
        inside = of == kind
        row: dict[str, Any] = {"kind": kind, "n": int(inside.sum())}
        if row["n"] >= FEWEST:
            row |= _counts(moves[inside], np.abs(scores[inside]).max(1))
            if kind == PARAPHRASE:
                row["p"] = math.nan
            elif len(paraphrases) >= FEWEST:
                row["below_paraphrases"] = float((moves[inside, :1] < paraphrases).mean())
        rows.append(row)
    columns = ["kind", "n", "less", "share", "low", "high", "moved", "filler", "below_paraphrases", "p"]
    table = pd.DataFrame(rows, columns=columns)
    table["less"] = table["less"].astype("Int64")
    with_findings(table, int(np.isfinite(table["p"].to_numpy(dtype=float)).sum()))
    table["rule"] = table["kind"].map(RULES)
    pairs = pd.DataFrame([vars(edit) for edit in edits], columns=["kind", "text", "edit", "filler"])
    pairs[["score", "score_edit", "score_filler"]] = scores
    return EditProbe(table, pairs)


def _counts(moves: np.ndarray, sizes: np.ndarray) -> dict[str, Any]:
    """What is told of a kind. moves: (n, 2) of edits and of fillers; sizes: (n,) of the scores."""
    from scipy.special import bdtrc

    n = len(moves)
    gains = zip((moves[:, 1] - moves[:, 0]).tolist(), sizes.tolist(), strict=True)
    less = sum(gain > 0 and not is_nothing(gain, size) for gain, size in gains)
    low, high = count_interval(less, n)
    p = float(bdtrc(less - 1, n, 0.5)) if less else 1.0
    moved, filler = np.median(moves, axis=0).tolist()
    return {"less": less, "share": less / n, "low": low, "high": high, "moved": moved, "filler": filler, "p": p}
