"""`bertlens look` and `bertlens html`: a text in the Explorer as one page, the model named first or by --model."""

from __future__ import annotations

import argparse
import tempfile
import webbrowser
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from ..base.outputs import check_outputs, sign

if TYPE_CHECKING:
    from ..lens import Lens


def write_page(load: Callable[[], Lens], arguments: argparse.Namespace) -> None:
    """Trace the text, write the page, and say where it is; without a place for it, open it in the browser."""
    command, page = arguments.command, arguments.output
    is_shown = page is None
    if is_shown:
        page = Path(tempfile.mkdtemp(prefix="bertlens-")) / "look.html"
    check_outputs(command, [page], force=arguments.force)
    trace = load().trace(arguments.text, arguments.text_pair, truncation=arguments.truncation)
    # A page of some layers opens on the first of them.
    layer = arguments.layers[0] if arguments.layers else 0
    trace.explore(layer=layer).to_html(page, layers=arguments.layers)
    sign(page, command)
    print(f"{page}: {trace.model_name}, {len(trace.tokens)} tokens, {page.stat().st_size:,} bytes", flush=True)
    if is_shown and not webbrowser.open(page.as_uri()):
        print("there is no browser to open it in: -o PAGE.html writes it where you want it")
