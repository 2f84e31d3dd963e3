"""The moving picture of the README: a pointer goes through a page of `to_html`, and each frame is a screenshot of it.

`python docs/clip.py` writes docs/images/clip.webp. The pointer is drawn over the frames; all else is the page's own.
"""

from __future__ import annotations

import io
import sys
import tempfile
from pathlib import Path

from PIL import Image, ImageDraw
from playwright.sync_api import Locator, Page, sync_playwright

ROOT = Path(__file__).parent.parent
CLIP = ROOT / "docs" / "images" / "clip.webp"
sys.path.insert(0, str(ROOT / "tests"))

from bertlens.base.colors import INKS  # noqa: E402
from browser.harness import CHROMIUM_ARGS, chromium  # noqa: E402

SIZE = (1240, 860)  # of the page, px
WIDTH = 1000  # of the picture
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


def record(page: Page) -> Film:
    view, film = page.locator(".bertlens"), Film(page)
    film.hold(900)
    film.click(view.locator('[data-head="0-2"]'))
    film.click(view.locator('[data-head="3-5"]'), ms=800)
    film.click(view.locator('[data-head="1-8"]'), ms=600)
    matrix = view.get_by_test_id("matrix")
    rows, cols = (int(matrix.get_attribute(f"aria-{side}count") or 1) for side in ("row", "col"))
    film.click(matrix, (10.5 / cols, 9.5 / rows))  # was → tired
    lines = view.get_by_role("button", name="Lines", exact=True)
    film.click(lines, ms=1100)
    film.click(view.get_by_role("button", name="Matrix", exact=True), ms=500)
    page.evaluate("() => document.querySelector('.bl-asking').scrollIntoView()")
    film.hold(500)
    for tab in ("neurons", "why"):
        film.click(view.locator(f"[data-tab={tab}]"), ms=1200)
    return film


def main() -> None:
    import bertlens as bl

    trace = bl.Lens.embedded().trace("The cat sat on the mat because it was tired.", "The dog lay on the rug.")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        path = Path(folder) / "page.html"
        trace.explore(layer=1, head=8, query=3, key=4).to_html(path)
        browser = playwright.chromium.launch(executable_path=chromium(), args=CHROMIUM_ARGS)
        page = browser.new_page(viewport={"width": SIZE[0], "height": SIZE[1]})
        page.goto(path.as_uri())
        page.locator("[data-tab=neurons]").wait_for()
        film = record(page)
        browser.close()
    first, *others = film.frames
    first.save(CLIP, save_all=True, append_images=others, duration=film.durations, loop=0, quality=72, method=4)
    seconds, size = sum(film.durations) / 1000, CLIP.stat().st_size / 1e6
    print(f"{CLIP.relative_to(ROOT)}: {len(film.frames)} frames, {seconds:.1f} s, {size:.2f} MB")


if __name__ == "__main__":
    main()
