"""The examples that a classifier gets most wrong, what each answer rests on, and what is like them."""

from __future__ import annotations

import math
import threading
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from ..base.amounts import amount, verb
from ..base.dataframes import pd
from ..base.limits import within
from ..base.progress import bar
from ..base.quotes import quotation
from ..base.ranking import is_nothing, ranked
from ..errors import BertLensError, check_number
from ..measures.attribution import faithfulness, gradient_input, occlusion
from ..model.loan import Loan
from ..run.interventions import Run
from ..trace.trace import Trace
from .batch_answers import answers_of
from .subgroups import near_duplicates, slices, slices_said
from .task_answers import Answered

WORDS = 3  # of a text, that its answer rests on most


@dataclass(frozen=True, eq=False, repr=False)
class Errors:
    """Where a classifier is wrong, see `Task.errors`.

    table: the columns of `Task.table` and words, comprehensiveness, random, beats, nearest, nearest_text, similarity,
    twin, the largest loss first. words: the three that the answer rests on most, with what the guess's logit less the
    label's (of a right answer: less the next one's; of tags, at the word with the least margin) loses without them; of
    a number, what it loses that took it away from the label. comprehensiveness: what is lost without the tokens ranked
    first, beside random rankings, of which `beats` of 20 do worse (`attribution.faithfulness`). nearest: of classes,
    the row of the nearest text that is rightly given this label, by the cosine of the vectors that the model's last
    projection reads. twin: the row of a near-duplicate with another label, −1 without one.
    duplicates: DataFrame(row, twin, alike, label, twin_label, text, twin_text): texts that share 80 % of their words
    and have different labels. slices: as `Task.slices`.
    """

    table: pd.DataFrame
    duplicates: pd.DataFrame
    slices: pd.DataFrame
    wrong: int
    n: int
    wrong_is: str = "wrong"  # of numbers "far off": the fifth with the largest loss

    @property
    def said(self) -> str:
        """How much is wrong, and where, in a few sentences."""
        twins = len(self.duplicates)
        duplicates = f"{amount(twins, 'pair')} of near-duplicates {verb(twins, 'has', 'have')}"
        wrong = f"{self.wrong:,} of {amount(self.n, 'example')} {verb(self.wrong, 'is', 'are')} {self.wrong_is}."
        return f"{wrong} {slices_said(self.slices, 5)} {duplicates} different labels."

    def __repr__(self) -> str:
        return f"Errors({self.said})"


def errors(task: Answered, n: int, words: bool) -> Errors:
    """See Task.errors."""
    task.check(whole=True)
    n = check_number(n, "n is how many examples to explain,", 1)
    table = task.table.sort_values("loss", ascending=False, kind="stable").head(n).reset_index(drop=True)
    rows = table["row"].tolist()
    texts = [" / ".join(text) for text in task.examples.shown()]
    words_of_rows: list[tuple[str, float, float, float]] = []
    with bar(len(rows), "text", "words", task.progress and words) as progress:
        for row in rows:
            words_of_rows.append(_saved_words(task, row) if words else ("", math.nan, math.nan, math.nan))
            progress.update()
    task.kept.save()
    for k, name in enumerate(("words", "comprehensiveness", "random", "beats")):
        table[name] = [row_words[k] for row_words in words_of_rows]
    nearest = _nearest(task, rows)
    table["nearest"] = [row for row, _ in nearest]
    table["nearest_text"] = [texts[row] if row >= 0 else "" for row, _ in nearest]
    table["similarity"] = [similarity for _, similarity in nearest]
    pairs = near_duplicates(task.examples.shown(), task.labels, task.kind.differ)
    twins = {a: b for a, b, _ in reversed(pairs)} | {b: a for a, b, _ in reversed(pairs)}
    table["twin"] = [twins.get(row, -1) for row in rows]
    phrase, labels = task.kind.said, task.labels
    twin_rows = [(a, b, share, phrase(labels[a]), phrase(labels[b]), texts[a], texts[b]) for a, b, share in pairs]
    columns = ["row", "twin", "alike", "label", "twin_label", "text", "twin_text"]
    twin_table = pd.DataFrame(twin_rows, columns=columns)
    return Errors(table, twin_table, slices(task), int(task.wrong.sum()), len(task), task.kind.wrong_is)


def _saved_words(task: Answered, row: int) -> tuple[str, float, float, float]:
    arrays = task.kept.get("words", [row])
    if arrays is None:
        named, *numbers = rests_on(task, row)
        arrays = np.frombuffer(named.encode(), dtype=np.uint8), np.array(numbers)
        task.kept.put("words", [row], *arrays)
    of, level, beats = arrays[1].tolist()
    return arrays[0].tobytes().decode(), of, level, beats


