"""Whether a lesson can be done: every step run with a lens, what fulfils it or why nothing does."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ..base.dataframes import pd
from ..base.quotes import isolate, quotation
from ..base.vocabulary import phrases
from ..errors import BertLensError, InputError, check_index, check_lens
from ..run.changes import Off
from ..trace.trace import Trace
from .facts import facts_of, first_answers, statistics_of
from .language import TOLERANCE, Facts, Tree, number_of, parse_number, verdict
from .states import trace_of
from .step import LessonPlan, Step

_LONG = 64  # tokens: of longer texts no single cells are tried


def checked(lesson: LessonPlan, lens: Any) -> pd.DataFrame:
    """See Lesson.check."""
    check_lens(lens)
    rows = []
    traces: dict[str, Trace] = {}
    for number, (step, state) in enumerate(walked(lesson), 1):
        try:
            holds, says = _done(step, state, lens, traces)
        except BertLensError as error:
            holds, says = False, str(error)
        rows.append({"step": number, "act": step.act, "holds": holds, "says": says})
    return pd.DataFrame(rows, columns=["step", "act", "holds", "says"])


def walked(lesson: LessonPlan) -> Iterator[tuple[Step, dict[str, Any]]]:
    """Each step with the state that the view is in, as the page does: what a state does not name is as at first, but
    for the text."""
    state: dict[str, Any] = {}
    for step in lesson.steps:
        if step.state is not None:
            state = {name: state[name] for name in ("text", "text_pair") if name in state} | step.state
        yield step, state


def _done(step: Step, state: dict[str, Any], lens: Any, traces: dict[str, Trace]) -> tuple[bool, str]:
    def run(given: dict[str, Any]) -> Trace:
        key = repr([given.get(name) for name in ("text", "text_pair", "changes")])
        if key not in traces:
            traces[key] = trace_of(lens, given)
        return traces[key]

    if step.act in ("read", "write") and not state.get("text"):
        return True, ""
    trace = run(state)
    if step.act in ("read", "write"):
        facts_at(trace, state)
        return True, ""
    if step.act == "predict":
        return _predicted(step, trace, state)
    if step.show is not None:
        show = {name: state[name] for name in ("text", "text_pair") if name in state} | step.show
        finding = verdict(_tree(step), facts_at(run(show), show))
        return finding.holds, "" if finding.holds else f"“show me” does not fulfil it: {finding.why or step.check}"
    tried = (
        cells(trace, _tree(step), state.get("measure", "weight")) if step.act == "find" else without_heads(trace, state)
    )
    return _search(step, tried)


def _tree(step: Step) -> Tree:
    tree = step.tree
    assert tree is not None
    return tree


def facts_at(trace: Trace, state: dict[str, Any]) -> Facts:
    """The facts of what a state selects. Raises SelectionError where the trace has not that."""
    layer, head = state.get("layer", 0), state.get("head", 0)
    check_index(layer, trace.n_layers, "layer")
    check_index(head, trace.n_heads, "head")
    for name in ("query", "key"):
        place = state.get(name)
        if place is not None and not 0 <= place < trace.n_tokens:
            raise InputError(f"{name} {place} is not in this text of {trace.n_tokens} tokens")
    return facts_of(trace, layer, head, state.get("query"), state.get("key"), state.get("measure", "weight"))


def _predicted(step: Step, trace: Trace, state: dict[str, Any]) -> tuple[bool, str]:
    truth = truth_of(step, trace, state)
    if isinstance(truth, str):
        return False, truth
    return True, truth[0]


def truth_of(step: Step, trace: Trace, state: dict[str, Any]) -> tuple[str, Any] | str:
    """(in words, the value) of what is predicted; a sentence where it cannot be told."""
    if step.predict == "word":
        answer = first_answers(trace)[1]
        return phrases.NO_ANSWER if answer is None else (answer, answer)
    if step.predict == "head":
        heads = [
            (float(value), (layer, head))
            for layer in range(trace.n_layers)
            for head, value in enumerate(_column(trace, layer, step.of))
            if value == value
        ]
        if not heads:
            return phrases.NO_NUMBER.format(name=step.of)
        value, (layer, head) = max(heads)
        return f"L{layer}·H{head}, {value:.2f}", [layer, head]
    facts = facts_at(trace, state)
    if step.predict == "number":
        number = number_of(parse_number(step.of), facts)
        return f"{step.of} cannot be told here" if number is None else (f"{number:.2f}", number)
    return _key(step, trace, facts)


def _column(trace: Trace, layer: int, name: str) -> list[float]:
    table = statistics_of(trace, layer)
    return table.values[0, :, table.names.index(name)].tolist()


def _key(step: Step, trace: Trace, facts: Facts) -> tuple[str, Any] | str:
    query = facts.query
    if query is None:
        return "a key is predicted of one row: the state of this step has no query"
    keys = [j for j, special in enumerate(facts.special) if not (special and step.of.endswith("words"))]
    best, *rivals = sorted(keys, key=lambda j: -facts.weight(query, j))
    value = facts.weight(query, best)
    if rivals and value - facts.weight(query, rivals[0]) < TOLERANCE:
        names = " and ".join(quotation(trace.display_tokens[j]) for j in (best, rivals[0]))
        return f"{names} get nearly the same ({value:.2f}): the answer would be chance"
    return f"{isolate(trace.display_tokens[best])}, {value:.2f}", best


# --- what fulfils a check ---

Tried = Iterator[tuple[str, Callable[[], Facts]]]  # a place or a change in words, and what is seen then


def _search(step: Step, tried: Tried) -> tuple[bool, str]:
    why = ""
    for name, facts in tried:
        finding = verdict(_tree(step), facts())
        if finding.holds:
            return True, name
        why = why or finding.why
    what = "head or cell" if step.act == "find" else "head switched off alone"
    return False, why or f"no {what} of this model fulfils {step.check!r} on this text: give show={{…}} where one does"


def cells(trace: Trace, tree: Tree, measure: str = "weight") -> Tried:
    """Every head, and where the check is of a chosen row or column every cell of it."""
    rows: list[int | None] = [None]
    columns: list[int | None] = [None]
    words = {tree[0] for tree in _parts(tree)}
    has_weight = any(branch in (["weight"], ["taken"]) for branch in _parts(tree))
    if trace.n_tokens <= _LONG and (has_weight or words & {"key", "key is", "query is"}):
        rows = list(range(trace.n_tokens)) if has_weight or words & {"key", "query is"} else rows
        columns = list(range(trace.n_tokens)) if has_weight or words & {"key", "key is"} else columns
    labels = trace.display_tokens
    for layer in range(trace.n_layers):
        for head in range(trace.n_heads):
            at = facts_of(trace, layer, head, measure=measure)
            for query in rows:
                for key in columns:
                    places = [labels[place] for place in (query, key) if place is not None]
                    name = f"L{layer}·H{head}{': ' if places else ''}{' → '.join(places)}"
                    yield name, lambda at=at, query=query, key=key: _at(at, query, key)  # type: ignore[misc]


def _at(facts: Facts, query: int | None, key: int | None) -> Facts:
    return Facts(**{**facts.__dict__, "query": query, "key": key})


def _parts(tree: Any) -> Iterator[Tree]:
    if isinstance(tree, list):
        yield tree
        for branch in tree[1:]:
            yield from _parts(branch)


def without_heads(trace: Trace, state: dict[str, Any]) -> Tried:
    """The run with each head off in turn."""
    for layer in range(trace.n_layers):
        for head in range(trace.n_heads):
            off = Off(layer, head)
            yield f"L{layer}·H{head} off", lambda off=off: facts_at(trace.rerun(off), state)  # type: ignore[misc]
