"""Sphinx's settings: `make docs` builds this folder, without a network, to docs/_build/html."""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path
from typing import Any

from docutils import nodes
from latex2mathml.converter import convert
from sphinx import addnodes

import bertlens

sys.path.insert(0, str(Path(__file__).parent))
import parameters
from notebook_pages import write_pages
from other_scripts import marked

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
templates_path = ["_templates"]
html_favicon = "_static/mark.svg"
html_css_files = ["site.css"]
html_js_files = [("site.js", {"defer": "defer"})]
html_sidebars = {"index": []}  # the front page has the whole width
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


def _as_text(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Docstrings are plain text with `code` in it: what reStructuredText would read as marks is escaped."""
    text, before, literal = [], 0, False
    described = parameters.lines(obj, " ".join(lines))
    for line in [*lines, "", *(f":param {name}: {line}." for name, line in described.items())]:
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
        pieces[::2] = [re.sub(r"([|*]|(?<=\w)_(?!\w))", r"\\\1", piece) for piece in pieces[::2]]
        text.append("`".join(pieces))
    lines[:] = text


# Sphinx asks each page that it found for its text, which a browser refuses of a folder: here a script has it.
EXCERPTS = """\
Search.htmlToText = (text) => text;
const TEXTS = {};
window.fetch = (address) => new Promise((resolve) => {
  const name = address.replace(/^[.]\\/|[.]html$/g, "");
  const script = document.createElement("script");
  script.onload = script.onerror = () => resolve({ text: () => TEXTS[name] ?? "–" });
  script.src = `_static/excerpts/${name}.js`;
  document.head.append(script);
});
"""


def _with_excerpts(app: Any, page: str, template: str, context: dict[str, Any], document: Any) -> None:
    if page == "search":
        app.add_js_file("excerpts.js", loading_method="defer")
        app.add_js_file("question.js", loading_method="defer")


def _with_languages(app: Any, page: str, template: str, context: dict[str, Any], document: Any) -> None:
    if "body" in context:
        context["body"] = marked(context["body"])


def _notebook_links(app: Any, page: str, text: list[str]) -> None:
    """A link to a notebook of the repository leads to its page here."""
    text[0] = re.sub(r"\]\((?:\.\./)+notebooks/(?=\w+\.ipynb\))", f"]({'../' * page.count('/')}notebooks/", text[0])


def _listed(pages: dict[str, Any]) -> dict[str, list[str]]:
    """{caption of the front page's lists: pages below it, and below those}; the others under "Also"."""
    listed: dict[str, list[str]] = {}
    for tree in pages["index"].findall(addnodes.toctree):
        names = listed[tree["caption"]] = [name for _, name in tree["entries"] if name in pages]
        for name in names:  # grows on the way
            below = (entry for one in pages[name].findall(addnodes.toctree) for _, entry in one["entries"])
            names += [entry for entry in below if entry in pages and entry not in names]
    inside = {name for names in listed.values() for name in names}
    return listed | {"Also": [name for name in pages if name not in inside | {"index"}]}


def _llms(app: Any, pages: dict[str, Any]) -> str:
    """llms.txt: what this is, how it is had, and a line a page."""
    what, skill = next(pages["index"].findall(nodes.paragraph)).astext(), pages["SKILL"].findall(nodes.paragraph)
    install = next(one.astext() for one in skill if "package index" in one.astext())
    lines = ["# bertlens", "", f"> {what}", "", " ".join(install.split()), "", LLMS]
    for caption, names in _listed(pages).items():
        lines += ["", f"## {caption}", ""] if names else []
        for name in names:
            first = next((" ".join(one.astext().split()) for one in pages[name].findall(nodes.paragraph)), "")
            said, *further = re.split(r"(?<=[.?!]) ", first)
            while further and len(said) + len(further[0]) < LINE:
                said += f" {further.pop(0)}"
            lines.append(f"- [{app.env.titles[name].astext()}]({name}.html): {said[:LINE].rstrip('.:')}")
    return "\n".join([*lines, ""])


LINE = 200  # letters of a page's first sentences
LLMS = "Begin with [SKILL](SKILL.html): which question is which call, its units, and how a result is said."


def _plain_texts(app: Any, error: Exception | None) -> None:
    """What is read without opening the pages: the excerpts of the search, and llms.txt."""
    if error is not None or app.builder.name != "html":
        return
    pages = {name: app.env.get_doctree(name) for name in sorted(app.env.found_docs)}
    static = Path(app.outdir) / "_static"
    sizes = {name: len(page.astext().split()) for name, page in pages.items()}
    (static / "excerpts.js").write_text(f"{EXCERPTS}const WORDS = {json.dumps(sizes)};\n", encoding="utf-8")
    for name, page in pages.items():
        (static / "excerpts" / name).parent.mkdir(parents=True, exist_ok=True)
        text = f"TEXTS[{json.dumps(name)}] = {json.dumps(' '.join(page.astext().split()))};\n"
        (static / "excerpts" / f"{name}.js").write_text(text, encoding="utf-8")
    (Path(app.outdir) / "llms.txt").write_text(_llms(app, pages), encoding="utf-8")


# Of one icon: its name, its size, its other names, its letter and its lines.
ICON = re.compile(r'"?([\w-]+)"?:\[\d+,\d+,\[([^\]]*)\],"\w+",(?:"[^"]*"|\[[^\]]*\])\],?')


def _fewer_icons(app: Any, error: Exception | None) -> None:
    """The theme brings two thousand icons, 1.5 MB of each page: those stay that a page or the theme's scripts name."""
    if error is not None or app.builder.name != "html":
        return
    out = Path(app.outdir)
    icons = out / "_static" / "scripts" / "fontawesome.js"
    files = [file for file in out.rglob("*.html") if "_bertlens" not in file.parts]
    files += icons.parent.glob("*theme.js")
    named = {name for file in files for name in re.findall(r"\bfa-([\w-]+)", file.read_text(encoding="utf-8"))}

    def kept(icon: re.Match[str]) -> str:
        return icon[0] if named & {icon[1], *re.findall(r"[\w-]+", icon[2])} else ""

    icons.write_text(ICON.sub(kept, icons.read_text(encoding="utf-8")), encoding="utf-8")


def setup(app: Any) -> None:
    app.connect("builder-inited", write_pages)
    app.connect("source-read", _notebook_links)
    app.connect("autodoc-process-docstring", _as_text)
    app.connect("html-page-context", _with_excerpts)
    app.connect("html-page-context", _with_languages)
    app.connect("build-finished", _plain_texts)
    app.connect("build-finished", _fewer_icons)
    app.add_html_math_renderer("mathml", inline_renderers=(_mathml, None), block_renderers=(_mathml, None))
