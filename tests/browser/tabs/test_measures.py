"""Norms, gates, geometry and the corpus in the page: what is drawn is what Python computes."""

from __future__ import annotations

import re

import numpy as np
import pytest
from playwright.sync_api import expect

import bertlens as bl
from bertlens.base import colors
from bertlens.measures import gates, geometry, norms, spectra
from bertlens.survey.similar_texts import similar_texts as among
from bertlens.survey.text_statistics import text_statistics
from browser.views import number, rows_of, shown, signed

HEAD = {"layer": 1, "head": 8}


def nearest_entry(pixels: np.ndarray, scale: str) -> np.ndarray:
    """The table entry of every pixel; entries of one colour count as the first of them."""
    table = colors.table(scale, "light").astype(int)
    return np.abs(pixels[..., None, :].astype(int) - table).sum(-1).argmin(-1)


def test_measure_switch_shows_the_norm(show, pair):
    seen = show(bl.Explorer(pair, **HEAD, query=3))
    seen.shows("Norm ‖αf(x)‖")
    expect(seen.part("norm-strip")).to_be_visible()
    seen.settled()  # the list is drawn a frame after the head
    expected = norms.weighted_norm(pair, 1)[8].numpy()
    listed = seen.listed()
    order = np.argsort(-expected[3], kind="stable")[: len(listed)]
    assert [token for token, _ in listed] == [pair.tokens[j] for j in order]
    np.testing.assert_allclose([value for _, value in listed], expected[3][order], atol=6e-4)
    expect(seen.region("Head view").locator(".bl-legend").first).to_contain_text(shown(expected.max()))
    entries = nearest_entry(seen.matrix(), "weight")
    assert np.abs(entries - np.round(255 * expected / expected.max())).max() <= 2


