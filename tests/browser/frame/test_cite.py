"""Cite: bertlens with its version, and the papers of what is on screen, no others."""

from __future__ import annotations

import re

import pytest

import bertlens as bl
from browser.maps import WORDS, attention
from browser.views import Seen

VASWANI, NORMS, BLOCKS, BONINO = "1706.03762", "2004.10102", "2109.07152", "2502.12033"


def cited(seen: Seen) -> list[str]:
    """The numbers of the papers that the export menu copies, after bertlens itself."""
    software, *papers = seen.copied("Cite (BibTeX)").strip().split("\n\n")
    assert software.startswith("@software{bertlens,") and f"version = {{{bl.__version__}}}" in software
    assert re.search(r"year = \{20\d\d\}", software)
    return [re.search(r"eprint = \{([\d.]+)\}", paper)[1] for paper in papers]


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("chosen", "papers"),
    [
        ({}, [VASWANI]),
        ({"measure": "norm"}, [NORMS]),
        ({"measure": "norm", "view": "neurons"}, [VASWANI, NORMS]),
        ({"measure": "difference", "view": "table"}, [VASWANI, NORMS]),
        ({"measure": "norm", "view": "gates"}, [NORMS, BONINO]),
        ({"view": "norms"}, [VASWANI, NORMS, BLOCKS]),
        ({"view": "table", "layer_map": "attnres-n"}, [BLOCKS]),
        ({"view": "table", "layer_map": "rollout"}, ["2005.00928"]),
        ({"view": "table", "layer_map": "attn-w"}, [VASWANI]),
        ({"view": "table", "settings": {"atlas_order": "gate"}}, [VASWANI, BONINO]),
    ],
)
def test_the_papers_of_what_is_shown(show, pair, chosen, papers):
    assert cited(show(pair.explore(layer=1, head=8, **chosen))) == papers


def test_a_tab_that_has_nothing_to_show_cites_nothing(show):
    """Gates stand in the place of a tab that needs the model."""
    maps = bl.Trace.from_attentions(attention(2, 3, 8, 8), WORDS)
    assert cited(show(maps.explore(view="norms"))) == [VASWANI, BONINO]
