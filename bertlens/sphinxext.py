"""A Sphinx extension: views of bertlens in a site, every head of them, without a kernel, a network or widget state.

In `conf.py`: `extensions = ["bertlens.sphinxext"]`. In a page (MyST; in reStructuredText `.. bertlens::`):

    ```{bertlens} Every head of the embedded model
    import bertlens as bl

    bl.Lens.embedded().trace("The cat sat on the mat.").explore()
    ```

The code runs while the site is built, and what its last line gives (a view, a report, anything with `to_html`) is
written into the site's folder `_bertlens`, once for each different code. The page shows a still picture where there is
one, a link that opens the view in its place, in a frame of its own, and the code. Names stay known to later snippets
of the same document.

The frame becomes as high as what is in it, so that nothing scrolls inside.

Options: `height` of the frame in pixels until then (600), and of the picture of a view that opens `on-scroll`;
`hide-code`; `fold-code`, behind “The code”; `picture`, a picture to show instead of the still one; `state`, the tab and
state that the view opens in, as in a call: `view="why", layer=3`; `with`, options for `to_html` in the same way, such
as `small=True`; `page-code` runs the page's blocks of Python above it first, for their names; `on-scroll` opens the
view as soon as a reader scrolls to it, but for fingers and for who asks to save data; `of`, in place of code, a
document of the site whose first view is shown here too. Code that fails is a warning with its place.
"""

from __future__ import annotations

import ast
import hashlib
import inspect
import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from pathlib import Path
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

from .base.atomic import text_file

FOLDER = "_bertlens"
STYLE = """\
figure.bertlens { position: relative; margin: 1em 0; }
figure.bertlens img { max-width: 100%; height: auto; background: #fff; border-radius: 4px; }
figure.bertlens iframe { display: block; width: 100%; height: var(--height); border: 0; border-radius: 4px; }
figure.bertlens iframe:not(.bertlens-loaded) { position: absolute; inset: 0; opacity: 0; pointer-events: none; }
figure.bertlens[data-scroll] img { display: block; width: 100%; }
@media (min-width: 1100px) { figure.bertlens[data-scroll] img { height: var(--height); object-fit: contain; } }
figure.bertlens figcaption { text-align: left; }
figure.bertlens .bertlens-open { display: inline-block; padding: 0.4em 0; font-weight: 600; }
"""
SCRIPT = """\
const open = (figure, focus) => {
  const link = figure.querySelector("a.bertlens-open");
  if (figure.querySelector("iframe")) return;
  const frame = document.createElement("iframe");
  frame.setAttribute("sandbox", "allow-scripts");
  frame.allow = "fullscreen";
  frame.title = figure.querySelector("figcaption").firstChild.textContent;
  link.textContent = link.textContent.replace(/^Open .*? \\(/, "Loading (");
  frame.addEventListener("load", () => {
    figure.querySelector(".bertlens-still")?.remove();
    frame.classList.add("bertlens-loaded");
    link.hidden = true;
    if (focus) frame.focus(), figure.scrollIntoView({ block: "nearest" });
  });
  frame.src = link.href;
  figure.prepend(frame);
};
document.addEventListener("click", (event) => {
  const link = event.target.closest("figure.bertlens a");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  open(link.closest("figure"), true);
});
addEventListener("message", ({ data, source }) => {
  const height = data?.["bertlens height"];
  for (const frame of document.querySelectorAll("figure.bertlens iframe"))
    if (height > 0 && frame.contentWindow === source) {
      const { dataset, style } = frame.parentElement;
      dataset.least ??= "scroll" in dataset ? parseInt(style.getPropertyValue("--height"), 10) : 0;
      style.setProperty("--height", `${Math.min(Math.max(height, dataset.least), 6000)}px`);
    }
});
const waits = matchMedia("(pointer: coarse)").matches || navigator.connection?.saveData;
const seen = new IntersectionObserver((entries) => {
  for (const { target, intersectionRatio } of entries) if (intersectionRatio > 0.6) open(target, false);
}, { threshold: 0.61 });
addEventListener("scroll", () => {
  if (!waits) for (const figure of document.querySelectorAll("figure.bertlens[data-scroll]")) seen.observe(figure);
}, { once: true });
"""


class live_view(nodes.General, nodes.Element):
    """What stands in a document for a view: the names of its page and picture, caption, height, megabytes."""


