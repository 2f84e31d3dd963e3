"""Labels of a dozen letters, as places and residues of a protein are, in the room that there is."""

from __future__ import annotations

import pytest

import bertlens as bl

pytestmark = pytest.mark.usefixtures("neurons_open")

CUT = """all => all.filter((one) => {
    for (let at = one; at && !at.matches("ol, .bl-neuron-grid, .bl-matrix-sheet"); at = at.parentElement)
        if (getComputedStyle(at).overflow !== "visible" && at.scrollWidth > at.clientWidth + 1) return true;
    return false;
}).map((one) => one.textContent)"""


@pytest.fixture(scope="module")
def spike():
    lens = bl.Lens.sars_cov_2()
    return lens.trace(lens.tokenizer.vocabulary.reference_sequence)


@pytest.mark.parametrize("width", [974, 1400])
def test_residues_are_written_out(show_saved, spike, width):
    seen = show_saved(spike.explore(layer=0, head=1, query=350), layers=[0], width=width, height=1100)
    seen.select("cells").select_option("12")
    seen.part("neurons").wait_for()
    seen.settled()
    for part in (".bl-list .bl-token", ".bl-neuron-token .bl-token", ".bl-row-label"):
        assert seen.root.locator(part).count() > 5
        assert seen.root.locator(part).evaluate_all(CUT) == [], part
    # what is said of hidden keys does not run over a label
    tokens = seen.root.locator(".bl-neuron-tokens .bl-neuron-token")
    apart = tokens.evaluate_all(
        """all => all.filter((one) => one.querySelector(".bl-gap")).map((one) => {
            const box = (part) => one.querySelector(part).getBoundingClientRect();
            return box(".bl-gap").left - box(".bl-token").right;
        })"""
    )
    assert apart and min(apart) >= 0
