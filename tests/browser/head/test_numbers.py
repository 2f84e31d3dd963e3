"""What the page prints and paints equals an eager transformers run, to the printed digits.

The reference takes nothing from bertlens: its own model with eager attention, queries and keys from forward hooks.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import torch
from playwright.sync_api import expect

import bertlens as bl
from bertlens.base import colors
from bertlens.model import offline_model
from browser.views import TEXTS, number, shown, signed

pytestmark = pytest.mark.usefixtures("neurons_open")

LAYER, HEAD, QUERY, KEY = 1, 8, 3, 4  # sat -> on


@dataclass
class Eager:
    """One pass of the model as transformers computes it: per layer q, k (H, S, d) and attention (H, S, S)."""

    q: list[torch.Tensor]
    k: list[torch.Tensor]
    attention: list[torch.Tensor]

    def scores(self, layer: int, head: int) -> torch.Tensor:
        q, k = self.q[layer][head].double(), self.k[layer][head].double()
        return q @ k.T / q.shape[-1] ** 0.5


@pytest.fixture(scope="module")
def eager(embedded_lens) -> Any:
    from transformers import AutoModel, AutoTokenizer

    folder = offline_model.folder()
    model = AutoModel.from_pretrained(folder, attn_implementation="eager").eval()
    inputs = AutoTokenizer.from_pretrained(folder)(*TEXTS, return_tensors="pt", padding=False, truncation=False)
    found: dict[str, list[torch.Tensor]] = {"query": [], "key": []}
    for layer in model.encoder.layer:
        for name, kept in found.items():
            module = getattr(layer.attention.self, name)
            module.register_forward_hook(lambda _m, _i, output, kept=kept: kept.append(output[0]))
    with torch.no_grad():
        attention = model(**inputs, output_attentions=True).attentions
    heads = model.config.num_attention_heads
    q, k = ([x.unflatten(-1, (heads, -1)).transpose(0, 1) for x in found[name]] for name in ("query", "key"))
    return Eager(q, k, [layer[0] for layer in attention])


def digits(printed: str, value: float, places: int) -> None:
    """The printed number is `value` rounded to so many places; 2e-5 for float32 on the way."""
    assert abs(number(printed) - float(value)) <= 0.5 * 10**-places + 2e-5, (printed, float(value))
    assert re.fullmatch(rf"[−+]?\d+\.\d{{{places}}}", printed)


def test_neuron_view_scores_and_alpha(show, pair, eager):
    seen = show(pair.explore(layer=LAYER, head=HEAD, query=QUERY, key=KEY))
    seen.check("all keys").check()
    scores, alpha = seen.numbers("score"), seen.numbers("alpha")
    assert sorted(scores) == sorted(alpha) == list(range(21))
    for key in range(21):
        digits(scores[key], eager.scores(LAYER, HEAD)[QUERY, key], 2)
        digits(alpha[key], eager.attention[LAYER][HEAD, QUERY, key], 3)


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("layer", "head", "query", "key"), [(1, 8, 3, 4), (0, 2, 4, 3), (5, 11, 14, 0), (3, 0, 20, 20)]
)
def test_formula_line(show, pair, eager, layer, head, query, key):
    seen = show(pair.explore(layer=layer, head=head, query=query, key=key))
    text = seen.part("formula").inner_text().replace("\n", "")
    found = re.search(
        r"q·k = (\S+) → ÷ √32 = (\S+) → softmax over 21 keys: e(\S+?)(?: − (\S+))? / (\S+) = (\S+)$", text
    )
    assert found is not None, text
    scores = eager.scores(layer, head)[query]
    digits(found[1], scores[key] * 32**0.5, 2)
    digits(found[2], scores[key], 2)
    digits(found[3], scores[key], 2)
    shift = 0.0
    if found[4]:  # the largest score, where powers would be huge
        shift = float(scores.max())
        digits(found[4], shift, 2)
    assert float(found[5]) == pytest.approx(float((scores - shift).exp().sum()), rel=6e-4)  # four figures
    digits(found[6], eager.attention[layer][head, query, key], 3)
    assert seen.part("formula-alpha").inner_text() == found[6]


def test_contrast_and_the_neurons_that_carry_it(show, pair, eager):
    """n80: least number of neurons, largest first, whose sum reaches 80 % of the net contrast."""
    seen = show(pair.explore(layer=LAYER, head=HEAD, query=QUERY, key=KEY))
    q, k = eager.q[LAYER][HEAD].double(), eager.k[LAYER][HEAD].double()
    others = [j for j in range(21) if j != KEY]
    parts = q[QUERY] * (k[KEY] - k[others].mean(dim=0)) / 32**0.5
    carried = parts.sort(descending=True).values.cumsum(0)
    n80 = int((carried < 0.8 * parts.sum()).sum()) + 1
    token = pair.display_tokens[KEY]
    expect(seen.part("contrast").locator("p")).to_contain_text(f"{n80} of the 32 neurons make “{token}” stand out.")
    seen.part("contrast").locator("summary").click()
    expect(seen.part("contrast")).to_contain_text("at random")
    text = seen.part("contrast").text_content() or ""
    found = re.search(r"contrast (\S+)\)", text)
    assert found is not None
    digits(found[1], parts.sum(), 2)
    chance = re.search(r"at random need (\d+) \((\d+) to (\d+) in 90 %\) for a key at place (\d+) of 21", text)
    assert chance is not None, text
    scores = k @ q[QUERY]
    rank = int((scores > scores[KEY]).sum())
    assert int(chance[4]) == rank + 1
    random = np.random.default_rng(4)
    sizes = []
    for _ in range(4000):  # whole random heads
        one, many = random.standard_normal(32), random.standard_normal((21, 32))
        at = np.argsort(-(many @ one))[rank]
        terms = one * (many[at] - np.delete(many, at, 0).mean(0))
        if terms.sum() > 0:
            sizes.append(int((np.sort(terms)[::-1].cumsum() < 0.8 * terms.sum()).sum()) + 1)
    for printed, share in zip((chance[2], chance[1], chance[3]), (0.05, 0.5, 0.95), strict=True):
        assert np.quantile(sizes, share - 0.03) <= int(printed) <= np.quantile(sizes, share + 0.03)
    made = re.search(
        r"would be (\S+) \(it is (\S+)\); with the others alone (\S+)\..* at random the weight would be (\S+)\. ", text
    )
    assert made is not None, text
    order = parts.argsort(descending=True)
    for printed, neurons in zip(made.groups()[:3], (order[:n80], order, order[n80:]), strict=True):
        weight = (k[:, neurons] @ q[QUERY, neurons] / 32**0.5).softmax(0)[KEY]
        digits(printed, weight, 3)
    lots = [torch.from_numpy(random.permutation(32)[:n80]) for _ in range(2000)]
    drawn = torch.stack([(k[:, lot] @ q[QUERY, lot] / 32**0.5).softmax(0)[KEY] for lot in lots])
    assert abs(float(made[4]) - float(drawn.mean())) < 0.4 * float(drawn.std()) + 0.001
    assert f"{n80} neurons = 80 %" in seen.part("neurons").inner_text()


def test_head_list_and_tooltip(show, pair, eager):
    seen = show(bl.HeadView(pair, layer=LAYER, head=HEAD, query=QUERY))
    row = eager.attention[LAYER][HEAD, QUERY]
    best = [j for j in row.argsort(descending=True, stable=True)[:8].tolist() if round(float(row[j]), 3) > 0]
    for (token, printed), j in zip(seen.listed(), best, strict=True):
        assert token == pair.display_tokens[j]
        digits(shown(printed), row[j], 3)
    for i, j in ((0, 0), (7, 12), (20, 20)):
        seen.at_cell(i, j, "hover")
        digits(seen.tip.locator("b").inner_text(), eager.attention[LAYER][HEAD, i, j], 3)


def test_table_prints_scores_and_weights(show, pair, eager):
    seen = show(pair.explore(layer=LAYER, head=HEAD, query=QUERY, view="table"))
    rows = seen.part("table").locator("tbody tr")
    expect(rows).to_have_count(21)
    for _, key, score, weight in rows.evaluate_all("all => all.map(row => [...row.cells].map(one => one.textContent))"):
        j = int(key.split()[-1])
        digits(score, eager.scores(LAYER, HEAD)[QUERY, j], 3)
        digits(weight, eager.attention[LAYER][HEAD, QUERY, j], 3)


def colored(values, lo, hi, scale, theme):
    """Which colours a value may have: its own, or a neighbour's if float32 rounds it across the border."""
    table = colors.table(scale, theme)
    at = lambda v: np.clip(np.floor(255 * (v - lo) / (hi - lo) + 0.5), 0, 255).astype(int)  # noqa: E731
    values = np.asarray(values, dtype=float)
    return [table[at(values + slack)] for slack in (-2e-5, 0.0, 2e-5)]


