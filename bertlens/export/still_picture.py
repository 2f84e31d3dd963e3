"""A still picture of a view: for saved notebooks and pages that cannot run one (nbconvert, GitHub, e-mail), and paper.

The atlas on the left, where the overview has it, the open head as a matrix with its tokens on the right, the caption
below; light palette. Paper has the two without each other, with more pixels.
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from PIL import Image, ImageDraw, ImageFont
from torch.nn.functional import adaptive_max_pool2d

from ..base import colors
from ..base.colors import INKS
from ..base.vocabulary import phrases
from ..base.wire import unpack
from ..measures.thumbnails import largest_weights
from ..trace.provenance import provenance, visible
from ..trace.trace import Trace
from .fonts import file_of
from .pages import shortened

_INK, _MUTED, _BORDER, _SELECTION = (INKS["light"][name] for name in ("ink", "muted", "border", "select"))
_STILL = "Run the cell to make it live."
_THUMB, _GAP, _MARGIN = 30, 4, 16
_THUMB_CELLS = 15  # a side; more could hardly be seen, and this picture is stored with every output
_MOST_LABELS = 64  # tokens a side; beyond, labels would be smaller than can be read
_MOST_CELLS = 256  # a side of the matrix; more tokens are drawn in blocks
_SIDE, _COMPARED_SIDE = 480, 300  # pixels of a matrix, about: alone, and beside others
_LEAST_WIDTH = 560  # for the caption
_LONGEST = 24  # characters of a label
_SHADES = 34  # of the maps: steps of 3 %, half the bytes of all 255
_COLOURS = 128  # of a picture: beyond, each is some pixels of edges


def to_png(overview: Mapping[str, Any], trace: Trace, layer: int, head: int) -> bytes:
    """PNG of a trace's atlas and one open head, about 900 pixels wide. overview: of the map of the trace displayed."""
    header = overview["header"]
    arrays = unpack(header["arrays"], overview["data"])
    displayed = trace.maps[header["map"]]
    longest = max(len(displayed.tokens), len(displayed.key_tokens))
    pooled = longest > _MOST_CELLS
    attention = largest_weights(displayed, layer, head, _MOST_CELLS).cpu().numpy()
    name = f"L{layer}·H{head}"
    about = provenance(trace)
    atlas = None if header["pending"] else _atlas(_pooled(arrays["thumbs"], _THUMB_CELLS), layer, head)
    matrix = _matrix(
        attention, [] if pooled else displayed.display_tokens, [] if pooled else displayed.display_key_tokens
    )
    caption = [
        f"{visible(about['model'])} ({about['dtype']}), {name}: row = query, column = key, "
        f"{_weights_end(np.nanmax(attention, initial=0))}{', the largest of each block of cells' if pooled else ''}"
        f"{'' if atlas is None else '; thumbnails each to their own maximum'}",
        *(visible(text) for text in (about["text"], about["text_pair"]) if text),
        f"{_STILL} " + ", ".join(f"{k} {v}" for k, v in about["versions"].items()),
    ]
    return _page(f"bertlens · {name}", [matrix] if atlas is None else [atlas, matrix], caption)


def compared_png(
    maps: Sequence[np.ndarray], queries: list[str], keys: list[str], names: Sequence[str], caption: Sequence[str]
) -> bytes:
    """PNG of one head in two runs: a, b and b − a (U, V) on one scale, NaN at gaps.

    names: of the head in a and in b. caption: lines below.
    """
    a, b = (np.asarray(weights, dtype=np.float32) for weights in maps)
    top = max(float(np.nanmax(np.abs(weights), initial=0)) for weights in (a, b))
    pooled = max(a.shape) > _MOST_LABELS
    labels = ([], []) if pooled else (queries, keys)
    matrices = [
        _matrix(a, *labels, top=top, side=_COMPARED_SIDE),
        _matrix(b, [], labels[1], top=top, side=_COMPARED_SIDE),
        _matrix(b - a, [], labels[1], top=top, side=_COMPARED_SIDE, scale="signed"),
    ]
    about = (
        f"{names[0]} in a, {names[1]} in b, b − a: row = query, column = key, {_weights_end(top)}; of the "
        f"difference {_signed_ends(top)}; {colors.MISSING}: {phrases.NOT_ALIGNED}"
    )
    return _page("bertlens · a | b | b − a", matrices, [about, *caption, _STILL])


