"""Two reports beside each other, as their JSON has them: what changed, and the same claims of two models."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..base.textfile import json_of
from ..errors import InputError
from ..measures.significance import mean_interval
from .rules import CANNOT, DIFFERS, HOLDS

FORMAT = 1
LARGEST = 1e300
SAME = ("hash", "texts", "drawn")  # of two corpora


@dataclass(frozen=True)
class VerdictChange:
    """A claim whose verdict is another one than before."""

    claim: str
    before: str
    now: str

    @property
    def flipped(self) -> bool:
        """From holds to differs or back; otherwise one side cannot be told."""
        return CANNOT not in (self.before, self.now)

    def __str__(self) -> str:
        return f"{self.claim}: {self.before} before, {self.now} now"


def read(path: str | Path) -> dict[str, Any]:
    """The numbers of a report that `to_json` wrote. Raises InputError for another file."""
    record = json_of(path)
    check(record, str(path))
    return record


def check(record: Any, name: str) -> None:
    """Raises InputError where something is not what `Report.to_dict` gives, as far as it is read here."""

    def is_claim(claim: Any) -> bool:
        return (
            isinstance(claim, dict)
            and all(isinstance(claim.get(text), str) for text in ("name", "verdict", "unit"))
            and claim["verdict"] in (HOLDS, DIFFERS, CANNOT)
            and isinstance(numbers := claim.get("each", []), list)
            and all(map(_is_number, [*numbers, *(claim.get(number, "") for number in ("value", "low", "high"))]))
        )

    fields = record if isinstance(record, Mapping) and record.get("bertlens_report") == FORMAT else {}
    claims, corpus, model = (fields.get(field) for field in ("claims", "corpus", "model"))
    named = isinstance(corpus, Mapping) and isinstance(model, Mapping) and isinstance(model.get("model"), str)
    if not (named and isinstance(claims, list) and all(map(is_claim, claims))):
        raise InputError(f"{name} holds no numbers of a report: give what bertlens report wrote as .json")


def _is_number(value: Any) -> bool:
    """A number that a float holds, or None; JSON knows larger ones."""
    return value is None or (type(value) in (int, float) and abs(value) < LARGEST)


def changes(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[VerdictChange]:
    """The claims of both reports whose verdicts differ, in the order of `now`."""
    verdicts = {claim["name"]: claim["verdict"] for claim in before["claims"]}
    return [
        VerdictChange(claim["name"], verdicts[claim["name"]], claim["verdict"])
        for claim in now["claims"]
        if verdicts.get(claim["name"], claim["verdict"]) != claim["verdict"]
    ]


def same_texts(a: Mapping[str, Any], b: Mapping[str, Any]) -> bool:
    """Whether two reports are of the same texts."""
    return all(a["corpus"].get(name) == b["corpus"].get(name) for name in SAME)


def difference(now: Mapping[str, Any], before: Mapping[str, Any]) -> tuple[float, float, float, int] | None:
    """(now less before, low, high, n) of one claim of two models on the same texts, text by text, 95 %.

    None where its numbers are not by texts, or fewer than two texts have both; NaN ends where they differ all alike.
    """
    numbers, numbers_before = (np.array(claim.get("each") or [], dtype=float) for claim in (now, before))
    if len(numbers) != len(numbers_before):
        return None
    differences = numbers - numbers_before
    differences = differences[np.isfinite(differences)]
    if len(differences) < 2:
        return None
    value, low, high = (float(end) for end in mean_interval(differences))
    return value, low, high, len(differences)
