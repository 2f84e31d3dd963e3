"""Heads as resolvers of mentions: decision by decision against loops with a reader of their own."""

from __future__ import annotations

import gzip
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bertlens import InputError, Lens, SelectionError
from bertlens.measures.significance import difference_interval, share_interval
from bertlens.survey import coreference_scores, read_documents, resolve
from bertlens.survey.coreference import AMONG, MEASURES, Resolutions, windows
from bertlens.survey.mentions import Document
from bertlens.survey.syntax import NONE
from unit import tiny

pytest.importorskip("conllu")

# Nested mentions (b in a), also of the same entity (c in c, a in f); a discontinuous one (e); split antecedents (t is a
# and c); a multiword token; an empty node inside a mention and one that is a mention alone; two mentions of one word
# (a and b); minspans of which the first word has its head inside (c), and beyond the mention (f).
FILE = """\
# newdoc id = one
# global.Entity = GRP-etype-minspan-link
# sent_id = 1
1	the	the	DET	_	_	2	det	_	Entity=(a-person-2-x
2	cat	cat	NOUN	_	_	5	nsubj	_	_
3	on	on	ADP	_	_	4	case	_	_
4	mat	mat	PROPN	_	_	2	nmod	_	Entity=(b-place-1-x)a)
4.1	who	who	PRON	_	_	_	_	_	Entity=(z-person-1-x)
5	sat	sit	VERB	_	_	0	root	_	SpaceAfter=No
6	.	.	PUNCT	_	_	5	punct	_	_

# sent_id = 2
1	unbelievable	x	ADJ	_	_	2	amod	_	Entity=(c-thing-1,2-x
2	cats	cat	NOUN	_	_	4	nsubj	_	_
3	it	it	PRON	_	_	2	nmod	_	Entity=(c-thing-1-x)c)
4-5	satit	_	_	_	_	_	_	_	_
4	sat	sit	VERB	_	_	0	root	_	_
5	it	it	PRON	_	_	4	obj	_	Entity=(t-thing-1-x)|SplitAnte=a<t,c<t
6	warm	warm	ADJ	_	_	7	amod	_	Entity=(e[1/2]-thing-2-x
7	very	very	NOUN	_	_	4	obl	_	Entity=e[1/2])
8	mat	mat	PROPN	_	_	4	obl	_	Entity=(b-place-1-x)(a-person-1-x)
9	warm	warm	NOUN	_	_	7	nmod	_	Entity=(e[2/2]-thing-2-x)

# sent_id = 3
1	it	it	PRON	_	_	2	nsubj	_	Entity=(t-thing-1-x)
1.1	gone	x	VERB	_	_	_	_	_	Entity=(e-thing-1-x
2	was	be	VERB	_	_	0	root	_	_
3	warm	warm	NOUN	_	_	2	obl	_	Entity=e)

# newdoc id = two
# sent_id = 4
1	cats	cat	NOUN	_	_	2	nsubj	_	Entity=(a-person-1-x)
2	sat	sit	VERB	_	_	0	root	_	_
3	on	on	ADP	_	_	5	case	_	_
4	the	the	DET	_	_	5	det	_	Entity=(f-place-7-x
5	cat	cat	NOUN	_	_	2	obl	_	_
6	it	it	PRON	_	_	5	nmod	_	Entity=(a-person-1-x)f)

"""