def pairs_png(cells: np.ndarray, rows: list[str], columns: list[str], caption: Sequence[str]) -> bytes:
    """PNG of what each pair of tokens (U, V) puts into a similarity. caption: lines below."""
    cells = np.asarray(cells, dtype=np.float32)
    top = float(np.abs(cells).max(initial=0))
    labels = ([], []) if max(cells.shape) > _MOST_LABELS else (rows, columns)
    about = f"row = token of a, column = token of b: what the pair puts in, {_signed_ends(top)}"
    lines = [about, *caption, _STILL]
    matrix = _matrix(cells, *labels, top=top, side=_COMPARED_SIDE, scale="signed")
    return _page("bertlens · why two texts are similar", [matrix], lines)


def matrix_png(
    weights: np.ndarray, queries: list[str], keys: list[str], top: float, row: int | None, zoom: int
) -> bytes:
    """PNG of one head (S, S) without a caption, white 0 to black `top`; row: a query that is marked, if any.

    zoom: pixels for each of a screen.
    """
    return _png(_matrix(weights, queries, keys, top=top, row=row, zoom=zoom))


def atlas_png(thumbs: np.ndarray, zoom: int) -> bytes:
    """PNG of all heads (L, H, h, w), uint8, each to its own maximum, without a caption. zoom: as above."""
    return _png(_atlas(thumbs, zoom=zoom))


def _weights_end(top: float) -> str:
    return f"{colors.ZERO} 0 to {colors.LARGEST} {top:.3f}"


def _signed_ends(top: float) -> str:
    return f"{colors.NEGATIVE} −{top:.3f}, {colors.POSITIVE} {top:.3f}"


def _page(title: str, pictures: Sequence[Image.Image], caption: Sequence[str]) -> bytes:
    """Pictures in a row, a title above and a caption below."""
    width = max(sum(picture.width + _MARGIN for picture in pictures) + _MARGIN, _LEAST_WIDTH)
    lines = [line for text in caption for line in _wrapped(text, width - 2 * _MARGIN)]
    body = max(picture.height for picture in pictures)
    page = Image.new("RGB", (width, body + 3 * _MARGIN + 16 * len(lines) + 20), "white")
    draw = ImageDraw.Draw(page)
    draw.text((_MARGIN, 8), title, _INK, _font(13))
    x = _MARGIN
    for picture in pictures:
        page.paste(picture, (x, _MARGIN + 20))
        x += picture.width + _MARGIN
    for n, line in enumerate(lines):
        draw.text((_MARGIN, body + 2 * _MARGIN + 20 + 16 * n), line, _MUTED, _font(11, text=line))
    return _png(page)


def _png(image: Image.Image) -> bytes:
    file = io.BytesIO()
    _few_colors(image).save(file, "PNG", optimize=True)
    return file.getvalue()


def _pooled(maps: np.ndarray, most: int) -> np.ndarray:
    """Maps (..., S, K) with at most `most` cells a side, each the largest of those that it covers (NaN wins)."""
    rows, columns = (min(most, length) for length in maps.shape[-2:])
    if (rows, columns) == maps.shape[-2:]:
        return maps
    flat = torch.from_numpy(maps.astype(np.float32)).reshape(-1, *maps.shape[-2:])
    return adaptive_max_pool2d(flat, (rows, columns)).reshape(*maps.shape[:-2], rows, columns).numpy()


def _few_colors(page: Image.Image) -> Image.Image:
    """The picture with its `_COLOURS` commonest colours, a third of the bytes; the edges of letters to the nearest."""
    pixels = np.asarray(page).astype(np.int32)
    codes = pixels[..., 0] << 16 | pixels[..., 1] << 8 | pixels[..., 2]
    shades = sorted((rgb, count) for count, rgb in page.getcolors(codes.size) or ())
    rgb, counts = (np.array(column) for column in zip(*shades, strict=True))
    palette = rgb[np.argsort(-counts, kind="stable")[:_COLOURS]]
    nearest = np.empty(1 << 24, np.uint8)  # by code; of its pages only those of colours that there are
    nearest[rgb @ (1 << 16, 1 << 8, 1)] = ((rgb[:, None] - palette) ** 2).sum(-1).argmin(1)
    image = Image.fromarray(nearest[codes], "P")
    image.putpalette(palette.astype(np.uint8).tobytes())
    return image


def _font(size: int, weight: str = "", text: str = "") -> Any:
    """A font that has the text's letters, where one does: DejaVu knows more scripts than Pillow's own."""
    try:
        return ImageFont.truetype(file_of(text) or f"DejaVuSans{weight}.ttf", size)
    except OSError:
        return ImageFont.load_default(size)


