"""SARS-CoV-2 variants from the spike gene: the case study of Bonino, Ghione and Cirrincione 2025 on open data.

`Lens.sars_cov_2()` loads the shipped classifier; `annotate(trace)` says what each token is on the spike.
"""

from .annotation import Annotation, Mark, annotate, annotate_sequence
from .domains import DOMAINS, Domain, domain_of
from .kmers import Vocabulary, Window
from .model import build, lens, load
from .spike_tokenizer import SpikeTokenizer
from .variants import MUTATIONS, example, labelled

__all__ = [
    "DOMAINS",
    "MUTATIONS",
    "Annotation",
    "Domain",
    "Mark",
    "SpikeTokenizer",
    "Vocabulary",
    "Window",
    "annotate",
    "annotate_sequence",
    "build",
    "domain_of",
    "example",
    "labelled",
    "lens",
    "load",
]
