"""What leaves the notebook: pages, pictures, arrays and tables, each with where it comes from."""

from ..trace.provenance import provenance
from .arrays import save_csv, save_npz
from .html import Page, to_html
from .still_picture import to_png
from .token_strip import token_strip

__all__ = ["Page", "provenance", "save_csv", "save_npz", "to_html", "to_png", "token_strip"]
