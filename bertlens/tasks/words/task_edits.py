"""Does an answer turn at *not*, another number, another name, a word of a list? Beside a filler of equal length."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from ...base.amounts import amount
from ...base.dataframes import pd
from ...base.quotes import quotation
from ...errors import InputError, check_number, check_seed, excerpt
from ...measures.significance import count_interval, paired, with_findings
from ...search.edits import NAME, NOT, NUMBER, ROLES, RULES, Edit, Editor, names_of
from ..task_answers import Answered
from .readings import log_odds

SLOT = "{}"
READ = ("classes", "number", "score")
OF_NUMBERS = ["kind", "word", "n", "moved", "filler_moved", "more", "low", "high", "p"]
OF_CLASSES = [
    *("kind", "word", "n", "turned", "share", "low", "high", "filler_turned", "filler_share"),
    *("moved", "filler_moved", "p"),
]
NONE = (np.nan,) * 4
IN_FRAMES = "The word stands in each frame."


@dataclass(frozen=True, eq=False, repr=False)
class TaskEdits:
    """What `Task.edits` gives.

    table: DataFrame(kind, word, n, turned, share, low, high, filler_turned, filler_share, moved, filler_moved, p,
    p_holm, finding, rule), a row a kind of edit, and one for each word of a list. turned: how many of n answers are of
    another class after the edit; share of them, with its 95 % interval (Clopper and Pearson). filler_…: the same after
    a filler of as many tokens. moved, filler_moved: medians of how far the answer's log-odds move. p: that the edit
    turns as many more or fewer than the filler is chance (McNemar's exact test), p_holm: adjusted for all rows;
    finding: p_holm ≤ .05. Of numbers there is no turning: more is how much further the edit moves the number than the
    filler, the mean of the differences, with low, high and p paired by text (Student's t).
    pairs: DataFrame(kind, word, row, text, edit, filler, guess, guess_edit, guess_filler), a row an edit; row: of the
    examples, −1 of a frame or of given pairs.
    """

    table: pd.DataFrame
    pairs: pd.DataFrame

    @property
    def said(self) -> str:
        """A sentence each."""
        sentences = " ".join(map(_sentence, self.table.to_dict("records")))
        return sentences or "There is no text that an edit could be made of."

    def __repr__(self) -> str:
        return f"TaskEdits({self.said})"


def _sentence(row: dict[str, Any]) -> str:
    name = {NOT: "“not”", NUMBER: "Another number", NAME: "Another name", ROLES: "Exchanging roles"}.get(row["kind"])
    more = ", and that is no chance" if row["finding"] else ""
    if "turned" not in row:
        moves = f"{name or quotation(row['word'])} moves {amount(row['n'], 'answer')} by {row['moved']:.2g} (median)"
        return f"{moves}, a filler of equal length by {row['filler_moved']:.2g}{more}."
    turns = f"{name or quotation(row['word'])} turns {row['turned']:,} of {amount(row['n'], 'answer')}"
    return f"{turns}, a filler of equal length {row['filler_turned']:,}{more}."


def task_edits(
    task: Answered,
    words: Sequence[str] | None,
    frames: Sequence[str] | None,
    roles: Iterable[tuple[str, str]] | None,
    n: int,
    fillers: Sequence[str],
    seed: int,
) -> TaskEdits:
    """See `Task.edits`."""
    if task.kind.name not in READ:
        raise InputError(f"edits turn classes of texts, or move numbers of them: {task.kind.lacks} has other answers")
    n, seed = check_number(n, "n is how many texts of a kind to take,", 1), check_seed(seed)
    texts_of(fillers, "fillers", "also")
    if (words is None) != (frames is None):
        raise InputError(f"words stand in frames: give both, frames as texts with {SLOT} where a word goes")
    generator = np.random.default_rng(seed)
    editor = Editor(task.lens.tokenizer, fillers, generator)
    rows: list[tuple[int, str, Edit]] = [
        *_of_examples(task, editor, generator.permutation(len(task)).tolist(), n),
        *_of_frames(editor, texts_of(words, "words", "brand"), texts_of(frames, "frames", f"I like {SLOT}.")),
        *((-1, "", edit) for pair in roles or () if (edit := editor.beside(ROLES, *_pair(pair)))),
    ]
    return _table(rows, _answers(task, rows), task.names)


def texts_of(texts: Any, what: str, example: str) -> list[str]:
    """A list of texts; none of None. Raises InputError for anything else, and for frames without a place for a word."""
    if texts is None:
        return []
    if isinstance(texts, str) or not isinstance(texts, Iterable):
        raise InputError(f"{what} are a list of texts such as [{example!r}], not {excerpt(texts)}")
    matches = list(texts)
    for text in matches:
        if not isinstance(text, str) or not text.strip() or (what == "frames" and text.count(SLOT) != 1):
            raise InputError(f"{what} are texts such as {example!r}, of which {excerpt(text)} is none")
    if not matches:
        raise InputError(f"{what} is empty: give texts such as {example!r}, or leave it out")
    return list(dict.fromkeys(matches))


def _pair(pair: Any) -> tuple[str, str]:
    is_pair = isinstance(pair, tuple | list) and len(pair) == 2
    if is_pair and all(isinstance(text, str) and text.strip() for text in pair):
        return pair[0], pair[1]
    raise InputError(f"roles are a list of (text, text), of which {excerpt(pair)} is none")


def _of_examples(task: Answered, editor: Editor, order: list[int], n: int) -> Iterator[tuple[int, str, Edit]]:
    """The first text of examples, edited by rules; of pairs the second one stays."""
    names = names_of([text[0] for text in task.examples.texts])
    rules = {NOT: editor.with_not, NUMBER: editor.with_number, NAME: lambda text: editor.with_name(text, names)}
    for rule in rules.values():
        count = 0
        for row in order:
            if (edit := rule(task.examples.texts[row][0])) is not None:
                yield row, "", edit
                count += 1
            if count == n:
                break


def _of_frames(editor: Editor, words: Sequence[str], frames: Sequence[str]) -> Iterator[tuple[int, str, Edit]]:
    for word in words:
        for frame in frames:
            original, behind = (side.strip() for side in frame.split(SLOT))
            text = f"{original} {behind}" if behind[:1].isalnum() else original + behind
            phrase = editor.phrase(len(editor.tokens(f" {word}")))
            if phrase and text:
                yield -1, word, Edit("word", text, frame.replace(SLOT, word), frame.replace(SLOT, phrase))


def _answers(task: Answered, rows: Sequence[tuple[int, str, Edit]]) -> np.ndarray:
    """(n, 3, C) log-odds of each text, its edit and its filler; the number of each, C of 1."""
    if not rows:
        return np.empty((0, 3, max(1, len(task.names))))
    seconds = [task.examples.texts[row][1:] if row >= 0 else () for row, _, _ in rows]
    texts = [(text, *second) for (_, _, edit), second in zip(rows, seconds, strict=True)
             for text in (edit.text, edit.edit, edit.filler)]  # fmt: skip
    task.check(whole=True)
    examples = replace(task.examples, texts=texts, labels=np.zeros(len(texts), dtype=np.int64))
    answered = Answered(task.lens, examples, task.batch_size, task.truncation, task.progress)
    records = torch.from_numpy(np.stack(answered.records))
    return (log_odds(records) if task.names else records).numpy().reshape(len(rows), 3, -1)


def _table(edits: Sequence[tuple[int, str, Edit]], answers: np.ndarray, names: Sequence[str]) -> TaskEdits:
    guesses = answers.argmax(-1) if names else answers[..., 0]
    at = guesses[:, :1, None] if names else np.zeros((len(edits), 1, 1), dtype=int)
    sample = np.take_along_axis(answers, at, -1)[..., 0] if len(edits) else np.empty((0, 3))
    moves = np.abs(sample[:, 1:] - sample[:, :1])
    turned = guesses[:, 1:] != guesses[:, :1]
    kinds = [(edit.kind, word) for _, word, edit in edits]
    rows = []
    for kind, word in dict.fromkeys(kinds):
        inside = np.array([member == (kind, word) for member in kinds])
        medians = np.median(moves[inside], 0).tolist()
        if not names:
            further = moves[inside, 0] - moves[inside, 1]
            rows.append((kind, word, len(further), *medians, *(paired(further, False) if len(further) > 1 else NONE)))
            continue
        by_edit, by_filler = (int(count) for count in turned[inside].sum(0))
        size = int(inside.sum())
        differences = turned[inside, 0].astype(float) - turned[inside, 1]
        p = paired(differences, True, 1)[3] if size > 1 else np.nan
        shares = by_edit, by_edit / size, *count_interval(by_edit, size), by_filler, by_filler / size
        rows.append((kind, word, size, *shares, *medians, p))
    table = pd.DataFrame(rows, columns=OF_CLASSES if names else OF_NUMBERS)
    with_findings(table, len(table))
    table["rule"] = [RULES.get(kind, IN_FRAMES) for kind in table["kind"]]
    columns = ["kind", "word", "row", "text", "edit", "filler"]
    pairs = pd.DataFrame(
        [(edit.kind, word, row, edit.text, edit.edit, edit.filler) for row, word, edit in edits], columns=columns
    )
    for place, column in enumerate(("guess", "guess_edit", "guess_filler")):
        pairs[column] = [names[guess] if names else float(guess) for guess in guesses[:, place]]
    return TaskEdits(table, pairs)
