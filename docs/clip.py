"""The moving picture of the README: a pointer goes through a page of `to_html`, and each frame is a screenshot of it.

`python docs/clip.py` writes docs/images/clip.webp and, of its first frame, packaging/gallery.png. The pointer is drawn
over the frames; all else is the page's own.
"""

from __future__ import annotations

import io
import sys
import tempfile
from itertools import pairwise
from pathlib import Path

from PIL import Image, ImageDraw
from playwright.sync_api import Locator, Page, sync_playwright

ROOT = Path(__file__).parent.parent
CLIP = ROOT / "docs" / "images" / "clip.webp"
STILL = ROOT / "packaging" / "gallery.png"  # for lists of others: packaging/listings.py
sys.path.insert(0, str(ROOT / "tests"))

from bertlens.base.colors import INKS  # noqa: E402
from browser.harness import CHROMIUM_ARGS, chromium  # noqa: E402

SIZE = (1200, 830)  # of the page, px: the box of the front page of the docs, where the model takes the film's place
WIDTH = 1000  # of the picture: the front page stays under 3 MB
STILL_WIDTH = 800
STEPS, STEP = 7, 50  # frames of a movement, and ms of each
ARROW = ((0, 0), (0, 19), (4.5, 15), (8, 22), (11, 20.5), (7.6, 14), (13.5, 14))


class Film:
    """Frames of a page with a pointer."""

    def __init__(self, page: Page) -> None:
        self.page, self.at = page, (SIZE[0] / 2, SIZE[1] / 2)
        self.frames: list[Image.Image] = []
        self.durations: list[int] = []

    def hold(self, ms: int, pressed: bool = False) -> None:
        """One frame as the page is now."""
        frame = Image.open(io.BytesIO(self.page.screenshot())).convert("RGB")
        draw, (x, y) = ImageDraw.Draw(frame), self.at
        if pressed:
            draw.ellipse((x - 13, y - 13, x + 13, y + 13), outline=INKS["light"]["select"], width=3)
        draw.polygon([(x + dx * 1.2, y + dy * 1.2) for dx, dy in ARROW], fill="black", outline="white", width=2)
        self.frames.append(frame.resize((WIDTH, WIDTH * SIZE[1] // SIZE[0]), Image.Resampling.LANCZOS))
        self.durations.append(ms)

    def go(self, target: Locator, where: tuple[float, float] = (0.5, 0.5), ms: int = 700) -> None:
        """Move over an element, to a place in it as shares of its width and height."""
        target.scroll_into_view_if_needed()
        box = target.bounding_box()
        assert box is not None
        goal = (box["x"] + where[0] * box["width"], box["y"] + where[1] * box["height"])
        start = self.at
        for n in range(1, STEPS + 1):
            share = n / STEPS
            share = share * share * (3 - 2 * share)  # slow, quick, slow
            self.at = (start[0] + share * (goal[0] - start[0]), start[1] + share * (goal[1] - start[1]))
            self.page.mouse.move(*self.at)
            self.hold(STEP)
        self.hold(ms)

    def click(self, target: Locator, where: tuple[float, float] = (0.5, 0.5), ms: int = 1000) -> None:
        self.go(target, where, ms=80)
        self.page.mouse.click(*self.at)
        self.page.wait_for_timeout(250)
        self.hold(160, pressed=True)
        self.hold(ms)


def drag(film: Film, track: Locator, factors: tuple[float, ...], ms: int = 900) -> None:
    """Move the slider's knob, which stands at the first factor, to the others; 0 is its left end, 2 its right one."""
    box = track.bounding_box()
    assert box is not None
    x = [box["x"] + box["width"] * factor / 2 for factor in factors]
    film.go(track, (factors[0] / 2, 0.98), ms=80)
    film.page.mouse.down()
    for start, goal in pairwise(x):
        for n in range(1, 2 * STEPS + 1):
            film.at = (start + n / (2 * STEPS) * (goal - start), film.at[1])
            film.page.mouse.move(*film.at)
            film.hold(STEP)
        film.hold(ms)
    film.page.mouse.up()


def record(page: Page) -> Film:
    view, film = page.locator(".bertlens"), Film(page)
    film.hold(1500)
    drag(film, view.get_by_role("slider"), (1, 0, 1.7, 1))
    film.hold(700)
    field = view.get_by_label("Sentence A")
    field.evaluate("field => { field.focus(); field.selectionStart = field.selectionEnd = field.value.length - 1; }")
    for key in (*["Backspace"] * len("tired"), *"sour"):
        page.keyboard.press(key)
        film.hold(110)
    view.get_by_test_id("answer").get_by_text("milk").first.wait_for()
    page.wait_for_timeout(3000)
    film.hold(2200)
    film.click(view.get_by_test_id("strip").locator("[data-strip-head]").nth(1), ms=1500)
    film.click(view.get_by_role("button", name="All 72 heads"), ms=1600)
    return film


def main() -> None:
    import bertlens as bl

    trace = bl.Lens.embedded(mlm=True).trace("The cat did not drink the milk because the [MASK] was tired.")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        path = Path(folder) / "page.html"
        trace.explore(theme="light").to_html(path, live=True)
        browser = playwright.chromium.launch(executable_path=chromium(), args=CHROMIUM_ARGS)
        page = browser.new_page(viewport={"width": SIZE[0], "height": SIZE[1]})
        page.goto(path.as_uri())
        page.locator("[data-strip-head]").first.wait_for()
        page.wait_for_timeout(3000)
        film = record(page)
        browser.close()
    first, *others = film.frames
    first.save(CLIP, save_all=True, append_images=others, duration=film.durations, loop=0, quality=32, method=4)
    first.resize((STILL_WIDTH, STILL_WIDTH * first.height // first.width), Image.Resampling.LANCZOS).quantize(64).save(
        STILL, optimize=True
    )
    seconds, size = sum(film.durations) / 1000, CLIP.stat().st_size / 1e6
    print(f"{CLIP.relative_to(ROOT)}: {len(film.frames)} frames, {seconds:.1f} s, {size:.2f} MB")


if __name__ == "__main__":
    main()
