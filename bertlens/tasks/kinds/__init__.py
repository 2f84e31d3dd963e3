"""The kinds of task: what a model is asked, read off its head."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...errors import ModelError
from ...measures.predictions import KINDS
from ...model.class_names import class_names
from .classes import Classes
from .kind import Kind, one_each
from .masked_words import Words
from .numbers import BiEncoder, CrossEncoder, Regression
from .tags import Tags

if TYPE_CHECKING:
    from ...lens import Lens

READ = "classifiers of texts, pairs and words, regressions, encoders of sentences and masked language models are"

__all__ = ["Classes", "Kind", "kind_of", "one_each"]


def kind_of(lens: Lens) -> Kind:
    """What a model is asked. Raises ModelError, in one sentence, for one whose task is not read here."""
    runner = lens.borrowed.runner
    config: Any = lens.borrowed.base.config
    name = type(runner).__name__
    if lens.borrowed.why_no_answer:
        raise ModelError(lens.borrowed.why_no_answer)
    named = [type(module).__name__ for module in runner.modules()]
    kind = next((kind for end, kind in KINDS.items() if any(class_name.endswith(end) for class_name in named)), "")
    if kind == "span":
        raise ModelError(f"{name} answers questions by a span, which is no task here: {READ}")
    is_sparse = lens.borrowed.embedder.output_name == "logits"
    if kind == "words" and not is_sparse:
        return Words(lens)
    if not kind or is_sparse:
        if not (is_sparse or runner is lens.borrowed.base):
            raise ModelError(f"{name} has no head that is read here: {READ}")
        return BiEncoder(lens)
    count = int(getattr(runner.config if hasattr(runner, "config") else config, "num_labels", 0))
    classes = class_names(config, count)
    if kind == "tags":
        return Tags(classes)
    problem = getattr(config, "problem_type", None)
    if problem == "multi_label_classification":
        raise ModelError(
            f"{name} gives several labels to a text, which is no task here: {READ}; docs/task_kinds.md makes a "
            "classifier of one of its labels"
        )
    if count == 1:
        activation = lens.borrowed.activation
        return Regression() if activation is None else CrossEncoder(activation)
    if problem == "regression":
        raise ModelError(f"{name} gives {count} numbers to a text, and a task has one: {READ}")
    return Classes(classes)
