"""Two reports beside each other, as their JSON has them: what changed, and the same claims of two models."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import InputError
from ..survey.intervals import mean_interval
from .rules import CANNOT

FORMAT = 1
SAME = ("hash", "texts", "drawn")  # of two corpora


@dataclass(frozen=True)
class Change:
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
    try:
        record = json.loads(Path(path).read_text(encoding="utf-8"))
        if record["bertlens_report"] != FORMAT or not all(
            {"name", "verdict"} <= {*claim} for claim in record["claims"]
        ):
            raise ValueError
    except OSError as error:
        raise InputError(f"{path} cannot be opened: {error.strerror or error}") from None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise InputError(f"{path} holds no numbers of a report: give what bertlens report wrote as .json") from None
    found: dict[str, Any] = record
    return found


def changes(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[Change]:
    """The claims of both reports whose verdicts differ, in the order of `now`."""
    known = {claim["name"]: claim["verdict"] for claim in before["claims"]}
    return [
        Change(claim["name"], known[claim["name"]], claim["verdict"])
        for claim in now["claims"]
        if known.get(claim["name"], claim["verdict"]) != claim["verdict"]
    ]


def same_texts(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether two reports are of the same texts."""
    return all(one["corpus"].get(name) == other["corpus"].get(name) for name in SAME)


def difference(now: Mapping[str, Any], before: Mapping[str, Any]) -> tuple[float, float, float, int] | None:
    """(now less before, low, high, n) of one claim of two models on the same texts, text by text, 95 %.

    None where its numbers are not by texts, or fewer than two texts have both.
    """
    one, other = (np.array(claim.get("each") or [], dtype=float) for claim in (now, before))
    if len(one) != len(other):
        return None
    apart = one - other
    apart = apart[np.isfinite(apart)]
    if len(apart) < 2:
        return None
    value, low, high = (float(end) for end in mean_interval(apart))
    return value, low, high, len(apart)