class BertLensDirective(SphinxDirective):
    """`{bertlens}`: runs its code and shows what the last line gives."""

    has_content = True
    optional_arguments = 1
    final_argument_whitespace = True
    option_spec: ClassVar[dict[str, Any]] = {
        "height": directives.positive_int,
        "of": directives.unchanged_required,
        "hide-code": directives.flag,
        "fold-code": directives.flag,
        "on-scroll": directives.flag,
        "page-code": directives.flag,
        "picture": directives.path,
        "state": directives.unchanged,
        "with": directives.unchanged,
    }

    def run(self) -> list[nodes.Node]:
        if "of" in self.options:
            self.env.note_dependency(self.env.doc2path(self.options["of"]))
            return [live_view(of=self.options["of"])]
        code = "\n".join(self.content)
        blocks: list[nodes.Node] = []
        if "hide-code" not in self.options:
            blocks.append(nodes.literal_block(code, code, language="python"))
        if "fold-code" in self.options:
            folded = nodes.raw("", "<details><summary>The code</summary>", format="html")
            blocks = [folded, *blocks, nodes.raw("", "</details>", format="html")]
        try:
            page, picture, size = self._written(code)
        except Exception as error:  # noqa: BLE001 - the snippet is the author's: whatever it raises is said at its place
            message = f"this snippet of bertlens failed: {type(error).__name__}: {error}"
            return [self.state.document.reporter.warning(message, line=self.lineno), *blocks]
        view = live_view(
            page=page,
            picture=picture,
            caption=self.arguments[0] if self.arguments else "A view of bertlens",
            height=self.options.get("height", 600),
            scroll="on-scroll" in self.options,
            megabytes=max(1, round(size / 1e6)),
        )
        if "fold-code" in self.options:
            return [nodes.container("", view, *blocks, classes=["bertlens-card"])]
        return [view, *blocks]

    def _written(self, code: str) -> tuple[str, str, int]:
        """The names of the view's page and picture ("": none) in FOLDER; the bytes of its page."""
        arguments, state = (self.options.get(name, "") for name in ("with", "state"))
        names = self.env.temp_data.setdefault("bertlens", {"": ""})
        if "page-code" in self.options:
            above = (
                Path(self.env.doc2path(self.env.docname)).read_text(encoding="utf-8").splitlines()[: self.lineno - 1]
            )
            blocks = "".join(re.findall(r"^```python\n(.*?)^```", "\n".join(above), re.DOTALL | re.MULTILINE))
            with tempfile.TemporaryDirectory() as scratch, _working_in(scratch):
                exec(compile(blocks, self.env.docname, "exec"), names)
            names[""] += blocks
        names[""] += f"{code}\n{arguments}\n{state}\n"  # a later snippet is of all of those before it
        name = hashlib.sha256(names[""].encode()).hexdigest()[:16]
        value = _run(code, names)
        for trait, setting in eval(f"dict({state})", {}).items():
            setattr(value, trait, setting)
        folder = Path(self.env.app.outdir) / FOLDER
        folder.mkdir(parents=True, exist_ok=True)
        page = folder / f"{name}.html"
        options = eval(f"dict({arguments})", {})
        if "progress" in inspect.signature(value.to_html).parameters:
            options.setdefault("progress", False)
        value.to_html(page, **options)
        picture, suffix = self._picture(value)
        if picture is not None:
            (folder / f"{name}{suffix}").write_bytes(picture)
        return page.name, f"{name}{suffix}" if picture is not None else "", page.stat().st_size

    def _picture(self, value: Any) -> tuple[bytes | None, str]:
        """The one that was given; else the still one of a view or of its trace; None of other pages. And its suffix."""
        if "picture" in self.options:
            path = Path(self.env.relfn2path(self.options["picture"])[1])
            self.env.note_dependency(str(path))
            return path.read_bytes(), path.suffix
        if not hasattr(value, "_repr_mimebundle_"):
            if not hasattr(value, "trace"):
                return None, ""
            value = value.trace.explore()
        picture: bytes = value._repr_mimebundle_()[0]["image/png"]
        return picture, ".png"


@contextmanager
def _working_in(folder: str) -> Iterator[None]:
    """What a page writes by name, it writes there."""
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def _run(code: str, names: dict[str, Any]) -> Any:
    """The value of the code's last line, which has to be an expression; `names` are read and written."""
    lines = ast.parse(code)
    if not lines.body or not isinstance(lines.body[-1], ast.Expr):
        raise ValueError("its last line has to be a view")
    expression = ast.Expression(lines.body.pop().value)  # type: ignore[attr-defined]
    from .model.offline_model import quietly

    with quietly():  # a bar would stand among Sphinx's warnings
        exec(compile(lines, "<snippet>", "exec"), names)
        return eval(compile(expression, "<snippet>", "eval"), names)


def _of_others(app: Sphinx, document: nodes.document, name: str) -> None:
    """Views of another document, once all are read."""
    for node in [node for node in document.findall(live_view) if "of" in node]:
        other = app.env.get_doctree(node["of"]) if node["of"] in app.env.found_docs else document
        view = next((view for view in other.findall(live_view) if "of" not in view), None)
        if view is None:
            logging.getLogger(__name__).warning("there is no view in %s", node["of"], location=name)
        node.replace_self(view.deepcopy() if view else [])


def _in_html(writer: Any, node: live_view) -> None:
    root = "../" * writer.builder.current_docname.count("/") + FOLDER
    page, caption = f"{root}/{node['page']}", escape(node["caption"])
    still, name = "", "Open the page"
    if node["picture"]:
        picture = f'<img src="{root}/{node["picture"]}" alt="{caption}" loading="lazy">'
        still, name = f'<a class="bertlens-still" href="{page}">{picture}</a>', "Open the live view"
    link = f'<a class="bertlens-open" href="{page}">{name} ({node["megabytes"]} MB)</a>'
    scroll = " data-scroll" if node["scroll"] else ""
    writer.body.append(
        f'<figure class="bertlens" style="--height: {node["height"]}px"{scroll}>{still}'
        f"<figcaption>{caption}. {link}</figcaption></figure>"
    )
    raise nodes.SkipNode


def _in_text(writer: Any, node: live_view) -> None:
    """Of a builder that has no frames: the caption."""
    writer.visit_Text(nodes.Text(node["caption"]))
    raise nodes.SkipNode


def _assets(app: Sphinx) -> None:
    folder = Path(app.outdir) / "_static"
    folder.mkdir(parents=True, exist_ok=True)
    text_file(STYLE, folder / "bertlens.css")
    text_file(SCRIPT, folder / "bertlens.js")


def setup(app: Sphinx) -> dict[str, Any]:
    """What Sphinx calls of an extension."""
    app.add_node(live_view, html=(_in_html, None), text=(_in_text, None), latex=(_in_text, None), man=(_in_text, None))
    app.add_directive("bertlens", BertLensDirective)
    app.add_css_file("bertlens.css")
    app.add_js_file("bertlens.js", loading_method="defer")
    app.connect("builder-inited", _assets)
    app.connect("doctree-resolved", _of_others)
    return {"version": "1", "parallel_read_safe": False, "parallel_write_safe": True}
