"""The ground: bytes on the wire, locks, whole files, colours, limits of a text. Knows nothing of the other folders."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import lazy

if TYPE_CHECKING:
    from . import colors as colors
    from .amounts import amount as amount
    from .amounts import shortage as shortage
    from .amounts import verb as verb
    from .arrays_file import ArraysFile as ArraysFile
    from .arrays_file import Autosave as Autosave
    from .arrays_file import about_of as about_of
    from .arrays_file import difference as difference
    from .atomic import check_writable as check_writable
    from .atomic import claimed as claimed
    from .atomic import replacing as replacing
    from .atomic import text_file as text_file
    from .atomic import text_or_path as text_or_path
    from .batch_work import PartialNote as PartialNote
    from .batch_work import checkpoints as checkpoints
    from .batch_work import partial_work as partial_work
    from .chunks import ordered as ordered
    from .dataframes import pd as pd
    from .generators import run_to_end as run_to_end
    from .interrupts import Stop as Stop
    from .interrupts import interruptible as interruptible
    from .interrupts import stoppable as stoppable
    from .jobs import Job as Job
    from .jobs import Stopped as Stopped
    from .jobs import Works as Works
    from .limits import LIMITS as LIMITS
    from .limits import within as within
    from .locks import locked as locked
    from .notes import note as note
    from .outputs import check_apart as check_apart
    from .outputs import check_outputs as check_outputs
    from .outputs import sign as sign
    from .outputs import signature as signature
    from .paths import as_path as as_path
    from .progress import Bar as Bar
    from .progress import Progress as Progress
    from .progress import bar as bar
    from .progress import is_watched as is_watched
    from .progress import page_bar as page_bar
    from .progress import say as say
    from .quotes import isolate as isolate
    from .quotes import quotation as quotation
    from .ranking import is_nothing as is_nothing
    from .ranking import ranked as ranked
    from .ranking import signed as signed
    from .shards import WHOLE as WHOLE
    from .shards import Part as Part
    from .shards import Shard as Shard
    from .shards import in_order as in_order
    from .text_lines import Lines as Lines
    from .text_lines import opened as opened
    from .textfile import json_of as json_of
    from .textfile import text_of as text_of

__getattr__, __dir__, __all__ = lazy.lazy(__name__, __file__)
