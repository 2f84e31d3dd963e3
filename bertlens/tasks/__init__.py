"""Labelled data in: how good a classifier is, where it is wrong, which heads and words its answers rest on."""

from .against import Against
from .importance import Heads
from .making import Task, task
from .mistakes import Errors

__all__ = ["Against", "Errors", "Heads", "Task", "task"]
