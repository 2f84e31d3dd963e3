"""The k-mer vocabulary: windows of 12 nucleotides with stride 9, the known ones and those of the reference spike.

Reading order of a spike is in frame, so a window holds four codons and shares one with the next.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from ..base.atomic import text_file
from ..errors import InputError

KMER = 12
STRIDE = 9
SHIFTS = (0, 3, 6)  # where the windows can lie in the reading frame
SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]")  # numbers 0 to 3
UNKNOWN = 1
REFERENCE_LENGTH = 3822  # start codon to stop codon of the lineage B spike
LETTERS = frozenset("ACGTRYSWKMBDHVN")  # IUPAC; a window with an ambiguous letter is simply not in the vocabulary


def clean(sequence: str) -> str:
    """Capital DNA letters; white space and one FASTA header cut, U read as T. Raises InputError for other letters."""
    if sequence.startswith(">"):
        sequence = sequence.partition("\n")[2]
    sequence = "".join(sequence.split()).upper().replace("U", "T")
    for position, letter in enumerate(sequence):
        if letter not in LETTERS:
            raise InputError(
                f"not a nucleotide sequence: {letter!r} at {position}. Give the spike gene as letters A, C, G, T "
                "without gaps, from its start codon on"
            )
    return sequence


def windows(sequence: str, shift: int = 0) -> list[str]:
    """The 12-mers at 0, 9, 18 … behind `shift`; what is left at the end is not covered.

    Raises InputError for less than one window.
    """
    if len(sequence) < KMER:
        raise InputError(f"a sequence of {len(sequence)} nucleotides is shorter than one window of {KMER}")
    return [sequence[i : i + KMER] for i in range(shift, len(sequence) - KMER + 1, STRIDE)]


@dataclass(frozen=True)
class Window:
    """One window of the reference spike: nucleotides start to end (half open, counted from 0 at the start codon)."""

    kmer: str  # its 12 nucleotides
    start: int
    end: int


@dataclass(frozen=True)
class Vocabulary:
    """The k-mers that have a number, and the reference's windows with their coordinates."""

    kmers: tuple[str, ...]  # in the order of their numbers
    reference: tuple[Window, ...]
    tail: str  # the reference's last nucleotides, which no window reaches

    @property
    def reference_sequence(self) -> str:
        """The reference spike, put together from its windows."""
        return "".join(window.kmer[:STRIDE] for window in self.reference) + self.reference[-1].kmer[STRIDE:] + self.tail

    @classmethod
    def learn(cls, sequences: Iterable[str], reference: str) -> Vocabulary:
        """The 12-mers of the training sequences and of the reference, at every codon: a deletion shifts the windows.

        Raises InputError where the reference is not the spike of lineage B (length 3,822, D614).
        """
        check_reference(reference)
        kmers = windows(reference)
        kmer_set = {kmer for s in [*sequences, reference] for shift in SHIFTS for kmer in windows(s, shift)}
        placed = tuple(Window(kmer, STRIDE * i, STRIDE * i + KMER) for i, kmer in enumerate(kmers))
        return cls(
            tuple(kmer for kmer in sorted(kmer_set) if set(kmer) <= set("ACGT")), placed, reference[placed[-1].end :]
        )

    def save(self, path: Path) -> None:
        """Write it as JSON."""
        content = {
            "kmer": KMER,
            "stride": STRIDE,
            "reference": [[window.kmer, window.start, window.end] for window in self.reference],
            "tail": self.tail,
            "kmers": list(self.kmers),
        }
        text_file(json.dumps(content, separators=(",", ":")) + "\n", path)

    @classmethod
    def load(cls, path: Path) -> Vocabulary:
        """Read what `save` wrote."""
        content = json.loads(path.read_text(encoding="utf-8"))
        return cls(tuple(content["kmers"]), tuple(Window(*entry) for entry in content["reference"]), content["tail"])


def check_reference(reference: str) -> None:
    """Raises InputError unless this is a spike of 3,822 nt with aspartate (GAT or GAC) at residue 614."""
    codon = reference[3 * 613 : 3 * 614]
    if len(reference) != REFERENCE_LENGTH or codon not in ("GAT", "GAC"):
        raise InputError(
            f"the reference must be the spike gene of lineage B: {REFERENCE_LENGTH} nt with D614 (GAT or GAC), "
            f"not {len(reference)} nt with {codon or 'nothing'} there"
        )
