"""What the browser tests know of the widgets: how to open one, and how to read and drive what it shows.

Seen(page) reads one view. exported(...) opens a view as the page that `to_html` writes. hosted(...) opens views in one
document with a model object that the test holds in its hands: `models[n]` in the page, with answers it can keep back.
"""

from __future__ import annotations

import base64
import csv
import json
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch
from weakref import WeakKeyDictionary

import numpy as np
from playwright.sync_api import FrameLocator, Locator, Page, expect

from bertlens.export import bundle
from bertlens.export.accuracy import accuracy
from bertlens.export.html import question_name
from bertlens.widgets.tabs import TABS
from browser.stage import ATTACH, plain_overview
from unit.asking import answered_once

TEXTS = ("The cat sat on the mat because it was tired.", "The dog lay on the rug.")
AXE = Path(__file__).parents[2] / "js" / "node_modules" / "axe-core" / "axe.min.js"
FINDINGS = """async () => (await axe.run(".bertlens", { resultTypes: ["violations"] })).violations
    .filter(({ impact }) => ["serious", "critical"].includes(impact))
    .map(({ id, nodes }) => [id, nodes.length, nodes[0].html.slice(0, 200), nodes[0].failureSummary])"""
IDLE_SCROLLERS = """root => {
    const around = [];
    for (let one = root; one; one = one.parentElement) around.push(one);
    const idle = (size, room, overflow) => /auto|scroll/.test(overflow) && size > room && size < room + 12;
    return [...around, ...root.querySelectorAll("*")].flatMap((one) => {
        const { overflowX, overflowY } = getComputedStyle(one);
        const { scrollHeight, clientHeight, scrollWidth, clientWidth, className } = one;
        const sizes = [scrollHeight, clientHeight, scrollWidth, clientWidth];
        const is = idle(scrollHeight, clientHeight, overflowY) || idle(scrollWidth, clientWidth, overflowX);
        return is ? [[`${className}`, ...sizes]] : [];
    });
}"""
# What a view asked when it was opened is answered, where the test's process answers, and is drawn: in two frames, which
# a frame out of sight does not get.
OPENED = """async () => {
    const drawn = () => new Promise((done) => { requestAnimationFrame(done); setTimeout(done, 100); });
    do for (let n = 0; n < 2; n++) await drawn();
    while (window.models?.some(({ pending }) => pending > 0));
}"""
PATIENCE = 30_000  # ms; what a page alone does takes milliseconds, but the machine may be busy

expect.set_options(timeout=PATIENCE)


def tap_twice(what: Locator) -> None:
    """Two taps of a finger a tenth of a second apart, by the clock of the events, however busy the machine is."""
    what.scroll_into_view_if_needed()
    box = what.bounding_box()
    assert box is not None
    finger = {"x": box["x"] + box["width"] / 2, "y": box["y"] + box["height"] / 2}
    touch, now = what.page.context.new_cdp_session(what.page), time.time()
    for seconds, kind in ((0, "touchStart"), (0.02, "touchEnd"), (0.1, "touchStart"), (0.12, "touchEnd")):
        points = [finger] if kind == "touchStart" else []
        touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points, "timestamp": now + seconds})


def hold(what: Locator) -> None:
    """A finger that stays on it."""
    what.dispatch_event("pointerdown", {"pointerType": "touch", "bubbles": True})
    what.page.wait_for_timeout(500)
    what.dispatch_event("pointerup", {"pointerType": "touch", "bubbles": True})