def by_lines(text: str) -> list[dict[str, Any]]:
    """The documents, read line by line: words, and mentions as [sentence, words, head, entity, tag]."""
    found: list[dict[str, Any]] = []
    rows: list[list[str]] = []
    order: list[str] = []
    for line in [*text.splitlines(), ""]:
        if line.startswith("# newdoc"):
            found.append({"sentences": [], "mentions": [], "split": {}})
        elif line.startswith("# global.Entity"):
            order = line.split(" = ")[1].split("-")
        elif line and not line.startswith("#"):
            rows.append(line.split("\t"))
        elif not line and rows:
            document, words = found[-1], [row for row in rows if row[0].isdigit()]
            place = {row[0]: i for i, row in enumerate(words)}
            stack: dict[str, list[dict[str, Any]]] = {}
            made: list[dict[str, Any]] = []
            for row in rows:
                if "-" in row[0]:
                    continue
                misc = dict(part.split("=", 1) for part in row[9].split("|") if "=" in part)
                closing = []
                for token in re.findall(r"\([^()]*\)?|[^()]*\)", misc.get("Entity", "")):
                    full, name = token.strip("()"), token.strip("()").split("-")[0]
                    if token[0] == "(":
                        piece = re.match(r"(.*)\[(\d)/(\d)\]", name)
                        entity = piece[1] if piece else name
                        values = dict(zip(order, full.split("-"), strict=False))
                        mention = {"entity": entity, "minspan": values["minspan"], "words": []}
                        if piece and piece[2] != "1":
                            mention = next(m for m in made if m["entity"] == entity and m.get("more"))
                        else:
                            made.append(mention)
                        mention["more"] = bool(piece) and piece[2] != piece[3]
                        stack.setdefault(name, []).append(mention)
                    if token[-1] == ")":
                        closing.append(name)
                if row[0] in place:
                    for mention in [m for some in stack.values() for m in some]:
                        mention["words"].append(place[row[0]])
                for name in closing:
                    stack[name].pop()
                for pair in misc.get("SplitAnte", "").split(","):
                    if pair:
                        document["split"].setdefault(pair.split("<")[1], set()).add(pair.split("<")[0])
            for mention in made:
                inside = mention["words"]
                if inside:
                    least = [inside[int(k) - 1] for k in mention["minspan"].split(",") if 0 < int(k) <= len(inside)]
                    free = [w for w in [*least, *inside] if place.get(words[w][6], -1) not in inside]
                    number = len(document["sentences"])
                    document["mentions"].append((number, inside, free[0], mention["entity"], words[free[0]][3]))
            document["sentences"].append([row[1] for row in words])
            rows = []
    return found


def naive(lens: Any, text: str, window: int | str, heads: list[tuple[int, int]]) -> list[dict[str, Any]]:
    """A row per mention with another one in its window: what is right by loops, in float64."""
    rows = []
    for number, document in enumerate(by_lines(text)):
        parts: list[list[int]] = []
        for at in range(len(document["sentences"])):
            together = [w for s in [*(parts[-1] if parts else []), at] for w in document["sentences"][s]]
            if parts and window != "sentence" and lens.trace_words(together).n_tokens <= window:
                parts[-1].append(at)
            else:
                parts.append([at])
        for part in parts:
            words = [w for s in part for w in document["sentences"][s]]
            start = {s: sum(len(document["sentences"][t]) for t in part if t < s) for s in part}
            mentions = [
                ([start[s] + w for w in inside], start[s] + head, entity, tag)
                for s, inside, head, entity, tag in document["mentions"]
                if s in part
            ]
            mentions.sort(key=lambda m: (m[1], m[0]))
            trace = lens.trace_words(words)
            maps = {(layer, head): trace.attention(layer)[head].double().tolist() for layer, head in heads}
            for inside, head, entity, tag in mentions:
                same = {entity} | document["split"].get(entity, set())
                every = {h for _, h, e, _ in mentions if e in same and h not in inside}
                rights = ({h for h in every if h < head}, every)
                if not every:
                    continue
                row: dict[str, Any] = {"document": number, "tag": tag, "scored": [bool(right) for right in rights]}
                race = {
                    "words": [w for w in range(len(words)) if w not in inside and w in trace.word_ids],
                    "mentions": sorted({h for _, h, _, _ in mentions if h not in inside}),
                }
                for layer, index in heads:
                    alpha = maps[layer, index]
                    own = [i for i, w in enumerate(trace.word_ids) if w == head]
                    to = dict.fromkeys(race["words"], 0.0)
                    for j, w in enumerate(trace.word_ids):
                        if w in to:
                            to[w] += math.fsum(alpha[i][j] for i in own)
                    for among, candidates in race.items():
                        guess = max(candidates, key=lambda w: (to[w], -w)) if candidates else NONE
                        row[among, layer, index] = [guess in right for right in rights]
                row["nearest"], row["same_word"], row["random"] = [], [], []
                for right, there in zip(
                    rights, ([h for h in race["mentions"] if h < head], race["mentions"]), strict=True
                ):
                    alike = [h for h in there if words[h].lower() == words[head].lower()]
                    for name, some in (("nearest", there), ("same_word", alike)):
                        row[name].append(bool(some) and sorted((abs(h - head), h) for h in some)[0][1] in right)
                    sizes = (len(words) - len(inside), len(race["mentions"]))
                    row["random"].append([len(right) / n if n else 0.0 for n in sizes])
                rows.append(row)
    return rows