def test_one_large_weight_does_not_pale_a_long_map(show, embedded_lens):
    trace = embedded_lens.trace("The cat sat on the mat because it was tired, said the old man. " * 5)
    rows = trace.attention(0).amax(-1)  # (H, S)
    tops = 2 * rows.sort(-1).values[:, trace.n_tokens // 2]
    head = int((rows.amax(-1) / tops).argmax())
    top, most = float(tops[head]), float(rows[head].amax())
    assert trace.n_tokens > 64 and most > 1.5 * top
    seen = show(bl.HeadView(trace, layer=0, head=head))
    expect(seen.root.locator(".bl-legend").first).to_contain_text(shown(top))
    expect(seen.root.locator(".bl-legend").first).to_contain_text(f"larger ones alike (up to {shown(most)})")
    expected = np.clip(255 * trace.attention(0)[head].numpy() / top + 0.5, 0, 255).astype(int)
    table = colors.table("weight", "light").astype(int)
    assert np.abs(seen.matrix().astype(int) - table[expected]).max() <= np.abs(np.diff(table, axis=0)).max()


def test_norm_strip_gives_each_keys_norm(show, pair):
    seen = show(bl.HeadView(pair, **HEAD, measure="norm"))
    strip = seen.part("norm-strip")
    box = strip.bounding_box()
    strip.hover(position={"x": 4.5 * box["width"] / pair.n_tokens, "y": 5})
    expect(seen.tip).to_contain_text(shown(float(norms.transformed_norm(pair, 1)[8, 4])))


def test_difference_is_signed_and_sums_to_nothing(show, pair):
    seen = show(bl.HeadView(pair, **HEAD, measure="difference", query=3))
    expect(seen.part("norm-strip")).to_be_visible()
    passed_on = norms.weighted_norm(pair, 1)[8]
    expected = (pair.attention(1)[8] - passed_on / passed_on.sum(-1, keepdim=True)).numpy()
    most = np.abs(expected).max()
    expect(seen.root.locator(".bl-legend").first).to_contain_text(signed(-most, 3))
    first = seen.part("row-list").locator("li").first
    j = np.abs(expected[3]).argmax()
    expect(first).to_contain_text(f"{'+' if expected[3][j] > 0 else ''}{signed(expected[3][j], 3)}")
    texts = seen.part("row-list").locator("li .bl-number").all_inner_texts()
    rest = re.search(r"others ([+−]?\d[.]\d{3})", seen.part("row-list").inner_text())
    assert rest and abs(sum(number(text) for text in [*texts, rest[1]])) < 6e-4 * (len(texts) + 1)
    entries = nearest_entry(seen.matrix(), "signed")
    clear = np.abs(expected) > 0.03 * most  # both entries in the middle have one colour
    assert np.abs(entries - (127.5 + 127.5 * expected / most))[clear].max() <= 2


def test_atlas_follows_the_measure(show, pair):
    seen = show(bl.HeadAtlas(pair, **HEAD, measure="norm"))
    expect(seen.region("Atlas of heads").locator("header")).to_contain_text("‖αf(x)‖")
    picture = seen.pixels(seen.thumb(0, 5).locator("img:visible"))[..., :3]
    expected = norms.weighted_norm(pair, 0)[5].numpy()
    assert np.abs(nearest_entry(picture, "weight") - np.round(255 * expected / expected.max())).max() <= 2


def test_gate_view_scores_and_evidence(show, pair):
    seen = show(bl.GateView(pair, layer=0, head=2))
    expect(
        seen.root.get_by_role("heading", name=f"L0·H2: backward contextual at {pair.n_tokens} tokens", exact=True)
    ).to_be_visible()
    for view, place in (("full", pair.n_tokens), ("content", sum(not s for s in pair.encoding.special))):
        seen.choice("view", view.capitalize()).click()
        expect(seen.part("gates")).to_contain_text(f"{view} view, at {place} tokens")
    content_label = gates.classify(pair, "content")["label"][2]
    expect(seen.part("gates")).to_contain_text(f"without special tokens: {content_label} at {place} tokens")
    seen.choice("view", "Full").click()
    scores = gates.scores(pair.attention(0), pair.special_mask, pair.segments)
    for name in gates.GATES:
        row = seen.part("gates").get_by_role("row", name=re.compile(rf"^\S+ {name} "))
        assert row.get_by_role("cell").first.inner_text() == f"{float(scores[name][2]):.2f}"
    expect(seen.part("gates")).to_contain_text("Bonino et al. 2025")


def test_evidence_map_names_and_pins_its_cells(show, pair):
    seen = show(bl.Explorer(pair, layer=0, head=2, view="gates"))
    chart = seen.part("gates").locator("svg.bl-chart")
    expect(chart.locator("text")).to_have_count(2 * pair.n_tokens)
    assert chart.locator("text").all_text_contents() == pair.tokens * 2
    cells = chart.locator("rect")
    box = cells.bounding_box()
    at = {"x": 1.5 * box["width"] / pair.n_tokens, "y": 2.5 * box["height"] / pair.n_tokens}
    cells.hover(position=at)
    expect(seen.tip).to_contain_text(f"{pair.tokens[2]} → {pair.tokens[1]} {shown(pair.attention(0)[2, 2, 1])} counts")
    cells.hover(position=at | {"x": 2.5 * box["width"] / pair.n_tokens})
    expect(seen.tip).to_contain_text("does not count")
    cells.click(position=at)
    expect(seen.root).to_contain_text(f"{pair.tokens[2]} looks at")
    svg = seen.save("SVG", "Open tab").read_text()
    assert "Attention of L0·H2" in svg and "data:image/png" in svg


def test_geometry_view_is_the_layer_table(show, pair):
    seen = show(bl.GeometryView(pair, **HEAD))
    table = geometry.layer_table(pair)
    view = seen.part("geometry")
    for layer in range(pair.n_layers):
        title = view.locator("svg title", has_text=f"L{layer}, heads:")
        assert title.text_content() == f"L{layer}, heads: {table.cone_heads[layer]:.3f}"
    row = view.locator("table", has_text="kurtosis").locator("tbody tr").nth(2)
    expect(row).to_contain_text(signed(table.mlp_cosine[2]))
    counts = geometry.norm_histograms(pair, 1, 8).counts
    bars = view.locator("svg", has_text="‖context‖").locator("rect title").all_text_contents()
    assert sum(int(text.split(": ")[1].split()[0]) for text in bars) == sum(int(c.sum()) for c in counts.values())


def test_pages_carry_ranks_and_say_what_evidence_they_lack(show_saved, pair, embedded_lens):
    ranks = spectra.layer_spectra(pair, 1).pivot(index="head", columns="of", values="effective_rank")
    seen = show_saved(bl.GeometryView(pair, **HEAD))
    row = seen.part("geometry").get_by_role("row", name=re.compile("^H8"))
    for name in ("query", "key", "value", "context"):
        expect(row).to_contain_text(signed(ranks[name][8]))
    titles = seen.part("geometry").locator("svg[aria-label='Spectra of L1·H8'] title").all_text_contents()
    weights = spectra.weights_table(embedded_lens).query("layer == 1").set_index("head")
    for name in ("overlap", "overlap_others", "directionality"):
        expect(row).to_contain_text(signed(weights[name][8]))
    last = seen.part("geometry").get_by_role("row", name=re.compile("^all")).inner_text().split()
    assert last[-4:] == [signed(weights["symmetry"]["all"]), signed(weights["directionality"]["all"]), "–", "–"]
    expect(seen.part("geometry")).to_contain_text(f"random subspaces overlap by {32 / 384:.2f}")
    found = seen.part("directionality").inner_text()
    limits = [signed(spectra.directionality_chance(*size)) for size in ((32, 384), (384, 384))]
    heads = weights.drop("all")["directionality"].abs()
    inside = int((heads <= spectra.directionality_chance(32, 384)).sum())
    assert f"±{limits[0]} for a head and ±{limits[1]} for all heads" in found
    assert f"{inside} of 12 heads lie inside, of as many random ones 11.4 would" in found
    chart = seen.part("geometry").locator("svg[aria-label='Directionality of layer 1']")
    box, edge = chart.locator("rect").first.bounding_box(), chart.locator("line")
    top, bottom = (edge.nth(n).bounding_box()["y"] for n in (-1, 0))  # 1 and −1
    share = spectra.directionality_chance(32, 384)
    assert box["height"] / (bottom - top) == pytest.approx(share, abs=0.02)
    assert box["y"] + box["height"] / 2 == pytest.approx((top + bottom) / 2, abs=2)
    values = np.linalg.svd(pair.attention(1)[8].double().numpy(), compute_uv=False)
    found = [float(text.split(": ")[1].split()[0]) for text in titles if text.startswith("α")]
    assert found == pytest.approx(values / values[0], rel=5e-3, abs=1e-6)
    long = embedded_lens.trace("The cat sat on the mat. " * 12)
    expect(show_saved(bl.GateView(long, **HEAD)).part("gates")).to_contain_text(
        "Which cells count is not known. This needs the model, which a saved page does not hold."
    )


def test_questions_without_an_answer_say_why_and_tabs_without_data_are_not_there(show, pair):
    given = bl.Trace.from_attentions([pair.attention(layer) for layer in range(2)], pair.tokens)
    seen = show(bl.Explorer(given))
    for name, has in (("Neurons", False), ("Gates", True), ("Table", True)):
        seen.open_tab(name)
        expect(seen.region("Details").get_by_text(re.compile("^Only attention weights"))).to_have_count(0 if has else 1)
    for name in ("Corpus", "Weight against norm", "Geometry"):
        expect(seen.tab(name)).to_have_count(0)
    assert seen.root.get_by_role("group", name="measure").count() == 0
    with pytest.raises(bl.ModelError, match="attention weights"):
        bl.NormView(given)
    with pytest.raises(bl.ModelError, match="attention weights"):
        bl.GeometryView(given)


PAIRS = [
    (one, two)
    for one in (
        "A dog ran because it was late.",
        "Nobody sings so early, not birds.",
        "The old bell rang at nine, twice.",
    )
    for two in ("It barked, and then it slept.", "The train left at ten past four.", "Snow fell on the old roof.")
]


@pytest.fixture(scope="module")
def survey(embedded_lens):
    """Statistics, distances and a made-up table of relations; nine pairs as long as `pair`, longer ones, texts."""
    import pandas as pd

    texts = [*PAIRS]
    texts += ["The cat sat on the mat.", "Nobody knows why birds sing so early."]
    texts += [(one * 3, two * 3) for one, two in PAIRS[:4]]
    stats = bl.survey.head_stats(embedded_lens, texts, progress=False)
    distances = bl.survey.head_distances(embedded_lens, texts, progress=False)
    relations = pd.DataFrame(
        [
            {
                "relation": "det",
                "direction": "dep->head",
                "layer": 1,
                "head": 8,
                "accuracy": 0.8,
                "n": 9,
                "offset_accuracy": 0.5,
            },
            {
                "relation": "det",
                "direction": "dep->head",
                "layer": 2,
                "head": 1,
                "accuracy": 0.3,
                "n": 9,
                "offset_accuracy": 0.5,
            },
        ]
    )
    return {"stats": stats, "distances": distances, "relations": relations}


def said_of(own):
    """How many flags texts nearest in length have, as the tab says it; to be filled with mean and most."""
    ends = f"{own.shortest}" if own.shortest == own.longest else f"{own.shortest} to {own.longest}"
    return (
        f"the corpus’s own of {ends} tokens have {{}} on average, and 9 of 10 of them at most {{:.0f}} "
        f"(n = {own.texts.max()})"
    )


def test_corpus_tab_compares_the_sentence_with_the_corpus(show, pair, survey, embedded_lens):
    seen = show(bl.Explorer(pair, **HEAD, view="survey", **survey))
    view = seen.part("survey")
    stats = survey["stats"]
    alike = [embedded_lens.trace(*texts) for texts in PAIRS]
    cell = view.get_by_role("button", name=re.compile("^L0·H2:"))
    expect(cell).to_have_attribute("aria-label", f"L0·H2: {signed(stats.values('previous')[0, 2], 3)}")
    seen.select("statistic").select_option("next")
    expect(view.get_by_role("button", name=re.compile("^L1·H8:"))).to_have_attribute(
        "aria-label", f"L1·H8: {signed(stats.values('next')[1, 8], 3)}"
    )
    here = float(pair.attention(1)[8].diagonal(1).sum() / pair.n_tokens)
    some = stats.of_length(pair.n_tokens, 2)
    assert some.n_texts == len(PAIRS)  # not the longer pairs, not the texts
    low, high = some.provenance["lengths"][1:]
    said = f"{some.n_texts} pairs of {low} to {high} tokens"
    expect(view).to_contain_text(f"L1·H8: this text (◆) of {pair.n_tokens} tokens among the {said}")
    story = view.locator(".bl-story")
    expect(story).to_contain_text(f"{signed(here)} {signed(some.values('next')[1, 8])}")
    table = bl.survey.story(stats, pair)
    rows = table[(table["layer"] == 1) & (table["head"] == 8)].set_index("statistic")
    counted = rows[rows["counted"] & (rows["value"] - rows["mean"]).notna()]
    own = among(stats, pair, text_statistics(pair)).expected
    mean, most = own.heads[:, 1, 8]
    usual = said_of(own)
    expect(view.get_by_test_id("flags")).to_contain_text(
        f"{counted['unusual'].sum()} of {len(counted)} statistics unusual beside {said}; "
        f"{usual.format(signed(mean, 1), most)}"
    )
    flagged = [text.count("unusual") for text in story.locator("> .bl-number").all_text_contents()]
    assert sum(flagged) == rows["unusual"].sum()
    lower = int((np.array([row.attention(1)[8].diagonal(1).sum() / row.n_tokens for row in alike]) < here).sum())
    assert rows.loc["next"][["lower_least", "lower_most"]].tolist() == [lower, lower]
    expect(view.get_by_test_id("rank")).to_contain_text(f"{lower} of {some.n_texts} pairs of this length lie")
    gates = some.gates().iloc[12 + 8]
    often = "mostly" if gates["share"] > 0.5 else "most often"
    expect(view).to_contain_text(f"{often} {gates['label']}, in {round(100 * gates['share'])} % of {said}")
    bars = view.locator(f"svg[aria-label*='in the {said}'] rect title").all_text_contents()
    _, counts = some.distribution("next")
    assert sorted(int(text.split(": ")[1].split()[0]) for text in bars) == sorted(n for n in counts[1, 8] if n)
    view.get_by_role("button", name="Tokens", exact=True).click()
    expect(view.get_by_role("button", name=re.compile("^L1·H8:"))).to_have_attribute(
        "aria-label", f"L1·H8: {signed(stats.values('next', average='token')[1, 8], 3)}"
    )
    view.get_by_role("button", name="Difference", exact=True).click()
    expect(view.get_by_role("button", name=re.compile("^L1·H8:"))).to_have_attribute(
        "aria-label", f"L1·H8: {signed(here - some.values('next')[1, 8], 3)}"
    )
    seen.select("show").select_option("cone")
    chart = view.locator("svg[aria-label='I/n, layer by layer']")
    cones = stats.layers("token")["cone output"]
    assert [title for title in chart.locator("title").all_text_contents() if "output" in title] == [
        f"L{layer}, output: {signed(value, 3)}" for layer, value in enumerate(cones)
    ]
    cell.click()
    seen.title("L0·H2")
    cell.press("ArrowRight")
    seen.title("L0·H3")
    view.get_by_role("row", name=re.compile("det")).get_by_role("button", name="L1·H8").click()
    seen.title("L1·H8")


def test_map_of_heads_says_how_far_it_lies(show, pair, survey):
    """Stress in words, the nearest heads by divergence on hover and in a line, every layer with a look of its own."""
    seen = show(bl.SurveyView(pair, **HEAD, **survey))
    view = seen.part("survey")
    distances, attrs = survey["distances"], bl.survey.head_map(survey["distances"], 12).attrs
    trust = seen.part("map-trust")
    expect(trust).to_contain_text(
        f"Stress {attrs['stress']:.2f}: drawn distances are off by {attrs['stress']:.0%}"[:-1]
    )
    expect(trust).to_contain_text(f"for {attrs['nearest_kept']} of 72 heads")

    def nearest(at):
        others = [(distances[at, n], n) for n in range(72) if n != at]
        return ", ".join(f"L{n // 12}·H{n % 12} ({signed(d, 3)})" for d, n in sorted(others)[:3])

    expect(trust).to_contain_text(f"L1·H8 to its nearest by distance, {nearest(20)}")
    view.locator("[data-map-head='4-5']").hover(force=True)
    expect(seen.root.locator(".bl-tip")).to_contain_text(f"nearest by distance: {nearest(53)}")
    heads = view.locator("[data-map-head]")
    looks = heads.evaluate_all(
        "all => all.map(one => [one.dataset.mapHead.split('-')[0], one.getAttribute('fill'),"
        " one.getAttribute('d').replace(/[-0-9. e]/g, '')])"
    )
    of_layer = {layer: (fill, shape) for layer, fill, shape in looks}
    assert all(of_layer[layer] == (fill, shape) for layer, fill, shape in looks)
    assert len({fill for fill, _ in of_layer.values()}) == 6
    expect(view.get_by_role("list", name="Layers").get_by_role("listitem")).to_have_text([f"L{n}" for n in range(6)])
    view.get_by_role("group", name="colour").get_by_role("button", name="previous token").click()
    assert len({*heads.evaluate_all("all => all.map(one => one.getAttribute('fill'))")}) > 6


def test_syntax_table_says_what_its_accuracy_is(show, pair, survey):
    """Held out with interval and stability, or flattered: the table says which of the two it has."""
    table = survey["relations"]
    flattered = show(bl.SurveyView(pair, **HEAD, **survey)).part("survey")
    expect(flattered).to_contain_text("% of words right in the sentences that it was chosen on: flattered")
    held_out = table.iloc[:1].assign(low=0.5123, high=0.94, stable=0.66)
    seen = show(bl.SurveyView(pair, **HEAD, **(survey | {"relations": held_out})))
    expect(seen.part("survey")).to_contain_text("% of words right in sentences that it was not chosen on")
    row = seen.part("survey").get_by_role("table", name="Syntax").get_by_role("row", name=re.compile("det"))
    assert row.locator("td").all_text_contents()[2:] == ["80.0", "51.2", "94.0", "66.0", "50.0", "30.0", "9"]


def test_parse_shows_gold_and_predicted_arcs(show, embedded_lens, survey):
    from bertlens.survey.syntax import predicted_words, word_attention

    sentence = bl.survey.Sentence(
        ["The", "unbelievably", "small", "cat", "sat"], [3, 2, 3, 4, -1], ["det", "advmod", "amod", "nsubj", "root"]
    )
    trace = embedded_lens.trace_words(sentence.words)
    seen = show(bl.SurveyView(trace, survey["stats"], sentence=sentence, **HEAD))
    parse = seen.part("parse")
    for direction, label in enumerate(["word → its head", "head → the word"]):
        parse.get_by_role("button", name=label).click()
        found = predicted_words(word_attention(trace, 1, 5))[direction, 8].tolist()
        right = sum(a == b for a, b in zip(found, sentence.heads, strict=True))
        expect(parse).to_contain_text(f"L1·H8, {right} of 5 words right")
        titles = parse.locator("path title").all_text_contents()
        assert titles[:4] == [
            f"{sentence.words[w]} ← {sentence.words[h]}: {sentence.relations[w]}" for w, h in enumerate([3, 2, 3, 4])
        ]
        assert [text.split(":")[0] for text in titles[4:]] == [
            f"{sentence.words[w]} ← {sentence.words[h]}" for w, h in enumerate(found)
        ]
    other = show(bl.SurveyView(embedded_lens.trace("Dogs bark."), survey["stats"], sentence=sentence))
    expect(other.part("survey")).to_be_visible()
    expect(other.part("parse")).to_have_count(0)


def test_corpus_tab_exports_charts_and_numbers(show, pair, survey):
    seen = show(bl.Explorer(pair, **HEAD, view="survey", **survey))
    seen.select("statistic").select_option("next")
    svg = seen.save("SVG", "Open tab").read_text()
    assert "next token of L1·H8 in the 9 pairs of" in svg  # what is chosen, not what the tab begins with
    assert "Map of heads" in svg
    rows = rows_of(seen.save("CSV", "Open tab"))
    stats = survey["stats"]
    some = stats.of_length(pair.n_tokens, 2)
    for column, expected in (
        ("next_by_weight_mean_of_texts", stats.values("next")),
        ("entropy_by_norm_mean_of_tokens", stats.values("entropy", "norm", "token")),
        ("self_by_weight_sd_at_this_length", some.spread("self")),
        ("next_by_norm_mean_at_this_length", some.values("next", "norm")),
    ):
        np.testing.assert_allclose([float(row[column]) for row in rows], expected.ravel(), rtol=1e-5, atol=1e-7)


def test_domains_as_strip_and_units(show):
    lens = bl.Lens.sars_cov_2()
    gene = lens.tokenizer.vocabulary.reference_sequence
    trace = lens.trace(gene)
    seen = show(bl.HeadView(trace, units="spans"))
    spans = lens.tokenizer.annotate(gene, trace.n_tokens).spans
    labels = seen.row_labels()
    assert [label for label in labels if not label.startswith("[")] == [name for name, _, _ in spans]
    start, end = next((a, b) for name, a, b in spans if name == "RBD")
    row = labels.index("RBD")
    seen.root.locator(".bl-row-label", has_text="RBD").last.click()
    expected = float(trace.attention(0)[0][start:end, start:end].sum(-1).mean())
    assert row > 0
    expect(seen.part("row-list")).to_contain_text(shown(expected))
