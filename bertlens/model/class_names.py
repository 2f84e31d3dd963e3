"""The names of a model's classes, as its config has them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from ..base.quotes import isolate


def class_names(config: Any, count: int) -> list[str]:
    """The names of classes 0 to count − 1, no two alike: of two that are called "pos", "pos (1)" and "pos (2)".

    `id2label` tells. Its keys are numbers or, where it was read from JSON, their writing. A class without a name is
    called by its number.
    """
    names = _written(config)
    row = [names.get(str(number), str(number)) for number in range(count)]
    times = Counter(row)
    return [f"{name} ({number})" if times[name] > 1 else name for number, name in enumerate(row)]


def conflicts(config: Any) -> list[str]:
    """What a config says of its classes that cannot all be meant, a sentence each."""
    names = _written(config)
    places = {name: [number for number, other in names.items() if other == name] for name in names.values()}
    sentences = [
        f"config.id2label has {isolate(repr(name))} for {len(numbers)} classes: they are called "
        f"{' and '.join(f'{name} ({number})' for number in numbers)} here"
        for name, numbers in places.items()
        if len(numbers) > 1
    ]
    numbers_of = getattr(config, "label2id", None)
    for name, number in numbers_of.items() if isinstance(numbers_of, Mapping) else ():
        numbers = places.get(str(name), [])
        if len(numbers) == 1 and numbers[0] != str(number).strip():
            sentences.append(
                f"config.label2id has {isolate(repr(name))} for class {number}, config.id2label for class "
                f"{numbers[0]}: id2label is what counts"
            )
    return sentences


def _written(config: Any) -> dict[str, str]:
    """{the number's writing: name} of id2label."""
    names = getattr(config, "id2label", None) or {}
    pairs = names.items() if isinstance(names, Mapping) else enumerate(names)
    return {str(number).strip(): str(name) for number, name in pairs}
