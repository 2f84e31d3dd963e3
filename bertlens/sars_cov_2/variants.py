"""Sequences of the variants, made from the reference and the mutations that define them: examples without any data.

Mutations after the lists of outbreak.info and CoVariants for the variant's parent lineage (Omicron: BA.2).
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import product

from .anchoring import translate
from .kmers import Vocabulary, windows

GENE_START = 21563  # of the spike on the genome MN908947.3, counted from 1

# Residues as X123Y; deletions (del first-last) and insertions (ins behind) by nucleotides of the genome, because they
# need not begin with a codon.
MUTATIONS: dict[str, tuple[str, ...]] = {
    "Alpha": (
        "del21765-21770", "del21991-21993", "N501Y", "A570D", "D614G", "P681H", "T716I", "S982A", "D1118H",
    ),
    "Delta": ("T19R", "G142D", "del22029-22034", "L452R", "T478K", "D614G", "P681R", "D950N"),
    "Epsilon": ("S13I", "W152C", "L452R", "D614G"),
    "Gamma": (
        "L18F", "T20N", "P26S", "D138Y", "R190S", "K417T", "E484K", "N501Y", "D614G", "H655Y", "T1027I", "V1176F",
    ),
    "Iota": ("L5F", "T95I", "D253G", "E484K", "D614G", "A701V"),
    "Mu": ("T95I", "ins21991ACT", "Y144S", "Y145N", "R346K", "E484K", "N501Y", "D614G", "P681H", "D950N"),
    "Omicron": (
        "T19I", "del21633-21641", "G142D", "V213G", "G339D", "S371F", "S373P", "S375F", "T376A", "D405N", "R408S",
        "K417N", "N440K", "S477N", "T478K", "E484A", "Q493R", "Q498R", "N501Y", "Y505H", "D614G", "H655Y", "N679K",
        "P681H", "N764K", "D796Y", "Q954H", "N969K",
    ),
    "other": ("D614G",),
}  # fmt: skip


def labelled(vocabulary: Vocabulary, per_variant: int = 8, seed: int = 0) -> list[tuple[str, str]]:
    """(sequence, variant): of each the reference with all its mutations, then with one or two of them left out.

    All different; a variant of few mutations has fewer than `per_variant`.
    """
    draw = random.Random(seed)
    samples: list[tuple[str, str]] = []
    for variant, mutations in MUTATIONS.items():
        for number in range(per_variant):
            count = 0 if number == 0 else min(draw.choice([1, 2]), len(mutations) - 1)
            left_out = set(draw.sample(mutations, k=count))
            samples.append((example(vocabulary, [name for name in mutations if name not in left_out]), variant))
    return list(dict.fromkeys(samples))


def example(vocabulary: Vocabulary, mutations: Sequence[str] = ()) -> str:
    """The reference spike with these mutations ("D614G", "del21765-21770", "ins21991ACT"); the plain one without any.

    Of several codons for a residue one with the fewest changes is taken, and of these one whose windows are known.
    Raises ValueError where a mutation does not start from the reference's residue.
    """
    reference = vocabulary.reference_sequence
    kmers = set(vocabulary.kmers)
    letters = list(reference)
    for mutation in sorted(mutations, key=lambda name: name[:3] not in ("del", "ins")):  # these move the windows
        if mutation.startswith("ins"):
            letters[int(mutation[3:8]) - GENE_START] += mutation[8:]
            continue
        if mutation.startswith("del"):
            start, end = (int(number) - GENE_START for number in mutation[3:].split("-"))
            letters[start : end + 1] = [""] * (end + 1 - start)
            continue
        original, residue, replacement = mutation[0], int(mutation[1:-1]), mutation[-1]
        codon_slice = slice(3 * (residue - 1), 3 * residue)
        if translate(reference[codon_slice]) != original:
            raise ValueError(f"{mutation}: the reference has {translate(reference[codon_slice])} at {residue}")
        fits: list[tuple[int, list[str]]] = []
        for codon in _nearest(reference[codon_slice], replacement):
            letters[codon_slice] = codon
            fits.append((sum(kmer not in kmers for kmer in windows("".join(letters))), list(codon)))
        letters[codon_slice] = min(fits)[1]
    return "".join(letters)


def _nearest(codon: str, residue: str) -> list[str]:
    """The codons of a residue that differ from `codon` in the fewest places."""
    changes = {
        candidate: sum(a != b for a, b in zip(candidate, codon, strict=True))
        for candidate in map("".join, product("ACGT", repeat=3))
        if translate(candidate) == residue
    }
    return [candidate for candidate, number in changes.items() if number == min(changes.values())]
