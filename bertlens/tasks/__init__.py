"""Labelled data in: how good a classifier is, where it is wrong, which heads and words its answers rest on."""

from .ablations import ABLATIONS
from .effect_changes import Turned
from .importance import MEASURES, Heads, expected
from .labelled_task import Task, by_layer, task
from .mistakes import Errors
from .model_comparison import Against
from .words import TaskEdits, TaskWords

__all__ = [
    "ABLATIONS",
    "MEASURES",
    "Against",
    "Errors",
    "Heads",
    "Task",
    "TaskEdits",
    "TaskWords",
    "Turned",
    "by_layer",
    "expected",
    "task",
]
