"""Sphinx's settings: `make docs` builds this folder, without a network, to docs/_build/html."""

from __future__ import annotations

import inspect
import json
import os
import re
import sys
from pathlib import Path
from typing import Any

from docutils import nodes
from latex2mathml.converter import convert

import bertlens

sys.path.insert(0, str(Path(__file__).parent))
from notebook_pages import write_pages

project = "bertlens"
author = copyright = "The bertlens developers"
release = version = bertlens.__version__

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.autosummary", "sphinx.ext.napoleon", "bertlens.sphinxext"]
if os.environ.get("BERTLENS_INTERSPHINX"):  # links to the documentation of others: needs a network
    extensions.append("sphinx.ext.intersphinx")
    intersphinx_mapping = {
        "python": ("https://docs.python.org/3", None),
        "numpy": ("https://numpy.org/doc/stable", None),
        "torch": ("https://docs.pytorch.org/docs/stable", None),
    }
exclude_patterns = ["_build", "_executed"]
myst_enable_extensions = ["dollarmath", "colon_fence", "deflist"]
myst_heading_anchors = 3
nb_execution_mode = "off"
html_math_renderer = "mathml"

default_role = "code"
autodoc_preserve_defaults = True  # no path of this machine
autodoc_typehints = "description"
autodoc_typehints_format = "short"
autodoc_member_order = "bysource"
autodoc_default_options = {"members": True}
autosummary_generate = False
napoleon_numpy_docstring = False

html_theme = "sphinx_book_theme"
html_title = "bertlens"
html_static_path = ["_static"]
html_favicon = "_static/mark.svg"
html_css_files = ["site.css"]
html_js_files = [("site.js", {"defer": "defer"})]
html_copy_source = html_show_sourcelink = False
html_context = {"default_mode": "auto"}
html_theme_options = {
    "home_page_in_toc": True,
    "use_download_button": False,
    "use_fullscreen_button": False,
    "show_toc_level": 2,
}


def _mathml(writer: Any, node: Any) -> None:
    """A formula as MathML, which browsers draw without a script or a font of ours."""
    display = "inline" if isinstance(node, nodes.math) else "block"
    writer.body.append(convert(node.astext(), display=display))
    raise nodes.SkipNode


# What a parameter is that means the same everywhere, said where a docstring does not say it.
PARAMETERS = {
    "trace": "a run: `lens.trace(text)`",
    "traces": "runs: `lens.trace_batch(texts)`",
    "lens": "a model and its tokenizer: `bl.Lens(model, tokenizer)`",
    "layer": "from 0",
    "head": "from 0",
    "query": "the position of the token that looks, from 0",
    "key": "the position of the token that is looked at, from 0",
    "position": "of a token, from 0",
    "texts": "strings or pairs of strings, or a table or file of them",
    "text": "a string",
    "text_pair": "a second text that is read with the first",
    "column": "of a table, the one that has the texts",
    "limit": "so many texts at most",
    "truncation": "cut a text that is longer than the model reads, in place of an error",
    "batch_size": "texts that run together",
    "progress": "a bar, once the work has taken two seconds",
    "seed": "of the random numbers",
    "path": "where the file is, or is written",
    "by": '"weight" or "norm"',
    "dtype": "what it is computed in; as the run unless it is given",
    "include_special": "count special tokens too",
    "stats": "of a corpus: `bl.survey.head_stats(lens, texts)`",
    "special_mask": "(S,), True at special tokens",
    "segments": "(S,), the number of each token's sentence",
    "vectors": "(n, D), a row for each token",
    "metric": "a number of the answer: `whatif.probability(word)` and its kin",
}


def _unnamed(obj: Any, lines: list[str]) -> list[str]:
    """A line for each parameter that the docstring does not name, where it means the same everywhere."""
    try:
        names = inspect.signature(obj).parameters
    except (TypeError, ValueError):
        return []
    text = " ".join(lines)
    lost = [name for name in names if name in PARAMETERS and not re.search(rf"\b{name}\b", text)]
    return ["", *(f"{name}: {PARAMETERS[name]}." for name in lost)] if lost else []


def _as_text(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Docstrings are plain text with `code` in it: what reStructuredText would read as marks is escaped."""
    text, before, literal = [], 0, False
    for line in [*lines, *_unnamed(obj, lines)]:
        if line.strip().startswith("```"):
            text += [] if literal else ["", "::", "", f"    {line}"]
            literal = not literal
            if literal:
                continue
        if literal or line.strip() == "```":
            text.append(f"    {line}")
            continue
        depth = len(line) - len(line.lstrip())
        if line.strip() and depth != before and text and text[-1].strip():
            text.append("")
        before = depth if line.strip() else before
        pieces = line.split("`")
        pieces[::2] = [re.sub(r"([|*])", r"\\\1", piece) for piece in pieces[::2]]
        text.append("`".join(pieces))
    lines[:] = text


# Sphinx asks each page that it found for its text, which a browser refuses of a folder: here it is already.
EXCERPTS = """\
Search.htmlToText = (text) => text;
const TEXTS = %s;
window.fetch = (address) => Promise.resolve({ text: () => TEXTS[address.replace(/^[.]\\/|[.]html$/g, "")] ?? "–" });
"""


def _with_excerpts(app: Any, page: str, template: str, context: dict[str, Any], document: Any) -> None:
    if page == "search":
        app.add_js_file("excerpts.js", loading_method="defer")


def _notebook_links(app: Any, page: str, text: list[str]) -> None:
    """A link to a notebook of the repository leads to its page here."""
    text[0] = re.sub(r"\]\((?:\.\./)+notebooks/(?=\w+\.ipynb\))", f"]({'../' * page.count('/')}notebooks/", text[0])


def _plain_texts(app: Any, error: Exception | None) -> None:
    """What is read without opening the pages: the excerpts of the search, and llms.txt, a line a page."""
    if error is not None or app.builder.name != "html":
        return
    pages = {name: app.env.get_doctree(name) for name in sorted(app.env.found_docs)}
    texts = {name: " ".join(page.astext().split()) for name, page in pages.items()}
    (Path(app.outdir) / "_static" / "excerpts.js").write_text(EXCERPTS % json.dumps(texts), encoding="utf-8")
    lines = ["# bertlens", "", f"> {next(pages['index'].findall(nodes.paragraph)).astext()}", ""]
    for name, page in pages.items():
        first = next((" ".join(one.astext().split()) for one in page.findall(nodes.paragraph)), "")
        lines.append(f"- [{app.env.titles[name].astext()}]({name}.html): {first.partition('. ')[0][:200]}")
    (Path(app.outdir) / "llms.txt").write_text("\n".join([*lines, ""]), encoding="utf-8")


def setup(app: Any) -> None:
    app.connect("builder-inited", write_pages)
    app.connect("source-read", _notebook_links)
    app.connect("autodoc-process-docstring", _as_text)
    app.connect("html-page-context", _with_excerpts)
    app.connect("build-finished", _plain_texts)
    app.add_html_math_renderer("mathml", inline_renderers=(_mathml, None), block_renderers=(_mathml, None))
