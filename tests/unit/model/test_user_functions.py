"""Functions of the user's on a model: which change its numbers, which only look on, and what of them a file holds."""

from __future__ import annotations

import base64
import copy
import functools
import logging
import os
import subprocess
import sysconfig
import venv
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch

import bertlens as bl
from bertlens.base.arrays_file import RELEASES, TRIAL, difference, is_same
from bertlens.base.notes import Note
from bertlens.errors import ModelError
from bertlens.measures import norms
from bertlens.model.function_effects import effect
from bertlens.model.functions import content, folder_of
from unit import tiny

TEXT = "the cat sat on the mat"
LOG: list[Any] = []
COUNTS: Counter[str] = Counter()
logger = logging.getLogger("observer")
FACTOR = 2.0


class Meter:
    """Counts calls; steers where it has a factor."""

    def __init__(self, factor: float = 1.0):
        self.calls, self.factor = 0, factor

    def count(self, module: Any, args: Any, output: Any) -> None:
        self.calls += 1

    def steer(self, module: Any, args: Any, output: Any) -> Any:
        self.calls += 1
        return scaled(output, self.factor)

    def __call__(self, module: Any, args: Any, output: Any) -> None:
        COUNTS[type(module).__name__] += 1


def scaled(output: Any, factor: float) -> Any:
    return (output[0] * factor, *output[1:]) if isinstance(output, tuple) else output * factor


def norm_of(module: Any, args: Any, output: Any) -> None:
    states = output[0] if isinstance(output, tuple) else output
    LOG.append(states.norm().item())
    print(states.shape, end="")
    return


def in_place(module: Any, args: Any, output: Any) -> None:
    states = output[0] if isinstance(output, tuple) else output
    states[:, 30:] *= 2


def closed(factor: float) -> Callable[..., Any]:
    return lambda module, args, output: scaled(output, factor)


def counter() -> Callable[..., Any]:
    calls = [0]

    def hook(module: Any, args: Any, output: Any) -> None:
        calls[0] += 1

    return hook


def tally() -> Callable[..., Any]:
    calls = 0

    def hook(module: Any, args: Any, output: Any) -> None:
        nonlocal calls
        calls += 1
        logger.info("%s %s", calls, output)

    return hook


OBSERVERS: dict[str, Callable[[], Any]] = {
    "append": lambda: lambda module, args, output: LOG.append(1),
    "norms": lambda: norm_of,
    "counter": counter,
    "tally": tally,
    "method": lambda: Meter().count,
    "object": Meter,
    "partial": lambda: functools.partial(Meter.count, Meter()),
}


def late(module: Any, args: Any, output: Any) -> Any:
    if output[0].shape[1] > 200:
        return scaled(output, 2.0)
    return None


def last(module: Any, args: Any, output: Any) -> None:
    torch.relu_(output[0] if isinstance(output, tuple) else output)


def rectified(module: Any, args: Any, output: Any) -> None:
    torch.nn.functional.relu(output[0] if isinstance(output, tuple) else output, inplace=True)


CHANGES: dict[str, Callable[[], Any]] = {
    "a library's in place": lambda: rectified,
    "in place": lambda: in_place,
    "closure": lambda: closed(2.0),
    "from a length on": lambda: late,
    "method": lambda: Meter(2.0).steer,
    "torch in place": lambda: last,
    "global": lambda: lambda module, args, output: scaled(output, FACTOR),
}


@pytest.mark.parametrize("name", OBSERVERS)
def test_the_source_tells_an_observer(name: str) -> None:
    assert effect(OBSERVERS[name]()) is False


@pytest.mark.parametrize("name", CHANGES)
def test_no_change_is_taken_for_an_observer(name: str) -> None:
    assert effect(CHANGES[name]()) is not False


def lens_of() -> bl.Lens:
    return bl.Lens(tiny.bert(), tiny.wordpiece())


@pytest.mark.parametrize("name", OBSERVERS)
def test_an_observer_is_no_other_model(name: str) -> None:
    lens = lens_of()
    trace, identity = lens.trace(TEXT), lens.borrowed.identity()
    expected = norms.attnresln_norm(trace, 1).clone()
    lens.model.encoder.layer[0].register_forward_hook(OBSERVERS[name]())
    lens.trace("it was very warm")
    assert torch.equal(norms.attnresln_norm(trace, 1), expected)
    trace.rerun()
    assert is_same(identity, lens.borrowed.identity())