def check(lens: Any, path: Path, text: str, window: int | str, heads: list[tuple[int, int]]) -> Resolutions:
    found = resolve(lens, path, window=window, progress=False)
    rows = naive(lens, text, window, heads)
    assert found.document.tolist() == [row["document"] for row in rows]
    kinds = {"PRON": "pronoun", "PROPN": "proper"}
    assert found.kind.tolist() == [kinds.get(row["tag"], "nominal") for row in rows]
    for name in ("scored", "nearest", "same_word"):
        assert getattr(found, name).tolist() == [row[name] for row in rows], name
    assert np.allclose(found.random, [row["random"] for row in rows])
    for layer, head in heads:
        for among in AMONG:
            got = found.correct[:, :, AMONG.index(among), layer, head]
            assert got.tolist() == [row[among, layer, head] for row in rows], (layer, head, among)
    return found


@pytest.fixture(scope="module")
def small() -> Lens:
    return Lens(tiny.bert(num_hidden_layers=2), tiny.wordpiece())


@pytest.fixture
def written(tmp_path: Path) -> Path:
    path = tmp_path / "made.conllu"
    path.write_text(FILE, encoding="utf-8")
    return path


@pytest.mark.parametrize("window", [64, 24, 5, "sentence"])
def test_every_decision_on_a_file_made_by_hand(small: Lens, written: Path, window: int | str) -> None:
    found = check(small, written, FILE, window, [(layer, head) for layer in range(2) for head in range(4)])
    assert found.mentions == 13
    table = found.scores()
    for (measure, among, kind, layer, head), row in table.set_index([*table.columns[:5]]).iterrows():
        member = found.members(measure, kind)
        right = found.correct[member, MEASURES.index(measure), AMONG.index(among), layer, head]
        assert row["accuracy"] == pytest.approx(right.mean()) and row["n"] == len(right)
        assert row["nearest"] == pytest.approx(found.nearest[member, MEASURES.index(measure)].mean())
    assert table.attrs["without_earlier"] == 13 - found.scored[:, 0].sum()


def test_what_the_file_made_by_hand_says(written: Path) -> None:
    one, two = read_documents(written)
    said = [(m.entity, m.sentence, m.words, m.head, m.kind) for m in one.mentions]
    assert ("a", 0, (0, 1, 2, 3), 1, "nominal") in said
    assert ("b", 0, (3,), 3, "proper") in said
    assert ("c", 1, (0, 1, 2), 1, "nominal") in said and ("c", 1, (2,), 2, "pronoun") in said
    assert ("e", 1, (5, 6, 8), 6, "nominal") in said  # two pieces; its head stands in the first
    assert ("e", 2, (1, 2), 1, "nominal") in said  # opened by an empty node
    assert not any(entity == "z" for entity, *_ in said)  # an empty node alone
    assert [*map(len, (one.mentions, two.mentions))] == [10, 3] and len(said) == 10
    assert one.antecedents("t") == {"t", "a", "c"} and two.antecedents("t") == {"t"}
    assert two.mentions[2].words == (3, 4, 5) and two.mentions[2].head == 4  # a minspan beyond the mention


