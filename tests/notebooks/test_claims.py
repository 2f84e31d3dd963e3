"""What a notebook's words say holds for sentences that are not its own, or the words say for what it does.

Each claim is computed again, without bertlens' runs: the model's own modules with a head's output set to 0. For each
wording stands what must be found if a notebook uses it: words that are there without it, or missing beside it, fail.
"""

from __future__ import annotations

import gzip
import importlib.util
import json
import re
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch

import bertlens as bl
from bertlens.measures import attribution, gates
from bertlens.survey import mean_interval
from studies import alike_books

FOLDER = Path(__file__).resolve().parent
NOTEBOOKS = FOLDER.parents[1] / "notebooks"
STUDIES = NOTEBOOKS / "studies"
pytestmark = [pytest.mark.notebook, pytest.mark.timeout(900)]

Heads = tuple[tuple[int, int], ...]
SHARPEST: Heads = ((0, 2),)
WHO: Heads = ((5, 8),)
FIVE: dict[str, Heads] = {  # those that notebook 08 finds
    "agreement": ((3, 1), (2, 8), (4, 10), (3, 8), (2, 0)),
    "pronoun": ((5, 8), (0, 2), (4, 9), (0, 5), (2, 3)),
    "negation": ((3, 2), (2, 10), (1, 6), (1, 8), (0, 2)),
}


def beside(name: str) -> ModuleType:
    """A module of this folder: there are no packages here, so by its path."""
    spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


MASKED = beside("masked")
SETS: dict[str, list[tuple[str, str]]] = beside("sentences").SETS


def words_of(name: str) -> str:
    """All that the notebook says whose name begins so, in cells of text and of code, each break of a line one space.

    And the sources of the studies that it imports, which say its tables.
    """
    [path] = NOTEBOOKS.glob(f"{name}*.ipynb")
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    own = ["".join(cell["source"]) for cell in cells]
    imported = re.findall(r"^from studies import (.+)$", "\n".join(own), re.MULTILINE)
    files = [STUDIES / f"{module}.py" for found in imported for module in found.split(", ")]
    sources = [file.read_text(encoding="utf-8") for file in files if file.is_file()]
    return " ".join(" ".join([*own, *sources]).split())


@cache
def language_model() -> Any:
    return bl.Lens.embedded(mlm=True)


@cache
def right_over_wrong(row: tuple[str, str, str], heads: Heads = ()) -> float:
    """logit of the right word less that of the wrong one at [MASK], when these heads hand on nothing."""
    text, right, wrong = row
    model, tokenizer = language_model().model, language_model().tokenizer
    size = model.config.hidden_size // model.config.num_attention_heads

    def without(head: int) -> Any:
        def hook(_module: Any, inputs: tuple[torch.Tensor]) -> tuple[torch.Tensor]:
            context = inputs[0].clone()
            context[..., head * size : (head + 1) * size] = 0
            return (context,)

        return hook

    layers = model.base_model.encoder.layer
    hooks = [layers[layer].attention.output.dense.register_forward_pre_hook(without(head)) for layer, head in heads]
    try:
        with torch.no_grad():
            encoded = tokenizer(text, return_tensors="pt")
            logits = model(**encoded).logits[0]
    finally:
        for hook in hooks:
            hook.remove()
    [at] = (encoded["input_ids"][0] == tokenizer.mask_token_id).nonzero()[:, 0].tolist()
    first, second = tokenizer.convert_tokens_to_ids([right, wrong])
    return float(logits[at, first] - logits[at, second])


def change(rows: list[tuple[str, str, str]], heads: Heads) -> np.ndarray:
    return np.array([right_over_wrong(row, heads) - right_over_wrong(row) for row in rows])


def together_less_alone(rows: list[tuple[str, str, str]], heads: Heads) -> np.ndarray:
    """Above 0: all of them off cost less than the sum of each off alone."""
    return change(rows, heads) - sum(change(rows, (head,)) for head in heads)


def bounds(values: Any) -> tuple[float, float]:
    _, low, high = mean_interval(np.asarray(values, dtype=float))
    return float(low), float(high)


def draws(task: str) -> list[list[tuple[str, str, str]]]:
    return [MASKED.drawn(task, seed) for seed in MASKED.SEEDS]


def test_sentences_are_no_notebooks():
    said = " ".join(words_of(path.stem) for path in sorted(NOTEBOOKS.glob("*.ipynb")))
    said += " ".join(path.read_text(encoding="utf-8") for path in sorted(STUDIES.glob("*.py")))
    natural = [row for found in MASKED.NATURAL.values() for row in found]
    assert len({text for text, *_ in natural}) == len(natural) >= 60
    assert all(text.count("[MASK]") == 1 and text not in said for text, *_ in natural)
    for task in ("agreement", "pronoun", "negation"):
        first, *others = draws(task)
        assert all(set(first) != set(other) for other in others)
        assert not [text for text, *_ in first if text in said]