class Seen:
    """One view in a page."""

    def __init__(self, page: Page, root: Locator | None = None, *, folded: bool = False) -> None:
        """folded: as it opens, with all heads folded away below the answer."""
        self.page = page
        self.root = page.locator(".bertlens") if root is None else root
        self.root.wait_for(timeout=PATIENCE)
        page.set_default_timeout(PATIENCE)
        if not folded:
            self.unfold()
        self.root.evaluate(OPENED)

    def unfold(self) -> None:
        """Unfold all heads, where they are not; what is asked stays asked, and the focus stays where it is."""
        self.root.evaluate("root => root.querySelector('.bl-in-full')?.click()")

    def idle_scrollers(self) -> list[list[object]]:
        """Boxes in the view and around it that scroll by a few pixels to nothing, at three zooms."""
        found: list[list[object]] = []
        for zoom in (0.9, 1.25, 1):
            self.page.evaluate("zoom => { document.body.style.zoom = zoom }", zoom)
            self.page.wait_for_timeout(300)
            found += [[zoom, *one] for one in self.root.evaluate(IDLE_SCROLLERS)]
        return found

    # parts

    def answer_bar(self, name: str) -> Locator:
        """The bar of a word or label at the front; "both texts" of a similarity. Its title begins with its number."""
        return self.part("answer").get_by_role("button", name=re.compile(rf"^{re.escape(name)}, "))

    def part(self, name: str) -> Locator:
        return self.root.get_by_test_id(name)

    def thumb(self, layer: int, head: int) -> Locator:
        return self.root.locator(f'.bl-atlas [data-head="{layer}-{head}"]')

    def thumbs(self) -> list[str]:
        """The heads in the atlas, in its order, as "layer-head"."""
        return self.root.locator(".bl-atlas [data-head]").evaluate_all("all => all.map(one => one.dataset.head)")

    def more(self) -> None:
        """Open the row behind "⋯", where there is one."""
        button = self.root.get_by_role("button", name="More settings")
        if button.count() and button.get_attribute("aria-expanded") == "false":
            button.click()

    def finder(self) -> Locator:
        """The menu "Find heads that …", open."""
        menu = self.root.locator(".bl-finder")
        menu.wait_for()
        if menu.get_attribute("open") is None:
            menu.locator("summary").click()
        return menu

    def find_heads(self, name: str) -> None:
        """Ask one of its questions: the name of an order, "gate:…" or "matters"; "" takes back what is asked."""
        if name:
            self.finder().locator(f'[data-question="{name}"]').click()
        else:
            self.part("asked-heads").get_by_role("button").click()

    def shows(self, label: str) -> None:
        """Draw another measure, or a map of the layer."""
        if self.select("shows").count():
            self.select("shows").select_option(label)
        else:  # no head
            self.choice("measure", label).click()

    def choice(self, group: str, name: str) -> Locator:
        """One of a row of exclusive buttons."""
        if group in ("pairs", "tokens"):
            self.more()
        return self.root.get_by_role("group", name=group, exact=True).get_by_role("button", name=name, exact=True)

    def region(self, name: str) -> Locator:
        return self.root.get_by_role("region", name=name, exact=True)

    def tab(self, label: str) -> Locator:
        """By the label of its record: under a head some tabs stand as questions."""
        names = {tab.label: tab.name for tab in TABS.values()}
        if label not in names:  # no longer registered
            return self.root.get_by_role("tab", name=label, exact=True)
        return self.root.locator(f'[role=tab][data-tab="{names[label]}"]')

    def open_tab(self, label: str) -> None:
        """A click on one that is open closes it."""
        if self.tab(label).get_attribute("aria-selected") == "false":
            self.tab(label).click()

    def select(self, label: str) -> Locator:
        return self.root.get_by_role("combobox", name=label, exact=True)

    def check(self, label: str) -> Locator:
        if label.startswith("hide ") or label in ("renormalise rows", "as tables", "say what is pinned"):
            self.more()
        if label in ("colour", "bars", "one scale"):
            self.finder()
        return self.root.get_by_role("checkbox", name=label)

    def queries(self) -> Locator:
        """The tokens at the left of the lines."""
        return self.part("lines").locator(".bl-line-queries button")

    def keys(self) -> Locator:
        """The tokens at the right of the lines."""
        return self.part("lines").locator(".bl-lines-sheet > div:last-child button")

    def chips(self) -> Locator:
        """One button per head drawn as lines."""
        return self.root.get_by_role("group", name="Heads drawn").locator("button.bl-chip")

    @property
    def tip(self) -> Locator:
        return self.root.get_by_role("tooltip")

    @property
    def said(self) -> Locator:
        return self.root.locator(".bl-hidden[aria-live=polite]")

    # readings

    def title(self, text: str) -> None:
        """Wait until the head view shows this head, and all that is drawn frames after it."""
        expect(self.part("head-title")).to_have_text(text)
        self.page.evaluate(
            """async () => {
                for (let n = 0; n < 3; n++) await new Promise((done) => requestAnimationFrame(done));
                await new Promise((done) => setTimeout(done));
            }"""
        )

    def settled(self) -> None:
        """Wait until nothing says that it is waiting for an answer, and ten frames have gone by without a change, and
        the 300 ms after which a view says so."""
        self.root.evaluate(
            """async root => {
                let quiet = 0;
                let since = performance.now();
                const moved = () => { quiet = 0; since = performance.now(); };
                const observer = new MutationObserver(moved);
                observer.observe(root, { subtree: true, childList: true, attributes: true, characterData: true });
                const waits = () =>
                    ["asking", "slow"].includes(root.dataset.state) ||
                    [...root.querySelectorAll(".bl-empty")].some((one) => one.innerText.endsWith(" …"));
                while (quiet < 10 || performance.now() - since < 400) {
                    await new Promise(requestAnimationFrame);
                    await new Promise((done) => setTimeout(done));
                    if (waits()) moved();
                    quiet++;
                }
                observer.disconnect();
            }"""
        )

    def shape(self) -> tuple[int, int]:
        """Rows and columns of the matrix."""
        rows, cols = (self.part("matrix").get_attribute(f"aria-{side}count") for side in ("row", "col"))
        return int(rows or -1), int(cols or -1)

    def row_labels(self) -> list[str]:
        return self.root.locator(".bl-row-label").all_inner_texts()

    def col_labels(self) -> list[str]:
        return self.root.locator(".bl-col-label").all_inner_texts()

    def listed(self) -> list[tuple[str, float]]:
        """The list beside the head: token and number."""
        items = self.part("row-list").locator("li")
        pairs = items.evaluate_all(
            "all => all.map(one => ['.bl-token', '.bl-number'].map(part => one.querySelector(part).textContent))"
        )
        return [(token, float(number)) for token, number in pairs]

    def numbers(self, column: str) -> dict[int, str]:
        """The neuron view's column "score" or "alpha" as printed: key position to text."""
        pairs = self.part("neurons").locator(f"[data-{column}]")
        pairs.first.wait_for()
        return dict(pairs.evaluate_all(f"all => all.map(one => [Number(one.dataset.{column}), one.textContent])"))

    def axe(self) -> list[Any]:
        """What axe-core finds in the document's views that is serious."""
        if not self.page.evaluate("() => 'axe' in window"):
            self.page.evaluate(AXE.read_text(encoding="utf-8"))
        found: list[Any] = self.page.evaluate(FINDINGS)
        return found

    def pixels(self, picture: Locator) -> np.ndarray:
        """uint8 (height, width, 4) of a canvas or an image."""
        data = picture.evaluate(
            """picture => {
                let canvas = picture;
                if (picture instanceof HTMLImageElement) {
                    const { naturalWidth: width, naturalHeight: height } = picture;
                    canvas = Object.assign(document.createElement("canvas"), { width, height });
                    canvas.getContext("2d").drawImage(picture, 0, 0);
                }
                const { width, height } = canvas;
                const { data } = canvas.getContext("2d").getImageData(0, 0, width, height);
                let text = "";
                for (let n = 0; n < data.length; n += 8192) text += String.fromCharCode(...data.subarray(n, n + 8192));
                return [height, width, btoa(text)];
            }"""
        )
        return np.frombuffer(base64.b64decode(data[2]), np.uint8).reshape(data[0], data[1], 4)

    def matrix(self) -> np.ndarray:
        """uint8 (queries, keys, 3): the matrix, one pixel a cell."""
        return self.pixels(self.part("matrix").locator("canvas"))[..., :3]

    # doings

    def gap(self, line: int = 0) -> Locator:
        """Between two words of a text at the front, where a click sets the caret."""
        return self.part("sentence").locator(".bl-textline").nth(line).locator("[data-start]:not([data-n])").first

    def at_cell(self, row: int, col: int, do: str = "click") -> None:
        """Click or hover a cell of the matrix."""
        matrix = self.part("matrix")
        box = matrix.bounding_box()
        rows, cols = self.shape()
        assert box is not None
        position = {"x": (col + 0.5) * box["width"] / cols, "y": (row + 0.5) * box["height"] / rows}
        getattr(matrix, do)(position=position)

    def export_menu(self) -> Locator:
        """The export menu, open: it stays so after a file."""
        menu = self.root.locator(".bl-menu", has=self.page.get_by_text("Export", exact=True))
        if menu.get_attribute("open") is None:
            menu.locator("summary").click()
        return menu.locator(".bl-menu-list")

    def save(self, name: str, line: str | None = None) -> Path:
        """Choose from the export menu; `line` names the figure that the button belongs to. The file that came."""
        menu = self.export_menu()
        within = menu if line is None else menu.locator(".bl-menu-line", has=self.page.get_by_text(line, exact=True))
        with self.page.expect_download(timeout=PATIENCE) as download:
            within.get_by_role("button", name=name).click()
        folder = Path(download.value.path()).parent
        path = folder / download.value.suggested_filename
        download.value.save_as(path)
        return path

    def copied(self, act: str | Callable[[], None]) -> str:
        """What a button of the export menu, by its name, or an act puts on the clipboard."""
        self.page.evaluate(
            """() => {
                window.copied = "";
                const writeText = async (text) => { window.copied = text; };
                Object.defineProperty(navigator, "clipboard", { configurable: true, value: { writeText } });
            }"""
        )
        if isinstance(act, str):
            self.export_menu()
            self.root.get_by_role("button", name=act, exact=True).click()
        else:
            act()
        self.page.wait_for_function("() => window.copied")
        return str(self.page.evaluate("() => window.copied"))

    def beside_controls(self, place: str = "") -> None:
        """Click where nothing can be pressed, in an element of the view or anywhere; the view has the focus then."""
        element = self.root.locator(place).first if place else self.root
        x, y = element.evaluate(
            """element => {
                const root = element.closest(".bertlens");
                document.activeElement.blur();
                element.scrollIntoView({ block: "center" });
                const { left, top, width, height } = element.getBoundingClientRect();
                for (let y = 1; y < height; y += 3)
                    for (let x = 1; x < width; x += 3) {
                        const at = element.getRootNode().elementFromPoint(left + x, top + y);
                        const control = at?.closest("button, a, input, select, summary, label, [tabindex]");
                        const isPlain = control === root || !root.contains(control);
                        if (element.contains(at) && isPlain) return [x, y];
                    }
                throw new Error("nothing of it is in sight");
            }"""
        )
        element.click(position={"x": x, "y": y})
        assert self.root.evaluate("root => root.getRootNode().activeElement === root"), place

    def away(self) -> None:
        """Take the pointer out of the view."""
        self.page.mouse.move(0, 0)

    def slide(self, label: str, value: float) -> None:
        """Move a slider as a pointer does: value, then an input event."""
        self.root.get_by_role("slider", name=re.compile(f"^{label}")).evaluate(
            "(slider, value) => { slider.value = value; slider.dispatchEvent(new Event('input', { bubbles: true })); }",
            value,
        )