def test_the_inner_mention_closes_first_and_the_minspan_has_the_head(tmp_path: Path) -> None:
    rows = ("x 2 (a-p-3", "y 0 (a-p-1", "z 2 a)", "w 2 a)")
    split = [row.split() for row in rows]
    lines = [f"{k}\t{w}\tx\tNOUN\t_\t_\t{head}\tdep\t_\tEntity={e}" for k, (w, head, e) in enumerate(split, 1)]
    text = "# global.Entity = GRP-etype-minspan\n" + "\n".join(lines) + "\n\n"
    (tmp_path / "a.conllu").write_text(text, encoding="utf-8")
    (document,) = read_documents(tmp_path / "a.conllu")
    # the minspan of the outer one is z, whose head lies inside: then y, the first word whose head does not
    assert [(m.words, m.head) for m in document.mentions] == [((1, 2), 1), ((0, 1, 2, 3), 1)]
    several = text.replace("(a-p-3", "(a-p-4").replace("w\tx\tNOUN\t_\t_\t2", "w\tx\tNOUN\t_\t_\t0")
    (tmp_path / "a.conllu").write_text(several, encoding="utf-8")
    (document,) = read_documents(tmp_path / "a.conllu")
    assert document.mentions[1].head == 3


def test_windows_are_whole_sentences_of_one_document(small: Lens, written: Path) -> None:
    for most in (5, 24, 64):
        made = [window for d in read_documents(written) for window in windows(small, d, window=most) if window]
        assert sum(len(window.words) for window, _ in made) == 24
        for window, encoding in made:
            assert len(encoding) <= most or window.words in [
                s.words for d in read_documents(written) for s in d.sentences
            ]
    assert len(made) == 2
    whole = len(made[0][1])  # exactly as long as the first document
    assert [len(list(windows(small, next(iter(read_documents(written))), window=n))) for n in (whole, whole - 1)] == [
        1,
        2,
    ]


def test_the_head_is_chosen_on_other_documents_than_it_is_counted_on() -> None:
    """Head 1 is right in the documents of one half alone, head 0 in one mention of each."""
    rng = np.random.default_rng(1)
    document = np.repeat(np.arange(6), 10)
    right = rng.random((60, 1, 3)) < [0.2, 0.5, 0.4]
    correct = np.broadcast_to(right[:, None, None], (60, 2, 2, 1, 3))
    plain, kind = np.ones((60, 2), bool), np.array(["proper"] * 60)
    found = Resolutions(correct, plain, plain, ~plain, np.full((60, 2, 2), 0.25), kind, document, 80, 9, 128, 0)
    order = np.random.default_rng(3).permutation(6)
    choosing, held = np.isin(document, order[:3]), [document == number for number in sorted(order[3:])]
    best = int(right[choosing, 0].sum(0).argmax())
    table = found.best_heads(seed=3)
    assert len(table) == 8 and set(table["type"]) == {"all", "proper"}
    values = np.array([right[some, 0, best].mean() for some in held])
    low, high = share_interval(values, np.ones(3))
    row = table.iloc[0]
    assert (row["head"], row["documents"], row["n"]) == (best, 3, 30)
    assert (row["accuracy"], row["low"], row["high"]) == pytest.approx((values.mean(), low, high))
    assert (row["nearest"], row["same_word"], row["random"]) == (1, 0, 0.25)
    assert (row["gain_low"], row["gain_high"]) == pytest.approx(difference_interval(values - 1))


