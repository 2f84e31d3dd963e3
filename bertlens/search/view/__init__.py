"""The view of a search: its questions, why a wrong passage is first, what if a word or head were not there."""

from .retrieval_view import RetrievalView

__all__ = ["RetrievalView"]