def _colored(values: np.ndarray, top: float, scale: str = "weight") -> np.ndarray:
    """uint8 (..., 3): shades of a table from 0 to `top`, of the signed one from −top; NaN in its own colour."""
    shares = np.nan_to_num(values) / (top or 1)
    shares = (shares + 1) / 2 if scale == "signed" else shares
    entries = np.clip(np.round(shares * _SHADES), 0, _SHADES).astype(int) * 255 // _SHADES
    pixels = colors.table(scale, "light")[entries]
    pixels[np.isnan(values)] = colors.rgb(colors.NAN)
    return pixels


def _atlas(thumbs: np.ndarray, layer: int | None = None, head: int | None = None, zoom: int = 1) -> Image.Image:
    layers, heads = thumbs.shape[:2]
    thumb, side, font = _THUMB * zoom, 28 * zoom, _font(10 * zoom)
    step = thumb + _GAP * zoom
    image = Image.new("RGB", (side + heads * step, side + layers * step), "white")
    draw = ImageDraw.Draw(image)
    for l in range(layers):  # noqa: E741
        draw.text((0, side + l * step + 9 * zoom), f"L{l}", _MUTED, font)
        for h in range(heads):
            x, y = side + h * step, side + l * step
            pixels = Image.fromarray(_colored(thumbs[l, h].astype(float), 255))
            image.paste(pixels.resize((thumb, thumb), Image.Resampling.NEAREST), (x, y))
            is_selected = (l, h) == (layer, head)
            box = (x - zoom, y - zoom, x + thumb + zoom - 1, y + thumb + zoom - 1)
            draw.rectangle(box, outline=_SELECTION if is_selected else _BORDER, width=(2 if is_selected else 1) * zoom)
    for h in range(heads):
        draw.text((side + h * step + thumb / 2, 12 * zoom), str(h), _MUTED, font, anchor="mm")
    return image


def _matrix(
    attention: np.ndarray,
    queries: list[str],
    keys: list[str],
    top: float | None = None,
    scale: str = "weight",
    side: int = _SIDE,
    row: int | None = None,
    zoom: int = 1,
) -> Image.Image:
    n = max(attention.shape)
    cell = max(1, min(16, side // n))
    labelled = n <= _MOST_LABELS
    size = min(11, cell + 1) * zoom
    cell *= zoom
    rows, columns = ([_label(token) for token in tokens] if labelled else [] for tokens in (queries, keys))
    fonts = [_font(size, "-Bold" if i == row else "", text) for i, text in enumerate(rows)]
    upright_fonts = [_font(size, text=text) for text in columns]
    margin = max((int(font.getlength(text)) for font, text in zip(fonts, rows, strict=True)), default=0) + 8 * zoom
    above = max((int(font.getlength(text)) for font, text in zip(upright_fonts, columns, strict=True)), default=0)
    above += 8 * zoom
    height, width = (cell * length for length in attention.shape)
    image = Image.new("RGB", (margin + width + 2 * zoom, above + height + 2 * zoom), "white")
    draw = ImageDraw.Draw(image)
    pixels = Image.fromarray(_colored(attention, float(np.nanmax(attention, initial=0)) if top is None else top, scale))
    image.paste(pixels.resize((width, height), Image.Resampling.NEAREST), (margin, above))
    frames = [(above, height, _BORDER)] + ([] if row is None else [(above + row * cell, cell, _INK)])
    for y, tall, colour in frames:
        box = (margin - zoom, y - zoom, margin + width + zoom - 1, y + tall + zoom - 1)
        draw.rectangle(box, outline=colour, width=zoom)
    for i, text in enumerate(rows):
        draw.text((margin - 5 * zoom, above + (i + 0.5) * cell), text, _INK, fonts[i], anchor="rm")
    for j, text in enumerate(columns):
        upright = Image.new("RGB", (above, cell + 4 * zoom), "white")
        ImageDraw.Draw(upright).text((5 * zoom, cell / 2 + 2 * zoom), text, _INK, upright_fonts[j], anchor="lm")
        turned = upright.rotate(90, expand=True).crop((2 * zoom, 0, cell + 2 * zoom, above - 2 * zoom))
        image.paste(turned, (margin + j * cell, 0))
    return image


def _label(token: str) -> str:
    return shortened(token, _LONGEST)


def _wrapped(text: str, width: int, most: int = 4) -> list[str]:
    """At most `most` lines no wider than `width`."""
    font, lines, line = _font(11, text=text), [], ""
    for word in text[:2000].split(" "):
        longer = f"{line} {word}" if line else word
        if font.getlength(longer) > width and line:
            lines.append(line)
            line = word
        else:
            line = longer
    lines.append(line)
    return lines if len(lines) <= most else [*lines[: most - 1], lines[most - 1] + " …"]
