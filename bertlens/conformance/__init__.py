"""The same model elsewhere: whether vectors that another program made are this model's, and else by which fault.

Not named as the function `parity` is, which a room of that name would hide.
"""

from .dump_steps import parity_steps
from .parity_run import Parity, parity
from .probing import probing_texts
from .rounded_copy import rounding

__all__ = ["Parity", "parity", "parity_steps", "probing_texts", "rounding"]
