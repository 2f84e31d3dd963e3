"""Labelled spike sequences from a TSV or FASTA file, and their split into train, validation and test."""

from __future__ import annotations

import csv
import gzip
import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TextIO

from ...errors import InputError
from ...sars_cov_2.kmers import clean

OPEN_DATA = (
    "open spike genes with lineages: the consensus genomes of github.com/andersen-lab/HCoV-19-Genomics "
    "(NCBI BioProject PRJNA612578), cut to the spike gene; bertlens downloads nothing"
)
SMALLEST_CLASS = 20  # classes with fewer sequences are left out: they cannot be both learned and tested


@dataclass(frozen=True)
class Sample:
    """One labelled sequence; `group` is what must not be in two splits: the lineage, or the sequence itself."""

    sequence: str
    variant: str
    split: str  # "train", "validation", "test"
    group: str


def read(path: Path) -> list[Sample]:
    """The file's samples; identical sequences of one label are merged.

    TSV (or .tsv.gz): a header with at least `variant` and `sequence`, better also `split` (train, validation or test),
    `lineage` and `split_by` (lineage or haplotype). FASTA: headers `>id variant=Alpha lineage=B.1.1.7 split=train`.
    Without splits a fifth of each class becomes the test set. Raises InputError for what cannot be read.
    """
    if not path.is_file():
        raise InputError(f"{path}: no such file. Where to get data: {OPEN_DATA}")
    samples_by_sequence: dict[str, Sample] = {}
    try:
        with _open(path) as file:
            head = file.read(1)
            file.seek(0)
            rows = _fasta(file) if head == ">" else _tsv(file, path)
            for number, row in enumerate(rows, 1):
                sample = _sample(row, f"{path.name}, record {number}")
                twin = samples_by_sequence.setdefault(sample.sequence, sample)
                if twin.variant != sample.variant:
                    raise InputError(
                        f"{path.name}, record {number}: the same sequence is labelled {twin.variant} and "
                        f"{sample.variant}: decide for one"
                    )
    except (UnicodeDecodeError, gzip.BadGzipFile, EOFError) as error:
        raise InputError(f"{path.name} is neither a TSV nor a FASTA file, plain or gzipped ({error})") from None
    if not samples_by_sequence:
        raise InputError(f"{path.name} holds no sequence")
    samples = list(samples_by_sequence.values())
    return samples if any(sample.split == "test" for sample in samples) else _draw(samples, "test", 0.2, 0)


def read_reference(path: Path) -> str:
    """The spike of lineage B: from a TSV with `lineage` and `sequence`, or the first record of a FASTA file."""
    if not path.is_file():
        raise InputError(f"{path}: no such file; it must hold the spike gene of lineage B (TSV with lineage, or FASTA)")
    with _open(path) as file:
        fasta = file.read(1) == ">"
        file.seek(0)
        for row in _fasta(file) if fasta else _tsv(file, path, ("lineage", "sequence")):
            if fasta or row["lineage"] == "B":
                return clean(row["sequence"])
    raise InputError(f"{path.name} holds no spike of lineage B")


def choose(samples: Sequence[Sample], least: int = SMALLEST_CLASS) -> tuple[list[Sample], list[str]]:
    """The samples of the classes with at least `least` sequences, and these classes in order of their names."""
    counts = Counter(sample.variant for sample in samples)
    labels = sorted((label for label, count in counts.items() if count >= least), key=str.casefold)
    if len(labels) < 2:
        raise InputError(f"{len(labels)} classes have {least} sequences or more: at least two are needed")
    return [sample for sample in samples if sample.variant in labels], labels


def of_split(samples: Sequence[Sample], split: str, labels: Sequence[str]) -> list[Sample]:
    """The samples of one split whose class is among `labels`."""
    return [sample for sample in samples if sample.split == split and sample.variant in labels]


def with_validation(samples: Sequence[Sample], share: float = 0.12, seed: int = 0) -> list[Sample]:
    """Some of the train samples, whole lineages where the file splits by lineage, become validation samples."""
    if any(sample.split == "validation" for sample in samples):
        return list(samples)
    train = [sample for sample in samples if sample.split == "train"]
    return _draw(train, "validation", share, seed) + [sample for sample in samples if sample.split != "train"]


def _draw(samples: Sequence[Sample], split: str, share: float, seed: int) -> list[Sample]:
    """Move whole groups of each class, as near to `share` of it as 50 shuffles find; sequences where none fit."""
    draw = random.Random(seed)
    classes: dict[str, list[Sample]] = defaultdict(list)
    for sample in samples:
        classes[sample.variant].append(sample)
    moved: set[str] = set()
    for label in sorted(classes):
        target = share * len(classes[label])
        groups: dict[str, list[str]] = defaultdict(list)
        for sample in classes[label]:
            groups[sample.group].append(sample.sequence)
        best = min((_pick(groups, target, draw) for _ in range(50)), key=lambda picked: abs(len(picked) - target))
        if not target / 2 <= len(best) <= 1.5 * target:
            best = _pick({sample.sequence: [sample.sequence] for sample in classes[label]}, target, draw)
        moved |= set(best)
    return [replace(sample, split=split) if sample.sequence in moved else sample for sample in samples]


def _pick(groups: Mapping[str, list[str]], target: float, draw: random.Random) -> list[str]:
    """Sequences of groups in random order, until `wanted` are there."""
    names = sorted(groups)
    draw.shuffle(names)
    picked: list[str] = []
    for name in names:
        if len(picked) >= round(target):
            break
        picked += groups[name]
    return picked


def _open(path: Path) -> TextIO:
    with path.open("rb") as file:
        zipped = file.read(2) == b"\x1f\x8b"
    return gzip.open(path, "rt", encoding="utf-8") if zipped else path.open(encoding="utf-8")


def _tsv(
    file: Iterable[str], path: Path, needed: tuple[str, ...] = ("variant", "sequence")
) -> Iterator[dict[str, str]]:
    rows = csv.DictReader(file, delimiter="\t")
    missing = [name for name in needed if name not in (rows.fieldnames or [])]
    if missing:
        raise InputError(
            f"{path.name} has no column {missing[0]!r}: its first line must name tab-separated columns "
            f"({', '.join(needed)}), or the file must be FASTA"
        )
    yield from rows


def _fasta(file: Iterable[str]) -> Iterator[dict[str, str]]:
    row: dict[str, str] = {}
    lines: list[str] = []
    for line in file:
        if line.startswith(">"):
            if row:
                yield {**row, "sequence": "".join(lines)}
            fields = line[1:].split()
            row = {"id": fields[0] if fields else ""} | dict(
                field.split("=", 1) for field in fields[1:] if "=" in field
            )
            lines = []
        else:
            lines.append(line.strip())
    if row:
        yield {**row, "sequence": "".join(lines)}


def _sample(row: dict[str, str], where: str) -> Sample:
    variant = (row.get("variant") or "").strip()
    if not variant:
        raise InputError(f"{where}: no label. FASTA headers are written >id variant=Alpha lineage=B.1.1.7")
    split = (row.get("split") or "train").strip()
    if split not in ("train", "validation", "test"):
        raise InputError(f"{where}: split is {split!r}, not train, validation or test")
    try:
        sequence = clean(row.get("sequence") or "")
    except InputError as error:
        raise InputError(f"{where}: {error}") from None
    lineage = (row.get("lineage") or "").strip()
    return Sample(sequence, variant, split, lineage if lineage and row.get("split_by") != "haplotype" else sequence)
