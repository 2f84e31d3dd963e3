"""What a sample says: intervals of shares, means and differences, paired tests, Holm over a family.

Clopper and Pearson 1934, Student 1908, McNemar 1947, Holm 1979, each named where it is used.
"""

from .findings import FOUND, holm, holm_intervals, interval_test, paired, rank_correlation, with_findings
from .intervals import (
    FEWEST_OF_A_CLASS,
    FEWEST_TEXTS,
    LEVEL,
    NONE,
    count_interval,
    design_effect,
    difference_interval,
    f1_interval,
    freedom,
    group_interval,
    macro_f1_interval,
    mean_interval,
    mean_text,
    positive_mean_interval,
    prediction_width,
    share_interval,
    student,
)
from .size_fields import SizeFields, size_fields
from .sizes import Sizes, Winner, change_said, choice, choice_said, layers_said, name_of, over, told

__all__ = [
    "FEWEST_OF_A_CLASS",
    "FEWEST_TEXTS",
    "FOUND",
    "LEVEL",
    "NONE",
    "SizeFields",
    "Sizes",
    "Winner",
    "change_said",
    "choice",
    "choice_said",
    "count_interval",
    "design_effect",
    "difference_interval",
    "f1_interval",
    "freedom",
    "group_interval",
    "holm",
    "holm_intervals",
    "interval_test",
    "layers_said",
    "macro_f1_interval",
    "mean_interval",
    "mean_text",
    "name_of",
    "over",
    "paired",
    "positive_mean_interval",
    "prediction_width",
    "rank_correlation",
    "share_interval",
    "size_fields",
    "student",
    "told",
    "with_findings",
]