def assert_painted(image, values, lo, hi, scale="weight", theme="light"):
    allowed = [(image == wanted).all(axis=-1) for wanted in colored(values, lo, hi, scale, theme)]
    assert np.any(allowed, axis=0).all()


@pytest.mark.sampled(2)
@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize(("layer", "head"), [(1, 8), (4, 5)])
def test_matrix_pixels(show, pair, eager, layer, head, theme):
    seen = show(bl.HeadView(pair, layer=layer, head=head, theme=theme))
    weights = eager.attention[layer][head].numpy()
    assert_painted(seen.matrix(), weights, 0, weights.max(), theme=theme)
    legend = seen.root.locator(".bl-legend")
    digits(legend.locator(".bl-number").last.inner_text(), weights.max(), 3)
    assert (seen.pixels(legend.locator("canvas"))[0, :, :3] == colors.table("weight", theme)).all()


def test_matrix_pixels_after_head_change_are_the_new_heads(show, pair, eager):
    seen = show(pair.explore(layer=1, head=8))
    seen.thumb(3, 11).click()
    seen.title("L3·H11")
    weights = eager.attention[3][11].numpy()
    assert_painted(seen.matrix(), weights, 0, weights.max())


@pytest.mark.parametrize("common", [False, True])
def test_thumbnails(show, pair, eager, common):
    """Every head's thumbnail is its attention, on its own scale or on 0 to 1; 21 tokens need no pooling."""
    seen = show(bl.HeadAtlas(pair))
    if common:
        seen.check("one scale").check()
    table = colors.table("weight", "light").astype(int)
    for layer, head in ((0, 2), (1, 8), (5, 11)):
        weights = eager.attention[layer][head].numpy()
        image = seen.pixels(seen.thumb(layer, head).locator("img"))[..., :3].astype(int)
        assert image.shape[:2] == (21, 21)
        entry = 255 * weights / (1 if common else weights.max())
        near = [np.clip(np.round(entry + slack), 0, 255).astype(int) for slack in (-0.51, 0, 0.51)]
        assert np.any([(image == table[n]).all(axis=-1) for n in near], axis=0).all()


