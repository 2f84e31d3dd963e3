"""Labelled data in: how good a classifier is, where it is wrong, which heads and words its answers rest on."""

from .ablations import ABLATIONS
from .against import Against
from .importance import MEASURES, Heads, expected
from .making import Task, task
from .mistakes import Errors
from .turned import Turned

__all__ = ["ABLATIONS", "MEASURES", "Against", "Errors", "Heads", "Task", "Turned", "expected", "task"]
