"""A page for a class as two files behind a web server, in Chromium. A small model."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

import bertlens as bl
from bertlens.export.html import WEIGHTS
from browser.export.test_class import TEXTS
from browser.export.test_live import ALONE, listed, run
from browser.harness import watched
from browser.views import Seen, hold

pytestmark = pytest.mark.sampled(10, of="live pages")


class Server(SimpleHTTPRequestHandler):
    """What `python -m http.server` serves with; the second half of the weights waits until the test lets it go."""

    go = threading.Event()
    sent: list[str] = []  # noqa: RUF012 (of the one server)

    def log_message(self, *_: Any) -> None:
        pass

    def copyfile(self, source: Any, outputfile: Any) -> None:
        name = self.path.split("?")[0].strip("/")
        self.sent.append(name)
        if name == WEIGHTS:
            outputfile.write(source.read(Path(self.directory, WEIGHTS).stat().st_size // 2))
            outputfile.flush()
            self.go.wait(60)
        super().copyfile(source, outputfile)


@pytest.fixture(scope="module")
def folder(tiny: bl.Lens, tmp_path_factory: pytest.TempPathFactory) -> Path:
    page = bl.classroom(tiny, TEXTS).to_html(tmp_path_factory.mktemp("class") / "hosted", hosted=True, progress=False)
    return page.parent


@contextmanager
def served(folder: Path) -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Server, directory=str(folder))) as server:
        Server.go.clear()
        Server.sent.clear()
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        Server.go.set()
        server.shutdown()


@pytest.fixture
def address(folder: Path) -> Iterator[str]:
    with served(folder) as address:
        yield address


def test_the_model_comes_from_the_server_and_the_page_says_how_far_it_is(
    address: str,
    tiny: bl.Lens,
    rounded: bl.Lens,
    browser: Browser,
) -> None:
    context, page, log = watched(browser, address, viewport={"width": 480, "height": 900})
    page.goto(address)
    seen = Seen(page)
    expect(seen.root.locator(".bl-coming")).to_have_text("loading the model 49 % of 2 MB")
    expect(seen.root.get_by_label("Sentence A")).to_be_enabled()  # what is written waits for the model
    expect(page.locator("#bertlens-says")).to_have_text(
        "The model is beside this page: it is loaded when the page is whole."
    )
    seen.thumb(1, 0).click()
    seen.root.locator(".bl-row-label").nth(3).click()
    listed(seen, tiny.trace(TEXTS[0]), 1, 0, 3)  # what the page carries is there before, and not rounded
    Server.go.set()
    expect(page.locator("#bertlens-says")).to_have_text(ALONE)
    expect(seen.root.locator(".bl-coming")).to_have_count(0)
    context.set_offline(True)
    run(seen, "A horse ran.")
    expect(seen.root.locator(".bl-row-label", has_text="horse")).to_be_visible()
    seen.root.locator(".bl-row-label").nth(3).click()
    listed(seen, rounded.trace("A horse ran."), 1, 0, 3)
    context.close()
    assert log.problems() == [] and Server.sent == ["", WEIGHTS]


def test_what_the_server_does_not_give_is_said_and_the_text_of_the_page_stays(address, browser: Browser):
    context, page, log = watched(browser, address)
    page.route(f"**/{WEIGHTS}*", lambda route: route.fulfill(status=404, body="no such file " * 300_000))
    page.goto(address)
    expect(page.locator("#bertlens-says")).to_have_text(
        "The model cannot be run here: its weights did not come from the server. Load the page again."
    )
    seen = Seen(page)
    expect(seen.root.locator(".bl-coming")).to_have_count(0)
    expect(seen.root.locator(".bl-row-label", has_text="mat")).to_be_visible()
    context.close()
    assert [line for line in log.problems() if "404" not in line and WEIGHTS not in line] == []


def test_opened_from_a_file_it_says_that_it_needs_a_server(folder, page_of):
    seen = Seen(page_of(folder / "index.html"))
    expect(seen.page.locator("#bertlens-says")).to_have_text(
        "The model of this page needs a web server: here, opened from a file, the page shows the text that it carries."
    )
    expect(seen.root.locator(".bl-coming")).to_have_count(0)
    seen.thumb(1, 1).click()
    expect(seen.part("head-title")).to_have_text("L1·H1")
    expect(seen.root.locator(".bl-row-label", has_text="mat")).to_be_visible()


@pytest.fixture(scope="module")
def space(tiny: bl.Lens, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same as a folder for any host of files."""
    return bl.classroom(tiny, TEXTS).to_space(tmp_path_factory.mktemp("space"), licence="mit", progress=False).parent


@contextmanager
def answered(folder: Path, browser: Browser) -> Iterator[Seen]:
    """The page of a folder once a typed sentence has its answer; it asked for nothing else."""
    with served(folder) as address:
        Server.go.set()
        context, page, log = watched(browser, address, viewport={"width": 1280, "height": 900})
        page.goto(address)
        seen = Seen(page)
        expect(page.locator("#bertlens-says")).to_have_text(ALONE)
        expect(seen.root.get_by_label("Sentence A")).to_be_enabled()
        run(seen, "A horse ran.")
        expect(seen.root.locator(".bl-row-label", has_text="horse")).to_be_visible()
        yield seen
        context.close()
    assert log.problems() == [] and Server.sent == ["", WEIGHTS]


def test_a_folder_for_a_host_of_files_asks_for_its_weights_alone_and_answers_what_is_typed(space, rounded, browser):
    with answered(space, browser) as seen:
        seen.thumb(1, 0).click()
        seen.root.locator(".bl-row-label").nth(3).click()
        listed(seen, rounded.trace("A horse ran."), 1, 0, 3)


@pytest.mark.long
def test_so_does_one_of_a_trained_model(embedded_lens, browser, tmp_path):
    page = bl.classroom(embedded_lens, ["The cat sat."]).to_space(tmp_path / "web", progress=False)
    assert 'license: "apache-2.0"' in page.with_name("README.md").read_text(encoding="utf-8")
    with answered(page.parent, browser):
        pass


def test_on_a_tablet(address, rounded, browser: Browser):
    Server.go.set()
    agent = (
        "Mozilla/5.0 (iPad; CPU OS 12_2 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 "
        "Mobile/15E148 Safari/604.1"
    )  # with what follows, Playwright's "iPad (gen 7)"
    size = {"viewport": {"width": 810, "height": 1080}, "device_scale_factor": 2, "is_mobile": True, "has_touch": True}
    context, page, log = watched(browser, address, user_agent=agent, **size)
    page.goto(address)
    expect(page.locator("#bertlens-says")).to_have_text(ALONE)
    seen = Seen(page)
    box = seen.root.get_by_label("Sentence A")
    expect(box).to_be_enabled()
    hold(seen.root.locator(".bl-textword").last)
    expect(box).to_be_focused()
    box.fill("")
    page.keyboard.type("A horse ran.")  # which runs
    expect(seen.root.locator(".bl-row-label", has_text="horse")).to_be_visible()
    seen.thumb(1, 1).tap()
    seen.root.locator(".bl-row-label").nth(3).tap()
    listed(seen, rounded.trace("A horse ran."), 1, 1, 3)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    context.close()
    assert log.problems() == []
