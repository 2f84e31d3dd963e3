"""Every picture as a table with row headers, and the parts of the tabs on grids without holes."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from playwright.sync_api import Locator, expect

import bertlens as bl
from bertlens.measures import gates, norms
from browser.views import Seen, number

CELL = {"layer": 1, "head": 8, "query": 3, "key": 4}
PICTURES = """root => [...root.querySelectorAll("[role=tabpanel] svg.bl-chart[role=img], [role=tabpanel] canvas")]
    .filter(one => one.checkVisibility() && !one.closest(".bl-legend")).length"""


@pytest.fixture(scope="module")
def corpus(embedded_lens):
    """Statistics and distances of eight texts, and a parsed sentence whose arcs are drawn."""
    texts = [f"The {a} {b} on the old {c}." for a in ("cat", "dog") for b in ("sat", "lay") for c in ("mat", "rug")]
    return {
        "stats": bl.survey.head_stats(embedded_lens, texts, progress=False),
        "distances": bl.survey.head_distances(embedded_lens, texts, progress=False),
    }


def as_tables(seen: Seen) -> list[Locator]:
    seen.check("as tables").check()
    expect(seen.region("Details").get_by_role("table").first).to_be_visible()
    return seen.region("Details").get_by_role("tabpanel").get_by_role("table").all()


def rows(table: Locator) -> list[list[str]]:
    """Each row as printed, its header first."""
    found: list[list[str]] = table.evaluate(
        "one => [...one.tBodies[0].rows].map(row => [...row.cells].map(cell => cell.innerText.trim()))"
    )
    return found


def named(seen: Seen, name: str) -> Locator:
    return seen.region("Details").get_by_role("table", name=name, exact=True)


def test_no_picture_is_left_that_is_not_a_table(show, pair, corpus):
    seen = show(bl.Explorer(pair, **CELL, **corpus))
    for tab in ("Neurons", "Why", "Weight against norm", "Gates", "Geometry", "Corpus"):
        pictures_as_tables(seen, tab)


def pictures_as_tables(seen: Seen, tab: str) -> None:
    seen.open_tab(tab)
    seen.page.wait_for_function(
        "() => document.querySelectorAll('[role=tabpanel] :is(svg.bl-chart[role=img], canvas)').length"
    )
    seen.settled()
    before = len(seen.region("Details").get_by_role("tabpanel").get_by_role("table").all())
    pictures = seen.root.evaluate(PICTURES)
    tables = as_tables(seen)
    assert pictures > 0 and seen.root.evaluate(PICTURES) == 0
    assert len(tables) >= before + (1 if tab == "Neurons" else pictures)
    for table in tables:
        assert table.locator("caption").inner_text().strip()
        heads = table.get_by_role("columnheader").all_inner_texts()
        assert len(heads) > 1 and all(text.strip() for text in heads)
        count = table.locator("tbody tr").count()
        assert count == table.get_by_role("rowheader").count() > 0
        assert all(cells[0] for cells in rows(table))
    scrolls = seen.region("Details").locator(".bl-table-scroll")
    assert all(one.get_attribute("tabindex") == "0" and one.get_attribute("aria-label") for one in scrolls.all())
    seen.check("as tables").uncheck()
    assert seen.root.evaluate(PICTURES) == pictures


def test_numbers_of_the_tables_are_those_of_the_measures(show, pair):
    seen = show(pair.explore(**CELL, view="geometry", settings={"tables": True}))
    cone = rows(named(seen, "Cone index through the stream"))
    for layer in range(pair.n_layers):
        stream = pair.layer_input(layer).double()
        unit = stream / stream.norm(dim=-1, keepdim=True)
        assert cone[layer][0] == f"L{layer}"
        assert number(cone[layer][1]) == pytest.approx(float(unit.mean(0).norm()), abs=6e-4)
    spectra = rows(named(seen, "Spectra of L1·H8"))
    for column, vectors in ((1, pair.query(1)[8]), (2, pair.key(1)[8]), (5, pair.attention(1)[8])):
        sigma = np.linalg.svd(vectors.double().numpy(), compute_uv=False)
        printed = [number(line[column]) for line in spectra[: len(sigma)]]
        assert printed == pytest.approx(sigma / sigma[0], abs=6e-4)

    seen.open_tab("Weight against norm")
    points = rows(named(seen, "α against the norm of f(x), L1·H8"))
    alpha, length = pair.attention(1)[8], norms.transformed_norm(pair, 1)[8]
    assert len(points) == 441 and number(points[0][2]) == pytest.approx(float(alpha.max()), abs=6e-4)
    for query, key, weight, norm, passed, _ in points[::40]:
        i, j = (int(text.rsplit("(", 1)[1][:-1]) for text in (query, key))
        assert number(weight) == pytest.approx(float(alpha[i, j]), abs=6e-4)
        assert number(norm) == pytest.approx(float(length[j]), abs=6e-4)
        assert number(passed) == pytest.approx(float(alpha[i, j] * length[j]), abs=6e-4)

    seen.open_tab("Neurons")
    neurons = rows(named(seen, "Neurons of the query and of the keys"))
    heads = named(seen, "Neurons of the query and of the keys").get_by_role("columnheader").all_inner_texts()
    q, k = pair.query(1)[8, 3], pair.key(1)[8]
    on = heads.index("q × k on (4)")
    for line in neurons:
        n = int(line[0].split()[1])
        assert number(line[1]) == pytest.approx(float(q[n]), abs=6e-4)
        assert number(line[on]) == pytest.approx(float(q[n] * k[4, n]), abs=6e-4)


def test_map_with_too_many_cells_gives_its_largest(show, embedded_lens):
    trace = embedded_lens.trace("the cat sat on the mat and the dog lay by the door " * 5)
    seen = show(trace.explore(layer=1, head=8, view="gates", settings={"tables": True}))
    attention = trace.attention(1)[8]
    table = named(seen, "Attention of L1·H8, the cells that made the score in full colour")
    expect(seen.region("Details")).to_contain_text(f"the 100 largest of {attention.numel():,} cells")
    printed = [number(line[2]) for line in rows(table)]
    assert printed == pytest.approx(attention.flatten().sort(descending=True).values[:100].tolist(), abs=6e-4)


def test_atlas_as_a_table_of_its_statistics_by_weight_and_by_norm(show, pair):
    """Every number is that of the rows themselves; a click on a column sorts, one on a head selects it."""
    seen = show(pair.explore(**CELL, view="table"))
    seen.choice("of", "Atlas").click()
    table = named(seen, "All heads")
    expect(table.get_by_role("columnheader", name="entropy (nats) ‖αf(x)‖")).to_be_visible()
    expect(table.get_by_role("columnheader", name="gate", exact=True)).to_be_visible()
    heads = [text.strip(" ▾▴") for text in table.get_by_role("columnheader").all_inner_texts()]
    found = {line[0]: line for line in rows(table)}
    assert len(found) == 72 and found["L1·H8"][1] == "2-9"
    labels = gates.classify(pair).set_index(["layer", "head"])["label"]
    for layer, head in ((0, 2), (1, 8), (5, 11)):
        line = found[f"L{layer}·H{head}"]
        assert line[heads.index("gate")] == labels[layer, head]
        for symbol, share in (("α", pair.attention(layer)[head]), ("‖αf(x)‖", norms.weighted_norm(pair, layer)[head])):
            share = share.double() / share.double().sum(-1, keepdim=True)
            entropy = -(share * share.clamp_min(1e-300).log()).sum(-1).mean()
            assert number(line[heads.index(f"entropy (nats) {symbol}")]) == pytest.approx(float(entropy), abs=6e-3)
            next_one = float(share.diagonal(1).sum() / len(share))  # the last row has no next token
            printed = float(line[heads.index(f"to the next token {symbol}")].rstrip(" %")) / 100
            assert printed == pytest.approx(next_one, abs=0.04)
    expect(table.locator("tr.bl-pinned th")).to_have_text("L1·H8")
    table.get_by_role("button", name="entropy (nats) α").click()
    column = heads.index("entropy (nats) α")
    printed = [number(line[column]) for line in rows(table)]
    assert printed == sorted(printed, reverse=True)
    first = table.get_by_role("rowheader").first
    first.get_by_role("button").click()
    seen.title(first.inner_text())
    expect(table.locator("tr.bl-pinned th")).to_have_text(first.inner_text())
    file = pd.read_csv(seen.save("CSV", "Open tab"), comment="#")
    assert len(file) == 72 and file["head"][0] == "L0·H0" and set(file["gate"]) == set(labels)
    assert {"entropy_nats_weight", "entropy_nats_norm", "gate_of_content_tokens"} <= set(file.columns)


def test_tables_are_kept_with_the_state(show, pair):
    seen = show(pair.explore(**CELL))
    seen.check("as tables").check()
    expect(seen.root.get_by_role("button", name="Back to the selection before")).to_be_visible()
    again = show(pair.explore(**CELL, settings={"tables": True, "table_of": "atlas"}))
    expect(again.check("as tables")).to_be_checked()
    again.open_tab("Table")
    expect(named(again, "All heads")).to_be_visible()


def test_files_have_pictures_whatever_the_screen_has(show, pair):
    seen = show(pair.explore(**CELL, view="geometry", settings={"tables": True}))
    expect(named(seen, "Cone index through the stream")).to_be_visible()
    assert "<path" in seen.save("SVG", "Open tab").read_text(encoding="utf-8")


# The grids

# The largest empty rectangle of the open tab, in steps of 10 px: where nothing is drawn, written or held by a control.
EMPTY = """root => {
    const frame = root.querySelector("[role=tabpanel]").getBoundingClientRect();
    const steps = (length) => Math.max(0, Math.floor(length / 10));
    const [W, H] = [steps(frame.width), steps(frame.height)];
    const full = Array.from({ length: H }, () => new Uint8Array(W));
    const drawn = "svg,canvas,p,h3,li,button,th,td,select,header span,.bl-story-track,.bl-legend";
    for (const one of root.querySelectorAll(`[role=tabpanel] :is(${drawn})`)) {
        const { left, right, top, bottom, width } = one.getBoundingClientRect();
        if (!one.checkVisibility() || width < 3) continue;
        for (let y = steps(top - frame.top); y < H && 10 * y < bottom - frame.top; y++)
            full[y].fill(1, steps(left - frame.left), steps(right - frame.left) + 1);
    }
    const high = new Array(W).fill(0); // empty steps above a place
    let largest = [0, 0, 0, 0];
    for (let y = 0; y < H; y++) {
        for (let x = 0; x < W; x++) high[x] = full[y][x] ? 0 : high[x] + 1;
        for (let x = 0; x < W; x++)
            for (let to = x, least = high[x]; to < W && (least = Math.min(least, high[to])) >= 15; to++)
                if (to - x >= 15 && (to - x + 1) * least > largest[0]) largest = [(to - x + 1) * least, x, y, to];
    }
    return largest;
}"""


@pytest.mark.parametrize("width", [974, 1400])
def test_tabs_leave_no_hole_in_their_grid(show, pair, corpus, width):
    """No empty place as large as 300 by 300 px."""
    seen = show(bl.Explorer(pair, **CELL, **corpus), width=width, height=1000)
    for tab in ("Gates", "Geometry", "Corpus", "Weight against norm"):
        seen.open_tab(tab)
        expect(seen.root.locator("[role=tabpanel] svg.bl-chart").first).to_be_visible()
        seen.settled()
        steps, left, bottom, right = seen.root.evaluate(EMPTY)
        assert 100 * steps <= 90_000, f"{tab}: empty from {10 * left} to {10 * right}, down to {10 * bottom}"