def strip(seen, label):
    return seen.pixels(seen.part("neurons").get_by_role("img", name=re.compile(label)))[..., :3]


def test_neuron_strips_are_q_k_and_their_products(show, pair, eager):
    """One scale for q and k, one for the products, symmetric about zero; rows of keys are 11 pixel lines high."""
    seen = show(pair.explore(layer=LAYER, head=HEAD, query=QUERY, key=KEY))
    seen.check("all keys").check()
    seen.select("neurons").select_option("index")
    q, k = eager.q[LAYER][HEAD].numpy(), eager.k[LAYER][HEAD].numpy()
    largest = max(abs(q[QUERY]).max(), abs(k).max())
    products = q[QUERY] * k
    assert_painted(strip(seen, "^Query vector")[0], q[QUERY], -largest, largest, "signed")
    assert_painted(strip(seen, "^Key vectors")[::11], k, -largest, largest, "signed")
    most = abs(products).max()
    assert_painted(strip(seen, "^Products")[::11], products, -most, most, "signed")
    low, high, low2, high2 = seen.part("neurons").locator(".bl-legends .bl-number").all_inner_texts()
    assert [low, high] == [signed(-largest), f"+{signed(largest)}"]
    assert [low2, high2] == [signed(-most), f"+{signed(most)}"]


def test_neuron_bars_are_as_long_as_their_numbers(show, pair, eager):
    seen = show(pair.explore(layer=LAYER, head=HEAD, query=QUERY, key=KEY))
    seen.check("all keys").check()
    parts = (
        seen.part("neurons")
        .locator(".bl-bar-track > span")
        .evaluate_all(
            "all => all.map(bar => bar.getBoundingClientRect().width / bar.parentElement.getBoundingClientRect().width)"
        )
    )
    assert parts == pytest.approx(eager.attention[LAYER][HEAD, QUERY].tolist(), abs=0.02)


@pytest.mark.parametrize("renormalize", [False, True])
def test_hidden_special_tokens(show, pair, eager, renormalize):
    seen = show(bl.HeadView(pair, layer=LAYER, head=HEAD, hide_special=True, renormalize=renormalize, query=QUERY))
    left = [n for n in range(21) if n not in (0, 12, 20)]
    assert seen.shape() == (18, 18)
    block = eager.attention[LAYER][HEAD].double().numpy()[np.ix_(left, left)]
    if renormalize:
        block = block / block.sum(axis=1, keepdims=True)
    assert_painted(seen.matrix(), block, 0, block.max())
    hidden = f"{shown(1 - block[left.index(QUERY)].sum())} goes to words not shown"
    expect(seen.part("row-list")).to_contain_text("rows scaled to 1" if renormalize else hidden)  # a frame later
    note = seen.part("row-list").inner_text()
    assert ("rows scaled to 1" in note) is renormalize
    assert (hidden in note) is not renormalize
