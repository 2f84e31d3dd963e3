"""What each token of a traced sequence is on the spike: coordinates, codons, residues, mutations, protein domain."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ..base.dataframes import pd
from ..errors import InputError
from ..text.tokenizer import Annotator
from ..trace.trace import Trace
from .anchoring import anchor, translate
from .domains import domain_of
from .kmers import KMER, STRIDE, Vocabulary, clean


@dataclass(frozen=True)
class Mark:
    """One token. Positions on the reference are None for [CLS], [SEP] and for windows that lie nowhere on it."""

    token: int
    kmer: str  # as the sequence has it, also where the model sees [UNK]
    start: int | None  # nucleotides of the reference gene it lies on, from 0, half open; start == end: inserted whole
    end: int | None  # half open
    residues: tuple[int, int] | None  # first and last reference residue, from 1
    peptide: str  # what its own codons say, read in the sequence's frame
    domain: str  # label of domains.DOMAINS, "" without coordinates
    mutations: tuple[str, ...]  # D614G, del69, ins214EPE: those that its nucleotides show

    @property
    def label(self) -> str:
        """A readable name: "612-615 YQDV", with the mutations behind it where there are some."""
        if self.residues is None:
            return self.kmer
        window = f"{self.residues[0]}-{self.residues[1]} {self.peptide}"
        return " ".join([window, *self.mutations])


@dataclass(frozen=True)
class Annotation:
    """One mark per token, and `spans`: runs of tokens in one domain as (label, start_token, end_token), half open."""

    marks: list[Mark]  # in the order of the tokens
    mutations: tuple[str, ...]  # of the whole sequence against the reference, in its order

    @property
    def spans(self) -> list[tuple[str, int, int]]:
        """Domains as runs of tokens (label, start_token, end_token), half open; tokens without a domain are in none."""
        spans: list[tuple[str, int, int]] = []
        for mark in self.marks:
            if not mark.domain:
                continue
            if spans and spans[-1][0] == mark.domain and spans[-1][2] == mark.token:
                spans[-1] = (mark.domain, spans[-1][1], mark.token + 1)
            else:
                spans.append((mark.domain, mark.token, mark.token + 1))
        return spans

    @property
    def labels(self) -> list[str]:
        """A readable name per token."""
        return [mark.label for mark in self.marks]

    def table(self) -> pd.DataFrame:
        """One row per token: token, kmer, start, end, first_residue, last_residue, peptide, domain, mutations."""
        rows = []
        for mark in self.marks:
            start, end = mark.residues or (None, None)
            places = {"start": mark.start, "end": mark.end, "first_residue": start, "last_residue": end}
            words = {"peptide": mark.peptide, "domain": mark.domain, "mutations": " ".join(mark.mutations)}
            rows.append({"token": mark.token, "kmer": mark.kmer, **places, **words})
        return pd.DataFrame(rows).astype(dict.fromkeys(places, "Int64"))


def annotate(trace: Trace) -> Annotation:
    """The annotation of a trace that a SpikeTokenizer's lens made, one mark per token (also of a truncated one).

    Raises InputError for any other trace, and for pairs of sequences.
    """
    tokenizer = None if trace.model is None else trace.model.tokenizer
    if trace.text is not None and isinstance(tokenizer, Annotator):
        if trace.text_pair is not None:
            raise InputError("a pair of sequences has two sets of coordinates: trace them one at a time")
        annotation = tokenizer.annotate(trace.text, trace.n_tokens)
        if isinstance(annotation, Annotation):
            return annotation
    raise InputError("only traces of Lens.sars_cov_2() lie on the spike gene: trace a sequence with it")


def annotate_sequence(sequence: str, vocabulary: Vocabulary, n_tokens: int | None = None) -> Annotation:
    """The annotation of a sequence's tokens, [CLS] and [SEP] included; `n_tokens` where the model's input was cut."""
    sequence = clean(sequence)
    placed = anchor(sequence, vocabulary.reference_sequence)
    by_residue = _mutations(sequence, placed, vocabulary.reference_sequence)
    starts = range(0, len(sequence) - KMER + 1, STRIDE)[: None if n_tokens is None else n_tokens - 2]
    marks = [_mark(token, start, sequence, placed, by_residue) for token, start in enumerate(starts, 1)]
    marks = [_outside(0, "[CLS]"), *marks, _outside(len(marks) + 1, "[SEP]")]
    return Annotation(marks, tuple(name for names in by_residue.values() for name, _ in names))


def _outside(token: int, name: str) -> Mark:
    return Mark(token, name, None, None, None, "", "", ())


def _mark(
    token: int,
    start: int,
    sequence: str,
    placed: list[int | None],
    by_residue: dict[int, list[tuple[str, range]]],
) -> Mark:
    kmer = sequence[start : start + KMER]
    positions = [position for position in placed[start : start + KMER] if position is not None]
    if positions:
        begin, end = positions[0], positions[-1] + 1
    else:
        # inserted whole: at the place between its placed neighbours; nowhere without both
        neighbour = next((p for p in reversed(placed[:start]) if p is not None), None)
        right = next((p for p in placed[start + KMER :] if p is not None), None)
        if neighbour is None or right is None or right != neighbour + 1:
            return _outside(token, kmer)
        begin = end = right
    residues = (begin // 3 + 1, max(begin, end - 1) // 3 + 1)
    # codons of the sequence's own frame that the window holds whole
    offset = (begin - (placed.index(begin, start) if positions else start)) % 3
    codons = range(start + (-(start + offset)) % 3, start + KMER - 2, 3)
    peptide = "".join(translate(sequence[i : i + 3]) for i in codons)
    visible_mutations = tuple(
        name
        for residue in range(residues[0] - 1, residues[1] + 2)
        for name, where in by_residue.get(residue, [])
        if where.start < start + KMER and start < where.stop
    )
    # the domain that most of its nucleotides lie in
    domains = [domain_of(position // 3 + 1) for position in positions or [begin]]
    return Mark(token, kmer, begin, end, residues, peptide, max(domains, key=domains.count), visible_mutations)


def _mutations(sequence: str, placed: list[int | None], reference: str) -> dict[int, list[tuple[str, range]]]:
    """Residue -> its mutations by name, each with the nucleotides of the sequence that show it.

    A residue is changed (D614G), wholly deleted (del69), or followed by an insertion (ins214EPE); codons that are only
    partly there (frame shifts, ambiguous letters) are not named. What the sequence does not reach is not deleted.
    """
    where = {position: i for i, position in enumerate(placed) if position is not None}
    if not where:
        return {}
    changes: dict[int, list[tuple[str, range]]] = {}
    reached = sorted(where)
    next_there = None
    behind: dict[int, int] = {}  # deleted reference position -> index of the nucleotide after the gap
    for position in range(reached[-1], reached[0] - 1, -1):
        if position in where:
            next_there = where[position]
        elif next_there is not None:
            behind[position] = next_there
    for start in range(0, len(reference) - 2, 3):
        residue = start // 3 + 1
        place = where.get(start)
        if all(start + i in behind for i in range(3)):
            # shown by every window that holds a nucleotide beside the gap
            at = behind[start]
            changes.setdefault(residue, []).append((f"del{residue}", range(at - 1, at + 1)))
        elif place is not None and where.get(start + 1) == place + 1 and where.get(start + 2) == place + 2:
            old, residue_here = translate(reference[start : start + 3]), translate(sequence[place : place + 3])
            if residue_here not in (old, "X"):
                changes.setdefault(residue, []).append((f"{old}{residue}{residue_here}", range(place, place + 3)))
    for place, end, neighbour in _insertions(placed):
        if (end - place) % 3 == 0:
            cut = (neighbour + 1) % 3  # nucleotides of a codon that the insertion parts: it is read from there on
            codons = range(place - cut, end - cut)
            peptide = "".join(translate(sequence[i : i + 3]) for i in codons[::3])
            changes.setdefault(neighbour // 3 + 1, []).append((f"ins{(neighbour + 1) // 3}{peptide}", codons))
    return dict(sorted(changes.items()))


def _insertions(placed: list[int | None]) -> Iterator[tuple[int, int, int]]:
    """(first, end, left) of runs of nucleotides inserted between two neighbours of the reference, left and left + 1."""
    anchor: tuple[int, int] | None = None
    for i, position in enumerate(placed):
        if position is None:
            continue
        if anchor is not None and i > anchor[0] + 1 and position == anchor[1] + 1:
            yield anchor[0] + 1, i, anchor[1]
        anchor = (i, position)
