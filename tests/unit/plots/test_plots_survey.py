"""What the survey's figures draw is what its tables say."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from bertlens import InputError, Lens, SelectionError
from bertlens.survey import HeadStats, Sentence, head_stats
from bertlens.survey.syntax import DIRECTIONS, decide
from unit import tiny

matplotlib: Any = pytest.importorskip("matplotlib")
pd: Any = pytest.importorskip("pandas")
TEXTS: list[Any] = ["the cat sat on the mat.", ("warm, warm", "mats"), "it was on the mat"]
SENTENCE = Sentence(
    ["the", "unbelievable", "cat", "sat", "on", "it", "."],
    [2, 2, 3, -1, 5, 3, 3],
    ["det", "amod", "nsubj", "root", "case", "obl", "punct"],
)


@pytest.fixture(scope="module")
def lens() -> Lens:
    return Lens(tiny.bert(), tiny.wordpiece())


@pytest.fixture(scope="module")
def stats(lens: Lens) -> HeadStats:
    return head_stats(lens, TEXTS, progress=False)


def test_profiles(stats: HeadStats) -> None:
    from bertlens import plots

    axes = plots.layer_profiles(stats, ["previous", "k90"], "token")
    drawn = [line.get_ydata() for line in axes.lines]
    expected = [stats.values(name, by, "token").mean(1) for name in ("previous", "k90") for by in ("weight", "norm")]
    np.testing.assert_allclose(drawn, expected)
    assert [line.get_linestyle() for line in axes.lines] == ["-", "--"] * 2
    axes = plots.heads_by_layer(stats, "entropy", "norm", reference=2.0)
    points = axes.collections[0].get_offsets()
    np.testing.assert_allclose(points[:, 1], stats.values("entropy", "norm").ravel())
    np.testing.assert_allclose(axes.lines[0].get_ydata(), stats.values("entropy", "norm").mean(1))
    with pytest.raises(InputError, match="at most 8"):
        plots.layer_profiles(stats, ["previous"] * 9)
    with pytest.raises(SelectionError):
        plots.heads_by_layer(stats, "nothing")


def test_map() -> None:
    from bertlens import plots

    table = pd.DataFrame({"layer": [0, 0, 1], "head": [0, 1, 0], "x": [0.0, 1, 2], "y": [1.0, 0, 0]})
    axes = plots.head_map(table, [3.0, 2.0, 1.0])
    assert axes.collections[0].get_offsets().tolist() == [[0, 1], [1, 0], [2, 0]]
    assert axes.collections[0].get_array().tolist() == [3, 2, 1]
    assert [text.get_text() for text in axes.texts] == ["0·0", "0·1", "1·0"]
    with pytest.raises(InputError, match="2 values for 3"):
        plots.head_map(table, [1, 2])
    assert axes.get_title() == ""  # no table of head_map: nothing is known of its distances


def test_map_of_layers() -> None:
    """Layers by colour and marker, no two alike; the title says how far the map lies."""
    from bertlens import plots

    table = pd.DataFrame({"layer": np.arange(24), "head": 0, "x": np.arange(24.0), "y": 0.0})
    table.attrs = {"stress": 0.301, "even_stress": 0.409, "nearest_kept": 6}
    axes = plots.head_map(table)
    looks = [
        (tuple(layer.get_facecolor()[0]), layer.get_paths()[0].vertices.round(3).tobytes())
        for layer in axes.collections
    ]
    assert len(looks) == len({*looks}) == 24
    assert len({colour for colour, _ in looks[:8]}) == len({marker for _, marker in looks[:8]}) == 8
    assert [text.get_text() for text in axes.get_legend().get_texts()] == [f"L{layer}" for layer in range(24)]
    assert axes.get_title() == (
        "stress 0.30: drawn distances are off by 30% (all equal: 41%)\ntrue nearest head is nearest here for 6 of 24"
    )


def test_relations(lens: Lens) -> None:
    from bertlens import plots

    best = decide(lens, [SENTENCE] * 9, progress=False).best_heads(50, least=9)
    axes = plots.relation_bars(best)
    assert [bar.get_width() for bar in axes.patches][::-1] == pytest.approx(best["accuracy"].tolist())
    assert axes.get_yticklabels()[-1].get_text() == "ALL (63)"


def test_gradients() -> None:
    from bertlens import plots

    table = pd.DataFrame({"layer": [0, 0, 1, 1], "head": [0, 1, 0, 1], "first": [1.0, 3, 5, 5]})
    table["separator"], table["punctuation"], table["other"] = 2.0, float("nan"), [1.0, 2, 3, 4]
    axes = plots.gradients_by_layer(table)
    assert [line.get_ydata().tolist() for line in axes.lines] == [[2, 5], [2, 2], [1.5, 3.5]]


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_parse(lens: Lens, direction: str) -> None:
    """As many arcs as words above, less the root; below those of the head, the right ones drawn full."""
    from bertlens import plots

    right = decide(lens, [SENTENCE], progress=False).correct[:, DIRECTIONS.index(direction), 1, 2]
    axes = plots.parse(lens.trace_words(SENTENCE.words), SENTENCE, 1, 2, direction)
    up = [patch for patch in axes.patches if patch.get_path().vertices[0][1] > 0]
    down = [patch for patch in axes.patches if patch.get_path().vertices[0][1] < 0]
    ends = [(int(p.get_path().vertices[0][0]), int(p.get_path().vertices[-1][0])) for p in up]
    assert ends == [(d, head) for d, head in enumerate(SENTENCE.heads) if head >= 0]
    assert [patch.get_linestyle() in ("-", "solid") for patch in down] == right.tolist()
    assert f"{right.sum()} of 7 right" in axes.get_title()
    with pytest.raises(SelectionError):
        plots.parse(lens.trace("cat"), SENTENCE, 1, 9)
    with pytest.raises(SelectionError, match="no direction"):
        plots.parse(lens.trace("cat"), SENTENCE, 1, 1, "up")
    with pytest.raises(InputError, match="other words"):
        plots.parse(lens.trace_words([*SENTENCE.words, "cat"]), SENTENCE, 1, 1)


def test_words_from_right_to_left_are_laid_so(lens: Lens) -> None:
    from bertlens import plots

    hebrew = replace(SENTENCE, words="הילד קרא ספר אחד ביום אחד .".split())
    axes = plots.parse(lens.trace_words(hebrew.words), hebrew, 1, 2)
    assert axes.get_xlim()[0] > axes.get_xlim()[1]
    trace = Lens.embedded().trace("קרא קרא")
    places = [text.get_position()[0] for text in plots.running_text(trace, 1, 2, query=1).texts[: trace.n_tokens]]
    assert places == sorted(places, reverse=True) and min(places) > 0
