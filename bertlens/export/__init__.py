"""What leaves the notebook: pages, pictures, arrays and tables, each with where it comes from."""

from ..trace.provenance import provenance
from . import bundle as bundle  # for rooms, as those below
from . import html as html
from . import live as live
from . import pages as pages
from . import space as space
from . import table_file as table_file
from .arrays import save_csv, save_npz
from .html import Page, to_html
from .still_picture import to_png
from .token_strip import token_strip

__all__ = ["Page", "provenance", "save_csv", "save_npz", "to_html", "to_png", "token_strip"]
