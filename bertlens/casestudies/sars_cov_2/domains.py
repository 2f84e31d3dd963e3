"""Domains of the spike protein by residue.

Boundaries after Wrapp et al. 2020 (Science 367:1260), Huang et al. 2020 (Acta Pharmacol Sin 41:1141) and Cai et al.
2020 (Science 369:1586); papers differ by some residues. Every residue is in one domain, links between them included.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass


@dataclass(frozen=True)
class Domain:
    """Residues first to last, counted from 1, both included."""

    label: str
    name: str
    first: int
    last: int


DOMAINS = (
    Domain("SP", "signal peptide", 1, 13),
    Domain("NTD", "N-terminal domain", 14, 305),
    Domain("NTD–RBD", "linker", 306, 318),
    Domain("RBD", "receptor-binding domain", 319, 541),
    Domain("SD1", "subdomain 1", 542, 590),
    Domain("SD2", "subdomain 2", 591, 680),
    Domain("FCS", "furin cleavage site (PRRAR|S, cut after 685)", 681, 686),
    Domain("FCS–FP", "start of S2, upstream helix", 687, 787),
    Domain("FP", "fusion peptide", 788, 806),
    Domain("FP–HR1", "linker with the S2' site, fusion-peptide proximal region", 807, 911),
    Domain("HR1", "heptad repeat 1", 912, 984),
    Domain("CH/CD", "central helix and connector domain", 985, 1141),
    Domain("CD–HR2", "stem", 1142, 1162),
    Domain("HR2", "heptad repeat 2", 1163, 1212),
    Domain("TM", "transmembrane anchor", 1213, 1237),
    Domain("CT", "cytoplasmic tail", 1238, 1273),
)

_FIRST = [domain.first for domain in DOMAINS]


def domain_of(residue: int) -> str:
    """Label of the domain of a residue, counted from 1; the stop codon counts as the tail."""
    return DOMAINS[bisect_right(_FIRST, residue) - 1].label