def shown(value: float) -> str:
    """An attention weight as the page prints it."""
    return f"{value:.3f}"


def signed(value: float, digits: int = 2) -> str:
    """A signed number as the page prints it, with a true minus sign."""
    return f"{value:.{digits}f}".replace("-", "−")


def number(text: str) -> float:
    return float(text.replace("−", "-"))


def rows_of(file: Path | str) -> list[dict[str, str]]:
    """The lines of a file of numbers, or of its text, by its columns; what it says of itself stands behind #."""
    text = file if isinstance(file, str) else file.read_text(encoding="utf-8-sig")
    return list(csv.DictReader(line for line in text.splitlines() if not line.startswith("#")))


def in_frame(page: Page, n: int) -> Locator:
    """The view in the n-th sandboxed frame of a page."""
    frame: FrameLocator = page.frame_locator("iframe").nth(n)
    return frame.locator(".bertlens")


# The model of a hosted page: as anywidget's, but answers can be kept back and given in any order.
_HOST = """
const bytes = (base64) => new DataView(Uint8Array.from(atob(base64), (c) => c.charCodeAt(0)).buffer);
class Model {
  held = false;      // keep answers back
  waiting = [];      // [{message, give(fields, buffers)}]
  asked = (op) => this.waiting.find(({ message }) => message.op === op);
  sent = [];         // every question
  handlers = new Map();
  constructor({ state, answers, kernel }) {
    Object.assign(this, { state, answers, kernel });
    state.overview = { header: state.overview.header, data: bytes(state.overview.data) };
  }
  get(name) { return this.state[name]; }
  set(name, value) { this.state[name] = value; this.emit(`change:${name}`); }
  save_changes() {}
  on(name, handler) { this.handlers.set(name, [...(this.handlers.get(name) ?? []), handler]); }
  off(name, handler) { this.handlers.set(name, (this.handlers.get(name) ?? []).filter((h) => h !== handler)); }
  emit(name, ...values) { for (const handler of this.handlers.get(name) ?? []) handler(...values); }
  listeners() { return [...this.handlers.values()].reduce((sum, list) => sum + list.length, 0); }
  answer({ id, trace, ...question }) {
    if (question.op === "hello") return [{ kernel: this.kernel }];
    const found = this.answers[JSON.stringify(Object.entries(question).sort())];
    return found ? [found[0], found.slice(1).map(bytes)] : [{ error: `no answer to ${question.op}` }];
  }
  send(message) {
    if (this.dead) throw new Error("Cannot send");
    this.sent.push(message);
    const give = (fields, buffers = []) => this.emit("msg:custom", { ...fields, id: message.id }, buffers);
    if (this.held) this.waiting.push({ message, give: (...own) => give(...(own.length ? own : this.answer(message))) });
    else setTimeout(() => give(...this.answer(message)));
  }
}
window.Model = Model;
const code = JSON.parse(document.getElementById("code").textContent);
const widget = (await import(URL.createObjectURL(new Blob([code], { type: "text/javascript" })))).default;
window.models = JSON.parse(document.getElementById("views").textContent).map((view) => new Model(view));
window.mount = (n) => {
  const el = document.createElement("div");
  document.body.append(el);
  const end = widget.render({ model: models[n], el });
  return () => { end(); el.remove(); };
};
window.mounted = models.map((_, n) => mount(n));
"""


