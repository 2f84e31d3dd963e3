"""Changes of a model are noticed by whatever goes on from answers of before, and what changes no number by nothing.

All of them: pytest -m "long or sampled" tests/unit/model/test_model_changes.py
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import pytest

from unit.model.model_answers import GOOD, Base, base, by_file, in_process, same_by_file, same_in_process
from unit.model.model_changes import CHANGES
from unit.model.same_models import SAME


@pytest.fixture(scope="module")
def another_process() -> Iterator[ProcessPoolExecutor]:
    """A process that has never had a model of here; one for all, as an import takes seconds."""
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        yield pool


# What is not noticed, by change: a rerun is of the trace's own ids, whatever word has them now; a norm looks at some
# values of its layer alone, and a write past torch's counters elsewhere escapes it.
UNNOTICED = {"two words exchanged": "rerun", "two columns negated, numpy": "norms"}


def check(name: str, verdicts: dict[str, str]) -> None:
    """The change is one, and no answer is of another model than that of now.

    A norm of a trace from before is of then where its layer is: it reads what the trace holds and that layer alone.
    """
    assert verdicts.pop("model") == "moved"
    if verdicts.get("norms") == "of then":
        del verdicts["norms"]
    verdicts.pop(UNNOTICED.get(name, ""), None)
    assert {asked: verdict for asked, verdict in verdicts.items() if verdict not in GOOD} == {}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", CHANGES)
def test_a_change_between_two_calls_is_noticed(name: str) -> None:
    check(name, in_process(name))


@pytest.mark.slow
@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", CHANGES)
def test_a_change_between_two_processes_is_noticed(name: str, another_process: ProcessPoolExecutor) -> None:
    check(name, another_process.submit(by_file, name, base(CHANGES[name].kind)).result())


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", SAME)
def test_what_changes_no_number_between_two_calls_is_not_noticed(name: str) -> None:
    assert {*same_in_process(SAME[name]).values()} == {"used"}


@pytest.mark.slow
@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", SAME)
def test_what_changes_no_number_between_two_processes_is_not_noticed(
    name: str, another_process: ProcessPoolExecutor
) -> None:
    assert {*another_process.submit(same_use, name, base(SAME[name].kind)).result().values()} == {"used"}


def same_use(name: str, before: Base) -> dict[str, str]:
    """By its name: a change cannot be pickled."""
    return same_by_file(SAME[name], before)
