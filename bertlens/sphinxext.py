"""A Sphinx extension: views of bertlens in a site, every head of them, without a kernel, a network or widget state.

In `conf.py`: `extensions = ["bertlens.sphinxext"]`. In a page (MyST; in reStructuredText `.. bertlens::`):

    ```{bertlens} Every head of the embedded model
    import bertlens as bl

    bl.Lens.embedded().trace("The cat sat on the mat.").explore()
    ```

The code runs while the site is built, and what its last line gives (a view, a report, anything with `to_html`) is
written into the site's folder `_bertlens`, once for each different code. The page shows the code, a still picture where
there is one, and a link that opens the view in its place, in a frame of its own. Names stay known to later snippets of
the same document.

Options: `height` of the frame in pixels (600); `hide-code`; `picture`, a picture to show instead of the still one;
`with`, options for `to_html` as in a call, such as `small=True`. Code that fails is a warning with its place.
"""

from __future__ import annotations

import ast
import hashlib
import inspect
from html import escape
from pathlib import Path
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

FOLDER = "_bertlens"
STYLE = """\
figure.bertlens { margin: 1em 0; }
figure.bertlens img { max-width: 100%; height: auto; background: #fff; border-radius: 4px; }
figure.bertlens iframe { width: 100%; border: 0; border-radius: 4px; }
figure.bertlens figcaption { text-align: left; }
figure.bertlens .bertlens-open { display: inline-block; padding: 0.4em 0; font-weight: 600; }
"""
SCRIPT = """\
document.addEventListener("click", (event) => {
  const link = event.target.closest("figure.bertlens a");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  const figure = link.closest("figure");
  const frame = document.createElement("iframe");
  frame.setAttribute("sandbox", "allow-scripts");
  frame.title = figure.querySelector("figcaption").firstChild.textContent;
  frame.style.height = `${figure.dataset.height}px`;
  frame.src = link.href;
  figure.querySelector(".bertlens-still")?.remove();
  figure.prepend(frame);
  figure.querySelector(".bertlens-open").hidden = true;
  frame.focus();
});
"""


class live_view(nodes.General, nodes.Element):
    """What stands in a document for a view: the name of its files, caption, height, megabytes."""


class BertLensDirective(SphinxDirective):
    """`{bertlens}`: runs its code and shows what the last line gives."""

    has_content = True
    optional_arguments = 1
    final_argument_whitespace = True
    option_spec: ClassVar[dict[str, Any]] = {
        "height": directives.positive_int,
        "hide-code": directives.flag,
        "picture": directives.path,
        "with": directives.unchanged,
    }

    def run(self) -> list[nodes.Node]:
        code = "\n".join(self.content)
        blocks: list[nodes.Node] = []
        if "hide-code" not in self.options:
            blocks.append(nodes.literal_block(code, code, language="python"))
        try:
            name, has_picture, size = self._written(code)
        except Exception as error:  # noqa: BLE001 - the snippet is the author's: whatever it raises is said at its place
            message = f"this snippet of bertlens failed: {type(error).__name__}: {error}"
            return [*blocks, self.state.document.reporter.warning(message, line=self.lineno)]
        caption = self.arguments[0] if self.arguments else "A view of bertlens"
        height = self.options.get("height", 600)
        megabytes = max(1, round(size / 1e6))
        view = live_view(name=name, has_picture=has_picture, caption=caption, height=height, megabytes=megabytes)
        return [*blocks, view]

    def _written(self, code: str) -> tuple[str, bool, int]:
        """The name of the view's files in FOLDER, without their endings; is there a picture; the bytes of its page."""
        arguments = self.options.get("with", "")
        names = self.env.temp_data.setdefault("bertlens", {"": ""})
        names[""] += f"{code}\n{arguments}\n"  # a later snippet is of all of those before it
        name = hashlib.sha256(names[""].encode()).hexdigest()[:16]
        value = _run(code, names)
        folder = Path(self.env.app.outdir) / FOLDER
        folder.mkdir(parents=True, exist_ok=True)
        page = folder / f"{name}.html"
        options = eval(f"dict({arguments})", {})
        if "progress" in inspect.signature(value.to_html).parameters:
            options.setdefault("progress", False)
        value.to_html(page, **options)
        picture = self._picture(value)
        if picture is not None:
            (folder / f"{name}.png").write_bytes(picture)
        return name, picture is not None, page.stat().st_size

    def _picture(self, value: Any) -> bytes | None:
        """The one that was given; else the still one of a view, or of what shows a trace; None of other pages."""
        if "picture" in self.options:
            return Path(self.env.relfn2path(self.options["picture"])[1]).read_bytes()
        if not hasattr(value, "_repr_mimebundle_"):
            if not hasattr(value, "trace"):
                return None
            value = value.trace.explore()
        picture: bytes = value._repr_mimebundle_()[0]["image/png"]
        return picture


def _run(code: str, names: dict[str, Any]) -> Any:
    """The value of the code's last line, which has to be an expression; `names` are read and written."""
    lines = ast.parse(code)
    if not lines.body or not isinstance(lines.body[-1], ast.Expr):
        raise ValueError("its last line has to be a view")
    expression = ast.Expression(lines.body.pop().value)  # type: ignore[attr-defined]
    exec(compile(lines, "<snippet>", "exec"), names)
    return eval(compile(expression, "<snippet>", "eval"), names)


def _in_html(writer: Any, node: live_view) -> None:
    root = "../" * writer.builder.current_docname.count("/") + FOLDER
    page, caption = f"{root}/{node['name']}.html", escape(node["caption"])
    still, name = "", "Open the page"
    if node["has_picture"]:
        picture = f'<img src="{root}/{node["name"]}.png" alt="{caption}" loading="lazy">'
        still, name = f'<a class="bertlens-still" href="{page}">{picture}</a>', "Open the live view"
    link = f'<a class="bertlens-open" href="{page}">{name} ({node["megabytes"]} MB)</a>'
    writer.body.append(
        f'<figure class="bertlens" data-height="{node["height"]}">{still}'
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
    (folder / "bertlens.css").write_text(STYLE, encoding="utf-8")
    (folder / "bertlens.js").write_text(SCRIPT, encoding="utf-8")


def setup(app: Sphinx) -> dict[str, Any]:
    """What Sphinx calls of an extension."""
    app.add_node(live_view, html=(_in_html, None), text=(_in_text, None), latex=(_in_text, None), man=(_in_text, None))
    app.add_directive("bertlens", BertLensDirective)
    app.add_css_file("bertlens.css")
    app.add_js_file("bertlens.js", loading_method="defer")
    app.connect("builder-inited", _assets)
    return {"version": "1", "parallel_read_safe": False, "parallel_write_safe": True}
