"""The language of checks: what it takes, what it means, and that a page reads it the same way."""

from __future__ import annotations

import json
import math
import random
import re
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bertlens as bl
from bertlens.lessons.language import TOLERANCE, Facts, parse, verdict

JS = Path(__file__).resolve().parents[3] / "js"
WORDS = ("cat", "sat", "it", "Milk", "don't")
STATISTICS = ("previous", "next", "entropy", "k90")


def random_facts(rng: random.Random) -> dict[str, Any]:
    """As JSON: some words of several pieces or twice there, some rows and numbers on a threshold."""
    labels = ["[CLS]", *rng.sample(WORDS, rng.randint(1, 4)), rng.choice(WORDS), "[SEP]"]
    words, n = [], 0
    for label in labels:
        pieces = list(range(n, n + rng.choice((1, 1, 2, 3))))
        words.append([label, pieces])
        n += len(pieces)
    special = [label.startswith("[") for label, pieces in words for _ in pieces]
    weights = []
    for _ in range(n):
        row = [rng.choice((rng.random(), 0.3, 0.3, 0.302)) for _ in range(n)]
        weights.append([weight / sum(row) for weight in row] if rng.random() < 0.7 else row)
    numbers = {name: rng.choice((rng.random(), 0.5, 0.504, 0.3, None)) for name in STATISTICS}
    pins = [rng.choice((None, *range(n))) for _ in range(2)]
    answer = rng.choice((None, "cat", "dog"))
    taken = [[weight * rng.random() for weight in row] for row in weights]
    return {
        "statistics": numbers,
        "queries": words,
        "keys": words,
        "special": special,
        "weights": weights,
        "query": pins[0],
        "key": pins[1],
        "answer": answer,
        "before": answer and rng.choice(("cat", "dog")),
        "head": rng.choice(("L0·H2", "L3·H11")),
        "taken": taken if rng.random() < 0.7 else None,
    }


def random_check(rng: random.Random, depth: int = 0) -> str:
    def word() -> str:
        return rng.choice(("cat", "IT", "milk", '"don\'t"', '"[CLS]"', "absent"))

    def number() -> str:
        of = rng.choice(("weight", "taken"))
        return rng.choice((*STATISTICS, of, f"{of}({word()}, {word()})", "0.3", "0.5", f"{rng.random():.2f}"))

    def simple() -> str:
        return rng.choice(
            (
                f"{number()} {rng.choice(('>', '>=', '<', '<='))} {number()}",
                "key is argmax",
                "key is argmax of words",
                f"key is {word()}",
                f"query is {word()}",
                rng.choice(("head is L3H11", 'head is "l3·h11"')),
                "answer changed",
                f"answer is {word()}",
            )
        )

    if depth > 2 or rng.random() < 0.5:
        return simple()
    first, second = random_check(rng, depth + 1), random_check(rng, depth + 1)
    return rng.choice((f"not {simple()}", f"({first}) and not ({second})", f"{first} or {second}", f"({first})"))


def facts(record: dict[str, Any]) -> Facts:
    given = {**record}
    weights, taken = given.pop("weights"), given.pop("taken")
    given["statistics"] = {name: math.nan if v is None else v for name, v in given["statistics"].items()}
    return Facts(weight=lambda i, j: weights[i][j], taken=taken and (lambda i, j: taken[i][j]), **given)


def independent(check: str, record: dict[str, Any]) -> bool | None:
    """The check as Python would have it, with no tolerance: None where it cannot be told or is near a threshold."""
    near: list[bool] = []

    def number(value: float | None) -> float:
        if value is None:
            raise LookupError
        return value

    def above(a: float, b: float) -> Any:
        near.append(abs(a - b) < 2 * TOLERANCE)
        return np.bool_(a > b)

    def places(side: str, word: str) -> list[list[int]]:
        return [p for label, p in record[side] if label.lower() == word.lower()] or number(None)  # type: ignore[return-value]

    def weight(a: str | None = None, b: str | None = None, of: str = "weights") -> float:
        rows = [[number(record["query"])]] if a is None else places("queries", a)
        columns = [[number(record["key"])]] if b is None else places("keys", b)
        w = record[of] or number(None)
        return max(sum(sum(w[i][j] for j in c) for i in r) / len(r) for r in rows for c in columns)  # type: ignore[index]

    def largest(words: bool) -> Any:
        row = record["weights"][number(record["query"])]
        key = number(record["key"])
        kept = [j for j in range(len(row)) if not (words and record["special"][j])]
        near.extend(abs(row[key] - row[j]) < 2 * TOLERANCE for j in kept if j != key)
        return np.bool_(key in kept and all(row[key] >= row[j] for j in kept))

    def answer(word: str | None = None) -> Any:
        if record["answer"] is None:
            raise LookupError
        return np.bool_(record["answer"] != record["before"] if word is None else record["answer"] == word.lower())

    def chosen(side: str, word: str) -> Any:
        at = number(record["key" if side == "keys" else "query"])
        return np.bool_(any(at in p for p in places(side, word)))

    word = r'(?:"([^"]*)"|(\w+))'
    text = check
    for name, letter in (("weight", "W"), ("taken", "V")):
        cell = rf"{name}\({word}, {word}\)"
        text = re.sub(cell, lambda m, of=letter: f"{of}({m[1] or m[2]!r},{m[3] or m[4]!r})", text)
        text = re.sub(rf"\b{name}\b", f"{letter}()", text)
    text = re.sub(rf"head is {word}", "H()", text)
    text = re.sub(r"key is argmax( of words)?", lambda m: f"A({bool(m[1])})", text)
    text = re.sub(
        rf"(key|query) is {word}",
        lambda m: f"C({ ({'key': 'keys', 'query': 'queries'}[m[1]])!r},{m[2] or m[3]!r})",
        text,
    )
    text = re.sub(rf"answer is {word}", lambda m: f"N({m[1] or m[2]!r})", text).replace("answer changed", "N()")
    for name in STATISTICS:
        text = re.sub(rf"\b{name}\b", f"T({name!r})", text)
    value = r"((?:W|V|T)\([^()]*\)|\d[\d.]*)"
    text = re.sub(rf"{value} >=? {value}", r"above(\1, \2)", text)
    text = re.sub(rf"{value} <=? {value}", r"above(\2, \1)", text)
    # Python would stop at the first part that decides; what a check names must all be there
    text = text.replace(" and ", " & ").replace(" or ", " | ").replace("not ", "~")
    names = {"W": weight, "A": largest, "C": chosen, "N": answer, "above": above}
    names["V"] = lambda a=None, b=None: weight(a, b, "taken")
    names["H"] = lambda: np.bool_(record["head"] == "L3·H11")
    names["T"] = lambda name: number(record["statistics"][name])

    try:
        found = bool(eval(text, {"__builtins__": {}}, names))
    except LookupError:
        return None
    return None if any(near) else found


