"""Lessons: steps that point at states of a view, each with something to do, and checks that hold for any sentence."""

from .lesson import Lesson, Step

__all__ = ["Lesson", "Step"]
