"""Made-up spikes for the case study's tests: a random gene in place of the reference, and variants of it."""

from __future__ import annotations

import random

from bertlens.sars_cov_2.kmers import Vocabulary
from bertlens.training.sars_cov_2.samples import Sample

LENGTH = 3822
# every codon but stops, written out here and not taken from the code under test
AMINO = dict(
    zip(
        (a + b + c for a in "TCAG" for b in "TCAG" for c in "TCAG"),
        "FFLLSSSSYY**CC*WLLLLPPPPHHQQRRRRIIIMTTTTNNKKSSRRVVVVAAAADDEEGGGG",
        strict=True,
    )
)
CODONS = [codon for codon, residue in AMINO.items() if residue != "*"]


def gene(seed: int = 0) -> str:
    """A random reading frame of the reference's length, with a start codon, D614 (GAT) and a stop codon."""
    draw = random.Random(seed)
    codons = [draw.choice(CODONS) for _ in range(LENGTH // 3)]
    codons[0], codons[613], codons[-1] = "ATG", "GAT", "TAA"
    return "".join(codons)


def substitute(sequence: str, position: int, letters: str) -> str:
    return sequence[:position] + letters + sequence[position + len(letters) :]


def other_codon(codon: str) -> str:
    """A codon for another residue, one change away."""
    for place in range(3):
        for letter in "ACGT":
            candidate = codon[:place] + letter + codon[place + 1 :]
            if AMINO[candidate] not in (AMINO[codon], "*"):
                return candidate
    raise AssertionError(codon)


def samples(per_class: int = 8, seed: int = 0) -> list[Sample]:
    """Three classes with two defining mutations each, and one of its own in every sequence; a quarter is test."""
    draw = random.Random(seed)
    reference = gene()
    made = []
    for label, residues in {"red": (50, 700), "green": (300, 900), "blue": (20, 1100)}.items():
        for number in range(per_class):
            sequence = reference
            for residue in (*residues, 120 + 9 * number + draw.randrange(9)):
                start = 3 * (residue - 1)
                sequence = substitute(sequence, start, other_codon(reference[start : start + 3]))
            split = "test" if number % 4 == 3 else "train"
            made.append(Sample(sequence, label, split, f"{label}.{number // 2}"))
    return made


def vocabulary() -> Vocabulary:
    return Vocabulary.learn([sample.sequence for sample in samples() if sample.split == "train"], gene())


def tsv(made: list[Sample]) -> str:
    """The samples as a file with the columns of the open data."""
    lines = ["id\tlineage\tvariant\tsplit\tsplit_by\tn_genomes\tsequence"]
    lines += [f"s{i}\t{s.group}\t{s.variant}\t{s.split}\tlineage\t1\t{s.sequence}" for i, s in enumerate(made)]
    return "\n".join(lines) + "\n"
