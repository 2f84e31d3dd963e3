"""What leaves the notebook: pages, pictures, arrays and tables, each with where it comes from."""

from .arrays import save_csv, save_npz
from .html import to_html
from .picture import to_png
from .provenance import provenance

__all__ = ["provenance", "save_csv", "save_npz", "to_html", "to_png"]
