"""What goes into a model: text to tokens, patches of an image, and attention maps that the user brings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..base.lazy import lazy

if TYPE_CHECKING:
    from .display import word_of as word_of
    from .encoding import Encoding as Encoding
    from .encoding import check_text as check_text
    from .folders import folder_table as folder_table
    from .piece_counts import Fertility as Fertility
    from .piece_counts import fertility as fertility
    from .piece_counts import finely_cut as finely_cut
    from .plain_words import words_of as words_of
    from .table_files import kind_of_file as kind_of_file
    from .table_files import table_file as table_file
    from .tables import Table as Table
    from .tables import check_names as check_names
    from .tables import place_of as place_of
    from .tables import table_of as table_of
    from .texts import entries as entries
    from .tokenizer import resting_state as resting_state

__getattr__, __dir__, __all__ = lazy(__name__, __file__)
