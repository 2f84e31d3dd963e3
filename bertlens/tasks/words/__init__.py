"""What words a model's answers go by: the experiment over all examples, and what follows from it."""

from .hidden_runs import SLOPES, batch_slopes, hidden_name, run_without
from .part_effects import ways_of
from .task_edits import TaskEdits, task_edits
from .task_words import RUNS, TaskWords, needs_estimates, plan_of, task_words
from .tried_parts import tried_features
from .words_file import gained, gained_said, is_of_words, read_words

__all__ = [
    "RUNS",
    "SLOPES",
    "TaskEdits",
    "TaskWords",
    "batch_slopes",
    "gained",
    "gained_said",
    "hidden_name",
    "is_of_words",
    "needs_estimates",
    "plan_of",
    "read_words",
    "run_without",
    "task_edits",
    "task_words",
    "tried_features",
    "ways_of",
]