def test_bad_input(small: Lens, written: Path, tmp_path: Path) -> None:
    for window in (0, True, 1.5, "sentences"):
        with pytest.raises(InputError, match="window is 'sentence' or"):
            resolve(small, written, window=window, progress=False)  # type: ignore[arg-type]
    with pytest.raises(SelectionError, match="no way 'last'"):
        resolve(small, written, rows="last", progress=False)
    with pytest.raises(InputError, match="no treebank at"):
        resolve(small, tmp_path / "none.conllu", progress=False)
    with pytest.raises(InputError, match="CoNLL-U file with Entity=, this is 'the cat'"):
        resolve(small, ["the cat"], progress=False)  # type: ignore[list-item]
    for name, text, message in (
        ("plain", re.sub("Entity=", "Other=", FILE), "holds no Entity="),
        ("open", FILE.replace("Entity=e[1/2])", "_").replace("Entity=c)", "_"), "opens a mention of entity|closes"),
        ("close", FILE.replace("Entity=(t-thing-1-x)", "Entity=t)", 1), "closes a mention of entity 't'"),
    ):
        (tmp_path / name).write_text(text, encoding="utf-8")
        with pytest.raises(InputError, match=message):
            resolve(small, tmp_path / name, progress=False)
    lonely = [Document(d.name, d.sentences, d.mentions[:1]) for d in read_documents(written)]
    with pytest.raises(InputError, match="no mention of the corpus has another one"):
        resolve(small, lonely, progress=False)


def test_a_sentence_that_is_too_long_is_left_out_and_counted(small: Lens, tmp_path: Path) -> None:
    words = "".join(f"{k}\tcat\tcat\tNOUN\t_\t_\t{k - 1}\tdep\t_\t_\n" for k in range(1, 80))
    (tmp_path / "long.conllu").write_text(f"# newdoc id = long\n{words}\n{FILE}", encoding="utf-8")
    with pytest.warns(UserWarning, match="1 sentence too long"):
        table = coreference_scores(small, tmp_path / "long.conllu", progress=False)
    assert table.attrs["too_long"] == 1 and table.attrs["mentions"] == 13


def gum(data: Path, tmp_path: Path, names: tuple[str, ...]) -> tuple[Path, str]:
    whole = gzip.decompress((data / "gum" / "en_gum-open-dev.conllu.gz").read_bytes()).decode()
    documents = [part for part in re.split(r"(?=^# newdoc)", whole, flags=re.MULTILINE) if part.split()[4:5]]
    text = "".join(part for part in documents if part.split()[4] in names)
    path = tmp_path / "gum.conllu"
    path.write_text(text, encoding="utf-8")
    return path, text


def test_arcs_of_a_head_are_its_predictions(small: Lens, written: Path) -> None:
    from bertlens import plots

    made = next(windows(small, next(iter(read_documents(written)))))
    assert made is not None
    window, encoding = made
    axes = plots.coreference_arcs(small.run([encoding])[0], window, 1, 2)
    ends = [[*map(int, patch.get_path().vertices[[0, -1], 0])] for patch in axes.patches]
    up = [end for patch, end in zip(axes.patches, ends, strict=True) if patch.get_path().vertices[0][1] > 0]
    # "it" to the cats around it; "it", made of the cat and the cats, to the nearest of both; a word with two mentions
    earlier = {(m.head, heads[-1]) for m in window.mentions if (heads := window.right(m)[0])}
    assert {tuple(end) for end in up} == earlier == {(8, 7), (10, 8), (13, 1), (13, 3), (15, 13), (16, 12)}
    found = resolve(small, written, progress=False)
    right = found.correct[(found.document == 0) & found.scored[:, 0], 0, 0, 1, 2]
    full = [patch.get_linestyle() in ("-", "solid") for patch in axes.patches if patch.get_path().vertices[0][1] < 0]
    assert full == right.tolist() and f"{right.sum()} of {len(right)} right" in axes.get_title()
    with pytest.raises(SelectionError, match="no candidates 'heads'"):
        plots.coreference_arcs(small.run([encoding])[0], window, 1, 2, "heads")


@pytest.mark.long
@pytest.mark.data
def test_every_decision_on_three_documents(embedded_lens: Lens, data: Path, tmp_path: Path) -> None:
    names = ("GUM_academic_exposure", "GUM_bio_byron", "GUM_interview_cyclone")
    path, text = gum(data, tmp_path, names)
    assert [document.name for document in read_documents(path)] == [*names]
    for window, heads in ((128, [(1, 1), (2, 4)]), ("sentence", [(2, 4)])):
        found = check(embedded_lens, path, text, window, heads)
        assert found.scored[:, 0].sum() > 90