@pytest.mark.long
def test_a_head_off_is_what_bertlens_calls_off():
    row = MASKED.NATURAL["pronoun"][0]
    trace = language_model().trace(row[0])
    run = trace.rerun(*(bl.whatif.off(*head) for head in FIVE["agreement"]))
    expected = float(bl.whatif.difference(*row[1:])(run))
    assert right_over_wrong(row, FIVE["agreement"]) == pytest.approx(expected, abs=1e-4)


@pytest.mark.long
def test_08_the_sharpest_head_matters_in_agreement_templates_only():
    said = words_of("08")
    templates = {task: [bounds(change(rows, SHARPEST)) for rows in draws(task)] for task in MASKED.TASKS}
    natural = {name: bounds(change(MASKED.NATURAL[name], SHARPEST)) for name in ("agreement", "pronoun")}
    in_agreement = all(high < 0 for _, high in templates["agreement"])
    in_natural = any(high < 0 for _, high in natural.values())
    in_others = any(high < 0 for task in ("pronoun", "negation") for _, high in templates[task])
    assert in_agreement == ("is missed **in the agreement templates**" in said)
    assert in_natural != ("and in natural sentences not shown to be" in said)
    assert in_others != ("does not outlast these templates" in said)
    assert (in_agreement and not in_natural) == ('"in the agreement templates, not shown in natural sentences"' in said)
    assert (in_agreement and in_natural and in_others) == (
        "previous-word head of notebooks 02 and 07, does matter" in said
    )


@pytest.mark.long
def test_08_five_heads_together_cost_less_in_agreement_templates_only():
    said = words_of("08")
    templates = {task: [bounds(together_less_alone(rows, FIVE[task])) for rows in draws(task)] for task in FIVE}
    low, high = bounds(together_less_alone(MASKED.NATURAL["agreement"], FIVE["agreement"]))
    less = {task: all(low > 0 for low, _ in found) for task, found in templates.items()}
    assert less["agreement"] == ("**In the agreement templates** all five together cost less than one by one" in said)
    assert (less["pronoun"] and less["negation"] and low > 0) != ("Elsewhere that depends on the sentences" in said)
    assert (all(less.values()) and low > 0) == ("together they cost **less** than one by one" in said)
    more = [high < 0, *(high < 0 for found in templates.values() for _, high in found)]
    assert any(more) != ("Nowhere do they cost *more*" in said)


@pytest.mark.long
def test_08_one_head_decides_he_or_she_where_a_word_says_who():
    said = words_of("08")
    named = [bounds(change(rows, WHO)) for rows in [*draws("pronoun"), MASKED.NATURAL["pronoun"]]]
    low, high = bounds(change(MASKED.NATURAL["pronoun, nothing says who"], WHO))
    where_named = all(high < -0.2 for _, high in named)
    anywhere = where_named and high < 0
    assert where_named == ("L5·H8 decides where a word of the sentence says who it is" in said)
    assert (where_named and not anywhere) == ("it is not shown to decide anything" in said)
    assert anywhere == ('goes by one weight of L5·H8", "most of it", f"' in said)
    assert low > max(high for _, high in named)  # the two kinds of sentences do not overlap
    he, she = (
        np.mean([right_over_wrong(row) > 0 for row in MASKED.NATURAL["pronoun, nothing says who"] if row[1] == right])
        for right in ("he", "she")
    )
    assert (he > 0.8 and she < 0.2) == ('says "he" to nearly everyone' in said)


def parts_of_contrasts(trace: Any, layer: int, head: int) -> float:
    """Median over words: how many of the parts of its largest score, over the mean of other keys', make 80 % of it."""
    q, k = (x(layer)[head].double().numpy() for x in (trace.query, trace.key))
    counts = []
    for query in np.flatnonzero(~trace.special_mask.numpy()):
        key = int((k @ q[query]).argmax())
        parts = np.sort(q[query] * (k[key] - np.delete(k, key, 0).mean(0)))[::-1]
        counts.append(int((parts.cumsum() >= 0.8 * parts.sum()).argmax()) + 1)
    return float(np.median(counts))


@pytest.mark.long
def test_02_of_five_heads_the_previous_word_head_needs_most_neurons():
    said = words_of("02")
    previous, others, resting = (0, 2), [(0, 5), (0, 4), (1, 8)], [(4, 5), (1, 11)]  # chosen by one set or another
    more, rests = [], []
    for pairs in SETS.values():
        traces = bl.Lens.embedded().trace_batch(pairs)
        size = {
            head: np.array([parts_of_contrasts(trace, *head) for trace in traces])
            for head in (previous, *others, *resting)
        }
        more += [bounds(size[previous] - size[head])[0] > 0 for head in (*others, *resting)]
        rests += [bounds(size[rest] - size[head])[0] > 0 for rest in resting for head in others]
    assert all(more) == ("of our five, the previous-word head needs most" in said)
    assert all(rests) == ("the resting head and the previous-word head need most" in said)
    assert (any(rests) and not all(rests)) == (
        "Whether the resting head needs more than the other three depends" in said
    )


def closed(pairs: list[tuple[str, str]]) -> np.ndarray:
    traces = bl.Lens.embedded().trace_batch(pairs)
    return np.array([(gates.label(gates.head_scores(trace)) == "closed")[1:5].mean() for trace in traces])


