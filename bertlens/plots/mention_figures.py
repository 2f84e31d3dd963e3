"""Figure of coreference: which mention each mention goes back to, and where a head looks for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..errors import check_index, check_name
from ..trace.trace import Trace
from .figure import ACCENT, INK, axes_or_new, plain
from .letters import legible
from .survey_figures import arc, arc_height

if TYPE_CHECKING:
    from ..survey.coreference import SentenceWindow


@legible
def coreference_arcs(
    trace: Trace,
    window: SentenceWindow,
    layer: int,
    head: int,
    among: str = "words",
    rows: str = "mean",
    axes: Any = None,
) -> Any:
    """A window: above, arcs from each mention's head word to that of the nearest earlier mention of its entity; below,
    to the word that a head predicts for it, full where that is one of them and dashed where not.

    window, with its encoding: of `survey.coreference.windows`; trace: of lens.trace_words(window.words). among, rows as
    in `survey.coreference_scores`. Mentions without an earlier one have no arc. Returns the matplotlib axes.
    Raises SelectionError for a head or `among` that does not exist.
    """
    from ..survey.coreference import AMONG, predicted_antecedents
    from ..survey.syntax import NONE

    check_index(layer, trace.n_layers, "layer")
    check_index(head, trace.n_heads, "head")
    check_name(among, AMONG, "candidates")
    answers = [(mention, window.right(mention)[0]) for mention in window.mentions]
    answers = [(mention, earlier) for mention, earlier in answers if earlier]
    axes = axes_or_new(axes, max(4, 0.55 * len(window.words)), 3.2)
    right, above, below = 0, 2.0, 2.0
    if answers:
        guesses = predicted_antecedents(trace, window, [mention for mention, _ in answers], rows)
        for (mention, earlier), guess in zip(
            answers, guesses[:, AMONG.index(among), layer, head].tolist(), strict=True
        ):
            arc(axes, mention.head, earlier[-1], 1, INK, "-")
            above = max(above, arc_height(mention.head, earlier[-1]) + 1)
            if guess != NONE:
                is_right = guess in earlier
                right += is_right
                arc(axes, mention.head, guess, -1, INK if is_right else ACCENT, "-" if is_right else "--")
                below = max(below, arc_height(mention.head, guess) + 1)
    named = {mention.head for mention in window.mentions}
    for place, word in enumerate(window.words):
        weight = "bold" if place in named else "normal"
        axes.text(place, 0, plain(word), ha="center", va="center", fontsize=8, fontweight=weight)
    axes.set(xlim=(-0.7, len(window.words) - 0.3), ylim=(-below - 0.3, above + 0.3))
    counts = f"L{layer}·H{head} among all {among}, {right} of {len(answers)} right"
    axes.set_title(f"above: the nearest earlier mention; below: {counts}", fontsize=9)
    axes.axis("off")
    return axes