def rests_on(task: Answered, row: int) -> tuple[str, float, float, float]:
    """(words, comprehensiveness, that of random rankings, how many of 20 do worse) of one example's answer.

    By occlusion; of texts of more than 192 tokens by gradient × input, without the rest. No words where neither can be
    had, as of models whose attention weights alone are known, and of texts of a pair that are read apart.
    """
    encoding = task.examples.encoding(task.lens, row, task.truncation)
    answer = task.kind.of_interest(task.records[row], task.labels[row], encoding)
    masks = getattr(task.lens.tokenizer, "mask_token_id", None) is not None
    if answer is None or not (masks or task.kind.pads):  # of a token's answer: nothing may move it
        return "", math.nan, math.nan, math.nan
    trace: Trace = task.lens.run([encoding])[0]
    try:
        if not within("faithful", trace.n_tokens):
            return _named(gradient_input(trace, answer).words), math.nan, math.nan, math.nan
        remove = "mask" if masks else "delete"
        memo: dict[frozenset[int], float] = {}
        ranking = occlusion(trace, answer, remove, progress=False, known=memo)
        score = faithfulness(trace, ranking, remove, ceiling=False, progress=False, known=memo)
    except BertLensError:  # a text without a token that can be removed, a model without gradients
        return "", math.nan, math.nan, math.nan
    line = score.iloc[0]
    level = float(score.loc["random", "comprehensiveness"])
    return _named(ranking.words), float(line["comprehensiveness"]), level, float(line["comprehensiveness_beats"])


def _named(words: pd.DataFrame) -> str:
    best = words.sort_values("value", ascending=False, kind="stable").head(WORDS).to_dict("records")
    named = [(_word(row["word"]), row["value"]) for row in best if not is_nothing(max(0, row["value"]))]
    texts = ranked([value for _, value in named], 2)
    rows = zip(named, texts, strict=True)
    return ", ".join(f"{word} (+{text})" for (word, _), text in rows if text[0].isdigit())  # not "less than 0.01"


def _word(word: str) -> str:
    """In a list with commas a mark stands in quotation marks."""
    word = word.replace(" ##", "")
    return word if any(map(str.isalnum, word)) else quotation(word)


def _nearest(task: Answered, rows: list[int]) -> list[tuple[int, float]]:
    """For each row, that of the nearest right text of its class and their cosine; (−1, NaN) without one."""
    if task.kind.name != "classes":
        return [(-1, math.nan)] * len(rows)
    right = task.labels == task.guesses
    candidates = sorted({*np.flatnonzero(right & np.isin(task.labels, task.labels[rows])).tolist(), *rows})
    vectors = head_vectors(task, candidates)
    place = {row: i for i, row in enumerate(candidates)}
    neighbours = []
    for row in rows:
        right_rows = [r for r in candidates if right[r] and r != row and task.labels[r] == task.labels[row]]
        if vectors is None or not right_rows:
            neighbours.append((-1, math.nan))
            continue
        cosines = vectors[[place[r] for r in right_rows]] @ vectors[place[row]]
        neighbours.append((right_rows[int(cosines.argmax())], float(cosines.max())))
    return neighbours


def head_vectors(task: Answered, rows: list[int]) -> np.ndarray | None:
    """(n, D) of length 1: what the model's last projection onto its classes reads. None where that is no one vector."""
    runner, base = task.lens.borrowed.runner, task.lens.borrowed.base
    inside = set(map(id, base.modules())) if base is not runner else set()
    wide = [m for m in runner.modules() if isinstance(m, nn.Linear) and m.out_features == len(task.names)]
    heads = [module for module in wide if id(module) not in inside]
    if not heads:
        return None
    inputs: list[Tensor] = []
    thread = threading.get_ident()

    def keep(module: nn.Module, args: Any) -> None:
        if threading.get_ident() == thread:
            inputs.append(args[0].detach())

    vectors: list[Tensor] = [torch.empty(0, device="cpu")] * len(rows)
    place = {row: i for i, row in enumerate(rows)}
    for batch in task.batches(rows):
        inputs.clear()
        with task.lens.borrowed.locked(), Loan() as loan:
            loan.hook(heads[-1].register_forward_pre_hook(keep, prepend=True))
            answers_of(task.lens, task.examples, batch, Run())
        if not inputs or inputs[-1].ndim != 2 or len(inputs[-1]) != len(batch.rows):
            return None
        for row, vector in zip(batch.rows, inputs[-1].float().cpu(), strict=True):
            vectors[place[row]] = nn.functional.normalize(vector, dim=0)
    return torch.stack(vectors).numpy()
