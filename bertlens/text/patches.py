"""Tokens that are patches of an image: which they are, their names, and the picture that they were cut from."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import InputError

MOST_BYTES = 100_000  # of a picture, which travels with every first picture of a view
_LARGEST = 512  # pixels of its longer side
_FIRST = ("[CLS]", "[DIST]")  # what stands before the patches in ViT and DeiT, where nobody says what it is


@dataclass(frozen=True)
class Patches:
    """The patches of an image among the tokens of a trace, row by row from the upper left corner."""

    rows: int
    cols: int
    tokens: tuple[int, ...]  # (rows·cols) position of each in the sequence
    picture: bytes | None = None  # what they were cut from: a PNG of at most 100 kB

    def __repr__(self) -> str:
        return f"Patches({self.rows} x {self.cols}{'' if self.picture is None else ', with the picture'})"

    @property
    def note(self) -> str:
        """One sentence for the report of the input."""
        return f"{len(self.tokens)} tokens are {self.rows} x {self.cols} patches of an image"

    def names(self, n_tokens: int) -> list[str]:
        """Names of n_tokens tokens: "r0 c2" for a patch by row and column, "[CLS]" for the one before."""
        names = {at: f"r{n // self.cols} c{n % self.cols}" for n, at in enumerate(self.tokens)}
        specials = [at for at in range(n_tokens) if at not in names]
        has_names = len(specials) <= len(_FIRST)
        names |= {at: _FIRST[n] if has_names else f"[other {n}]" for n, at in enumerate(specials)}
        return [names[at] for at in range(n_tokens)]

    def check_special(self, special: Sequence[bool]) -> None:
        """Raises InputError where these are not all tokens but the special ones."""
        count, size, extra = len(self.tokens), len(special), sum(special)
        if count != size - extra:
            raise InputError(
                f"a grid of {self.rows} x {self.cols} has {count} patches, but {size} tokens less {extra} special ones "
                f"are {size - extra}: give the grid that fits, or the positions of the patches (patches=)"
            )
        if any(special[at] for at in self.tokens):
            raise InputError(f"special tokens are among the last {count}: give the positions of the patches (patches=)")


def patches_of(grid: Any, positions: Sequence[int] | None, n_tokens: int, image: Any = None) -> Patches:
    """The patches of a sequence of tokens: the last ones, or those at `positions`. See Trace.from_attentions.

    Raises InputError where grid or positions do not fit the tokens, and for an image that is none.
    """
    try:
        rows, cols = (int(n) for n in grid if n == int(n))
    except (TypeError, ValueError):
        rows = cols = 0
    if min(rows, cols) < 1:
        raise InputError(f"grid is two whole numbers, (rows, columns) of patches, not {str(grid)[:40]}")
    count = rows * cols
    if count > n_tokens:
        raise InputError(f"a grid of {rows} x {cols} has {count} patches, but there are only {n_tokens} tokens")
    tokens = tuple(range(n_tokens - count, n_tokens)) if positions is None else tuple(int(n) for n in positions)
    if len(tokens) != count or len(set(tokens)) != count or not all(0 <= n < n_tokens for n in tokens):
        raise InputError(
            f"patches must be {count} different positions from 0 to {n_tokens - 1} for a grid of {rows} x {cols}"
        )
    return Patches(rows, cols, tokens, None if image is None else _png(image))


def check_extra(patches: Patches, n_tokens: int) -> None:
    """Raises InputError where more tokens are no patches than a vision transformer puts before them."""
    extra = n_tokens - len(patches.tokens)
    if extra > len(_FIRST):
        raise InputError(
            f"a grid of {patches.rows} x {patches.cols} leaves {extra} of {n_tokens} tokens: give the grid that fits, "
            "or say which tokens are none of its patches (tokens= or special_mask=)"
        )


def _png(image: Any) -> bytes:
    """A picture as a PNG of at most MOST_BYTES, smaller where it must be, without what else its file held."""
    from PIL import Image  # not with every import of bertlens

    if not isinstance(image, Image.Image):
        array = np.asarray(image)
        if array.dtype != np.uint8 or array.ndim != 3 or array.shape[2] != 3 or not array.size:
            raise InputError(
                "image is an array uint8 (height, width, 3) or a PIL image (PIL.Image.open(path)), "
                f"not {array.dtype} {array.shape}"
            )
        image = Image.fromarray(array)
    picture = image.convert("RGB")
    side = _LARGEST
    while True:
        small = picture.copy()
        small.info = {}
        small.thumbnail((side, side))
        out = io.BytesIO()
        small.save(out, "PNG", optimize=True)
        size = out.tell()
        if size <= MOST_BYTES:
            return out.getvalue()
        side = int(0.95 * max(small.size) * (MOST_BYTES / size) ** 0.5)