@pytest.mark.parametrize("name", CHANGES)
def test_a_hook_that_may_change_an_answer_is_another_model_until_it_is_off(name: str) -> None:
    lens, hook = lens_of(), CHANGES[name]()
    trace, identity = lens.trace(TEXT), lens.borrowed.identity()
    handle = lens.model.encoder.layer[1].register_forward_hook(hook)
    for ask in (trace.rerun, lambda: norms.attnresln_norm(trace, 1)):
        with pytest.raises(ModelError, match=r"hook .* of encoder.layer.1"):
            ask()
    with_it = lens.trace(TEXT)
    assert not is_same(identity, lens.borrowed.identity())
    handle.remove()
    trace.rerun()
    assert is_same(identity, lens.borrowed.identity())
    with pytest.raises(ModelError):
        with_it.rerun()
    lens.model.encoder.layer[1].register_forward_hook(hook)
    with_it.rerun()  # the same hook again, though it has counted meanwhile


def test_a_run_tells_what_the_source_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bertlens.model.user_functions.effect", lambda hook: None)
    lens = lens_of()
    trace = lens.trace(TEXT)
    calls = LOG.copy()
    lens.model.encoder.layer[0].register_forward_hook(norm_of)
    trace.rerun()
    assert len(LOG) > len(calls)
    lens.model.encoder.layer[0].register_forward_hook(in_place)
    with pytest.raises(ModelError, match="hook in_place"):
        trace.rerun()


def averaged(module: Any, args: Any, output: Any) -> None:
    np.mean((output[0] if isinstance(output, tuple) else output).numpy())


def at_places(module: Any, args: Any, output: Any) -> Any:
    states = output[0] if isinstance(output, tuple) else output
    if states.shape[1] < 1000:
        return None
    return states * 2


def test_what_the_source_tells_no_run_untells() -> None:
    """A hook that acts on long texts alone, beside one of which a run has to tell."""
    lens = lens_of()
    trace = lens.trace(TEXT)
    lens.model.encoder.layer[0].register_forward_hook(averaged)
    lens.model.encoder.layer[1].register_forward_hook(at_places)
    with pytest.raises(ModelError, match="hook at_places"):
        trace.rerun()


def test_a_trial_leaves_tokenizer_switches_and_random_numbers_as_they_were() -> None:
    lens = lens_of()
    backend = lens.tokenizer.backend_tokenizer
    backend.enable_truncation(7)
    backend.enable_padding(length=9)
    lens.model.train()
    state, before = torch.get_rng_state(), (backend.truncation, backend.padding)
    lens.borrowed.identity()
    assert (backend.truncation, backend.padding) == before
    assert lens.model.training
    assert lens.model.encoder.layer[1].training
    assert torch.equal(torch.get_rng_state(), state)


def patched(lens: bl.Lens, factor: float) -> None:
    part = lens.model.encoder.layer[0].output
    forward = type(part).forward
    part.forward = lambda *args: forward(part, *args) * factor


def test_a_patched_forward_counts_with_what_it_holds() -> None:
    lenses = [lens_of() for _ in range(3)]
    for lens, factor in zip(lenses, (2.0, 2.0, 3.0), strict=True):
        patched(lens, factor)
    same, again, other = (lens.borrowed.identity() for lens in lenses)
    assert is_same(same, again)
    assert difference(same, other) == "functions of the user's"
    trace = lenses[0].trace(TEXT)
    patched(lenses[0], 3.0)
    with pytest.raises(ModelError, match=r"forward of encoder\.layer\.0\.output"):
        trace.rerun()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (closed(2.0), closed(3.0)),
        (functools.partial(scaled, factor=2.0), functools.partial(scaled, factor=3.0)),
        (Meter(2.0).steer, Meter(3.0).steer),
        (closed(np.float32(2)), closed(np.float32(3))),  # type: ignore[arg-type]
        (closed(torch.tensor([2.0])), closed(torch.tensor([3.0]))),  # type: ignore[arg-type]
        (closed({"a": 2.0}), closed({"a": 3.0})),  # type: ignore[arg-type]
        (closed(lambda x: x + 1), closed(lambda x: x + 2)),  # type: ignore[arg-type]
    ],
)
def test_what_a_function_holds_is_told_apart_and_a_copy_is_not(one: Any, other: Any) -> None:
    def hashed(function: Any) -> str:
        return content(function, {}, lambda value: pytest.fail(f"{value} is opaque"))

    assert hashed(one) != hashed(other)
    assert hashed(one) == hashed(copy.deepcopy(one))