@pytest.fixture(scope="module")
def states() -> list[tuple[str, dict[str, Any]]]:
    rng = random.Random(7)
    return [(random_check(rng), random_facts(rng)) for _ in range(500)]


def test_a_page_reads_checks_as_python_does(states, tmp_path):
    (tmp_path / "in.json").write_text(json.dumps([[parse(check), record] for check, record in states]))
    done = subprocess.run(
        ["node", "tests/lesson_run.mjs", str(tmp_path)], cwd=JS, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    page = json.loads((tmp_path / "out.json").read_text())
    here = [verdict(parse(check), facts(record)) for check, record in states]
    assert page == [[found.truth, found.why] for found in here]
    assert min(sum(found.truth == truth for found in here) for truth in (0, 0.5, 1, None)) > 20


def test_verdicts_are_what_the_words_say(states):
    told = 0
    for check, record in states:
        wanted = independent(check, record)
        found = verdict(parse(check), facts(record))
        if wanted is not None:
            told += 1
            assert found.truth == float(wanted), check
    assert told > 100


def test_near_a_threshold_counts_either_way():
    record = random_facts(random.Random(1)) | {"statistics": {"previous": 0.497}}
    for check in ("previous > 0.5", "not previous > 0.5", "previous < 0.5"):
        assert verdict(parse(check), facts(record)).truth == 0.5 and verdict(parse(check), facts(record)).holds
    assert not verdict(parse("previous > 0.503"), facts(record)).holds


@pytest.mark.parametrize(
    ("check", "said"),
    [
        ("", "a check is a text of 1 to 300 characters"),
        (7, "a check is a text"),
        ("x" * 301, "a check is a text"),
        ("previous", "has its end where '>' or '<' should stand"),
        ("previos > 0.5", "'previos' where a number, weight, taken, key, query, head, answer or one of previous, next"),
        ("__import__('os').system('true') > 0", "something unreadable"),
        ("previous > 0.5 entropy", "'entropy' where 'and', 'or' or the end"),
        ("(previous > 0.5", "its end where ')'"),
        ("weight(it cat) > 0.1", "'cat' where ','"),
        ("key is", "its end where a word"),
        ("head is > 1", "'>' where a word"),
        ("taken(it > 0.1", "'>' where ','"),
        ("(" * 200 + "previous > 0.5", "is too long"),
        ("previous > .5", "unreadable"),
    ],
)
def test_a_wrong_check_is_one_sentence(check, said):
    with pytest.raises(bl.InputError, match=re.escape(said)):
        parse(check)


def test_what_a_text_lacks_is_said():
    record = random_facts(random.Random(3)) | {"query": None, "statistics": {}, "answer": None, "taken": None}
    for check, why in (
        ("weight(zebra, cat) > 0", "this text has no word “zebra”"),
        ("not weight > 0.5", "choose a word whose row is asked about"),
        ("separator > 0.1", "this text has no number for separator"),
        ("answer changed", "this model gives no answer to this text"),
        ("taken(cat, cat) > 0", "what is taken is told while the picture shows the norm or the difference"),
    ):
        found = verdict(parse(check), facts(record))
        assert (found.truth, found.why, found.holds) == (None, why, False)


def test_a_word_of_several_pieces_is_one():
    words = [("[CLS]", [0]), ("it", [1]), ("animal", [2, 3]), ("it", [4])]
    weights = [[0.0] * 5, [0, 0, 0.2, 0.3, 0], [0, 0.6, 0, 0, 0], [0, 0.2, 0, 0, 0.1], [0, 0, 0.3, 0.31, 0]]
    given = Facts({}, words, words, [True] + 4 * [False], lambda i, j: weights[i][j])
    # of two "it" the one that looks more counts; pieces that are looked at add up, those that look are averaged
    for check, number in (("weight(it, animal)", 0.61), ("weight(animal, it)", 0.4)):
        assert verdict(parse(f"{check} > {number - 0.02}"), given).truth == 1
        assert verdict(parse(f"{check} < {number + 0.02}"), given).truth == 1
