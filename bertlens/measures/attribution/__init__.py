"""Which input tokens an answer rests on: five attributions of one number, and how faithful a ranking of tokens is.

A metric of `bertlens.whatif`, or a function of the model's output, says which number. Methods differ: see what they
agree on before you believe one.
"""

from .attribution import Attribution
from .faithful import BINS, CEILING, RANDOM, faithfulness
from .gradient_methods import BASELINES, attention_gradient, gradient_input, integrated_gradients
from .linear import linearised
from .methods import METHODS
from .removal import REMOVALS, occlusion

__all__ = [
    "BASELINES",
    "BINS",
    "CEILING",
    "METHODS",
    "RANDOM",
    "REMOVALS",
    "Attribution",
    "attention_gradient",
    "faithfulness",
    "gradient_input",
    "integrated_gradients",
    "linearised",
    "occlusion",
]