def test_what_cannot_be_told_apart_is_the_same_as_nothing() -> None:
    lens = lens_of()
    stranger = object()
    lens.model.encoder.layer[0].register_forward_hook(lambda module, args, output: stranger and scaled(output, 2.0))
    with pytest.warns(Note, match="object of object"):
        first = lens.borrowed.identity()
    twin = lens_of()
    twin.model.encoder.layer[0].register_forward_hook(lambda module, args, output: stranger and scaled(output, 2.0))
    with pytest.warns(Note, match="cannot be told"):
        assert not is_same(first, twin.borrowed.identity())


def test_answers_to_trial_texts_decide_within_the_noise_of_their_type() -> None:
    lens = lens_of()
    identity = lens.borrowed.identity()
    near, far, release = (copy.deepcopy(identity) for _ in range(3))
    release[RELEASES] = {"torch": "0.1"}
    with torch.no_grad():
        lens.model.encoder.layer[2].output.dense.bias.add_(1e-7)
    near[TRIAL] = lens.borrowed.identity()[TRIAL]
    with torch.no_grad():
        lens.model.encoder.layer[2].output.dense.bias[3] += 0.5
    far[TRIAL] = lens.borrowed.identity()[TRIAL]
    assert near[TRIAL] != identity[TRIAL]
    assert is_same(identity, near)
    assert is_same(identity, release)
    assert difference(identity, far).startswith("it answers a trial text otherwise, by ")
    numbers = np.frombuffer(base64.b64decode(identity[TRIAL]["numbers"][0]), np.float32)
    for share in (0.5, 2):
        moved = numbers.copy()
        moved[7] += share * identity[TRIAL]["within"] * np.abs(numbers).max()
        other = copy.deepcopy(identity)
        other[TRIAL]["numbers"] = [base64.b64encode(moved.tobytes()).decode()]
        assert is_same(identity, other) == (share < 1)
    refusing = copy.deepcopy(identity)
    refusing[TRIAL]["numbers"][0] = None
    assert difference(identity, refusing) == "one of them refuses a trial text"


def test_an_identity_of_an_earlier_version_is_compared_by_settings_with_a_note() -> None:
    identity = lens_of().borrowed.identity()
    earlier = {name: value for name, value in identity.items() if name not in (TRIAL, RELEASES)} | {"torch": "2.9"}
    with pytest.warns(Note, match="settings alone"):
        assert is_same(earlier, identity)
    with pytest.warns(Note, match="settings alone"):
        assert is_same(earlier | {"modules": "f3fb593e9228bbdf"}, identity)  # of more settings than now
    with pytest.warns(Note, match="settings alone"):
        assert difference(earlier | {"weights": "0"}, identity) == "weights"


def test_libraries_of_another_environment_are_not_the_users(tmp_path: Path) -> None:
    """A path file or PYTHONPATH may name the folder that torch and transformers are in."""
    venv.create(tmp_path, with_pip=False)
    folders = {"base": str(tmp_path), "platbase": str(tmp_path)}
    Path(sysconfig.get_path("purelib", vars=folders), "other.pth").write_text(sysconfig.get_path("purelib"))
    code = (
        "import bertlens as bl; from unit import tiny; trace = bl.Lens(tiny.bert(), tiny.wordpiece()).trace('the cat');"
        "print(trace.rerun(bl.whatif.off(0, 1)).attention(1).shape)"
    )
    root = Path(bl.__file__).parents[1]
    variables = {**os.environ, "PYTHONPATH": f"{root}{os.pathsep}{root / 'tests'}"}
    python = Path(sysconfig.get_path("scripts", vars=folders)) / "python"
    done = subprocess.run([python, "-c", code], env=variables, capture_output=True, text=True, timeout=300)
    assert "torch.Size" in done.stdout, done.stderr[-600:]


def test_what_lies_beside_a_checkout_of_a_library_is_the_users(tmp_path: Path) -> None:
    package = ModuleType("transformers")
    package.__file__ = str(tmp_path / "transformers" / "__init__.py")
    assert folder_of(package) == str(tmp_path / "transformers")
    (tmp_path / "transformers-5.0.dist-info").mkdir()
    assert folder_of(package) == str(tmp_path)
