"""What a notebook shows of an error of bertlens: one line, and all of it on request; and that errors name the way."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import textwrap

import pytest

import bertlens as bl
from bertlens.errors import MissingError, stopped
from unit import tiny

CELLS = """
    import re, sys
    from IPython.core.interactiveshell import InteractiveShell
    shell = InteractiveShell.instance()
    shell.history_manager.enabled = False
    for number, cell in enumerate({cells!r}):
        print(f"--- {{number}}")
        shell.run_cell(cell, store_history=True)
"""
SETUP = """
from bertlens.errors import InputError, stopped
def deep(n):
    if n: deep(n - 1)
    raise InputError("the text is \\n empty: give some text")
def interrupted():
    try: raise KeyboardInterrupt
    except KeyboardInterrupt as error:
        stopped(error, "stopped: the page is not written")
        raise
"""


def shown(*cells: str) -> list[str]:
    """What an IPython shell prints of each cell, colours left out."""
    code = textwrap.dedent(CELLS).format(cells=[SETUP, *cells])
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, "TERM": "dumb"}
    )
    assert not done.returncode, done.stderr
    parts = re.split(r"^--- \d+\n", re.sub(r"\x1b\[[\d;]*m", "", done.stdout), flags=re.M)
    return [part.strip() for part in parts[2:]]


def test_a_notebook_shows_one_line_and_all_of_it_by_tb():
    line = "InputError: the text is empty: give some text"
    first, whole, again, verbose, other = shown("deep(3)", "%tb", "deep(3)", "%tb Verbose", "1 / 0")
    assert first == again == line
    for text in (whole, verbose):
        assert text.count("deep(n - 1)") >= 3 and "Traceback" in text
        assert text.splitlines()[-1].strip() == "empty: give some text"
    assert "Traceback" in other  # what is none of ours is whole


def test_the_reader_who_has_chosen_details_gets_them():
    chosen, whole, _, line = shown("%xmode Plain", "deep(1)", "%xmode Context", "deep(1)")
    assert "mode: Plain" in chosen and "Traceback" in whole
    assert "Traceback" not in line and line.startswith("InputError: ")


def test_an_interrupt_that_says_what_it_left_is_one_line():
    line, whole = shown("interrupted()", "%tb")
    assert line == "KeyboardInterrupt: stopped: the page is not written"
    assert "Traceback" in whole


def test_the_outermost_work_says_what_an_interrupt_left():
    error, users = KeyboardInterrupt(), KeyboardInterrupt("mine")
    for sentence in ("stopped: texts", "stopped: the page is not written"):
        stopped(error, sentence)
        stopped(users, sentence)
    assert str(error) == "stopped: the page is not written" and str(users) == "mine"


@pytest.fixture(scope="module")
def lens() -> bl.Lens:
    return bl.Lens(tiny.bert(), tiny.wordpiece())


@pytest.mark.parametrize("name", ["query", "key", "value", "scores", "attention", "head_context", "context", "sink"])
def test_a_head_asked_of_a_layers_quantity_is_told_how_it_is_written(lens, name):
    trace = lens.trace("the cat sat")
    with pytest.raises(
        bl.InputError, match=r"takes a layer and gives all of its heads: write \w+\(1\)\[2\]$"
    ) as refused:
        getattr(trace, name)(1, 2)
    with pytest.raises(bl.InputError, match=re.escape(str(refused.value))):
        getattr(trace, name)(1, head=2)
    way = eval(f"trace.{str(refused.value).split('write ')[1]}", {"trace": trace})  # as the reader would follow it
    whole = trace.head_context(1) if name == "context" else getattr(trace, name)(1)
    assert way.shape == whole.shape[1:] and bool((way == whole[2]).all())


def test_a_head_or_layer_that_is_not_there_is_said_first(lens):
    trace = lens.trace("the cat sat")
    with pytest.raises(bl.SelectionError, match="head 99 does not exist"):
        trace.attention(1, 99)
    with pytest.raises(bl.SelectionError, match="layer 99 does not exist"):
        trace.attention(99, 0)
    with pytest.raises(bl.InputError, match=re.escape("write attention(1)[2, 0, 3]")):
        trace.attention(1, 2, 0, 3)


@pytest.mark.parametrize(
    ("name", "way"),
    [
        ("explore", "lens.trace(text).explore(…)"),
        ("attention", "trace(text).attention(…)"),
        ("tokens", "(text).tokens"),
    ],
)
def test_what_a_trace_has_is_named_where_a_lens_is_asked(lens, name, way):
    with pytest.raises(MissingError, match=re.escape(way)):
        getattr(lens, name)
    assert not hasattr(lens, name) and getattr(lens, name, 5) == 5


def test_other_names_are_python_s_own_business(lens):
    with pytest.raises(AttributeError, match="'Lens' object has no attribute 'exploree'") as error:
        lens.exploree  # noqa: B018
    assert not isinstance(error.value, bl.BertLensError)


@pytest.mark.parametrize(
    ("ask", "source"),
    [
        (lambda lens: lens.trace(""), "from the text:"),
        (lambda lens: lens.trace(" \n"), "from the text:"),
        (lambda lens: lens.trace_words([]), "from the text:"),
        (lambda lens: lens.trace_batch(["cat", "", " "]), "from 2 of 3 texts:"),
    ],
)
def test_a_text_of_no_token_is_noted(lens, ask, source):
    with pytest.warns(UserWarning, match=f"no token comes {source}.*give some text"):
        ask(lens)
