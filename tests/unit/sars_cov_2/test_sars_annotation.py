"""Coordinates of any sequence on the reference: every edit of the tests is made at a known place."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest
import torch

import bertlens as bl
from bertlens.sars_cov_2 import DOMAINS, SpikeTokenizer, annotate, annotate_sequence, build, domain_of
from bertlens.sars_cov_2.anchoring import anchor
from bertlens.sars_cov_2.variants import _nearest, example
from unit import sars

REFERENCE = sars.gene()
VOCABULARY = sars.vocabulary()


def cut(start: int, length: int) -> str:
    return REFERENCE[:start] + REFERENCE[start + length :]


def residue(number: int) -> str:
    return sars.AMINO[REFERENCE[3 * number - 3 : 3 * number]]


def test_the_reference_lies_on_itself():
    assert anchor(REFERENCE, REFERENCE) == list(range(3822))
    found = annotate_sequence(REFERENCE, VOCABULARY)
    assert found.mutations == ()
    assert [(mark.start, mark.end) for mark in found.marks[1:-1]] == [(9 * i, 9 * i + 12) for i in range(424)]
    assert found.marks[1].residues == (1, 4)
    assert found.marks[1].peptide == "".join(residue(i) for i in (1, 2, 3, 4))
    assert found.marks[0].residues is None and found.marks[0].kmer == "[CLS]" and found.marks[0].domain == ""


@pytest.mark.parametrize("seed", range(4))
def test_random_edits_are_found_where_they_were_made(seed):
    # far enough apart that each is one gap; truth is kept beside the sequence while it is edited
    draw = random.Random(seed)
    letters, truth = list(REFERENCE), list(range(3822))
    at, deletions, insertions = 3700, 0, 0
    while at > 150:
        kind, size = draw.choice("sid"), draw.randrange(1, 8)
        if kind == "s":
            letters[at] = draw.choice([x for x in "ACGT" if x != letters[at]])
        elif kind == "d":
            deletions += 1
            del letters[at : at + 3 * size], truth[at : at + 3 * size]
        else:
            insertions += 1
            letters[at:at] = draw.choices("ACGT", k=3 * size)
            truth[at:at] = [None] * (3 * size)  # type: ignore[list-item]
        at -= draw.randrange(60, 200)
    found = anchor("".join(letters), REFERENCE)
    # a gap may slide along letters that repeat, so a few positions beside gaps may differ, and always rise
    wrong = sum(a != b for a, b in zip(found, truth, strict=True))
    assert wrong <= 40 and wrong / len(truth) < 0.012
    kept = [position for position in found if position is not None]
    assert kept == sorted(set(kept))
    assert found.count(None) == truth.count(None)
    # one gap stays one gap
    assert sum(b - a > 1 for a, b in pairwise(kept)) == deletions
    assert sum(a is not None and b is None for a, b in pairwise(found)) == insertions


@pytest.mark.parametrize("size", [3, 9, -9])
def test_changes_beside_a_gap_do_not_split_it(size):
    # two substitutions within one window of a deletion (or insertion), so that no anchor lies between
    other = dict(zip("ACGT", "CATG", strict=True))
    edited = REFERENCE
    for position in (594, 600 + max(size, 0) + 5):
        edited = sars.substitute(edited, position, other[edited[position]])
    edited = (
        edited[:600] + "".join(other[x] for x in REFERENCE[600 : 600 - min(size, 0)]) + edited[600 + max(size, 0) :]
    )
    found = anchor(edited, REFERENCE)
    kept = [position for position in found if position is not None]
    assert sum(b - a > 1 for a, b in pairwise(kept)) == (size > 0)
    assert found.count(None) == max(-size, 0)
    assert found[594] == 594 and len(kept) == 3822 - max(size, 0)


def test_a_substitution_is_named_and_marked_on_its_windows():
    start = 3 * 499
    new = sars.other_codon(REFERENCE[start : start + 3])
    found = annotate_sequence(sars.substitute(REFERENCE, start, new), VOCABULARY)
    name = f"{residue(500)}500{sars.AMINO[new]}"
    assert found.mutations == (name,)
    # residue 500 is nucleotides 1497..1500: windows 166 (1494..1506) only, 1485..1497 stops before it
    assert [mark.token for mark in found.marks if name in mark.mutations] == [167]
    assert found.marks[167].label.endswith(name)


@pytest.mark.parametrize("length", [3, 9, 30, 300])
def test_a_deletion_of_codons(length):
    start = 3 * 199
    found = annotate_sequence(cut(start, length), VOCABULARY)
    assert len(found.mutations) == length // 3 and all(name.startswith("del") for name in found.mutations)
    first = int(found.mutations[0][3:])
    assert abs(first - 200) <= 1  # it may slide by a codon where letters repeat
    behind = next(mark for mark in found.marks if mark.start is not None and mark.start > start + length + 12)
    assert (behind.start - length) % 9 == 0  # type: ignore[operator]
    assert behind.kmer == REFERENCE[behind.start : behind.end]


@pytest.mark.parametrize("phase", [1, 2])
def test_a_deletion_across_codons_keeps_the_frame(phase):
    start = 3 * 299 + phase
    sequence = cut(start, 6)
    found = annotate_sequence(sequence, VOCABULARY)
    made = sars.AMINO[sequence[897:900]]
    # two of residues 300..302 are gone, and the one left reads what the joined codon says
    gone = [int(name[3:]) for name in found.mutations if name.startswith("del")]
    assert len(gone) == 2 and set(gone) < {299, 300, 301, 302, 303}
    changed = [name for name in found.mutations if not name.startswith("del")]
    assert len(changed) <= 1 and all(name.endswith(made) for name in changed)


def test_e156g_and_del157_158_are_read_as_usual():
    # Delta's deletion takes AGTTCA out of GAG TTC AGA: one glycine stays for E, F, R
    start = 3 * 155
    reference = sars.substitute(REFERENCE, start - 3, "AGTGAGTTCAGAGTT")
    sequence = reference[: start + 1] + reference[start + 7 :]
    vocabulary = sars.Vocabulary.learn([], reference)
    assert annotate_sequence(sequence, vocabulary).mutations == ("E156G", "del157", "del158")


def test_i68_and_del69_70_are_read_as_usual():
    # Alpha's deletion takes TACATG out of ATA CAT GTC and leaves an isoleucine
    start = 3 * 67
    reference = sars.substitute(REFERENCE, start, "ATACATGTCTCT")
    sequence = reference[: start + 2] + reference[start + 8 :]
    vocabulary = sars.Vocabulary.learn([], reference)
    assert annotate_sequence(sequence, vocabulary).mutations == ("del69", "del70")


def test_an_insertion_inside_a_codon_is_read_in_frame():
    # between the first and second nucleotide of residue 215: one residue more, the codon's rest behind it
    inserted = "CCA"
    sequence = REFERENCE[:643] + inserted + REFERENCE[643:]
    found = annotate_sequence(sequence, VOCABULARY)
    read = [sars.AMINO[sequence[i : i + 3]] for i in range(0, len(sequence), 3)]
    [name] = [name for name in found.mutations if name.startswith("ins")]
    place = int("".join(x for x in name if x.isdigit()))
    assert abs(place - 214) <= 1 and name.endswith(read[place])


@pytest.mark.parametrize("codons", [3, 9])
def test_an_insertion_has_the_place_it_was_put_in(codons):
    sequence = REFERENCE[:642] + "GAGCCAGAA" * (codons // 3) + REFERENCE[642:]
    found = annotate_sequence(sequence, VOCABULARY)
    assert found.mutations == ("ins214" + "EPE" * (codons // 3),)
    whole = [mark for mark in found.marks if mark.start is not None and mark.start == mark.end]
    assert len(whole) == (0 if codons == 3 else 2)
    assert all(mark.start == 642 and mark.domain == "NTD" for mark in whole)
    after = found.marks[-2]
    assert REFERENCE[after.start : after.end] == after.kmer


def test_a_part_of_the_gene_is_placed_and_nothing_is_called_deleted():
    found = annotate_sequence(REFERENCE[1000:1900], VOCABULARY)
    assert found.mutations == ()
    assert (found.marks[1].start, found.marks[-2].end) == (1000, 1000 + 9 * 98 + 12)
    # its codons are read in the gene's frame: 1002..1011 are residues 335 to 337
    assert found.marks[1].peptide == "".join(residue(i) for i in (335, 336, 337))


def test_what_is_no_spike_has_no_coordinates():
    found = annotate_sequence(sars.gene(seed=99), VOCABULARY)
    assert all(mark.start is None for mark in found.marks)
    assert found.spans == [] and found.mutations == ()
    assert found.marks[5].label == found.marks[5].kmer


def test_domains_cover_the_protein_once():
    assert DOMAINS[0].first == 1 and DOMAINS[-1].last == 1273
    assert all(a.last + 1 == b.first for a, b in pairwise(DOMAINS))
    # residues of the literature: N501 and L452 touch the receptor, furin cuts behind R685, K986P stabilises the hinge
    known = {
        501: "RBD",
        452: "RBD",
        144: "NTD",
        614: "SD2",
        685: "FCS",
        800: "FP 788",
        815: "FP–S2′",
        816: "FP 816",
        855: "FP 816",
        950: "HR1",
        986: "CH/CD",
        1180: "HR2",
    }
    assert {number: domain_of(number) for number in known} == known


def test_borders_have_sources_and_links_none():
    borders = {domain.label: (domain.first, domain.last) for domain in DOMAINS if domain.source}
    assert all(not domain.source for domain in DOMAINS if domain.name == "linker")
    assert all("2020" in domain.source or "UniProt" in domain.source for domain in DOMAINS if domain.source)
    # the two fusion peptides of the literature, and the cuts in front of them
    assert borders["FP 788"] == (788, 806) and borders["FP 816"] == (816, 855) and "FP" not in borders
    assert borders["FP–S2′"][1] == 815 and borders["FCS"][0] <= 685 <= borders["FCS"][1]
    huang = {"NTD": (14, 305), "RBD": (319, 541), "HR1": (912, 984), "TM": (1213, 1237)}
    assert {label: borders[label] for label in huang} == huang


def test_spans_are_runs_of_tokens():
    found = annotate_sequence(REFERENCE, VOCABULARY)
    assert [label for label, _, _ in found.spans] == [domain.label for domain in DOMAINS]
    assert found.spans[0][1] == 1 and found.spans[-1][2] == 425
    assert all(a[2] == b[1] for a, b in pairwise(found.spans))
    for label, start, end in found.spans:
        assert {mark.domain for mark in found.marks[start:end]} == {label}


def test_a_trace_is_annotated_token_by_token():
    model = build(len(VOCABULARY.kmers), ["a", "b"], width=24, layers=1, heads=2, intermediate=24).eval()
    lens = bl.Lens(model, SpikeTokenizer(vocabulary=VOCABULARY, model_max_length=512))
    trace = lens.trace(cut(597, 30))
    found = annotate(trace)
    assert len(found.marks) == trace.n_tokens == len(found.labels)
    assert all(token in (mark.kmer, "[UNK]") for mark, token in zip(found.marks, trace.tokens, strict=True))
    assert len(found.table()) == trace.n_tokens and found.table()["start"].isna().sum() == 2
    assert len(annotate(lens.trace(REFERENCE + "ACGTACGTT" * 200, truncation=True)).marks) == 512
    with pytest.raises(bl.InputError, match="pair of sequences"):
        annotate(lens.trace(REFERENCE[:99], REFERENCE[:99]))
    other = bl.Trace.from_attentions([torch.full((1, 2, 2), 0.5)], ["a", "b"])
    with pytest.raises(bl.InputError, match=r"Lens.sars_cov_2\(\)"):
        annotate(other)


def test_examples_are_the_reference_with_its_mutations():
    new = sars.AMINO[sars.other_codon(REFERENCE[1500:1503])]
    name = f"{residue(501)}501{new}"
    made = example(VOCABULARY, ["D614G", name, "del21765-21770"])
    assert len(made) == 3816
    found = annotate_sequence(made, VOCABULARY).mutations
    assert {"D614G", name} < set(found)
    assert sum(mutation.startswith("del") for mutation in found) == 2
    with pytest.raises(ValueError, match="the reference has D at 614"):
        example(VOCABULARY, ["E614G"])
    assert _nearest("GAT", "G") == ["GGT"]
