"""A page whose kernel is this process. `Stage` shows one view after another in it, each as if it were just opened."""

from __future__ import annotations

import base64
import json
from typing import Any

from playwright.sync_api import Page

from unit.asking import answered_once, replies

# For hosted pages: what the page asks and sets of a model goes to `kernel`, a function of this process, and what that
# answers back.
ATTACH = """
window.attach = (model, number = 0) => {
    const bytes = (base64) => new DataView(Uint8Array.from(atob(base64), (c) => c.charCodeAt(0)).buffer);
    let set = {};
    const ask = async (message) => {
        const { state, replies } = JSON.parse(await kernel(JSON.stringify(message), number));
        if (state.overview) state.overview.data = bytes(state.overview.data);
        for (const name in state) model.state[name] = state[name];
        for (const name in state) model.emit(`change:${name}`);
        for (const [fields, buffers] of replies) model.emit("msg:custom", fields, buffers.map(bytes));
    };
    model.pending = 0; // questions without an answer
    model.send = (message) => {
        model.sent.push(message);
        model.pending++;
        void ask(message).finally(() => model.pending--);
    };
    model.set = (name, value) => { model.state[name] = set[name] = value; model.emit(`change:${name}`); };
    model.save_changes = () => { const state = set; set = {}; void ask({ state }); };
};
"""

# What a document without views is: its address, its markup, its names.
_BARE = """() => [
    location.href, document.documentElement.outerHTML, ...Object.keys(window).filter((name) => name !== "axe"),
].join("\\n")"""

_SHOW = f"""({{ state, number }}) => {{
    while (mounted.length) mounted.pop()();
    if (!window.atFirst) Object.defineProperty(window, "atFirst", {{ value: ({_BARE})() }});
    models.length = 0;
    models.push(new Model({{ state, answers: {{}}, kernel: true }}));
    attach(models[0], number);
    mounted.push(mount(0));
}}"""

_LEAVE = f"""() => {{
    if (!window.atFirst) return false;
    while (mounted.length) mounted.pop()();
    models.length = 0;
    delete window.copied;
    delete navigator.clipboard;
    getSelection().removeAllRanges();
    scrollTo(0, 0);
    return atFirst === ({_BARE})();
}}"""


def plain_overview(overview: dict[str, Any]) -> dict[str, Any]:
    """The trait `overview` with its bytes as base64."""
    return {**overview, "data": base64.b64encode(overview["data"]).decode()}


class Kernel:
    """Answers a page's messages with a view, and tells which traits changed meanwhile."""

    def __init__(self, view: Any, state: dict[str, Any]) -> None:
        self.view = view
        self.before = {name: getattr(view, name) for name in state}

    def answer(self, message: str, _number: int = 0) -> str:
        asked = json.loads(message)
        sent = []
        if "state" in asked:
            self.view.set_state(asked["state"])
        else:
            sent = replies(self.view, asked)
        changed = {
            name: getattr(self.view, name)
            for name, value in self.before.items()
            if getattr(self.view, name) is not value
        }
        self.before.update(changed)
        if "overview" in changed:
            changed["overview"] = plain_overview(changed["overview"])
        encoded = [
            [fields, [base64.b64encode(buffer).decode() for buffer in buffers or []]] for fields, buffers in sent
        ]
        return json.dumps({"state": changed, "replies": encoded})


class Stage:
    """A page without views at first (`hosted(page_of)`), whose code is read once however many are shown."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.number = 0  # of the view shown: what those before still ask is not answered
        self.kernel: Kernel | None = None
        page.expose_function("kernel", self._answer)  # for whatever the page shows later too

    def _answer(self, message: str, number: int) -> str:
        if self.kernel is None or number != self.number:
            return json.dumps({"state": {}, "replies": []})
        with answered_once():
            return self.kernel.answer(message)

    def show(self, view: Any) -> None:
        """A view instead of the one before."""
        self.page.wait_for_function("() => window.mounted")  # the page may have been loaded again
        opened, view.opened = view.opened, {}  # a saved page may open on another head
        state = view.page().state
        state["opened"] = view.opened = opened
        state |= {"lesson": view.lesson} if state.get("lesson") else {}  # a saved page has no notes
        self.number += 1
        self.kernel = Kernel(view, state)
        plain = {**state, "overview": plain_overview(state["overview"])}
        self.page.evaluate(_SHOW, {"state": plain, "number": self.number})

    def leave(self) -> bool:
        """Take the view out; whether the document is as it was before."""
        self.kernel = None
        return bool(self.page.evaluate(_LEAVE))
