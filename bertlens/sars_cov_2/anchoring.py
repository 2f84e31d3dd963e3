"""Where each nucleotide of any sequence lies on the reference spike, insertions and deletions included.

12-mers that both hold exactly once are anchors; between two anchors a small alignment decides. Gaps of whole codons are
moved into the reading frame where that costs nothing, so that a deletion removes residues and not halves of two.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator

from .kmers import KMER

MATCH, MISMATCH, OPEN, EXTEND = 2, -3, -7, -1
MOST_CELLS = 400_000  # of one alignment between anchors; what is larger is foreign and gets no coordinates

CODONS = dict(
    zip(
        (a + b + c for a in "TCAG" for b in "TCAG" for c in "TCAG"),
        "FFLLSSSSYY**CC*WLLLLPPPPHHQQRRRRIIIMTTTTNNKKSSRRVVVVAAAADDEEGGGG",
        strict=True,
    )
)


def translate(codon: str) -> str:
    """One-letter amino acid, X where a letter is ambiguous, '' for less than a codon."""
    return CODONS.get(codon, "X") if len(codon) == 3 else ""


def anchor(sequence: str, reference: str) -> list[int | None]:
    """Reference position (from 0) of each nucleotide of `sequence`, None where it is inserted or nothing like it.

    Positions rise; those that none has are deleted.
    """
    placed: list[int | None] = [None] * len(sequence)
    anchors = _chain(sequence, reference)
    if not anchors:
        return placed
    ends = [*anchors, (len(sequence), len(reference))]
    query = target = 0
    for a, b in ends:
        _align(sequence, reference, query, a, target, b, placed)
        for i in range(KMER if a < len(sequence) else 0):
            placed[a + i] = b + i
        query, target = a + KMER, b + KMER
    return _in_frame(placed, sequence, reference)


def _chain(sequence: str, reference: str) -> list[tuple[int, int]]:
    """Anchors (position in sequence, in reference) that rise in both and do not overlap: the longest such chain."""
    once = _once(reference)
    pairs = [(a, once[kmer]) for kmer, a in _once(sequence).items() if kmer in once]
    pairs.sort()
    # longest increasing subsequence by patience sorting
    tails: list[int] = []
    tail_pairs: list[int] = []
    links: list[int] = []
    for number, (_, b) in enumerate(pairs):
        at = bisect_left(tails, b)
        tails[at : at + 1] = [b]
        tail_pairs[at : at + 1] = [number]
        links.append(tail_pairs[at - 1] if at else -1)
    chain = []
    number = tail_pairs[-1] if tail_pairs else -1
    while number >= 0:
        chain.append(pairs[number])
        number = links[number]
    disjoint: list[tuple[int, int]] = []
    for a, b in reversed(chain):
        if not disjoint or (a >= disjoint[-1][0] + KMER and b >= disjoint[-1][1] + KMER):
            disjoint.append((a, b))
    return disjoint


def _once(text: str) -> dict[str, int]:
    """12-mers that occur exactly once, with their positions."""
    kmers = [text[i : i + KMER] for i in range(len(text) - KMER + 1)]
    counts = Counter(kmers)
    return {kmer: i for i, kmer in enumerate(kmers) if counts[kmer] == 1}


def _align(
    sequence: str, reference: str, query: int, query_end: int, target: int, target_end: int, placed: list[int | None]
) -> None:
    """Place sequence[query:query_end] on reference[target:target_end] (Gotoh 1982); ends of the whole stay free."""
    while query < query_end and target < target_end and sequence[query] == reference[target]:
        placed[query] = target
        query, target = query + 1, target + 1
    while query < query_end and target < target_end and sequence[query_end - 1] == reference[target_end - 1]:
        query_end, target_end = query_end - 1, target_end - 1
        placed[query_end] = target_end
    n, m = query_end - query, target_end - target
    if n == 0 or m == 0 or n * m > MOST_CELLS:
        return
    if n == m:
        for i in range(n):
            placed[query + i] = target + i
        if n < KMER or sum(sequence[query + i] == reference[target + i] for i in range(n)) > n // 2:
            return
        placed[query:query_end] = [None] * n
    # a sequence that starts late or stops early lacks the rest: its gap there costs nothing
    to_the_end = target_end == len(reference) and query_end == len(sequence)
    free = ({0} if target == query == 0 else set()) | ({n} if to_the_end else set())
    for i, j in _gotoh(sequence[query:query_end], reference[target:target_end], free):
        placed[query + i] = target + j


def _gotoh(a: str, b: str, free: set[int]) -> Iterator[tuple[int, int]]:
    """The pairs (i, j) in which an optimal alignment of a and b with affine gaps sets a[i] on b[j]; from the end.

    free: rows (0, len(a)) in which a gap in a costs nothing.
    """
    n, m, low = len(a), len(b), -(10**9)
    # three states: aligned, a only (insertion), b only (deletion)
    aligned, inserted, deleted = ([[low] * (m + 1) for _ in range(n + 1)] for _ in range(3))
    aligned[0][0] = 0
    for i in range(n + 1):
        opening, extension = (0, 0) if i in free else (OPEN, EXTEND)
        for j in range(m + 1):
            if i and j:
                gain = MATCH if a[i - 1] == b[j - 1] else MISMATCH
                aligned[i][j] = gain + max(aligned[i - 1][j - 1], inserted[i - 1][j - 1], deleted[i - 1][j - 1])
            if i:
                inserted[i][j] = max(max(aligned[i - 1][j], deleted[i - 1][j]) + OPEN, inserted[i - 1][j] + EXTEND)
            if j:
                deleted[i][j] = max(max(aligned[i][j - 1], inserted[i][j - 1]) + opening, deleted[i][j - 1] + extension)
    i, j = n, m
    state = max((aligned, inserted, deleted), key=lambda table: table[n][m])
    while i or j:
        score = state[i][j]
        if state is aligned:
            i, j = i - 1, j - 1
            yield i, j
            score -= MATCH if a[i] == b[j] else MISMATCH
            state = next(table for table in (aligned, inserted, deleted) if table[i][j] == score)
            continue
        opening, extension = (0, 0) if state is deleted and i in free else (OPEN, EXTEND)
        twin = deleted if state is inserted else inserted
        i, j = (i - 1, j) if state is inserted else (i, j - 1)
        state = state if state[i][j] + extension == score else aligned if aligned[i][j] + opening == score else twin


def _in_frame(placed: list[int | None], sequence: str, reference: str) -> list[int | None]:
    """Gaps of whole codons that cut a codon in two, moved by one or two nucleotides to its start.

    To the right or the left, wherever the codon that the rest makes is the reference's own residue; else to the right
    (E156G + del157-158, and not del156-157 + R158G).
    """
    placed = list(placed)
    for i in range(1, len(placed)):
        low, high = placed[i - 1], placed[i]
        if low is None or high is None or high == low + 1 or (high - low - 1) % 3 or (low + 1) % 3 == 0:
            continue
        phase = (low + 1) % 3  # nucleotides of the cut codon before the gap
        if i < phase or i + 3 - phase > len(placed):
            continue
        around = placed[i - phase : i + 3 - phase]
        if None in around or around != [*range(low + 1 - phase, low + 1), *range(high, high + 3 - phase)]:
            continue
        residue = translate(sequence[i - phase : i + 3 - phase])
        start, end = low + 1 - phase, high - phase
        if residue == translate(reference[end : end + 3]) and residue != translate(reference[start : start + 3]):
            placed[i - phase : i + 3 - phase] = [end, end + 1, end + 2]
        else:
            placed[i - phase : i + 3 - phase] = [start, start + 1, start + 2]
    return placed
