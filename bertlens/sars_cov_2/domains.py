"""Domains of the spike protein by residue, each with where its borders come from.

Every residue is in one domain; what no source names between two of them is a link. Papers differ: UniProt has HR1 from
920 to 970 and HR2 to 1202, and two fusion peptides (816-837, 835-855), which lie behind the S2' cut and not where Huang
et al. put theirs (788-806). Both are in the literature as "the fusion peptide", so neither is called just that.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass

HUANG = "Huang et al. 2020, Acta Pharmacol Sin 41:1141"
WRAPP = "Wrapp et al. 2020, Science 367:1260"
CAI = "Cai et al. 2020, Science 369:1586"
UNIPROT = "UniProt P0DTC2"
LINK = ""  # what is left between two domains


@dataclass(frozen=True)
class Domain:
    """Residues first to last, counted from 1, both included. `source` is "" for what is left between two domains."""

    label: str  # as a mark has it, "RBD"
    name: str  # in full
    first: int
    last: int
    source: str


DOMAINS = (
    Domain("SP", "signal peptide", 1, 13, HUANG),
    Domain("NTD", "N-terminal domain", 14, 305, HUANG),
    Domain("NTD–RBD", "linker", 306, 318, LINK),
    Domain("RBD", "receptor-binding domain", 319, 541, f"{HUANG}; {UNIPROT}"),
    Domain("SD1", "subdomain 1", 542, 590, f"{WRAPP}; {CAI}; they differ by some residues"),
    Domain("SD2", "subdomain 2", 591, 680, f"{WRAPP}; {CAI}; they differ by some residues"),
    Domain("FCS", "furin cleavage site (PRRAR|S, cut after 685)", 681, 686, f"{HUANG}; {UNIPROT} (the cut)"),
    Domain("FCS–FP", "start of S2, upstream helix", 687, 787, LINK),
    Domain("FP 788", "fusion peptide by Huang et al. 2020, in front of the S2' cut", 788, 806, HUANG),
    Domain("FP–S2′", "linker with the S2' site (cut after 815)", 807, 815, f"{UNIPROT} (the cut)"),
    Domain("FP 816", "fusion peptide by UniProt (816-837 and 835-855), behind the S2' cut", 816, 855, UNIPROT),
    Domain("FP–HR1", "linker", 856, 911, LINK),
    Domain("HR1", "heptad repeat 1", 912, 984, HUANG),
    Domain("CH/CD", "central helix and connector domain", 985, 1141, f"{WRAPP}; {CAI}; they differ by some residues"),
    Domain("CD–HR2", "stem", 1142, 1162, LINK),
    Domain("HR2", "heptad repeat 2", 1163, 1212, f"{HUANG}, which counts 1213 to both"),
    Domain("TM", "transmembrane anchor", 1213, 1237, HUANG),
    Domain("CT", "cytoplasmic tail", 1238, 1273, f"{HUANG}, which counts 1237 to both"),
)

_FIRST = [domain.first for domain in DOMAINS]


def domain_of(residue: int) -> str:
    """Label of the domain of a residue, counted from 1; the stop codon counts as the tail."""
    return DOMAINS[bisect_right(_FIRST, residue) - 1].label
