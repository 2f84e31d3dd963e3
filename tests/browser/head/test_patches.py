"""A vision transformer's page: what a patch looks at as an image, chosen by click and by keys, over its picture."""

from __future__ import annotations

import numpy as np
import torch
from playwright.sync_api import expect

import bertlens as bl
from bertlens.base import colors
from browser.frame.test_axe import findings
from browser.views import Seen, shown

ROWS, COLS = 4, 6


def maps() -> torch.Tensor:
    """(1, 2, 25, 25) attention weights of made-up scores."""
    scores = 2 * torch.randn(1, 2, 25, 25, generator=torch.Generator().manual_seed(3))
    return scores.softmax(-1)


def pixels(seen: Seen) -> np.ndarray:
    """uint8 (ROWS·COLS, 4)."""
    return seen.pixels(seen.part("patches").locator(".bl-cells canvas")).reshape(-1, 4)


def test_the_row_of_a_patch(show):
    """Each patch has the colour of its weight, the line below the rest of the row."""
    weights = maps()
    picture = np.full((8, 12, 3), 200, np.uint8)
    trace = bl.Trace.from_attentions(weights, grid=(ROWS, COLS), image=picture)
    seen = show(trace.explore(layer=0, head=1, query=9))
    part = seen.part("patches")
    expect(part).to_contain_text("24 patches")

    row = weights[0, 1, 9].double().numpy()
    top = row[1:].max()

    def check(under: bool) -> None:
        expect(part).to_contain_text(f"24 patches: {shown(row[1:].sum())}, [CLS] {shown(row[0])}")
        expect(part.locator(".bl-legend")).to_contain_text(shown(top))
        expected = colors.table("weight", "light")[np.floor(255 * row[1:] / top + 0.5).astype(int)].astype(int)
        found = pixels(seen).astype(int)
        if under:
            least = row[1:].min()
            assert abs(found[:, 3] - (50 + 205 * (row[1:] - least) / (top - least))).max() < 1
        else:
            assert (found[:, 3] == 255).all() and (found[:, :3] == expected).all()

    check(under=True)
    seen.choice("under it", "nothing").click()
    check(under=False)
    seen.thumb(0, 0).click()
    expect(part).to_contain_text(shown(float(weights[0, 0, 9, 1:].sum())))
    seen.choice("under it", "picture").click()
    assert findings(seen) == {}