@pytest.mark.long
@pytest.mark.parametrize("name", SETS)
def test_04_about_half_of_the_heads_are_closed_in_short_texts(name):
    low, high = bounds(closed(SETS[name]))
    words = "between two fifths and two thirds in all short ones that were tried"
    assert (low > 2 / 5 and high < 2 / 3) == (words in words_of("04"))
    assert (abs(low + high - 1) < 0.3) == ("in layers 1 to 4 about half of the heads are closed" in words_of("04"))


@pytest.mark.data
@pytest.mark.long
def test_04_nor_are_more_or_fewer_closed_in_sentences_of_a_treebank(data):
    """The share that a corpus gives lies where the notebook says that all do."""
    with gzip.open(data / "gum" / "en_gum-open-dev.conllu.gz", "rt", encoding="utf-8") as lines:
        texts = [line.removeprefix("# text = ").strip() for line in lines if line.startswith("# text = ")]
    tokens = bl.Lens.embedded().tokenizer
    pairs = [pair for pair in zip(texts[::2], texts[1::2], strict=False) if 19 <= len(tokens(*pair)["input_ids"]) <= 31]
    low, high = bounds(closed(pairs[:60]))
    print(f"closed, of the heads of layers 1 to 4, {len(pairs[:60])} pairs of GUM: {low:.3f} to {high:.3f}")
    assert (low > 2 / 5 and high < 2 / 3) == ("between two fifths and two thirds in all short ones" in words_of("04"))


@pytest.mark.long
def test_09_the_slope_is_a_little_better_than_a_hat_and_sixteen_sentences_do_not_tell():
    said = words_of("09")
    beats = []
    for texts in [[pair[at] for pair in pairs] for pairs in SETS.values() for at in (0, 1)]:
        for words in map(str.split, texts):
            words[len(words) // 2] = "[MASK]"
            trace = language_model().trace(" ".join(words))
            metric = bl.whatif.logit(trace.predictions(k=1)["token"].iloc[0])
            scores = attribution.faithfulness(
                trace,
                {"slope": attribution.gradient_input(trace, metric)},
                metric=metric,
                ceiling=False,
                progress=False,
            )
            beats.append(float(scores.loc["slope", "comprehensiveness_beats"]))
    low, high = bounds(beats)
    assert (low > 10 and high < 15) == ("better, and not by much" in said)
    assert (low > 10) != ("not shown to be any better than drawing tokens at random" in said)
    sixteen = [bounds(beats[at : at + 16])[0] > 10 for at in range(0, len(beats), 16)]
    assert (any(sixteen) and not all(sixteen)) == ("Sixteen sentences are too few to tell" in said)
    assert (len(beats) == 6 * 16) == ("six times as many other ones" in said)


def cosine_with(texts: list[str], word: str) -> np.ndarray:
    """Of each text with the same text that has a word more behind its first verb: means of the model's last states."""
    lens = bl.Lens.embedded()

    def vector(text: str) -> torch.Tensor:
        with torch.no_grad():
            return lens.model(**lens.tokenizer(text, return_tensors="pt")).last_hidden_state[0].mean(0)

    pairs = [(vector(text), vector(alike_books.VERB.sub(rf"\1 {word}", text, count=1))) for text in texts]
    return np.array([float(torch.cosine_similarity(a, b, 0)) for a, b in pairs])


def check_not_and_now(texts: list[str]) -> None:
    said = words_of("10")
    texts = [
        one for one in dict.fromkeys(texts) if alike_books.VERB.search(one) and not re.search(r"\bnot\b|n.t\b", one)
    ]
    denied, later = cosine_with(texts[:150], "not"), cosine_with(texts[:150], "now")
    vectors = bl.Lens.embedded().encode(texts[:150]).double()
    unrelated = (vectors @ vectors.T / vectors.norm(dim=1).outer(vectors.norm(dim=1))).numpy()
    high = np.quantile(unrelated[~np.eye(len(unrelated), dtype=bool)], 0.95)
    print(f"{len(denied)} sentences: not {1 - denied.mean():.3f}, now {1 - later.mean():.3f}, unrelated {high:.2f}")
    more = bounds(later - denied)[0] > 0
    assert more == ('in other prose that was tried, a "not" takes away more than a "now" does' in said)
    assert (bounds(1 - denied)[1] < 0.1) == ("but less than a tenth of the number on average" in said)
    assert (denied > high + 0.2).all() == ("a sentence and its denial stay far above the level" in said)


@pytest.mark.long
def test_10_a_not_takes_away_more_than_a_now_but_little():
    check_not_and_now([text for pairs in SETS.values() for pair in pairs for text in pair])


@pytest.mark.data
@pytest.mark.long
def test_10_and_in_sentences_of_a_treebank(data):
    with gzip.open(data / "gum" / "en_gum-open-dev.conllu.gz", "rt", encoding="utf-8") as lines:
        texts = [line.removeprefix("# text = ").strip() for line in lines if line.startswith("# text = ")]
    check_not_and_now([text for text in texts if 30 <= len(text) <= 200])