def saved(view: Any, *, matters: bool = False, **options: Any) -> str:
    """The text of `view.to_html(**options)`. The pages of a trace hold the same four hundred answers: computed once.

    matters: with what "Does it matter?" says in it.
    """
    with answered_once(matters):
        text: str = view.to_html(**options)
    return text


_precision: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()  # of a lens: how far a page is from its model


def saved_live(view: Any, path: Path) -> Path:
    """The file of `view.to_html(path, live=True)`. How far a page is from its model, most of the work, is measured
    on the first page of a lens alone; tests of accuracy measure it on each."""

    def once(traces: Any, *arguments: Any) -> Any:
        lens = traces[0].lens
        if lens not in _precision:
            _precision[lens] = accuracy(traces, *arguments)
        return _precision[lens]

    with answered_once(), patch("bertlens.export.live.accuracy", once):
        view.to_html(path, live=True, progress=False)
    return path


def hosted(page_of: Any, *views: Any, kernel: bool = True, body: str = "", **options: Any) -> Page:
    """One document with several views, each on a model of its own: `models[n]`, and `mounted[n]()` takes one out."""
    with answered_once(matters=False):
        plain = [
            {
                "state": {**shown.state, "overview": plain_overview(shown.state["overview"])},
                "answers": {
                    question_name(question): [fields, *(base64.b64encode(buffer).decode() for buffer in buffers)]
                    for question, (fields, buffers) in shown.answers
                },
                "kernel": kernel,
            }
            for shown in (view.page() for view in views)
        ]

    def embed(name: str, value: Any) -> str:
        text = json.dumps(value).replace("<", "\\u003c")
        return f'<script type="application/json" id="{name}">{text}</script>'

    css = f"body {{ margin: 12px }} {bundle.text('widget.css')}"  # the margin of a saved page
    code = bundle.text("widget.js")
    data = embed("code", code) + embed("views", plain)
    page: Page = page_of(
        f"<!doctype html><html><head><meta charset=utf-8><title>host</title><style>{css}</style></head><body {body}>"
        f"{data}<script type=module>{ATTACH}{_HOST}</script></body></html>",
        **options,
    )
    page.wait_for_function("() => window.mounted", timeout=PATIENCE)
    return page


def exported(page_of: Any) -> Callable[..., Seen]:
    """A function that opens a view as the page that `to_html` writes."""

    def open_view(view: Any, layers: Any = None, matters: bool = False, folded: bool = False, **options: Any) -> Seen:
        return Seen(page_of(saved(view, layers=layers, matters=matters), **options), folded=folded)

    return open_view
