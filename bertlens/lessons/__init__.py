"""Lessons: steps that point at states of a view, with something to do, and checks that hold for any sentence."""

from .lesson import Lesson, for_page
from .results import results
from .step import Step

__all__ = ["Lesson", "Step", "for_page", "results"]
